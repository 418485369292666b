//! Writes the session of Bob (docs/formats/aios-states.md#bob-session). As in the development cycle, redoing a phase removes its
//! result and those of later phases (docs/formats/aios-states.md#loop-back-laps).

use serde_json::Value;
use serde_json::json;

use super::completes;
use super::outcome_text;
use super::unsupported;
use super::unsupported_rollback;
use crate::dialect::EditError;
use crate::dialect::aios::bob;
use crate::dialect::aios::dev_cycle::CHECKPOINT;
use crate::dialect::aios::dev_cycle::PHASES;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::edit::object;
use crate::dialect::story;
use crate::document::Node;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::mask_secrets;

const UPDATED: &str = "/session_state/last_updated";
const ACTION: &str = "/session_state/last_action";
const WORKFLOW: &str = "/session_state/workflow";
const RESULTS: &str = "/session_state/workflow/phase_results";
const PROGRESS: &str = "/session_state/progress";

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, UPDATED)?;
    let Some(run) = bob::load(files).run else {
        return unsupported(format!("{} is not a session of Bob", files.state));
    };
    let mut writer = Writer { editor, run };
    match &change.kind {
        ChangeKind::Begin { step, .. } => writer.begin(step)?,
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Approve { step, .. } => match writer.target(step)? {
            Target::Phase(story, CHECKPOINT) => writer.complete_story(&story, "GO")?,
            Target::Phase(..) | Target::Story(_) => return unsupported(format!("{step} is not a checkpoint")),
        },
        ChangeKind::Skip { step, reason, .. } => writer.skip(step, reason)?,
        ChangeKind::Pause { .. } => writer.action("PAUSE", None, None)?,
        ChangeKind::Abort { .. } => writer.action("ABORT", None, None)?,
        ChangeKind::Resume { .. } => writer.resume()?,
        ChangeKind::Complete { .. } => {
            return unsupported("a session of Bob ends with its stories: finish the remaining ones".to_owned());
        }
        ChangeKind::RollBack(_) => return unsupported_rollback(files),
        ChangeKind::Repair(_) | ChangeKind::Start(_) => return unsupported("a session is started by Bob".to_owned()),
    }
    writer.editor.touch(UPDATED)?;
    Ok(writer.editor.into_edits())
}

/// The target of a step id.
enum Target {
    /// A story that is not active.
    Story(String),
    /// A phase of the active story.
    Phase(String, usize),
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn target(&self, step: &StepId) -> Result<Target, EditError> {
        let Some(known) = self.run.step(step) else {
            return unsupported(format!("`{step}` is neither a story nor a phase of this session"));
        };
        let phase = known.group.as_ref().and_then(|story| {
            let name = step.as_str().strip_prefix(story.as_str())?.strip_prefix(':')?;
            let at = PHASES.iter().position(|(_, phase, ..)| *phase == name)?;
            Some(Target::Phase(story.clone(), at))
        });
        Ok(phase.unwrap_or_else(|| Target::Story(step.as_str().to_owned())))
    }

    fn begin(&mut self, step: &StepId) -> Result<(), EditError> {
        let (story, at) = match self.target(step)? {
            Target::Phase(story, at) => (story, at),
            Target::Story(story) => (story, 0),
        };
        let is_new = self.make_current(&story)?;
        self.clear_results_from(at)?;
        self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[at].1)?;
        let word = if is_new { "STORY_STARTED" } else { "PHASE_CHANGE" };
        let written = if is_new { self.as_written(&story) } else { story };
        self.action(word, Some(&written), Some(PHASES[at].1))
    }

    /// Makes a story the current one. Returns whether it changed.
    fn make_current(&mut self, story: &str) -> Result<bool, EditError> {
        let current = format!("{PROGRESS}/current_story");
        if self.editor.get(&current).and_then(Node::scalar).is_some_and(|text| story::name_of(text) == story) {
            return Ok(false);
        }
        let written = self.as_written(story);
        self.editor.set_text(&current, &written)?;
        self.clear_results_from(0)?;
        self.editor.set_number(&format!("{WORKFLOW}/attempt_count"), 0)?;
        Ok(true)
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let Target::Phase(story, at) = self.target(&outcome.step)? else {
            let step = &outcome.step;
            return unsupported(format!("a story has phases: begin {step}, then finish them one by one"));
        };
        self.make_current(&story)?;
        if at == CHECKPOINT && outcome.status == Status::WaitingApproval {
            self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[at].1)?;
            return self.action("CHECKPOINT_REACHED", Some(&story), Some(PHASES[at].1));
        }
        let is_done = completes(outcome, "a session of Bob")?;
        let text = outcome_text(outcome).map(|text| json!(text));
        let word = if is_done { "completed" } else { "failed" };
        let result = object([("status", Some(json!(word))), (if is_done { "output" } else { "error" }, text)]);
        self.record(at, &result)?;
        self.editor.set_number(&format!("{WORKFLOW}/attempt_count"), outcome.failures.into())?;
        match (is_done, at) {
            (true, CHECKPOINT) => self.complete_story(&story, "STORY_COMPLETED"),
            (true, _) => self.action("PHASE_CHANGE", Some(&story), Some(PHASES[at].1)),
            (false, _) => self.action("ERROR_OCCURRED", Some(&story), Some(PHASES[at].1)),
        }
    }

    fn skip(&mut self, step: &StepId, reason: &str) -> Result<(), EditError> {
        match self.target(step)? {
            Target::Phase(story, at) => {
                self.make_current(&story)?;
                self.record(at, &json!({ "status": "skipped", "reason": mask_secrets(reason) }))?;
                self.action("PHASE_CHANGE", Some(&story), Some(PHASES[at].1))
            }
            Target::Story(story) => unsupported(format!(
                "a session of Bob cannot skip a story: remove {story} from `stories_pending` by hand, then run `piton plan`"
            )),
        }
    }

    /// Records that the story passed its checkpoint.
    fn complete_story(&mut self, story: &str, word: &str) -> Result<(), EditError> {
        let written = self.as_written(story);
        self.editor.add_to_list(&format!("{PROGRESS}/stories_done"), &written)?;
        self.editor.remove_from_list(&format!("{PROGRESS}/stories_pending"), &written)?;
        self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[CHECKPOINT].1)?;
        self.action(word, Some(story), Some(PHASES[CHECKPOINT].1))
    }

    /// Clears a pause, which is only recorded in the last action.
    fn resume(&mut self) -> Result<(), EditError> {
        if !matches!(self.editor.text(&format!("{ACTION}/type")), Some("PAUSE" | "ABORT")) {
            return Ok(());
        }
        let has_phase = self.editor.text(&format!("{WORKFLOW}/current_phase")).is_some();
        self.action(if has_phase { "PHASE_CHANGE" } else { "EPIC_STARTED" }, None, None)
    }

    fn action(&mut self, word: &str, story: Option<&str>, phase: Option<&str>) -> Result<(), EditError> {
        let at = self.editor.now();
        self.editor.set_text(&format!("{ACTION}/type"), word)?;
        self.editor.set(&format!("{ACTION}/timestamp"), &at)?;
        for (key, value) in [("story", story), ("phase", phase)] {
            if let Some(value) = value {
                self.editor.set_text(&format!("{ACTION}/{key}"), value)?;
            }
        }
        Ok(())
    }

    /// Saves the result of a phase and removes those of later phases.
    fn record(&mut self, at: usize, result: &Value) -> Result<(), EditError> {
        self.clear_results_from(at)?;
        self.editor.set(&format!("{RESULTS}/{}", self.key(at)), result)?;
        self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[at].1)
    }

    fn clear_results_from(&mut self, from: usize) -> Result<(), EditError> {
        for (id, name, ..) in &PHASES[from..] {
            for key in [id, name] {
                let pointer = format!("{RESULTS}/{key}");
                if self.editor.has(&pointer) {
                    self.editor.remove(&pointer)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the key of a phase's result in the spelling of the session.
    fn key(&self, at: usize) -> &'static str {
        let has_ids = PHASES.iter().any(|(id, ..)| self.editor.has(&format!("{RESULTS}/{id}")));
        if has_ids { PHASES[at].0 } else { PHASES[at].1 }
    }

    /// Returns a story as spelled in the lists, for example as a path.
    fn as_written(&self, name: &str) -> String {
        let is_it = |node: &&Node| node.scalar().is_some_and(|text| story::name_of(text) == name);
        let current = self.editor.get(&format!("{PROGRESS}/current_story"));
        let mut listed = self.editor.items(&format!("{PROGRESS}/stories_pending")).iter().chain(current);
        listed.find(is_it).and_then(Node::scalar).unwrap_or(name).to_owned()
    }
}
