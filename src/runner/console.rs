//! What the runner says while it works, and to whom. Printing is the command line's.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::Serializer;

use super::exec::Stream;
use super::report::RunReport;

/// Is told what happens. Steps of a `foreach` speak from several threads.
pub(crate) trait Console: Sync {
    /// A step printed something.
    fn output(&self, step: &str, stream: Stream, bytes: &[u8]);

    fn tell(&self, event: &Event<'_>);

    /// Asks a person and returns the answer; `None` where nobody can be asked, and at the end of input.
    fn ask(&self, question: &str) -> Option<String>;
}

/// Is something that happened, as `--events` writes it, one on a line.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    /// A new session begins.
    Session {
        #[serde(rename = "session")]
        id: &'a str,
        /// Where its steps work.
        folder: &'a str,
    },
    /// One goes on.
    Resuming {
        #[serde(rename = "session")]
        id: &'a str,
    },
    /// So much of it is done already.
    Loaded { done: usize, total: usize },
    /// The step that a resume goes on with was tried before.
    Retrying { number: usize, title: &'a str },
    /// A step begins; `number` is its place in the workflow, counted from 1.
    Executing { number: usize, total: usize, step: &'a str, title: &'a str },
    /// An item of a `foreach`.
    Item { step: &'a str, name: &'a str, number: usize, total: usize },
    /// A step has ended well.
    Completed { number: usize, total: usize, step: &'a str },
    /// A step is left out.
    Skipped { number: usize, total: usize, step: &'a str, why: &'a str },
    /// A try failed; another comes after a while.
    Again {
        step: &'a str,
        error: &'a str,
        attempt: u32,
        attempts: u32,
        #[serde(rename = "after_seconds", serialize_with = "as_seconds")]
        #[schemars(with = "f64")]
        after: Duration,
    },
    /// The handler of a step that failed.
    Handling { step: &'a str, error: &'a str },
    /// A step has failed for good, and the run ends.
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
