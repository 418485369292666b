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

/// What follows the word of a story that is over and changes nothing about it: the rest of a remark such as `merged in PR 12`.
const REMARKS: [&str; 36] = [
    "and",
    "approved",
    "at",
    "branch",
    "commit",
    "commits",
    "complete",
    "completed",
    "date",
    "deployed",
    "done",
    "epic",
    "finished",
    "fully",
    "implemented",
    "in",
    "issue",
    "main",
    "master",
    "merged",
    "mr",
    "on",
    "passed",
    "pr",
    "pull",
    "released",
    "request",
    "reviewed",
    "see",
    "sha",
    "shipped",
    "story",
    "tested",
    "to",
    "verified",
    "via",
];
/// What says that a story is not over after all.
const REOPENED: [&str; 6] = ["not", "reopen", "reopened", "restored", "undone", "again"];
/// What ends a word: `done (PR 12)`, `superseded by 3-4`.
const CUTS: [&str; 15] =
    [" #", "(", "[", " — ", " – ", " - ", ",", ";", ":", "->", "→", " by ", " into ", " in favor", " in favour"];

/// Returns the meaning of a value. A word is never read as over if what follows may say otherwise.
pub(super) fn meaning(value: &str) -> SprintWord {
    let lower = value.trim().trim_matches(['"', '\'', '`', '*', '_']).to_lowercase();
    let end = CUTS.iter().filter_map(|cut| lower.find(cut)).min().unwrap_or(lower.len());
    let (word, rest) = lower.split_at(end);
    match letters_and_digits(word).as_str() {
        "backlog" => SprintWord::Backlog,
        "readyfordev" | "drafted" => SprintWord::Ready,
        "inprogress" | "contexted" => SprintWord::InProgress,
        "review" => SprintWord::Review,
        "done" if is_plain(word) && is_remark(rest) => SprintWord::Done,
        "awaitingoperator" | "awaitinghuman" | "awaitingapproval" => SprintWord::Awaiting,
        "blocked" | "deferred" | "postponed" | "onhold" | "paused" => SprintWord::Held,
        word_left if LEFT_OUT.contains(&word_left) && is_plain(word) && !is_reopened(rest) => SprintWord::LeftOut,
        _ => SprintWord::Unknown,
    }
}

/// Tells whether a word is neither in doubt nor struck through: `done?`, `~~done~~`.
fn is_plain(word: &str) -> bool {
    !word.contains(['?', '~'])
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Tells whether what stands behind `done` is only a remark: where and when it was done, or who did it.
fn is_remark(rest: &str) -> bool {
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    let is_fine = |part: &str| {
        let named = words_of(part).position(|word| word == "by").unwrap_or(usize::MAX);
        !is_share(part) && words_of(part).take(named).all(|word| has_digit(word) || REMARKS.contains(&word))
    };
    let parts = rest.split([',', ';', '(', ')', '[', ']', '—', '–', '.']).flat_map(|part| part.split(" - "));
    !["->", "→", "?", "%"].iter().any(|sign| rest.contains(sign)) && parts.into_iter().all(is_fine)
}

/// Tells whether a text is a part of a number: `2/5`.
fn is_share(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.trim().split_once('/').is_some_and(|(some, all)| is_number(some.trim()) && is_number(all.trim()))
}

/// Tells whether what stands behind a word such as `cancelled` takes it back: `cancelled -> backlog`.
fn is_reopened(rest: &str) -> bool {
    let behind_arrow = rest.split_once("->").or_else(|| rest.split_once('→')).map(|(_, to)| to.trim());
    let is_status = |to: &str| {
        let word = letters_and_digits(to);
        ["backlog", "ready", "drafted", "inprogress", "contexted", "review", "done"]
            .iter()
            .any(|is| word.starts_with(is))
    };
    behind_arrow.is_some_and(is_status) || words_of(rest).any(|word| REOPENED.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::{SprintWord, meaning};

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
            ("done, merged in PR #12 by Ann", SprintWord::Done),
            ("done -> reopened", SprintWord::Unknown),
            ("done → review", SprintWord::Unknown),
            ("done - needs QA", SprintWord::Unknown),
            ("done (reopened)", SprintWord::Unknown),
            ("done, but tests fail", SprintWord::Unknown),
            ("done by Ann, needs QA", SprintWord::Unknown),
            ("done: 80%", SprintWord::Unknown),
            ("done (2/5)", SprintWord::Unknown),
            ("done - 3 of 5", SprintWord::Unknown),
            ("done?", SprintWord::Unknown),
            ("~~done~~", SprintWord::Unknown),
            ("cancelled -> backlog", SprintWord::Unknown),
            ("cancelled, reopened 2026-01-02", SprintWord::Unknown),
            ("superseded -> 3-4", SprintWord::LeftOut),
            ("dropped - too expensive", SprintWord::LeftOut),
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
