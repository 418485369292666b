//! The timeouts and retries of a workflow file. Pure.

use std::time::Duration;

use super::{Backoff, Retry, RetryOn};
use crate::{
    document::{
        Kind, Node,
        definition::{Fields, Problems, Text, text_of},
    },
    model::clean_line,
};

const RETRY_KEYS: [&str; 6] = ["attempts", "backoff", "initial_delay", "max_delay", "jitter", "retry_on"];
/// The longest duration, in seconds.
const LONGEST: f64 = 31_536_000.0;
/// The jitter of `jitter: true`.
const USUAL_JITTER: f64 = 0.3;

/// Reads a length of time: a number of seconds, or `500ms`, `2s`, `1m30s`, `2h`, `1d`.
pub(super) fn duration(node: &Node, what: &str, problems: &mut Problems<'_>) -> Option<Duration> {
    let text = text_of(node, what, problems)?;
    match seconds(&text.text) {
        Some(seconds) if seconds > 0.0 && seconds <= LONGEST => Some(Duration::from_secs_f64(seconds)),
        Some(_) => {
            problems.add(
                node.place,
                format!("{what} is more than 0 seconds and at most a year"),
                "write `90` or `1m30s`",
            );
            None
        }
        None => {
            let message = format!("{what} is a length of time, not `{}`", clean_line(&text.text, 40));
            problems.add(node.place, message, "write seconds (`90`), or `500ms`, `1m30s`, `2h`");
            None
        }
    }
}

fn seconds(text: &str) -> Option<f64> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut rest = text.trim();
    if !rest.is_empty() && rest.chars().all(is_number) {
        return rest.parse().ok();
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let number = rest.find(|c| !is_number(c))?;
        let unit = rest[number..].find(is_number).map_or(rest.len(), |at| number + at);
        let factor = match rest[number..unit].trim() {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum += rest[..number].parse::<f64>().ok()? * factor;
        rest = &rest[unit..];
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// Reads a whole number between two others.
pub(super) fn count(node: &Node, what: &str, range: (u32, u32), problems: &mut Problems<'_>) -> Option<u32> {
    let (least, most) = range;
    let found = match &node.kind {
        Kind::Number(text) | Kind::Text(text) => text.trim().parse::<u32>().ok(),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    };
    let found = found.filter(|found| (least..=most).contains(found));
    if found.is_none() {
        let message = format!("{what} is a whole number from {least} to {most}");
        problems.add(node.place, message, format!("write a number from {least} to {most}"));
    }
    found
}

/// Reads a number between two others.
pub(super) fn number(node: &Node, what: &str, most: f64, problems: &mut Problems<'_>) -> Option<f64> {
    let found = match &node.kind {
        Kind::Number(text) | Kind::Text(text) => text.trim().parse::<f64>().ok(),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    };
    let found = found.filter(|found| (0.0..=most).contains(found));
    if found.is_none() {
        problems.add(
            node.place,
            format!("{what} is a number from 0 to {most}"),
            format!("write a number from 0 to {most}"),
        );
    }
    found
}

/// What a step inherits from its workflow.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited {
    pub(super) timeout: Option<Duration>,
    pub(super) retry: Option<Retry>,
}

/// Reads `retry: 3` or a mapping.
pub(super) fn retry(node: &Node, problems: &mut Problems<'_>) -> Option<Retry> {
    let usual = Retry::usual();
    if !matches!(node.kind, Kind::Map(_)) {
        return Some(Retry { attempts: count(node, "`retry`", (1, 1000), problems)?, ..usual });
    }
    let mut map = Fields::of(node, "`retry`", &RETRY_KEYS, problems)?;
    let attempts = map.take("attempts");
    let initial = map.take("initial_delay");
    let longest = map.take("max_delay");
    let jitter = match map.take("jitter") {
        Some(Node { kind: Kind::Bool(false), .. }) => Some(0.0),
        Some(Node { kind: Kind::Bool(true), .. }) => Some(USUAL_JITTER),
        Some(node) => number(node, "`jitter`", 1.0, problems),
        None => None,
    };
    let retry_on = map.take("retry_on").map(|node| retry_on(node, problems)).unwrap_or_default();
    let initial_delay = initial.and_then(|node| duration(node, "`initial_delay`", problems));
    let max_delay = longest.and_then(|node| duration(node, "`max_delay`", problems));
    let initial_delay = initial_delay.unwrap_or(usual.initial_delay);
    Some(Retry {
        attempts: attempts.and_then(|node| count(node, "`attempts`", (1, 1000), problems)).unwrap_or(usual.attempts),
        backoff: map.text("backoff", problems).and_then(|text| backoff(&text, problems)).unwrap_or(usual.backoff),
        initial_delay,
        max_delay: max_delay.unwrap_or(usual.max_delay).max(initial_delay),
        jitter: jitter.unwrap_or(usual.jitter),
        retry_on,
    })
}

fn backoff(text: &Text, problems: &mut Problems<'_>) -> Option<Backoff> {
    let found = match text.text.to_ascii_lowercase().as_str() {
        "exponential" => Some(Backoff::Exponential),
        "fixed" => Some(Backoff::Fixed),
        _ => None,
    };
    if found.is_none() {
        let message = format!("`{}` is not a backoff", clean_line(&text.text, 40));
        problems.add(text.place, message, "use exponential or fixed");
    }
    found
}

fn retry_on(node: &Node, problems: &mut Problems<'_>) -> Vec<RetryOn> {
    let list = match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => std::slice::from_ref(node),
    };
    list.iter().filter_map(|item| failure(item, problems)).collect()
}

fn failure(node: &Node, problems: &mut Problems<'_>) -> Option<RetryOn> {
    if matches!(node.kind, Kind::Map(_)) {
        let mut map = Fields::of(node, "an entry of `retry_on`", &["pattern", "exit_code"], problems)?;
        let code = map.take("exit_code").and_then(|node| count(node, "`exit_code`", (0, 255), problems));
        let pattern = map.text("pattern", problems).map(|text| RetryOn::Contains(text.text));
        return code.and_then(|code| i32::try_from(code).ok()).map(RetryOn::ExitCode).or(pattern);
    }
    let text = text_of(node, "an entry of `retry_on`", problems)?;
    if let Ok(code) = text.text.parse::<u8>() {
        return Some(RetryOn::ExitCode(i32::from(code)));
    }
    let word: String = text.text.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    Some(match word.as_str() {
        "network" => RetryOn::Network,
        "timeout" => RetryOn::Timeout,
        "servererror" => RetryOn::ServerError,
        "ratelimit" => RetryOn::RateLimit,
        "any" | "all" => RetryOn::Any,
        _ => RetryOn::Contains(text.text),
    })
}
