//! Makes the worktree of a run for agents before an agent works there; the runner makes it itself before it runs a step.

use camino::Utf8Path;

use super::{
    console::Console,
    error::RunError,
    ledger::Ledger,
    mend, open, ready,
    resume::{ResumeOptions, ScheduledStep},
    run_environment::RunEnvironment,
    worktree_files,
};
use crate::{model::Evidence, store};

/// Makes the worktree of a run, and puts the files into it that the workflow names, unless that is done.
///
/// # Errors
///
/// When another process drives the run, git refuses the worktree, or a file cannot be put there.
pub(crate) fn prepare(
    now: Option<&str>,
    (home, session): (&Utf8Path, &str),
    console: &dyn Console,
) -> Result<(), RunError> {
    let header = open::header(home, session)?;
    if header.worktree.is_none() || !header.is_attended {
        return Ok(());
    }
    let environment = RunEnvironment::of_session(home, &header, now, console)?;
    let paths = open::session_paths(home, session, &environment.project)?;
    let asked = ResumeOptions::default();
    let candidate = open::candidate(session, Some(&header))?;
    let (_, session, loaded) = mend::load_repaired(&environment, &paths, &candidate, &asked, console)?;
    // What cannot be read or written is refused by the verb itself.
    let Some(run) = loaded.run.filter(|run| run.writable) else { return Ok(()) };
    if run.steps.iter().any(|step| step.attempts > 0) {
        return Ok(());
    }
    open::claim(&paths, &environment, &asked)?;
    let done = (|| {
        let (workflow, _) = open::workflow(&header.workflow)?;
        let caller = (environment.ticker, environment.caller());
        let mut ledger = Ledger::new(paths.clone(), caller, session, (run, Evidence::default()));
        ledger.catch_up()?;
        let (folder, is_new) = ready::folder(&header, &ledger, &[ScheduledStep::first(0)], &asked)?;
        worktree_files::set_up((&header, &folder, is_new), &workflow.worktree, &mut ledger, console)
    })();
    let released = store::local::release(&paths.lock()?, environment.ticker.now(), &environment.caller());
    done?;
    Ok(released?)
}
