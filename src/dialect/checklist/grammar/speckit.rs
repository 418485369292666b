//! Spec Kit: `specs/FEATURE/tasks.md` (docs/formats/checklist.md#spec-kit).

use std::{collections::BTreeMap, ops::Range};

use super::{
    claim_of,
    ids::{self, Ids},
    listed_box, part, says_done, text_of, title,
    waits::{stories_in, story_waits, waits_for},
};
use crate::{
    dialect::{
        checklist::{
            list::{Claim, Group, ListedBox, ListedTask, Stage, TaskFiles, TaskList, Wording},
            outline::{LineKind, Outline, OutlineLine},
            paths, words,
        },
        markdown::Checkbox,
    },
    model::{Part, RelPath, letters_and_digits},
};

/// Names of sections in which a line with the id of a task is not the task, folded.
const ABOUT_TASKS: [&str; 6] =
    ["validationchecklist", "parallelexample", "parallelexecution", "parallelopportunities", "notes", "executionflow"];
/// Labels of lines that name the files of a task, folded.
const FILE_LABELS: [&str; 20] = [
    "file",
    "files",
    "path",
    "paths",
    "filepath",
    "filepaths",
    "location",
    "locations",
    "target",
    "targets",
    "filestocreate",
    "filestomodify",
    "filestochange",
    "datei",
    "dateien",
    "archivo",
    "archivos",
    "fichier",
    "ファイル",
    "文件",
];

/// Tells whether a line is a task, or a heading that may be one.
pub(in crate::dialect::checklist) fn is_task(outline: &Outline<'_>, at: usize) -> bool {
    let of_box = outline.checkbox(at).is_some_and(|checkbox| ids::speckit(checkbox.text).is_some());
    of_box || heading_id(outline, at).is_some()
}

/// Tells whether a line is the box of a task, also in a code block that a lost line opened.
pub(in crate::dialect::checklist) fn is_box(line: &OutlineLine<'_>) -> bool {
    matches!(&line.kind, LineKind::Box(checkbox) if ids::speckit(checkbox.text).is_some())
}

/// Reads a check list. `own` is its folder.
pub(in crate::dialect::checklist) fn read(outline: &Outline<'_>, own: Option<&RelPath>) -> TaskList {
    let mut reader = TaskReader::new(outline, own);
    let mut at = 0;
    while at < outline.lines.len() {
        at = reader.line(at);
    }
    reader.compare_with_headings();
    reader.stages();
    reader.list
}

struct TaskReader<'a> {
    outline: &'a Outline<'a>,
    own: Option<&'a RelPath>,
    list: TaskList,
    ids: Ids,
    /// The open headings, outermost first: depth and text.
    headings: Vec<(usize, &'a str)>,
    /// The group of each heading text that is one.
    groups: BTreeMap<u32, usize>,
    /// The line of each open heading.
    heading_lines: Vec<u32>,
    /// Position of the first task with each id.
    first: BTreeMap<String, usize>,
    /// Whether tasks of a group have the label of a story.
    stories: Vec<bool>,
    /// Open boxes without an id, by the group that they are in.
    nameless: Vec<(u32, Option<usize>)>,
}

impl<'a> TaskReader<'a> {
    fn new(outline: &'a Outline<'a>, own: Option<&'a RelPath>) -> Self {
        Self {
            outline,
            own,
            list: TaskList { unclosed: outline.unclosed, ..TaskList::default() },
            ids: Ids::default(),
            headings: Vec::new(),
            groups: BTreeMap::new(),
            heading_lines: Vec::new(),
            first: BTreeMap::new(),
            stories: Vec::new(),
            nameless: Vec::new(),
        }
    }

    /// Reads a line, and returns the number of the next one to read.
    fn line(&mut self, at: usize) -> usize {
        if let Some(heading) = self.outline.heading(at) {
            if let Some((id, behind)) = heading_id(self.outline, at) {
                let section = self.outline.section(at, heading.depth);
                let has_tasks =
                    |at: usize| self.outline.checkbox(at).is_some_and(|one| ids::speckit(one.text).is_some());
                if !section.clone().any(has_tasks) && !self.is_about_tasks() {
                    self.task_of_heading(at, id, behind, section.clone());
                    return section.end;
                }
            }
            self.enter(heading.depth, heading.text, self.outline.lines[at].number);
            return at + 1;
        }
        let Some(checkbox) = self.outline.checkbox(at) else {
            self.status_of_phase(at);
            return at + 1;
        };
        if self.is_about_tasks() {
            return at + 1;
        }
        let Some((id, behind)) = ids_of(checkbox.text) else {
            if !checkbox.mark.is_ticked() {
                let group = self.group();
                self.nameless.push((self.outline.lines[at].number, group));
            }
            return at + 1;
        };
        let body = self.body(at, checkbox);
        self.task_of_box(at, checkbox, id, behind, body.clone());
        body.end
    }

    /// Returns the lines that belong to a box: text that is indented deeper, and deeper boxes without an id, which are its parts.
    fn body(&self, at: usize, checkbox: &Checkbox<'_>) -> Range<usize> {
        let mut end = self.outline.body(at, checkbox.indent).end;
        while let Some(next) = self.outline.checkbox(end)
            && next.indent > checkbox.indent
            && ids_of(next.text).is_none()
        {
            end = self.outline.body(end, checkbox.indent).end.max(end + 1);
        }
        at + 1..end
    }

    /// Keeps what a line says about the phase that it is in: `**Status**: done`.
    fn status_of_phase(&mut self, at: usize) {
        let line = &self.outline.lines[at];
        let is_in_phase = || self.headings.iter().any(|(_, text)| is_phase(text));
        if let Some(Wording::SaysDone(said)) = words::status(line.text).filter(|_| line.is_read() && is_in_phase())
            && let Some(group) = self.group()
        {
            self.list.groups[group].says_done.get_or_insert(said);
        }
    }

    fn enter(&mut self, depth: usize, text: &'a str, line: u32) {
        if depth == 1 && self.list.title.is_none() {
            self.list.title = Some(title(text));
        }
        let keep = self.headings.iter().take_while(|(above, _)| *above < depth).count();
        self.headings.truncate(keep);
        self.heading_lines.truncate(keep);
        self.headings.push((depth, text));
        self.heading_lines.push(line);
    }

    /// Tells whether the current section only speaks about tasks. A phase inside of it has tasks of its own.
    fn is_about_tasks(&self) -> bool {
        let about = self.headings.iter().rposition(|(_, text)| {
            let name = letters_and_digits(text);
            ABOUT_TASKS.iter().any(|about| name.starts_with(about))
        });
        about.is_some_and(|about| !self.headings[about..].iter().any(|(_, text)| is_phase(text)))
    }

    /// Returns the group of the current line: the phase around it, else the outermost section.
    fn group(&mut self) -> Option<usize> {
        let phase = self.headings.iter().rposition(|(_, text)| is_phase(text));
        let outermost = || self.headings.iter().position(|(depth, _)| *depth > 1);
        let at = phase.or_else(outermost)?;
        let (line, text) = (self.heading_lines[at], self.headings[at].1);
        let groups = &mut self.list.groups;
        let position = *self.groups.entry(line).or_insert_with(|| {
            let says_done = words::heading_says_done(text);
            groups.push(Group { title: title(text), line, stage: Stage::Plain, says_done });
            groups.len() - 1
        });
        self.stories.resize(self.list.groups.len(), false);
        Some(position)
    }

    fn task_of_box(&mut self, at: usize, checkbox: &Checkbox<'_>, id: String, behind: &str, body: Range<usize>) {
        let line = &self.outline.lines[at];
        let labels = Labels::of(behind);
        let said = words::read(checkbox.text, labels.rest, checkbox.mark.is_ticked());
        let boxes = || {
            let found = body.clone().filter_map(|at| Some((&self.outline.lines[at], self.outline.checkbox(at)?)));
            found.collect::<Vec<_>>()
        };
        let parts: Vec<Part> = boxes().into_iter().map(|(line, checkbox)| part(checkbox, line.number)).collect();
        let below = boxes().into_iter().map(|(line, checkbox)| listed_box(line, checkbox)).collect();
        let (claim, wording) = claim_with_box(checkbox.mark.text, &parts, said);
        self.odd_mark(checkbox, line.number);
        let text = text_of(self.outline, at..body.end);
        let files = TaskFiles { named: self.named(labels.rest, body.clone()), ..TaskFiles::default() };
        let task = ListedTask {
            title: title(labels.rest),
            waits_for: waits_for(labels.rest).into_iter().chain(self.declared_waits(body.clone())).collect(),
            text,
            line: line.number,
            claim,
            is_parallel: labels.is_parallel,
            parts,
            boxes: vec![listed_box(line, checkbox)],
            below,
            files,
            words: wording.into_iter().collect(),
            ..ListedTask::default()
        };
        self.add(id, task, labels.has_story);
    }

    fn task_of_heading(&mut self, at: usize, id: String, behind: &str, section: Range<usize>) {
        let line = &self.outline.lines[at];
        let labels = Labels::of(behind);
        let said = words::read(behind, labels.rest, false);
        let (mut parts, mut boxes, mut below) = (Vec::new(), Vec::new(), Vec::new());
        for at in section.clone() {
            let (line, Some(checkbox)) = (&self.outline.lines[at], self.outline.checkbox(at)) else { continue };
            self.odd_mark(checkbox, line.number);
            let mut part = part(checkbox, line.number);
            if words::read(checkbox.text, checkbox.text, checkbox.mark.is_ticked()).is_skipped {
                part.status = crate::model::Status::Skipped;
            } else {
                boxes.push(listed_box(line, checkbox));
            }
            parts.push(part);
        }
        let own = heading_box(line);
        let status = section.clone().filter(|at| self.outline.lines[*at].is_read());
        let status = status.filter_map(|at| words::status(self.outline.lines[at].text)).next();
        let (claim, wording) = match (&own, status) {
            (Some(own), _) => {
                below = std::mem::replace(&mut boxes, vec![own.clone()]);
                claim_with_box(&own.mark, &parts, words::read(behind, labels.rest, own.is_ticked()))
            }
            _ if said.is_skipped => (Claim::Skipped, None),
            // Without any box, nothing else says it.
            (None, Some(Wording::SaysDone(_))) if parts.is_empty() => (Claim::Done, None),
            (None, Some(status)) => match (claim_of(&parts), status) {
                (Claim::Done, status @ Wording::SaysOpen(_)) => (Claim::Done, Some(status)),
                (claim @ (Claim::Open | Claim::Begun), status @ Wording::SaysDone(_)) => (claim, Some(status)),
                (claim, _) => (claim, said.wording),
            },
            (None, None) => (claim_of(&parts), said.wording),
        };
        let wording = wording.filter(|word| claim != Claim::Done || matches!(word, Wording::SaysOpen(_)));
        let files = self.declared(labels.rest, section.clone());
        let task = ListedTask {
            title: title(labels.rest),
            text: text_of(self.outline, at..section.end),
            line: line.number,
            claim,
            is_parallel: labels.is_parallel,
            waits_for: self.declared_waits(section),
            parts,
            boxes,
            below,
            files: TaskFiles { named: files, ..TaskFiles::default() },
            words: wording.into_iter().collect(),
            ..ListedTask::default()
        };
        self.add(id, task, labels.has_story);
    }

    /// Adds a task. A second line with the same id and text is the same task, and contradicts it if the boxes differ.
    fn add(&mut self, id: String, mut task: ListedTask, has_story: bool) {
        let key = id.to_lowercase();
        if let Some(first) = self.first.get(&key).copied() {
            let known = &mut self.list.tasks[first];
            if known.boxes.is_empty() != task.boxes.is_empty() {
                join(known, task);
                return;
            }
            let (one, other) = (without_place(&known.title), without_place(&task.title));
            if one == other || one.is_empty() || other.is_empty() {
                if known.claim != task.claim {
                    known.words.push(Wording::TickedElsewhere(task.line));
                }
                return;
            }
            self.list.repeated.push((id.clone(), task.line));
        }
        task.group = self.group();
        task.id = self.ids.take(&id);
        self.first.entry(key).or_insert(self.list.tasks.len());
        if let Some(group) = task.group {
            self.stories[group] |= has_story;
        }
        self.list.tasks.push(task);
    }

    fn odd_mark(&mut self, checkbox: &Checkbox<'_>, line: u32) {
        let mark = checkbox.mark.text;
        let is_odd = !mark.is_empty() && !checkbox.mark.is_ticked();
        if is_odd && !self.list.odd_marks.iter().any(|(known, _)| known == mark) {
            self.list.odd_marks.push((mark.to_owned(), line));
        }
    }

    /// Returns the files that the line of a task and the text below it name.
    fn named(&self, text: &str, body: Range<usize>) -> Vec<RelPath> {
        let mut found = paths::results(text, self.own);
        for at in body.filter(|at| self.outline.lines[*at].is_read()) {
            let files = label(self.outline.lines[at].text).map(|files| paths::results(files, self.own));
            found.extend(files.into_iter().flatten());
        }
        found.dedup();
        found
    }

    /// Returns the files that the section of a task declares, else those that its heading names.
    fn declared(&self, heading: &str, section: Range<usize>) -> Vec<RelPath> {
        let mut found = Vec::new();
        let mut in_list = false;
        for at in section {
            let line = &self.outline.lines[at];
            let text = line.text.trim();
            if !line.is_read() || text.is_empty() {
                in_list &= line.is_read();
                continue;
            }
            let labelled = label(line.text);
            in_list = labelled.is_some() || (in_list && text.starts_with(['-', '*', '+']));
            if in_list {
                found.extend(paths::results(labelled.unwrap_or(text), self.own));
            }
        }
        if found.is_empty() { paths::results(heading, self.own) } else { found }
    }

    /// Returns the tasks that the section of a task says it depends on.
    fn declared_waits(&self, section: Range<usize>) -> Vec<String> {
        let lines = section.filter(|at| self.outline.lines[*at].is_read()).map(|at| self.outline.lines[at].text);
        lines.filter(|line| letters_and_digits(line).starts_with("depend")).flat_map(waits_for).collect()
    }

    /// Says of tasks with a heading that calls everything below it done that their open box contradicts it, and of open boxes without an
    /// id that they are in a phase with tasks.
    fn compare_with_headings(&mut self) {
        for task in &mut self.list.tasks {
            let said = task.group.and_then(|group| self.list.groups[group].says_done.clone());
            if let Some(said) = said.filter(|_| matches!(task.claim, Claim::Open | Claim::Begun)) {
                task.words.retain(|word| !matches!(word, Wording::Waits(_)));
                task.words.push(Wording::SaysDone(said));
            }
        }
        let tasks = &self.list.tasks;
        let with_tasks = |group: &Option<usize>| group.is_some() && tasks.iter().any(|task| task.group == *group);
        self.list.nameless =
            self.nameless.iter().filter(|(_, group)| with_tasks(group)).map(|(line, _)| *line).collect();
    }

    fn stages(&mut self) {
        for (group, has_story) in self.list.groups.iter_mut().zip(&self.stories) {
            let name = letters_and_digits(&group.title);
            if *has_story
                || name.contains("userstory")
                || name.contains("ユーザーストーリー")
                || name.contains("用户故事")
            {
                group.stage = Stage::Story(stories_in(&group.title.to_lowercase()).first().copied());
            }
        }
        self.list.story_waits = story_waits(self.outline);
    }
}

/// Returns what a task with a box of its own says: its mark, and the boxes below it.
fn claim_with_box(mark: &str, parts: &[Part], said: words::LineWords) -> (Claim, Option<Wording>) {
    let below = claim_of(parts);
    match (said.is_skipped, mark.eq_ignore_ascii_case("x")) {
        (true, _) => (Claim::Skipped, None),
        (false, true) if matches!(below, Claim::Open | Claim::Begun) && !parts.is_empty() => {
            (Claim::Done, Some(Wording::SaysOpen("boxes below it are open".to_owned())))
        }
        (false, true) => (Claim::Done, said.wording),
        (false, false) if below == Claim::Done => {
            (Claim::Open, Some(Wording::SaysDone("all boxes below it are ticked".to_owned())))
        }
        (false, false) if below == Claim::Begun => (Claim::Begun, said.wording),
        (false, false) if says_done(mark) => (Claim::Open, Some(Wording::SaysDone(format!("[{mark}]")))),
        (false, false) => (Claim::Open, said.wording),
    }
}

/// Returns a title, folded, without the file that it ends with: `Create a model in src/a.py`.
fn without_place(title: &str) -> String {
    let is_place = |at: usize| {
        title[at..].trim_matches(['.', ')', '`', '*']).rsplit(' ').next().is_some_and(|last| last.contains('/'))
    };
    let at =
        [" in ", " (", " at ", " to "].iter().filter_map(|word| title.rfind(word)).max().filter(|at| is_place(*at));
    letters_and_digits(at.map_or(title, |at| &title[..at]))
}

/// Joins the two places of a task, of which one has its box and the other its description.
fn join(known: &mut ListedTask, other: ListedTask) {
    let (with_box, described) =
        if known.boxes.is_empty() { (other, std::mem::take(known)) } else { (std::mem::take(known), other) };
    let (id, group) =
        if with_box.id.is_empty() { (described.id, described.group) } else { (with_box.id, with_box.group) };
    let words = match described.claim {
        Claim::Done if with_box.claim == Claim::Open => {
            vec![Wording::SaysDone("the status of its description".to_owned())]
        }
        Claim::Open | Claim::Begun | Claim::Skipped | Claim::Done => described.words,
    };
    let files = if described.files == TaskFiles::default() { with_box.files } else { described.files };
    *known = ListedTask {
        id,
        group,
        title: if with_box.title.is_empty() { described.title } else { with_box.title },
        text: described.text,
        files,
        waits_for: with_box.waits_for.into_iter().chain(described.waits_for).collect(),
        words: with_box.words.into_iter().chain(words).collect(),
        ..with_box
    };
}

/// The labels between the id of a task and its text.
struct Labels<'a> {
    is_parallel: bool,
    has_story: bool,
    rest: &'a str,
}

impl<'a> Labels<'a> {
    fn of(behind: &'a str) -> Self {
        let is_between = |c: char| {
            c.is_whitespace() || matches!(c, ':' | '.' | '*' | '_' | '`' | '-' | '–' | '—' | ']' | '、' | '：')
        };
        let mut labels = Self { is_parallel: false, has_story: false, rest: behind.trim_start_matches(is_between) };
        while let Some((label, rest)) = labels.rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let name = label.trim().to_uppercase();
            let is_story =
                name.strip_prefix("US").is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
            // The box in a heading.
            let is_mark = name.is_empty() || name == "X";
            if name != "P" && !is_story && name != "STORY" && !is_mark {
                break;
            }
            labels.is_parallel |= name == "P";
            labels.has_story |= is_story;
            labels.rest = rest.trim_start_matches(is_between);
        }
        // The mark before a name in code belongs to it: `T002 — `src/a.ts``.
        if labels.rest.matches('`').count() % 2 == 1
            && let Some(before) =
                behind.len().checked_sub(labels.rest.len() + 1).filter(|at| behind.as_bytes()[*at] == b'`')
        {
            labels.rest = &behind[before..];
        }
        // In headings the label often stands at the end.
        if let Some(rest) = labels.rest.trim_end().strip_suffix("[P]") {
            labels.is_parallel = true;
            labels.rest = rest.trim_end();
        }
        labels
    }
}

fn is_phase(heading: &str) -> bool {
    letters_and_digits(heading).starts_with("phase")
}

/// Returns the id of a task from the text behind a box.
fn ids_of(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(['*', '_', '`', ' ']);
    // `~~T003~~ T004 ...`: the id was replaced.
    let replaced = text.strip_prefix("~~").and_then(|text| text.split_once("~~"));
    let replaced = replaced.filter(|(old, _)| ids::speckit(old).is_some_and(|(_, rest)| rest.trim().is_empty()));
    if let Some(new) = replaced.and_then(|(_, new)| ids::speckit(new)) {
        return Some(new);
    }
    let text = text.trim_start_matches(['*', '_', '`', '~', ' ']);
    // `SKIP: T039 (...)`: the id stands behind the word.
    let skipped = ["SKIPPED", "SKIP", "N/A"].iter().find_map(|word| text.strip_prefix(word));
    ids::speckit(skipped.unwrap_or(text))
}

/// The marks of boxes in headings.
const HEADING_MARKS: [&str; 3] = ["[x]", "[X]", "[ ]"];

/// Returns the box in the heading of a task, before or behind its id: `[x] T001 Title`, `T001 - [x] Title`.
fn heading_box(line: &OutlineLine<'_>) -> Option<ListedBox> {
    let (at, mark) = HEADING_MARKS.iter().filter_map(|mark| Some((line.text.find(mark)?, *mark))).min()?;
    let before = &line.text[..at];
    let is_plain = |text: &str| !text.contains(char::is_alphanumeric);
    let is_behind = || ids::speckit(before.trim_start_matches('#')).is_some_and(|(_, rest)| is_plain(rest));
    let span = line.start + at + 1..line.start + at + 2;
    let mark = mark.trim_matches(['[', ']']).trim().to_owned();
    (is_plain(before) || is_behind()).then_some(ListedBox { line: line.number, span, mark })
}

/// Returns the id of a task from a heading, with the text behind it. `T001-T005` is a range, not a task.
fn heading_id<'a>(outline: &Outline<'a>, at: usize) -> Option<(String, &'a str)> {
    let heading = outline.heading(at).filter(|heading| heading.depth > 1)?;
    let text = HEADING_MARKS.iter().find_map(|mark| heading.text.strip_prefix(mark)).unwrap_or(heading.text);
    let (id, behind) = ids::speckit(text)?;
    let is_range = id.split_once(['-', '.']).is_some_and(|(_, last)| last.starts_with(['T', 't']));
    let is_range = is_range
        || behind
            .trim_start()
            .strip_prefix(['-', '–', '—'])
            .is_some_and(|rest| ids::speckit(rest.trim_start()).is_some());
    let is_titled = behind.is_empty() || behind.starts_with([':', ' ', '.', '*', '`', '：', ']', '~']);
    (!is_range && is_titled).then_some((id, behind))
}

/// Returns what stands behind a label for files: `**File**: a`, `- Files: a`.
fn label(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches(['-', '*', '+', ' ', '_']);
    let (name, files) = line.split_once([':', '：'])?;
    (name.len() <= 40 && FILE_LABELS.contains(&letters_and_digits(name).as_str())).then_some(files)
}
