//! Reads Markdown line by line: headings, boxes, front matter, fences and comments. Offsets are bytes, so that a patch changes one mark.

mod checkbox;
mod lines;

pub(in crate::dialect) use checkbox::{Checkbox, bracket, checkbox, columns};
pub(in crate::dialect) use lines::{LineContext, Lines, MarkdownLine};

/// A heading: depth and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) struct Heading<'a> {
    pub(in crate::dialect) depth: usize,
    pub(in crate::dialect) text: &'a str,
}

/// Parses a line as a heading.
pub(in crate::dialect) fn heading(line: &str) -> Option<Heading<'_>> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(depth..).filter(|rest| (1..=6).contains(&depth) && rest.starts_with([' ', '\t']))?;
    Some(Heading { depth, text: rest.trim().trim_end_matches('#').trim_end() })
}
