//! What has to hold of an answer and of a file.

use std::collections::BTreeMap;

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
    json: BTreeMap<String, Value>,
    json_has: BTreeMap<String, Vec<String>>,
    json_lacks: BTreeMap<String, Vec<String>>,
    findings: Option<Value>,
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
        let codes = self.findings.iter().map(|codes| ("/findings/*/code", codes));
        let values: Vec<_> = self.json.iter().map(|(pointer, value)| (pointer.as_str(), value)).chain(codes).collect();
        let reads_json = !(values.is_empty() && self.json_has.is_empty() && self.json_lacks.is_empty());
        let document = match serde_json::from_str(document) {
            Err(error) if reads_json => return vec![format!("not one JSON document: {error}")],
            read => read.unwrap_or(Value::Null),
        };
        let mut wrong = Vec::new();
        for (pointer, wanted) in values {
            let found = at(&document, pointer);
            if found != *wanted {
                wrong.push(format!("{pointer}: expected {wanted}, found {found}"));
            }
        }
        for (word, is_wanted, below, parts) in
            [("no", true, &self.json_has, &self.has), ("there is", false, &self.json_lacks, &self.lacks)]
        {
            for (pointer, parts) in below {
                let found = at(&document, pointer);
                let misplaced = parts.iter().filter(|part| has(&found, part) != is_wanted);
                wrong.extend(misplaced.map(|part| format!("{pointer}: {word} {part:?} in {found}")));
            }
            let misplaced = parts.iter().filter(|part| text.contains(*part) != is_wanted);
            wrong.extend(misplaced.map(|part| format!("{word} {part:?}")));
        }
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

/// Returns a text without the end of its last line.
pub(crate) fn line_of(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

impl Step {
    /// Lists everything that does not hold of an answer, with the whole of it.
    pub(crate) fn check(&self, output: &Output, changes: &[String]) -> Result<(), String> {
        let mut wrong = self.content.problems(&output.stdout, &format!("{}{}", output.stdout, output.stderr));
        if output.code != self.code {
            wrong.push(format!("exit code {}, expected {}", output.code, self.code));
        }
        if let Ok(document) = serde_json::from_str::<Value>(&output.stdout)
            && document.get("schema").is_some_and(Value::is_string)
        {
            wrong.extend(support::check_document(output, &document).err());
        }
        if let Some(wanted) = self.prints.as_deref().map(line_of).filter(|wanted| *wanted != line_of(&output.stdout)) {
            wrong.push(format!("stdout:\n{}", changed_lines(wanted, line_of(&output.stdout)).join("\n")));
        }
        if let Some(wanted) = self.changes.as_ref().filter(|wanted| **wanted != changes) {
            wrong.push(format!("changes:\n{}", changed_lines(&wanted.join("\n"), &changes.join("\n")).join("\n")));
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
