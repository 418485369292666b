//! The folders of the runner's sessions: below this user's state home, one folder per repository.
//!
//! A session contains commands that a shell runs. So folders of other users are not read, symlinks are not followed, and names
//! that this program would not choose are ignored.

use std::fs;
use std::fs::File;
use std::hash::BuildHasher as _;
use std::io::Read as _;
use std::sync::Arc;

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::open::Project;
use crate::model::Config;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::ReadProblem;
use crate::model::RelPath;
use crate::model::Timestamp;
use crate::model::sha256_hex;
use crate::store::fs::environment::Environment;
use crate::store::fs::error::StoreError;
use crate::store::fs::path::Root;
use crate::store::fs::platform;
use crate::store::fs::stage;

const SESSIONS: &str = "sessions";
const WORKTREES: &str = "worktrees";
const HEADER: &str = "session.json";
/// Characters of the readable part of a folder name.
const READABLE_LIMIT: usize = 40;
/// Number of sessions that are listed.
const SESSION_LIMIT: usize = 10_000;
/// Bytes of a session id.
const ID_LIMIT: usize = 100;

/// The folder of one repository's sessions and their worktrees. It need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionHome {
    root: Utf8PathBuf,
}

impl SessionHome {
    /// Returns the home of a project's sessions; `None` if the environment names no state folder.
    pub(crate) fn for_project(project: &Project, environment: &Environment) -> Option<Self> {
        let common_dir = project.git.as_ref().map(|git| &git.common_dir);
        let common_dir = common_dir.map(|common| common.canonicalize_utf8().unwrap_or_else(|_| common.clone()));
        // A root has no symlinks.
        let identity = common_dir.as_ref().unwrap_or(&project.root);
        Some(Self { root: resolve_links(environment.state_home.as_ref()?).join(folder_name(&project.root, identity)) })
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the folder of a session's records.
    pub(crate) fn session(&self, id: &str) -> Utf8PathBuf {
        self.root.join(SESSIONS).join(id)
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
        self.worktrees().join(id)
    }

    /// Returns the folder that holds the worktrees of all sessions.
    pub(crate) fn worktrees(&self) -> Utf8PathBuf {
        self.root.join(WORKTREES)
    }

    /// Returns the session whose records or worktree contain a path, with its home.
    pub(crate) fn containing(path: &Utf8Path, environment: &Environment) -> Option<(Self, String)> {
        let state_home = resolve_links(environment.state_home.as_ref()?);
        let mut parts = path.strip_prefix(&state_home).ok()?.components().map(|part| part.as_str());
        let (key, folder, id) = (parts.next()?, parts.next()?, parts.next()?);
        let is_session = matches!(folder, SESSIONS | WORKTREES) && is_session_id(id);
        is_session.then(|| (Self { root: state_home.join(key) }, id.to_owned()))
    }

    /// Lists the headers of all sessions.
    pub(crate) fn listing(&self, config: &Arc<Config>) -> Sessions {
        let mut found = Sessions::default();
        found.listing.root.clone_from(&self.root);
        found.listing.config = Arc::clone(config);
        let Ok(root) = Root::open(&self.root) else { return found };
        let folder = self.root.join(SESSIONS);
        for place in [&self.root, &folder] {
            match fs::symlink_metadata(place) {
                Ok(metadata) if metadata.is_dir() && platform::is_ours(&metadata) => {}
                Ok(_) => {
                    found.foreign.push(place.clone());
                    return found;
                }
                Err(_) => return found,
            }
        }
        let Ok(entries) = folder.read_dir_utf8() else { return found };
        for entry in entries.filter_map(Result::ok).filter(|entry| is_session_id(entry.file_name())).take(SESSION_LIMIT)
        {
            let Ok(metadata) = fs::symlink_metadata(entry.path()) else { continue };
            if !metadata.is_dir() {
                continue;
            }
            if !platform::is_ours(&metadata) {
                found.foreign.push(entry.path().to_owned());
                continue;
            }
            let Ok(path) = RelPath::parse(&format!("{SESSIONS}/{}/{HEADER}", entry.file_name())) else { continue };
            // Without a header it is the leftover of a session that never started.
            if root.open_file(&path).is_err_and(|problem| problem == ReadProblem::Missing) {
                continue;
            }
            let content = root.read_for_probe(&path);
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
}

/// Tells whether a name is valid as a session id: no path, and no command line option.
fn is_session_id(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.len() <= ID_LIMIT && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

/// Resolves the symlinks in the existing part of a path, as git does for new worktrees.
fn resolve_links(path: &Utf8Path) -> Utf8PathBuf {
    let resolved = path.ancestors().find_map(|there| Some((there, there.canonicalize_utf8().ok()?)));
    let below = resolved.and_then(|(there, real)| Some(real.join(path.strip_prefix(there).ok()?)));
    below.unwrap_or_else(|| path.to_owned())
}

/// Returns the name of a repository's folder: a readable name and a digest of the whole path, because repositories may share a
/// name.
fn folder_name(root: &Utf8Path, identity: &Utf8Path) -> String {
    let name = root.file_name().unwrap_or_default();
    let readable = name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' });
    let readable: String = readable.take(READABLE_LIMIT).collect();
    format!("{readable}-{}", &sha256_hex(identity.as_str().as_bytes())[..16])
}

/// Returns an unpredictable id for a new session; ids sort by time.
pub(crate) fn new_id(now: Timestamp) -> String {
    format!("session-{}-{:012x}", now.compact().to_lowercase(), random() >> 16)
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
