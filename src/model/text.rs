//! Making untrusted text safe to print.

use std::borrow::Cow;

use serde_json::Value;

/// Removes what could control a terminal or reverse text: control characters except tab and newline, escape sequences,
/// bidirectional marks and zero-width characters.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if !text.bytes().all(is_plain) && text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().filter(|c| !is_unsafe(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Cleans the text and folds it into one line of at most `limit` characters.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len());
    for word in clean(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.len() > limit && line.chars().count() > limit {
        line = line.chars().take(limit.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

/// Returns a count with its noun: `1 step`, `2 steps`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Returns the first names of a list, and how many more there are: `a, b (+3)`.
pub(crate) fn first_names<S: AsRef<str>>(names: &[S], limit: usize) -> String {
    let named = names.iter().take(limit).map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    match names.len().saturating_sub(limit) {
        0 => named,
        more => format!("{named} (+{more})"),
    }
}

/// Returns the verb for a count of things: `is`, `are`.
pub(crate) const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// Returns the number of mistakes in words: `a mistake`, `2 mistakes`.
pub(crate) fn mistakes(count: usize) -> String {
    if count == 1 { "a mistake".to_owned() } else { plural(count, "mistake") }
}

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{61c}')
        // Invisible characters, among them the Unicode block Tags, an alphabet that only machines read.
        || matches!(c, '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Tells whether a text is one word that means itself in a POSIX shell.
pub(crate) fn is_plain_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '+' | ',');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

/// Quotes a text as one word of a shell, on one line: ids of untrusted files end up in commands that agents run. Characters that end a line
/// or show nothing are written as octal bytes (`$'a\012b'`), which bash and zsh read as the same in every locale.
pub(crate) fn quoted(text: &str) -> String {
    if text.chars().any(is_unprintable) {
        let escaped = text.chars().map(|c| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if is_unprintable(c) => c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")).collect(),
            c => c.to_string(),
        });
        return format!("$'{}'", escaped.collect::<String>());
    }
    if is_plain_word(text) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Tells whether a character ends a line, or is taken out of what is shown.
fn is_unprintable(c: char) -> bool {
    c.is_control() || is_unsafe(c)
}

/// Returns a value as people write it: a list with commas, an object as `name: value` with semicolons, in parentheses where it is inside another.
pub(crate) fn value_in_words(value: &Value) -> String {
    let inner = |value: &Value| match value {
        Value::Object(_) => format!("({})", value_in_words(value)),
        _ => value_in_words(value),
    };
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(inner).collect::<Vec<String>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{}: {}", name.replace('_', " "), inner(value)));
            fields.collect::<Vec<String>>().join("; ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{clean, clean_line, quoted, value_in_words};

    #[test]
    fn a_value_is_said_without_the_marks_of_json() {
        for (value, said) in [
            (json!("a"), "a"),
            (json!([1, "b"]), "1, b"),
            (json!({"look_at": "x", "n": 2}), "look at: x; n: 2"),
            (json!([{"a": [{"b": 1}, {"b": 2}]}]), "(a: (b: 1), (b: 2))"),
        ] {
            assert_eq!(value_in_words(&value), said, "{value}");
        }
    }

    #[test]
    fn a_quoted_text_is_one_word_on_one_line() {
        for (text, word) in [
            ("plain-1", "plain-1"),
            ("-x", "'-x'"),
            ("it's", "'it'\\''s'"),
            ("a\nb", "$'a\\012b'"),
            ("a\u{2028}'\\", "$'a\\342\\200\\250\\'\\\\'"),
            ("\u{200b}", "$'\\342\\200\\213'"),
        ] {
            assert_eq!(quoted(text), word, "{text:?}");
        }
    }

    #[test]
    fn escapes_and_bidirectional_marks_go() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}\u{202e}b\n\tc"), "a[31mredb\n\tc");
        assert_eq!(clean("a\u{e0041}\u{180e}\u{fff9}b\u{fe0f}"), "ab\u{fe0f}");
        assert_eq!(clean_line("one\r\n two\u{0}  three", 9), "one two …");
        for (text, line) in
            [("one two", "one two"), (" one", "one"), ("one ", "one"), ("one  two", "one two"), ("", "")]
        {
            assert_eq!(clean_line(text, 9), line, "{text:?}");
        }
        assert_eq!(clean_line("one two three", 9), "one two …");
    }
}
