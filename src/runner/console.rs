//! What the runner says while it works, and to whom. Printing is the command line's.

use std::time::Duration;

use super::exec::Stream;

/// Is told what happens. Steps of a `foreach` speak from several threads.
pub(crate) trait Console: Sync {
    /// A step printed something.
    fn output(&self, step: &str, stream: Stream, bytes: &[u8]);

    fn tell(&self, event: &Event<'_>);

    /// Asks a person and returns the answer; `None` where nobody can be asked, and at the end of input.
    fn ask(&self, question: &str) -> Option<String>;
}

/// Is something that happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// A new session begins.
    Session {
        id: &'a str,
        folder: &'a str,
    },
    /// One goes on.
    Resuming {
        id: &'a str,
    },
    Loaded {
        done: usize,
        total: usize,
    },
    /// The step that a resume goes on with was tried before.
    Retrying {
        number: usize,
        title: &'a str,
    },
    Executing {
        number: usize,
        total: usize,
        step: &'a str,
        title: &'a str,
    },
    /// An item of a `foreach`.
    Item {
        step: &'a str,
        name: &'a str,
        number: usize,
        total: usize,
    },
    Completed {
        number: usize,
        total: usize,
        step: &'a str,
    },
    Skipped {
        number: usize,
        total: usize,
        step: &'a str,
        why: &'a str,
    },
    /// A try failed; another comes after a while.
    Again {
        step: &'a str,
        error: &'a str,
        attempt: u32,
        attempts: u32,
        after: Duration,
    },
    /// The handler of a step that failed.
    Handling {
        step: &'a str,
        error: &'a str,
    },
    Failed {
        number: usize,
        step: &'a str,
        error: &'a str,
    },
    /// Something a person should know.
    Note {
        text: &'a str,
    },
    Warning {
        text: &'a str,
    },
}
