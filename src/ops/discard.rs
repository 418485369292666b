//! What `close --discard` takes from a run of a workflow file whose work is not wanted: its worktrees and branches.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{OpError, project_context::ProjectContext, run_location::RunLocation};
use crate::{
    dialect::piton::{
        self, ItemWorktree, Session,
        facts::OutlineStep,
        record::Header,
        state::{RunPhase, State},
    },
    model::{No, RunFolder, StepId, Suggested, clean_line, mask_secrets, plural, quoted},
    store::{self, RunLock, worktree},
};

/// What goes with a run of a workflow file that is discarded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Discarded {
    /// True if nothing was done, only reported.
    pub(crate) dry_run: bool,
    /// The worktree that is removed, with its branch; absolute.
    pub(crate) worktree: Option<String>,
    pub(crate) branch: Option<String>,
    /// The branches of items of `foreach`, which are removed with their worktrees. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) item_branches: Vec<String>,
    /// How far it was, for people.
    pub(crate) progress: String,
    /// The work that is lost.
    #[serde(flatten)]
    pub(crate) lost: OwnWork,
    /// The steps of its `at_end` that run first. Left out if it has no such steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) at_end: Vec<StepId>,
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
    fn of(files: &[String], commits: &[String]) -> Self {
        let shown =
            |names: &[String]| names.iter().take(NAMED).map(|name| clean_line(&mask_secrets(name), 100)).collect();
        Self {
            uncommitted: files.len(),
            uncommitted_files: shown(files),
            commits: commits.len(),
            unmerged_commits: shown(commits),
        }
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

/// The worktrees and branches of a run that are there, with what goes with them.
pub(super) struct Held {
    /// Each with its folder and its branch; one that it does not have is empty.
    trees: Vec<(Utf8PathBuf, String)>,
    pub(super) discarded: Discarded,
}

impl Held {
    pub(super) fn of(Session { header, state, .. }: &Session, progress: String, dry_run: bool) -> Self {
        let is_there = |branch: &&String| store::git::branch_exists(&header.root, branch) != Some(false);
        let folder = header.worktree.clone().filter(|folder| store::is_folder(folder));
        let branch = header.branch.as_ref().filter(is_there).cloned();
        let own = (folder.clone().unwrap_or_default(), branch.clone().unwrap_or_default());
        let mut trees = vec![own];
        trees.extend(item_worktrees(header).into_iter().map(|item| (item.folder, item.branch)));
        let files: Vec<String> = trees.iter().flat_map(|(folder, _)| uncommitted(folder)).collect();
        let commits: Vec<String> = trees.iter().flat_map(|(_, of)| unmerged(header, branch.as_deref(), of)).collect();
        let is_workable = header.worktree.is_none() || folder.is_some();
        let discarded = Discarded {
            dry_run,
            worktree: folder.map(Utf8PathBuf::into_string),
            branch,
            item_branches: trees[1..].iter().map(|(_, branch)| branch.clone()).collect(),
            progress,
            lost: OwnWork::of(&files, &commits),
            at_end: if is_workable { open_final(state) } else { Vec::new() },
        };
        Self { trees, discarded }
    }

    /// Removes all of it while no run of the repository merges. If the process ends in between, the next call does the rest.
    pub(super) fn remove(&self, ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
        let merges = RunFolder { home: location.root.clone(), path: piton::merges() };
        let _lock = RunLock::acquire(&location.root, &merges, ctx.project.lock_timeout)?;
        for (folder, branch) in self.trees.iter().filter(|(folder, branch)| *folder != "" || !branch.is_empty()) {
            worktree::discard(&ctx.project.root, folder, branch).map_err(|refusal| OpError::InTheWay {
                why: No::Invalid,
                message: format!("{} is kept: {refusal}", location.candidate.name),
                hints: vec![Suggested::Other(format!("git worktree remove {}", quoted(folder.as_str()))).into()],
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

/// Returns the commits of a branch that neither its base nor the branch of the run has. When git cannot tell, it assumes that there are some.
fn unmerged(header: &Header, own: Option<&str>, branch: &str) -> Vec<String> {
    let base = header.base_branch.as_deref().or(header.base_commit.as_deref()).unwrap_or("HEAD");
    let bases = [Some(base), own.filter(|own| *own != branch)].into_iter().flatten().filter(|_| !branch.is_empty());
    let ahead = |base| worktree::commits_of(&header.root, base, branch).unwrap_or_else(|| vec![UNTOLD.to_owned()]);
    bases.map(ahead).min_by_key(Vec::len).unwrap_or_default()
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
