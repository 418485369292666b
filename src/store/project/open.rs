//! The project of the current folder, found by looking upwards, without starting git.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::{
    config,
    repository::{self, GitPaths},
    trusted::Trusted,
};
use crate::{
    model::{Config, RelPath, Unread},
    store::fs::{
        environment::Environment,
        error::StoreError,
        platform,
        unread::{exists, watched},
    },
};

/// Names that mark the top of a project that is not in git.
pub(super) const MARKERS: [&str; 19] = [
    ".workflow",
    ".worktree",
    ".plan",
    "memory/state",
    ".aios",
    ".aiox",
    ".nexos",
    ".specify",
    "specs",
    "openspec",
    ".superpowers",
    "docs/superpowers",
    "docs/plans",
    "_bmad-output",
    "docs/sprint-artifacts",
    ".planning",
    ".taskmaster",
    "tasks/tasks.json",
    config::FILE_NAME,
];
/// Folders of a system that have a folder with the name of a marker in them, such as the `specs` of a change of OpenSpec.
const INNER: [&str; 5] = ["openspec", "openspec/changes", ".specify", ".planning", ".taskmaster"];

/// Folders besides [`MARKERS`] that hold runs and what belongs to them.
pub(super) const FURTHER_PLACES: [&str; 3] = [".claude", "docs/stories", "memory"];

/// Tells whether a folder is one where runs are looked for, or above or below one: at the top, or in a part of the project.
pub(crate) fn is_place_of_runs(folder: &RelPath) -> bool {
    let parts: Vec<&str> = folder.as_str().split('/').collect();
    let is_on_the_way = |place: &str| {
        let place: Vec<&str> = place.split('/').collect();
        let is_there = |at: usize| parts[at..].iter().zip(&place).all(|(part, of_place)| part == of_place);
        (0..parts.len()).any(is_there)
    };
    MARKERS.iter().chain(&FURTHER_PLACES).any(|place| is_on_the_way(place))
}

/// Tells whether a folder is the top of something that may hold runs.
pub(super) fn is_marked(folder: &Utf8Path) -> bool {
    exists(&folder.join(".git")) || has_marker(folder)
}

fn has_marker(folder: &Utf8Path) -> bool {
    let is_inner = |inner: &&str| match *inner {
        // Other folders may have its name.
        "openspec" => folder.ends_with(inner),
        _ => folder.ancestors().any(|above| above.ends_with(inner)),
    };
    !INNER.iter().any(is_inner) && MARKERS.iter().any(|marker| exists(&folder.join(marker)))
}

/// Returns what marks a folder above `cwd` as a project and belongs neither to this user, nor to root, nor to the owner of `cwd`.
fn foreign_marker(folder: &Utf8Path, cwd: &Utf8Path) -> Option<Utf8PathBuf> {
    let owner = |path: &Utf8Path| path.symlink_metadata().ok().filter(|found| !platform::is_ours(found));
    let is_foreign = |marker: &Utf8PathBuf| {
        let owner = owner(marker).map(|found| platform::owner(&found)).filter(|owner| *owner != platform::ROOT);
        owner.is_some_and(|owner| cwd.metadata().ok().is_none_or(|cwd| platform::owner(&cwd) != owner))
    };
    MARKERS.iter().chain(&[".git"]).filter(|_| folder != cwd).map(|name| folder.join(name)).find(is_foreign)
}

/// A project: the folder that is searched for runs, with its repository and configuration.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    /// Absolute, without symlinks: the main worktree, also for a caller in a linked one.
    pub(crate) root: Utf8PathBuf,
    /// The caller's current folder.
    pub(crate) cwd: Utf8PathBuf,
    pub(crate) git: Option<GitPaths>,
    /// What could not be looked at to find out whether it is in git.
    pub(crate) unread: Vec<Unread>,
    pub(crate) config: Arc<Config>,
    /// What this user made on this machine, or said yes to.
    pub(crate) trusted: Trusted,
    /// Settings of the project that only its user may make, as sentences.
    pub(crate) ignored_settings: Vec<String>,
    /// What belongs to another user and would have made a folder above the project.
    pub(crate) foreign: Vec<Utf8PathBuf>,
    pub(crate) lock_timeout: Duration,
    /// The branch of each linked worktree, read once a run asks.
    pub(in crate::store) branches: OnceLock<Vec<(Utf8PathBuf, Option<String>)>>,
    /// The home of its runs, and the other one that they may be in.
    pub(in crate::store) homes: OnceLock<(Utf8PathBuf, Option<Utf8PathBuf>)>,
}

impl Project {
    /// Finds the project of a folder. A folder strictly below a repository's top that has a `piton.toml` is a project of its own.
    ///
    /// # Errors
    ///
    /// If the folder does not exist or cannot be looked at, or the configuration is invalid. Never because of git.
    pub(crate) fn open(start: &Utf8Path, environment: &Environment) -> Result<Self, StoreError> {
        let cwd = start.canonicalize_utf8().map_err(|source| StoreError::io(start, source))?;
        let is_folder = cwd.metadata().map_err(|source| StoreError::io(&cwd, source))?.is_dir();
        let cwd = if is_folder { cwd } else { cwd.parent().map_or_else(|| cwd.clone(), Utf8Path::to_owned) };
        // As git's `safe.directory`: who can write in a folder above could make this the project of theirs.
        let mut foreign = Vec::new();
        let mut may_lead = |folder: &Utf8Path| match foreign_marker(folder, &cwd) {
            Some(marker) => {
                foreign.push(marker);
                false
            }
            None => true,
        };
        let look = || {
            let tops: Vec<&Utf8Path> = cwd.ancestors().filter(|folder| is_marked(folder) && may_lead(folder)).collect();
            let found = tops.iter().find_map(|top| Some((*top, GitPaths::at(top)?)));
            (tops, found)
        };
        let ((tops, found), mut unread) = watched(look);
        let (root, git) = match found {
            Some((top, git)) => {
                let mut inside = cwd.ancestors().take_while(|folder| *folder != top);
                let own_project =
                    inside.find(|folder| tops.contains(folder) && exists(&folder.join(config::FILE_NAME)));
                match own_project {
                    Some(root) => (root.to_owned(), Some(git.below(root))),
                    None => (git.main_root.clone(), Some(git)),
                }
            }
            None => {
                let marked = tops.iter().find(|folder| has_marker(folder));
                (marked.map_or_else(|| cwd.clone(), |top| (*top).to_owned()), None)
            }
        };
        // Above it are folders of others, which may be closed.
        unread.retain(|unread| unread.path.starts_with(&root));
        let loaded = config::load(&root, environment.user_config.as_deref(), &environment.overrides)?;
        let (config, ignored_settings) = (Arc::new(loaded.config), loaded.ignored);
        let lock_timeout = environment.lock_timeout;
        let trusted = Trusted::of(environment);
        let (branches, homes) = (OnceLock::new(), OnceLock::new());
        Ok(Self { root, cwd, git, unread, config, trusted, ignored_settings, foreign, lock_timeout, branches, homes })
    }

    /// Excludes the worktrees of sessions: they hold the work of a session, not a project. The one around the current folder
    /// stays.
    pub(crate) fn exclude_session_worktrees(&mut self, folder: &Utf8Path) {
        let cwd = &self.cwd;
        if let Some(git) = &mut self.git {
            git.worktrees.retain(|worktree| !worktree.starts_with(folder) || cwd.starts_with(worktree));
        }
    }

    /// Tells whether a folder is one of this project: in it, in a linked worktree, or among the worktrees of its runs.
    pub(crate) fn owns(&self, folder: &Utf8Path, run_worktrees: &Utf8Path) -> bool {
        let own =
            [self.root.as_path(), run_worktrees].into_iter().chain(self.worktrees().iter().map(|top| top.as_path()));
        let is_plain = folder.components().all(|part| part != Utf8Component::ParentDir);
        is_plain && own.into_iter().any(|own| folder.starts_with(own))
    }

    /// Tells whether this is a project: a repository, or a folder with a marker.
    pub(crate) fn is_marked(&self) -> bool {
        self.git.is_some() || is_marked(&self.root)
    }

    /// Returns the git folder that all worktrees of the repository share.
    pub(super) fn common_dir(&self) -> Option<&Utf8Path> {
        self.git.as_ref().map(|git| git.common_dir.as_path())
    }

    /// Returns the linked worktrees, absolute.
    pub(crate) fn worktrees(&self) -> &[Utf8PathBuf] {
        self.git.as_ref().map_or(&[], |git| &git.worktrees)
    }

    /// Returns the linked worktrees, each with its branch; the branch is `None` with a detached HEAD.
    pub(super) fn worktree_branches(&self) -> &[(Utf8PathBuf, Option<String>)] {
        self.branches.get_or_init(|| {
            let branch = |top: &Utf8PathBuf| repository::head(top).and_then(|head| head.branch);
            self.worktrees().iter().map(|top| (top.clone(), branch(top))).collect()
        })
    }
}
