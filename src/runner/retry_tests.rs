use std::time::Duration;

use super::{FailedCommand, Failure, FailureKind, Rejection, RetryDecision, classify, decide};
use crate::{
    model::Timestamp,
    workflow::{Backoff, Retry, RetryOn},
};

const NOW: i64 = 1_760_000_000;

fn now() -> Timestamp {
    Timestamp::from_unix(NOW, 0).unwrap()
}

/// Classifies a failure on a machine that keeps UTC.
fn sorted(failed: FailedCommand<'_>) -> Failure {
    classify(failed, now(), &|_, _| Some(0))
}

fn claude(said: &str) -> FailedCommand<'_> {
    let (exit_code, signal) = (Some(1), None);
    FailedCommand {
        exit_code,
        signal,
        timed_out: None,
        stderr: said,
        api_error: None,
        rejection: None,
        is_claude: true,
    }
}

/// What is reported as an error in the stream of `claude`.
fn reported(said: &str) -> FailedCommand<'_> {
    FailedCommand { stderr: "", api_error: Some(said), ..claude("") }
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, resets_at: None, exit_code: Some(1), message: "exit code 1: lock held".to_owned() }
}

#[test]
fn what_claude_says_of_its_service_is_sorted() {
    for (said, kind, is_transient) in [
        ("API Error: 500 {\"type\":\"error\"}", FailureKind::ServerError, true),
        ("Error: 500 Internal Server Error", FailureKind::ServerError, true),
        ("API Error (502 Bad gateway)", FailureKind::ServerError, true),
        ("HTTP 503", FailureKind::ServerError, true),
        ("529 {\"error\":{\"type\":\"overloaded_error\"}}", FailureKind::Overloaded, true),
        ("Overloaded", FailureKind::Overloaded, true),
        ("status code 429", FailureKind::RateLimit, true),
        ("Claude AI usage limit reached|1760003600", FailureKind::UsageLimit, true),
        ("You've hit your limit · resets 8pm (Europe/London)", FailureKind::UsageLimit, true),
        ("read ECONNRESET", FailureKind::Network, true),
        ("Request timed out", FailureKind::Timeout, true),
        ("API Error: 401 OAuth token has expired", FailureKind::Authentication, false),
        ("Invalid API key · Please run /login", FailureKind::Authentication, false),
        ("{\"type\":\"authentication_error\"}", FailureKind::Authentication, false),
        ("API Error: 404 {\"type\":\"not_found_error\"}", FailureKind::NotFound, false),
        ("500 files were changed and two tests fail", FailureKind::Exit, false),
        ("there are 500 lines, and 529 {", FailureKind::Exit, false),
        ("", FailureKind::Exit, false),
    ] {
        let found = sorted(claude(said));
        assert_eq!((found.kind, found.is_transient()), (kind, is_transient), "{said}");
    }
}

/// The texts of public reports, as the client has them in its stream; what follows each with the retries of a `claude` step.
#[test]
fn an_error_of_the_service_is_tried_again_unless_it_is_known_to_stay() {
    const AGAIN: [&str; 25] = [
        "API Error: 500 {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"}}",
        "API Error: 502 <html><title>502 Bad Gateway</title></html>",
        "API Error: 503 Service Unavailable",
        "API Error (504 Gateway Timeout)",
        "API Error: 520 <html>Web server is returning an unknown error</html>",
        "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        "API Error: Repeated 529 Overloaded errors",
        "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}",
        "API Error: Request rejected (429) · rate limit",
        "API Error: 408 Request Timeout",
        "API Error: Request timed out.",
        "API Error: Connection error.",
        "API Error: The socket connection was closed unexpectedly. For more information, pass `verbose: true`",
        "API Error: Connection closed mid-response. The response above may be incomplete.",
        "API Error: Stream idle timeout - partial response received",
        "API Error: Unable to connect to API (ConnectionRefused)",
        "API Error: Unable to connect to API (FailedToOpenSocket)",
        "API Error: Unable to connect to API (ECONNRESET)",
        "getaddrinfo EAI_AGAIN api.anthropic.com",
        "getaddrinfo ENOTFOUND api.anthropic.com",
        "connect ETIMEDOUT 160.79.104.10:443",
        "fetch failed",
        "terminated",
        "read ECONNRESET",
        "error_during_execution",
    ];
    const WAITS: [&str; 7] = [
        "You've hit your limit · resets 8pm (Europe/London)",
        "You've hit your session limit · resets 3:50pm (Asia/Tokyo)",
        "You've hit your weekly limit · resets Mon 5pm (Asia/Tokyo)",
        "You're out of extra usage · resets 9am (America/Cordoba)",
        "Claude AI usage limit reached|1760003600",
        "5-hour limit reached ∙ resets 3pm",
        "Opus weekly limit reached ∙ resets Oct 9 at 5pm",
    ];
    const ASKS: [&str; 2] = [
        "You've hit your monthly spend limit · raise it at claude.ai/settings/usage",
        "API Error: 400 {\"message\":\"You have reached your specified API usage limits. You will regain access on 2025-11-01 at 00:00 UTC.\"}",
    ];
    const NEVER: [&str; 12] = [
        "Invalid API key · Please run /login",
        "API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"OAuth token has expired\"}}",
        "OAuth token revoked · Please run /login",
        "API Error: 403 {\"error\":{\"type\":\"forbidden\",\"message\":\"Request not allowed\"}}",
        "Your organization has been disabled",
        "Credit balance is too low",
        "API Error: 400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"}}",
        "API Error: 404 {\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: x\"}}",
        "Prompt is too long",
        "error_max_turns",
        "Reached maximum number of turns (3)",
        "Reached maximum budget ($1)",
    ];
    let policy = Retry { jitter: 0.0, ..Retry::of_claude() };
    let follows = |said: &str| {
        let failure = sorted(reported(said));
        (decide(&policy, (1, 0), &failure, now(), 0), failure.is_transient())
    };
    for said in AGAIN {
        assert!(matches!(follows(said), (RetryDecision::TryAgain { .. }, true)), "{said}: {:?}", follows(said));
    }
    for said in WAITS {
        assert!(matches!(follows(said), (RetryDecision::Wait { .. }, true)), "{said}: {:?}", follows(said));
    }
    for said in ASKS {
        assert_eq!(follows(said), (RetryDecision::Ask, false), "{said}");
    }
    for said in NEVER {
        assert_eq!(follows(said), (RetryDecision::GiveUp, false), "{said}");
    }
}

#[test]
fn what_the_service_says_in_data_counts_before_its_words() {
    let resets_at = Timestamp::from_unix(NOW + 600, 0);
    for (said, kind) in [
        ("it did not work", FailureKind::UsageLimit),
        ("You've hit your limit · resets 8pm (Europe/London)", FailureKind::UsageLimit),
        ("You've hit your monthly spend limit", FailureKind::SpendLimit),
        ("error_max_turns", FailureKind::Request),
    ] {
        let failed = FailedCommand { rejection: Some(Rejection { resets_at }), ..reported(said) };
        let found = sorted(failed);
        let expected = resets_at.filter(|_| kind == FailureKind::UsageLimit);
        assert_eq!((found.kind, found.resets_at), (kind, expected), "{said}");
    }
}

#[test]
fn a_shell_command_may_print_anything() {
    let failed = FailedCommand { is_claude: false, ..claude("one\nHTTP 500: Overloaded\n\n") };
    let found = sorted(failed);
    assert_eq!((found.kind, found.is_transient()), (FailureKind::Exit, false));
    assert_eq!(found.message, "exit code 1: HTTP 500: Overloaded");
    for (failed, kind, message) in [
        (
            FailedCommand { timed_out: Some(Duration::from_secs(90)), stderr: "", ..failed },
            FailureKind::Timeout,
            "timed out after 90 s",
        ),
        (
            FailedCommand { signal: Some(9), exit_code: None, stderr: "", ..failed },
            FailureKind::Signal,
            "signal 9 ended it",
        ),
        (FailedCommand { exit_code: None, stderr: "", ..failed }, FailureKind::Spawn, "it could not be started"),
    ] {
        assert_eq!(
            sorted(failed),
            Failure { kind, resets_at: None, exit_code: failed.exit_code, message: message.to_owned() }
        );
    }
    let secret = FailedCommand { stderr: "bad key sk-0123456789abcdef", ..failed };
    assert_eq!(sorted(secret).message, "exit code 1: bad key [masked]");
}

#[test]
fn a_limit_says_when_it_ends() {
    for (said, after) in [
        ("Claude AI usage limit reached|1760003600", Some(3600)),
        ("rate limit, resets at 2025-10-09T09:53:20Z.", Some(3600)),
        ("rate limit", None),
    ] {
        let found = sorted(claude(said)).resets_at;
        assert_eq!(found.map(|at| at.seconds_since(now())), after, "{said}");
    }
    let limit = sorted(claude("usage limit reached|1760003600"));
    let policy = Retry { attempts: 2, ..Retry::usual() };
    assert_eq!(decide(&policy, (1, 0), &limit, now(), 0), RetryDecision::Wait { after: Duration::from_secs(3601) });
    let later = Timestamp::from_unix(NOW + 7200, 0).unwrap();
    assert_eq!(decide(&policy, (1, 0), &limit, later, 0), RetryDecision::Wait { after: Duration::from_secs(1) });
    // without a known end the waits grow to an hour, and none of them is a try; one that allows no second try fails at once.
    let unknown = sorted(claude("You've hit your limit"));
    let wait = |waits| decide(&policy, (1, waits), &unknown, now(), 0);
    for (waits, minutes) in [(0, 5), (1, 10), (3, 40), (4, 60), (40, 60)] {
        assert_eq!(wait(waits), RetryDecision::Wait { after: Duration::from_secs(minutes * 60) });
    }
    let once = Retry { attempts: 1, ..Retry::usual() };
    assert_eq!(decide(&once, (1, 0), &unknown, now(), 0), RetryDecision::GiveUp);
}

#[test]
fn delays_grow_as_they_are_told_to() {
    for (backoff, expected) in [(Backoff::Fixed, [2, 2, 2, 2, 2, 2]), (Backoff::Exponential, [2, 4, 8, 16, 20, 20])] {
        let policy = Retry {
            attempts: 100,
            backoff,
            initial_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(20),
            jitter: 0.0,
            retry_on: Vec::new(),
        };
        let after = |attempt| decide(&policy, (attempt, 0), &failure(FailureKind::Exit), now(), 0);
        for (seconds, attempt) in expected.into_iter().zip(1..) {
            assert_eq!(
                after(attempt),
                RetryDecision::TryAgain { after: Duration::from_secs(seconds) },
                "{backoff:?} {attempt}"
            );
        }
        assert!(matches!(after(99), RetryDecision::TryAgain { after } if after <= policy.max_delay));
        assert_eq!(after(100), RetryDecision::GiveUp);
    }
}

#[test]
fn chance_stays_within_its_part_and_the_same_seed_gives_the_same() {
    let policy = Retry { attempts: 2, initial_delay: Duration::from_secs(10), jitter: 0.25, ..Retry::usual() };
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let RetryDecision::TryAgain { after } = decide(&policy, (1, 0), &failure(FailureKind::Exit), now(), seed)
        else {
            panic!("it is tried again")
        };
        assert!((7.5..=12.5).contains(&after.as_secs_f64()), "{after:?}");
        assert_eq!(
            decide(&policy, (1, 0), &failure(FailureKind::Exit), now(), seed),
            RetryDecision::TryAgain { after }
        );
        seen.insert(after);
    }
    assert!(seen.len() > 100);
}

#[test]
fn a_policy_answers_to_what_it_names() {
    use FailureKind::*;
    let any = [ServerError, Overloaded, RateLimit, Network, Timeout, Exit, Signal];
    for (retry_on, answered) in [
        (vec![], any.to_vec()),
        (vec![RetryOn::Network], vec![Network]),
        (vec![RetryOn::ServerError, RetryOn::Timeout], vec![ServerError, Overloaded, Timeout]),
        (Retry::of_claude().retry_on, vec![ServerError, Overloaded, RateLimit, Network, Timeout]),
        (vec![RetryOn::Contains("Lock".to_owned())], [&any[..], &[Authentication, NotFound, Spawn]].concat()),
        (vec![RetryOn::Contains("disk".to_owned()), RetryOn::ExitCode(75)], vec![]),
    ] {
        let policy = Retry { retry_on, ..Retry::usual() };
        for kind in [&any[..], &[Authentication, NotFound, Spawn]].concat() {
            let again = decide(&policy, (1, 0), &failure(kind), now(), 0) != RetryDecision::GiveUp;
            assert_eq!(again, answered.contains(&kind), "{:?} {kind:?}", policy.retry_on);
        }
    }
    let one = Retry { retry_on: vec![RetryOn::ExitCode(1)], ..Retry::usual() };
    assert_ne!(decide(&one, (1, 0), &failure(Exit), now(), 0), RetryDecision::GiveUp);
    let network = Retry { retry_on: vec![RetryOn::Network, RetryOn::ServerError], ..Retry::usual() };
    for (said, is_answered) in [
        ("curl: (7) Failed to connect: Connection refused", true),
        ("The requested URL returned error: HTTP 503", true),
        ("500 tests failed", false),
        ("HTTP 404", false),
    ] {
        let failed = sorted(FailedCommand { is_claude: false, ..claude(said) });
        assert_eq!(decide(&network, (1, 0), &failed, now(), 0) != RetryDecision::GiveUp, is_answered, "{said}");
        assert!(!failed.is_transient(), "{said}");
    }
}
