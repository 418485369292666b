//! Writes the state of a development cycle (docs/formats/aios-states.md#development-cycle).
//!
//! The running phase is the current one and has no result. Redoing a phase removes its result and those of later phases, because
//! results of two passes cannot be resumed (docs/formats/aios-states.md#loop-back-laps).

use serde_json::Value;
use serde_json::json;

use super::completes;
use super::outcome_text;
use super::unsupported;
use crate::dialect::EditError;
use crate::dialect::aios::dev_cycle;
use crate::dialect::aios::dev_cycle::CHECKPOINT;
use crate::dialect::aios::dev_cycle::PHASES;
use crate::dialect::aios::dev_cycle::PUSH;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::edit::object;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::RollBack;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::mask_secrets;
use crate::model::quoted;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, "/lastUpdated")?;
    let Some(run) = dev_cycle::load(files).run else {
        return unsupported(format!("{} is not the state of a development cycle", files.state));
    };
    let mut writer = Writer { editor, run };
    match &change.kind {
        ChangeKind::Begin { step, .. } => writer.begin(step)?,
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Approve { step, .. } => writer.approve(step)?,
        ChangeKind::Skip { step, reason, .. } => {
            let at = phase(step)?;
            let reason = mask_secrets(reason);
            writer.record(at, &json!({ "status": "skipped", "reason": reason }))?;
        }
        ChangeKind::Pause { .. } => writer.stop("workflow_paused")?,
        ChangeKind::Abort { .. } => writer.stop("workflow_aborted")?,
        ChangeKind::Resume { .. } => writer.resume()?,
        ChangeKind::Complete { .. } => writer.complete()?,
        ChangeKind::RollBack(back) => writer.roll_back(back)?,
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("a development cycle is started by its own runner".to_owned());
        }
    }
    writer.editor.touch("/lastUpdated")?;
    Ok(writer.editor.into_edits())
}

fn phase(step: &StepId) -> Result<usize, EditError> {
    match PHASES.iter().position(|(id, ..)| *id == step.as_str()) {
        Some(at) => Ok(at),
        None => unsupported(format!("`{step}` is not a phase of a development cycle")),
    }
}

fn result(at: usize) -> String {
    format!("/phaseResults/{}", PHASES[at].0)
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn begin(&mut self, step: &StepId) -> Result<(), EditError> {
        let at = phase(step)?;
        self.clear_results_from(at)?;
        self.editor.set_text("/currentPhase", PHASES[at].0)
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let at = phase(&outcome.step)?;
        // The checkpoint has to be approved again.
        if at == CHECKPOINT && outcome.status == Status::WaitingApproval {
            return self.record(at, &json!({ "status": "completed", "decision": "REVIEW" }));
        }
        let is_done = completes(outcome, "a development cycle")?;
        let text = outcome_text(outcome);
        let commit = outcome.commit.as_ref().filter(|_| at == PUSH);
        let verdict = outcome.verdict.filter(|_| PHASES[at].0 == "4_quality_gate");
        let value = object([
            ("status", Some(json!(if is_done { "completed" } else { "failed" }))),
            ("review_result", verdict.map(|verdict| json!({ "verdict": verdict }))),
            ("push_result", commit.map(|commit| json!({ "commit_hash": commit }))),
            ("decision", (is_done && at == CHECKPOINT).then(|| json!("GO"))),
            (if is_done { "output" } else { "error" }, text.map(|text| json!(text))),
        ]);
        self.record(at, &value)?;
        let failures = u64::from(outcome.failures);
        let counted = self.editor.text("/attemptCount").and_then(|count| count.parse().ok());
        if counted == Some(failures) { Ok(()) } else { self.editor.set_number("/attemptCount", failures) }
    }

    /// Records the user's approval of the checkpoint.
    fn approve(&mut self, step: &StepId) -> Result<(), EditError> {
        if phase(step)? != CHECKPOINT {
            return unsupported(format!("{step} is not a checkpoint"));
        }
        if self.editor.has(&result(CHECKPOINT)) {
            self.editor.set_text(&format!("{}/decision", result(CHECKPOINT)), "GO")?;
            self.editor.set_text("/currentPhase", PHASES[CHECKPOINT].0)
        } else {
            self.record(CHECKPOINT, &json!({ "status": "completed", "decision": "GO" }))
        }
    }

    /// Saves the result of a phase and removes those of later phases.
    fn record(&mut self, at: usize, value: &Value) -> Result<(), EditError> {
        self.clear_results_from(at)?;
        self.editor.set(&result(at), value)?;
        self.editor.set_text("/currentPhase", PHASES[at].0)
    }

    fn clear_results_from(&mut self, from: usize) -> Result<(), EditError> {
        for at in from..PHASES.len() {
            if self.editor.has(&result(at)) {
                self.editor.remove(&result(at))?;
            }
        }
        Ok(())
    }

    /// Removes the results of reopened phases; the last phase with a result becomes the current one.
    fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        let Some(first) = back.reopened.first() else { return Ok(()) };
        let at = phase(first)?;
        self.clear_results_from(at)?;
        let current = at.checked_sub(1).map_or(Value::Null, |before| json!(PHASES[before].0));
        self.editor.set("/currentPhase", &current)?;
        if self.editor.has("/attemptCount") { self.editor.set_number("/attemptCount", 0) } else { Ok(()) }
    }

    fn stop(&mut self, word: &str) -> Result<(), EditError> {
        let is_pushing = self.run.steps[PUSH].status == Status::InProgress;
        if is_pushing {
            let (step, run) = (PHASES[PUSH].0, quoted(self.run.id.as_str()));
            return unsupported(format!(
                "{step} is running, which a paused cycle cannot record: record its result first, with `piton finish {step} \
                 --run {run}` or `piton finish {step} --run {run} --status failed --error TEXT`"
            ));
        }
        self.editor.set_text("/currentPhase", word)
    }

    /// Resumes a paused cycle after its last result.
    fn resume(&mut self) -> Result<(), EditError> {
        if !matches!(self.editor.text("/currentPhase"), Some("workflow_paused" | "workflow_aborted")) {
            return Ok(());
        }
        let last = (0..PHASES.len()).take_while(|at| self.editor.has(&result(*at))).last();
        let current = last.map_or(Value::Null, |at| json!(PHASES[at].0));
        self.editor.set("/currentPhase", &current)
    }

    /// Completes the cycle by recording GO at the checkpoint.
    fn complete(&mut self) -> Result<(), EditError> {
        if !self.editor.has(&result(CHECKPOINT)) {
            let (step, run) = (PHASES[CHECKPOINT].0, quoted(self.run.id.as_str()));
            return unsupported(format!(
                "a development cycle ends when its checkpoint says GO, but {step} has no result: `piton finish {step} --run {run}`"
            ));
        }
        self.editor.set_text(&format!("{}/decision", result(CHECKPOINT)), "GO")?;
        self.editor.set_text("/currentPhase", PHASES[CHECKPOINT].0)
    }
}
