//! Which steps the subject of a commit names. An index over all subjects, because a run has thousands of steps.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of ids that one range stands for.
const RANGE: u32 = 200;
/// Characters of a subject that are read.
const SUBJECT: usize = 1_000;

/// How the subject of a commit names a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommitName {
    /// As a whole word: `03-02`, `T012`.
    Word(String),
    /// As a whole word in parentheses that hold nothing but ids: `(2-4)`, `feat(2-4, 2-5)`.
    Scope(String),
    /// Behind a noun, also in a list or a range: `task 7.2`, `tasks 1-6`, `STORY-2.4`. The noun is in lower case and singular.
    After { noun: &'static str, id: String },
}

/// The commits that name each word and each id behind a noun, by position in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NameIndex {
    words: BTreeMap<String, BTreeSet<usize>>,
    scopes: BTreeMap<String, BTreeSet<usize>>,
    after: BTreeMap<(String, String), BTreeSet<usize>>,
}

impl NameIndex {
    pub(super) fn of<'a>(subjects: impl Iterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for (at, subject) in subjects.enumerate() {
            index.add(at, subject);
        }
        index
    }

    /// Returns the commits whose subject has this name.
    pub(super) fn commits(&self, name: &CommitName) -> impl Iterator<Item = usize> {
        let found = match name {
            CommitName::Word(word) => self.words.get(&word.to_lowercase()),
            CommitName::Scope(word) => self.scopes.get(&word.to_lowercase()),
            CommitName::After { noun, id } => self.after.get(&((*noun).to_owned(), id.to_lowercase())),
        };
        found.into_iter().flatten().copied()
    }

    fn add(&mut self, at: usize, subject: &str) {
        let subject: String = subject.chars().take(SUBJECT).flat_map(char::to_lowercase).map(plain_dash).collect();
        // Signs of a range that are not a part of its ids.
        let subject =
            subject.replace("...", " to ").replace("..", " to ").replace('\u{2026}', " to ").replace(" - ", " to ");
        for word in with_ranges(&tokens(&subject).collect::<Vec<_>>()) {
            self.words.entry(word).or_default().insert(at);
        }
        for word in scoped(&subject) {
            self.scopes.entry(word).or_default().insert(at);
        }
        self.add_lists(at, &subject);
    }

    /// Adds the ids behind each noun: `task 7.2`, `tasks #1-6`, `tasks 1, 2 and 3`, `story-2.4`.
    fn add_lists(&mut self, at: usize, subject: &str) {
        let mut noun: Option<&str> = None;
        // `tasks 1 to 6` is a range, `task 3 to 100%` is not.
        let (mut is_plural, mut first, mut is_range): (bool, Option<&str>, bool) = (false, None, false);
        for piece in pieces(subject) {
            match piece {
                Piece::Noun("and") => {}
                Piece::Noun(word) if is_to(word) => is_range = is_plural,
                Piece::Noun(word) => {
                    let singular = word.strip_suffix('s').filter(|one| one.len() > 2);
                    (noun, is_plural, first, is_range) =
                        (Some(singular.unwrap_or(word)), singular.is_some(), None, false);
                }
                Piece::Ids(ids) => {
                    let ends = first.replace(ids).filter(|_| std::mem::take(&mut is_range));
                    let between = ends.map(|first| number_range(&format!("{first}-{ids}"))).unwrap_or_default();
                    // `story 2-4` is one id for some, and a range for others.
                    let own = || number_range(ids).into_iter().chain([ids.to_owned()]);
                    for id in noun.into_iter().flat_map(|_| own()).chain(between.into_iter().filter(|_| noun.is_some()))
                    {
                        let key = (noun.unwrap_or_default().to_owned(), id);
                        self.after.entry(key).or_default().insert(at);
                    }
                }
                Piece::End => (noun, first, is_range) = (None, None, false),
            }
        }
    }
}

/// A piece of a subject.
enum Piece<'a> {
    Noun(&'a str),
    /// An id that begins with a digit, or a range of two.
    Ids(&'a str),
    /// Something that ends a list.
    End,
}

fn pieces(subject: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = subject;
    while let Some(first) = rest.chars().next() {
        let is_id = first.is_ascii_digit();
        let in_piece = |c: char| if is_id { is_word(c) } else { c.is_alphabetic() };
        let end = rest.find(|c| !in_piece(c)).unwrap_or(rest.len());
        if end == 0 {
            // What stands between a noun and its ids, and between ids.
            if !matches!(first, ' ' | '#' | '-' | ':' | ',' | '&' | '+' | '/' | '(' | '[' | '_') {
                pieces.push(Piece::End);
            }
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let piece = &rest[..end];
        pieces.push(if is_id { Piece::Ids(trimmed(piece)) } else { Piece::Noun(piece) });
        rest = &rest[end..];
    }
    pieces
}

const fn plain_dash(c: char) -> char {
    if matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}') { '-' } else { c }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns the words of all parentheses in which each word has a digit, and what stands between those of a range.
fn scoped(subject: &str) -> impl Iterator<Item = String> {
    let inside = subject.split('(').skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let is_id = |word: &&str| word.bytes().any(|byte| byte.is_ascii_digit()) || is_to(word);
    let words = inside.map(|inside| tokens(inside).collect::<Vec<&str>>());
    words.filter(move |words| words.iter().all(is_id)).flat_map(|words| with_ranges(&words))
}

/// Returns words with the ids of the ranges among them.
fn with_ranges(words: &[&str]) -> Vec<String> {
    let within = words.iter().flat_map(|word| prefixed_range(word));
    let between = words.windows(3).filter(|ends| is_to(ends[1])).flat_map(|ends| range_of_ids(ends[0], ends[2]));
    words.iter().map(|word| (*word).to_owned()).chain(within).chain(between).collect()
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).map(trimmed).filter(|token| !token.is_empty())
}

fn trimmed(token: &str) -> &str {
    token.trim_matches(['-', '_', '.'])
}

/// Tells whether a word stands between the ends of a range.
fn is_to(word: &str) -> bool {
    matches!(word, "to" | "through" | "thru")
}

/// Returns the ids of a range whose ends differ only in their last number: `01-02` to `01-05`, `t012` to `t015`.
fn range_of_ids(first: &str, last: &str) -> Vec<String> {
    let split = |id: &str| id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let ((prefix, from), (other, to)) = (first.split_at(split(first)), last.split_at(split(last)));
    if prefix.is_empty() || prefix != other {
        return Vec::new();
    }
    let width = from.len();
    range(from, to).map(|id| format!("{prefix}{id:0width$}")).collect()
}

/// Returns the ids of a range like `t012-t015` or `01-02-01-05`; nothing for any other token.
fn prefixed_range(token: &str) -> Vec<String> {
    let dashes: Vec<usize> = token.match_indices('-').map(|(at, _)| at).collect();
    if dashes.len() > 1 {
        let middle = dashes.get(dashes.len() / 2).filter(|_| dashes.len() % 2 == 1);
        return middle.map(|at| range_of_ids(&token[..*at], &token[at + 1..])).unwrap_or_default();
    }
    let Some((first, last)) = token.split_once('-') else { return Vec::new() };
    let digits = |id: &str| id.find(|c: char| c.is_ascii_digit()).filter(|at| *at > 0);
    let (Some(at), last_digits) = (digits(first), digits(last).unwrap_or(0)) else { return Vec::new() };
    let (prefix, number) = first.split_at(at);
    if !last[..last_digits].is_empty() && last[..last_digits] != *prefix {
        return Vec::new();
    }
    let width = number.len();
    range(number, &last[last_digits..]).map(|id| format!("{prefix}{id:0width$}")).collect()
}

/// Returns the id, or all ids of a range like `1-6` or `7.1-7.3`.
fn number_range(ids: &str) -> Vec<String> {
    let above = |id: &str| id.rfind('.').map_or(0, |dot| dot + 1);
    let expanded = ids.split_once('-').map(|(first, last)| {
        let (prefix, number) = first.split_at(above(first));
        let last = last.strip_prefix(prefix).unwrap_or(last);
        range(number, last).map(|id| format!("{prefix}{id}")).collect::<Vec<_>>()
    });
    expanded.filter(|ids| !ids.is_empty()).unwrap_or_else(|| vec![ids.to_owned()])
}

fn range(first: &str, last: &str) -> impl Iterator<Item = u32> {
    let is_number = |text: &str| !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| if is_number(text) { text.parse().ok() } else { None };
    let ends: Option<(u32, u32)> = number(first).zip(number(last));
    let ends = ends.filter(|(first, last)| first < last && last - first <= RANGE);
    ends.into_iter().flat_map(|(first, last)| first..=last)
}

#[cfg(test)]
mod tests {
    use super::NameIndex;
    use crate::model::CommitName;

    fn names(subject: &str, name: &CommitName) -> bool {
        NameIndex::of(std::iter::once(subject)).commits(name).next().is_some()
    }

    #[test]
    fn a_word_is_named_whole() {
        for (subject, word, expected) in [
            ("feat(03-02): build it", "03-02", true),
            ("03-02: build it", "03-02", true),
            ("feat(03-021): build it", "03-02", false),
            ("feat(103-02): build it", "03-02", false),
            ("feat(03-02.1): build it", "03-02", false),
            ("docs: complete 03-02.", "03-02", true),
            ("T012 add tests", "T012", true),
            ("t012: add tests", "T012", true),
            ("T012-T015: add tests", "T014", true),
            ("T012\u{2013}T015: add tests", "T015", true),
            ("T012-15: add tests", "T015", true),
            ("T012-T015: add tests", "T016", false),
            ("T012, T013 and T014", "T013", true),
            ("T012-MIN", "T012", false),
            ("feat(01-01..01-03): build", "01-02", true),
            ("feat: 01-01 to 01-03", "01-02", true),
            ("01-01 through 01-03: build", "01-02", true),
            ("01-01 - 01-03: build", "01-02", true),
            ("01-01\u{2013}01-03: build", "01-02", true),
            ("feat(01-01-01-03): build", "01-02", true),
            ("T012..T015: add", "T013", true),
            ("T012 \u{2013} T015: add", "T015", true),
            ("from 01-01 to 02-03", "01-02", false),
            ("2026-03-02-04 release", "03-03", false),
            ("bump 3 to 5, T012", "4", false),
            ("T012-MIN", "T012-MIN", true),
            ("STORY-2.4: done", "STORY-2.4", true),
            ("2026-03-02 release", "03-02", false),
        ] {
            assert_eq!(names(subject, &CommitName::Word(word.to_owned())), expected, "{subject} {word}");
        }
    }

    #[test]
    fn an_id_alone_in_parentheses_is_a_scope() {
        for (subject, expected) in [
            ("feat(2-4): login", true),
            ("login (2-4)", true),
            ("feat(2-3, 2-4): login", true),
            ("feat(2-3 - 2-5): login", true),
            ("feat(2-3..2-5): login", true),
            ("feat(2-5 to 2-8): login", false),
            ("feat(epic-2/2-4): login", true),
            ("2-4: login", false),
            ("beat them 2-4", false),
            ("beat them (we won 2-4)", false),
            ("feat(12-4): login", false),
            ("feat(2-4", false),
        ] {
            assert_eq!(names(subject, &CommitName::Scope("2-4".to_owned())), expected, "{subject}");
        }
    }

    #[test]
    fn an_id_behind_its_noun_is_named_in_lists_and_ranges() {
        for (subject, id, expected) in [
            ("feat: login (task 7)", "7", true),
            ("feat: login (task 7.2)", "7.2", true),
            ("feat: login (task 7.2)", "7", false),
            ("feat: login (task 17)", "7", false),
            ("Task #7.2 is done", "7.2", true),
            ("Complete tasks 1-6", "4", true),
            ("Complete tasks 1\u{2013}6", "6", true),
            ("Complete tasks 1-6", "7", false),
            ("Complete tasks 1 to 6", "4", true),
            ("Complete tasks 1..6", "4", true),
            ("Complete tasks 1 - 6", "4", true),
            ("Tasks 7.1 through 7.3", "7.2", true),
            ("task 1 and 6", "4", false),
            ("bring task 3 to 100% coverage", "4", false),
            ("task 2 - 10 tests added", "4", false),
            ("tasks 1 to 3, 7", "5", false),
            ("task 1; 2 to 4 files", "3", false),
            ("Complete tasks 7.1-7.3", "7.2", true),
            ("Complete tasks 7.1-7.3", "2", false),
            ("Tasks 1, 2 and 3", "3", true),
            ("Task-12: x", "12", true),
            ("task 7; then 8 files", "8", false),
            ("fix issue 7", "7", false),
            ("7 tasks", "7", false),
            ("task master 7", "7", false),
            ("task 2-4", "2-4", true),
        ] {
            let name = CommitName::After { noun: "task", id: id.to_owned() };
            assert_eq!(names(subject, &name), expected, "{subject} {id}");
        }
    }

    #[test]
    fn no_subject_is_too_odd() {
        for subject in ["", "-", "1-", "-1", "task", "task -", "tasks 1-999999", "t1-t", "é-ß 1-2-3", "\u{0}task 1"] {
            let _ = NameIndex::of(std::iter::once(subject));
        }
    }
}
