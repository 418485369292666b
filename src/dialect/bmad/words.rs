//! The words of a sprint (docs/formats/bmad.md#words).

use crate::model::letters_and_digits;

/// What the word of a story in the sprint means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SprintWord {
    Backlog,
    /// Its story file was written.
    Ready,
    InProgress,
    Review,
    Done,
    /// It waits for a person.
    Awaiting,
    /// It waits for something else.
    Held,
    /// It will not be done.
    LeftOut,
    Unknown,
}

/// Words for a story that will not be done, folded.
const LEFT_OUT: [&str; 26] = [
    "cancelled",
    "canceled",
    "cancel",
    "cut",
    "dropped",
    "drop",
    "wontfix",
    "wontdo",
    "willnotdo",
    "obsolete",
    "superseded",
    "replaced",
    "removed",
    "skipped",
    "skip",
    "abandoned",
    "absorbed",
    "merged",
    "descoped",
    "outofscope",
    "duplicate",
    "deprecated",
    "rejected",
    "discarded",
    "na",
    "notneeded",
];

/// Returns the meaning of a value.
pub(super) fn meaning(value: &str) -> SprintWord {
    match folded(value).as_str() {
        "backlog" => SprintWord::Backlog,
        "readyfordev" | "drafted" => SprintWord::Ready,
        "inprogress" | "contexted" => SprintWord::InProgress,
        "review" => SprintWord::Review,
        "done" => SprintWord::Done,
        "awaitingoperator" | "awaitinghuman" | "awaitingapproval" => SprintWord::Awaiting,
        "blocked" | "deferred" | "postponed" | "onhold" | "paused" => SprintWord::Held,
        word if LEFT_OUT.contains(&word) => SprintWord::LeftOut,
        _ => SprintWord::Unknown,
    }
}

/// Returns the word of a value without what stands behind it: `done (PR #12)`, `superseded by 3-4`.
fn folded(value: &str) -> String {
    let value = value.trim().trim_matches(['"', '\'', '`', '*', '_']);
    let cuts =
        [" #", "(", "[", " — ", " – ", " - ", ",", ";", ":", "->", "→", " by ", " into ", " in favor", " in favour"];
    let lower = value.to_lowercase();
    let end = cuts.iter().filter_map(|cut| lower.find(cut)).min().unwrap_or(lower.len());
    letters_and_digits(lower.get(..end).unwrap_or(&lower))
}

#[cfg(test)]
mod tests {
    use super::SprintWord;
    use super::meaning;

    #[test]
    fn words_are_read_in_every_spelling() {
        for (value, word) in [
            ("backlog", SprintWord::Backlog),
            ("Backlog", SprintWord::Backlog),
            ("ready-for-dev", SprintWord::Ready),
            ("READY_FOR_DEV", SprintWord::Ready),
            ("ready for dev", SprintWord::Ready),
            ("drafted", SprintWord::Ready),
            ("in-progress", SprintWord::InProgress),
            ("contexted", SprintWord::InProgress),
            ("review", SprintWord::Review),
            ("done", SprintWord::Done),
            ("'done'", SprintWord::Done),
            ("done ✅", SprintWord::Done),
            ("done (PR #12)", SprintWord::Done),
            ("done - 2026-01-02", SprintWord::Done),
            ("awaiting-operator", SprintWord::Awaiting),
            ("blocked", SprintWord::Held),
            ("deferred", SprintWord::Held),
            ("WON'T-FIX", SprintWord::LeftOut),
            ("Superseded by 3-4", SprintWord::LeftOut),
            ("cancelled", SprintWord::LeftOut),
            ("cut", SprintWord::LeftOut),
            ("not done", SprintWord::Unknown),
            ("don", SprintWord::Unknown),
            ("completed?", SprintWord::Unknown),
            ("fertig", SprintWord::Unknown),
            ("", SprintWord::Unknown),
        ] {
            assert_eq!(meaning(value), word, "{value}");
        }
    }
}
