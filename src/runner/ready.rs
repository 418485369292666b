//! What has to be there before the first step: the programs that steps call, and the folder that they work in.

use camino::Utf8PathBuf;

use super::{
    error::RunError,
    files,
    ledger::Ledger,
    report::WorktreeOutcome,
    resume::{ResumeOptions, ScheduledStep},
};
use crate::{
    dialect::piton::record::Header,
    model::{Fix, No, Suggested, Verb},
    ops::Exit,
    store::{self, Project, worktree},
    workflow::{Step, Workflow},
};

/// Checks before the first step that `claude` is installed where a step calls it.
pub(super) fn check_programs(steps: &[&Step]) -> Result<(), RunError> {
    if steps.iter().any(|step| step.needs_claude()) && !files::is_on_path("claude") {
        let message = "a step of the workflow calls `claude`, which is not on the PATH";
        let hint = "install Claude Code: npm install -g @anthropic-ai/claude-code".to_owned();
        return Err(RunError::new(Exit::No(No::Invalid), message, [hint.into()]));
    }
    Ok(())
}

/// Checks the programs of the steps that are due, and of those around them. A step whose agent has reported runs what is inside it.
pub(super) fn check_programs_of(
    due: &[ScheduledStep],
    workflow: &Workflow,
    ledger: &Ledger,
    asked: &ResumeOptions,
) -> Result<(), RunError> {
    let is_alone = asked.only.is_some();
    let is_reported = |step: &Step| ledger.step(&step.id).is_some_and(|state| state.reported.is_some());
    let due = due.iter().map(|due| &workflow.steps[due.at]).flat_map(|step| match is_alone && is_reported(step) {
        true => step.inside().into_iter().flatten().collect(),
        false => vec![step],
    });
    let around = workflow.around().filter(|_| !is_alone && !asked.gives_up);
    check_programs(&due.chain(around).collect::<Vec<_>>())
}

/// Refuses a run in a worktree where there can be none: `in_place` is the command by which a person lets the steps
/// work in the folder itself.
pub(crate) fn check_worktree(project: &Project, in_place: &Suggested) -> Result<(), RunError> {
    let has_commit = || {
        let head = store::git::head(&project.cwd).or_else(|| store::git::head(&project.root));
        head.is_some_and(|head| head.sha.is_some())
    };
    let (message, first) = match &project.git {
        None => (format!("a worktree needs git, and {} is in no repository", project.root), "git init, commit"),
        Some(git) if !git.is_own => {
            let folder = &git.common_dir;
            (
                format!("a worktree would be made in {folder}, which belongs to another folder or user"),
                "git init, commit",
            )
        }
        Some(_) if has_commit() => return Ok(()),
        Some(_) => ("a worktree needs a commit, and this repository has none yet".to_owned(), "git commit"),
    };
    let in_place = format!("to work in the folder itself: `{in_place}`");
    Err(RunError::new(
        Exit::No(No::Invalid),
        message,
        [in_place.into(), format!("or: {first}, then run the command again").into()],
    ))
}

/// Returns the working folder of the steps that are due, and whether it is a worktree that was made for it now.
pub(super) fn folder(
    header: &Header,
    ledger: &Ledger,
    due: &[ScheduledStep],
    asked: &ResumeOptions,
) -> Result<(Utf8PathBuf, bool), RunError> {
    let (Some(folder), Some(branch)) = (&header.worktree, &header.branch) else {
        return Ok((header.root.clone(), false));
    };
    if files::is_folder(folder) {
        if store::git::head(folder).is_none() {
            // The repository was moved. Where git cannot mend that, the first step that needs it says so.
            let _ = worktree::git(&header.root, "worktree", &["repair", "--", folder.as_str()]);
        }
        return Ok((folder.clone(), false));
    }
    if due.is_empty() {
        // A kill came between the removal of the worktree and its record.
        return Ok((folder.clone(), false));
    }
    // Piton merged its work and removed it, and the run goes on after that.
    let is_merged = ledger.state().run.worktree.as_deref() == Some(WorktreeOutcome::Removed.as_str());
    let is_untouched = ledger.run().steps.iter().all(|step| step.attempts == 0);
    let id = &header.session;
    if !is_untouched && !is_merged && !asked.force {
        let message = format!("the worktree of session {id} is missing: {folder}; the files of its steps are lost");
        let again = format!("to restart in a new worktree: `{}`", header.resume().flag("force"));
        return Err(RunError::new(
            Exit::Person,
            message,
            [Suggested::Other("git worktree list".to_owned()).into(), again.into()],
        ));
    }
    if let Some(parent) = folder.parent() {
        store::create_private_dirs(parent)?;
    }
    let (commit, base) = (header.base_commit.as_deref(), header.base_branch.as_deref());
    let base = if is_merged { base.or(commit) } else { commit.or(base) }.unwrap_or("HEAD");
    worktree::add(&header.root, folder, branch, base).map_err(|refusal| {
        let message = format!("the worktree of session {id} cannot be created: {refusal}");
        let hints = [
            format!("once that is fixed: `{}`", header.goes_on()),
            format!("or in place: `{}`", Suggested::of(Verb::Run, "FILE").flag("no-worktree")),
        ]
        .map(Fix::from);
        RunError::new(Exit::No(No::Invalid), message, hints)
    })?;
    Ok((folder.clone(), true))
}
