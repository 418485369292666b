//! What the lines of a roadmap say about its milestones: which phases they have, and whether they are over
//! (docs/formats/gsd.md#roadmap).

use super::names::PhaseKey;

/// Tells whether a line in lower case says that a milestone is open, or one of several.
pub(super) fn is_open_milestone(lower: &str) -> bool {
    ["🚧", "📋", "in progress", "planned", "not shipped"].iter().any(|word| lower.contains(word))
}

/// Tells whether a heading in lower case is that of a milestone that is over.
pub(super) fn is_shipped_milestone(lower: &str) -> bool {
    let is_over = says_shipped(lower) || lower.starts_with('✅') || lower.contains("milestone archive");
    is_over && !is_open_milestone(lower)
}

/// Tells whether a text in lower case says that something was shipped: `(shipped 2026-01-02)`, and not `shipped-order tracking`.
fn says_shipped(lower: &str) -> bool {
    const BEHIND: [&str; 5] = ["on", "in", "milestone", "milestones", "phases"];
    lower.match_indices("shipped").any(|(at, word)| {
        let (before, behind) = (&lower[..at], &lower[at + word.len()..]);
        let is_denied = ["not", "yet", "be", "once", "when", "are", "is"].iter().any(|no| {
            before.trim_end().strip_suffix(no).is_some_and(|before| !before.ends_with(char::is_alphanumeric))
        });
        let next = behind.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let is_status = match behind.chars().next() {
            Some(first) if first.is_whitespace() => next.is_empty() || next == "v" || BEHIND.contains(&next),
            Some('-') => next.is_empty() && !behind[1..].starts_with(char::is_alphabetic),
            Some(first) => !first.is_alphanumeric(),
            None => true,
        };
        !is_denied && is_status && !before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
    })
}

/// Tells whether a text in lower case names a milestone: `v1.0`, `milestone 2`.
pub(super) fn names_milestone(lower: &str) -> bool {
    let is_version =
        |word: &str| word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    lower.contains(['🚧', '📋'])
        || lower.contains("milestone")
        || lower.split(|c: char| !c.is_alphanumeric() && c != '.').any(is_version)
}

/// Returns the phases of a milestone that a line names, and whether it is over: `✅ v1.0 (Phases 1-4)`, `🚧 v1.1 - Phases 5-6`.
pub(super) fn milestone(line: &str) -> Option<(bool, (u64, u64))> {
    let lower = line.to_lowercase();
    let (before, rest) = lower.split_once("phases ").filter(|_| names_milestone(&lower) || lower.contains('✅'))?;
    let is_open = is_open_milestone(&lower) && names_milestone(&lower);
    let is_set_off = before.trim_end().ends_with(['(', '-', '–', '—', '|', '*', ':']);
    let is_over = !is_open_milestone(&lower)
        && (says_shipped(&lower) || (lower.contains('✅') && is_set_off && names_milestone(&lower)));
    let number = |text: &str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        Some((text[..end].parse::<u64>().ok()?, end))
    };
    let (from, end) = number(rest)?;
    let behind = rest.trim_start()[end..].trim_start();
    let to = behind.strip_prefix(['-', '–']).and_then(|behind| Some(number(behind)?.0)).unwrap_or(from);
    (from <= to && (is_open || is_over)).then_some((!is_open, (from, to)))
}

pub(super) fn is_within(ranges: &[(u64, u64)], key: &PhaseKey) -> bool {
    let number = key.0.first().copied().unwrap_or_default();
    ranges.iter().any(|(from, to)| (*from..=*to).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_of_a_milestone_says_that_its_phases_are_over_or_open() {
        for (line, expected) in [
            ("- ✅ **v1.0 MVP** - Phases 1-4 (shipped 2026-01-02)", Some((true, (1, 4)))),
            ("<summary>✅ v1.0 MVP (Phases 1–4) - SHIPPED 2026-01-02</summary>", Some((true, (1, 4)))),
            ("| v1.0 | Phases 1-4 | ✅ Complete |", Some((true, (1, 4)))),
            ("- Milestone 1: Phases 2, shipped", Some((true, (2, 2)))),
            ("- 🚧 **v1.1** — Phases 1-3 (in progress)", Some((false, (1, 3)))),
            ("- 📋 **v2.0** (Phases 5-8, planned)", Some((false, (5, 8)))),
            ("✅ All 12 requirements are mapped to phases 1-2", None),
            ("✅ v1 requirements are mapped to phases 1-2", None),
            ("v1.1 begins once phases 1-2 are shipped.", None),
            ("- v1.1 - Phases 1-2: shipped-order tracking", None),
            ("Phases 1-3 are in progress", None),
        ] {
            assert_eq!(milestone(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_with_such_a_word_is_not_over() {
        for (heading, is_over) in [
            ("v1.0 (shipped)", true),
            ("v1.0 shipped 2026-01-02", true),
            ("shipped milestones", true),
            ("✅ v1.0", true),
            ("milestone v1.1: shipped-order tracking", false),
            ("milestone v1.1: shipped orders", false),
            ("v1.1, not yet shipped", false),
            ("v1.1 unshipped", false),
        ] {
            assert_eq!(is_shipped_milestone(heading), is_over, "{heading}");
        }
    }
}
