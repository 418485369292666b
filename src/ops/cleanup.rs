//! `close --all`: archives finished runs and leftover files after some days, and removes archives beyond the number that is kept.
//! Nothing happens without confirmation.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit, OpError, archive,
    archived::{self, ArchivedRun},
    entries, lifecycle,
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
};
use crate::{
    dialect::Leftover,
    model::{Content, Edit, EditKind, No, RelPath, RunStatus},
    store::{self, CheckpointMeta, RunLock},
};

/// The finished runs and leftover files that are archived (`cleanup/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupReport {
    /// Younger ones stay.
    pub(crate) after_days: u32,
    pub(crate) items: Vec<CleanupItem>,
    /// False if not confirmed: nothing was moved.
    pub(crate) written: bool,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// A state or file to archive.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupItem {
    /// Relative to the project; absolute when it lies elsewhere.
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) age_seconds: i64,
    /// Where it was moved; `null` if it is only proposed, if moving failed, or if it is an archive, which is removed.
    pub(crate) to: Option<String>,
    /// An archive beyond the limit (`limits.archives`), which is removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removes: bool,
    /// Why it stays.
    pub(crate) problem: Option<String>,
}

impl Body for CleanupReport {
    const SCHEMA: &'static str = "cleanup/1";

    fn written(&self) -> Option<String> {
        self.written.then(|| "the archive is tidied up".to_owned())
    }
}

const DAY_SECONDS: i64 = 86_400;

/// Younger files may still be written.
const MIN_AGE_SECONDS: i64 = 3_600;

/// A finished run or a file to archive.
struct CleanupCandidate {
    item: CleanupItem,
    subject: CleanupSubject,
}

enum CleanupSubject {
    Run(Box<RunLocation>),
    /// An archive beyond the number that is kept.
    Archive {
        root: Utf8PathBuf,
        folder: RelPath,
    },
    File {
        root: Utf8PathBuf,
        leftover: Leftover,
    },
}

/// Lists what is older than `days`; archives it with `yes`.
pub(crate) fn cleanup(ctx: &ProjectContext, days: u32, yes: bool) -> Result<Report<CleanupReport>, OpError> {
    let limit = i64::from(days) * DAY_SECONDS;
    let ended_runs = ctx.ended_runs();
    let mut candidates = finished_candidates(ctx, limit)?;
    for location in ended_runs.ended {
        let opened = ctx.read(&location)?;
        candidates.extend(ended_candidate(ctx, location, &opened, limit));
    }
    candidates.extend(
        ended_runs
            .leftovers
            .into_iter()
            .filter_map(|(root, leftover)| leftover_candidate(ctx, root.as_path(), leftover, limit)),
    );
    candidates.extend(surplus_archives(ctx));
    candidates.sort_by(|left, right| left.item.path.cmp(&right.item.path));
    let mut exit = match (candidates.is_empty(), yes) {
        (true, _) => Exit::No(No::Invalid),
        (false, true) => Exit::Ok,
        (false, false) => Exit::Person,
    };
    for candidate in candidates.iter_mut().filter(|_| yes) {
        match archive_candidate(ctx, &candidate.subject) {
            Ok(to) => candidate.item.to = to,
            Err(error) => {
                candidate.item.problem = Some(error.to_string());
                exit = error.exit();
            }
        }
    }
    let is_open = !yes && !candidates.is_empty();
    let next = is_open.then(|| format!("piton close --all --after {days} --yes"));
    let written = yes && !candidates.is_empty();
    let items = candidates.into_iter().map(|candidate| candidate.item).collect();
    let body = CleanupReport { after_days: days, items, written, next };
    Ok(Report { exit, body, findings: Vec::new() })
}

/// Returns the oldest archives of the systems that limit their number. Their age does not matter.
fn surplus_archives(ctx: &ProjectContext) -> Vec<CleanupCandidate> {
    let keep = ctx.project.config.limits.archives;
    let archives = archived::find(ctx);
    let folders: BTreeSet<_> =
        archives.iter().filter_map(|archived| Some((archived.root.clone(), archived.limited_folder()?))).collect();
    let surplus: BTreeSet<_> = folders
        .iter()
        .flat_map(|(root, folder)| {
            let names = store::archive::surplus(root, folder, keep).into_iter();
            names.filter_map(move |name| Some((root.clone(), folder.join(&name).ok()?)))
        })
        .collect();
    let place =
        |archived: &ArchivedRun| Some((archived.root.clone(), RelPath::below(&archived.folder, &archived.root)?));
    let of = |archived: &ArchivedRun| {
        let age = ctx.clock.now.seconds_since(archived.at);
        let why = format!("an archive of {}; the newest {keep} are kept", archived.name);
        let (root, folder) = place(archived)?;
        let subject = CleanupSubject::Archive { root: root.clone(), folder: folder.clone() };
        let mut candidate = new_candidate(ctx, &root, &folder, why, age, subject);
        candidate.item.removes = true;
        surplus.contains(&(root, folder)).then_some(candidate)
    };
    archives.iter().filter_map(of).collect()
}

/// Returns the finished runs that are not archived yet.
fn finished_candidates(ctx: &ProjectContext, limit: i64) -> Result<Vec<CleanupCandidate>, OpError> {
    let (mut locations, _) = ctx.locations();
    let mut candidates = Vec::new();
    let entries = entries::entries(ctx, &mut locations, entries::Dating::Files)?;
    for entry in entries.into_iter().filter(|entry| !entry.shown) {
        let opened = ctx.read(&entry.location)?;
        let is_archived = opened.loaded.run.as_ref().is_none_or(|run| run.status == RunStatus::Archived);
        if let Some(age) = entry.row.age_seconds.filter(|age| *age >= limit && !is_archived) {
            let why = format!("{} is over", entry.row.id);
            candidates.push(new_candidate(
                ctx,
                &entry.location.root,
                &entry.location.candidate.state,
                why,
                age,
                CleanupSubject::Run(Box::new(entry.location.clone())),
            ));
        }
    }
    Ok(candidates)
}

fn ended_candidate(
    ctx: &ProjectContext,
    location: RunLocation,
    opened: &OpenedRun,
    limit: i64,
) -> Option<CleanupCandidate> {
    let run = opened.loaded.run.as_ref()?;
    let stamp = run.stamp.or_else(|| opened.files.files.get(&location.candidate.state)?.modified)?;
    let age = ctx.clock.now.seconds_since(stamp);
    let why = format!("{} is over", run.id);
    let (root, state) = (location.root.clone(), location.candidate.state.clone());
    (age >= limit).then(|| new_candidate(ctx, &root, &state, why, age, CleanupSubject::Run(Box::new(location))))
}

fn leftover_candidate(
    ctx: &ProjectContext,
    root: &Utf8Path,
    leftover: Leftover,
    limit: i64,
) -> Option<CleanupCandidate> {
    let modified = store::read_one(root, &leftover.file).modified?;
    let age = ctx.clock.now.seconds_since(modified);
    let is_free = leftover.holder.is_none_or(store::is_gone);
    let (file, why) = (leftover.file.clone(), leftover.why.to_owned());
    let subject = CleanupSubject::File { root: root.to_owned(), leftover };
    (is_free && age >= limit.max(MIN_AGE_SECONDS)).then(|| new_candidate(ctx, root, &file, why, age, subject))
}

fn new_candidate(
    ctx: &ProjectContext,
    root: &Utf8Path,
    path: &RelPath,
    why: String,
    age_seconds: i64,
    subject: CleanupSubject,
) -> CleanupCandidate {
    let is_here = root == ctx.project.root;
    let path = if is_here { path.as_str().to_owned() } else { path.under(root).into_string() };
    CleanupCandidate { item: CleanupItem { path, why, age_seconds, to: None, removes: false, problem: None }, subject }
}

/// Archives or removes a candidate; returns where it is now.
fn archive_candidate(ctx: &ProjectContext, subject: &CleanupSubject) -> Result<Option<String>, OpError> {
    match subject {
        CleanupSubject::Run(location) => {
            let opened = ctx.read(location)?;
            let run = opened.loaded.run.as_ref().filter(|run| lifecycle::needs_discard(run));
            if let Some(command) = run.and_then(|run| lifecycle::archive_command(&opened, run, ctx.clock.now)) {
                let message =
                    format!("it has a worktree, or steps of `finally` that did not run; `{command}` ends those");
                return Err(OpError::NotConfirmed { message, hints: vec![command.into()] });
            }
            archive::archive_run(ctx, location, archive::ArchiveRequest::default())
                .map(|to| Some(archived::shown(ctx, &to)))
        }
        CleanupSubject::Archive { root, folder } => {
            let own = store::journals::common_folder(&ctx.project, "register");
            let lock = RunLock::acquire(root, &own, ctx.project.lock_timeout)?;
            store::archive::remove(&lock, folder)?;
            Ok(None)
        }
        CleanupSubject::File { root, leftover } => {
            move_file(ctx, root, &leftover.file).map(|to| Some(archived::shown(ctx, &to)))
        }
    }
}

/// Sets a file aside in the home of the project's runs. After a kill it is in one of the two places, or in both.
fn move_file(ctx: &ProjectContext, root: &Utf8Path, file: &RelPath) -> Result<Utf8PathBuf, OpError> {
    let own = store::journals::common_folder(&ctx.project, store::archive::LEFTOVERS);
    let lock = RunLock::acquire(root, &own, ctx.project.lock_timeout)?;
    let before = match store::read_file(root, file) {
        Content::Bytes(before) => before,
        Content::Problem(problem) => {
            return Err(OpError::Store(store::StoreError::Unreadable { path: file.under(root), problem }));
        }
        Content::NameOnly => {
            return Err(OpError::InTheWay {
                why: No::Invalid,
                message: format!("{file} was not read"),
                hints: Vec::new(),
            });
        }
    };
    let to = store::aside::keep_all(&lock, file, ctx.clock.now, &before)?;
    let edit = Edit { path: file.clone(), kind: EditKind::Remove { before } };
    store::commit(&lock, &[edit], &CheckpointMeta::new("archive"))?;
    Ok(to)
}
