//! The index of the runs that this user began, in the user's state folder: a file for each, named `{id}-{digest of its header}`, with the home
//! of its records, and on further lines those of its copies that a person continued.
//!
//! A folder of runs can come with a copy of a project. A run that is not in the index was begun elsewhere: its commands are run only after a
//! person agreed. The index also leads to a run from any folder.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    model::{Edit, sha256_hex},
    store::fs::{calls, data_file, environment::Environment, error::StoreError, nofollow::OpenMode, platform, stage},
};

const FOLDER: &str = "index";
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

/// The index, in the state folder of this user.
#[derive(Clone, Debug)]
pub(crate) struct RunIndex {
    /// `None` without a home folder.
    state_home: Option<Utf8PathBuf>,
}

impl RunIndex {
    pub(crate) fn of(environment: &Environment) -> Self {
        Self { state_home: environment.state_home.as_deref().map(resolve_links) }
    }

    /// Enters a run; called before its first record is written. Without a state folder nothing is entered.
    ///
    /// # Errors
    ///
    /// If the entry cannot be written. A run without one is one that a person is asked about before its commands run.
    pub(crate) fn enter(&self, id: &str, header: &[u8], home: &Utf8Path) -> Result<(), StoreError> {
        let Some(path) = self.path(id, header) else { return Ok(()) };
        let Some(folder) = path.parent() else { return Ok(()) };
        stage::create_private_dirs(folder)?;
        let home = resolve_links(home);
        let known = homes_in(&path);
        let others = known.iter().filter(|known| **known != home && has_run(known, id, header));
        let lines: Vec<&str> = others.map(|known| known.as_str()).chain([home.as_str()]).collect();
        write_lines(&path, &lines)
    }

    /// [`RunIndex::enter`] for a run that these edits create.
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

    /// Tells whether this user began a run: its records are in the user's own state folder, or it was entered.
    pub(crate) fn knows(&self, id: &str, header: &[u8], home: &Utf8Path) -> bool {
        self.state_home.as_ref().is_some_and(|own| home.starts_with(own))
            || self.path(id, header).is_some_and(|path| path.is_file())
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

    /// Returns the folders of the records of all runs that were entered and are there, also of copies that a person continued.
    pub(crate) fn places(&self) -> BTreeSet<Utf8PathBuf> {
        let place = |(entry, id): (Utf8PathBuf, String)| {
            homes_in(&entry).into_iter().map(move |home| home.join(RUNS).join(&id)).filter(|place| place.is_dir())
        };
        self.entries().flat_map(place).collect()
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
            let names = platform::names(&folder).unwrap_or_default().into_iter();
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

/// Writes a file of paths, in place: a write that is cut off leaves no second file, and a part of a path leads nowhere.
pub(super) fn write_lines(path: &Utf8Path, lines: &[&str]) -> Result<(), StoreError> {
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
    let bytes = platform::read_data_file(entry.as_std_path(), ENTRY_LIMIT).ok().flatten().unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    text.lines().map(Utf8Path::new).filter(|home| home.is_absolute()).map(resolve_links).collect()
}

/// Tells whether the records of this run are in a home.
fn has_run(home: &Utf8Path, id: &str, header: &[u8]) -> bool {
    let path = home.join(RUNS).join(id).join(HEADER);
    platform::read_data_file(path.as_std_path(), HEADER_LIMIT).is_ok_and(|bytes| bytes.as_deref() == Some(header))
}

/// Tells whether a name is valid as a session id: no path, and no command line option.
pub(super) fn is_session_id(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.len() <= ID_LIMIT && !name.starts_with(['-', '.']) && name.chars().all(plain)
}

/// Resolves the symlinks in the existing part of a path, as git does for new worktrees.
pub(super) fn resolve_links(path: &Utf8Path) -> Utf8PathBuf {
    let resolved = path.ancestors().find_map(|there| Some((there, there.canonicalize_utf8().ok()?)));
    let below = resolved.and_then(|(there, real)| Some(real.join(path.strip_prefix(there).ok()?)));
    below.unwrap_or_else(|| path.to_owned())
}
