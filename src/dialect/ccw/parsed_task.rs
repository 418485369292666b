//! What the object of a task says, independent of the rest of its session: all format eras, and every position where a field has
//! been written (docs/formats/ccw.md#task-file).

use crate::document::{Kind, Node};

use super::{
    history::History,
    parts::{self, TaskPart},
    raw,
    rules::{self, StatusWord, TaskExecutor},
};
use crate::model::{Clock, Detail, Status, is_commit_hash};

/// Where the reason of a block is written.
pub(super) const BLOCKED_BECAUSE: [&str; 4] =
    ["/blocked_reason", "/block_reason", "/execution/blocked_reason", "/meta/blocked_reason"];

/// The content of the object that defines a task.
#[derive(Debug, Default)]
pub(super) struct ParsedTask {
    pub(super) own_id: Option<String>,
    /// The meaning of its `status`.
    pub(super) word: StatusWord,
    pub(super) running: RunningWords,
    /// The reason that it gives for being blocked.
    pub(super) blocked_because: Option<String>,
    pub(super) title: Option<String>,
    pub(super) executor: TaskExecutor,
    pub(super) parent: Option<String>,
    pub(super) subtasks: Vec<Subtask>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) history: Option<Box<History>>,
    pub(super) commit: Option<String>,
    /// The field that says a pending task is done.
    pub(super) record: Option<&'static str>,
    pub(super) parts: Vec<TaskPart>,
    /// What its step takes over, without the parts; apart, since writers hold every task without it.
    pub(super) detail: Option<Box<Detail>>,
}

/// The status words for a running task that are in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningWords {
    pub(super) active: bool,
    pub(super) in_progress: bool,
}

/// A subtask that a task lists.
#[derive(Debug)]
pub(super) struct Subtask {
    /// Its id in the list.
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// Whether the list has only its name.
    pub(super) is_name: bool,
}

/// A dependency as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) text: String,
    /// Whether the field may also list other things than tasks, such as packages.
    pub(super) is_vague: bool,
}

impl ParsedTask {
    /// Reads the object that defines a task, with its parts and detail.
    pub(super) fn with_detail(value: &Node, clock: Clock) -> Self {
        Self { parts: parts::read(value), detail: Some(Box::new(detail(value))), ..Self::of(value, clock) }
    }

    /// Reads the object that defines a task, without its parts and detail: writers edit one task and only look at the others.
    pub(super) fn of(value: &Node, clock: Clock) -> Self {
        let word = rules::status_word(value);
        let mut running = RunningWords::default();
        running.note(value.get("status"));
        for entry in raw::items(value.get("status_history")) {
            running.note(entry.get("to"));
            running.note(entry.get("from"));
        }
        let subtask = |(at, subtask): (usize, &Node)| Subtask {
            id: raw::first_text(subtask, &["/id", "/task_id"]),
            name: parts::subtask_name(subtask, at),
            is_name: subtask.as_str().is_some(),
        };
        let subtasks = parts::subtasks(value).1.enumerate().map(subtask).collect();
        Self {
            own_id: own_id(value),
            running,
            blocked_because: raw::first_text(value, &BLOCKED_BECAUSE),
            title: title(value),
            executor: TaskExecutor::of(value),
            parent: parent(value),
            subtasks,
            dependencies: dependencies(value),
            history: History::read(value, clock),
            commit: commit(value),
            record: record_of_success(value, &word),
            word,
            parts: Vec::new(),
            detail: None,
        }
    }
}

impl RunningWords {
    fn note(&mut self, value: Option<&Node>) {
        let word = value.and_then(Node::as_str).filter(|word| rules::status(word) == Some(Status::InProgress));
        match word.map(rules::fold).as_deref() {
            Some("active") => self.active = true,
            Some(_) => self.in_progress = true,
            None => {}
        }
    }
}

pub(super) fn own_id(value: &Node) -> Option<String> {
    match &["id", "task_id"].iter().find_map(|key| value.get(key).filter(|id| !id.is_null()))?.kind {
        Kind::Text(id) => Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
        Kind::Number(id) => Some(id.clone()),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    }
}

/// Returns the title, or a description instead.
fn title(task: &Node) -> Option<String> {
    raw::first_line(task, &["/title", "/name", "/description", "/context/description"])
}

/// Returns the parent that the task names.
fn parent(task: &Node) -> Option<String> {
    raw::first_text(task, &["/context/parent", "/relations/parent", "/parent_id", "/parent"])
}

/// Returns the commit recorded as its result.
fn commit(task: &Node) -> Option<String> {
    raw::first_text(task, &["/result/commit_hash", "/result/commit"]).filter(|text| is_commit_hash(text))
}

/// Collects the dependencies from all fields in use (docs/formats/ccw.md#dependencies).
fn dependencies(task: &Node) -> Vec<Dependency> {
    let mut found = Vec::new();
    let strict = ["/depends_on", "/context/depends_on", "/relations/depends_on", "/meta/depends_on"];
    let vague = ["/dependencies", "/relations/dependencies", "/context/dependencies"];
    let places = strict.into_iter().map(|place| (place, false)).chain(vague.into_iter().map(|place| (place, true)));
    for (place, is_vague) in places {
        match task.at(place) {
            Some(object) if object.is_map() => collect_object(object, &mut found),
            other => collect(other, is_vague, &mut found),
        }
    }
    let mut unique: Vec<Dependency> = Vec::new();
    for dependency in found {
        if !unique.iter().any(|known| known.text == dependency.text) {
            unique.push(dependency);
        }
    }
    unique.shrink_to_fit();
    unique
}

/// Collects from an object: its lists under the known keys, else its keys (`{"IMPL-1": "for the API"}`).
fn collect_object(object: &Node, found: &mut Vec<Dependency>) {
    let lists = ["depends_on", "upstream", "requires", "blocked_by", "tasks"];
    let others = ["blocks", "downstream", "dependents", "required_by"];
    for key in lists {
        collect(object.get(key), false, found);
    }
    if lists.iter().chain(&others).all(|key| object.get(key).is_none()) {
        for member in object.members().iter().take(raw::LIST_LIMIT) {
            collect_text(&member.key, true, found);
        }
    }
}

fn collect_text(text: &str, is_vague: bool, found: &mut Vec<Dependency>) {
    let text = raw::line(text);
    if !["", "none", "null", "n/a", "-", "无"].iter().any(|none| text.eq_ignore_ascii_case(none)) {
        found.push(Dependency { text, is_vague });
    }
}

fn collect(value: Option<&Node>, is_vague: bool, found: &mut Vec<Dependency>) {
    let mut add = |text: &str| collect_text(text, is_vague, found);
    let Some(value) = value else { return };
    match &value.kind {
        Kind::Text(text) => text.split([',', ';', '\n']).for_each(add),
        Kind::List(items) => {
            let flat =
                items.iter().flat_map(|item| if item.is_list() { item.items() } else { std::slice::from_ref(item) });
            for item in flat.take(raw::LIST_LIMIT) {
                let named = ["/id", "/task_id", "/task", "/depends_on", "/task/id", "/ref", "/name", "/title"];
                let text = if item.is_map() || item.is_list() {
                    // An unreadable dependency counts as one that cannot be met.
                    Some(raw::first_text(item, &named).unwrap_or_else(|| raw::line(&item.to_string())))
                } else {
                    raw::text(Some(item))
                };
                if let Some(text) = text {
                    add(&text);
                }
            }
        }
        Kind::Number(number) => add(number),
        Kind::Null | Kind::Bool(_) | Kind::Map(_) => {}
    }
}

/// Returns the field that says a pending task is done: the log that CCW's tools keep, a result, or a status in another field. It
/// is only one witness of several, because `pending` may have been written later.
fn record_of_success(task: &Node, word: &StatusWord) -> Option<&'static str> {
    let is_absent = match word {
        StatusWord::Missing => true,
        StatusWord::Known(Status::Pending) | StatusWord::Alias { status: Status::Pending, .. } => false,
        StatusWord::Known(_) | StatusWord::Alias { .. } | StatusWord::Container | StatusWord::Unknown(_) => {
            return None;
        }
    };
    let completes = |pointers: &[&str]| {
        let word = raw::first_text(task, pointers);
        word.and_then(|word| rules::status(&word).or_else(|| rules::status_from_alias(&word)))
            == Some(Status::Completed)
    };
    let last = raw::items(task.get("status_history")).last();
    let logged = last.and_then(|entry| raw::first_text(entry, &["/to", "/status"]));
    if logged.and_then(|word| rules::status(&word)) == Some(Status::Completed) {
        Some("status_history")
    } else if task.at("/result/success").and_then(Node::as_bool) == Some(true) {
        Some("result")
    } else if is_absent && completes(&["/meta/status", "/execution/status", "/state"]) {
        Some("a status in another field")
    } else {
        None
    }
}

/// Returns what its step takes over, without the parts.
fn detail(task: &Node) -> Detail {
    let variables = task.at("/execution/variables").map(Node::members).unwrap_or_default();
    let mut detail = Detail {
        parts: Vec::new(),
        variables: variables.iter().map(|one| (one.key.clone(), one.value.to_json())).collect(),
        focus: focus(task),
        targets: targets(task),
        requirements: requirements(task),
        acceptance: acceptance(task),
        agents: Vec::new(),
    };
    // Lists of one or two entries in thousands of tasks.
    [&mut detail.focus, &mut detail.targets, &mut detail.requirements, &mut detail.acceptance]
        .into_iter()
        .for_each(Vec::shrink_to_fit);
    detail
}

fn focus(task: &Node) -> Vec<String> {
    let listed = raw::first_list(task, &["/context/focus_paths", "/focus_paths", "/context/scope_paths"]);
    if !listed.is_empty() {
        return listed.iter().flat_map(|path| split(path)).collect();
    }
    raw::first_list(task, &["/paths", "/context/paths"]).iter().flat_map(|path| split(path)).collect()
}

/// Splits `a;b;c`, as format C writes it.
fn split(paths: &str) -> Vec<String> {
    paths.split(';').map(raw::line).filter(|path| !path.is_empty()).collect()
}

fn targets(task: &Node) -> Vec<String> {
    let places = ["/flow_control/target_files", "/files", "/target_files", "/implementation/files", "/context/files"];
    raw::first_list(task, &places).iter().map(|path| raw::line(path)).collect()
}

fn requirements(task: &Node) -> Vec<String> {
    let mut stated = raw::first_statements(task, &["/context/requirements", "/requirements"]);
    let whole =
        ["/description", "/context/description", "/flow_control/implementation_approach/task_description", "/goal"];
    if let Some(description) = raw::first_text(task, &whole).filter(|text| !stated.contains(text)) {
        stated.insert(0, description);
    }
    stated
}

fn acceptance(task: &Node) -> Vec<String> {
    let places = [
        "/context/acceptance",
        "/acceptance",
        "/acceptance_criteria",
        "/acceptanceCriteria",
        "/context/acceptance_criteria",
        "/convergence/criteria",
    ];
    let mut stated = raw::first_statements(task, &places);
    stated.extend(raw::text(task.at("/convergence/verification")));
    stated
}

#[cfg(test)]
#[path = "parsed_task_tests.rs"]
mod tests;
