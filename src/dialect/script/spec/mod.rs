//! The workflow file of a script run (`script/1`): YAML or JSON in, checked types out. Pure.
//!
//! All mistakes of a file are reported at once, each with its line and column. Both spellings in the documents of Prodigy are
//! accepted (docs/formats/prodigy.md#the-workflow-file); docs/running-workflows.md decides what they leave open.
//!
//! - `parse` reads the file, `step` its steps, `policy` their timeouts, retries and captures, `values` their templates and mappings;
//!   `workflow` has the resulting types.
//! - `template` parses texts with variables, `condition` parses `when`, `shell` finds the quoting context of a variable.
//! - `canonical` is the form of a step that digests are computed from.

mod canonical;
pub(crate) mod condition;
mod parse;
mod policy;
pub(crate) mod shell;
mod step;
pub(crate) mod template;
mod values;
mod workflow;

use step::COMMANDS;

use crate::document::Kind;
use crate::document::parse_definition;
use crate::model::Finding;
use crate::model::RelPath;

pub(crate) use parse::parse;
pub(crate) use workflow::Backoff;
pub(crate) use workflow::Capture;
pub(crate) use workflow::CaptureFormat;
pub(crate) use workflow::Command;
pub(crate) use workflow::FileFormat;
pub(crate) use workflow::Foreach;
pub(crate) use workflow::Items;
pub(crate) use workflow::Merge;
pub(crate) use workflow::OnFailure;
pub(crate) use workflow::OnIncomplete;
pub(crate) use workflow::Retry;
pub(crate) use workflow::RetryOn;
pub(crate) use workflow::Secret;
pub(crate) use workflow::Step;
pub(crate) use workflow::Streams;
pub(crate) use workflow::Validate;
pub(crate) use workflow::Workflow;
pub(crate) use workflow::WriteFile;

/// A parsed workflow file.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// `None` when there are findings.
    pub(crate) workflow: Option<Workflow>,
    /// All mistakes of the file, in the order of their positions.
    pub(crate) findings: Vec<Finding>,
}

/// Tells whether a file without a run looks like a workflow of the runner: a list of steps, or `commands`.
pub(crate) fn looks_like_script(file: &RelPath, bytes: &[u8]) -> bool {
    let Ok(root) = parse_definition(bytes) else { return false };
    let is_yaml = [".yaml", ".yml"].iter().any(|end| file.name().ends_with(end));
    match &root.kind {
        Kind::Map(members) => members.iter().any(|member| member.key == "commands"),
        Kind::List(_) if is_yaml => true,
        Kind::List(items) => items.iter().any(|item| match &item.kind {
            Kind::Map(members) => members.iter().any(|member| COMMANDS.contains(&member.key.as_str())),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => false,
        }),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
    }
}

/// Tells whether a file without commands looks like a workflow of steps for agents.
pub(crate) fn looks_like_steps(bytes: &[u8]) -> bool {
    let Ok(root) = parse_definition(bytes) else { return false };
    match &root.kind {
        Kind::Map(members) => members.iter().any(|member| member.key == "steps" || member.key == "phases"),
        Kind::List(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
    }
}

#[cfg(test)]
mod tests;
