//! The summary of a task (`.summaries/ID-summary.md`), which the agents of later tasks read first (docs/formats/ccw.md#summaries).

use std::{collections::BTreeSet, fmt::Write as _};

use super::{ids, raw};
use crate::model::{Outcome, StepId, safe_text};

/// The number of characters by which words are compared.
const STEM: usize = 4;

/// Tells whether the first line of a summary names its task with a title that has no word in common with that of the task
/// (docs/formats/ccw.md#summaries).
pub(super) fn is_about_another(bytes: &[u8], task: &StepId, title: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some(heading) = text.lines().find_map(|line| line.trim_start_matches('\u{feff}').strip_prefix("# ")) else {
        return false;
    };
    let heading = heading.trim_start_matches("Task:").trim();
    let id = ids::leading_token(heading);
    if id.is_empty() || ids::loose_key(id) != ids::loose_key(task.as_str()) {
        return false;
    }
    let (said, known) = (stems(&heading[id.len()..]), stems(title));
    !said.is_empty() && !known.is_empty() && said.is_disjoint(&known)
}

/// Returns the beginnings of the words of a title. Where words are not set apart, each character counts as one.
fn stems(title: &str) -> BTreeSet<String> {
    let words = title.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let stems = words.flat_map(|word| match word.is_ascii() {
        true => vec![word.chars().take(STEM).collect::<String>()].into_iter().filter(|stem| stem.len() > 2).collect(),
        false => word.chars().map(String::from).collect::<Vec<String>>(),
    });
    stems.collect()
}

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
