//! Where a run is in its life: open, paused, aborted, finished or archived, in the same words for every verb.

use std::time::Duration;

use super::{
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Lifecycle, Stage},
    run_location::RunLocation,
};
use crate::{
    dialect::StateHome,
    engine::{self, Planned, Refusal, RefusalKind},
    model::{
        Action, DecisionKind, DialectId, Finding, FindingCode, Interruption, InterruptionKind, Plan, Run, RunStatus,
        Status, Step, Suggested, Timestamp, Verb, Verdict, clean_line, human_duration, safe_line,
    },
};

const REASON_CHARS: usize = 120;

impl Lifecycle {
    /// Returns the lifecycle of a run that may continue.
    pub(super) const fn open() -> Self {
        Self { stage: Stage::Open, reason: None }
    }

    /// Returns the lifecycle of a planned run. The journal is read only for a run that was aborted.
    pub(super) fn of(opened: &OpenedRun, run: &Run, plan: &Plan) -> Self {
        let merges = plan.next.iter().any(|next| next.action == Action::Merge);
        let is_over = plan.verdict == Verdict::Complete && !merges && !run.waits;
        match run.status {
            RunStatus::Aborted => Self { stage: Stage::Aborted, reason: reason_of_abort(opened, run) },
            RunStatus::Archived => Self { stage: Stage::Archived, reason: reason_of_abort(opened, run) },
            RunStatus::Active | RunStatus::Paused | RunStatus::Completed if is_over => {
                Self { stage: Stage::Finished, reason: not_merged(opened).map(|_| "not merged".to_owned()) }
            }
            RunStatus::Paused => Self { stage: Stage::Paused, reason: reason_of_pause(run) },
            RunStatus::Active | RunStatus::Completed => Self::open(),
        }
    }

    /// Returns the stage with its reason: `paused: lunch`.
    pub(crate) fn describe(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.stage.as_str()),
            None => self.stage.as_str().to_owned(),
        }
    }

    /// Returns the command that fits the stage; `None` if the plan decides.
    pub(super) fn command(&self, opened: &OpenedRun, run: &Run, plan: &Plan, now: Timestamp) -> Option<Suggested> {
        let plan_of = || Some(Suggested::of(Verb::Plan, &run.id));
        match self.stage {
            _ if opened.dialect.state_home() == StateHome::Client || opened.guest().is_some() => None,
            Stage::Open => None,
            Stage::Finished if not_merged(opened).is_some() => not_merged(opened)?.fix.clone().map(Suggested::from),
            Stage::Paused => plan.commands.resume.clone().or_else(plan_of),
            Stage::Finished if plan.commands.begin.is_some() => plan.commands.begin.clone(),
            Stage::Finished if plan.next.iter().any(|next| next.action == Action::Merge) => plan_of(),
            Stage::Aborted | Stage::Finished => archive_command(opened, run, now).or_else(plan_of),
            Stage::Archived => Some(Suggested::new(Verb::List)),
        }
    }
}

/// Returns the finding that the work of a finished run is not merged.
pub(super) fn not_merged(opened: &OpenedRun) -> Option<&Finding> {
    opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::NotMerged)
}

/// Returns the command that archives a run; `None` if its state is not archived.
pub(super) fn archive_command(opened: &OpenedRun, run: &Run, now: Timestamp) -> Option<Suggested> {
    let close = Suggested::of(Verb::Close, &run.id);
    if needs_discard(run) {
        return Some(close.flag("discard"));
    }
    is_archivable(opened, run, now).then_some(close)
}

/// Tells whether the state of a run can be archived.
pub(super) fn is_archivable(opened: &OpenedRun, run: &Run, now: Timestamp) -> bool {
    let is_implied = opened.candidate.claim.is_implied();
    !is_implied && opened.dialect.archives().archive(&opened.files, Some(run), now).is_ok()
}

/// Tells whether a run ended.
pub(crate) fn is_over(ctx: &ProjectContext, location: &RunLocation) -> bool {
    let status = ctx.read(location).ok().and_then(|opened| Some(opened.loaded.run?.status));
    matches!(status, Some(RunStatus::Completed | RunStatus::Aborted | RunStatus::Archived))
}

/// Tells whether more is left of an aborted run than its state: a worktree, or steps that run when it ends.
pub(super) fn needs_discard(run: &Run) -> bool {
    run.status == RunStatus::Aborted && leaves_more(run)
}

/// Tells whether more than its state would be left of a run that ends now: a worktree, or steps that run when it ends.
pub(super) fn leaves_more(run: &Run) -> bool {
    let is_final = |step: &Step| step.definition.get("at_end").is_some() && !step.status.is_over();
    let has_more = run.workspace.outside.is_some() || run.steps.iter().any(is_final);
    run.dialect == DialectId::Piton && has_more
}

/// Returns the step that a living process runs, and for how long.
pub(super) fn running(run: &Run, planned: &Planned, now: Timestamp) -> Option<String> {
    let step = run.steps.iter().find(|step| step.status == Status::InProgress).filter(|_| planned.live_owner)?;
    let since = step.started_at.map(|at| now.seconds_since(at).max(0).unsigned_abs());
    let took = since.map(|since| format!(", {}", human_duration(Duration::from_secs(since)))).unwrap_or_default();
    Some(format!("running {}{took}", step.id.with_title(&clean_line(&step.title, 80))))
}

fn reason_of_pause(run: &Run) -> Option<String> {
    let paused = run.interruption.as_ref().filter(|recorded| recorded.kind == InterruptionKind::Paused)?;
    shown(&paused.reason).filter(|_| paused.reason != Interruption::PAUSED)
}

/// Returns the note of the last decision to abort the run.
fn reason_of_abort(opened: &OpenedRun, run: &Run) -> Option<String> {
    let (_, decisions) = engine::said(run, &opened.statements(run), &[]);
    let aborted = decisions.iter().rev().find(|decision| decision.decision == DecisionKind::Abort)?;
    shown(aborted.note.as_deref()?)
}

fn shown(reason: &str) -> Option<String> {
    Some(safe_line(reason, REASON_CHARS)).filter(|reason| !reason.is_empty())
}

/// Returns the refusal to write a run whose state is gone with the folder that held it.
pub(super) fn gone(opened: &OpenedRun) -> Option<Refusal> {
    let gone = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::WorktreeGone)?;
    let hints = gone.fix.iter().cloned().collect();
    Some(Refusal { kind: RefusalKind::Person, message: gone.message.clone(), hints })
}
