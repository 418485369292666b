//! Words in the line of a task that say something about its state besides its box (docs/formats/checklist.md#words-beside-a-box).

use super::list::Wording;
use crate::model::{clean_line, letters_and_digits};

/// Characters of a quotation.
const QUOTED: usize = 80;
/// Words for a task that is left out.
const SKIPPED: [&str; 12] = [
    "SKIP",
    "SKIPPED",
    "N/A",
    "DEFERRED",
    "POSTPONED",
    "CANCELLED",
    "CANCELED",
    "DROPPED",
    "OBSOLETE",
    "SUPERSEDED",
    "WONTFIX",
    "OUT-OF-SCOPE",
];
/// The same at the beginning of a line, where they are part of the format.
const SKIPPED_AHEAD: [&str; 3] = ["SKIP", "SKIPPED", "N/A"];
const DONE: [&str; 5] = ["DONE", "COMPLETE", "COMPLETED", "FINISHED", "IMPLEMENTED"];
const OPEN: [&str; 9] =
    ["TODO", "WIP", "PENDING", "INCOMPLETE", "PARTIAL", "PARTIALLY", "BLOCKED", "FAILED", "UNFINISHED"];
/// Words behind a status with which its reason, place or date begins.
const REASONS: [&str; 12] = ["IN", "BY", "UNTIL", "TO", "ON", "SINCE", "AS", "BECAUSE", "DUE", "YET", "PER", "VIA"];
const DONE_SIGNS: [char; 4] = ['✅', '✔', '☑', '✓'];
const OPEN_SIGNS: [char; 4] = ['⏳', '🚧', '❌', '⏸'];
/// Words with which a task says that it waits for a person, a machine or a date, folded.
const WAITING: [&str; 21] = [
    "manual",
    "manually",
    "requires",
    "require",
    "waits",
    "wait",
    "waiting",
    "pending",
    "deferred",
    "postponed",
    "blocked",
    "human",
    "approval",
    "release",
    "hardware",
    "credentials",
    "production",
    "later",
    "stakeholder",
    "after",
    "needs",
];

/// Labels of a line that says how far a task or a list is, folded.
const STATUS: [&str; 9] = ["status", "state", "状态", "状態", "estado", "statut", "статус", "상태", "ステータス"];

/// What the words of a line say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LineWords {
    /// The task is left out.
    pub(super) is_skipped: bool,
    pub(super) wording: Option<Wording>,
}

/// Reads the words of a task. `text` is what stands behind its box, `behind_id` what stands behind its id and labels.
pub(super) fn read(text: &str, behind_id: &str, is_ticked: bool) -> LineWords {
    if begins_with_skip(text) || is_label_of_skip(behind_id) || is_struck(text) || is_struck(behind_id) {
        return LineWords { is_skipped: true, wording: None };
    }
    let tags = tags(behind_id);
    let tag = |words: &[&str], signs: &[char]| {
        tags.iter().find(|tag| is_status(tag, words) || tag.starts_with(signs)).map(|tag| quoted(tag))
    };
    if is_ticked && tag(&SKIPPED, &[]).is_some() {
        return LineWords { is_skipped: true, wording: None };
    }
    let wording = match is_ticked {
        true => tag(&OPEN, &OPEN_SIGNS).or_else(|| not_done(behind_id)).map(Wording::SaysOpen),
        false => tag(&DONE, &DONE_SIGNS).map(Wording::SaysDone).or_else(|| waits(behind_id).map(Wording::Waits)),
    };
    LineWords { is_skipped: false, wording }
}

/// Returns the words with which a heading says that everything below it is done.
pub(super) fn heading_says_done(heading: &str) -> Option<String> {
    let found = tags(heading).into_iter().find(|tag| is_status(tag, &DONE) || tag.starts_with(DONE_SIGNS));
    found.map(|tag| quoted(&tag))
}

/// Returns what a line such as `**Status:** done` says: that its task or list is done, or that it is not.
pub(super) fn status(line: &str) -> Option<Wording> {
    let line = line.trim().trim_start_matches(['-', '*', '+', '>', ' ', '_']);
    let (label, said) = line.split_once([':', '：'])?;
    if label.len() > 40 || !STATUS.contains(&letters_and_digits(label).as_str()) {
        return None;
    }
    let said = said.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '\''));
    let bare = said.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = first_word(bare.split(['-', '_', '.', ';', '(', '`', '*']).next().unwrap_or_default());
    let is_open =
        |word: String| OPEN.contains(&word.as_str()) || ["NOT", "IN", "EXCEPT", "REMAINING"].contains(&word.as_str());
    let is_partly = bare.split(|c: char| !c.is_alphanumeric()).any(|word| is_open(word.to_uppercase()));
    if DONE.contains(&first.as_str()) || (first.is_empty() && said.starts_with(DONE_SIGNS)) {
        return (!is_partly).then(|| Wording::SaysDone(quoted(said)));
    }
    (is_open(first) || said.starts_with(OPEN_SIGNS)).then(|| Wording::SaysOpen(quoted(said)))
}

/// Tells whether a line is struck through as a whole: `~~Use Redis~~ Use Postgres` is a task.
fn is_struck(text: &str) -> bool {
    let pieces: Vec<&str> = text.split("~~").collect();
    let is_plain = |text: &&str| !text.contains(char::is_alphanumeric);
    pieces.len() > 1 && pieces.len() % 2 == 1 && pieces.iter().step_by(2).all(is_plain)
}

/// Tells whether a line begins with a word for what is left out, and then comes the id of the task or, with a mark between them, a reason:
/// `SKIP: T039`, `SKIPPED T039`, `N/A`. `SKIP button` and `N/A handling` are tasks.
fn begins_with_skip(text: &str) -> bool {
    let Some((is_capital, rest)) = skip_word(text) else { return false };
    let next = rest.trim_start().trim_start_matches(['*', '_', '`', '[', '(']);
    let word: String = next.chars().take_while(|c| c.is_alphanumeric() || *c == '.').collect();
    let number = word.strip_prefix(['T', 't']).unwrap_or(&word);
    let is_id = number.starts_with(|c: char| c.is_ascii_digit()) && (word != number || number.contains('.'));
    (is_capital && (is_id || is_end_of_label(rest))) || rest.starts_with(':')
}

/// Tells whether the text behind the id of a task is only the label that it is left out, perhaps with a reason: `N/A`, `SKIPPED: no need`.
fn is_label_of_skip(text: &str) -> bool {
    skip_word(text).is_some_and(|(is_capital, rest)| (is_capital && is_end_of_label(rest)) || rest.starts_with(':'))
}

/// Returns whether the first word is in capitals, and what stands behind it, if it is one for what is left out.
fn skip_word(text: &str) -> Option<(bool, &str)> {
    let text = text.trim_start_matches(['*', '_', '`', ' ']);
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '/').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_one = SKIPPED_AHEAD.contains(&word.to_uppercase().as_str());
    is_one.then(|| (!word.contains(char::is_lowercase), rest.trim_start_matches(['*', '_', '`'])))
}

fn is_end_of_label(rest: &str) -> bool {
    let rest = rest.trim();
    let is_aside = rest.starts_with('(') && rest.ends_with(')');
    rest.is_empty() || is_aside || rest.starts_with([':', '–', '—', ',', ';', '.']) || rest.starts_with("- ")
}

/// Returns the parts of a line that may be labels rather than text: what stands in brackets, what is set off in capitals at the ends of the
/// line, clauses that begin with `not`, and signs at its ends.
fn tags(text: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some((_, inner)) = rest.split_once(['(', '[']) {
        let end = inner.find([')', ']']).unwrap_or(inner.len());
        tags.push(inner[..end].trim().to_owned());
        rest = &inner[end..];
    }
    let plain = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '.' | ':' | '-' | '\u{fe0f}'));
    let is_capitals = |word: &&str| word.chars().any(char::is_alphabetic) && !word.chars().any(char::is_lowercase);
    let words: Vec<&str> = plain.split_whitespace().collect();
    // `TODO: x` and `x - DONE` are labels, `Support TODO` is a task.
    let is_mark = |word: &str| !word.contains(char::is_alphanumeric);
    let is_set_off = |at: usize, before: Option<usize>, behind: Option<usize>| {
        let ends =
            |at: usize, is_before: bool| is_mark(words[at]) || (is_before && words[at].ends_with([':', '.', ';']));
        words[at].starts_with("**")
            || before.is_none_or(|before| ends(before, true))
                && behind.is_none_or(|behind| ends(behind, false) || words[at].ends_with(':'))
    };
    let (first, last) = (words.first().copied(), words.last().copied().filter(|word| !word.contains([')', ']'])));
    let behind_first = (words.len() > 1).then_some(1);
    tags.extend(first.filter(|word| is_capitals(word) && is_set_off(0, None, behind_first)).map(str::to_owned));
    let before_last = words.len().checked_sub(2);
    tags.extend(
        last.filter(|word| is_capitals(word) && is_set_off(words.len() - 1, before_last, None)).map(str::to_owned),
    );
    let is_sign = |c: &char| DONE_SIGNS.contains(c) || OPEN_SIGNS.contains(c);
    tags.extend(plain.chars().next().filter(is_sign).map(|_| plain.to_owned()));
    let last = plain.rfind(is_sign_char).filter(|at| plain[*at..].split_whitespace().count() <= 3);
    tags.extend(last.map(|at| plain[at..].to_owned()));
    // `✅ DONE` and `- DONE` say it with the word behind the sign.
    let bare =
        tags.iter().map(|tag| tag.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect::<Vec<_>>();
    tags.extend(bare);
    tags
}

/// Tells whether a label consists of a word for a status, perhaps with a date or a reason: `done`, `PARTIAL: no tests`, `deferred to v2`.
/// `complete orders` and lists such as `PENDING, PAID` are text.
fn is_status(label: &str, statuses: &[&str]) -> bool {
    let is_word = |word: &str| word.contains(char::is_alphanumeric);
    let known = |word: &str| SKIPPED.contains(&word) || DONE.contains(&word) || OPEN.contains(&word);
    let words: Vec<&str> = label.split_whitespace().collect();
    let Some(first) = words.iter().position(|word| is_word(word)) else { return false };
    if !statuses.contains(&first_word(words[first]).as_str()) {
        return false;
    }
    let mut end = first + 1;
    // `PARTIALLY DONE`.
    while !words[end - 1].ends_with([':', ',']) && words.get(end).is_some_and(|word| known(&first_word(word))) {
        end += 1;
    }
    let from = (end..words.len()).find(|at| is_word(words[*at])).unwrap_or(words.len());
    let (mark, rest) = (words[from - 1].chars().next_back(), &words[from..]);
    let Some(next) = rest.first() else { return true };
    let next = first_word(next);
    let is_date = next.trim_start_matches('V').starts_with(|c: char| c.is_ascii_digit());
    let is_for_now = rest.len() == 2 && next == "FOR" && first_word(rest[1]) == "NOW";
    is_date
        || is_for_now
        || REASONS.contains(&next.as_str())
        || match mark {
            // In a list of words, each comma has one.
            Some(',') => rest.len() > 1 && !rest.iter().any(|word| word.ends_with(',')),
            mark => mark.is_some_and(|mark| ":;-–—".contains(mark) || is_sign_char(mark)),
        }
}

fn is_sign_char(c: char) -> bool {
    DONE_SIGNS.contains(&c) || OPEN_SIGNS.contains(&c)
}

/// Returns the first word in capitals, without marks around it.
fn first_word(text: &str) -> String {
    let word = text.split_whitespace().find(|word| word.contains(char::is_alphanumeric)).unwrap_or_default();
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_uppercase()
}

/// Returns the words with which a clause of a line says that it is not done: `(not implemented)`, `..., not done yet`. An error for what is
/// `not implemented for PATCH` is a task.
fn not_done(text: &str) -> Option<String> {
    const PHRASES: [&str; 4] = ["NOT YET IMPLEMENTED", "NOT IMPLEMENTED", "NOT DONE", "NOT COMPLETE"];
    let upper = text.replace(" - ", ";").to_uppercase();
    let clauses =
        upper.split(|c: char| "()[],;:.–—".contains(c)).map(|clause| clause.trim_matches(['*', '_', '`', ' ']));
    let mut said = clauses.filter_map(|clause| {
        let found = PHRASES.iter().find(|phrase| clause.starts_with(**phrase))?;
        let rest = clause[found.len()..].trim();
        let is_whole = rest.is_empty() || ["YET", "IN ", "BY ", "UNTIL "].iter().any(|word| rest.starts_with(word));
        is_whole.then(|| quoted(found))
    });
    said.next()
}

/// Returns the part of a line that says that the task waits.
fn waits(text: &str) -> Option<String> {
    let says_so = |clause: &&str| {
        let mut words = clause.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        words.any(|word| WAITING.contains(&word.as_str()))
    };
    let clauses = text.split(['(', ')', '[', ']', ';', '—', '–']).map(str::trim).filter(|clause| !clause.is_empty());
    let clauses: Vec<&str> = clauses.collect();
    let aside = clauses.iter().skip(1).copied().find(says_so);
    aside.or_else(|| clauses.first().copied().filter(says_so)).map(quoted)
}

fn quoted(text: &str) -> String {
    clean_line(text, QUOTED)
}

#[cfg(test)]
mod tests {
    use super::{LineWords, Wording, heading_says_done, read, status};

    fn words(text: &str, is_ticked: bool) -> LineWords {
        let behind = text.split_once(' ').map_or("", |(_, behind)| behind);
        read(text, behind, is_ticked)
    }

    #[test]
    fn a_task_that_is_left_out_is_neither_open_nor_done() {
        for text in [
            "SKIP: T039 (logging) - not needed",
            "SKIPPED T039",
            "N/A T039",
            "~~T039 Add logging~~",
            "**~~T039 Add logging~~**",
            "T039 ~~Add logging~~",
            "T039 SKIPPED: no need",
            "T039 [SKIPPED] Add logging",
            "T039 N/A",
        ] {
            let is_skipped = |ticked| words(text, ticked).is_skipped;
            assert!(is_skipped(true), "{text}");
            assert!(is_skipped(false) || text.contains("[SKIPPED]"), "{text}");
        }
        for text in ["T039 Fuzz tests (SKIPPED: no time)", "T039 Fuzz tests [DEFERRED]", "T039 Fuzz tests - DEFERRED"] {
            assert!(words(text, true).is_skipped, "{text}");
        }
        for text in [
            "T039 Skip blank lines in src/a.py",
            "T039 Add the word skipped to the list",
            "T002 ~~Use Redis~~ Use Postgres in src/store.py",
            "T003 N/A handling for missing values",
            "T002 SKIP button in src/a.py",
            "SKIP button",
            "N/A (none) values",
            "~~T003~~ T004 Add a",
            "1.2 ~~use redis~~ use pg",
            "T002 Add a (deferred loading)",
            "T002 ~~ Add a",
        ] {
            assert!(!words(text, true).is_skipped && !words(text, false).is_skipped, "{text}");
        }
    }

    #[test]
    fn words_that_contradict_the_box_are_quoted() {
        for (text, ticked, quoted) in [
            ("T001 Add login ✅", false, Some("✅")),
            ("T001 ✅ Add login", false, Some("✅ Add login")),
            ("T001 Add login (done)", false, Some("done")),
            ("T001 Add login - COMPLETED", false, Some("COMPLETED")),
            ("T001 Mark tasks as done in the list", false, None),
            ("T001 Add login ✅", true, None),
            ("T001 Add login (PARTIAL: no tests)", true, Some("PARTIAL: no tests")),
            ("T001 Add login ⏳", true, Some("⏳")),
            ("T001 Add login, not implemented yet", true, Some("NOT IMPLEMENTED")),
            ("T001 Add a TODO list", true, None),
            ("T001 Add the states (PENDING, PAID) in src/a.py", true, None),
            ("T001 Add the states (DONE/OPEN)", false, None),
            ("T001 Show a badge (pending invoices)", true, None),
            ("T001 Log (failed logins)", true, None),
            ("T001 Show (complete orders)", false, None),
            ("T001 Show (completed, cancelled, open)", false, None),
            ("T001 Answer 405, not implemented for PATCH", true, None),
            ("T001 Say what is not implemented for PATCH", true, None),
            ("T001 Support TODO", true, None),
            ("T001 TODO app", true, None),
            ("T001 TODO: errors", true, Some("TODO:")),
            ("T001 Add login (pending)", true, Some("pending")),
            ("T001 Add login (blocked by T002)", true, Some("blocked by T002")),
            ("T001 Add login (partially done, no tests)", true, Some("partially done, no tests")),
            ("T001 Add login (not implemented)", true, Some("NOT IMPLEMENTED")),
            ("T001 Add login (done 2026-02-03)", false, Some("done 2026-02-03")),
            ("T001 Add login (completed in a1b2c3d)", false, Some("completed in a1b2c3d")),
            ("T001 Add login (✅ done)", false, Some("✅ done")),
            ("T001 Add login **DONE**", false, Some("**DONE")),
        ] {
            let found = match words(text, ticked).wording {
                Some(Wording::SaysDone(said)) if !ticked => Some(said),
                Some(Wording::SaysOpen(said)) if ticked => Some(said),
                _ => None,
            };
            assert_eq!(found.as_deref(), quoted, "{text}");
        }
    }

    #[test]
    fn a_line_with_a_status_says_done_or_open() {
        for (line, said) in [
            ("**Status**: done", Some((true, "done"))),
            ("- **Status:** ✅ COMPLETED 2026-02-03", Some((true, "✅ COMPLETED 2026-02-03"))),
            ("status: complete", Some((true, "complete"))),
            ("- **状态**：`completed`", Some((true, "completed"))),
            ("Status: ✅", Some((true, "✅"))),
            ("Status: Complete, except T004", None),
            ("Status: Completed (T004 pending)", None),
            ("**Status**: ⏳ Not started", Some((false, "⏳ Not started"))),
            ("Status: in-progress", Some((false, "in-progress"))),
            ("Status: TODO", Some((false, "TODO"))),
            ("Status: Tests and core types complete.", None),
            ("Status: Ready for implementation", None),
            ("Status of the tasks: done", None),
            ("done: all", None),
        ] {
            let found = match status(line) {
                Some(Wording::SaysDone(said)) => Some((true, said)),
                Some(Wording::SaysOpen(said)) => Some((false, said)),
                _ => None,
            };
            assert_eq!(found, said.map(|(done, said)| (done, said.to_owned())), "{line}");
        }
    }

    #[test]
    fn what_a_task_waits_for_is_quoted() {
        for (text, quoted) in [
            ("T030 Run quickstart.md validation (requires model files)", Some("requires model files")),
            ("3.3 Enable rehydrate after the quality gate", Some("Enable rehydrate after the quality gate")),
            ("T030 Manual check on a device", Some("Manual check on a device")),
            ("T030 Add a model in src/a.py", None),
        ] {
            assert_eq!(words(text, false).wording, quoted.map(|said| Wording::Waits(said.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_heading_that_says_done_is_quoted() {
        for (text, quoted) in [
            ("Phase 0: Setup [COMPLETED]", Some("COMPLETED")),
            ("Phase 3: Core ✅", Some("✅")),
            ("Phase 3: Core ✅ COMPLETE", Some("COMPLETE")),
            ("Phase 3: Complete the core", None),
            ("Phase 3: Core (Priority: P1)", None),
            ("Phase 2: Export (completed orders)", None),
            ("Phase 2: Export - DONE", Some("DONE")),
        ] {
            assert_eq!(heading_says_done(text).as_deref(), quoted, "{text}");
        }
    }
}
