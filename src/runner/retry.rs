//! When a failed step is tried again, and when a failure is of a passing kind. Pure: chance and clock are inputs.

use std::time::Duration;

use super::spec::Retry;
use crate::model::Timestamp;

/// Says what sort of failure it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// When a rate limit ends, where it says so.
    pub(crate) resets_at: Option<Timestamp>,
    /// One line.
    pub(crate) message: String,
}

/// Names what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// 500, 502, 503, 504.
    ServerError,
    /// 529.
    Overloaded,
    RateLimit,
    Network,
    Timeout,
    Authentication,
    NotFound,
    /// The command ran and said no.
    Exit,
    /// It could not be started.
    Spawn,
    /// A signal ended it that the runner did not send.
    Signal,
}

/// Is what a command left when it failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed<'a> {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) stderr: &'a str,
    /// For `claude`: the error of the stream, where there was one.
    pub(crate) api_error: Option<&'a str>,
    pub(crate) is_claude: bool,
}

/// Says what comes after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    GiveUp,
    TryAgain { after: Duration },
}

/// Sorts a failure.
pub(crate) fn classify(failed: Failed<'_>) -> Failure {
    Failure { kind: FailureKind::Exit, resets_at: None, message: failed.stderr.to_owned() }
}

/// Decides after the `attempt`th try, from 1. `seed` stands for chance.
pub(crate) fn decide(policy: &Retry, attempt: u32, failure: &Failure, now: Timestamp, seed: u64) -> Decision {
    let _ = (policy, attempt, failure, now, seed);
    Decision::GiveUp
}
