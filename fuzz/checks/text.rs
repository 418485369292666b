//! Untrusted text on its way to a terminal, a shell or a path, and the Markdown in which some systems keep their state.

use crate::{
    dialect,
    model::{RelPath, Timestamp, clean, clean_line, mask_secrets, quoted},
};

/// Reads a check list of CCW and ticks every box of it.
pub(super) fn checklist(data: &[u8]) {
    dialect::check_checklist(data);
}

/// Reads a story of AIOS.
pub(super) fn story(data: &[u8]) {
    dialect::check_story(data);
}

/// Cleans, masks and quotes a text.
pub(super) fn text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let cleaned = clean(&text);
    assert!(cleaned.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "a control character is left");
    assert_eq!(clean(&cleaned), cleaned);
    for limit in [1, 9, 80] {
        let line = clean_line(&text, limit);
        assert!(line.chars().count() <= limit, "the line is longer than {limit}");
        assert!(!line.chars().any(char::is_control), "it is more than one line");
        assert_eq!(clean_line(&line, limit), line);
    }
    let masked = mask_secrets(&text);
    assert_eq!(mask_secrets(&masked), masked);
    assert_eq!(unquoted(&quoted(&text)).as_deref(), Some(&*text), "a shell reads another word");
    for offset in [0, 3_600] {
        if let Ok(time) = Timestamp::parse(&text, offset) {
            let again = Timestamp::parse(&time.to_string(), 0);
            assert_eq!(again.ok(), Some(time), "{time} is read as another time");
        }
    }
}

/// Parses one word as bash and zsh do; `None` if they would see more than one word, or if it has more than one line.
fn unquoted(word: &str) -> Option<String> {
    if word.chars().any(char::is_control) {
        return None;
    }
    let mut text = Vec::new();
    let mut bytes = word.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\'' => loop {
                match bytes.next()? {
                    b'\'' => break,
                    inside => text.push(inside),
                }
            },
            b'$' => {
                bytes.next().filter(|quote| *quote == b'\'')?;
                loop {
                    match bytes.next()? {
                        b'\'' => break,
                        b'\\' => text.push(escaped(&mut bytes)?),
                        inside => text.push(inside),
                    }
                }
            }
            b'\\' => text.push(bytes.next()?),
            byte if byte.is_ascii_alphanumeric() || b"-_./:@+,".contains(&byte) => text.push(byte),
            _ => return None,
        }
    }
    String::from_utf8(text).ok()
}

/// Reads what follows a backslash in `$'...'`: a quote, a backslash or three octal digits.
fn escaped(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let first = bytes.next()?;
    if matches!(first, b'\'' | b'\\') {
        return Some(first);
    }
    let digits = [first, bytes.next()?, bytes.next()?];
    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()
}

/// Parses a path: a valid one stays below its root.
pub(super) fn path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, second) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(path) = RelPath::parse(first) else { return };
    let is_inside = |path: &RelPath| {
        let text = path.as_str();
        let parts_are_names = text.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        assert!(parts_are_names && !text.contains('\\') && !text.chars().any(char::is_control), "{text:?}");
        assert_eq!(RelPath::parse(text).as_ref(), Ok(path), "it is not in its normal form");
    };
    is_inside(&path);
    assert!(path.parent().is_none_or(|parent| path.starts_with(&parent)));
    if let Ok(joined) = path.join(second) {
        is_inside(&joined);
        assert!(joined.starts_with(&path));
    }
}
