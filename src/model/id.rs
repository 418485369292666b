//! Identifiers. They are text, not numbers: `1.10` is not `1.1`.

use std::{cmp::Ordering, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::words;

words! {
    /// A format that Piton reads. Those up to `Piton` are also written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum DialectId: serde {
        NineStep = "nine-step",
        Ccw = "ccw",
        Dotagent = "dotagent",
        Aios = "aios",
        Piton = "piton",
        Claude = "claude",
        Checklist = "checklist",
        Bmad = "bmad",
        Gsd = "gsd",
        Taskmaster = "taskmaster",
    }
    const ALL;
    impl Display;
}

/// The name of a run, as its own system names it (`WFS-user-auth`, `real-time-quotes`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct RunId(String);

impl RunId {
    /// Removes leading dashes, so that the name of a run in a state file cannot become an option on a command line.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.starts_with('-') { Self(text.trim_start_matches('-').to_owned()) } else { Self(text) }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for RunId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a step within its run, spelled as on disk.
///
/// The order is the natural one: runs of digits compare as numbers, so `IMPL-2 < IMPL-10`,
/// `IMPL-1 < IMPL-1.1` and `1:2 < 1:2.5 < 1:3`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct StepId(String);

impl StepId {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id with the title of its step; the id alone where the title says the same.
    pub(crate) fn with_title(&self, title: &str) -> String {
        if self.matches(title) || title.is_empty() { self.0.clone() } else { format!("{self} ({title})") }
    }

    /// Compares ignoring case (docs/formats/ccw.md#task-ids).
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text) || self.0.to_lowercase() == text.to_lowercase()
    }

    /// Compares ignoring case and leading zeros of numbers (docs/formats/ccw.md#task-ids).
    pub(crate) fn is_spelled_like(&self, text: &str) -> bool {
        natural(&self.0, text) == Ordering::Equal
    }
}

impl AsRef<str> for StepId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

impl Ord for StepId {
    fn cmp(&self, other: &Self) -> Ordering {
        natural(&self.0, &other.0).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for StepId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares two texts in the natural order of ids.
pub(crate) fn natural(mut left: &str, mut right: &str) -> Ordering {
    loop {
        match (left.is_empty(), right.is_empty()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let (left_chunk, left_rest) = chunk(left);
        let (right_chunk, right_rest) = chunk(right);
        let order = if left_chunk == right_chunk {
            Ordering::Equal
        } else if left_chunk.as_bytes()[0].is_ascii_digit() && right_chunk.as_bytes()[0].is_ascii_digit() {
            let (a, b) = (left_chunk.trim_start_matches('0'), right_chunk.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        } else {
            folded(left_chunk, right_chunk)
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (left_rest, right_rest);
    }
}

/// Compares ignoring case.
fn folded(left: &str, right: &str) -> Ordering {
    let right = right.chars().flat_map(char::to_lowercase);
    left.chars().flat_map(char::to_lowercase).cmp(right)
}

/// Splits off the leading sequence of digits, or of other characters.
fn chunk(text: &str) -> (&str, &str) {
    let digits = text.as_bytes()[0].is_ascii_digit();
    let end = text.bytes().position(|byte| byte.is_ascii_digit() != digits).unwrap_or(text.len());
    text.split_at(end)
}

/// Tells whether a text is the name of a commit, whole or as git abbreviates it, and so safe to pass to git.
pub(crate) fn is_commit_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{RunId, StepId};

    #[test]
    fn no_run_is_named_like_an_option() {
        for (text, id) in [("--project=/etc", "project=/etc"), ("-h", "h"), ("WFS-a", "WFS-a"), ("--", "")] {
            assert_eq!(RunId::new(text).as_str(), id);
        }
    }

    #[test]
    fn ids_order_naturally() {
        let mut ids: Vec<StepId> =
            ["IMPL-10", "IMPL-1.1", "IMPL-2", "impl-1", "1:10", "1:3", "1:2.5", "1:2", "2:1", "IMPL-001.3-validation"]
                .into_iter()
                .map(StepId::new)
                .collect();
        ids.sort();
        let order: Vec<&str> = ids.iter().map(StepId::as_str).collect();
        assert_eq!(
            order,
            ["1:2", "1:2.5", "1:3", "1:10", "2:1", "impl-1", "IMPL-1.1", "IMPL-001.3-validation", "IMPL-2", "IMPL-10"]
        );
    }

    #[test]
    fn what_ids_begin_with_does_not_hide_where_their_numbers_begin() {
        for (less, more) in
            [("a12", "a123"), ("a1", "a12b"), ("a09", "a10"), ("a1b", "a1c"), ("a", "a1"), ("é1", "é10")]
        {
            assert!(StepId::new(less) < StepId::new(more), "{less} {more}");
        }
        assert!(StepId::new("IMPL-07").is_spelled_like("IMPL-7"));
    }

    #[test]
    fn one_point_ten_is_not_one_point_one() {
        assert!(StepId::new("1.10") > StepId::new("1.9"));
        assert_ne!(StepId::new("1.10"), StepId::new("1.1"));
    }
}
