//! What tasks and user stories of Spec Kit say they wait for (docs/formats/checklist.md#spec-kit).

use super::ids;
use crate::dialect::checklist::outline::Outline;

/// Returns the ids that a text says it waits for: `(depends on T012, T013)`, `after T010-T012`.
pub(super) fn waits_for(text: &str) -> Vec<String> {
    const PHRASES: [&str; 9] = [
        "depends on",
        "depend on",
        "dependencies",
        "depends",
        "blocked by",
        "after",
        "requires",
        "needs",
        "prerequisites",
    ];
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for phrase in PHRASES {
        for (at, _) in lower.match_indices(phrase).filter(|(at, _)| !is_denied(&lower[..*at])) {
            ids_in_list(&text[at + phrase.len()..], &mut found);
        }
    }
    found.dedup();
    found
}

/// Reads the ids that a text begins with, separated by commas, dashes and words such as `and`.
fn ids_in_list(text: &str, found: &mut Vec<String>) {
    let mut rest = text;
    let mut is_range = false;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ':' | ',' | '*' | '`' | '(' | '[' | '&' | '+' | '/')
        });
        if let Some(behind) = ["and ", "through ", "to "].iter().find_map(|word| rest.strip_prefix(word)) {
            is_range |= !rest.starts_with("and");
            rest = behind;
            continue;
        }
        if let Some(behind) = rest.strip_prefix(['-', '–', '—']).filter(|_| !found.is_empty()) {
            is_range = true;
            rest = behind;
            continue;
        }
        if !rest.starts_with(['T', 't']) {
            return;
        }
        let Some((id, behind)) = ids::speckit(rest) else { return };
        // `T012-T014` may be read as one id with a suffix.
        match id.split_once('-').filter(|(first, last)| ids::speckit(first).is_some() && is_end_of_range(last)) {
            Some((first, last)) => {
                found.push(first.to_owned());
                range(last, found);
            }
            None if std::mem::take(&mut is_range) => range(&id, found),
            None => found.push(id),
        }
        rest = behind.trim_start_matches([')', ']', '`', '*']);
    }
}

fn is_end_of_range(text: &str) -> bool {
    let digits = text.trim_start_matches(['T', 't']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds the ids behind the last one up to `end`.
fn range(end: &str, found: &mut Vec<String>) {
    const LIMIT: u32 = 200;
    let number = |id: &str| id.trim_start_matches(['T', 't']).parse::<u32>().ok();
    let Some((from, to)) = found.last().and_then(|last| number(last)).zip(number(end)) else { return };
    if from < to && to - from <= LIMIT {
        found.extend((from + 1..=to).map(|number| format!("T{number:03}")));
    }
}

/// Returns which user stories wait for which others, by number, where the list says so in words: `User Story 2 ... depends on US1`.
pub(super) fn story_waits(outline: &Outline<'_>) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let lines = outline.lines.iter().filter(|line| line.is_read());
    for line in lines {
        let text = line.text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let Some(subject) = stories_in(&text).first().copied().filter(|_| text.starts_with("us")) else { continue };
        let phrases = ["depends on", "depend on"].into_iter();
        let mut places =
            phrases.flat_map(|phrase| text.match_indices(phrase).map(|(at, phrase)| (at, at + phrase.len())));
        let Some((_, end)) = places.find(|(at, _)| !is_denied(&text[..*at])) else { continue };
        let sentence = text[end..].split(['.', ';']).next().unwrap_or_default();
        found.extend(stories_in(sentence).into_iter().filter(|on| *on != subject).map(|on| (subject, on)));
    }
    found
}

/// Tells whether a text in lower case ends with a word that denies what comes next: `does not`.
fn is_denied(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    matches!(last, "not" | "cannot" | "never" | "longer") || last.ends_with("n't") || last.ends_with("n’t")
}

/// Returns the numbers of the user stories that a text in lower case names: `user story 2`, `us2`.
pub(super) fn stories_in(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for (at, word) in ["user story ", "user stories ", "us"].iter().flat_map(|word| text.match_indices(word)) {
        let is_start = !text[..at].ends_with(char::is_alphanumeric);
        let digits: String = text[at + word.len()..].chars().take_while(char::is_ascii_digit).take(4).collect();
        found.extend(digits.parse::<u32>().ok().filter(|_| is_start).map(|number| (at, number)));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number).collect()
}
