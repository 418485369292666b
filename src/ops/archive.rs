//! `archive`: moves the state of a run into an archive. Only the oldest archives are deleted, of systems that limit their
//! number.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError, archived, client_sessions, lifecycle,
    locked_run::LockedRun,
    opened_run::{OpenedRun, located_message, run_word},
    patch,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
    select, startable,
};
use crate::{
    dialect::{Moved, Register},
    engine::{self, Refusal, RefusalKind},
    model::{Edit, EditKind, FindingCode, Patch, RelPath, Run, RunId, RunStatus, Status, Verdict},
    store::{self, CheckpointMeta, RunLock, StoreError},
};

/// An archived run (`archive/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchiveReport {
    pub(crate) run: RunId,
    /// The folder that it is in now, from the top of the project where it is below that.
    pub(crate) to: String,
    /// The command that fits next: a start under the same name, if piton can start such a run.
    pub(crate) next: String,
    /// The command that brings the run back; left out for systems that keep archived runs as runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restore: Option<String>,
    /// How its own system starts a new run, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
    /// What sets back the files that still call its work open; Piton does not write them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<Patch>,
}

impl Body for ArchiveReport {
    const SCHEMA: &'static str = "archive/1";

    fn written(&self) -> Option<String> {
        Some(format!("{} is in {}", self.run, self.to))
    }
}

/// Archives the requested run; one with open steps only with `yes`.
pub(crate) fn archive(ctx: &ProjectContext, yes: bool) -> Result<Report<ArchiveReport>, OpError> {
    let location = match select::location(ctx) {
        Err(error @ OpError::NoRun { .. }) if ctx.run.is_none() && ctx.run_path.is_none() => {
            // The only run may be one that is over.
            let mut ended = ctx.ended_runs().ended;
            if ended.len() == 1 { ended.remove(0) } else { return Err(error) }
        }
        found => found?,
    };
    client_sessions::check_writable(ctx, &location)?;
    let opened = ctx.read(&location)?;
    check_not_newer(&opened)?;
    if let (Some(run), false) = (&opened.loaded.run, yes) {
        let planned = plan::planned(ctx, &opened, run, &PlanRequest::default())?;
        // Who aborted a run has decided that its open steps stay open.
        let is_over = matches!(run.status, RunStatus::Aborted | RunStatus::Archived);
        if planned.plan.verdict != Verdict::Complete && !is_over {
            let open = planned.plan.progress.total - planned.plan.progress.done;
            let id = engine::quoted(run.id.as_str());
            return Err(OpError::NotConfirmed {
                message: format!("{} still has {open} open steps", run.id),
                hints: vec![format!("piton archive {id} --yes"), format!("piton plan {id}")],
            });
        }
    }
    if let (Some(merge), false) = (opened.loaded.run.as_ref().and_then(Run::merge_command), yes) {
        let id = engine::quoted(&location.candidate.name);
        return Err(OpError::NotConfirmed {
            message: format!("the work of {} is not merged", location.candidate.name),
            hints: vec![merge.to_owned(), format!("piton archive {id} --yes")],
        });
    }
    check_dropped(&opened)?;
    if opened.loaded.run.is_none() && !yes {
        let path = run_word(&location.candidate);
        return Err(OpError::NotConfirmed {
            message: format!(
                "{} cannot be read; archiving it may lose work that `restore` could bring back",
                location.candidate.state
            ),
            hints: vec![format!("piton restore {path}"), format!("piton archive {path} --yes")],
        });
    }
    let patch = reset(&opened);
    let to = archive_run(ctx, &location)?;
    let is_completed = opened.loaded.run.as_ref().is_some_and(|run| run.status == RunStatus::Completed);
    // What is delivered is not started again.
    let again = if is_completed { None } else { startable::again(&ctx.project, &opened) };
    let next = again.unwrap_or_else(|| "piton list".to_owned());
    let start = opened.dialect.archives().starts_anew().filter(|_| !is_completed).map(str::to_owned);
    let archived = archived::find(ctx);
    let restore = archived.iter().find(|archived| archived.folder == to).map(|archived| archived.restore_command(ctx));
    let to = archived::shown(ctx, &to);
    Ok(Report::ok(ArchiveReport { run: RunId::new(&location.candidate.name), to, next, restore, start, patch }))
}

/// Refuses a run in a newer format, of which it is not known what belongs to it.
fn check_not_newer(opened: &OpenedRun) -> Result<(), OpError> {
    let newer = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::FormatNewer);
    newer.map_or(Ok(()), |newer| {
        let (message, hints) = (located_message(newer), newer.fix.clone().into_iter().collect());
        Err(OpError::Refused(Refusal { kind: RefusalKind::Newer, message, hints }))
    })
}

/// Refuses an aborted run of which more is left than its records: nothing offers that once they are archived.
pub(super) fn check_dropped(opened: &OpenedRun) -> Result<(), OpError> {
    if !opened.loaded.run.as_ref().is_some_and(lifecycle::needs_drop) {
        return Ok(());
    }
    let name = &opened.candidate.name;
    let drop = format!("piton drop {}", engine::quoted(name));
    Err(OpError::NotConfirmed {
        message: format!(
            "{name} has a worktree, or steps of `finally` that did not run; `{drop}` ends those and archives it"
        ),
        hints: vec![drop],
    })
}

/// Returns what sets back the files of other people that still call the run's work open; `None` if there are none.
fn reset(opened: &OpenedRun) -> Option<Patch> {
    let run = Run { status: RunStatus::Archived, ..opened.loaded.run.clone()? };
    let done = run.steps.iter().filter(|step| step.status == Status::Completed).map(|step| step.id.clone());
    let patch = patch::suggested(opened, &run, &done.collect::<Vec<_>>());
    (opened.dialect.archives().starts_anew().is_some() && !patch.diff.is_empty()).then_some(patch)
}

/// Moves the state into the archive of its system, if it has one, else into that of Piton. Returns the folder that it is in; absolute.
pub(crate) fn archive_run(ctx: &ProjectContext, location: &RunLocation) -> Result<Utf8PathBuf, OpError> {
    let locked = LockedRun::open(ctx, location)?;
    locked.check_not_driven()?;
    let opened = &locked.opened;
    check_not_newer(opened)?;
    let Some(archival) = opened.dialect.archives().archive(&opened.files, opened.loaded.run.as_ref(), ctx.clock.now)?
    else {
        return locked.archive_in_journal();
    };
    match archival.moved {
        Moved::Folder(from) if from == archival.to => Ok(archival.to.under(&location.root)),
        Moved::Folder(from) => {
            let to = store::archive::free_folder(locked.lock(), &archival.to)?;
            let entered =
                archival.register.map(|register| RegisterEntry::open(ctx, &locked, &register, &to)).transpose()?;
            // The process may end after any of these; the next `archive` does the rest. A refusal takes back what was written.
            locked.commit_as("archive", archival.edits.clone())?;
            let entry = entered.as_ref();
            let written = entry.map_or(Ok(()), |entry| entry.commit(&entry.edit));
            let moved = written.and_then(|()| Ok(store::move_folder(locked.lock(), &from, &to)?));
            match moved {
                Ok(()) => Ok(to.under(&location.root)),
                // The copy in the archive is complete.
                Err(error @ OpError::Store(StoreError::NotRolledBack { .. })) => Err(error),
                Err(error) => {
                    // The entries of other runs stay: only what is as it was written is taken back.
                    let _ = entry.map_or(Ok(()), |entry| entry.commit(&inverse(&entry.edit)));
                    let _ = locked.commit_as("archive", inverse(&archival.edits));
                    Err(error)
                }
            }
        }
        Moved::Files(files) => {
            let to = store::archive::free_folder(locked.lock(), &archival.to)?;
            locked.move_files(&files, &to)?;
            store::archive::prune(locked.lock(), &to, ctx.project.config.limits.archives)?;
            Ok(to.under(&location.root))
        }
    }
}

/// A new entry in a system's register of archives. The register is shared by several runs, so it has its own lock and history:
/// restoring one run never removes the entries of others.
struct RegisterEntry {
    lock: RunLock,
    edit: Vec<Edit>,
}

impl RegisterEntry {
    /// Locks and reads the register, so that an unusable one is detected before anything is written.
    fn open(ctx: &ProjectContext, locked: &LockedRun<'_>, register: &Register, to: &RelPath) -> Result<Self, OpError> {
        let root = &locked.opened.files.root;
        let lock = RunLock::acquire(
            root,
            &store::journals::common_folder(&ctx.project, "register"),
            ctx.project.lock_timeout,
        )?;
        let edit =
            locked.opened.dialect.archives().add_to_register(register, &store::read_file(root, &register.file), to)?;
        Ok(Self { lock, edit: edit.into_iter().collect() })
    }

    fn commit(&self, edits: &[Edit]) -> Result<(), OpError> {
        if !edits.is_empty() {
            store::commit(&self.lock, edits, &CheckpointMeta::new("archive"))?;
        }
        Ok(())
    }
}

/// Returns the edits that take edits back.
fn inverse(edits: &[Edit]) -> Vec<Edit> {
    let inverse = |edit: &Edit| {
        let kind = match &edit.kind {
            EditKind::Create { after } => EditKind::Remove { before: after.as_slice().into() },
            EditKind::Replace { before, after } => {
                EditKind::Replace { before: after.as_slice().into(), after: before.to_vec() }
            }
            EditKind::Remove { before } => EditKind::Create { after: before.to_vec() },
            EditKind::Append { .. } => return None,
        };
        Some(Edit { path: edit.path.clone(), kind })
    };
    edits.iter().filter_map(inverse).collect()
}
