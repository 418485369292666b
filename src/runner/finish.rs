//! What happens to a worktree when every step is done. Nothing is merged or removed without agreement, and uncommitted files are
//! never removed.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{
    console::{Event, says_yes},
    context::RunContext,
    error::RunError,
    exec::Stop,
    report::{NotMerged, RunEnd, WorkEnd, WorktreeOutcome},
    step_executor::{StepExecutor, StepOutcome},
};
use crate::{
    dialect::piton::{self, facts::Facts},
    engine::quoted,
    model::{ChangeKind, No, RunFolder, Suggested, Verb, clean_line, plural},
    ops::Exit,
    store::{
        self, RunLock, StoreError,
        worktree::{self, GitRefusal, MergeOutcome},
    },
    workflow::{Merge, Step},
};

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

/// The form in which the work of a session goes into the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeStyle {
    /// As its workflow says, else `git merge`.
    Merge,
    /// One commit on the base branch.
    Squash,
    /// A branch of this name, for a pull request; nothing is merged.
    Branch(String),
}

impl MergeStyle {
    /// Returns a command to merge that asks for it.
    pub(crate) fn asked(&self, merge: Suggested) -> Suggested {
        match self {
            Self::Merge => merge,
            Self::Squash => merge.flag("squash"),
            Self::Branch(name) => merge.option("branch", name),
        }
    }
}

/// Ends a run whose steps are all done.
pub(super) fn finish(executor: &mut StepExecutor<'_>, yes: bool) -> Result<RunEnd, RunError> {
    let context = executor.context;
    let left = match end_worktree(executor, yes, &MergeStyle::Merge)? {
        Ok(left) => left,
        Err(end) => return Ok(end),
    };
    let worktree = (left.worktree != WorktreeOutcome::InPlace).then(|| left.worktree.as_str().to_owned());
    let mut ledger = context.ledger();
    ledger.record(ChangeKind::Complete { note: None }, Facts { worktree, ..Facts::default() }, false)?;
    ledger.snapshot()?;
    Ok(RunEnd::Completed(left))
}

/// Merges or keeps the worktree of a run whose steps are all done; returns what became of it, or how the run ended meanwhile.
pub(super) fn end_worktree(
    executor: &mut StepExecutor<'_>,
    yes: bool,
    style: &MergeStyle,
) -> Result<Result<WorkEnd, RunEnd>, RunError> {
    let context = executor.context;
    let Some(finished) = finished_worktree(context, style)? else { return Ok(Ok(without_base(context))) };
    if is_gone(context, &finished) {
        return Ok(Ok(WorktreeOutcome::Removed.into()));
    }
    if let Some(strayed) = strayed(context, &finished) {
        return Ok(Ok(strayed.into()));
    }
    // A merge that was cut off was agreed to.
    let is_begun = *style == MergeStyle::Merge && context.ledger().state().run.merge.is_some();
    if !(yes || is_begun || asks_to_merge(executor, &finished, style)) {
        return Ok(Ok(kept(context, &finished, "it was not confirmed")));
    }
    let lock = match merge_lock(executor)? {
        Ok(lock) => lock,
        Err(stop) => return context.interrupted(stop).map(Err),
    };
    // While it was waited for, the others have moved the base branch.
    let finished = finished_worktree(context, style)?.unwrap_or(finished);
    let merged = match style {
        MergeStyle::Merge => merge_worktree(executor, &finished)?,
        MergeStyle::Squash => Ok(squash_worktree(context, &finished)?.into()),
        MergeStyle::Branch(name) => Ok(branch_worktree(context, &finished, name)?.into()),
    };
    drop(lock);
    Ok(merged)
}

/// Reports the end of a run that has no branch to merge into.
fn without_base(context: &RunContext<'_>) -> WorkEnd {
    let (Some(_), Some(branch)) = (&context.header.worktree, &context.header.branch) else {
        return WorktreeOutcome::InPlace.into();
    };
    let command = Suggested::of(Verb::Merge, &context.header.session).option("branch", "NAME");
    let text = format!("Not merged: HEAD was detached; the work is on {branch}. To put it on a branch: {command}");
    context.console.tell(&Event::Warning { text: &text });
    NotMerged { why: "HEAD was detached when the run began".to_owned(), command }.into()
}

/// Tells whether neither the worktree nor its branch is there any more: a kill came between their removal and its record.
fn is_gone(context: &RunContext<'_>, finished: &FinishedWorktree<'_>) -> bool {
    !store::is_folder(finished.folder)
        && store::git::branch_exists(&context.header.root, finished.branch) == Some(false)
}

/// Reports commits that the worktree has on another branch than the one that is merged: they would be left out.
fn strayed(context: &RunContext<'_>, finished: &FinishedWorktree<'_>) -> Option<NotMerged> {
    let (folder, branch) = (finished.folder, finished.branch);
    let head = store::git::head(folder).filter(|head| head.branch.as_deref() != Some(branch))?;
    let tip = head.branch.clone().or(head.sha)?;
    let commits = worktree::commits_ahead(&context.header.root, branch, &tip).unwrap_or(1);
    if commits == 0 {
        return None;
    }
    let found = head.branch.unwrap_or_else(|| "a detached HEAD".to_owned());
    let (git, ours) = (format!("git -C {}", quoted(folder.as_str())), quoted(branch));
    let why = format!("the worktree is on {found}, with {} that {branch} does not have", plural(commits, "commit"));
    let (taken, merge) = (
        format!("{git} switch {ours} && {git} merge {}", quoted(&tip)),
        Suggested::of(Verb::Merge, &context.header.session),
    );
    let text = format!("Not merged: {why}. To take them along: {taken}, then `{merge}`");
    context.console.tell(&Event::Warning { text: &text });
    Some(NotMerged { why, command: Suggested::Other(format!("{taken} && {merge}")) })
}

/// How long one wait for the lock of the merges lasts before signals are looked at.
const MERGE_WAIT: Duration = Duration::from_millis(250);

/// Waits until no other session of the repository merges or cleans up.
fn merge_lock(executor: &StepExecutor<'_>) -> Result<Result<RunLock, Stop>, RunError> {
    let context = executor.context;
    let home = context.home();
    let own = RunFolder { home: home.to_owned(), path: piton::merges() };
    let mut is_told = false;
    loop {
        match RunLock::acquire(home, &own, MERGE_WAIT) {
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

/// Returns the worktree of the run; `None` without one, and without a branch to merge into where the style needs that.
fn finished_worktree<'a>(
    context: &'a RunContext<'_>,
    style: &MergeStyle,
) -> Result<Option<FinishedWorktree<'a>>, RunError> {
    let header = &context.header;
    let base = match style {
        MergeStyle::Merge | MergeStyle::Squash => header.base_branch.as_ref(),
        MergeStyle::Branch(_) => header.base_branch.as_ref().or(header.base_commit.as_ref()),
    };
    let (Some(folder), Some(branch), Some(base)) = (&header.worktree, &header.branch, base) else {
        return Ok(None);
    };
    let project = store::Project::open(&header.root, &store::Environment::default())?;
    let target = worktree::checked_out(&project, base).map_or_else(|| header.root.clone(), Utf8Path::to_owned);
    let ahead = worktree::commits_ahead(&header.root, base, branch).unwrap_or(1);
    // When git cannot tell, assume uncommitted files; a folder that is gone has none.
    let dirty = if store::is_folder(folder) { worktree::dirty(folder).unwrap_or(1) } else { 0 };
    Ok(Some(FinishedWorktree { folder, branch, base, target, ahead, dirty }))
}

/// Asks whether to merge. Only an explicit yes counts.
fn asks_to_merge(executor: &StepExecutor<'_>, finished: &FinishedWorktree<'_>, style: &MergeStyle) -> bool {
    let FinishedWorktree { branch, base, ahead, dirty, .. } = finished;
    let what = match style {
        MergeStyle::Merge => format!("Merge {branch} into {base}"),
        MergeStyle::Squash => format!("Put the work of {branch} on {base} as one commit"),
        MergeStyle::Branch(name) => format!("Name the work of {branch} {name}"),
    };
    let question = match (ahead, dirty) {
        (0, 0) => format!("{branch} has nothing to merge. Remove the worktree? [y/N]"),
        (0, _) => return false,
        (_, 0) => format!("{what} and remove the worktree? [y/N]"),
        (_, _) => format!("{what}? Uncommitted files stay in the worktree. [y/N]"),
    };
    says_yes(executor.context.console.ask(&question, Some(&executor.signals)))
}

/// Reports that the worktree is kept, and how to merge it.
fn kept(context: &RunContext<'_>, finished: &FinishedWorktree<'_>, why: &str) -> WorkEnd {
    let FinishedWorktree { folder, branch, base, target, ahead, dirty } = finished;
    let merge = format!("git -C {} merge {}", quoted(target.as_str()), quoted(branch));
    let command = Suggested::of(Verb::Merge, &context.header.session);
    let (text, not_merged) = match (ahead, dirty) {
        (0, 0) => ("The worktree is kept; there is nothing in it to merge".to_owned(), None),
        (0, _) => {
            (format!("The worktree is kept; {} are not committed", plural(*dirty, "file")), Some(uncommitted(folder)))
        }
        (_, _) => (
            format!("The worktree is kept; `{command}` merges it later. To merge it into {base}: {merge}"),
            Some(NotMerged { why: why.to_owned(), command }),
        ),
    };
    context.console.tell(&Event::Note { text: &text });
    WorkEnd { worktree: WorktreeOutcome::Kept, not_merged }
}

/// Returns why the work is not merged whose files are not committed.
fn uncommitted(folder: &Utf8Path) -> NotMerged {
    let command = Suggested::Other(format!("git -C {} status", quoted(folder.as_str())));
    NotMerged { why: "files in the worktree are not committed".to_owned(), command }
}

/// Merges, then removes what is merged and clean.
fn merge_worktree(
    executor: &mut StepExecutor<'_>,
    finished: &FinishedWorktree<'_>,
) -> Result<Result<WorkEnd, RunEnd>, RunError> {
    let context = executor.context;
    if let Some(merge) = &context.workflow.merge {
        if let Some(end) = run_merge_steps(executor, merge, finished)? {
            return Ok(Err(end));
        }
    } else if finished.ahead > 0 {
        git_merge(context, finished)?;
    }
    if worktree::commits_ahead(&context.header.root, finished.base, finished.branch) != Some(0) {
        let left = FinishedWorktree { ahead: 1, target: finished.target.clone(), ..*finished };
        return Ok(Ok(kept(context, &left, "the `merge` of the workflow left commits out")));
    }
    let is_removed = remove_worktree(context, finished, worktree::remove);
    Ok(Ok(match (is_removed, finished.ahead) {
        (true, _) => WorktreeOutcome::Removed.into(),
        (false, 0) => uncommitted(finished.folder).into(),
        (false, _) => WorktreeOutcome::Merged.into(),
    }))
}

/// Removes a worktree whose work is elsewhere, unless files in it are not committed; tells whether it is gone.
fn remove_worktree(
    context: &RunContext<'_>,
    finished: &FinishedWorktree<'_>,
    remove: fn(&Utf8Path, &Utf8Path, &str) -> Result<(), GitRefusal>,
) -> bool {
    let folder = finished.folder;
    if store::is_folder(folder) && worktree::dirty(folder) != Some(0) {
        let text = "The worktree is kept, since files in it are not committed".to_owned();
        context.console.tell(&Event::Note { text: &text });
        return false;
    }
    if let Err(refusal) = remove(&finished.target, folder, finished.branch) {
        let text = format!("The worktree is kept: {refusal}");
        context.console.tell(&Event::Warning { text: &text });
        return false;
    }
    true
}

/// Puts the work on the base branch as one commit.
fn squash_worktree(context: &RunContext<'_>, finished: &FinishedWorktree<'_>) -> Result<WorktreeOutcome, RunError> {
    if finished.ahead > 0 {
        let title = format!("{} ({})", context.workflow.name, context.header.session);
        let commit = worktree::squashed(&finished.target, finished.base, finished.branch, &title);
        let commit = commit.map_err(|refusal| not_squashed(context, finished, &refusal))?;
        git_merge(context, &FinishedWorktree { branch: &commit, target: finished.target.clone(), ..*finished })?;
    }
    let is_removed = remove_worktree(context, finished, worktree::discard);
    Ok(if is_removed { WorktreeOutcome::Removed } else { WorktreeOutcome::Merged })
}

/// Returns the error for work that cannot be put on its base branch as one commit; nothing was changed.
fn not_squashed(context: &RunContext<'_>, finished: &FinishedWorktree<'_>, refusal: &GitRefusal) -> RunError {
    let FinishedWorktree { folder, branch, base, target, .. } = finished;
    let message =
        format!("{branch} cannot be put on {base}: {}; nothing was merged and the worktree is kept", refusal.message);
    let conflicts = worktree::conflicts(target, base, branch);
    let again = MergeStyle::Squash.asked(Suggested::of(Verb::Merge, &context.header.session));
    let hints = match conflicts.is_empty() {
        true => vec![again.into()],
        false => {
            let merge = format!("git -C {} merge {}", quoted(folder.as_str()), quoted(base));
            let files = clean_line(&conflicts.join(", "), 300);
            vec![
                format!("`{merge}`, then resolve the conflicts in {files} and commit").into(),
                format!("once that is done: `{again}`").into(),
            ]
        }
    };
    RunError::problem(Exit::No(No::NotYet), message, hints)
}

/// Names the work with a branch of its own. One that is at its last commit was made by a call that was cut off.
fn branch_worktree(
    context: &RunContext<'_>,
    finished: &FinishedWorktree<'_>,
    name: &str,
) -> Result<WorktreeOutcome, RunError> {
    let root = &context.header.root;
    let is_ahead = |base: &str, branch: &str| worktree::commits_ahead(root, base, branch) != Some(0);
    let is_made = finished.ahead > 0
        && store::git::branch_exists(root, name) == Some(true)
        && !is_ahead(name, finished.branch)
        && !is_ahead(finished.branch, name);
    if !is_made {
        worktree::git(root, "branch", &["--no-track", "--", name, finished.branch]).map_err(|refusal| {
            let again = Suggested::of(Verb::Merge, &context.header.session).option("branch", "OTHER-NAME");
            RunError::new(Exit::No(No::Invalid), format!("{name} cannot be created: {refusal}"), [again.into()])
        })?;
    }
    remove_worktree(context, finished, worktree::discard);
    Ok(WorktreeOutcome::Branched)
}

fn git_merge(context: &RunContext<'_>, finished: &FinishedWorktree<'_>) -> Result<(), RunError> {
    let (session, target) = (&context.header.session, quoted(finished.target.as_str()));
    let retry = format!("once that is fixed: `{}`", Suggested::of(Verb::Merge, session));
    let checked_out = store::git::head(&finished.target).and_then(|head| head.branch);
    if checked_out.as_deref() != Some(finished.base) {
        let found = checked_out.unwrap_or_else(|| "a detached HEAD".to_owned());
        let message = format!(
            "every step is done, and nothing was merged: {} is not checked out anywhere ({} is on {found}); the worktree is kept",
            finished.base, finished.target
        );
        return Err(RunError::new(
            Exit::No(No::NotYet),
            message,
            [Suggested::Other(format!("git -C {target} checkout {}", finished.base)).into(), retry.into()],
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
                false => format!("`{by_hand}`, then resolve the conflicts in {} and commit", conflicts.join(", ")),
            };
            Err(RunError::new(Exit::No(No::Invalid), message, [by_hand.into(), retry.into()]))
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
    let done = run_each(executor, &merge.steps)?;
    executor.deadline = None;
    match done {
        StepOutcome::Completed(_) | StepOutcome::Skipped(_) => Ok(None),
        StepOutcome::Stopped(stop) => context.interrupted(stop).map(Some),
        StepOutcome::Failed(failure) => {
            let message = format!("every step is done, and the `merge` of the workflow failed: {}", failure.message);
            let hint = format!("to try it again: `{}`", Suggested::of(Verb::Merge, &context.header.session));
            Err(RunError::new(Exit::No(No::Invalid), format!("{message}; the worktree is kept"), [hint.into()]))
        }
    }
}

/// Runs the steps of a merge, each recorded before it begins and after it is done. One that is done is not repeated.
fn run_each(executor: &mut StepExecutor<'_>, steps: &[Step]) -> Result<StepOutcome, RunError> {
    let context = executor.context;
    let mut last = StepOutcome::Completed(Box::default());
    for step in steps {
        let digest = step.digest();
        if context.ledger().is_merged_by(&step.id, &digest) {
            let text = format!("Merge step {} is done: {}", step.id, step.title);
            context.console.tell(&Event::Note { text: &text });
            continue;
        }
        context.ledger().record_merge(&step.id, None, Facts::default())?;
        last = executor.run_all(std::slice::from_ref(step))?;
        match &last {
            StepOutcome::Completed(_) | StepOutcome::Skipped(_) => {}
            StepOutcome::Failed(_) | StepOutcome::Stopped(_) => return Ok(last),
        }
        let variables = executor.take_outputs().map_err(|why| RunError::new(Exit::Unreadable, why, []))?;
        context.ledger().record_merge(&step.id, Some(digest), Facts { variables, ..Facts::default() })?;
    }
    Ok(last)
}
