use super::{append, read, set_aside, standing};
use crate::{
    model::{Decision, DecisionKind, DialectId, RunId, Statement, StatementKind},
    store::{
        Environment, LogStanding, StoreError, Trusted,
        testing::{Scratch, rel, time},
        unread,
    },
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

/// Returns the list of a user whose state folder is in the scratch folder.
fn own_list(scratch: &Scratch) -> Trusted {
    Trusted::of(&Environment { state_home: Some(scratch.root.join("state")), ..Environment::default() })
}

#[test]
fn a_log_counts_that_this_user_began_and_none_that_took_its_place() {
    let scratch = Scratch::new();
    let (trusted, data_dir, run) = (own_list(&scratch), rel(".piton"), RunId::new("A"));
    let count = |trusted: &Trusted| read(trusted, &scratch.root, &data_dir, &run, DialectId::Ccw).len();
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "mine")]).unwrap();
    assert_eq!(count(&trusted), 1);
    assert_eq!(count(&Trusted::nothing()), 0, "the log of another user");
    assert!(matches!(
        append(&Trusted::nothing(), &scratch.root, &rel("new"), &[statement("A", "lost")]),
        Err(StoreError::NoHome)
    ));
    let log = scratch.root.join(".piton/reports.jsonl");
    let mine = std::fs::read(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, &mine).unwrap();
    assert_eq!(count(&trusted), 1, "brought back from a backup");
    let planted = serde_json::to_vec(&statement("A", "planted")).unwrap();
    std::fs::write(&log, [planted.as_slice(), b"\n", mine.as_slice()].concat()).unwrap();
    assert_eq!(count(&trusted), 0, "another file in its place");
    let refused = append(&trusted, &scratch.root, &data_dir, &[statement("A", "more")]);
    assert!(matches!(refused, Err(StoreError::NotTrusted { .. })), "{refused:?}");
    trusted.enter_log(&log).unwrap();
    assert_eq!(count(&trusted), 2, "a person said yes");
    let aside = set_aside(&log).unwrap();
    assert_eq!(standing(&trusted, &scratch.root, &data_dir).unwrap().1, LogStanding::Silent);
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "begun again")]).unwrap();
    assert_eq!(count(&trusted), 1);
    assert!(aside.exists());
}

/// A link to itself stands for anything that the system refuses to look at.
#[cfg(unix)]
#[test]
fn whether_a_log_counts_is_unknown_where_its_entry_cannot_be_looked_at() {
    let scratch = Scratch::new();
    let (trusted, data_dir) = (own_list(&scratch), rel(".piton"));
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "mine")]).unwrap();
    let entry = scratch.root.join("state/logs").read_dir_utf8().unwrap().next().unwrap().unwrap().into_path();
    std::fs::remove_file(&entry).unwrap();
    std::os::unix::fs::symlink(&entry, &entry).unwrap();
    let (found, unread) = unread::watched(|| standing(&trusted, &scratch.root, &data_dir));
    assert_eq!((found, unread.len()), (None, 1), "it is unknown");
    let refused = append(&trusted, &scratch.root, &data_dir, &[statement("A", "more")]);
    assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
}

#[test]
fn what_a_write_that_was_cut_off_left_of_the_first_record_says_nothing() {
    let scratch = Scratch::new();
    let (trusted, data_dir) = (own_list(&scratch), rel(".piton"));
    scratch.write(".piton/reports.jsonl", "{\"run\":\"A\",\"dia");
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "first")]).unwrap();
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "second")]).unwrap();
    assert_eq!(read(&trusted, &scratch.root, &data_dir, &RunId::new("A"), DialectId::Ccw).len(), 2);
}

#[test]
fn a_run_reads_what_was_said_about_it_past_a_line_that_was_cut_off() {
    let scratch = Scratch::new();
    let data_dir = rel(".piton");
    let trusted = own_list(&scratch);
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "first")]).unwrap();
    append(&trusted, &scratch.root, &data_dir, &[statement("B", "of another run")]).unwrap();
    let log = scratch.root.join(".piton/reports.jsonl");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend_from_slice(b"{\"run\":\"A\",\"dia");
    std::fs::write(&log, bytes).unwrap();
    append(&trusted, &scratch.root, &data_dir, &[statement("A", "second")]).unwrap();
    let found = read(&trusted, &scratch.root, &data_dir, &RunId::new("A"), DialectId::Ccw);
    assert_eq!(found, [statement("A", "first"), statement("A", "second")]);
    assert!(read(&trusted, &scratch.root, &data_dir, &RunId::new("A"), DialectId::Aios).is_empty());
    assert_eq!(std::fs::read_to_string(scratch.root.join(".piton/.gitignore")).unwrap(), "*\n");
}
