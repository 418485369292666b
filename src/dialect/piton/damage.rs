//! Damage of the files of a session, as findings.

use super::{
    record::{FORMAT, Remainder},
    session::Session,
};
use crate::model::{Finding, FindingCode, Suggested, Verb, clean_line};

/// Reports what of the files of a session cannot be used, and what counts instead.
pub(super) fn findings(session: &Session) -> Vec<Finding> {
    let mut findings = Vec::new();
    let file = &session.journal_file;
    let resume = Suggested::of(Verb::Resume, &session.header.session).yes();
    let seen = session.state.seq > session.journal_end.seq;
    let goes_on = if seen { "the newer snapshot counts" } else { "the records before it count" };
    let finding = |code, message: String| Finding::new(code, message).at(file);
    match &session.remainder {
        Remainder::Nothing => {}
        Remainder::Truncated { bytes } => {
            let message = format!("the last record is incomplete ({bytes} bytes); everything before it is intact");
            findings.push(finding(FindingCode::InterruptedWrite, message).fix("nothing: the next write sets it aside"));
        }
        Remainder::Broken { line, reason } => {
            let message = format!("line {line} and everything after it is damaged ({reason}); {goes_on}");
            let fix = format!("check what would be repeated, then `{resume}`");
            findings.push(finding(FindingCode::StateCorrupt, message).line(*line, None).fix(fix));
        }
        Remainder::Newer { line } => {
            let message = format!("line {line} was written by a newer version; {goes_on}");
            findings.push(finding(FindingCode::FormatNewer, message).line(*line, None).fix("update piton"));
        }
        Remainder::Lost { records } => {
            let message = format!("{records} records of the journal are gone; the checkpoint counts");
            let fix = format!("check what is done, then `{resume}`");
            findings.push(finding(FindingCode::JournalMissing, message).fix(fix));
        }
        Remainder::Absent => {
            let message = "the journal is gone, and there is no checkpoint: no step is proven".to_owned();
            let fix = format!("check what is done, then {}", session.header.anew());
            findings.push(finding(FindingCode::JournalMissing, message).fix(fix));
        }
    }
    if session.header.format > FORMAT {
        let message = format!("the session has format {}; it can be read but not written", session.header.format);
        findings.push(finding(FindingCode::FormatNewer, message).fix("update piton"));
    }
    if let Some(problem) = &session.snapshot_problem {
        let message = format!("checkpoint.json cannot be used: {}; the journal counts", clean_line(problem, 200));
        let mut finding = finding(FindingCode::StateLeftover, message).fix("nothing: the next checkpoint replaces it");
        // A sound journal needs no snapshot.
        if session.remainder == Remainder::Nothing {
            finding.code = FindingCode::FieldIgnored;
            finding.severity = FindingCode::FieldIgnored.severity();
        }
        findings.push(finding);
    }
    findings
}
