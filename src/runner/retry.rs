//! When a failed step is tried again, and which failures are transient. Pure: randomness and clock are inputs.

use std::time::Duration;

use super::{
    claude::Rejection,
    limit::{self, Offset},
};
use crate::{
    model::{Timestamp, clean_line, human_duration, mask_secrets},
    workflow::{Backoff, Retry, RetryOn},
};

/// A classified failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// When the rate limit ends, if the message says so.
    pub(crate) resets_at: Option<Timestamp>,
    pub(crate) exit_code: Option<i32>,
    /// One line, fit to be recorded.
    pub(crate) message: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// 500 to 599, but for 529.
    ServerError,
    /// 529.
    Overloaded,
    RateLimit,
    /// The usage of a plan is at its limit, for hours.
    UsageLimit,
    /// What may be spent is spent: a person raises it.
    SpendLimit,
    Network,
    Timeout,
    /// Something else that the service reported.
    Service,
    Authentication,
    NotFound,
    /// The service answers the same request with the same: 400, too long a prompt, no turns, budget or credit left.
    Request,
    /// The command exited with a failure.
    Exit,
    /// It could not be started.
    Spawn,
    /// A signal that the runner did not send ended it.
    Signal,
}

/// A failed command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedCommand<'a> {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// The time that was over.
    pub(crate) timed_out: Option<Duration>,
    pub(crate) stderr: &'a str,
    /// For `claude`: the error in its stream, if any.
    pub(crate) api_error: Option<&'a str>,
    /// For `claude`: what the service said in data about the usage of the plan.
    pub(crate) rejection: Option<Rejection>,
    pub(crate) is_claude: bool,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    GiveUp,
    TryAgain {
        after: Duration,
    },
    /// A usage limit is waited for without using up a try.
    Wait {
        after: Duration,
    },
    /// A person changes something first.
    Ask,
}

impl Failure {
    /// Tells whether the same command may succeed later without any change.
    pub(crate) const fn is_transient(&self) -> bool {
        match self.kind {
            FailureKind::ServerError
            | FailureKind::Overloaded
            | FailureKind::RateLimit
            | FailureKind::UsageLimit
            | FailureKind::Network
            | FailureKind::Service
            | FailureKind::Timeout => true,
            FailureKind::SpendLimit
            | FailureKind::Authentication
            | FailureKind::NotFound
            | FailureKind::Request
            | FailureKind::Exit
            | FailureKind::Spawn
            | FailureKind::Signal => false,
        }
    }
}

/// Phrases that say that a person raises what may be spent. The service answers with 400 then.
const SPENT: [&str; 3] = ["spend limit", "spending limit", "api usage limits"];
/// Phrases that identify an error of the service, in lower case; the first match decides. Those that no other try can change come first.
const ERROR_PATTERNS: [(&str, FailureKind); 49] = [
    ("max_turns", FailureKind::Request),
    ("maximum number of turns", FailureKind::Request),
    ("max_budget", FailureKind::Request),
    ("maximum budget", FailureKind::Request),
    ("prompt is too long", FailureKind::Request),
    ("request too large", FailureKind::Request),
    ("invalid_request_error", FailureKind::Request),
    ("usage policy", FailureKind::Request),
    ("no conversation found", FailureKind::Request),
    ("credit balance", FailureKind::Request),
    ("billing_error", FailureKind::Request),
    ("authentication", FailureKind::Authentication),
    ("invalid api key", FailureKind::Authentication),
    ("unauthorized", FailureKind::Authentication),
    ("permission_error", FailureKind::Authentication),
    ("/login", FailureKind::Authentication),
    ("not logged in", FailureKind::Authentication),
    ("oauth token", FailureKind::Authentication),
    ("organization has been disabled", FailureKind::Authentication),
    ("not have access", FailureKind::Authentication),
    ("not_found_error", FailureKind::NotFound),
    ("command not found", FailureKind::NotFound),
    ("unknown command", FailureKind::NotFound),
    ("unknown slash command", FailureKind::NotFound),
    ("rate limit", FailureKind::RateLimit),
    ("rate_limit", FailureKind::RateLimit),
    ("too many requests", FailureKind::RateLimit),
    ("overloaded", FailureKind::Overloaded),
    ("internal server error", FailureKind::ServerError),
    ("bad gateway", FailureKind::ServerError),
    ("service unavailable", FailureKind::ServerError),
    ("gateway timeout", FailureKind::ServerError),
    ("timed out", FailureKind::Timeout),
    ("stream idle timeout", FailureKind::Timeout),
    ("econnreset", FailureKind::Network),
    ("econnrefused", FailureKind::Network),
    ("enotfound", FailureKind::Network),
    ("eai_again", FailureKind::Network),
    ("etimedout", FailureKind::Network),
    ("connection reset", FailureKind::Network),
    ("connection refused", FailureKind::Network),
    ("connectionrefused", FailureKind::Network),
    ("connection error", FailureKind::Network),
    ("connection closed", FailureKind::Network),
    ("connection was closed", FailureKind::Network),
    ("unable to connect", FailureKind::Network),
    ("socket hang up", FailureKind::Network),
    ("fetch failed", FailureKind::Network),
    ("network error", FailureKind::Network),
];

/// Classifies a failure. Only messages of `claude` are searched for errors of the service. A shell command may print any text, which
/// counts only for a `retry_on` that asks for it.
pub(crate) fn classify(failed: FailedCommand<'_>, now: Timestamp, offset: Offset<'_>) -> Failure {
    let said = failed.api_error.unwrap_or(failed.stderr);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let how = match (failed.timed_out, failed.signal, failed.exit_code) {
        (Some(after), _, _) => match after.as_millis() {
            millis @ ..1000 => format!("timed out after {millis} ms"),
            ..60_000 => format!("timed out after {} s", after.as_secs_f64()),
            _ => format!("timed out after {}", human_duration(after)),
        },
        (None, Some(signal), _) => format!("signal {signal} ended it"),
        (None, None, Some(code)) => format!("exit code {code}"),
        (None, None, None) => "it could not be started".to_owned(),
    };
    let message = if last.is_empty() { how } else { format!("{how}: {last}") };
    let message = clean_line(&mask_secrets(&message), 400);
    let kind = match (failed.timed_out, failed.signal, failed.exit_code) {
        (Some(_), _, _) => FailureKind::Timeout,
        (None, Some(_), _) => FailureKind::Signal,
        (None, None, None) => FailureKind::Spawn,
        (None, None, Some(_)) if failed.is_claude => claude_kind(failed, said),
        (None, None, Some(_)) => FailureKind::Exit,
    };
    let is_limit = matches!(kind, FailureKind::RateLimit | FailureKind::UsageLimit);
    let in_words = || (kind == FailureKind::UsageLimit).then(|| limit::end(said, now, offset)).flatten();
    let in_data = failed.rejection.and_then(|rejection| rejection.resets_at);
    let resets_at = in_data.filter(|_| is_limit).or_else(|| is_limit.then(|| reset(said)).flatten()).or_else(in_words);
    Failure { kind, resets_at, exit_code: failed.exit_code, message }
}

/// Returns the kind of a failure of `claude`: first from the data of its stream, then from its words. An error that the service reported is
/// transient unless it is known to be permanent.
fn claude_kind(failed: FailedCommand<'_>, said: &str) -> FailureKind {
    let known = service_kind(said);
    if let Some(kind @ (FailureKind::SpendLimit | FailureKind::Request)) = known {
        return kind;
    }
    if failed.rejection.is_some() || limit::is_usage_limit(said) {
        return FailureKind::UsageLimit;
    }
    let unknown = if failed.api_error.is_some() { FailureKind::Service } else { FailureKind::Exit };
    known.unwrap_or(unknown)
}

fn service_kind(said: &str) -> Option<FailureKind> {
    let text = said.to_ascii_lowercase();
    if SPENT.iter().any(|sign| text.contains(sign)) {
        return Some(FailureKind::SpendLimit);
    }
    status(&text).or_else(|| ERROR_PATTERNS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, kind)| *kind))
}

/// Reads an HTTP status in a known form: `API Error: 500`, `status code 529`, `HTTP 503`, or a line `500 {"type":...`. Other numbers
/// are ignored.
fn status(text: &str) -> Option<FailureKind> {
    const BEFORE: [&str; 6] = ["api error: ", "api error (", "http ", "status code ", "status ", "failed: "];
    let named = BEFORE.iter().flat_map(|word| text.match_indices(word).map(|(at, _)| &text[at + word.len()..]));
    let alone =
        text.lines().map(str::trim_start).filter(|line| line.get(3..).is_some_and(|rest| rest.starts_with(" {")));
    named.chain(alone).find_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        match &rest[..end] {
            "400" | "402" | "413" | "422" => Some(FailureKind::Request),
            "401" | "403" => Some(FailureKind::Authentication),
            "404" => Some(FailureKind::NotFound),
            "408" => Some(FailureKind::Timeout),
            "429" => Some(FailureKind::RateLimit),
            "529" => Some(FailureKind::Overloaded),
            code if code.len() == 3 && code.starts_with('5') => Some(FailureKind::ServerError),
            _ => None,
        }
    })
}

/// Reads when a limit ends: from `...limit reached|1760000000`, or the first RFC 3339 time.
fn reset(said: &str) -> Option<Timestamp> {
    let seconds = said.split('|').skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        // Ten digits: seconds since 1970 from the year 2001 to 2286.
        (end == 10).then(|| rest[..end].parse::<i64>().ok()).flatten()
    });
    let stamped = || {
        said.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | ')' | ','))
            .filter(|word| word.len() >= 20 && word.contains('T'))
            .find_map(|word| Timestamp::parse(word.trim_end_matches('.'), 0).ok())
    };
    seconds.and_then(|seconds| Timestamp::from_unix(seconds, 0)).or_else(stamped)
}

/// The first wait for a usage limit whose end is unknown; doubled each time.
const LIMIT_WAIT: Duration = Duration::from_secs(300);
/// The longest of them.
const LONGEST_LIMIT_WAIT: Duration = Duration::from_secs(3_600);

/// Decides after the `attempt`th try, counted from 1, and `waits` waits for a usage limit. `seed` is the source of randomness.
pub(crate) fn decide(
    policy: &Retry,
    (attempt, waits): (u32, u32),
    failure: &Failure,
    now: Timestamp,
    seed: u64,
) -> RetryDecision {
    if failure.kind == FailureKind::SpendLimit {
        return RetryDecision::Ask;
    }
    if failure.kind == FailureKind::UsageLimit && policy.attempts > 1 && applies_to(policy, failure) {
        let unknown = LIMIT_WAIT.saturating_mul(2_u32.saturating_pow(waits.min(8))).min(LONGEST_LIMIT_WAIT);
        // Up to a minute later, so that not every runner comes at once.
        let later = Duration::from_secs(1 + seed % 60);
        let after = failure.resets_at.map_or(unknown, |at| at.time_left(now).saturating_add(later));
        return RetryDecision::Wait { after };
    }
    if attempt >= policy.attempts || !applies_to(policy, failure) {
        return RetryDecision::GiveUp;
    }
    let delay = jittered(delay(policy, attempt), policy, seed);
    // A rate limit with a known end is waited for, even beyond `max_delay`.
    let limit = failure.resets_at.map_or(0, |at| at.seconds_since(now).saturating_add(1));
    let limit = Duration::from_secs(u64::try_from(limit).unwrap_or(0));
    RetryDecision::TryAgain { after: delay.max(limit) }
}

/// Tells whether a policy retries such a failure.
fn applies_to(policy: &Retry, failure: &Failure) -> bool {
    if policy.retry_on.is_empty() {
        return match failure.kind {
            FailureKind::SpendLimit
            | FailureKind::Authentication
            | FailureKind::NotFound
            | FailureKind::Request
            | FailureKind::Spawn => false,
            FailureKind::ServerError
            | FailureKind::Overloaded
            | FailureKind::RateLimit
            | FailureKind::UsageLimit
            | FailureKind::Network
            | FailureKind::Service
            | FailureKind::Timeout
            | FailureKind::Exit
            | FailureKind::Signal => true,
        };
    }
    let text = failure.message.to_lowercase();
    // For a shell command the kind is read from its last line of stderr.
    let kind = match failure.kind {
        FailureKind::Exit => service_kind(&text).unwrap_or(FailureKind::Exit),
        known => known,
    };
    policy.retry_on.iter().any(|on| match on {
        RetryOn::Network => kind == FailureKind::Network,
        RetryOn::Timeout => kind == FailureKind::Timeout,
        RetryOn::ServerError => {
            matches!(kind, FailureKind::ServerError | FailureKind::Overloaded | FailureKind::Service)
        }
        RetryOn::RateLimit => matches!(kind, FailureKind::RateLimit | FailureKind::UsageLimit),
        RetryOn::Any => true,
        RetryOn::Contains(part) => text.contains(&part.to_lowercase()),
        RetryOn::ExitCode(code) => failure.exit_code == Some(*code),
    })
}

fn delay(policy: &Retry, attempt: u32) -> Duration {
    let factor = match policy.backoff {
        Backoff::Fixed => 1,
        Backoff::Exponential => 2_u32.saturating_pow(attempt.saturating_sub(1)),
    };
    policy.initial_delay.saturating_mul(factor.max(1)).min(policy.max_delay)
}

/// Varies a delay uniformly within its jitter, in both directions.
fn jittered(delay: Duration, policy: &Retry, seed: u64) -> Duration {
    if policy.jitter <= 0.0 {
        return delay;
    }
    // One round of SplitMix64: neighbouring seeds give unrelated numbers.
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let thousandths = u32::try_from((mixed ^ (mixed >> 31)) % 2001).unwrap_or(1000);
    let part = (f64::from(thousandths) / 1000.0 - 1.0) * policy.jitter.min(1.0);
    delay.mul_f64(1.0 + part)
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
