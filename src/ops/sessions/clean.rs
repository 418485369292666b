//! `sessions clean`: removes finished sessions, with confirmation. The records of a session move to the archive; its worktree
//! and branch are only removed if everything is committed and merged.

use camino::Utf8Path;

use super::{
    InspectedSession, SessionStatus, inspect, named,
    report::{CleanReport, Cleaned, KeptSession, OwnWork},
};
use crate::{
    dialect::piton::{self, ItemWorktree, Session, record::Header},
    model::{RunFolder, RunId, plural, quoted},
    ops::{OpError, archive, project_context::ProjectContext, report::Report, run_location::RunLocation, trust},
    store::{
        self, RunLock,
        worktree::{self, GitRefusal},
    },
};

/// Options of a clean-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct CleanRequest {
    /// The sessions; empty for all finished ones.
    pub(crate) ids: Vec<String>,
    /// Only report what would be done.
    pub(crate) dry_run: bool,
}

/// Archives finished sessions. The caller asks for confirmation.
pub(crate) fn clean(ctx: &ProjectContext, request: &CleanRequest) -> Result<Report<CleanReport>, OpError> {
    let locations = if request.ids.is_empty() {
        ctx.sessions().0
    } else {
        request.ids.iter().map(|id| named(ctx, Some(id))).collect::<Result<Vec<_>, _>>()?
    };
    let mut report = CleanReport { dry_run: request.dry_run, cleaned: Vec::new(), kept: Vec::new() };
    for location in &locations {
        match removable(ctx, location)? {
            Err(kept) => {
                // Unfinished sessions are only reported if they were named.
                if !request.ids.is_empty() || kept.fix.is_some() {
                    report.kept.push(kept);
                }
            }
            Ok(over) if request.dry_run => report.cleaned.push(over),
            Ok(over) => match archive_session(ctx, location, over)? {
                Ok(cleaned) => report.cleaned.push(cleaned),
                Err(kept) => report.kept.push(kept),
            },
        }
    }
    Ok(Report::ok(report))
}

/// Returns the folder that the records of a session are archived in; absolute.
pub(super) fn records_in(ctx: &ProjectContext, location: &RunLocation, id: &str) -> String {
    piton::archive_of(id, ctx.clock.now).map_or_else(|_| String::new(), |to| to.under(&location.root).into_string())
}

/// Returns what would be removed with a session, or why it stays; a finished session that stays has a fix.
fn removable(ctx: &ProjectContext, location: &RunLocation) -> Result<Result<Cleaned, KeptSession>, OpError> {
    let InspectedSession { opened, row, .. } = inspect(ctx, location)?;
    if let Err(refusal) = trust::check(ctx, location) {
        return Ok(Err(KeptSession {
            id: row.id,
            reason: refusal.to_string(),
            fix: refusal.hints().into_iter().next(),
        }));
    }
    let kept = |reason: String, fix: Option<String>| Ok(Err(KeptSession { id: row.id.clone(), reason, fix }));
    match row.status {
        SessionStatus::Completed | SessionStatus::Merged | SessionStatus::GivenUp => {}
        SessionStatus::Running
        | SessionStatus::Failed
        | SessionStatus::Interrupted
        | SessionStatus::Merging
        | SessionStatus::Paused
        | SessionStatus::Waiting
        | SessionStatus::Unreadable => return kept(format!("it is {}", row.status.as_str()), None),
    }
    let Ok(session) = Session::read(&opened.files) else {
        return kept("it belongs to another program".to_owned(), None);
    };
    let header = &session.header;
    let records = records_in(ctx, location, &header.session);
    let mut over = Cleaned {
        id: row.id.clone(),
        worktree: None,
        branch: None,
        item_branches: Vec::new(),
        item_folders: Vec::new(),
        records,
    };
    for item in item_worktrees(header) {
        let base = header.base_branch.as_deref().unwrap_or("HEAD");
        if let Some(lost) = work_in(header, &item, base).in_words() {
            let reason = format!("{lost} of an item would be lost: {}", item.folder);
            return kept(reason, Some(format!("to lose it: piton drop {} --discard", quoted(row.id.as_str()))));
        }
        over.item_branches.push(item.branch);
        over.item_folders.push(item.folder);
    }
    let Some(folder) = header.worktree.as_ref().filter(|folder| store::is_folder(folder)) else {
        return Ok(Ok(over));
    };
    let branch = header.branch.clone().unwrap_or_default();
    let base = header.base_branch.clone().unwrap_or_else(|| "HEAD".to_owned());
    match worktree::dirty(folder) {
        Some(0) => {}
        Some(count) => {
            let reason = format!("its worktree has uncommitted changes in {}", plural(count, "file"));
            let fix = match row.status == SessionStatus::GivenUp {
                true => format!("piton drop {} --discard", quoted(row.id.as_str())),
                false => format!("git -C {} status", quoted(folder.as_str())),
            };
            return kept(reason, Some(fix));
        }
        None => {
            return kept(format!("git does not say what is uncommitted in {folder}"), Some("git status".to_owned()));
        }
    }
    match worktree::commits_ahead(&header.root, &base, &branch) {
        Some(0) => {}
        Some(count) => {
            let commits = plural(count, "commit");
            let reason = format!("{branch} is {commits} ahead of {base}");
            let fix = match row.status == SessionStatus::GivenUp {
                true => format!("piton drop {} --discard", quoted(row.id.as_str())),
                false => format!("piton merge {}", quoted(row.id.as_str())),
            };
            return kept(reason, Some(fix));
        }
        None => {
            let reason = format!("git does not say whether {branch} is merged into {base}");
            return kept(reason, Some(format!("git log {}..{}", quoted(&base), quoted(&branch))));
        }
    }
    over.worktree = Some(folder.as_str().to_owned());
    over.branch = Some(branch);
    Ok(Ok(over))
}

/// Returns the worktrees of items of a session that are left.
pub(super) fn item_worktrees(header: &Header) -> Vec<ItemWorktree> {
    let prefix = format!("refs/heads/{}", ItemWorktree::branches(&header.session).trim_end_matches('/'));
    let listed = worktree::git(&header.root, "for-each-ref", &["--format=%(refname:lstrip=2)", &prefix]);
    // Outside of git there are none.
    let listed = listed.unwrap_or_default();
    listed.lines().map(|branch| ItemWorktree::at(header, branch.to_owned())).collect()
}

/// What stands for the names of work that git cannot tell.
const UNTOLD: &str = "git does not tell which";

/// Returns the uncommitted files of a worktree. When git cannot tell, it assumes that there are some.
pub(super) fn uncommitted(folder: &Utf8Path) -> Vec<String> {
    match store::is_folder(folder) {
        true => worktree::uncommitted(folder).unwrap_or_else(|| vec![UNTOLD.to_owned()]),
        false => Vec::new(),
    }
}

/// Returns the commits of a branch that another one does not have. When git cannot tell, it assumes that there are some.
pub(super) fn unmerged(header: &Header, base: &str, branch: &str) -> Vec<String> {
    worktree::commits_of(&header.root, base, branch).unwrap_or_else(|| vec![UNTOLD.to_owned()])
}

/// Returns the uncommitted files of an item, and its commits that neither the run nor the base branch has.
pub(super) fn work_in(header: &Header, item: &ItemWorktree, base: &str) -> OwnWork {
    let run = header.branch.as_deref().filter(|branch| store::git::branch_exists(&header.root, branch) == Some(true));
    let ahead = [Some(base), run].into_iter().flatten().map(|base| unmerged(header, base, &item.branch));
    OwnWork { files: uncommitted(&item.folder), commits: ahead.min_by_key(Vec::len).unwrap_or_default() }
}

fn archive_session(
    ctx: &ProjectContext,
    location: &RunLocation,
    over: Cleaned,
) -> Result<Result<Cleaned, KeptSession>, OpError> {
    put_in_archive(ctx, location, over, worktree::remove)
}

/// Removes a worktree and its branch.
type Removal = fn(&Utf8Path, &Utf8Path, &str) -> Result<(), GitRefusal>;

/// Removes worktree and branch, then moves the records, while no session of the repository merges. If the process ends in between, the
/// next clean-up does the rest.
pub(super) fn put_in_archive(
    ctx: &ProjectContext,
    location: &RunLocation,
    mut over: Cleaned,
    remove: Removal,
) -> Result<Result<Cleaned, KeptSession>, OpError> {
    let kept = |id: &RunId, reason: String, fix: String| KeptSession { id: id.clone(), reason, fix: Some(fix) };
    let lock = RunLock::acquire(
        &location.root,
        &RunFolder { home: location.root.clone(), path: piton::merges() },
        ctx.project.lock_timeout,
    )?;
    let (folder, branch) = (over.worktree.as_deref().unwrap_or_default(), over.branch.as_deref().unwrap_or_default());
    if !(folder.is_empty() && branch.is_empty())
        && let Err(refusal) = remove(&ctx.project.root, folder.into(), branch)
    {
        let fix = format!("git worktree remove {}", quoted(folder));
        return Ok(Err(kept(&over.id, refusal.to_string(), fix)));
    }
    for (branch, folder) in over.item_branches.iter().zip(&over.item_folders) {
        // Nothing in it is only there, or a person agreed to lose it.
        if let Err(refusal) = worktree::discard(&ctx.project.root, folder, branch) {
            let fix = format!("git worktree remove {}", quoted(folder.as_str()));
            return Ok(Err(kept(&over.id, refusal.to_string(), fix)));
        }
    }
    drop(lock);
    Ok(match archive::archive_run(ctx, location) {
        Ok(to) => {
            over.records = to.into_string();
            Ok(over)
        }
        Err(error) => Err(kept(&over.id, error.to_string(), "piton doctor".to_owned())),
    })
}
