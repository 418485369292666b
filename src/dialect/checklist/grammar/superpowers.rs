//! superpowers: `docs/superpowers/plans/*.md` (docs/formats/checklist.md#superpowers).

use std::{collections::BTreeMap, ops::Range};

use super::{claim_of, ids::Ids, listed_box, part, text_of, title};
use crate::{
    dialect::checklist::{
        list::{Claim, ListedTask, TaskFiles, TaskList, Wording},
        outline::Outline,
        paths, words,
    },
    model::{Status, letters_and_digits},
};

/// The word for a task in headings.
const TASK: [&str; 10] =
    ["task", "tarea", "tarefa", "tâche", "aufgabe", "attività", "задача", "任务", "タスク", "작업"];

/// A task heading of a plan.
struct TaskHeading<'a> {
    at: usize,
    depth: usize,
    number: String,
    text: &'a str,
}

/// Tells whether a text is a plan: two headings of tasks at the same level, and a step or a list of files below one.
pub(in crate::dialect::checklist) fn is_plan(outline: &Outline<'_>) -> bool {
    let tasks = tasks(outline);
    let has_steps = |at: usize| {
        let is_step = outline.checkbox(at).is_some_and(|one| letters_and_digits(one.text).starts_with("step"));
        is_step || outline.lines[at].text.trim().to_lowercase().starts_with("**files")
    };
    tasks.len() >= 2 && (0..outline.lines.len()).any(|at| outline.lines[at].is_read() && has_steps(at))
}

/// Reads a plan.
pub(in crate::dialect::checklist) fn read(outline: &Outline<'_>) -> TaskList {
    let first = (0..outline.lines.len()).find_map(|at| outline.heading(at));
    let mut list =
        TaskList { unclosed: outline.unclosed, title: first.map(|first| title(first.text)), ..TaskList::default() };
    let mut taken = Ids::default();
    for task in tasks(outline) {
        let line = &outline.lines[task.at];
        let section = outline.section(task.at, task.depth);
        let wanted = format!("task-{}", task.number);
        let id = taken.take(&wanted);
        if id != wanted {
            list.repeated.push((wanted, line.number));
        }
        let (mut parts, mut boxes) = (Vec::new(), Vec::new());
        for at in section.clone() {
            let (line, Some(checkbox)) = (&outline.lines[at], outline.checkbox(at)) else { continue };
            let mut part = part(checkbox, line.number);
            if words::read(checkbox.text, checkbox.text, checkbox.mark.is_ticked()).is_skipped {
                part.status = Status::Skipped;
            } else {
                boxes.push(listed_box(line, checkbox));
            }
            parts.push(part);
        }
        let said = words::read(task.text, task.text, false);
        let claim = if said.is_skipped { Claim::Skipped } else { claim_of(&parts) };
        let status = section.clone().filter(|at| outline.lines[*at].is_read());
        let status = status.filter_map(|at| words::status(outline.lines[at].text)).next();
        list.tasks.push(ListedTask {
            id,
            title: title(task.text),
            text: text_of(outline, task.at..section.end),
            line: line.number,
            claim,
            parts,
            boxes,
            files: files(outline, section),
            words: status
                .or(said.wording)
                .filter(|word| claim != Claim::Done && matches!(word, Wording::SaysDone(_)))
                .into_iter()
                .collect(),
            ..ListedTask::default()
        });
    }
    list
}

/// Returns the headings of tasks at the level that has most of them.
fn tasks<'a>(outline: &Outline<'a>) -> Vec<TaskHeading<'a>> {
    let heading = |at: usize| {
        let heading = outline.heading(at)?;
        let (number, text) = number_of(heading.text)?;
        Some(TaskHeading { at, depth: heading.depth, number, text })
    };
    let mut found: Vec<TaskHeading<'a>> = (0..outline.lines.len()).filter_map(heading).collect();
    let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
    found.iter().for_each(|task| *levels.entry(task.depth).or_default() += 1);
    let level = levels.iter().rev().max_by_key(|(_, count)| **count).map(|(level, _)| *level);
    found.retain(|task| Some(task.depth) == level);
    found
}

/// Reads the number of a task from a heading or a line of a ledger, with the text behind it.
pub(in crate::dialect::checklist) fn number_of(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = text.to_lowercase();
    let word = TASK.iter().find(|word| lower.starts_with(**word))?;
    let rest = text.get(word.len()..)?;
    let number = rest.trim_start_matches([' ', '#', '-', '\u{a0}']);
    let digits = number.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let id = number[..digits].trim_end_matches('.');
    let mut end = id.len();
    if id.is_empty() || id.len() > 12 || !id.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let has_letter = number[end..].starts_with(|c: char| c.is_ascii_alphabetic());
    if has_letter && !number[end + 1..].starts_with(|c: char| c.is_alphanumeric()) {
        end += 1;
    }
    if number[end..].starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let is_between = |c: char| c.is_whitespace() || matches!(c, ':' | '.' | '-' | '–' | '—' | '*' | '：' | ')' | ']');
    Some((number[..end].to_lowercase(), number[end..].trim_start_matches(is_between)))
}

/// Reads the block `**Files:**` of a task.
fn files(outline: &Outline<'_>, section: Range<usize>) -> TaskFiles {
    let mut files = TaskFiles::default();
    let mut is_inside = false;
    for at in section {
        let line = &outline.lines[at];
        let text = line.text.trim();
        if !line.is_read() || outline.checkbox(at).is_some() || outline.heading(at).is_some() {
            is_inside = false;
            continue;
        }
        let item = text.trim_start_matches(['-', '*', '+', ' ']);
        let is_label = letters_and_digits(text.split(':').next().unwrap_or_default()) == "files";
        if is_label {
            is_inside = true;
        } else if !is_inside || text.is_empty() {
            continue;
        } else if !text.starts_with(['-', '*', '+', '`']) || text.starts_with("**") {
            is_inside = false;
            continue;
        }
        let item = if is_label { text.split_once(':').map_or("", |(_, item)| item) } else { item };
        add_file(item, &mut files);
    }
    files
}

/// Adds the files of an entry such as ``Create: `a`, `b` ``.
fn add_file(item: &str, files: &mut TaskFiles) {
    let verb = letters_and_digits(item.split([':', '`', ' ']).find(|word| !word.is_empty()).unwrap_or_default());
    let paths = paths::declared(item);
    let is_made = !matches!(verb.as_str(), "delete" | "remove" | "reference" | "read" | "see");
    files.is_outside |= is_made && paths::is_outside(item);
    match verb.as_str() {
        _ if !is_made => {}
        "modify" | "update" | "edit" | "change" | "rename" | "move" | "reuse" => files.modified.extend(paths),
        "create" | "new" | "add" | "test" | "tests" => files.created.extend(paths),
        _ => files.modified.extend(paths),
    }
}
