//! The summary of a task (`.summaries/ID-summary.md`), which the agents of later tasks read first (docs/formats/ccw.md#summaries).

use std::fmt::Write as _;

use super::raw;
use crate::model::Outcome;
use crate::model::safe_text;

/// Returns the text of a summary in the form that CCW's own agents use.
pub(super) fn text(title: &str, outcome: &Outcome) -> String {
    let id = raw::line(outcome.step.as_str());
    let said = outcome.summary.as_deref().map(safe_text).filter(|said| !said.is_empty());
    let said = said.unwrap_or_else(|| "The report of this task has no summary.".to_owned());
    let mut text = format!("# Task: {id} {}\n\n## Implementation Summary\n\n{said}\n", raw::line(title));
    let mut list = |heading: &str, items: &mut dyn Iterator<Item = String>| {
        let items: Vec<String> = items.collect();
        if !items.is_empty() {
            let _ = write!(text, "\n### {heading}\n\n{}\n", items.join("\n"));
        }
    };
    list("Files Modified", &mut outcome.outputs.iter().map(|path| format!("- `{}`", raw::line(path.as_str()))));
    list("Open Conditions", &mut outcome.conditions.iter().map(|condition| format!("- {}", safe_text(condition))));
    list("Findings", &mut outcome.findings.iter().map(|finding| format!("- {}", safe_text(finding))));
    list("Commit", &mut outcome.commit.iter().map(|commit| raw::line(commit)));
    text.push_str("\n## Status: ✅ Complete\n");
    text
}
