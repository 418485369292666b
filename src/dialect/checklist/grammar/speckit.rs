//! Spec Kit: `specs/FEATURE/tasks.md` (docs/formats/checklist.md#spec-kit).

use std::collections::BTreeMap;
use std::ops::Range;

use super::claim_of;
use super::ids;
use super::ids::Ids;
use super::listed_box;
use super::part;
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
use crate::dialect::checklist::outline::OutlineLine;
use crate::dialect::checklist::paths;
use crate::dialect::checklist::words;
use crate::dialect::markdown::Checkbox;
use crate::model::RelPath;
use crate::model::letters_and_digits;

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
        let Some(checkbox) = self.outline.checkbox(at) else { return at + 1 };
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
        let boxes: Vec<usize> = body.clone().filter(|at| self.outline.checkbox(*at).is_some()).collect();
        let parts: Vec<_> = boxes
            .iter()
            .filter_map(|at| Some(part(self.outline.checkbox(*at)?, self.outline.lines[*at].number)))
            .collect();
        let below = claim_of(&parts);
        let (claim, wording) = match (said.is_skipped, checkbox.mark.is_ticked()) {
            (true, _) => (Claim::Skipped, None),
            (false, true) if matches!(below, Claim::Open | Claim::Begun) && !parts.is_empty() => {
                (Claim::Done, Some(Wording::SaysOpen("boxes below it are open".to_owned())))
            }
            (false, true) => (Claim::Done, said.wording),
            (false, false) if below == Claim::Done => {
                (Claim::Open, Some(Wording::SaysDone("all boxes below it are ticked".to_owned())))
            }
            (false, false) if below == Claim::Begun => (Claim::Begun, said.wording),
            (false, false) if says_done(checkbox.mark.text) => {
                (Claim::Open, Some(Wording::SaysDone(format!("[{}]", checkbox.mark.text))))
            }
            (false, false) => (Claim::Open, said.wording),
        };
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
        let (mut parts, mut boxes) = (Vec::new(), Vec::new());
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
        let claim = if said.is_skipped { Claim::Skipped } else { claim_of(&parts) };
        let wording = said.wording.filter(|_| claim != Claim::Done);
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
            let (one, other) = (letters_and_digits(&known.title), letters_and_digits(&task.title));
            if one == other || one.is_empty() || other.is_empty() || one.starts_with(&other) || other.starts_with(&one)
            {
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
            if name != "P" && !is_story && name != "STORY" {
                break;
            }
            labels.is_parallel |= name == "P";
            labels.has_story |= is_story;
            labels.rest = rest.trim_start_matches(is_between);
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
    let text = text.trim_start_matches(['*', '_', '`', '~', ' ']);
    // `SKIP: T039 (...)`: the id stands behind the word.
    let skipped = ["SKIPPED", "SKIP", "N/A"].iter().find_map(|word| text.strip_prefix(word));
    ids::speckit(skipped.unwrap_or(text))
}

/// Returns the id of a task from a heading, with the text behind it. `T001-T005` is a range, not a task.
fn heading_id<'a>(outline: &Outline<'a>, at: usize) -> Option<(String, &'a str)> {
    let heading = outline.heading(at).filter(|heading| heading.depth > 1)?;
    let (id, behind) = ids::speckit(heading.text)?;
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

/// Returns the ids that a text says it waits for: `(depends on T012, T013)`, `after T010-T012`.
fn waits_for(text: &str) -> Vec<String> {
    const PHRASES: [&str; 9] = [
        "depends on",
        "depend on",
        "dependencies",
        "depends",
        "blocked by",
        "after",
        "requires",
        "needs",
        "prerequisites",
    ];
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for phrase in PHRASES {
        for (at, _) in lower.match_indices(phrase) {
            ids_in_list(&text[at + phrase.len()..], &mut found);
        }
    }
    found.dedup();
    found
}

/// Reads the ids that a text begins with, separated by commas, dashes and words such as `and`.
fn ids_in_list(text: &str, found: &mut Vec<String>) {
    let mut rest = text;
    let mut is_range = false;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ':' | ',' | '*' | '`' | '(' | '[' | '&' | '+' | '/')
        });
        if let Some(behind) = ["and ", "through ", "to "].iter().find_map(|word| rest.strip_prefix(word)) {
            is_range |= !rest.starts_with("and");
            rest = behind;
            continue;
        }
        if let Some(behind) = rest.strip_prefix(['-', '–', '—']).filter(|_| !found.is_empty()) {
            is_range = true;
            rest = behind;
            continue;
        }
        if !rest.starts_with(['T', 't']) {
            return;
        }
        let Some((id, behind)) = ids::speckit(rest) else { return };
        // `T012-T014` may be read as one id with a suffix.
        match id.split_once('-').filter(|(first, last)| ids::speckit(first).is_some() && is_end_of_range(last)) {
            Some((first, last)) => {
                found.push(first.to_owned());
                range(last, found);
            }
            None if std::mem::take(&mut is_range) => range(&id, found),
            None => found.push(id),
        }
        rest = behind.trim_start_matches([')', ']', '`', '*']);
    }
}

fn is_end_of_range(text: &str) -> bool {
    let digits = text.trim_start_matches(['T', 't']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds the ids behind the last one up to `end`.
fn range(end: &str, found: &mut Vec<String>) {
    const LIMIT: u32 = 200;
    let number = |id: &str| id.trim_start_matches(['T', 't']).parse::<u32>().ok();
    let Some((from, to)) = found.last().and_then(|last| number(last)).zip(number(end)) else { return };
    if from < to && to - from <= LIMIT {
        found.extend((from + 1..=to).map(|number| format!("T{number:03}")));
    }
}

/// Returns which user stories wait for which others, by number, where the list says so in words: `User Story 2 ... depends on US1`.
fn story_waits(outline: &Outline<'_>) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let lines = outline.lines.iter().filter(|line| line.is_read());
    for line in lines {
        let text = line.text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let Some(subject) = stories_in(&text).first().copied().filter(|_| text.starts_with("us")) else { continue };
        let Some((_, behind)) = text.split_once("depends on").or_else(|| text.split_once("depend on")) else {
            continue;
        };
        let sentence = behind.split(['.', ';']).next().unwrap_or_default();
        found.extend(stories_in(sentence).into_iter().filter(|on| *on != subject).map(|on| (subject, on)));
    }
    found
}

/// Returns the numbers of the user stories that a text in lower case names: `user story 2`, `us2`.
fn stories_in(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for (at, word) in ["user story ", "user stories ", "us"].iter().flat_map(|word| text.match_indices(word)) {
        let is_start = !text[..at].ends_with(char::is_alphanumeric);
        let digits: String = text[at + word.len()..].chars().take_while(char::is_ascii_digit).take(4).collect();
        found.extend(digits.parse::<u32>().ok().filter(|_| is_start).map(|number| (at, number)));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number).collect()
}
