//! Answers at gates, and what a person is told about steps that cannot begin, end or be left out.

use serde_json::json;

use super::{
    ChangeLimits, Graph, ReconciledRun, Refusal, admit, admit_reconciled,
    tests::{ALREADY, FREE, NO, PERSON, USAGE, YES, admitted, approve, ask, begin, one, outcome, refused, skip, word},
};
use crate::{
    engine::{
        EffectiveStatus,
        reconciled::Reconciled,
        reports_tests::report,
        testing::{at, line_of, review, run_of, step, with_statuses},
    },
    model::{
        Change, ChangeKind, Evidence, Finding, FindingCode, GateEffect, GateOption, Hold, Outcome, ReviewVerdict, Run,
        Status, Step, StepId, StepKind,
    },
};

use EffectiveStatus::{Done, Failed, Open, Unreadable, Verify, Waiting};

/// Returns a step that is done, and a gate behind it with three answers.
fn gated() -> Run {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::WaitingApproval)]);
    let gate = step(&mut run, "G");
    gate.kind = StepKind::Gate;
    let option = |word: &str, effect| GateOption { word: word.to_owned(), effect };
    gate.options = vec![
        option("ship", GateEffect::Continue),
        option("wait", GateEffect::Stop),
        option("back", GateEffect::Return(StepId::new("A"))),
    ];
    run
}

fn answer(choice: Option<&str>, note: Option<&str>) -> ChangeKind {
    let owned = |text: &str| text.to_owned();
    let (by, note, choice) = (Some(owned("Ada")), note.map(owned), choice.map(owned));
    ChangeKind::Approve { step: StepId::new("G"), by, note, phases: None, choice }
}

#[test]
fn an_answer_is_recorded_as_what_it_does() {
    const STATUSES: [EffectiveStatus; 2] = [Done, Waiting];
    let admit =
        |run: &Run, choice, note| serde_json::to_value(admitted(run, &STATUSES, answer(choice, note), FREE)).unwrap();
    let mut run = gated();
    assert_eq!(
        admit(&run, Some("ship"), None),
        json!({"change": "approve", "step": "G", "by": "Ada", "choice": "ship"})
    );
    assert_eq!(admit(&run, Some("wait"), None), json!({"change": "pause", "reason": "Ada chose wait at G"}));
    let back = |error: &str, attempt: u32, failures: u32| {
        json!({
            "change": "finish", "step": "G", "status": "failed", "agent": "Ada", "verdict": "NEEDS_REVISION",
            "error": error, "choice": "back", "attempt": attempt, "failures": failures, "from": "waiting_approval",
        })
    };
    assert_eq!(admit(&run, Some("back"), Some("too thin")), back("Ada chose back: too thin", 1, 1));
    (step(&mut run, "G").attempts, step(&mut run, "G").failures) = (3, 2);
    assert_eq!(admit(&run, Some("back"), None), back("Ada chose back", 3, 3));
}

#[test]
fn an_answer_has_to_be_one_of_the_gate() {
    let plain = || {
        let mut run = gated();
        step(&mut run, "G").options.clear();
        run
    };
    let of = |run: &Run, choice| ask(run, &[Done, Waiting], answer(choice, None), FREE);
    assert_eq!(word(&of(&plain(), None)), YES);
    let ways = ["ship", "wait", "back"].map(|word| format!("piton decide G {word} --run R --by NAME"));
    for (run, choice, message, hints) in [
        (plain(), Some("ship"), "G has no answers to choose from, so not `ship`", 1),
        (gated(), None, "G takes one of ship, wait, back", 3),
        (gated(), Some("wiat"), "G has no answer `wiat`; did you mean `wait`?", 3),
        (gated(), Some("nothing like it"), "G has no answer `nothing like it`", 3),
    ] {
        assert_eq!(word(&of(&run, choice)), USAGE);
        let refusal = of(&run, choice).unwrap_err();
        assert_eq!((refusal.message.as_str(), refusal.hints.len()), (message, hints));
        assert!(hints == 1 || refusal.hints == ways, "{:?}", refusal.hints);
    }
}

/// Asks with what the comparison found besides the statuses.
fn ask_compared(run: &Run, statuses: &[EffectiveStatus], compared: &Reconciled, kind: ChangeKind) -> &'static str {
    let reconciled = ReconciledRun { run, graph: &Graph::of(run), effective_statuses: statuses, compared };
    word(&admit_reconciled(reconciled, &Evidence::default(), Change { at: at(0), kind }, FREE))
}

#[test]
fn an_approved_gate_is_approved_again_only_if_something_changed_or_no_record_says_so() {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::Completed)]);
    let changed = |why: &[&str]| Reconciled {
        reasons: vec![Vec::new(), why.iter().map(ToString::to_string).collect()],
        ..Reconciled::default()
    };
    let unrecorded = Reconciled { unrecorded: [1].into(), ..Reconciled::default() };
    for (kind, compared, expected) in [
        (StepKind::Gate, Reconciled::default(), ALREADY),
        (StepKind::Gate, changed(&[]), ALREADY),
        (StepKind::Gate, changed(&["plan.md was changed"]), YES),
        (StepKind::Gate, unrecorded, YES),
        (StepKind::Review, changed(&["plan.md was changed"]), ALREADY),
        (StepKind::Work, changed(&["plan.md was changed"]), ALREADY),
    ] {
        step(&mut run, "G").kind = kind;
        assert_eq!(ask_compared(&run, &[Done, Done], &compared, approve("G")), expected, "{kind:?} {compared:?}");
    }
}

#[test]
fn a_container_names_the_child_that_can_begin() {
    let hint = |children: &[&str], statuses: [EffectiveStatus; 4], kind: StepKind| {
        let mut run = run_of(&[("A", &[]), ("B", &["A"]), ("Z", &[]), ("C", &[])]);
        step(&mut run, "A").kind = kind;
        let container = step(&mut run, "C");
        (container.kind, container.children) =
            (StepKind::Container, children.iter().map(|id| StepId::new(*id)).collect());
        let refusal = refused(&run, &statuses, begin("C"), FREE);
        assert_eq!(refusal.message, "C has no work of its own; run its child steps");
        refusal.texts().concat()
    };
    const CONTAINER: EffectiveStatus = EffectiveStatus::OpenContainer;
    let open = [Open, Open, Open, CONTAINER];
    let begun = [Done, Open, Open, CONTAINER];
    let over = [Done, Done, Open, CONTAINER];
    assert_eq!(hint(&["A", "B"], open, StepKind::Work), "piton begin A --run R");
    assert_eq!(hint(&["A", "B"], begun, StepKind::Work), "piton begin B --run R");
    assert_eq!(hint(&["A", "B"], over, StepKind::Work), "piton plan R", "Z is not one of them");
    assert_eq!(hint(&["A"], open, StepKind::Review), "piton begin A --run R");
    assert_eq!(hint(&["A"], open, StepKind::Gate), "piton plan R");
    assert_eq!(hint(&["B"], open, StepKind::Work), "piton plan R", "B waits for A");
    assert!(hint(&[], open, StepKind::Work).starts_with("piton finish C --run R"));
}

#[test]
fn the_no_of_a_review_stands_until_its_work_was_done_again() {
    let yes = || {
        let outcome = Outcome { verdict: Some(ReviewVerdict::Approved), ..outcome("V", Status::Completed) };
        ChangeKind::Finish(Box::new(outcome))
    };
    for (what, effective, kind, status, ended, expected) in [
        ("it said no", Failed, StepKind::Review, Status::Failed, (1, 2), PERSON),
        ("its work was done again", Failed, StepKind::Review, Status::Failed, (3, 2), YES),
        ("the review was begun again", Open, StepKind::Review, Status::InProgress, (1, 2), YES),
        ("the evidence does not say so", EffectiveStatus::Interrupted, StepKind::Review, Status::Failed, (1, 2), YES),
        ("it is not a review", Failed, StepKind::Work, Status::Failed, (1, 2), YES),
    ] {
        let mut run = line_of(&[("W", Status::Completed), ("V", status)]);
        step(&mut run, "W").finished_at = Some(at(ended.0));
        let other = step(&mut run, "V");
        (other.kind, other.review, other.finished_at) = (kind, review(ReviewVerdict::NeedsRevision), Some(at(ended.1)));
        (other.failures, other.returns_to) = (1, Some(StepId::new("W")));
        assert_eq!(word(&ask(&run, &[Done, effective], yes(), FREE)), expected, "{what}");
    }
}

#[test]
fn only_a_review_that_failed_sends_the_run_back() {
    for (effective, status, expected) in [
        (Open, Status::Pending, NO),
        (EffectiveStatus::Interrupted, Status::InProgress, NO),
        (Done, Status::Completed, NO),
        (EffectiveStatus::Skipped, Status::Skipped, NO),
        (Failed, Status::Failed, YES),
    ] {
        let mut run = line_of(&[("W", Status::Completed), ("V", status)]);
        (step(&mut run, "V").kind, step(&mut run, "V").returns_to) = (StepKind::Review, Some(StepId::new("W")));
        assert_eq!(word(&ask(&run, &[Done, effective], begin("W"), FREE)), expected, "{status}");
        // One that returns to itself is done again in place.
        step(&mut run, "V").returns_to = Some(StepId::new("V"));
        assert_eq!(word(&ask(&run, &[Done, effective], begin("W"), FREE)), NO, "{status}");
    }
}

#[test]
fn a_review_that_said_no_names_the_decisions_and_first_its_work() {
    let hints = |kind: StepKind, failures: u32| {
        let mut run = line_of(&[("W", Status::Completed), ("V", Status::Failed)]);
        let no = step(&mut run, "V");
        (no.kind, no.review, no.failures) = (kind, review(ReviewVerdict::NeedsRevision), failures);
        no.returns_to = Some(StepId::new("W"));
        let Refusal { message, hints, .. } = refused(&run, &[Done, Failed], approve("V"), FREE);
        assert_eq!(message, "V (Title of V) is NEEDS_REVISION; new work or a person lifts that");
        hints
    };
    let accept = "piton decide V accept --run R --by NAME --note WHY";
    let redo = "piton decide V redo --run R --by NAME --note WHY";
    assert_eq!(hints(StepKind::Review, 1), ["piton begin W --run R", accept, "piton close R --abort"]);
    assert_eq!(hints(StepKind::Review, 3), [redo, accept, "piton close R --abort"]);
}

#[test]
fn with_its_phase_a_gate_is_left_out_unless_it_is_over_or_unclear() {
    let whole = ChangeLimits { with_gates: true, ..FREE };
    for (kind, effective, expected) in [
        (StepKind::Gate, Open, (PERSON, YES)),
        (StepKind::Gate, Waiting, (PERSON, YES)),
        (StepKind::Review, Open, (PERSON, YES)),
        (StepKind::Review, Verify, (PERSON, YES)),
        (StepKind::Review, Done, (NO, NO)),
        (StepKind::Gate, Done, (NO, NO)),
        (StepKind::Gate, Unreadable, (PERSON, PERSON)),
        (StepKind::Work, Done, (NO, NO)),
        (StepKind::Work, Open, (YES, YES)),
    ] {
        let run = one(kind, Status::Pending);
        let found = [FREE, whole].map(|limits| word(&ask(&run, &[effective], skip("S"), limits)));
        assert_eq!((found[0], found[1]), expected, "{kind:?} {effective:?}");
    }
}

#[test]
fn a_repair_has_to_leave_a_state_that_can_be_read() {
    for (degraded, expected) in [(false, YES), (true, NO)] {
        let run = Run { degraded, ..one(StepKind::Work, Status::Pending) };
        let repair = serde_json::from_value(json!({"change": "repair"})).unwrap();
        assert_eq!(word(&ask(&run, &[Open], repair, FREE)), expected);
    }
}

#[test]
fn five_open_steps_are_named_and_more_are_hinted_at() {
    for (count, shown) in [(1, "1 step of R is not done: s0"), (5, "s0, s1, s2, s3, s4"), (6, "s3, s4, ...")] {
        let mut run = run_of(&[]);
        run.steps = (0..count).map(|at| Step::new(StepId::new(format!("s{at}")), "T")).collect();
        let open = vec![Open; count];
        let message = refused(&run, &open, ChangeKind::Complete { note: None }, FREE).message;
        assert!(message.ends_with(shown), "{message}");
    }
}

#[test]
fn an_open_condition_is_named_with_what_closes_it() {
    for (conditions, said) in [
        (None, "approved on conditions that are still open"),
        (
            Some(vec!["add a\ntest".to_owned(), "b".to_owned()]),
            "approved on a condition that is still open: add a test; b",
        ),
    ] {
        let mut run = line_of(&[("V", Status::Completed), ("B", Status::Pending)]);
        let gate = step(&mut run, "V");
        gate.kind = StepKind::Review;
        gate.review = review(ReviewVerdict::ApprovedWithConditions);
        gate.review.as_mut().unwrap().open_conditions = conditions;
        let Refusal { message, hints, .. } = refused(&run, &[EffectiveStatus::Conditions, Open], begin("B"), FREE);
        assert_eq!(message, format!("B comes after V (Title of V), which is {said}"));
        assert!(hints[0].to_string().starts_with("once that is met: `piton finish V --run R"), "{hints:?}");
    }
}

#[test]
fn what_is_said_of_a_step_is_compared_with_its_own_last_report() {
    let run = run_of(&[("A", &[]), ("B", &[])]);
    let run = with_statuses(run, &[Status::Completed, Status::Completed]);
    let said = |id: &str, part: Option<&str>| {
        report(&run, 1, id, |outcome| {
            outcome.summary = Some("it works".to_owned());
            outcome.part = part.map(str::to_owned);
        })
    };
    let again = Outcome { summary: Some("it works".to_owned()), ..outcome("A", Status::Completed) };
    for (what, statements, expected) in [
        ("nothing was said", vec![], YES),
        ("it was said", vec![said("A", None)], ALREADY),
        ("of another step", vec![said("A", None), said("B", None)], ALREADY),
        ("only of another step", vec![said("B", None)], YES),
        ("only of a part", vec![said("A", Some("p"))], YES),
    ] {
        let evidence = Evidence { statements, ..Evidence::default() };
        let change = Change { at: at(9), kind: ChangeKind::Finish(Box::new(again.clone())) };
        assert_eq!(word(&admit(&run, (&evidence, &[]), change, FREE, None)), expected, "{what}");
    }
}

#[test]
fn a_step_that_the_state_holds_back_waits_for_a_person_and_any_other_for_steps() {
    let because = || Some(Hold::Because("the key is missing".to_owned()));
    for (what, hold, before, effective, expected) in [
        ("held", because(), Done, EffectiveStatus::Blocked, Some((PERSON, "B is blocked: the key is missing"))),
        ("held and behind", because(), Open, EffectiveStatus::Blocked, Some((NO, "B still waits for A"))),
        ("behind", None, Open, Open, Some((NO, "B still waits for A"))),
        ("free", None, Done, Open, None),
        ("not held any more", because(), Done, Open, None),
    ] {
        let mut run = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
        step(&mut run, "B").hold = hold;
        let found = ask(&run, &[before, effective], begin("B"), FREE);
        let refused = found.as_ref().err().map(|refusal| (word(&found), refusal.message.as_str()));
        assert_eq!(refused, expected, "{what}");
    }
}

#[test]
fn a_gate_without_a_record_is_approved_and_a_finding_of_another_kind_changes_nothing() {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::Completed)]);
    step(&mut run, "G").kind = StepKind::Gate;
    for (code, expected) in [(FindingCode::ApprovalUnrecorded, YES), (FindingCode::FieldIgnored, ALREADY)] {
        let finding = Finding::new(code, "it is so").on(&StepId::new("G"));
        let change = Change { at: at(9), kind: approve("G") };
        assert_eq!(word(&admit(&run, (&Evidence::default(), &[finding]), change, FREE, None)), expected, "{code}");
    }
}

#[test]
fn only_what_state_and_evidence_call_done_is_amended() {
    let said = || Outcome { summary: Some("more".to_owned()), ..outcome("B", Status::Completed) };
    for (effective, status, expected) in [
        (Done, Status::Completed, true),
        (Done, Status::InProgress, false),
        (EffectiveStatus::Invalid, Status::Completed, false),
        (Failed, Status::Failed, false),
    ] {
        let run = line_of(&[("A", Status::Completed), ("B", status)]);
        let kind = admitted(&run, &[Done, effective], ChangeKind::Finish(Box::new(said())), FREE);
        let ChangeKind::Finish(found) = kind else { panic!("{kind:?}") };
        assert_eq!(found.amends, expected, "{effective:?} {status}");
    }
}
