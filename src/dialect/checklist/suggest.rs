//! Ticks for what was built, as a patch, and the two answers about a task that is disputed (docs/formats/checklist.md#patches).

use std::collections::BTreeSet;

use super::{
    list::{Claim, ListedBox},
    read,
};
use crate::model::{Answer, AnswerWord, FileSet, Run, Step, StepId, Suggestion, Suggestions, clean_line};

/// Suggests to tick the boxes of the steps that are done.
pub(super) fn suggest(files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
    let Some(text) = files.bytes(&files.state).and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return Suggestions::none(format!("{} is not UTF-8 text", files.state));
    };
    let list = read::list_of(read::kind_of(files), &files.state, text);
    let done: BTreeSet<&str> = done.iter().map(StepId::as_str).collect();
    let mut boxes = Vec::new();
    let mut reasons = Vec::new();
    let open = list.tasks.iter().filter(|task| matches!(task.claim, Claim::Open | Claim::Begun));
    for task in open.filter(|task| done.contains(task.id.as_str())) {
        let left: Vec<&ListedBox> = task.boxes.iter().filter(|one| !one.is_ticked()).collect();
        if left.is_empty() {
            continue;
        }
        let title = run.step(&StepId::new(&task.id)).map(|step| step.title.as_str()).unwrap_or_default();
        reasons.push(format!("{} ({}) was built: tick {}", task.id, clean_line(title, 60), lines_of(&left)));
        boxes.extend(left);
    }
    if boxes.is_empty() {
        return Suggestions::none("every box of what is proved to be done is ticked");
    }
    let after = with_marks(text, boxes, "x");
    Suggestions { files: vec![Suggestion { file: files.state.clone(), after, reasons }], notes: Vec::new() }
}

/// Returns what a person can say about a task that has to be looked at: that it is done, which ticks its boxes, or that it is open, which
/// takes ticks and other marks away.
pub(super) fn answers(files: &FileSet, step: &Step) -> Vec<Answer> {
    let Some(text) = files.bytes(&files.state).and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return Vec::new();
    };
    let list = read::list_of(read::kind_of(files), &files.state, text);
    let Some(task) = list.tasks.iter().find(|task| task.id == step.id.as_str()) else { return Vec::new() };
    let has_mark = |one: &&ListedBox| !one.mark.is_empty();
    let marks: Vec<&ListedBox> = task.boxes.iter().filter(has_mark).collect();
    let answer = |word, verb: &str, boxes: Vec<&ListedBox>, mark| {
        let reason = format!("{}: {verb} {}", task.id, lines_of(&boxes));
        let after = with_marks(text, boxes, mark);
        Answer { word, suggestion: Suggestion { file: files.state.clone(), after, reasons: vec![reason] } }
    };
    let left: Vec<&ListedBox> = task.boxes.iter().chain(&task.below).filter(|one| !one.is_ticked()).collect();
    let done = (!left.is_empty()).then(|| answer(AnswerWord::Done, "tick", left, "x"));
    let open = (!marks.is_empty()).then(|| answer(AnswerWord::Open, "clear", marks, " "));
    done.into_iter().chain(open).collect()
}

fn lines_of(boxes: &[&ListedBox]) -> String {
    let lines: Vec<String> = boxes.iter().map(|one| one.line.to_string()).collect();
    format!("line {}", lines.join(", "))
}

/// Returns a text with another mark in these boxes.
fn with_marks(text: &str, mut boxes: Vec<&ListedBox>, mark: &str) -> Vec<u8> {
    boxes.sort_by_key(|one| one.span.start);
    let mut after = String::with_capacity(text.len());
    let mut from = 0;
    for one in boxes {
        after.push_str(&text[from..one.span.start]);
        after.push_str(mark);
        from = one.span.end;
    }
    after.push_str(&text[from..]);
    after.into_bytes()
}
