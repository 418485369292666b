//! Archive folders: finds a free name for a new one, and removes the oldest.

use std::fs;

use super::error::StoreError;
use super::lock::RunLock;
use super::stage;
use crate::model::RelPath;

/// Returns the first free name: `wanted`, or `wanted` with a counter.
///
/// # Errors
///
/// If the path may not be written, or 999 names are taken.
pub(crate) fn free_folder(lock: &RunLock, wanted: &RelPath) -> Result<RelPath, StoreError> {
    for attempt in 1..=999 {
        let name = if attempt == 1 { wanted.as_str().to_owned() } else { format!("{wanted}-{attempt}") };
        let Ok(path) = RelPath::parse(&name) else { break };
        if fs::symlink_metadata(lock.root().target(&path)?).is_err() {
            return Ok(path);
        }
    }
    Err(StoreError::UnsafePath { path: lock.root().target(wanted)?, problem: "there is no free name to move it to" })
}

/// Removes the oldest archives of a series until `keep` are left. `newest` was just created and stays, regardless of
/// timestamps; only folders beside it that are named `{series}_{stamp}` are considered.
///
/// # Errors
///
/// If an old one cannot be removed. The new one is durable by then.
pub(crate) fn prune(lock: &RunLock, newest: &RelPath, series: &str, keep: usize) -> Result<(), StoreError> {
    let real = lock.root().target(newest)?;
    let Some(dir) = real.parent() else { return Ok(()) };
    let entries = dir.read_dir_utf8().map_err(|source| StoreError::io(dir, source))?;
    let mut others: Vec<(String, u32, camino::Utf8PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != newest.name())
        .filter_map(|entry| {
            let (stamp, counter) = place_in(entry.file_name(), series)?;
            Some((stamp.to_owned(), counter, entry.into_path()))
        })
        .collect();
    others.sort_unstable();
    let too_many = (others.len() + 1).saturating_sub(keep.max(1));
    for (_, _, path) in others.into_iter().take(too_many) {
        fs::remove_dir_all(&path).map_err(|source| StoreError::io(&path, source))?;
    }
    if too_many > 0 { stage::sync_dirs(std::iter::once(dir)) } else { Ok(()) }
}

/// Returns stamp and counter of an archive of the series; `None` for every other name.
fn place_in<'a>(name: &'a str, series: &str) -> Option<(&'a str, u32)> {
    let rest = name.strip_prefix(series)?.strip_prefix('_')?;
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
    is_stamp.then_some((stamp, counter))
}

#[cfg(test)]
mod tests {
    use super::place_in;

    #[test]
    fn only_names_of_the_series_are_archives() {
        for (name, expected) in [
            ("user-auth_20260131T120000Z", Some(("20260131T120000Z", 1))),
            ("user-auth_20260131T120000Z-2", Some(("20260131T120000Z", 2))),
            ("user-auth_20260131T120000Z-1", None),
            ("user-auth_20260131T120000Z-x", None),
            ("user-auth_20260131", None),
            ("user-auth_old", None),
            ("user-auth2_20260131T120000Z", None),
            ("user-auth_20260131T120000Z_20260131T120000Z", None),
            ("user-auth", None),
        ] {
            assert_eq!(place_in(name, "user-auth"), expected, "{name}");
        }
    }
}
