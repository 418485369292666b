use serde_json::{Value, json};

use super::{Snapshot, write};
use crate::{
    dialect::{
        Dialect as _,
        piton::{
            Piton, Session,
            record::{JournalEnd, Remainder},
            state::State,
            testing::{
                CHECKPOINT, ID, THREE, add, begin, done, failed, journal, path, put, session, stopped, take_snapshot,
            },
        },
    },
    model::{FileSet, Status, sha256_hex},
};

/// Holds a session that failed, was paused and has a variable, with the snapshot that its runner left.
fn interrupted() -> FileSet {
    let records = [begin("1", 1), done(THREE, "1"), begin("2", 1), failed("2"), begin("2", 2), stopped()];
    let mut files = session(THREE, &records, Some(THREE));
    take_snapshot(&mut files);
    files
}

fn checkpoint(files: &FileSet) -> Vec<u8> {
    files.bytes(&path(CHECKPOINT)).unwrap().to_vec()
}

/// Rewrites a snapshot and gives it the digest of what it says then.
fn forged(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(bytes).unwrap();
    value.as_object_mut().unwrap().shift_remove("digest");
    change(&mut value);
    let body = value.to_string();
    format!("{{\"digest\":\"{}\",{}\n", sha256_hex(body.as_bytes()), &body[1..]).into_bytes()
}

fn without_position(bytes: &[u8]) -> Vec<u8> {
    forged(bytes, |value| drop(value.as_object_mut().unwrap().shift_remove("journal")))
}

/// Returns all that is known of a session, and what is said about it.
fn known(files: &FileSet) -> (State, JournalEnd, Remainder, Option<String>, String) {
    let Session { state, journal_end, remainder, snapshot_problem, .. } = Session::read(files).unwrap();
    (state, journal_end, remainder, snapshot_problem, format!("{:?}", Piton.load(files).findings))
}

#[test]
fn a_snapshot_reads_back_and_shows_every_damage() {
    let files = interrupted();
    let Session { state, journal_end, .. } = Session::read(&files).unwrap();
    let bytes = checkpoint(&files);
    assert_eq!(Snapshot::read(ID, &bytes).map(|read| read.state), Ok(state));
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(value["completed_steps"], json!(["1"]));
    assert_eq!(value["state"], json!({"Interrupted": {"step": "2", "in_progress": true}}));
    assert_eq!((&value["total_steps"], &value["journal"]["chain"]), (&json!(3), &json!(journal_end.chain)));
    for at in 0..bytes.len() - 1 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(Snapshot::read(ID, &damaged).is_err(), "{at}");
        assert!(Snapshot::read(ID, &bytes[..at]).is_err(), "{at}");
    }
}

#[test]
fn a_snapshot_of_another_session_or_a_newer_format_says_nothing() {
    let bytes = checkpoint(&interrupted());
    let newer = forged(&bytes, |value| value["format"] = json!(2));
    let unlike = forged(&newer, |value| value["steps"] = json!([]));
    let wrong = forged(&bytes, |value| value["steps"] = json!([]));
    let problem = |session: &str, bytes: &[u8]| Snapshot::read(session, bytes).unwrap_err();
    assert_eq!(problem("t", &bytes), "it belongs to another session");
    for newer in [newer, unlike] {
        assert_eq!(problem(ID, &newer), "it has format 2, and this version reads up to 1");
    }
    assert!(problem(ID, &wrong).starts_with("invalid type: sequence"), "{}", problem(ID, &wrong));
}

#[test]
fn a_snapshot_and_what_was_recorded_since_say_the_same_as_all_records() {
    let files = interrupted();
    let (bytes, mut bare) = (journal(&files), files.clone());
    bare.files.remove(&path(CHECKPOINT));
    let expected = known(&bare);
    let mut early = files.clone();
    let mut length = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        put(&mut early, files.state.as_str(), &bytes[..length]);
        early.files.remove(&path(CHECKPOINT));
        take_snapshot(&mut early);
        let ends = (0..=bytes.len()).filter(|end| end % 64 == 0 || bytes[..*end].ends_with(b"\n"));
        for end in ends {
            put(&mut early, files.state.as_str(), &bytes[..end]);
            put(&mut bare, files.state.as_str(), &bytes[..end]);
            let (found, plain) = (known(&early), known(&bare));
            // What ends at a line, and before the snapshot does, is only seen to be cut by the snapshot.
            let is_lost = matches!(found.2, Remainder::Lost { .. });
            assert!(!is_lost || end < length, "{length} of {end}");
            let cut_off = if end == 0 { &Remainder::Absent } else { &Remainder::Nothing };
            assert_eq!(if is_lost { cut_off } else { &found.2 }, &plain.2, "{length} of {end}");
            assert!(end < length || found == plain, "{length} of {end}");
        }
        assert_eq!(known(&early), expected, "{length}");
    }
}

#[test]
fn a_long_session_reads_as_without_its_snapshot_and_shows_every_damage() {
    let long =
        json!({"change": {"change": "begin", "step": "2"}, "variables": {"long": {"value": "x".repeat(200_000)}}});
    let mut files = session(THREE, &[begin("1", 1), done(THREE, "1"), long], Some(THREE));
    take_snapshot(&mut files);
    add(&mut files, &failed("2"), 10);
    let (bytes, snapshot) = (journal(&files), checkpoint(&files));
    let mut bare = files.clone();
    bare.files.remove(&path(CHECKPOINT));
    assert_eq!(known(&files), known(&bare));
    let marked = forged(&snapshot, |value| value["steps"]["1"]["status"] = json!("skipped"));
    put(&mut files, CHECKPOINT, &marked);
    assert_eq!(Session::read(&files).unwrap().state.steps["1"].status, Status::Skipped, "its word is not taken");
    for at in [0, 65_535, 65_536, 131_072, 200_000, bytes.len() - 2] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        put(&mut files, bare.state.as_str(), &flipped);
        put(&mut bare, files.state.as_str(), &flipped);
        assert_ne!(known(&files).2, Remainder::Nothing, "{at}");
        assert_eq!(known(&files).2, known(&bare).2, "{at}");
    }
    for at in [1, snapshot.len() / 2, snapshot.len() - 2] {
        let mut flipped = snapshot.clone();
        flipped[at] ^= 1;
        assert!(Snapshot::read(ID, &flipped).is_err(), "{at}");
        assert!(Snapshot::read(ID, &snapshot[..at]).is_err(), "{at}");
    }
}

#[test]
fn any_byte_that_was_changed_shows_as_without_a_position() {
    let files = interrupted();
    let bytes = journal(&files);
    for at in 0..bytes.len() {
        let mut damaged = files.clone();
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        put(&mut damaged, files.state.as_str(), &flipped);
        let found = known(&damaged);
        put(&mut damaged, CHECKPOINT, &without_position(&checkpoint(&files)));
        assert_eq!(found, known(&damaged), "{at}");
        assert_ne!(found.2, Remainder::Nothing, "{at}");
    }
    let header = path("runs/session-1/run.json");
    let text = String::from_utf8(files.bytes(&header).unwrap().to_vec()).unwrap();
    let mut damaged = files.clone();
    put(&mut damaged, header.as_str(), text.replace("\"main\"", "\"master\"").as_bytes());
    assert!(matches!(known(&damaged).2, Remainder::Broken { line: 1, .. }));
}

#[test]
fn records_that_a_snapshot_has_seen_are_added_up_again_only_where_it_may_be_wrong() {
    let files = interrupted();
    let bytes = checkpoint(&files);
    // What the snapshot says and no record does tells whose word was taken.
    let skipped = |value: &mut Value| value["steps"]["1"]["status"] = json!("skipped");
    let version = |value: &mut Value| value["journal"]["version"] = json!("999.0.0");
    let other_idea = |value: &mut Value| value["journal"] = json!([1]);
    let other_chain = |value: &mut Value| value["journal"]["chain"] = json!("0");
    let fewer = |value: &mut Value| value["seq"] = json!(6);
    let taken = forged(&bytes, skipped);
    for (name, snapshot, expected) in [
        ("as it was written", taken.clone(), Status::Skipped),
        ("before there were positions", without_position(&taken), Status::Completed),
        ("of another version", forged(&taken, version), Status::Completed),
        ("of a version with another idea of positions", forged(&taken, other_idea), Status::Completed),
        ("of another journal", forged(&taken, other_chain), Status::Completed),
        ("of fewer records", forged(&taken, fewer), Status::Completed),
    ] {
        let mut files = files.clone();
        put(&mut files, CHECKPOINT, &snapshot);
        let session = Session::read(&files).unwrap();
        assert_eq!((session.state.steps["1"].status, session.snapshot_problem), (expected, None), "{name}");
        assert_eq!(session.remainder, Remainder::Nothing, "{name}");
    }
}

#[test]
fn a_snapshot_that_counts_other_records_than_the_journal_has_no_position() {
    let Session { state, journal_end, .. } = Session::read(&interrupted()).unwrap();
    let read = |journal_end: &JournalEnd| Snapshot::read(ID, &write(ID, &state, journal_end)).unwrap().covered;
    assert!(read(&journal_end).is_some());
    assert_eq!(read(&JournalEnd { seq: 1, ..journal_end }), None);
}
