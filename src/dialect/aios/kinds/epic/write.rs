//! Writes the state of an epic (docs/formats/aios.md#epic-state). The store makes the backup copy.
//!
//! A wave's `tag` is not written; it is set when the git tag is created.

use serde_json::json;

use super::{EpicState, state::Wave, steps::FINAL};
use crate::{
    dialect::{
        EditError,
        aios::editor::StateEditor,
        edit::{object, unsupported},
        writer::{Approval, Begun, Resumed, StateWriter, outcome_text, write},
    },
    document::escape,
    model::{Change, Edit, FileSet, Outcome, ReviewVerdict, Run, RunId, StepId, Suggested, Verb, mask_secrets},
};

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(root: &'static str, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    write(EpicWriter::open(root, files, change)?, change)
}

/// The target of a step id.
enum EpicTarget {
    /// Story id and wave number.
    Story(String, String),
    /// Wave number.
    Gate(String),
    Merge(String),
    Final,
}

struct EpicWriter {
    state: EpicState,
    run: Run,
    editor: StateEditor,
    /// Pointer to the epic in the file; empty for the pipeline of the orchestration template.
    root: &'static str,
}

impl EpicWriter {
    fn open(root: &'static str, files: &FileSet, change: &Change) -> Result<Self, EditError> {
        let unreadable = |problem: String| EditError::Unreadable { file: files.state.as_str().to_owned(), problem };
        let state = super::read(files, &files.state).map_err(|finding| unreadable(finding.message))?;
        let run = super::load(files).run.ok_or_else(|| unreadable("the epic cannot be read".to_owned()))?;
        if state.only_counts_waves() {
            return unsupported(format!(
                "{} only counts waves and cannot record stories or gates: let the agent that runs it update \
                 `last_completed_wave`, then run `{}`",
                files.state,
                Suggested::new(Verb::Plan)
            ));
        }
        Ok(Self { state, run, editor: StateEditor::open(files, change.at, &format!("{root}/updated_at"))?, root })
    }

    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    fn wave_at(&self, number: &str) -> String {
        format!("{}/waves/{}", self.root, escape(number))
    }

    fn story_at(&self, wave: &str, id: &str) -> String {
        format!("{}/stories/{}", self.wave_at(wave), escape(id))
    }

    fn gate_at(&self, wave: &str) -> String {
        format!("{}/gate_verdicts/{}", self.root, escape(wave))
    }

    fn target(&self, step: &StepId) -> Result<EpicTarget, EditError> {
        let id = step.as_str();
        if let Some(wave) = self.state.waves.iter().find(|wave| wave.stories.iter().any(|story| story.id == id)) {
            return Ok(EpicTarget::Story(id.to_owned(), wave.number.clone()));
        }
        let group = self.run.step(step).and_then(|step| step.group.as_deref());
        match group.and_then(|group| group.strip_prefix("wave-")) {
            Some(wave) if id.strip_prefix("gate-") == Some(wave) => Ok(EpicTarget::Gate(wave.to_owned())),
            Some(wave) if id.strip_prefix("merge-") == Some(wave) => Ok(EpicTarget::Merge(wave.to_owned())),
            // A story that is only in the plan.
            Some(wave) => Ok(EpicTarget::Story(id.to_owned(), wave.to_owned())),
            None if id == FINAL => Ok(EpicTarget::Final),
            None => {
                unsupported(format!("no wave of the epic has `{id}`: add it to a wave of the execution plan first"))
            }
        }
    }

    /// Returns the word of the format for a verdict.
    fn verdict(&self, outcome: &Outcome) -> Result<&'static str, EditError> {
        match outcome.verdict {
            Some(ReviewVerdict::Approved) => Ok("approved"),
            Some(ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected) => Ok("rejected"),
            Some(ReviewVerdict::ApprovedWithConditions) | None => unsupported(format!(
                "a gate of an epic is either approved or rejected: `{}` with APPROVED or REJECTED",
                Suggested::on_step(Verb::Finish, &outcome.step, &self.run()).option("verdict", "VERDICT")
            )),
        }
    }

    fn status(&mut self, word: &str) -> Result<(), EditError> {
        let pointer = self.at("status");
        self.editor.set_text(&pointer, word)
    }

    fn wave(&self, wave: &str) -> Option<&str> {
        self.editor.text(&format!("{}/status", self.wave_at(wave)))
    }

    fn wave_status(&mut self, wave: &str, word: &str) -> Result<(), EditError> {
        let pointer = format!("{}/status", self.wave_at(wave));
        self.editor.set_after(&pointer, &json!(word), Some("name"))
    }

    fn story_status(&mut self, story: &str, word: &str) -> Result<(), EditError> {
        if self.editor.has(story) {
            self.editor.set_text(&format!("{story}/status"), word)
        } else {
            self.editor.set(story, &json!({ "status": word }))
        }
    }

    /// Sets a timestamp of a story if the stories of this epic have such timestamps.
    fn story_stamp(&mut self, story: &str, key: &str, after: &str) -> Result<(), EditError> {
        let waves = self.state.waves.iter();
        let mut stories =
            waves.flat_map(|wave| wave.stories.iter().map(|story| self.story_at(&wave.number, &story.id)));
        let is_usual = stories.any(|story| self.editor.has(&format!("{story}/{key}")));
        if is_usual { self.editor.stamp(&format!("{story}/{key}"), Some(after)) } else { Ok(()) }
    }

    /// Removes the verdict of a gate, which does not cover redone work.
    fn clear_verdict(&mut self, wave: &str) -> Result<(), EditError> {
        let verdict = self.gate_at(wave);
        self.editor.remove(&verdict)
    }

    fn record_verdict(
        &mut self,
        wave: &str,
        word: &str,
        agent: Option<&str>,
        note: Option<&str>,
    ) -> Result<(), EditError> {
        let pointer = self.gate_at(wave);
        let members = [
            ("status", Some(json!(word))),
            ("agent", agent.map(|agent| json!(agent.trim_start_matches('@')))),
            ("at", Some(self.editor.now())),
            ("notes", note.map(|note| json!(note))),
        ];
        if self.editor.get(&pointer).is_some_and(|node| node.get("status").is_some()) {
            // A complaint does not outlive its rejection; the reports keep it.
            for complaint in ["notes", "issues"] {
                self.editor.remove(&format!("{pointer}/{complaint}"))?;
            }
            for (key, value) in members.into_iter().filter_map(|(key, value)| Some((key, value?))) {
                self.editor.set(&format!("{pointer}/{key}"), &value)?;
            }
        } else {
            self.editor.set(&pointer, &object(members))?;
        }
        self.wave_status(wave, "gate_review")
    }

    /// Completes a wave and moves on to the next open one.
    fn complete_wave(&mut self, wave: &str) -> Result<(), EditError> {
        self.wave_status(wave, "completed")?;
        let is_open = |other: &&Wave| other.number != wave && other.status.as_deref() != Some("completed");
        let next = self.state.waves.iter().find(is_open).map(|wave| wave.number.clone());
        next.map_or(Ok(()), |next| self.move_to(&next))
    }

    fn move_to(&mut self, wave: &str) -> Result<(), EditError> {
        let current = self.at("current_wave");
        match wave.parse() {
            Ok(number) if self.editor.has(&current) => self.editor.set_number(&current, number),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl StateWriter for EpicWriter {
    const WHAT: &'static str = "the state of an epic";

    fn run(&self) -> RunId {
        self.run.id.clone()
    }

    fn instead(&self, _step: Option<&StepId>) -> String {
        let [plan, close] = [Verb::Plan, Verb::Close].map(|verb| Suggested::of(verb, &self.run.id));
        format!("it stays active; `{plan}` shows where it continues, and `{}` ends it", close.flag("abort"))
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        self.status("active")?;
        match self.target(begun.step)? {
            EpicTarget::Story(id, wave) => {
                let story = self.story_at(&wave, &id);
                self.story_status(&story, "in_progress")?;
                self.story_stamp(&story, "started_at", "status")?;
                self.editor.clear(&format!("{story}/completed_at"))?;
                if let Some(agent) = begun.agent {
                    self.editor.set_text(&format!("{story}/executor"), agent.trim_start_matches('@'))?;
                }
                self.wave_status(&wave, "in_progress")?;
                self.clear_verdict(&wave)?;
                self.move_to(&wave)?;
            }
            EpicTarget::Gate(wave) => {
                self.wave_status(&wave, "gate_review")?;
                self.clear_verdict(&wave)?;
                self.move_to(&wave)?;
            }
            EpicTarget::Merge(wave) => self.wave_status(&wave, "gate_review")?,
            EpicTarget::Final => {}
        }
        Ok(())
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let is_done = self.completes(outcome)?;
        match self.target(&outcome.step)? {
            EpicTarget::Story(id, wave) => {
                let story = self.story_at(&wave, &id);
                self.story_status(&story, if is_done { "completed" } else { "failed" })?;
                if is_done {
                    self.story_stamp(&story, "completed_at", "started_at")?;
                }
                if let Some(note) = outcome_text(outcome) {
                    self.editor.set_text(&format!("{story}/note"), &note)?;
                }
                if self.wave(&wave).is_none_or(|status| status == "pending") {
                    self.wave_status(&wave, "in_progress")?;
                }
                Ok(())
            }
            EpicTarget::Gate(wave) => {
                let verdict = self.verdict(outcome)?;
                let agent = outcome.agent.clone().or_else(|| self.run.step(&outcome.step)?.agent.clone());
                self.record_verdict(&wave, verdict, agent.as_deref(), outcome_text(outcome).as_deref())
            }
            EpicTarget::Merge(wave) if is_done => self.complete_wave(&wave),
            EpicTarget::Merge(wave) => self.wave_status(&wave, "failed"),
            EpicTarget::Final => match self.verdict(outcome)? {
                "approved" => self.status("completed"),
                _ => self.refuse("record the no of its final gate", Some(&outcome.step)),
            },
        }
    }

    /// Records that the user overrides the gate.
    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        match self.target(approval.step)? {
            EpicTarget::Gate(wave) => {
                let note = approval.note.map(mask_secrets);
                self.record_verdict(&wave, "approved", Some(approval.by.unwrap_or("user")), note.as_deref())
            }
            EpicTarget::Final => self.status("completed"),
            EpicTarget::Story(..) | EpicTarget::Merge(_) => unsupported(format!("{} is not a gate", approval.step)),
        }
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, reason: &str) -> Result<(), EditError> {
        match self.target(step)? {
            EpicTarget::Story(id, wave) => {
                let story = self.story_at(&wave, &id);
                // Used by the framework but missing from its documented list.
                self.story_status(&story, "skipped")?;
                self.editor.set_text(&format!("{story}/note"), &mask_secrets(reason))
            }
            EpicTarget::Merge(wave) => self.complete_wave(&wave),
            EpicTarget::Gate(_) | EpicTarget::Final => {
                unsupported(format!("{step} is a gate, which cannot be skipped"))
            }
        }
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.status("active")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.status("completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        let updated = self.at("updated_at");
        self.editor.into_stamped(&[&updated])
    }
}
