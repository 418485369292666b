//! Ticks for what was built, as a patch (docs/formats/checklist.md#patches).

use std::collections::BTreeSet;

use super::list::Claim;
use super::read;
use crate::model::FileSet;
use crate::model::Run;
use crate::model::StepId;
use crate::model::Suggestion;
use crate::model::Suggestions;

/// Suggests to tick the boxes of the steps that are done.
pub(super) fn suggest(files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
    let Some(text) = files.bytes(&files.state).and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return Suggestions::none(format!("{} is not UTF-8 text", files.state));
    };
    let list = read::list_of(read::kind_of(files), &files.state, text);
    let done: BTreeSet<&str> = done.iter().map(StepId::as_str).collect();
    let mut spans = Vec::new();
    let mut reasons = Vec::new();
    let open = list.tasks.iter().filter(|task| matches!(task.claim, Claim::Open | Claim::Begun));
    for task in open.filter(|task| done.contains(task.id.as_str()) && !task.open_boxes.is_empty()) {
        spans.extend(task.open_boxes.iter().map(|one| one.span.clone()));
        let lines: Vec<String> = task.open_boxes.iter().map(|one| one.line.to_string()).collect();
        let title = run.step(&StepId::new(&task.id)).map(|step| step.title.as_str()).unwrap_or_default();
        let shown = crate::model::clean_line(title, 60);
        reasons.push(format!("{} ({shown}) was built: tick line {}", task.id, lines.join(", ")));
    }
    if spans.is_empty() {
        return Suggestions::none("every box of what is proved to be done is ticked");
    }
    spans.sort_by_key(|span| span.start);
    let mut after = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        after.push_str(&text[from..span.start]);
        after.push('x');
        from = span.end;
    }
    after.push_str(&text[from..]);
    Suggestions {
        files: vec![Suggestion { file: files.state.clone(), after: after.into_bytes(), reasons }],
        notes: Vec::new(),
    }
}
