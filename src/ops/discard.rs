//! `close --discard`: removes the worktree and the branch of a run of a workflow file whose work is not wanted, and archives its records.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError, archive,
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
    trust,
};
use crate::{
    dialect::piton::{
        self, ItemWorktree, Session,
        facts::OutlineStep,
        record::Header,
        state::{RunPhase, State},
    },
    model::{No, Owner, RunFolder, RunId, StepId, Suggested, Verb, clean_line, mask_secrets, plural, quoted},
    store::{self, RunLock, worktree},
};

/// A discarded run of a workflow file (`discard/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiscardReport {
    pub(crate) run: RunId,
    /// True if nothing was done, only reported.
    pub(crate) dry_run: bool,
    /// The worktree that is removed, with its branch; absolute.
    pub(crate) worktree: Option<String>,
    pub(crate) branch: Option<String>,
    /// The branches of items of `foreach`, which are removed with their worktrees. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) item_branches: Vec<String>,
    /// Where its records are kept; absolute.
    pub(crate) records: String,
    /// How far it was, for people.
    pub(crate) progress: String,
    /// The work that is lost.
    #[serde(flatten)]
    pub(crate) lost: OwnWork,
    /// The steps of its `finally` that run first. Left out if it has no such steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) finally: Vec<StepId>,
}

impl Body for DiscardReport {
    const SCHEMA: &'static str = "discard/1";

    fn written(&self) -> Option<String> {
        (!self.dry_run).then(|| format!("{} is discarded", self.run))
    }
}

/// How many of the files and of the commits that are lost are named.
const NAMED: usize = 5;

/// The work that is nowhere but in a worktree and on its branch.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct OwnWork {
    /// Number of files with uncommitted changes.
    uncommitted: usize,
    /// The first of them. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncommitted_files: Vec<String>,
    /// Number of commits that are on no other branch.
    commits: usize,
    /// The newest of them, each with its subject. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmerged_commits: Vec<String>,
}

impl OwnWork {
    fn add(&mut self, files: &[String], commits: &[String]) {
        let shown = |name: &String| clean_line(&mask_secrets(name), 100);
        self.uncommitted += files.len();
        self.commits += commits.len();
        self.uncommitted_files.extend(files.iter().map(shown));
        self.unmerged_commits.extend(commits.iter().map(shown));
        self.uncommitted_files.truncate(NAMED);
        self.unmerged_commits.truncate(NAMED);
    }

    /// Returns it in words; `None` without any work.
    pub(crate) fn in_words(&self) -> Option<String> {
        let named = |count: usize, what: &str, names: &[String]| {
            let more = match count - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (count > 0).then(|| format!("{} ({}{more})", plural(count, what), names.join(", ")))
        };
        let files = named(self.uncommitted, "uncommitted file", &self.uncommitted_files);
        let commits = named(self.commits, "unmerged commit", &self.unmerged_commits);
        let lost: Vec<String> = [files, commits].into_iter().flatten().collect();
        (!lost.is_empty()).then(|| lost.join(" and "))
    }
}

/// Discards a run; the caller asks for confirmation, with the work that is lost.
pub(crate) fn discard(
    ctx: &ProjectContext,
    location: &RunLocation,
    dry_run: bool,
) -> Result<Report<DiscardReport>, OpError> {
    trust::check(ctx, location)?;
    let opened = ctx.read(location)?;
    let id = &location.candidate.name;
    if matches!(ctx.evidence(&opened, false).owner, Owner::Live { .. }) {
        return Err(OpError::LiveOwner(format!("session {id} is running: end it first")));
    }
    let (Ok(session), Some(run)) = (Session::read(&opened.files), &opened.loaded.run) else {
        let message = format!("{id} cannot be discarded: it cannot be read");
        return Err(OpError::InTheWay {
            why: No::Invalid,
            message,
            hints: vec![Suggested::of(Verb::Close, id).flag("abort").into()],
        });
    };
    let held = Held::of(&session.header);
    let records = match dry_run {
        true => piton::archive_of(&session.header.session, ctx.clock.now)
            .map_or_else(|_| String::new(), |to| to.under(&location.root).into_string()),
        false => {
            held.remove(ctx, location)?;
            archive::archive_run(ctx, location, archive::ArchiveRequest::default())?.into_string()
        }
    };
    let done = run.steps.iter().filter(|step| step.status.satisfies()).count();
    let aborted = if session.state.run.status == RunPhase::Aborted { "aborted, " } else { "" };
    let is_workable = session.header.worktree.is_none() || held.folder.is_some();
    Ok(Report::ok(DiscardReport {
        run: RunId::new(id),
        dry_run,
        worktree: held.folder.as_ref().map(ToString::to_string),
        branch: held.branch,
        item_branches: held.items.into_iter().map(|item| item.branch).collect(),
        records,
        progress: format!("{aborted}{done} of {} steps done", run.steps.len()),
        lost: held.work,
        finally: if is_workable { open_final(&session.state) } else { Vec::new() },
    }))
}

/// The worktrees and branches of a run that are there.
struct Held {
    folder: Option<Utf8PathBuf>,
    branch: Option<String>,
    items: Vec<ItemWorktree>,
    work: OwnWork,
}

impl Held {
    fn of(header: &Header) -> Self {
        let base = header.base_branch.as_deref().or(header.base_commit.as_deref()).unwrap_or("HEAD");
        let is_there = |branch: &&String| store::git::branch_exists(&header.root, branch) != Some(false);
        let folder = header.worktree.clone().filter(|folder| store::is_folder(folder));
        let branch = header.branch.as_ref().filter(is_there).cloned();
        let items = item_worktrees(header);
        let mut work = OwnWork::default();
        let unmerged = |branch: &String| unmerged(header, base, branch);
        work.add(
            &folder.as_deref().map(uncommitted).unwrap_or_default(),
            &branch.as_ref().map(unmerged).unwrap_or_default(),
        );
        for item in &items {
            let bases = [Some(base), branch.as_deref()].into_iter().flatten();
            let ahead = bases.map(|base| self::unmerged(header, base, &item.branch)).min_by_key(Vec::len);
            work.add(&uncommitted(&item.folder), &ahead.unwrap_or_default());
        }
        Self { folder, branch, items, work }
    }

    /// Removes all of it while no run of the repository merges. If the process ends in between, the next call does the rest.
    fn remove(&self, ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
        let merges = RunFolder { home: location.root.clone(), path: piton::merges() };
        let _lock = RunLock::acquire(&location.root, &merges, ctx.project.lock_timeout)?;
        let of_run = (self.folder.as_deref(), self.branch.as_deref());
        let of_run = (of_run != (None, None)).then(|| (of_run.0.unwrap_or(Utf8Path::new("")), of_run.1.unwrap_or("")));
        let of_items = self.items.iter().map(|item| (item.folder.as_path(), item.branch.as_str()));
        for (folder, branch) in of_run.into_iter().chain(of_items) {
            worktree::discard(&ctx.project.root, folder, branch).map_err(|refusal| OpError::InTheWay {
                why: No::Invalid,
                message: format!("{} is kept: {refusal}", location.candidate.name),
                hints: vec![format!("git worktree remove {}", quoted(folder.as_str()))],
            })?;
        }
        Ok(())
    }
}

/// Returns the worktrees of items of a run that are left.
fn item_worktrees(header: &Header) -> Vec<ItemWorktree> {
    let prefix = format!("refs/heads/{}", ItemWorktree::branches(&header.session).trim_end_matches('/'));
    let listed = worktree::git(&header.root, "for-each-ref", &["--format=%(refname:lstrip=2)", &prefix]);
    // Outside of git there are none.
    let listed = listed.unwrap_or_default();
    listed.lines().map(|branch| ItemWorktree::at(header, branch.to_owned())).collect()
}

/// What stands for the names of work that git cannot tell.
const UNTOLD: &str = "git does not tell which";

/// Returns the uncommitted files of a worktree. When git cannot tell, it assumes that there are some.
fn uncommitted(folder: &Utf8Path) -> Vec<String> {
    match store::is_folder(folder) {
        true => worktree::uncommitted(folder).unwrap_or_else(|| vec![UNTOLD.to_owned()]),
        false => Vec::new(),
    }
}

/// Returns the commits of a branch that another one does not have. When git cannot tell, it assumes that there are some.
fn unmerged(header: &Header, base: &str, branch: &str) -> Vec<String> {
    worktree::commits_of(&header.root, base, branch).unwrap_or_else(|| vec![UNTOLD.to_owned()])
}

/// Returns the steps that run when the run ends, and did not yet.
fn open_final(state: &State) -> Vec<StepId> {
    let is_over = |step: &OutlineStep| {
        let recorded = state.steps.get(step.id.as_str());
        recorded.is_some_and(|step| step.status.satisfies())
    };
    let steps = state.workflow.steps.iter().filter(|_| state.run.status != RunPhase::Completed);
    steps.filter(|step| step.is_final() && !is_over(step)).map(|step| step.id.clone()).collect()
}
