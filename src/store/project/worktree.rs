//! Creates, merges and removes the worktrees of sessions with git, one process each. Only `discard` uses `--force`; everywhere else git
//! refuses to lose work.

use std::{
    collections::BTreeSet,
    os::unix::fs::MetadataExt as _,
    process::{Output, Stdio},
    thread,
    time::{Duration, SystemTime},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    git::{STATUS, head, work_of},
    git_process::REMOVED,
    open::Project,
    repository::GitPaths,
};
use crate::{
    model::{RelPath, clean_line, mask_secrets},
    store::fs::{
        nofollow,
        process::{is_git_at_work_in, processes_with_variables},
        surroundings::program,
    },
};

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
    /// The merge was aborted; both branches are unchanged. With the files in conflict.
    No {
        refusal: GitRefusal,
        conflicts: Vec<String>,
    },
}

/// Creates a worktree on a branch: an existing one of that name, or a new one at `start`.
///
/// # Errors
///
/// If git refuses.
pub(crate) fn add(repository: &Utf8Path, folder: &Utf8Path, branch: &str, start: &str) -> Result<(), GitRefusal> {
    let once = || {
        // A call that was refused may have created the branch.
        if super::git::branch_exists(repository, branch) == Some(true) {
            git_once(repository, "worktree", &["add", "--quiet", folder.as_str(), branch])
        } else {
            git_once(repository, "worktree", &["add", "--quiet", "-b", branch, folder.as_str(), start])
        }
    };
    let added = retried(once).or_else(|refusal| {
        // A worktree that was deleted by hand is still registered.
        if !refusal.message.contains("already registered") {
            return Err(refusal);
        }
        git(repository, "worktree", &["prune"])?;
        retried(once)
    });
    added.map(drop)
}

/// Removes a worktree and its branch. Git refuses if something is uncommitted, or not merged into the branch checked out in
/// `repository`.
///
/// # Errors
///
/// If git refuses. What it did not remove still exists.
pub(crate) fn remove(repository: &Utf8Path, folder: &Utf8Path, branch: &str) -> Result<(), GitRefusal> {
    take_away(repository, (folder, branch), &[])
}

/// Removes a worktree and its branch, with the commits that are on no other branch and what is uncommitted. The caller has made sure
/// that they are elsewhere, or has a person's word.
///
/// # Errors
///
/// If git refuses. What it did not remove still exists.
pub(crate) fn discard(repository: &Utf8Path, folder: &Utf8Path, branch: &str) -> Result<(), GitRefusal> {
    take_away(repository, (folder, branch), &["--force"])
}

/// Removes what there still is of a worktree and its branch: a kill may have come in between.
fn take_away(repository: &Utf8Path, (folder, branch): (&Utf8Path, &str), force: &[&str]) -> Result<(), GitRefusal> {
    let listed = git(repository, "worktree", &["list", "--porcelain"])?;
    if listed.lines().any(|line| line.strip_prefix("worktree ") == Some(folder.as_str())) {
        git(repository, "worktree", &[&["remove"], force, &[folder.as_str()]].concat())?;
    }
    if super::git::branch_exists(repository, branch) == Some(false) {
        return Ok(());
    }
    git(repository, "branch", &[&["--quiet", "--delete"], force, &[branch]].concat()).map(drop)
}

/// Creates one commit on top of `base` with everything that `branch` changed; no branch and no file is touched.
///
/// # Errors
///
/// If the branches are in conflict, or git refuses.
pub(crate) fn squashed(repository: &Utf8Path, base: &str, branch: &str, title: &str) -> Result<String, GitRefusal> {
    let tree = git(repository, "merge-tree", &["--write-tree", base, branch])?;
    let tree = tree.lines().next().unwrap_or_default().trim().to_owned();
    let range = format!("{base}..{branch}");
    let subjects = git(repository, "log", &["--reverse", "--format=* %s", &range, "--"])?;
    let message = format!("{title}\n\n{subjects}");
    let commit = git(repository, "commit-tree", &[&tree, "-p", base, "-m", &message])?;
    Ok(commit.trim().to_owned())
}

/// Returns the files in which two branches are in conflict; empty if there are none, or git cannot tell.
pub(crate) fn conflicts(repository: &Utf8Path, base: &str, branch: &str) -> Vec<String> {
    let listed = call(repository, "merge-tree", &["--write-tree", "--name-only", "--no-messages", base, branch]);
    // The first line is the tree.
    let listed = listed.ok().filter(|output| output.status.code() == Some(1)).map(|output| output.stdout);
    String::from_utf8_lossy(&listed.unwrap_or_default()).lines().skip(1).map(str::to_owned).collect()
}

/// Merges a branch into the one that is checked out in `folder`. If that fails, the folder is afterwards as it was.
pub(crate) fn merge(folder: &Utf8Path, branch: &str) -> MergeOutcome {
    let before = untracked(folder).unwrap_or_default();
    let mut pauses = lock_pauses();
    loop {
        let Err(refusal) = git_once(folder, "merge", &["--no-edit", branch]) else { return MergeOutcome::Yes };
        let listed = git(folder, "diff", &["--name-only", "--diff-filter=U"]).unwrap_or_default();
        let conflicts = listed.lines().map(str::to_owned).collect();
        // There is nothing to abort if git refused to begin.
        let _ = git(folder, "merge", &["--abort"]);
        remove_written(folder, branch, &before);
        match pauses.next().filter(|_| is_of_lock(&refusal.message)) {
            Some(pause) => thread::sleep(pause),
            None => return MergeOutcome::No { refusal, conflicts },
        }
    }
}

fn untracked(folder: &Utf8Path) -> Result<BTreeSet<String>, GitRefusal> {
    let listed = git(folder, "ls-files", &["--others", "--exclude-standard", "-z"])?;
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// Removes the files that a merge wrote before it could not write the index: they are new and as on the branch.
fn remove_written(folder: &Utf8Path, branch: &str, before: &BTreeSet<String>) {
    for path in untracked(folder).unwrap_or_default().difference(before) {
        let there = git(folder, "hash-object", &["--", path]).unwrap_or_default();
        let merged =
            git(folder, "rev-parse", &["--verify", "--quiet", &format!("{branch}:{path}")]).unwrap_or_default();
        if !merged.is_empty() && there == merged {
            let _ = nofollow::remove_file(folder.join(path));
        }
    }
}

/// Lists the files with uncommitted changes, with all filters of the repository: a person started the run that works here.
pub(crate) fn uncommitted(folder: &Utf8Path) -> Option<Vec<String>> {
    Some(work_of(folder, git(folder, "status", &STATUS).ok()?.as_bytes()))
}

/// Counts the files with uncommitted changes.
pub(crate) fn dirty(folder: &Utf8Path) -> Option<usize> {
    uncommitted(folder).map(|files| files.len())
}

/// Counts the tracked files with uncommitted changes.
pub(crate) fn changed_tracked(folder: &Utf8Path) -> Option<usize> {
    let listed = git(folder, "status", &["--porcelain", "--untracked-files=no"]).ok()?;
    Some(listed.lines().count())
}

/// Lists the files of a folder that git does not have and does not ignore; repositories inside of it are left out.
pub(crate) fn new_files(folder: &Utf8Path) -> Result<Vec<RelPath>, GitRefusal> {
    let listed = untracked(folder)?.into_iter();
    Ok(listed.filter(|path| !path.ends_with('/')).filter_map(|path| RelPath::parse(&path).ok()).collect())
}

/// Counts the commits of `branch` that `base` does not have; `None` if git fails.
pub(crate) fn commits_ahead(folder: &Utf8Path, base: &str, branch: &str) -> Option<usize> {
    let counted = git(folder, "rev-list", &["--count", &format!("{base}..{branch}"), "--"]).ok()?;
    counted.trim().parse().ok()
}

/// Lists the commits of `branch` that `base` does not have, newest first; `None` if git fails.
pub(crate) fn commits_of(folder: &Utf8Path, base: &str, branch: &str) -> Option<Vec<String>> {
    let listed = git(folder, "log", &["--format=%h %s", &format!("{base}..{branch}"), "--"]).ok()?;
    Some(listed.lines().map(str::to_owned).collect())
}

/// Returns the worktree that has a branch checked out.
pub(crate) fn checked_out<'a>(project: &'a Project, branch: &str) -> Option<&'a Utf8Path> {
    let main = project.git.as_ref().map_or(&project.root, |git| &git.main_root);
    let mut folders = std::iter::once(main).chain(project.worktrees()).map(Utf8PathBuf::as_path);
    folders.find(|folder| head(folder).and_then(|head| head.branch).as_deref() == Some(branch))
}

/// How often git is called again that found one of its own locks taken: an editor or another git holds them for moments.
const LOCK_TRIES: u32 = 7;
/// Pause before the first of them; doubled each time.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// How often it is looked whether a call of a killed process has ended.
const CALL_TRIES: u32 = 150;
/// Marks calls of git with the folder that they are about.
const MARK: &str = "PITON_GIT";

/// Runs git and returns what it printed.
pub(crate) fn git(folder: &Utf8Path, verb: &'static str, arguments: &[&str]) -> Result<String, GitRefusal> {
    retried(|| git_once(folder, verb, arguments))
}

/// Waits for calls of git in a folder that a killed process left behind: one may be about to move the branch that is checked out there.
pub(crate) fn wait_for_calls(folder: &Utf8Path) {
    let mark = format!("{MARK}={folder}");
    for _ in 0..CALL_TRIES {
        if processes_with_variables(&mark, std::slice::from_ref(&mark)).is_empty() {
            return;
        }
        thread::sleep(LOCK_PAUSE);
    }
}

/// Removes the locks that ended calls of git left in the git folders of worktrees that are ours, where no git is at work, and returns them.
/// `folder` is in the repository.
pub(crate) fn remove_left_locks(folder: &Utf8Path, is_ours: &dyn Fn(&Utf8Path) -> bool) -> Vec<Utf8PathBuf> {
    let Some(git) = folder.ancestors().find_map(GitPaths::at) else { return Vec::new() };
    let mut removed = Vec::new();
    for worktree in git.worktrees.iter().filter(|worktree| is_ours(worktree)) {
        let own = GitPaths::at(worktree).filter(|own| own.is_own && own.git_dir != own.common_dir);
        let locks = own.map(|own| locks_in(&own.git_dir)).unwrap_or_default();
        // After they were listed: what ends meanwhile removes its own, and the next git gets none while one is there.
        if locks.is_empty() || is_git_at_work_in(worktree) != Some(false) {
            continue;
        }
        let is_same = |(path, seen): &(Utf8PathBuf, LockIdentity)| lock_identity(path).as_ref() == Some(seen);
        for (path, _) in locks.into_iter().filter(is_same) {
            if nofollow::remove_file(&path).is_ok() {
                removed.push(path);
            }
        }
    }
    removed
}

/// The file behind the name of a lock: its number and when it was written.
type LockIdentity = (u64, SystemTime);

fn locks_in(git_dir: &Utf8Path) -> Vec<(Utf8PathBuf, LockIdentity)> {
    let entries = git_dir.read_dir_utf8().into_iter().flatten();
    let locks =
        entries.filter_map(|entry| Some(entry.ok()?.into_path())).filter(|path| path.extension() == Some("lock"));
    locks.filter_map(|path| Some((path.clone(), lock_identity(&path)?))).collect()
}

fn lock_identity(path: &Utf8Path) -> Option<LockIdentity> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.ino(), metadata.modified().ok()?))
}

/// Calls git again while another git is in its way.
fn retried(call: impl Fn() -> Result<String, GitRefusal>) -> Result<String, GitRefusal> {
    for pause in lock_pauses() {
        match call() {
            Err(refusal) if is_of_lock(&refusal.message) => thread::sleep(pause),
            done => return done,
        }
    }
    call()
}

/// Returns the pauses before git is called again.
fn lock_pauses() -> impl Iterator<Item = Duration> {
    (0..LOCK_TRIES).map(|count| LOCK_PAUSE * 2_u32.pow(count))
}

/// Tells whether git says that a lock is taken, before it changed anything, or that it met a worktree that another git is creating.
fn is_of_lock(message: &str) -> bool {
    [
        "index.lock",
        "cannot lock ref",
        "Unable to write index",
        "unable to write new index file",
        "could not lock",
        "commondir",
    ]
    .iter()
    .any(|part| message.contains(part))
}

/// Files that a refusal names.
const FILES: usize = 5;

fn call(folder: &Utf8Path, verb: &str, arguments: &[&str]) -> std::io::Result<Output> {
    let mut command = program("git");
    command.arg("-C").arg(folder).arg(verb).args(arguments);
    for name in REMOVED {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").env(MARK, folder).stdin(Stdio::null()).output()
}

fn git_once(folder: &Utf8Path, verb: &'static str, arguments: &[&str]) -> Result<String, GitRefusal> {
    let refusal = |message: &str| GitRefusal { verb, message: clean_line(&mask_secrets(message), 300) };
    let output = call(folder, verb, arguments).map_err(|error| refusal(&format!("it cannot be started: {error}")))?;
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        return Ok(said.into_owned());
    }
    let telling = |line: &&str| ["fatal:", "error:", "CONFLICT"].iter().any(|word| line.starts_with(word));
    let mut lines = why.lines().chain(said.lines()).map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(telling).or_else(|| lines.next()).unwrap_or("it gave no reason");
    // What follows names files, up to what git advises.
    let is_file = |line: &&str| !["Please", "Aborting", "error:", "fatal:"].iter().any(|word| line.starts_with(word));
    let files = || lines.clone().skip_while(|line| *line != first).skip(1).take_while(is_file).take(FILES);
    let named = if first.ends_with(':') { files().collect::<Vec<_>>().join(", ") } else { String::new() };
    Err(refusal(format!("{first} {named}").trim_end()))
}

#[cfg(test)]
#[path = "worktree_tests.rs"]
mod tests;
