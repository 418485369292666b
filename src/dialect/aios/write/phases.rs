//! Writes the phases of a context manager (docs/formats/aios-states.md#context-manager). A phase is written when it ends.

use serde_json::json;

use super::completes;
use super::outcome_text;
use super::unsupported;
use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::phases;
use crate::dialect::edit::object;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::RollBack;
use crate::model::Run;
use crate::model::StepId;
use crate::model::mask_secrets;
use crate::model::quoted;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, "/updatedAt")?;
    let Some(run) = phases::load(files).run else {
        return unsupported(format!("{} is not a state of phases", files.state));
    };
    let mut writer = Writer { editor, run };
    match &change.kind {
        ChangeKind::Begin { step, .. } => {
            writer.reopen(number(step)?)?;
            writer.status("in_progress")?;
        }
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Skip { step, reason, .. } => {
            let result = json!({ "status": "skipped", "reason": mask_secrets(reason) });
            writer.record(number(step)?, None, &result)?;
        }
        ChangeKind::Resume { .. } => writer.status("in_progress")?,
        ChangeKind::Complete { .. } => writer.status("completed")?,
        ChangeKind::Approve { .. } | ChangeKind::Pause { .. } | ChangeKind::Abort { .. } => {
            return unsupported(format!(
                "{} only records completed phases: nothing was changed; `piton plan {}` shows what comes next",
                files.state,
                quoted(writer.run.id.as_str())
            ));
        }
        ChangeKind::RollBack(back) => writer.roll_back(back)?,
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("these phases are started by their own command".to_owned());
        }
    }
    writer.editor.touch("/updatedAt")?;
    Ok(writer.editor.into_edits())
}

fn number(step: &StepId) -> Result<u64, EditError> {
    match step.as_str().strip_prefix("phase-").and_then(|number| number.parse().ok()) {
        Some(number) => Ok(number),
        None => unsupported(format!("`{step}` is not a phase of this workflow")),
    }
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let number = number(&outcome.step)?;
        if !completes(outcome, "a workflow of phases")? {
            self.status("failed")?;
            self.editor.set_number("/failedPhase", number)?;
            self.editor.stamp("/failedAt", None)?;
            let error = outcome_text(outcome).unwrap_or_else(|| "it failed".to_owned());
            return self.editor.set_text("/error", &error);
        }
        let agent = outcome.agent.clone().or_else(|| self.run.step(&outcome.step)?.agent.clone());
        let summary = outcome.summary.as_deref().map(mask_secrets);
        let result = object([("status", Some(json!("completed"))), ("summary", summary.map(|text| json!(text)))]);
        self.record(number, agent, &result)
    }

    fn record(&mut self, number: u64, agent: Option<String>, result: &serde_json::Value) -> Result<(), EditError> {
        let phase = format!("/phases/{number}");
        if let Some(agent) = agent {
            self.editor.set_text(&format!("{phase}/agent"), agent.trim_start_matches('@'))?;
        }
        self.editor.set(&format!("{phase}/result"), result)?;
        self.editor.stamp(&format!("{phase}/completedAt"), None)?;
        self.editor.set_number("/currentPhase", number)?;
        self.status("in_progress")
    }

    /// Removes what says that a phase is over. The state has no field for a phase in progress.
    fn reopen(&mut self, number: u64) -> Result<(), EditError> {
        for key in ["result", "completedAt"] {
            let pointer = format!("/phases/{number}/{key}");
            if self.editor.has(&pointer) {
                self.editor.remove(&pointer)?;
            }
        }
        Ok(())
    }

    /// Removes the results of phases; the last phase with a result becomes the current one.
    fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        for step in &back.reopened {
            let phase = format!("/phases/{}", number(step)?);
            if self.editor.has(&phase) {
                self.editor.remove(&phase)?;
            }
        }
        self.editor.set_number("/currentPhase", back.keeps.as_ref().map_or(Ok(0), number)?)?;
        for stale in ["/failedPhase", "/failedAt", "/error"] {
            if self.editor.has(stale) {
                self.editor.remove(stale)?;
            }
        }
        self.status("in_progress")
    }

    fn status(&mut self, word: &str) -> Result<(), EditError> {
        self.editor.set_text("/status", word)
    }
}
