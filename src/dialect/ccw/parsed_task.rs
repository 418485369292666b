//! What a task file says by itself, whatever else there is in its session.

use std::sync::Arc;

use serde_json::Value;

use super::history::History;
use super::raw;
use super::rules;
use super::rules::Doer;
use super::rules::Word;
use super::task;
use super::task::Dependency;
use crate::dialect::json::JsonError;
use crate::dialect::json::parse_value;
use crate::model::Clock;
use crate::model::Status;

/// What the object that defines a task says.
#[derive(Debug)]
pub(super) struct ParsedTask {
    pub(super) shape: Shape,
    pub(super) own_id: Option<String>,
    /// What its `status` says.
    pub(super) word: Word,
    pub(super) running: Running,
    pub(super) title: Option<String>,
    pub(super) doer: Doer,
    pub(super) parent: Option<String>,
    pub(super) subtasks: Vec<Subtask>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) history: History,
    pub(super) commit: Option<String>,
    /// What says that it is done while it counts as pending.
    pub(super) record: Option<&'static str>,
}

/// Says what the whole of a text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Task,
    /// Lists tasks, and is none.
    List,
    /// JSON, and no object.
    Other,
    Broken(JsonError),
}

/// Says which words for a running task are in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Running {
    pub(super) active: bool,
    pub(super) in_progress: bool,
}

/// Is one of the subtasks that a task lists.
#[derive(Debug)]
pub(super) struct Subtask {
    /// The id that it has where it stands.
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// Nothing but its name stands there.
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

    /// Parses an object that has no file to itself, and returns it with its text.
    pub(super) fn with_text(object: &Value, clock: Clock) -> (Self, Arc<[u8]>) {
        (Self::of_task(object, clock), object.to_string().into_bytes().into())
    }

    fn of_task(value: &Value, clock: Clock) -> Self {
        let word = rules::word(value);
        let mut running = Running::default();
        running.hear(value.get("status"));
        for entry in raw::items(value.get("status_history")) {
            running.hear(entry.get("to"));
            running.hear(entry.get("from"));
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
            doer: Doer::of(value),
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
            word: Word::Missing,
            running: Running::default(),
            title: None,
            doer: Doer::default(),
            parent: None,
            subtasks: Vec::new(),
            dependencies: Vec::new(),
            history: History::default(),
            commit: None,
            record: None,
        }
    }
}

impl Running {
    fn hear(&mut self, value: Option<&Value>) {
        let said = value.and_then(Value::as_str).filter(|said| rules::status(said) == Some(Status::InProgress));
        match said.map(rules::fold).as_deref() {
            Some("active") => self.active = true,
            Some(_) => self.in_progress = true,
            None => {}
        }
    }
}
