use crate::{
    dialect::aios::{kind::Kind, state_testing::files},
    model::{Change, ChangeKind, FileSet, Outcome, Status, StepId, Timestamp},
};

/// A state of each kind, and the changes that it has words for (docs/formats/aios-states.md#words-that-are-written).
const KINDS: [(&str, &str, &str, &str); 2] = [
    (
        ".aiox/w-state.yaml",
        "instance_id: w\nstatus: active\nsteps:\n  - { id: a, status: pending }\n",
        "a",
        "begin resume finish skip pause complete",
    ),
    (
        ".aiox/w-engine-state.yaml",
        "engine_state: { status: active, current_step_index: 1, step_results: { a: { status: failed } } }\n",
        "a",
        "resume complete",
    ),
];

fn changes(step: &str) -> [(&'static str, ChangeKind); 8] {
    let (step, text) = (StepId::new(step), || "why".to_owned());
    let failed = Outcome { status: Status::Failed, ..Outcome::completed(step.clone()) };
    [
        ("begin", ChangeKind::Begin { step: step.clone(), part: None, agent: None, attempt: 1, reopens: Vec::new() }),
        ("resume", ChangeKind::Resume { steps: Vec::new(), interruption: None, strategy: None, settled: Vec::new() }),
        ("finish", ChangeKind::Finish(Box::new(Outcome::completed(step.clone())))),
        ("fail", ChangeKind::Finish(Box::new(failed))),
        ("skip", ChangeKind::Skip { step, part: None, by: None, reason: text() }),
        ("pause", ChangeKind::Pause { reason: None }),
        ("abort", ChangeKind::Abort { by: None, reason: Some(text()) }),
        ("complete", ChangeKind::Complete { note: None }),
    ]
}

fn edit(files: &FileSet, kind: ChangeKind) -> Result<String, String> {
    let change = Change { at: Timestamp::parse("2026-01-31T12:00:00Z", 0).unwrap(), kind };
    let edit = Kind::of(files).unwrap().descriptor().edit.unwrap();
    let edits = edit(files, &change).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(edits[0].after().unwrap().to_vec()).unwrap())
}

#[test]
fn each_kind_writes_the_changes_that_it_has_words_for_and_refuses_the_others() {
    for (path, text, step, expected) in KINDS {
        let files = files(path, text);
        let written: Vec<&str> =
            changes(step).into_iter().filter_map(|(name, kind)| edit(&files, kind).is_ok().then_some(name)).collect();
        assert_eq!(written.join(" "), expected, "{path}");
        let records = &Kind::of(&files).unwrap().descriptor().records;
        for (name, can) in [("skip", records.skip), ("pause", records.pause)] {
            assert_eq!(written.contains(&name), can, "{path}: {name}");
        }
    }
}

#[test]
fn a_part_and_an_unknown_step_are_refused_and_nothing_is_written_for_them() {
    for (path, text, step, expected) in KINDS {
        let files = files(path, text);
        let begin = |step: &str, part: Option<&str>| {
            let (step, part) = (StepId::new(step), part.map(str::to_owned));
            edit(&files, ChangeKind::Begin { step, part, agent: None, attempt: 1, reopens: Vec::new() }).unwrap_err()
        };
        assert!(begin(step, Some("a")).ends_with("cannot change `a` alone: its steps have no parts"), "{path}");
        if expected.contains("begin") {
            assert_eq!(begin("other", None), "`other` is not a step of this run", "{path}");
        }
    }
}

#[test]
fn steps_that_are_done_according_to_the_evidence_are_written_with_a_resume_where_the_kind_says_so() {
    let text = "instance_id: w\nstatus: paused\ncurrent_step_index: 0\nsteps:\n  - { id: a, status: in_progress }\n  - { id: b, status: pending }\n";
    let settled = |steps: &[&str]| ChangeKind::Resume {
        steps: Vec::new(),
        interruption: None,
        strategy: None,
        settled: steps.iter().map(|step| (StepId::new(*step), Status::Completed)).collect(),
    };
    let files = files(".aiox/w-state.yaml", text);
    let after = |status: &str, current: u8, a: &str, b: &str| {
        format!(
            "instance_id: w\nstatus: {status}\ncurrent_step_index: {current}\nsteps:\n  - {{ id: a, status: {a} }}\n  - {{ id: b, status: {b} }}\n"
        )
    };
    assert_eq!(edit(&files, settled(&[])), Ok(after("active", 0, "in_progress", "pending")));
    assert_eq!(edit(&files, settled(&["a"])), Ok(after("active", 1, "completed", "pending")));
    assert_eq!(edit(&files, settled(&["a", "b"])), Ok(after("completed", 1, "completed", "completed")));
}
