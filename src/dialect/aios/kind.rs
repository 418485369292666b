//! Which kind of state a file holds. Names lie, and two kinds share a folder: the content decides (dotagent-and-aios.md 2.6).

use super::places;
use super::places::Area;
use crate::dialect::Loaded;
use crate::dialect::yaml;
use crate::dialect::yaml::Kind as Value;
use crate::dialect::yaml::Node;
use crate::dialect::yaml::Place;
use crate::model::Content;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::ReadProblem;
use crate::model::RelPath;

/// Names a kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The waves of an epic.
    Epic,
    /// Reviews and fixes of one story.
    QaLoop,
    /// W1: a workflow that a person is guided through.
    Guided,
    /// W2: a workflow that an engine runs.
    Engine,
    /// W3: the six phases of a story.
    DevCycle,
    /// W4: the same, put to rest or given up at its checkpoint.
    Paused,
    /// W5: a master orchestration.
    Ade,
    /// W6: the phases of a context manager.
    Phases,
    /// W7: the session of Bob.
    Bob,
    /// W8: an autonomous build.
    Build,
    /// The record of a nexos orchestration.
    Record,
    /// Nothing is saved; a story says that somebody works on it.
    StoryCycle,
    /// Nothing is saved; artifacts of a spec pipeline lie there.
    Spec,
}

/// Says what a file is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sort {
    State(Kind),
    /// Speaks about runs and is never the authority on one.
    Evidence(Evidence),
    /// A loop status that names no story yet.
    Idle,
    /// Nothing that Piton knows.
    NotOurs,
    Unreadable(Place, String),
}

/// Says what a file that is no state is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Derived from states, for people to look at.
    Mirror,
    /// A list of QA loops.
    Index,
    /// The order of an epic's stories.
    ExecutionPlan,
    /// What was tried on one subtask.
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
    /// With a finding, when the file is no state.
    pub(super) fn of(files: &FileSet) -> Result<Self, Box<Finding>> {
        let path = &files.state;
        if path.as_str().ends_with(".md") {
            return Ok(Self::StoryCycle);
        }
        let finding = |code, message: String| Box::new(Finding::new(code, message).at(path));
        let content = files.files.get(path).map(|entry| &entry.content);
        let sort = match content {
            Some(Content::Bytes(bytes)) => sort(path, bytes),
            Some(Content::Problem(ReadProblem::Directory) | Content::NameOnly) => return Ok(Self::Spec),
            None if by_name(path).is_none() => return Ok(Self::Spec),
            Some(Content::Problem(_)) | None => {
                let problem = files.problem(path).map_or_else(String::new, |problem| problem.to_string());
                Sort::Unreadable(Place::default(), problem)
            }
        };
        match sort {
            Sort::State(kind) => Ok(kind),
            Sort::Unreadable(place, problem) => by_name(path).ok_or_else(|| {
                let found = finding(FindingCode::StateUnreadable, problem);
                if place.line > 0 { Box::new(found.line(place.line, Some(place.column))) } else { found }
            }),
            Sort::Evidence(_) | Sort::Idle | Sort::NotOurs => {
                Err(finding(FindingCode::StateUnreadable, format!("{path} holds no state")))
            }
        }
    }

    /// Returns the name of the workflow.
    pub(super) const fn workflow(self) -> &'static str {
        match self {
            Self::Epic => "epic-execution",
            Self::QaLoop => "qa-loop",
            Self::Guided => "guided-workflow",
            Self::Engine => "workflow-engine",
            Self::DevCycle | Self::Paused => "development-cycle",
            Self::Ade => "master-orchestrator",
            Self::Phases => "context-manager",
            Self::Bob => "bob-session",
            Self::Build => "autonomous-build",
            Self::Record => "orchestrate",
            Self::StoryCycle => "story-development-cycle",
            Self::Spec => "spec-pipeline",
        }
    }

    /// Returns the place in the order in which `orchestrate-resume` looks; a story in review comes one later.
    pub(super) const fn priority(self) -> u8 {
        match self {
            Self::Epic => 1,
            Self::QaLoop => 2,
            Self::Guided
            | Self::Engine
            | Self::DevCycle
            | Self::Paused
            | Self::Ade
            | Self::Phases
            | Self::Bob
            | Self::Build
            | Self::Record => 3,
            Self::StoryCycle => 4,
            Self::Spec => 6,
        }
    }
}

/// Tells what a file is by what is in it.
pub(super) fn sort(path: &RelPath, bytes: &[u8]) -> Sort {
    if let Some(evidence) = known_name(path) {
        return Sort::Evidence(evidence);
    }
    match parse(bytes) {
        Ok(node) => shape(&node),
        Err(Unparsed::Documents) => Sort::Evidence(Evidence::Digest),
        Err(Unparsed::Empty) => Sort::Unreadable(Place { line: 1, column: 1 }, "the file is empty".to_owned()),
        Err(Unparsed::Broken(place, message)) => Sort::Unreadable(place, message),
    }
}

/// Says why a file is no tree.
pub(super) enum Unparsed {
    Empty,
    /// Several documents in one file.
    Documents,
    Broken(Place, String),
}

/// Reads a file of either format: JSON is YAML.
pub(super) fn parse(bytes: &[u8]) -> Result<Node, Unparsed> {
    if is_blank(bytes) {
        return Err(Unparsed::Empty);
    }
    if has_documents(bytes) {
        return Err(Unparsed::Documents);
    }
    yaml::parse(bytes).map_err(|error| Unparsed::Broken(error.place, error.message))
}

fn is_blank(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0)
}

/// Tells whether a second document begins in a file, which a line of three dashes always says.
fn has_documents(bytes: &[u8]) -> bool {
    let mut has_content = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let is_mark = line.strip_prefix(b"---").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace));
        if is_mark && has_content {
            return true;
        }
        let line = line.trim_ascii();
        has_content |= is_mark || !(line.is_empty() || line.starts_with(b"#") || line.starts_with(b"%"));
    }
    false
}

/// Files whose name alone says that they are no state (dotagent-and-aios.md 0, 2.4, 2.6).
fn known_name(path: &RelPath) -> Option<Evidence> {
    let place = places::place(path.as_str())?;
    match place.area {
        Area::Locks => Some(Evidence::Lock),
        Area::Derived => Some(Evidence::Mirror),
        Area::Runtime => match place.rest {
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

/// Says what is in a tree by its keys.
pub(super) fn shape(node: &Node) -> Sort {
    let has = |key: &str| get(node, key).is_some();
    let is_map = |key: &str| get(node, key).is_some_and(|node| matches!(node.kind, Value::Map(_)));
    let is_list = |key: &str| get(node, key).is_some_and(|node| matches!(node.kind, Value::List(_)));
    if !matches!(node.kind, Value::Map(_)) {
        Sort::NotOurs
    } else if has("epic_state") || is_pipeline(node) {
        Sort::State(Kind::Epic)
    } else if has("engine_state") {
        Sort::State(Kind::Engine)
    } else if has("session_state") {
        Sort::State(Kind::Bob)
    } else if is_list("loops") || is_map("loops") {
        Sort::Evidence(Evidence::Index)
    } else if has("qaLoop") {
        Sort::Evidence(Evidence::Mirror)
    } else if has("handoff") {
        Sort::Evidence(Evidence::Handoff)
    } else if is_map("execution") || (is_map("metadata") && is_map("phases") && !has("workflowId")) {
        Sort::Evidence(Evidence::ExecutionPlan)
    } else if has("subtaskId") && has("attempts") {
        Sort::Evidence(Evidence::Attempts)
    } else if is_loop(node) {
        if is_idle(node) { Sort::Idle } else { Sort::State(Kind::QaLoop) }
    } else if has("instance_id") && is_list("steps") {
        Sort::State(Kind::Guided)
    } else if has("phaseResults") && (has("workflowId") || has("currentStory")) {
        Sort::State(Kind::DevCycle)
    } else if has("paused_at") || has("aborted_at") {
        Sort::State(Kind::Paused)
    } else if has("workflowId") && is_map("epics") {
        Sort::State(Kind::Ade)
    } else if has("workflowId") && is_map("phases") {
        Sort::State(Kind::Phases)
    } else if has("storyId") && has("checkpoints") {
        Sort::State(Kind::Build)
    } else if has("execution_id") && has("phases_completed") {
        Sort::State(Kind::Record)
    } else {
        Sort::NotOurs
    }
}

/// The JSON of an epic that the orchestration template speaks of (dotagent-and-aios.md C-22).
fn is_pipeline(node: &Node) -> bool {
    let has = |key: &str| get(node, key).is_some();
    (has("epicId") || has("epic_id")) && (has("waves") || has("last_completed_wave") || has("current_wave"))
}

fn is_loop(node: &Node) -> bool {
    let has = |key: &str| get(node, key).is_some();
    let counts = has("currentIteration") || has("current_iteration") || has("iteration");
    (has("storyId") || has("story_id")) && counts && (has("history") || has("maxIterations") || has("max_iterations"))
}

fn is_idle(node: &Node) -> bool {
    let story = get(node, "storyId").or_else(|| get(node, "story_id")).and_then(text);
    story.is_none_or(str::is_empty) || get(node, "status").and_then(text) == Some("idle")
}

/// Says what a file of this name would hold, for one whose content says nothing any more.
pub(super) fn by_name(path: &RelPath) -> Option<Kind> {
    let place = places::place(path.as_str())?;
    let name = path.name();
    match place.area {
        Area::Runtime | Area::WorkflowState if name.starts_with("epic-") && name.ends_with("-state.yaml") => {
            Some(Kind::Epic)
        }
        Area::WorkflowState if name.ends_with("-pipeline.json") => Some(Kind::Epic),
        Area::Runtime if name.ends_with("-engine-state.yaml") => Some(Kind::Engine),
        Area::Runtime if name.ends_with("-state.yaml") => Some(Kind::Guided),
        Area::WorkflowState if name.ends_with("-state.yaml") => Some(Kind::DevCycle),
        Area::WorkflowState if name.ends_with(".json") => Some(Kind::Phases),
        Area::Orchestrator if name.ends_with(".json") => Some(Kind::Ade),
        Area::Qa if places::is_loop_status(name) => Some(Kind::QaLoop),
        Area::Plan | Area::Stories if name == places::BUILD_STATE => Some(Kind::Build),
        Area::Stories if name == places::BOB_STATE => Some(Kind::Bob),
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

/// Returns the value of a key.
pub(super) fn get<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Map(members) = &node.kind else { return None };
    members.iter().find(|member| member.key == key).map(|member| &member.value)
}

/// Returns a scalar as it is written; nothing for `null`.
pub(super) fn text(node: &Node) -> Option<&str> {
    match &node.kind {
        Value::Text(text) | Value::Number(text) => Some(text),
        Value::Bool(true) => Some("true"),
        Value::Bool(false) => Some("false"),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Reads a state of which only the file is known.
pub(super) fn unread(files: &FileSet) -> Loaded {
    let message = format!("{} holds a state that cannot be read yet", files.state);
    let finding = Finding::new(FindingCode::StateUnreadable, message).at(&files.state);
    Loaded { findings: vec![finding], ..Loaded::default() }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
