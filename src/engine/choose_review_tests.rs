//! Rules 4 and 5 where work is refused: what reviews send back, what is tried again, and when a person decides.

use super::{
    choose_tests::{next, nine},
    testing::{
        at, finding, has, line_of, next_of, notable_codes, options, path, plan_of, review, run_of, step, with_statuses,
    },
};
use crate::model::{DecisionKind, FindingCode, Options, ReviewVerdict, Run, Status, StepId, StepKind, Verdict};

#[test]
fn a_return_says_whose_findings_are_to_be_addressed() {
    let mut run = nine("4", Status::Failed);
    step(&mut run, "4").review = review(ReviewVerdict::NeedsRevision);
    step(&mut run, "3").agent = Some("backend-developer".to_owned());
    step(&mut run, "3").attempts = 1;
    let planned = plan_of(&run, &options());
    let next = &planned.plan.next[0];
    assert_eq!((next.step.as_str(), next.agent.as_deref()), ("3", Some("backend-developer")));
    assert_eq!((next.reason.as_str(), next.rule.as_str()), ("Address reviewer-4 feedback", "4.return"));
    assert_eq!(next.evidence, ["4 ended with NEEDS_REVISION", "the state says completed"]);
    assert_eq!((next.attempt, next.cost.steps_again), (2, 1));
    let groups = &planned.plan.steps;
    assert_eq!((groups.pending[0].as_str(), groups.failed[0].as_str()), ("3", "4"));
}

#[test]
fn going_far_back_costs_what_lies_between() {
    let mut run = nine("7", Status::Failed);
    step(&mut run, "7").returns_to = Some(StepId::new("3"));
    for (id, minutes) in [("3", 30), ("4", 5), ("5", 7), ("6", 3)] {
        let done = step(&mut run, id);
        (done.started_at, done.finished_at) = (Some(at(0)), Some(at(60 * minutes + 59)));
    }
    let planned = plan_of(&run, &options());
    assert_eq!(next_of(&planned), ["return 3"]);
    let cost = planned.plan.next[0].cost;
    assert_eq!((cost.attempts, cost.steps_again, cost.minutes_again), (0, 4, 45));
}

#[test]
fn a_retry_costs_what_the_last_attempt_took() {
    let mut run = line_of(&[("A", Status::Failed)]);
    let failed = step(&mut run, "A");
    (failed.attempts, failed.started_at, failed.finished_at) = (2, Some(at(0)), Some(at(600)));
    let next = &plan_of(&run, &options()).plan.next[0];
    assert_eq!((next.attempt, next.cost.attempts, next.cost.steps_again, next.cost.minutes_again), (3, 2, 0, 10));
    let failed = step(&mut run, "A");
    (failed.started_at, failed.finished_at, failed.attempts) = (Some(at(600)), Some(at(0)), u32::MAX);
    let next = &plan_of(&run, &options()).plan.next[0];
    assert_eq!(
        (next.attempt, next.cost.minutes_again),
        (u32::MAX, 0),
        "clocks run backwards, counters do not overflow"
    );
}

#[test]
fn work_that_was_sent_back_comes_before_its_dependents() {
    // W is reviewed by V; X depends on W too, N does not.
    let steps: &[(&str, &[&str])] = &[("W", &[]), ("V", &["W"]), ("X", &["W"]), ("N", &[])];
    for (x, expected) in [
        (Status::Pending, vec!["run N", "return W"]),
        (Status::InProgress, vec!["run N", "return W"]),
        (Status::Failed, vec!["run N", "return W"]),
        (Status::WaitingApproval, vec!["run N", "return W"]),
    ] {
        let mut run = with_statuses(run_of(steps), &[Status::Completed, Status::Failed, x, Status::Pending]);
        step(&mut run, "V").returns_to = Some(StepId::new("W"));
        assert_eq!(next(&run), expected, "{x}");
    }
}

#[test]
fn two_reviews_send_the_same_work_back_once() {
    let steps: &[(&str, &[&str])] = &[("W", &[]), ("V1", &["W"]), ("V2", &["W"])];
    let mut run = with_statuses(run_of(steps), &[Status::Completed, Status::Failed, Status::Failed]);
    for id in ["V1", "V2"] {
        step(&mut run, id).returns_to = Some(StepId::new("W"));
    }
    let planned = plan_of(&run, &options());
    assert_eq!(next_of(&planned), ["return W"]);
    assert_eq!(planned.plan.next[0].reason, "Address Title of V1 and Title of V2 feedback");
    assert_eq!(
        planned.plan.next[0].evidence,
        ["V1 ended with failed", "V2 ended with failed", "the state says completed"]
    );
    step(&mut run, "V2").failures = 3;
    assert_eq!(finding(&plan_of(&run, &options()), FindingCode::AttemptLimit).step, Some(StepId::new("V2")));
}

#[test]
fn the_status_of_work_that_was_sent_back_decides() {
    for (work, expected) in [
        (Status::Completed, vec!["return W"]),
        (Status::Pending, vec!["return W"]),
        (Status::Blocked, vec!["return W"]),
        (Status::InProgress, vec!["retry W"]),
        (Status::Failed, vec!["retry W"]),
        (Status::WaitingApproval, vec!["approve W"]),
        (Status::Skipped, vec!["retry V"]),
    ] {
        let mut run = line_of(&[("W", work), ("V", Status::Failed)]);
        step(&mut run, "V").returns_to = Some(StepId::new("W"));
        assert_eq!(next(&run), expected, "{work}");
    }
}

#[test]
fn work_that_was_done_again_since_is_reviewed_again() {
    for (reviewed, worked, expected) in [
        (Some(at(10)), Some(at(20)), "retry V"),
        (Some(at(10)), Some(at(10)), "return W"),
        (Some(at(10)), Some(at(5)), "return W"),
        (Some(at(10)), None, "return W"),
        (None, Some(at(20)), "return W"),
    ] {
        let mut run = line_of(&[("W", Status::Completed), ("V", Status::Failed)]);
        let failed = step(&mut run, "V");
        (failed.returns_to, failed.finished_at) = (Some(StepId::new("W")), reviewed);
        failed.failures = if expected == "retry V" { 3 } else { 1 };
        step(&mut run, "W").finished_at = worked;
        let planned = plan_of(&run, &options());
        assert_eq!(next_of(&planned), [expected], "{reviewed:?} {worked:?}");
        assert_eq!(planned.plan.verdict, Verdict::Resume, "the rework was allowed before");
    }
}

#[test]
fn a_chain_of_reviews_goes_back_to_its_root() {
    let mut run = line_of(&[("W", Status::Completed), ("V", Status::Failed), ("U", Status::Failed)]);
    step(&mut run, "V").returns_to = Some(StepId::new("W"));
    step(&mut run, "U").returns_to = Some(StepId::new("V"));
    assert_eq!(next(&run), ["return W"]);
}

#[test]
fn rejections_and_the_third_failure_are_for_a_person() {
    use ReviewVerdict::{NeedsRevision, Rejected};
    for (failures, verdict, code) in [
        (1, NeedsRevision, None),
        (2, NeedsRevision, None),
        (3, NeedsRevision, Some(FindingCode::AttemptLimit)),
        (4, NeedsRevision, Some(FindingCode::AttemptLimit)),
        (1, Rejected, Some(FindingCode::Rejected)),
        (3, Rejected, Some(FindingCode::Rejected)),
    ] {
        let mut run = nine("4", Status::Failed);
        step(&mut run, "4").failures = failures;
        step(&mut run, "4").review = review(verdict);
        let planned = plan_of(&run, &options());
        assert_eq!(next_of(&planned), ["return 3"], "the step is proposed all the same");
        assert_eq!(notable_codes(&planned), code.into_iter().collect::<Vec<_>>(), "{failures} {verdict}");
        let stopped = if code.is_some() { Verdict::Blocked } else { Verdict::Resume };
        assert_eq!(planned.plan.verdict, stopped);
        assert_eq!(planned.plan.commands.begin.is_some(), code.is_none(), "no command is given for what is refused");
        let forced = plan_of(&run, &Options { force: true, ..options() });
        let forced_codes: Vec<FindingCode> = code.map(|_| FindingCode::OverrideForced).into_iter().collect();
        assert_eq!(notable_codes(&forced), forced_codes);
        if code.is_some() {
            assert_eq!(forced.plan.verdict, Verdict::Confirm);
            assert_eq!(forced.plan.commands.begin, None, "the resume records the decision first");
            assert_eq!(forced.needs, [(StepId::new("4"), DecisionKind::Redo)]);
        }
    }
}

#[test]
fn limits_name_a_way_out_that_is_open() {
    let mut run = line_of(&[("A", Status::Failed)]);
    step(&mut run, "A").failures = 3;
    let planned = plan_of(&run, &options());
    let limit = finding(&planned, FindingCode::AttemptLimit);
    assert_eq!(limit.message, "A (Title of A) failed 3 times");
    assert_eq!(limit.fix_text().as_deref(), Some("a person decides: `piton decide A --run R`"));
    let words = |planned: &crate::engine::Planned| {
        let options = planned.plan.questions.iter().flat_map(|question| &question.options);
        options.map(|option| option.id.clone()).collect::<Vec<String>>()
    };
    assert_eq!(words(&planned), ["redo", "skip", "abort"]);
    step(&mut run, "A").kind = StepKind::Review;
    assert_eq!(words(&plan_of(&run, &options())), ["redo", "accept", "abort"]);
    assert_eq!(notable_codes(&plan_of(&run, &Options { attempt_limit: 4, ..options() })), []);
}

#[test]
fn a_limit_says_what_each_attempt_said() {
    let mut run = line_of(&[("A", Status::Failed)]);
    step(&mut run, "A").failures = 3;
    step(&mut run, "A").past_errors = ["- no such table", "  ", "timed out\nafter 5 s"].map(str::to_owned).to_vec();
    let planned = plan_of(&run, &options());
    assert_eq!(
        finding(&planned, FindingCode::AttemptLimit).message,
        "A (Title of A) failed 3 times (attempt 1: no such table; attempt 2: no message; attempt 3: timed out after 5 s)"
    );
}

#[test]
fn interrupted_rework_still_names_the_review_that_sent_it_back() {
    for (status, reason) in [
        (
            Status::InProgress,
            "A was started but never finished; it was sent back by B (Title of B), whose findings are still open",
        ),
        (
            Status::Failed,
            "A failed; retry with the error of the last attempt; it was sent back by B (Title of B), whose findings are still open",
        ),
    ] {
        let mut run = line_of(&[("A", status), ("B", Status::Pending)]);
        step(&mut run, "B").returns_to = Some(StepId::new("A"));
        step(&mut run, "B").error = Some("no tests".to_owned());
        assert_eq!(plan_of(&run, &options()).plan.next[0].reason, reason);
        // A review that found nothing yet, or that has passed since, sent nothing back.
        let plain = reason.split_once("; it was sent back").map(|(plain, _)| plain);
        let mut unsaid = run.clone();
        step(&mut unsaid, "B").error = None;
        step(&mut run, "B").status = Status::Completed;
        for run in [unsaid, run] {
            assert_eq!(Some(plan_of(&run, &options()).plan.next[0].reason.as_str()), plain);
        }
    }
}

#[test]
fn open_conditions_belong_to_the_work_then_to_its_review() {
    let mut run = nine("4", Status::Completed);
    step(&mut run, "4").review = review(ReviewVerdict::ApprovedWithConditions);
    step(&mut run, "4").finished_at = Some(at(1));
    let of = |run: &Run| {
        let planned = plan_of(run, &options());
        assert_eq!(notable_codes(&planned), [FindingCode::ConditionsOpen]);
        assert_eq!(planned.plan.verdict, Verdict::Confirm);
        let accept = planned.plan.question().and_then(|question| question.option("accept"));
        assert_eq!(
            accept.map(|option| option.command.to_string()).as_deref(),
            Some("piton decide 4 accept --run R --by NAME --note WHY")
        );
        (next_of(&planned), planned.plan.commands.begin.map_or_else(String::new, String::from))
    };
    // A person says first that they are met.
    assert_eq!(of(&run), (vec!["return 3".to_owned()], String::new()));
    step(&mut run, "3").finished_at = Some(at(2));
    assert_eq!(of(&run), (vec!["retry 4".to_owned()], String::new()));
    // Without work that it is about, the review itself is looked at.
    step(&mut run, "4").returns_to = None;
    assert_eq!(of(&run), (vec!["verify 4".to_owned()], "piton finish 4 --run R --verdict VERDICT".to_owned()));
}

#[test]
fn lost_work_that_failed_too_often_is_decided_by_a_person() {
    let mut run = line_of(&[("A", Status::Completed)]);
    step(&mut run, "A").proof.outputs = vec![path("gone.json")];
    assert!(!has(&plan_of(&run, &options()), FindingCode::AttemptLimit));
    step(&mut run, "A").failures = 3;
    assert_eq!(finding(&plan_of(&run, &options()), FindingCode::AttemptLimit).step, Some(StepId::new("A")));
}

#[test]
fn nothing_is_sent_back_to_work_that_still_waits() {
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("W", &["A"]), ("V", &["W"])];
    for (before, expected) in
        [(Status::InProgress, "retry A"), (Status::Pending, "run A"), (Status::Completed, "return W")]
    {
        let mut run = with_statuses(run_of(steps), &[before, Status::Completed, Status::Failed]);
        step(&mut run, "V").returns_to = Some(StepId::new("W"));
        assert_eq!(next(&run), [expected], "{before}");
    }
}

#[test]
fn a_review_whose_findings_were_worked_on_is_asked_again() {
    let mut run = nine("4", Status::Failed);
    step(&mut run, "4").finished_at = Some(at(0));
    for (finished, expected, rule) in
        [(-1, "return 3", "4.return"), (0, "return 3", "4.return"), (1, "retry 4", "4.again")]
    {
        step(&mut run, "3").finished_at = Some(at(finished));
        let planned = plan_of(&run, &options());
        assert_eq!((next_of(&planned), planned.plan.next[0].rule.as_str()), (vec![expected.to_owned()], rule));
    }
    assert_eq!(plan_of(&run, &options()).plan.next[0].reason, "the findings of 4 were worked on since; review again");
}

#[test]
fn the_reason_of_a_retry_is_what_ended_the_last_attempt() {
    for (verdict, reason) in [
        (None, "A failed; retry with the error of the last attempt"),
        (Some(ReviewVerdict::Approved), "A failed; retry with the error of the last attempt"),
        (Some(ReviewVerdict::NeedsRevision), "A ended with NEEDS_REVISION"),
    ] {
        let mut run = line_of(&[("A", Status::Failed)]);
        step(&mut run, "A").review = verdict.and_then(review);
        assert_eq!(plan_of(&run, &options()).plan.next[0].reason, reason);
    }
    for (status, before, reason) in [
        (Status::Blocked, &[][..], "the state says blocked without naming what it waits for"),
        (Status::Pending, &[][..], "it depends on nothing"),
        (Status::Pending, &[("A", Status::Skipped)][..], "A was skipped"),
        (Status::Blocked, &[("A", Status::Completed)][..], "A is done"),
    ] {
        let steps: Vec<(&str, Status)> = before.iter().copied().chain([("B", status)]).collect();
        assert_eq!(plan_of(&line_of(&steps), &options()).plan.next[0].reason, reason);
    }
}

#[test]
fn a_limit_names_the_work_that_can_go_on_meanwhile() {
    for (status, failures, recorded, is_named) in [
        (Status::Pending, 0, true, true),
        (Status::Pending, 3, true, false),
        (Status::InProgress, 0, true, false),
        (Status::Pending, 0, false, false),
    ] {
        let mut run = with_statuses(run_of(&[("A", &[]), ("N", &[])]), &[Status::Failed, status]);
        step(&mut run, "A").failures = 3;
        let other = step(&mut run, "N");
        (other.failures, other.recorded) = (failures, recorded);
        let planned = plan_of(&run, &options());
        let fix = finding(&planned, FindingCode::AttemptLimit).fix_text().unwrap();
        assert_eq!(fix.contains("piton begin N --run R"), is_named, "{status} {failures} {recorded}: {fix}");
    }
}
