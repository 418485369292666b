//! Creates, merges and removes the worktrees of sessions with git, one process each. No command uses `--force`, so git refuses
//! to lose work.

use std::process::Command;
use std::process::Stdio;

use camino::Utf8Path;

use super::git::REMOVED;
use super::git::STATUS;
use super::git::changed;
use super::git::head;
use super::project::Project;
use crate::model::clean_line;
use crate::model::mask_secrets;

/// A command that git refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("git {verb}: {message}")]
pub(crate) struct GitRefusal {
    pub(crate) verb: &'static str,
    /// The first line of its output that gives a reason.
    pub(crate) message: String,
}

/// How a merge ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeOutcome {
    Yes,
    /// The merge was aborted; both branches are unchanged.
    No(GitRefusal),
}

/// Creates a worktree on a branch: an existing one of that name, or a new one at `start`.
///
/// # Errors
///
/// If git refuses.
pub(crate) fn add(repository: &Utf8Path, folder: &Utf8Path, branch: &str, start: &str) -> Result<(), GitRefusal> {
    // A worktree that was deleted by hand is still registered.
    let _ = git(repository, "worktree", &["prune"]);
    let folder = folder.as_str();
    if super::git::branch_exists(repository, branch) == Some(true) {
        git(repository, "worktree", &["add", "--quiet", folder, branch]).map(drop)
    } else {
        git(repository, "worktree", &["add", "--quiet", "-b", branch, folder, start]).map(drop)
    }
}

/// Removes a worktree and its branch. Git refuses if something is uncommitted, or not merged into the branch checked out in
/// `repository`.
///
/// # Errors
///
/// If git refuses. What it did not remove still exists.
pub(crate) fn remove(repository: &Utf8Path, folder: &Utf8Path, branch: &str) -> Result<(), GitRefusal> {
    git(repository, "worktree", &["remove", folder.as_str()])?;
    git(repository, "branch", &["--quiet", "--delete", branch]).map(drop)
}

/// Merges a branch into the one that is checked out in `folder`; aborts the merge if it fails.
pub(crate) fn merge(folder: &Utf8Path, branch: &str) -> MergeOutcome {
    match git(folder, "merge", &["--no-edit", branch]) {
        Ok(_) => MergeOutcome::Yes,
        Err(refusal) => {
            // There is nothing to abort if git refused to begin.
            let _ = git(folder, "merge", &["--abort"]);
            MergeOutcome::No(refusal)
        }
    }
}

/// Counts the files with uncommitted changes, with all filters of the repository: a person started the run that works here.
pub(crate) fn dirty(folder: &Utf8Path) -> Option<usize> {
    let listed = git(folder, "status", &STATUS).ok()?;
    Some(changed(listed.as_bytes()).len())
}

/// Counts the commits of `branch` that `base` does not have; `None` if git fails.
pub(crate) fn commits_ahead(folder: &Utf8Path, base: &str, branch: &str) -> Option<usize> {
    let counted = git(folder, "rev-list", &["--count", &format!("{base}..{branch}"), "--"]).ok()?;
    counted.trim().parse().ok()
}

/// Returns the worktree that has a branch checked out.
pub(crate) fn checked_out<'a>(project: &'a Project, branch: &str) -> Option<&'a Utf8Path> {
    let main = project.git.as_ref().map_or(&project.root, |git| &git.main_root);
    let mut folders = std::iter::once(main).chain(project.worktrees()).map(camino::Utf8PathBuf::as_path);
    folders.find(|folder| head(folder).and_then(|head| head.branch).as_deref() == Some(branch))
}

/// Runs git and returns what it printed.
pub(crate) fn git(folder: &Utf8Path, verb: &'static str, arguments: &[&str]) -> Result<String, GitRefusal> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).arg(verb).args(arguments);
    for name in REMOVED {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").stdin(Stdio::null());
    let refusal = |message: &str| GitRefusal { verb, message: clean_line(&mask_secrets(message), 300) };
    let output = command.output().map_err(|error| refusal(&format!("it cannot be started: {error}")))?;
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        return Ok(said.into_owned());
    }
    let telling = |line: &&str| ["fatal:", "error:", "CONFLICT"].iter().any(|word| line.starts_with(word));
    let mut lines = why.lines().chain(said.lines()).map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(telling).or_else(|| lines.next());
    Err(refusal(first.unwrap_or("it gave no reason")))
}

#[cfg(test)]
#[path = "worktree_tests.rs"]
mod tests;
