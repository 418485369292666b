//! `checkpoint.json`: where a session stands, and how far its journal had come by then. Pure.
//!
//! It is `{"digest":"<64 hex digits>",<rest>}`, with the SHA-256 of `{<rest>}`.

use std::collections::BTreeMap;
use std::fmt;
use std::iter;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::Value;

use super::record::Captured;
use super::record::FORMAT;
use super::record::Outline;
use super::record::Tail;
use super::record::Trail;
use super::state::Last;
use super::state::RunState;
use super::state::State;
use super::state::StepState;
use crate::model::Status;
use crate::model::StepId;
use crate::model::sha256_hex;
use crate::model::sha256_hex_of;

/// Is what a snapshot says.
#[derive(Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) state: State,
    /// `None` in one that says nothing of its journal.
    pub(crate) position: Option<Position>,
    /// Its digest, where that tells every byte of the file.
    pub(crate) proof: Option<String>,
}

/// Is how far a journal had come: who finds the same bytes there need not add its records up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Of the program that added them up: another one may know more kinds of records, or fewer.
    version: String,
    /// Of the journal, in bytes.
    length: u64,
    /// Of the last record.
    chain: String,
    /// Of `session.json` and of so many bytes of the journal behind it.
    sha256: String,
}

impl Position {
    fn of(tail: &Tail) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { version, length: tail.length, chain: tail.chain.clone(), sha256: tail.digest.hex() }
    }
}

/// Returns what `checkpoint.json` says of a session whose journal ends there.
pub(crate) fn write(session: &str, state: &State, tail: &Tail) -> Vec<u8> {
    let done = |id: &&StepId| state.steps.get(id.as_str()).is_some_and(|step| step.status == Status::Completed);
    let written = Written {
        format: FORMAT,
        session,
        total_steps: state.workflow.steps.len(),
        completed_steps: state.workflow.steps.iter().map(|step| &step.id).filter(done).collect(),
        journal: (tail.seq == state.seq).then(|| Position::of(tail)),
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
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text")?.trim_end();
        let (digest, rest) = text
            .strip_prefix("{\"digest\":\"")
            .and_then(|rest| rest.split_once("\","))
            .ok_or("it does not begin with a digest")?;
        if sha256_hex_of([b"{", rest.as_bytes()]) != digest {
            return Err("it is not what was written there".to_owned());
        }
        match serde_json::from_str::<Read>(text) {
            Ok(read) => {
                check(session, read.format, &read.session)?;
                let is_as_written = bytes[text.len()..] == *b"\n";
                Ok(Self::of(read, is_as_written.then(|| digest.to_owned())))
            }
            // Another format need not say the same beyond its head.
            Err(error) => match serde_json::from_str::<Head>(text) {
                Ok(head) => check(session, head.format, &head.session).and(Err(error.to_string())),
                Err(_) => Err(error.to_string()),
            },
        }
    }

    fn of(read: Read, proof: Option<String>) -> Self {
        let Read { journal, seq, run, workflow, steps, variables, last, .. } = read;
        let state = State { seq, run, workflow, steps, variables, last };
        Self { state, position: serde_json::from_value(journal).ok(), proof }
    }

    /// Returns the end of what the snapshot has seen of a journal, if that still begins with it.
    pub(crate) fn end_in(&self, trail: &Trail<'_>) -> Option<Tail> {
        let position = self.position.as_ref().filter(|position| position.version == env!("CARGO_PKG_VERSION"))?;
        let Position { length, chain, sha256, .. } = position;
        let digest = trail.up_to(*length).filter(|digest| digest.hex() == *sha256)?;
        Some(Tail { seq: self.state.seq, chain: chain.clone(), length: *length, digest })
    }
}

fn check(session: &str, format: u32, of: &str) -> Result<(), String> {
    if format > FORMAT {
        return Err(format!("it has format {format}, and this version reads up to {FORMAT}"));
    }
    if of != session {
        return Err("it belongs to another session".to_owned());
    }
    Ok(())
}

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    session: &'a str,
    total_steps: usize,
    completed_steps: Vec<&'a StepId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<Position>,
    #[serde(flatten)]
    state: &'a State,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
    session: String,
}

/// Is [`Head`] and [`State`] in one pass: `flatten` would read all of it twice.
#[derive(Deserialize)]
struct Read {
    format: u32,
    session: String,
    /// A [`Position`], unless a newer version has another idea of it.
    #[serde(default)]
    journal: Value,
    seq: u64,
    run: RunState,
    workflow: Outline,
    #[serde(deserialize_with = "all_at_once")]
    steps: BTreeMap<String, Box<StepState>>,
    variables: BTreeMap<String, Captured>,
    #[serde(rename = "state")]
    last: Last,
}

/// Reads a map whose keys are in order already, without looking for the place of each.
fn all_at_once<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    deserializer.deserialize_map(Entries(PhantomData))
}

struct Entries<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        iter::from_fn(|| map.next_entry().transpose()).collect()
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
