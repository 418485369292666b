//! Plans of Claude Code's plan mode: boxes or a numbered list (docs/formats/checklist.md#plan-mode).

use super::{ids::Ids, listed_box, says_done, text_of, title};
use crate::dialect::checklist::{
    list::{Claim, ListedTask, TaskFiles, TaskList, Wording},
    outline::{LineKind, Outline},
    paths, words,
};

/// Items below which a text is no plan.
const LEAST: usize = 2;

/// Reads a plan; `None` if it has neither two boxes nor two numbered items.
pub(in crate::dialect::checklist) fn read(outline: &Outline<'_>) -> Option<TaskList> {
    let lines = || 0..outline.lines.len();
    let boxes: Vec<usize> = lines().filter(|at| outline.checkbox(*at).is_some()).collect();
    let numbers: Vec<usize> = lines().filter(|at| numbered(outline, *at).is_some()).collect();
    let items = if boxes.len() >= LEAST { boxes } else { numbers };
    if items.len() < LEAST {
        return None;
    }
    let heading = lines().find_map(|at| outline.heading(at));
    let mut list = TaskList {
        unclosed: outline.unclosed,
        title: heading.map(|heading| title(heading.text)),
        ..TaskList::default()
    };
    let mut taken = Ids::default();
    for (number, at) in items.into_iter().enumerate() {
        let line = &outline.lines[at];
        let checkbox = outline.checkbox(at);
        let text = checkbox.map(|checkbox| checkbox.text).or_else(|| numbered(outline, at)).unwrap_or_default();
        let is_ticked = checkbox.is_some_and(|checkbox| checkbox.mark.is_ticked());
        let said = words::read(text, text, is_ticked);
        let claim = match (said.is_skipped, is_ticked) {
            (true, _) => Claim::Skipped,
            (false, true) => Claim::Done,
            (false, false) => Claim::Open,
        };
        let mark = checkbox.map_or("", |checkbox| checkbox.mark.text);
        let wording = if says_done(mark) { Some(Wording::SaysDone(format!("[{mark}]"))) } else { said.wording };
        list.tasks.push(ListedTask {
            id: taken.take(&(number + 1).to_string()),
            title: title(text),
            text: text_of(outline, at..outline.body(at, 0).end),
            line: line.number,
            claim,
            boxes: checkbox.map(|checkbox| listed_box(line, checkbox)).into_iter().collect(),
            files: TaskFiles { named: paths::results(text, None), ..TaskFiles::default() },
            words: wording.into_iter().collect(),
            ..ListedTask::default()
        });
    }
    Some(list)
}

/// Returns the text of a numbered item that is not nested.
fn numbered<'a>(outline: &Outline<'a>, at: usize) -> Option<&'a str> {
    let line = &outline.lines[at];
    if !line.is_read() || line.kind != LineKind::Text {
        return None;
    }
    let digits = line.text.bytes().take_while(u8::is_ascii_digit).count();
    let item = line.text[digits..].strip_prefix(['.', ')'])?;
    ((1..=4).contains(&digits) && item.starts_with([' ', '\t'])).then(|| item.trim())
}
