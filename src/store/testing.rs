//! A scratch folder for the tests of the store.

use std::{fs, process::Command, sync::Arc, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::{
    commit::{checkpoint::CheckpointMeta, lock::RunLock},
    fs::environment::Environment,
    project::{open::Project, trusted::Trusted},
};
use crate::model::{
    Candidate, Clock, Config, DialectId, Edit, EditKind, ReadSpec, RelPath, RunFolder, StepId, Timestamp,
};

pub(super) struct Scratch {
    _dir: TempDir,
    pub(super) root: Utf8PathBuf,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap();
        Self { _dir: dir, root }
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Runs git in the folder at a given time, without the configuration of this machine.
    pub(super) fn git(&self, at: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(&self.root)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .env("HOME", &self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_COMMITTER_DATE", at)
            .env("GIT_AUTHOR_DATE", at)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(super) fn lock(&self) -> RunLock {
        RunLock::acquire(&self.root, &self.own(), Duration::from_secs(5)).unwrap()
    }

    /// Returns the folder of the run that [`candidate`] is.
    pub(super) fn own(&self) -> RunFolder {
        RunFolder { home: self.root.join(".piton"), path: rel("runs/ccw.run") }
    }

    pub(super) fn project(&self) -> Project {
        Project {
            trusted: Trusted::of(&Environment::default()),
            ignored_settings: Vec::new(),
            foreign: Vec::new(),
            root: self.root.clone(),
            cwd: self.root.clone(),
            git: None,
            unread: Vec::new(),
            config: Arc::new(Config::default()),
            lock_timeout: Duration::from_millis(50),
            branches: std::sync::OnceLock::new(),
            homes: std::sync::OnceLock::new(),
        }
    }

    /// Lists all files below a folder but for the lock and the ignore file, as a person would see them.
    pub(super) fn files(&self, folder: &str) -> Vec<String> {
        let top = self.root.join(folder);
        let mut files: Vec<String> = walkdir::WalkDir::new(&top)
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_type().is_dir())
            .map(|entry| Utf8Path::from_path(entry.path()).unwrap().strip_prefix(&top).unwrap().to_string())
            .filter(|path| !path.ends_with("ccw.run/lock") && !path.ends_with(".gitignore"))
            .collect();
        files.sort_unstable();
        files
    }
}

pub(super) fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

pub(super) fn clock() -> Clock {
    Clock { now: time("2026-01-31T12:00:00Z"), utc_offset_seconds: 0 }
}

pub(super) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text, 0).unwrap()
}

pub(super) fn meta() -> CheckpointMeta {
    CheckpointMeta { step: Some(StepId::new("2:4")), ..CheckpointMeta::new("begin") }
}

pub(super) fn create(path: &str, after: &str) -> Edit {
    Edit { path: rel(path), kind: EditKind::Create { after: after.into() } }
}

pub(super) fn replace(path: &str, before: &str, after: &str) -> Edit {
    Edit { path: rel(path), kind: EditKind::Replace { before: before.as_bytes().into(), after: after.into() } }
}

pub(super) fn remove(path: &str, before: &str) -> Edit {
    Edit { path: rel(path), kind: EditKind::Remove { before: before.as_bytes().into() } }
}

pub(super) fn append(path: &str, before_len: usize, bytes: &str) -> Edit {
    let kind = EditKind::Append { before_len: before_len as u64, bytes: bytes.into() };
    Edit { path: rel(path), kind }
}

pub(super) fn candidate(reads: Vec<ReadSpec>) -> Candidate {
    Candidate::new(DialectId::Ccw, "run".to_owned(), rel("run/state.json"), reads)
}
