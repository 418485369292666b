//! Rebuilds phase and execution file from the outputs of phases and tasks (docs/formats/dotagent.md#reconstruction).
//!
//! A phase counts as completed if a later one produced output; the plan verifies the last one.

use serde_json::{Value, json};

use super::{
    archive,
    layout::Layout,
    output,
    rules::{Phase, PhaseStatus, TaskStatus},
};
use crate::{
    dialect::EditError,
    document::{Node, parse_json, salvage},
    model::{FileSet, ReadProblem, Reconstruction, RelPath, ReviewVerdict, Timestamp, clean_line},
};

/// Maximum length of a value that is named in the proposal, in characters.
const VALUE_CHARS: usize = 200;

/// Rebuilds the unreadable ones of the two files.
///
/// # Errors
///
/// If both can be read, if the broken one is of an earlier form of Piton, or if nothing names the run.
pub(super) fn reconstruct(files: &FileSet, at: Timestamp) -> Result<Reconstruction, EditError> {
    let Some(layout) = Layout::of(&files.state) else {
        return Err(EditError::Unsupported("the state is not a `memory/state/phase.json`".to_owned()));
    };
    let broken = |path: &RelPath| files.bytes(path).filter(|bytes| parse_json(bytes).is_err());
    let mut rebuilder = Rebuilder { files, layout: &layout, at, rebuilt: Reconstruction::default() };
    if let Some(bytes) = broken(&layout.execution) {
        rebuilder.execution(bytes);
    }
    // Without the phase file there is a run only if the rest of it is there.
    let is_missing = files.problem(&layout.phase) == Some(ReadProblem::Missing);
    if let Some(bytes) = broken(&layout.phase).or(is_missing.then_some(&[])) {
        rebuilder.phase(bytes)?;
    }
    if rebuilder.rebuilt.files.is_empty() {
        return Err(EditError::Unsupported("both state files parse".to_owned()));
    }
    Ok(rebuilder.rebuilt)
}

/// Returns the ids of a list or an object of tasks.
fn named_tasks(tasks: &Value) -> Vec<String> {
    let id = |task: &Value| task.get("id").or_else(|| task.get("task_id"))?.as_str().map(str::to_owned);
    match tasks {
        Value::Array(list) => list.iter().filter_map(id).collect(),
        Value::Object(named) => named.iter().map(|(key, task)| id(task).unwrap_or_else(|| key.clone())).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Tells whether a value has everything that a phase file needs.
fn is_whole(value: &Value) -> bool {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let list = |key: &str| value.get(key).is_some_and(Value::is_array);
    text("workflow_id").is_some_and(|id| archive::problem_of(id).is_none())
        && text("started_at").is_some()
        && text("current_phase").is_some()
        && text("phase_status").is_some()
        && list("completed_phases")
        && list("user_checkpoints")
}

/// The sources and results of a rebuild.
struct Rebuilder<'a> {
    files: &'a FileSet,
    layout: &'a Layout,
    at: Timestamp,
    rebuilt: Reconstruction,
}

impl Rebuilder<'_> {
    fn phase(&mut self, broken: &[u8]) -> Result<(), EditError> {
        let salvaged = salvage::json(broken).filter(|found| found.value.is_object());
        if let Some(found) = salvaged.as_ref().filter(|found| !found.is_cut_off && is_whole(&found.value)) {
            self.take(found.value.clone());
            return Ok(());
        }
        if broken.windows(12).any(|window| window == b"\"definition\"") {
            let message = "it is of an earlier form of piton, with its definition and results only in this file";
            return Err(EditError::Unsupported(message.to_owned()));
        }
        let id = self.workflow_id(broken)?;
        let outputs = self.outputs();
        let running = self.has_tasks_under_way().then_some(Phase::Implementation as usize);
        let reached = outputs.iter().rposition(Option::is_some).max(running).unwrap_or(0);
        // The run continues at a gap; later outputs are not trusted.
        let gap = outputs[..reached].iter().position(Option::is_none);
        let current = gap.unwrap_or(reached);
        let approvals =
            salvaged.as_ref().and_then(|found| found.value.get("user_checkpoints")).filter(|list| list.is_array());
        let started = self.started_at(broken, &outputs);
        let mut completed = Vec::new();
        for (phase, path) in Phase::ALL.into_iter().zip(&outputs).take(current) {
            let Some(path) = path else { continue };
            let later = Phase::ALL[current];
            let evidence = vec![path.to_string(), format!("there is output of the later {}", later.as_str())];
            self.rebuilt.say(phase.as_str(), "completed", evidence);
            let modified = self.files.files.get(path).and_then(|entry| entry.modified).unwrap_or(self.at);
            let modified = modified.clamp(started, self.at);
            completed.push(
                json!({ "phase": phase.as_str(), "completed_at": modified, "output": self.layout.name_of(path) }),
            );
        }
        let phase = Phase::ALL[current];
        let evidence = match &outputs[current] {
            _ if running == Some(current) => vec![format!("{} has tasks under way", self.layout.execution)],
            Some(path) => vec![path.to_string(), "there is no output of a later phase".to_owned()],
            None => vec!["it has no output".to_owned()],
        };
        self.rebuilt.say(phase.as_str(), PhaseStatus::InProgress.as_str(), evidence);
        match approvals {
            Some(approvals) => self.rebuilt.say(
                "user_checkpoints",
                approvals.to_string(),
                vec![format!("a line of the broken {}", self.layout.phase)],
            ),
            None => self
                .rebuilt
                .not_known("the approvals: `user_checkpoints` is empty, so an open approval is requested again"),
        }
        let value = json!({
            "workflow_id": id,
            "started_at": started,
            "last_updated": self.at,
            "current_phase": phase.as_str(),
            "phase_status": PhaseStatus::InProgress.as_str(),
            "completed_phases": completed,
            "user_checkpoints": approvals.cloned().unwrap_or_else(|| json!([])),
            "interruption_safe": true,
        });
        self.rebuilt.files.push((self.layout.phase.clone(), format!("{value}\n").into_bytes()));
        Ok(())
    }

    /// Takes a file over that only had comments or trailing commas too many.
    fn take(&mut self, mut value: Value) {
        for (key, found) in value.as_object().into_iter().flatten() {
            let shown = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            let evidence = vec![format!("read from the broken {}", self.layout.phase)];
            self.rebuilt.say(key.as_str(), clean_line(&shown, VALUE_CHARS), evidence);
        }
        value["last_updated"] = json!(self.at);
        self.rebuilt.files.push((self.layout.phase.clone(), format!("{value}\n").into_bytes()));
    }

    /// Tells whether tasks are under way in a readable `execution.json`: then the run had reached IMPLEMENTATION.
    fn has_tasks_under_way(&self) -> bool {
        let value = self.files.bytes(&self.layout.execution).and_then(|bytes| parse_json(bytes).ok());
        let tasks = value.as_ref().and_then(|value| value.get("tasks"));
        let has_begun = |task: &Node| {
            let status = task.get("status").and_then(Node::as_str).and_then(TaskStatus::parse);
            status.is_some_and(|status| status != TaskStatus::Pending)
        };
        let Some(tasks) = tasks else { return false };
        tasks.items().iter().chain(tasks.members().iter().map(|member| &member.value)).any(has_begun)
    }

    /// Returns the output of each phase, in order.
    fn outputs(&self) -> [Option<RelPath>; 5] {
        let there = |phase: Phase| {
            let path = self.layout.at(phase.output()?)?;
            let bytes = self.files.bytes(&path)?;
            parse_json(bytes).is_ok().then_some(path)
        };
        let first_in = |dir: RelPath| {
            let mut paths = self.files.in_dir(&dir).map(|(path, _)| path);
            paths.find(|path| path.name().ends_with(".json") && path.name() != "_aggregate.json").cloned()
        };
        let reflection = first_in(self.layout.reflections());
        let design = first_in(self.layout.designs());
        let task = self.task_folders().first().and_then(|id| self.layout.of_task(self.files, id, "output.json"));
        [
            there(Phase::Requirements),
            there(Phase::Architecture).or(design),
            task.filter(|path| self.files.files.contains_key(path)),
            there(Phase::Verification),
            reflection,
        ]
    }

    fn workflow_id(&mut self, broken: &[u8]) -> Result<String, EditError> {
        let torn =
            salvage::text(broken, "workflow_id").map(|id| (id, format!("a line of the broken {}", self.layout.phase)));
        let named = self.files.files.keys().find_map(|path| {
            let value = parse_json(self.files.bytes(path)?).ok()?;
            Some((value.get("workflow_id")?.as_str()?.to_owned(), path.to_string()))
        });
        let found = torn.or(named).filter(|(id, _)| archive::problem_of(id).is_none());
        // Nothing contradicts a new name where no file has the old one.
        let new = broken.is_empty().then(|| ("dotagent".to_owned(), "no file names the run".to_owned()));
        let (id, evidence) = found.or(new).ok_or_else(|| {
            EditError::Unsupported("neither the broken file nor any output names the run (`workflow_id`)".to_owned())
        })?;
        self.rebuilt.say("workflow_id", &id, vec![evidence]);
        Ok(id)
    }

    /// Determines the start of the run. The plan rejects outputs older than the start.
    fn started_at(&mut self, broken: &[u8], outputs: &[Option<RelPath>]) -> Timestamp {
        let torn = salvage::text(broken, "started_at").and_then(|text| self.files.time(&text));
        if let Some(torn) = torn.filter(|torn| *torn <= self.at) {
            self.rebuilt.say(
                "started_at",
                torn.to_string(),
                vec![format!("a line of the broken {}", self.layout.phase)],
            );
            return torn;
        }
        let modified = |path: &RelPath| self.files.files.get(path).and_then(|entry| entry.modified);
        let oldest = outputs.iter().flatten().filter_map(|path| Some((modified(path)?, path))).min();
        let (started, evidence) = match oldest.filter(|(at, _)| *at <= self.at) {
            Some((at, path)) => (at, format!("the modification time of the oldest output, {path}")),
            None => (self.at, "unknown, so the current time".to_owned()),
        };
        self.rebuilt.say("started_at", started.to_string(), vec![evidence]);
        started
    }

    /// Returns the ids of the tasks with output.
    fn task_folders(&self) -> Vec<String> {
        let tasks = self.layout.tasks();
        let below = self.files.files.keys().filter(|path| path.starts_with(&tasks));
        let mut ids: Vec<String> = below.filter_map(|path| path.parent().map(|dir| dir.name().to_owned())).collect();
        ids.dedup();
        ids
    }

    fn execution(&mut self, broken: &[u8]) {
        let salvaged = salvage::json(broken).filter(|found| found.value.is_object());
        let is_whole = salvaged.as_ref().is_some_and(|found| !found.is_cut_off);
        let mut value = salvaged.map_or_else(|| json!({}), |found| found.value);
        if value.get("workflow_id").is_none()
            && let Some(id) = salvage::text(broken, "workflow_id")
        {
            value["workflow_id"] = json!(id);
        }
        if !value.get("tasks").is_some_and(|tasks| tasks.is_array() || tasks.is_object()) {
            value["tasks"] = json!([]);
        }
        for id in named_tasks(&value["tasks"]) {
            self.rebuilt.say(format!("task {id}"), "as written", vec![self.line_of_execution()]);
        }
        if !is_whole {
            self.add_tasks(broken, &mut value["tasks"]);
        }
        self.rebuilt.files.push((self.layout.execution.clone(), format!("{value}\n").into_bytes()));
    }

    fn line_of_execution(&self) -> String {
        format!("a line of the broken {}", self.layout.execution)
    }

    /// Adds the tasks that the legible end of a broken file does not have: of their outputs, of the design, and of its other lines.
    fn add_tasks(&mut self, broken: &[u8], tasks: &mut Value) {
        let of_outputs = self.task_folders().into_iter().map(|id| {
            let (status, evidence) = self.task(&id);
            (id, status, 1, evidence)
        });
        let mut found: Vec<(String, TaskStatus, u32, Vec<String>)> = of_outputs.collect();
        let of_design = self.designed_tasks().into_iter();
        let of_design = of_design.map(|(id, path)| (id, format!("{path} names it, and it has no output")));
        let of_lines = ["id", "task_id"].into_iter().flat_map(|key| salvage::texts(broken, key));
        let of_lines = of_lines.filter(|id| super::layout::is_part(id)).map(|id| (id, self.line_of_execution()));
        found.extend(of_design.chain(of_lines).map(|(id, why)| (id, TaskStatus::Pending, 0, vec![why])));
        let mut known = named_tasks(tasks);
        for (id, status, attempts, evidence) in found {
            if known.iter().any(|known| super::rules::is_same_task(known, &id)) {
                continue;
            }
            self.rebuilt.say(format!("task {id}"), status.as_str(), evidence);
            let task = json!({ "id": id, "status": status.as_str(), "attempts": attempts });
            match tasks.as_array_mut() {
                Some(list) => list.push(task),
                None => tasks[&id] = task,
            }
            known.push(id);
        }
        self.rebuilt.not_known("attempts, dependencies and start time of each task that is not as written");
    }

    /// Determines the status of a task. Without an approval it is not verified.
    fn task(&self, id: &str) -> (TaskStatus, Vec<String>) {
        let read = |name: &str| {
            let path = self.layout.of_task(self.files, id, name)?;
            let value = parse_json(self.files.bytes(&path)?).ok()?;
            Some((path, value))
        };
        let Some((path, output)) = read("output.json") else {
            return (TaskStatus::Pending, vec!["its output is missing or cannot be read".to_owned()]);
        };
        let status = output::reported_status(&output).unwrap_or(TaskStatus::PreComplete);
        let mut evidence = vec![format!("{path} says {}", status.as_str())];
        if let Some((path, verification)) = read("verification.json") {
            let verdict = output::verdict(&verification);
            let said = verdict.as_ref().map_or_else(|said| clean_line(said, 40), ReviewVerdict::to_string);
            evidence.push(format!("{path} says {said}"));
            if status == TaskStatus::PreComplete && verdict == Ok(ReviewVerdict::Approved) {
                return (TaskStatus::Verified, evidence);
            }
        }
        (status, evidence)
    }

    /// Returns the tasks in the final design.
    fn designed_tasks(&self) -> Vec<(String, RelPath)> {
        let path = Phase::Architecture.output().and_then(|path| self.layout.at(path));
        let value = path.as_ref().and_then(|path| parse_json(self.files.bytes(path)?).ok());
        let tasks = value.as_ref().and_then(|value| value.get("tasks")).map(Node::items).unwrap_or_default().iter();
        let ids = tasks.filter_map(|task| task.as_str().or_else(|| task.get("id")?.as_str()));
        let named = ids.filter(|id| super::layout::is_part(id)).map(str::to_owned);
        path.map(|path| named.map(|id| (id, path.clone())).collect()).unwrap_or_default()
    }
}
