//! Reads story files: id, status, open tasks (docs/formats/aios-stories.md#stories). Stories are never written.
//!
//! There are eight ways to write a status, and many more places that only look like one. A status counts in the header, in a
//! status section and in a metadata section. The first one wins; the others are kept for reporting.

mod field;
mod heading;
mod id;
mod parser;
mod status;
mod verdict;

use std::{borrow::Cow, ops::Range};

use crate::model::RelPath;

pub(super) use heading::SectionKind;
pub(super) use id::{bare as bare_id, name_of, of_path as id_of_path, same as same_id};
pub(super) use status::StoryStatus;
pub(super) use verdict::{GateDecision, Verdict};

/// A parsed story file.
#[derive(Debug)]
pub(super) struct Story<'a> {
    text: Cow<'a, str>,
    /// As text: `1.10` is not `1.1`.
    pub(super) id: String,
    pub(super) title: Option<String>,
    /// In the order of the file.
    pub(super) statuses: Vec<StatusMention>,
    pub(super) tasks: Vec<StoryTask>,
    /// The assigned agent, without `@`.
    pub(super) executor: Option<String>,
    /// The files in its file list.
    pub(super) files: Vec<String>,
    /// The boxes of its acceptance criteria.
    pub(super) criteria: Vec<StoryTask>,
    /// The last verdict in its review section.
    pub(super) verdict: Option<Verdict>,
    sections: Vec<Section>,
    is_story: bool,
}

/// A status found in a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusMention {
    /// The word as written, without decoration.
    pub(super) raw: String,
    pub(super) status: StoryStatus,
    /// Whether it is done only once the announced step happens: `Ready for Deploy`.
    pub(super) is_provisional: bool,
    /// From 1.
    pub(super) line: u32,
    /// Byte column of the word, from 1.
    pub(super) column: u32,
    /// Whether it is in a place where a status counts.
    pub(super) counts: bool,
}

impl StatusMention {
    /// Returns the word for another status, in the language and style of this one.
    pub(super) fn word_for(&self, wanted: StoryStatus) -> String {
        if self.status == wanted { self.raw.clone() } else { status::word_like(&self.raw, wanted) }
    }
}

/// Parses a value as a status.
pub(super) fn status_of(value: &str) -> StoryStatus {
    status::meaning(status::status_text(value)).status
}

/// A checkbox of the task list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoryTask {
    pub(super) text: String,
    pub(super) done: bool,
    /// From 1.
    pub(super) line: u32,
}

/// A section, from below its heading to the next heading.
#[derive(Debug)]
struct Section {
    kind: SectionKind,
    span: Range<usize>,
}

/// Checks that reported positions match the text.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn check(bytes: &[u8]) {
    let path = RelPath::parse("docs/stories/7.1.story.md").expect("it is a path");
    let story = parse(&path, bytes);
    assert!(story.contradictions().count() < story.statuses.len().max(1));
    let lines: Vec<&str> = story.text.split('\n').collect();
    let line = |number: u32| lines[number as usize - 1];
    for mention in &story.statuses {
        let rest = &line(mention.line)[mention.column as usize - 1..];
        assert!(rest.starts_with(&mention.raw), "{:?} does not stand at {rest:?}", mention.raw);
    }
    story.tasks.iter().for_each(|task| assert!(line(task.line).contains('[')));
    let open = story.tasks.iter().find(|task| !task.done);
    assert_eq!((story.first_open_task(), story.is_story()), (open, story.is_story));
    story.sections.iter().for_each(|section| assert!(!story.section(section.kind).contains(&String::new())));
}

/// Parses a file; invalid UTF-8 becomes replacement characters.
pub(super) fn parse<'a>(path: &RelPath, bytes: &'a [u8]) -> Story<'a> {
    let text = String::from_utf8_lossy(bytes);
    let parsed = parser::parse(&text);
    let is_story = if is_other_document(path.name()) {
        parsed.has_user_story
    } else {
        parsed.has_user_story
            || parsed.has_stories
            || parsed.id.is_some()
            || parsed.title.as_deref().is_some_and(id::names_a_story)
    };
    Story {
        id: parsed.id.unwrap_or_else(|| id::of_path(path)),
        title: parsed.title,
        statuses: parsed.statuses,
        tasks: parsed.tasks,
        executor: parsed.executor,
        files: parsed.files,
        criteria: parsed.criteria,
        verdict: parsed.verdict,
        sections: parsed.sections,
        is_story,
        text,
    }
}

impl Story<'_> {
    /// Returns whether the file is a story and not a report or list.
    pub(super) fn is_story(&self) -> bool {
        self.is_story
    }

    /// Returns the status that counts.
    pub(super) fn status(&self) -> Option<&StatusMention> {
        self.statuses.iter().find(|mention| mention.counts)
    }

    /// Returns the status that a run goes by: where several disagree, the first that says that work is under way. A story is not
    /// passed over because one of its statuses is out of date.
    pub(super) fn working_status(&self) -> Option<&StatusMention> {
        let is_open = |mention: &&StatusMention| {
            mention.counts && matches!(mention.status, StoryStatus::InProgress | StoryStatus::InReview)
        };
        self.statuses.iter().find(is_open).or_else(|| self.status())
    }

    /// Returns the statuses that differ from the one that counts.
    pub(super) fn contradictions(&self) -> impl Iterator<Item = &StatusMention> {
        let status = self.status().map(|mention| (mention.status, mention.raw.as_str()));
        self.statuses.iter().filter(move |mention| {
            status.is_some_and(|(status, raw)| {
                mention.status != status || (status == StoryStatus::Unknown && mention.raw != raw)
            })
        })
    }

    /// Returns the first open task, if any.
    pub(super) fn first_open_task(&self) -> Option<&StoryTask> {
        self.tasks.iter().find(|task| !task.done)
    }

    /// Returns whether all of its work is ticked: its tasks, or without a list of tasks its acceptance criteria.
    pub(super) fn is_all_ticked(&self) -> bool {
        let boxes = if self.tasks.is_empty() { &self.criteria } else { &self.tasks };
        !boxes.is_empty() && boxes.iter().all(|task| task.done)
    }

    /// Returns the lines of the sections of a kind, without blank lines and with normalized whitespace.
    pub(super) fn section(&self, kind: SectionKind) -> Vec<String> {
        let sections = self.sections.iter().filter(|section| section.kind == kind);
        let lines = sections.flat_map(|section| self.text[section.span.clone()].lines());
        lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// Returns whether the file name is that of another document, such as a report or an index.
fn is_other_document(name: &str) -> bool {
    let name = name.to_lowercase();
    let stem = name.strip_suffix(".md").unwrap_or(&name);
    let words: Vec<&str> = stem.split(['-', '_', '.']).collect();
    matches!(stem, "status" | "backlog" | "readme")
        || words.first() == Some(&"epic")
        || words.iter().any(|word| matches!(*word, "index" | "report" | "relatorio" | "handoff"))
}

#[cfg(test)]
mod tests;
