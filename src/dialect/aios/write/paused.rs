//! Writes the state of a paused development cycle (docs/formats/aios-states.md#paused-development-cycle): the completed stories
//! of the epic.
//!
//! It cannot record a running story, whose cycle has a separate state.

use serde_json::json;

use super::completes;
use super::unsupported;
use super::unsupported_rollback;
use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::paused;
use crate::dialect::story;
use crate::document::Node;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::Run;
use crate::model::Status;
use crate::model::mask_secrets;
use crate::model::quoted;

const PROGRESS: &str = "/epic_progress";

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, "/paused_at")?;
    let Some(run) = paused::load(files).run else {
        return unsupported(format!("{} is not the state of a development cycle", files.state));
    };
    let mut writer = Writer { editor, run };
    match &change.kind {
        // The next story gets its own state when it starts.
        ChangeKind::Begin { .. } => return Ok(Vec::new()),
        ChangeKind::Resume { .. } if !writer.editor.has("/aborted_at") => return Ok(Vec::new()),
        ChangeKind::Resume { .. } => {
            return unsupported(format!(
                "{} records that the cycle was aborted, which cannot be undone: start a new cycle for the story",
                files.state
            ));
        }
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Abort { reason, .. } => writer.abort(reason.as_deref())?,
        ChangeKind::Approve { .. }
        | ChangeKind::Skip { .. }
        | ChangeKind::Pause { .. }
        | ChangeKind::Complete { .. } => {
            return unsupported(format!(
                "{} only records completed stories: finish the remaining stories one by one with `piton \
                 finish STEP --run {}`, or edit `epic_progress`",
                files.state,
                quoted(writer.run.id.as_str())
            ));
        }
        ChangeKind::RollBack(_) => return unsupported_rollback(files),
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("a development cycle is started by its own runner".to_owned());
        }
    }
    Ok(writer.editor.into_edits())
}

/// Returns whether a story is written as an id, not as a path.
fn is_id(node: &Node) -> bool {
    node.scalar().is_some_and(|text| story::name_of(text) == text)
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    /// Moves a story from the remaining to the completed ones.
    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let id = outcome.step.as_str();
        if !completes(outcome, "a paused cycle")? {
            return unsupported(format!(
                "the state of a paused cycle cannot record a failed story: {id} is still open and comes next"
            ));
        }
        let is_it = |node: &Node| node.scalar().is_some_and(|text| story::name_of(text) == id);
        let remaining = format!("{PROGRESS}/remaining_stories");
        let at = self.editor.items(&remaining).iter().position(is_it);
        let written = at.and_then(|at| self.editor.items(&remaining).get(at)).and_then(Node::scalar).map(str::to_owned);
        if let Some(at) = at {
            self.editor.remove(&format!("{remaining}/{at}"))?;
        }
        let next = format!("{PROGRESS}/next_story");
        let was_next = self.editor.get(&next).is_some_and(is_it);
        let written = written.or_else(|| self.editor.text(&next).filter(|_| was_next).map(str::to_owned));
        let done = format!("{PROGRESS}/completed_stories");
        match self.editor.text(&done).and_then(|count| count.parse::<u64>().ok()) {
            Some(count) => self.editor.set_number(&done, count.saturating_add(1))?,
            None => {
                let are_ids = |items: &[Node]| !items.is_empty() && items.iter().all(is_id);
                let by_id = are_ids(self.editor.items(&done));
                let entry = written.as_deref().filter(|_| !by_id).unwrap_or(id);
                self.editor.push(&done, &json!(entry))?;
            }
        }
        if let Some(current) = written.filter(|_| self.editor.has("/current_story")) {
            self.editor.set_text("/current_story", &current)?;
        }
        let left = format!("{PROGRESS}/remaining_count");
        if let Some(count) = self.editor.text(&left).and_then(|count| count.parse::<u64>().ok()) {
            self.editor.set_number(&left, count.saturating_sub(1))?;
        }
        if was_next {
            let after = self.run.steps.iter().find(|step| step.status == Status::Pending && step.id != outcome.step);
            let after = after.map_or(json!(null), |step| json!(step.id.as_str()));
            self.editor.set(&next, &after)?;
        }
        self.editor.touch("/paused_at")
    }

    fn abort(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        let open = self.run.steps.iter().find(|step| step.status == Status::Pending).map(|step| step.id.clone());
        self.editor.set_text("/status", "aborted")?;
        self.editor.stamp("/aborted_at", Some("status"))?;
        if let Some(reason) = reason {
            self.editor.set_text("/abort_reason", &mask_secrets(reason))?;
        }
        match open {
            Some(open) => self.editor.set_text(&format!("{PROGRESS}/aborted_at_story"), open.as_str()),
            None => Ok(()),
        }
    }
}
