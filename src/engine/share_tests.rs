use proptest::prelude::*;

use super::{Act, LastRecords, Said, Stand};
use crate::model::{About, StepId, Uid};

/// A record of a driver about one of three steps.
#[derive(Clone, Debug)]
struct TestRecord {
    seq: u64,
    about: About,
    act: Act,
    step: StepId,
    reopens: Vec<StepId>,
}

impl TestRecord {
    fn said(&self) -> Said<'_> {
        Said { seq: self.seq, about: self.about, act: self.act, step: Some(&self.step), reopens: &self.reopens }
    }
}

fn id(number: u64) -> Uid {
    Uid::of([number.to_string().as_str()])
}

fn written(number: u64, act: Act, on: Option<u64>) -> TestRecord {
    let about = About { on: on.map(id), ..About::new(id(number), None) };
    TestRecord { seq: number, about, act, step: StepId::new("a"), reopens: Vec::new() }
}

fn counted(records: &[TestRecord]) -> Vec<bool> {
    let mut standing = LastRecords::default();
    records.iter().map(|record| standing.take(record.said())).collect()
}

/// Who has a step is one at a time, an end is of the attempt that began last, and what is late moves nothing.
fn check(records: &[TestRecord]) {
    let mut standing = LastRecords::default();
    for record in records {
        let before = standing.of(&record.step);
        let counts = standing.take(record.said());
        let after = standing.of(&record.step);
        match (counts, record.act) {
            (true, Act::Begin) => {
                assert!(!before.is_some_and(|stand| stand.is_begun) || record.about.takes, "{records:?}");
                assert!(after.is_some_and(|stand| stand.is_begun && stand.at == record.about.id));
            }
            (true, Act::End) => {
                assert_eq!(before.map(|stand| stand.at), record.about.on, "{records:?}");
                assert!(after.is_some_and(|stand| !stand.is_begun));
            }
            (true, _) => {}
            (false, _) => {
                assert_eq!(after, before, "{records:?}");
                assert!(standing.is_late(record.seq));
            }
        }
    }
}

const ACTS: [Act; 7] = [Act::Begin, Act::BeginPart, Act::End, Act::Inside, Act::Decide, Act::Say, Act::MoveAll];

/// Returns every history of some records of one step: each does one thing, on any record before it or on none.
fn histories(length: u64) -> Vec<Vec<TestRecord>> {
    let mut all = vec![Vec::new()];
    for number in 1..=length {
        let longer = all.iter().flat_map(|history: &Vec<TestRecord>| {
            let on = std::iter::once(None).chain((1..number).map(Some));
            let next = on.flat_map(|on| ACTS.map(|act| written(number, act, on)));
            next.map(|next| [history.as_slice(), &[next]].concat()).collect::<Vec<_>>()
        });
        all = longer.collect();
    }
    all
}

#[test]
fn every_history_of_up_to_four_records_of_one_step_keeps_the_rules() {
    let mut seen = 0;
    for length in 0..=4 {
        for history in histories(length) {
            check(&history);
            seen += 1;
        }
    }
    assert_eq!(seen, 1 + 7 + 7 * 14 + 7 * 14 * 21 + 7 * 14 * 21 * 28);
}

/// What happens, and what it is on.
type Done = (Act, Option<u64>);

#[test]
fn a_record_counts_where_its_step_still_stands() {
    use Act::{Begin, Decide, End, Inside, MoveAll, Say};
    let cases: [(&str, &[Done], &[bool]); 9] = [
        ("an attempt", &[(Begin, None), (Inside, Some(1)), (End, Some(1))], &[true, true, true]),
        ("two drivers begin", &[(Begin, None), (Begin, None)], &[true, false]),
        ("no driver takes a step over unasked", &[(Begin, None), (Begin, Some(1))], &[true, false]),
        (
            "a late end",
            &[(Begin, None), (Decide, Some(1)), (Begin, Some(2)), (End, Some(1)), (End, Some(3))],
            &[true, true, true, false, true],
        ),
        ("an end twice", &[(Begin, None), (End, Some(1)), (End, Some(1))], &[true, true, false]),
        ("done by hand", &[(End, None)], &[true]),
        ("a decision about what moved", &[(Begin, None), (End, Some(1)), (Decide, Some(1))], &[true, true, false]),
        (
            "words move nothing",
            &[(Begin, None), (Say, Some(1)), (End, Some(1)), (Say, Some(3))],
            &[true, true, true, true],
        ),
        (
            "everything moves",
            &[(Begin, None), (MoveAll, None), (End, Some(1)), (Begin, Some(2))],
            &[true, true, false, true],
        ),
    ];
    for (what, records, expected) in cases {
        let records = (1..).zip(records).map(|(number, (act, on))| written(number, *act, *on));
        assert_eq!(counted(&records.collect::<Vec<_>>()), expected, "{what}");
    }
}

#[test]
fn what_a_record_reopens_moves_and_a_taken_step_is_taken_with_a_word() {
    let mut review = written(2, Act::Begin, None);
    review.step = StepId::new("r");
    let mut again = written(3, Act::Begin, Some(1));
    (again.about.takes, again.reopens) = (true, vec![StepId::new("r")]);
    let mut verdict = written(4, Act::End, Some(2));
    verdict.step = StepId::new("r");
    let records = [written(1, Act::Begin, None), review, again, verdict];
    assert_eq!(counted(&records), [true, true, true, false]);
    let mut standing = LastRecords::default();
    records.iter().for_each(|record| _ = standing.take(record.said()));
    let stand = Stand { at: id(3), is_begun: false, is_reopened: true, of: None };
    assert_eq!(standing.of(&StepId::new("r")), Some(stand));
}

#[test]
fn after_the_end_of_a_run_nothing_counts_until_it_is_restored() {
    let on = |number, act, on| written(number, act, on);
    let records = [
        on(1, Act::Begin, None),
        on(2, Act::Close, Some(1)),
        on(3, Act::End, Some(1)),
        on(4, Act::MoveAll, None),
        on(5, Act::End, Some(1)),
    ];
    // What was begun goes on then.
    assert_eq!(counted(&records), [true, true, false, true, true]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    /// Records of three steps, doubled and late ones among them.
    #[test]
    fn random_histories_of_three_steps_keep_the_rules(
        drawn in proptest::collection::vec((0..7_usize, 0..3_usize, 0..12_u64, any::<bool>(), 0..8_u8), 0..12)
    ) {
        let names = ["a", "b", "c"].map(StepId::new);
        let mut records: Vec<TestRecord> = Vec::new();
        let mut standing = LastRecords::default();
        for (number, (act, step, on, is_honest, reopens)) in (1..).zip(drawn) {
            let mut record = written(number, ACTS[act], Some(on).filter(|on| *on > 0 && *on < number));
            record.step = names[step].clone();
            if is_honest {
                record.about.on = standing.of(&record.step).map(|stand| stand.at);
            }
            if record.act == Act::Begin {
                let reopened = names.iter().enumerate().filter(|(at, _)| *at != step && reopens & 1 << at != 0);
                record.reopens = reopened.map(|(_, name)| name.clone()).collect();
            }
            standing.take(record.said());
            records.push(record);
        }
        check(&records);
        // A record that is there twice counts once.
        let twice: Vec<TestRecord> = records.iter().flat_map(|record| [record.clone(), record.clone()]).collect();
        let mut doubled = LastRecords::default();
        twice.iter().for_each(|record| _ = doubled.take(record.said()));
        for step in &names {
            prop_assert_eq!(doubled.of(step), standing.of(step));
        }
    }
}
