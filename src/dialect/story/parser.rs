//! Parses a story in one pass over its lines.

use super::{
    Section, StatusMention, StoryTask,
    field::{self, Field, Form},
    heading::{self, SectionKind},
    id,
    status::{self, StoryStatus},
    verdict::{ChangeEntry, ReviewReader, Verdict},
};
use crate::dialect::markdown::{self, Heading, LineContext, Lines, MarkdownLine};

/// The result of parsing a story.
#[derive(Default)]
pub(super) struct ParsedStory {
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) statuses: Vec<StatusMention>,
    pub(super) tasks: Vec<StoryTask>,
    pub(super) executor: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) criteria: Vec<StoryTask>,
    pub(super) verdict: Option<Verdict>,
    pub(super) sections: Vec<Section>,
    pub(super) has_user_story: bool,
    /// Whether it has several stories, each below a heading.
    pub(super) has_stories: bool,
}

/// Parser state, including the current section.
struct StoryParser {
    parsed: ParsedStory,
    /// Kind of the current level-2 section.
    section: SectionKind,
    /// Kind of the innermost section.
    inner: SectionKind,
    /// Byte offset of the innermost section.
    begins: usize,
    /// Whether the status section already had a value.
    has_value: bool,
    /// Checkboxes of a list of all statuses, in order.
    ticks: Vec<(bool, StatusMention)>,
    /// The number of the epic, for story numbers relative to it.
    epic: Option<String>,
    has_title: bool,
    /// Whether the title announces several stories.
    has_several: bool,
    review: ReviewReader,
    changes: Vec<ChangeEntry>,
}

/// Parses a text.
pub(super) fn parse(text: &str) -> ParsedStory {
    let mut parser = StoryParser {
        parsed: ParsedStory::default(),
        section: SectionKind::Header,
        inner: SectionKind::Header,
        begins: 0,
        has_value: false,
        ticks: Vec::new(),
        epic: None,
        has_title: false,
        has_several: false,
        review: ReviewReader::default(),
        changes: Vec::new(),
    };
    for line in Lines::of(text) {
        match line.context {
            LineContext::FrontMatter => parser.front_matter(&line),
            LineContext::Text => match markdown::heading(line.text) {
                Some(heading) => parser.heading(&heading, &line),
                None => parser.line(&line),
            },
            LineContext::Fence => parser.fence(&line),
            LineContext::Comment => {}
        }
    }
    parser.close(text.len());
    parser.parsed.verdict = parser.review.verdict(&parser.changes);
    parser.parsed.statuses.sort_by_key(|mention| (mention.line, mention.column));
    parser.parsed
}

impl StoryParser {
    fn front_matter(&mut self, line: &MarkdownLine<'_>) {
        let Some(field) = field::front_matter_field(line.text).filter(|field| field.is_flush) else { return };
        match status::fold(field.key).as_str() {
            "status" => self.status_field(&field, line, true),
            _ if status::names(field.key, field.value) => self.status_field(&field, line, true),
            "executor" => self.executor(field.value),
            "epic" | "epicid" => self.epic = id::of_value(field.value),
            "story" | "id" | "storyid" => self.name_by_front_matter(field.value),
            "title" if self.parsed.title.is_none() => self.parsed.title = Some(field.value.to_owned()),
            _ => {}
        }
    }

    fn name_by_front_matter(&mut self, value: &str) {
        let Some(id) = id::of_value(value).filter(|id| id.bytes().any(|byte| byte.is_ascii_digit())) else { return };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        self.parsed.id = Some(match &self.epic {
            Some(epic) if is_number(&id) && is_number(epic) => format!("{epic}.{id}"),
            Some(_) | None => id,
        });
    }

    fn heading(&mut self, heading: &Heading<'_>, line: &MarkdownLine<'_>) {
        let is_title = !self.has_title
            && match heading.depth {
                1 => self.is_head(),
                2 => id::of_title(heading.text).is_some(),
                _ => false,
            };
        if is_title {
            self.has_title = true;
            self.has_several = id::names_stories(heading.text);
            self.parsed.title = Some(heading.text.to_owned());
            let of_title =
                || id::of_title(heading.text).or_else(|| id::within_title(heading.text).filter(|_| self.has_several));
            self.parsed.id = self.parsed.id.take().or_else(of_title);
            return;
        }
        self.close(line.start);
        self.begins = line.start + line.text.len();
        let field = field::heading_field(heading.text).filter(|field| status::names(field.key, field.value));
        let kind = match heading::kind_of(heading.text) {
            _ if field.is_some() => SectionKind::Status,
            // The boxes of each story in a file of several are the work of the file.
            SectionKind::Other if self.has_several && id::of_title(heading.text).is_some() => {
                self.parsed.has_stories = true;
                SectionKind::Tasks
            }
            kind => kind,
        };
        if heading.depth <= 2 {
            self.section = kind;
            self.inner = kind;
        } else {
            let is_vague = matches!(kind, SectionKind::Other | SectionKind::Status | SectionKind::Header);
            self.inner = if is_vague && !self.is_head() { self.section } else { kind };
        }
        self.parsed.has_user_story |= kind == SectionKind::UserStory;
        self.has_value = false;
        self.review.end();
        if self.is_review() {
            self.review.text(heading.text, line.number);
        }
        if let Some(field) = field {
            self.status_field(&field, line, heading.depth <= 2 || self.is_head());
        }
    }

    /// Ends the innermost section.
    fn close(&mut self, end: usize) {
        self.parsed.sections.push(Section { kind: self.inner, span: self.begins..end });
        // In a list of all statuses, only the last of the leading ticks counts; a tick after a gap is a separate status.
        let ticks = std::mem::take(&mut self.ticks);
        let prefix = ticks.iter().take_while(|(done, _)| *done).count();
        let later = ticks.into_iter().skip(prefix.saturating_sub(1)).filter(|(done, _)| *done);
        self.parsed.statuses.extend(later.map(|(_, mention)| mention));
    }

    fn is_head(&self) -> bool {
        matches!(self.section, SectionKind::Header)
    }

    fn is_review(&self) -> bool {
        self.section == SectionKind::Review || self.inner == SectionKind::Review
    }

    fn line(&mut self, line: &MarkdownLine<'_>) {
        if self.is_review() {
            self.review.text(line.text, line.number);
        }
        match self.inner {
            SectionKind::Header => self.metadata(line),
            SectionKind::Status => self.status_section(line),
            SectionKind::Tasks => {
                self.parsed.tasks.extend(task(line));
                self.status_of_one(line);
            }
            SectionKind::FileList => self.parsed.files.extend(listed_file(line.text)),
            SectionKind::Executor => {
                if let Some(field) = field::field(line.text).filter(|field| status::fold(field.key) == "executor") {
                    self.executor(field.value);
                }
            }
            SectionKind::UserStory
            | SectionKind::Scope
            | SectionKind::DevNotes
            | SectionKind::Review
            | SectionKind::Other => self.other_section(line),
            SectionKind::Acceptance => self.parsed.criteria.extend(task(line)),
            SectionKind::ChangeLog => self.changes.extend(ChangeEntry::of_line(line.text)),
        }
    }

    fn metadata(&mut self, line: &MarkdownLine<'_>) {
        let Some(field) = field::field(line.text) else { return };
        if !field.is_flush && field.form != Form::Table {
            return;
        }
        match status::fold(field.key).as_str() {
            "status" => self.status_field(&field, line, true),
            _ if status::names(field.key, field.value) => self.status_field(&field, line, true),
            "executor" => self.executor(field.value),
            "storyid" | "idstory" | "idhistoria" => {
                if let Some(id) = id::of_value(field.value).filter(|_| self.parsed.id.is_none() || !self.is_named()) {
                    self.parsed.id = Some(id);
                }
            }
            _ => {}
        }
    }

    /// Returns whether the front matter named the story, which takes precedence.
    fn is_named(&self) -> bool {
        let of_title = self.parsed.title.as_deref().and_then(id::of_title);
        self.parsed.id.is_some() && self.parsed.id != of_title
    }

    fn status_section(&mut self, line: &MarkdownLine<'_>) {
        if line.text.trim().is_empty() {
            return;
        }
        let field = field::field(line.text);
        if let Some(field) = field.filter(|field| status::names(field.key, field.value)) {
            self.has_value = true;
            self.status_field(&field, line, true);
            return;
        }
        if let Some((done, value)) = checkbox(line.text) {
            if let Some(mention) =
                status_mention(value, line, true).filter(|mention| mention.status != StoryStatus::Unknown)
            {
                self.ticks.push((done, mention));
            }
            return;
        }
        if self.has_value {
            return;
        }
        let is_known = status::meaning(status::status_text(line.text)).status != StoryStatus::Unknown;
        if is_known || field.is_none_or(|field| field.form == Form::Bare) {
            self.has_value = true;
            self.parsed.statuses.extend(status_mention(line.text, line, true));
        }
    }

    /// Reads the status of one story of several. Without a status of the whole file, the first that is under way counts.
    fn status_of_one(&mut self, line: &MarkdownLine<'_>) {
        if !self.parsed.has_stories || !self.parsed.statuses.is_empty() {
            return;
        }
        let field = field::field(line.text).filter(|field| status::names(field.key, field.value));
        let mention = field.and_then(|field| status_mention(field.value, line, true));
        let is_open =
            |mention: &StatusMention| matches!(mention.status, StoryStatus::InProgress | StoryStatus::InReview);
        self.parsed.statuses.extend(mention.filter(is_open));
    }

    /// Outside of header and status sections, only records lines that are unmistakably a status of the whole story.
    fn other_section(&mut self, line: &MarkdownLine<'_>) {
        if !line.text.starts_with(['*', '_', '>']) {
            return;
        }
        let field = field::field(line.text).filter(|field| matches!(field.form, Form::Bold | Form::Quote));
        if let Some(field) = field.filter(|field| status::names(field.key, field.value)) {
            self.status_field(&field, line, false);
        }
    }

    fn status_field(&mut self, field: &Field<'_>, line: &MarkdownLine<'_>, counts: bool) {
        let value = match ticked(field.value) {
            Some((true, value)) => value,
            Some((false, _)) => return,
            None => field.value,
        };
        self.parsed.statuses.extend(status_mention(value, line, counts));
    }

    fn fence(&mut self, line: &MarkdownLine<'_>) {
        if self.is_review() {
            self.review.fenced(line.text, line.number);
        }
        if !matches!(self.inner, SectionKind::Executor | SectionKind::Header) {
            return;
        }
        if let Some(field) = field::front_matter_field(line.text).filter(|field| status::fold(field.key) == "executor")
        {
            self.executor(field.value);
        }
    }

    fn executor(&mut self, value: &str) {
        let value = value.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(value.len());
        if self.parsed.executor.is_none() && end > 0 {
            self.parsed.executor = Some(value[..end].to_owned());
        }
    }
}

fn status_mention(value: &str, line: &MarkdownLine<'_>, counts: bool) -> Option<StatusMention> {
    if status::is_placeholder(value) {
        return None;
    }
    let core = status::status_text(value);
    let meaning = status::meaning(core);
    let before = line.text.rfind(value).unwrap_or_default() + value.find(core).unwrap_or_default();
    Some(StatusMention {
        raw: core.to_owned(),
        status: meaning.status,
        is_provisional: meaning.is_provisional,
        line: line.number,
        column: u32::try_from(before + 1).unwrap_or(u32::MAX),
        counts,
    })
}

/// Parses a checkbox, of a list item or of a value.
fn ticked(text: &str) -> Option<(bool, &str)> {
    markdown::bracket(text).map(|mark| (mark.is_ticked(), &text[mark.end..]))
}

/// Parses a list item with a checkbox, also in a quotation.
fn checkbox(text: &str) -> Option<(bool, &str)> {
    let text = text.trim_start().trim_start_matches('>');
    markdown::checkbox(text).map(|item| (item.mark.is_ticked(), item.text))
}

fn task(line: &MarkdownLine<'_>) -> Option<StoryTask> {
    let (done, text) = checkbox(line.text)?;
    Some(StoryTask { text: text.trim().to_owned(), done, line: line.number })
}

/// Returns the path in an entry of the file list: in backquotes, or the first word that looks like a path.
fn listed_file(text: &str) -> Option<String> {
    let text = text.trim();
    let entry = match text.strip_prefix(['-', '*', '+']) {
        Some(item) => item,
        None if text.starts_with('|') => field::cells(text).next()?,
        None => return None,
    };
    let quoted = entry.split_once('`').and_then(|(_, rest)| rest.split_once('`')).map(|(path, _)| path);
    let looks_like_path = |word: &&str| word.contains('/') || word.contains('.');
    let path = quoted.or_else(|| entry.split_whitespace().find(looks_like_path))?;
    Some(path.trim_end_matches([',', ':', ';']).to_owned())
}
