//! What happens to a worktree when every step is done. Nothing is merged or removed without agreement, and uncommitted files are
//! never removed.

use std::time::Duration;

use camino::Utf8Path;
use camino::Utf8PathBuf;
use serde_json::Value;

use super::console::Event;
use super::console::says_yes;
use super::context::RunContext;
use super::error::ProblemKind;
use super::error::RunError;
use super::exec::Stop;
use super::report::RunEnd;
use super::report::WorktreeOutcome;
use super::step_executor::StepExecutor;
use super::step_executor::StepOutcome;
use crate::dialect::script::facts::Facts;
use crate::engine::quoted;
use crate::model::ChangeKind;
use crate::model::RelPath;
use crate::store;
use crate::store::RunLock;
use crate::store::StoreError;
use crate::store::worktree;
use crate::store::worktree::MergeOutcome;
use crate::workflow::Merge;

/// A worktree at the end of its run.
struct FinishedWorktree<'a> {
    folder: &'a Utf8Path,
    branch: &'a str,
    base: &'a str,
    /// Where the base branch is checked out.
    target: Utf8PathBuf,
    ahead: usize,
    dirty: usize,
}

/// Ends a run whose steps are all done.
pub(super) fn finish(executor: &mut StepExecutor<'_>, yes: bool) -> Result<RunEnd, RunError> {
    let context = executor.context;
    let left = match finished_worktree(context)? {
        None => match (&context.header.worktree, &context.header.branch) {
            (Some(folder), Some(branch)) => {
                let merge = format!("git merge {}", quoted(branch));
                let text =
                    format!("Not merged: HEAD was detached; the work is on {branch} in {folder}. To merge it: {merge}");
                context.console.tell(&Event::Warning { text: &text });
                WorktreeOutcome::Kept
            }
            (_, _) => WorktreeOutcome::InPlace,
        },
        Some(finished) => {
            let agreed = yes || asks_to_merge(executor, &finished);
            if agreed {
                let lock = match merge_lock(executor)? {
                    Ok(lock) => lock,
                    Err(stop) => return context.interrupted(stop),
                };
                // While it was waited for, the others have moved the base branch.
                let finished = finished_worktree(context)?.unwrap_or(finished);
                let merged = merge_worktree(executor, &finished)?;
                drop(lock);
                match merged {
                    Ok(left) => left,
                    Err(end) => return Ok(end),
                }
            } else {
                report_kept(context, &finished);
                WorktreeOutcome::Kept
            }
        }
    };
    let worktree = (left != WorktreeOutcome::InPlace).then(|| left.as_str().to_owned());
    let mut ledger = context.ledger();
    ledger.record(ChangeKind::Complete { note: None }, Facts { worktree, ..Facts::default() }, false)?;
    ledger.snapshot()?;
    Ok(RunEnd::Completed(left))
}

/// How long one wait for the lock of the merges lasts before signals are looked at.
const MERGE_WAIT: Duration = Duration::from_millis(250);

/// Waits until no other session of the repository merges or cleans up.
fn merge_lock(executor: &StepExecutor<'_>) -> Result<Result<RunLock, Stop>, RunError> {
    let context = executor.context;
    // The folder of the session is `sessions/ID` in the home of the repository.
    let home = context.session.parent().and_then(Utf8Path::parent).unwrap_or(&context.session);
    let data_dir = RelPath::parse("merge").expect("a constant name");
    let mut is_told = false;
    loop {
        match RunLock::acquire(home, &data_dir, MERGE_WAIT) {
            Err(StoreError::LockTimeout { holder, .. }) => {
                if let Some(stop) = executor.signals.stop() {
                    return Ok(Err(stop));
                }
                if !is_told {
                    let holder = holder.unwrap_or_else(|| "another session".to_owned());
                    let text = format!("Waiting for {holder}, which merges into the same repository");
                    context.console.tell(&Event::Note { text: &text });
                    is_told = true;
                }
            }
            acquired => return Ok(Ok(acquired?)),
        }
    }
}

fn finished_worktree<'a>(context: &'a RunContext<'_>) -> Result<Option<FinishedWorktree<'a>>, RunError> {
    let header = &context.header;
    let (Some(folder), Some(branch), Some(base)) = (&header.worktree, &header.branch, &header.base_branch) else {
        return Ok(None);
    };
    let project = store::Project::open(&header.root, &store::Environment::default())?;
    let target = worktree::checked_out(&project, base).map_or_else(|| header.root.clone(), Utf8Path::to_owned);
    let ahead = worktree::commits_ahead(&header.root, base, branch).unwrap_or(1);
    // When git cannot tell, assume uncommitted files.
    let dirty = worktree::dirty(folder).unwrap_or(1);
    Ok(Some(FinishedWorktree { folder, branch, base, target, ahead, dirty }))
}

/// Asks whether to merge. Only an explicit yes counts.
fn asks_to_merge(executor: &StepExecutor<'_>, finished: &FinishedWorktree<'_>) -> bool {
    let FinishedWorktree { branch, base, ahead, dirty, .. } = finished;
    let question = match (ahead, dirty) {
        (0, 0) => format!("{branch} has nothing to merge. Remove the worktree? [y/N]"),
        (0, _) => return false,
        (_, 0) => format!("Merge {branch} into {base} and remove the worktree? [y/N]"),
        (_, _) => format!("Merge {branch} into {base}? Uncommitted files stay in the worktree. [y/N]"),
    };
    says_yes(executor.context.console.ask(&question, Some(&executor.signals)))
}

/// Reports that the worktree is kept, and how to merge it by hand.
fn report_kept(context: &RunContext<'_>, finished: &FinishedWorktree<'_>) {
    let FinishedWorktree { folder, branch, base, target, ahead, dirty } = finished;
    let merge = format!("git -C {} merge {}", quoted(target.as_str()), quoted(branch));
    let text = match (ahead, dirty) {
        (0, 0) => format!("The worktree is kept: {folder}; there is nothing in it to merge"),
        (0, _) => format!("The worktree is kept: {folder}; {dirty} of its files are not committed"),
        (_, _) => format!("The worktree is kept: {folder}. To merge it into {base}: {merge}"),
    };
    context.console.tell(&Event::Note { text: &text });
}

/// Merges, then removes what is merged and clean.
fn merge_worktree(
    executor: &mut StepExecutor<'_>,
    finished: &FinishedWorktree<'_>,
) -> Result<Result<WorktreeOutcome, RunEnd>, RunError> {
    let context = executor.context;
    if let Some(merge) = &context.workflow.merge {
        if let Some(end) = run_merge_steps(executor, merge, finished)? {
            return Ok(Err(end));
        }
    } else if finished.ahead > 0 {
        git_merge(context, finished)?;
    }
    if worktree::commits_ahead(&context.header.root, finished.base, finished.branch) != Some(0) {
        report_kept(context, &FinishedWorktree { ahead: 1, target: finished.target.clone(), ..*finished });
        return Ok(Ok(WorktreeOutcome::Kept));
    }
    let merged = if finished.ahead > 0 { WorktreeOutcome::Merged } else { WorktreeOutcome::Kept };
    if worktree::dirty(finished.folder) != Some(0) {
        let text = format!("The worktree is kept, since files in it are not committed: {}", finished.folder);
        context.console.tell(&Event::Note { text: &text });
        return Ok(Ok(merged));
    }
    match worktree::remove(&finished.target, finished.folder, finished.branch) {
        Ok(()) => Ok(Ok(WorktreeOutcome::Removed)),
        Err(refusal) => {
            let text = format!("The worktree is kept: {}: {refusal}", finished.folder);
            context.console.tell(&Event::Warning { text: &text });
            Ok(Ok(merged))
        }
    }
}

fn git_merge(context: &RunContext<'_>, finished: &FinishedWorktree<'_>) -> Result<(), RunError> {
    let (session, target) = (&context.header.session, quoted(finished.target.as_str()));
    let retry = format!("once that is fixed, this asks again: `piton resume {session}`");
    let checked_out = store::git::head(&finished.target).and_then(|head| head.branch);
    if checked_out.as_deref() != Some(finished.base) {
        let found = checked_out.unwrap_or_else(|| "a detached HEAD".to_owned());
        let message = format!(
            "every step is done, and nothing was merged: {} is not checked out anywhere ({} is on {found}); the worktree is kept",
            finished.base, finished.target
        );
        return Err(RunError::new(
            ProblemKind::No,
            message,
            [format!("git -C {target} checkout {}", finished.base), retry],
        ));
    }
    match worktree::merge(&finished.target, finished.branch) {
        MergeOutcome::Yes => Ok(()),
        MergeOutcome::No { refusal, conflicts } => {
            let message = format!(
                "every step is done, and {} could not be merged into {}: {}; the merge was undone and the worktree is kept",
                finished.branch, finished.base, refusal.message
            );
            let by_hand = format!("git -C {target} merge {}", quoted(finished.branch));
            let by_hand = match conflicts.is_empty() {
                true => by_hand,
                false => format!("{by_hand}, and resolve the conflicts in {}", conflicts.join(", ")),
            };
            Err(RunError::new(ProblemKind::No, message, [by_hand, retry]))
        }
    }
}

/// Runs the `merge` steps of the workflow.
fn run_merge_steps(
    executor: &mut StepExecutor<'_>,
    merge: &Merge,
    finished: &FinishedWorktree<'_>,
) -> Result<Option<RunEnd>, RunError> {
    let context = executor.context;
    for (name, value) in [
        ("merge.worktree", finished.folder.as_str()),
        ("merge.source_branch", finished.branch),
        ("merge.target_branch", finished.base),
        ("merge.session_id", &context.header.session),
    ] {
        executor.locals.insert(name.to_owned(), Value::from(value));
    }
    executor.workflow_step = None;
    executor.outputs.clear();
    executor.deadline = merge.timeout.and_then(super::exec::moment_in);
    let done = executor.run_all(&merge.steps)?;
    executor.deadline = None;
    match done {
        StepOutcome::Completed(_) | StepOutcome::Skipped(_) => Ok(None),
        StepOutcome::Stopped(stop) => context.interrupted(stop).map(Some),
        StepOutcome::Failed(failure) => {
            let message = format!("every step is done, and the `merge` of the workflow failed: {}", failure.message);
            let hint = format!("to try it again: `piton resume {}`", context.header.session);
            Err(RunError::new(ProblemKind::No, format!("{message}; the worktree is kept"), [hint]))
        }
    }
}
