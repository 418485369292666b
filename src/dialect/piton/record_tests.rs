use super::{Event, Facts, JournalEnd, Record, Remainder, chain_digest, read};
use crate::{
    dialect::piton::state::State,
    engine::share::{Act, LastRecords},
    model::{About, Change, ChangeKind, Entry, Outcome, StepId, Timestamp, Uid},
};

const HEADER: &[u8] = b"{\"session\":\"s\"}";

fn begin(step: &str) -> Event {
    let at = Timestamp::parse("2026-01-02T03:04:05Z", 0).unwrap();
    let kind = ChangeKind::Begin { step: StepId::new(step), part: None, agent: None, attempt: 1, reopens: Vec::new() };
    Event::Change(Change { at, kind })
}

fn next(end: &JournalEnd, event: Event, facts: Facts) -> Record {
    end.next(&LastRecords::default(), About::default(), event, facts)
}

fn journal_of(end: &JournalEnd, event: Event) -> (Vec<u8>, JournalEnd) {
    end.append(&next(end, event, Facts::default()))
}

fn journal(steps: &[&str]) -> (Vec<u8>, JournalEnd) {
    let mut bytes = Vec::new();
    let mut journal_end = JournalEnd::of(HEADER);
    for step in steps {
        let (line, after) =
            journal_end.append(&next(&journal_end, begin(step), Facts { exit_code: Some(3), ..Facts::default() }));
        bytes.extend(line);
        journal_end = after;
    }
    (bytes, journal_end)
}

#[test]
fn what_is_appended_reads_back_and_the_tail_goes_on_from_there() {
    let (bytes, journal_end) = journal(&["1", "2", "3"]);
    let read = read(HEADER, &bytes);
    assert_eq!((&read.journal_end, &read.remainder), (&journal_end, &Remainder::Nothing));
    assert_eq!(read.journal_end.length, bytes.len() as u64);
    let steps: Vec<String> = read.records.iter().map(|record| format!("{:?}", record.event)).collect();
    assert!(steps.len() == 3 && steps[2].contains("StepId(\"3\")"), "{steps:?}");
    assert_eq!(read.records[1].facts.exit_code, Some(3));
    assert!(bytes.starts_with(b"{\"chain\":\""));
}

/// The chain begins with the first record, which names the header: the lines are sound by themselves, and count for no other header.
#[test]
fn a_journal_is_about_its_header_and_chained_without_it() {
    let (bytes, _) = journal(&["1", "2"]);
    let other = read(b"{\"session\":\"t\"}", &bytes);
    assert!(other.records.is_empty() && matches!(other.remainder, Remainder::Broken { line: 1, .. }), "{other:?}");
    assert_eq!(read(b"", &bytes).remainder, Remainder::Nothing);
    let without = journal_of(&JournalEnd::of(b""), begin("1")).0;
    assert!(matches!(read(HEADER, &without).remainder, Remainder::Broken { line: 1, .. }), "it names none");
}

#[test]
fn a_cut_at_any_byte_loses_the_last_record_and_no_other() {
    let (bytes, _) = journal(&["1", "2", "3"]);
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').map(|at| at + 1).collect();
    for length in 0..bytes.len() {
        let read = read(HEADER, &bytes[..length]);
        let whole = ends.iter().filter(|end| **end <= length).count();
        let kept = if whole == 0 { 0 } else { ends[whole - 1] };
        assert_eq!((read.records.len(), read.journal_end.length), (whole, kept as u64), "{length}");
        let remainder =
            if kept == length { Remainder::Nothing } else { Remainder::Truncated { bytes: (length - kept) as u64 } };
        assert_eq!(read.remainder, remainder, "{length}");
    }
}

#[test]
fn a_line_that_was_changed_moved_or_left_out_breaks_the_chain_there() {
    let (bytes, _) = journal(&["1", "2", "3"]);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let changed = String::from_utf8(bytes.clone()).unwrap().replacen("\"step\":\"2\"", "\"step\":\"9\"", 1);
    for (name, damaged, line) in [
        ("changed", changed.into_bytes(), 2),
        ("left out", [lines[0], lines[2]].concat(), 2),
        ("moved", [lines[1], lines[0], lines[2]].concat(), 1),
        ("doubled", [lines[0], lines[0]].concat(), 2),
        ("not text", [lines[0], b"\xff\n", lines[1]].concat(), 2),
        ("not ours", [b"{}\n", lines[0]].concat(), 1),
        ("empty line", [lines[0], b"\n", lines[1]].concat(), 2),
    ] {
        let read = read(HEADER, &damaged);
        let Remainder::Broken { line: found, .. } = read.remainder else { panic!("{name}: {:?}", read.remainder) };
        assert_eq!((found, read.records.len()), (line, line as usize - 1), "{name}");
    }
    let other = read(b"another session", &bytes);
    assert!(matches!(other.remainder, Remainder::Broken { line: 1, .. }));
}

#[test]
fn a_sound_line_that_says_something_unknown_is_of_a_newer_version() {
    let (mut bytes, journal_end) = journal(&["1"]);
    let body = "{\"seq\":2,\"teleport\":{}}";
    bytes.extend(format!("{{\"chain\":\"{}\",{}\n", chain_digest(&journal_end.chain, &body[1..]), &body[1..]).bytes());
    let read = read(HEADER, &bytes);
    assert_eq!((read.records.len(), read.remainder), (1, Remainder::Newer { line: 2 }));
}

#[test]
fn a_journal_can_begin_anew_from_a_state() {
    let (bytes, _) = journal(&["1", "2"]);
    let state = State::from_records(&read(HEADER, &bytes).records);
    let (line, journal_end) = journal_of(&JournalEnd::of(HEADER), Event::Base(Box::new(state.clone())));
    let (next, _) = journal_of(&journal_end, begin("3"));
    let again = State::from_records(&read(HEADER, &[line, next].concat()).records);
    assert_eq!((again.seq, again.steps.len()), (2, 3));
    assert_eq!(again.steps["1"], state.steps["1"]);
}

#[test]
fn a_record_with_a_name_stays_as_it_is_and_one_without_gets_it() {
    let (end, about) = (JournalEnd::of(HEADER), About::new(Uid::new([7; 16]), None));
    let named = end.next(&LastRecords::default(), about, begin("1"), Facts::default());
    let (line, _) = end.append(&named);
    assert_eq!(end.with_entry(&line, About::new(Uid::new([9; 16]), None), None), line);
    let (line, _) = journal_of(&end, begin("1"));
    let records = read(HEADER, &end.with_entry(&line, about, None)).records;
    assert_eq!(records.iter().map(|record| record.about).collect::<Vec<_>>(), [about]);
}

#[test]
fn an_acceptance_is_a_decision_also_when_it_is_read() {
    let at = Timestamp::parse("2026-01-02T03:04:05Z", 0).unwrap();
    let step = StepId::new("1");
    let outcome = Outcome { accepts: true, ..Outcome::completed(step.clone()) };
    let kind = ChangeKind::Finish(Box::new(outcome));
    let entry = Some(Box::new(Entry::new(kind.as_str(), Some(step), at)));
    let accepted =
        next(&JournalEnd::of(HEADER), Event::Change(Change { at, kind }), Facts { entry, ..Facts::default() });
    let (line, _) = JournalEnd::of(HEADER).append(&accepted);
    let read = read(HEADER, &line).records;
    assert_eq!([accepted.said().act, read[0].said().act], [Act::Decide; 2]);
}
