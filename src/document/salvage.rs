//! Reads files that do not parse: single values, which are reported as lines of a broken file, and the reason.

use serde_json::Value;

/// Parses JSON despite comments, trailing commas and a cut end.
fn json(bytes: &[u8]) -> Option<Value> {
    if conflict(bytes).is_some() {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut mended = Mended::default();
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('"', _) => {
                mended.text.push(char);
                while let Some(char) = chars.next() {
                    mended.text.push(char);
                    match char {
                        '\\' => mended.text.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while chars.next().is_some_and(|char| char != '\n') {},
            ('/', Some('*')) => {
                let mut before = chars.next();
                for char in chars.by_ref() {
                    if before == Some('*') && char == '/' {
                        break;
                    }
                    before = Some(char);
                }
            }
            _ => mended.push(char)?,
        }
    }
    serde_json::from_str(&mended.end()).ok()
}

/// Returns the object that a broken file begins with, or what can be read of it.
pub(crate) fn json_object(bytes: &[u8]) -> Option<Value> {
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().next().and_then(Result::ok);
    let object = first.filter(|_| conflict(bytes).is_none()).or_else(|| json(bytes));
    object.filter(Value::is_object)
}

/// The deepest nesting that `serde_json` reads.
const DEEPEST: usize = 128;

/// A JSON text without trailing commas, and the last place where it can be closed.
#[derive(Default)]
struct Mended {
    text: String,
    /// The closers of the open objects and lists, innermost last.
    open: Vec<char>,
    /// Length of the text, and the closers, at the last place between two values.
    sound: (usize, Vec<char>),
}

impl Mended {
    fn push(&mut self, char: char) -> Option<()> {
        match char {
            '{' | '[' => {
                self.text.push(char);
                self.open.push(if char == '{' { '}' } else { ']' });
                // No deeper document is read below, and each place between two values remembers the whole depth.
                if self.open.len() > DEEPEST {
                    return None;
                }
            }
            ',' => {
                self.sound = (self.text.trim_end().len(), self.open.clone());
                self.text.push(char);
                return Some(());
            }
            '}' | ']' => {
                let kept = self.text.trim_end().trim_end_matches(',').len();
                self.text.truncate(kept);
                self.open.pop().filter(|closer| *closer == char)?;
                self.text.push(char);
            }
            _ => {
                self.text.push(char);
                return Some(());
            }
        }
        self.sound = (self.text.len(), self.open.clone());
        Some(())
    }

    fn end(mut self) -> String {
        if !self.open.is_empty() {
            self.text.truncate(self.sound.0);
            self.text.extend(self.sound.1.iter().rev());
        }
        self.text
    }
}

/// Returns the line of an unresolved merge conflict, with the message that says so.
pub(crate) fn conflict(bytes: &[u8]) -> Option<(u32, String)> {
    let is_marker = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ") || line == b"======="
    };
    let at = bytes.split(|byte| *byte == b'\n').position(is_marker)?;
    let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
    Some((line, format!("unresolved merge conflict at line {line}")))
}

/// Returns the value of a key in JSON or YAML, on the first line with the key: `"key": "text"` or `key: text`.
pub(crate) fn text(bytes: &[u8], key: &str) -> Option<String> {
    texts(bytes, key).into_iter().next()
}

/// Returns all values of a key, in order.
pub(crate) fn texts(bytes: &[u8], key: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let found = text.match_indices(key).filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_whole = before.is_none_or(|c| c == '"' || c == '\'' || c.is_whitespace() || matches!(c, '{' | ','));
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ').strip_prefix(':')?;
        is_whole.then(|| value(rest.trim_start_matches([' ', '\t']))).flatten()
    });
    let is_sound = |found: &&str| !found.is_empty() && found.len() <= 400 && !found.chars().any(char::is_control);
    found.filter(is_sound).map(str::to_owned).collect()
}

/// Returns the value if it is terminated by a quote or a newline; a truncated value is rejected.
fn value(rest: &str) -> Option<&str> {
    let end = rest.find('\n');
    let line = &rest[..end.unwrap_or(rest.len())];
    match line.chars().next()? {
        quote @ ('"' | '\'') => {
            let inner = &line[1..];
            inner.find(quote).map(|end| &inner[..end]).filter(|inner| !inner.contains('\\'))
        }
        '{' | '[' | '|' | '>' | '&' | '*' => None,
        _ => {
            end?;
            let end = [" #", ",", "}"].iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
            Some(line[..end].trim())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{conflict, json, text};

    #[test]
    fn a_merge_conflict_is_found_by_its_first_marker() {
        for (file, line) in [
            ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n", Some(2)),
            ("a: 1\r\n=======\r\nb: 2\r\n", Some(2)),
            (">>>>>>> other\n", Some(1)),
            ("a: 1\n========\n  <<<<<<< HEAD\n", None),
        ] {
            assert_eq!(conflict(file.as_bytes()).map(|(line, _)| line), line, "{file:?}");
        }
    }

    #[test]
    fn json_is_read_despite_commas_comments_and_a_cut_end() {
        for (file, expected) in [
            ("{\"a\":1,}", Some("{\"a\":1}")),
            ("\u{feff}{\"a\":[1,2,],\n}\n", Some("{\"a\":[1,2]}")),
            ("{ // one\n\"a\": /* two */ 1, \"b\": \"// no, }\" }", Some("{\"a\":1,\"b\":\"// no, }\"}")),
            ("{\"a\":{\"b\":1,\"c\":2},\"d\":\"cut", Some("{\"a\":{\"b\":1,\"c\":2}}")),
            ("{\"a\":[{\"b\":1},{\"b\":2", Some("{\"a\":[{\"b\":1},{}]}")),
            ("{\"a\":\"x\\\"y\",}", Some("{\"a\":\"x\\\"y\"}")),
            ("{\"a\"", Some("{}")),
            ("{\"a\":1]", None),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(json(file.as_bytes()).map(|found| found.to_string()).as_deref(), expected, "{file:?}");
        }
    }

    #[test]
    fn whole_values_are_found_and_torn_ones_are_not() {
        for (file, key, expected) in [
            ("{\"workflow_id\": \"user-auth\",\n \"x\"", "workflow_id", Some("user-auth")),
            ("{\n  \"feature_name\" : \"a b\"\n", "feature_name", Some("a b")),
            ("epic_state:\n  mode: yolo # fast\n", "mode", Some("yolo")),
            ("  mode: 'yolo'\n", "mode", Some("yolo")),
            ("  execution_plan: docs/a.yaml\r\n", "execution_plan", Some("docs/a.yaml")),
            ("  total: 3, \"b\": 1\n", "total", Some("3")),
            ("{\"workflow_id\":\"a\",\"started", "workflow_id", Some("a")),
            // Cut off in the middle of the value.
            ("  mode: yol", "mode", None),
            ("{\"workflow_id\": \"user", "workflow_id", None),
            ("{\"workflow_id\": \"us\\\"er\"\n", "workflow_id", None),
            ("  mode:\n", "mode", None),
            ("  commode: x\n", "mode", None),
            ("  waves: { a: 1 }\n", "waves", None),
            ("  mode: \u{1b}[1m\n", "mode", None),
        ] {
            assert_eq!(text(file.as_bytes(), key).as_deref(), expected, "{file:?}");
        }
    }
}
