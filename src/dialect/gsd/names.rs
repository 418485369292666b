//! Numbers of phases and plans (docs/formats/gsd.md#names).

use crate::model::{CommitName, Step};

/// How the names of plans end.
pub(super) const PLAN: &str = "PLAN.md";
/// How the names of summaries end.
pub(super) const SUMMARY: &str = "SUMMARY.md";

/// A phase number, compared part by part: `4` is `04`, `2.1` comes after `2`, `4A` after `4`.
pub(super) type PhaseKey = (Vec<u64>, String);

/// Returns the number at the start of a text: `04-agent-core`, `Phase 4A: x` without its noun; with the rest.
pub(super) fn leading(text: &str) -> Option<(PhaseKey, &str)> {
    let text = without_project(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    let mut rest = &text[number.len()..];
    let mut letter = String::new();
    if let Some(first) = rest.chars().next().filter(char::is_ascii_uppercase)
        && !rest[1..].starts_with(|c: char| c.is_alphanumeric())
    {
        letter.push(first);
        rest = &rest[1..];
    }
    let parts: Option<Vec<u64>> = number.split('.').map(|part| part.parse().ok()).collect();
    Some(((parts?, letter), rest))
}

/// Drops the code of a project in front of a number: `APP-04-x`.
fn without_project(text: &str) -> &str {
    let code = text.split_once('-').filter(|(code, rest)| {
        !code.is_empty()
            && code.len() <= 8
            && code.bytes().all(|b| b.is_ascii_uppercase())
            && rest.starts_with(|c: char| c.is_ascii_digit())
    });
    code.map_or(text, |(_, rest)| rest)
}

/// Returns the id of a plan by the name of its file: `03-02-PLAN.md`.
pub(super) fn plan_id(name: &str) -> Option<&str> {
    name.strip_suffix("-PLAN.md").filter(|id| is_plan(id))
}

/// Returns the id of the plan that a document in the folder of a phase is, or is about. `kind` is [`PLAN`] or [`SUMMARY`]. A plan without a number is named by its phase (`03-sail-PLAN.md`), or, if its name is only `PLAN.md`, by the folder.
pub(super) fn id_in<'a>(folder: &'a str, name: &'a str, kind: &str) -> Option<&'a str> {
    let id = name.strip_suffix(kind)?;
    if id.is_empty() {
        return Some(folder);
    }
    let id = id.strip_suffix('-')?;
    let phase = |text: &str| leading(text).map(|(key, _)| key);
    (is_plan(id) || (phase(id).is_some() && phase(id) == phase(folder))).then_some(id)
}

/// Tells whether an id is that of a plan: a phase and a number, perhaps with words behind (`03-02`, `03-02-sew`).
pub(super) fn is_plan(id: &str) -> bool {
    number_in(id).is_some()
}

/// Tells whether a step stands for a phase without plans.
pub(super) fn is_unplanned(step: &Step) -> bool {
    step.file.is_none() && !step.id.as_str().contains('-')
}

/// Tells whether a step is a plan, and not one to write a plan or to verify a phase.
pub(super) fn is_plan_step(step: &Step) -> bool {
    step.file.as_ref().is_some_and(|file| [PLAN, SUMMARY].iter().any(|kind| file.name().ends_with(kind)))
}

/// Returns the number of a plan within its phase; the largest one if it has none. `05b` comes behind `05`, by its id.
pub(super) fn number_of(id: &str) -> u64 {
    let digits = number_in(id).map(|number| number.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    digits.and_then(|number| number.parse().ok()).unwrap_or(u64::MAX)
}

/// Returns the number of a plan as its id has it: behind the phase, in older versions behind the name of the phase. A letter may follow it.
fn number_in(id: &str) -> Option<&str> {
    let (_, rest) = leading(id)?;
    let is_number = |text: &&str| {
        let digits = text.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts = rest.strip_prefix('-')?.split('-');
    let (first, last) = (parts.next(), parts.next_back());
    first.filter(is_number).or_else(|| last.filter(is_number).filter(|number| number.len() > 1))
}

/// Returns the phase and number of a plan whose id has words too.
pub(super) fn without_words(id: &str) -> Option<String> {
    let (_, rest) = leading(id)?;
    let short = format!("{}-{}", &id[..id.len() - rest.len()], number_in(id)?);
    (short != id).then_some(short)
}

/// Returns how subjects of commits name a plan: by its id, without its words, and without the code of the project. A bare number names
/// anything.
pub(super) fn commit_names(id: &str) -> Vec<CommitName> {
    let short = without_words(id);
    let ids = [Some(id), short.as_deref()].into_iter().flatten();
    let mut names: Vec<&str> = ids.flat_map(|id| [id, without_project(id)]).filter(|id| id.contains('-')).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|id| CommitName::Word(id.to_owned())).collect()
}

/// Tells whether two ids are of the same plan: the same phase and number, with or without words.
pub(super) fn is_same_plan(one: &str, other: &str) -> bool {
    let key = |id: &str| {
        let number = number_in(id)?;
        Some((
            leading(id)?.0,
            number_of(id),
            number.ends_with(|c: char| c.is_ascii_lowercase()).then(|| number.to_owned()),
        ))
    };
    one == other || key(one).is_some_and(|one| key(other) == Some(one))
}

/// Returns the phase of a step as its commands name it: without leading zeros.
pub(super) fn phase_of(id: &str) -> String {
    leading(id.rsplit_once('/').map_or(id, |(_, id)| id)).map_or_else(|| "PHASE".to_owned(), |(key, _)| shown(&key))
}

/// Returns a phase number without leading zeros.
pub(super) fn shown((parts, letter): &PhaseKey) -> String {
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    format!("{}{letter}", parts.join("."))
}

/// Returns a phase number as folders have it.
pub(super) fn padded((parts, letter): &PhaseKey) -> String {
    let first = parts.first().copied().unwrap_or_default();
    let more: String = parts.iter().skip(1).map(|part| format!(".{part}")).collect();
    format!("{first:02}{more}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_told_from_other_files() {
        for (name, id) in [
            ("03-02-PLAN.md", Some("03-02")),
            ("2.1-01-PLAN.md", Some("2.1-01")),
            ("4A-1-PLAN.md", Some("4A-1")),
            ("PAPER_TRADING_PLAN.md", None),
            ("PAPER-PLAN.md", None),
            ("03-PLAN.md", None),
            ("03-02-slug-PLAN.md", Some("03-02-slug")),
            ("03-slug-PLAN.md", None),
            ("02-sail-01-PLAN.md", Some("02-sail-01")),
            ("03-05b-PLAN.md", Some("03-05b")),
            ("APP-03-02-PLAN.md", Some("APP-03-02")),
            ("-PLAN.md", None),
            ("é-1-PLAN.md", None),
        ] {
            assert_eq!(plan_id(name), id, "{name}");
        }
        for (name, id) in [
            ("03-02-PLAN.md", Some("03-02")),
            ("03-02-sew-PLAN.md", Some("03-02-sew")),
            ("3-sail-PLAN.md", Some("3-sail")),
            ("03-PLAN.md", Some("03")),
            ("PLAN.md", Some("03-sail")),
            ("04-PLAN.md", None),
            ("KITE-PLAN.md", None),
            ("KITE_PLAN.md", None),
            ("03-02-SUMMARY.md", None),
        ] {
            assert_eq!(id_in("03-sail", name, PLAN), id, "{name}");
        }
        for (id, number, short) in [
            ("03-02", 2, None),
            ("03-02-sew", 2, Some("03-02")),
            ("03-sail", u64::MAX, None),
            ("APP-3-2-x", 2, Some("APP-3-2")),
            ("02-sail-01", 1, Some("02-01")),
            ("02-sail-2", u64::MAX, None),
            ("03-05b", 5, None),
        ] {
            assert_eq!((number_of(id), without_words(id).as_deref()), (number, short), "{id}");
        }
        for (one, other, same) in [
            ("02-01", "02-sail-01", true),
            ("02-01", "2-1-sew", true),
            ("02-01", "02-011", false),
            ("02-05", "02-05b", false),
            ("02-05b", "02-5b-x", false),
            ("02-05b", "02-sail-05b", true),
            ("02-01", "03-01", false),
            ("02-sail", "02-sail", true),
            ("02-sail", "02-rope", false),
        ] {
            assert_eq!(is_same_plan(one, other), same, "{one} {other}");
        }
        for (id, expected) in
            [("CK-01-01", vec!["01-01", "CK-01-01"]), ("01-02-cut", vec!["01-02", "01-02-cut"]), ("01", vec![])]
        {
            let expected: Vec<CommitName> =
                expected.into_iter().map(|name| CommitName::Word(name.to_owned())).collect();
            assert_eq!(commit_names(id), expected, "{id}");
        }
        assert_eq!(phase_of("04-06"), "4");
        assert_eq!(leading("04-x").unwrap().0, leading("4").unwrap().0);
        assert!(leading("2.1").unwrap().0 > leading("2").unwrap().0);
        assert!(leading("4A").unwrap().0 > leading("4").unwrap().0);
    }
}
