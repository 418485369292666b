//! What a task file says, independent of the rest of its session.

use std::sync::Arc;

use serde_json::Value;

use super::history::History;
use super::raw;
use super::rules;
use super::rules::StatusWord;
use super::rules::TaskExecutor;
use super::task;
use super::task::Dependency;
use crate::dialect::json::JsonError;
use crate::dialect::json::parse_value;
use crate::model::Clock;
use crate::model::Status;

/// The content of the object that defines a task.
#[derive(Debug)]
pub(super) struct ParsedTask {
    pub(super) shape: Shape,
    pub(super) own_id: Option<String>,
    /// The meaning of its `status`.
    pub(super) word: StatusWord,
    pub(super) running: RunningWords,
    pub(super) title: Option<String>,
    pub(super) executor: TaskExecutor,
    pub(super) parent: Option<String>,
    pub(super) subtasks: Vec<Subtask>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) history: History,
    pub(super) commit: Option<String>,
    /// The field that says a pending task is done.
    pub(super) record: Option<&'static str>,
}

/// The kind of content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Task,
    /// A list of tasks.
    List,
    /// JSON, but not an object.
    Other,
    Broken(JsonError),
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

impl ParsedTask {
    /// Parses a task file.
    pub(super) fn of(bytes: &[u8], clock: Clock) -> Self {
        match parse_value(bytes) {
            Ok(value) if task::listed(&value).is_some() => Self::empty(Shape::List),
            Ok(value) if value.is_object() => Self::of_task(&value, clock),
            Ok(_) => Self::empty(Shape::Other),
            Err(error) => Self::empty(Shape::Broken(error)),
        }
    }

    /// Parses an object inside a file, and returns it with its text.
    pub(super) fn with_text(object: &Value, clock: Clock) -> (Self, Arc<[u8]>) {
        (Self::of_task(object, clock), object.to_string().into_bytes().into())
    }

    fn of_task(value: &Value, clock: Clock) -> Self {
        let word = rules::status_word(value);
        let mut running = RunningWords::default();
        running.note(value.get("status"));
        for entry in raw::items(value.get("status_history")) {
            running.note(entry.get("to"));
            running.note(entry.get("from"));
        }
        let subtask = |(at, subtask): (usize, &Value)| Subtask {
            id: raw::first_text(subtask, &["/id", "/task_id"]),
            name: task::subtask_name(subtask, at),
            is_name: subtask.is_string(),
        };
        Self {
            shape: Shape::Task,
            own_id: task::own_id(value),
            running,
            title: task::title(value),
            executor: TaskExecutor::of(value),
            parent: task::parent(value),
            subtasks: task::subtasks(value).1.enumerate().map(subtask).collect(),
            dependencies: task::dependencies(value),
            history: History::read(value, clock),
            commit: task::commit(value),
            record: task::record_of_success(value, &word),
            word,
        }
    }

    pub(super) fn empty(shape: Shape) -> Self {
        Self {
            shape,
            own_id: None,
            word: StatusWord::Missing,
            running: RunningWords::default(),
            title: None,
            executor: TaskExecutor::default(),
            parent: None,
            subtasks: Vec::new(),
            dependencies: Vec::new(),
            history: History::default(),
            commit: None,
            record: None,
        }
    }
}

impl RunningWords {
    fn note(&mut self, value: Option<&Value>) {
        let word = value.and_then(Value::as_str).filter(|word| rules::status(word) == Some(Status::InProgress));
        match word.map(rules::fold).as_deref() {
            Some("active") => self.active = true,
            Some(_) => self.in_progress = true,
            None => {}
        }
    }
}
