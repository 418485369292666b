//! The steps that the caller's session has in progress, with their briefs, for the events of the client. Writes nothing and starts no
//! process.

use std::time::Duration;

use super::{
    OpError, agent_report,
    context::{self, BRIEF_BYTES},
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    select,
};
use crate::{
    engine::{self, Planned},
    model::{AgentReport, Context, Next, RunId, StepId, Suggested},
    store::{self, RunLock, briefs::BriefFile},
};

/// A run with the steps that the caller has in progress.
#[derive(Debug)]
pub(crate) struct OpenSteps {
    pub(crate) run: RunId,
    /// In the order of the run.
    pub(crate) steps: Vec<OpenStep>,
    opened: OpenedRun,
    planned: Option<Planned>,
}

/// A step that the caller has in progress.
#[derive(Debug)]
pub(crate) struct OpenStep {
    pub(crate) step: StepId,
    pub(crate) attempt: u32,
    /// The agents that may do it: the one that it was begun for, and those that its system names.
    pub(crate) agents: Vec<String>,
    /// The command that records its end. Words in capitals stand for what is filled in.
    pub(crate) end: Suggested,
    /// The command that prints its brief.
    pub(crate) context: Suggested,
    /// How its agent ends its last message.
    contract: String,
}

/// Returns the steps of the requested run that the caller has in progress.
pub(crate) fn open_steps(ctx: &ProjectContext) -> Result<OpenSteps, OpError> {
    let location = select::location(ctx)?;
    let opened = ctx.read(&location)?;
    let run = opened.run()?;
    let evidence = ctx.workspace_evidence(&opened);
    let own = engine::own_attempts(run, &evidence);
    let steps: Vec<OpenStep> = own
        .into_iter()
        .filter_map(|attempt| {
            let step = run.step(&attempt.step)?;
            let reported = agent_report::kept(&opened, run, step, attempt.attempt);
            let named = attempt.agent.into_iter().chain(step.agent.clone());
            Some(OpenStep {
                agents: named.chain(step.agent_candidates.iter().cloned()).collect(),
                end: engine::end_reported(step, &run.id, reported.map(|report| report.status), Some(attempt.about.id)),
                context: engine::context_command(&step.id, &run.id),
                contract: engine::agent_contract(step),
                step: attempt.step,
                attempt: attempt.attempt,
            })
        })
        .collect();
    let planned = match steps.is_empty() {
        true => None,
        false => {
            let options = plan::options(ctx, run, &PlanRequest::default())?;
            Some(plan::evaluate(&opened, run, &evidence, &options))
        }
    };
    Ok(OpenSteps { run: run.id.clone(), steps, opened, planned })
}

impl OpenSteps {
    /// Keeps the report of the agent of an open step for the `finish` that records it. What cannot be written is not kept: the
    /// session that started the agent has its words too.
    pub(crate) fn keep_report(&self, open: &OpenStep, report: AgentReport, timeout: Duration) {
        let Some(file) = agent_report::file(open.attempt, report) else { return };
        let files = &self.opened.files;
        let Ok(lock) = RunLock::acquire(&files.root, &files.own, timeout) else { return };
        let _ = store::briefs::write(&lock, BriefFile::Report, &self.run, &open.step, &file);
    }

    /// Returns the brief of an open step for its agent, which reports instead of recording.
    pub(crate) fn brief_for_agent(&self, open: &OpenStep) -> Option<Context> {
        self.brief(open).map(|brief| Context { report: open.contract.clone(), ..brief })
    }

    /// Returns the brief of an open step as `begin` answered it; `None` if the plan no longer has the step.
    pub(crate) fn brief(&self, open: &OpenStep) -> Option<Context> {
        let planned = self.planned.as_ref()?;
        let next: &Next = planned.plan.next.iter().find(|next| next.step == open.step)?;
        Some(context::assemble(&self.opened, self.opened.run().ok()?, planned, next, BRIEF_BYTES))
    }
}
