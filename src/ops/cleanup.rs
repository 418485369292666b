//! `close --all`: archives finished runs and leftover files after some days, and removes archives beyond the number that is kept.
//! Nothing happens without confirmation.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit, OpError, archive, archived,
    entries::{self, Dating, RunEntry},
    lifecycle,
    project_context::{EndedRuns, ProjectContext},
    report::{Body, Report, Stage},
    run_location::RunLocation,
};
use crate::{
    dialect::Leftover,
    model::{Content, Edit, EditKind, No, RelPath, Suggested, Verb},
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
    pub(crate) next: Option<Suggested>,
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
    let EndedRuns { ended, leftovers } = ctx.ended_runs();
    let mut candidates = finished(ctx, ended, limit)?;
    let leftover = |(root, leftover): (Utf8PathBuf, Leftover)| leftover_candidate(ctx, &root, leftover, limit);
    candidates.extend(leftovers.into_iter().filter_map(leftover));
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
    let next = is_open.then(|| Suggested::new(Verb::Close).flag("all").option("after", days.to_string()).yes());
    let written = yes && !candidates.is_empty();
    let items = candidates.into_iter().map(|candidate| candidate.item).collect();
    let body = CleanupReport { after_days: days, items, written, next };
    Ok(Report { exit, body, findings: Vec::new() })
}

/// Returns the oldest archives of the systems that limit their number. Their age does not matter.
fn surplus_archives(ctx: &ProjectContext) -> Vec<CleanupCandidate> {
    let keep = ctx.project.config.limits.archives.max(1);
    let mut newer: BTreeMap<(Utf8PathBuf, RelPath), usize> = BTreeMap::new();
    let surplus = archived::find(ctx).into_iter().filter_map(|archived| {
        let folder = archived.limited_folder()?;
        let newer = newer.entry((archived.root.clone(), folder.parent()?)).or_default();
        *newer += 1;
        let age = ctx.clock.now.seconds_since(archived.at);
        let why = format!("an archive of {}; the newest {keep} are kept", archived.name);
        let subject = CleanupSubject::Archive { root: archived.root.clone(), folder: folder.clone() };
        let mut candidate = new_candidate(ctx, (&archived.root, &folder), why, age, subject);
        candidate.item.removes = true;
        (*newer > keep).then_some(candidate)
    });
    surplus.collect()
}

/// Returns the runs that are over, by their own state or by the word of their system, and not archived yet.
fn finished(ctx: &ProjectContext, ended: Vec<RunLocation>, limit: i64) -> Result<Vec<CleanupCandidate>, OpError> {
    let place = |location: &RunLocation| (location.root.clone(), location.candidate.state.clone());
    let over: BTreeSet<_> = ended.iter().map(place).collect();
    let mut locations = ctx.locations().0;
    locations.extend(ended);
    let candidate = |RunEntry { row, location, .. }: RunEntry| {
        let is_over = over.contains(&place(&location)) || row.lifecycle.stage.is_over();
        let age = row.age_seconds.filter(|age| *age >= limit && is_over && !row.is_guest)?;
        let ((root, state), why) = (place(&location), format!("{} is over", row.id));
        let subject = CleanupSubject::Run(Box::new(location));
        (row.lifecycle.stage != Stage::Archived).then(|| new_candidate(ctx, (&root, &state), why, age, subject))
    };
    Ok(entries::entries(ctx, &mut locations, Dating::Files)?.into_iter().filter_map(candidate).collect())
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
    (is_free && age >= limit.max(MIN_AGE_SECONDS)).then(|| new_candidate(ctx, (root, &file), why, age, subject))
}

fn new_candidate(
    ctx: &ProjectContext,
    (root, path): (&Utf8Path, &RelPath),
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
                    format!("it has a worktree, or steps of `at_end` that did not run; `{command}` ends those");
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
    let Content::Bytes(before) = store::read_file(root, file) else {
        let message = format!("{file} cannot be read");
        return Err(OpError::InTheWay { why: No::Invalid, message, hints: Vec::new() });
    };
    let to = store::aside::keep_all(&lock, file, ctx.clock.now, &before)?;
    let edit = Edit { path: file.clone(), kind: EditKind::Remove { before } };
    store::commit(&lock, &[edit], &CheckpointMeta::new("archive"))?;
    Ok(to)
}
