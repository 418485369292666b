//! Archive folders, named `{series}_{stamp}`: finds those that are there, and a free name for a new one, and removes the oldest.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::lock::RunLock;
use crate::{
    model::{RelPath, Timestamp},
    store::fs::{calls, error::StoreError, stage, unread},
};

/// The folder of files that belong to no run.
pub(crate) const LEFTOVERS: &str = "leftovers";

/// One archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Archive {
    /// The name of its folder.
    pub(crate) folder: String,
    /// The part of the name before the stamp: the run.
    pub(crate) series: String,
    pub(crate) at: Timestamp,
    /// The names of its files, in order.
    pub(crate) files: Vec<String>,
}

/// Returns the archives in a folder.
pub(crate) fn archives(root: &Utf8Path, folder: &RelPath) -> Vec<Archive> {
    let Some(real) = unread::data_path(root, folder) else { return Vec::new() };
    let archive = |(_, _, path): (String, u32, Utf8PathBuf)| {
        let folder = path.file_name()?.to_owned();
        let (series, stamp, _) = parts_of(&folder)?;
        let (series, at) = (series.to_owned(), Timestamp::from_compact(stamp)?);
        let names = unread::names(&path)?;
        let mut files: Vec<String> = names.into_iter().filter(|entry| !entry.is_dir).map(|entry| entry.name).collect();
        files.sort_unstable();
        (!files.is_empty()).then_some(Archive { folder, series, at, files })
    };
    in_order(&real).into_iter().filter_map(archive).collect()
}

/// Returns stamp, counter and path of the archives in a folder, oldest first.
fn in_order(real: &Utf8Path) -> Vec<(String, u32, Utf8PathBuf)> {
    let folders = unread::names(real).unwrap_or_default().into_iter().filter(|entry| entry.is_dir);
    let mut found: Vec<(String, u32, Utf8PathBuf)> = folders
        .filter_map(|entry| {
            let (_, stamp, counter) = parts_of(&entry.name)?;
            Some((stamp.to_owned(), counter, real.join(&entry.name)))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Returns the first free name: `wanted`, or `wanted` with a counter.
///
/// # Errors
///
/// If the path may not be written, or 999 names are taken.
pub(crate) fn free_folder(lock: &RunLock, wanted: &RelPath) -> Result<RelPath, StoreError> {
    for attempt in 1..=999 {
        let name = if attempt == 1 { wanted.as_str().to_owned() } else { format!("{wanted}-{attempt}") };
        let Ok(path) = RelPath::parse(&name) else { break };
        let real = lock.root().target(&path)?;
        remove_begun(&real);
        if fs::symlink_metadata(&real).is_err() {
            return Ok(path);
        }
    }
    Err(StoreError::UnsafePath { path: lock.root().target(wanted)?, problem: "there is no free name to move it to" })
}

/// Removes a folder that was made for files that were not written: it has nothing but what a killed writer left under temporary names.
fn remove_begun(folder: &Utf8Path) {
    let Some(names) = unread::names(folder) else { return };
    if names.iter().all(|entry| !entry.is_dir && stage::is_temporary(entry.name.as_ref())) {
        for entry in names {
            drop(calls::remove_file(&folder.join(entry.name)));
        }
        // Not one with files in it.
        drop(calls::remove_dir(folder));
    }
}

/// Removes the oldest archives beside `newest` until `keep` are left with it. It was just created and stays, regardless of
/// timestamps.
///
/// # Errors
///
/// If an old one cannot be removed. The new one is durable by then.
pub(crate) fn prune(lock: &RunLock, newest: &RelPath, keep: usize) -> Result<(), StoreError> {
    let real = lock.root().target(newest)?;
    let Some(dir) = real.parent() else { return Ok(()) };
    let mut others = in_order(dir);
    others.retain(|(_, _, path)| *path != real);
    let too_many = (others.len() + 1).saturating_sub(keep.max(1));
    for (_, _, path) in others.into_iter().take(too_many) {
        calls::remove_dir_all(&path).map_err(|source| StoreError::io(&path, source))?;
    }
    if too_many > 0 { stage::sync_dirs(std::iter::once(dir)) } else { Ok(()) }
}

/// Removes one archive with its files.
///
/// # Errors
///
/// If it cannot be removed.
pub(crate) fn remove(lock: &RunLock, archive: &RelPath) -> Result<(), StoreError> {
    let real = lock.root().target(archive)?;
    calls::remove_dir_all(&real).map_err(|source| StoreError::io(&real, source))
}

/// Removes the folder of an archive whose files were moved back; one with other files stays.
///
/// # Errors
///
/// If the path may not be written.
pub(crate) fn remove_empty(lock: &RunLock, archive: &RelPath) -> Result<(), StoreError> {
    let real = lock.root().target(archive)?;
    drop(calls::remove_dir(&real));
    Ok(())
}

/// Returns the series of an archive; `None` for every other name.
pub(crate) fn series_of(name: &str) -> Option<&str> {
    parts_of(name).map(|(series, ..)| series)
}

/// Returns series, stamp and counter of an archive; `None` for every other name.
pub(in crate::store) fn parts_of(name: &str) -> Option<(&str, &str, u32)> {
    let (series, rest) = name.rsplit_once('_').filter(|(series, _)| !series.is_empty())?;
    let (stamp, counter) = match rest.split_once('-') {
        Some((stamp, counter)) => (stamp, counter.parse().ok().filter(|counter| *counter > 1)?),
        None => (rest, 1),
    };
    let is_stamp = stamp.len() == 16
        && stamp.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    is_stamp.then_some((series, stamp, counter))
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
