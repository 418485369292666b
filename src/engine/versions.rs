//! The earlier states of a run: its journal has what each change replaced and what it wrote. A version is named by the number of the change
//! that replaced it; the state that was recorded last is one too, because another program may have replaced or removed it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ChangedFile, Entry, RelPath, sha256_hex};

/// The contents of the state files in one version, each under the path that the file has now.
pub(crate) type VersionFiles = BTreeMap<RelPath, Vec<u8>>;

/// Returns the changes that replaced a version, with their numbers, newest first.
pub(crate) fn replacing(entries: &[Entry]) -> impl Iterator<Item = (usize, &Entry)> {
    let is_replacing = |(_, entry): &(usize, &Entry)| entry.files.iter().any(ChangedFile::replaces);
    (1..).zip(entries).filter(is_replacing).collect::<Vec<_>>().into_iter().rev()
}

/// Returns the state before the change with this number; `None` if there is no such change, or it is not known.
pub(crate) fn before(entries: &[Entry], number: usize) -> Option<VersionFiles> {
    let (earlier, since) = entries.split_at_checked(number.checked_sub(1)?)?;
    let mut files = after(earlier);
    let (next, later) = since.split_first()?;
    next.files.iter().for_each(|change| find(&mut files, change));
    // A file that is changed later for the first time was what that change found.
    let mut known: BTreeSet<&RelPath> = next.files.iter().map(|change| &change.path).collect();
    known.extend(earlier.iter().flat_map(|entry| &entry.files).map(|change| &change.path));
    for change in later.iter().flat_map(|entry| &entry.files) {
        if known.insert(&change.path) {
            find(&mut files, change);
        }
    }
    for (entry, moves) in since.iter().map(|entry| (entry, moved(entry))).filter(|(_, moves)| !moves.is_empty()) {
        let found = moves.iter().filter_map(|(from, to)| Some(((*to).clone(), files.remove(*from)?)));
        let found: Vec<(RelPath, Vec<u8>)> = found.collect();
        // Its system has what lay beside it, such as its backup, beside the new one.
        files.retain(|path, _| !entry.files.iter().any(|file| file.path == *path && file.after.is_none()));
        files.extend(found);
    }
    (!files.is_empty()).then_some(files)
}

/// Returns the state as it was recorded last; `None` of a run whose state is archived, or of which none is known.
pub(crate) fn last(entries: &[Entry]) -> Option<VersionFiles> {
    Some(after(entries)).filter(|files| !files.is_empty())
}

fn after(entries: &[Entry]) -> VersionFiles {
    let mut files = VersionFiles::new();
    for change in entries.iter().flat_map(|entry| &entry.files) {
        find(&mut files, change);
        write(&mut files, change);
    }
    files
}

/// Returns the digest that each file was recorded with last. Cheaper than [`last`].
pub(crate) fn last_digests(entries: &[Entry]) -> BTreeMap<&RelPath, &str> {
    let mut digests = BTreeMap::new();
    for change in entries.iter().flat_map(|entry| &entry.files) {
        match &change.after {
            Some(after) => digests.insert(&change.path, after.as_str()),
            None => digests.remove(&change.path),
        };
    }
    digests
}

/// Takes over the content that a change found, where another program had written it.
fn find(files: &mut VersionFiles, change: &ChangedFile) {
    match (&change.before, &change.found) {
        (None, _) => drop(files.remove(&change.path)),
        (Some(digest), Some(found)) => put(files, &change.path, found.apply(&[]), digest),
        (Some(_), None) => {}
    }
}

/// Takes over the content that a change wrote.
fn write(files: &mut VersionFiles, change: &ChangedFile) {
    let Some(digest) = &change.after else { return drop(files.remove(&change.path)) };
    if change.written.is_none() && change.before == change.after {
        return;
    }
    let before = files.get(&change.path).map(Vec::as_slice).unwrap_or_default();
    let after = change.written.as_ref().and_then(|written| written.apply(before));
    put(files, &change.path, after, digest);
}

fn put(files: &mut VersionFiles, path: &RelPath, content: Option<Vec<u8>>, digest: &str) {
    match content.filter(|content| sha256_hex(content) == digest) {
        Some(content) => files.insert(path.clone(), content),
        None => files.remove(path),
    };
}

/// Returns the files that a change moved, each with its new path: those that are made under their name elsewhere and removed. A state of one file
/// may get another name.
fn moved(entry: &Entry) -> Vec<(&RelPath, &RelPath)> {
    let made: Vec<_> = entry.files.iter().filter(|file| file.before.is_none() && file.after.is_some()).collect();
    let gone: Vec<_> = entry.files.iter().filter(|file| file.before.is_some() && file.after.is_none()).collect();
    let named = gone.iter().filter_map(|from| {
        let to = made.iter().find(|to| to.path.name() == from.path.name())?;
        Some((&from.path, &to.path))
    });
    let named: Vec<_> = named.collect();
    match (&*named, &*made, &*gone) {
        ([], [to], [from, ..]) => vec![(&from.path, &to.path)],
        _ => named,
    }
}

#[cfg(test)]
#[path = "versions_tests.rs"]
mod tests;
