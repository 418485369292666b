//! A disk on which only flushed data survives a power loss, as POSIX defines it.
//!
//! The content of a file is durable after a flush of the file, a name after a flush of its folder. Of what was not flushed, each
//! part may have reached the disk or not, independent of the others; only a rename does not lose the file: the new name is
//! there before the old one goes.

use std::{
    collections::BTreeMap,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::trace::Call;
use crate::support::Dice;

/// The umask of new files and folders.
const UMASK: u32 = 0o022;

/// Everything below a folder: what is durable, and what is not yet flushed.
#[derive(Clone)]
pub(super) struct Disk {
    top: Utf8PathBuf,
    nodes: Vec<Node>,
    renames: usize,
}

#[derive(Clone)]
enum Node {
    Folder { mode: u32, durable: BTreeMap<String, usize>, waiting: Vec<Naming> },
    File { durable: Content, waiting: Vec<Edit> },
    Link(Utf8PathBuf),
}

/// Gives a name to a node, or takes it away.
#[derive(Clone)]
struct Naming {
    name: String,
    node: Option<usize>,
    /// The rename that this is one half of.
    rename: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Content {
    mode: u32,
    bytes: Vec<u8>,
}

#[derive(Clone)]
enum Edit {
    /// At the end if there is no offset.
    Write {
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    Length(u64),
    Mode(u32),
}

/// One operation that may or may not have reached the disk. The first option is that none of it did, the last that all of it did.
enum Choice {
    Naming {
        folder: usize,
        place: usize,
    },
    /// Between its ends, both names are there; a folder has only one.
    Rename {
        new: (usize, usize),
        old: (usize, usize),
        is_folder: bool,
    },
    Content {
        file: usize,
        options: Vec<Content>,
    },
}

/// The content of a disk after a power loss.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Picture(pub(super) BTreeMap<Utf8PathBuf, Shown>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shown {
    Folder {
        mode: u32,
    },
    Link(Utf8PathBuf),
    /// Files with the same number are one file.
    File {
        number: usize,
        mode: u32,
        bytes: Vec<u8>,
    },
}

impl Disk {
    /// Returns a disk with an empty folder.
    pub(super) fn empty(top: &Utf8Path) -> Self {
        let nodes = vec![Node::Folder { mode: 0o755, durable: BTreeMap::new(), waiting: Vec::new() }];
        Self { top: top.to_owned(), nodes, renames: 0 }
    }

    /// Copies a folder; all of it is durable.
    pub(super) fn of(top: &Utf8Path) -> Self {
        let mut disk = Self::empty(top);
        let mut numbers = BTreeMap::new();
        let mut open = vec![(top.to_owned(), 0)];
        while let Some((folder, at)) = open.pop() {
            for entry in folder.read_dir_utf8().expect("a folder in the sandbox") {
                let entry = entry.expect("a folder in the sandbox");
                let path = entry.path();
                let metadata = path.symlink_metadata().expect("a file in the sandbox");
                let mode = metadata.permissions().mode() & 0o7777;
                let node = if metadata.is_symlink() {
                    disk.add(Node::Link(path.read_link_utf8().expect("a link in UTF-8")))
                } else if metadata.is_dir() {
                    let node = disk.add(Node::Folder { mode, durable: BTreeMap::new(), waiting: Vec::new() });
                    open.push((path.to_owned(), node));
                    node
                } else {
                    *numbers.entry(metadata.ino()).or_insert_with(|| {
                        let bytes = std::fs::read(path).expect("a file in the sandbox");
                        disk.add(Node::File { durable: Content { mode, bytes }, waiting: Vec::new() })
                    })
                };
                if let Node::Folder { durable, .. } = &mut disk.nodes[at] {
                    durable.insert(entry.file_name().to_owned(), node);
                }
            }
        }
        disk
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Applies a call.
    pub(super) fn apply(&mut self, call: &Call) {
        match call {
            Call::Open { path, mode, truncates } => match self.find(path) {
                Some(file) if *truncates => self.edit(file, Edit::Length(0)),
                Some(_) => {}
                None => {
                    let durable = Content { mode: mode & !UMASK, bytes: Vec::new() };
                    let file = self.add(Node::File { durable, waiting: Vec::new() });
                    self.name(path, Some(file), None);
                }
            },
            Call::Write { path, at, bytes } => {
                let file = self.there(path);
                self.edit(file, Edit::Write { at: *at, bytes: bytes.clone() });
            }
            Call::Truncate { path, length } => {
                let file = self.there(path);
                self.edit(file, Edit::Length(*length));
            }
            Call::Mode { path, mode } => {
                let file = self.there(path);
                self.edit(file, Edit::Mode(*mode));
            }
            Call::Folder { path, mode } => {
                let mode = mode & !UMASK;
                let folder = self.add(Node::Folder { mode, durable: BTreeMap::new(), waiting: Vec::new() });
                self.name(path, Some(folder), None);
            }
            Call::Link { from, to } => {
                let file = self.there(from);
                self.name(to, Some(file), None);
            }
            Call::Rename { from, to } => {
                let node = self.there(from);
                // Two names of one file: rename(2) does nothing.
                if self.find(to) != Some(node) {
                    self.renames += 1;
                    let rename = Some(self.renames);
                    self.name(to, Some(node), rename);
                    self.name(from, None, rename);
                }
            }
            Call::Remove { path } => self.name(path, None, None),
            Call::Sync { path } => {
                let node = self.there(path);
                self.flush(node);
            }
            Call::Said => {}
        }
    }

    fn there(&self, path: &Utf8Path) -> usize {
        self.find(path).unwrap_or_else(|| panic!("{path} is not there"))
    }

    /// Finds the node with this name now, durable or not.
    fn find(&self, path: &Utf8Path) -> Option<usize> {
        let below = path.strip_prefix(&self.top).unwrap_or_else(|_| panic!("{path} is elsewhere"));
        below.components().try_fold(0, |folder, part| self.names(folder).get(part.as_str()).copied())
    }

    fn names(&self, folder: usize) -> BTreeMap<String, usize> {
        let Node::Folder { durable, waiting, .. } = &self.nodes[folder] else { return BTreeMap::new() };
        let mut names = durable.clone();
        for naming in waiting {
            naming.apply(&mut names);
        }
        names
    }

    fn name(&mut self, path: &Utf8Path, node: Option<usize>, rename: Option<usize>) {
        let folder = self.there(path.parent().expect("a path below the top"));
        let name = path.file_name().expect("a path below the top").to_owned();
        let Node::Folder { waiting, .. } = &mut self.nodes[folder] else { panic!("{path} is not in a folder") };
        waiting.push(Naming { name, node, rename });
    }

    fn edit(&mut self, file: usize, edit: Edit) {
        match &mut self.nodes[file] {
            Node::File { waiting, .. } => waiting.push(edit),
            Node::Folder { .. } | Node::Link(_) => panic!("only files are edited"),
        }
    }

    fn flush(&mut self, node: usize) {
        let names = self.names(node);
        let folders: Vec<bool> = self.nodes.iter().map(|node| matches!(node, Node::Folder { .. })).collect();
        match &mut self.nodes[node] {
            Node::File { durable, waiting } => {
                for edit in waiting.drain(..) {
                    edit.apply(durable);
                }
            }
            Node::Folder { durable, waiting, .. } => {
                *durable = names;
                let ends = waiting.drain(..).filter(|one| one.node.is_none_or(|node| folders[node]));
                let ended: Vec<usize> = ends.filter_map(|one| one.rename).collect();
                self.land(&ended);
            }
            Node::Link(_) => panic!("a link cannot be flushed"),
        }
    }

    /// Makes the other halves of renames durable: the new name where the old one is gone for good, and of a folder, which has only one
    /// name, the end of the old one.
    fn land(&mut self, renames: &[usize]) {
        for node in &mut self.nodes {
            if let Node::Folder { durable, waiting, .. } = node {
                waiting.retain(|naming| {
                    let lands = naming.rename.is_some_and(|rename| renames.contains(&rename));
                    if lands {
                        naming.apply(durable);
                    }
                    !lands
                });
            }
        }
    }

    /// Returns the content without a power loss.
    pub(super) fn now(&self) -> Picture {
        let choices = self.choices();
        let all: Vec<usize> = choices.iter().map(|choice| choice.options() - 1).collect();
        self.show(&choices, &all)
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        let mut old_names = BTreeMap::new();
        for (folder, place, naming) in self.waiting() {
            if let (None, Some(rename)) = (naming.node, naming.rename) {
                old_names.insert(rename, (folder, place));
            }
        }
        let mut paired = Vec::new();
        for (folder, place, naming) in self.waiting() {
            let old = naming.rename.filter(|_| naming.node.is_some()).and_then(|rename| old_names.get(&rename));
            if let (Some(old), Some(node)) = (old, naming.node) {
                let is_folder = matches!(self.nodes[node], Node::Folder { .. });
                choices.push(Choice::Rename { new: (folder, place), old: *old, is_folder });
                paired.push(*old);
            }
        }
        for (folder, place, naming) in self.waiting() {
            let is_paired = naming.rename.is_some_and(|rename| old_names.contains_key(&rename));
            if !is_paired || (naming.node.is_none() && !paired.contains(&(folder, place))) {
                choices.push(Choice::Naming { folder, place });
            }
        }
        for (file, node) in self.nodes.iter().enumerate() {
            if let Node::File { durable, waiting } = node
                && !waiting.is_empty()
            {
                choices.push(Choice::Content { file, options: contents(durable, waiting) });
            }
        }
        choices
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, usize, &Naming)> {
        self.nodes.iter().enumerate().flat_map(|(at, node)| {
            let waiting = match node {
                Node::Folder { waiting, .. } => waiting.as_slice(),
                Node::File { .. } | Node::Link(_) => &[],
            };
            waiting.iter().enumerate().map(move |(place, naming)| (at, place, naming))
        })
    }

    /// Returns what a power loss at this moment can leave, with its distance from the normal case: first that everything reached
    /// the disk, or nothing that was not flushed, then each part alone, then mixtures, as far as `limit` goes.
    pub(super) fn after_power_loss(&self, limit: usize, dice: &mut Dice) -> Vec<(usize, Picture)> {
        let choices = self.choices();
        let options: Vec<usize> = choices.iter().map(Choice::options).collect();
        let shown = |(rank, taken): (usize, Vec<usize>)| (rank, self.show(&choices, &taken));
        assignments(&options, limit, dice).into_iter().map(shown).collect()
    }

    fn show(&self, choices: &[Choice], taken: &[usize]) -> Picture {
        let mut lost = BTreeMap::new();
        let mut contents = BTreeMap::new();
        for (choice, option) in choices.iter().zip(taken) {
            match choice {
                Choice::Naming { folder, place } => {
                    lost.insert((*folder, *place), *option == 0);
                }
                Choice::Rename { new, old, .. } => {
                    lost.insert(*new, *option == 0);
                    lost.insert(*old, option + 1 < choice.options());
                }
                Choice::Content { file, options } => {
                    contents.insert(*file, &options[*option]);
                }
            }
        }
        let mut picture = Picture::default();
        let mut open = vec![(Utf8PathBuf::new(), 0)];
        while let Some((path, at)) = open.pop() {
            let Node::Folder { durable, waiting, .. } = &self.nodes[at] else { continue };
            let mut names = durable.clone();
            for (place, naming) in waiting.iter().enumerate() {
                if !lost.get(&(at, place)).copied().unwrap_or(false) {
                    naming.apply(&mut names);
                }
            }
            for (name, node) in names {
                let path = path.join(name);
                let shown = match &self.nodes[node] {
                    Node::Folder { mode, .. } => {
                        open.push((path.clone(), node));
                        Shown::Folder { mode: *mode }
                    }
                    Node::Link(target) => Shown::Link(target.clone()),
                    Node::File { durable, .. } => {
                        let content = contents.get(&node).copied().unwrap_or(durable).clone();
                        Shown::File { number: node, mode: content.mode, bytes: content.bytes }
                    }
                };
                picture.0.insert(path, shown);
            }
        }
        picture
    }
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self.node {
            Some(node) => names.insert(self.name.clone(), node),
            None => names.remove(&self.name),
        };
    }
}

impl Edit {
    fn apply(&self, content: &mut Content) {
        match self {
            Self::Write { at, bytes } => write(content, *at, bytes),
            Self::Length(length) => content.bytes.resize(usize::try_from(*length).expect("a small file"), 0),
            Self::Mode(mode) => content.mode = *mode,
        }
    }
}

fn write(content: &mut Content, at: Option<u64>, bytes: &[u8]) {
    let start = at.map_or(content.bytes.len(), |at| usize::try_from(at).expect("a small file"));
    let end = start + bytes.len();
    content.bytes.resize(content.bytes.len().max(end), 0);
    content.bytes[start..end].copy_from_slice(bytes);
}

impl Choice {
    fn options(&self) -> usize {
        match self {
            Self::Naming { .. } => 2,
            Self::Rename { is_folder, .. } => 3 - usize::from(*is_folder),
            Self::Content { options, .. } => options.len(),
        }
    }
}

/// Returns what a file may hold of edits that were not flushed: nothing of them, some from the front, a write cut anywhere, the new
/// length with zeros where the new bytes belong, all of them.
fn contents(durable: &Content, waiting: &[Edit]) -> Vec<Content> {
    let mut options = vec![durable.clone()];
    let mut now = durable.clone();
    let mut late = durable.clone();
    for (turn, edit) in waiting.iter().enumerate() {
        if let Edit::Write { at, bytes } = edit {
            for end in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
                let mut cut = now.clone();
                write(&mut cut, *at, &bytes[..end]);
                options.push(cut);
            }
            let mut zeros = now.clone();
            write(&mut zeros, *at, &vec![0; bytes.len()]);
            options.push(zeros);
            let is_last = turn + 1 == waiting.len();
            write(&mut late, *at, &if is_last { bytes.clone() } else { vec![0; bytes.len()] });
        } else {
            edit.apply(&mut late);
        }
        edit.apply(&mut now);
        options.push(now.clone());
    }
    options.push(late);
    let mut distinct: Vec<Content> = Vec::new();
    for option in options {
        if option != now && !distinct.contains(&option) {
            distinct.push(option);
        }
    }
    distinct.push(now);
    distinct
}

/// Lists which option is taken of each choice: all combinations where they are few.
fn assignments(options: &[usize], limit: usize, dice: &mut Dice) -> Vec<(usize, Vec<usize>)> {
    let none = vec![0; options.len()];
    let all: Vec<usize> = options.iter().map(|count| count - 1).collect();
    let mut found = vec![(0, all.clone()), (0, none.clone())];
    for (at, count) in options.iter().enumerate() {
        for option in 0..*count {
            let with = |mut others: Vec<usize>| {
                others[at] = option;
                (1, others)
            };
            found.extend([with(all.clone()), with(none.clone())]);
        }
    }
    let product = options.iter().try_fold(1_usize, |product, count| product.checked_mul(*count));
    match product.filter(|product| *product <= limit) {
        Some(product) => found.extend((0..product).map(|number| (2, digits(number, options)))),
        None => found.extend((0..limit).map(|_| (2, options.iter().map(|count| dice.below(*count)).collect()))),
    }
    found
}

/// Decodes a number into one option of each choice.
fn digits(mut number: usize, options: &[usize]) -> Vec<usize> {
    let digit = |count: &usize| {
        let digit = number % count;
        number /= count;
        digit
    };
    options.iter().map(digit).collect()
}

impl Picture {
    /// Makes a folder hold exactly this.
    pub(super) fn write_to(&self, top: &Utf8Path) {
        for entry in top.read_dir_utf8().expect("a folder in the sandbox") {
            let path = entry.expect("a folder in the sandbox").into_path();
            let is_folder = path.symlink_metadata().expect("it is there").is_dir();
            let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.expect("the sandbox is ours");
        }
        let mut made: BTreeMap<usize, Utf8PathBuf> = BTreeMap::new();
        for (path, shown) in &self.0 {
            let path = top.join(path);
            let mode = |mode: &u32| std::fs::Permissions::from_mode(*mode);
            match shown {
                Shown::Folder { mode: bits } => {
                    std::fs::create_dir(&path).expect("the sandbox is ours");
                    std::fs::set_permissions(&path, mode(bits)).expect("the sandbox is ours");
                }
                Shown::Link(target) => std::os::unix::fs::symlink(target, &path).expect("the sandbox is ours"),
                Shown::File { number, mode: bits, bytes } => match made.get(number) {
                    Some(first) => std::fs::hard_link(first, &path).expect("the sandbox is ours"),
                    None => {
                        std::fs::write(&path, bytes).expect("the sandbox is ours");
                        std::fs::set_permissions(&path, mode(bits)).expect("the sandbox is ours");
                        made.insert(*number, path);
                    }
                },
            }
        }
    }
}
