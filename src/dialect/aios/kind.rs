//! Classifies files by content: names are unreliable and two kinds share a folder (docs/formats/aios.md#recognition-by-content).
//!
//! What is known of each kind is its [`Descriptor`], in the file of the kind.

use super::layout::{self, Area};
use crate::{
    dialect::{EditError, Loaded},
    document::{self, Fault, Kind as Value, Member, Node, Reader, Syntax, TextPosition, salvage},
    model::{Change, Content, Edit, FileSet, Finding, FindingCode, Records, RelPath, Run, Suggestions},
};

/// A kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The waves of an epic.
    Epic,
    /// Reviews and fixes of one story.
    QaLoop,
    /// A workflow that guides the user through its steps.
    Guided,
    /// A workflow run by an engine.
    Engine,
    /// The six phases of a story.
    DevCycle,
    /// A development cycle that was paused or aborted at its checkpoint.
    Paused,
    /// A master orchestration.
    Ade,
    /// The phases of a context manager.
    Phases,
    /// The session of Bob.
    Bob,
    /// An autonomous build.
    Build,
    /// The record of a nexos orchestration.
    Record,
    /// The epic JSON described in the orchestration template.
    Pipeline,
    /// No saved state; the story says that it is in progress.
    StoryCycle,
    /// No saved state; there are artifacts of a spec pipeline.
    Spec,
}

/// What is known of a kind of run: what it is called, where its state has what, and how it is read and written. Places in a state
/// are JSON pointers.
pub(super) struct Descriptor {
    /// The description in messages.
    pub(super) what: &'static str,
    /// The kind of workflow in the words of the titles.
    pub(super) workflow_type: &'static str,
    /// The beginning of its run ids.
    pub(super) prefix: &'static str,
    /// The priority in the search order of `orchestrate-resume` (docs/formats/aios.md#where-files-live).
    pub(super) priority: u8,
    /// The format version and the newest known major one (docs/formats/aios.md#recognition-by-content).
    pub(super) version: Option<(&'static str, u64)>,
    /// Where the state names its subject: an epic, a story or a workflow instance. The first one that is not empty counts.
    pub(super) subject: &'static [&'static str],
    /// Whether the subject is written as the path of a story.
    pub(super) subject_is_path: bool,
    /// The subject of a state that names none.
    pub(super) unnamed: Unnamed,
    pub(super) story: StoryName,
    /// When the state was last written, first the one that counts for a writer. The newest counts.
    pub(super) stamps: &'static [&'static str],
    /// When the run started, if the state says so.
    pub(super) started: Option<&'static str>,
    /// How the state claims its story; `None` if it claims none.
    pub(super) claim: Option<Claim>,
    /// The changes by a person that the format can record.
    pub(super) records: Records,
    /// Whether Piton writes the steps of such states.
    pub(super) is_written: bool,
    pub(super) read: Read,
    /// `None` for a state that is only read.
    pub(super) edit: Option<Write>,
    /// Suggests edits of the stories of a run; `None` if the state does not say which stories are finished.
    pub(super) suggest: Option<fn(&FileSet, &Run) -> Suggestions>,
}

/// Where the subject of a state that names none comes from.
pub(super) enum Unnamed {
    Nowhere,
    /// The name of the folder, unless many states are there.
    Folder,
    /// The file name without this end.
    Stem(&'static str),
    /// The story that the file is named after.
    Story,
}

/// The story that a state is about.
pub(super) enum StoryName {
    Absent,
    /// The subject, unless it is this file name.
    Subject(Option<&'static str>),
    /// What the first of these that is not empty names.
    At(&'static [&'static str]),
}

/// How a state claims its story, which another state may claim too.
pub(super) struct Claim {
    /// The path of the story.
    pub(super) path: Option<&'static str>,
    /// Where and with which words the state says that it has nothing left to do.
    pub(super) finished: Option<(&'static str, &'static [&'static str])>,
}

/// Says `completed`, or `complete`, when nothing is left to do.
pub(super) const FINISHED_STATUS: Option<(&str, &[&str])> = Some(("/status", &["completed", "complete"]));

/// How the run of a state is read.
pub(super) enum Read {
    /// From the fields of one state.
    State(fn(&Reader<'_>) -> Run),
    /// From all files.
    Files(fn(&FileSet) -> Loaded),
}

type Write = fn(&FileSet, &Change) -> Result<Vec<Edit>, EditError>;

impl Descriptor {
    /// Returns a kind whose runs are read from the fields of one state; else as [`Descriptor::of_files`].
    pub(super) const fn of_state(what: &'static str, read: fn(&Reader<'_>) -> Run, edit: Write) -> Self {
        Self::new(what, Read::State(read), Some(edit))
    }

    /// Returns a kind that is written, records no change by a person but a resume, and is about no story.
    pub(super) const fn of_files(what: &'static str, load: fn(&FileSet) -> Loaded, edit: Write) -> Self {
        Self::new(what, Read::Files(load), Some(edit))
    }

    /// Returns a kind that is only read, from the fields of one state.
    pub(super) const fn only_read(what: &'static str, read: fn(&Reader<'_>) -> Run) -> Self {
        Self { records: Records::NONE, is_written: false, ..Self::new(what, Read::State(read), None) }
    }

    const fn new(what: &'static str, read: Read, edit: Option<Write>) -> Self {
        Self {
            what,
            workflow_type: "Workflow",
            prefix: "workflow",
            priority: 3,
            version: None,
            subject: &[],
            subject_is_path: false,
            unnamed: Unnamed::Story,
            story: StoryName::Absent,
            stamps: &[],
            started: None,
            claim: None,
            records: Records::RESUME,
            is_written: true,
            read,
            edit,
            suggest: None,
        }
    }
}

/// The classification of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FileClass {
    State(Kind),
    /// Evidence about runs, never the state of one.
    Evidence(Evidence),
    /// A loop status without a story.
    Idle,
    /// Not a known format.
    NotOurs,
    Unreadable(TextPosition, String),
}

/// Files that are evidence, not states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A view derived from states.
    Mirror,
    /// A list of QA loops.
    Index,
    /// The plan of an epic.
    ExecutionPlan,
    /// The attempts at one subtask.
    Attempts,
    Lock,
    Handoff,
    /// Front matter and prose in one file.
    Digest,
    /// The framework's own bookkeeping: sessions, settings, the status of the project.
    Bookkeeping,
}

impl Kind {
    /// Returns the kind of the state that a file set was read for.
    ///
    /// # Errors
    ///
    /// With a finding, if the file is not a state.
    pub(super) fn of(files: &FileSet) -> Result<Self, Box<Finding>> {
        let path = &files.state;
        if path.as_str().ends_with(".md") {
            return Ok(Self::StoryCycle);
        }
        if layout::area_of_pipeline(path).is_some() {
            return Ok(Self::Spec);
        }
        let finding = |code, message: String| Box::new(Finding::new(code, message).at(path));
        let content = files.files.get(path).map(|entry| &entry.content);
        let class = match content {
            Some(Content::Bytes(bytes)) => classify(path, bytes),
            Some(Content::Problem(_) | Content::NameOnly) | None => {
                let problem = files.problem(path).map_or_else(String::new, |problem| problem.to_string());
                FileClass::Unreadable(TextPosition::default(), problem)
            }
        };
        match class {
            FileClass::State(kind) => Ok(kind),
            FileClass::Unreadable(place, problem) => by_name(path).ok_or_else(|| {
                let found = finding(FindingCode::StateUnreadable, problem);
                if place.line > 0 { Box::new(found.line(place.line, Some(place.column))) } else { found }
            }),
            FileClass::Evidence(_) | FileClass::Idle | FileClass::NotOurs => {
                Err(finding(FindingCode::StateUnreadable, format!("{path} is not a state")))
            }
        }
    }
}

/// Classifies a file by its content.
pub(super) fn classify(path: &RelPath, bytes: &[u8]) -> FileClass {
    if let Some(evidence) = known_name(path) {
        return FileClass::Evidence(evidence);
    }
    match parse(bytes) {
        Ok(node) => match shape(&node) {
            FileClass::State(_) if !is_certain(path, &node) => FileClass::NotOurs,
            FileClass::NotOurs if must_be_state(path, &node) => match salvage::conflict(bytes) {
                Some((line, message)) => FileClass::Unreadable(TextPosition { line, column: 1 }, message),
                None => FileClass::Unreadable(
                    TextPosition { line: 1, column: 1 },
                    "it does not hold the state that its name promises".to_owned(),
                ),
            },
            class => class,
        },
        Err(ParseFailure::Documents) => FileClass::Evidence(Evidence::Digest),
        Err(failure @ (ParseFailure::Empty | ParseFailure::Broken(..))) => {
            let (place, message) = failure.describe();
            FileClass::Unreadable(place, message)
        }
    }
}

/// Tells whether content that looks like a state is one. Among documents the keys alone do not tell a state from a plan: the
/// name of the file has to be that of a state, or the root key one that only states have.
fn is_certain(path: &RelPath, node: &Node) -> bool {
    let is_among_documents =
        layout::split(path.as_str()).is_some_and(|parts| matches!(parts.area, Area::Stories | Area::Specs));
    let is_wrapped = || ["epic_state", "engine_state", "session_state"].iter().any(|key| node.get(key).is_some());
    !is_among_documents || by_name(path).is_some() || layout::is_loop_status(path.name()) || is_wrapped()
}

/// Tells whether a file has the name of a state that nothing else has: an epic, or in a folder of states a kind with no keys at all.
fn must_be_state(path: &RelPath, node: &Node) -> bool {
    let named = by_name(path);
    // Any JSON file in their folders has the name of phases and of an orchestration.
    let is_named = named.is_some_and(|kind| !matches!(kind, Kind::Phases | Kind::Ade));
    let is_among_states = || layout::split(path.as_str()).is_some_and(|parts| parts.area.holds_states());
    named == Some(Kind::Epic) || is_named && is_among_states() && !matches!(node.kind, Value::Map(_))
}

/// The reason why a file could not be parsed.
pub(super) enum ParseFailure {
    Empty,
    /// Several documents in one file.
    Documents,
    Broken(TextPosition, String),
}

impl ParseFailure {
    /// Returns position and reason.
    pub(super) fn describe(self) -> (TextPosition, String) {
        let top = TextPosition { line: 1, column: 1 };
        match self {
            Self::Empty => (top, "the file is empty".to_owned()),
            Self::Documents => (top, "the file has several documents, so it is not a state".to_owned()),
            Self::Broken(place, message) => (place, message),
        }
    }
}

/// Parses YAML or JSON; JSON is read as YAML. Of a state below one key, returns what is below it
/// (docs/formats/aios.md#recognition-by-content).
pub(super) fn parse(bytes: &[u8]) -> Result<Node, ParseFailure> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(ParseFailure::Empty);
    }
    let node = document::parse(bytes, Syntax::Yaml).map_err(|error| match error.fault {
        Fault::SecondDocument => ParseFailure::Documents,
        Fault::Syntax | Fault::DuplicateKey | Fault::TooMuch => ParseFailure::Broken(error.place, error.message),
    })?;
    let wrapped = wrapped(&node).map(|member| member.value.clone());
    Ok(wrapped.unwrap_or(node))
}

/// Returns the only mapping of the root if it holds the fields of a state and the root does not.
pub(super) fn wrapped(node: &Node) -> Option<&Member> {
    let Value::Map(members) = &node.kind else { return None };
    let mut inner = members.iter().filter(|member| matches!(member.value.kind, Value::Map(_) | Value::List(_)));
    let only = inner.next().filter(|_| inner.next().is_none())?;
    let is_state = |node: &Node| matches!(shape(node), FileClass::State(_));
    (shape(node) == FileClass::NotOurs && is_state(&only.value)).then_some(only)
}

/// Returns the kind of evidence for names that are never states (docs/formats/aios.md#files-that-are-not-state).
pub(super) fn known_name(path: &RelPath) -> Option<Evidence> {
    let parts = layout::split(path.as_str())?;
    match parts.area {
        Area::Locks => Some(Evidence::Lock),
        Area::Derived => Some(Evidence::Mirror),
        Area::Runtime => match parts.rest {
            "qa-loops-index.json" => Some(Evidence::Index),
            "status.json" => Some(Evidence::Mirror),
            "session.json"
            | "session-state.json"
            | "session-state.yaml"
            | "project-status.yaml"
            | "config.yaml"
            | "config.yml" => Some(Evidence::Bookkeeping),
            name if name.ends_with(".lock") => Some(Evidence::Lock),
            _ => None,
        },
        Area::WorkflowState | Area::Orchestrator | Area::Qa | Area::Stories | Area::Plan | Area::Specs => None,
    }
}

/// Classifies a tree by its keys.
pub(super) fn shape(node: &Node) -> FileClass {
    let has = |key: &str| node.get(key).is_some();
    let is_map = |key: &str| node.get(key).is_some_and(|node| matches!(node.kind, Value::Map(_)));
    let is_list = |key: &str| node.get(key).is_some_and(|node| matches!(node.kind, Value::List(_)));
    if !matches!(node.kind, Value::Map(_)) {
        FileClass::NotOurs
    } else if has("epic_state") {
        FileClass::State(Kind::Epic)
    } else if is_pipeline(node) {
        FileClass::State(Kind::Pipeline)
    } else if has("engine_state") {
        FileClass::State(Kind::Engine)
    } else if has("session_state") {
        FileClass::State(Kind::Bob)
    } else if is_list("loops") || is_map("loops") {
        FileClass::Evidence(Evidence::Index)
    } else if has("qaLoop") {
        FileClass::Evidence(Evidence::Mirror)
    } else if has("handoff") {
        FileClass::Evidence(Evidence::Handoff)
    } else if is_map("execution") || (is_map("metadata") && is_map("phases") && !has("workflowId")) {
        FileClass::Evidence(Evidence::ExecutionPlan)
    } else if has("subtaskId") && has("attempts") {
        FileClass::Evidence(Evidence::Attempts)
    } else if is_loop(node) {
        if is_idle(node) { FileClass::Idle } else { FileClass::State(Kind::QaLoop) }
    } else if has("instance_id") && is_list("steps") {
        FileClass::State(Kind::Guided)
    } else if has("phaseResults") && (has("workflowId") || has("currentStory")) {
        FileClass::State(Kind::DevCycle)
    } else if has("paused_at") || has("aborted_at") {
        FileClass::State(Kind::Paused)
    } else if has("workflowId") && is_map("epics") {
        FileClass::State(Kind::Ade)
    } else if has("workflowId") && is_map("phases") {
        FileClass::State(Kind::Phases)
    } else if has("storyId") && has("checkpoints") {
        FileClass::State(Kind::Build)
    } else if has("execution_id") && has("phases_completed") {
        FileClass::State(Kind::Record)
    } else {
        FileClass::NotOurs
    }
}

/// Returns whether a tree is the epic JSON of the orchestration template (docs/formats/aios.md#epic-state).
pub(super) fn is_pipeline(node: &Node) -> bool {
    let has = |key: &str| node.get(key).is_some();
    (has("epicId") || has("epic_id")) && (has("last_completed_wave") || has("current_wave") || has_waves_of_a_run(node))
}

/// The status words of epics and their waves.
const STATUSES_OF_EPICS: [&str; 6] = ["active", "completed", "aborted", "pending", "in_progress", "failed"];

/// Tells whether waves are those of a state. A plan lists its waves, or has a status that no run has: it says what is to be done,
/// not what was (docs/formats/aios.md#recognition-by-content).
fn has_waves_of_a_run(node: &Node) -> bool {
    node.get("waves").is_some_and(|waves| matches!(waves.kind, Value::Map(_))) && has_status_of_a_run(node)
}

/// Tells whether the status of an epic is one of the words of states.
pub(super) fn has_status_of_a_run(node: &Node) -> bool {
    let is_known = |status: &Node| status.scalar().is_none_or(|word| STATUSES_OF_EPICS.contains(&word));
    node.get("status").is_none_or(is_known)
}

fn is_loop(node: &Node) -> bool {
    let has = |key: &str| node.get(key).is_some();
    let counts = has("currentIteration") || has("current_iteration") || has("iteration");
    (has("storyId") || has("story_id")) && counts && (has("history") || has("maxIterations") || has("max_iterations"))
}

fn is_idle(node: &Node) -> bool {
    let story = node.get("storyId").or_else(|| node.get("story_id")).and_then(Node::scalar);
    story.is_none_or(str::is_empty) || node.get("status").and_then(Node::scalar) == Some("idle")
}

/// Returns the kind that the file name suggests, for files with unreadable content.
pub(super) fn by_name(path: &RelPath) -> Option<Kind> {
    let parts = layout::split(path.as_str())?;
    let name = path.name();
    match parts.area {
        Area::Runtime | Area::WorkflowState if name.starts_with("epic-") && name.ends_with("-state.yaml") => {
            Some(Kind::Epic)
        }
        Area::WorkflowState if name.ends_with("-pipeline.json") => Some(Kind::Pipeline),
        Area::Runtime if name.ends_with("-engine-state.yaml") => Some(Kind::Engine),
        Area::Runtime if name.ends_with("-state.yaml") => Some(Kind::Guided),
        Area::WorkflowState if name.ends_with("-state.yaml") => Some(Kind::DevCycle),
        Area::WorkflowState if name.ends_with(".json") => Some(Kind::Phases),
        Area::Orchestrator if name.ends_with(".json") => Some(Kind::Ade),
        Area::Qa if layout::is_loop_status(name) => Some(Kind::QaLoop),
        Area::Plan | Area::Stories if name == layout::BUILD_STATE => Some(Kind::Build),
        Area::Stories if name == layout::BOB_STATE => Some(Kind::Bob),
        Area::Runtime
        | Area::WorkflowState
        | Area::Orchestrator
        | Area::Locks
        | Area::Derived
        | Area::Qa
        | Area::Stories
        | Area::Plan
        | Area::Specs => None,
    }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
