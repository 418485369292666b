//! What the runner reports while it works. The command line prints it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    exec::{Signals, Stream},
    report::RunReport,
};
use crate::model::{ClaudeWork, Context, Timestamp};

/// What an event is about: a step, or a step for an item of a `foreach`.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct OutputSource<'a> {
    pub(crate) step: &'a str,
    /// The item; left out outside of a `foreach`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<&'a str>,
    /// Its place, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<usize>,
    /// What its lines begin with where others print at the same time.
    #[serde(skip)]
    pub(crate) label: Option<&'a str>,
}

/// A receiver of events. Steps and items that run side by side report from several threads.
pub(crate) trait Console: Sync {
    /// A step printed something: whole lines, if they are labelled.
    fn output(&self, source: OutputSource<'_>, stream: Stream, bytes: &[u8]);

    fn tell(&self, event: &Event<'_>);

    /// Asks a person and returns the answer; `None` without a terminal, at the end of input, and when `signals` say to stop.
    fn ask(&self, question: &str, signals: Option<&Signals>) -> Option<String>;

    /// Returns a brief as the text that an agent is given.
    fn brief(&self, context: &Context) -> String;
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
        /// The project that it belongs to.
        project: &'a str,
    },
    /// How many of its steps are done already.
    Loaded { done: usize, total: usize },
    /// The resumed step was tried before.
    Retrying { number: usize, title: &'a str },
    /// A step begins; `number` is its place in the workflow, counted from 1.
    Executing { number: usize, total: usize, step: &'a str, title: &'a str },
    /// An item of a `foreach` begins.
    Item {
        #[serde(flatten)]
        source: OutputSource<'a>,
        name: &'a str,
        number: usize,
        total: usize,
    },
    /// An item of a `foreach` ended; `error` says why it failed.
    ItemEnded {
        #[serde(flatten)]
        source: OutputSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
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
        #[serde(flatten)]
        source: OutputSource<'a>,
        error: &'a str,
        attempt: u32,
        attempts: u32,
        #[serde(rename = "after_seconds", serialize_with = "as_seconds")]
        #[schemars(with = "f64")]
        after: Duration,
    },
    /// The usage of a plan is at its limit; the step is tried again when it ends.
    Limited {
        #[serde(flatten)]
        source: OutputSource<'a>,
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
    Tool {
        #[serde(flatten)]
        source: OutputSource<'a>,
        tool: &'a str,
        subject: &'a str,
    },
    /// A call of `claude` ended.
    Claude {
        #[serde(flatten)]
        source: OutputSource<'a>,
        work: &'a ClaudeWork,
    },
    /// The handler of a failed step runs.
    Handling {
        #[serde(flatten)]
        source: OutputSource<'a>,
        error: &'a str,
    },
    /// A step failed for good, and the run ends.
    Failed { number: usize, step: &'a str, error: &'a str },
    /// Something a person should know.
    Note { text: &'a str },
    /// Something a person should look at.
    Warning { text: &'a str },
    /// A step printed something.
    Output {
        #[serde(flatten)]
        source: OutputSource<'a>,
        stream: Stream,
        text: &'a str,
    },
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
