//! Files of the project that git does not have, put into a new worktree before its first step.

use camino::Utf8Path;

use super::{
    console::{Console, Event},
    error::RunError,
    files,
    ledger::Ledger,
};
use crate::{
    dialect::piton::{facts::Act, record::Header},
    model::{No, RelPath, plural},
    ops::Exit,
    store::{
        self,
        worktree::{git, new_files},
    },
    workflow::WorktreeFiles,
};

/// Puts the files into a worktree, unless that was done. A kill before the record repeats it, so it replaces what it left.
pub(super) fn set_up(
    (header, folder, is_new): (&Header, &Utf8Path, bool),
    wanted: &WorktreeFiles,
    ledger: &mut Ledger,
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
        RunError::new(Exit::No(No::Invalid), message, [hint.into(), again.into()])
    };
    check_all(root, wanted).map_err(refused)?;
    if let Some(carried) = &header.carried {
        carry(root, folder, carried, console).map_err(refused)?;
    }
    for path in copied {
        files::copy_into(root, folder, path).map_err(refused)?;
    }
    for path in linked {
        files::link_into(root, folder, path).map_err(refused)?;
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
    if header.worktree.is_none() {
        return Ok(());
    }
    check_all(&header.root, wanted).map_err(|why| {
        let hint = format!("correct `worktree` in {}", header.workflow.file);
        RunError::new(Exit::No(No::Invalid), format!("the worktree cannot be set up: {why}"), [hint.into()])
    })
}

fn check_all(root: &Utf8Path, WorktreeFiles { copied, linked }: &WorktreeFiles) -> Result<(), String> {
    copied.iter().chain(linked).try_for_each(|path| check(root, path))?;
    linked.iter().try_for_each(|path| check_link(root, path))
}

/// Checks that git ignores a link of this name: a pattern for a folder (`node_modules/`) is not for a link to one.
fn check_link(root: &Utf8Path, path: &RelPath) -> Result<(), String> {
    match store::git::is_ignored_as_folder(root, path) {
        true => Err(format!(
            "git ignores {path} only as a folder, so a step could commit the link; write its pattern without the `/` at the end"
        )),
        false => Ok(()),
    }
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
