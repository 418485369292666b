//! AIOS, AIOX and nexos through the binary: what a case cannot hold. The rest is in `tests/cases/aios`, and its projects serve here too.

mod live;
mod real;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::support::{self, Sandbox};

/// Returns the files of a case by their paths.
fn files(case: &str) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Case {
        files: BTreeMap<String, String>,
    }
    let path = support::repository().join("tests/cases/aios").join(case).join("case.yaml");
    let case: Case = serde_saphyr::from_str(&support::read(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    case.files
}

/// Epic 5: of its first wave 5.1 is done and 5.2 is in progress, and the second waits.
fn epic() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files("an-epic-of-two-waves-resumes-at-the-story-in-progress") {
        sandbox.file(&path, &text);
    }
    sandbox
}

/// Returns the path and the text of a state of each kind that Piton writes.
pub(crate) fn states() -> Vec<(String, String)> {
    let kinds = ["a-guided-workflow", "a-workflow-engine", "a-state-that-only-counts-waves"];
    kinds.iter().flat_map(|kind| files(&format!("{kind}-continues-where-its-state-says"))).collect()
}
