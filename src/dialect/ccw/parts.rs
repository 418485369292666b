//! The parts of a task that can be resumed: flow-control steps, and subtasks without a file
//! (docs/formats/ccw.md#flow-steps-and-subtasks).

use crate::document::Node;

use super::{
    raw,
    rules::{self, StatusWord},
    todo::CheckboxMark,
};
use crate::model::{Part, PartKind, Status};

/// A part of a task, or a subtask that is a step itself if it has a file.
#[derive(Debug)]
pub(super) struct TaskPart {
    pub(super) part: Part,
    /// Its name in the list of subtasks; `None` for a flow-control step.
    subtask: Option<String>,
}

/// A line of the checklist about a part of a task: its id extends that of the task, or the task lists it.
pub(super) struct PartLine {
    pub(super) task: usize,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) mark: CheckboxMark,
    /// Byte offset of the checkbox.
    pub(super) at: usize,
}

/// Returns the parts of the step of a task. `is_child` tells whether a subtask is a step itself.
pub(super) fn of_step(parts: Vec<TaskPart>, status: Status, is_child: impl Fn(&str) -> bool) -> Vec<Part> {
    let own = parts.into_iter().filter(|part| !part.subtask.as_deref().is_some_and(&is_child));
    let mut parts: Vec<Part> = own.map(|part| part.part).collect();
    // Subtasks stay pending in files whose task is completed; the task wins.
    if status == Status::Completed {
        for part in &mut parts {
            part.status = if part.status == Status::Skipped { Status::Skipped } else { Status::Completed };
        }
    }
    parts
}

/// Takes a line of the checklist about a part: it may be the only place that has the part, or that says that it is done.
pub(super) fn note_line(parts: &mut Vec<Part>, of_task: Status, line: &PartLine) {
    let said = match line.mark {
        CheckboxMark::Open | CheckboxMark::Blocked => Status::Pending,
        CheckboxMark::Done => Status::Completed,
        CheckboxMark::InProgress => Status::InProgress,
        CheckboxMark::Cancelled => Status::Skipped,
    };
    let known = parts.iter_mut().find(|part| part.name.eq_ignore_ascii_case(&line.name));
    let status = if of_task == Status::Completed { Status::Completed } else { said };
    match known {
        Some(part) if part.status == Status::Pending => part.status = status,
        Some(_) => {}
        None => parts.push(Part {
            name: line.name.clone(),
            title: line.title.clone(),
            kind: PartKind::Work,
            status,
            output: None,
            commands: Vec::new(),
        }),
    }
}

/// Reads the parts of a task, with all its subtasks.
pub(super) fn read(value: &Node) -> Vec<TaskPart> {
    let mut parts: Vec<Part> = Vec::new();
    for pointer in ["/flow_control/pre_analysis", "/pre_analysis", "/execution_config/pre_analysis"] {
        add_flow_steps(value, pointer, PartKind::Analysis, &mut parts);
    }
    for pointer in ["/flow_control/implementation_approach", "/implementation", "/implementation_approach"] {
        add_flow_steps(value, pointer, PartKind::Work, &mut parts);
    }
    let progress = Progress::read(value);
    progress.apply(&mut parts);
    let mut names: Vec<Option<String>> = vec![None; parts.len()];
    for (at, subtask) in subtasks(value).1.take(raw::LIST_LIMIT).enumerate() {
        let name = subtask_name(subtask, at);
        let title = raw::first_line(subtask, &["/title", "/description", "/name"]);
        let part = Part {
            name: unique(name.clone(), PartKind::Work, &parts),
            title: title.unwrap_or_else(|| name.clone()),
            kind: PartKind::Work,
            status: part_status(subtask).unwrap_or_else(|| progress.of(&name)),
            output: None,
            commands: Vec::new(),
        };
        parts.push(part);
        names.push(Some(name));
    }
    parts.into_iter().zip(names).map(|(part, subtask)| TaskPart { part, subtask }).collect()
}

/// Returns the list of subtasks with its pointer.
pub(super) fn subtasks(task: &Node) -> (&'static str, impl Iterator<Item = &Node>) {
    let places = ["/subtasks", "/relations/subtasks", "/context/subtasks"];
    let found = places.into_iter().find(|pointer| raw::items(task.at(pointer)).next().is_some());
    (found.unwrap_or("/subtasks"), raw::items(found.and_then(|pointer| task.at(pointer))))
}

/// Returns the name of a subtask: its id, its text, else its number.
pub(super) fn subtask_name(subtask: &Node, at: usize) -> String {
    raw::first_line(subtask, &["/id", "/task_id", ""]).unwrap_or_else(|| (at + 1).to_string())
}

fn add_flow_steps(task: &Node, pointer: &str, kind: PartKind, parts: &mut Vec<Part>) {
    for (at, step) in raw::items(task.at(pointer)).take(raw::LIST_LIMIT).enumerate() {
        let name = raw::first_line(step, &["/step", "/id", "/name"]).unwrap_or_else(|| (at + 1).to_string());
        let title = raw::first_line(step, &["/title", "/action", "/description", "/purpose", ""]);
        let title = title.unwrap_or_else(|| name.clone());
        let variable = raw::first_line(step, &["/output_to", "/output"]);
        let variables = task.at("/execution/variables");
        let output = variable.map(|name| {
            let known = variables.and_then(|variables| variables.get(&name)).map(|value| Box::new(value.to_json()));
            (name, known)
        });
        let mut commands = raw::list(step.get("command"));
        commands.extend(raw::list(step.get("commands")));
        let status = part_status(step).unwrap_or(Status::Pending);
        parts.push(Part { name: unique(name, kind, parts), title, kind, status, output, commands });
    }
}

fn part_status(value: &Node) -> Option<Status> {
    match rules::status_word(value) {
        StatusWord::Known(status) | StatusWord::Alias { status, .. } => Some(status),
        StatusWord::Container | StatusWord::Missing | StatusWord::Unknown(_) => None,
    }
}

/// Returns a name that no earlier part has: analysis and implementation both count from 1.
fn unique(name: String, kind: PartKind, parts: &[Part]) -> String {
    let is_taken = |name: &str| parts.iter().any(|part| part.name == name);
    if !is_taken(&name) {
        return name;
    }
    let prefix = match kind {
        PartKind::Analysis => "analysis",
        PartKind::Work => "implementation",
    };
    let longer =
        std::iter::once(format!("{prefix}-{name}")).chain((2..).map(|count| format!("{prefix}-{name}-{count}")));
    longer.into_iter().find(|name| !is_taken(name)).unwrap_or(name)
}

/// The content of `execution` about flow-control steps; `current_attempt` in format A.
struct Progress {
    current: Option<String>,
    completed: Option<Vec<String>>,
    skipped: Vec<String>,
}

impl Progress {
    fn read(task: &Node) -> Self {
        let completed = ["/execution/completed_flow_steps", "/execution/current_attempt/completed_checkpoints"];
        let completed = completed.iter().find_map(|pointer| task.at(pointer)).map(|list| raw::list(Some(list)));
        Self {
            current: raw::first_line(task, &["/execution/flow_step"]),
            completed,
            skipped: raw::list(task.at("/execution/skipped_flow_steps")),
        }
    }

    fn of(&self, name: &str) -> Status {
        if self.skipped.iter().any(|skipped| raw::line(skipped) == name) {
            Status::Skipped
        } else if self.completed.iter().flatten().any(|done| raw::line(done) == name) {
            Status::Completed
        } else if self.current.as_deref() == Some(name) {
            Status::InProgress
        } else {
            Status::Pending
        }
    }

    /// Sets the status of each part. A file that names the interrupted step but lists no completed ones has passed all steps
    /// before it (the resume command: "Resume from step").
    fn apply(&self, parts: &mut [Part]) {
        let current = parts.iter().position(|part| self.current.as_deref() == Some(&part.name));
        for (at, part) in parts.iter_mut().enumerate() {
            let passed = self.completed.is_none() && current.is_some_and(|current| at < current);
            match self.of(&part.name) {
                Status::Pending if passed => part.status = Status::Completed,
                Status::Pending => {}
                known => part.status = known,
            }
        }
    }
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
