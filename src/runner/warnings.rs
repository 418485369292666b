//! What a person may not expect of a run in a worktree.

use camino::Utf8Path;

use super::{error::RunError, files};
use crate::{
    dialect::piton::record::Header,
    model::{No, RelPath, Suggested, Verb, plural},
    ops::Exit,
    store::{self, worktree},
};

/// The most new files that are taken along.
const CARRIED_LIMIT: usize = 10_000;

/// Returns what a person may not expect of a new run: changes that its worktree does not have, work that is not merged.
pub(super) fn at_start(header: &Header) -> Vec<String> {
    let Some(branch) = header.worktree.as_ref().and(header.branch.as_ref()) else { return Vec::new() };
    let mut warnings = Vec::new();
    let changed = worktree::changed_tracked(&header.root).unwrap_or(0);
    // A workflow file is read from where it is.
    let is_work = |path: &&RelPath| path.under(&header.root) != header.workflow.file.under(&header.workflow.root);
    let new = worktree::new_files(&header.root).unwrap_or_default().iter().filter(is_work).count();
    if changed + new > 0 && header.carried.is_none() {
        let commit = short(header.base_commit.as_deref().unwrap_or("HEAD"));
        let both = [(changed, "uncommitted change"), (new, "new file")];
        let both = both.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| plural(count, what));
        let (changes, are) = (both.collect::<Vec<_>>().join(" and "), if changed + new == 1 { "is" } else { "are" });
        warnings.push(format!(
            "{changes} {are} not in the worktree: the steps see commit {commit} (`--carry-changes` takes them along)"
        ));
    }
    if header.base_branch.is_none() {
        warnings.push(format!("HEAD is detached: the work will be on {branch}, and is not merged at the end"));
    }
    warnings
}

/// Returns what the branch that a run began from has since, and its worktree does not.
pub(super) fn behind(header: &Header) -> Option<String> {
    let (base, branch) = (header.base_commit.as_deref()?, header.base_branch.as_deref()?);
    header.worktree.as_ref()?;
    let new = worktree::commits_ahead(&header.root, base, branch).filter(|new| *new > 0)?;
    let (commits, run) = (plural(new, "commit"), Suggested::of(Verb::Run, header.workflow.file.as_str()));
    let commit = short(base);
    Some(format!("It began at commit {commit}; {branch} has {commits} since, not in its worktree. From there: `{run}`"))
}

fn short(commit: &str) -> String {
    commit.chars().take(8).collect()
}

/// Returns a commit with the uncommitted changes of tracked files, HEAD where only new files are not committed; `None` without any. Nothing in
/// the project changes.
pub(super) fn carried(root: &Utf8Path, head: Option<&str>) -> Result<Option<String>, RunError> {
    let refused = |why: String| {
        let message = format!("the uncommitted changes cannot be taken along: {why}");
        RunError::new(Exit::No(No::Invalid), message, ["commit them, or leave `--carry-changes` out".into()])
    };
    let made = worktree::git(root, "stash", &["create"]).map_err(|refusal| refused(refusal.to_string()))?;
    let new = worktree::new_files(root).map_err(|refusal| refused(refusal.to_string()))?;
    if new.len() > CARRIED_LIMIT {
        return Err(refused(format!("there are more than {CARRIED_LIMIT} new files")));
    }
    new.iter().try_for_each(|path| files::below(root, path.as_str()).map(drop)).map_err(refused)?;
    let made = Some(made.trim().to_owned()).filter(|commit| !commit.is_empty());
    Ok(made.or_else(|| head.filter(|_| !new.is_empty()).map(str::to_owned)))
}

/// Warns when the worktree is on another branch than the one that is merged at the end. A step may have switched it.
pub(super) fn of_branch(header: &Header, folder: &Utf8Path) -> Option<String> {
    let branch = header.branch.as_ref()?;
    let found = store::git::head(folder)?.branch;
    (found.as_ref() != Some(branch)).then(|| {
        let found = found.unwrap_or_else(|| "a detached HEAD".to_owned());
        format!(
            "The worktree is on {found}, but {branch} will be merged when every step is done, without commits made elsewhere"
        )
    })
}
