//! What `cargo bench --bench instructions` concludes from its figures.

#[path = "../benches/instructions/record.rs"]
mod record;

use record::Record;
use record::TOLERANCE;
use record::Verdict;

use crate::support;

const RECORD: &str = "# Comment.\n\ntool compiler: rustc 1.95.0 (5980)\ntool libc: glibc 2.36\nplan, ccw, 100 steps: 200\nversion: 1000\n";

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn parsed(text: &str) -> Record {
    Record::parse(text).expect("a sound record")
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = parsed(RECORD);
    assert_eq!(record.tools, pairs(&[("compiler", "rustc 1.95.0 (5980)"), ("libc", "glibc 2.36")]));
    assert_eq!(record.calls, [("plan, ccw, 100 steps".to_owned(), 200), ("version".to_owned(), 1000)]);
    assert_eq!(parsed(&record.render()), record);
}

#[test]
fn a_line_that_means_nothing_is_named() {
    for line in ["version", "version: many", "version:3", "tool compiler"] {
        let error = Record::parse(&format!("# Comment.\n{line}\n")).expect_err(line);
        assert_eq!(error, format!("line 2: `{line}` is neither `tool NAME: VERSION` nor `CALL: INSTRUCTIONS`"));
    }
}

#[test]
fn only_what_lies_beyond_the_tolerance_is_a_difference() {
    let record = parsed(RECORD);
    assert_eq!(TOLERANCE, 3.0, "the figures below are made for it");
    assert!(matches!(record.judge("version", 1031), Verdict::Slower(percent) if (3.0..3.2).contains(&percent)));
    assert!(matches!(record.judge("version", 1029), Verdict::Same(_)));
    assert_eq!(record.judge("version", 1000), Verdict::Same(0.0));
    assert!(matches!(record.judge("version", 971), Verdict::Same(_)));
    assert!(matches!(record.judge("version", 969), Verdict::Faster(percent) if (-3.2..-3.0).contains(&percent)));
    assert_eq!(record.judge("plan", 1), Verdict::Unrecorded);
}

#[test]
fn figures_of_other_tools_are_not_compared() {
    let record = parsed(RECORD);
    let same = pairs(&[("compiler", "rustc 1.95.0 (5980)"), ("libc", "glibc 2.36")]);
    assert_eq!(record.other_tools(&same), Vec::<String>::new());
    let others = pairs(&[("compiler", "rustc 1.96.0"), ("libc", "glibc 2.36"), ("valgrind", "3.19.0")]);
    assert_eq!(
        record.other_tools(&others),
        ["compiler: rustc 1.96.0, recorded with rustc 1.95.0 (5980)", "valgrind: 3.19.0, recorded with none"]
    );
}

#[test]
fn a_call_that_is_no_longer_made_is_missed() {
    assert_eq!(parsed(RECORD).not_among(&[("version".to_owned(), 1)]), ["plan, ccw, 100 steps"]);
}

#[test]
fn the_committed_record_can_be_read() {
    let text = support::read(&support::repository().join("benches/instructions.txt"));
    let record = parsed(&text);
    assert!(record.calls.len() > 10 && record.tools.len() == 5, "{record:?}");
}
