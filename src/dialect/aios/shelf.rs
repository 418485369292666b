//! The documents that a state refers to: plans and stories, whether they were looked at or read.

use std::collections::BTreeMap;

use super::execution::Execution;
use super::places;
use super::story;
use crate::model::Content;
use crate::model::FileSet;
use crate::model::Listing;
use crate::model::RelPath;

/// Is every file that may be a plan or a story, with its content where there is one.
pub(super) struct Shelf<'a> {
    files: BTreeMap<&'a str, (&'a RelPath, Option<&'a [u8]>)>,
}

/// Says where a story was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Located {
    At(RelPath),
    /// The plan names this file, and it is not there.
    Gone(RelPath),
    /// No plan names a file, and no story has this id.
    Nowhere,
}

impl<'a> Shelf<'a> {
    /// Takes what a first look saw.
    pub(super) fn of_listing(listing: &'a Listing) -> Self {
        let files = listing.entries.iter().filter(|entry| !entry.is_dir);
        Self { files: files.map(|entry| (entry.path.as_str(), (&entry.path, entry.look.as_deref()))).collect() }
    }

    /// Takes what was read for a run.
    pub(super) fn of_files(files: &'a FileSet) -> Self {
        let files = files.files.iter().filter_map(|(path, entry)| match &entry.content {
            Content::Bytes(bytes) => Some((path.as_str(), (path, Some(&bytes[..])))),
            Content::NameOnly => Some((path.as_str(), (path, None))),
            Content::Problem(_) => None,
        });
        Self { files: files.collect() }
    }

    /// Returns the content of a file; `None` as well for one that was not read.
    pub(super) fn bytes(&self, path: &RelPath) -> Option<&'a [u8]> {
        self.files.get(path.as_str())?.1
    }

    pub(super) fn holds(&self, path: &RelPath) -> bool {
        self.files.contains_key(path.as_str())
    }

    /// Finds the file of a story: where the plan says, else by its id. `base` is the folder of the project.
    pub(super) fn locate(&self, base: &str, plan: Option<&Execution>, id: &str) -> Located {
        let planned = plan.and_then(|plan| Some((plan, plan.stories.iter().find(|story| story.id == id)?)));
        if let Some((plan, file)) = planned.and_then(|(plan, story)| Some((plan, story.file.as_deref()?))) {
            let folder = plan.folder.as_deref().map(|folder| folder.trim_end_matches('/'));
            let below = folder.and_then(|folder| RelPath::parse(&format!("{base}{folder}/{file}")).ok());
            let direct = RelPath::parse(&format!("{base}{file}")).ok();
            let found = [&below, &direct].into_iter().flatten().find(|path| self.holds(path));
            if let Some(path) = found {
                return Located::At(path.clone());
            }
            if let Some(path) = if file.contains('/') { direct } else { below.or(direct) } {
                return Located::Gone(path);
            }
        }
        self.by_id(base, id).map_or(Located::Nowhere, Located::At)
    }

    fn by_id(&self, base: &str, id: &str) -> Option<RelPath> {
        let wanted = id.to_lowercase();
        let wanted = wanted.strip_prefix("story-").unwrap_or(&wanted);
        let below = self.files.range(base..).take_while(|(path, _)| path.starts_with(base));
        // Names are compared first: a project may have a thousand stories.
        let mut alike = below.filter(|(path, _)| path.ends_with(".md") && path.to_lowercase().contains(wanted));
        alike.find_map(|(text, (path, bytes))| {
            // A project may hold another one.
            if places::place(text).is_some_and(|place| place.base != base) {
                return None;
            }
            let story = story::parse(path, (*bytes)?);
            (story.is_story() && story::same_id(&story.id, id)).then(|| (*path).clone())
        })
    }
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod tests;
