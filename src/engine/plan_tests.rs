//! The plan as a whole: verdicts, modes, questions, ages, interruptions, commands.

use super::testing::{
    at, has, ids, line_of, next_of, notable_codes, options, path, plan_of, planned, planned_with, run_of, step,
    with_statuses, with_witnesses,
};
use crate::model::{
    Action, Evidence, Finding, FindingClass, FindingCode, FollowUp, Mode, Options, Owner, Question, Run, RunId,
    RunStatus, Severity, Status, StepId, StepKind, Verdict,
};

pub(super) fn clean() -> Run {
    line_of(&[("A", Status::Completed), ("B", Status::Pending), ("C", Status::Pending)])
}

pub(super) fn over() -> Run {
    line_of(&[("A", Status::Completed), ("B", Status::Completed)])
}

pub(super) fn with(code: FindingCode, run: &Run, options: &Options) -> super::Planned {
    planned_with(run, &Evidence::default(), vec![Finding::new(code, "so it is")], options)
}

#[test]
fn every_finding_weighs_what_its_code_says() {
    for code in FindingCode::ALL {
        let expected = match (code.severity(), code.needs_confirmation()) {
            (Severity::Blocking, _) => Verdict::Blocked,
            (Severity::Warning, true) => Verdict::Confirm,
            (Severity::Warning, false) | (Severity::Info, _) => Verdict::Resume,
        };
        assert_eq!(with(*code, &clean(), &options()).plan.verdict, expected, "{code}");
        let over = with(*code, &over(), &options());
        let blocking = over.findings.iter().any(|finding| finding.severity == Severity::Blocking);
        let expected = match code.is_of(FindingClass::LacksSteps) {
            _ if blocking => Verdict::Blocked,
            true => Verdict::Confirm,
            false => Verdict::Complete,
        };
        assert_eq!(over.plan.verdict, expected, "{code}: nothing that blocks is called complete");
    }
}

#[test]
fn verdicts() {
    let gate = |status| {
        let mut run = line_of(&[("A", Status::Completed), ("G", status)]);
        step(&mut run, "G").kind = StepKind::Gate;
        run
    };
    let mut gate_and_work = gate(Status::WaitingApproval);
    gate_and_work.steps.push(crate::model::Step::new(StepId::new("N"), "N"));
    let mut doubted = clean();
    with_witnesses(step(&mut doubted, "B"), 1);
    let mut drifted = clean();
    with_witnesses(step(&mut drifted, "B"), 2);
    let cancelled = line_of(&[("A", Status::Completed), ("B", Status::Cancelled)]);
    for (name, run, verdict, next) in [
        ("clean", clean(), Verdict::Resume, vec!["run B"]),
        ("a gate", gate(Status::WaitingApproval), Verdict::Blocked, vec!["approve G"]),
        ("a gate reasons work", gate_and_work, Verdict::Confirm, vec!["approve G", "run N"]),
        ("a conflict", doubted, Verdict::Confirm, vec!["verify B"]),
        ("drift", drifted, Verdict::Confirm, vec!["run C"]),
        ("over", over(), Verdict::Complete, vec![]),
        ("over, one was cancelled", cancelled, Verdict::Complete, vec![]),
        ("stuck", line_of(&[("A", Status::Cancelled), ("B", Status::Pending)]), Verdict::Blocked, vec![]),
        ("empty", run_of(&[]), Verdict::Nothing, vec![]),
    ] {
        let planned = plan_of(&run, &options());
        assert_eq!(
            (planned.plan.verdict, next_of(&planned)),
            (verdict, next.into_iter().map(str::to_owned).collect()),
            "{name}"
        );
    }
}

#[test]
fn a_run_without_steps_is_over_only_when_something_says_so() {
    for (status, done_elsewhere, verdict) in [
        (RunStatus::Active, 0, Verdict::Nothing),
        (RunStatus::Paused, 0, Verdict::Nothing),
        (RunStatus::Completed, 0, Verdict::Complete),
        (RunStatus::Archived, 0, Verdict::Complete),
        (RunStatus::Active, 9, Verdict::Complete),
    ] {
        let mut run = run_of(&[]);
        (run.status, run.done_elsewhere) = (status, done_elsewhere);
        assert_eq!(plan_of(&run, &options()).plan.verdict, verdict, "{status:?} {done_elsewhere}");
    }
}

#[test]
fn when_only_the_record_lags_it_is_brought_up_to_date() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Pending), ("C", Status::InProgress)]);
    for id in ["B", "C"] {
        with_witnesses(step(&mut run, id), 2);
    }
    run.follow_up = Some(merge());
    let planned = plan_of(&run, &options());
    assert_eq!(
        (next_of(&planned), planned.plan.verdict),
        (vec!["verify B".to_owned(), "verify C".to_owned()], Verdict::Confirm)
    );
    let question = planned.plan.question().cloned().unwrap();
    assert_eq!(question.text, "No step of R has to run. Record what the evidence shows?");
    assert_eq!(question.default.as_deref(), Some("no"));
    assert_eq!(planned.plan.next[0].rule, "3.drift");
    assert_eq!((planned.plan.progress.done, planned.plan.progress.total), (3, 3));
}

fn merge() -> FollowUp {
    FollowUp {
        action: Action::Merge,
        title: "Merge feature/x into main".to_owned(),
        agent: Some("git-worktree-manager".to_owned()),
        reason: "every phase is done".to_owned(),
        merge: None,
    }
}

#[test]
fn what_comes_after_the_last_step_is_asked_for() {
    let mut run = over();
    run.follow_up = Some(merge());
    run.done_elsewhere = 9;
    let planned = plan_of(&run, &options());
    assert_eq!((next_of(&planned), planned.plan.verdict), (vec!["merge B".to_owned()], Verdict::Complete));
    let next = &planned.plan.next[0];
    assert_eq!(
        (next.rule.as_str(), next.evidence.as_slice()),
        ("6.complete", ["all 11 steps are done".to_owned()].as_slice())
    );
    let question = planned.plan.question().cloned().unwrap();
    assert_eq!((question.text.as_str(), question.default.as_deref()), ("Merge feature/x into main?", Some("no")));
    assert_eq!(question.option("approve").unwrap().command, "piton decide merge approve --run R --by NAME");
    let commands = planned.plan.commands;
    assert_eq!(
        (commands.begin, commands.context, commands.resume),
        (None, None, None),
        "no command merges or approves"
    );
    run.follow_up = Some(FollowUp { action: Action::Archive, ..merge() });
    let planned = plan_of(&run, &options());
    assert_eq!(planned.plan.commands.begin.as_ref().map(ToString::to_string).as_deref(), Some("piton close R"));
    assert!(planned.plan.questions.is_empty());
    run.status = RunStatus::Completed;
    assert_eq!(next_of(&plan_of(&run, &options())), ["archive B"], "what is over is put away");
    run.follow_up = Some(merge());
    assert_eq!(next_of(&plan_of(&run, &options())).len(), 0, "the run is over, the state says");
}

#[test]
fn an_option_that_is_refused_leaves_no_run_complete() {
    for options in [
        Options { from: ids(&["X"]), ..options() },
        Options { retry: Some(None), ..options() },
        Options { skip: ids(&["A"]), ..options() },
    ] {
        assert_eq!(plan_of(&over(), &options).plan.verdict, Verdict::Blocked);
    }
}

/// A run whose state was written so many seconds ago.
fn aged(seconds: i64) -> Run {
    let mut run = clean();
    run.stamp = Some(at(-seconds));
    run
}

#[test]
fn modes_and_ages_decide_whether_and_what_is_asked() {
    const GO_ON: Option<(&str, &str)> = Some(("Proceed with resume?", "yes"));
    const LOOK: Option<(&str, &str)> = Some(("Look at the findings first. Proceed with resume?", "no"));
    const CHECK: Option<(&str, &str)> = Some(("Check every line above. Type \"proceed\" to continue.", "cancel"));
    for (seconds, autopilot, interactive) in [
        (0, None, GO_ON),
        (3_600, None, GO_ON),
        (86_399, None, GO_ON),
        (86_400, GO_ON, GO_ON),
        (604_800, GO_ON, GO_ON),
        (604_801, LOOK, LOOK),
    ] {
        for (mode, expected) in
            [(Mode::Autopilot, autopilot), (Mode::Interactive, interactive), (Mode::Preflight, CHECK)]
        {
            let planned = plan_of(&aged(seconds), &Options { mode, ..options() });
            let question = planned.plan.question();
            let asked = question.map(|question| (question.text.as_str(), question.default.as_deref().unwrap()));
            assert_eq!(asked, expected, "{mode:?} after {seconds} s");
            assert_eq!(planned.unattended, mode == Mode::Autopilot && expected.is_none());
            let verdict = if seconds > 604_800 { Verdict::Confirm } else { Verdict::Resume };
            assert_eq!(planned.plan.verdict, verdict, "a mode that asks changes no verdict");
        }
    }
    let own_bands = crate::model::AgeBands { fresh_below: 10, recent_below: 20, moderate_up_to: 30 };
    for (seconds, unattended) in [(9, true), (19, true), (20, false)] {
        let options = Options { mode: Mode::Autopilot, age: own_bands.clone(), ..options() };
        let planned = plan_of(&aged(seconds), &options);
        assert_eq!((planned.unattended, planned.plan.questions.is_empty()), (unattended, unattended));
    }
}

#[test]
fn autopilot_goes_on_alone_over_warnings_and_over_nothing_else() {
    let autopilot = || Options { mode: Mode::Autopilot, ..options() };
    assert!(plan_of(&aged(0), &autopilot()).unattended);
    for code in FindingCode::ALL {
        let planned = with(*code, &aged(0), &autopilot());
        let stops = code.severity() == Severity::Blocking
            || matches!(
                code,
                FindingCode::StatusConflict
                    | FindingCode::RestoredFromHistory
                    | FindingCode::OverrideForced
                    | FindingCode::StateCorrupt
                    | FindingCode::StateLeftover
                    | FindingCode::PartMissing
                    | FindingCode::RunFailed
                    | FindingCode::PlanChanged
                    | FindingCode::LimitReached
                    | FindingCode::JournalUntrusted
                    | FindingCode::StateOlderThanLog
                    | FindingCode::StepsLost
            );
        assert_eq!(planned.unattended, !stops, "{code}");
        assert!(planned.unattended || code.severity() == Severity::Blocking || !planned.plan.questions.is_empty());
    }
    assert!(!plan_of(&clean(), &autopilot()).unattended, "its age is unknown");
    let mut degraded = aged(0);
    degraded.degraded = true;
    assert!(!plan_of(&degraded, &autopilot()).unattended, "part of the state is missing");
    let mut reasons = aged(0);
    reasons.steps.push(crate::model::Step::new(StepId::new("G"), "Gate"));
    step(&mut reasons, "G").kind = StepKind::Gate;
    let planned = plan_of(&reasons, &autopilot());
    assert_eq!((planned.plan.verdict, planned.unattended), (Verdict::Confirm, false), "a gate waits reasons the work");
    assert_eq!(planned.plan.question().cloned().unwrap().default, None);
    let mut childless = aged(0);
    step(&mut childless, "B").kind = StepKind::Container;
    assert!(!plan_of(&childless, &autopilot()).unattended, "something has to be looked at");
    for mode in [Mode::Interactive, Mode::Preflight] {
        assert!(!plan_of(&aged(0), &Options { mode, ..options() }).unattended);
    }
    let mut over = over();
    over.stamp = Some(at(0));
    assert!(!plan_of(&over, &autopilot()).unattended, "there is nothing to go on with");
}

#[test]
fn a_gate_is_asked_for_in_every_mode() {
    let mut run = line_of(&[("A", Status::Completed), ("2.5", Status::WaitingApproval)]);
    step(&mut run, "2.5").kind = StepKind::Gate;
    for mode in [Mode::Autopilot, Mode::Interactive, Mode::Preflight] {
        let question = plan_of(&run, &Options { mode, ..options() }).plan.question().cloned().unwrap();
        assert_eq!(question.text, "Approve 2.5 (Title of 2.5)?");
        assert_eq!(commands_of(&question), ["piton decide 2.5 approve --run R --by NAME", "piton pause R"]);
        assert_eq!(question.default, None, "no answer, no change");
    }
}

fn commands_of(question: &Question) -> Vec<String> {
    question.options.iter().map(|option| option.command.to_string()).collect()
}

#[test]
fn decisions_are_asked_for_and_never_taken_by_default() {
    let mut failing = line_of(&[("A", Status::Failed)]);
    step(&mut failing, "A").failures = 3;
    let question = plan_of(&failing, &options()).plan.question().cloned().unwrap();
    assert_eq!(question.text, "A (Title of A) failed 3 times. Continue anyway?");
    let redo = "piton decide A redo --run R --by NAME --note WHY";
    assert_eq!(
        commands_of(&question),
        [redo, "piton decide A skip --run R --by NAME --note WHY", "piton close R --abort"]
    );
    assert!(question.options.iter().all(|option| option.person) && question.default.is_none());
    step(&mut failing, "A").kind = StepKind::Review;
    let question = plan_of(&failing, &options()).plan.question().cloned().unwrap();
    let accept = "piton decide A accept --run R --by NAME --note WHY";
    assert_eq!(commands_of(&question), [redo, accept, "piton close R --abort"], "a review is never skipped");
    step(&mut failing, "A").review = super::testing::review(crate::model::ReviewVerdict::Rejected);
    let question = plan_of(&failing, &options()).plan.question().cloned().unwrap();
    assert_eq!(question.text, "A (Title of A) was rejected: a person decides how to continue");
    assert_eq!(commands_of(&question), [redo, accept, "piton close R --abort"]);
    step(&mut failing, "A").recorded = false;
    assert!(plan_of(&failing, &options()).plan.questions.is_empty(), "what cannot be recorded cannot be decided");
}

#[test]
fn a_wrong_branch_is_a_choice() {
    let question = with(FindingCode::BranchMismatch, &clean(), &options()).plan.question().cloned().unwrap();
    assert_eq!(question.text, "❌ so it is");
    assert_eq!(commands_of(&question), ["piton close R --abort"], "the state names no branch");
    let mut run = clean();
    run.workspace.branch = Some("it's".to_owned());
    let question = with(FindingCode::BranchMismatch, &run, &options()).plan.question().cloned().unwrap();
    assert_eq!(commands_of(&question), ["git -C . checkout 'it'\\''s'", "piton close R --abort"]);
}

#[test]
fn nothing_is_asked_that_no_answer_would_help() {
    let mut failing = line_of(&[("A", Status::Failed)]);
    step(&mut failing, "A").failures = 3;
    let alive = Evidence { owner: Owner::Live { description: "it".to_owned() }, ..Evidence::default() };
    assert!(planned(&failing, &alive, &options()).plan.questions.is_empty());
    assert!(with(FindingCode::WorktreeMissing, &failing, &options()).plan.questions.is_empty());
    assert!(
        plan_of(&line_of(&[("A", Status::Cancelled), ("B", Status::Pending)]), &options()).plan.questions.is_empty()
    );
    assert!(plan_of(&run_of(&[]), &options()).plan.questions.is_empty());
    assert!(plan_of(&over(), &options()).plan.questions.is_empty());
}

#[test]
fn age_does_not_matter_where_nothing_is_left() {
    let mut run = over();
    run.stamp = Some(at(-1_000_000));
    let planned = plan_of(&run, &options());
    assert_eq!((planned.plan.verdict, notable_codes(&planned)), (Verdict::Complete, vec![]));
    run.follow_up = Some(merge());
    assert!(has(&plan_of(&run, &options()), FindingCode::AgeStale), "a merge after so long deserves a look");
}

#[test]
fn findings_come_worst_first_and_once() {
    let findings =
        [FindingCode::AgeUnknown, FindingCode::PlanMissing, FindingCode::BranchMismatch, FindingCode::PlanMissing];
    let findings = findings.map(|code| Finding::new(code, "so it is")).to_vec();
    let mut run = clean();
    run.stamp = Some(at(0));
    let planned = planned_with(&run, &Evidence::default(), findings, &options());
    let codes: Vec<FindingCode> = planned.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::BranchMismatch, FindingCode::PlanMissing, FindingCode::AgeUnknown]);
}

#[test]
fn steps_are_grouped_by_where_they_stand() {
    let names = ["Done", "Run", "Fail", "Open", "Block", "Skip", "Cancel", "Wait", "Lost", "Held", "Look", "Box"];
    let steps: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, [].as_slice())).collect();
    let statuses = [
        Status::Completed,
        Status::InProgress,
        Status::Failed,
        Status::Pending,
        Status::Blocked,
        Status::Skipped,
        Status::Cancelled,
        Status::WaitingApproval,
        Status::Completed,
        Status::Completed,
        Status::Pending,
        Status::Pending,
    ];
    let mut run = with_statuses(run_of(&steps), &statuses);
    run.done_elsewhere = 5;
    step(&mut run, "Lost").proof.outputs = vec![path("gone")];
    with_witnesses(step(&mut run, "Look"), 1);
    step(&mut run, "Box").kind = StepKind::Container;
    step(&mut run, "Box").children = ids(&["Open"]);
    let held = vec![Finding::new(FindingCode::PartUnreadable, "").on(&StepId::new("Held"))];
    let planned = planned_with(&run, &Evidence::default(), held, &options());
    let groups = planned.plan.steps;
    assert_eq!(groups.completed, ids(&["Done"]));
    assert_eq!(groups.in_progress, ids(&["Run"]));
    assert_eq!(groups.failed, ids(&["Fail"]));
    assert_eq!(groups.pending, ids(&["Look", "Open", "Wait"]));
    assert_eq!(groups.blocked, ids(&["Block", "Held"]));
    assert_eq!(groups.skipped, ids(&["Cancel", "Skip"]));
    assert_eq!(groups.invalid, ids(&["Lost"]));
    assert_eq!((planned.plan.progress.done, planned.plan.progress.total), (8, 17));
}

#[test]
fn untrusted_counters_do_not_overflow() {
    let mut run = over();
    run.done_elsewhere = usize::MAX;
    let planned = plan_of(&run, &options());
    assert_eq!((planned.plan.progress.done, planned.plan.progress.total), (usize::MAX, usize::MAX));
}

#[test]
fn commands_are_exact() {
    let mut run = clean();
    step(&mut run, "B").agent = Some("@code developer".to_owned());
    let commands = plan_of(&run, &options()).plan.commands;
    assert_eq!(
        commands.begin.as_ref().map(ToString::to_string).as_deref(),
        Some("piton begin B --run R --agent '@code developer'")
    );
    assert_eq!(commands.context.as_ref().map(ToString::to_string).as_deref(), Some("piton context R --step B"));
    assert_eq!(commands.resume.as_ref().map(ToString::to_string).as_deref(), Some("piton resume R"));
    step(&mut run, "B").agent = None;
    step(&mut run, "B").id = StepId::new("--force");
    step(&mut run, "C").depends_on = ids(&["--force"]);
    run.id = RunId::new("$(id)");
    let commands = plan_of(&run, &options()).plan.commands;
    assert_eq!(
        commands.begin.as_ref().map(ToString::to_string).as_deref(),
        Some("piton begin --run '$(id)' -- '--force'")
    );
    assert_eq!(
        commands.context.as_ref().map(ToString::to_string).as_deref(),
        Some("piton context '$(id)' --step='--force'")
    );
    assert_eq!(commands.resume.as_ref().map(ToString::to_string).as_deref(), Some("piton resume '$(id)'"));
}

#[test]
fn the_resume_command_leads_to_the_same_plan() {
    let about = |part: &str| Some(crate::model::PartRef { step: StepId::new("B"), part: part.to_owned() });
    let mut run = clean();
    run.steps.push(crate::model::Step::new(StepId::new("D"), "D"));
    for name in ["p", "q r", "s"] {
        step(&mut run, "B").detail.parts.push(crate::model::Part {
            name: name.to_owned(),
            title: String::new(),
            kind: crate::model::PartKind::Work,
            status: Status::Pending,
            output: None,
            commands: Vec::new(),
        });
    }
    let options = Options {
        from: ids(&["B", "C"]),
        skip: ids(&["D"]),
        force: true,
        refresh_analysis: true,
        from_part: about("p"),
        retry_part: about("q r"),
        skip_part: about("s"),
        ..options()
    };
    assert_eq!(
        plan_of(&run, &options).plan.commands.resume.as_ref().map(ToString::to_string).as_deref(),
        Some(
            "piton resume R --from B --from C --skip D --force --refresh-analysis --from-step p B --retry-step 'q r' B --skip-step s B"
        )
    );
}

#[test]
fn what_is_left_after_a_merge_is_to_record_it() {
    let mut run = over();
    run.follow_up = Some(merge());
    run.workspace.branch = Some("feature/x".to_owned());
    let said = |run: &Run, merged: Option<bool>| {
        let plan = planned(run, &Evidence { merged, ..Evidence::default() }, &options()).plan;
        (plan.next[0].reason.clone(), plan.commands.begin)
    };
    for merged in [None, Some(false)] {
        assert_eq!(said(&run, merged), ("every phase is done".to_owned(), None));
    }
    assert_eq!(said(&run, Some(true)), ("feature/x is merged".to_owned(), None));
    let merged = Evidence { merged: Some(true), ..Evidence::default() };
    let question = planned(&run, &merged, &options()).plan.question().cloned().unwrap();
    assert_eq!(question.option("complete").unwrap().command, "piton close R --done");
    run.workspace.clean_up = vec!["git worktree remove wt".to_owned(), "git branch -d feature/x".to_owned()];
    let clean_up = "feature/x is merged: record that the run is over, then clean up (git worktree remove wt, git branch -d feature/x)";
    assert_eq!(said(&run, Some(true)), (clean_up.to_owned(), None));
}

#[test]
fn an_approval_of_the_merge_leaves_only_the_merge() {
    let mut run = over();
    run.follow_up = Some(merge());
    let approval = |step: &str| {
        let kind = crate::model::StatementKind::Decision(crate::model::Decision {
            step: Some(StepId::new(step)),
            decision: crate::model::DecisionKind::Approve,
            at: at(0),
            by: None,
            note: None,
            choice: None,
            despite: None,
        });
        let statement = crate::model::Statement { run: "R".to_owned(), dialect: run.dialect, kind };
        let plan = planned(&run, &Evidence { statements: vec![statement], ..Evidence::default() }, &options()).plan;
        (plan.next[0].reason.clone(), plan.question().is_some_and(|question| question.option("approve").is_some()))
    };
    assert_eq!(approval("B"), ("a person approved it: merge it with --no-ff".to_owned(), false));
    assert_eq!(approval("A"), ("every phase is done".to_owned(), true), "that was about another step");
}

#[test]
fn no_command_records_what_the_format_does_not_keep() {
    for status in [Status::Pending, Status::Failed] {
        let mut run = line_of(&[("A", status)]);
        assert!(plan_of(&run, &options()).plan.commands.begin.is_some(), "{status}");
        step(&mut run, "A").recorded = false;
        assert!(plan_of(&run, &options()).plan.commands.begin.is_none(), "{status}");
    }
}

#[test]
fn what_is_asked_for_again_stops_nothing_else() {
    // An outcome that no command records stops only what builds on it.
    for (recorded, others, expected) in
        [(true, true, Verdict::Blocked), (false, true, Verdict::Confirm), (false, false, Verdict::Blocked)]
    {
        let mut run = with_statuses(run_of(&[("A", &[]), ("N", &[])]), &[Status::InProgress, Status::Pending]);
        (step(&mut run, "A").idempotent, step(&mut run, "A").recorded) = (false, recorded);
        if !others {
            step(&mut run, "N").status = Status::Completed;
        }
        assert_eq!(plan_of(&run, &options()).plan.verdict, expected, "{recorded} {others}");
    }
}

#[test]
fn a_blocked_run_or_step_refuses_to_begin_in_the_words_of_the_plan() {
    let a = StepId::new("A");
    let refusal = |findings: Vec<Finding>| {
        let planned = planned_with(&clean(), &Evidence::default(), findings, &options());
        planned.refusal_of(&a).map(|refusal| (refusal.message.clone(), refusal.texts()))
    };
    let blocking = FindingCode::ALL
        .iter()
        .copied()
        .find(|code| code.severity() == Severity::Blocking && !code.is_of(FindingClass::CheckedByChange));
    let blocking = || Finding::new(blocking.unwrap(), "it is broken").fix("mend it");
    let expected = Some(("it is broken".to_owned(), vec!["mend it".to_owned(), "piton plan R".to_owned()]));
    assert_eq!(refusal(Vec::new()), None);
    assert_eq!(refusal(vec![blocking()]), expected);
    assert_eq!(refusal(vec![blocking().on(&a)]), expected);
    assert_eq!(refusal(vec![blocking().on(&StepId::new("B"))]), None, "another step");
    assert_eq!(refusal(vec![Finding::new(FindingCode::AgeUnknown, "a remark")]), None);
}
