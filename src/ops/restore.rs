//! `restore`: restores an earlier checkpoint. What it replaces goes into the history; a copy of an unreadable state is kept.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    archived::{self, ArchivedRun},
    lifecycle::gone,
    locked_run::{LockedRun, back_record},
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Body, Report},
    select::{self, Selected},
    versions::{self, says_unreadable},
};
use crate::{
    engine::{self, EffectiveStatus, Refusal, RefusalKind},
    model::{Edit, Entry, RelPath, RollBack, Run, StepId, plural},
    store,
};

/// A restored checkpoint (`restore/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    pub(crate) run: String,
    pub(crate) from: String,
    pub(crate) files: Vec<RelPath>,
    /// Steps that are open again because the restored state is older: each is begun again, or asked about where it must not run twice.
    pub(crate) repeats: Vec<StepId>,
    /// Where an unreadable state was kept.
    pub(crate) kept: Vec<String>,
}

impl Body for RestoreReport {
    const SCHEMA: &'static str = "restore/1";

    fn written(&self) -> Option<String> {
        Some(format!("{} is back at {}", self.run, self.from))
    }
}

/// Restores a checkpoint: the named one, else the newest readable one.
pub(crate) fn restore(ctx: &ProjectContext, to: Option<&str>, yes: bool) -> Result<Report<RestoreReport>, OpError> {
    let location = match select::selected(ctx)? {
        Selected::There(location) => location,
        // The path of an archive is gone once it was brought back.
        Selected::Archived(run) if to.is_some() && ctx.run_path.is_some() => return Err(archived::refusal(ctx, &run)),
        Selected::Archived(run) => {
            archived::bring_back(ctx, &run)?;
            // A checkpoint is restored where the run was.
            return if to.is_some() { restore(ctx, to, yes) } else { Ok(Report::ok(brought_back(ctx, &run))) };
        }
    };
    let locked = LockedRun::open(ctx, &location)?;
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
        None => versions::newest_readable(&locked.opened)?,
    };
    let (edits, restored) = versions::restoring(&locked.opened, &version)?;
    let repeats = repeats(ctx, &locked.opened, &restored);
    if edits.is_empty() {
        return Err(OpError::Refused(nothing_to_restore(&locked.opened, &version.name)));
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
        run: name.unwrap_or_else(|| location.candidate.name.clone()),
        from: version.name,
        files: edits.into_iter().map(|edit| edit.path).collect(),
        repeats,
        kept,
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
        run: archived.name.clone(),
        from: archived::shown(ctx, &archived.folder),
        files: archived.originals(),
        repeats: Vec::new(),
        kept: Vec::new(),
    }
}

fn nothing_to_restore(opened: &OpenedRun, version: &str) -> Refusal {
    let run = engine::quoted(&opened.candidate.name);
    Refusal {
        kind: RefusalKind::No,
        message: format!("nothing changed: the state is already as it was at {version}"),
        hints: vec![format!("piton history {run}"), format!("piton status {run}")],
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
        hints: vec![format!("piton restore {} --to {} --yes", engine::quoted(run), engine::quoted(version))],
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

/// Returns the steps that are done now and would not be after restoring. If the state is unreadable, the evidence log tells
/// which steps were done.
pub(super) fn repeats(ctx: &ProjectContext, now: &OpenedRun, restored: &OpenedRun) -> Vec<StepId> {
    let done = |opened: &OpenedRun, run: &Run| -> BTreeSet<StepId> {
        let evidence = ctx.evidence(opened, false);
        let statuses = engine::effective_statuses(run, &evidence, &opened.loaded.findings);
        let done = run.steps.iter().zip(statuses).filter(|(_, status)| *status == EffectiveStatus::Done);
        done.map(|(step, _)| step.id.clone()).collect()
    };
    let before = match &now.loaded.run {
        Some(run) => done(now, run),
        None => now.records().into_iter().map(|record| record.step).collect(),
    };
    let after = restored.loaded.run.as_ref().map(|run| done(restored, run)).unwrap_or_default();
    before.into_iter().filter(|step| !after.contains(step)).collect()
}
