//! Reads the tasks of a session, from one file each, a list in a file or the session file, and the definition of one
//! (docs/formats/ccw.md#task-file).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    ids,
    layout::{Layout, SESSION_FILE},
    parsed_task::{ParsedTask, own_id},
    raw,
    session::CcwSession,
};
use crate::{
    document::{Node, parse_json, salvage},
    model::{Clock, Content, FileEntry, FileSet, Finding, FindingCode, Fix, RelPath, Step, StepId, Suggested, Verb},
};

/// A task as found.
#[derive(Debug)]
pub(super) struct CcwTask {
    pub(super) id: StepId,
    /// Other names that dependencies and checklists may use for it.
    pub(super) aliases: Vec<String>,
    pub(super) location: TaskLocation,
    pub(super) parsed: ParsedTask,
}

/// Where a task is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskLocation {
    /// In a JSON file: as the whole file, or at a pointer.
    File { path: RelPath, pointer: String },
    /// In an unreadable file.
    Unreadable { path: RelPath },
    /// Only in the checklist, from this line on, with the byte offsets of its checkboxes.
    Checklist { number: u32, boxes: Vec<usize> },
}

/// All tasks of a session and their problems.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) list: Vec<CcwTask>,
    pub(super) findings: Vec<Finding>,
    /// Whether a file could not be read.
    pub(super) is_degraded: bool,
    /// Whether the parts and detail of tasks are read.
    with_detail: bool,
}

/// Reads the task files or, without any, the tasks in the session file, in natural order.
pub(super) fn read(files: &FileSet, layout: &Layout, session: &CcwSession, with_detail: bool) -> Tasks {
    let mut tasks = Tasks { with_detail, ..Tasks::default() };
    let is_task = |path: &RelPath| path.name().ends_with(".json") && !path.name().starts_with('.');
    let found: Vec<(&RelPath, &FileEntry)> = files.in_dir(&layout.tasks).filter(|(path, _)| is_task(path)).collect();
    tasks.list.reserve(found.len());
    let mut lists = Vec::new();
    for (path, entry) in found {
        if let Some(list) = tasks.read_file(path, entry, files.clock) {
            lists.push((path, list));
        }
    }
    let is_alone = tasks.list.is_empty();
    for (path, list) in lists {
        tasks.read_list(path, &list, is_alone, files.clock);
    }
    if tasks.list.is_empty() {
        tasks.read_embedded(&layout.session, "/tasks", session.value().get("tasks"), files.clock);
    }
    tasks.drop_duplicates();
    tasks
}

fn stem(path: &RelPath) -> &str {
    path.name().strip_suffix(".json").unwrap_or_else(|| path.name())
}

impl Tasks {
    /// Reads a file with a single task. Returns its content if it is a list of tasks instead.
    fn read_file(&mut self, path: &RelPath, entry: &FileEntry, clock: Clock) -> Option<Node> {
        let bytes = match &entry.content {
            Content::Bytes(bytes) => bytes,
            Content::Problem(problem) => {
                self.unreadable(path, &problem.to_string(), None);
                return None;
            }
            Content::NameOnly => {
                self.unreadable(path, "its content was not read", None);
                return None;
            }
        };
        match parse_json(bytes) {
            Ok(value) if listed(&value).is_some() => return Some(value),
            Ok(value) if value.is_map() => {
                let location = TaskLocation::File { path: path.clone(), pointer: String::new() };
                self.add(path, stem(path), location, &value, clock);
            }
            Ok(_) => self.unreadable(path, "it is not a JSON object", Some((1, 1))),
            Err(_) if ["tmp", "temp"].contains(&stem(path)) => {
                // CCW agents write through a file of this name and leave it when that fails
                // (docs/formats/ccw.md#files-left-by-failed-writes).
                let message = "the file is a leftover of a failed write, not a task; it is ignored";
                self.findings.push(Finding::new(FindingCode::FieldIgnored, message).at(path));
            }
            Err(error) => {
                let problem = format!("it does not parse: {}", error.message);
                self.unreadable(path, &problem, Some((error.place.line, error.place.column)));
                if let (Some(value), Some(task)) = (salvage::json_object(bytes), self.list.last_mut()) {
                    task.parsed = ParsedTask::of(&Node::of(&value), clock);
                }
            }
        }
        None
    }

    /// Reads a file that lists tasks, if no file has a single task; otherwise it is an index of them.
    fn read_list(&mut self, path: &RelPath, list: &Node, is_alone: bool, clock: Clock) {
        let before = self.list.len();
        if let Some((pointer, tasks)) = listed(list).filter(|_| is_alone) {
            self.read_embedded(path, pointer, Some(tasks), clock);
        }
        if self.list.len() == before {
            let message = "the file is a list of tasks, not a task; it is ignored";
            self.findings.push(Finding::new(FindingCode::FieldIgnored, message).at(path));
        }
    }

    /// Reads the tasks of the array at `pointer` in a file.
    fn read_embedded(&mut self, path: &RelPath, pointer: &str, tasks: Option<&Node>, clock: Clock) {
        for (at, value) in raw::items(tasks).enumerate() {
            if !value.is_map() || own_id(value).is_none() {
                continue;
            }
            let location = TaskLocation::File { path: path.clone(), pointer: format!("{pointer}/{at}") };
            self.add(path, &embedded_name(at), location, value, clock);
        }
    }

    fn add(&mut self, path: &RelPath, stem: &str, location: TaskLocation, value: &Node, clock: Clock) {
        let parsed =
            if self.with_detail { ParsedTask::with_detail(value, clock) } else { ParsedTask::of(value, clock) };
        let own = parsed.own_id.as_deref();
        let id = match own {
            Some(id) if ids::is_safe(id) => id,
            Some(id) => {
                let message = format!("`{}` cannot be used as an id; the file name is used instead", raw::line(id));
                self.findings.push(Finding::new(FindingCode::IdUnsafe, message).at(path).pointer("/id"));
                stem
            }
            None => stem,
        };
        if location.is_whole_file() && ids::is_safe(own.unwrap_or(stem)) && !id.eq_ignore_ascii_case(stem) {
            let message = format!("the file {} describes the task {}", raw::line(path.name()), raw::line(id));
            self.findings.push(Finding::new(FindingCode::IdMismatch, message).at(path).on(&StepId::new(id)));
        }
        let id = StepId::new(id);
        let names = own.into_iter().chain([stem]);
        let aliases = names.filter(|name| *name != id.as_str()).map(str::to_owned).collect();
        self.list.push(CcwTask { id, aliases, location, parsed });
    }

    fn unreadable(&mut self, path: &RelPath, problem: &str, position: Option<(u32, u32)>) {
        let id = StepId::new(stem(path));
        let finding =
            Finding::new(FindingCode::PartUnreadable, format!("the task file of {id} cannot be used: {problem}"));
        let session = path.parent().and_then(|tasks| tasks.parent());
        let run = session.map(|session| format!("./{session}")).unwrap_or_default();
        let restore = Suggested::of(Verb::Restore, run);
        let fix = format!("correct the file by hand, or restore a checkpoint: `{restore}`");
        let finding = finding.at(path).on(&id).fix(Fix::offering(fix, [restore]));
        self.findings.push(match position {
            Some((line, column)) => finding.line(line, Some(column)),
            None => finding,
        });
        self.is_degraded = true;
        let location = TaskLocation::Unreadable { path: path.clone() };
        self.list.push(CcwTask { id, aliases: Vec::new(), location, parsed: ParsedTask::default() });
    }

    /// Of tasks with the same id, keeps the one whose file has that name, else the first.
    fn drop_duplicates(&mut self) {
        let mut names: Vec<(String, usize)> =
            self.list.iter().enumerate().map(|(at, task)| (task.id.as_str().to_lowercase(), at)).collect();
        names.sort_unstable();
        let mut dropped: BTreeSet<usize> = BTreeSet::new();
        for alike in names.chunk_by(|left, right| left.0 == right.0).filter(|alike| alike.len() > 1) {
            let is_named = |at: usize| {
                let task = &self.list[at];
                task.location.path().is_some_and(|path| task.id.matches(stem(path)))
            };
            let kept = alike.iter().find(|(_, at)| is_named(*at)).unwrap_or(&alike[0]).1;
            dropped.extend(alike.iter().map(|(_, at)| *at).filter(|at| *at != kept));
        }
        for at in &dropped {
            let task = &self.list[*at];
            let message = format!("the id {} is used by more than one task; this one is ignored", task.id);
            let finding = Finding::new(FindingCode::DuplicateId, message).on(&task.id);
            self.findings.push(match task.location.path() {
                Some(path) => finding.at(path).fix("give the task a unique id"),
                None => finding,
            });
        }
        let mut at = 0;
        self.list.retain(|_| {
            at += 1;
            !dropped.contains(&(at - 1))
        });
        // No two ids are alike any more.
        self.list.sort_unstable_by(|left, right| left.id.cmp(&right.id));
    }
}

impl TaskLocation {
    pub(super) fn path(&self) -> Option<&RelPath> {
        match self {
            Self::File { path, .. } | Self::Unreadable { path } => Some(path),
            Self::Checklist { .. } => None,
        }
    }

    /// Tells whether it is a file with this task only.
    pub(super) fn is_whole_file(&self) -> bool {
        matches!(self, Self::File { pointer, .. } if pointer.is_empty())
    }
}

/// Returns the status word for a running task: `active` if the files of this session use it, else `in_progress`.
pub(super) fn running_word(tasks: &[CcwTask]) -> &'static str {
    let is_active = tasks.iter().any(|task| task.parsed.running.active);
    let is_in_progress = tasks.iter().any(|task| task.parsed.running.in_progress);
    if is_active && !is_in_progress { "active" } else { "in_progress" }
}

/// Returns the list in a file among the task files, with its pointer; `None` for a task.
pub(super) fn listed(value: &Node) -> Option<(&'static str, &Node)> {
    if value.is_list() {
        return raw::items(Some(value)).any(|item| own_id(item).is_some()).then_some(("", value));
    }
    let has = |key: &str| value.get(key).is_some();
    let tasks = value.get("tasks").filter(|tasks| tasks.is_list())?;
    (!has("id") && !has("task_id") && !has("title")).then_some(("/tasks", tasks))
}

/// Returns the name of a task in a list that has no usable id.
fn embedded_name(at: usize) -> String {
    format!("task-{}", at + 1)
}

/// Reads the definition of a step from its file; null if the file is not readable or does not have it.
pub(super) fn definition_of(files: &FileSet, step: &Step) -> Value {
    let Some(path) = &step.file else { return Value::Null };
    if !path.name().ends_with(".json") {
        // A task that is only in the checklist.
        return json!({"title": step.title});
    }
    let Some(file) = files.bytes(path).and_then(|bytes| parse_json(bytes).ok()) else { return Value::Null };
    let list = match listed(&file) {
        Some((_, list)) => Some(list),
        None if path.name() == SESSION_FILE => file.get("tasks"),
        None => return definition(file.to_json()),
    };
    let is_step = |(at, task): &(usize, &Node)| {
        let name = own_id(task).filter(|id| ids::is_safe(id)).unwrap_or_else(|| embedded_name(*at));
        step.id == StepId::new(&name)
    };
    let found = raw::items(list).enumerate().find(is_step);
    found.map_or(Value::Null, |(_, task)| definition(task.to_json()))
}

/// Returns the task without the fields that change while it runs.
fn definition(task: Value) -> Value {
    const VOLATILE: [&str; 12] = [
        "status",
        "status_history",
        "execution",
        "executed_at",
        "completed_at",
        "updated_at",
        "result",
        "version",
        "replan_history",
        "cli_execution_id",
        "cli_execution",
        "context_package_path",
    ];
    let Value::Object(mut kept) = task else { return Value::Null };
    kept.retain(|key, _| !VOLATILE.contains(&key.as_str()));
    if let Some(Value::Array(subtasks)) = kept.get_mut("subtasks") {
        for subtask in subtasks.iter_mut().filter_map(Value::as_object_mut) {
            subtask.remove("status");
        }
    }
    Value::Object(kept)
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
