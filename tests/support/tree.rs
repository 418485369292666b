//! Every byte below a folder at one moment, to prove what a call changed and what it left alone.

use std::{
    collections::BTreeMap,
    fs::{Metadata, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};

/// The content of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    entries: BTreeMap<Utf8PathBuf, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Folder,
    /// A pipe or a socket: nothing that could be read to its end.
    Special,
    Link(Utf8PathBuf),
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder, Self::Folder) | (Self::Special, Self::Special) => true,
            (Self::Link(one), Self::Link(other)) => one == other,
            (Self::File { mode, bytes }, Self::File { mode: other_mode, bytes: other }) => {
                mode == other_mode && is_same(bytes, other)
            }
            (Self::Folder | Self::Special | Self::Link(_) | Self::File { .. }, _) => false,
        }
    }
}

impl Eq for Entry {}

/// Tells whether two files have the same content. The records of journals have names that are drawn, and chains and digests that follow from
/// those: only that they are the same where they were is compared.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let is_record = |bytes: &[u8]| bytes.starts_with(b"{\"chain\":\"") || bytes.starts_with(b"{\"digest\":\"");
    one == other || is_record(one) && is_record(other) && Tree::without_names(one) == Tree::without_names(other)
}

const fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// A file or folder that its owner may not read. It can be read until this is dropped; the superuser needs none.
struct Opened {
    path: Utf8PathBuf,
    permissions: Permissions,
}

impl Opened {
    fn of(path: &Utf8Path, metadata: &Metadata) -> Option<Self> {
        let (mode, needed) = (metadata.permissions().mode(), if metadata.is_dir() { 0o500 } else { 0o400 });
        if metadata.is_symlink() || mode & needed == needed || rustix::process::geteuid().is_root() {
            return None;
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode | needed)).ok()?;
        Some(Self { path: path.to_owned(), permissions: metadata.permissions() })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::set_permissions(&self.path, self.permissions.clone()).expect("a file of our own");
    }
}

impl Tree {
    /// Replaces names of 16 bytes and digests by the order in which they appear first.
    pub(crate) fn without_names(bytes: &[u8]) -> Vec<u8> {
        let mut known: Vec<&[u8]> = Vec::new();
        let mut replaced = Vec::new();
        for run in bytes.chunk_by(|one, next| is_digit(*one) == is_digit(*next)) {
            if !matches!(run.len(), 32 | 64) || !is_digit(run[0]) {
                replaced.extend_from_slice(run);
                continue;
            }
            let at = known.iter().position(|known| *known == run).unwrap_or_else(|| {
                known.push(run);
                known.len() - 1
            });
            replaced.extend_from_slice(format!("#{at}").as_bytes());
        }
        replaced
    }

    /// Reads everything below a folder. Links are not followed.
    pub(crate) fn of(folder: &Utf8Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut opened = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for entry in next.read_dir_utf8().unwrap_or_else(|error| panic!("{next}: {error}")) {
                let path = entry.expect("a readable folder").into_path();
                let metadata = path.symlink_metadata().unwrap_or_else(|error| panic!("{path}: {error}"));
                opened.extend(Opened::of(&path, &metadata));
                let entry = if metadata.is_symlink() {
                    Entry::Link(path.read_link_utf8().expect("a link in UTF-8"))
                } else if metadata.is_dir() {
                    open.push(path.clone());
                    Entry::Folder
                } else if !metadata.is_file() {
                    Entry::Special
                } else {
                    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
                    Entry::File { mode: metadata.permissions().mode() & 0o777, bytes }
                };
                entries.insert(path.strip_prefix(folder).expect("it was found below").to_owned(), entry);
            }
        }
        // What is below a folder is closed before it.
        opened.into_iter().rev().for_each(drop);
        Self { entries }
    }

    /// Removes files in folders of this name, at any depth: `.git`, `.piton`.
    pub(crate) fn without(mut self, folder: &str) -> Self {
        self.entries.retain(|path, _| path.components().all(|part| part.as_str() != folder));
        self
    }

    /// Keeps the paths for which `wanted` is true.
    pub(crate) fn only(mut self, wanted: impl Fn(&Utf8Path) -> bool) -> Self {
        self.entries.retain(|path, _| wanted(path));
        self
    }

    /// Leaves out the folders themselves.
    pub(crate) fn without_folders(mut self) -> Self {
        self.entries.retain(|_, entry| *entry != Entry::Folder);
        self
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.entries.keys().map(|path| path.as_str().to_owned()).collect()
    }

    /// Lists what is different in `after`, in the order of the paths: `+ new`, `- gone`, `~ changed`,
    /// `m mode 644 -> 600`. Empty if no byte changed.
    pub(crate) fn changes(&self, after: &Self) -> Vec<String> {
        let mut paths: Vec<&Utf8PathBuf> = self.entries.keys().chain(after.entries.keys()).collect();
        paths.sort();
        paths.dedup();
        let mut changes = Vec::new();
        for path in paths {
            match (self.entries.get(path), after.entries.get(path)) {
                (None, _) => changes.push(format!("+ {path}")),
                (_, None) => changes.push(format!("- {path}")),
                (
                    Some(Entry::File { mode: old_mode, bytes: old }),
                    Some(Entry::File { mode: new_mode, bytes: new }),
                ) => {
                    if !is_same(old, new) {
                        changes.push(format!("~ {path}"));
                    }
                    if old_mode != new_mode {
                        changes.push(format!("m {path} {old_mode:o} -> {new_mode:o}"));
                    }
                }
                (Some(old), Some(new)) if old != new => changes.push(format!("~ {path}")),
                (Some(_), Some(_)) => {}
            }
        }
        changes
    }

    /// Writes all of it below another folder.
    pub(crate) fn write_to(&self, folder: &Utf8Path) {
        for (path, entry) in &self.entries {
            let path = folder.join(path);
            match entry {
                Entry::Folder => std::fs::create_dir_all(&path).expect("a folder in the sandbox"),
                Entry::Special => panic!("{path} cannot be copied"),
                Entry::Link(target) => std::os::unix::fs::symlink(target, &path).expect("a link in the sandbox"),
                Entry::File { mode, bytes } => {
                    std::fs::write(&path, bytes).expect("a file in the sandbox");
                    let mode = Permissions::from_mode(*mode);
                    std::fs::set_permissions(&path, mode).expect("a file of our own");
                }
            }
        }
    }
}

/// Lists the lines that differ between two texts: `-12 old`, `+12 new`. Lines are compared one by one, line ends included, so
/// a test that expects an edit in place sees exactly what moved.
pub(crate) fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let before: Vec<&str> = before.split_inclusive('\n').collect();
    let after: Vec<&str> = after.split_inclusive('\n').collect();
    let head = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let tail = before[head..].iter().rev().zip(after[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let numbered = |sign: char, lines: &[&str]| -> Vec<String> {
        let changed = &lines[head..lines.len() - tail];
        changed
            .iter()
            .enumerate()
            .map(|(at, line)| format!("{sign}{} {}", head + at + 1, line.escape_debug()))
            .collect()
    };
    [numbered('-', &before), numbered('+', &after)].concat()
}
