//! The folders of the runs of workflow files: in the git folder that all worktrees of a repository share, where git does not see them and
//! `git clean` does not remove them. Outside of git they are in the data folder of the project.
//!
//! A run contains commands that a shell runs. So folders of other users are not read, symlinks are not followed, and names
//! that this program would not choose are ignored.

use std::{
    fs::{self, File},
    hash::BuildHasher as _,
    io::Read as _,
    sync::Arc,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    open::Project,
    trusted::{GENERATED, HEADER, RUNS, is_session_id, resolve_links},
};
use crate::{
    model::{Listing, ListingEntry, ReadProblem, RelPath, RunFolder, Timestamp, sha256_hex},
    store::{
        commit::txn,
        fs::{
            environment::Environment,
            error::StoreError,
            path::problem_of,
            platform,
            stage::{self, DATA_DIR},
            unread::{self, note, there},
        },
    },
};

/// The folder in a git folder.
const IN_GIT: &str = "piton";
/// The folder in that one with a home for each project that is a folder of the repository.
const PARTS: &str = "projects";
const WORKTREES: &str = "worktrees";
/// Characters of the readable part of a folder name.
const READABLE_LIMIT: usize = 40;
/// Number of sessions that are listed.
const SESSION_LIMIT: usize = 10_000;
/// The folder of one repository's runs, and that of their worktrees. Neither need exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionHome {
    root: Utf8PathBuf,
    worktrees: Utf8PathBuf,
}

impl SessionHome {
    /// Returns the home of a project's runs. Their worktrees are in the user's state folder, because tools pass over what is in `.git`.
    pub(crate) fn for_project(project: &Project, environment: &Environment) -> Self {
        let (home, other) = Self::of_project(project, environment);
        match other {
            // A sandboxed client may forbid writes below `.git`.
            Some(other) if !is_writable(&home.root) => other,
            Some(_) | None => home,
        }
    }

    /// Returns every folder that a project's runs may be in: also the data folder of a repository, where they are if they were begun before it
    /// was one, or when its git folder could not be written.
    pub(crate) fn all_of_project(project: &Project, environment: &Environment) -> Vec<Self> {
        let (home, other) = Self::of_project(project, environment);
        std::iter::once(home).chain(other).collect()
    }

    fn of_project(project: &Project, environment: &Environment) -> (Self, Option<Self>) {
        let (first, other) = homes(project);
        // A root has no symlinks.
        let identity = match part(project) {
            None => common_dir(project).unwrap_or_else(|| project.root.clone()),
            Some(_) => project.root.clone(),
        };
        let key = folder_name(&project.root, &identity);
        let of_user = environment.state_home.as_deref().map(|home| resolve_links(home).join(&key));
        let worktrees = of_user.as_ref().unwrap_or(&first).join(WORKTREES);
        let home = |root| Self { root, worktrees: worktrees.clone() };
        (home(first), other.map(home))
    }

    /// Returns the folder of its records and that of its worktrees.
    pub(crate) fn places(&self) -> (&Utf8Path, &Utf8Path) {
        (&self.root, &self.worktrees)
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the folder of a session's records.
    pub(crate) fn session(&self, id: &str) -> Utf8PathBuf {
        self.root.join(RUNS).join(id)
    }

    /// Returns the folder of a session's records, for its lock.
    pub(crate) fn folder(&self, id: &str) -> RunFolder {
        let path = RelPath::parse(&format!("{RUNS}/{id}")).expect("an id is a name");
        RunFolder { home: self.root.clone(), path }
    }

    /// Creates the folder of a new session, private to this user.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn create(&self, id: &str) -> Result<Utf8PathBuf, StoreError> {
        let folder = self.session(id);
        stage::create_private_dirs(&folder)?;
        Ok(folder)
    }

    /// Returns the worktree of a session.
    pub(crate) fn worktree(&self, id: &str) -> Utf8PathBuf {
        self.worktrees.join(id)
    }

    /// Returns the folder that holds the worktrees of all sessions.
    pub(crate) fn worktrees(&self) -> Utf8PathBuf {
        self.worktrees.clone()
    }

    /// Returns the session whose records contain a path, with its home.
    pub(crate) fn containing(path: &Utf8Path) -> Option<(Self, String)> {
        let run = path.ancestors().find(|folder| folder.parent().is_some_and(is_runs_folder))?;
        let (root, id) = (run.parent()?.parent()?.to_owned(), run.file_name()?);
        is_session_id(id).then(|| (Self { worktrees: root.join(WORKTREES), root }, id.to_owned()))
    }

    /// Lists the headers of all sessions.
    pub(crate) fn listing(&self, project: &Project) -> Sessions {
        let mut found = Sessions::default();
        found.listing.root.clone_from(&self.root);
        found.listing.config = Arc::clone(&project.config);
        let folder = self.root.join(RUNS);
        for place in [&self.root, &folder] {
            match fs::symlink_metadata(place) {
                Ok(metadata) if metadata.is_dir() && platform::is_ours(&metadata) => {}
                Ok(_) => {
                    found.foreign.push(place.clone());
                    return found;
                }
                Err(error) => {
                    note(place, problem_of(&error));
                    return found;
                }
            }
        }
        let Some(root) = unread::root(&self.root) else { return found };
        let entries = there(&folder, folder.read_dir_utf8()).into_iter().flatten();
        let entries = entries.filter_map(|entry| there(&folder, entry));
        for entry in entries.filter(|entry| is_session_id(entry.file_name())).take(SESSION_LIMIT) {
            let Some(metadata) = there(entry.path(), fs::symlink_metadata(entry.path())) else { continue };
            if !metadata.is_dir() {
                continue;
            }
            if !platform::is_ours(&metadata) {
                found.foreign.push(entry.path().to_owned());
                continue;
            }
            let Ok(path) = RelPath::parse(&format!("{RUNS}/{}/{HEADER}", entry.file_name())) else { continue };
            // Without a header it is the leftover of a session that never started, or its start was recorded and cut off.
            if root.open_file(&path).is_err_and(|problem| problem == ReadProblem::Missing) {
                let own = path.parent().filter(|_| txn::is_pending(entry.path()));
                found.pending.extend(own.map(|path| RunFolder { home: self.root.clone(), path }));
                continue;
            }
            let content = root.read_for_probe(&path);
            let content = content.map_err(|problem| note(&path.under(&self.root), problem)).ok();
            found.listing.entries.push(ListingEntry { path, is_dir: false, content });
        }
        found.listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found.foreign.sort_unstable();
        found
    }
}

/// The sessions of a home.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub(crate) listing: Listing,
    /// Folders that belong to another user, or are symlinks or files; they were not read.
    pub(crate) foreign: Vec<Utf8PathBuf>,
    /// Folders of runs whose start was recorded and cut off.
    pub(crate) pending: Vec<RunFolder>,
}

/// Returns the home of a project's runs, and the other one that they may be in: in the git folder of a repository, and in the project; else only
/// that. Neither need exist.
pub(super) fn homes(project: &Project) -> (Utf8PathBuf, Option<Utf8PathBuf>) {
    project.homes.get_or_init(|| find_homes(project)).clone()
}

/// Returns the home of a project's runs in its git folder, if this user may not write there: runs that begin are then in the project.
pub(crate) fn closed_home(project: &Project) -> Option<Utf8PathBuf> {
    let (first, other) = homes(project);
    other.filter(|_| !is_writable(&first)).map(|_| first)
}

fn find_homes(project: &Project) -> (Utf8PathBuf, Option<Utf8PathBuf>) {
    let in_project = project.root.join(DATA_DIR);
    let own_dir = common_dir(project).filter(|_| project.git.as_ref().is_some_and(|git| git.is_own));
    match (own_dir, part(project)) {
        (None, _) => (in_project, None),
        (Some(common_dir), None) => (common_dir.join(IN_GIT), Some(in_project)),
        (Some(common_dir), Some(below)) => {
            // The name has to move with the repository.
            (common_dir.join(IN_GIT).join(PARTS).join(folder_name(&project.root, below)), Some(in_project))
        }
    }
}

fn common_dir(project: &Project) -> Option<Utf8PathBuf> {
    let common = &project.git.as_ref()?.common_dir;
    Some(common.canonicalize_utf8().unwrap_or_else(|_| common.clone()))
}

/// Returns the place of a project in its repository, of one that is a folder of it.
fn part(project: &Project) -> Option<&Utf8Path> {
    let below = project.root.strip_prefix(&project.git.as_ref()?.main_root).ok()?;
    Some(below).filter(|below| !below.as_str().is_empty())
}

/// Tells whether a folder, or the nearest one above it that exists, can be written.
pub(crate) fn is_writable(folder: &Utf8Path) -> bool {
    let there = folder.ancestors().find(|folder| folder.exists());
    there.is_some_and(platform::is_open)
}

/// Tells whether a folder is that of the runs, in a git folder or a data folder.
fn is_runs_folder(folder: &Utf8Path) -> bool {
    let above = folder.parent().and_then(Utf8Path::file_name);
    let is_part = || folder.ancestors().nth(2).is_some_and(|parts| parts.ends_with(format!("{IN_GIT}/{PARTS}")));
    folder.file_name() == Some(RUNS) && (matches!(above, Some(IN_GIT | DATA_DIR)) || is_part())
}

/// Returns the name of a project's folder: a readable name and a digest of the whole path, because projects may share a name.
fn folder_name(root: &Utf8Path, identity: &Utf8Path) -> String {
    let name = root.file_name().unwrap_or_default();
    let readable = name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' });
    let readable: String = readable.take(READABLE_LIMIT).collect();
    format!("{readable}-{}", &sha256_hex(identity.as_str().as_bytes())[..16])
}

/// Returns an unpredictable id for a new session; ids sort by time.
pub(crate) fn new_id(now: Timestamp) -> String {
    format!("{GENERATED}{}-{:012x}", now.compact().to_lowercase(), random() >> 16)
}

/// Tells whether a word is a whole id that [`new_id`] can return.
pub(crate) fn is_new_id(word: &str) -> bool {
    let Some((at, random)) = word.strip_prefix(GENERATED).and_then(|rest| rest.split_once('-')) else { return false };
    let is_digit = |(at, byte): (usize, u8)| match at {
        8 => byte == b't',
        15 => byte == b'z',
        _ => byte.is_ascii_digit(),
    };
    at.len() == 16
        && at.bytes().enumerate().all(is_digit)
        && random.len() == 12
        && random.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns an unpredictable number.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    match File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        // Its keys come from the system's random source too.
        Err(_) => std::hash::RandomState::new().hash_one(std::process::id()),
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
