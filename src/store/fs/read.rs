//! Reads single files, within bounds. Problems of a file become values.

use std::{fs, io::Read as _};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    clock,
    error::StoreError,
    path::{Root, bounded, problem_of},
    surroundings,
};
use crate::model::{Content, FileEntry, ReadProblem, RelPath};

/// Bytes of one file.
pub(in crate::store) const FILE_LIMIT: u64 = 64 << 20;
/// Bytes of text input.
const INPUT_LIMIT: u64 = 16 << 20;

/// Reads one file below a root.
pub(crate) fn read_file(root: &Utf8Path, path: &RelPath) -> Content {
    read_one(root, path).content
}

/// Reads one file below a root.
///
/// # Errors
///
/// Why it cannot be read, after its name.
pub(crate) fn read_bytes(root: &Utf8Path, path: &RelPath) -> Result<Vec<u8>, String> {
    match read_file(root, path) {
        Content::Bytes(bytes) => Ok(bytes.to_vec()),
        Content::Problem(problem) => Err(format!("cannot be read: {problem}")),
        Content::NameOnly => Err("cannot be read".to_owned()),
    }
}

/// Reads one file below a root, with its modification time.
pub(crate) fn read_one(root: &Utf8Path, path: &RelPath) -> FileEntry {
    match Root::open(root) {
        Ok(root) => read_entry(&root, path, FILE_LIMIT),
        Err(error) => FileEntry::new(Content::Problem(ReadProblem::Other(error.to_string())), None),
    }
}

/// Reads text input: a file, or the standard input for `-`.
///
/// # Errors
///
/// If it cannot be read, is larger than 16 MiB, or is not UTF-8.
pub(crate) fn text_input(path: &str) -> Result<String, StoreError> {
    let shown = Utf8PathBuf::from(if path == "-" { "the standard input" } else { path });
    let mut bytes = Vec::new();
    let read = if path == "-" {
        surroundings::read_input(|input| input.take(INPUT_LIMIT + 1).read_to_end(&mut bytes))
    } else {
        fs::File::open(surroundings::folder().join(path))
            .and_then(|file| file.take(INPUT_LIMIT + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| StoreError::Unreadable { path: shown.clone(), problem: problem_of(&error) })?;
    if bytes.len() as u64 > INPUT_LIMIT {
        let problem = ReadProblem::TooLarge { bytes: bytes.len() as u64, limit: INPUT_LIMIT };
        return Err(StoreError::Unreadable { path: shown, problem });
    }
    String::from_utf8(bytes).map_err(|_| StoreError::NotText { path: shown })
}

/// Reads one file of at most `limit` bytes, with its modification time.
pub(in crate::store) fn read_entry(root: &Root, path: &RelPath, limit: u64) -> FileEntry {
    let problem = |problem| FileEntry::new(Content::Problem(problem), None);
    let (file, metadata) = match root.open_file(path) {
        Ok(opened) => opened,
        Err(found) => return problem(found),
    };
    let modified = metadata.modified().ok().and_then(clock::from_system);
    let content = match bounded(file, metadata.len(), limit) {
        Ok(bytes) => Content::Bytes(bytes.into()),
        Err(found) => Content::Problem(found),
    };
    FileEntry::new(content, modified)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
