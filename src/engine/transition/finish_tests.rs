//! What a step needs to begin or end, and what is added to one that is done.

use super::{
    ChangeLimits, RefusalKind, admit,
    decide_tests::told,
    tests::{ALREADY, FORCE, FREE, NO, PERSON, USAGE, YES, ask, begin, one, outcome, word},
};
use crate::{
    engine::{
        EffectiveStatus,
        preconditions_tests::{in_worktree, workspace},
        reports_tests::{begun, decided, report},
        testing::{at, line_of, path, review, step},
    },
    model::{
        Change, ChangeKind, DecisionKind, Evidence, FileFact, Finding, FindingCode, No, Outcome, Part, PartKind,
        Presence, Records, ReviewVerdict, Run, Status, StepId, StepKind, Workspace,
    },
};

fn part(name: &str, kind: PartKind, status: Status) -> Part {
    Part { name: name.to_owned(), title: String::new(), kind, status, output: None, commands: Vec::new() }
}

#[test]
fn a_step_that_is_done_by_parts_ends_when_the_begun_kind_is_done() {
    use PartKind::{Analysis, Work};
    let finish = |parts: &[(PartKind, Status)], by_parts: bool, limits| {
        let mut run = line_of(&[("S", Status::InProgress)]);
        run.steps[0].detail.parts = parts.iter().map(|(kind, status)| part("p", *kind, *status)).collect();
        let mut begun = begun(&run, 5, "S");
        if let crate::model::StatementKind::Begun(attempt) = &mut begun.kind {
            attempt.part = by_parts.then(|| "p".to_owned());
        }
        let kind = ChangeKind::Finish(Box::new(outcome("S", Status::Completed)));
        word(&admit(&run, (&told(vec![begun]), &[]), Change { at: at(9), kind }, limits, None))
    };
    let (done, open, skipped) = (Status::Completed, Status::Pending, Status::Skipped);
    assert_eq!(finish(&[(Work, done), (Work, open)], true, FREE), NO);
    assert_eq!(finish(&[(Work, done), (Work, open)], true, FORCE), YES);
    assert_eq!(finish(&[(Work, done), (Work, open)], false, FREE), YES, "begun as a whole");
    assert_eq!(finish(&[(Work, done), (Work, done)], true, FREE), YES);
    assert_eq!(finish(&[(Work, done), (Work, skipped)], true, FREE), YES);
    assert_eq!(finish(&[(Work, done), (Analysis, open)], true, FREE), YES, "nothing of its kind was begun");
    assert_eq!(finish(&[(Work, skipped), (Work, open)], true, FREE), YES, "only left out");
}

/// Finishes the completed step `S` once more, after it was reported, and returns the answer and the verdict that is recorded.
fn add(
    run: &Run,
    reported: &dyn Fn(&mut Outcome),
    added: &dyn Fn(&mut Outcome),
) -> (&'static str, Option<ReviewVerdict>) {
    let mut again = outcome("S", Status::Completed);
    added(&mut again);
    let evidence = told(vec![report(run, 5, "S", |outcome| {
        outcome.summary = None;
        reported(outcome);
    })]);
    let change = Change { at: at(9), kind: ChangeKind::Finish(Box::new(again)) };
    let result = admit(run, (&evidence, &[]), change, FREE, None);
    let verdict = match &result {
        Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Finish(outcome), .. }, .. }) => {
            assert!(outcome.amends);
            outcome.verdict
        }
        _ => None,
    };
    (word(&result), verdict)
}

/// Gives an outcome a text.
type Set<'a> = &'a dyn Fn(&mut Outcome, &str);

#[test]
fn what_is_new_is_added_to_a_step_that_is_done() {
    let text = |text: &str| Some(text.to_owned());
    let texts = |text: &str| vec![text.to_owned()];
    let run = one(StepKind::Work, Status::Completed);
    let nothing = |_: &mut Outcome| {};
    assert_eq!(add(&run, &nothing, &nothing).0, ALREADY);
    let said: [(&str, Set<'_>); 5] = [
        ("summary", &|outcome, word| outcome.summary = text(word)),
        ("conditions", &|outcome, word| outcome.conditions = texts(word)),
        ("findings", &|outcome, word| outcome.findings = texts(word)),
        ("outputs", &|outcome, word| outcome.outputs = vec![path(word)]),
        ("commit", &|outcome, word| outcome.commit = text(word)),
    ];
    for (what, set) in said {
        assert_eq!(add(&run, &nothing, &|outcome| set(outcome, "abcdef0")).0, YES, "{what}");
        let known = |outcome: &mut Outcome| set(outcome, "abcdef0");
        assert_eq!(add(&run, &known, &known).0, ALREADY, "{what}");
    }
    let commit = |sha: &'static str| move |outcome: &mut Outcome| outcome.commit = Some(sha.to_owned());
    assert_eq!(add(&run, &commit("abcdef0"), &commit("abcd")).0, ALREADY, "the same, shortened");
    assert_eq!(add(&run, &commit("abcd"), &commit("abcdef0")).0, ALREADY, "the same, in full");
    assert_eq!(add(&run, &commit("abcdef0"), &commit("bcdef01")).0, NO, "another one");
    let mut recorded = run.clone();
    recorded.steps[0].commit = text("abcdef0");
    assert_eq!(add(&recorded, &nothing, &commit("abcd")).0, ALREADY);
    assert_eq!(add(&recorded, &nothing, &commit("bcde")).0, NO);
    let part = |outcome: &mut Outcome| (outcome.part, outcome.summary) = (text("p"), text("new"));
    let mut parted = run;
    parted.steps[0].detail.parts.push(self::part("p", PartKind::Work, Status::Completed));
    let change = |kind| Change { at: at(9), kind };
    let mut of_part = outcome("S", Status::Completed);
    part(&mut of_part);
    let result = admit(&parted, (&Evidence::default(), &[]), change(ChangeKind::Finish(Box::new(of_part))), FREE, None);
    let Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Finish(found), .. }, .. }) = result else {
        panic!("a part may end again")
    };
    assert!(!found.amends);
}

#[test]
fn a_verdict_is_kept_when_something_is_added() {
    let mut run = one(StepKind::Review, Status::Completed);
    let summary = |outcome: &mut Outcome| outcome.summary = Some("more".to_owned());
    let condition = |outcome: &mut Outcome| outcome.conditions = vec!["add a test".to_owned()];
    let nothing = |_: &mut Outcome| {};
    run.steps[0].review = review(ReviewVerdict::Approved);
    assert_eq!(add(&run, &nothing, &summary), (YES, Some(ReviewVerdict::Approved)));
    assert_eq!(add(&run, &nothing, &condition), (YES, Some(ReviewVerdict::ApprovedWithConditions)));
    // Its conditions are met, so it counts as done.
    run.steps[0].review = review(ReviewVerdict::ApprovedWithConditions)
        .map(|review| crate::model::Review { open_conditions: Some(vec![]), ..review });
    let approved = |outcome: &mut Outcome| {
        condition(outcome);
        outcome.verdict = Some(ReviewVerdict::Approved);
    };
    assert_eq!(add(&run, &nothing, &approved).0, USAGE);
    assert_eq!(add(&run, &nothing, &condition), (YES, Some(ReviewVerdict::ApprovedWithConditions)));
}

#[test]
fn a_report_of_an_earlier_run_of_the_same_name_is_no_record() {
    let mut run = one(StepKind::Work, Status::Completed);
    let commit = |sha: &'static str| move |outcome: &mut Outcome| outcome.commit = Some(sha.to_owned());
    assert_eq!(add(&run, &commit("abcdef0"), &commit("bcdef01")).0, NO);
    run.started_at = Some(at(6));
    assert_eq!(add(&run, &commit("abcdef0"), &commit("bcdef01")).0, YES);
}

#[test]
fn where_a_failure_goes_back_to_can_be_said_late() {
    let mut run = line_of(&[("A", Status::Completed), ("S", Status::Failed)]);
    run.records.details = true;
    step(&mut run, "S").error = Some("no".to_owned());
    let amends = |run: &Run, error: Option<&str>, target: Option<&str>| {
        let outcome = Outcome {
            error: error.map(str::to_owned),
            to_step: target.map(StepId::new),
            ..outcome("S", Status::Failed)
        };
        let change = Change { at: at(9), kind: ChangeKind::Finish(Box::new(outcome)) };
        match admit(run, (&Evidence::default(), &[]), change, FREE, None) {
            Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Finish(outcome), .. }, .. }) => {
                Some((outcome.amends, outcome.failures, outcome.attempt))
            }
            _ => None,
        }
    };
    assert_eq!(amends(&run, None, Some("A")), Some((true, 0, 1)));
    assert_eq!(amends(&run, Some("no"), Some("A")), Some((true, 0, 1)));
    assert_eq!(amends(&run, Some("other"), Some("A")), Some((false, 1, 2)), "another failure");
    assert_eq!(amends(&run, Some("no"), None), None, "recorded already");
    step(&mut run, "S").status = Status::InProgress;
    assert_eq!(amends(&run, None, Some("A")), Some((false, 1, 1)), "the first end of this attempt");
}

/// `W` writes the document that the gate `G` approves.
fn documented(work: Status) -> Run {
    let mut run = line_of(&[("W", work), ("G", Status::Pending), ("X", Status::Pending)]);
    run.records = Records::ALL;
    step(&mut run, "G").kind = StepKind::Gate;
    for id in ["W", "G"] {
        step(&mut run, id).proof.documents = vec![path("plan.md")];
    }
    run
}

#[test]
fn a_step_without_its_document_says_where_it_can_be() {
    let missing = |statements| Evidence { files: [(path("plan.md"), FileFact::Missing)].into(), ..told(statements) };
    let end = |run: &Run, evidence: &Evidence, kind: ChangeKind, limits| {
        admit(run, (evidence, &[]), Change { at: at(9), kind }, limits, None)
    };
    let finish = |status: Status, outputs: &[&str]| {
        let outputs = outputs.iter().map(|output| path(output)).collect();
        ChangeKind::Finish(Box::new(Outcome { outputs, ..outcome("W", status) }))
    };
    let run = documented(Status::InProgress);
    let refusal = end(&run, &missing(vec![]), finish(Status::Completed, &[]), FREE).unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.message.as_str()),
        (RefusalKind::No(No::NotYet), "the plan document plan.md does not exist")
    );
    assert_eq!(
        refusal.hints,
        [
            "write it, then: `piton finish W --run R --status completed`",
            "if it is at another place: `piton finish W --run R --output FILE`",
            "piton decide W override --run R --by NAME --note WHY",
        ]
    );
    assert_eq!(word(&end(&run, &missing(vec![]), finish(Status::Completed, &[]), FORCE)), YES);
    let overridden = missing(vec![decided(&run, 5, "W", DecisionKind::Override)]);
    assert_eq!(word(&end(&run, &overridden, finish(Status::Completed, &[]), FREE)), YES);
    for (status, outputs, expected) in [
        (Status::Completed, &["other.md"][..], Some(path("other.md"))),
        (Status::Failed, &["other.md"], None),
        (Status::Failed, &[], None),
    ] {
        let result = end(&run, &missing(vec![]), finish(status, outputs), FREE);
        let Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Finish(outcome), .. }, .. }) = result
        else {
            panic!("{status} {outputs:?}")
        };
        assert_eq!(outcome.document, expected, "{status} {outputs:?}");
    }
    // Not begun: there is no attempt that could be overridden.
    let open = end(&documented(Status::Pending), &missing(vec![]), finish(Status::Completed, &[]), FREE).unwrap_err();
    assert_eq!(open.hints.len(), 2);
    let approve = ChangeKind::Approve { step: StepId::new("G"), by: None, note: None, phases: None, choice: None };
    let mut approved = documented(Status::Completed);
    let refusal = end(&approved, &missing(vec![]), approve.clone(), FREE).unwrap_err();
    let elsewhere = "if it is at another place: `piton finish W --run R --output FILE`";
    let [redo, gate] =
        ["decide W redo", "decide G override"].map(|what| format!("piton {what} --run R --by NAME --note WHY"));
    assert_eq!(refusal.hints, [redo, elsewhere.to_owned(), gate.clone()]);
    // No step is known to write it.
    step(&mut approved, "W").proof.documents = vec![path("other.md")];
    assert_eq!(end(&approved, &missing(vec![]), approve, FREE).unwrap_err().hints, [gate]);
}

#[test]
fn a_step_without_its_output_is_finished_only_as_failed_or_by_a_person() {
    let mut run = one(StepKind::Work, Status::InProgress);
    run.steps[0].proof.outputs = vec![path("out.json")];
    let finish = |statements, status, limits| {
        let evidence = Evidence { files: [(path("out.json"), FileFact::Missing)].into(), ..told(statements) };
        let kind = ChangeKind::Finish(Box::new(outcome("S", status)));
        word(&admit(&run, (&evidence, &[]), Change { at: at(9), kind }, limits, None))
    };
    assert_eq!(finish(vec![], Status::Completed, FREE), NO);
    assert_eq!(finish(vec![], Status::Failed, FREE), YES);
    assert_eq!(finish(vec![], Status::Completed, FORCE), YES);
    assert_eq!(finish(vec![decided(&run, 5, "S", DecisionKind::Override)], Status::Completed, FREE), YES);
}

#[test]
fn nothing_begins_in_the_wrong_workspace_unless_a_person_lets_it() {
    let run = in_worktree(one(StepKind::Work, Status::Pending));
    let begin = |branch: &str, statements, limits| {
        let found = Workspace { branch: Some(branch.to_owned()), ..workspace() };
        let evidence = Evidence { workspace: Some(found), ..told(statements) };
        let result = admit(&run, (&evidence, &[]), Change { at: at(9), kind: begin("S") }, limits, None);
        let forced = match &result {
            Ok(super::Admitted::Change { findings, .. }) => findings.iter().map(|finding| finding.code).collect(),
            _ => vec![],
        };
        (word(&result), forced)
    };
    assert_eq!(begin("feature/x", vec![], FREE), (YES, vec![]));
    assert_eq!(begin("main", vec![], FREE), (PERSON, vec![]));
    assert_eq!(begin("main", vec![], FORCE), (YES, vec![FindingCode::OverrideForced]));
    let overridden = vec![decided(&run, 5, "S", DecisionKind::Override)];
    assert_eq!(begin("main", overridden, FREE), (YES, vec![FindingCode::OverrideForced]));
}

#[test]
fn the_driver_of_an_attempt_decides_whether_it_begins_again() {
    let mut run = one(StepKind::Work, Status::InProgress);
    run.steps[0].attempts = 1;
    for (presence, expected) in [
        (Presence::Caller, [ALREADY, YES, YES]),
        (Presence::Alive, ["conflict"; 3]),
        (Presence::Unknown, [PERSON, PERSON, YES]),
        (Presence::Gone, [YES; 3]),
    ] {
        let presences = [((StepId::new("S"), 1), presence)].into();
        let redo = decided(&run, 6, "S", DecisionKind::Redo);
        let evidence = Evidence { presences, ..told(vec![begun(&run, 5, "S")]) };
        let found = [(false, None), (true, None), (false, Some(redo))].map(|(again, said)| {
            let mut evidence = evidence.clone();
            evidence.statements.extend(said);
            let change = Change { at: at(9), kind: begin("S") };
            word(&admit(&run, (&evidence, &[]), change, ChangeLimits { again, ..FREE }, None))
        });
        assert_eq!(found, expected, "{presence:?}");
    }
}

#[test]
fn a_step_whose_base_was_opened_again_does_not_end() {
    use Status::{Completed, InProgress, Pending};
    for (what, base, base_began, began, is_redone, expected) in [
        ("it is done", Completed, None, Some(10), false, YES),
        ("it is wanted again", Completed, None, Some(10), true, NO),
        ("it was begun later", InProgress, Some(11), Some(10), false, NO),
        ("it was begun at that moment", InProgress, Some(10), Some(10), false, YES),
        ("it was begun before", InProgress, Some(9), Some(10), false, YES),
        ("it is not known when this began", InProgress, Some(11), None, false, YES),
        ("it was done again", Completed, Some(11), Some(10), false, YES),
        ("it is open", Pending, None, Some(10), false, YES),
    ] {
        let mut run = line_of(&[("A", base), ("S", InProgress)]);
        step(&mut run, "A").started_at = base_began.map(at);
        step(&mut run, "S").started_at = began.map(at);
        let redo = is_redone.then(|| decided(&run, 12, "A", DecisionKind::Redo)).into_iter().collect();
        let kind = ChangeKind::Finish(Box::new(outcome("S", Completed)));
        let found = word(&admit(&run, (&told(redo), &[]), Change { at: at(20), kind }, FREE, None));
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_change_of_a_step_of_foreign_files_is_for_its_dialect_to_refuse() {
    let mut run = one(StepKind::Work, Status::Completed);
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Done], begin("S"), FREE)), NO);
    run.steps[0].recorded = false;
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Done], begin("S"), FREE)), YES);
}

#[test]
fn a_number_of_phases_needs_a_place() {
    let mut run = one(StepKind::Work, Status::InProgress);
    let finish = |run: &Run| {
        let kind = ChangeKind::Finish(Box::new(Outcome { phases: Some(3), ..outcome("S", Status::Completed) }));
        word(&ask(run, &[EffectiveStatus::Interrupted], kind, FREE))
    };
    assert_eq!(finish(&run), USAGE);
    run.records.details = true;
    assert_eq!(finish(&run), YES);
}

#[test]
fn an_unknown_word_is_replaced_by_what_a_person_accepts() {
    let accept = |kind: StepKind, code: FindingCode| {
        let mut run = one(kind, Status::Completed);
        run.records = Records::ALL;
        let outcome =
            Outcome { accepts: true, verdict: Some(ReviewVerdict::Approved), ..outcome("S", Status::Completed) };
        let change = Change { at: at(9), kind: ChangeKind::Finish(Box::new(outcome)) };
        let findings = [Finding::new(code, "").on(&StepId::new("S"))];
        match admit(&run, (&Evidence::default(), &findings), change, FREE, None) {
            Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Approve { .. }, .. }, .. }) => {
                "approved".to_owned()
            }
            Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Finish(outcome), .. }, .. }) => {
                outcome.verdict.map_or_else(|| "done".to_owned(), |verdict| verdict.to_string())
            }
            other => word(&other).to_owned(),
        }
    };
    assert_eq!(accept(StepKind::Gate, FindingCode::StatusUnknown), "approved");
    assert_eq!(accept(StepKind::Review, FindingCode::StatusUnknown), "APPROVED");
    assert_eq!(accept(StepKind::Work, FindingCode::StatusUnknown), "done");
    for kind in [StepKind::Gate, StepKind::Review, StepKind::Work] {
        assert_eq!(accept(kind, FindingCode::PartUnreadable), PERSON);
    }
}

#[test]
fn a_gate_whose_agent_failed_is_closed_by_an_approval() {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::Failed)]);
    step(&mut run, "G").kind = StepKind::Gate;
    let approve = |run: &Run| {
        let kind = ChangeKind::Approve { step: StepId::new("G"), by: None, note: None, phases: None, choice: None };
        word(&admit(run, (&Evidence::default(), &[]), Change { at: at(9), kind }, FREE, None))
    };
    assert_eq!(approve(&run), PERSON, "it was refused");
    step(&mut run, "G").agent = Some("merger".to_owned());
    assert_eq!(approve(&run), YES);
}
