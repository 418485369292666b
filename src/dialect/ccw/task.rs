//! Reads task files leniently: all format eras, and every position where a field has been written
//! (docs/formats/ccw.md#task-file).

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::json;

use super::ids;
use super::layout::Layout;
use super::layout::SESSION_FILE;
use super::parsed_task::ParsedTask;
use super::raw;
use super::rules;
use super::rules::StatusWord;
use super::session::Session;
use crate::dialect::json::parse_value;
use crate::dialect::salvage;
use crate::model::Clock;
use crate::model::Content;
use crate::model::Detail;
use crate::model::FileEntry;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::quoted;

/// A task as found.
#[derive(Debug)]
pub(super) struct Task {
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
    pub(super) list: Vec<Task>,
    pub(super) findings: Vec<Finding>,
    /// Whether a file could not be read.
    pub(super) is_degraded: bool,
    /// Whether the parts and detail of tasks are read.
    with_detail: bool,
}

/// Reads the task files or, without any, the tasks in the session file, in natural order.
pub(super) fn read(files: &FileSet, layout: &Layout, session: &Session, with_detail: bool) -> Tasks {
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
    fn read_file(&mut self, path: &RelPath, entry: &FileEntry, clock: Clock) -> Option<Value> {
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
        match parse_value(bytes) {
            Ok(value) if listed(&value).is_some() => return Some(value),
            Ok(value) if value.is_object() => {
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
                self.unreadable(path, &problem, Some((error.line, error.column)));
                if let (Some(value), Some(task)) = (salvage::json_object(bytes), self.list.last_mut()) {
                    task.parsed = ParsedTask::of(&value, clock);
                }
            }
        }
        None
    }

    /// Reads a file that lists tasks, if no file has a single task; otherwise it is an index of them.
    fn read_list(&mut self, path: &RelPath, list: &Value, is_alone: bool, clock: Clock) {
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
    fn read_embedded(&mut self, path: &RelPath, pointer: &str, tasks: Option<&Value>, clock: Clock) {
        for (at, value) in raw::items(tasks).enumerate() {
            if !value.is_object() || own_id(value).is_none() {
                continue;
            }
            let location = TaskLocation::File { path: path.clone(), pointer: format!("{pointer}/{at}") };
            self.add(path, &embedded_name(at), location, value, clock);
        }
    }

    fn add(&mut self, path: &RelPath, stem: &str, location: TaskLocation, value: &Value, clock: Clock) {
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
        self.list.push(Task { id, aliases, location, parsed });
    }

    fn unreadable(&mut self, path: &RelPath, problem: &str, position: Option<(u32, u32)>) {
        let id = StepId::new(stem(path));
        let finding =
            Finding::new(FindingCode::PartUnreadable, format!("the task file of {id} cannot be used: {problem}"));
        let session = path.parent().and_then(|tasks| tasks.parent());
        let run = session.map(|session| quoted(&format!("./{session}"))).unwrap_or_default();
        let fix = format!("correct the file by hand, or restore a checkpoint: `piton restore {run}`");
        let finding = finding.at(path).on(&id).fix(fix);
        self.findings.push(match position {
            Some((line, column)) => finding.line(line, Some(column)),
            None => finding,
        });
        self.is_degraded = true;
        let location = TaskLocation::Unreadable { path: path.clone() };
        self.list.push(Task { id, aliases: Vec::new(), location, parsed: ParsedTask::default() });
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
pub(super) fn running_word(tasks: &[Task]) -> &'static str {
    let is_active = tasks.iter().any(|task| task.parsed.running.active);
    let is_in_progress = tasks.iter().any(|task| task.parsed.running.in_progress);
    if is_active && !is_in_progress { "active" } else { "in_progress" }
}

pub(super) fn own_id(value: &Value) -> Option<String> {
    match ["id", "task_id"].iter().find_map(|key| value.get(key).filter(|id| !id.is_null()))? {
        Value::String(id) => Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the list in a file among the task files, with its pointer; `None` for a task.
pub(super) fn listed(value: &Value) -> Option<(&'static str, &Value)> {
    if value.is_array() {
        return raw::items(Some(value)).any(|item| own_id(item).is_some()).then_some(("", value));
    }
    let has = |key: &str| value.get(key).is_some();
    let tasks = value.get("tasks").filter(|tasks| tasks.is_array())?;
    (!has("id") && !has("task_id") && !has("title")).then_some(("/tasks", tasks))
}

/// A dependency as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) text: String,
    /// Whether the field may also list other things than tasks, such as packages.
    pub(super) is_vague: bool,
}

/// Collects the dependencies from all fields in use (docs/formats/ccw.md#dependencies).
pub(super) fn dependencies(task: &Value) -> Vec<Dependency> {
    let mut found = Vec::new();
    let strict = ["/depends_on", "/context/depends_on", "/relations/depends_on", "/meta/depends_on"];
    let vague = ["/dependencies", "/relations/dependencies", "/context/dependencies"];
    let places = strict.into_iter().map(|place| (place, false)).chain(vague.into_iter().map(|place| (place, true)));
    for (place, is_vague) in places {
        match raw::at(task, place) {
            Some(object) if object.is_object() => collect_object(object, &mut found),
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
fn collect_object(object: &Value, found: &mut Vec<Dependency>) {
    let lists = ["depends_on", "upstream", "requires", "blocked_by", "tasks"];
    let others = ["blocks", "downstream", "dependents", "required_by"];
    for key in lists {
        collect(object.get(key), false, found);
    }
    if lists.iter().chain(&others).all(|key| object.get(key).is_none()) {
        for (name, _) in object.as_object().into_iter().flatten().take(raw::LIST_LIMIT) {
            collect_text(name, true, found);
        }
    }
}

fn collect_text(text: &str, is_vague: bool, found: &mut Vec<Dependency>) {
    let text = raw::line(text);
    if !["", "none", "null", "n/a", "-", "无"].iter().any(|none| text.eq_ignore_ascii_case(none)) {
        found.push(Dependency { text, is_vague });
    }
}

fn collect(value: Option<&Value>, is_vague: bool, found: &mut Vec<Dependency>) {
    let mut add = |text: &str| collect_text(text, is_vague, found);
    let Some(value) = value else { return };
    match value {
        Value::String(text) => text.split([',', ';', '\n']).for_each(add),
        Value::Array(items) => {
            let flat = items.iter().flat_map(|item| item.as_array().map_or(std::slice::from_ref(item), Vec::as_slice));
            for item in flat.take(raw::LIST_LIMIT) {
                let named = ["/id", "/task_id", "/task", "/depends_on", "/task/id", "/ref", "/name", "/title"];
                let text = if item.is_object() || item.is_array() {
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
        Value::Number(number) => add(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
}

/// Returns the field that says a pending task is done: the log that CCW's tools keep, a result, or a status in another field. It
/// is only one witness of several, because `pending` may have been written later.
pub(super) fn record_of_success(task: &Value, word: &StatusWord) -> Option<&'static str> {
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
    } else if raw::at(task, "/result/success").and_then(Value::as_bool) == Some(true) {
        Some("result")
    } else if is_absent && completes(&["/meta/status", "/execution/status", "/state"]) {
        Some("a status in another field")
    } else {
        None
    }
}

/// Returns the parent that the task names.
pub(super) fn parent(task: &Value) -> Option<String> {
    raw::first_text(task, &["/context/parent", "/relations/parent", "/parent_id", "/parent"])
}

/// Returns the list of subtasks with its pointer.
pub(super) fn subtasks(task: &Value) -> (&'static str, impl Iterator<Item = &Value>) {
    let places = ["/subtasks", "/relations/subtasks", "/context/subtasks"];
    let found = places.into_iter().find(|pointer| raw::items(raw::at(task, pointer)).next().is_some());
    (found.unwrap_or("/subtasks"), raw::items(found.and_then(|pointer| raw::at(task, pointer))))
}

/// Returns the name of a subtask: its id, its text, else its number.
pub(super) fn subtask_name(subtask: &Value, at: usize) -> String {
    raw::first_line(subtask, &["/id", "/task_id", ""]).unwrap_or_else(|| (at + 1).to_string())
}

/// Returns the title, or a description instead.
pub(super) fn title(task: &Value) -> Option<String> {
    raw::first_line(task, &["/title", "/name", "/description", "/context/description"])
}

/// Returns the commit recorded as its result.
pub(super) fn commit(task: &Value) -> Option<String> {
    let is_commit = |text: &String| (7..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit());
    raw::first_text(task, &["/result/commit_hash", "/result/commit"]).filter(is_commit)
}

/// Returns what its step takes over, without the parts.
pub(super) fn detail(task: &Value) -> Detail {
    let variables = raw::at(task, "/execution/variables").and_then(Value::as_object);
    Detail {
        parts: Vec::new(),
        variables: variables.cloned().unwrap_or_default(),
        focus: focus(task),
        targets: targets(task),
        requirements: requirements(task),
        acceptance: acceptance(task),
    }
}

fn focus(task: &Value) -> Vec<String> {
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

fn targets(task: &Value) -> Vec<String> {
    let places = ["/flow_control/target_files", "/files", "/target_files", "/implementation/files", "/context/files"];
    raw::first_list(task, &places).iter().map(|path| raw::line(path)).collect()
}

fn requirements(task: &Value) -> Vec<String> {
    let mut stated = raw::first_statements(task, &["/context/requirements", "/requirements"]);
    let whole =
        ["/description", "/context/description", "/flow_control/implementation_approach/task_description", "/goal"];
    if let Some(description) = raw::first_text(task, &whole).filter(|text| !stated.contains(text)) {
        stated.insert(0, description);
    }
    stated
}

fn acceptance(task: &Value) -> Vec<String> {
    let places = [
        "/context/acceptance",
        "/acceptance",
        "/acceptance_criteria",
        "/acceptanceCriteria",
        "/context/acceptance_criteria",
        "/convergence/criteria",
    ];
    let mut stated = raw::first_statements(task, &places);
    stated.extend(raw::text(raw::at(task, "/convergence/verification")));
    stated
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
    let Some(file) = files.bytes(path).and_then(|bytes| parse_value(bytes).ok()) else { return Value::Null };
    let list = match listed(&file) {
        Some((_, list)) => Some(list),
        None if path.name() == SESSION_FILE => file.get("tasks"),
        None => return definition(file),
    };
    let is_step = |(at, task): &(usize, &Value)| {
        let name = own_id(task).filter(|id| ids::is_safe(id)).unwrap_or_else(|| embedded_name(*at));
        step.id == StepId::new(&name)
    };
    let found = raw::items(list).enumerate().find(is_step);
    found.map_or(Value::Null, |(_, task)| definition(task.clone()))
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
