//! Rule 7: every option of a caller is checked, and each leaves a finding.

use super::testing::{
    finding, ids, line_of, next_of, notable_codes, options, path, plan_of, review, run_of, step, with_statuses,
};
use crate::model::{
    DecisionKind, FindingCode, Options, Part, PartKind, PartRef, ReviewVerdict, Run, Status, StepId, StepKind, Verdict,
};

const REFUSED: FindingCode = FindingCode::OverrideRefused;

fn from(names: &[&str]) -> Options {
    Options { from: ids(names), ..options() }
}

fn forced(options: Options) -> Options {
    Options { force: true, ..options }
}

fn retry(id: Option<&str>) -> Options {
    Options { retry: Some(id.map(StepId::new)), ..options() }
}

fn to_step(id: &str) -> Options {
    Options { to_step: Some(StepId::new(id)), ..options() }
}

/// Returns why an option was refused, and checks that nothing is next.
fn refusal(run: &Run, options: &Options) -> String {
    let planned = plan_of(run, options);
    assert_eq!((planned.plan.verdict, next_of(&planned).len()), (Verdict::Blocked, 0), "{:?}", planned.findings);
    finding(&planned, REFUSED).message.clone()
}

/// Done, failed, cut off, and three that wait in a line for the last of them.
fn mixed() -> Run {
    let steps: &[(&str, &[&str])] =
        &[("D", &[]), ("F", &["D"]), ("I", &["D"]), ("P", &["D"]), ("Q", &["P"]), ("R", &["Q"])];
    with_statuses(
        run_of(steps),
        &[Status::Completed, Status::Failed, Status::InProgress, Status::Pending, Status::Pending],
    )
}

#[test]
fn from_chooses_exactly_the_named_steps() {
    for (names, expected) in [
        (vec!["P"], vec!["run P"]),
        (vec!["F"], vec!["retry F"]),
        (vec!["I"], vec!["retry I"]),
        (vec!["D"], vec!["retry D"]),
        (vec!["P", "F"], vec!["retry F", "run P"]),
        (vec!["P", "P"], vec!["run P"]),
    ] {
        let planned = plan_of(&mixed(), &from(&names));
        assert_eq!(next_of(&planned), expected);
        assert!(planned.plan.next.iter().all(|next| next.rule == "7.from"));
        assert_eq!(notable_codes(&planned), []);
    }
    let planned = plan_of(&mixed(), &from(&["P"]));
    assert_eq!(finding(&planned, FindingCode::Override).message, "--from chose P instead of the first open step");
    assert_eq!(planned.plan.next[0].reason, "chosen with --from");
    assert_eq!(planned.plan.commands.begin.as_ref().map(ToString::to_string).as_deref(), Some("piton begin P --run R"));
    assert_eq!(
        planned.plan.commands.resume.as_ref().map(ToString::to_string).as_deref(),
        Some("piton resume R --from P")
    );
}

#[test]
fn what_is_done_begins_again_only_after_a_decision() {
    for (status, begin) in [
        (Status::Completed, None),
        (Status::Skipped, None),
        (Status::Cancelled, None),
        (Status::Failed, Some("piton begin A --run R")),
        (Status::InProgress, Some("piton begin A --run R")),
        (Status::Pending, Some("piton begin A --run R")),
    ] {
        let planned = plan_of(&line_of(&[("A", status)]), &from(&["A"]));
        assert_eq!(planned.plan.commands.begin.as_ref().map(ToString::to_string).as_deref(), begin, "{status}");
        let needs = if begin.is_none() { vec![(StepId::new("A"), DecisionKind::Redo)] } else { Vec::new() };
        assert_eq!(planned.needs, needs, "{status}");
    }
}

#[test]
fn from_waits_for_dependencies_unless_forced() {
    assert_eq!(refusal(&mixed(), &from(&["R"])), "R still waits for Q (R waits for Q waits for P)");
    assert_eq!(refusal(&mixed(), &from(&["Q"])), "Q still waits for P");
    let planned = plan_of(&mixed(), &forced(from(&["R"])));
    assert_eq!(next_of(&planned), ["run R"]);
    assert_eq!(notable_codes(&planned), [FindingCode::OverrideForced]);
    assert_eq!(planned.plan.verdict, Verdict::Confirm);
    assert_eq!(planned.plan.commands.begin, None);
    assert_eq!(planned.needs, [(StepId::new("R"), DecisionKind::Override)]);
    let mut run = mixed();
    step(&mut run, "P").dangling = vec!["GONE".to_owned()];
    assert_eq!(refusal(&run, &from(&["P"])), "P still waits for GONE");
}

#[test]
fn if_dependencies_met_answers_no() {
    let options = |id| Options { if_dependencies_met: true, ..from(&[id]) };
    let planned = plan_of(&mixed(), &options("R"));
    assert_eq!((planned.dependencies_unmet, planned.plan.verdict), (true, Verdict::Blocked));
    let message = "R still waits for Q (R waits for Q waits for P)";
    assert_eq!(finding(&planned, FindingCode::DependencyBlock).message, message);
    assert_eq!(planned.plan.question().map(|question| &question.text), None);
    let planned = plan_of(&mixed(), &options("P"));
    assert_eq!((planned.dependencies_unmet, planned.plan.verdict), (false, Verdict::Resume));
    // Nothing is open, and still one dependency is not met.
    let over = line_of(&[("A", Status::Cancelled), ("B", Status::Completed)]);
    let planned = plan_of(&over, &options("B"));
    assert_eq!((planned.dependencies_unmet, planned.plan.verdict), (true, Verdict::Blocked));
}

#[test]
fn parallel_steps_must_not_wait_for_each_other() {
    let options = |names: &[&str]| Options { parallel: true, ..forced(from(names)) };
    assert_eq!(next_of(&plan_of(&mixed(), &options(&["F", "P"]))), ["retry F", "run P"]);
    for names in [["P", "Q"], ["Q", "P"]] {
        assert_eq!(refusal(&mixed(), &options(&names)), "Q waits for P: they cannot run in parallel");
    }
    assert_eq!(refusal(&mixed(), &options(&["P", "R"])), "R waits for P: they cannot run in parallel");
    assert_eq!(next_of(&plan_of(&mixed(), &forced(from(&["P", "Q"])))), ["run P", "run Q"], "one after the other");
}

#[test]
fn no_option_steps_over_a_gate_or_a_review() {
    for (kind, status, fix) in [
        (StepKind::Gate, Status::Pending, "piton decide G approve --run R --by NAME"),
        (StepKind::Gate, Status::WaitingApproval, "piton decide G approve --run R --by NAME"),
        (StepKind::Gate, Status::Failed, "piton plan R"),
        (StepKind::Review, Status::Failed, "piton plan R"),
        (StepKind::Review, Status::InProgress, "piton begin G --run R"),
    ] {
        let mut run =
            line_of(&[("A", Status::Completed), ("G", status), ("B", Status::Pending), ("C", Status::Pending)]);
        step(&mut run, "G").kind = kind;
        step(&mut run, "C").status = Status::Failed;
        let all = [forced(from(&["B"])), forced(from(&["C"])), forced(retry(Some("C")))];
        for options in all {
            assert!(refusal(&run, &options).contains("comes after G"));
            assert_eq!(finding(&plan_of(&run, &options), REFUSED).fix_text().as_deref(), Some(fix));
        }
        let skips = Options { skip: ids(&["G"]), force: true, ..options() };
        let planned = plan_of(&run, &skips);
        assert!(finding(&planned, REFUSED).message.starts_with("G cannot be skipped: a "));
        assert_eq!(planned.plan.verdict, Verdict::Blocked);
    }
}

#[test]
fn a_gate_that_is_named_is_put_to_a_person() {
    for status in [Status::Pending, Status::WaitingApproval, Status::Failed] {
        let mut run = line_of(&[("A", Status::Completed), ("G", status)]);
        step(&mut run, "G").kind = StepKind::Gate;
        for options in [from(&["G"]), forced(retry(Some("G")))] {
            assert_eq!(next_of(&plan_of(&run, &options)), ["approve G"], "{status}");
        }
    }
    let mut run = line_of(&[("G", Status::Completed), ("A", Status::Pending)]);
    step(&mut run, "G").kind = StepKind::Gate;
    assert_eq!(refusal(&run, &forced(from(&["G"]))), "G is a gate, and it is completed");
    let run = line_of(&[("A", Status::WaitingApproval)]);
    assert_eq!(next_of(&plan_of(&run, &forced(from(&["A"])))), ["approve A"], "work that waits for a person too");
}

#[test]
fn what_cannot_be_chosen_is_refused_by_name() {
    let mut run = line_of(&[("A", Status::Pending), ("P", Status::Pending)]);
    step(&mut run, "P").kind = StepKind::Container;
    step(&mut run, "P").children = ids(&["A"]);
    for options in [from(&["P"]), forced(retry(Some("P")))] {
        assert_eq!(refusal(&run, &options), "P has no work of its own");
    }
    for options in [from(&["X"]), retry(Some("X")), forced(to_step("X"))] {
        assert_eq!(refusal(&run, &options), "there is no step X");
    }
    let skips = Options { skip: ids(&["X"]), ..options() };
    assert_eq!(finding(&plan_of(&run, &skips), REFUSED).message, "X cannot be skipped: it does not exist");
}

#[test]
fn what_cannot_be_understood_is_chosen_by_no_option() {
    let run = line_of(&[("A", Status::Pending)]);
    for options in [forced(from(&["A"])), forced(retry(Some("A"))), Options { skip: ids(&["A"]), ..options() }] {
        let load = vec![crate::model::Finding::new(FindingCode::StatusUnknown, "").on(&StepId::new("A"))];
        let planned = super::testing::planned_with(&run, &crate::model::Evidence::default(), load, &options);
        assert!(finding(&planned, REFUSED).message.contains("cannot be interpreted"));
        assert_eq!((next_of(&planned).len(), planned.plan.verdict), (0, Verdict::Blocked));
    }
}

#[test]
fn retry_takes_the_failed_step_itself() {
    assert_eq!(next_of(&plan_of(&mixed(), &retry(None))), ["retry F"]);
    assert_eq!(next_of(&plan_of(&mixed(), &retry(Some("I")))), ["retry I"]);
    let mut run = line_of(&[("W", Status::Completed), ("V", Status::Failed)]);
    step(&mut run, "V").returns_to = Some(StepId::new("W"));
    let planned = plan_of(&run, &retry(None));
    assert_eq!((next_of(&planned), planned.plan.next[0].rule.as_str()), (vec!["retry V".to_owned()], "7.retry"));
    assert_eq!(
        planned.plan.commands.resume.as_ref().map(ToString::to_string).as_deref(),
        Some("piton resume R --retry")
    );
    let mut lost = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    step(&mut lost, "A").proof.outputs = vec![path("out.json")];
    assert_eq!(next_of(&plan_of(&lost, &retry(None))), ["retry A"]);
}

#[test]
fn retry_needs_a_failure_unless_forced() {
    let clean = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    assert_eq!(refusal(&clean, &retry(None)), "--retry found no step that failed or was interrupted");
    assert_eq!(
        refusal(&clean, &retry(Some("A"))),
        "A neither failed nor was interrupted, so there is nothing to retry"
    );
    let planned = plan_of(&clean, &retry(Some("A")));
    assert_eq!(finding(&planned, REFUSED).fix_text().as_deref(), Some("`piton plan R --from A` runs it again anyway"));
    let planned = plan_of(&clean, &forced(retry(Some("A"))));
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["retry A".to_owned()], Verdict::Resume));
    let waiting = line_of(&[("A", Status::Pending), ("B", Status::Failed)]);
    assert_eq!(refusal(&waiting, &retry(None)), "B still waits for A");
}

#[test]
fn retry_knows_the_limits() {
    let mut run = line_of(&[("A", Status::Failed)]);
    step(&mut run, "A").failures = 3;
    assert_eq!(notable_codes(&plan_of(&run, &retry(None))), [FindingCode::AttemptLimit]);
    let planned = plan_of(&run, &forced(retry(None)));
    assert_eq!((notable_codes(&planned), planned.plan.verdict), (vec![FindingCode::OverrideForced], Verdict::Confirm));
}

#[test]
fn from_knows_the_limits_of_the_reviews_behind_it() {
    for (status, failures, code) in [
        (Status::Completed, 1, None),
        (Status::Completed, 3, Some(FindingCode::AttemptLimit)),
        (Status::Pending, 3, Some(FindingCode::AttemptLimit)),
        (Status::InProgress, 3, None),
    ] {
        let mut run = line_of(&[("W", status), ("V", Status::Failed)]);
        step(&mut run, "V").returns_to = Some(StepId::new("W"));
        step(&mut run, "V").failures = failures;
        let planned = plan_of(&run, &from(&["W"]));
        assert_eq!(notable_codes(&planned), code.into_iter().collect::<Vec<_>>(), "{status} {failures}");
        let begin = code.is_none().then_some("piton begin W --run R");
        assert_eq!(planned.plan.commands.begin.as_ref().map(ToString::to_string).as_deref(), begin);
    }
}

#[test]
fn skip_leaves_out_with_a_record() {
    let skip = |names: &[&str]| Options { skip: ids(names), ..options() };
    let run = line_of(&[("A", Status::Completed), ("B", Status::Failed), ("C", Status::Pending)]);
    let planned = plan_of(&run, &skip(&["B"]));
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["run C".to_owned()], Verdict::Resume));
    let told = finding(&planned, FindingCode::Override);
    assert_eq!(told.message, "--skip skips B; its dependents continue without it");
    assert!(super::testing::has(&planned, FindingCode::DependencySkipped));
    assert_eq!(
        planned.plan.commands.resume.as_ref().map(ToString::to_string).as_deref(),
        Some("piton resume R --skip B")
    );
    assert_eq!(planned.plan.steps.skipped, ids(&["B"]));
    assert_eq!(plan_of(&run, &skip(&["B", "C"])).plan.verdict, Verdict::Complete);
    assert_eq!(run.steps[1].status, Status::Failed, "the run itself is not touched");
}

#[test]
fn what_may_be_left_out() {
    for (status, why) in [
        (Status::Pending, None),
        (Status::InProgress, None),
        (Status::Failed, None),
        (Status::Blocked, None),
        (Status::Cancelled, None),
        (Status::Skipped, None),
        (Status::Completed, Some("A cannot be skipped: it is done")),
        (Status::WaitingApproval, Some("A cannot be skipped: it waits for a person's approval")),
    ] {
        let planned = plan_of(&line_of(&[("A", status)]), &Options { skip: ids(&["A"]), ..options() });
        let refused = planned.findings.iter().find(|finding| finding.code == REFUSED);
        assert_eq!(refused.map(|finding| finding.message.as_str()), why, "{status}");
        let verdict = if why.is_some() { Verdict::Blocked } else { Verdict::Complete };
        assert_eq!(planned.plan.verdict, verdict, "{status}");
    }
    // A step that is recorded as done but invalid may be skipped.
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    step(&mut run, "A").proof.outputs = vec![path("out.json")];
    assert_eq!(next_of(&plan_of(&run, &Options { skip: ids(&["A"]), ..options() })), ["run B"]);
    // A container is what its children are.
    let mut run = line_of(&[("A", Status::Pending), ("P", Status::Pending)]);
    step(&mut run, "P").kind = StepKind::Container;
    step(&mut run, "P").children = ids(&["A"]);
    let planned = plan_of(&run, &Options { skip: ids(&["P"]), ..options() });
    assert_eq!(finding(&planned, REFUSED).message, "P cannot be skipped: its child steps are skipped one by one");
}

#[test]
fn what_a_format_or_its_files_do_not_keep_is_not_left_out() {
    for (skip, recorded, is_refused) in [(true, true, false), (false, true, true), (true, false, true)] {
        let mut run = line_of(&[("A", Status::Pending)]);
        run.records.skip = skip;
        step(&mut run, "A").recorded = recorded;
        let planned = plan_of(&run, &Options { skip: ids(&["A"]), ..options() });
        let refused = planned.findings.iter().find(|finding| finding.code == REFUSED);
        let why = "A cannot be skipped: its format has no word for a skipped step";
        assert_eq!(refused.map(|finding| finding.message.as_str()), is_refused.then_some(why), "{skip} {recorded}");
    }
}

#[test]
fn only_a_review_that_said_no_needs_a_decision_to_be_named() {
    let needs = |said: Option<ReviewVerdict>, options: &Options| {
        let mut run = line_of(&[("A", Status::Completed), ("B", Status::Failed)]);
        step(&mut run, "B").returns_to = Some(StepId::new("A"));
        step(&mut run, "B").review = said.and_then(review);
        plan_of(&run, options).needs
    };
    let redo = vec![(StepId::new("B"), DecisionKind::Redo)];
    assert_eq!(needs(Some(ReviewVerdict::NeedsRevision), &retry(Some("B"))), redo);
    assert_eq!(needs(None, &retry(Some("B"))), []);
    assert_eq!(needs(Some(ReviewVerdict::NeedsRevision), &options()), []);
}

#[test]
fn skip_goes_with_the_other_options() {
    let run = line_of(&[("A", Status::Failed), ("B", Status::Pending), ("C", Status::Pending)]);
    let options = Options { skip: ids(&["A"]), ..from(&["B"]) };
    let planned = plan_of(&run, &options);
    assert_eq!(next_of(&planned), ["run B"]);
    assert_eq!(
        planned.plan.commands.resume.as_ref().map(ToString::to_string).as_deref(),
        Some("piton resume R --from B --skip A")
    );
}

/// Work `1` and `3`, a gate between them, and two reviews behind.
fn reviewed() -> Run {
    let done = Status::Completed;
    let mut run =
        line_of(&[("1", done), ("2.5", done), ("3", done), ("7", done), ("8", Status::Failed), ("9", Status::Pending)]);
    step(&mut run, "2.5").kind = StepKind::Gate;
    step(&mut run, "8").kind = StepKind::Review;
    step(&mut run, "8").returns_to = Some(StepId::new("7"));
    run
}

#[test]
fn to_step_sends_a_failure_back_further() {
    for (to, expected) in [("7", "return 7"), ("3", "return 3"), ("1", "return 1"), ("8", "retry 8")] {
        let planned = plan_of(&reviewed(), &to_step(to));
        assert_eq!((next_of(&planned), planned.plan.verdict), (vec![expected.to_owned()], Verdict::Resume));
        let told = finding(&planned, FindingCode::Override);
        assert_eq!(told.message, format!("--to-step sends the run back to {to}"));
        assert_eq!(planned.plan.commands.resume.map(String::from), Some(format!("piton resume R --to-step {to}")));
    }
}

#[test]
fn to_step_takes_plain_work_back_only_by_force() {
    let run = line_of(&[("A", Status::Completed), ("B", Status::Failed)]);
    let planned = plan_of(&run, &to_step("A"));
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["return A".to_owned()], Verdict::Resume));
    assert_eq!(planned.plan.commands.begin, None);
    assert_eq!(planned.needs, [(StepId::new("A"), DecisionKind::Redo)]);
    assert_eq!(
        plan_of(&reviewed(), &to_step("3")).plan.commands.begin.as_ref().map(ToString::to_string).as_deref(),
        Some("piton begin 3 --run R")
    );
}

#[test]
fn to_step_never_goes_forward_and_needs_a_failure() {
    for (to, why) in [
        ("9", "--to-step sends a failed step back to 9, and nothing after 9 has failed"),
        ("2.5", "2.5 cannot be redone"),
        ("X", "there is no step X"),
    ] {
        assert_eq!(refusal(&reviewed(), &forced(to_step(to))), why);
    }
    let mut run = reviewed();
    step(&mut run, "3").dangling = vec!["GONE".to_owned()];
    assert_eq!(refusal(&run, &to_step("3")), "3 still waits for GONE");
    let mut run = reviewed();
    step(&mut run, "8").status = Status::Completed;
    assert_eq!(refusal(&run, &to_step("3")), "--to-step sends a failed step back to 3, and nothing after 3 has failed");
    // Other failures go their own way.
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("V", &["A"]), ("B", &[]), ("W", &["B"])];
    let done = Status::Completed;
    let mut run = with_statuses(run_of(steps), &[done, Status::Failed, done, Status::Failed]);
    step(&mut run, "V").returns_to = Some(StepId::new("A"));
    step(&mut run, "W").returns_to = Some(StepId::new("B"));
    assert_eq!(next_of(&plan_of(&run, &to_step("A"))), ["return A", "return B"]);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for (options, why) in [
        (Options { retry: Some(None), ..to_step("3") }, "--retry and --to-step cannot be combined"),
        (Options { from: ids(&["9"]), ..to_step("3") }, "--from and --to-step cannot be combined"),
        (Options { from: ids(&["9"]), ..retry(Some("8")) }, "--from and --retry cannot be combined"),
    ] {
        assert_eq!(refusal(&reviewed(), &options), why);
    }
    assert_eq!(next_of(&plan_of(&reviewed(), &Options { from: ids(&["8"]), ..retry(Some("8")) })), ["retry 8"]);
    assert_eq!(next_of(&plan_of(&reviewed(), &Options { from: ids(&["3"]), ..to_step("3") })), ["return 3"]);
}

fn part(name: &str, kind: PartKind, status: Status) -> Part {
    Part { name: name.to_owned(), title: String::new(), kind, status, output: None, commands: Vec::new() }
}

/// A step with two parts of analysis and four of work, in the status and with the parts given.
fn parted(status: Status, parts: [Status; 6]) -> Run {
    let mut run = line_of(&[("A", status), ("B", Status::Pending)]);
    let names = ["a1", "a2", "w1", "w2", "w3", "w4"];
    step(&mut run, "A").detail.parts = (names.into_iter().zip(parts))
        .map(|(name, status)| {
            let kind = if name.starts_with('a') { PartKind::Analysis } else { PartKind::Work };
            part(name, kind, status)
        })
        .collect();
    run
}

fn parts(run: &Run, options: &Options) -> Vec<String> {
    let planned = plan_of(run, options);
    planned.plan.next[0].parts.iter().map(|part| part.action.clone()).collect()
}

fn about(part: &str) -> Option<PartRef> {
    Some(PartRef { step: StepId::new("A"), part: part.to_owned() })
}

#[test]
fn parts_go_on_where_they_stopped() {
    use Status::{Blocked, Cancelled, Completed, Failed, InProgress, Pending, Skipped};
    let run = parted(InProgress, [Completed, Skipped, Completed, InProgress, Pending, Blocked]);
    assert_eq!(parts(&run, &options()), ["done", "skip", "done", "retry", "run", "run"]);
    let run = parted(Failed, [Completed, Completed, Completed, Failed, Cancelled, Pending]);
    assert_eq!(parts(&run, &options()), ["done", "done", "done", "retry", "skip", "run"]);
    let run = parted(Pending, [Pending; 6]);
    assert_eq!(parts(&run, &options()), ["run"; 6]);
    // Redone work runs again; its analysis is kept.
    let run = parted(Completed, [Completed; 6]);
    assert_eq!(parts(&run, &from(&["A"])), ["done", "done", "retry", "retry", "retry", "retry"]);
}

#[test]
fn options_about_parts_come_on_top() {
    use Status::{Completed, InProgress, Pending, Skipped};
    let run = || parted(InProgress, [Completed, Pending, Completed, InProgress, Pending, Skipped]);
    for (name, options, expected) in [
        ("from", Options { from_part: about("w1"), ..options() }, ["skip", "skip", "run", "retry", "run", "skip"]),
        (
            "from the first",
            Options { from_part: about("a1"), ..options() },
            ["run", "run", "run", "retry", "run", "skip"],
        ),
        ("retry", Options { retry_part: about("w1"), ..options() }, ["done", "run", "retry", "retry", "run", "skip"]),
        (
            "retry what was skipped",
            Options { retry_part: about("w4"), ..options() },
            ["done", "run", "done", "retry", "run", "retry"],
        ),
        ("skip", Options { skip_part: about("w2"), ..options() }, ["done", "run", "done", "skip", "run", "skip"]),
        (
            "refresh",
            Options { refresh_analysis: true, ..options() },
            ["refresh", "refresh", "done", "retry", "run", "skip"],
        ),
    ] {
        assert_eq!(parts(&run(), &options), expected, "{name}");
        let planned = plan_of(&run(), &options);
        assert!(super::testing::has(&planned, FindingCode::Override), "{name}");
        assert_eq!(planned.plan.verdict, Verdict::Resume, "{name}");
    }
}

#[test]
fn options_about_parts_say_what_they_do() {
    let run = parted(Status::InProgress, [Status::Completed; 6]);
    for (options, message, resume) in [
        (Options { from_part: about("w1"), ..options() }, "--from-step begins at w1 of A", "--from-step w1 A"),
        (Options { retry_part: about("w1"), ..options() }, "--retry-step repeats w1 of A", "--retry-step w1 A"),
        (Options { skip_part: about("w1"), ..options() }, "--skip-step skips w1 of A", "--skip-step w1 A"),
        (
            Options { refresh_analysis: true, ..options() },
            "--refresh-analysis repeats the analysis of A",
            "--refresh-analysis",
        ),
    ] {
        let planned = plan_of(&run, &options);
        assert_eq!(finding(&planned, FindingCode::Override).message, message);
        assert_eq!(planned.plan.commands.resume.map(String::from), Some(format!("piton resume R {resume}")));
    }
    let bare = line_of(&[("A", Status::Pending)]);
    let planned = plan_of(&bare, &Options { refresh_analysis: true, ..options() });
    let message = "--refresh-analysis changes nothing: no chosen step has parts for analysis";
    assert_eq!(finding(&planned, FindingCode::Override).message, message);
}

#[test]
fn options_about_parts_are_checked() {
    let run = parted(Status::InProgress, [Status::Pending; 6]);
    let planned = plan_of(&run, &Options { from_part: about("w9"), ..options() });
    let refused = finding(&planned, REFUSED);
    assert_eq!(refused.message, "A has no part w9");
    assert_eq!(refused.fix_text().as_deref(), Some("its parts are a1, a2, w1, w2, w3, w4"));
    let of_b = PartRef { step: StepId::new("B"), part: "w1".to_owned() };
    let planned = plan_of(&run, &Options { skip_part: Some(of_b), ..options() });
    assert_eq!(finding(&planned, REFUSED).message, "--skip-step is about B, which is not next");
    assert_eq!(planned.plan.verdict, Verdict::Blocked);
    let bare = line_of(&[("A", Status::Pending)]);
    let planned = plan_of(&bare, &Options { retry_part: about("w1"), ..options() });
    assert_eq!(finding(&planned, REFUSED).fix_text().as_deref(), Some("A has no parts; leave out --retry-step"));
}
