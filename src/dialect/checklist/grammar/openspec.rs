//! OpenSpec: `openspec/changes/NAME/tasks.md` (docs/formats/checklist.md#openspec).

use super::ids;
use super::ids::Ids;
use super::listed_box;
use super::says_done;
use super::text_of;
use super::title;
use crate::dialect::checklist::list::Claim;
use crate::dialect::checklist::list::Group;
use crate::dialect::checklist::list::ListedTask;
use crate::dialect::checklist::list::Stage;
use crate::dialect::checklist::list::TaskFiles;
use crate::dialect::checklist::list::TaskList;
use crate::dialect::checklist::list::Wording;
use crate::dialect::checklist::outline::LineKind;
use crate::dialect::checklist::outline::Outline;
use crate::dialect::checklist::paths;
use crate::dialect::checklist::words;
use crate::dialect::markdown::LineContext;
use crate::model::RelPath;

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
    for (at, line) in outline.lines.iter().enumerate() {
        if let Some(heading) = outline.heading(at) {
            if heading.depth == 1 && list.title.is_none() && place.group.is_none() {
                list.title = Some(title(heading.text));
            }
            let says_done = words::heading_says_done(heading.text);
            list.groups.push(Group { title: title(heading.text), line: line.number, stage: Stage::Plain, says_done });
            let number = ids::dotted(heading.text).map(|(number, _)| number.to_owned());
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
        list.tasks.push(ListedTask {
            id,
            title: title(behind),
            text: text_of(outline, at..body.end),
            line: line.number,
            claim,
            group: place.group,
            boxes: vec![listed_box(line, checkbox)],
            files: TaskFiles { named: paths::results(behind, own), ..TaskFiles::default() },
            words: wording.into_iter().collect(),
            ..ListedTask::default()
        });
    }
    list
}
