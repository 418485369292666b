//! Keeps the runs of a group apart, of which one runs at a time: the others wait or are refused.

use camino::Utf8Path;

use super::{
    console::{Console, Event},
    error::RunError,
    exec::{self, Signals},
    run_environment::RunEnvironment,
};
use crate::{
    dialect::piton::record::Header,
    model::{No, Suggested, Verb, clean_line},
    ops::{self, Exit, Taken},
    store::RunLock,
    workflow::Workflow,
};

/// Takes the group of a workflow, if it has one, and waits for that as the workflow says. `home` has the runs, `only` is the step that is run
/// alone.
pub(super) fn hold(
    environment: &RunEnvironment,
    workflow: &Workflow,
    header: &Header,
    (home, only): (&Utf8Path, Option<&str>),
    console: &dyn Console,
) -> Result<Option<RunLock>, RunError> {
    let Some(concurrency) = &workflow.concurrency else { return Ok(None) };
    let group = group_of(workflow, header)?.unwrap_or_default();
    let signals = Signals::listen()
        .map_err(|error| RunError::new(Exit::Unreadable, format!("cannot listen for signals: {error}"), []))?;
    let again =
        only.map_or_else(|| header.resume(), |step| Suggested::of(Verb::Exec, step).option("run", &header.session));
    let mut is_told = false;
    loop {
        let of = (&environment.project, environment.ticker.now());
        let holder = match ops::take_group(of, (home, &header.session), &group)? {
            Taken::Held(lock) => return Ok(Some(lock)),
            Taken::By(holder) => holder,
        };
        if concurrency.is_refused {
            return Err(refused(&group, &holder, format!("when it is over: `{again}`")));
        }
        if !is_told {
            let (by, group) = (&holder.text, clean_line(&group, 60));
            console.tell(&Event::Note { text: &format!("Waiting for {by}, which runs in the group {group}") });
            is_told = true;
        }
        if let Some(stop) = exec::pause(ops::GROUP_WAIT, &signals) {
            let message = format!("{} came while another run of the group was waited for", stop.as_str());
            return Err(RunError::new(Exit::from(stop), message, [again.into()]));
        }
    }
}

/// Refuses to begin a run of a group in which another one runs, if its file says so: nothing is left of it then.
pub(super) fn check_free(
    environment: &RunEnvironment,
    workflow: &Workflow,
    header: &Header,
    home: &Utf8Path,
) -> Result<(), RunError> {
    let is_refused = workflow.concurrency.as_ref().is_some_and(|concurrency| concurrency.is_refused);
    let Some(group) = group_of(workflow, header)?.filter(|_| is_refused) else { return Ok(()) };
    let of = (&environment.project, environment.ticker.now());
    match ops::take_group(of, (home, &header.session), &group)? {
        Taken::Held(_) => Ok(()),
        Taken::By(holder) => Err(refused(&group, &holder, "when it is over, run the file again".to_owned())),
    }
}

fn group_of(workflow: &Workflow, header: &Header) -> Result<Option<String>, RunError> {
    let group = workflow.concurrency.as_ref().map(|concurrency| &concurrency.group);
    let group = group.map(|group| ops::rendered_before(group, workflow, header)).transpose();
    group.map_err(|error| RunError::new(Exit::No(No::Invalid), error.message, [error.hint]))
}

fn refused(group: &str, holder: &ops::Holder, again: String) -> RunError {
    let hints: Vec<String> = holder.hints().into_iter().chain([again]).collect();
    RunError::problem(Exit::Conflict, ops::busy_group(group, holder), hints)
}
