//! Merges the work of a finished session at a later time.

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    console::Console,
    context::{RunContext, UsedVariables, environment},
    error::RunError,
    finish::{self, MergeStyle},
    ledger::Ledger,
    mend, open,
    report::{RunEnd, RunResult, WorktreeOutcome},
    resume::ResumeOptions,
    run_environment::RunEnvironment,
    secrets::{self, Masks},
    step_executor::StepExecutor,
};
use crate::{
    dialect::piton::{Session, facts::Facts, record::Header, state::RunPhase},
    engine::quoted,
    model::{ChangeKind, ClaudeWork, Evidence, Fix, No, Options, Run, Suggested, Verb},
    ops::Exit,
    store,
    workflow::Workflow,
};

/// The options of a merge.
#[derive(Clone, Debug)]
pub(crate) struct MergeRequest {
    pub(crate) now: Option<String>,
    /// The folder of all sessions of its repository.
    pub(crate) home: Utf8PathBuf,
    pub(crate) session: String,
    pub(crate) style: MergeStyle,
    /// Merge without asking.
    pub(crate) yes: bool,
}

/// Merges a finished session, once a person agreed.
pub(crate) fn merge(request: &MergeRequest, console: &dyn Console) -> Result<RunResult, RunError> {
    let header = open::header(&request.home, &request.session)?;
    let environment = RunEnvironment::of_session(&request.home, &header, request.now.as_deref(), console)?;
    let paths = open::session_paths(&request.home, &request.session, &environment.project)?;
    let asked = ResumeOptions { yes: request.yes, ..ResumeOptions::default() };
    open::claim(&paths, &environment, &asked)?;
    let done = (|| {
        let candidate = open::candidate(&header.session, Some(&header))?;
        let (_, session, loaded) = mend::load_repaired(&environment, &paths, &candidate, &asked, console)?;
        let Some(run) = loaded.run.filter(|run| run.writable) else {
            let message = format!("session {} cannot be read as it is", header.session);
            return Err(RunError::new(Exit::Unreadable, message, [Suggested::new(Verb::Doctor).into()]));
        };
        let workflow = workflow(&header)?;
        let declared = match &workflow.merge {
            Some(_) => secrets::fetch(&workflow.all_secrets(), &header.root)?,
            None => std::collections::BTreeMap::new(),
        };
        let folder = header.worktree.clone().unwrap_or_else(|| header.root.clone());
        let is_over = session.state.run.status == RunPhase::Completed;
        check_mergeable(&header, &session, &run, &request.style)?;
        let ledger =
            Ledger::new(paths.clone(), (environment.ticker, environment.caller()), session, (run, Evidence::default()));
        if !is_over && !ledger.order(&Options::at(ledger.now())).is_empty() {
            return Err(unfinished(&header, ledger.run()));
        }
        let context = RunContext {
            masks: Masks::of(&declared, store::variables()),
            used: UsedVariables::of(&workflow),
            env: self::environment(&workflow, &declared, &header, &folder)?,
            secrets: declared,
            header: header.clone(),
            session: paths.folder(),
            ticker: environment.ticker,
            ledger: std::sync::Mutex::new(ledger),
            worktrees: std::sync::Mutex::default(),
            workflow,
            folder,
            console,
        };
        merged(&context, request)
    })();
    let released = store::local::release(&paths.lock()?, environment.ticker.now(), &environment.caller());
    let done = done?;
    released?;
    Ok(done)
}

/// Tells whether the work of a session is done and waits for a merge: a resume that agrees to everything merges it.
pub(crate) fn waits_for_merge(home: &Utf8Path, session: &str, console: &dyn Console) -> bool {
    let read = || {
        let header = open::header(home, session)?;
        let environment = RunEnvironment::of_session(home, &header, None, console)?;
        let paths = open::session_paths(home, session, &environment.project)?;
        let candidate = open::candidate(session, Some(&header))?;
        let lock = paths.lock()?;
        let files = store::file_set_locked(&environment.project, &lock, home, &candidate, environment.ticker.now());
        Ok::<_, RunError>((header, Session::read(&files).map(|session| session.state.run)))
    };
    // What cannot be read is refused by the resume itself.
    let Ok((header, Ok(run))) = read() else { return false };
    run.status == RunPhase::Completed && header.keeps_work(run.worktree.as_deref()) && header.base_branch.is_some()
}

fn check_mergeable(header: &Header, session: &Session, run: &Run, style: &MergeStyle) -> Result<(), RunError> {
    let id = &header.session;
    let refuse = |why, message: String, hint: Suggested| Err(RunError::new(Exit::No(why), message, [hint.into()]));
    if session.state.run.status == RunPhase::Aborted {
        let message = format!("session {id} was aborted, and {}", done_of(run));
        return refuse(No::Invalid, message, Suggested::of(Verb::Close, id).flag("discard"));
    }
    if header.worktree.is_none() {
        let message = format!("session {id} worked in the project itself; there is nothing to merge");
        return refuse(No::Nothing, message, Suggested::of(Verb::Show, id));
    }
    if !header.keeps_work(session.state.run.worktree.as_deref()) {
        return refuse(No::Already, format!("session {id} is merged already"), Suggested::of(Verb::Show, id));
    }
    if header.base_branch.is_none() && !matches!(style, MergeStyle::Branch(_)) {
        let message = format!("HEAD was detached when session {id} began, so there is no branch to merge into");
        return refuse(No::Invalid, message, Suggested::of(Verb::Merge, id).option("branch", "NAME"));
    }
    Ok(())
}

fn unfinished(header: &Header, run: &Run) -> RunError {
    let id = &header.session;
    let message = format!("session {id} is not finished: {}", done_of(run));
    let hints = [Suggested::of(Verb::Resume, id), Suggested::of(Verb::Close, id).flag("discard")];
    RunError::new(Exit::No(No::NotYet), message, hints.map(Fix::from))
}

fn done_of(run: &Run) -> String {
    let done = run.steps.iter().filter(|step| step.status.satisfies()).count();
    format!("{done} of {} steps are done", run.steps.len())
}

/// Returns the workflow, whose `merge` steps merge. Without its file it is unknown how to merge, so that is refused.
fn workflow(header: &Header) -> Result<Workflow, RunError> {
    match open::workflow(&header.workflow) {
        Ok((workflow, _)) => Ok(workflow),
        Err(error) => {
            let path = header.workflow.file.under(&header.workflow.root);
            let message = format!("the workflow file, whose `merge` says how to merge, cannot be read: {error}");
            let branch = header.branch.as_deref().unwrap_or_default();
            let by_hand = format!("or merge by hand: git merge {}", quoted(branch));
            let restore = format!("restore {}, then run the command again", quoted(path.as_str()));
            Err(RunError::new(Exit::Unreadable, message, [restore.into(), by_hand.into()]))
        }
    }
}

/// Merges, then records that.
fn merged(context: &RunContext<'_>, request: &MergeRequest) -> Result<RunResult, RunError> {
    let mut executor = StepExecutor::new(context)?;
    let id = &context.header.session;
    let again = || request.style.asked(Suggested::of(Verb::Merge, id));
    let total = context.ledger().run().steps.len();
    let end = match finish::end_worktree(&mut executor, request.yes, &request.style)? {
        Ok(left) if left.worktree == WorktreeOutcome::Kept && !request.yes => {
            let message = format!("not confirmed; session {id} is as it was");
            return Err(RunError::new(Exit::Person, message, [again().yes().into()]));
        }
        // The steps of `merge` in the file decide for themselves what becomes of the branch.
        Ok(left) if left.worktree == WorktreeOutcome::Kept && context.workflow.merge.is_none() => {
            let branch = quoted(context.header.branch.as_deref().unwrap_or_default());
            let message = format!("nothing was merged: {} has no commits on {branch} to merge", context.folder);
            let hint = format!("commit what is there on {branch}, then: `{}`", again());
            return Err(RunError::new(Exit::No(No::Nothing), message, [hint.into()]));
        }
        Ok(left) => {
            let mut ledger = context.ledger();
            let is_over = ledger.state().run.status == RunPhase::Completed;
            if is_over {
                let kind =
                    ChangeKind::Resume { steps: Vec::new(), interruption: None, strategy: None, settled: Vec::new() };
                ledger.record(kind, Facts::default(), true)?;
            }
            let facts = Facts {
                worktree: Some(left.worktree.as_str().to_owned()),
                claude: std::mem::take(&mut executor.work),
                ..Facts::default()
            };
            ledger.record(ChangeKind::Complete { note: None }, facts, true)?;
            ledger.snapshot()?;
            RunEnd::Completed(left)
        }
        Err(end) => end,
    };
    let folder = context.folder.as_str().to_owned();
    let failed_items = context.ledger().state().failed_items();
    let tolerated = context.ledger().state().steps.values().filter(|step| step.tolerated.is_some()).count();
    Ok(RunResult {
        session: id.clone(),
        folder,
        resume: context.header.resume(),
        end,
        done: total,
        tolerated,
        failed_items,
        claude: ClaudeWork::default(),
        steps: Vec::new(),
        log: None,
        failed_stop: None,
        total,
    })
}
