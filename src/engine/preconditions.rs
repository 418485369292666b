//! Rules 2 and 12: checks outside the steps. Is the run driven by another process, is its workspace in order, was it aborted?
//!
//! Problems are reported, never fixed.

use super::command;
use super::reconciled::ReconciledRun;
use super::reports::begun_by;
use crate::model::Attempt;
use crate::model::Evidence;
use crate::model::FileFact;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Options;
use crate::model::Owner;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::RunStatus;
use crate::model::Severity;
use crate::model::Workspace;
use crate::model::clean_line;
use crate::model::plural;
use crate::model::quoted;

/// Returns the problems with resuming a run that are not about its steps, rule 2 first.
pub(super) fn findings(run: &Run, evidence: &Evidence, options: &Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(owner(evidence));
    findings.extend(evidence.workspace.iter().flat_map(|found| workspace(run, found)));
    findings.extend(plan_document(run, evidence));
    findings.extend(aborted(run, options));
    findings
}

/// Reports the steps that other living drivers have in progress.
pub(super) fn driven_elsewhere(reconciled: &ReconciledRun<'_>) -> Vec<Finding> {
    let run = reconciled.run;
    let driven = (0..run.steps.len()).filter(|at| reconciled.is_driven_elsewhere(*at));
    let finding = |attempt: &Attempt| {
        let message = format!("{} is in progress: {}", attempt.step, begun_by(attempt));
        let status = command::on_run("status", &run.id, "");
        let fix = match &attempt.driver.session {
            Some(session) => {
                let session = quoted(&clean_line(session, 80));
                format!("wait for it, or go on there: `claude --resume {session}`; `{status}` says when it has ended")
            }
            None => format!("wait for it; `{status}` says when it has ended"),
        };
        Finding::new(FindingCode::LiveOwner, message).on(&attempt.step).fix(fix)
    };
    driven.filter_map(|at| reconciled.attempt(at)).map(|(attempt, _)| finding(attempt)).collect()
}

/// Returns the blocking problem with the working folder, if any: a missing worktree or the wrong branch.
pub(super) fn workspace_problem(run: &Run, evidence: &Evidence) -> Option<Finding> {
    let findings = evidence.workspace.iter().flat_map(|found| workspace(run, found));
    findings.into_iter().find(|finding| finding.severity == Severity::Blocking)
}

fn owner(evidence: &Evidence) -> Option<Finding> {
    match &evidence.owner {
        Owner::None | Owner::Ours => None,
        Owner::Live { description } => Some(
            Finding::new(FindingCode::LiveOwner, format!("another process is driving this run: {description}"))
                .fix("wait for it, end it, or go on there (a session of Claude Code: `claude --resume SESSION`); then ask again"),
        ),
        Owner::Dead { since, session } => {
            let who =
                session.as_ref().map_or_else(|| "the process that drove it".to_owned(), |id| format!("session {id}"));
            let when = since.map_or_else(String::new, |since| format!(", last seen at {since}"));
            Some(Finding::new(FindingCode::OwnerGone, format!("{who} is gone{when}")))
        }
    }
}

fn workspace(run: &Run, found: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let place = run.workspace.worktree.as_ref().map_or("the project", RelPath::as_str);
    if !found.exists {
        let message = format!("the worktree {place} does not exist");
        findings.push(Finding::new(FindingCode::WorktreeMissing, message).fix("git worktree list"));
    } else if !found.is_git {
        let message = format!("{place} is not in a git repository: branch and commits were not checked");
        let finding = Finding::new(FindingCode::NotInGit, message);
        findings.push(run.workspace.worktree.iter().fold(finding, |finding, folder| {
            finding.fix(format!("if it was moved: git worktree repair {}", quoted(folder.as_str())))
        }));
    } else if let Some(expected) = &run.workspace.branch
        && found.branch.as_ref() != Some(expected)
    {
        findings.push(wrong_branch(run, found, place, expected));
    }
    if let Some(dirty) = found.dirty.filter(|dirty| *dirty > 0) {
        let message = format!("{place} has uncommitted changes in {}", plural(dirty, "file"));
        findings.push(Finding::new(FindingCode::WorktreeDirty, message));
    }
    findings
}

fn wrong_branch(run: &Run, found: &Workspace, place: &str, expected: &str) -> Finding {
    let actual = found.branch.as_deref().unwrap_or("a detached HEAD");
    let folder = quoted(run.workspace.worktree.as_ref().map_or(".", RelPath::as_str));
    let missing = if found.branch_exists == Some(false) { ", which does not exist" } else { "" };
    let message = format!(
        "Worktree state doesn't match workflow state. Expected branch: {expected}{missing}. Actual branch: {actual} (in {place})"
    );
    let finding = Finding::new(FindingCode::BranchMismatch, message);
    // Git branch names cannot start with a dash; such a name would be parsed as an option.
    match expected.starts_with('-') {
        true => finding.fix("correct the branch in the state"),
        false => finding.fix(format!(
            "git -C {folder} checkout {}; or recreate the worktree, which loses uncommitted changes; or `{}`",
            quoted(expected),
            command::on_run("abort", &run.id, "")
        )),
    }
}

fn plan_document(run: &Run, evidence: &Evidence) -> Option<Finding> {
    let plan = run.workspace.plan_reference.as_ref()?;
    let path = RelPath::parse(plan).ok()?;
    (evidence.files.get(&path) == Some(&FileFact::Missing)).then(|| {
        Finding::new(FindingCode::PlanMissing, format!("the plan document {plan} does not exist"))
            .fix("restore it, or correct plan_reference in the state")
    })
}

fn aborted(run: &Run, options: &Options) -> Option<Finding> {
    if run.status != RunStatus::Aborted {
        return None;
    }
    Some(if options.force {
        Finding::new(FindingCode::OverrideForced, "the run was aborted; forced by the caller")
    } else {
        let aborted =
            Finding::new(FindingCode::RunAborted, "the run was aborted; it continues only on explicit request");
        match run.records.resume {
            true => aborted.fix(command::on_run("resume", &run.id, " --force")),
            false => aborted.fix("its format cannot take that back: start it again with its own command"),
        }
    })
}
