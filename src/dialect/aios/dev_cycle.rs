//! The state of a development cycle: six phases of one story (docs/formats/aios-states.md#development-cycle).
//!
//! `currentPhase` is the last phase with a saved result; without a result it is running. A result of a later phase belongs to an
//! earlier pass (docs/formats/aios-states.md#loop-back-laps). In that case neither is trusted and the user decides.

use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::follow;
use crate::dialect::Loaded;
use crate::document::Field;
use crate::document::Reader;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RunStatus;
use crate::model::Severity;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;

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
pub(super) const WORKFLOW: &str = "development-cycle";

pub(super) fn title(story: &str) -> String {
    format!("Development Cycle for story {story}")
}

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let mut run = tree.run(Kind::DevCycle, WORKFLOW, title(&tree.subject(Kind::DevCycle)));
    let cycle = Cycle { tree: &tree };
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
    run.started_at = tree.get("startedAt").time();
    run.stamp = tree.get("lastUpdated").time();
    tree.loaded(run)
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
            if at == PUSH {
                step.idempotent = false;
                // The runner saves a phase only when it ended.
                step.begins_unrecorded = true;
                step.probe = Some("git ls-remote, and the pull requests of the branch".to_owned());
            }
            if step.status == Status::Failed {
                (step.attempts, step.failures) = (counted.max(1), counted.max(1));
                step.error = self.result(at).get("error").text().map(str::to_owned);
            } else if step.status == Status::Pending && position == Some(at) {
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
