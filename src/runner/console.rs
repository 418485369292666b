//! What the runner reports while it works. The command line prints it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::Serializer;

use super::exec::Signals;
use super::exec::Stream;
use super::report::RunReport;
use crate::model::ClaudeWork;
use crate::model::Timestamp;

/// A receiver of events. The items of a `foreach` report from several threads.
pub(crate) trait Console: Sync {
    /// A step printed something.
    fn output(&self, step: &str, stream: Stream, bytes: &[u8]);

    fn tell(&self, event: &Event<'_>);

    /// Asks a person and returns the answer; `None` without a terminal, at the end of input, and when `signals` say to stop.
    fn ask(&self, question: &str, signals: Option<&Signals>) -> Option<String>;
}

/// An event of a run, as `--events` writes it: one JSON object per line.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    /// A new session begins.
    Session {
        #[serde(rename = "session")]
        id: &'a str,
        /// The working folder of its steps.
        folder: &'a str,
    },
    /// A session is resumed.
    Resuming {
        #[serde(rename = "session")]
        id: &'a str,
    },
    /// How many of its steps are done already.
    Loaded { done: usize, total: usize },
    /// The resumed step was tried before.
    Retrying { number: usize, title: &'a str },
    /// A step begins; `number` is its place in the workflow, counted from 1.
    Executing { number: usize, total: usize, step: &'a str, title: &'a str },
    /// An item of a `foreach`.
    Item { step: &'a str, name: &'a str, number: usize, total: usize },
    /// A step completed.
    Completed { number: usize, total: usize, step: &'a str },
    /// A step and its handler failed, and the workflow file lets the run go on.
    Tolerated { number: usize, total: usize, step: &'a str, error: &'a str },
    /// A review did not approve: the run goes back.
    Returned { number: usize, total: usize, step: &'a str, verdict: &'a str },
    /// A step is skipped.
    Skipped { number: usize, total: usize, step: &'a str, why: &'a str },
    /// A try failed; another one follows after a delay.
    Again {
        step: &'a str,
        error: &'a str,
        attempt: u32,
        attempts: u32,
        #[serde(rename = "after_seconds", serialize_with = "as_seconds")]
        #[schemars(with = "f64")]
        after: Duration,
    },
    /// The usage of a plan is at its limit; the step is tried again when it ends.
    Limited {
        step: &'a str,
        error: &'a str,
        next_at: Timestamp,
        /// The seconds that this machine is ahead of UTC then.
        #[serde(skip)]
        local: i64,
        #[serde(rename = "after_seconds", serialize_with = "as_seconds")]
        #[schemars(with = "f64")]
        after: Duration,
    },
    /// `claude` calls a tool; `subject` is the file, the command or the address.
    Tool { step: &'a str, tool: &'a str, subject: &'a str },
    /// A call of `claude` ended.
    Claude { step: &'a str, work: &'a ClaudeWork },
    /// The handler of a failed step runs.
    Handling { step: &'a str, error: &'a str },
    /// A step failed for good, and the run ends.
    Failed { number: usize, step: &'a str, error: &'a str },
    /// Something a person should know.
    Note { text: &'a str },
    /// Something a person should look at.
    Warning { text: &'a str },
    /// A step printed something.
    Output { step: &'a str, stream: Stream, text: &'a str },
    /// The last line: how the run ended.
    End(&'a RunReport),
}

fn as_seconds<S: Serializer>(after: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(after.as_secs_f64())
}

/// Tells whether an answer agrees; no answer does not.
pub(super) fn says_yes(answer: Option<String>) -> bool {
    answer.is_some_and(|answer| matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
