//! Rules 4 to 6 as decision tables: what comes next.

use super::{
    reports_tests::begun,
    testing::{
        at, finding, has, line_of, next_of, notable_codes, options, path, plan_of, planned, planned_with, present,
        review, run_of, step, with_statuses, with_witnesses,
    },
};
use crate::model::{
    DecisionKind, Evidence, Finding, FindingCode, GuestProof, Hold, Options, Pace, Presence, ReviewVerdict, Run,
    Status, StepId, StepKind, Verdict,
};

pub(super) fn next(run: &Run) -> Vec<String> {
    next_of(&plan_of(run, &options()))
}

#[test]
fn each_status_leads_to_its_action() {
    for (status, expected, rule) in [
        (Status::Pending, "run B", "6.next"),
        (Status::InProgress, "retry B", "3.interrupted"),
        (Status::Failed, "retry B", "4.retry"),
        (Status::WaitingApproval, "approve B", "5.gate"),
        (Status::Blocked, "run B", "6.next"),
        (Status::Completed, "run C", "6.next"),
        (Status::Skipped, "run C", "6.next"),
    ] {
        let run = line_of(&[("A", Status::Completed), ("B", status), ("C", Status::Pending)]);
        let planned = plan_of(&run, &options());
        assert_eq!(next_of(&planned), [expected], "{status}");
        assert_eq!(planned.plan.next[0].rule, rule, "{status}");
    }
}

#[test]
fn a_gate_is_always_put_to_a_person() {
    for status in [Status::Pending, Status::InProgress, Status::Failed, Status::WaitingApproval, Status::Blocked] {
        let mut run = line_of(&[("A", Status::Completed), ("G", status), ("C", Status::Pending)]);
        step(&mut run, "G").kind = StepKind::Gate;
        let planned = plan_of(&run, &options());
        assert_eq!(
            (next_of(&planned), planned.plan.verdict),
            (vec!["approve G".to_owned()], Verdict::Blocked),
            "{status}"
        );
        assert_eq!(planned.plan.next[0].reason, "User approval required");
        assert_eq!(planned.plan.commands.begin, None, "what a person decides is no command");
        // A gate that was refused is lifted by a decision, not by an approval.
        let approve = planned.plan.question().and_then(|question| question.option("approve"));
        let expected = (status != Status::Failed).then_some("piton decide G approve --run R --by NAME");
        assert_eq!(approve.map(|option| option.command.to_string()).as_deref(), expected);
    }
    let mut stale = line_of(&[("A", Status::Completed), ("G", Status::Completed), ("C", Status::Pending)]);
    step(&mut stale, "G").kind = StepKind::Gate;
    step(&mut stale, "G").proof.outputs = vec![path("approval.md")];
    assert_eq!(next(&stale), ["approve G"], "an approval that is not believed");
    let mut doubted = line_of(&[("A", Status::Completed), ("G", Status::Pending), ("C", Status::Pending)]);
    step(&mut doubted, "G").kind = StepKind::Gate;
    with_witnesses(step(&mut doubted, "G"), 1);
    assert_eq!(next(&doubted), ["approve G"], "an approval that one witness speaks of");
}

#[test]
fn a_gate_is_not_presented_before_its_turn() {
    for status in [Status::Pending, Status::InProgress, Status::Failed, Status::Blocked] {
        let mut run = line_of(&[("A", Status::InProgress), ("G", status)]);
        step(&mut run, "G").kind = StepKind::Gate;
        assert_eq!(next(&run), ["retry A"], "{status}");
    }
}

#[test]
fn a_waiting_gate_yields_to_earlier_work() {
    for (before, expected) in
        [(Status::Completed, "approve G"), (Status::InProgress, "retry A"), (Status::Failed, "retry A")]
    {
        let mut run = line_of(&[("A", before), ("G", Status::WaitingApproval)]);
        step(&mut run, "G").kind = StepKind::Gate;
        assert_eq!(next(&run), [expected], "{before}");
    }
}

/// The nine steps of one phase, done up to one that has the given status.
pub(super) fn nine(number: &str, status: Status) -> Run {
    let numbers = ["1", "2", "2.5", "3", "4", "5", "6", "7", "8", "9"];
    let here = numbers.iter().position(|other| *other == number).unwrap();
    let steps: Vec<(&str, Status)> = (numbers.iter().enumerate())
        .map(|(at, id)| (*id, if at < here { Status::Completed } else { Status::Pending }))
        .collect();
    let mut run = line_of(&steps);
    step(&mut run, number).status = status;
    for (id, back) in [("2", "1"), ("4", "3"), ("6", "5"), ("8", "7")] {
        let review = step(&mut run, id);
        review.kind = StepKind::Review;
        review.agent = Some(format!("reviewer-{id}"));
        review.returns_to = Some(StepId::new(back));
    }
    step(&mut run, "2.5").kind = StepKind::Gate;
    run
}

/// The decision table of the nine-step plugin (docs/formats/nine-step.md#decision-table).
#[test]
fn the_nine_step_table() {
    use Status::{Completed, Failed, InProgress, WaitingApproval};
    for (status, number, expected) in [
        (Failed, "4", "return 3"),
        (Failed, "6", "return 5"),
        (Failed, "2", "return 1"),
        (Failed, "8", "return 7"),
        (Failed, "1", "retry 1"),
        (Failed, "3", "retry 3"),
        (Failed, "5", "retry 5"),
        (Failed, "7", "retry 7"),
        (Failed, "9", "retry 9"),
        (Failed, "2.5", "approve 2.5"),
        (WaitingApproval, "2.5", "approve 2.5"),
        (WaitingApproval, "6", "approve 6"),
        (Completed, "1", "run 2"),
        (Completed, "2", "approve 2.5"),
        (Completed, "2.5", "run 3"),
        (Completed, "3", "run 4"),
        (Completed, "8", "run 9"),
        (InProgress, "3", "retry 3"),
        (InProgress, "4", "retry 4"),
        (InProgress, "2.5", "approve 2.5"),
    ] {
        assert_eq!(next(&nine(number, status)), [expected], "{status} {number}");
    }
}

#[test]
fn what_an_agent_does_at_a_gate_is_tried_again_and_closed_by_a_person() {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::Failed), ("B", Status::Pending)]);
    step(&mut run, "G").kind = StepKind::Gate;
    step(&mut run, "G").agent = Some("git-worktree-manager".to_owned());
    let planned = plan_of(&run, &options());
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["retry G".to_owned()], Verdict::Resume));
    assert_eq!(planned.plan.next[0].reason, "G failed; retry with the error of the last attempt");
    let question = planned.plan.question().cloned().unwrap();
    assert_eq!(question.option("approve").unwrap().command, "piton decide G approve --run R --by NAME");
}

#[test]
fn what_was_begun_does_not_wait_for_what_was_cancelled_since() {
    for (status, next) in
        [(Status::InProgress, vec!["retry B"]), (Status::Failed, vec!["retry B"]), (Status::Pending, vec![])]
    {
        let run = line_of(&[("A", Status::Cancelled), ("B", status)]);
        assert_eq!(next_of(&plan_of(&run, &options())), next, "{status}");
    }
}

#[test]
fn what_is_ready_comes_together_in_natural_order() {
    let steps: &[(&str, &[&str])] =
        &[("IMPL-10", &[]), ("IMPL-2", &[]), ("IMPL-1", &[]), ("IMPL-1.1", &["IMPL-1"]), ("IMPL-3", &["IMPL-10"])];
    assert_eq!(next(&run_of(steps)), ["run IMPL-1", "run IMPL-2", "run IMPL-10"]);
    let run = with_statuses(run_of(steps), &[Status::Completed, Status::Failed, Status::InProgress]);
    assert_eq!(next(&run), ["retry IMPL-1", "retry IMPL-2", "run IMPL-3"]);
}

#[test]
fn nothing_starts_before_what_it_needs() {
    for (before, expected) in [
        (Status::Pending, vec!["run A"]),
        (Status::InProgress, vec!["retry A"]),
        (Status::Failed, vec!["retry A"]),
        (Status::Completed, vec!["run B"]),
        (Status::Skipped, vec!["run B"]),
    ] {
        for (own, again) in
            [(Status::Pending, false), (Status::InProgress, true), (Status::Failed, true), (Status::Blocked, false)]
        {
            let run = line_of(&[("A", before), ("B", own)]);
            let expected: Vec<String> = expected
                .iter()
                .map(|next| if again { next.replace("run B", "retry B") } else { (*next).to_owned() })
                .collect();
            assert_eq!(next(&run), expected, "{before}, {own}");
        }
    }
}

#[test]
fn the_reason_names_what_made_it_ready() {
    let ids: Vec<String> = (1..=5).map(|number| format!("D{number}")).collect();
    for (count, reason) in [
        (0, "it depends on nothing"),
        (1, "D1 is done"),
        (3, "D1, D2, D3 are done"),
        (5, "all 5 steps it depends on are done"),
    ] {
        let needs: Vec<&str> = ids.iter().take(count).map(String::as_str).collect();
        let mut steps: Vec<(&str, &[&str])> = needs.iter().map(|id| (*id, [].as_slice())).collect();
        steps.push(("X", &needs));
        let mut run = with_statuses(run_of(&steps), &vec![Status::Completed; count]);
        step(&mut run, "X").status = Status::Pending;
        assert_eq!(plan_of(&run, &options()).plan.next[0].reason, reason);
    }
}

#[test]
fn a_cancelled_step_satisfies_no_dependent() {
    let planned =
        plan_of(&line_of(&[("A", Status::Cancelled), ("B", Status::Pending), ("C", Status::Pending)]), &options());
    assert_eq!((next_of(&planned).len(), planned.plan.verdict), (0, Verdict::Blocked));
    let block = finding(&planned, FindingCode::DependencyBlock);
    assert_eq!(block.message, "nothing can start: 2 open, B waits for A; A was cancelled");
    assert_eq!(block.fix_text().as_deref(), Some("resolve A, or `piton decide A skip --run R --by NAME --note WHY`"));
    assert_eq!(block.step, Some(StepId::new("A")));
}

#[test]
fn a_skipped_step_satisfies_and_is_mentioned() {
    let planned = plan_of(&line_of(&[("A", Status::Skipped), ("B", Status::Pending)]), &options());
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["run B".to_owned()], Verdict::Resume));
    assert_eq!(finding(&planned, FindingCode::DependencySkipped).message, "B is ready although A was skipped");
    let done = plan_of(&line_of(&[("A", Status::Skipped), ("B", Status::Completed)]), &options());
    assert!(!has(&done, FindingCode::DependencySkipped));
}

#[test]
fn a_circle_is_named_while_it_holds_something_up() {
    let steps: &[(&str, &[&str])] = &[("A", &["B"]), ("B", &["A"]), ("C", &["B"])];
    let planned = plan_of(&run_of(steps), &options());
    assert_eq!(
        finding(&planned, FindingCode::DependencyCycle).message,
        "steps depend on each other in a cycle: A -> B -> A"
    );
    let block = finding(&planned, FindingCode::DependencyBlock);
    assert_eq!(block.message, "nothing can start: 3 open, A waits for B waits for A; A is part of a cycle");
    assert_eq!((planned.plan.verdict, next_of(&planned).len()), (Verdict::Blocked, 0));
    let open = with_statuses(run_of(steps), &[Status::Completed, Status::Pending, Status::Pending]);
    let planned = plan_of(&open, &options());
    assert_eq!((notable_codes(&planned), next_of(&planned)), (vec![], vec!["run B".to_owned()]));
}

#[test]
fn long_chains_and_circles_are_named_by_their_ends() {
    let ids: Vec<String> = (1..=20).map(|number| format!("S{number}")).collect();
    let mut run = run_of(&[]);
    for (at, id) in ids.iter().enumerate() {
        let mut step = crate::model::Step::new(StepId::new(id), "");
        step.depends_on = vec![StepId::new(&ids[(at + 1) % 20])];
        run.steps.push(step);
    }
    let planned = plan_of(&run, &options());
    assert_eq!(
        finding(&planned, FindingCode::DependencyCycle).message,
        "steps depend on each other in a cycle: S1 -> S2 -> S3 -> S4 -> ... 13 more ... -> S18 -> S19 -> S20 -> S1"
    );
}

#[test]
fn a_missing_dependency_is_not_met() {
    let mut run = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
    step(&mut run, "A").dangling = vec!["GONE".to_owned()];
    step(&mut run, "A").file = Some(path("A.json"));
    let planned = plan_of(&run, &options());
    let dangling = finding(&planned, FindingCode::DependencyDangling);
    assert_eq!(dangling.message, "A depends on GONE, which does not exist");
    assert_eq!(dangling.fix_text().as_deref(), Some("correct the dependency, or `piton plan R --from A --force`"));
    assert_eq!(dangling.file, Some(path("A.json")));
    let block = finding(&planned, FindingCode::DependencyBlock);
    assert_eq!(block.message, "nothing can start: 2 open, B waits for A; A waits for GONE, which does not exist");
    step(&mut run, "A").status = Status::Completed;
    let planned = plan_of(&run, &options());
    assert_eq!((next_of(&planned), notable_codes(&planned)), (vec!["run B".to_owned()], vec![]));
}

#[test]
fn what_cannot_be_understood_blocks_what_waits_for_it_and_nothing_else() {
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("B", &["A"]), ("N", &[])];
    let held = |run: &Run| {
        let findings = vec![Finding::new(FindingCode::PartUnreadable, "").on(&StepId::new("A"))];
        planned_with(run, &Evidence::default(), findings, &options())
    };
    let planned = held(&run_of(steps));
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["run N".to_owned()], Verdict::Confirm));
    let groups = &planned.plan.steps;
    assert_eq!((groups.blocked.len(), groups.blocked[0].as_str()), (1, "A"));
    let planned = held(&with_statuses(run_of(steps), &[Status::Completed, Status::Pending, Status::Completed]));
    let block = finding(&planned, FindingCode::DependencyBlock);
    assert_eq!(block.message, "nothing can start: 2 open, B waits for A; A cannot be understood");
    assert_eq!(block.fix_text().as_deref(), Some("correct it; `piton validate R` says where"));
}

#[test]
fn evidence_decides_before_anything_is_run() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::InProgress), ("C", Status::Pending)]);
    step(&mut run, "B").proof.outputs = vec![path("out.json")];
    let there = Evidence { files: [(path("out.json"), present(at(0)))].into(), ..Evidence::default() };
    let planned_there = planned(&run, &there, &options());
    assert_eq!(next_of(&planned_there), ["run C"]);
    assert!(has(&planned_there, FindingCode::CompletedByEvidence));
    assert_eq!(next(&run), ["retry B"]);
    step(&mut run, "B").status = Status::Pending;
    assert_eq!(next_of(&planned(&run, &there, &options())), ["verify B"]);
    step(&mut run, "B").status = Status::Completed;
    let planned_gone = plan_of(&run, &options());
    assert_eq!(next_of(&planned_gone), ["retry B"]);
    assert_eq!(planned_gone.plan.next[0].reason, "B must be redone: its output out.json is missing");
    assert_eq!(planned_gone.plan.next[0].rule, "3.invalid");
    assert_eq!((planned_gone.plan.next[0].cost.steps_again, planned_gone.plan.verdict), (1, Verdict::Confirm));
}

#[test]
fn what_must_not_run_twice_is_asked_about() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::InProgress), ("C", Status::Pending)]);
    step(&mut run, "B").idempotent = false;
    let planned = plan_of(&run, &options());
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["verify B".to_owned()], Verdict::Blocked));
    assert_eq!(notable_codes(&planned), [FindingCode::OutcomeUnknown]);
    let question = planned.plan.question().cloned().unwrap();
    assert_eq!(question.default.as_deref(), Some("leave"));
    let commands: Vec<String> = question.options.iter().map(|option| option.command.to_string()).collect();
    let accept = "piton decide B happened --run R --by NAME --note WHY";
    assert_eq!(commands, [accept, "piton decide B not-happened --run R --by NAME --note WHY", "piton status R"]);
    assert_eq!(planned.plan.commands.begin, None);
    step(&mut run, "A").status = Status::InProgress;
    step(&mut run, "A").idempotent = false;
    step(&mut run, "B").depends_on.clear();
    let planned = plan_of(&run, &options());
    let about: Vec<&str> = planned.plan.questions.iter().filter_map(|one| Some(one.step.as_ref()?.as_str())).collect();
    assert_eq!(about, ["A", "B"]);
    let ids = planned.plan.questions.iter().flat_map(|one| &one.options).map(|option| option.id.as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["happened", "not-happened", "leave"].repeat(2));
    assert_eq!((planned.plan.commands.begin, planned.plan.commands.others), (None, Vec::new()));
}

#[test]
fn force_begins_the_first_open_step_when_nothing_is_ready() {
    let forced = |run: &Run| plan_of(run, &Options { force: true, ..options() });
    let planned = forced(&line_of(&[("A", Status::Cancelled), ("B", Status::Pending), ("C", Status::Pending)]));
    assert_eq!(next_of(&planned), ["run B"]);
    assert_eq!(finding(&planned, FindingCode::OverrideForced).message, "B was forced although it waits for A");
    assert_eq!(planned.plan.commands.begin, None, "the resume records the override first");
    assert_eq!(planned.needs, [(StepId::new("B"), DecisionKind::Override)]);
    assert_eq!(
        planned.plan.commands.resume.as_ref().map(ToString::to_string).as_deref(),
        Some("piton resume R --force")
    );
    let planned = forced(&line_of(&[("A", Status::Cancelled), ("B", Status::InProgress)]));
    assert_eq!(next_of(&planned), ["retry B"]);
    for gate in [StepKind::Gate, StepKind::Review] {
        let mut run = line_of(&[("A", Status::Cancelled), ("G", Status::Pending), ("C", Status::Pending)]);
        step(&mut run, "G").kind = gate;
        let expected: &[&str] = if gate == StepKind::Gate { &[] } else { &["run G"] };
        assert_eq!(next_of(&forced(&run)), expected, "no option steps over a gate");
    }
}

#[test]
fn what_the_state_holds_back_is_named_while_others_go_on() {
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("B", &[]), ("C", &[]), ("D", &["A"])];
    let mut run = run_of(steps);
    for id in ["B", "C", "D"] {
        step(&mut run, id).status = Status::Blocked;
    }
    step(&mut run, "B").hold = Some(Hold::Because("waits for the legal team".to_owned()));
    for id in ["C", "D"] {
        step(&mut run, id).hold = Some(Hold::Unexplained);
    }
    let planned = plan_of(&run, &options());
    assert_eq!(next_of(&planned), ["run A", "run C"]);
    let held = finding(&planned, FindingCode::StepHeld);
    assert_eq!(held.step, Some(StepId::new("B")));
    assert_eq!(held.message, "B (Title of B) is blocked: waits for the legal team");
    let fix = "once it can go on: `piton decide B override --run R --by NAME --note WHY`";
    assert_eq!(held.fix_text().as_deref(), Some(fix));
    let mut read_only = run.clone();
    step(&mut read_only, "B").recorded = false;
    let planned_there = plan_of(&read_only, &options());
    let fix = finding(&planned_there, FindingCode::StepHeld).fix_text();
    assert_eq!(fix.as_deref(), Some("wait until that has ended, or decide it there"), "no command records it");
    let unexplained: Vec<&StepId> = planned
        .findings
        .iter()
        .filter(|finding| finding.code == FindingCode::BlockUnexplained)
        .filter_map(|finding| finding.step.as_ref())
        .collect();
    assert_eq!(unexplained, [&StepId::new("C")], "D waits for A, so its block is explained");
}

#[test]
fn a_resume_is_offered_only_if_it_can_record_what_it_needs() {
    let forced = || line_of(&[("A", Status::Cancelled), ("B", Status::Pending)]);
    let redone = || line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    let from = || Options { from: vec![StepId::new("A")], ..options() };
    let force = || Options { force: true, ..options() };
    for (what, mut run, options, resume, redo, expected) in [
        ("nothing is needed", redone(), options(), true, false, true),
        ("no word for a resume", redone(), options(), false, true, false),
        ("an override", forced(), force(), true, false, true),
        ("an override, and no word for a resume", forced(), force(), false, true, false),
        ("a redo", redone(), from(), true, true, true),
        ("a redo, and no word for it", redone(), from(), true, false, false),
    ] {
        (run.records.resume, run.records.redo) = (resume, redo);
        let planned = plan_of(&run, &options);
        assert_eq!(planned.plan.next.len(), 1, "{what}");
        assert_eq!(planned.plan.commands.resume.is_some(), expected, "{what}");
    }
}

#[test]
fn what_seems_done_is_looked_at_also_before_its_turn_but_for_a_verdict() {
    let mut run = line_of(&[("A", Status::InProgress), ("B", Status::Pending)]);
    step(&mut run, "B").proof.outputs = vec![path("out.json")];
    let there = Evidence { files: [(path("out.json"), present(at(0)))].into(), ..Evidence::default() };
    assert_eq!(next_of(&planned(&run, &there, &options())), ["retry A", "verify B"]);
    step(&mut run, "B").kind = StepKind::Review;
    assert_eq!(next_of(&planned(&run, &there, &options())), ["retry A"]);
}

#[test]
fn only_the_failed_work_of_an_agent_at_a_gate_is_tried_again() {
    for (status, verdict, expected) in [
        (Status::Pending, None, "approve G"),
        (Status::InProgress, None, "approve G"),
        (Status::WaitingApproval, None, "approve G"),
        (Status::Failed, None, "retry G"),
        (Status::Failed, Some(ReviewVerdict::Rejected), "approve G"),
    ] {
        let mut run = line_of(&[("A", Status::Completed), ("G", status)]);
        let gate = step(&mut run, "G");
        (gate.kind, gate.agent) = (StepKind::Gate, Some("git-worktree-manager".to_owned()));
        gate.review = verdict.and_then(review);
        assert_eq!(next(&run), [expected], "{status} {verdict:?}");
    }
}

#[test]
fn a_gate_holds_back_what_comes_after_finished_steps_too() {
    let waiting = |last: Status, kind: StepKind| {
        let mut run = line_of(&[("G", Status::Pending), ("X", Status::Completed), ("B", last)]);
        step(&mut run, "G").kind = StepKind::Gate;
        step(&mut run, "B").kind = kind;
        next(&run)
    };
    assert_eq!(waiting(Status::Pending, StepKind::Work), ["approve G"]);
    assert_eq!(waiting(Status::Failed, StepKind::Work), ["approve G"]);
    assert_eq!(waiting(Status::Pending, StepKind::Gate), ["approve G"]);
    assert_eq!(waiting(Status::WaitingApproval, StepKind::Gate), ["approve G", "approve B"], "it waits already");
}

#[test]
fn the_few_steps_that_free_all_others_are_named() {
    let freed = |run: &Run| {
        let planned = plan_of(run, &options());
        let message = finding(&planned, FindingCode::DependencyBlock).message.clone();
        message.split_once(". Once ").map(|(_, few)| few.to_owned())
    };
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("B", &[]), ("C", &["A"]), ("D", &["B"]), ("E", &["A", "B"])];
    let mut run = run_of(steps);
    step(&mut run, "A").dangling = vec!["GONE".to_owned()];
    assert_eq!(next(&run), ["run B"]);
    step(&mut run, "B").dangling = vec!["GONE TOO".to_owned()];
    assert_eq!(freed(&run).as_deref(), Some("A, B are done or skipped, the other 3 can go on"));
    // A step that the state holds back as well is not freed by what it depends on.
    step(&mut run, "D").status = Status::Blocked;
    step(&mut run, "D").hold = Some(Hold::Because("the legal team".to_owned()));
    assert_eq!(freed(&run).as_deref(), Some("A, B, D are done or skipped, the other 2 can go on"));
    // One step at the end of every chain is named already.
    let mut chain = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
    step(&mut chain, "A").dangling = vec!["GONE".to_owned()];
    assert_eq!(freed(&chain), None);
    // Of a cycle, one step has to end first.
    let mut cycle = run_of(&[("A", &["B"]), ("B", &["A"]), ("C", &["B"]), ("X", &[]), ("Y", &["X"])]);
    step(&mut cycle, "X").dangling = vec!["GONE".to_owned()];
    assert_eq!(freed(&cycle).as_deref(), Some("X, A are done or skipped, the other 3 can go on"));
    // Many are not listed.
    let ids: Vec<String> = (1..=9).map(|number| format!("S{number}")).collect();
    for (many, is_named) in [(8, true), (9, false)] {
        let mut wide: Vec<(&str, &[&str])> = ids.iter().take(many).map(|id| (id.as_str(), [].as_slice())).collect();
        wide.push(("Z", &["S1"]));
        let mut run = run_of(&wide);
        for id in ids.iter().take(many) {
            step(&mut run, id).dangling = vec!["GONE".to_owned()];
        }
        assert_eq!(freed(&run).is_some(), is_named, "{many}");
    }
}

#[test]
fn the_pace_of_a_list_keeps_ready_work_for_later() {
    let paced = |pace: Pace, parallel: bool| {
        let mut run = run_of(&[("1", &[]), ("2", &[]), ("3", &[]), ("4", &[])]);
        for (step, group) in run.steps.iter_mut().zip(["a", "a", "b", "b"]) {
            step.group = Some(group.to_owned());
            step.guest = Some(Box::new(GuestProof { pace, ..GuestProof::default() }));
        }
        // A person looks at it meanwhile, at any pace.
        run.steps[3].status = Status::WaitingApproval;
        next_of(&plan_of(&run, &Options { parallel, ..options() }))
    };
    assert_eq!(paced(Pace::All, false), ["run 1", "run 2", "run 3", "approve 4"]);
    assert_eq!(paced(Pace::Group, false), ["run 1", "run 2", "approve 4"]);
    assert_eq!(paced(Pace::Step, false), ["run 1", "approve 4"]);
    assert_eq!(paced(Pace::Step, true), ["run 1", "run 2", "run 3", "approve 4"]);
}

#[test]
fn a_first_run_says_what_earlier_attempts_left_on_record() {
    let reason = |attempts: u32, error: Option<&str>, past: &[&str], kind: StepKind| {
        let mut run = run_of(&[("A", &[])]);
        run.steps[0].attempts = attempts;
        run.steps[0].kind = kind;
        run.steps[0].error = error.map(str::to_owned);
        run.steps[0].past_errors = past.iter().map(|error| (*error).to_owned()).collect();
        plan_of(&run, &options()).plan.next.remove(0).reason
    };
    let plain = "it depends on nothing";
    assert_eq!(reason(0, Some("x"), &[], StepKind::Work), plain);
    assert_eq!(reason(1, None, &[], StepKind::Work), format!("{plain}; 1 earlier attempt is on record"));
    assert_eq!(reason(2, None, &[], StepKind::Work), format!("{plain}; 2 earlier attempts are on record"));
    let failed = format!("{plain}; the last attempt failed: no space");
    assert_eq!(reason(1, Some("\n no space\nleft"), &[], StepKind::Work), failed);
    assert_eq!(reason(1, None, &["first", "no space"], StepKind::Work), failed);
    assert_eq!(reason(1, Some("no space"), &[], StepKind::Review), plain);
}

#[test]
fn the_driver_of_an_attempt_decides_what_a_plan_does() {
    let plan = |presence: Presence, idempotent: bool| {
        let mut run = run_of(&[("A", &[]), ("B", &[])]);
        run.steps[0].status = Status::InProgress;
        run.steps[0].attempts = 1;
        run.steps[0].idempotent = idempotent;
        let statements = vec![begun(&run, 5, "A")];
        let presences = [((StepId::new("A"), 1), presence)].into();
        let evidence = Evidence { statements, presences, ..Evidence::default() };
        let both = next_of(&planned(&run, &evidence, &options()));
        run.steps[1].status = Status::Completed;
        (both, notable_codes(&planned(&run, &evidence, &options())))
    };
    let none: Vec<FindingCode> = Vec::new();
    assert_eq!(plan(Presence::Caller, true), (vec!["run A".to_owned(), "run B".to_owned()], none.clone()));
    assert_eq!(plan(Presence::Caller, false), (vec!["run A".to_owned(), "run B".to_owned()], none.clone()));
    assert_eq!(plan(Presence::Alive, true), (vec!["run B".to_owned()], vec![FindingCode::LiveOwner]));
    assert_eq!(plan(Presence::Gone, true), (vec!["retry A".to_owned(), "run B".to_owned()], none));
    let (next, codes) = plan(Presence::Gone, false);
    assert_eq!((next[0].as_str(), codes), ("verify A", vec![FindingCode::OutcomeUnknown]));
}

#[test]
fn an_unknown_word_and_a_missing_approval_are_answered_with_a_command() {
    let fix = |code: FindingCode, kind: StepKind, redo: bool| {
        let mut run = run_of(&[("A", &[])]);
        run.records.redo = redo;
        run.steps[0].kind = kind;
        run.steps[0].status = Status::Completed;
        let findings = vec![Finding::new(code, "").on(&StepId::new("A")).fix("look")];
        finding(&planned_with(&run, &Evidence::default(), findings, &options()), code).fix_text().unwrap()
    };
    let decide = "a person decides: `piton decide A redo --run R --by NAME --note WHY` to do it again, or \
                  `piton decide A accept --run R --by NAME --note WHY` if it is done";
    assert_eq!(fix(FindingCode::StatusUnknown, StepKind::Work, true), decide);
    assert_eq!(fix(FindingCode::StatusUnknown, StepKind::Work, false), "look");
    assert_eq!(fix(FindingCode::OutputMissing, StepKind::Work, true), "look");
    let approve = "`piton decide A approve --run R --by NAME` records the approval";
    assert_eq!(fix(FindingCode::ApprovalUnrecorded, StepKind::Gate, true), approve);
    let redo = "`piton decide A redo --run R --by NAME --note WHY` has it done";
    assert_eq!(fix(FindingCode::ApprovalUnrecorded, StepKind::Review, true), redo);
}
