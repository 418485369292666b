//! What is recorded of a run besides the changes of its own state: what was said, tried and decided.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Delta, DialectId, Edit, EditKind, EvidenceRecord, Local, RelPath, RollBackRecord, Statement, StatementKind, StepId,
    Timestamp, Uid, sha256_hex,
};

/// Which record of a journal it is, who wrote it, and what it is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) id: Uid,
    /// The session or process that wrote it; left out for a call from a passing shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<Uid>,
    /// The record that its step stood at; left out for a step that no record moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on: Option<Uid>,
    /// Of a begin: it takes the step over from the attempt that it is about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) takes: bool,
}

impl About {
    /// Returns a record that is about no step.
    pub(crate) const fn new(id: Uid, driver: Option<Uid>) -> Self {
        Self { id, driver, on: None, takes: false }
    }

    /// Returns a record that is written that many before this one, in the same call.
    pub(crate) fn before(self, count: usize) -> Self {
        match count {
            0 => self,
            _ => Self::new(Uid::of([self.id.to_string().as_str(), &count.to_string()]), self.driver),
        }
    }
}

/// A record of the journal of a run: one for each call that changed or said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    /// The kind of the change (`ChangeKind::as_str`), or the verb.
    pub(crate) change: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<StepId>,
    /// The part of the step that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<String>,
    /// The steps that build on one that begins, and that are open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reopens: Vec<StepId>,
    /// Everything that was said with it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) said: Vec<Statement>,
    /// The digests of the files that finished steps left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left: Vec<EvidenceRecord>,
    /// The steps that it reopened by going back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) back: Option<RollBackRecord>,
    /// Why a resume was safe.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) note: Value,
    /// The state files that it changes. The record is durable before they are replaced, so that a change that was cut off is finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<ChangedFile>,
    /// Which record it is part of, which says so itself.
    #[serde(skip)]
    pub(crate) about: About,
    /// Its step had moved when it was written: it is kept, and counts for nothing.
    #[serde(skip)]
    pub(crate) is_late: bool,
    /// The client's session that called, where this machine knows it.
    #[serde(skip)]
    pub(crate) session: Option<String>,
}

impl Entry {
    /// Returns an entry that says nothing besides which change it is about.
    pub(crate) fn new(change: &str, step: Option<StepId>, at: Timestamp) -> Self {
        Self {
            at,
            change: change.to_owned(),
            step,
            part: None,
            reopens: Vec::new(),
            said: Vec::new(),
            left: Vec::new(),
            back: None,
            note: Value::Null,
            files: Vec::new(),
            about: About::default(),
            is_late: false,
            session: None,
        }
    }

    /// Returns an entry as it was read from a record.
    pub(crate) fn of_record(mut self, about: About, is_late: bool) -> Self {
        for statement in &mut self.said {
            if let StatementKind::Begun(attempt) = &mut statement.kind {
                attempt.about = about;
            }
        }
        Self { about, is_late, ..self }
    }

    /// Adds what this machine knows of the driver that its record names.
    pub(crate) fn add_driver(&mut self, local: &Local) {
        let driver = self.about.driver.and_then(|driver| local.drivers.get(&driver));
        self.session = driver.and_then(|driver| driver.session.clone());
        for statement in &mut self.said {
            if let StatementKind::Begun(attempt) = &mut statement.kind {
                attempt.driver = driver.cloned();
            }
        }
    }

    /// Tells whether it only adds to what is recorded about a step that is done.
    pub(crate) fn amends(&self) -> bool {
        self.said.iter().any(|said| matches!(&said.kind, StatementKind::Report(report) if report.amends))
    }

    /// Tells whether it says more than which change it is about.
    pub(crate) fn says_something(&self) -> bool {
        !self.said.is_empty() || !self.left.is_empty() || self.back.is_some() || !self.note.is_null()
    }
}

/// A change of one state file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangedFile {
    pub(crate) path: RelPath,
    /// The digest of the content that it replaces; `None` for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The digest of its new content; `None` for one that is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// The content that it replaces, where another program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<Delta>,
    /// What makes the new content out of the one that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) written: Option<Delta>,
}

impl ChangedFile {
    /// Returns an edit of a file whose journal recorded it with the digest `last`.
    pub(crate) fn of(edit: &Edit, last: Option<&String>) -> Self {
        let (before, after): (Option<&[u8]>, Option<&[u8]>) = match &edit.kind {
            EditKind::Create { after } => (None, Some(after)),
            EditKind::Replace { before, after } => (Some(before), Some(after)),
            EditKind::Remove { before } => (Some(before), None),
            EditKind::Append { .. } => (None, None),
        };
        let digest = before.map(sha256_hex);
        let written = |after| before.map_or_else(|| Delta::whole(after), |before| Delta::between(before, after));
        Self {
            path: edit.path.clone(),
            found: before.filter(|_| digest.as_ref() != last).map(Delta::whole),
            written: after.map(written),
            before: digest,
            after: after.map(sha256_hex),
        }
    }

    /// Returns what another program wrote to a file that a change leaves as it is; `None` for the content with the digest `last`.
    pub(crate) fn found(path: &RelPath, content: &[u8], last: &str) -> Option<Self> {
        let digest = Some(sha256_hex(content)).filter(|digest| digest != last)?;
        let found = Some(Delta::whole(content));
        Some(Self { path: path.clone(), before: Some(digest.clone()), after: Some(digest), found, written: None })
    }

    /// Tells whether it replaces or removes what was there.
    pub(crate) fn replaces(&self) -> bool {
        self.before.is_some() && self.before != self.after
    }
}

/// Returns the name of the folder with the journal of a run of another system; `None` for a run that has a journal for its state, and for a
/// session of the client, of which nothing is recorded.
pub(crate) fn journal_folder(dialect: DialectId, run: &str) -> Option<String> {
    match dialect {
        DialectId::Piton | DialectId::Claude => None,
        DialectId::NineStep
        | DialectId::Ccw
        | DialectId::Dotagent
        | DialectId::Aios
        | DialectId::Checklist
        | DialectId::Bmad
        | DialectId::Gsd
        | DialectId::Taskmaster => Some(file_name(&format!("{dialect}.{run}"))),
    }
}

/// Tells whether a folder can be that of the journal of a run of another system. No run of a workflow file has such a name.
pub(crate) fn is_journal_folder(name: &str) -> bool {
    let mut begins = DialectId::ALL.into_iter().filter_map(|dialect| journal_folder(dialect, ""));
    begins.any(|begin| name.starts_with(&begin))
}

/// Returns the run whose journal has a folder of this name; `None` if the name does not tell.
pub(crate) fn run_of_journal(folder: &str) -> Option<(DialectId, String)> {
    let named = |dialect: DialectId| {
        let rest = folder.strip_prefix(&journal_folder(dialect, "")?)?;
        let run = decoded(rest)?;
        (journal_folder(dialect, &run).as_deref() == Some(folder)).then_some((dialect, run))
    };
    DialectId::ALL.into_iter().find_map(named)
}

fn decoded(name: &str) -> Option<String> {
    let mut parts = name.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// Bytes of a name before it is shortened to a digest.
const NAME_LIMIT: usize = 120;

/// Returns a text as the name of a folder: other characters than letters, digits, `.`, `_` and `-` are percent-encoded.
fn file_name(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let encoded: String = text
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    if encoded.len() <= NAME_LIMIT {
        return encoded;
    }
    format!("{}-{}", &encoded[..NAME_LIMIT - 40], &sha256_hex(text.as_bytes())[..32])
}
