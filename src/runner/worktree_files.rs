//! Files of the project that git does not have, put into a new worktree before its first step.

use camino::Utf8Path;

use super::{
    console::{Console, Event},
    error::{ProblemKind, RunError},
    files,
    ledger::Ledger,
};
use crate::{
    dialect::piton::{facts::Act, record::Header},
    model::{RelPath, plural},
    store::{
        self, Project,
        worktree::{git, new_files},
    },
    workflow::WorktreeFiles,
};

/// Puts the files into a worktree, unless that was done. A kill before the record repeats it, so it replaces what it left.
pub(super) fn set_up(
    (header, folder, is_new): (&Header, &Utf8Path, bool),
    wanted: &WorktreeFiles,
    (project, ledger): (&Project, &mut Ledger),
    console: &dyn Console,
) -> Result<(), RunError> {
    let is_untouched = ledger.run().steps.iter().all(|step| step.attempts == 0);
    let is_due = is_new || (is_untouched && !ledger.state().run.is_set_up);
    let WorktreeFiles { copied, linked } = wanted;
    if header.worktree.is_none() || !is_due || (copied.is_empty() && linked.is_empty() && header.carried.is_none()) {
        return Ok(());
    }
    let root = &header.root;
    let refused = |why: String| {
        let message = format!("the worktree cannot be set up: {why}");
        let again = format!("once that is fixed: `{}`", header.goes_on());
        let hint = format!("correct `worktree` in {}", header.workflow.file);
        RunError::new(ProblemKind::No, message, [hint, again])
    };
    for path in copied.iter().chain(linked) {
        check(root, path).map_err(refused)?;
    }
    if let Some(carried) = &header.carried {
        carry(root, folder, carried, console).map_err(refused)?;
    }
    for path in copied {
        files::copy_into(root, folder, path).map_err(refused)?;
    }
    for path in linked {
        files::link_into(root, folder, path).map_err(refused)?;
        hide(project, folder, path);
    }
    ledger.runner_does(Act::WorktreeSetUp { copied: copied.clone(), linked: linked.clone() })?;
    let names = |paths: &[RelPath]| paths.iter().map(RelPath::as_str).collect::<Vec<_>>().join(", ");
    for (what, paths) in [("copied", copied), ("linked", linked)].into_iter().filter(|(_, paths)| !paths.is_empty()) {
        console.tell(&Event::Note { text: &format!("In the worktree, {what} from the project: {}", names(paths)) });
    }
    Ok(())
}

/// Puts uncommitted changes of the project into a worktree in which nothing was done yet. It starts at HEAD: a killed call may have left some of them.
fn carry(root: &Utf8Path, folder: &Utf8Path, commit: &str, console: &dyn Console) -> Result<(), String> {
    let git = |verb, arguments: &[&str]| git(folder, verb, arguments).map_err(|refusal| refusal.to_string());
    git("reset", &["--quiet", "--hard", "HEAD"])?;
    git("read-tree", &["-m", "-u", "HEAD", commit])?;
    git("reset", &["--quiet"])?;
    let new = new_files(root).map_err(|refusal| refusal.to_string())?;
    new.iter().try_for_each(|path| files::copy_into(root, folder, path))?;
    let files = git("diff", &["--name-only", "--no-renames", "HEAD", commit, "--"])?.lines().count() + new.len();
    let text = format!("In the worktree, as uncommitted changes of the project: {}", plural(files, "file"));
    console.tell(&Event::Note { text: &text });
    Ok(())
}

/// Checks the files that a new worktree gets, before it is made.
pub(super) fn check_wanted(header: &Header, wanted: &WorktreeFiles) -> Result<(), RunError> {
    let mut all = wanted.copied.iter().chain(&wanted.linked).filter(|_| header.worktree.is_some());
    all.try_for_each(|path| check(&header.root, path)).map_err(|why| {
        let hint = format!("correct `worktree` in {}", header.workflow.file);
        RunError::new(ProblemKind::No, format!("the worktree cannot be set up: {why}"), [hint])
    })
}

/// Checks that git ignores a path: what it has is in the worktree, and what it would show could be committed by a step.
fn check(root: &Utf8Path, path: &RelPath) -> Result<(), String> {
    let list = |arguments: &[&str]| {
        let arguments = [arguments, &["--", path.as_str()]].concat();
        git(root, "ls-files", &arguments).map_err(|refusal| refusal.to_string())
    };
    if !list(&[])?.is_empty() {
        return Err(format!("{path} is in git, so a worktree has it already"));
    }
    if list(&["--others", "--ignored", "--exclude-standard", "--directory"])?.is_empty() {
        return Err(format!("{path} does not exist in {root}, or git does not ignore it, so a step could commit it"));
    }
    Ok(())
}

/// Has git ignore a link where the pattern is for a folder (`node_modules/`), which a link is not.
fn hide(project: &Project, folder: &Utf8Path, path: &RelPath) {
    let shown = git(folder, "ls-files", &["--others", "--exclude-standard", "--", path.as_str()]);
    let pattern = store::git::pattern_of(Utf8Path::new(path.as_str()));
    if let (Ok(shown), Some(repository), Some(pattern)) = (shown, &project.git, pattern)
        && !shown.is_empty()
    {
        // Where it cannot be written, git shows the link; nothing depends on that.
        let _ = store::git::info_exclude(repository, &[pattern.trim_end_matches('/')]);
    }
}
