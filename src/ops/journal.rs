//! The journal of a run of another system, as it is read: what was said, tried and decided about the run.

use crate::{
    dialect::piton::record::{self, JournalEnd, Remainder},
    engine,
    model::{Candidate, Entry, Finding, FindingCode, JournalFile},
    store::{self, JournalStanding, Project, Trusted},
};

/// What the first record of such a journal is chained to.
const SEED: &[u8] = b"";

/// A journal as it was read.
pub(super) struct ReadJournal {
    /// Nothing of one that does not count.
    pub(super) entries: Vec<Entry>,
    /// The end of the sound records.
    pub(super) end: JournalEnd,
    /// About one that does not count, or not whole.
    pub(super) finding: Option<Finding>,
}

/// Returns the end of a journal that is not begun.
pub(super) fn beginning() -> JournalEnd {
    JournalEnd::of(SEED)
}

/// Reads a journal.
pub(super) fn read(trusted: &Trusted, journal: &JournalFile) -> ReadJournal {
    let file = journal.file();
    let refused = |code, message: String| {
        let fix = format!("piton trust {}", engine::quoted(file.as_str()));
        ReadJournal { entries: Vec::new(), end: beginning(), finding: Some(Finding::new(code, message).fix(fix)) }
    };
    match store::journals::standing(trusted, journal) {
        Ok(JournalStanding::Ours | JournalStanding::Silent) => {}
        Ok(JournalStanding::Foreign) => {
            let message = format!("{file} came with the project: the reports and decisions in it do not count");
            return refused(FindingCode::JournalUntrusted, message);
        }
        Err(error) => return refused(FindingCode::StateUnreadable, error.to_string()),
    }
    let mut entries = Vec::new();
    let (end, remainder) = record::replay(SEED, journal.bytes(), 0, |record| {
        entries.extend(record.facts.entry.map(|entry| *entry));
    });
    let fix = |found: Finding| found.fix(format!("piton trust --no {}", engine::quoted(file.as_str())));
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
    ReadJournal { entries, end, finding }
}

/// Returns what was recorded of a run that is not read.
pub(super) fn entries_of(project: &Project, candidate: &Candidate) -> Vec<Entry> {
    let journal = store::journals::of(project, candidate);
    journal.map(|journal| read(&project.trusted, &journal).entries).unwrap_or_default()
}
