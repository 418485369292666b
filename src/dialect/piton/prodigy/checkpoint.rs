//! The reliable part of a checkpoint of format version 1 (docs/formats/prodigy.md#the-checkpoint).

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::{
    document::json_value,
    model::{Timestamp, clean_line},
};

/// The version that is supported.
pub(super) const VERSION: u64 = 1;
/// Larger step numbers are ignored.
const STEPS: usize = 100_000;

/// A checkpoint, without the environment and the unreliable fields: the number of steps (0 in failures), the hash (a name and a
/// number), the start (the time of the write).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) version: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) workflow_path: Option<Utf8PathBuf>,
    /// As written: `Running`, `Paused`, `Completed`, `Failed`, `Interrupted`.
    pub(super) status: String,
    pub(super) current: Option<usize>,
    /// Steps that succeeded, by position from 0.
    pub(super) done: BTreeMap<usize, CompletedStep>,
    /// The step that failed, with its error.
    pub(super) failed: Option<(usize, String)>,
    pub(super) captured: BTreeMap<String, String>,
    pub(super) at: Option<Timestamp>,
}

/// A step that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CompletedStep {
    pub(super) command: String,
    pub(super) at: Option<Timestamp>,
}

impl Checkpoint {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// In one sentence: it is not JSON, or lacks the two fields with the progress of the run.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let root = json_value(bytes).map_err(|error| error.message)?;
        let execution = root.get("execution_state").filter(|state| state.is_object());
        let (Some(execution), Some(steps)) = (execution, root.get("completed_steps").and_then(Value::as_array)) else {
            return Err("it has no `execution_state` and `completed_steps`".to_owned());
        };
        let mut read = Self {
            version: root.get("version").and_then(Value::as_u64),
            name: text(&root, "workflow_name").map(|name| clean_line(&name, 120)),
            workflow_path: text(&root, "workflow_path").map(Utf8PathBuf::from),
            status: text(execution, "status").map(|status| clean_line(&status, 40)).unwrap_or_default(),
            current: index(execution, "current_step_index"),
            at: time(&root, "timestamp"),
            ..Self::default()
        };
        for step in steps {
            read.step(step);
        }
        let variables = root.get("variable_state");
        let failed = variables.and_then(|variables| position(variables.get("__failed_step_index")?));
        let failed = failed.or_else(|| read.current.filter(|_| read.status == "Failed"));
        let error = variables.and_then(|variables| text(variables, "__error_message"));
        read.failed = failed.filter(|_| read.status == "Failed").map(|at| (at, error.unwrap_or_default()));
        Ok(read)
    }

    fn step(&mut self, step: &Value) {
        let Some(at) = index(step, "step_index") else { return };
        if step.get("success").and_then(Value::as_bool) != Some(true) {
            return;
        }
        let command = text(step, "command").map(|command| clean_line(&command, 120)).unwrap_or_default();
        self.done.insert(at, CompletedStep { command, at: time(step, "completed_at") });
        // Every step repeats the captured variables of the steps before it.
        for (name, value) in step.get("captured_variables").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Prodigy keeps the line end, which breaks commands that use the value
            // (docs/formats/prodigy.md#what-of-it-is-not-believed).
            let value = value.strip_suffix('\n').unwrap_or(&value);
            self.captured.insert(name.clone(), value.to_owned());
        }
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn time(value: &Value, key: &str) -> Option<Timestamp> {
    Timestamp::parse(value.get(key)?.as_str()?, 0).ok()
}

fn index(value: &Value, key: &str) -> Option<usize> {
    position(value.get(key)?)
}

/// Reads a number; some writers store it as text.
fn position(value: &Value) -> Option<usize> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    usize::try_from(number).ok().filter(|at| *at < STEPS)
}
