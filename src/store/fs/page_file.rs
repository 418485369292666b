//! A page that a person asked for, in a file of that person's choice, and the program that shows it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    error::StoreError,
    surroundings::{self, program},
};

/// What a page begins with.
const BEGINNING: &[u8] = b"<!DOCTYPE html>";
/// The program that opens a file as the desktop does.
const VIEWER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Writes a page, in place of an earlier one, and returns its absolute path. A reader sees the old or the new page.
///
/// # Errors
///
/// If the file cannot be written, or something other than a page is there.
pub(crate) fn write_page(path: &str, text: &str) -> Result<Utf8PathBuf, StoreError> {
    let given = Utf8Path::new(path);
    let folder = given.parent().filter(|folder| !folder.as_str().is_empty()).unwrap_or_else(|| Utf8Path::new("."));
    let folder =
        surroundings::folder().join(folder).canonicalize_utf8().map_err(|cause| StoreError::io(folder, cause))?;
    let refused = |problem| StoreError::UnsafePath { path: given.to_owned(), problem };
    let path = folder.join(given.file_name().ok_or_else(|| refused("it names no file"))?);
    if !is_free(&path).map_err(|cause| StoreError::io(&path, cause))? {
        return Err(refused("it exists and is not a page; name another file"));
    }
    // As a file that a person makes, not as Piton's own data.
    let staged = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o666)).tempfile_in(&folder);
    let written = staged.and_then(|mut staged| {
        staged.write_all(text.as_bytes())?;
        staged.persist(&path).map_err(|error| error.error)
    });
    written.map(|_| path.clone()).map_err(|cause| StoreError::io(&path, cause))
}

/// Tells whether nothing is lost by writing a page there.
fn is_free(path: &Utf8Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(found) if !found.is_file() => Ok(false),
        Ok(found) if found.len() == 0 => Ok(true),
        Ok(_) => {
            let mut beginning = Vec::new();
            fs::File::open(path)?.take(BEGINNING.len() as u64).read_to_end(&mut beginning)?;
            Ok(beginning == BEGINNING)
        }
    }
}

/// Opens a file with the program that the desktop has for it, and does not wait for it.
///
/// # Errors
///
/// If there is no such program.
pub(crate) fn open_page(path: &Utf8Path) -> Result<(), StoreError> {
    let mut viewer = program(VIEWER);
    viewer.arg(path.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    viewer.spawn().map(drop).map_err(|cause| StoreError::io(Utf8Path::new(VIEWER), cause))
}
