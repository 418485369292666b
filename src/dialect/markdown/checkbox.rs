//! Boxes of check lists: `- [ ] text`, `1. [x] text`.

use std::ops::Range;

/// Maximum bytes of the mark in a box.
const MARK_BYTES: usize = 12;
/// The columns between two tab stops.
const TAB: usize = 4;

/// A list item with a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dialect) struct Checkbox<'a> {
    /// The column of its bullet, from 0.
    pub(in crate::dialect) indent: usize,
    /// With offsets in the line.
    pub(in crate::dialect) mark: Mark<'a>,
    /// The text behind the box, without blanks around it.
    pub(in crate::dialect) text: &'a str,
}

/// The mark in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dialect) struct Mark<'a> {
    /// Without blanks; empty for an open box.
    pub(in crate::dialect) text: &'a str,
    /// The bytes between the brackets.
    pub(in crate::dialect) span: Range<usize>,
    /// The offset behind the closing bracket.
    pub(in crate::dialect) end: usize,
}

impl Mark<'_> {
    /// Tells whether the box is ticked. Every other mark than an x leaves it open.
    pub(in crate::dialect) fn is_ticked(&self) -> bool {
        self.text.eq_ignore_ascii_case("x")
    }
}

/// Parses a list item with a box.
pub(in crate::dialect) fn checkbox(line: &str) -> Option<Checkbox<'_>> {
    let rest = line.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let item = match digits {
        0 => rest.strip_prefix(['-', '*', '+'])?,
        1..=9 => rest[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let item = item.trim_start();
    let before = line.len() - item.len();
    let mark = bracket(item)?;
    let text = item[mark.end..].trim();
    let indent = columns(line);
    let span = mark.span.start + before..mark.span.end + before;
    Some(Checkbox { indent, text, mark: Mark { span, end: mark.end + before, ..mark } })
}

/// Returns the columns of blanks at the start of a line.
pub(in crate::dialect) fn columns(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| c.is_whitespace());
    blanks.fold(0, |column, c| if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 })
}

/// Parses the box at the start of a text: brackets with at most one character in them. `[a](link)` and `[a][reference]` are links.
pub(in crate::dialect) fn bracket(text: &str) -> Option<Mark<'_>> {
    let inner = text.strip_prefix('[')?;
    let length = inner.bytes().take(MARK_BYTES).position(|byte| byte == b']')?;
    let mark = inner[..length].trim();
    // A tick may be followed by a sign that chooses how it is drawn.
    let mut chars = mark.chars().filter(|c| !matches!(c, '\u{fe0e}' | '\u{fe0f}'));
    let is_short = chars.next().is_none_or(|c| c != '[') && chars.next().is_none();
    let is_link = !mark.is_empty() && inner[length + 1..].starts_with(['(', '[']);
    (is_short && !is_link).then(|| Mark { text: mark, span: 1..1 + length, end: length + 2 })
}

#[cfg(test)]
mod tests {
    use super::checkbox;

    #[test]
    fn boxes_are_read_with_the_place_of_their_mark() {
        for (line, indent, mark, text) in [
            ("- [ ] a", 0, "", "a"),
            ("* [x]a", 0, "x", "a"),
            ("  + [X]  a ", 2, "X", "a"),
            ("\t- [] a", 4, "", "a"),
            ("1. [ x ] a", 0, "x", "a"),
            ("12) [~] 日本語", 0, "~", "日本語"),
            ("-[ ] a", 0, "", "a"),
            ("- [✔\u{fe0f}] a", 0, "✔\u{fe0f}", "a"),
            ("- [ ](a) b", 0, "", "(a) b"),
            ("- [\t] ", 0, "", ""),
        ] {
            let found = checkbox(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.indent, found.mark.text, found.text), (indent, mark, text), "{line}");
            assert_eq!(line[found.mark.span.clone()].trim(), mark, "{line}");
            assert_eq!(&line[found.mark.end - 1..found.mark.end], "]", "{line}");
        }
        for line in [
            "- [a](b)",
            "- [x][y] a",
            "- [ab] a",
            "[ ] a",
            "- a [ ]",
            "- [ a",
            "1234567890. [ ] a",
            "# [ ] a",
            "- [[] a",
            "",
            "- [日本] a",
            "- [日本語日本語] a",
        ] {
            assert_eq!(checkbox(line), None, "{line}");
        }
    }

    #[test]
    fn only_an_x_ticks() {
        for (line, ticked) in
            [("- [x] a", true), ("- [X] a", true), ("- [-] a", false), ("- [✓] a", false), ("- [] a", false)]
        {
            assert_eq!(checkbox(line).unwrap().mark.is_ticked(), ticked, "{line}");
        }
    }
}
