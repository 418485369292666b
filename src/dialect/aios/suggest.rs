//! Suggests edits of outdated stories: the status and the checkboxes of completed tasks. Stories are never written
//! (docs/formats/aios-stories.md#stories), and doubtful changes become notes instead of suggestions.

use std::ops::Range;

use super::{
    consistency,
    document_index::{DocumentIndex, StoryLocation},
    gate::{self, Gate, GateDecision},
};
use crate::{
    dialect::story::{self, StatusMention, Story, StoryStatus},
    model::{
        FileSet, RelPath, ReviewVerdict, Run, RunStatus, Severity, Status, Step, StepKind, Suggestion, Suggestions,
        are, clean_line, plural,
    },
};

/// Suggests edits that bring stories up to date with the epic, whose state is usually newer.
pub(super) fn of_epic(files: &FileSet, run: &Run) -> Suggestions {
    let mut suggestions = Suggestions::default();
    let documents = DocumentIndex::of_files(files);
    for step in run.steps.iter().filter(|step| step.kind == StepKind::Work) {
        let Some((path, bytes)) = step.file.as_ref().and_then(|path| Some((path, files.bytes(path)?))) else {
            continue;
        };
        let is_approved = gate_of(run, step).is_some_and(|gate| gate.status == Status::Completed);
        let gate = gate::newest(files, step.id.as_str(), &mut Vec::new());
        let reviewed = is_approved || gate.is_some_and(|gate| gate.decision == GateDecision::Pass);
        let mut edit = StoryEdit::of(path, bytes, &mut suggestions);
        let Some(mention) = edit.story.status().cloned() else { continue };
        if gives_up(run, step, mention.status) {
            edit.set_status(
                &mention,
                StoryStatus::Ready,
                &format!("{} is archived before {} was done", run.id, step.id),
            );
        } else if run.status == RunStatus::Archived && step.status != Status::Completed {
            continue;
        } else if let Some(wanted) = status_from_epic(step.status, mention.status) {
            edit.set_status(&mention, wanted, &format!("{} is {} in the epic", step.id, step.status));
        } else {
            edit.align(&mention);
            let drift = consistency::compare(&documents, &StoryLocation::At(path.clone()), &step.id, step.status);
            let drift = drift.into_iter().filter(|finding| finding.severity != Severity::Info);
            let doubts: Vec<String> = drift.map(|finding| format!("{}; the user decides", finding.message)).collect();
            edit.add_notes(doubts);
        }
        let is_work_done = mention.status == StoryStatus::InReview || mention.status == StoryStatus::Done;
        if step.status == Status::Completed && mention.status != StoryStatus::TerminalOther {
            edit.tick_open_tasks(reviewed || is_work_done, &format!("{} is completed in the epic", step.id));
        }
        edit.finish();
    }
    suggestions.or("every story matches the epic")
}

/// Returns the gate that depends on a story of an epic.
fn gate_of<'a>(run: &'a Run, story: &Step) -> Option<&'a Step> {
    let is_gate = |step: &&Step| step.kind == StepKind::Review && step.depends_on.contains(&story.id);
    run.steps.iter().find(is_gate)
}

/// Tells whether a story is left in a status that only its archived epic explains.
fn gives_up(run: &Run, step: &Step, story: StoryStatus) -> bool {
    run.status == RunStatus::Archived
        && !step.status.satisfies()
        && matches!(story, StoryStatus::InProgress | StoryStatus::InReview)
}

/// Returns the status that a story should have; `None` if the two agree or it is unclear which is right.
fn status_from_epic(epic: Status, story: StoryStatus) -> Option<StoryStatus> {
    let lags = matches!(story, StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview);
    match epic {
        Status::Completed => Some(StoryStatus::Done).filter(|_| lags),
        Status::InProgress => Some(StoryStatus::InProgress).filter(|_| story == StoryStatus::Ready),
        Status::Pending
        | Status::WaitingApproval
        | Status::Failed
        | Status::Blocked
        | Status::Skipped
        | Status::Cancelled => None,
    }
}

/// Suggests edits of a story without an epic: tasks and the newest gate are more reliable than its status
/// (docs/formats/aios-stories.md#what-inreview-means).
pub(super) fn of_story(files: &FileSet) -> Suggestions {
    let mut suggestions = Suggestions::default();
    let Some(bytes) = files.bytes(&files.state) else { return suggestions.or("the story cannot be read") };
    let mut edit = StoryEdit::of(&files.state, bytes, &mut suggestions);
    if let Some(mention) = edit.story.status().cloned() {
        let gate = gate::newest(files, &edit.story.id, &mut Vec::new());
        let all_ticked = !edit.story.tasks.is_empty() && edit.story.first_open_task().is_none();
        match status_from_gate(mention.status, gate.as_ref(), all_ticked) {
            Some((wanted, why)) => edit.set_status(&mention, wanted, &why),
            None => edit.align(&mention),
        }
    }
    edit.finish();
    suggestions.or("the story matches its tasks and its newest gate")
}

fn status_from_gate(status: StoryStatus, gate: Option<&Gate>, all_ticked: bool) -> Option<(StoryStatus, String)> {
    let why = |gate: &Gate| format!("the newest gate, {}, says `{}`", gate.file, clean_line(&gate.word, 40));
    let is_work_done = status == StoryStatus::InReview || (status == StoryStatus::InProgress && all_ticked);
    match gate {
        Some(gate) => match gate.decision {
            GateDecision::Pass => Some((StoryStatus::Done, why(gate))).filter(|_| is_work_done),
            GateDecision::Fail => {
                Some((StoryStatus::InProgress, why(gate))).filter(|_| status == StoryStatus::InReview)
            }
            GateDecision::Unknown => None,
        },
        None => {
            let is_over = status == StoryStatus::InProgress && all_ticked;
            is_over.then(|| (StoryStatus::InReview, "every task is ticked".to_owned()))
        }
    }
}

/// Suggests edits of the story of a QA loop that approved or rejected it.
pub(super) fn of_loop(files: &FileSet, run: &Run) -> Suggestions {
    let mut suggestions = Suggestions::default();
    let id = run.id.as_str().strip_prefix("qa-").unwrap_or(run.id.as_str());
    let base = super::layout::split(files.state.as_str()).map_or("", |parts| parts.base);
    let at = DocumentIndex::of_files(files).locate(base, None, id);
    let Some(path) = at.file().cloned() else {
        return Suggestions::none(format!("no story file of {id} was found"));
    };
    let Some(bytes) = files.bytes(&path) else { return suggestions.or("the story cannot be read") };
    let approved = run
        .steps
        .last()
        .filter(|step| step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Approved));
    let fixing = run.steps.iter().find(|step| step.id.as_str().starts_with("fix-") && step.status != Status::Completed);
    let mut edit = StoryEdit::of(&path, bytes, &mut suggestions);
    if let Some(mention) = edit.story.status().cloned() {
        let is_open = matches!(mention.status, StoryStatus::InProgress | StoryStatus::InReview);
        match (approved, fixing) {
            (Some(step), _) if is_open => {
                edit.set_status(&mention, StoryStatus::Done, &format!("{} approved it", step.id))
            }
            (None, Some(step)) if mention.status == StoryStatus::InReview => {
                edit.set_status(&mention, StoryStatus::InProgress, &format!("{} comes next", step.id));
            }
            (Some(_) | None, _) => edit.align(&mention),
        }
    }
    edit.finish();
    suggestions.or("the story matches the loop")
}

/// A story with the edits collected so far.
struct StoryEdit<'a> {
    path: &'a RelPath,
    bytes: &'a [u8],
    story: Story<'a>,
    edits: Vec<(Range<usize>, String)>,
    reasons: Vec<String>,
    notes: Vec<String>,
    into: &'a mut Suggestions,
}

impl<'a> StoryEdit<'a> {
    fn of(path: &'a RelPath, bytes: &'a [u8], into: &'a mut Suggestions) -> Self {
        let story = story::parse(path, bytes);
        Self { path, bytes, story, edits: Vec::new(), reasons: Vec::new(), notes: Vec::new(), into }
    }

    /// Sets all statuses that count to one value.
    fn set_status(&mut self, mention: &StatusMention, wanted: StoryStatus, why: &str) {
        let word = mention.word_for(wanted);
        let reason = format!("{why}, and the story says `{}` in line {}", clean_line(&mention.raw, 40), mention.line);
        if self.write_status(mention, wanted) {
            self.reasons.push(reason);
            self.align_others(mention, wanted, &word);
        } else {
            self.notes.push(format!("{reason}; it is unclear how to write `{word}` there"));
        }
    }

    /// Sets all statuses that count to the first one.
    fn align(&mut self, mention: &StatusMention) {
        if !matches!(mention.status, StoryStatus::Unknown | StoryStatus::TerminalOther) {
            self.align_others(mention, mention.status, &mention.raw);
        }
    }

    fn align_others(&mut self, first: &StatusMention, wanted: StoryStatus, word: &str) {
        let others: Vec<StatusMention> =
            self.story.statuses.iter().filter(|mention| *mention != first).cloned().collect();
        for other in others.into_iter().filter(|other| other.status != wanted) {
            let other_status = format!("line {} says `{}` as well", other.line, clean_line(&other.raw, 40));
            if other.counts && self.write_status(&other, wanted) {
                self.reasons.push(format!("{other_status}; one status is kept"));
            } else {
                self.notes.push(format!("{other_status}, beside `{}`", clean_line(word, 40)));
            }
        }
    }

    /// Replaces a status: the word, or the tick in a list of all statuses.
    fn write_status(&mut self, mention: &StatusMention, wanted: StoryStatus) -> bool {
        let Some(line) = self.line(mention.line) else { return false };
        let start = line.start + (mention.column as usize).saturating_sub(1);
        let word = start..start + mention.raw.len();
        if self.bytes.get(word.clone()) != Some(mention.raw.as_bytes()) {
            return false;
        }
        if tick_in(&self.bytes[line.start..start]).is_none() {
            self.edits.push((word, mention.word_for(wanted)));
            return true;
        }
        self.tick_boxes_to(mention, wanted)
    }

    /// Ticks the boxes of a status list down to the wanted one.
    fn tick_boxes_to(&mut self, mention: &StatusMention, wanted: StoryStatus) -> bool {
        let mut ticks = Vec::new();
        for number in mention.line + 1.. {
            let Some(range) = self.line(number) else { return false };
            let Some(at) = open_box_in(&self.bytes[range.clone()]) else { return false };
            ticks.push(range.start + at);
            let value = String::from_utf8_lossy(&self.bytes[range.start + at + 2..range.end]).into_owned();
            if story::status_of(&value) == wanted {
                break;
            }
        }
        self.edits.extend(ticks.into_iter().map(|at| (at..at + 1, "x".to_owned())));
        true
    }

    /// Ticks the open tasks if a second source confirms that they are done.
    fn tick_open_tasks(&mut self, is_confirmed: bool, why: &str) {
        let open: Vec<u32> = self.story.tasks.iter().filter(|task| !task.done).map(|task| task.line).collect();
        if open.is_empty() {
            return;
        }
        let lines = open.iter().take(8).map(u32::to_string).collect::<Vec<_>>().join(", ");
        let boxes = format!(
            "{} {} not ticked (line {lines}{})",
            plural(open.len(), "task"),
            are(open.len()),
            if open.len() > 8 { ", ..." } else { "" }
        );
        if !is_confirmed {
            self.notes.push(format!("{why}, but no review confirms it and {boxes}: tick those that are done"));
            return;
        }
        for number in open {
            let at = self.line(number).and_then(|range| Some(range.start + open_box_in(&self.bytes[range])?));
            self.edits.extend(at.map(|at| (at..at + 1, "x".to_owned())));
        }
        self.reasons.push(format!("{why}, and {boxes}"));
    }

    fn add_notes(&mut self, doubts: Vec<String>) {
        if self.edits.is_empty() {
            self.notes.extend(doubts);
        }
    }

    /// Returns the byte range of a line, without its line end and without the BOM.
    fn line(&self, number: u32) -> Option<Range<usize>> {
        let mut start = if self.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        for _ in 1..number {
            start += self.bytes.get(start..)?.iter().position(|byte| *byte == b'\n')? + 1;
        }
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        Some(start..start + length)
    }

    fn finish(mut self) {
        let path = self.path;
        self.into.notes.extend(self.notes.iter().map(|note| format!("{path}: {note}")));
        self.edits.sort_by_key(|(range, _)| range.start);
        self.edits.dedup_by_key(|(range, _)| range.start);
        if self.edits.is_empty() {
            return;
        }
        if std::str::from_utf8(self.bytes).is_err() {
            self.into.notes.push(format!("{path} is not UTF-8; nothing is suggested for it"));
            return;
        }
        let mut after = Vec::with_capacity(self.bytes.len());
        let mut at = 0;
        for (range, text) in &self.edits {
            after.extend_from_slice(&self.bytes[at..range.start]);
            after.extend_from_slice(text.as_bytes());
            at = range.end;
        }
        after.extend_from_slice(&self.bytes[at..]);
        self.into.files.push(Suggestion { file: path.clone(), after, reasons: self.reasons });
    }
}

/// Returns the position of the tick in a ticked box.
fn tick_in(line: &[u8]) -> Option<usize> {
    line.windows(3).position(|box_| box_ == b"[x]" || box_ == b"[X]").map(|at| at + 1)
}

/// Returns the position for the tick of an open box at the start of a list item.
fn open_box_in(line: &[u8]) -> Option<usize> {
    let at = line.windows(3).position(|box_| box_ == b"[ ]")? + 1;
    let is_item =
        |byte: &u8| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'*' | b'+' | b'.' | b')') || byte.is_ascii_digit();
    line[..at - 1].iter().all(is_item).then_some(at)
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
