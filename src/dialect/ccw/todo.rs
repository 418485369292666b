//! The checklist `TODO_LIST.md`, in every observed shape (docs/formats/ccw.md#checklist). Works on bytes, so that a tick changes
//! a single byte.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    ids::{self, Index},
    raw,
};

/// The mark of a task that is done.
pub(super) const TICK: u8 = b'x';
/// The mark of a task that is open.
pub(super) const OPEN: u8 = b' ';
/// The mark of a task that is left out.
pub(super) const LEFT_OUT: u8 = b'-';

/// The content of a checkbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckboxMark {
    Open,
    Done,
    InProgress,
    Blocked,
    Cancelled,
}

/// A line with a checkbox.
#[derive(Debug)]
pub(super) struct ChecklistLine {
    /// From 1.
    pub(super) number: u32,
    pub(super) mark: CheckboxMark,
    /// Byte offset of the mark in the file.
    pub(super) at: usize,
    pub(super) is_indented: bool,
    /// The text after the box.
    text: String,
    /// The task file or summary that the line links to, without folder and extension.
    link: Option<String>,
    /// Whether it links to a task file.
    pub(super) names_file: bool,
    /// Index of the heading above it.
    heading: Option<usize>,
}

/// A checklist.
#[derive(Debug, Default)]
pub(super) struct Todo {
    pub(super) lines: Vec<ChecklistLine>,
    headings: Vec<(u32, String)>,
}

/// A heading with an id that no task has.
pub(super) struct UnknownHeading<'a> {
    pub(super) id: String,
    pub(super) title: String,
    /// From 1.
    pub(super) number: u32,
    pub(super) boxes: Vec<&'a ChecklistLine>,
}

/// The task that a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    task: usize,
    /// Whether the line is the entry of the task, not a remark that names it.
    is_entry: bool,
}

/// The status of one task in the checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChecklistStatus {
    pub(super) mark: CheckboxMark,
    pub(super) number: u32,
    /// Byte offset of the checkbox; `None` if several checkboxes together give the status.
    pub(super) at: Option<usize>,
    /// Whether lines about the task contradict each other; the last one counts.
    pub(super) contradicts: bool,
}

impl Todo {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut todo = Self::default();
        let mut fence: Option<&str> = None;
        let mut start = 0;
        let texts = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        for (index, (raw_line, text)) in bytes.split(|byte| *byte == b'\n').zip(texts.split('\n')).enumerate() {
            let (line_start, number) = (start, u32::try_from(index + 1).unwrap_or(u32::MAX));
            start += raw_line.len() + 1;
            let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\t']);
            if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
                fence = if fence == Some(mark) { None } else { fence.or(Some(mark)) };
            } else if fence.is_some() {
            } else if let Some(heading) = heading(trimmed) {
                todo.headings.push((number, heading.to_owned()));
            } else if let Some((mark, offset)) = checkbox(raw_line) {
                todo.lines.push(ChecklistLine {
                    number,
                    mark,
                    at: line_start + offset,
                    is_indented: raw_line.starts_with(b" ") || raw_line.starts_with(b"\t"),
                    // Up to the end of its checkbox, byte and text offsets of a line are equal.
                    text: text[offset + 2..].trim().to_owned(),
                    link: link(text),
                    names_file: text.contains(".task/"),
                    heading: todo.headings.len().checked_sub(1),
                });
            }
        }
        todo
    }

    /// Returns the known task that each line is about.
    pub(super) fn subjects(&self, index: &Index) -> Vec<Option<Subject>> {
        self.lines.iter().map(|line| line.subject(index)).collect()
    }

    /// Returns the checklist status of each of `count` tasks, given the subjects of the lines.
    pub(super) fn checklist(
        &self,
        subjects: &[Option<Subject>],
        index: &Index,
        count: usize,
    ) -> Vec<Option<ChecklistStatus>> {
        let mut named: Vec<Vec<(&ChecklistLine, bool)>> = vec![Vec::new(); count];
        let mut sections: Vec<Vec<&ChecklistLine>> = vec![Vec::new(); self.headings.len()];
        for (line, subject) in self.lines.iter().zip(subjects) {
            match subject {
                Some(subject) => named[subject.task].push((line, subject.is_entry)),
                None => {
                    if let Some(heading) = line.heading {
                        sections[heading].push(line);
                    }
                }
            }
        }
        let mut checklist: Vec<Option<ChecklistStatus>> = named.iter().map(|lines| combined_status(lines)).collect();
        for ((number, heading), boxes) in self.headings.iter().zip(&sections) {
            let task = index.find_leading(ids::leading_token(strip_decoration(heading)));
            if let (Some(task), false) = (task, boxes.is_empty())
                && checklist[task].is_none()
            {
                let is_done = boxes.iter().all(|line| line.mark == CheckboxMark::Done);
                let mark = if is_done { CheckboxMark::Done } else { CheckboxMark::Open };
                checklist[task] = Some(ChecklistStatus { mark, number: *number, at: None, contradicts: false });
            }
        }
        checklist
    }

    /// Returns the headings that give an id to an unknown task, with id, title and the boxes below, which have no id.
    pub(super) fn unknown_headings(&self, subjects: &[Option<Subject>]) -> Vec<UnknownHeading<'_>> {
        let mut boxes: BTreeMap<usize, Vec<&ChecklistLine>> = BTreeMap::new();
        for (line, _) in self.lines.iter().zip(subjects).filter(|(_, subject)| subject.is_none()) {
            if let Some(heading) = line.heading.filter(|_| !line.is_indented && line.own_id().is_none()) {
                boxes.entry(heading).or_default().push(line);
            }
        }
        let unknown = boxes.into_iter().filter_map(|(heading, boxes)| {
            let (number, text) = &self.headings[heading];
            let id = ids::leading_token(strip_decoration(text));
            let heading = || UnknownHeading { id: id.to_owned(), title: title_after(text, id), number: *number, boxes };
            ids::is_task_shaped(id).then(heading)
        });
        unknown.collect()
    }

    /// Returns the lines that give an id to an unknown task, with id and title; for each id the last line.
    pub(super) fn unknown_lines(&self, subjects: &[Option<Subject>]) -> Vec<(String, String, &ChecklistLine)> {
        let mut found: Vec<(String, String, &ChecklistLine)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (line, _) in self.lines.iter().zip(subjects).filter(|(_, subject)| subject.is_none()) {
            let Some(id) = line.own_id() else { continue };
            let at = *places.entry(id.to_lowercase()).or_insert(found.len());
            match found.get_mut(at) {
                Some(known) => known.2 = line,
                None => {
                    let title = line.title(&id);
                    found.push((id, title, line));
                }
            }
        }
        found
    }
}

impl ChecklistLine {
    fn subject(&self, index: &Index) -> Option<Subject> {
        let linked = || self.link.as_deref().and_then(|link| index.find(link));
        let stripped = strip_decoration(&self.text);
        let token = ids::leading_token(stripped);
        if !token.is_empty()
            && let Some(task) = index.find_leading(token)
        {
            return Some(Subject { task, is_entry: self.is_entry(token) || linked() == Some(task) });
        }
        if let Some(task) = linked() {
            return Some(Subject { task, is_entry: true });
        }
        let words = self.text.split_whitespace().skip(1).take(3).map(|word| ids::leading_token(strip_decoration(word)));
        let mut named = words.filter(|word| ids::is_task_shaped(word));
        named.find_map(|word| index.find(word).map(|task| Subject { task, is_entry: self.is_entry(word) }))
    }

    /// Tells whether the id is marked as a list entry: bold, before a colon, or before an arrow to its file.
    fn is_entry(&self, id: &str) -> bool {
        let Some(start) = self.text.find(id) else { return false };
        let rest = self.text[start + id.len()..].trim_start_matches(['*', '_', '`', ']', '~', ' ']);
        self.text[..start].ends_with("**") || rest.starts_with([':', '：']) || self.text.contains("→")
    }

    /// Returns the id that the line gives to its task, for tasks without a file.
    fn own_id(&self) -> Option<String> {
        let token = ids::leading_token(strip_decoration(&self.text));
        if ids::is_task_shaped(token) || (!token.is_empty() && is_short_id(token) && self.is_set_off(token)) {
            return Some(token.to_owned());
        }
        self.link.clone().filter(|link| ids::is_task_shaped(link))
    }

    /// Tells whether a short id stands alone: its marks close right behind it, or a colon or an arrow follows. `**P0 smoke check**` is
    /// a label.
    fn is_set_off(&self, id: &str) -> bool {
        let Some(start) = self.text.find(id) else { return false };
        let rest = &self.text[start + id.len()..];
        rest.is_empty()
            || rest.starts_with(['*', '_', '`', ']', '~']) && self.is_entry(id)
            || rest.trim_start().starts_with([':', '：', '→'])
    }

    /// Returns the title after the id, without arrows and links.
    pub(super) fn title(&self, id: &str) -> String {
        title_after(&self.text, id)
    }

    /// Tells whether the line explains a mark (`- [ ] = pending`) and is not a task.
    pub(super) fn is_legend(&self) -> bool {
        self.text.is_empty() || self.text.starts_with(['=', ':'])
    }
}

/// Returns the title that follows an id, without arrows and links.
fn title_after(text: &str, id: &str) -> String {
    let text = text.find(id).map_or(text, |start| &text[start + id.len()..]);
    let end = ["→", " -> ", " | [", "[📋]"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    let mut title = text[..end].trim().trim_start_matches([' ', '*', '_', '`', ':', '：', ']', '-', '–', '~']);
    // Marks at the end belong to the title if they close something in it.
    while let Some(last) = title.chars().last().filter(|c| " *_`:：]-–~".contains(*c)) {
        let rest = title.trim_end_matches(last);
        if rest.contains(if last == ']' { '[' } else { last }) {
            break;
        }
        title = rest;
    }
    let title = raw::line(title);
    if title.is_empty() { id.to_owned() } else { title }
}

/// Combines the lines about one task: entries take precedence over remarks, later lines over earlier ones
/// (docs/formats/ccw.md#checklist).
fn combined_status(lines: &[(&ChecklistLine, bool)]) -> Option<ChecklistStatus> {
    let has_entry = lines.iter().any(|(_, is_entry)| *is_entry);
    let counted = || lines.iter().filter(|(_, is_entry)| *is_entry || !has_entry).map(|(line, _)| *line);
    let last = counted().next_back()?;
    let contradicts = counted().any(|line| (line.mark == CheckboxMark::Done) != (last.mark == CheckboxMark::Done));
    Some(ChecklistStatus { mark: last.mark, number: last.number, at: Some(last.at), contradicts })
}

/// Tells whether a token is a short id such as `L0` or `T12`.
fn is_short_id(token: &str) -> bool {
    let letters = token.len() - token.trim_start_matches(|c: char| c.is_ascii_uppercase()).len();
    let number = &token[letters..];
    (1..=4).contains(&letters) && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Removes decoration before an id: bold marks, brackets, emoji, arrows.
fn strip_decoration(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

fn heading(line: &str) -> Option<&str> {
    let level = line.len() - line.trim_start_matches('#').len();
    let rest = &line[level..];
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// Returns the mark of a line that begins with a list bullet and a checkbox, and its offset in the line.
fn checkbox(line: &[u8]) -> Option<(CheckboxMark, usize)> {
    let bom = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let skip = |from: usize, wanted: &[u8]| from + line[from..].iter().take_while(|byte| wanted.contains(byte)).count();
    let bullet = skip(bom, b" \t>");
    let after = match line.get(bullet)? {
        b'-' | b'*' | b'+' => bullet + 1,
        _ => {
            let dot = skip(bullet, b"0123456789");
            if dot == bullet || !matches!(line.get(dot)?, b'.' | b')') {
                return None;
            }
            dot + 1
        }
    };
    let open = skip(after, b" \t");
    if open == after || line.get(open)? != &b'[' || line.get(open + 2)? != &b']' {
        return None;
    }
    let mark = match line[open + 1] {
        b' ' => CheckboxMark::Open,
        b'x' | b'X' => CheckboxMark::Done,
        b'~' => CheckboxMark::InProgress,
        b'!' => CheckboxMark::Blocked,
        LEFT_OUT => CheckboxMark::Cancelled,
        _ => return None,
    };
    (!matches!(line.get(open + 3), Some(b'(' | b'['))).then_some((mark, open + 1))
}

/// Returns the name of the task file that a line links to, or else of the summary.
fn link(line: &str) -> Option<String> {
    let after = |folder: &str| {
        let rest = &line[line.find(folder)? + folder.len()..];
        let end = rest.find([')', ']', '>', '"', ' ', '\t', '\r', '#', '/', '\\']).unwrap_or(rest.len());
        Some(&rest[..end])
    };
    let name = after(".task/").and_then(|name| name.strip_suffix(".json")).or_else(|| {
        let name = after("summaries/")?.strip_suffix(".md")?;
        Some(name.strip_suffix("-summary").unwrap_or(name))
    })?;
    ids::is_safe(name).then(|| name.to_owned())
}

/// Returns the bytes with this mark in the checkbox at `at`.
pub(super) fn marked(mut bytes: Vec<u8>, at: usize, mark: u8) -> Vec<u8> {
    // A capital `X` is a tick too.
    if let Some(found) = bytes.get_mut(at).filter(|found| !found.eq_ignore_ascii_case(&mark)) {
        *found = mark;
    }
    bytes
}

/// Returns the bytes with a link to a summary at the end of the line of the checkbox at `at`, if the line links to its task file and to
/// no summary.
pub(super) fn linked(mut bytes: Vec<u8>, at: usize, summary: &str) -> Vec<u8> {
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
    let line = bytes[at..end].trim_ascii_end();
    let has = |text: &[u8]| line.windows(text.len()).any(|window| window == text);
    if has(b".task/") && !has(b"summaries/") {
        let end = at + line.len();
        bytes.splice(end..end, format!(" | [✅]({summary})").into_bytes());
    }
    bytes
}

/// Ticks every checkbox and checks that each tick changes at most one byte and is read as done.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn check(bytes: &[u8]) {
    let todo = Todo::parse(bytes);
    let places = |todo: &Todo| todo.lines.iter().map(|line| (line.number, line.at)).collect::<Vec<_>>();
    for line in &todo.lines {
        let after = marked(bytes.to_vec(), line.at, TICK);
        assert_eq!(after.len(), bytes.len());
        assert!(after.iter().zip(bytes).enumerate().all(|(at, (after, before))| at == line.at || after == before));
        let read = Todo::parse(&after);
        assert_eq!(places(&read), places(&todo), "a tick adds or hides a line");
        assert!(read.lines.iter().any(|other| other.number == line.number && other.mark == CheckboxMark::Done));
    }
    let ids: Vec<String> = todo.lines.iter().filter_map(ChecklistLine::own_id).collect();
    let index = Index::of(ids.iter().map(String::as_str), std::iter::empty());
    let subjects = todo.subjects(&index);
    assert_eq!(todo.checklist(&subjects, &index, ids.len()).len(), ids.len());
    todo.unknown_lines(&subjects);
}

#[cfg(test)]
#[path = "todo_tests.rs"]
mod tests;
