//! Piton's own files that are written in place: a lease, logs, journals. What is there may be untrusted.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
};

use camino::Utf8Path;

use super::{
    nofollow::{self, OpenMode},
    platform, stage,
};

/// The largest file that is copied, in bytes.
const COPY_LIMIT: u64 = 64 << 20;

/// Opens a regular file for writing in place. A file with other hard links is first replaced by a copy, so that the other names
/// keep their content.
pub(in crate::store) fn open(path: &Utf8Path, open_mode: OpenMode, mode: u32) -> io::Result<File> {
    let file = nofollow::open(path.as_std_path(), open_mode, mode)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if !platform::has_other_names(&metadata) {
        return Ok(file);
    }
    replace_with_copy(path)?;
    nofollow::open(path.as_std_path(), open_mode, mode)
}

/// Overwrites a file in place. A kill in the middle leaves a mixture of both contents.
pub(in crate::store) fn overwrite(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open(path, OpenMode::Overwrite, platform::DATA_FILE_MODE)?;
    file.write_all(bytes)?;
    if file.metadata()?.len() == bytes.len() as u64 { Ok(()) } else { file.set_len(bytes.len() as u64) }
}

/// Replaces a file with a copy of itself.
fn replace_with_copy(path: &Utf8Path) -> io::Result<()> {
    let temporary = stage::temporary_name(path);
    let mut bytes = Vec::new();
    nofollow::open(path.as_std_path(), OpenMode::Read, 0)?.take(COPY_LIMIT).read_to_end(&mut bytes)?;
    let mut copy = nofollow::open(temporary.as_std_path(), OpenMode::Create, platform::DATA_FILE_MODE)?;
    let done = copy.write_all(&bytes).and_then(|()| nofollow::rename(&temporary, path));
    done.inspect_err(|_| {
        let _ = nofollow::remove_file(&temporary);
    })
}

#[cfg(test)]
#[path = "data_file_tests.rs"]
mod tests;
