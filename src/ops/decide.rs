//! `redo` and `override`: records what a person decides about a step. No state file changes: the planner reads the decision.

use super::{
    OpError,
    change::{masked, report},
    locked_run::{LockedRun, Written},
    plan,
    project_context::ProjectContext,
    report::{CheckpointReport, Report},
    select,
};
use crate::{
    engine::{self, Decided},
    model::{Decision, DecisionKind, Run, Statement, StatementKind, are},
};

/// A decision as typed; the step is not yet resolved against the run.
#[derive(Clone, Debug)]
pub(crate) struct DecisionRequest {
    pub(crate) step: String,
    pub(crate) decision: DecisionKind,
    pub(crate) by: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) if_revision: Option<String>,
}

/// Records a decision of a person.
pub(crate) fn decide(ctx: &ProjectContext, request: DecisionRequest) -> Result<Report<CheckpointReport>, OpError> {
    let location = select::location(ctx)?;
    let locked = LockedRun::open(ctx, &location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    let decision = Decision {
        step: Some(plan::resolve(run, &request.step)?),
        decision: request.decision,
        at: locked.clock().now,
        by: request.by.as_deref().map(masked),
        note: request.note.as_deref().map(masked),
        choice: None,
        despite: None,
    };
    let written = locked.decide(run, decision)?;
    Ok(report(ctx, &locked.reload().opened, written))
}

impl LockedRun<'_> {
    /// Admits a decision and makes it durable.
    pub(super) fn decide(&self, run: &Run, decision: Decision) -> Result<Written, OpError> {
        let evidence = self.ctx().workspace_evidence(&self.opened);
        let (kind, step, said) = (decision.decision, decision.step.clone(), decision.clone());
        let statement = |decision| Statement {
            run: run.id.as_str().to_owned(),
            dialect: run.dialect,
            kind: StatementKind::Decision(decision),
        };
        let decided = engine::decide(run, &evidence, &self.opened.loaded.findings, decision, self.limits());
        let mut written = Written::of(run, kind.as_str(), step);
        match decided.map_err(OpError::Refused)? {
            Decided::Already(message) => {
                written.message.clone_from(&message);
                written.already = Some(message);
                self.keep_words(run, Some(statement(said)), &mut written)?;
            }
            Decided::Record(decisions) => {
                let steps: Vec<&str> = decisions.iter().filter_map(|one| Some(one.step.as_ref()?.as_str())).collect();
                written.message = format!("{} {} by a person", steps.join(", "), past(kind, steps.len()));
                self.say(kind.as_str(), decisions.into_iter().map(statement).collect())?;
            }
        }
        Ok(written)
    }
}

fn past(kind: DecisionKind, count: usize) -> String {
    format!("{} {}", are(count), kind.as_past())
}
