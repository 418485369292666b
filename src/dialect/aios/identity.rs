//! Identifies the run of a saved state and when it was last written, for discovery. What is missing in the state is taken from
//! its file name.

use super::kind::Kind;
use crate::dialect::story;
use crate::document::Node;
use crate::model::FileSet;
use crate::model::RelPath;
use crate::model::Timestamp;
use crate::model::clean_line;

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

/// Identifies a state.
pub(super) fn of(kind: Kind, node: &Node, path: &RelPath) -> Identity {
    let subject = subject(kind, node, path);
    Identity { run: kind.run_id(&subject), story: story_of(kind, node, subject), stamp: stamp(kind, node) }
}

/// Returns the subject of the run: an epic, a story or a workflow instance.
pub(super) fn subject(kind: Kind, node: &Node, path: &RelPath) -> String {
    let subject = match kind {
        Kind::QaLoop => word(node, &["storyId"]).or_else(|| word(node, &["story_id"])),
        Kind::Guided => word(node, &["instance_id"]),
        Kind::Engine => word(node, &["engine_state", "instance_id"]),
        Kind::DevCycle => word(node, &["currentStory"]).map(story::name_of),
        Kind::Paused => {
            let given_up = word(node, &["epic_progress", "aborted_at_story"]);
            given_up.or_else(|| word(node, &["current_story"])).map(story::name_of)
        }
        Kind::Ade | Kind::Build => word(node, &["storyId"]),
        Kind::Phases => word(node, &["workflowId"]),
        Kind::Bob => word(node, &["session_state", "epic", "id"]),
        Kind::Record => word(node, &["execution_id"]),
        Kind::Pipeline => word(node, &["epicId"]).or_else(|| word(node, &["epic_id"])),
        Kind::Epic | Kind::StoryCycle | Kind::Spec => None,
    };
    subject.map_or_else(|| by_path(kind, path), str::to_owned)
}

/// Derives the subject from the path.
fn by_path(kind: Kind, path: &RelPath) -> String {
    let folder = path.parent();
    let folder = folder.as_ref().map_or("", RelPath::name);
    let stem = |end: &str| path.name().strip_suffix(end).unwrap_or(path.name()).to_owned();
    match kind {
        Kind::QaLoop | Kind::Build if !matches!(folder, "qa" | "plan" | "stories" | "") => folder.to_owned(),
        Kind::QaLoop | Kind::Build | Kind::Bob | Kind::Record => "unknown".to_owned(),
        Kind::Engine => stem("-engine-state.yaml"),
        Kind::Ade | Kind::Phases => stem(".json"),
        Kind::Pipeline => stem("-pipeline.json"),
        Kind::Guided | Kind::DevCycle | Kind::Paused | Kind::Epic | Kind::StoryCycle | Kind::Spec => {
            story::name_of(path.name()).to_owned()
        }
    }
}

fn story_of(kind: Kind, node: &Node, subject: String) -> Option<String> {
    match kind {
        // The file is called `current.json` if there is no story.
        Kind::Ade => Some(subject).filter(|story| story != "current"),
        Kind::QaLoop | Kind::DevCycle | Kind::Paused | Kind::Build => Some(subject),
        Kind::Bob => {
            word(node, &["session_state", "progress", "current_story"]).map(|story| story::name_of(story).to_owned())
        }
        // `context` has no fixed keys; it names the story like the other states do.
        Kind::Record => ["story", "story_id", "storyId", "current_story", "currentStory"]
            .iter()
            .find_map(|key| word(node, &["context", key]))
            .map(|story| story::name_of(story).to_owned()),
        Kind::Guided | Kind::Engine | Kind::Phases | Kind::Epic | Kind::Pipeline | Kind::StoryCycle | Kind::Spec => {
            None
        }
    }
}

/// Returns when the state was last written: the newest of its timestamps (docs/formats/aios-states.md#master-orchestration).
fn stamp(kind: Kind, node: &Node) -> Option<Timestamp> {
    let paths: &[&[&str]] = match kind {
        Kind::QaLoop => &[&["updatedAt"], &["startedAt"]],
        Kind::Phases | Kind::Pipeline => &[&["updatedAt"], &["updated_at"]],
        Kind::Guided | Kind::Record => &[&["updated_at"], &["started_at"]],
        Kind::Engine => &[&["engine_state", "updated_at"]],
        Kind::DevCycle => &[&["lastUpdated"]],
        Kind::Paused => &[&["paused_at"], &["aborted_at"]],
        Kind::Ade => &[&["timestamps", "updatedAt"], &["timestamps", "savedAt"], &["updatedAt"]],
        Kind::Bob => &[&["session_state", "last_updated"]],
        Kind::Build => &[&["lastCheckpoint"], &["startedAt"], &["abandonedAt"]],
        Kind::Epic => &[&["epic_state", "updated_at"]],
        Kind::StoryCycle | Kind::Spec => &[],
    };
    paths.iter().filter_map(|path| Timestamp::parse(word(node, path)?, 0).ok()).max()
}

/// Returns the scalar at a path of keys, unless it is empty.
fn word<'a>(node: &'a Node, path: &[&str]) -> Option<&'a str> {
    let at = path.iter().try_fold(node, |node, key| node.get(key))?;
    at.scalar().map(str::trim).filter(|text| !text.is_empty())
}

impl Kind {
    /// Returns the subject of a run without a saved state as discovery named it: where several files have one id, by its file.
    pub(super) fn implied_subject(self, files: &FileSet, id: &str) -> String {
        let name = files.name.strip_prefix(&self.run_id(""));
        name.map_or_else(|| clean_line(id, ID_CHARS), str::to_owned)
    }

    /// Returns the run id for a subject.
    pub(super) fn run_id(self, subject: &str) -> String {
        let prefix = match self {
            Self::Epic | Self::Pipeline => "epic",
            Self::QaLoop => "qa",
            Self::Guided | Self::Engine | Self::Phases | Self::Record => "workflow",
            Self::DevCycle | Self::Paused => "dev",
            Self::Ade => "ade",
            Self::Bob => "bob",
            Self::Build => "build",
            Self::StoryCycle => "sdc",
            Self::Spec => "spec",
        };
        format!("{prefix}-{}", clean_line(subject, ID_CHARS))
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
