use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{LEFT_UNKNOWN, assemble, shorten_instructions};
use crate::{
    engine::{
        plan::Planned,
        reports_tests::decided,
        testing::{at, ids, line_of, options, path, plan_of, planned as planned_with_evidence, review, step},
    },
    model::{
        Action, Brief, Context, DecisionKind, Evidence, Next, Options, Part, PartKind, ReadingItem, Review,
        ReviewVerdict, Run, Statement, StatementKind, Status, Step, StepId, StepKind, StepReport,
    },
};

const PLENTY: usize = 1 << 20;

/// Text that no context may contain; it is in every untrusted text of the fixture.
const SECRET: &str = "ghp_0123456789abcdef0123";
const ESCAPE: &str = "\u{1b}[31m\u{202e}\u{200b}\u{7}";

/// Two steps done, one that was sent back by a review.
fn rich(hostile: &str) -> Run {
    let text = |what: &str| format!("{what}{hostile}");
    let done = Status::Completed;
    let mut run = line_of(&[("A", done), ("B", done), ("C", done), ("V", Status::Failed), ("D", Status::Pending)]);
    run.goal = Some(text("Ship it"));
    for id in ["A", "B"] {
        step(&mut run, id).proof.summaries = vec![path(&format!(".summaries/{id}.md"))];
    }
    step(&mut run, "A").commit = Some("0123456".to_owned());
    step(&mut run, "A").title = text("First");
    let failed = step(&mut run, "V");
    failed.kind = StepKind::Review;
    failed.agent = Some("code-reviewer".to_owned());
    failed.returns_to = Some(StepId::new("C"));
    failed.error = Some(text("- no test\n\n * no docs\n- no test"));
    let work = step(&mut run, "C");
    work.title = text("Write the code");
    work.agent = Some("developer".to_owned());
    work.group = Some(text("Phase 1"));
    work.error = Some(text("it broke"));
    work.detail.targets = vec![text("src/main.rs")];
    work.detail.focus = vec![text("src/")];
    work.detail.requirements = vec![text("be quick")];
    work.detail.acceptance = vec![text("it is quick")];
    work.proof.summaries = vec![path(".summaries/C.md")];
    work.detail.parts = vec![Part {
        name: "analysis".to_owned(),
        title: String::new(),
        kind: PartKind::Analysis,
        status: done,
        output: Some((text("found"), Some(Box::new(json!({"files": [text("a.rs")]}))))),
        commands: Vec::new(),
    }];
    run
}

fn brief(hostile: &str) -> Brief {
    let text = |what: &str| format!("{what}{hostile}");
    Brief {
        task: String::new(),
        agent_context: json!({"worktree_path": "/project/.worktree/x", "notes": [text("mind the gap")]}),
        told: Vec::new(),
        prompt: text("Work Context:\n\tall of it"),
        instructions: text("slowly"),
        reading: vec![ReadingItem { what: text("the plan"), path: Some(".plan/x_plan.md".to_owned()) }],
        notes: vec![text("is it fast enough?")],
    }
}

fn planned(run: &Run) -> Planned {
    plan_of(run, &options())
}

fn context(run: &Run, brief: Brief, budget: usize) -> Context {
    let plan = planned(run);
    assemble(run, &plan, &plan.plan.next[0], brief, (None, budget))
}

fn bytes(context: &Context) -> usize {
    serde_json::to_string(context).unwrap().len()
}

fn reading(what: &str, path: &str) -> ReadingItem {
    ReadingItem { what: what.to_owned(), path: Some(path.to_owned()) }
}

#[test]
fn an_agent_is_handed_what_it_needs() {
    let context = context(&rich(""), brief(""), PLENTY);
    assert_eq!((context.step.as_str(), context.action, context.attempt), ("C", Action::Return, 1));
    assert_eq!((context.title.as_str(), context.agent.as_deref()), ("Write the code", Some("developer")));
    assert_eq!(context.goal.as_deref(), Some("Ship it"));
    assert_eq!(context.position, "2 of 5 steps done; this one is of Phase 1");
    assert_eq!(context.next_action, "Rework C (Write the code). Address code-reviewer feedback.");
    assert_eq!(context.findings_to_address, ["no test", "no docs", "it broke"]);
    assert_eq!(
        context.required_reading,
        [
            reading("the plan", ".plan/x_plan.md"),
            reading("summary of B", ".summaries/B.md"),
            reading("earlier summary of C", ".summaries/C.md"),
        ]
    );
    assert_eq!(context.files_to_touch, ["src/main.rs", "src/"]);
    assert_eq!(context.requirements, ["be quick"]);
    assert_eq!(context.acceptance, ["it is quick"]);
    assert_eq!(context.done, [ReadingItem { what: "B: Title of B".to_owned(), path: None }], "it reported nothing");
    assert_eq!(context.instructions, "slowly");
    assert_eq!(context.open_questions, ["is it fast enough?"]);
    assert_eq!(context.variables, json!({"found": {"files": ["a.rs"]}}));
    assert_eq!(context.agent_context["worktree_path"], "/project/.worktree/x");
    assert_eq!(context.prompt, "Work Context:\n\tall of it");
    assert_eq!(context.omitted, []);
}

#[test]
fn the_same_run_is_handed_over_in_the_same_bytes() {
    for budget in [0, 700, 1_500, PLENTY] {
        let bytes = || serde_json::to_vec(&context(&rich(ESCAPE), brief(ESCAPE), budget)).unwrap();
        assert_eq!(bytes(), bytes());
    }
}

#[test]
fn every_action_says_what_to_do() {
    let mut gate = line_of(&[("A", Status::Pending)]);
    step(&mut gate, "A").kind = StepKind::Gate;
    let mut conditions = line_of(&[("A", Status::Completed)]);
    step(&mut conditions, "A").review = review(ReviewVerdict::ApprovedWithConditions);
    for (run, start) in [
        (line_of(&[("A", Status::Pending)]), "Do A (Title of A). "),
        (line_of(&[("A", Status::Failed)]), "Do again A (Title of A). "),
        (gate, "Ask a person to approve A (Title of A). User approval required."),
        (conditions, "Check the evidence for A (Title of A). "),
    ] {
        let action = context(&run, Brief::default(), PLENTY).next_action;
        assert!(action.starts_with(start) && action.ends_with('.') && !action.ends_with(".."), "{action}");
    }
}

#[test]
fn open_conditions_are_to_be_addressed() {
    let mut run = line_of(&[("A", Status::Completed)]);
    let conditions = vec!["add a test".to_owned(), "add a test".to_owned()];
    let verdict = ReviewVerdict::ApprovedWithConditions;
    step(&mut run, "A").review = Some(Review { verdict, open_conditions: Some(conditions) });
    assert_eq!(context(&run, Brief::default(), PLENTY).findings_to_address, ["add a test"]);
}

#[test]
fn the_words_of_a_review_reach_further_back_too() {
    let run = rich("");
    let options = Options { to_step: Some(StepId::new("A")), ..options() };
    let plan = plan_of(&run, &options);
    let context = assemble(&run, &plan, &plan.plan.next[0], Brief::default(), (None, PLENTY));
    assert_eq!((context.step.as_str(), context.action), ("A", Action::Return));
    assert_eq!(context.findings_to_address, ["no test", "no docs"]);
    // Nothing is addressed to a step that no failure sends the run back to.
    let plan = plan_of(&run, &Options { from: ids(&["A"]), ..super::super::testing::options() });
    assert_eq!(
        assemble(&run, &plan, &plan.plan.next[0], Brief::default(), (None, PLENTY)).findings_to_address,
        [""; 0]
    );
}

#[test]
fn only_a_question_that_stops_the_run_is_open() {
    let run = line_of(&[("A", Status::Pending)]);
    assert!(!planned(&run).plan.questions.is_empty());
    assert_eq!(context(&run, Brief::default(), PLENTY).open_questions, [""; 0]);
    let mut run = line_of(&[("A", Status::Pending)]);
    step(&mut run, "A").kind = StepKind::Gate;
    assert_eq!(context(&run, Brief::default(), PLENTY).open_questions, ["Approve A (Title of A)?"]);
}

#[test]
fn sections_go_in_their_order_and_are_listed() {
    const ORDER: [&str; 9] = [
        "done",
        "acceptance",
        "requirements",
        "variables",
        "open_questions",
        "prompt",
        "files_to_touch",
        "required_reading",
        "findings_to_address",
    ];
    let (run, whole) = (rich(""), bytes(&context(&rich(""), brief(""), PLENTY)));
    let mut before = 0;
    for budget in (0..=whole).rev().step_by(3).chain([0]) {
        let context = context(&run, brief(""), budget);
        let names: Vec<&str> = context.omitted.iter().map(|omitted| omitted.what.as_str()).collect();
        assert_eq!(names, ORDER[..names.len()], "with {budget} bytes");
        assert!(names.len() >= before, "a smaller budget leaves out no less");
        before = names.len();
        assert!(bytes(&context) <= budget || names.len() == ORDER.len(), "{} bytes of {budget}", bytes(&context));
        let kept = [
            !context.done.is_empty(),
            !context.acceptance.is_empty(),
            !context.requirements.is_empty(),
            context.variables != Value::Null,
            !context.open_questions.is_empty(),
            !context.prompt.is_empty(),
            !context.files_to_touch.is_empty(),
            !context.required_reading.is_empty(),
        ];
        for (name, kept) in ORDER.iter().zip(kept) {
            assert_eq!(kept, !names.contains(name), "{name} with {budget} bytes");
        }
        assert!(context.omitted.iter().all(|omitted| omitted.bytes > 0));
        assert!(!context.position.is_empty() && !context.next_action.is_empty());
        assert_eq!(context.agent_context["worktree_path"], "/project/.worktree/x");
    }
    assert_eq!(before, ORDER.len(), "with no room at all everything that can go is gone");
}

#[test]
fn half_made_files_are_named_or_said_to_be_unknown() {
    let run = line_of(&[("A", Status::InProgress)]);
    let plan = planned(&run);
    let of = |files: Option<&[&str]>, budget: usize| {
        let half_made = files.map(|files| files.iter().map(|file| (*file).to_owned()).collect());
        let next = Next { half_made, ..plan.plan.next[0].clone() };
        assemble(&run, &plan, &next, Brief::default(), (None, budget))
    };
    let (named, none, unknown) = (of(Some(&["src/a.rs"]), PLENTY), of(None, PLENTY), of(Some(&[]), PLENTY));
    assert_eq!((named.half_made, named.open_questions.len()), (vec!["src/a.rs".to_owned()], 0));
    assert_eq!((none.half_made.len(), none.open_questions.len()), (0, 0));
    assert_eq!((unknown.half_made.len(), unknown.open_questions), (0, vec![LEFT_UNKNOWN.to_owned()]));
    let omitted = of(Some(&["src/a.rs"]), 0).omitted;
    assert_eq!(omitted.iter().map(|omitted| omitted.what.as_str()).collect::<Vec<_>>(), ["half_made"]);
}

#[test]
fn what_is_empty_is_not_called_left_out() {
    let context = context(&line_of(&[("A", Status::Pending)]), Brief::default(), 0);
    assert_eq!(context.omitted, []);
}

#[test]
fn findings_go_from_the_last_one_on_and_no_further_than_needed() {
    let mut run = line_of(&[("A", Status::Failed)]);
    let lines: Vec<String> = (0..5_000).map(|number| format!("finding {number} \"quoted\"")).collect();
    step(&mut run, "A").error = Some(lines.join("\n"));
    let fixed = bytes(&context(&line_of(&[("A", Status::Failed)]), Brief::default(), PLENTY));
    for budget in [fixed + 100, 10_000, 50_000] {
        let context = context(&run, Brief::default(), budget);
        let kept = context.findings_to_address.len();
        assert_eq!(context.findings_to_address, lines[..kept]);
        let size = bytes(&context);
        assert!(size <= budget && size + 120 > budget, "{size} of {budget}");
        let left: usize = lines[kept..].iter().map(|line| serde_json::to_string(line).unwrap().len() + 1).sum();
        assert_eq!((context.omitted.len(), context.omitted[0].bytes), (1, left - usize::from(kept == 0)));
    }
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            found.push(name.clone());
            strings(value, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn no_key_and_no_control_character_leaves_with_a_context() {
    let split = "ghp_0123456789ab\u{200b}cdef0123";
    for (name, hostile) in [
        ("a key", format!(" {SECRET}")),
        ("a key that a zero-width space hides", format!(" {split}")),
        ("a key in an assignment", format!(" TOKEN={SECRET}")),
        ("escapes", ESCAPE.to_owned()),
    ] {
        let mut run = rich(&hostile);
        step(&mut run, "C").agent = Some(format!("developer{hostile}"));
        step(&mut run, "V").agent = Some(format!("reviewer{hostile}"));
        let mut found = Vec::new();
        strings(&serde_json::to_value(context(&run, brief(&hostile), PLENTY)).unwrap(), &mut found);
        for text in &found {
            assert!(!text.contains(SECRET), "{name}: {text}");
            let unsafe_char = |c: char| (c.is_control() && c != '\n' && c != '\t') || "\u{202e}\u{200b}".contains(c);
            assert!(!text.contains(unsafe_char), "{name}: {text:?}");
        }
        let masked = found.iter().filter(|text| text.contains("[masked]")).count();
        assert!(name == "escapes" || masked >= 15, "{name}: masked {masked} times");
    }
}

#[test]
fn long_untrusted_texts_stay_bounded() {
    let mut run = line_of(&[("A", Status::Failed)]);
    run.goal = Some("goal ".repeat(10_000));
    step(&mut run, "A").title = "title ".repeat(10_000);
    step(&mut run, "A").group = Some("group ".repeat(10_000));
    step(&mut run, "A").agent = Some("agent ".repeat(10_000));
    let context = context(&run, Brief::default(), 0);
    assert!(bytes(&context) < 3_600, "{}", bytes(&context));
}

#[test]
fn a_step_that_builds_on_thousands_is_handed_over() {
    let mut run = line_of(&[]);
    for number in 0..3_000 {
        let mut step = Step::new(StepId::new(format!("S{number}")), "Title");
        step.status = Status::Completed;
        step.proof.summaries = vec![path(&format!(".summaries/S{number}.md"))];
        run.steps.push(step);
    }
    let mut last = Step::new(StepId::new("last"), "Last");
    last.depends_on = run.steps.iter().map(|step| step.id.clone()).collect();
    run.steps.push(last);
    let context = context(&run, Brief::default(), usize::MAX);
    assert_eq!((context.done.len(), context.required_reading.len()), (3_000, 3_000));
}

/// Builds a report with a summary.
fn report(id: &str, status: Status) -> StepReport {
    StepReport {
        late: false,
        step: StepId::new(id),
        part: None,
        at: at(0),
        attempt: 1,
        agent: None,
        status,
        amends: false,
        verdict: None,
        summary: Some(format!("{id} is done")),
        error: None,
        conditions: Vec::new(),
        findings: Vec::new(),
        files: Vec::new(),
        commit: None,
    }
}

fn context_with(run: &Run, reports: Vec<StepReport>, brief: Brief, budget: usize) -> Context {
    let said = |report| Statement { run: "R".to_owned(), dialect: run.dialect, kind: StatementKind::Report(report) };
    let evidence = Evidence { statements: reports.into_iter().map(said).collect(), ..Evidence::default() };
    let plan = crate::engine::testing::planned(run, &evidence, &options());
    assemble(run, &plan, &plan.plan.next[0], brief, (None, budget))
}

#[test]
fn nothing_is_said_twice() {
    let of = |findings: &[&str], error: &str| {
        let mut said = report("V", Status::Failed);
        said.findings = findings.iter().map(|finding| (*finding).to_owned()).collect();
        said.error = Some(error.to_owned());
        context_with(&rich(""), vec![said], Brief::default(), PLENTY).reports.remove(0)
    };
    let all_said = of(&["no test", "too slow"], "no test\n  no docs");
    assert_eq!((all_said.findings, all_said.error), (vec!["too slow".to_owned()], None));
    let more = of(&["no docs"], "no test\nno idea");
    assert_eq!((more.findings.len(), more.error.as_deref()), (0, Some("no test\nno idea")));
    // A step that reported is not among those whose work has to be looked for.
    let done =
        |id: &str| context_with(&rich(""), vec![report(id, Status::Completed)], Brief::default(), PLENTY).done.len();
    assert_eq!((done("A"), done("B")), (1, 0));
    let mut skipped = rich("");
    step(&mut skipped, "B").status = Status::Skipped;
    assert_eq!(context(&skipped, Brief::default(), PLENTY).done, []);
}

#[test]
fn the_place_of_the_work_is_named_if_it_is_another_folder() {
    let mut run = line_of(&[("A", Status::Pending)]);
    for (worktree, expected) in [(None, None), (Some("wt/x"), Some("wt/x"))] {
        run.workspace.worktree = worktree.map(path);
        let context = context(&run, Brief::default(), PLENTY);
        assert_eq!(context.worktree.as_deref(), expected);
        assert_eq!(context.root.as_deref(), expected.map(|_| "/project"));
    }
}

#[test]
fn an_agent_is_told_how_to_report_if_anything_records_it() {
    let said = |run: &Run| context(run, Brief::default(), PLENTY).report;
    let pending = || line_of(&[("A", Status::Pending)]);
    assert!(said(&pending()).starts_with("`piton finish A --run R --summary TEXT`"), "{}", said(&pending()));
    let mut gate = pending();
    step(&mut gate, "A").kind = StepKind::Gate;
    assert_eq!(said(&gate), "", "a person approves it");
    let mut read_only = pending();
    step(&mut read_only, "A").recorded = false;
    assert_eq!(said(&read_only), "the agent that does it updates state.json, which Piton only reads");
    let mut too_often = line_of(&[("A", Status::Failed)]);
    step(&mut too_often, "A").failures = 3;
    assert_eq!(said(&too_often), "", "a person decides first");
}

#[test]
fn the_next_action_is_a_sentence_of_its_own() {
    let mut run = line_of(&[("A", Status::Pending)]);
    let said = |run: &Run| context(run, Brief::default(), PLENTY).next_action;
    assert_eq!(said(&run), "Do A (Title of A). It depends on nothing.");
    step(&mut run, "A").attempts = 1;
    assert!(said(&run).starts_with("Do again A (Title of A). It "), "{}", said(&run));
    let mut conditions = line_of(&[("A", Status::Completed)]);
    step(&mut conditions, "A").review = review(ReviewVerdict::ApprovedWithConditions);
    assert!(said(&conditions).contains(" Approved on conditions"), "{}", said(&conditions));
    let mut many: Vec<(String, Status)> = (1..=5).map(|number| (format!("D{number}"), Status::Completed)).collect();
    many.push(("X".to_owned(), Status::Pending));
    let mut run = line_of(&many.iter().map(|(id, status)| (id.as_str(), *status)).collect::<Vec<_>>());
    step(&mut run, "X").depends_on = ids(&["D1", "D2", "D3", "D4", "D5"]);
    assert!(said(&run).ends_with("All 5 steps it depends on are done."), "{}", said(&run));
    // A second review looks at the open findings first.
    let mut reviewed = line_of(&[("A", Status::Completed), ("V", Status::Failed)]);
    step(&mut reviewed, "V").kind = StepKind::Review;
    let check = " Check that the open findings are fixed.";
    assert!(!said(&reviewed).ends_with(check), "{}", said(&reviewed));
    step(&mut reviewed, "V").error = Some("no test".to_owned());
    assert!(said(&reviewed).ends_with(check), "{}", said(&reviewed));
}

#[test]
fn the_oldest_reports_go_first_and_only_as_many_as_needed() {
    let run = line_of(&[("A", Status::Completed), ("B", Status::Completed), ("C", Status::Pending)]);
    let of = |budget: usize| {
        let reports = ["A", "B"].map(|id| report(id, Status::Completed)).to_vec();
        context_with(&run, reports, Brief::default(), budget)
    };
    let whole = of(PLENTY);
    let sizes: Vec<usize> = whole.reports.iter().map(|report| serde_json::to_string(report).unwrap().len()).collect();
    assert_eq!(whole.reports.iter().map(|report| report.step.as_str()).collect::<Vec<_>>(), ["B", "A"]);
    let mut kept = BTreeSet::new();
    for budget in (0..=bytes(&whole)).rev() {
        let context = of(budget);
        let count = context.reports.len();
        assert_eq!(context.reports, whole.reports[..count], "with {budget} bytes");
        assert_eq!(count == 2, budget == bytes(&whole), "with {budget} bytes");
        let left: usize = sizes[count..].iter().sum();
        let omitted = context.omitted.iter().find(|omitted| omitted.what == "reports").map(|omitted| omitted.bytes);
        assert_eq!(omitted, (left > 0).then_some(left), "with {budget} bytes");
        kept.insert(count);
    }
    assert_eq!(kept, [0, 1, 2].into());
}

#[test]
fn fields_that_no_agent_requires_go_from_the_end() {
    let mut run = line_of(&[("A", Status::Pending)]);
    let with_fields = |run: &Run, budget: usize| {
        let brief = Brief { agent_context: json!({"first": "1", "second": [2], "third": "3"}), ..Brief::default() };
        let context = context(run, brief, budget);
        let left_out: Vec<String> = context.omitted.into_iter().map(|omitted| omitted.what).collect();
        (context.agent_context, left_out)
    };
    let whole = json!({"first": "1", "second": [2], "third": "3"});
    assert_eq!(with_fields(&run, 0), (whole.clone(), Vec::new()), "the agents of its system require them");
    step(&mut run, "A").recorded = false;
    assert_eq!(with_fields(&run, PLENTY), (whole, Vec::new()));
    let all = ["third", "second", "first"].map(str::to_owned).to_vec();
    assert_eq!(with_fields(&run, 0), (Value::Null, all));
}

#[test]
fn long_instructions_of_a_guest_end_at_a_line_within_half_of_the_budget() {
    let run = line_of(&[("A", Status::Pending)]);
    let shortened = |instructions: String, budget: usize| {
        let mut context = context(&run, Brief::default(), PLENTY);
        // It does not fit, also without instructions.
        context.prompt = "x".repeat(2000);
        context.instructions = instructions;
        shorten_instructions(&mut context, budget);
        let omitted = context.omitted.iter().map(|omitted| (omitted.what.clone(), omitted.bytes)).collect::<Vec<_>>();
        (context.instructions.len(), omitted)
    };
    let cut = |bytes: usize| vec![("instructions".to_owned(), bytes)];
    let lines = || "123456789\n".repeat(200);
    assert_eq!(shortened(lines(), 1000), (499, cut(1501)));
    assert_eq!(shortened(lines(), PLENTY), (2000, vec![]), "all of it fits");
    assert_eq!(shortened("x".repeat(400), 800), (400, vec![]), "half of the budget");
    assert_eq!(shortened("x".repeat(401), 800), (400, cut(1)));
    assert_eq!(shortened("é".repeat(600), 1003), (500, cut(700)), "no character is cut");
}

#[test]
fn a_retry_is_handed_the_findings_of_its_review_before_its_own() {
    let mut run = line_of(&[("A", Status::Failed), ("V", Status::Failed)]);
    step(&mut run, "A").error = Some("its own".to_owned());
    step(&mut run, "V").kind = StepKind::Review;
    step(&mut run, "V").error = Some("of the review".to_owned());
    step(&mut run, "V").returns_to = Some(StepId::new("A"));
    let handed = context(&run, Brief::default(), PLENTY);
    assert_eq!(
        (handed.action, handed.findings_to_address),
        (Action::Retry, vec!["of the review".to_owned(), "its own".to_owned()])
    );
    step(&mut run, "V").status = Status::Completed;
    assert_eq!(context(&run, Brief::default(), PLENTY).findings_to_address, ["its own"]);
}

#[test]
fn a_finished_step_is_looked_at_unless_something_was_said_about_it() {
    let run = line_of(&[("A", Status::Completed), ("B", Status::Completed), ("C", Status::Pending)]);
    let looked_at = |about: &str| {
        let statements = vec![decided(&run, 5, about, DecisionKind::Approve)];
        let plan = planned_with_evidence(&run, &Evidence { statements, ..Evidence::default() }, &options());
        let context = assemble(&run, &plan, &plan.plan.next[0], Brief::default(), (None, PLENTY));
        context.done.into_iter().map(|item| item.what).collect::<Vec<_>>()
    };
    assert_eq!(looked_at("A"), ["B: Title of B"]);
    assert_eq!(looked_at("B"), [""; 0]);
}
