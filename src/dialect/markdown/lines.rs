//! Iterates over the lines of a Markdown text with their context: front matter, code fence, comment or text.

use std::ops::Range;

/// Maximum line at which front matter must end; longer front matter is treated as text.
const FRONT_MATTER_LINES: usize = 200;

/// A line without its line end.
#[derive(Clone, Copy, Debug)]
pub(in crate::dialect) struct MarkdownLine<'a> {
    /// From 1.
    pub(in crate::dialect) number: u32,
    /// Its byte offset in the text.
    pub(in crate::dialect) start: usize,
    pub(in crate::dialect) text: &'a str,
    pub(in crate::dialect) context: LineContext,
}

/// The context of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) enum LineContext {
    FrontMatter,
    Text,
    Fence,
    Comment,
}

/// Iterator over the lines of a text.
#[derive(Debug)]
pub(in crate::dialect) struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: u32,
    front_matter: Range<usize>,
    /// Character and length of the open fence.
    fence: Option<(u8, usize)>,
    in_comment: bool,
}

impl<'a> Lines<'a> {
    pub(in crate::dialect) fn of(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at, number: 0, front_matter: front_matter(text, at), fence: None, in_comment: false }
    }

    /// Tells whether the text ends inside of a code fence or comment.
    pub(in crate::dialect) fn ends_inside(mut self) -> bool {
        while self.next().is_some() {}
        self.fence.is_some() || self.in_comment
    }

    fn context(&mut self, start: usize, line: &str) -> LineContext {
        if self.front_matter.contains(&start) {
            return LineContext::FrontMatter;
        }
        if let Some((mark, length)) = self.fence {
            let trimmed = line.trim();
            if trimmed.len() >= length && trimmed.bytes().all(|byte| byte == mark) {
                self.fence = None;
            }
            return LineContext::Fence;
        }
        if self.in_comment {
            self.in_comment = !line.contains("-->");
            return LineContext::Comment;
        }
        if let Some(fence) = fence(line) {
            self.fence = Some(fence);
            return LineContext::Fence;
        }
        if line.as_bytes().contains(&b'<')
            && let Some(at) = line.rfind("<!--")
        {
            self.in_comment = !line[at..].contains("-->");
            if line[..at].trim().is_empty() {
                return LineContext::Comment;
            }
        }
        LineContext::Text
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = MarkdownLine<'a>;

    fn next(&mut self) -> Option<MarkdownLine<'a>> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        let (text, next) = line_at(self.text, start);
        self.at = next;
        self.number = self.number.saturating_add(1);
        Some(MarkdownLine { number: self.number, start, text, context: self.context(start, text) })
    }
}

/// Returns the line at an offset without its end, and the offset of the next line.
fn line_at(text: &str, start: usize) -> (&str, usize) {
    let rest = &text[start..];
    let (line, next) = rest.split_once('\n').map_or((rest, text.len()), |(line, _)| (line, start + line.len() + 1));
    (line.strip_suffix('\r').unwrap_or(line), next)
}

/// Returns character and length of the code fence that a line opens.
fn fence(line: &str) -> Option<(u8, usize)> {
    let line = line.trim_start();
    let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    (length >= 3 && (mark == b'~' || !line[length..].contains('`'))).then_some((mark, length))
}

/// Returns the range of the front matter with its delimiters, at the top or right below a title
/// (docs/formats/aios-stories.md#where-a-status-counts).
fn front_matter(text: &str, start: usize) -> Range<usize> {
    let mut at = start;
    let mut opened = None;
    let mut titles = 0;
    for _ in 0..FRONT_MATTER_LINES {
        if at >= text.len() {
            break;
        }
        let (line, next) = line_at(text, at);
        let is_rule = line.trim_end() == "---";
        match opened {
            None if is_rule => opened = Some(at),
            None if line.trim().is_empty() => {}
            None if line.starts_with("# ") && titles == 0 => titles = 1,
            None => break,
            Some(from) if is_rule => return from..next,
            Some(_) if is_front_matter(line) => {}
            Some(_) => break,
        }
        at = next;
    }
    start..start
}

fn is_front_matter(line: &str) -> bool {
    let trimmed = line.trim_start();
    let is_nested = trimmed.len() < line.len() || trimmed.starts_with("- ");
    let is_key = trimmed.split_once(':').is_some_and(|(key, value)| {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '"' | '\'');
        key.chars().all(plain) && (value.is_empty() || value.starts_with([' ', '\t']))
    });
    trimmed.is_empty() || is_nested || is_key || (trimmed.starts_with('#') && !trimmed.starts_with("##"))
}
