//! Texts in files beside a case, and which of their changes `UPDATE=1` accepts.

use std::sync::LazyLock;

use camino::Utf8Path;
use regex::Regex;

use crate::support::{self, changed_lines};

/// Words of a text that say where a run stands; `UPDATE=1` accepts no text in which they differ.
const VERDICTS: [&str; 5] = ["resume", "confirm", "blocked", "complete", "nothing"];

/// Compares what a call printed with the file that has what it should be. `UPDATE=1` writes it where only the wording is new.
pub(crate) fn compare(file: &Utf8Path, printed: &str, source: &str) -> Result<(), String> {
    // The marks of what is quoted from state files depend on the place of the project.
    const MARK: &str = r"(state files|instructions) \([0-9a-fA-F]*";
    static MARKS: LazyLock<Regex> = LazyLock::new(|| Regex::new(MARK).expect("a pattern of our own"));
    let printed = MARKS.replace_all(printed, "$1 (…");
    let wanted = file.exists().then(|| support::read(file));
    if wanted.as_deref() == Some(&*printed) {
        return Ok(());
    }
    let wants_update = std::env::var_os("UPDATE").is_some_and(|wanted| wanted == "1");
    if wants_update && wanted.as_ref().is_none_or(|wanted| facts(wanted, source) == facts(&printed, source)) {
        return std::fs::write(file, &*printed).map_err(|error| format!("{file}: {error}"));
    }
    let lines = changed_lines(&wanted.unwrap_or_default(), &printed).join("\n");
    Err(format!("{file}\n{lines}\n`UPDATE=1` accepts it unless a verdict, an id, a number or a command differs"))
}

/// Returns what a text states beside its wording: verdicts, what the case has as a value (an id, a status), words with a digit, and what
/// stands in code marks.
pub(crate) fn facts<'t>(text: &'t str, source: &str) -> Vec<&'t str> {
    let values =
        |word: &str| [format!("\"{word}\""), format!(": {word}\n"), format!(": {word},"), format!(": {word}}}")];
    let is_value = |word: &str| values(word).iter().any(|value| source.contains(value));
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let is_fact = |word: &&str| VERDICTS.contains(word) || has_digit(word) || is_value(word);
    let words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut facts: Vec<&str> = text.split('`').skip(1).step_by(2).chain(words.filter(is_fact)).collect();
    facts.sort_unstable();
    facts
}
