//! What has to hold of an answer and of a file.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    case::Step,
    support::{self, Output, changed_lines},
};

/// Parts of a text that matter, and of the JSON document that it is.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Content {
    pub(crate) json: BTreeMap<String, Value>,
    json_has: BTreeMap<String, Vec<String>>,
    json_lacks: BTreeMap<String, Vec<String>>,
    has: Vec<String>,
    lacks: Vec<String>,
}

impl Content {
    /// Returns the texts that must not be there.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &String> {
        self.lacks.iter().chain(self.json_lacks.values().flatten())
    }

    /// Lists what does not hold of a document and a text.
    fn problems(&self, document: &str, text: &str) -> Vec<String> {
        let reads_json = !(self.json.is_empty() && self.json_has.is_empty() && self.json_lacks.is_empty());
        let document = match serde_json::from_str(document) {
            Err(error) if reads_json => return vec![format!("not one JSON document: {error}")],
            read => read.unwrap_or(Value::Null),
        };
        let mut wrong = Vec::new();
        for (pointer, wanted) in &self.json {
            let found = at(&document, pointer);
            if found != *wanted {
                wrong.push(format!("{pointer}: expected {wanted}, found {found}"));
            }
        }
        for (pointer, parts) in &self.json_has {
            let found = at(&document, pointer);
            let absent = parts.iter().filter(|part| !has(&found, part));
            wrong.extend(absent.map(|part| format!("{pointer}: no {part:?} in {found}")));
        }
        for (pointer, parts) in &self.json_lacks {
            let found = at(&document, pointer);
            let present = parts.iter().filter(|part| has(&found, part));
            wrong.extend(present.map(|part| format!("{pointer}: {part:?} in {found}")));
        }
        wrong.extend(self.has.iter().filter(|part| !text.contains(*part)).map(|part| format!("no {part:?}")));
        wrong.extend(self.lacks.iter().filter(|part| text.contains(*part)).map(|part| format!("it has {part:?}")));
        wrong
    }
}

/// Tells whether a string has a text, a list has it as an element, or its JSON has it.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(list) if list.iter().any(|element| element == text) => true,
        other => other.to_string().contains(text),
    }
}

/// Returns the value at a pointer, null where there is none; `*` is every element.
fn at(document: &Value, pointer: &str) -> Value {
    match pointer.split_once("/*") {
        None => document.pointer(pointer).cloned().unwrap_or(Value::Null),
        Some((head, rest)) => {
            let list = document.pointer(head).and_then(Value::as_array);
            list.into_iter().flatten().map(|element| at(element, rest)).collect()
        }
    }
}

impl Step {
    /// Lists everything that does not hold of an answer, with the whole of it.
    pub(crate) fn check(&self, output: &Output, changes: &[String], before: Option<&Output>) -> Result<(), String> {
        let mut wrong = self.content.problems(&output.stdout, &format!("{}{}", output.stdout, output.stderr));
        if output.code != self.code {
            wrong.push(format!("exit code {}, expected {}", output.code, self.code));
        }
        if let Ok(document) = serde_json::from_str::<Value>(&output.stdout)
            && document.get("schema").is_some_and(Value::is_string)
        {
            wrong.extend(support::check_document(output, &document).err());
        }
        if let Some(wanted) = self.changes.as_ref().filter(|wanted| **wanted != changes) {
            wrong.push(format!("changes:\n{}", changed_lines(&wanted.join("\n"), &changes.join("\n")).join("\n")));
        }
        if self.same && before.is_none_or(|before| before.stdout != output.stdout) {
            wrong.push("stdout is not that of the call before".to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{}\nexit {output}", wrong.join("\n"))) }
    }
}

/// What has to hold of a file that is there.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum FileCheck {
    Text(String),
    Parts(Content),
}

impl FileCheck {
    /// Returns what is wrong with a file; `None` says that it must not be there, and no parts that it is there.
    pub(crate) fn problem(check: Option<&Self>, place: &Utf8Path) -> Option<String> {
        let found = std::fs::read(place).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let wrong = match (check, found) {
            (None, _) => return place.symlink_metadata().is_ok().then(|| "it is there".to_owned()),
            (Some(Self::Parts(parts)), _) if *parts == Content::default() => {
                return place.symlink_metadata().err().map(|error| error.to_string());
            }
            (Some(_), Err(error)) => vec![error.to_string()],
            (Some(Self::Text(wanted)), Ok(found)) => changed_lines(wanted, &found),
            (Some(Self::Parts(parts)), Ok(found)) => parts.problems(&found, &found),
        };
        (!wrong.is_empty()).then(|| wrong.join("\n"))
    }
}

/// Words of a text that say where a run stands; `UPDATE=1` accepts no text in which they differ.
const VERDICTS: [&str; 5] = ["resume", "confirm", "blocked", "complete", "nothing"];

/// Compares what a call printed with the file that has what it should be. `UPDATE=1` writes it where only the wording is new.
pub(crate) fn compare(file: &Utf8Path, printed: &str, ids: &BTreeSet<String>) -> Result<(), String> {
    let wanted = file.exists().then(|| support::read(file));
    if wanted.as_deref() == Some(printed) {
        return Ok(());
    }
    let wants_update = std::env::var_os("UPDATE").is_some_and(|wanted| wanted == "1");
    if wants_update && wanted.as_ref().is_none_or(|wanted| facts(wanted, ids) == facts(printed, ids)) {
        return std::fs::write(file, printed).map_err(|error| format!("{file}: {error}"));
    }
    let lines = changed_lines(&wanted.unwrap_or_default(), printed).join("\n");
    Err(format!("{file}\n{lines}\n`UPDATE=1` accepts it unless a verdict, an id, a number or a command differs"))
}

/// Returns what a text states beside its wording: verdicts, ids, words with a digit, and what stands in code marks.
pub(crate) fn facts<'t>(text: &'t str, ids: &BTreeSet<String>) -> Vec<&'t str> {
    let code = text.split('`').skip(1).step_by(2);
    let ids = ids.iter().flat_map(|id| text.matches(id.as_str()));
    let is_fact = |word: &&str| VERDICTS.contains(word) || word.contains(|c: char| c.is_ascii_digit());
    let words = text.split(|c: char| c.is_whitespace() || "().,;:`".contains(c)).filter(is_fact);
    let mut facts: Vec<&str> = code.chain(ids).chain(words).collect();
    facts.sort_unstable();
    facts
}
