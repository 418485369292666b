//! `status`: three lines.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    lifecycle::running,
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, Lifecycle, Report, Stage},
    select,
};
use crate::{
    engine::{self, Planned},
    model::{
        AgeBand, Cause, Decision, Fix, LimitWait, PERSON_VERBS, Run, RunId, Severity, StepReport, Suggested, Verb,
        Verdict, human_age,
    },
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
    pub(crate) next_command: Suggested,
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
    let next = plan.next.first().map(|next| format!("next: {}", next.in_words()));
    let next = running(run, &planned, ctx.clock.now).or(next).unwrap_or_else(|| "nothing is next".to_owned());
    let lifecycle = Lifecycle::of(&opened, run, plan);
    let stage = match lifecycle.stage {
        Stage::Open => String::new(),
        Stage::Paused | Stage::Aborted | Stage::Finished | Stage::Archived => format!(" ({})", lifecycle.describe()),
    };
    let next = if lifecycle.stage.is_over() { String::new() } else { format!(", {next}") };
    let progress = plan.progress;
    let never = progress.never_passed();
    let waits = plan.limit_wait.as_ref().map(|wait| format!(", waits for a usage limit until {}", wait.in_words));
    let waits = waits.unwrap_or_default();
    let where_you_are =
        format!("{}{stage}: {} of {} steps done{never}{next}{waits}", run.title, progress.done, progress.total);
    let age = plan.age.seconds.map(|seconds| format!("last change {} ago", human_age(seconds)));
    let worst = planned.findings.iter().find(|finding| finding.severity != Severity::Info);
    let what_is_stale = match (worst, plan.age.band) {
        (Some(finding), _) => finding.message.clone(),
        (None, Some(AgeBand::Stale)) => "the state itself".to_owned(),
        (None, _) => "nothing".to_owned(),
    };
    let what_is_stale = match age {
        Some(age) => format!("{what_is_stale} ({age})"),
        None => what_is_stale,
    };
    let next_command = next_command(ctx, &opened, run, &planned, &lifecycle);
    let cause = plan.interruption.as_ref().and_then(|interruption| interruption.cause.clone());
    let (reports, decisions) = engine::said(run, &planned.statements, &planned.late);
    let body = StatusReport {
        run: run.id.clone(),
        verdict: plan.verdict,
        lifecycle,
        where_you_are,
        limit_wait: plan.limit_wait.clone(),
        cause,
        what_is_stale,
        next_command,
        reports,
        decisions,
    };
    Ok(Report { exit, body, findings: planned.findings })
}

/// Tells whether a fix is more than one command that can be typed as it is, or one that decides.
fn decides(fix: &Fix) -> bool {
    let verb = |command: &Suggested| command.verb().is_some_and(|verb| PERSON_VERBS.contains(&verb.as_str()));
    fix.command().is_none_or(verb)
}

/// Returns the most useful next command.
pub(super) fn next_command(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    run: &Run,
    planned: &Planned,
    lifecycle: &Lifecycle,
) -> Suggested {
    let plan = &planned.plan;
    let worst = planned.findings.iter().find(|finding| finding.severity != Severity::Info);
    let command = match plan.verdict {
        _ if lifecycle.stage.is_over() => lifecycle.command(opened, run, plan, ctx.clock.now),
        // What a person decides is a question of the plan.
        Verdict::Blocked => worst
            .and_then(|finding| finding.fix.clone())
            .filter(|fix| plan.questions.is_empty() || !decides(fix))
            .map(Suggested::from),
        Verdict::Resume | Verdict::Confirm | Verdict::Complete | Verdict::Nothing => {
            plan.commands.resume.clone().or_else(|| plan.commands.begin.clone())
        }
    };
    command.unwrap_or_else(|| Suggested::of(Verb::Plan, &run.id))
}
