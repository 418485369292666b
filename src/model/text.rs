//! What may be done with text that came from a stranger's file before anybody sees it.

use std::borrow::Cow;

/// Removes what could drive a terminal or turn text around: control characters but for tab and newline, escape sequences,
/// bidirectional marks and zero-width characters.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !is_printable_ascii(text) && text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().filter(|c| !is_unsafe(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Tells whether every byte is one of ASCII's that print, which most texts are and which is found out many bytes at a time.
fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Does the same and folds the text into one line of at most `limit` characters.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    if is_clean_line(text, limit) {
        return text.to_owned();
    }
    let mut line = String::new();
    for word in clean(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() > limit {
        line = line.chars().take(limit.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

/// Tells of most texts that [`clean_line`] leaves them as they are.
pub(crate) fn is_clean_line(text: &str, limit: usize) -> bool {
    let has_spare_space =
        || text.starts_with(' ') || text.ends_with(' ') || text.as_bytes().windows(2).any(|pair| pair == b"  ");
    text.len() <= limit && is_printable_ascii(text) && !has_spare_space()
}

/// Counts things in words: `1 step`, `2 steps`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Says how many mistakes there are: `a mistake`, `2 mistakes`.
pub(crate) fn mistakes(count: usize) -> String {
    if count == 1 { "a mistake".to_owned() } else { plural(count, "mistake") }
}

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{61c}')
        // Marks without a shape, among them a whole alphabet that only machines read (Unicode, block Tags).
        || matches!(c, '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Makes a text safe as one word of a POSIX shell. Ids come from strangers' files and end up in commands that agents run.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '+' | ',');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::clean;
    use super::clean_line;

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
