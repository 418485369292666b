//! Where the sessions of the runner live: below the state home of this user, one folder for each repository, by its full identity.

use std::fs::File;
use std::hash::BuildHasher as _;
use std::io::Read as _;

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::environment::Environment;
use super::project::Project;
use crate::model::Timestamp;
use crate::model::sha256_hex;

const SESSIONS: &str = "sessions";
const WORKTREES: &str = "worktrees";
const READABLE_LIMIT: usize = 40;

/// Is the folder of one repository, with its sessions and their worktrees. It need not be there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionHome {
    root: Utf8PathBuf,
}

impl SessionHome {
    /// Returns it; `None` where the environment names no place for state.
    pub(crate) fn of(project: &Project, environment: &Environment) -> Option<Self> {
        let identity = project.git.as_ref().map_or(&project.root, |git| &git.common_dir);
        let identity = identity.canonicalize_utf8().unwrap_or_else(|_| identity.clone());
        Some(Self { root: environment.state_home.as_ref()?.join(key(&project.root, &identity)) })
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns where the records of a session are.
    pub(crate) fn session(&self, id: &str) -> Utf8PathBuf {
        self.root.join(SESSIONS).join(id)
    }

    /// Returns where a session works.
    pub(crate) fn worktree(&self, id: &str) -> Utf8PathBuf {
        self.root.join(WORKTREES).join(id)
    }
}

/// Puts a name that people recognise before a digest of the whole path, since two repositories may have one name.
fn key(root: &Utf8Path, identity: &Utf8Path) -> String {
    let name = root.file_name().unwrap_or_default();
    let readable = name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' });
    let readable: String = readable.take(READABLE_LIMIT).collect();
    format!("{readable}-{}", &sha256_hex(identity.as_str().as_bytes())[..16])
}

/// Returns an id for a new session: later ones sort behind, and nobody can tell it in advance.
pub(crate) fn new_id(now: Timestamp) -> String {
    format!("session-{}-{:012x}", now.compact().to_lowercase(), random() >> 16)
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    match File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        // Its keys come from the system as well.
        Err(_) => std::hash::RandomState::new().hash_one(std::process::id()),
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
