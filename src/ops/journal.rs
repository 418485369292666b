//! The journal of a run of another system, as it is read: what was said, tried and decided about the run.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    dialect::piton::record::{self, JournalEnd, Remainder},
    engine::share::LastRecords,
    model::{Entry, Finding, FindingCode, JournalFile, Local, Suggested, Timestamp, Uid, Verb},
    store::{self, JournalStanding, Trusted},
};

/// The change that archives a run.
pub(super) const ARCHIVED: &str = "archive";
/// What the first record of such a journal is chained to.
const SEED: &[u8] = b"";

/// Returns the findings with which a person let this driver go on, less than a day ago.
pub(super) fn agreed(entries: &[Entry], driver: Option<Uid>, now: Timestamp) -> BTreeSet<String> {
    let is_recent = |entry: &&Entry| entry.about.driver == driver && entry.at.is_of_today(now);
    let subjects = entries.iter().filter(is_recent).filter_map(|entry| entry.note["agreed"].as_array());
    subjects.flatten().filter_map(|subject| subject.as_str().map(str::to_owned)).collect()
}

/// A journal as it was read.
#[derive(Clone, Debug)]
pub(super) struct ReadJournal {
    /// Oldest first; nothing of a journal that does not count.
    pub(super) entries: Arc<[Entry]>,
    /// The end of the sound records.
    pub(super) end: JournalEnd,
    /// Which record each step stands at.
    pub(super) standing: LastRecords,
    /// About one that does not count, or not whole.
    pub(super) finding: Option<Finding>,
}

impl ReadJournal {
    /// Returns a journal that is not begun, with what is recorded elsewhere.
    pub(super) fn not_begun(entries: Vec<Entry>, standing: LastRecords) -> Self {
        let end = JournalEnd::of(SEED);
        Self { entries: entries.into(), end, standing, finding: None }
    }

    /// Adds to the entries what this machine knows of their drivers. Entries that are shared have it.
    pub(super) fn add_drivers(&mut self, local: &Local) {
        Arc::get_mut(&mut self.entries).into_iter().flatten().for_each(|entry| entry.add_driver(local));
    }

    /// Returns the entries that count, oldest first.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.is_late)
    }

    /// Tells whether its run is archived.
    pub(super) fn is_archived(&self) -> bool {
        self.entries.last().is_some_and(|entry| entry.change == ARCHIVED)
    }

    /// Returns the length of the sound records of a journal whose last write was cut off.
    pub(super) fn truncated(&self, journal: &JournalFile) -> Option<u64> {
        let rest = &journal.bytes()[usize::try_from(self.end.length).ok()?..];
        (!rest.is_empty() && !rest.contains(&b'\n')).then_some(self.end.length)
    }
}

/// Reads a journal.
pub(super) fn read(trusted: &Trusted, journal: &JournalFile) -> ReadJournal {
    let file = journal.file();
    let refused = |code, message: String| {
        let fix = Suggested::of(Verb::Trust, &file);
        ReadJournal {
            finding: Some(Finding::new(code, message).fix(fix)),
            ..ReadJournal::not_begun(Vec::new(), LastRecords::default())
        }
    };
    match store::journals::standing(trusted, journal) {
        Ok(JournalStanding::Ours | JournalStanding::Silent) => {}
        Ok(JournalStanding::Foreign) => {
            let message = format!("{file} came with the project: the reports and decisions in it do not count");
            return refused(FindingCode::JournalUntrusted, message);
        }
        Err(error) => return refused(FindingCode::StateUnreadable, error.to_string()),
    }
    let (mut entries, mut standing) = (Vec::new(), LastRecords::default());
    let (end, remainder) = record::replay(SEED, journal.bytes(), 0, |record| {
        let is_late = !standing.take(record.said());
        entries.extend(record.facts.entry.map(|entry| entry.of_record(record.about, is_late)));
    });
    let fix = |found: Finding| found.fix(Suggested::new(Verb::Trust).option("no", &file));
    let finding = match remainder {
        Remainder::Nothing | Remainder::Truncated { .. } | Remainder::Lost { .. } | Remainder::Absent => None,
        Remainder::Broken { line, reason } => {
            let message =
                format!("line {line} of {file} is not what was written ({reason}); the records before it count");
            Some(fix(Finding::new(FindingCode::JournalDamaged, message)))
        }
        Remainder::Newer { line } => {
            let message = format!("line {line} of {file} was written by a newer version of piton");
            Some(Finding::new(FindingCode::FormatNewer, message))
        }
    };
    ReadJournal { entries: entries.into(), end, standing, finding }
}

/// Tells whether the last line of a journal can be that of the change that archived its run; cheaper than to read it.
pub(super) fn may_be_archived(journal: &JournalFile) -> bool {
    let last = journal.bytes().trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
    let word = format!("\"change\":\"{ARCHIVED}\"");
    last.is_some_and(|last| last.windows(word.len()).any(|window| window == word.as_bytes()))
}
