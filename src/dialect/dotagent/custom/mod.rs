//! Workflows of one's own: a file defines the steps, and the run keeps them in dotagent's two files.
//!
//! `phase.json` carries the definition, so that a run can go on without the file; where the file is still there, the file counts,
//! and what was done to another definition is done again (rule 10 in docs/planning.md#rules). Pure, like every dialect.

mod brief;
mod check;
mod definition;
mod parse;
mod read;
mod start;
mod state;
mod write;

use serde_json::Value;

pub(super) use brief::brief;
pub(super) use brief::native;
pub(super) use read::candidate;
pub(super) use read::load;
pub(super) use start::start;
pub(super) use write::edit;

use crate::dialect::json::parse_value;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::OutputSchema;
use crate::model::RelPath;
use crate::model::StepId;

/// Is a definition that comes with the program.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// Lists the definitions that come with the program: to read, and to begin one's own from.
pub(crate) static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "dotagent", text: include_str!("../../../../workflows/dotagent.yaml") },
    BuiltIn { name: "nine-step", text: include_str!("../../../../workflows/nine-step.yaml") },
];

/// Is a workflow file after it was read.
#[derive(Debug)]
pub(crate) struct Checked {
    /// `None` when there are findings.
    pub(crate) definition: Option<Value>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) schemas: Vec<DeclaredSchema>,
}

/// Is a JSON Schema that a workflow declares, and where.
#[derive(Debug)]
pub(crate) struct DeclaredSchema {
    pub(crate) step: StepId,
    pub(crate) schema: OutputSchema,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Tells whether the state carries a definition of its own, or lies where only such runs do.
pub(super) fn is_custom(files: &FileSet) -> bool {
    let in_folder =
        files.state.parent().and_then(|folder| folder.parent()).is_some_and(|above| above.name() == "state");
    // Most states are no such run; a look at the bytes saves them a second reading.
    let mentions = |bytes: &[u8]| bytes.windows(12).any(|window| window == b"\"definition\"");
    let carries = |bytes: &[u8]| {
        mentions(bytes) && parse_value(bytes).is_ok_and(|phase| phase.get("definition").is_some_and(Value::is_object))
    };
    in_folder || files.bytes(&files.state).is_some_and(carries)
}

/// Reads a workflow file. Whether its schemas are schemas is for the caller to find out.
pub(crate) fn check(file: &RelPath, bytes: &[u8]) -> Checked {
    let parsed = parse::file(file, bytes);
    let declared = parsed.definition.steps.iter().flat_map(|step| {
        step.outputs.iter().filter_map(|output| {
            let (schema, place) = output.schema.clone()?;
            let step = StepId::new(step.id());
            Some(DeclaredSchema { step, schema, line: place.line, column: place.column })
        })
    });
    Checked {
        schemas: declared.collect(),
        definition: parsed.findings.is_empty().then(|| parsed.definition.to_value()),
        findings: parsed.findings,
    }
}

/// Tells whether a file that belongs to no run is meant as a workflow.
pub(crate) fn looks_like_definition(file: &RelPath, bytes: &[u8]) -> bool {
    let name = file.name();
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        return true;
    }
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let has = |key: &str| value.get(key).is_some_and(Value::is_array);
    (has("steps") || has("phases")) && value.get("workflow_id").is_none()
}

#[cfg(test)]
mod tests;
