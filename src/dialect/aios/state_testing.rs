//! File sets and short words for what was read, for the tests of the kinds.

use crate::{
    dialect::Loaded,
    model::{FileSet, testing::files_of},
};

/// Holds one state at noon of 31 January 2026.
pub(super) fn files(state: &str, text: &str) -> FileSet {
    files_of(state, text.as_bytes())
}

/// Returns `id status` of every step.
pub(super) fn steps(loaded: &Loaded) -> Vec<String> {
    let run = loaded.run.as_ref().expect("there is a run");
    run.steps.iter().map(|step| format!("{} {}", step.id, step.status)).collect()
}

/// Returns the codes of the findings.
pub(super) fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.findings.iter().map(|finding| finding.code.as_str()).collect()
}
