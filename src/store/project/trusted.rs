//! The list of what may speak for this user: what they made on this machine, and what they said yes to. It is in the user's state folder,
//! never in a project.
//!
//! A run has a file there, named `{id}-{digest of its header}`, with the home of its records, and on further lines those of its copies that a
//! person continued; it also leads to the run from any folder. A journal has one that is named after its first record. What
//! is not in the list came with a project.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::IgnoredAny;

use crate::{
    model::{Edit, ReadProblem, is_journal_folder, sha256_hex},
    store::fs::{
        calls, data_file,
        environment::Environment,
        error::StoreError,
        nofollow::OpenMode,
        path::problem_of,
        platform, stage,
        unread::{self, there},
    },
};

const FOLDER: &str = "index";
/// The folder of the entries of journals.
const JOURNALS: &str = "journals";
/// Bytes of a journal that its first record is looked for in.
const HEAD_LIMIT: usize = 1 << 20;
/// What generated ids begin with.
pub(super) const GENERATED: &str = "session-";
pub(super) const HEADER: &str = "run.json";
pub(super) const RUNS: &str = "runs";
/// Bytes of a session id.
const ID_LIMIT: usize = 100;

/// Characters of the digest in a name.
const DIGEST: usize = 32;
/// Bytes of an entry.
const ENTRY_LIMIT: u64 = 16 << 10;
/// Bytes of a header.
const HEADER_LIMIT: u64 = 1 << 20;

/// The list of this user.
#[derive(Clone, Debug)]
pub(crate) struct Trusted {
    /// `None` without a home folder.
    state_home: Option<Utf8PathBuf>,
}

impl Trusted {
    pub(crate) fn of(environment: &Environment) -> Self {
        Self { state_home: environment.state_home.as_deref().map(resolve_links) }
    }

    /// Returns a list that nothing is in, and that nothing is entered into.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) const fn nothing() -> Self {
        Self { state_home: None }
    }

    /// Enters a run; called before its first record is written.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written, or there is no state folder: the run would not be told from one that came with a project.
    pub(crate) fn enter(&self, id: &str, header: &[u8], home: &Utf8Path) -> Result<(), StoreError> {
        let path = self.path(id, header).ok_or(StoreError::NoHome)?;
        stage::create_private_dirs(path.parent().unwrap_or(&path))?;
        let home = resolve_links(home);
        let known = homes_in(&path);
        let others = known.iter().filter(|known| **known != home && has_run(known, id, header));
        let lines: Vec<&str> = others.map(|known| known.as_str()).chain([home.as_str()]).collect();
        write_lines(&path, &lines)
    }

    /// [`Trusted::enter`] for a run that these edits create.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written.
    pub(crate) fn enter_new(&self, id: &str, edits: &[Edit], home: &Utf8Path) -> Result<(), StoreError> {
        let header = edits.iter().find(|edit| edit.path.name() == HEADER).and_then(Edit::after);
        self.enter(id, header.unwrap_or_default(), home)
    }

    /// Corrects the entry of a run that was moved with its project: no home that is known has it. Called by what writes the run. Returns the
    /// home that it had.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written.
    pub(crate) fn follow(&self, id: &str, header: &[u8], home: &Utf8Path) -> Result<Option<Utf8PathBuf>, StoreError> {
        let mut homes = self.path(id, header).map(|path| homes_in(&path)).unwrap_or_default();
        if homes.iter().any(|known| *known == home || has_run(known, id, header)) {
            return Ok(None);
        }
        let Some(old) = homes.pop() else { return Ok(None) };
        self.enter(id, header, home)?;
        Ok(Some(old))
    }

    /// Returns why a run does not speak for this user; `None` for one that they began, or said yes to.
    pub(crate) fn stranger(&self, id: &str, header: &[u8], home: &Utf8Path) -> Option<Stranger> {
        match self.original_of(id, header, home) {
            Some(original) => Some(Stranger::CopyOf(original)),
            None if self.knows(id, header) => None,
            None => Some(Stranger::Unknown),
        }
    }

    /// Tells whether this user began a run, or said yes to it.
    pub(crate) fn knows(&self, id: &str, header: &[u8]) -> bool {
        self.path(id, header).and_then(|path| there(&path, path.metadata())).is_some_and(|found| found.is_file())
    }

    /// Returns the home of the run that the one in this home is a copy of; `None` for the run itself, also where it was moved, and for a copy
    /// that a person continued.
    pub(crate) fn original_of(&self, id: &str, header: &[u8], home: &Utf8Path) -> Option<Utf8PathBuf> {
        let (homes, home) = (homes_in(&self.path(id, header)?), resolve_links(home));
        let is_known = homes.contains(&home);
        homes.into_iter().find(|other| !is_known && has_run(other, id, header))
    }

    /// Returns the folder of the records of a run with a generated id, of any repository. The names of others are not unique.
    pub(crate) fn place_of(&self, id: &str) -> Option<Utf8PathBuf> {
        if !id.starts_with(GENERATED) {
            return None;
        }
        let place = self.home_of(id)?.join(RUNS).join(id);
        place.is_dir().then_some(place)
    }

    /// Returns the home of a run that was entered, where that home is gone: its repository was moved or removed.
    pub(crate) fn lost_home_of(&self, id: &str) -> Option<Utf8PathBuf> {
        self.home_of(id).filter(|home| id.starts_with(GENERATED) && !home.exists())
    }

    /// Returns the home of the only run of this name that was entered.
    fn home_of(&self, id: &str) -> Option<Utf8PathBuf> {
        let mut named = self.entries().filter(|(_, name)| name == id);
        let ((one, _), None) = (named.next()?, named.next()) else { return None };
        homes_in(&one).into_iter().next_back()
    }

    /// Returns the entries, each with the id of its run.
    fn entries(&self) -> impl Iterator<Item = (Utf8PathBuf, String)> {
        let folder = self.state_home.as_ref().map(|home| home.join(FOLDER));
        let named = folder.into_iter().flat_map(|folder| {
            let names = unread::names(&folder).unwrap_or_default().into_iter();
            names.filter(|entry| !entry.is_dir).map(move |entry| (folder.join(&entry.name), entry.name))
        });
        let is_digest = |text: &str| text.len() == DIGEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        named.filter_map(move |(path, name)| {
            let (id, _) = name.rsplit_once('-').filter(|(_, digest)| is_digest(digest))?;
            Some((path, id.to_owned()))
        })
    }

    fn path(&self, id: &str, header: &[u8]) -> Option<Utf8PathBuf> {
        let state_home = self.state_home.as_ref().filter(|_| is_session_id(id))?;
        Some(state_home.join(FOLDER).join(format!("{id}-{}", &sha256_hex(header)[..DIGEST])))
    }
}

/// Why a run does not speak for this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// They neither began it on this machine nor said yes to it.
    Unknown,
    /// It is a copy of a run of theirs, in this other home.
    CopyOf(Utf8PathBuf),
}

/// Whether what a journal says counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalStanding {
    /// It is missing or empty, so that it says nothing.
    Silent,
    /// This user began it here, or said yes to it.
    Ours,
    /// It came with the project.
    Foreign,
}

impl JournalStanding {
    pub(crate) fn is_ours(self) -> bool {
        self == Self::Ours
    }
}

impl Trusted {
    /// Returns the standing of a journal with this content: its first record says whose it is. One that was moved, copied or brought back from a
    /// backup is still that of this user, one that was put in its place is not.
    ///
    /// # Errors
    ///
    /// If the list of this user cannot be read.
    pub(super) fn standing(&self, content: &[u8]) -> Result<JournalStanding, StoreError> {
        Ok(match first_record(content) {
            FirstRecord::None => JournalStanding::Silent,
            FirstRecord::Is(record) if self.has_entry(record)? => JournalStanding::Ours,
            FirstRecord::Is(_) | FirstRecord::Unknown => JournalStanding::Foreign,
        })
    }

    /// Refuses where nothing can be entered.
    ///
    /// # Errors
    ///
    /// Without a state folder.
    pub(crate) const fn check_home(&self) -> Result<(), StoreError> {
        if self.state_home.is_some() { Ok(()) } else { Err(StoreError::NoHome) }
    }

    /// Enters a journal that has this content, or is about to get it.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written, or there is no state folder.
    pub(crate) fn enter_journal(&self, journal: &Utf8Path, content: &[u8]) -> Result<(), StoreError> {
        match first_record(content) {
            FirstRecord::Is(record) => self.enter_record(journal, record),
            FirstRecord::None | FirstRecord::Unknown => self.check_home(),
        }
    }

    fn enter_record(&self, journal: &Utf8Path, record: &[u8]) -> Result<(), StoreError> {
        let entry = self.journal_entry(record).ok_or(StoreError::NoHome)?;
        if entry.is_file() {
            return Ok(());
        }
        stage::create_private_dirs(entry.parent().unwrap_or(&entry))?;
        write_lines(&entry, &[journal.as_str()])
    }

    /// Takes a journal with this content out of the list.
    ///
    /// # Errors
    ///
    /// If the entry cannot be removed.
    pub(crate) fn forget_journal(&self, content: &[u8]) -> Result<(), StoreError> {
        let FirstRecord::Is(record) = first_record(content) else { return Ok(()) };
        self.journal_entry(record).map_or(Ok(()), |entry| forget(&entry))
    }

    /// Takes a run out of the list.
    ///
    /// # Errors
    ///
    /// If the entry cannot be removed.
    pub(crate) fn forget(&self, id: &str, header: &[u8]) -> Result<(), StoreError> {
        self.path(id, header).map_or(Ok(()), |entry| forget(&entry))
    }

    /// Tells whether the journal that begins with a record was entered.
    fn has_entry(&self, record: &[u8]) -> Result<bool, StoreError> {
        let Some(entry) = self.journal_entry(record) else { return Ok(false) };
        match entry.metadata() {
            Err(error) if problem_of(&error) == ReadProblem::Missing => Ok(false),
            found => found.map(|found| found.is_file()).map_err(|source| StoreError::io(&entry, source)),
        }
    }

    fn journal_entry(&self, record: &[u8]) -> Option<Utf8PathBuf> {
        Some(self.state_home.as_ref()?.join(JOURNALS).join(&sha256_hex(record)[..DIGEST]))
    }
}

/// The first record of a journal.
enum FirstRecord<'a> {
    /// It is missing, empty, or has nothing but what a write that was cut off left.
    None,
    Is(&'a [u8]),
    /// None is near its beginning.
    Unknown,
}

fn first_record(content: &[u8]) -> FirstRecord<'_> {
    let head = &content[..content.len().min(HEAD_LIMIT)];
    let is_record = |line: &&[u8]| serde_json::from_slice::<IgnoredAny>(line).is_ok();
    match head.split(|byte| *byte == b'\n').find(is_record) {
        Some(record) => FirstRecord::Is(record),
        None if content.len() < HEAD_LIMIT => FirstRecord::None,
        None => FirstRecord::Unknown,
    }
}

fn forget(entry: &Utf8Path) -> Result<(), StoreError> {
    match calls::remove_file(entry) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::io(entry, source)),
        Ok(()) | Err(_) => stage::sync_dirs(entry.parent().into_iter()),
    }
}

/// Writes a file of paths, in place: a write that is cut off leaves no second file, and a part of a path leads nowhere.
fn write_lines(path: &Utf8Path, lines: &[&str]) -> Result<(), StoreError> {
    let bytes = lines.join("\n").into_bytes();
    data_file::open(path, OpenMode::Overwrite, platform::DATA_FILE_MODE)
        .and_then(|mut file| {
            calls::write(&mut file, &bytes)?;
            calls::set_len(&file, bytes.len() as u64)?;
            calls::sync_all(&file)
        })
        .map_err(|source| StoreError::io(path, source))?;
    stage::sync_dirs(path.parent().into_iter())
}

/// Returns the homes that an entry names.
fn homes_in(entry: &Utf8Path) -> Vec<Utf8PathBuf> {
    let bytes = unread::data_file(entry, ENTRY_LIMIT).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    text.lines().map(Utf8Path::new).filter(|home| home.is_absolute()).map(resolve_links).collect()
}

/// Tells whether the records of this run are in a home.
fn has_run(home: &Utf8Path, id: &str, header: &[u8]) -> bool {
    unread::data_file(&home.join(RUNS).join(id).join(HEADER), HEADER_LIMIT).as_deref() == Some(header)
}

/// Tells whether a name is valid as a session id: no path, and no command line option.
pub(super) fn is_session_id(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.len() <= ID_LIMIT && !name.starts_with(['-', '.']) && name.chars().all(plain) && !is_journal_folder(name)
}

/// Resolves the symlinks in the existing part of a path, as git does for new worktrees.
pub(super) fn resolve_links(path: &Utf8Path) -> Utf8PathBuf {
    let resolved = path.ancestors().find_map(|there| Some((there, there.canonicalize_utf8().ok()?)));
    let below = resolved.and_then(|(there, real)| Some(real.join(path.strip_prefix(there).ok()?)));
    below.unwrap_or_else(|| path.to_owned())
}
