//! OpenSpec: `openspec/changes/NAME/tasks.md` (docs/formats/checklist.md#openspec).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ids::{self, Ids},
    listed_box, says_done, text_of, title,
};
use crate::{
    dialect::{
        checklist::{
            list::{Claim, Group, ListedTask, Stage, TaskFiles, TaskList, Wording},
            outline::{LineKind, Outline},
            paths, words,
        },
        markdown::LineContext,
    },
    model::RelPath,
};

/// The section that boxes are in.
#[derive(Default)]
struct SectionPlace {
    group: Option<usize>,
    /// The number that its heading begins with.
    number: Option<String>,
    /// Number of boxes in it so far.
    boxes: usize,
}

/// Reads a check list. `own` is its folder. Every box is a task, also a nested one, and also one inside of a code fence.
pub(in crate::dialect::checklist) fn read(outline: &Outline<'_>, own: Option<&RelPath>) -> TaskList {
    let mut list = TaskList::default();
    let mut taken = Ids::default();
    let mut place = SectionPlace::default();
    let mut all = 0;
    // The boxes around the current line, outermost first: indentation and position.
    let mut around: Vec<(usize, usize)> = Vec::new();
    for (at, line) in outline.lines.iter().enumerate() {
        if let Some(heading) = outline.heading(at) {
            if heading.depth == 1 && list.title.is_none() && place.group.is_none() {
                list.title = Some(title(heading.text));
            }
            let says_done = words::heading_says_done(heading.text);
            list.groups.push(Group { title: title(heading.text), line: line.number, stage: Stage::Plain, says_done });
            let number = ids::dotted(heading.text).map(|(number, _)| number.to_owned());
            around.clear();
            place = SectionPlace { group: Some(list.groups.len() - 1), number, boxes: 0 };
            continue;
        }
        let LineKind::Box(checkbox) = &line.kind else { continue };
        if line.context == LineContext::Comment {
            continue;
        }
        all += 1;
        place.boxes += 1;
        let (stated, behind) = match ids::dotted(checkbox.text) {
            Some((id, behind)) => (Some(id.to_owned()), behind),
            None => (None, checkbox.text),
        };
        let by_place = || match &place.number {
            Some(number) => format!("{number}.{}", place.boxes),
            None => all.to_string(),
        };
        let id = taken.take(&stated.clone().unwrap_or_else(by_place));
        if stated.as_ref().is_some_and(|stated| *stated != id) {
            list.repeated.extend(stated.map(|stated| (stated, line.number)));
        }
        let said = words::read(checkbox.text, behind.trim_start(), checkbox.mark.is_ticked());
        let mark = checkbox.mark.text;
        if !mark.is_empty() && !checkbox.mark.is_ticked() && !list.odd_marks.iter().any(|(known, _)| known == mark) {
            list.odd_marks.push((mark.to_owned(), line.number));
        }
        let claim = match (said.is_skipped, checkbox.mark.is_ticked()) {
            (true, _) => Claim::Skipped,
            (false, true) => Claim::Done,
            (false, false) => Claim::Open,
        };
        let wording = if claim == Claim::Open && says_done(mark) {
            Some(Wording::SaysDone(format!("[{mark}]")))
        } else {
            said.wording
        };
        let says_done = place.group.and_then(|group| list.groups[group].says_done.clone()).map(Wording::SaysDone);
        let wording = says_done.filter(|_| claim == Claim::Open).or(wording);
        let body = outline.body(at, checkbox.indent);
        around.retain(|(indent, _)| *indent < checkbox.indent);
        let above = around.last().map(|(_, above)| list.tasks[*above].id.clone());
        around.push((checkbox.indent, list.tasks.len()));
        list.tasks.push(ListedTask {
            id,
            title: title(behind),
            text: text_of(outline, at..body.end),
            line: line.number,
            claim,
            above,
            group: place.group,
            boxes: vec![listed_box(line, checkbox)],
            files: TaskFiles { named: paths::results(behind, own), ..TaskFiles::default() },
            words: wording.into_iter().collect(),
            ..ListedTask::default()
        });
    }
    compare_with_nested(&mut list.tasks);
    list
}

/// Says of tasks that the boxes nested below them contradict their own.
fn compare_with_nested(tasks: &mut [ListedTask]) {
    // Of the boxes directly below each task: how many are ticked, how many are open.
    let mut below: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for task in tasks.iter_mut().rev() {
        let (ticked, open) = below.get(&task.id).copied().unwrap_or_default();
        match task.claim {
            Claim::Done if open > 0 => {
                task.words.push(Wording::SaysOpen("boxes below it are open".to_owned()));
            }
            Claim::Open if ticked > 0 && open == 0 => {
                task.words.retain(|word| !matches!(word, Wording::Waits(_)));
                task.words.push(Wording::SaysDone("all boxes below it are ticked".to_owned()));
            }
            Claim::Open | Claim::Begun | Claim::Done | Claim::Skipped => {}
        }
        let Some(above) = &task.above else { continue };
        let counts = below.entry(above.clone()).or_default();
        // What is below a ticked box counts for the one above it too.
        match task.claim {
            Claim::Done => (counts.0, counts.1) = (counts.0 + 1, counts.1 + open),
            Claim::Open | Claim::Begun => counts.1 += 1,
            Claim::Skipped => {}
        }
    }
    // Only what is below a ticked box with open ones is a piece of it: the others are done for themselves.
    let mut whole: BTreeSet<String> = BTreeSet::new();
    for task in tasks {
        task.above = task.above.take().filter(|above| whole.contains(above));
        let has_open = task.claim == Claim::Done && below.get(&task.id).is_some_and(|(_, open)| *open > 0);
        if has_open || task.above.is_some() {
            whole.insert(task.id.clone());
        }
    }
}
