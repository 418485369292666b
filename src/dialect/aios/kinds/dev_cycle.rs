//! The state of a development cycle: six phases of one story (docs/formats/aios-states.md#development-cycle).
//!
//! `currentPhase` is the last phase with a saved result; without a result it is running. A result of a later phase belongs to an
//! earlier pass (docs/formats/aios-states.md#loop-back-laps). In that case neither is trusted and the user decides.

use serde_json::{Value, json};

use crate::{
    dialect::{
        EditError,
        aios::{
            editor::{StateEditor, edit},
            fields::{self, KindReader as _},
            kind::{Claim, Descriptor, StoryName},
            steps::follow,
        },
        edit::{object, unsupported},
        writer::{Approval, Begun, Resumed, StateWriter, outcome_text},
    },
    document::{Field, Reader},
    model::{
        Edit, Finding, FindingCode, GateEffect, GateOption, Outcome, Records, Run, RunId, RunStatus, Severity, Status,
        Step, StepId, StepKind, Suggested, Verb, mask_secrets,
    },
};

/// Id, name, title and agent; `None` if the state names the agent.
pub(super) const PHASES: [(&str, &str, &str, Option<&str>); 6] = [
    ("1_validation", "validation", "Validation", Some("po")),
    ("2_development", "development", "Development", None),
    ("3_self_healing", "self_healing", "Self-healing", Some("dev")),
    ("4_quality_gate", "quality_gate", "Quality gate", None),
    ("5_push", "push", "Push", Some("devops")),
    ("6_checkpoint", "checkpoint", "Checkpoint", Some("po")),
];
pub(super) const PUSH: usize = 4;
pub(super) const CHECKPOINT: usize = 5;
/// The decisions of a person at the checkpoint (docs/formats/aios-states.md#development-cycle).
const DECISIONS: [(&str, GateEffect); 4] = [
    ("GO", GateEffect::Continue),
    ("PAUSE", GateEffect::Stop),
    ("REVIEW", GateEffect::Wait),
    ("ABORT", GateEffect::Abort),
];
pub(super) const WORKFLOW: &str = "development-cycle";

pub(super) fn title(story: &str) -> String {
    format!("Development Cycle for story {story}")
}

pub(super) static DEV_CYCLE: Descriptor = Descriptor {
    workflow_type: "Development Cycle",
    prefix: "dev",
    subject: &["/currentStory"],
    subject_is_path: true,
    story: StoryName::Subject(None),
    stamps: &["/lastUpdated"],
    started: Some("/startedAt"),
    claim: Some(Claim {
        path: Some("/currentStory"),
        finished: Some(("/phaseResults/6_checkpoint/decision", &["GO"])),
    }),
    records: Records::ALL,
    ..Descriptor::of_state("the state of a development cycle", run, |files, change| {
        edit(&DEV_CYCLE, files, change, |editor, run| DevCycleWriter { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let mut run = tree.run(&DEV_CYCLE, WORKFLOW, title(&tree.subject(&DEV_CYCLE)));
    let cycle = Cycle { tree };
    let mut steps = cycle.steps();
    let position = cycle.position();
    cycle.report_later_results(position);
    let decision = cycle.decision();
    // The checkpoint has to be approved again.
    if decision == Some("REVIEW") {
        steps[CHECKPOINT].status = Status::WaitingApproval;
    }
    run.status = match (tree.get("currentPhase").text(), decision) {
        (Some("workflow_aborted"), _) | (_, Some("ABORT")) => RunStatus::Aborted,
        (Some("workflow_paused"), _) | (_, Some("PAUSE")) => RunStatus::Paused,
        (_, Some(_) | None) => RunStatus::Active,
    };
    run.position = position.map(|at| steps[at].id.clone());
    run.steps = steps;
    run
}

struct Cycle<'a> {
    tree: &'a Reader<'a>,
}

impl<'a> Cycle<'a> {
    fn position(&self) -> Option<usize> {
        let current = self.tree.get("currentPhase").text()?;
        PHASES.iter().position(|(id, ..)| *id == current)
    }

    fn result(&self, at: usize) -> Field<'a> {
        self.tree.get("phaseResults").get(PHASES[at].0)
    }

    /// Returns the decision made at the checkpoint.
    fn decision(&self) -> Option<&'a str> {
        self.result(CHECKPOINT).get("decision").text()
    }

    fn steps(&self) -> Vec<Step> {
        let named = [
            None,
            fields::agent(self.tree.get("executor")),
            None,
            fields::agent(self.tree.get("qualityGate")),
            None,
            None,
        ];
        let (counted, position) = (self.tree.get("attemptCount").number().unwrap_or(0), self.position());
        let mut steps: Vec<Step> = Vec::new();
        for (at, ((id, _, title, agent), named)) in PHASES.into_iter().zip(named).enumerate() {
            let step = follow(&mut steps, StepId::new(id), title, Status::Pending);
            step.agent = named.or_else(|| agent.map(str::to_owned));
            step.status = self.status(at, &step.id);
            if at == CHECKPOINT {
                step.kind = StepKind::Gate;
                step.options = DECISIONS.map(|(word, effect)| GateOption { word: word.to_owned(), effect }).to_vec();
            }
            if at == PUSH {
                step.idempotent = false;
                // The runner saves a phase only when it ended.
                step.begins_unrecorded = true;
                step.probe = Some("`git ls-remote`, and the pull requests of the branch".to_owned());
            }
            if step.status == Status::Failed {
                (step.attempts, step.failures) = (counted.max(1), counted.max(1));
                step.error = self.result(at).get("error").text().map(str::to_owned);
            } else if step.status == Status::Pending && position == Some(at) && at != CHECKPOINT {
                step.status = Status::InProgress;
                (step.attempts, step.failures) = (counted.saturating_add(1), counted);
            }
        }
        steps
    }

    fn status(&self, at: usize, id: &StepId) -> Status {
        let result = self.result(at);
        if !result.is_there() {
            return Status::Pending;
        }
        match result.get("status").text() {
            Some("completed") => Status::Completed,
            Some("skipped") => Status::Skipped,
            Some("failed") => Status::Failed,
            other => {
                let message = format!("the result of {id} has the status `{}`", other.unwrap_or("null").escape_debug());
                self.tree.report(Finding::new(FindingCode::StatusUnknown, message).on(id));
                Status::Pending
            }
        }
    }

    /// Reports results of phases after the current one: they are from an earlier pass.
    fn report_later_results(&self, position: Option<usize>) {
        let Some(position) = position else { return };
        let later: Vec<&str> =
            (position + 1..PHASES.len()).filter(|at| self.result(*at).is_there()).map(|at| PHASES[at].0).collect();
        if later.is_empty() {
            return;
        }
        let tail = if self.decision() == Some("GO") { "; the story already passed checkpoint GO" } else { "" };
        let message = format!(
            "{} was saved last, but there are results of {}: they are from an earlier pass of the cycle{tail}",
            PHASES[position].0,
            later.join(", ")
        );
        let fix = "check the branch and the story; close the story if its work is pushed, and do not push twice";
        let finding = Finding::new(FindingCode::StateCorrupt, message).pointer("/currentPhase").fix(fix);
        self.tree.report(Finding { severity: Severity::Blocking, ..finding });
    }
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

struct DevCycleWriter {
    editor: StateEditor,
    run: Run,
}

impl DevCycleWriter {
    /// Saves the result of a phase and removes those of later phases.
    fn record(&mut self, at: usize, value: &Value) -> Result<(), EditError> {
        self.clear_results_from(at)?;
        self.editor.set(&result(at), value)?;
        self.editor.set_text("/currentPhase", PHASES[at].0)
    }

    fn clear_results_from(&mut self, from: usize) -> Result<(), EditError> {
        for at in from..PHASES.len() {
            self.editor.remove(&result(at))?;
        }
        Ok(())
    }

    fn stop(&mut self, word: &str) -> Result<(), EditError> {
        let is_pushing = self.run.steps[PUSH].status == Status::InProgress;
        if is_pushing {
            let step = PHASES[PUSH].0;
            let finish = Suggested::of(Verb::Finish, step).run(&self.run());
            let failed = finish.clone().option("status", "failed").option("error", "TEXT");
            return unsupported(format!(
                "{step} is running, which a paused cycle cannot record: record its result first, with `{finish}` or `{failed}`"
            ));
        }
        self.editor.set_text("/currentPhase", word)
    }
}

/// The running phase is the current one and has no result. Redoing a phase removes its result and those of later phases, because
/// results of two passes cannot be resumed (docs/formats/aios-states.md#loop-back-laps).
impl StateWriter for DevCycleWriter {
    const WHAT: &'static str = "a development cycle";

    fn run(&self) -> RunId {
        self.run.id.clone()
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let at = phase(begun.step)?;
        self.clear_results_from(at)?;
        self.editor.set_text("/currentPhase", PHASES[at].0)
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let at = phase(&outcome.step)?;
        // The checkpoint has to be approved again.
        if at == CHECKPOINT && outcome.status == Status::WaitingApproval {
            return self.record(at, &json!({ "status": "completed", "decision": "REVIEW" }));
        }
        let is_done = self.completes(outcome)?;
        let text = outcome_text(outcome);
        let commit = outcome.commit.as_ref().filter(|_| at == PUSH);
        let verdict = outcome.verdict.filter(|_| PHASES[at].0 == "4_quality_gate");
        let value = object([
            ("status", Some(json!(if is_done { "completed" } else { "failed" }))),
            ("review_result", verdict.map(|verdict| json!({ "verdict": verdict }))),
            ("push_result", commit.map(|commit| json!({ "commit_hash": commit }))),
            (if is_done { "output" } else { "error" }, text.map(|text| json!(text))),
        ]);
        self.record(at, &value)?;
        let failures = u64::from(outcome.failures);
        let counted = self.editor.text("/attemptCount").and_then(|count| count.parse().ok());
        if counted == Some(failures) { Ok(()) } else { self.editor.set_number("/attemptCount", failures) }
    }

    /// Records the user's approval of the checkpoint.
    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        if phase(approval.step)? != CHECKPOINT {
            return unsupported(format!("{} is not a checkpoint", approval.step));
        }
        if self.editor.has(&result(CHECKPOINT)) {
            self.editor.set_text(&format!("{}/decision", result(CHECKPOINT)), "GO")?;
            self.editor.set_text("/currentPhase", PHASES[CHECKPOINT].0)
        } else {
            self.record(CHECKPOINT, &json!({ "status": "completed", "decision": "GO" }))
        }
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, reason: &str) -> Result<(), EditError> {
        let at = phase(step)?;
        self.record(at, &json!({ "status": "skipped", "reason": mask_secrets(reason) }))
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.stop("workflow_paused")
    }

    /// Resumes a paused cycle after its last result.
    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        if !matches!(self.editor.text("/currentPhase"), Some("workflow_paused" | "workflow_aborted")) {
            return Ok(());
        }
        let last = (0..PHASES.len()).take_while(|at| self.editor.has(&result(*at))).last();
        let current = last.map_or(Value::Null, |at| json!(PHASES[at].0));
        self.editor.set("/currentPhase", &current)
    }

    /// Completes the cycle by recording GO at the checkpoint.
    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        if !self.editor.has(&result(CHECKPOINT)) {
            let step = PHASES[CHECKPOINT].0;
            let go = Suggested::of(Verb::Decide, step).word("GO").run(&self.run()).by();
            return unsupported(format!(
                "a development cycle ends when its checkpoint says GO, but {step} has no result: `{go}`"
            ));
        }
        self.editor.set_text(&format!("{}/decision", result(CHECKPOINT)), "GO")?;
        self.editor.set_text("/currentPhase", PHASES[CHECKPOINT].0)
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(DEV_CYCLE.stamps)
    }
}
