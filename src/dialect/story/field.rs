//! The forms of `key: value` lines in a story.

/// Maximum byte offset of the colon after a key.
const KEY_BYTES: usize = 48;

/// A key with its value, as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) key: &'a str,
    /// Without leading blanks and emphasis marks.
    pub(super) value: &'a str,
    pub(super) form: Form,
    /// Whether the line starts in the first column.
    pub(super) is_flush: bool,
}

/// The form of a field (docs/formats/aios-stories.md#where-a-status-counts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `**Key:** value`.
    Bold,
    /// `> **Key:** value`.
    Quote,
    /// `- **Key:** value`, `- Key: value`.
    List,
    /// `Key: value`.
    Bare,
    /// `| **Key** | value |`.
    Table,
    /// `## Key: value`.
    InlineHeading,
    /// `key: value` in the front matter.
    FrontMatter,
}

/// Parses a line of text as a field.
pub(super) fn field(line: &str) -> Option<Field<'_>> {
    let mut rest = line.trim_start();
    let is_flush = rest.len() == line.len();
    if rest.starts_with('|') {
        let mut cells = cells(rest);
        let (key, value) = (cells.next()?, cells.next()?);
        let key = key.trim_matches(is_emphasis).trim_end_matches(':').trim_matches(is_emphasis).trim();
        return is_key(key).then_some(Field { key, value: lead(value), form: Form::Table, is_flush });
    }
    let mut form = Form::Bare;
    while let Some(quoted) = rest.strip_prefix('>') {
        rest = quoted.trim_start();
        form = Form::Quote;
    }
    if let Some(item) = rest.strip_prefix(['-', '*', '+']).filter(|item| item.starts_with([' ', '\t'])) {
        rest = item.trim_start();
        form = Form::List;
    }
    let inner = rest.trim_start_matches(|c: char| is_ornament(c) || is_emphasis(c));
    if form == Form::Bare && (rest.contains("**") || rest.contains("__")) && inner.len() < rest.len() {
        form = Form::Bold;
    }
    split(inner, form, is_flush)
}

/// Parses a line of the front matter.
pub(super) fn front_matter_field(line: &str) -> Option<Field<'_>> {
    let is_flush = !line.starts_with([' ', '\t']);
    split(line.trim(), Form::FrontMatter, is_flush).map(|field| Field {
        value: field.value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']),
        ..field
    })
}

/// Parses the text of a heading as a field.
pub(super) fn heading_field(heading: &str) -> Option<Field<'_>> {
    let inner = heading.trim_start_matches(|c: char| is_ornament(c) || is_emphasis(c));
    split(inner, Form::InlineHeading, true)
}

fn split(text: &str, form: Form, is_flush: bool) -> Option<Field<'_>> {
    let colon = text.bytes().take(KEY_BYTES).position(|byte| byte == b':')?;
    let key = text[..colon].trim_end_matches(is_emphasis).trim_end();
    is_key(key).then(|| Field { key, value: lead(&text[colon + 1..]), form, is_flush })
}

/// Strips leading blanks and emphasis marks, and trailing blanks.
fn lead(value: &str) -> &str {
    value.trim_start_matches(|c: char| c.is_whitespace() || is_emphasis(c)).trim_end()
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | '#' | '.'))
}

pub(super) const fn is_emphasis(c: char) -> bool {
    matches!(c, '*' | '_' | '`')
}

/// Returns whether a character in front of a key is decoration: an emoji, its selector, a blank.
fn is_ornament(c: char) -> bool {
    c.is_whitespace() || (!c.is_alphanumeric() && !c.is_ascii())
}

/// Returns the cells of a table row, trimmed; `\|` stays in its cell.
pub(super) fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|row| !row.ends_with('\\')).unwrap_or(row);
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.match_indices('|').map(|(at, _)| at).find(|at| !text[..*at].ends_with('\\'));
        let cell = end.map_or(text, |end| &text[..end]);
        rest = end.map(|end| &text[end + 1..]);
        Some(cell.trim())
    })
}
