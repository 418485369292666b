//! What `restore` reports, and what it proposes for a state that cannot be read: the newest readable version, or in AIOS the state rebuilt from
//! evidence.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    opened_run::{OpenedRun, located_message, run_word},
    report::Body,
    versions::{self, Source, Version},
};
use crate::model::{Edit, EditKind, RebuiltValue, RelPath, StepId, Suggested, Timestamp, Verb, sha256_hex_of};

/// A restored or proposed version of a run (`restore/1`).
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    pub(crate) run: String,
    /// The version, the archive, or `evidence`.
    pub(crate) from: String,
    /// False if it is only proposed: the state that is there cannot be read, and a person has not agreed to replace it.
    pub(crate) written: bool,
    pub(crate) files: Vec<RelPath>,
    /// Steps that are open again because the restored state is older: each is begun again, or asked about where it must not run twice.
    pub(crate) repeats: Vec<StepId>,
    /// Where an unreadable state was kept.
    pub(crate) kept: Vec<String>,
    /// What is written in the place of a state that could not be read. Left out where it could, or was gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proposal: Option<Proposal>,
}

impl RestoreReport {
    pub(super) fn new(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// Returns the question about a proposal, and the digest that a yes confirms; `None` if it is written.
    pub(crate) fn prompt(&self) -> Option<(String, String)> {
        let proposal = self.proposal.as_ref().filter(|_| !self.written)?;
        let files: Vec<&str> = self.files.iter().map(RelPath::as_str).collect();
        let question = format!("Write this in the place of {}? [y/N]", files.join(" and "));
        Some((question, proposal.digest.clone()))
    }
}

impl Body for RestoreReport {
    const SCHEMA: &'static str = "restore/1";

    fn written(&self) -> Option<String> {
        self.written.then(|| format!("{} is back at {}", self.run, self.from))
    }
}

/// Says whether steps may be opened again, and what cannot be read be replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// Not confirmed.
    #[default]
    None,
    /// Anything is confirmed.
    Any,
    /// The proposal with this digest is confirmed.
    Digest(String),
}

/// The proposed content of a state, and what it is chosen from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Proposal {
    /// What cannot be read, and where.
    pub(crate) problems: Vec<String>,
    /// Every known earlier version, newest first.
    pub(crate) versions: Vec<KnownVersion>,
    /// Digest of `files`.
    pub(crate) digest: String,
    pub(crate) files: Vec<ProposedFile>,
    /// The source of each value; only for a rebuilt state.
    pub(crate) values: Vec<RebuiltValue>,
    /// Values without evidence, and what is written instead.
    pub(crate) unknown: Vec<String>,
    /// The command that writes it.
    pub(crate) command: Suggested,
}

/// An earlier version of a state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnownVersion {
    /// What `restore --to` takes.
    pub(crate) name: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) what: String,
    pub(crate) readable: bool,
}

/// A proposed file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedFile {
    pub(crate) file: RelPath,
    pub(crate) content: String,
}

impl Proposal {
    /// Returns what is shown before a version takes the place of a state that cannot be read; `None` if nothing has to be asked: the state can
    /// be read, or nothing is replaced.
    pub(super) fn of(opened: &OpenedRun, version: &Version<'_>, edits: &[Edit]) -> Option<Self> {
        let rebuilt = if let Source::Evidence(rebuilt) = &version.source { Some(rebuilt) } else { None };
        let replaces = edits.iter().any(|edit| matches!(edit.kind, EditKind::Replace { .. }));
        if versions::is_sound(opened) || (rebuilt.is_none() && !replaces) {
            return None;
        }
        let flag = rebuilt.map(|_| "from-evidence");
        let files = || edits.iter().filter_map(|edit| Some((&edit.path, edit.after()?)));
        let pieces = files().flat_map(|(path, bytes)| [path.as_str().as_bytes(), &[0], bytes, &[0]]);
        let shown = |(path, bytes): (&RelPath, &[u8])| ProposedFile {
            file: path.clone(),
            content: String::from_utf8_lossy(bytes).into_owned(),
        };
        let unreadable = opened.loaded.findings.iter().filter(|finding| versions::says_unreadable(finding.code));
        let known = versions::all(opened).map(|version| KnownVersion {
            readable: versions::is_restorable(opened, &version),
            what: version.what(),
            at: version.at,
            name: version.name,
        });
        Some(Self {
            problems: unreadable.map(located_message).collect(),
            versions: known.collect(),
            digest: sha256_hex_of(pieces),
            files: files().map(shown).collect(),
            values: rebuilt.map_or_else(Vec::new, |rebuilt| rebuilt.values.clone()),
            unknown: rebuilt.map_or_else(Vec::new, |rebuilt| rebuilt.unknown.clone()),
            command: Suggested::of(Verb::Restore, run_word(&opened.candidate)).flags(flag).yes(),
        })
    }

    /// Tells whether what is proposed now is confirmed.
    pub(super) fn is_agreed(&self, run: &str, confirmation: &Confirmation) -> Result<bool, OpError> {
        match confirmation {
            Confirmation::None => Ok(false),
            Confirmation::Any => Ok(true),
            Confirmation::Digest(digest) if *digest == self.digest => Ok(true),
            Confirmation::Digest(expected) => {
                let (expected, found) = (expected.clone(), self.digest.clone());
                Err(OpError::Moved { expected, found, run: run.to_owned() })
            }
        }
    }
}
