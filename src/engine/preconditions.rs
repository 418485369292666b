//! Rules 2 and 12: checks outside the steps. Is the run driven by another process, is its workspace in order, was it aborted?
//!
//! Problems are reported, never fixed.

use std::collections::BTreeSet;

use super::{command, reconciled::ReconciledRun, reports::begun_by, rollback};
use crate::model::{
    Action, Attempt, DecisionKind, Evidence, EvidenceRecord, FileFact, Finding, FindingCode, Options, Owner, Presence,
    RelPath, Run, RunStatus, Severity, Statement, StatementKind, Step, StepId, StepKind, Suggested, Timestamp, Verb,
    Workspace, clean_line, plural, quoted,
};

/// Returns the problems with resuming a run that are not about its steps, rule 2 first.
pub(super) fn findings(run: &Run, evidence: &Evidence, options: &Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(owner(evidence));
    findings.extend(evidence.workspace.iter().flat_map(|found| workspace(run, found)));
    findings.extend(plan_document(run, evidence));
    findings.extend(rollback::commits_left(run, evidence));
    findings.extend(older_than_log(run, evidence));
    findings.extend(aborted(run, options));
    findings
}

/// Reports a state from before steps that Piton recorded as done, such as one that git put back. A state that goes further than the
/// record is not touched by this.
pub(super) fn older_than_log(run: &Run, evidence: &Evidence) -> Option<Finding> {
    let lost = lost_steps(run, evidence);
    let (first, stamp) = (lost.first()?, run.stamp?);
    let ids: Vec<&str> = lost.iter().map(|step| step.id.as_str()).collect();
    let message = format!(
        "the state is from {}, before {} {} done: another version of its file was put back, and that would be repeated",
        stamp.in_seconds(),
        ids.join(", "),
        if ids.len() == 1 { "was" } else { "were" }
    );
    Some(Finding::new(FindingCode::StateOlderThanLog, message).on(&first.id).fix(Suggested::of(Verb::History, &run.id)))
}

/// Returns the steps that were recorded as done after the state was written, which does not have them as done.
pub(crate) fn lost_steps<'a>(run: &'a Run, evidence: &Evidence) -> Vec<&'a Step> {
    let Some(stamp) = run.stamp else { return Vec::new() };
    let is_redone = |statement: &Statement, record: &EvidenceRecord| match &statement.kind {
        StatementKind::Decision(decision) => {
            decision.decision == DecisionKind::Redo
                && decision.at >= record.at
                && decision.step.as_ref() == Some(&record.step)
        }
        StatementKind::Begun(_) | StatementKind::Report(_) => false,
    };
    // A rollback reopened the step, or a person takes the older state.
    let reopened = |record: &EvidenceRecord| {
        evidence.rollbacks.iter().any(|back| back.at >= record.at && back.reopened.contains(&record.step))
            || evidence.statements.iter().any(|statement| is_redone(statement, record))
    };
    // Many formats keep whole seconds; then a record of the same second is not later.
    let is_whole = stamp.in_seconds() == stamp.to_string();
    let is_later = |at: Timestamp| if is_whole { at.seconds_since(stamp) > 0 } else { at > stamp };
    let of_run = evidence.records.iter().filter(|record| record.run == run.id.as_str());
    let later = of_run.filter(|record| is_later(record.at));
    let lost: BTreeSet<&StepId> = later.filter(|record| !reopened(record)).map(|record| &record.step).collect();
    run.steps.iter().filter(|step| lost.contains(&step.id) && !step.status.is_over()).collect()
}

/// Returns who began an attempt, of whom nothing more can be known.
pub(super) fn may_be_there(attempt: &Attempt) -> String {
    format!("{}, and whether it is still there cannot be known", begun_by(attempt))
}

/// Reports the steps that other drivers have in progress, which live or may live.
pub(super) fn driven_elsewhere(reconciled: &ReconciledRun<'_>) -> Vec<Finding> {
    let run = reconciled.run;
    let driven = (0..run.steps.len()).filter(|at| reconciled.is_driven_elsewhere(*at));
    let finding = |(attempt, presence): (&Attempt, Presence)| {
        if presence == Presence::Unknown {
            let message = format!("{} is in progress: {}", attempt.step, may_be_there(attempt));
            let answers = command::answers(&attempt.step, &run.id);
            return Finding::new(FindingCode::DriverUnknown, message).on(&attempt.step).fix(answers);
        }
        let message = format!("{} is in progress: {}", attempt.step, begun_by(attempt));
        let status = Suggested::of(Verb::Status, &run.id);
        let fix = match attempt.driver.as_ref().and_then(|driver| driver.session.as_ref()) {
            Some(session) => {
                let session = quoted(&clean_line(session, 80));
                format!("wait for it, or go on there: `claude --resume {session}`; `{status}` says when it has ended")
            }
            None => format!("wait for it; `{status}` says when it has ended"),
        };
        Finding::new(FindingCode::LiveOwner, message).on(&attempt.step).fix(fix)
    };
    driven.filter_map(|at| reconciled.attempt(at)).map(finding).collect()
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
            let when = since.map_or_else(String::new, |since| format!(", last seen at {}", since.in_seconds()));
            Some(Finding::new(FindingCode::OwnerGone, format!("{who} is gone{when}")))
        }
    }
}

fn workspace(run: &Run, found: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let place = run.workspace.place().unwrap_or("the project");
    if !found.exists {
        let message = format!("the worktree {place} does not exist");
        let finding = Finding::new(FindingCode::WorktreeMissing, message);
        findings.push(match add_worktree(run, found, place) {
            Some(add) => finding.fix(Suggested::Other(format!("git worktree prune && {add}"))),
            None => finding.fix(Suggested::Other("git worktree list".to_owned())),
        });
    } else if !found.is_git {
        findings.push(outside_of_git(run, found, place));
    } else if let Some(expected) = &run.workspace.branch
        && found.branch.as_ref() != Some(expected)
    {
        findings.push(match &run.workspace.wanted_worktree {
            Some(folder) => no_worktree(run, found, folder, expected),
            None => wrong_branch(run, found, place, expected),
        });
    }
    if let Some(dirty) = found.uncommitted.as_ref().map(Vec::len).filter(|dirty| *dirty > 0) {
        let message = format!("{place} has uncommitted changes in {}", plural(dirty, "file"));
        let merges = run.follow_up.as_ref().is_some_and(|after| after.action == Action::Merge);
        let mut finding = Finding::new(FindingCode::WorktreeDirty, message);
        if merges && run.steps.iter().all(|step| step.status.satisfies()) {
            // What is not committed is not merged.
            finding.severity = Severity::Warning;
            let status = format!("git -C {} status", quoted(run.workspace.place().unwrap_or(".")));
            finding = finding.fix(Suggested::Other(status));
        }
        findings.push(finding);
    }
    findings
}

/// Returns the finding for a folder from which git finds no repository.
fn outside_of_git(run: &Run, found: &Workspace, place: &str) -> Finding {
    let message = format!("{place} is not in a git repository: branch and commits were not checked");
    let finding = Finding::new(FindingCode::NotInGit, message);
    let Some(folder) = run.workspace.place().map(quoted) else { return finding };
    // The branch is looked for in the repository of the project, if that has one.
    let add = found.branch_exists.and_then(|_| add_worktree(run, found, place));
    let severity = if add.is_some() { Severity::Warning } else { finding.severity };
    let repair = format!("if it was moved: git worktree repair {folder}");
    let fix = add.iter().fold(repair, |repair, add| {
        let recreate = format!("mv {folder} {folder}.kept && git worktree prune && {add}");
        format!("{repair}; if git no longer knows it, recreate it, then copy its files back: {recreate}")
    });
    Finding { severity, ..finding.fix(fix) }
}

/// Returns the command that makes the worktree of a run, on its branch.
fn add_worktree(run: &Run, found: &Workspace, folder: &str) -> Option<Suggested> {
    // Git branch names cannot start with a dash; such a name would be parsed as an option.
    let branch = run.workspace.branch.as_ref().filter(|branch| !branch.starts_with('-'))?;
    let (folder, branch) = (quoted(folder), quoted(branch));
    if found.branch_exists == Some(true) {
        return Some(Suggested::Other(format!("git worktree add {folder} {branch}")));
    }
    let base = run.workspace.base_branch.as_ref().filter(|base| found.branch.as_ref() != Some(base));
    let base = base.filter(|base| !base.starts_with('-'));
    let base = base.map_or_else(String::new, |base| format!(" {}", quoted(base)));
    Some(Suggested::Other(format!("git worktree add {folder} -b {branch}{base}")))
}

/// Returns the finding for a run whose next steps belong into a worktree that is not made yet.
fn no_worktree(run: &Run, found: &Workspace, folder: &RelPath, branch: &str) -> Finding {
    let actual = found.branch.as_deref().unwrap_or("a detached HEAD");
    let message = format!(
        "the branch {branch} has no worktree, and {actual} is checked out here: make the worktree before the next step"
    );
    let finding = Finding::new(FindingCode::WorktreeMissing, message);
    match add_worktree(run, found, folder.as_str()) {
        Some(command) => finding.fix(command),
        None => finding.fix("correct the branch in the state"),
    }
}

/// Returns the commands for a branch that was renamed: one that takes that back, and one that records the new name. `None` if the
/// recorded branch exists.
pub(super) fn renamed(run: &Run, found: &Workspace) -> Option<(Suggested, Option<Suggested>)> {
    let (old, new) = (run.workspace.branch.as_ref()?, found.branch.as_ref()?);
    // The branch that the run began on was checked out, not renamed.
    let is_main = run.workspace.base_branch.as_ref() == Some(new) || ["main", "master"].contains(&new.as_str());
    if is_main {
        return None;
    }
    if found.branch_exists != Some(false) || old == new || old.starts_with('-') || new.starts_with('-') {
        return None;
    }
    let folder = quoted(run.workspace.place().unwrap_or("."));
    let rename = Suggested::Other(format!("git -C {folder} branch -m {} {}", quoted(new), quoted(old)));
    let record = Suggested::of(Verb::Restore, &run.id).option("branch", new);
    Some((rename, run.records.details.then_some(record)))
}

fn wrong_branch(run: &Run, found: &Workspace, place: &str, expected: &str) -> Finding {
    let actual = found.branch.as_deref().unwrap_or("a detached HEAD");
    let folder = quoted(run.workspace.place().unwrap_or("."));
    let missing = if found.branch_exists == Some(false) { ", which does not exist" } else { "" };
    let message = format!(
        "Worktree state doesn't match workflow state. Expected branch: {expected}{missing}. Actual branch: {actual} (in {place})"
    );
    let finding = Finding::new(FindingCode::BranchMismatch, message);
    if let Some((rename, record)) = renamed(run, found) {
        return finding.fix(match record {
            Some(record) => format!("if it was renamed: `{record}` records the new name, or `{rename}` takes it back"),
            None => format!("if it was renamed: `{rename}` takes it back"),
        });
    }
    // Git branch names cannot start with a dash; such a name would be parsed as an option.
    if expected.starts_with('-') {
        return finding.fix("correct the branch in the state");
    }
    let (branch, abort) = (quoted(expected), Suggested::of(Verb::Close, &run.id).flag("abort"));
    finding.fix(match (found.branch_exists, run.workspace.place()) {
        (Some(false), _) => {
            let (fetch, switch) = (format!("git -C {folder} fetch"), format!("git -C {folder} switch -c {branch}"));
            format!("`{fetch}`, if it is on a remote, else `{switch}`, or `{abort}`")
        }
        (_, Some(_)) => format!(
            "`git -C {folder} checkout {branch}`, or recreate the worktree, which loses uncommitted changes, or `{abort}`"
        ),
        (_, None) => format!("`git -C {folder} checkout {branch}`, or `{abort}`"),
    })
}

fn plan_document(run: &Run, evidence: &Evidence) -> Option<Finding> {
    let plan = run.workspace.plan_reference.as_ref()?;
    let path = RelPath::parse(plan).ok()?;
    let writer = run.steps.iter().find(|step| step.kind == StepKind::Work && step.proof.documents.contains(&path));
    if writer.is_some_and(|writer| !writer.status.satisfies()) {
        // It is still to be written.
        return None;
    }
    (evidence.files.get(&path) == Some(&FileFact::Missing)).then(|| {
        let finding = Finding::new(FindingCode::PlanMissing, format!("the plan document {plan} does not exist"));
        match writer {
            Some(writer) => {
                let elsewhere = Suggested::on_step(Verb::Finish, &writer.id, &run.id).option("output", "FILE");
                finding.fix(format!("restore it, or name the place where it is: `{elsewhere}`"))
            }
            None => finding.fix("restore it, or correct its path in the state"),
        }
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
            true => aborted.fix(Suggested::of(Verb::Resume, &run.id).flag("force")),
            false => aborted.fix("its format cannot take that back: start it again with its own command"),
        }
    })
}
