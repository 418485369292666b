//! `close`: ends a run: its work is in, or it ends as it is. Either archives the state, which `restore` brings back.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    archive::{self, ArchiveRequest},
    archived,
    change::{ChangeRequest, change_at},
    client_sessions,
    discard::{Discarded, Held},
    lifecycle,
    opened_run::{OpenedRun, run_word},
    patch,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
    select, startable, trust,
};
use crate::{
    dialect::{EditError, piton::Session},
    engine::{self, ChangeLimits, Planned, Refusal, RefusalKind},
    model::{
        Change, ChangeKind, DialectId, FindingCode, Fix, No, Owner, Patch, Run, RunId, RunStatus, Status, Suggested,
        Verb, Verdict, plural,
    },
};

/// A closed run (`close/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CloseReport {
    pub(crate) run: RunId,
    /// The folder that its state is in now, from the top of the project where it is below that; `null` for a run that is not archived: it has no
    /// state of its own, or a worktree is left of it.
    pub(crate) to: Option<String>,
    /// The command that fits next: a start under the same name, if piton can start such a run.
    pub(crate) next: Suggested,
    /// The command that brings the run back; left out of a run that is not archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restore: Option<Suggested>,
    /// How its own system starts a new run, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
    /// What sets back the files that still call its work open; Piton does not write them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<Patch>,
    /// What the record of the end says. Left out for a run that was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// What goes with it; only with `--discard`.
    #[serde(flatten)]
    pub(crate) discarded: Option<Discarded>,
}

impl Body for CloseReport {
    const SCHEMA: &'static str = "close/1";

    fn written(&self) -> Option<String> {
        let is_shown = self.discarded.as_ref().is_some_and(|discarded| discarded.dry_run);
        (!is_shown).then(|| format!("{} is closed", self.run))
    }
}

impl CloseReport {
    /// Returns the report of a run whose state stays where it is, with a worktree.
    fn of(opened: &OpenedRun) -> Self {
        let run = RunId::new(&opened.candidate.name);
        let next = Suggested::of(Verb::Close, &run).flag("discard");
        Self { run, to: None, next, restore: None, start: None, patch: None, message: None, discarded: None }
    }
}

/// How a run ends, but for one whose worktree is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its work is in.
    Done,
    /// It ends as it is.
    Abort,
}

/// Options of a close.
#[derive(Clone, Debug, Default)]
pub(crate) struct CloseRequest {
    /// `None`: as done, if the run is over.
    pub(crate) ending: Option<Ending>,
    pub(crate) by: Option<String>,
    pub(crate) note: Option<String>,
    /// End a run as done although steps are open or its work is not merged.
    pub(crate) yes: bool,
    pub(crate) if_revision: Option<String>,
}

/// Ends a run, and archives its state. What nothing can be archived of has only the record of its end.
pub(crate) fn close(ctx: &ProjectContext, request: CloseRequest) -> Result<Report<CloseReport>, OpError> {
    let location = located(ctx)?;
    client_sessions::check_writable(ctx, &location)?;
    let opened = ctx.read(&location)?;
    archive::check_not_newer(&opened)?;
    let aborts = request.ending == Some(Ending::Abort);
    let (if_revision, force) = (request.if_revision.clone(), request.yes);
    let abort = ChangeKind::Abort { by: request.by, reason: request.note.clone() };
    let Some(run) = &opened.loaded.run else {
        check_given_up(&opened, aborts)?;
        return archived(ctx, &location, &opened, (None, ArchiveRequest { abort: Some(abort), if_revision }));
    };
    let planned = plan::planned(ctx, &opened, run, &PlanRequest::default())?;
    let is_complete = planned.plan.verdict == Verdict::Complete;
    let is_over = match run.status {
        RunStatus::Archived => request.ending.is_none(),
        RunStatus::Aborted => !aborts,
        RunStatus::Completed => is_complete,
        RunStatus::Active | RunStatus::Paused => false,
    };
    if request.ending.is_none() && !is_over && !is_complete {
        return Err(without_ending(ctx, &opened, run, &planned));
    }
    if !aborts && run.status != RunStatus::Aborted && !force {
        check_merged(&opened, run)?;
    }
    let put_away = ArchiveRequest { if_revision: if_revision.clone(), ..ArchiveRequest::default() };
    let kind = match aborts {
        _ if is_over && request.note.is_some() => return Err(OpError::Refused(no_note(run))),
        _ if is_over => return archived(ctx, &location, &opened, (None, put_away)),
        true if !lifecycle::leaves_more(run) && !opened.candidate.claim.is_implied() => {
            let put_away = ArchiveRequest { abort: Some(abort), ..put_away };
            return archived(ctx, &location, &opened, (None, put_away));
        }
        true => abort,
        false => ChangeKind::Complete { note: request.note },
    };
    let change = ChangeRequest { if_revision, force: force && !aborts, ..ChangeRequest::of(kind) };
    let message = match change_at(ctx, &location, change) {
        Ok(recorded) => Some(recorded.body.message),
        // Its format has no word for that; every step is done.
        Err(OpError::Edit(EditError::Unsupported(_))) if is_complete => None,
        Err(error) => return Err(error),
    };
    archived(ctx, &location, &ctx.read(&location)?, (message, ArchiveRequest::default()))
}

/// Discards a run of a workflow file; the caller asks for confirmation, with the work that is lost.
pub(crate) fn discard(
    ctx: &ProjectContext,
    location: &RunLocation,
    dry_run: bool,
) -> Result<Report<CloseReport>, OpError> {
    trust::check(ctx, location)?;
    let opened = ctx.read(location)?;
    let id = &location.candidate.name;
    if matches!(ctx.evidence(&opened, false).owner, Owner::Live { .. }) {
        return Err(OpError::LiveOwner(format!("session {id} is running: end it first")));
    }
    let (Ok(session), Some(run)) = (Session::read(&opened.files), &opened.loaded.run) else {
        let message = format!("{id} cannot be discarded: it cannot be read");
        let hints = vec![Suggested::of(Verb::Close, id).flag("abort").into()];
        return Err(OpError::InTheWay { why: No::Invalid, message, hints });
    };
    let done = run.steps.iter().filter(|step| step.status.satisfies()).count();
    let aborted = if run.status == RunStatus::Aborted { "aborted, " } else { "" };
    let held = Held::of(&session, format!("{aborted}{done} of {} steps done", run.steps.len()), dry_run);
    let closed = match dry_run {
        true => CloseReport::of(&opened),
        false => {
            held.remove(ctx, location)?;
            put_away(ctx, location, &opened, ArchiveRequest::default())?
        }
    };
    Ok(Report::ok(CloseReport { discarded: Some(held.discarded), ..closed }))
}

/// Locates the requested run: without a name the only one, which may be over.
fn located(ctx: &ProjectContext) -> Result<RunLocation, OpError> {
    match select::location(ctx) {
        Err(error @ OpError::NoRun { .. }) if ctx.run.is_none() && ctx.run_path.is_none() => {
            let mut ended = ctx.ended_runs().ended;
            if ended.len() == 1 { Ok(ended.remove(0)) } else { Err(error) }
        }
        found => found,
    }
}

/// Refuses to archive what cannot be read unless a person gives it up.
fn check_given_up(opened: &OpenedRun, aborts: bool) -> Result<(), OpError> {
    if aborts {
        return Ok(());
    }
    let path = run_word(&opened.candidate);
    Err(OpError::NotConfirmed {
        message: format!(
            "{} cannot be read; archiving it may lose work that `restore` could bring back",
            opened.candidate.state
        ),
        hints: vec![Suggested::of(Verb::Restore, &path).into(), Suggested::of(Verb::Close, &path).flag("abort").into()],
    })
}

/// Refuses to call a run done whose work is in its own worktree.
fn check_merged(opened: &OpenedRun, run: &Run) -> Result<(), OpError> {
    let kept = lifecycle::not_merged(opened).and_then(|finding| finding.fix.clone()).map(String::from);
    let Some(merge) = run.merge_command().map(ToString::to_string).or(kept) else { return Ok(()) };
    let discard = Suggested::of(Verb::Close, &opened.candidate.name).flag("discard");
    Err(OpError::NotConfirmed {
        message: format!("the work of {} is not merged", opened.candidate.name),
        hints: vec![merge.into(), discard.into()],
    })
}

/// Returns the refusal to drop a note about a run that has ended.
fn no_note(run: &Run) -> Refusal {
    let message = format!("{} has ended: `--note` would not be recorded", run.id);
    let hints = vec![Suggested::of(Verb::Close, &run.id).into()];
    Refusal { kind: RefusalKind::No(No::Already), message, hints }
}

/// Returns the refusal to end a run without a word about how, with the ways to end it that the admission lets through.
fn without_ending(ctx: &ProjectContext, opened: &OpenedRun, run: &Run, planned: &Planned) -> OpError {
    if planned.findings.iter().any(|finding| finding.code == FindingCode::RunUntrusted) {
        return plan::refusal(planned, run, &format!("{} is not ended", run.id));
    }
    let close = || Suggested::of(Verb::Close, &run.id);
    let progress = &planned.plan.progress;
    let open = plural(progress.total - progress.done, "open step");
    let done = Change { at: ctx.clock.now, kind: ChangeKind::Complete { note: None } };
    let limits = ChangeLimits::of(ctx.project.config.limits.attempts);
    let evidence = ctx.workspace_evidence(opened);
    let is_done = engine::admit(run, (&evidence, &opened.loaded.findings), done, limits, None).is_ok();
    let mut hints: Vec<Fix> =
        Vec::from_iter(is_done.then(|| format!("`{}`: its work is in", close().flag("done")).into()));
    hints.push(format!("`{}`: it ends as it is", close().flag("abort")).into());
    if run.dialect == DialectId::Piton {
        hints.push(format!("`{}`: its worktree and branch go too", close().flag("discard")).into());
    }
    OpError::NotConfirmed { message: format!("{} still has {open}; say how it ends", run.id), hints }
}

/// Archives the state of a run that has ended, unless more than that is left of it.
fn archived(
    ctx: &ProjectContext,
    location: &RunLocation,
    opened: &OpenedRun,
    (message, request): (Option<String>, ArchiveRequest),
) -> Result<Report<CloseReport>, OpError> {
    let run = opened.loaded.run.as_ref();
    let stays = CloseReport { message: message.clone(), ..CloseReport::of(opened) };
    if run.is_some_and(lifecycle::needs_discard) {
        return Ok(Report::ok(stays));
    }
    let is_archivable = |run| request.abort.is_some() || lifecycle::is_archivable(opened, run, ctx.clock.now);
    if message.is_some() && !run.is_none_or(is_archivable) {
        let next = Suggested::of(Verb::Plan, &location.candidate.name);
        return Ok(Report::ok(CloseReport { next, ..stays }));
    }
    let message = if request.abort.is_some() { Some("the run is aborted".to_owned()) } else { message };
    Ok(Report::ok(CloseReport { message, ..put_away(ctx, location, opened, request)? }))
}

/// Archives the state of a run. Returns where it is, and how the run comes back or is started again.
pub(super) fn put_away(
    ctx: &ProjectContext,
    location: &RunLocation,
    opened: &OpenedRun,
    request: ArchiveRequest,
) -> Result<CloseReport, OpError> {
    let patch = reset(opened);
    let to = archive::archive_run(ctx, location, request)?;
    // What is delivered is not started again.
    let is_completed = opened.loaded.run.as_ref().is_some_and(|run| run.status == RunStatus::Completed);
    let again = if is_completed { None } else { startable::again(&ctx.project, opened) };
    Ok(CloseReport {
        next: again.unwrap_or_else(|| Suggested::new(Verb::List)),
        start: opened.dialect.archives().starts_anew().filter(|_| !is_completed).map(str::to_owned),
        restore: Some(archived::restore_command(ctx, &to)),
        to: Some(archived::shown(ctx, &to)),
        patch,
        ..CloseReport::of(opened)
    })
}

/// Returns what sets back the files of other people that still call the run's work open; `None` if there are none.
fn reset(opened: &OpenedRun) -> Option<Patch> {
    let run = Run { status: RunStatus::Archived, ..opened.loaded.run.clone()? };
    let done = run.steps.iter().filter(|step| step.status == Status::Completed).map(|step| step.id.clone());
    let patch = patch::suggested(opened, &run, &done.collect::<Vec<_>>());
    (opened.dialect.archives().starts_anew().is_some() && !patch.diff.is_empty()).then_some(patch)
}
