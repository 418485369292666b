//! `checkpoint.json`: a snapshot of the state of a session. It replaces a damaged journal, and the records that it covers are not
//! parsed again. Pure.
//!
//! It is `{"digest":"<64 hex digits>",<rest>}`, with the SHA-256 of `{<rest>}`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    record::{self, FORMAT, JournalEnd},
    state::State,
};
use crate::model::{Status, StepId, sha256_hex, sha256_hex_of};

/// A snapshot of the state after some records of the journal.
#[derive(Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) state: State,
    /// `None` when the journal had other records than those that it covers.
    covered: Option<LastRecord>,
}

/// The last record that a snapshot covers. A journal whose line of that number has this chain begins with the covered records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastRecord {
    /// Of the program that wrote the snapshot: another version may know other kinds of records.
    version: String,
    chain: String,
}

/// Returns the content of `checkpoint.json` for a session whose journal ends there.
pub(crate) fn write(session: &str, state: &State, journal_end: &JournalEnd) -> Vec<u8> {
    let done = |id: &&StepId| state.steps.get(id.as_str()).is_some_and(|step| step.status == Status::Completed);
    let written = Written {
        format: FORMAT,
        session,
        total_steps: state.workflow.steps.len(),
        completed_steps: state.workflow.steps.iter().map(|step| &step.id).filter(done).collect(),
        journal: (journal_end.seq == state.seq)
            .then(|| LastRecord { version: env!("CARGO_PKG_VERSION").to_owned(), chain: journal_end.chain.clone() }),
        state,
    };
    let body = serde_json::to_string(&written).expect("a state is JSON");
    format!("{{\"digest\":\"{}\",{}\n", sha256_hex(body.as_bytes()), &body[1..]).into_bytes()
}

impl Snapshot {
    /// Reads what [`write()`] wrote for this session.
    ///
    /// # Errors
    ///
    /// In one sentence: it is damaged, of another session, or of a newer format.
    pub(crate) fn read(session: &str, bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text")?;
        let (digest, rest) = text
            .trim_end()
            .strip_prefix("{\"digest\":\"")
            .and_then(|rest| rest.split_once("\","))
            .ok_or("it does not begin with a digest")?;
        if sha256_hex_of([b"{", rest.as_bytes()]) != digest {
            return Err("its digest does not match its content".to_owned());
        }
        let head: Head = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if head.format > FORMAT {
            return Err(format!("it has format {}, and this version reads up to {FORMAT}", head.format));
        }
        if head.session != session {
            return Err("it belongs to another session".to_owned());
        }
        let state = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(Self { state, covered: serde_json::from_value(head.journal).ok() })
    }

    /// Tells whether a journal, as far as its chain is sound, begins with the covered records.
    pub(crate) fn covers(&self, journal: &[u8]) -> bool {
        self.covered.as_ref().is_some_and(|last| {
            last.version == env!("CARGO_PKG_VERSION")
                && record::chain_of(journal, self.state.seq) == Some(last.chain.as_str())
        })
    }
}

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    session: &'a str,
    total_steps: usize,
    completed_steps: Vec<&'a StepId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<LastRecord>,
    #[serde(flatten)]
    state: &'a State,
}

/// The fields of every format; the rest is [`State`] in the format of this version.
#[derive(Deserialize)]
struct Head {
    format: u32,
    session: String,
    /// A [`LastRecord`], unless another version writes something else.
    #[serde(default)]
    journal: Value,
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
