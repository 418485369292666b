//! The state of a sandbox at one moment, to which it returns after every command that is tried.

use std::{
    collections::BTreeMap,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    time::SystemTime,
};

use camino::{Utf8Path, Utf8PathBuf};
use sha2::Digest as _;

use crate::support::Sandbox;

/// The folders that a command may write to.
const WRITABLE: [&str; 3] = ["project", "home", "tmp"];

/// The content of a sandbox. Times of last changes are part of it: a plan may look at them.
pub(super) struct Copy {
    top: Utf8PathBuf,
    entries: BTreeMap<Utf8PathBuf, Entry>,
}

#[derive(Clone)]
enum Entry {
    Folder,
    Link(Utf8PathBuf),
    File { mark: Mark, mode: u32, modified: SystemTime, bytes: Vec<u8> },
}

/// What changes when a file is written or replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Mark {
    fn of(metadata: &std::fs::Metadata) -> Self {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { inode: metadata.ino(), size: metadata.size(), changed }
    }
}

impl Copy {
    pub(super) fn of(sandbox: &Sandbox) -> Self {
        let top = sandbox.top().to_owned();
        let entries = each_path(&top).into_iter().map(|path| (path.clone(), read(&path))).collect();
        Self { top, entries }
    }

    /// Returns a digest of names and contents.
    pub(super) fn digest(&self) -> String {
        let mut digest = sha2::Sha256::new();
        for (path, entry) in &self.entries {
            digest.update(path.as_str());
            match entry {
                Entry::Folder => digest.update([0]),
                Entry::Link(target) => digest.update(target.as_str()),
                Entry::File { bytes, .. } => digest.update(bytes),
            }
            digest.update([0]);
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Makes the sandbox what it was, and returns the paths that were different, relative to its top.
    pub(super) fn restore(&mut self) -> Vec<String> {
        let mut different = Vec::new();
        let found = each_path(&self.top);
        for path in found.iter().rev().filter(|path| !self.entries.contains_key(*path)) {
            let is_folder = path.is_dir() && !path.is_symlink();
            let gone = if is_folder { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
            gone.unwrap_or_else(|error| panic!("{path}: {error}"));
            different.push(path.clone());
        }
        for (path, entry) in &mut self.entries {
            if !path.symlink_metadata().is_ok_and(|metadata| is_same(entry, &metadata)) && put_back(path, entry) {
                different.push(path.clone());
            }
        }
        different.iter().map(|path| path.strip_prefix(&self.top).unwrap_or(path).to_string()).collect()
    }
}

fn is_same(entry: &Entry, metadata: &std::fs::Metadata) -> bool {
    match entry {
        Entry::Folder => metadata.is_dir(),
        Entry::Link(_) => metadata.is_symlink(),
        Entry::File { mark, .. } => metadata.is_file() && *mark == Mark::of(metadata),
    }
}

/// Writes one entry again; tells whether its content was different.
fn put_back(path: &Utf8Path, entry: &mut Entry) -> bool {
    match entry {
        Entry::Folder => {
            std::fs::create_dir_all(path).unwrap_or_else(|error| panic!("{path}: {error}"));
            true
        }
        Entry::Link(target) => {
            // A file may lie there now.
            let _ = std::fs::remove_file(path);
            std::os::unix::fs::symlink(target, path).unwrap_or_else(|error| panic!("{path}: {error}"));
            true
        }
        Entry::File { mark, mode, modified, bytes } => {
            let was_different = std::fs::read(path).ok().as_ref() != Some(bytes);
            // Nothing that still has the file open sees other bytes.
            let _ = std::fs::remove_file(path);
            std::fs::write(path, &bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
            let permissions = std::fs::Permissions::from_mode(*mode);
            std::fs::set_permissions(path, permissions).expect("a file of our own");
            // A file without the permission to write keeps the time of this moment.
            if let Ok(file) = std::fs::File::options().write(true).open(path) {
                file.set_modified(*modified).expect("a file of our own");
            }
            *mark = Mark::of(&path.symlink_metadata().expect("it was just written"));
            was_different
        }
    }
}

/// Returns every path below the writable folders; a folder comes before what is in it.
fn each_path(top: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found: Vec<Utf8PathBuf> = Vec::new();
    let mut open: Vec<Utf8PathBuf> = WRITABLE.iter().map(|name| top.join(name)).collect();
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().unwrap_or_else(|error| panic!("{folder}: {error}")) {
            let entry = entry.expect("a readable folder");
            let path = entry.path().to_owned();
            if entry.file_type().expect("a readable folder").is_dir() {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Utf8Path) -> Entry {
    let metadata = path.symlink_metadata().unwrap_or_else(|error| panic!("{path}: {error}"));
    if metadata.is_symlink() {
        Entry::Link(path.read_link_utf8().expect("a link in UTF-8"))
    } else if metadata.is_dir() {
        Entry::Folder
    } else {
        Entry::File {
            mark: Mark::of(&metadata),
            mode: metadata.permissions().mode() & 0o777,
            modified: metadata.modified().expect("a file has a time"),
            bytes: std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}")),
        }
    }
}
