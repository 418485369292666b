//! The journal of a run of another system, as it is read: what was said, tried and decided about the run.

use crate::{
    dialect::piton::record::{self, JournalEnd, Remainder},
    engine,
    model::{Candidate, Entry, Finding, FindingCode, JournalFile},
    store::{self, LogStanding, Project, Trusted},
};

/// What the first record of such a journal is chained to.
const SEED: &[u8] = b"";

/// Reads the entries of a journal that counts. Returns the finding about one that does not, or not whole.
pub(super) fn read(trusted: &Trusted, journal: &JournalFile) -> (Vec<Entry>, Option<Finding>) {
    let file = journal.file();
    let finding = |code, message: String| {
        let fix = format!("piton trust {}", engine::quoted(file.as_str()));
        Some(Finding::new(code, message).fix(fix))
    };
    match store::journals::standing(trusted, journal) {
        Ok(LogStanding::Ours) => {}
        Ok(LogStanding::Silent) => return (Vec::new(), None),
        Ok(LogStanding::Foreign) => {
            let message = format!("{file} came with the project: the reports and decisions in it do not count");
            return (Vec::new(), finding(FindingCode::JournalUntrusted, message));
        }
        Err(error) => return (Vec::new(), finding(FindingCode::StateUnreadable, error.to_string())),
    }
    let mut entries = Vec::new();
    let (_, remainder) = record::replay(SEED, journal.bytes(), 0, |record| {
        entries.extend(record.facts.entry.map(|entry| *entry));
    });
    let fix = |found: Finding| found.fix(format!("piton trust --no {}", engine::quoted(file.as_str())));
    let damage = match remainder {
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
    (entries, damage)
}

/// Returns what was recorded of a run that is not read.
pub(super) fn entries_of(project: &Project, candidate: &Candidate) -> Vec<Entry> {
    let journal = store::journals::of(project, candidate);
    journal.map(|journal| read(&project.trusted, &journal).0).unwrap_or_default()
}

/// Returns the end of the sound records of a journal, and whether a write behind it was cut off.
pub(super) fn end_of(journal: &JournalFile) -> (JournalEnd, bool) {
    let (end, remainder) = record::replay(SEED, journal.bytes(), 0, drop);
    (end, matches!(remainder, Remainder::Truncated { .. }))
}
