//! Custom workflows: a file defines the steps, and the run is kept in dotagent's two files.
//!
//! `phase.json` contains the definition, so that a run can continue without the file. While the file exists, it takes precedence,
//! and steps done under a different definition are redone (rule 10 in docs/planning.md#rules).

mod brief;
mod definition;
mod read;
mod start;
mod state;
mod write;

pub(super) use brief::brief;
pub(super) use brief::native;
pub(crate) use definition::to_value;
pub(super) use read::candidate;
pub(super) use read::load;
pub(super) use start::start;
pub(super) use write::edit;

use crate::document::Node;
use crate::document::parse_json;
use crate::model::FileSet;

/// A built-in definition.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The built-in definitions, also usable as templates.
pub(crate) static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "dotagent", text: include_str!("../../../../workflows/dotagent.yaml") },
    BuiltIn { name: "nine-step", text: include_str!("../../../../workflows/nine-step.yaml") },
];

/// Returns whether the state contains a definition, or says where one came from, or lies in a folder used only by custom workflows.
pub(super) fn is_custom(files: &FileSet) -> bool {
    let in_folder =
        files.state.parent().and_then(|folder| folder.parent()).is_some_and(|above| above.name() == "state");
    // Most states are not custom workflows; checking the bytes first avoids parsing them twice.
    let mentions = |bytes: &[u8]| bytes.windows(11).any(|window| window == b"\"definition");
    let carries = |bytes: &[u8]| mentions(bytes) && parse_json(bytes).is_ok_and(|phase| is_defined(&phase));
    in_folder || files.bytes(&files.state).is_some_and(carries)
}

/// Returns whether a phase file is that of a custom workflow. Its definition may have been lost.
fn is_defined(phase: &Node) -> bool {
    ["definition", "definition_source"].iter().any(|key| phase.get(key).is_some_and(Node::is_map))
}

#[cfg(test)]
mod tests;
