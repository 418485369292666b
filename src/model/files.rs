//! Files as values: listings, contents, edits. `store` does the reading and writing.

use std::{collections::BTreeMap, fmt, sync::Arc};

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Clock, Config, DialectId, Finding, Local, Timestamp};

const LENGTH_LIMIT: usize = 4096;

/// A path below a root: relative, separated by `/`, without `..` and control characters. No other path is opened for a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct RelPath(Arc<str>);

/// Why a text is not accepted as a path.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum RelPathError {
    #[error("the path is empty")]
    Empty,
    #[error("`{0}` is absolute; a path below the project is needed")]
    Absolute(String),
    #[error("`{0}` leaves its folder with `..`")]
    Parent(String),
    #[error("the path has a NUL, a line end or another control character in it")]
    Control,
    #[error("the path is longer than 4096 bytes")]
    TooLong,
}

impl RelPath {
    /// Checks and normalises a path: backslashes and absolute paths are rejected, `.` and doubled slashes are removed.
    pub(crate) fn parse(text: &str) -> Result<Self, RelPathError> {
        let shown = || text.chars().filter(|c| !c.is_control()).take(80).collect::<String>();
        if text.len() > LENGTH_LIMIT {
            return Err(RelPathError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(RelPathError::Control);
        }
        if text.starts_with(['/', '\\', '~']) || text.as_bytes().get(1) == Some(&b':') {
            return Err(RelPathError::Absolute(shown()));
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(RelPathError::Parent(shown())),
                _ if part.contains('\\') => return Err(RelPathError::Parent(shown())),
                _ => parts.push(part),
            }
        }
        let path = parts.join("/");
        match path.as_bytes() {
            [] => Err(RelPathError::Empty),
            // `./C:/x` is as absolute as `C:/x`.
            [b'~', ..] | [_, b':', ..] => Err(RelPathError::Absolute(shown())),
            _ => Ok(Self(path.into())),
        }
    }

    /// Returns a path relative to `root`; `None` if it is not below it, or cannot be written as such a path.
    pub(crate) fn below(path: &Utf8Path, root: &Utf8Path) -> Option<Self> {
        Self::parse(path.strip_prefix(root).ok()?.as_str()).ok()
    }

    /// Appends a path after checking it.
    pub(crate) fn join(&self, tail: &str) -> Result<Self, RelPathError> {
        Ok(Self(format!("{self}/{}", Self::parse(tail)?).into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last part.
    pub(crate) fn name(&self) -> &str {
        name_of(&self.0)
    }

    /// Returns the parent folder; `None` at the top.
    pub(crate) fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(folder, _)| Self(folder.into()))
    }

    /// Returns the absolute path below `root`.
    pub(crate) fn under(&self, root: &Utf8Path) -> Utf8PathBuf {
        root.join(self.as_str())
    }

    pub(crate) fn starts_with(&self, folder: &Self) -> bool {
        self.0 == folder.0 || self.0.strip_prefix(&*folder.0).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Returns the last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RelPath {
    type Error = RelPathError;

    fn try_from(text: String) -> Result<Self, RelPathError> {
        Self::parse(&text)
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> Self {
        path.as_str().to_owned()
    }
}

/// A file or folder that discovery found.
#[derive(Clone, Debug)]
pub(crate) struct ListingEntry {
    pub(crate) path: RelPath,
    pub(crate) is_dir: bool,
    /// The content of a small file whose name a dialect asked for (`Dialect::marks`), else `None`.
    pub(crate) content: Option<Arc<[u8]>>,
}

/// A folder that discovery did not look into completely.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CutOff {
    /// `None` for the root.
    pub(crate) folder: Option<RelPath>,
    /// How many levels were looked at.
    pub(crate) levels: usize,
}

/// The files and folders that discovery found below one root, in path order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    /// Absolute.
    pub(crate) root: Utf8PathBuf,
    pub(crate) entries: Vec<ListingEntry>,
    /// Folders, and files that a dialect asked for, that could not be looked into.
    pub(crate) unread: Vec<Unread>,
    /// What was left out because there is too much of it.
    pub(crate) cut_off: Vec<CutOff>,
    /// States that journals of the project recorded last, and that are gone.
    pub(crate) lost: Vec<LostState>,
    pub(crate) config: Arc<Config>,
    /// The branch that is checked out; `None` with a detached HEAD.
    pub(crate) branch: Option<String>,
    /// The file or folder that the caller named, if only what is around it was listed.
    pub(crate) named: Option<RelPath>,
}

/// The folder of what Piton keeps of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunFolder {
    /// The home of the runs of a project; absolute.
    pub(crate) home: Utf8PathBuf,
    /// The folder in it.
    pub(crate) path: RelPath,
}

impl RunFolder {
    /// Returns its absolute path.
    pub(crate) fn absolute(&self) -> Utf8PathBuf {
        self.path.under(&self.home)
    }
}

/// The content of a state that is gone.
#[derive(Clone, Debug)]
pub(crate) struct LostContent {
    pub(crate) bytes: Arc<[u8]>,
    /// Whether the folder that it was in is there.
    pub(crate) has_folder: bool,
}

/// A state that is gone, as its journal recorded it last.
#[derive(Clone, Debug)]
pub(crate) struct LostState {
    pub(crate) path: RelPath,
    pub(crate) content: Arc<[u8]>,
}

#[cfg(test)]
impl Listing {
    /// Tells whether a file or folder was found at `path`.
    pub(crate) fn contains(&self, path: &str) -> bool {
        self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_ok()
    }
}

/// A request to read files of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadSpec {
    /// One file. If it does not exist, the set does not contain it.
    File(RelPath),
    /// All files directly in a folder whose names have this suffix, with their content.
    Contents { dir: RelPath, suffix: &'static str },
    /// All files one level below the folder's subfolders: those with this suffix with their content, the others by name only.
    Tree { dir: RelPath, suffix: &'static str },
    /// The names of the files directly in a folder, without content.
    Names { dir: RelPath },
    /// One file below another root, which the set contains as `shown`. It is read, never written.
    Elsewhere { root: Utf8PathBuf, file: RelPath, shown: RelPath },
}

/// A possible run of one dialect.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) dialect: DialectId,
    /// The subject of the run, for display and for matching a name on the command line.
    pub(crate) name: String,
    /// The state file, or the folder that holds the state.
    pub(crate) state: RelPath,
    pub(crate) reads: Vec<ReadSpec>,
    /// `None` if its system does not rank runs.
    pub(crate) rank: Option<Rank>,
    pub(crate) claim: Claim,
    /// Whether a run elsewhere in the project may replace it, which only a scan of the whole project can tell.
    pub(crate) may_be_replaced: bool,
    /// Whether its state tells its name; else the name is that of a file or folder.
    pub(crate) is_named: bool,
    /// Findings of discovery that its own files do not show.
    pub(crate) findings: Vec<Finding>,
}

impl Candidate {
    /// Returns a candidate with a saved state, without rank and findings, that no other run replaces.
    pub(crate) fn new(dialect: DialectId, name: String, state: RelPath, reads: Vec<ReadSpec>) -> Self {
        Self {
            dialect,
            name,
            state,
            reads,
            rank: None,
            claim: Claim::Stated,
            may_be_replaced: false,
            is_named: true,
            findings: Vec::new(),
        }
    }
}

/// What a candidate is based on, for choosing a run that the caller did not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Claim {
    /// A saved state. If there are several, a person chooses.
    #[default]
    Stated,
    /// A saved state of a system whose autopilot takes the one updated last, and on a tie the lowest priority.
    StatedAmong { priority: u8 },
    /// A plan of another system that Piton only reads. Never chosen, listed or mentioned before a run of any other kind.
    Guest,
    /// Signs of work without a saved state. Never chosen automatically if there is a saved state.
    Implied { priority: u8 },
}

impl Claim {
    pub(crate) const fn is_implied(self) -> bool {
        matches!(self, Self::Implied { .. })
    }

    pub(crate) const fn is_guest(self) -> bool {
        matches!(self, Self::Guest)
    }

    /// Returns the priority, if autopilot may choose by time.
    pub(crate) const fn priority(self) -> Option<u8> {
        match self {
            Self::Stated | Self::Guest => None,
            Self::StatedAmong { priority } | Self::Implied { priority } => Some(priority),
        }
    }
}

/// How a system itself chooses between runs if none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    /// The folder whose runs are compared with each other.
    pub(crate) home: RelPath,
    /// The lowest comes first. A person chooses between runs of the same rank.
    pub(crate) order: u8,
}

impl Rank {
    /// Tells whether this run is preferred to the other.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        self.home == other.home && self.order < other.order
    }
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadProblem {
    Missing,
    Permission,
    Directory,
    /// A device, a pipe, a socket.
    NotRegular,
    /// A link whose target is outside the root.
    LinkLeavesRoot,
    /// A link to a folder, where runs are looked for.
    FolderLink,
    TooLarge {
        bytes: u64,
        limit: u64,
    },
    Other(String),
}

impl fmt::Display for ReadProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the file does not exist"),
            Self::Permission => f.write_str("permission denied"),
            Self::Directory => f.write_str("there is a folder where a file should be"),
            Self::NotRegular => f.write_str("it is a device, a pipe or a socket, not a file"),
            Self::LinkLeavesRoot => f.write_str("it is a link that leaves the project"),
            Self::FolderLink => f.write_str("it is a link, and links to folders are not followed"),
            Self::TooLarge { bytes, limit } => write!(f, "it has {bytes} bytes, more than the {limit} that are read"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A path that could not be looked at, and why. One that does not exist was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Absolute.
    pub(crate) path: Utf8PathBuf,
    pub(crate) problem: ReadProblem,
}

/// The content of a file, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Bytes(Arc<[u8]>),
    /// Only the name was requested.
    NameOnly,
    Problem(ReadProblem),
}

/// A file of a set.
#[derive(Clone, Debug)]
pub(crate) struct FileEntry {
    pub(crate) content: Content,
    pub(crate) modified: Option<Timestamp>,
}

impl FileEntry {
    pub(crate) const fn new(content: Content, modified: Option<Timestamp>) -> Self {
        Self { content, modified }
    }
}

/// A linked worktree, as git records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkedWorktree {
    /// Absolute.
    pub(crate) folder: Utf8PathBuf,
    /// Relative to the root; `None` outside of it.
    pub(crate) path: Option<RelPath>,
    /// `None` with a detached HEAD.
    pub(crate) branch: Option<String>,
}

/// The journal of a run of another system, which need not be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalFile {
    /// The home of the runs, absolute.
    pub(crate) home: Utf8PathBuf,
    /// The place in it.
    pub(crate) path: RelPath,
    pub(crate) content: Content,
}

impl JournalFile {
    /// Returns the folder that it is in.
    pub(crate) fn folder(&self) -> RunFolder {
        RunFolder { home: self.home.clone(), path: self.path.parent().unwrap_or_else(|| self.path.clone()) }
    }

    /// Returns its absolute path.
    pub(crate) fn file(&self) -> Utf8PathBuf {
        self.path.under(&self.home)
    }

    /// Returns why it cannot be read; `None` also for one that was not begun.
    pub(crate) fn problem(&self) -> Option<&ReadProblem> {
        match &self.content {
            Content::Problem(problem) if *problem != ReadProblem::Missing => Some(problem),
            Content::Bytes(_) | Content::NameOnly | Content::Problem(_) => None,
        }
    }

    /// Returns its content; nothing of one that was not begun or cannot be read.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Bytes(bytes) => bytes,
            Content::NameOnly | Content::Problem(_) => &[],
        }
    }
}

/// Everything a dialect may know about a run: bytes, names and the environment, all read by `store`.
#[derive(Clone, Debug)]
pub(crate) struct FileSet {
    /// Absolute. For display and contexts, never for opening files.
    pub(crate) root: Utf8PathBuf,
    pub(crate) name: String,
    pub(crate) state: RelPath,
    pub(crate) own: RunFolder,
    pub(crate) files: BTreeMap<RelPath, FileEntry>,
    /// The journal of a run of another system.
    pub(crate) journal: Option<JournalFile>,
    /// What holds of the run on this machine only.
    pub(crate) local: Local,
    /// The state as its journal recorded it last, where the file is gone.
    pub(crate) lost: Option<LostContent>,
    /// The other worktrees of the repository, linked ones.
    pub(crate) worktrees: Vec<LinkedWorktree>,
    /// The root of the main worktree, if `root` is a linked one.
    pub(crate) main_root: Option<Utf8PathBuf>,
    pub(crate) clock: Clock,
    pub(crate) config: Arc<Config>,
}

impl FileSet {
    /// Returns the bytes of a file that could be read.
    pub(crate) fn bytes(&self, path: &RelPath) -> Option<&[u8]> {
        match &self.files.get(path)?.content {
            Content::Bytes(bytes) => Some(bytes),
            Content::NameOnly | Content::Problem(_) => None,
        }
    }

    /// Returns why a file could not be read; `Missing` if it is not in the set.
    pub(crate) fn problem(&self, path: &RelPath) -> Option<ReadProblem> {
        match self.files.get(path).map(|entry| &entry.content) {
            None => Some(ReadProblem::Missing),
            Some(Content::Problem(problem)) => Some(problem.clone()),
            Some(Content::Bytes(_) | Content::NameOnly) => None,
        }
    }

    /// Returns the files directly in `dir`, in name order.
    pub(crate) fn in_dir<'a>(&'a self, dir: &RelPath) -> impl Iterator<Item = (&'a RelPath, &'a FileEntry)> {
        let first = RelPath(format!("{dir}/").into());
        let above = first.0.clone();
        let entries = self.files.range(first..);
        let names = entries.map_while(move |(path, entry)| Some((path, entry, path.0.strip_prefix(&*above)?)));
        names.filter(|(_, _, name)| !name.contains('/')).map(|(path, entry, _)| (path, entry))
    }

    /// Parses a time stamp; one without a zone is taken as local time of this machine.
    pub(crate) fn time(&self, text: &str) -> Option<Timestamp> {
        self.clock.read(text)
    }
}

/// The byte-level result of a change on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) path: RelPath,
    pub(crate) kind: EditKind,
}

/// What happens to the file, and the precondition for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditKind {
    /// Refused if the file exists.
    Create { after: Vec<u8> },
    /// Refused unless the file still has the bytes that the edit was computed from.
    Replace { before: Arc<[u8]>, after: Vec<u8> },
    /// Refused unless the file still has these bytes.
    Remove { before: Arc<[u8]> },
    /// Appends to a file that only grows. Refused unless it still has this length. It is the only edit of its commit.
    Append { before_len: u64, bytes: Vec<u8> },
}

impl Edit {
    /// Returns the new content of the file; `None` if it is removed or appended to.
    pub(crate) fn after(&self) -> Option<&[u8]> {
        match &self.kind {
            EditKind::Create { after } | EditKind::Replace { after, .. } => Some(after),
            EditKind::Remove { .. } | EditKind::Append { .. } => None,
        }
    }

    /// Tells whether the edit changes any bytes.
    pub(crate) fn changes_something(&self) -> bool {
        !matches!(&self.kind, EditKind::Replace { before, after } if before[..] == after[..])
    }
}

#[cfg(test)]
mod tests {
    use super::{RelPath, RelPathError};

    #[test]
    fn paths_are_split_and_joined() {
        for (text, name, parent) in [("a", "a", None), ("a/b.c", "b.c", Some("a")), ("é/b-1/ü", "ü", Some("é/b-1"))]
        {
            let path = RelPath::parse(text).unwrap();
            assert_eq!((path.name(), path.parent().as_ref().map(RelPath::as_str)), (name, parent), "{text}");
        }
        let path = RelPath::parse("a/b").unwrap();
        for (tail, joined) in [("c", "a/b/c"), ("c/d", "a/b/c/d"), ("./c//d", "a/b/c/d"), ("é", "a/b/é")] {
            assert_eq!(path.join(tail).unwrap().as_str(), joined);
        }
        for tail in ["..", "c/../..", "/c", "", "."] {
            assert!(path.join(tail).is_err(), "{tail}");
        }
    }

    #[test]
    fn paths_order_as_their_bytes_do() {
        let order = ["a", "a-b", "a.b", "a/b", "folder/a", "folder/a1", "folder/é", "folder1", "folder1/longer", "x"];
        for (at, left) in order.iter().enumerate() {
            for (other, right) in order.iter().enumerate() {
                let [left, right] = [left, right].map(|text| RelPath::parse(text).unwrap());
                assert_eq!(left.cmp(&right), at.cmp(&other), "{left} {right}");
            }
        }
    }

    #[test]
    fn paths_stay_below_their_root() {
        assert_eq!(RelPath::parse("./a//b/./c.json").unwrap().as_str(), "a/b/c.json");
        for text in ["../x", "a/../../x", "a/..", "..", "a\\..\\b"] {
            assert!(matches!(RelPath::parse(text), Err(RelPathError::Parent(_))), "{text}");
        }
        for text in ["/etc/passwd", "\\\\host\\x", "~/x", "C:/x", "C:\\x", "./C:/x", ".//~/x"] {
            assert!(matches!(RelPath::parse(text), Err(RelPathError::Absolute(_))), "{text}");
        }
        assert_eq!(RelPath::parse("a\0b"), Err(RelPathError::Control));
        assert_eq!(RelPath::parse("a\nb"), Err(RelPathError::Control));
        assert_eq!(RelPath::parse(""), Err(RelPathError::Empty));
        assert_eq!(RelPath::parse(&"x".repeat(5000)), Err(RelPathError::TooLong));
        for text in ["a", "...", "a/...", ".x/..y", "a~b", "ab:c", "ä/b", "a b"] {
            assert_eq!(RelPath::parse(text).map(String::from).as_deref(), Ok(text));
        }
        for (text, normal) in [("a/", "a"), ("a//b", "a/b"), ("a/.", "a"), ("./a", "a")] {
            assert_eq!(RelPath::parse(text).map(String::from).as_deref(), Ok(normal), "{text}");
        }
        for text in [".", "./", "/", "a/..", "a/../b", "..", "a\u{7f}", "a\u{85}"] {
            assert!(RelPath::parse(text).is_err(), "{text:?}");
        }
    }
}
