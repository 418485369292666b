//! Append-only files with one JSON value per line. Readers skip a truncated line; the next writer terminates it.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
};

use camino::Utf8Path;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    model::{ReadProblem, RelPath},
    store::fs::{
        data_file,
        error::StoreError,
        nofollow::{self, OpenMode},
        path::Root,
        platform, stage,
        unread::{note, there},
    },
};

/// Bytes of a log that is read.
const READ_LIMIT: u64 = 64 << 20;

/// Appends a block of text to a log for people, created if missing, and returns when it is durable.
///
/// # Errors
///
/// If the path leaves the root, or the file cannot be written.
pub(crate) fn append_block(root: &Utf8Path, path: &RelPath, block: &str) -> Result<(), StoreError> {
    let path = Root::open(root)?.target(path)?;
    try_append_block(&path, block).map_err(|source| StoreError::io(&path, source))?;
    stage::sync_dirs(path.parent().into_iter())
}

fn try_append_block(path: &Utf8Path, block: &str) -> io::Result<()> {
    let mut file = data_file::open(path, OpenMode::Log, platform::PROJECT_FILE_MODE)?;
    let size = file.metadata()?.len();
    let gap = match size {
        0 => "",
        _ if ends_a_line(&mut file, size)? => "\n",
        _ => "\n\n",
    };
    file.write_all(format!("{gap}{block}").as_bytes())?;
    platform::flushed(file.sync_data())
}

/// Appends lines with one write. Before the file exceeds `limit` bytes it is renamed over the previous file.
pub(in crate::store) fn append<T: Serialize>(
    data_path: &Utf8Path,
    name: &str,
    lines: &[T],
    limit: u64,
) -> Result<(), StoreError> {
    let path = data_path.join(name);
    try_append(&path, lines, limit).map_err(|source| StoreError::io(&path, source))
}

fn try_append<T: Serialize>(path: &Utf8Path, lines: &[T], limit: u64) -> io::Result<()> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    let mut file = open(path)?;
    let size = file.metadata()?.len();
    if size > 0 && size + bytes.len() as u64 > limit {
        nofollow::rename(path, previous(path))?;
        file = open(path)?;
    } else if size > 0 && !ends_a_line(&mut file, size)? {
        bytes.insert(0, b'\n');
    }
    file.write_all(&bytes)
}

fn open(path: &Utf8Path) -> io::Result<File> {
    data_file::open(path, OpenMode::Log, platform::DATA_FILE_MODE)
}

fn ends_a_line(file: &mut File, size: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(size - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn previous(path: &Utf8Path) -> camino::Utf8PathBuf {
    path.with_extension("previous.jsonl")
}

/// Reads all lines that parse, oldest first, of a file and of the one that it was rotated to.
pub(in crate::store) fn read<T: DeserializeOwned>(data_path: &Utf8Path, name: &str) -> Vec<T> {
    let path = data_path.join(name);
    let mut lines = read_kept(&previous(&path));
    lines.append(&mut read_kept(&path));
    lines
}

/// Reads all lines of one file that parse, oldest first; beyond the limit its end.
fn read_kept<T: DeserializeOwned>(path: &Utf8Path) -> Vec<T> {
    let found = there(path, platform::read_data_tail(path.as_std_path(), READ_LIMIT)).flatten();
    let Some((mut bytes, size)) = found else { return Vec::new() };
    if size > READ_LIMIT {
        note(path, ReadProblem::TooLarge { bytes: size, limit: READ_LIMIT });
        let end_of_first = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        bytes.drain(..end_of_first);
    }
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<T>(line).ok()).collect()
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
