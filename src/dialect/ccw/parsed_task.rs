//! What the object of a task says, independent of the rest of its session.

use serde_json::Value;

use super::history::History;
use super::parts;
use super::parts::TaskPart;
use super::raw;
use super::rules;
use super::rules::StatusWord;
use super::rules::TaskExecutor;
use super::task;
use super::task::Dependency;
use crate::model::Clock;
use crate::model::Detail;
use crate::model::Status;

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
    pub(super) history: History,
    pub(super) commit: Option<String>,
    /// The field that says a pending task is done.
    pub(super) record: Option<&'static str>,
    pub(super) parts: Vec<TaskPart>,
    /// What its step takes over, without the parts.
    pub(super) detail: Detail,
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
    /// Reads the object that defines a task, with its parts and detail.
    pub(super) fn with_detail(value: &Value, clock: Clock) -> Self {
        Self { parts: parts::read(value), detail: task::detail(value), ..Self::of(value, clock) }
    }

    /// Reads the object that defines a task, without its parts and detail: writers edit one task and only look at the others.
    pub(super) fn of(value: &Value, clock: Clock) -> Self {
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
        let subtasks = task::subtasks(value).1.enumerate().map(subtask).collect();
        Self {
            own_id: task::own_id(value),
            running,
            blocked_because: raw::first_text(value, &BLOCKED_BECAUSE),
            title: task::title(value),
            executor: TaskExecutor::of(value),
            parent: task::parent(value),
            subtasks,
            dependencies: task::dependencies(value),
            history: History::read(value, clock),
            commit: task::commit(value),
            record: task::record_of_success(value, &word),
            word,
            parts: Vec::new(),
            detail: Detail::default(),
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
