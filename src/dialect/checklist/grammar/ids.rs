//! Ids of tasks. Every task of a list has one of its own.

use std::collections::{BTreeMap, BTreeSet};

/// The ids that are taken.
#[derive(Debug, Default)]
pub(super) struct Ids {
    taken: BTreeSet<String>,
    /// The number that the next repetition of an id gets.
    next: BTreeMap<String, usize>,
}

impl Ids {
    /// Takes an id; one that is taken gets a number.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let key = wanted.to_lowercase();
        if self.taken.insert(key.clone()) {
            return wanted.to_owned();
        }
        let number = self.next.entry(key).or_insert(2);
        loop {
            let id = format!("{wanted}-{number}");
            *number += 1;
            if self.taken.insert(id.to_lowercase()) {
                return id;
            }
        }
    }
}

/// Reads the id of a Spec Kit task at the start of a text, with the text behind it: `T012`, `T012a`, `T012.1`, `T038-MIN`.
pub(super) fn speckit(text: &str) -> Option<(String, &str)> {
    let rest = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let rest = ["Task ", "task ", "TASK "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let number = rest.strip_prefix(['T', 't'])?;
    let number = number.strip_prefix('-').unwrap_or(number);
    let prefix = rest.len() - number.len();
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=4).contains(&digits) {
        return None;
    }
    let mut end = prefix + digits;
    let is_alone = |at: usize| !rest[at..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if rest[end..].starts_with(|c: char| c.is_ascii_alphabetic()) && is_alone(end + 1) {
        end += 1;
    }
    if !is_alone(end) {
        return None;
    }
    if let Some(suffix) = rest[end..].strip_prefix(['.', '-']) {
        let length = suffix.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let word = &suffix[..length];
        // `T001-Setup the project` has no suffix.
        let is_suffix = !word.is_empty() && (length == 1 || !word.bytes().any(|byte| byte.is_ascii_lowercase()));
        if is_suffix && suffix[length..].chars().next().is_none_or(|c| !c.is_alphanumeric()) {
            end += 1 + length;
        }
    }
    Some((rest[..end].to_owned(), &rest[end..]))
}

/// Reads a number such as `2`, `2.7` or `4.1.3` at the start of a text, with the text behind it.
pub(super) fn dotted(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches(['*', '_', '`', ' ', '[', '(']);
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    let id = rest[..end].trim_end_matches('.');
    let is_id = !id.is_empty() && id.len() <= 32 && id.split('.').all(|part| !part.is_empty());
    let behind = rest[id.len()..].trim_start_matches(['.', ')', ']', ':', '*', '_', '`']);
    let is_whole = behind.is_empty() || behind.len() < rest.len() - id.len() || behind.starts_with(char::is_whitespace);
    (is_id && is_whole).then_some((id, behind))
}

#[cfg(test)]
mod tests {
    use super::{Ids, dotted, speckit};

    #[test]
    fn ids_of_tasks_are_read_in_every_spelling() {
        for (text, id, rest) in [
            ("T001 Create", "T001", " Create"),
            ("**T001** [P] Create", "T001", "** [P] Create"),
            ("`T001`: Create", "T001", "`: Create"),
            ("[T001] Create", "T001", "] Create"),
            ("~~T001 Create~~", "T001", " Create~~"),
            ("✅ T001 Create", "T001", " Create"),
            ("Task T001: Create", "T001", ": Create"),
            ("T1 Create", "T1", " Create"),
            ("T012a Create", "T012a", " Create"),
            ("T012B: Create", "T012B", ": Create"),
            ("T012.1 Create", "T012.1", " Create"),
            ("T038-MIN [P] Create", "T038-MIN", " [P] Create"),
            ("T012-A Create", "T012-A", " Create"),
            ("T001-Setup the project", "T001", "-Setup the project"),
            ("T001. Create", "T001", ". Create"),
            ("T-12 Create", "T-12", " Create"),
            ("t007 erstellen", "t007", " erstellen"),
            ("T001、作成", "T001", "、作成"),
            ("T0123 Create", "T0123", " Create"),
        ] {
            assert_eq!(speckit(text), Some((id.to_owned(), rest)), "{text}");
        }
        for text in
            ["Test the app", "T Create", "TCP", "T12345 x", "T001ab x", "T001_x", "[P] tasks", "", "Create T001"]
        {
            assert_eq!(speckit(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_of_tasks_are_read() {
        for (text, id) in [
            ("2.7 Add", "2.7"),
            ("2. Add", "2"),
            ("4.1.3 Add", "4.1.3"),
            ("**1.1** Add", "1.1"),
            ("1) Add", "1"),
            ("3 Add", "3"),
            ("1.10: Add", "1.10"),
        ] {
            assert_eq!(dotted(text).map(|(id, _)| id), Some(id), "{text}");
        }
        for text in ["Add 2.7", "2nd try", "1..2 x", ".5 x", "", "1a"] {
            assert_eq!(dotted(text), None, "{text}");
        }
    }

    #[test]
    fn no_two_tasks_have_one_id() {
        let mut ids = Ids::default();
        let taken: Vec<String> = ["T1", "t1", "T1-2", "T1"].iter().map(|id| ids.take(id)).collect();
        assert_eq!(taken, ["T1", "t1-2", "T1-2-2", "T1-3"]);
    }
}
