//! Reads `execution.json`, whose format is only known from examples (docs/formats/dotagent.md#the-execution-file).

use serde_json::{Map, Value};

use super::{
    layout::{Layout, is_part},
    output::OutputOwner,
    rules::{self, Phase, TaskStatus},
    state::{self, DotagentState},
};
use crate::{
    document::{Kind, Names, Node, Reader, escape, parse_json, salvage},
    model::{FileSet, Finding, FindingCode, Fix, RelPath, Suggested, Timestamp, Verb, clean_line},
};

const TASKS: usize = 20_000;
/// The field name is not documented.
const OUTPUT_FIELDS: [&str; 3] = ["output", "output_path", "output_file"];
const DEPENDENCY_FIELDS: [&str; 2] = ["depends_on", "dependencies"];

/// The state of the file.
#[derive(Debug)]
pub(super) enum Presence<'a> {
    Missing,
    Unreadable,
    Read(Box<Reader<'a>>),
}

/// The contents of `execution.json`, as far as they can be read.
#[derive(Debug)]
pub(super) struct Execution<'a> {
    pub(super) presence: Presence<'a>,
    pub(super) tasks: Vec<DotagentTask>,
    pub(super) stamp: Option<Timestamp>,
}

/// One task.
#[derive(Debug)]
pub(super) struct DotagentTask {
    pub(super) id: String,
    /// Its pointer in the file.
    pub(super) pointer: String,
    pub(super) value: Node,
    /// `None` for an unknown word.
    pub(super) status: Option<TaskStatus>,
    pub(super) attempts: u32,
    pub(super) started_at: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) output: Option<RelPath>,
    pub(super) depends_on: Vec<String>,
    /// Whether a timestamp is from before the run: then an earlier workflow left it.
    pub(super) is_leftover: bool,
}

impl<'a> Execution<'a> {
    pub(super) fn read(
        files: &'a FileSet,
        layout: &Layout,
        state: &DotagentState,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let presence = if files.files.contains_key(&layout.execution) {
            match state::open(files, &layout.execution) {
                Ok(source) => Presence::Read(Box::new(source)),
                Err(finding) => {
                    let restore = Suggested::of(Verb::Restore, format!("./{}", files.state));
                    let fix =
                        format!("correct it by hand, or restore a checkpoint: `{restore}`; it is not overwritten");
                    let fix = Fix::offering(fix, [restore]);
                    // It may have tasks that no output shows.
                    let finding = finding.fix(fix).on(&Phase::Implementation.step_id());
                    let finding = Finding { code: FindingCode::PartUnreadable, ..finding };
                    findings.push(finding);
                    Presence::Unreadable
                }
            }
        } else {
            Presence::Missing
        };
        let mut execution = Self { presence, tasks: Vec::new(), stamp: None };
        match &execution.presence {
            Presence::Read(source) => {
                let mut reader = TaskReader { files, layout, state, source, findings };
                execution.tasks = reader.tasks();
                let root = ["last_updated", "updated_at"].iter().filter_map(|key| stamp(files, source.node(), key));
                let tasks = execution.tasks.iter().flat_map(|task| [task.started_at, task.completed_at]);
                execution.stamp = root.chain(tasks.flatten()).max();
            }
            Presence::Missing => {}
            Presence::Unreadable => execution.tasks = salvaged(files, layout, state, findings),
        }
        execution
    }

    pub(super) fn is_read(&self) -> bool {
        matches!(self.presence, Presence::Read(_))
    }

    /// Returns the position of the task with an id, with or without its prefix.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        let exact = self.tasks.iter().position(|task| task.id == id);
        exact.or_else(|| self.tasks.iter().position(|task| rules::is_same_task(&task.id, id)))
    }
}

impl DotagentTask {
    /// Returns the owner that the task's output must name.
    pub(super) fn owner<'a>(&'a self, state: &'a DotagentState) -> OutputOwner<'a> {
        OutputOwner {
            workflow: state.id.as_deref(),
            task: Some(&self.id),
            run_start: state.started_at,
            attempt_start: self.started_at,
        }
    }

    pub(super) fn text(&self, fields: &[&str]) -> Option<String> {
        fields.iter().find_map(|field| self.value.get(field)?.as_str()).map(|text| clean_line(text, 400))
    }

    /// Returns the fields that define the task, without those that its execution changes.
    pub(super) fn definition(&self) -> Value {
        let keys = ["title", "name", "description", "boundaries", "depends_on", "dependencies", "acceptance"];
        let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), self.value.get(key)?.to_json())));
        let fields: Map<String, Value> = fields.collect();
        if fields.is_empty() { Value::Null } else { Value::Object(fields) }
    }
}

/// Returns the outputs that the tasks name.
pub(super) fn named_outputs(execution: &Node) -> Vec<String> {
    let named = |task: &Node| OUTPUT_FIELDS.iter().find_map(|field| task.get(field)?.as_str().map(str::to_owned));
    let Some(tasks) = execution.get("tasks") else { return Vec::new() };
    let values = tasks.items().iter().chain(tasks.members().iter().map(|member| &member.value));
    values.take(TASKS).filter_map(named).collect()
}

fn stamp(files: &FileSet, value: &Node, key: &str) -> Option<Timestamp> {
    value.get(key).and_then(Node::as_str).and_then(|text| files.time(text))
}

fn count(value: Option<&Node>) -> u32 {
    let number: Option<u64> = match value.map(|value| &value.kind) {
        Some(Kind::Number(text) | Kind::Text(text)) => text.trim().parse().ok(),
        Some(Kind::List(items)) => Some(items.len() as u64),
        Some(Kind::Null | Kind::Bool(_) | Kind::Map(_)) | None => None,
    };
    number.map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX))
}

struct TaskReader<'a> {
    files: &'a FileSet,
    layout: &'a Layout,
    state: &'a DotagentState,
    source: &'a Reader<'a>,
    findings: &'a mut Vec<Finding>,
}

impl TaskReader<'_> {
    fn tasks(&mut self) -> Vec<DotagentTask> {
        let source = self.source;
        let foreign = source.node().get("workflow_id").and_then(Node::as_str).filter(|id| Some(*id) != self.id());
        let foreign = foreign.map(|id| clean_line(id, 60));
        if let Some(id) = &foreign {
            let message = format!("the tasks belong to the run `{id}`; they do not count as done here");
            self.findings.push(source.finding(FindingCode::StateLeftover, "/workflow_id", message));
        }
        let found: Vec<(String, Option<&str>, &Node)> = match source.node().get("tasks").map(|tasks| &tasks.kind) {
            Some(Kind::List(items)) => {
                items.iter().enumerate().map(|(at, item)| (format!("/tasks/{at}"), None, item)).collect()
            }
            Some(Kind::Map(members)) => {
                let pointer = |key: &str| format!("/tasks/{}", escape(key));
                let named = members.iter().map(|member| (pointer(&member.key), Some(&*member.key), &member.value));
                named.collect()
            }
            None | Some(Kind::Null) => Vec::new(),
            Some(Kind::Bool(_) | Kind::Number(_) | Kind::Text(_)) => {
                let message = "`tasks` is neither a list nor an object";
                self.findings.push(source.finding(FindingCode::StateCorrupt, "/tasks", message));
                Vec::new()
            }
        };
        let mut tasks: Vec<DotagentTask> = Vec::new();
        for (pointer, key, value) in found.into_iter().take(TASKS) {
            let id = match value.get("id").or_else(|| value.get("task_id")).map(|id| &id.kind) {
                Some(Kind::Text(id) | Kind::Number(id)) if !id.is_empty() => Some(id.clone()),
                _ => key.map(str::to_owned),
            };
            let Some(id) = id.filter(|_| value.is_map()) else {
                let message = "a task without an id; it is ignored";
                self.findings.push(source.finding(FindingCode::StateCorrupt, &pointer, message));
                continue;
            };
            if tasks.iter().any(|task| rules::is_same_task(&task.id, &id)) {
                let message = format!("two tasks have the id {}; the first one is used", clean_line(&id, 60));
                self.findings.push(source.finding(FindingCode::DuplicateId, &pointer, message));
                continue;
            }
            let mut task = self.task(id, pointer, value);
            task.is_leftover |= foreign.is_some();
            tasks.push(task);
        }
        tasks
    }

    fn id(&self) -> Option<&str> {
        self.state.id.as_deref()
    }

    fn task(&mut self, id: String, pointer: String, value: &Node) -> DotagentTask {
        let text = value.get("status").and_then(Node::as_str);
        let named = OUTPUT_FIELDS.iter().find_map(|field| value.get(field)?.as_str());
        if !is_part(&id) {
            let message = format!("the id `{}` cannot be part of a path", id.escape_debug());
            self.findings.push(self.source.finding(FindingCode::IdUnsafe, &pointer, message));
        }
        let output = match named {
            Some(named) => self.layout.at(named),
            None => self.layout.of_task(self.files, &id, "output.json"),
        };
        if let (Some(named), None) = (named, &output) {
            let message = format!("the output `{}` is not a path in the project", clean_line(named, 80));
            self.findings.push(self.source.finding(FindingCode::IdUnsafe, &pointer, message));
        }
        let (started_at, completed_at) =
            (stamp(self.files, value, "started_at"), stamp(self.files, value, "completed_at"));
        let is_leftover = self
            .state
            .started_at
            .is_some_and(|start| [started_at, completed_at].into_iter().flatten().any(|stamp| stamp < start));
        if is_leftover {
            let message = format!(
                "task {} has a timestamp from before this run; an earlier workflow left it, so it is ignored",
                clean_line(&id, 60)
            );
            self.findings.push(self.source.finding(FindingCode::StateLeftover, &pointer, message));
        }
        DotagentTask {
            status: match text {
                None => Some(TaskStatus::Pending),
                Some(text) => TaskStatus::parse(text),
            },
            attempts: count(value.get("attempts")).max(count(value.get("attempts_made"))),
            started_at,
            completed_at,
            output,
            depends_on: dependencies(value),
            is_leftover,
            value: value.clone(),
            id,
            pointer,
        }
    }
}

/// Returns what a task depends on. What names no task does not exist, and is waited for.
fn dependencies(value: &Node) -> Vec<String> {
    Names::of(DEPENDENCY_FIELDS.iter().find_map(|field| value.get(field).filter(|found| !found.is_null()))).all()
}

/// Returns the tasks that can be read of a file that does not parse.
fn salvaged(files: &FileSet, layout: &Layout, state: &DotagentState, findings: &mut Vec<Finding>) -> Vec<DotagentTask> {
    let value = files.bytes(&layout.execution).and_then(salvage::json_object);
    let Some(Ok(node)) = value.map(|value| parse_json(value.to_string().as_bytes())) else { return Vec::new() };
    let source = Reader::new(files, &layout.execution, node);
    TaskReader { files, layout, state, source: &source, findings }.tasks()
}
