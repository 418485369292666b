//! What a person may not expect of a run in a worktree.

use camino::Utf8Path;

use super::error::ProblemKind;
use super::error::RunError;
use crate::dialect::piton::record::Header;
use crate::model::plural;
use crate::store;
use crate::store::worktree;

/// Returns what a person may not expect of a new run: changes that its worktree does not have, work that is not merged.
pub(super) fn at_start(header: &Header) -> Vec<String> {
    let Some(branch) = header.worktree.as_ref().and(header.branch.as_ref()) else { return Vec::new() };
    let mut warnings = Vec::new();
    let changed = worktree::changed_tracked(&header.root).unwrap_or(0);
    if changed > 0 && header.carried.is_none() {
        let commit = header.base_commit.as_deref().unwrap_or("HEAD");
        let commit: String = commit.chars().take(8).collect();
        let (changes, are) = (plural(changed, "uncommitted change"), if changed == 1 { "is" } else { "are" });
        warnings.push(format!(
            "{changes} {are} not in the worktree: the steps see commit {commit} (`--carry-changes` takes them along)"
        ));
    }
    if header.base_branch.is_none() {
        warnings.push(format!("HEAD is detached: the work will be on {branch}, and is not merged at the end"));
    }
    warnings
}

/// Returns a commit with the uncommitted changes of tracked files; `None` without any. Nothing in the project changes.
pub(super) fn carried(root: &Utf8Path) -> Result<Option<String>, RunError> {
    let made = worktree::git(root, "stash", &["create"]).map_err(|refusal| {
        let message = format!("the uncommitted changes cannot be taken along: {refusal}");
        RunError::new(ProblemKind::No, message, ["commit them, or leave `--carry-changes` out".to_owned()])
    })?;
    Ok(Some(made.trim().to_owned()).filter(|commit| !commit.is_empty()))
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
