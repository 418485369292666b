//! Writes the state of a guided workflow (docs/formats/aios-states.md#guided-workflow). It is completed only when all steps are.

use serde_json::Value;
use serde_json::json;

use super::completes;
use super::outcome_text;
use super::unsupported;
use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::guided;
use crate::document::Node;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::RelPath;
use crate::model::RollBack;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::mask_secrets;
use crate::model::quoted;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, "/updated_at")?;
    let Some(run) = guided::load(files).run else {
        return unsupported(format!("{} is not the state of a guided workflow", files.state));
    };
    let mut writer = Writer { editor, run };
    match &change.kind {
        ChangeKind::Begin { step, .. } => writer.begin(step)?,
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Approve { step, .. } => return unsupported(format!("{step} is not a gate")),
        ChangeKind::Skip { step, reason, .. } => writer.skip(step, reason)?,
        ChangeKind::Pause { .. } => writer.status("paused")?,
        ChangeKind::Abort { .. } => writer.status("aborted")?,
        ChangeKind::Resume { settled, .. } => writer.resume(settled)?,
        ChangeKind::Complete { .. } => writer.status("completed")?,
        ChangeKind::RollBack(back) => writer.roll_back(back)?,
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("a guided workflow is started by its own command".to_owned());
        }
    }
    writer.editor.touch("/updated_at")?;
    Ok(writer.editor.into_edits())
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn at(&self, step: &StepId) -> Result<usize, EditError> {
        match self.run.steps.iter().position(|known| known.id == *step) {
            Some(at) => Ok(at),
            None => unsupported(format!("`{step}` is not a step of this workflow")),
        }
    }

    fn begin(&mut self, step: &StepId) -> Result<(), EditError> {
        let at = self.at(step)?;
        self.editor.set_text(&format!("/steps/{at}/status"), "in_progress")?;
        self.stamp(at, "started_at")?;
        let ended = format!("/steps/{at}/completed_at");
        if self.editor.text(&ended).is_some() {
            self.editor.set(&ended, &Value::Null)?;
        }
        self.move_to(at)?;
        self.status("active")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let at = self.at(&outcome.step)?;
        if !completes(outcome, "a guided workflow")? {
            let (step, run) = (quoted(outcome.step.as_str()), quoted(self.run.id.as_str()));
            return unsupported(format!(
                "a guided workflow cannot record a failed step: {step} is unchanged. Retry it, then `piton finish {step} --run \
                 {run}`; or skip it with `piton skip {step} --run {run} --reason WHY`"
            ));
        }
        if let Some(note) = outcome_text(outcome) {
            self.editor.set_text(&format!("/steps/{at}/notes"), &note)?;
        }
        for output in &outcome.outputs {
            self.add_artifact(at, output)?;
        }
        self.end(at, "completed")
    }

    fn skip(&mut self, step: &StepId, reason: &str) -> Result<(), EditError> {
        let at = self.at(step)?;
        self.editor.set_text(&format!("/steps/{at}/notes"), &mask_secrets(reason))?;
        self.end(at, "skipped")
    }

    fn resume(&mut self, settled: &[(StepId, Status)]) -> Result<(), EditError> {
        self.status("active")?;
        for (step, _) in settled {
            let at = self.at(step)?;
            self.end(at, "completed")?;
        }
        Ok(())
    }

    /// Reopens steps and moves to the first open one.
    fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        for step in &back.reopened {
            let at = self.at(step)?;
            self.editor.set_text(&format!("/steps/{at}/status"), "pending")?;
            let ended = format!("/steps/{at}/completed_at");
            if self.editor.text(&ended).is_some() {
                self.editor.set(&ended, &Value::Null)?;
            }
            self.run.steps[at].status = Status::Pending;
        }
        let is_open = |step: &Step| !matches!(step.status, Status::Completed | Status::Skipped);
        if let Some(first) = self.run.steps.iter().position(is_open) {
            self.move_to(first)?;
        }
        self.status("active")
    }

    /// Ends a step and moves on to the first open one.
    fn end(&mut self, at: usize, word: &str) -> Result<(), EditError> {
        self.editor.set_text(&format!("/steps/{at}/status"), word)?;
        self.stamp(at, "completed_at")?;
        let ended = if word == "skipped" { Status::Skipped } else { Status::Completed };
        self.run.steps[at].status = ended;
        let is_over = |status: Status| matches!(status, Status::Completed | Status::Skipped);
        match self.run.steps.iter().position(|step| !is_over(step.status)) {
            Some(next) => {
                self.move_to(next)?;
                self.status("active")
            }
            None => self.status("completed"),
        }
    }

    fn move_to(&mut self, at: usize) -> Result<(), EditError> {
        if self.editor.has("/current_step_index") {
            let declared =
                ["step_index", "index"].iter().find_map(|key| self.editor.text(&format!("/steps/{at}/{key}")));
            let index = declared.and_then(|index| index.parse().ok()).unwrap_or(at as u64);
            self.editor.set_number("/current_step_index", index)?;
        }
        if self.editor.has("/current_step_id") {
            let id = self.editor.text(&format!("/steps/{at}/id")).unwrap_or(self.run.steps[at].id.as_str()).to_owned();
            self.editor.set_text("/current_step_id", &id)?;
        }
        let phase = self.editor.text(&format!("/steps/{at}/phase")).map(str::to_owned);
        match phase.filter(|_| self.editor.has("/current_phase")) {
            Some(phase) => match phase.parse() {
                Ok(number) => self.editor.set_number("/current_phase", number),
                Err(_) => self.editor.set_text("/current_phase", &phase),
            },
            None => Ok(()),
        }
    }

    fn status(&mut self, word: &str) -> Result<(), EditError> {
        self.editor.set_text("/status", word)
    }

    /// Sets a timestamp of a step if the steps of this workflow have such timestamps.
    fn stamp(&mut self, at: usize, key: &str) -> Result<(), EditError> {
        let is_usual = self.editor.items("/steps").iter().any(|step| step.get(key).is_some());
        if is_usual { self.editor.stamp(&format!("/steps/{at}/{key}"), Some("status")) } else { Ok(()) }
    }

    /// Adds an artifact of a step.
    fn add_artifact(&mut self, step: usize, path: &RelPath) -> Result<(), EditError> {
        let is_it = |artifact: &Node| artifact.get("path").and_then(Node::scalar) == Some(path.as_str());
        match self.editor.items("/artifacts").iter().position(is_it) {
            Some(at) => self.editor.set_text(&format!("/artifacts/{at}/status"), "created"),
            None => {
                let (name, path) = (path.name(), path.as_str());
                let entry = json!({ "name": name, "created_by_step": step, "path": path, "status": "created" });
                self.editor.push("/artifacts", &entry)
            }
        }
    }
}
