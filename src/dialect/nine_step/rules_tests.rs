use super::{StatusWord, StepNumber, StepPosition, is_test_failure, is_worktree_failure};
use crate::model::ReviewVerdict;

#[test]
fn only_the_ten_steps_exist() {
    for (text, step) in [
        ("1", Some(StepNumber::Plan)),
        ("2.5", Some(StepNumber::Approval)),
        ("2.50", Some(StepNumber::Approval)),
        ("4.0", Some(StepNumber::CodeReview)),
        (" 9 ", Some(StepNumber::Commit)),
        ("2.4", None),
        ("3.5", None),
        ("0", None),
        ("10", None),
        ("-1", None),
        ("NaN", None),
        ("", None),
    ] {
        assert_eq!(StepNumber::parse(text), step, "{text}");
    }
}

#[test]
fn the_gate_lies_between_two_and_three() {
    assert!(StepPosition::parse("2:2").unwrap() < StepPosition::parse("2:2.5").unwrap());
    assert!(StepPosition::parse("2:2.5").unwrap() < StepPosition::parse("2:3").unwrap());
    assert!(StepPosition::parse("2:9").unwrap() < StepPosition::parse("3:1").unwrap());
    assert_eq!(StepPosition::parse("2:2.5").unwrap().to_string(), "2:2.5");
    for text in ["", "2", "0:1", "a:1", "1:2.4", "1:1:1", "-1:3", "99999999999:1"] {
        assert_eq!(StepPosition::parse(text), None, "{text}");
    }
}

#[test]
fn status_words_are_read_whatever_their_spelling() {
    for (text, word) in [
        ("completed", Some(StatusWord::Completed)),
        ("In Progress", Some(StatusWord::InProgress)),
        ("IN-PROGRESS", Some(StatusWord::InProgress)),
        ("⏳ waiting_approval", Some(StatusWord::WaitingApproval)),
        ("✅ Approved", Some(StatusWord::Verdict(ReviewVerdict::Approved))),
        ("Valid with Caveats", Some(StatusWord::Verdict(ReviewVerdict::ApprovedWithConditions))),
        ("Testing Incomplete", Some(StatusWord::Verdict(ReviewVerdict::NeedsRevision))),
        ("INVALID", Some(StatusWord::Verdict(ReviewVerdict::Rejected))),
        ("done", Some(StatusWord::Completed)),
        ("complete", None),
        ("", None),
    ] {
        assert_eq!(StatusWord::parse(text), word, "{text}");
    }
}

#[test]
fn failing_tests_are_told_from_failing_agents() {
    for text in [
        "3 tests failed",
        "2 of 40 tests failed: test_login, test_logout",
        "38 passed, 2 failed",
        "The tests are failing on main",
        "Failing tests: quote_service_test",
        "FAILED tests/test_quotes.py::test_ttl",
        "Test failure in QuoteService",
        "test_ttl failed",
        "AssertionError: assertion failed",
        "the integration tests do not pass",
    ] {
        assert!(is_test_failure(text), "{text}");
    }
    for text in [
        "",
        "agent timed out",
        "Agent failed: test runner crashed",
        "tests failed to start: pytest not found",
        "usage limit reached while testing",
        "40 passed, 0 failed; the agent was cut off",
        "no failing tests, the report was not written",
        "API error 529",
    ] {
        assert!(!is_test_failure(text), "{text}");
    }
}

#[test]
fn a_worktree_that_cannot_be_made_is_no_objection_to_the_plan() {
    assert!(is_worktree_failure("fatal: '.worktree/f' already exists"));
    assert!(!is_worktree_failure("split phase 2, please"));
}
