//! The worktrees of sessions: made, merged and removed by git, one process each. Git itself refuses to lose anything here: no
//! command is ever given `--force`.

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

/// Says what git answered to something that it would not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("git {verb}: {message}")]
pub(crate) struct GitRefusal {
    pub(crate) verb: &'static str,
    /// The first line that says why.
    pub(crate) message: String,
}

/// Says how a merge ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeOutcome {
    Yes,
    /// The merge was taken back; both branches are as they were.
    No(GitRefusal),
}

/// Makes a worktree on a branch: a new one at `start`, or the one of that name where there is one already.
///
/// # Errors
///
/// When git will not.
pub(crate) fn add(repository: &Utf8Path, folder: &Utf8Path, branch: &str, start: &str) -> Result<(), GitRefusal> {
    // A folder that was deleted by hand is still in git's list.
    let _ = git(repository, "worktree", &["prune"]);
    let folder = folder.as_str();
    if super::git::branch_exists(repository, branch) == Some(true) {
        git(repository, "worktree", &["add", "--quiet", folder, branch]).map(drop)
    } else {
        git(repository, "worktree", &["add", "--quiet", "-b", branch, folder, start]).map(drop)
    }
}

/// Removes a worktree and its branch. Git refuses where something is not committed, or not merged into what is checked out in
/// `repository`.
///
/// # Errors
///
/// When git will not; what it kept is still there.
pub(crate) fn remove(repository: &Utf8Path, folder: &Utf8Path, branch: &str) -> Result<(), GitRefusal> {
    git(repository, "worktree", &["remove", folder.as_str()])?;
    git(repository, "branch", &["--quiet", "--delete", branch]).map(drop)
}

/// Merges a branch into the one that is checked out in `folder`; takes the merge back when it does not go through.
pub(crate) fn merge(folder: &Utf8Path, branch: &str) -> MergeOutcome {
    match git(folder, "merge", &["--no-edit", branch]) {
        Ok(_) => MergeOutcome::Yes,
        Err(refusal) => {
            // Nothing is under way where git refused to begin.
            let _ = git(folder, "merge", &["--abort"]);
            MergeOutcome::No(refusal)
        }
    }
}

/// Counts the files with uncommitted changes, as git does with everything that the repository names: a person asked for the run
/// that works here.
pub(crate) fn dirty(folder: &Utf8Path) -> Option<usize> {
    let listed = git(folder, "status", &STATUS).ok()?;
    Some(changed(listed.as_bytes()).len())
}

/// Counts the commits of a branch that another one does not have; `None` where git cannot tell.
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
    Err(refusal(first.unwrap_or("it says nothing about why")))
}

#[cfg(test)]
#[path = "worktree_tests.rs"]
mod tests;
