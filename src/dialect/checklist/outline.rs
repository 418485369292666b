//! The lines of a check list: headings, boxes and text (docs/formats/checklist.md#boxes).

use std::ops::Range;

use crate::dialect::markdown::{self, Checkbox, Heading, LineContext, Lines};

/// Bytes of a line that are read.
const LINE_BYTES: usize = 64 << 10;

/// A check list, line by line.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    pub(super) lines: Vec<OutlineLine<'a>>,
    /// The line of a code fence or comment that is never closed: everything behind it may belong to it.
    pub(super) unclosed: Option<u32>,
}

/// A line of a check list.
#[derive(Debug)]
pub(super) struct OutlineLine<'a> {
    /// From 1.
    pub(super) number: u32,
    /// Its byte offset in the text.
    pub(super) start: usize,
    pub(super) text: &'a str,
    pub(super) context: LineContext,
    pub(super) kind: LineKind<'a>,
}

/// What a line is, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineKind<'a> {
    Heading(Heading<'a>),
    Box(Checkbox<'a>),
    Text,
}

impl OutlineLine<'_> {
    /// Tells whether it is neither code nor a comment. Boxes between two rules at the top are no front matter.
    pub(super) const fn is_read(&self) -> bool {
        matches!(self.context, LineContext::Text | LineContext::FrontMatter)
    }
}

impl<'a> Outline<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut opened = None;
        for line in Lines::of(text) {
            let text = cut(line.text);
            let is_hidden = matches!(line.context, LineContext::Fence | LineContext::Comment);
            let before = lines.last().map(|line: &OutlineLine<'_>| line.context);
            match is_hidden {
                true if before != Some(line.context) => opened = Some(line.number),
                true => {}
                false => opened = None,
            }
            let kind = match markdown::heading(text) {
                Some(heading) => LineKind::Heading(heading),
                None => markdown::checkbox(text).map_or(LineKind::Text, LineKind::Box),
            };
            lines.push(OutlineLine { number: line.number, start: line.start, text, context: line.context, kind });
        }
        let is_open = Lines::of(text).ends_inside();
        Self { lines, unclosed: opened.filter(|_| is_open) }
    }

    /// Returns the heading of a line that is text, not code or a comment.
    pub(super) fn heading(&self, at: usize) -> Option<Heading<'a>> {
        let line = self.lines.get(at)?;
        match line.kind {
            LineKind::Heading(heading) if line.is_read() => Some(heading),
            LineKind::Heading(_) | LineKind::Box(_) | LineKind::Text => None,
        }
    }

    /// Returns the box of a line that is text, not code or a comment.
    pub(super) fn checkbox(&self, at: usize) -> Option<&Checkbox<'a>> {
        let line = self.lines.get(at)?;
        match &line.kind {
            LineKind::Box(checkbox) if line.is_read() => Some(checkbox),
            LineKind::Heading(_) | LineKind::Box(_) | LineKind::Text => None,
        }
    }

    /// Returns the lines below a heading, up to the next one that is not deeper than `depth`.
    pub(super) fn section(&self, heading: usize, depth: usize) -> Range<usize> {
        let from = heading + 1;
        let is_end = |at: &usize| self.heading(*at).is_some_and(|next| next.depth <= depth);
        from..(from..self.lines.len()).find(is_end).unwrap_or(self.lines.len())
    }

    /// Returns the lines that belong to the box at a line: those below it that are indented deeper and are no box of their own.
    pub(super) fn body(&self, at: usize, indent: usize) -> Range<usize> {
        let from = at + 1;
        let belongs = |line: &OutlineLine<'_>| match &line.kind {
            LineKind::Heading(_) => false,
            LineKind::Box(_) => !line.is_read(),
            LineKind::Text => line.text.trim().is_empty() || markdown::columns(line.text) > indent,
        };
        let length = self.lines[from.min(self.lines.len())..].iter().take_while(|line| belongs(line)).count();
        from..from + length
    }
}

/// Cuts a line that is too long at a character.
fn cut(text: &str) -> &str {
    if text.len() <= LINE_BYTES {
        return text;
    }
    let end = (0..=LINE_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::{LineKind, Outline};

    const TEXT: &str = "\u{feff}# Title\r\n\r\n- [ ] one\r\n  more\r\n  - [x] two\r\n```\r\n- [ ] code\r\n```\r\n<!-- - [ ] no -->\r\n## Next\r\ntext";

    #[test]
    fn headings_and_boxes_are_found_outside_of_code_and_comments() {
        let outline = Outline::of(TEXT);
        let headings: Vec<usize> = (0..outline.lines.len()).filter(|at| outline.heading(*at).is_some()).collect();
        let boxes: Vec<usize> = (0..outline.lines.len()).filter(|at| outline.checkbox(*at).is_some()).collect();
        assert_eq!((headings, boxes), (vec![0, 9], vec![2, 4]));
        assert!(matches!(outline.lines[6].kind, LineKind::Box(_)));
        assert_eq!(outline.section(0, 1), 1..11);
        assert_eq!(outline.section(0, 2), 1..9);
        assert_eq!(outline.body(2, 0), 3..4);
        assert_eq!(outline.unclosed, None);
        let line = &outline.lines[2];
        assert_eq!(&TEXT[line.start..line.start + 5], "- [ ]");
    }

    #[test]
    fn a_fence_that_is_never_closed_is_named() {
        for (text, line) in [
            ("a\n```\n- [ ] T1\n", Some(2)),
            ("a\n```\nb\n```\n", None),
            ("a\n```\nb\n```", None),
            ("```\n```\n\n~~~~\n~~~\n", Some(4)),
            ("<!-- a\n- [ ] T1\n", Some(1)),
            ("<!-- a\n-->\n", None),
            ("```\n<!--\n```\n", None),
            ("", None),
        ] {
            assert_eq!(Outline::of(text).unclosed, line, "{text:?}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let text = "é".repeat(100_000);
        assert_eq!(Outline::of(&text).lines[0].text.len(), 64 << 10);
    }
}
