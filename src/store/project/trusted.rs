//! The list of what may speak for this user: what they made on this machine, and what they said yes to. It is in the user's state folder,
//! never in a project.
//!
//! A run of a workflow file has an entry there, named `{id}-{digest of its header}`, every other one that is named after the first record of its
//! journal. An entry has a line for each home that the run counts in: device and inode, then the path. A project that is moved is still this
//! user's by the first, one that is brought back in place, or whose disk has another number, by the second; a copy is neither, and asks. What
//! has no entry came with a project.

use std::{fmt, io};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::IgnoredAny;

use crate::{
    model::{Edit, is_journal_folder, sha256_hex},
    store::fs::{
        calls, data_file,
        environment::Environment,
        error::StoreError,
        nofollow::OpenMode,
        platform, stage,
        unread::{self, there},
    },
};

const FOLDER: &str = "index";
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

/// A home that a run counts in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListedHome {
    /// Device and inode; empty where the system has none, or the home is gone.
    identity: String,
    path: Utf8PathBuf,
}

impl ListedHome {
    fn at(home: &Utf8Path) -> Self {
        let path = home.to_owned();
        let identity = there(home, home.metadata()).map_or_else(String::new, |found| platform::identity(&found));
        Self { identity, path }
    }

    fn parse(line: &str) -> Option<Self> {
        let (identity, path) = line.split_once(' ')?;
        let path = Utf8PathBuf::from(path);
        path.is_absolute().then(|| Self { identity: identity.to_owned(), path })
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || self.was_moved_to(other)
    }

    fn was_moved_to(&self, other: &Self) -> bool {
        !self.identity.is_empty() && self.identity == other.identity && self.path != other.path
    }
}

impl fmt::Display for ListedHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.identity, self.path)
    }
}

/// Returns the homes that an entry has, the one that was entered last at the end; none if it is missing.
fn homes_in(entry: &Utf8Path) -> Result<Vec<ListedHome>, StoreError> {
    let bytes = platform::read_data_file(entry.as_std_path(), ENTRY_LIMIT);
    let bytes = bytes.map_err(|source| StoreError::io(entry, source))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(ListedHome::parse).collect())
}

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

    /// Refuses where nothing can be entered.
    ///
    /// # Errors
    ///
    /// Without a state folder.
    pub(crate) const fn check_home(&self) -> Result<(), StoreError> {
        if self.state_home.is_some() { Ok(()) } else { Err(StoreError::NoHome) }
    }

    /// Makes the folder of the entries, before anything is made that would be entered.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or there is no state folder.
    pub(crate) fn prepare(&self) -> Result<(), StoreError> {
        let folder = self.state_home.as_ref().ok_or(StoreError::NoHome)?.join(FOLDER);
        stage::create_private_dirs(&folder)
    }

    /// Enters a run; called before its first record is written.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written, or there is no state folder: the run would not be told from one that came with a project.
    pub(crate) fn enter(&self, id: &str, header: &[u8], home: &Utf8Path) -> Result<(), StoreError> {
        enter(&self.run_entry(id, header).ok_or(StoreError::NoHome)?, home)
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

    /// Enters a journal in a home that has this content, or is about to get it.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written, or there is no state folder.
    pub(crate) fn enter_journal(&self, home: &Utf8Path, content: &[u8]) -> Result<(), StoreError> {
        match first_record(content) {
            FirstRecord::Is(record) => enter(&self.journal_entry(record).ok_or(StoreError::NoHome)?, home),
            FirstRecord::None | FirstRecord::Unknown => self.check_home(),
        }
    }

    /// Takes a run in a home out of the list.
    ///
    /// # Errors
    ///
    /// If the entry cannot be changed.
    pub(crate) fn forget(&self, id: &str, header: &[u8], home: &Utf8Path) -> Result<(), StoreError> {
        self.run_entry(id, header).map_or(Ok(()), |entry| forget(&entry, home))
    }

    /// Takes a journal with this content in a home out of the list.
    ///
    /// # Errors
    ///
    /// If the entry cannot be changed.
    pub(crate) fn forget_journal(&self, home: &Utf8Path, content: &[u8]) -> Result<(), StoreError> {
        let FirstRecord::Is(record) = first_record(content) else { return Ok(()) };
        self.journal_entry(record).map_or(Ok(()), |entry| forget(&entry, home))
    }

    /// Corrects the entry of a run that was moved with its project. Called by what writes the run. Returns the home that it had.
    ///
    /// # Errors
    ///
    /// If the entry cannot be read or written.
    pub(crate) fn follow(&self, id: &str, header: &[u8], home: &Utf8Path) -> Result<Option<Utf8PathBuf>, StoreError> {
        let Some(entry) = self.run_entry(id, header) else { return Ok(None) };
        let here = ListedHome::at(home);
        let Some(old) = homes_in(&entry)?.into_iter().find(|listed| listed.was_moved_to(&here)) else {
            return Ok(None);
        };
        enter(&entry, home)?;
        Ok(Some(old.path))
    }

    /// Returns why a run does not speak for this user; `None` for one that they began, or said yes to.
    pub(crate) fn stranger(&self, id: &str, header: &[u8], home: &Utf8Path) -> Option<Stranger> {
        let entry = self.run_entry(id, header);
        let mut homes = entry.and_then(|entry| unread::known(&entry, homes_in(&entry))).unwrap_or_default();
        let here = ListedHome::at(home);
        match homes.iter().any(|listed| listed.is(&here)) {
            true => None,
            false => Some(homes.pop().map_or(Stranger::Unknown, |last| Stranger::CopyOf(last.path))),
        }
    }

    /// Tells whether this user began a run, or said yes to it.
    pub(crate) fn knows(&self, id: &str, header: &[u8]) -> bool {
        self.run_entry(id, header).is_some_and(|entry| unread::exists(&entry))
    }

    /// Returns the standing of a journal with this content in a home: its first record says whose it is.
    ///
    /// # Errors
    ///
    /// If the list of this user cannot be read.
    pub(super) fn standing(&self, home: &Utf8Path, content: &[u8]) -> Result<JournalStanding, StoreError> {
        let record = match first_record(content) {
            FirstRecord::None => return Ok(JournalStanding::Silent),
            FirstRecord::Is(record) => record,
            FirstRecord::Unknown => return Ok(JournalStanding::Foreign),
        };
        let homes = self.journal_entry(record).map_or(Ok(Vec::new()), |entry| homes_in(&entry))?;
        // Most have no entry: they came with the project.
        let is_ours = !homes.is_empty() && {
            let here = ListedHome::at(home);
            homes.iter().any(|listed| listed.is(&here))
        };
        Ok(if is_ours { JournalStanding::Ours } else { JournalStanding::Foreign })
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
        unread::known(&one, homes_in(&one))?.pop().map(|last| last.path)
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

    fn run_entry(&self, id: &str, header: &[u8]) -> Option<Utf8PathBuf> {
        is_session_id(id).then(|| self.entry(&format!("{id}-"), header))?
    }

    fn journal_entry(&self, record: &[u8]) -> Option<Utf8PathBuf> {
        self.entry("", record)
    }

    fn entry(&self, name: &str, content: &[u8]) -> Option<Utf8PathBuf> {
        let folder = self.state_home.as_ref()?.join(FOLDER);
        Some(folder.join(format!("{name}{}", &sha256_hex(content)[..DIGEST])))
    }
}

/// Why a run does not speak for this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// They neither began it on this machine nor said yes to it.
    Unknown,
    /// It is in another folder than the one that counts, whose home this is.
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

/// Adds a home to an entry. The home is made, if it is missing: without it, it has no identity.
fn enter(entry: &Utf8Path, home: &Utf8Path) -> Result<(), StoreError> {
    stage::create_private_dirs(entry.parent().unwrap_or(entry))?;
    let home = resolve_links(home);
    stage::create_private_dirs(&home)?;
    let (mut homes, here) = (homes_in(entry)?, ListedHome::at(&home));
    homes.retain(|listed| !listed.is(&here));
    homes.push(here);
    write(entry, &homes)
}

/// Removes a home from an entry.
fn forget(entry: &Utf8Path, home: &Utf8Path) -> Result<(), StoreError> {
    let (mut homes, here) = (homes_in(entry)?, ListedHome::at(home));
    let before = homes.len();
    homes.retain(|listed| !listed.is(&here));
    if homes.len() == before {
        return Ok(());
    }
    if !homes.is_empty() {
        return write(entry, &homes);
    }
    match calls::remove_file(entry) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::io(entry, source)),
        Ok(()) | Err(_) => stage::sync_dirs(entry.parent().into_iter()),
    }
}

/// Writes an entry, in place: a write that is cut off leaves no second file, and a part of a path leads nowhere.
fn write(entry: &Utf8Path, homes: &[ListedHome]) -> Result<(), StoreError> {
    let bytes: String = homes.iter().map(ListedHome::to_string).collect();
    data_file::open(entry, OpenMode::Overwrite, platform::DATA_FILE_MODE)
        .and_then(|mut file| {
            calls::write(&mut file, bytes.as_bytes())?;
            calls::set_len(&file, bytes.len() as u64)?;
            calls::sync_all(&file)
        })
        .map_err(|source| StoreError::io(entry, source))?;
    stage::sync_dirs(entry.parent().into_iter())
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
