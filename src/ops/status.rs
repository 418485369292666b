//! `status`: three lines.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, Lifecycle, Report, Stage},
    select,
    view::RunView,
};
use crate::{
    engine,
    model::{Cause, Decision, LimitWait, RunId, StepReport, Suggested, Verdict},
};

/// A three-line summary of a run (`status/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusReport {
    pub(crate) run: RunId,
    pub(crate) verdict: Verdict,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) where_you_are: String,
    /// The wait for the end of a usage limit. Left out if the run does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_wait: Option<LimitWait>,
    /// What cut it off, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    pub(crate) what_is_stale: String,
    /// The most useful next command.
    pub(crate) next_command: Suggested,
    /// What has to be done first, if no command does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
    /// What was reported, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reports: Vec<StepReport>,
    /// What people decided, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<Decision>,
}

impl Body for StatusReport {
    const SCHEMA: &'static str = "status/1";
}

/// Summarizes a run: position, what is stale, and the most useful next command.
pub(crate) fn status(ctx: &ProjectContext) -> Result<Report<StatusReport>, OpError> {
    let opened = select::select(ctx)?;
    let run = opened.run()?;
    let planned = plan::planned(ctx, &opened, run, &PlanRequest::default())?;
    let exit = plan::exit_of(&planned);
    let plan = &planned.plan;
    let view = RunView::of(&opened, run, &planned);
    let stage = match view.lifecycle.stage {
        Stage::Open => String::new(),
        Stage::Paused | Stage::Aborted | Stage::Finished | Stage::Archived => {
            format!(" ({})", view.lifecycle.describe())
        }
    };
    let next = if view.lifecycle.stage.is_over() { String::new() } else { format!("; {}", view.position) };
    let progress = plan.progress;
    let never = progress.never_passed();
    let waits = plan.limit_wait.as_ref().map(|wait| format!(", waits for a usage limit until {}", wait.in_words));
    let waits = waits.unwrap_or_default();
    let where_you_are =
        format!("{}{stage}: {} of {} steps done{never}{next}{waits}", run.title, progress.done, progress.total);
    let (reports, decisions) = engine::said(run, &planned.statements, &planned.late);
    let body = StatusReport {
        run: run.id.clone(),
        verdict: plan.verdict,
        where_you_are,
        limit_wait: plan.limit_wait.clone(),
        cause: view.cause,
        what_is_stale: view.stale,
        next_command: view.command,
        advice: view.advice,
        lifecycle: view.lifecycle,
        reports,
        decisions,
    };
    Ok(Report { exit, body, findings: planned.findings })
}
