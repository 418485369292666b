//! The only use of `jsonschema`: embedded schemas, and errors as findings.
//!
//! The schemas of everything that is checked on the way to disk are compiled at build time, so nothing is parsed at start-up
//! and a check costs what walking over the value costs. Pure: values in, findings out; the caller knows file and line.

mod declared;
#[cfg(test)]
mod generate;
mod message;
mod published;

use std::collections::BTreeMap;

use jsonschema::ErrorIterator;
use serde_json::Value;

use crate::model::Finding;
use crate::model::FindingCode;

pub(crate) use declared::invalid_schemas;
pub(crate) use declared::schema_error;
pub(crate) use declared::violation;
pub(crate) use published::PUBLISHED;
pub(crate) use published::Published;

/// Names what is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The state file of a nine-step run.
    NineStepState,
    /// `workflow-session.json`.
    CcwSession,
    /// A file of `.task/`.
    CcwTask,
    /// `memory/state/phase.json`.
    DotagentPhase,
    /// `memory/state/execution.json`.
    DotagentExecution,
    /// `memory/tasks/{id}/output.json`.
    DotagentTaskOutput,
    /// A change as it comes in through `--json -`.
    Change,
}

/// How many violations of one value are reported; a file that is something else altogether would have hundreds.
const LIMIT: usize = 20;

#[jsonschema::validator(path = "schemas/nine-step-state.schema.json", methods = { validate = false })]
struct NineStepState;

#[jsonschema::validator(path = "schemas/ccw-session.schema.json", methods = { validate = false })]
struct CcwSession;

#[jsonschema::validator(path = "schemas/ccw-task.schema.json", methods = { validate = false })]
struct CcwTask;

#[jsonschema::validator(path = "schemas/dotagent-phase.schema.json", methods = { validate = false })]
struct DotagentPhase;

#[jsonschema::validator(path = "schemas/dotagent-execution.schema.json", methods = { validate = false })]
struct DotagentExecution;

#[jsonschema::validator(path = "schemas/dotagent-task-output.schema.json", methods = { validate = false })]
struct DotagentTaskOutput;

#[jsonschema::validator(path = "schemas/change.schema.json", methods = { validate = false })]
struct Change;

impl Subject {
    pub(crate) const ALL: [Self; 7] = [
        Self::NineStepState,
        Self::CcwSession,
        Self::CcwTask,
        Self::DotagentPhase,
        Self::DotagentExecution,
        Self::DotagentTaskOutput,
        Self::Change,
    ];

    /// Returns the one that is published under this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == name)
    }

    /// Returns the name under which its schema is published.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NineStepState => "nine-step-state",
            Self::CcwSession => "ccw-session",
            Self::CcwTask => "ccw-task",
            Self::DotagentPhase => "dotagent-phase",
            Self::DotagentExecution => "dotagent-execution",
            Self::DotagentTaskOutput => "dotagent-task-output",
            Self::Change => "change",
        }
    }
}

/// Tells whether a value satisfies its schema. Cheaper than [`validate`], which says why not.
pub(crate) fn is_valid(subject: Subject, value: &Value) -> bool {
    match subject {
        Subject::NineStepState => NineStepState::is_valid(value),
        Subject::CcwSession => CcwSession::is_valid(value),
        Subject::CcwTask => CcwTask::is_valid(value),
        Subject::DotagentPhase => DotagentPhase::is_valid(value),
        Subject::DotagentExecution => DotagentExecution::is_valid(value),
        Subject::DotagentTaskOutput => DotagentTaskOutput::is_valid(value),
        Subject::Change => Change::is_valid(value),
    }
}

/// Checks a value and returns what its schema objects to, in the order of the schema, each with the JSON pointer of the value
/// it is about and without file and line. Nothing when the value is valid.
pub(crate) fn validate(subject: Subject, value: &Value) -> Vec<Finding> {
    if is_valid(subject, value) {
        return Vec::new();
    }
    let errors: ErrorIterator<'_> = match subject {
        Subject::NineStepState => NineStepState::iter_errors(value),
        Subject::CcwSession => CcwSession::iter_errors(value),
        Subject::CcwTask => CcwTask::iter_errors(value),
        Subject::DotagentPhase => DotagentPhase::iter_errors(value),
        Subject::DotagentExecution => DotagentExecution::iter_errors(value),
        Subject::DotagentTaskOutput => DotagentTaskOutput::iter_errors(value),
        Subject::Change => Change::iter_errors(value),
    };
    errors
        .take(LIMIT)
        .map(|error| {
            Finding::new(FindingCode::SchemaViolation, message::describe(&error))
                .pointer(error.instance_path().as_str())
                .fix(format!("piton schema {}", subject.name()))
        })
        .collect()
}

/// Checks what a file is about to become and returns only what its schema did not object to before: a foreign file that was
/// never quite right can still be written, and no write makes it worse. An entry of a list may have moved up or down.
pub(crate) fn validate_edit(subject: Subject, before: &Value, after: &Value) -> Vec<Finding> {
    let mut objections = validate(subject, after);
    if !objections.is_empty() {
        let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
        for objection in validate(subject, before) {
            *known.entry(objection_key(&objection)).or_default() += 1;
        }
        objections.retain(|objection| match known.get_mut(&objection_key(objection)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            Some(_) | None => true,
        });
    }
    objections
}

/// Returns the fields that lead to what is objected to, and the objection, whichever entries of lists they are in.
fn objection_key(objection: &Finding) -> (String, String) {
    let pointer = objection.pointer.as_deref().unwrap_or_default();
    let is_place = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fields: Vec<&str> = pointer.split('/').map(|part| if is_place(part) { "*" } else { part }).collect();
    (fields.join("/"), objection.message.replace(pointer, ""))
}

/// Returns the published schema of that name.
pub(crate) fn by_name(name: &str) -> Option<&'static Published> {
    PUBLISHED.iter().find(|published| published.name == name)
}

#[cfg(test)]
mod tests;
