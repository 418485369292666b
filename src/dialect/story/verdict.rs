//! Verdicts of reviewers: the words for them, and where a story holds the verdict about itself
//! (docs/formats/aios-stories.md#verdicts-in-a-story).

use super::{
    field,
    id::{self, DAY_LENGTH},
    status::fold_words,
};

/// A reviewer's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) enum GateDecision {
    /// `PASS`, `CONCERNS`, `WAIVED`, `APPROVE`: the work may continue.
    Pass,
    /// `FAIL`, `REJECT`: the work is sent back.
    Fail,
    /// Not in the vocabulary; never read as approval.
    Unknown,
}

/// A verdict in a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dialect) struct Verdict {
    pub(in crate::dialect) decision: GateDecision,
    /// As written, without decoration.
    pub(in crate::dialect) word: String,
    /// From 1.
    pub(in crate::dialect) line: u32,
    /// The day of the review, as `2026-01-31`.
    pub(in crate::dialect) day: Option<String>,
    /// Whether the developer changed the story after it.
    pub(in crate::dialect) is_answered: bool,
}

/// Reader of a review section. The last verdict wins.
#[derive(Debug, Default)]
pub(super) struct ReviewReader {
    last: Option<Verdict>,
    /// A label without a value was read: the next text is the value.
    awaits_value: bool,
    day: Option<String>,
}

/// An entry of a change log.
#[derive(Debug)]
pub(super) struct ChangeEntry {
    day: String,
    author: Option<Author>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    Developer,
    Reviewer,
}

/// Words of which the label of a verdict consists, such as `QA Gate Decision`.
const LABEL_WORDS: [&str; 15] = [
    "qa",
    "gate",
    "quality",
    "final",
    "overall",
    "review",
    "reviewer",
    "story",
    "geral",
    "do",
    "da",
    "de",
    "status",
    "result",
    "resultado",
];
/// One of them has to be there.
const LABEL_NOUNS: [&str; 6] = ["verdict", "decision", "veredito", "veredicto", "decisao", "parecer"];
/// They mean that there is no verdict yet.
const NOT_YET: [&str; 6] = ["PENDING", "TBD", "TODO", "NA", "NONE", "PENDENTE"];
const DEVELOPERS: [&str; 6] = ["dev", "developer", "dex", "desenvolvedor", "desenvolvedora", "desarrollador"];
const REVIEWERS: [&str; 4] = ["qa", "quinn", "reviewer", "tester"];

impl GateDecision {
    /// Returns the decision that a word stands for, in any spelling.
    pub(in crate::dialect) fn of_word(word: &str) -> Self {
        let letters: String = word.chars().filter(char::is_ascii_alphabetic).collect();
        match letters.to_ascii_uppercase().as_str() {
            "PASS" | "PASSED" | "CONCERNS" | "WAIVED" | "APPROVE" | "APPROVED" | "GO" | "APROVADO" | "APROVADA"
            | "APROBADO" | "APROBADA" => Self::Pass,
            "FAIL" | "FAILED" | "REJECT" | "REJECTED" | "NEEDSWORK" | "NEEDSREVISION" | "CHANGESREQUESTED" | "NOGO"
            | "REPROVADO" | "REPROVADA" | "REJEITADO" | "REJEITADA" | "RECHAZADO" | "RECHAZADA" => Self::Fail,
            _ => Self::Unknown,
        }
    }
}

impl ReviewReader {
    /// Reads the text of a heading or of a line.
    pub(super) fn text(&mut self, text: &str, line: u32) {
        if text.trim().is_empty() {
            return;
        }
        if let Some(day) = day_in(text) {
            self.day = Some(day.to_owned());
        }
        if let Some((label, value)) = labelled(text) {
            // `QA Status: PASS` is a verdict; `QA Status: open` is not.
            let is_told = || decision_in(value).is_some_and(|(decision, _)| decision != GateDecision::Unknown);
            if is_label(label) || (matches!(spaced(label).as_str(), "qa status" | "qa resultado") && is_told()) {
                self.value(value, line);
                return;
            }
        } else if is_label(bare(text)) {
            self.awaits_value = true;
            return;
        }
        if std::mem::take(&mut self.awaits_value) {
            self.decide(text, line);
        }
    }

    /// Reads a line of a fenced block.
    pub(super) fn fenced(&mut self, text: &str, line: u32) {
        let is_nested = text.len() - text.trim_start().len() > 2 || text.trim_start().starts_with('-');
        if !is_nested && !text.trim_start().starts_with(['`', '~']) {
            self.text(&text.replace(['"', ','], ""), line);
        }
    }

    /// Ends at a heading of another section: a value does not follow after it.
    pub(super) const fn end(&mut self) {
        self.awaits_value = false;
    }

    fn value(&mut self, value: &str, line: u32) {
        self.awaits_value = value.trim_matches(|c: char| !c.is_alphanumeric()).is_empty();
        if !self.awaits_value {
            self.decide(value, line);
        }
    }

    fn decide(&mut self, value: &str, line: u32) {
        // In a list of all verdicts the ticked one counts.
        let Some(value) = ticked(value) else {
            self.awaits_value = true;
            return;
        };
        if let Some((decision, word)) = decision_in(value) {
            self.last = Some(Verdict { decision, word, line, day: self.day.clone(), is_answered: false });
        }
    }

    /// Returns the last verdict. `changes` is the change log of the story.
    pub(super) fn verdict(self, changes: &[ChangeEntry]) -> Option<Verdict> {
        let Self { last, day, .. } = self;
        let last = last?;
        let day = last.day.clone().or(day);
        let is_answered = is_answered(day.as_deref(), changes);
        Some(Verdict { day, is_answered, ..last })
    }
}

/// Tells whether the developer wrote in the change log after a review: on a later day, or below the reviewer's entry of its day.
fn is_answered(day: Option<&str>, changes: &[ChangeEntry]) -> bool {
    let is_descending = changes.first().zip(changes.last()).is_some_and(|(first, last)| first.day > last.day);
    let mut ordered: Vec<&ChangeEntry> = changes.iter().collect();
    if is_descending {
        ordered.reverse();
    }
    let is_of_review =
        |entry: &ChangeEntry| entry.author == Some(Author::Reviewer) && day.is_none_or(|day| entry.day.as_str() >= day);
    let reviewed = ordered.iter().rposition(|entry| is_of_review(entry));
    ordered.iter().enumerate().any(|(at, entry)| {
        let is_later = day.is_some_and(|day| entry.day.as_str() > day);
        let is_below = reviewed.is_some_and(|reviewed| at > reviewed);
        entry.author == Some(Author::Developer) && (is_below || (is_later && reviewed.is_none()))
    })
}

impl ChangeEntry {
    /// Reads a row or an item of a change log.
    pub(super) fn of_line(text: &str) -> Option<Self> {
        let day = day_in(text)?.to_owned();
        // The author is the last cell of a row; an item names it anywhere.
        let cell = if text.trim_start().starts_with('|') {
            field::cells(text).filter(|cell| !cell.is_empty()).last()
        } else {
            None
        };
        Some(Self { day, author: author_in(cell.unwrap_or(text)).or_else(|| author_in(text)) })
    }
}

/// Returns the role that a text names; `@dev` counts more than a word of the description.
fn author_in(text: &str) -> Option<Author> {
    let role = |word: &str| {
        let word = fold_words(word);
        if DEVELOPERS.contains(&word.as_str()) {
            Some(Author::Developer)
        } else if REVIEWERS.contains(&word.as_str()) {
            Some(Author::Reviewer)
        } else {
            None
        }
    };
    let words = || text.split(|c: char| !c.is_alphanumeric() && c != '@').filter(|word| !word.is_empty());
    words().filter_map(|word| role(word.strip_prefix('@')?)).next().or_else(|| words().find_map(role))
}

/// Splits a text into a label and its value: `**Verdict:** PASS`, `| Verdict | PASS |`, `Gate Decision - PASS`.
fn labelled(text: &str) -> Option<(&str, &str)> {
    if let Some(field) = field::field(text) {
        return Some((field.key, field.value));
    }
    let cut = [" - ", " — ", " – ", "("].iter().filter_map(|cut| text.find(cut)).min()?;
    Some((bare(&text[..cut]), &text[cut..]))
}

/// Returns the text behind a ticked box, or the whole text if it has no box; `None` if no box is ticked.
fn ticked(text: &str) -> Option<&str> {
    let tick = ["[x]", "[X]"].iter().find_map(|tick| text.find(tick)).map(|at| &text[at + "[x]".len()..]);
    let has_box = tick.is_some() || text.contains("[ ]") || text.contains("[]");
    match tick {
        Some(behind) => Some(behind.split('[').next().unwrap_or_default()),
        None if has_box => None,
        None => Some(text),
    }
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Tells whether a label announces the verdict of the whole review, and not that of one check.
fn is_label(label: &str) -> bool {
    let label = spaced(label);
    let words: Vec<&str> = label.split(' ').collect();
    let has = |word: &&str| words.contains(word);
    // `Gate` alone, or with its status. `Quality Gates` and `Gate file` have other words.
    words.iter().all(|word| LABEL_WORDS.contains(word) || LABEL_NOUNS.contains(word))
        && (LABEL_NOUNS.iter().any(has) || has(&"gate") || words == ["qa", "result"])
}

/// Folds a label; `gateDecision` has two words.
fn spaced(label: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for c in label.chars() {
        if c.is_uppercase() && was_lower {
            words.push(' ');
        }
        was_lower = c.is_lowercase();
        words.push(c);
    }
    fold_words(&words)
}

/// Returns the decision in a value with the word for it; `None` for a template, for no verdict yet, and for prose.
fn decision_in(value: &str) -> Option<(GateDecision, String)> {
    let is_known = |word: &str| GateDecision::of_word(word) != GateDecision::Unknown;
    let choices = value.split(['|', '/']).filter(|choice| is_known(choice)).count();
    if choices > 1 || value.contains('{') {
        return None;
    }
    let start = value.trim_start_matches(|c: char| !c.is_alphanumeric());
    let cuts = [" — ", " – ", " - ", "—", "(", "→", "->", "|", ",", ";", ".", ":", "<!--"];
    let end = cuts.iter().filter_map(|cut| start.find(cut)).min().unwrap_or(start.len());
    let core = bare(&start[..end]);
    let found = |word: &str| Some((GateDecision::of_word(word), word.to_owned()));
    if is_known(core) {
        return found(core);
    }
    let words: Vec<&str> = core.split_whitespace().collect();
    if let [first, second, ..] = words.as_slice() {
        let is_denied = matches!(first.to_lowercase().as_str(), "not" | "no" | "não" | "nao");
        if is_denied && GateDecision::of_word(second) == GateDecision::Pass {
            return Some((GateDecision::Fail, format!("{first} {second}")));
        }
        let both = format!("{first} {second}");
        if is_known(&both) {
            return found(&both);
        }
    }
    if let Some(first) = words.first().filter(|word| is_known(word)) {
        return found(first);
    }
    // `The gate is **PASS**`: the only word in capitals.
    let tokens = value.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 1);
    let mut loud = tokens.filter(|word| word.chars().all(|c| c.is_uppercase() || c == '_') && is_known(word));
    if let Some(word) = loud.next() {
        return if loud.all(|other| GateDecision::of_word(other) == GateDecision::of_word(word)) {
            found(word)
        } else {
            None
        };
    }
    let letters: String = core.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_shouted = letters.len() > 1 && letters.chars().all(char::is_uppercase);
    (is_shouted && !NOT_YET.contains(&letters.as_str())).then(|| (GateDecision::Unknown, core.to_owned()))
}

/// Returns the first day in a text, as `2026-01-31`.
fn day_in(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let stands_alone = |at: usize| {
        let ends = bytes.get(at + DAY_LENGTH).is_none_or(|byte| !byte.is_ascii_digit());
        let begins = at == 0 || !bytes[at - 1].is_ascii_digit();
        begins && ends && id::is_day(&bytes[at..at + DAY_LENGTH])
    };
    let last = bytes.len().checked_sub(DAY_LENGTH)?;
    (0..=last).find(|at| stands_alone(*at)).map(|at| &text[at..at + DAY_LENGTH])
}
