//! Words in the line of a task that say something about its state besides its box (docs/formats/checklist.md#words-beside-a-box).

use super::list::Wording;
use crate::model::clean_line;
use crate::model::letters_and_digits;

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
    // `Skip blank lines` is a task, `SKIP: T039` and `Skipped: no need` are labels.
    let starts = |text: &str| {
        let written = text.trim_start_matches(['*', '_', '`', ' ']).split_whitespace().next().unwrap_or_default();
        let is_label = !written.chars().any(char::is_lowercase) || written.contains(':');
        is_label && SKIPPED_AHEAD.contains(&first_word(text).as_str())
    };
    let is_struck = |text: &str| text.trim_start_matches(['*', '_', '`', ' ']).starts_with("~~");
    if starts(text) || starts(behind_id) || is_struck(text) || is_struck(behind_id) {
        return LineWords { is_skipped: true, wording: None };
    }
    let tags = tags(behind_id);
    let tag = |words: &[&str], signs: &[char]| {
        tags.iter()
            .find(|tag| words.contains(&first_word(tag).as_str()) || tag.starts_with(signs))
            .map(|tag| quoted(tag))
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
    let found =
        tags(heading).into_iter().find(|tag| DONE.contains(&first_word(tag).as_str()) || tag.starts_with(DONE_SIGNS));
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

/// Returns the parts of a line that are labels rather than text: what stands in brackets, what begins or ends the line in capitals, and
/// signs at its ends.
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
    tags.extend(plain.split_whitespace().next().filter(is_capitals).map(str::to_owned));
    let last = plain.split_whitespace().next_back().filter(|word| !word.contains([')', ']']));
    tags.extend(last.filter(is_capitals).map(str::to_owned));
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

fn is_sign_char(c: char) -> bool {
    DONE_SIGNS.contains(&c) || OPEN_SIGNS.contains(&c)
}

/// Returns the first word in capitals, without marks around it. The first of a list of words, as in `(PENDING, PAID)`, is no label.
fn first_word(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    if word.ends_with(',') || (word.contains(['/', '|']) && word.len() > 5) {
        return String::new();
    }
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_uppercase()
}

/// Returns the words with which a line says that it is not done.
fn not_done(text: &str) -> Option<String> {
    let upper = text.to_uppercase();
    ["NOT DONE", "NOT IMPLEMENTED", "NOT YET IMPLEMENTED", "NOT COMPLETE"]
        .iter()
        .find(|words| upper.contains(*words))
        .map(|words| quoted(words))
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
    use super::LineWords;
    use super::Wording;
    use super::heading_says_done;
    use super::read;
    use super::status;

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
        for text in ["T039 Skip blank lines in src/a.py", "T039 Add the word skipped to the list"] {
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
        ] {
            assert_eq!(heading_says_done(text).as_deref(), quoted, "{text}");
        }
    }
}
