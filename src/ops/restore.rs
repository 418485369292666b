//! `restore`: brings an archived run back, or an earlier version of a run. What it replaces stays among the versions. A state that cannot be
//! read is replaced only after a yes to what `proposal` shows.

use super::{
    Exit, OpError, archive,
    archived::{self, ArchivedRun},
    lifecycle::gone,
    locked_run::{LockedRun, back_record},
    opened_run::OpenedRun,
    project_context::ProjectContext,
    proposal::{self, Confirmation, RestoreReport, repeats},
    report::Report,
    run_location::RunLocation,
    select::{self, Selected},
    versions::{self, says_unreadable},
};
use crate::{
    engine::{self, Refusal, RefusalKind},
    model::{Edit, Entry, No, RelPath, RollBack, StepId, Suggested, Verb, plural},
    store,
};

/// Options of a restore.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestoreRequest {
    /// The version; without it the newest readable one.
    pub(crate) to: Option<String>,
    /// Rebuild the state from the evidence in place of a version.
    pub(crate) from_evidence: bool,
    pub(crate) confirmation: Confirmation,
}

/// Brings an archived run back, or restores a version: the named one, else the newest readable one.
pub(crate) fn restore(ctx: &ProjectContext, request: &RestoreRequest) -> Result<Report<RestoreReport>, OpError> {
    let to = request.to.as_deref();
    let location = match select::selected(ctx)? {
        Selected::There(location) => {
            if let Some(folder) = archive::bring_back(ctx, &location)? {
                let run = &location.candidate.name;
                let (from, files) = (location.candidate.state.to_string(), vec![folder]);
                return match to {
                    // A version is restored where the run was.
                    Some(_) => restore(ctx, request),
                    None => Ok(Report::ok(RestoreReport { from, files, written: true, ..RestoreReport::new(run) })),
                };
            }
            location
        }
        // The path of an archive is gone once it was brought back.
        Selected::Archived(run) if to.is_some() && ctx.run_path.is_some() => return Err(archived::refusal(ctx, &run)),
        Selected::Archived(run) => {
            archived::bring_back(ctx, &run)?;
            // A checkpoint is restored where the run was.
            return if to.is_some() { restore(ctx, request) } else { Ok(Report::ok(brought_back(ctx, &run))) };
        }
    };
    if request.from_evidence {
        return proposal::from_evidence(ctx, &location, &request.confirmation);
    }
    let yes = request.confirmation == Confirmation::Any;
    if to.is_some() || yes {
        return version(ctx, &location, to, yes);
    }
    let Some(proposed) = proposal::of_version(ctx, &location)? else { return version(ctx, &location, None, false) };
    if !proposal::is_agreed(&request.confirmation, &proposed)? {
        return Ok(Report { exit: Exit::Person, ..Report::ok(proposed) });
    }
    version(ctx, &location, Some(&proposed.from), true)
}

/// Restores a version.
fn version(
    ctx: &ProjectContext,
    location: &RunLocation,
    to: Option<&str>,
    yes: bool,
) -> Result<Report<RestoreReport>, OpError> {
    let locked = LockedRun::open(ctx, location)?;
    locked.check_not_driven()?;
    locked.opened.check_readable(&location.candidate.state)?;
    let is_back = locked.opened.files.lost.as_ref().is_none_or(|lost| lost.has_folder);
    if let Some(refusal) = gone(&locked.opened).filter(|_| !is_back) {
        return Err(OpError::Refused(refusal));
    }
    if let Some(run) = locked.opened.loaded.run.as_ref().filter(|run| !run.degraded) {
        engine::rollback::check_writable(run).map_err(OpError::Refused)?;
    }
    let version = match to {
        Some(name) => versions::named(&locked.opened, name)?,
        None => proposal::newest_readable(ctx, &locked.opened)?,
    };
    let (edits, restored) = versions::restoring(&locked.opened, &version)?;
    let repeats = repeats(ctx, &locked.opened, &restored);
    if edits.is_empty() {
        return Err(OpError::Refused(nothing_to_restore(&locked.opened, &version.name)));
    }
    if !versions::is_sound(&restored) {
        return Err(OpError::Refused(unreadable(&locked.opened, &version.name)));
    }
    check_confirmed(&location.candidate.name, &version.name, &repeats, yes)?;
    let kept = keep_unreadable(&locked, &edits)?;
    let reopened = reopened(ctx, &restored, &repeats);
    let run = locked.opened.loaded.run.as_ref().filter(|_| !reopened.is_empty());
    let back = RollBack { to: version.name.clone(), reopened, ..RollBack::default() };
    let back = run.map(|run| back_record(run, locked.clock().now, &back));
    let entry = Entry { back, ..locked.entry("restore", None) };
    locked.commit_restored(restored.loaded.run.as_ref(), entry, edits.clone())?;
    // Discovery may know a broken state by its file only.
    let name = restored.loaded.run.as_ref().map(|run| run.id.as_str().to_owned());
    Ok(Report::ok(RestoreReport {
        from: version.name,
        files: edits.into_iter().map(|edit| edit.path).collect(),
        written: true,
        repeats,
        kept,
        ..RestoreReport::new(&name.unwrap_or_else(|| location.candidate.name.clone()))
    }))
}

/// Returns the steps whose records are from the state that is given up: those that it had done, also if their results are gone since.
fn reopened(ctx: &ProjectContext, restored: &OpenedRun, repeats: &[StepId]) -> Vec<StepId> {
    let Some(run) = &restored.loaded.run else { return repeats.to_vec() };
    let lost = engine::lost_steps(run, &ctx.evidence(restored, false));
    let is_lost = |step: &StepId| repeats.contains(step) || lost.iter().any(|lost| lost.id == *step);
    run.steps.iter().map(|step| step.id.clone()).filter(is_lost).collect()
}

fn brought_back(ctx: &ProjectContext, archived: &ArchivedRun) -> RestoreReport {
    RestoreReport {
        from: archived::shown(ctx, &archived.folder),
        files: archived.originals(),
        written: true,
        ..RestoreReport::new(&archived.name)
    }
}

fn nothing_to_restore(opened: &OpenedRun, version: &str) -> Refusal {
    let run = engine::quoted(&opened.candidate.name);
    Refusal {
        kind: RefusalKind::No(No::Already),
        message: format!("nothing changed: the state is already as it was at {version}"),
        hints: vec![format!("piton history {run}"), format!("piton status {run}")],
    }
}

fn unreadable(opened: &OpenedRun, version: &str) -> Refusal {
    let run = engine::quoted(&opened.candidate.name);
    Refusal {
        kind: RefusalKind::No(No::Invalid),
        message: format!("nothing changed: the state at {version} cannot be read"),
        hints: vec![format!("piton history {run}"), format!("piton restore {run}")],
    }
}

/// Refuses to repeat steps without confirmation.
fn check_confirmed(run: &str, version: &str, repeats: &[StepId], yes: bool) -> Result<(), OpError> {
    if yes || repeats.is_empty() {
        return Ok(());
    }
    let shown = repeats.iter().take(8).map(StepId::as_str).collect::<Vec<_>>().join(", ");
    Err(OpError::NotConfirmed {
        message: format!("with {version} restored, {} would be open again: {shown}", plural(repeats.len(), "step")),
        hints: vec![Suggested::of(Verb::Restore, run).option("to", version).yes().into()],
    })
}

/// Keeps copies of unreadable files before they are replaced.
fn keep_unreadable(locked: &LockedRun<'_>, edits: &[Edit]) -> Result<Vec<String>, OpError> {
    let mut kept = Vec::new();
    let findings = &locked.opened.loaded.findings;
    let is_unreadable = |path: &RelPath| {
        findings.iter().any(|finding| says_unreadable(finding.code) && finding.file.as_ref() == Some(path))
    };
    for path in edits.iter().map(|edit| &edit.path) {
        if let Some(bytes) = locked.opened.files.bytes(path).filter(|_| is_unreadable(path)) {
            let copy = store::aside::keep(locked.lock(), path, locked.clock().now, bytes)?;
            kept.push(locked.opened.shown_path(&copy));
        }
    }
    Ok(kept)
}
