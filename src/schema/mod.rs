//! The only use of `jsonschema`: embedded schemas, and errors as findings.
//!
//! Schemas that are checked before a write are compiled at build time, so nothing is parsed at start-up. Pure: values in,
//! findings out; the caller adds file and line.
//!
//! - `declared`: schemas that a workflow file declares for the outputs of its steps.
//! - `message`: violations in plain words.

mod declared;
mod message;

use std::collections::BTreeMap;

use jsonschema::ErrorIterator;
use serde_json::Value;

use crate::model::{Finding, FindingCode, Suggested, Verb, words};

pub(crate) use declared::{invalid_schemas, schema_error, violation};

words! {
    /// A document with an embedded schema.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Subject {
        /// The state file of a nine-step run.
        NineStepState = "nine-step-state",
        /// `workflow-session.json`.
        CcwSession = "ccw-session",
        /// A file of `.task/`.
        CcwTask = "ccw-task",
        /// `memory/state/phase.json`.
        DotagentPhase = "dotagent-phase",
        /// `memory/state/execution.json`.
        DotagentExecution = "dotagent-execution",
        /// `memory/tasks/{id}/output.json`.
        DotagentTaskOutput = "dotagent-task-output",
        /// A change, as passed to `--json -`.
        Change = "change",
    }
    const ALL;
}

/// Maximum number of violations reported for one value; an unrelated file would have hundreds.
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
    /// Returns the subject whose schema has this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
    }
}

/// Tells whether a value satisfies its schema. Cheaper than [`validate`], which also returns the violations.
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

/// Returns the violations of a value's schema, in schema order, each with the JSON pointer but without file and line. Empty if the
/// value is valid.
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
                .fix(Suggested::of(Verb::Schema, subject.as_str()))
        })
        .collect()
}

/// Returns the violations in `after` that `before` does not have. A foreign file that was already invalid can still be written, but
/// no write makes it worse. List entries may have moved.
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

/// Returns the path of field names and the message of a violation, without list indices.
fn objection_key(objection: &Finding) -> (String, String) {
    let pointer = objection.pointer.as_deref().unwrap_or_default();
    let is_place = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fields: Vec<&str> = pointer.split('/').map(|part| if is_place(part) { "*" } else { part }).collect();
    (fields.join("/"), objection.message.replace(pointer, ""))
}

#[cfg(test)]
mod tests;
