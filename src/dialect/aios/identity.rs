//! Identifies the run of a saved state and when it was last written, for discovery. What is missing in the state is taken from
//! its file name.

use super::kind::{Descriptor, StoryName, Unnamed};
use crate::{
    dialect::story,
    document::Node,
    model::{FileSet, RelPath, Timestamp, clean_line},
};

/// Maximum length of an id in a name.
const ID_CHARS: usize = 100;

/// What discovery knows about a state.
pub(super) struct Identity {
    /// The id of the run.
    pub(super) run: String,
    /// The story that it is about, if any.
    pub(super) story: Option<String>,
    pub(super) stamp: Option<Timestamp>,
}

impl Descriptor {
    /// Identifies a state.
    pub(super) fn identify(&self, node: &Node, path: &RelPath) -> Identity {
        let subject = self.subject_of(node, path);
        let stamps = self.stamps.iter().filter_map(|stamp| Timestamp::parse(word(node, stamp)?, 0).ok());
        Identity { run: self.run_id(&subject), stamp: stamps.max(), story: self.story_of(node, subject) }
    }

    /// Returns the subject of the run: an epic, a story or a workflow instance.
    pub(super) fn subject_of(&self, node: &Node, path: &RelPath) -> String {
        let subject = self.subject.iter().find_map(|pointer| word(node, pointer));
        let subject = subject.map(|subject| if self.subject_is_path { story::name_of(subject) } else { subject });
        subject.map_or_else(|| self.subject_by(path), str::to_owned)
    }

    /// Derives the subject from the path.
    fn subject_by(&self, path: &RelPath) -> String {
        let folder = path.parent();
        let folder = folder.as_ref().map_or("", RelPath::name);
        match self.unnamed {
            Unnamed::Folder if !matches!(folder, "qa" | "plan" | "stories" | "") => folder.to_owned(),
            Unnamed::Folder | Unnamed::Nowhere => "unknown".to_owned(),
            Unnamed::Stem(end) => path.name().strip_suffix(end).unwrap_or(path.name()).to_owned(),
            Unnamed::Story => story::name_of(path.name()).to_owned(),
        }
    }

    fn story_of(&self, node: &Node, subject: String) -> Option<String> {
        match self.story {
            StoryName::Absent => None,
            StoryName::Subject(file) => Some(subject).filter(|story| Some(story.as_str()) != file),
            StoryName::At(pointers) => {
                pointers.iter().find_map(|pointer| word(node, pointer)).map(|story| story::name_of(story).to_owned())
            }
        }
    }

    /// Returns the subject of a run without a saved state as discovery named it: where several files have one id, by its file.
    pub(super) fn implied_subject(&self, files: &FileSet, id: &str) -> String {
        let name = files.name.strip_prefix(&self.run_id(""));
        name.map_or_else(|| clean_line(id, ID_CHARS), str::to_owned)
    }

    /// Returns the run id for a subject.
    pub(super) fn run_id(&self, subject: &str) -> String {
        format!("{}-{}", self.prefix, clean_line(subject, ID_CHARS))
    }
}

/// Returns the scalar at a pointer, unless it is empty.
fn word<'a>(node: &'a Node, pointer: &str) -> Option<&'a str> {
    node.at(pointer)?.scalar().map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
