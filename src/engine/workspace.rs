//! Rule 12: repository, worktree, branch and plan document against what the run recorded. A mismatch is named, never acted on.

use super::plan::quoted;
use crate::model::Evidence;
use crate::model::FileFact;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::Run;

/// Returns what is not as the run recorded it.
pub(super) fn workspace(run: &Run, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(found) = &evidence.workspace {
        let place = run.workspace.worktree.as_ref().map_or("the project", |worktree| worktree.as_str());
        if !found.exists {
            let message = format!("the worktree {place} is not there");
            findings.push(Finding::new(FindingCode::WorktreeMissing, message).fix("git worktree list"));
        } else if !found.is_git {
            let message = format!("{place} is not in a git repository: branch and commits were not checked");
            findings.push(Finding::new(FindingCode::NotInGit, message));
        } else if let Some(expected) = &run.workspace.branch
            && found.branch.as_ref() != Some(expected)
        {
            let actual = found.branch.as_deref().unwrap_or("a detached HEAD");
            let missing = if found.branch_exists == Some(false) { ", which does not exist" } else { "" };
            let message = format!(
                "Worktree state doesn't match workflow state. Expected branch: {expected}{missing}. Actual branch: {actual} (in {place})"
            );
            let fix = format!(
                "git -C {} checkout {}; or recreate the worktree, which loses what is uncommitted; or `piton abort {}`",
                quoted(place_or_dot(run)),
                quoted(expected),
                quoted(run.id.as_str())
            );
            findings.push(Finding::new(FindingCode::BranchMismatch, message).fix(fix));
        }
        if let Some(dirty) = found.dirty.filter(|dirty| *dirty > 0) {
            let files = if dirty == 1 { "1 file".to_owned() } else { format!("{dirty} files") };
            let message = format!("{place} has uncommitted changes in {files}");
            findings.push(Finding::new(FindingCode::WorktreeDirty, message));
        }
    }
    if let Some(plan) = &run.workspace.plan_reference
        && let Ok(path) = RelPath::parse(plan)
        && evidence.files.get(&path) == Some(&FileFact::Missing)
    {
        let message = format!("the plan document {plan} is not there");
        findings.push(
            Finding::new(FindingCode::PlanMissing, message)
                .fix("bring it back, or correct plan_reference in the state"),
        );
    }
    findings
}

fn place_or_dot(run: &Run) -> &str {
    run.workspace.worktree.as_ref().map_or(".", |worktree| worktree.as_str())
}
