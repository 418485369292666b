//! The `on_end` command of a workflow: run when the runner ends or stops, so that a person hears of it.

use std::time::Duration;

use super::{
    console::{Event, OutputSource},
    context::{RunContext, merged_env},
    error::RunError,
    exec::{self, Job, Signals, Stream, Watcher},
    report::RunEnd,
};

/// The time limit of the command.
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);
/// How much of its output is shown.
const SHOWN: usize = 64 << 10;

/// A watcher that waits for the end of the output, where it is masked as a whole.
struct Collected;

impl Watcher for Collected {
    fn printed(&mut self, _: Stream, _: &[u8]) {}
}

/// Returns what became of a run, and the step that it stopped at, or nothing.
pub(super) fn in_words(end: &Result<RunEnd, RunError>) -> (&'static str, &str) {
    match end {
        Ok(RunEnd::Completed(_)) => ("completed", ""),
        Ok(RunEnd::Failed { step, .. }) => ("failed", step.as_str()),
        Ok(RunEnd::Waiting { step, .. }) => ("waiting", step.as_str()),
        Ok(RunEnd::Stepped { step, .. }) => ("stepped", step.as_str()),
        Ok(RunEnd::Interrupted(_)) => ("interrupted", ""),
        // Of a run that is only planned, no step is run, and this is not asked.
        Ok(RunEnd::Planned(_)) | Err(_) => ("stopped", ""),
    }
}

/// Runs a command with what became of the run in its environment. Its failure is a warning.
pub(super) fn run(context: &RunContext<'_>, command: &str, end: &Result<RunEnd, RunError>) {
    let (status, step) = in_words(end);
    let known = [("PITON_RUN", context.header.session.as_str()), ("PITON_STATUS", status), ("PITON_STEP", step)];
    let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let job = Job {
        words: vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()],
        folder: context.header.root.clone(),
        env: merged_env(&context.env, known),
        timeout: Some(LIMIT),
        grace: GRACE,
        keep: SHOWN,
    };
    let ended = Signals::listen().and_then(|signals| exec::run(&job, &signals, &mut Collected));
    let problem = match ended {
        Ok(exit) => {
            for printed in [&exit.stdout, &exit.stderr].into_iter().filter(|printed| !printed.is_empty()) {
                let shown = context.masks.hide(&String::from_utf8_lossy(printed));
                let source = OutputSource { step: "on_end", ..OutputSource::default() };
                context.console.output(source, Stream::Stderr, shown.as_bytes());
            }
            match (exit.timed_out, exit.code) {
                (true, _) => Some(format!("it took longer than {} s", LIMIT.as_secs())),
                (false, Some(0)) => None,
                (false, Some(code)) => Some(format!("exit code {code}")),
                (false, None) => Some("a signal ended it".to_owned()),
            }
        }
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        let text = format!("the `on_end` command failed: {problem}; the run is recorded as it is");
        context.console.tell(&Event::Warning { text: &text });
    }
}
