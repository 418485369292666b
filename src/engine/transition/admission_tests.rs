//! What a change has to wait for: dependencies, gates, limits, the end of the run.

use super::{
    ChangeLimits, RefusalKind,
    tests::{
        ALREADY, EFFECTIVE_STATUSES, FORCE, FREE, NO, PERSON, YES, admitted, ask, begin, finish, one, refused, word,
    },
};
use crate::{
    engine::{
        EffectiveStatus,
        testing::{at, line_of, review, run_of, step},
    },
    model::{ChangeKind, No, ReviewVerdict, Run, RunStatus, Status, Step, StepId, StepKind},
};

const OVERRIDE_B: &str = "piton decide B override --run R --by NAME --note WHY";

#[test]
fn dependencies_come_first_unless_forced() {
    let mut run = run_of(&[("A", &[]), ("B", &["A"])]);
    for (effective_status, expected) in EFFECTIVE_STATUSES.map(|(effective_status, _)| {
        (
            effective_status,
            if matches!(effective_status, EffectiveStatus::Done | EffectiveStatus::Skipped) { YES } else { NO },
        )
    }) {
        let effective_statuses = [effective_status, EffectiveStatus::Open];
        assert_eq!(word(&ask(&run, &effective_statuses, begin("B"), FREE)), expected, "{effective_status:?}");
        assert_eq!(
            word(&ask(&run, &effective_statuses, finish("B", Status::Completed), FREE)),
            expected,
            "{effective_status:?}"
        );
        assert_eq!(word(&ask(&run, &effective_statuses, begin("B"), FORCE)), YES, "{effective_status:?}");
    }
    step(&mut run, "B").dangling = vec!["GONE".to_owned()];
    let effective_statuses = [EffectiveStatus::Open, EffectiveStatus::Open];
    let refusal = refused(&run, &effective_statuses, begin("B"), FREE);
    assert_eq!((refusal.kind, refusal.message.as_str()), (RefusalKind::No(No::NotYet), "B still waits for A, GONE"));
    assert_eq!(refusal.hints, ["piton plan R", OVERRIDE_B]);
    let refusal = refused(&run, &effective_statuses, finish("B", Status::Completed), FREE);
    assert_eq!(refusal.hints, ["piton plan R", OVERRIDE_B]);
}

#[test]
fn a_begun_step_may_finish_with_unmet_dependencies() {
    let mut run = run_of(&[("A", &[]), ("B", &["A"])]);
    step(&mut run, "B").status = Status::InProgress;
    for effective_status in [EffectiveStatus::Interrupted, EffectiveStatus::Verify] {
        let found = ask(&run, &[EffectiveStatus::Open, effective_status], finish("B", Status::Completed), FREE);
        assert_eq!(word(&found), YES, "{effective_status:?}");
    }
}

/// A gate `G` or review, work `W` behind it and `X` behind that.
fn gated(kind: StepKind) -> Run {
    let mut run = run_of(&[("G", &[]), ("W", &["G"]), ("X", &["W"])]);
    run.steps[0].kind = kind;
    run
}

#[test]
fn nothing_steps_over_a_gate_or_a_review() {
    for (kind, hint) in
        [(StepKind::Gate, "piton decide G approve --run R --by NAME"), (StepKind::Review, "piton begin G --run R")]
    {
        let run = gated(kind);
        for (effective_status, status) in
            EFFECTIVE_STATUSES.into_iter().filter(|(effective_status, _)| !effective_status.satisfies())
        {
            let mut run = run.clone();
            run.steps[0].status = status;
            for (id, behind) in
                [("W", EffectiveStatus::Open), ("X", EffectiveStatus::Done), ("X", EffectiveStatus::Verify)]
            {
                let effective_statuses =
                    [effective_status, if id == "W" { behind } else { EffectiveStatus::Done }, behind];
                for change in [begin(id), finish(id, Status::Completed)] {
                    if behind == EffectiveStatus::Done && matches!(change, ChangeKind::Finish(_)) {
                        continue;
                    }
                    let refusal = refused(&run, &effective_statuses, change, FORCE);
                    let has_conditions = effective_status == EffectiveStatus::Conditions;
                    let is = match has_conditions {
                        true => "approved on conditions that are still open".to_owned(),
                        false => status.to_string(),
                    };
                    let message = format!("{id} comes after G (Title of G), which is {is}");
                    assert_eq!(
                        (refusal.kind, refusal.message),
                        (RefusalKind::Person, message),
                        "{effective_status:?} {id}"
                    );
                    // A failed review or gate is not simply done next; the plan says what is.
                    let hint = if effective_status == EffectiveStatus::Failed { "piton plan R" } else { hint };
                    if has_conditions && kind == StepKind::Review {
                        let met = "once that is met: `piton finish G --run R --verdict VERDICT`";
                        assert_eq!(refusal.hints, [met]);
                    } else {
                        assert_eq!(refusal.hints, [hint]);
                    }
                }
            }
        }
        for effective_status in [EffectiveStatus::Done, EffectiveStatus::Skipped] {
            assert_eq!(
                word(&ask(&run, &[effective_status, EffectiveStatus::Open, EffectiveStatus::Open], begin("W"), FREE)),
                YES
            );
        }
    }
}

#[test]
fn the_end_of_a_run_steps_over_no_gate() {
    let run = gated(StepKind::Gate);
    let complete = || ChangeKind::Complete { note: None };
    let refusal =
        refused(&run, &[EffectiveStatus::Waiting, EffectiveStatus::Open, EffectiveStatus::Open], complete(), FORCE);
    assert_eq!(refusal.kind, RefusalKind::Person);
    assert_eq!(refusal.hints, ["piton decide G approve --run R --by NAME"]);
    assert_eq!(
        word(&ask(&run, &[EffectiveStatus::Done, EffectiveStatus::Open, EffectiveStatus::Open], complete(), FORCE)),
        YES
    );
}

#[test]
fn a_run_is_complete_when_nothing_is_open() {
    let ids: Vec<String> = (1..=7).map(|number| format!("S{number}")).collect();
    let steps: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), [].as_slice())).collect();
    let run = run_of(&steps);
    let complete = || ChangeKind::Complete { note: Some("bye".to_owned()) };
    for (effective_status, _) in EFFECTIVE_STATUSES {
        let mut effective_statuses = [EffectiveStatus::Done; 7];
        effective_statuses[3] = effective_status;
        let over =
            matches!(effective_status, EffectiveStatus::Done | EffectiveStatus::Skipped | EffectiveStatus::Cancelled);
        assert_eq!(
            word(&ask(&run, &effective_statuses, complete(), FREE)),
            if over { YES } else { NO },
            "{effective_status:?}"
        );
        assert_eq!(word(&ask(&run, &effective_statuses, complete(), FORCE)), YES, "{effective_status:?}");
    }
    let refusal = refused(&run, &[EffectiveStatus::Open; 7], complete(), FREE);
    assert_eq!(refusal.message, "7 steps of R are not done: S1, S2, S3, S4, S5, ...");
    let mut effective_statuses = [EffectiveStatus::Done; 7];
    effective_statuses[6] = EffectiveStatus::Open;
    assert_eq!(refused(&run, &effective_statuses, complete(), FREE).message, "1 step of R is not done: S7");
    // A missing effective status counts as open.
    assert_eq!(word(&ask(&run, &effective_statuses[..6], complete(), FREE)), NO);
    let mut over = run;
    over.status = RunStatus::Completed;
    assert_eq!(word(&ask(&over, &[EffectiveStatus::Done; 7], complete(), FREE)), ALREADY);
    assert_eq!(word(&ask(&over, &effective_statuses, complete(), FREE)), NO);
}

#[test]
fn a_run_rests_unless_it_is_over() {
    use RunStatus::{Aborted, Active, Archived, Completed, Paused};
    for (status, pause, abort, pause_open, abort_open) in [
        (Active, YES, YES, YES, YES),
        (Paused, ALREADY, YES, ALREADY, YES),
        (Aborted, NO, ALREADY, NO, ALREADY),
        (Completed, NO, NO, YES, YES),
        (Archived, NO, NO, NO, NO),
    ] {
        let mut run = one(StepKind::Work, Status::Pending);
        run.status = status;
        let found = [EffectiveStatus::Done, EffectiveStatus::Open].map(|effective_status| {
            [ChangeKind::Pause { reason: None }, ChangeKind::Abort { by: None, reason: None }]
                .map(|change| word(&ask(&run, &[effective_status], change, FREE)))
        });
        assert_eq!(found, [[pause, abort], [pause_open, abort_open]], "{status:?}");
    }
}

#[test]
fn an_aborted_run_continues_only_by_force() {
    let mut run = one(StepKind::Work, Status::InProgress);
    run.status = RunStatus::Aborted;
    let resume = || ChangeKind::Resume { steps: vec![], interruption: None, strategy: None, settled: vec![] };
    for change in [begin("S"), finish("S", Status::Completed), resume()] {
        let refusal = refused(&run, &[EffectiveStatus::Interrupted], change.clone(), FREE);
        assert_eq!((refusal.kind, refusal.texts()), (RefusalKind::Person, vec!["piton resume R --force".to_owned()]));
        assert_eq!(word(&ask(&run, &[EffectiveStatus::Interrupted], change, FORCE)), YES);
    }
}

#[test]
fn a_resume_records_nothing_that_the_evidence_does_not_say() {
    let run = run_of(&[("A", &[]), ("B", &[])]);
    let resume = |settled: &[(&str, Status)]| ChangeKind::Resume {
        steps: vec![],
        interruption: None,
        strategy: None,
        settled: settled.iter().map(|(id, status)| (StepId::new(*id), *status)).collect(),
    };
    let effective_statuses = [EffectiveStatus::Done, EffectiveStatus::Open];
    for (settled, expected) in [
        (vec![], YES),
        (vec![("A", Status::Completed)], YES),
        (vec![("A", Status::Completed), ("B", Status::Completed)], NO),
        (vec![("A", Status::Skipped)], NO),
        (vec![("B", Status::Pending)], NO),
        (vec![("X", Status::Completed)], "not found"),
    ] {
        assert_eq!(word(&ask(&run, &effective_statuses, resume(&settled), FORCE)), expected, "{settled:?}");
    }
}

/// Work `W` and the review `V` of it, which failed so often.
fn reviewed(failures: u32, verdict: ReviewVerdict) -> Run {
    let mut run = run_of(&[("W", &[]), ("V", &["W"])]);
    run.steps[0].status = Status::Completed;
    let review_step = step(&mut run, "V");
    review_step.kind = StepKind::Review;
    review_step.status = Status::Failed;
    review_step.failures = failures;
    review_step.returns_to = Some(StepId::new("W"));
    review_step.review = review(verdict);
    run
}

#[test]
fn a_failed_review_lets_its_work_begin_again_up_to_the_limit() {
    use ReviewVerdict::{NeedsRevision, Rejected};
    let effective_statuses = [EffectiveStatus::Done, EffectiveStatus::Failed];
    for (failures, verdict, expected) in
        [(1, NeedsRevision, YES), (2, NeedsRevision, YES), (3, NeedsRevision, PERSON), (1, Rejected, PERSON)]
    {
        let run = reviewed(failures, verdict);
        // The same work is not reviewed again.
        for (id, expected) in [("W", expected), ("V", PERSON)] {
            assert_eq!(word(&ask(&run, &effective_statuses, begin(id), FREE)), expected, "{id} {failures} {verdict}");
            assert_eq!(word(&ask(&run, &effective_statuses, begin(id), FORCE)), YES);
        }
    }
    let refusal = refused(&reviewed(3, NeedsRevision), &effective_statuses, begin("W"), FREE);
    assert_eq!(refusal.message, "V (Title of V) failed 3 times: a person decides how to continue");
    assert_eq!(
        refusal.hints,
        [
            "piton decide V redo --run R --by NAME --note WHY",
            "piton decide V accept --run R --by NAME --note WHY",
            "piton close R --abort"
        ]
    );
    let refusal = refused(&reviewed(1, Rejected), &effective_statuses, begin("W"), FREE);
    assert_eq!(refusal.message, "V (Title of V) was rejected: a person decides how to continue");
}

#[test]
fn work_that_was_done_again_is_reviewed_again_and_not_worked_on_once_more() {
    let mut run = reviewed(3, ReviewVerdict::Rejected);
    step(&mut run, "V").finished_at = Some(at(10));
    step(&mut run, "W").finished_at = Some(at(20));
    let effective_statuses = [EffectiveStatus::Done, EffectiveStatus::Failed];
    assert_eq!(word(&ask(&run, &effective_statuses, begin("V"), FREE)), YES);
    assert_eq!(word(&ask(&run, &effective_statuses, begin("W"), FREE)), NO);
}

#[test]
fn a_caller_may_go_back_further_than_the_review_would() {
    let mut run = run_of(&[("A", &[]), ("B", &["A"]), ("V", &["B"]), ("Z", &[])]);
    let review_step = step(&mut run, "V");
    review_step.returns_to = Some(StepId::new("B"));
    review_step.failures = 1;
    let effective_statuses =
        [EffectiveStatus::Done, EffectiveStatus::Done, EffectiveStatus::Failed, EffectiveStatus::Done];
    assert_eq!(word(&ask(&run, &effective_statuses, begin("A"), FREE)), YES);
    assert_eq!(word(&ask(&run, &effective_statuses, begin("Z"), FREE)), NO);
    step(&mut run, "V").failures = 3;
    assert_eq!(word(&ask(&run, &effective_statuses, begin("A"), FREE)), PERSON);
}

#[test]
fn work_that_failed_too_often_is_skipped_or_forced() {
    let mut run = one(StepKind::Work, Status::Failed);
    run.steps[0].failures = 3;
    for effective_status in [EffectiveStatus::Failed, EffectiveStatus::Interrupted] {
        let refusal = refused(&run, &[effective_status], begin("S"), FREE);
        assert_eq!(
            refusal.hints,
            [
                "piton decide S redo --run R --by NAME --note WHY",
                "piton decide S skip --run R --by NAME --note WHY",
                "piton close R --abort"
            ]
        );
    }
    let strict = ChangeLimits::of(4);
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Failed], begin("S"), strict)), YES);
    run.steps[0].failures = u32::MAX;
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Failed], begin("S"), FORCE)), YES);
}

#[test]
fn work_that_is_done_again_reopens_what_was_built_on_it() {
    let statuses = [
        ("A", Status::Completed),
        ("B", Status::Failed),
        ("C", Status::Skipped),
        ("D", Status::WaitingApproval),
        ("E", Status::Pending),
    ];
    let mut run = line_of(&statuses);
    run.steps.push(Step::new(StepId::new("F"), "Beside them".to_owned()));
    run.steps[5].status = Status::Completed;
    let of = |id: &str, status: EffectiveStatus| {
        let mut effective_statuses = [EffectiveStatus::Done; 6];
        effective_statuses[run.steps.iter().position(|step| step.id.as_str() == id).unwrap()] = status;
        let ChangeKind::Begin { reopens, .. } = admitted(&run, &effective_statuses, begin(id), FORCE) else { panic!() };
        reopens.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of("A", EffectiveStatus::Done), ["B", "D"], "what a person left out stays left out");
    assert_eq!(of("D", EffectiveStatus::Open), [""; 0]);
    assert_eq!(of("F", EffectiveStatus::Done), [""; 0]);
}
