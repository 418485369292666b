use super::{
    after_part, agent_contract, context, end, end_reported, failed, finish, next_of_part, override_hold, redo, report,
};
use crate::model::{AgentStatus, Part, PartKind, ReviewVerdict, RunId, Status, Step, StepId, StepKind, Uid};

#[test]
fn a_step_is_finished_by_what_closes_it() {
    for (kind, line) in [
        (StepKind::Work, "piton finish S --run R --status completed"),
        (StepKind::Review, "piton finish S --run R --verdict VERDICT"),
        (StepKind::Container, "piton finish S --run R --status completed"),
    ] {
        let mut step = Step::new(StepId::new("S"), "");
        step.kind = kind;
        assert_eq!(finish(&step, &RunId::new("R")), line);
    }
}

#[test]
fn a_report_lists_the_ends_that_a_step_accepts() {
    let mut step = Step::new(StepId::new("S"), "");
    let work = "`piton finish S --run R --summary TEXT` with what the next agent has to know, and `--output FILE` for each file";
    let failed = "; if it failed, with `--status failed --error TEXT`";
    assert_eq!(report(&step, &RunId::new("R"), None), format!("{work}{failed}"));
    step.kind = StepKind::Review;
    for (verdicts, words) in [
        (
            ReviewVerdict::ALL.as_slice(),
            "APPROVED, APPROVED_WITH_CONDITIONS (and `--condition TEXT`), NEEDS_REVISION or REJECTED",
        ),
        (&[ReviewVerdict::Approved, ReviewVerdict::Rejected], "APPROVED or REJECTED"),
    ] {
        step.ends.verdicts = verdicts;
        let finish = "`piton finish S --run R --verdict VERDICT --summary TEXT`";
        let line = format!("{finish} with {words}, and `--finding TEXT` for each thing to address");
        assert_eq!(report(&step, &RunId::new("R"), None), line);
    }
}

#[test]
fn a_review_whose_format_knows_few_verdicts_names_them_beside_its_command() {
    let mut step = Step::new(StepId::new("S"), "");
    step.kind = StepKind::Review;
    step.ends.verdicts = &[ReviewVerdict::Approved, ReviewVerdict::Rejected];
    let line = "piton finish S --run R --verdict VERDICT   # APPROVED or REJECTED";
    assert_eq!(finish(&step, &RunId::new("R")), line);
    step.kind = StepKind::Work;
    assert_eq!(finish(&step, &RunId::new("R")), "piton finish S --run R --status completed");
}

#[test]
fn a_persons_decision_is_one_command_with_words_to_fill_in() {
    let (step, run) = (StepId::new("S"), RunId::new("R"));
    assert_eq!(redo(&step, &run), "piton decide S redo --run R --by NAME --note WHY");
    let hold = "once it can go on: `piton decide S override --run R --by NAME --note WHY`";
    assert_eq!(override_hold(&step, &run), hold);
}

#[test]
fn an_open_part_is_begun_and_one_in_progress_is_finished() {
    let step = Step::new(StepId::new("S"), "");
    for (status, line) in [
        (Status::Pending, "piton begin S --run R --part draft"),
        (Status::Failed, "piton begin S --run R --part draft"),
        (Status::InProgress, "piton finish S --run R --part draft"),
    ] {
        let part = Part {
            name: "draft".to_owned(),
            title: String::new(),
            kind: PartKind::Work,
            status,
            output: None,
            commands: Vec::new(),
        };
        assert_eq!(next_of_part(&step, &part, &RunId::new("R")), line, "{status}");
    }
}

fn step_of(kind: StepKind) -> Step {
    Step { kind, ..Step::new(StepId::new("S"), "") }
}

#[test]
fn the_end_of_a_step_asks_for_the_words_that_are_missing() {
    let run = RunId::new("R");
    let (work, review) = (step_of(StepKind::Work), step_of(StepKind::Review));
    let begun = Some(Uid::new([0x1a; 16]));
    assert_eq!(end(&work, None, &run, begun), "piton finish S --run R --summary TEXT --begun 1a1a1a1a");
    assert_eq!(end(&work, None, &run, None), "piton finish S --run R --summary TEXT");
    assert_eq!(end(&review, None, &run, None), "piton finish S --run R --verdict VERDICT --summary TEXT");
    assert_eq!(end(&review, Some("p"), &run, None), "piton finish S --run R --part p");
    assert_eq!(failed(&work, &run), "piton finish S --run R --status failed --error TEXT");
    assert_eq!(context(&work.id, &run), "piton context R --step S");
    // What the agent said is not asked for again.
    for (step, reported, expected) in [
        (&work, None, end(&work, None, &run, None).to_string()),
        (&review, None, end(&review, None, &run, None).to_string()),
        (&review, Some(AgentStatus::Done), "piton finish S --run R --verdict VERDICT".to_owned()),
        (&review, Some(AgentStatus::Blocked), "piton finish S --run R --verdict VERDICT".to_owned()),
        (&work, Some(AgentStatus::Done), "piton finish S --run R".to_owned()),
        (&work, Some(AgentStatus::Blocked), failed(&work, &run).to_string()),
        (&work, Some(AgentStatus::NeedsContext), failed(&work, &run).to_string()),
    ] {
        assert_eq!(end_reported(step, &run, reported, None), expected.as_str(), "{reported:?}");
    }
}

#[test]
fn an_agent_is_told_which_lines_its_message_ends_with() {
    for (kind, own, other) in [(StepKind::Work, "FILES: ", "VERDICT: "), (StepKind::Review, "VERDICT: ", "FILES: ")] {
        let contract = agent_contract(&step_of(kind));
        for line in ["STEP: S", "STATUS: DONE, BLOCKED or NEEDS_CONTEXT", "SUMMARY: "] {
            assert!(contract.lines().any(|found| found.starts_with(line)), "{contract}");
        }
        assert!(contract.contains(own) && !contract.contains(other), "{contract}");
    }
}

#[test]
fn after_a_part_comes_the_next_one_that_is_open_or_the_end() {
    let run = RunId::new("R");
    for (parts, expected) in [
        (
            &[(PartKind::Analysis, Status::Completed), (PartKind::Work, Status::Pending)][..],
            "piton begin S --run R --part p1",
        ),
        (
            &[(PartKind::Analysis, Status::Completed), (PartKind::Work, Status::InProgress)][..],
            "piton finish S --run R --part p1",
        ),
        (
            &[(PartKind::Analysis, Status::Completed), (PartKind::Work, Status::Completed)][..],
            "piton finish S --run R --summary TEXT",
        ),
        (&[(PartKind::Analysis, Status::Completed)][..], "piton context R --step S"),
    ] {
        let mut step = step_of(StepKind::Work);
        step.detail.parts = parts
            .iter()
            .enumerate()
            .map(|(at, (kind, status))| Part {
                name: format!("p{at}"),
                title: String::new(),
                kind: *kind,
                status: *status,
                output: None,
                commands: Vec::new(),
            })
            .collect();
        assert_eq!(after_part(&step, &run), expected);
    }
}
