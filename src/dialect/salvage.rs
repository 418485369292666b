//! Reads files that do not parse: single values, which are reported as lines of a broken file, and the reason.

/// Returns the line of an unresolved merge conflict, with the message that says so.
pub(super) fn conflict(bytes: &[u8]) -> Option<(u32, String)> {
    let is_marker = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ") || line == b"======="
    };
    let at = bytes.split(|byte| *byte == b'\n').position(is_marker)?;
    let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
    Some((line, format!("unresolved merge conflict at line {line}")))
}

/// Returns the value of a key in JSON or YAML, on the first line with the key: `"key": "text"` or `key: text`.
pub(super) fn text(bytes: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let found = text.match_indices(key).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_whole = before.is_none_or(|c| c == '"' || c == '\'' || c.is_whitespace() || matches!(c, '{' | ','));
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ').strip_prefix(':')?;
        is_whole.then(|| value(rest.trim_start_matches([' ', '\t']))).flatten()
    })?;
    let is_sound = !found.is_empty() && found.len() <= 400 && !found.chars().any(char::is_control);
    is_sound.then(|| found.to_owned())
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
    use super::conflict;
    use super::text;

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
