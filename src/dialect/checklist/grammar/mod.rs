//! What a task is in each system that keeps check lists (docs/formats/checklist.md).

mod ids;
mod openspec;
mod plan_mode;
mod speckit;
mod superpowers;
mod waits;

pub(super) use openspec::read as openspec;
pub(super) use plan_mode::read as plan_mode;
pub(super) use speckit::{is_box as is_speckit_box, is_task as is_speckit_task, read as speckit};
pub(super) use superpowers::{is_plan as is_superpowers_plan, number_of as superpowers_number, read as superpowers};

use super::{
    list::{Claim, ListedBox},
    outline::{Outline, OutlineLine},
};
use crate::{
    dialect::markdown::Checkbox,
    model::{Part, PartKind, Status, clean_line, mask_secrets},
};

/// Characters of a label.
const LABEL: usize = 50;
/// Characters of a title.
const TITLE: usize = 160;

/// Marks that say done in other programs. They are no ticks, but such a task is looked at before it is run.
const TICKS_ELSEWHERE: [char; 6] = ['✓', '✔', '✅', '☑', '√', '☒'];

/// Tells whether a mark is no tick and says done all the same.
fn says_done(mark: &str) -> bool {
    mark.starts_with(TICKS_ELSEWHERE)
}

/// Returns the title of a task: without emphasis, cleaned and masked.
fn title(text: &str) -> String {
    clean_line(&mask_secrets(&text.replace("**", "").replace("~~", "").replace("__", "")), TITLE)
}

/// Returns how the box of a quality check list is named: by the id that it begins with, else by its first words.
pub(super) fn label(text: &str) -> String {
    let text = title(text);
    let first = text.split_whitespace().next().unwrap_or_default().trim_matches(['[', ']', ':', '(', ')', '.']);
    let is_id = first.starts_with(|c: char| c.is_ascii_uppercase()) && first.bytes().any(|byte| byte.is_ascii_digit());
    if is_id { first.to_owned() } else { clean_line(&text, LABEL) }
}

/// Returns a box as a part.
fn part(checkbox: &Checkbox<'_>, line: u32) -> Part {
    Part {
        name: line.to_string(),
        title: title(checkbox.text),
        kind: PartKind::Work,
        status: if checkbox.mark.is_ticked() { Status::Completed } else { Status::Pending },
        output: None,
        commands: Vec::new(),
    }
}

/// Returns a box with its place in the text.
fn listed_box(line: &OutlineLine<'_>, checkbox: &Checkbox<'_>) -> ListedBox {
    let span = line.start + checkbox.mark.span.start..line.start + checkbox.mark.span.end;
    ListedBox { line: line.number, span, mark: checkbox.mark.text.to_owned() }
}

/// Returns what the boxes of the parts of a task say together.
fn claim_of(parts: &[Part]) -> Claim {
    let done = parts.iter().filter(|part| part.status == Status::Completed).count();
    let left = parts.iter().filter(|part| part.is_open()).count();
    match (done, left) {
        (0, 0) if !parts.is_empty() => Claim::Skipped,
        (0, _) => Claim::Open,
        (_, 0) => Claim::Done,
        (_, _) => Claim::Begun,
    }
}

/// Returns the text of lines as written, up to a limit.
fn text_of(outline: &Outline<'_>, lines: std::ops::Range<usize>) -> String {
    const LIMIT: usize = 16 << 10;
    let mut text = String::new();
    for line in outline.lines.get(lines).unwrap_or_default() {
        if text.len() + line.text.len() > LIMIT {
            break;
        }
        text.push_str(line.text);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
