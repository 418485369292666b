//! The language of workflow files (`workflow/2`): YAML or JSON in, checked types out. Pure. All mistakes of a file are reported at once,
//! each with its line and column.
//!
//! There is one parser. A file in another form becomes the tree of a current one first: `earlier` for the first form of steps for
//! agents, `prodigy` for the files of Prodigy (docs/formats/prodigy.md#the-workflow-file).
//!
//! - `parse` reads the file, `step` its steps (`bare` before their keys, `keys` which of them go together), `kinds` what has keys of its own, `gate` the answers at a gate, `artifacts` what a step leaves, `policy` timeouts and
//!   retries, `values` templates and mappings; `definition` has the resulting types.
//! - `include` reads steps of other files, `rename` gives them their names in the workflow.
//! - `order` resolves what each step depends on, `check` looks at the workflow as a whole, `names` at its variables.
//! - `template` parses texts with variables, `condition` parses `when`, `shell` finds the quoting context of a variable, `json_path`
//!   the place of a list in a document, `pattern` names of files, `inner` variables in code of another interpreter.
//! - `inputs` are the values that a run is begun with, `variables` renders texts.
//! - `canonical` is the form of a step that digests are computed from, `nested` looks at the steps inside it.

mod artifacts;
mod bare;
mod built_in;
mod canonical;
mod check;
pub(crate) mod condition;
mod definition;
mod earlier;
mod gate;
mod include;
mod inner;
pub(crate) mod inputs;
mod json_path;
mod keys;
mod kinds;
mod names;
mod needs;
mod nested;
mod order;
mod parse;
pub(crate) mod pattern;
mod policy;
mod prodigy;
mod rename;
pub(crate) mod selection;
pub(crate) mod shell;
mod step;
pub(crate) mod template;
mod values;
pub(crate) mod variables;

use serde_json::Value;

use crate::{
    document::{Node, TextPosition, definition::Problems, parse_definition},
    model::{Finding, OutputSchema, RelPath, StepId, sha256_hex},
};

use include::Includes;

pub(crate) use artifacts::output_file;
pub(crate) use built_in::BUILT_IN;
pub(crate) use definition::{
    AgentWork, Backoff, Capture, CaptureFormat, Captured, Claude, ClaudeOptions, Command, Conversation, FileFormat,
    Foreach, Gate, Group, Input, InputKind, Instructions, Items, Merge, OnFailure, OnIncomplete, Output,
    PartDefinition, Retry, RetryOn, Secret, SpendingLimits, Step, StepReference, Validate, When, Workflow,
    WorktreeFiles, WriteFile,
};
pub(crate) use include::ReadFile;
pub(crate) use json_path::JsonPath;
pub(crate) use names::{CHANGES, end_variable};

/// A parsed workflow file.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// `None` when there are findings.
    pub(crate) workflow: Option<Workflow>,
    /// All mistakes of the file, in the order of their positions.
    pub(crate) findings: Vec<Finding>,
    /// The schemas that outputs and results declare, also of a file with mistakes.
    pub(crate) output_schemas: Vec<OutputDeclaration>,
    /// The files that it includes, in the order in which they were read.
    pub(crate) included: Vec<RelPath>,
    /// The digest of the file and of those that it includes.
    pub(crate) sha256: String,
    /// What has no effect, and what may be unset.
    pub(crate) notes: Vec<Finding>,
    /// The file in the current form, where it has another one, no mistakes, and nothing that the current form has no key for.
    pub(crate) rewritten: Option<Value>,
}

/// A schema that a step declares for an output or its result.
#[derive(Debug)]
pub(crate) struct OutputDeclaration {
    pub(crate) step: StepId,
    pub(crate) schema: OutputSchema,
    pub(crate) place: TextPosition,
}

/// Reads a workflow file that includes no others, YAML or JSON.
pub(crate) fn parse(file: &RelPath, bytes: &[u8]) -> Parsed {
    parse_with(file, bytes, &|_| Err("cannot be read here".to_owned()))
}

/// Reads a workflow file, YAML or JSON, with the files that it includes.
pub(crate) fn parse_with(file: &RelPath, bytes: &[u8], read_file: ReadFile<'_>) -> Parsed {
    match parse_definition(bytes) {
        Ok(root) => parse_tree((file, bytes), &root, read_file),
        Err(error) => {
            let mut problems = Problems::of(file);
            let fix = syntax_fix(&error.message);
            problems.add(error.place, error.message, fix);
            Parsed {
                workflow: None,
                findings: problems.in_order(),
                output_schemas: Vec::new(),
                included: Vec::new(),
                sha256: sha256_hex(bytes),
                notes: Vec::new(),
                rewritten: None,
            }
        }
    }
}

/// Returns what to do about a mistake of YAML.
fn syntax_fix(message: &str) -> &'static str {
    match message {
        _ if message.contains("mapping values") => "put a text with `: ` in quotes, or below `|`",
        _ if message.contains("'-' indicator") => "write the list below a key, `steps:`, where other keys follow it",
        _ if message.contains("simple key") => "write `key: value`, or indent the text below `|` deeper than its key",
        _ => "correct the syntax",
    }
}

fn parse_tree((file, bytes): (&RelPath, &[u8]), root: &Node, read_file: ReadFile<'_>) -> Parsed {
    let mut problems = Problems::of(file);
    let mut includes = Includes::of(file, read_file, parse::workflow);
    let stem = file.name().rsplit_once('.').map_or(file.name(), |(stem, _)| stem);
    let is_prodigy = prodigy::is_prodigy(root);
    let mut captures = Vec::new();
    let rewritten = if is_prodigy {
        prodigy::translate(root, &mut captures, &mut problems)
    } else if earlier::is_earlier(root) {
        Some(earlier::translate(root, &mut problems))
    } else {
        None
    };
    let workflow = match &rewritten {
        // It has no steps, which is reported.
        None if is_prodigy => Workflow::default(),
        rewritten => {
            let root = rewritten.as_ref().unwrap_or(root);
            let mut workflow = parse::workflow(root, stem, &mut includes, &mut problems);
            workflow.inputs.append(&mut includes.inputs);
            prodigy::attach(&mut workflow, &captures);
            workflow
        }
    };
    if problems.is_empty() {
        names::check(&workflow, &mut problems);
    }
    let mut output_schemas = Vec::new();
    workflow.each_step(&mut |step| {
        let schemas = step.outputs.iter().filter_map(|output| output.schema.as_ref()).chain(&step.result);
        output_schemas.extend(schemas.map(|(schema, place)| OutputDeclaration {
            step: step.id.clone(),
            schema: schema.clone(),
            place: *place,
        }));
    });
    let (mut findings, notes) = problems.in_order_with_notes();
    findings.extend(std::mem::take(&mut includes.findings));
    let is_valid = findings.is_empty();
    Parsed {
        workflow: is_valid.then_some(workflow),
        rewritten: rewritten.filter(|_| is_valid && captures.is_empty()).map(|root| root.to_json()),
        output_schemas,
        sha256: includes.digest(bytes),
        included: includes.read.into_iter().map(|(path, _)| path).collect(),
        findings,
        notes,
    }
}

/// Tells whether a file without a run looks like a workflow: YAML, or JSON with steps.
pub(crate) fn looks_like_workflow(file: &RelPath, bytes: &[u8]) -> bool {
    let name = file.name();
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        return true;
    }
    let Ok(root) = parse_definition(bytes) else { return false };
    let has = |key: &str| root.get(key).is_some_and(Node::is_list);
    let is_list_of_steps =
        root.items().iter().any(|step| ["shell", "claude"].iter().any(|key| step.get(key).is_some()));
    has("commands") || is_list_of_steps || ((has("steps") || has("phases")) && root.get("workflow_id").is_none())
}

#[cfg(test)]
mod tests;
