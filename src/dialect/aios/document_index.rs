//! The documents that a state refers to: plans and stories.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeMap,
};

use super::{execution::Execution, layout};
use crate::{
    dialect::story,
    model::{Content, FileSet, Listing, RelPath},
};

/// Maximum number of full name scans for stories whose id is not part of a file name.
const SCAN_LIMIT: usize = 2_000;

/// Every file that may be a plan or a story, with its content if it was read.
pub(super) struct DocumentIndex<'a> {
    files: BTreeMap<&'a str, (&'a RelPath, Option<&'a [u8]>)>,
    names: OnceCell<NamesIndex<'a>>,
    /// Cache of the ids that files declare; `None` for a file that is not a story.
    ids: RefCell<BTreeMap<&'a str, Option<String>>>,
    scans: Cell<usize>,
}

/// All Markdown files by name.
struct NamesIndex<'a> {
    /// By the id in the name, lowercase.
    by_id: BTreeMap<String, Vec<&'a str>>,
    /// Lowercase names, in path order.
    all: Vec<(String, &'a str)>,
}

/// The result of looking up a story file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoryLocation {
    At(RelPath),
    /// The plan names a file that does not exist; the only file of that id is used instead.
    Renamed {
        named: RelPath,
        found: RelPath,
    },
    /// The plan names a file that does not exist, and several files have that id.
    Several {
        named: RelPath,
        found: Vec<RelPath>,
    },
    /// The plan names this file, but it does not exist.
    Missing(RelPath),
    /// The plan names no file and no story has this id.
    NotFound,
}

impl StoryLocation {
    /// Returns the file to read the story from.
    pub(super) const fn file(&self) -> Option<&RelPath> {
        match self {
            Self::At(path) | Self::Renamed { found: path, .. } => Some(path),
            Self::Several { .. } | Self::Missing(_) | Self::NotFound => None,
        }
    }

    /// Returns every file that may be the story.
    pub(super) fn files(&self) -> &[RelPath] {
        match self {
            Self::At(path) | Self::Renamed { found: path, .. } => std::slice::from_ref(path),
            Self::Several { found, .. } => found,
            Self::Missing(_) | Self::NotFound => &[],
        }
    }
}

impl<'a> DocumentIndex<'a> {
    /// Builds the index from a discovery listing.
    pub(super) fn of_listing(listing: &'a Listing) -> Self {
        let files = listing.entries.iter().filter(|entry| !entry.is_dir);
        Self::of(files.map(|entry| (entry.path.as_str(), (&entry.path, entry.content.as_deref()))).collect())
    }

    /// Builds the index from the files read for a run.
    pub(super) fn of_files(files: &'a FileSet) -> Self {
        let files = files.files.iter().filter_map(|(path, entry)| match &entry.content {
            Content::Bytes(bytes) => Some((path.as_str(), (path, Some(&bytes[..])))),
            Content::NameOnly => Some((path.as_str(), (path, None))),
            Content::Problem(_) => None,
        });
        Self::of(files.collect())
    }

    fn of(files: BTreeMap<&'a str, (&'a RelPath, Option<&'a [u8]>)>) -> Self {
        Self { files, names: OnceCell::new(), ids: RefCell::default(), scans: Cell::new(0) }
    }

    /// Returns the content of a file; `None` if it is missing or was not read.
    pub(super) fn bytes(&self, path: &RelPath) -> Option<&'a [u8]> {
        self.files.get(path.as_str())?.1
    }

    pub(super) fn holds(&self, path: &RelPath) -> bool {
        self.files.contains_key(path.as_str())
    }

    /// Finds the file of a story: the path in the plan, else a file with its id. `base` is the folder of the project.
    pub(super) fn locate(&self, base: &str, plan: Option<&Execution>, id: &str) -> StoryLocation {
        let planned = plan.and_then(|plan| Some((plan, plan.story(id)?)));
        if let Some((plan, file)) = planned.and_then(|(plan, story)| Some((plan, story.file.as_deref()?))) {
            let folder = plan.folder.as_deref().map(|folder| folder.trim_end_matches('/'));
            let below = folder.and_then(|folder| RelPath::parse(&format!("{base}{folder}/{file}")).ok());
            let direct = RelPath::parse(&format!("{base}{file}")).ok();
            let found = [&below, &direct].into_iter().flatten().find(|path| self.holds(path));
            if let Some(path) = found {
                return StoryLocation::At(path.clone());
            }
            if let Some(named) = if file.contains('/') { direct } else { below.or(direct) } {
                return self.renamed(base, named, id);
            }
        }
        let first = self.by_id(base, id).into_iter().next();
        first.map_or(StoryLocation::NotFound, StoryLocation::At)
    }

    /// Looks for a story that is not in the file that its plan names. A copy in an archive counts only if there is no other.
    fn renamed(&self, base: &str, named: RelPath, id: &str) -> StoryLocation {
        let (mut found, archived): (Vec<RelPath>, Vec<RelPath>) =
            self.by_id(base, id).into_iter().partition(|path| !layout::is_archived(path.as_str()));
        if found.is_empty() {
            found = archived;
        }
        match found.len() {
            0 => StoryLocation::Missing(named),
            1 => StoryLocation::Renamed { named, found: found.remove(0) },
            _ => StoryLocation::Several { named, found },
        }
    }

    /// Checks files named after the id first, because a project may have a thousand stories.
    fn by_id(&self, base: &str, id: &str) -> Vec<RelPath> {
        let wanted = story::bare_id(id);
        let names = self.names.get_or_init(|| self.names());
        let matches = |path: &&'a str| {
            self.is_in(base, path) && self.declared_id(path).is_some_and(|declared| story::same_id(&declared, id))
        };
        let mut found: Vec<&str> = names.by_id.get(&wanted).into_iter().flatten().copied().filter(matches).collect();
        if found.is_empty() {
            self.scans.set(self.scans.get() + 1);
            if self.scans.get() <= SCAN_LIMIT {
                let alike = names.all.iter().filter(|(name, _)| name.contains(&wanted)).map(|(_, path)| *path);
                found = alike.filter(matches).collect();
            }
        }
        found.into_iter().map(|path| self.files[path].0.clone()).collect()
    }

    fn names(&self) -> NamesIndex<'a> {
        let mut names = NamesIndex { by_id: BTreeMap::new(), all: Vec::new() };
        for (text, (path, _)) in self.files.iter().filter(|(text, _)| text.ends_with(".md")) {
            names.by_id.entry(story::bare_id(&story::id_of_path(path))).or_default().push(*text);
            names.all.push((text.to_lowercase(), *text));
        }
        names
    }

    /// Returns whether a file belongs to this project and not to a nested one.
    fn is_in(&self, base: &str, path: &str) -> bool {
        path.starts_with(base) && layout::split(path).is_none_or(|parts| parts.base == base)
    }

    /// Returns the id that a story file declares.
    fn declared_id(&self, path: &'a str) -> Option<String> {
        let read = || {
            let (path, bytes) = self.files[path];
            let story = story::parse(path, bytes?);
            story.is_story().then_some(story.id)
        };
        self.ids.borrow_mut().entry(path).or_insert_with(read).clone()
    }
}

#[cfg(test)]
#[path = "document_index_tests.rs"]
mod tests;
