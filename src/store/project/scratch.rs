//! A temporary project for the demonstration, and this program run in it. Also paths of the process.

use std::{
    fs,
    io::ErrorKind,
    process::{Command, Stdio},
};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::open;
use crate::{
    model::RelPath,
    store::fs::{environment::variable_os, error::StoreError, surroundings},
};

/// Where the client's own files of a scratch project are.
pub(crate) const CLIENT_FOLDER: &str = "client/";
/// The project in these files, and the folder of its transcripts.
const CLIENT_PROJECT: &str = "/home/u/shop";
const CLIENT_SLUG: &str = "/PROJECT/";

/// A temporary folder that is removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    path: Utf8PathBuf,
}

/// The output and exit code of one command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) output: String,
    /// `None` if a signal ended it.
    pub(crate) exit: Option<i32>,
}

impl Scratch {
    /// Creates a folder in the system's temporary folder.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn new() -> Result<Self, StoreError> {
        let folder = tempfile::Builder::new().prefix("piton-demo-").tempdir();
        let folder = folder.map_err(|source| StoreError::io("the folder for temporary files", source))?;
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned())
            .map_err(|path| StoreError::NotText { path: path.to_string_lossy().into_owned().into() })?;
        Ok(Self { folder, path })
    }

    /// Writes a file and creates its folders.
    ///
    /// # Errors
    ///
    /// If the path leaves the folder, or cannot be written.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), StoreError> {
        let checked = RelPath::parse(path)
            .map_err(|_| StoreError::UnsafePath { path: path.into(), problem: "it leaves the scratch folder" })?;
        let full = checked.under(&self.path);
        let parent = full.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).and_then(|()| fs::write(&full, text)).map_err(|source| StoreError::io(&full, source))
    }

    /// Writes a file of the client about a folder of the scratch project: with the path of that folder in it, and in its own path.
    ///
    /// # Errors
    ///
    /// As [`Scratch::write`].
    pub(crate) fn write_for_client(&self, folder: &str, path: &str, text: &str) -> Result<(), StoreError> {
        let top = self.path.canonicalize_utf8().unwrap_or_else(|_| self.path.clone()).join(folder);
        let slug: String = top.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.write(&path.replace(CLIENT_SLUG, &format!("/{slug}/")), &text.replace(CLIENT_PROJECT, top.as_str()))
    }

    /// Makes a folder of the scratch project a git repository with one commit and, if named, a linked worktree on its own
    /// branch. Does nothing without git.
    ///
    /// # Errors
    ///
    /// If git is installed and fails.
    pub(crate) fn make_repository(
        &self,
        folder: &str,
        date: &str,
        worktree: Option<(&str, &str)>,
    ) -> Result<(), StoreError> {
        let place = self.path.join(folder);
        let mut calls = vec![
            vec!["init", "--quiet", "--initial-branch=main"],
            vec!["add", "--all"],
            vec!["commit", "--quiet", "--no-verify", "--message=The project, before it was interrupted"],
        ];
        calls.extend(worktree.map(|(path, branch)| vec!["worktree", "add", "--quiet", "-b", branch, path]));
        for arguments in calls {
            match git(&place, date).args(&arguments).status() {
                Ok(status) if status.success() => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(source) => return Err(StoreError::io("git", source)),
                Ok(status) => {
                    let problem = format!("git {} ended with {status}", arguments[0]);
                    return Err(StoreError::io(place, std::io::Error::other(problem)));
                }
            }
        }
        Ok(())
    }

    /// Runs this program in a folder of the scratch project, at a given time, with text output and in a clean environment.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(crate) fn run_self(&self, folder: &str, now: &str, arguments: &[&str]) -> Result<Outcome, StoreError> {
        let place = self.path.join(folder);
        let program = current_exe().ok_or_else(|| StoreError::UnsafePath {
            path: place.clone(),
            problem: "the path of this program is unknown",
        })?;
        let output = Command::new(&program)
            .args(arguments)
            .current_dir(&place)
            .env_clear()
            .envs(variable_os("PATH").map(|path| ("PATH", path)))
            .env("PITON_NOW", now)
            .env("PITON_HOME", self.path.join("state"))
            .env("CLAUDE_CONFIG_DIR", self.path.join(CLIENT_FOLDER))
            .env("PITON_FORMAT", "text")
            .env("PITON_SESSION", "demo")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| StoreError::io(&program, source))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Outcome { output: text(&output.stdout) + &text(&output.stderr), exit: output.status.code() })
    }

    /// Keeps the folder and returns its path.
    pub(crate) fn keep(self) -> Utf8PathBuf {
        let Self { folder, path } = self;
        let _ = folder.keep();
        path
    }
}

/// Prepares git with a clean environment: no configuration of the user or the system affects committer, signing or hooks.
fn git(place: &Utf8Path, date: &str) -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=Piton", "-c", "user.email=demo@piton.invalid"])
        .current_dir(place)
        .env_clear()
        .envs(variable_os("PATH").map(|path| ("PATH", path)))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", date)
        .env("GIT_COMMITTER_DATE", date)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Returns the path of this program.
pub(crate) fn current_exe() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_exe().ok()?).ok()
}

/// Returns the current folder.
///
/// # Errors
///
/// If it does not exist any more, or its path is not UTF-8.
pub(crate) fn current_dir() -> Result<Utf8PathBuf, StoreError> {
    if let Some(given) = surroundings::given() {
        return Ok(given.folder().clone());
    }
    let dir = std::env::current_dir().map_err(|source| StoreError::io("the current folder", source))?;
    Utf8PathBuf::from_path_buf(dir)
        .map_err(|path| StoreError::NotText { path: path.to_string_lossy().into_owned().into() })
}

/// Returns the absolute path, without symlinks, of an argument that names an existing file or folder.
pub(crate) fn existing_path(start: &Utf8Path, text: &str) -> Option<Utf8PathBuf> {
    let path = start.join(text);
    // A bare word names a run, unless it is a project in this folder.
    let looks_like_path =
        text.contains('/') || text.starts_with('.') || [".json", ".yaml", ".yml"].iter().any(|end| text.ends_with(end));
    if !looks_like_path && !open::is_marked(&path) {
        return None;
    }
    path.canonicalize_utf8().ok()
}
