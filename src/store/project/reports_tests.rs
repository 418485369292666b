use super::{append, read};
use crate::{
    model::{Decision, DecisionKind, DialectId, RunId, Statement, StatementKind},
    store::testing::{Scratch, rel, time},
};

fn statement(run: &str, note: &str) -> Statement {
    let decision = Decision {
        step: None,
        decision: DecisionKind::Abort,
        at: time("2026-01-01T00:00:00Z"),
        by: None,
        note: Some(note.to_owned()),
        choice: None,
        despite: None,
    };
    Statement { run: run.to_owned(), dialect: DialectId::Ccw, kind: StatementKind::Decision(decision) }
}

#[test]
fn a_run_reads_what_was_said_about_it_past_a_line_that_was_cut_off() {
    let scratch = Scratch::new();
    let data_dir = rel(".piton");
    append(&scratch.root, &data_dir, &[statement("A", "first")]).unwrap();
    append(&scratch.root, &data_dir, &[statement("B", "of another run")]).unwrap();
    let log = scratch.root.join(".piton/reports.jsonl");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend_from_slice(b"{\"run\":\"A\",\"dia");
    std::fs::write(&log, bytes).unwrap();
    append(&scratch.root, &data_dir, &[statement("A", "second")]).unwrap();
    let found = read(&scratch.root, &data_dir, &RunId::new("A"), DialectId::Ccw);
    assert_eq!(found, [statement("A", "first"), statement("A", "second")]);
    assert!(read(&scratch.root, &data_dir, &RunId::new("A"), DialectId::Aios).is_empty());
    assert_eq!(std::fs::read_to_string(scratch.root.join(".piton/.gitignore")).unwrap(), "*\n");
}
