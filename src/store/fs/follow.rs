//! What a live view looks at again and again: whether files were changed, and the end of a log.

use std::{
    fs,
    io::{Read as _, Seek as _, SeekFrom},
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{clock::from_system, path::Root};
use crate::model::{RelPath, Timestamp};

/// Bytes at the end of a log that are read.
const TAIL: u64 = 64 << 10;

/// Size and time of a file; `None` if it is not there.
pub(crate) type Stamp = Option<(u64, Option<Timestamp>)>;

/// Returns a stamp of each file or folder, which changes when it is written.
pub(crate) fn stamps(paths: &[Utf8PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &Utf8PathBuf| {
        let found = fs::symlink_metadata(path).ok()?;
        Some((found.len(), found.modified().ok().and_then(from_system)))
    };
    paths.iter().map(stamp).collect()
}

/// Returns the last lines of a text file below a root, oldest first; nothing if it cannot be read.
pub(crate) fn last_lines(root: &Utf8Path, path: &RelPath, count: usize) -> Vec<String> {
    let Some((mut file, found)) = Root::open(root).ok().and_then(|root| root.open_file(path).ok()) else {
        return Vec::new();
    };
    let from = found.len().saturating_sub(TAIL);
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(from)).and_then(|_| file.take(TAIL).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    // The first line may have lost its beginning.
    let mut lines: Vec<&str> =
        text.lines().skip(usize::from(from > 0)).filter(|line| !line.trim().is_empty()).collect();
    lines.split_off(lines.len().saturating_sub(count)).into_iter().map(str::to_owned).collect()
}

/// Bytes of a log that are read at once.
const PIECE: u64 = 4 << 20;

/// Returns up to 4 MiB of a file below a root, from a position on; nothing if it cannot be read.
pub(crate) fn read_from(root: &Utf8Path, path: &RelPath, from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let opened = Root::open(root).ok().and_then(|root| root.open_file(path).ok());
    if let Some((mut file, _)) = opened
        && file.seek(SeekFrom::Start(from)).and_then(|_| file.take(PIECE).read_to_end(&mut bytes)).is_err()
    {
        bytes.clear();
    }
    bytes
}

/// Returns the files in a folder below a root whose name has an ending, in the order of their names.
pub(crate) fn files_with(root: &Utf8Path, folder: &RelPath, ending: &str) -> Vec<RelPath> {
    names_with(&folder.under(root), ending).iter().filter_map(|name| folder.join(name).ok()).collect()
}

/// Returns the names of the files in a folder that have an ending, in their order.
pub(crate) fn names_with(folder: &Utf8Path, ending: &str) -> Vec<String> {
    let Ok(entries) = folder.read_dir_utf8() else { return Vec::new() };
    let is_file = |entry: &camino::Utf8DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let entries = entries.filter_map(Result::ok).filter(|entry| entry.file_name().ends_with(ending) && is_file(entry));
    let mut found: Vec<String> = entries.map(|entry| entry.file_name().to_owned()).collect();
    found.sort_unstable();
    found
}

/// Measures how long something takes.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
