//! Shared readers for hand-written definitions: keys, texts and ids. Every mistake becomes a finding with line and column.

use super::{Kind, Member, Node, TextPosition};
use crate::model::{Finding, FindingCode, Fix, RelPath, Suggested, Verb, clean_line, nearest};

/// What other programs call a key, and what it is called here.
const SYNONYMS: [(&str, &str); 8] = [
    ("name", "title"),
    ("run", "shell"),
    ("command", "shell"),
    ("needs", "depends_on"),
    ("if", "when"),
    ("environment", "env"),
    ("prompt", "instructions"),
    ("description", "instructions"),
];
/// How many keys a message lists.
const LISTED: usize = 20;

/// A text with its position in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) place: TextPosition,
}

/// Collector of the problems in a file.
pub(crate) struct Problems<'a> {
    file: &'a RelPath,
    findings: Vec<Finding>,
    notes: Vec<Finding>,
}

impl<'a> Problems<'a> {
    pub(crate) const fn of(file: &'a RelPath) -> Self {
        Self { file, findings: Vec::new(), notes: Vec::new() }
    }

    /// Returns all findings, ordered by position, each once: several steps may have the same text.
    pub(crate) fn in_order(mut self) -> Vec<Finding> {
        self.findings.sort_by_key(|finding| (finding.line, finding.column));
        self.findings.dedup();
        self.findings
    }

    /// Returns all findings and all notes, ordered by position.
    pub(crate) fn in_order_with_notes(mut self) -> (Vec<Finding>, Vec<Finding>) {
        let mut notes = std::mem::take(&mut self.notes);
        notes.sort_by_key(|note| (note.line, note.column));
        notes.dedup();
        (self.in_order(), notes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a remark about something that has no effect or may go wrong.
    pub(crate) fn note(&mut self, place: TextPosition, message: impl Into<String>, fix: impl Into<Fix>) {
        let note = Finding::new(FindingCode::FieldIgnored, clean_line(&message.into(), 400)).at(self.file);
        self.notes.push(note.line(place.line, Some(place.column)).fix(fix));
    }

    pub(crate) fn add(&mut self, place: TextPosition, message: impl Into<String>, fix: impl Into<Fix>) {
        let finding = Finding::new(FindingCode::DefinitionInvalid, clean_line(&message.into(), 400)).at(self.file);
        self.findings.push(finding.line(place.line, Some(place.column)).fix(fix));
    }
}

/// Reader of the keys of one mapping.
pub(crate) struct Fields<'a> {
    pub(crate) members: Vec<&'a Member>,
    pub(crate) what: &'static str,
}

impl<'a> Fields<'a> {
    /// Reads a mapping and reports unknown keys, each with the nearest known one.
    pub(crate) fn of(node: &'a Node, what: &'static str, keys: &[&str], problems: &mut Problems<'_>) -> Option<Self> {
        let Kind::Map(members) = &node.kind else {
            let message = format!("{what} is a mapping with the keys {}, not {}", keys.join(", "), node.what());
            problems.add(node.place, message, format!("write it as a mapping with the keys {}", keys.join(", ")));
            return None;
        };
        for member in members.iter().filter(|member| !keys.contains(&member.key.as_str())) {
            let message = format!("{what} has no key `{}`", clean_line(&member.key, 60));
            let meant = SYNONYMS.iter().find(|(word, key)| *word == member.key && keys.contains(key));
            let meant = meant.map(|(_, key)| *key).or_else(|| nearest(&member.key, keys.iter().copied()));
            let message = match meant {
                Some(key) => format!("{message}; did you mean `{key}`?"),
                None if keys.len() > LISTED => message,
                None => format!("{message}; its keys are {}", keys.join(", ")),
            };
            problems.add(member.place, message, Suggested::of(Verb::Schema, "workflow"));
        }
        Some(Self { members: members.iter().collect(), what })
    }

    /// Removes and returns the value of a key; an empty value counts as missing.
    pub(crate) fn take(&mut self, key: &str) -> Option<&'a Node> {
        let at = self.members.iter().position(|member| member.key == key)?;
        let member = self.members.remove(at);
        (member.value.kind != Kind::Null).then_some(&member.value)
    }

    pub(crate) fn text(&mut self, key: &str, problems: &mut Problems<'_>) -> Option<Text> {
        let node = self.take(key)?;
        text_of(node, &format!("`{key}` of {}", self.what), problems)
    }

    /// Returns the position of a key, if it is given.
    pub(crate) fn place(&self, key: &str) -> Option<TextPosition> {
        self.members.iter().find(|member| member.key == key).map(|member| member.place)
    }

    pub(crate) fn flag(&mut self, key: &str, problems: &mut Problems<'_>) -> Option<bool> {
        let node = self.take(key)?;
        match &node.kind {
            Kind::Bool(value) => Some(*value),
            Kind::Null | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                let message = format!("`{key}` of {} is true or false, not {}", self.what, node.what());
                problems.add(node.place, message, "write true or false");
                None
            }
        }
    }
}

pub(crate) fn text_of(node: &Node, what: &str, problems: &mut Problems<'_>) -> Option<Text> {
    match &node.kind {
        Kind::Text(text) | Kind::Number(text) if !text.trim().is_empty() => {
            Some(Text { text: text.clone(), place: node.place })
        }
        Kind::Text(_) => {
            problems.add(node.place, format!("{what} is empty"), "write a text, or leave the key out");
            None
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => {
            problems.add(node.place, format!("{what} is text, not {}", node.what()), "write a text");
            None
        }
    }
}

pub(crate) fn items<'a>(node: &'a Node, what: &str, problems: &mut Problems<'_>) -> &'a [Node] {
    match &node.kind {
        Kind::List(items) if !items.is_empty() => items,
        Kind::List(_) => {
            problems.add(node.place, format!("{what} is an empty list"), "add at least one");
            &[]
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
            problems.add(
                node.place,
                format!("{what} is a list, not {}", node.what()),
                "write each with a leading `- `",
            );
            &[]
        }
    }
}

/// Reads an id, which may be used in commands and file names.
pub(crate) fn identifier(node: &Node, what: &str, problems: &mut Problems<'_>) -> Option<Text> {
    let id = text_of(node, what, problems)?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if id.text.chars().all(plain) && !id.text.starts_with(['-', '.']) && id.text.len() <= 100 {
        return Some(id);
    }
    let message = format!("`{}` is not an id", clean_line(&id.text, 60));
    let rule = "letters, digits, `-`, `_`, `.` and `:`, not beginning with `-` or `.`, at most 100 bytes";
    let cleaned: String = id.text.chars().map(|c| if plain(c) { c } else { '-' }).take(60).collect();
    let cleaned = cleaned.trim_matches(['-', '.']);
    let fix = if cleaned.is_empty() { "write an id of these".to_owned() } else { format!("for instance `{cleaned}`") };
    problems.add(id.place, format!("{message}: {rule}"), fix);
    None
}
