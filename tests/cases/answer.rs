//! What has to hold of an answer and of a file.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::Value;

use crate::support::{self, Output, changed_lines};

/// The answer of a call, with every change that it made if that is checked.
pub(crate) struct Answer<'a> {
    pub(crate) output: &'a Output,
    pub(crate) changes: Option<Vec<String>>,
}

/// What has to hold of an answer.
#[derive(Default)]
pub(crate) struct Checks {
    pub(crate) code: i32,
    pub(crate) json: BTreeMap<String, Value>,
    pub(crate) json_has: BTreeMap<String, Vec<String>>,
    pub(crate) json_lacks: BTreeMap<String, Vec<String>>,
    pub(crate) findings: Option<Vec<String>>,
    pub(crate) has: Vec<String>,
    pub(crate) lacks: Vec<String>,
    pub(crate) changes: Option<Vec<String>>,
}

impl Answer<'_> {
    /// Lists everything that does not hold, with the whole answer.
    pub(crate) fn check(&self, checks: &Checks) -> Result<(), String> {
        let mut wrong = Vec::new();
        if self.output.code != checks.code {
            wrong.push(format!("exit code {}, expected {}", self.output.code, checks.code));
        }
        let reads_json = !checks.json.is_empty() || !checks.json_has.is_empty() || !checks.json_lacks.is_empty();
        match serde_json::from_str::<Value>(&self.output.stdout) {
            Ok(document) => {
                check_values(&document, checks, &mut wrong);
                if document.get("schema").is_some_and(Value::is_string) {
                    wrong.extend(support::check_document(self.output, &document).err());
                }
            }
            Err(error) if reads_json || checks.findings.is_some() => {
                wrong.push(format!("stdout is not one JSON document: {error}"));
            }
            Err(_) => {}
        }
        let printed = format!("{}{}", self.output.stdout, self.output.stderr);
        for text in checks.has.iter().filter(|text| !printed.contains(*text)) {
            wrong.push(format!("it does not say {text:?}"));
        }
        for text in checks.lacks.iter().filter(|text| printed.contains(*text)) {
            wrong.push(format!("it says {text:?}"));
        }
        if let (Some(wanted), Some(found)) = (&checks.changes, &self.changes)
            && wanted != found
        {
            let [missing, more] = [(wanted, found), (found, wanted)]
                .map(|(of, in_other)| of.iter().filter(|line| !in_other.contains(line)).collect::<Vec<_>>());
            wrong.push(format!("changes that were not made: {missing:?}; made and not expected: {more:?}"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{}\nexit {}", wrong.join("\n"), self.output)) }
    }
}

fn check_values(document: &Value, checks: &Checks, wrong: &mut Vec<String>) {
    for (pointer, wanted) in &checks.json {
        let found = at(document, pointer);
        if found != *wanted {
            wrong
                .push(format!("{pointer}: expected {wanted}, found {found}{}", fields_near(document, pointer, &found)));
        }
    }
    let holds = |pointer: &str, text: &String| match at(document, pointer) {
        Value::String(found) => found.contains(text),
        Value::Array(list) if list.iter().any(|element| element == text) => true,
        other => other.to_string().contains(text),
    };
    for (pointer, texts) in &checks.json_has {
        for text in texts.iter().filter(|text| !holds(pointer, text)) {
            wrong.push(format!("{pointer} lacks {text:?}: {}", at(document, pointer)));
        }
    }
    for (pointer, texts) in &checks.json_lacks {
        for text in texts.iter().filter(|text| holds(pointer, text)) {
            wrong.push(format!("{pointer} has {text:?}: {}", at(document, pointer)));
        }
    }
    if let Some(wanted) = &checks.findings {
        let found = at(document, "/findings/*/code");
        if found != Value::from(wanted.clone()) {
            wrong.push(format!("findings {found}, expected {wanted:?}"));
        }
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

/// Returns what there is in place of a value that is not: the names of the fields beside it.
fn fields_near(document: &Value, pointer: &str, found: &Value) -> String {
    let is_absent = found.is_null() || found.as_array().is_some_and(|list| list.iter().all(Value::is_null));
    let parent = pointer.rsplit_once('/').map(|(head, _)| at(document, &head.replace("/*", "/0")));
    match parent {
        Some(Value::Object(fields)) if is_absent => {
            format!("; there are {}", fields.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    }
}

/// What has to hold of a file that is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum FileCheck {
    Text(String),
    Parts(Parts),
}

/// Parts of a file that matter.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Parts {
    has: Vec<String>,
    lacks: Vec<String>,
    json: BTreeMap<String, Value>,
}

impl FileCheck {
    /// Returns the check with each of its texts replaced.
    pub(crate) fn map(&self, named: &impl Fn(&str) -> String) -> Self {
        let list = |texts: &[String]| texts.iter().map(|text| named(text)).collect();
        match self {
            Self::Text(text) => Self::Text(named(text)),
            Self::Parts(parts) => Self::Parts(Parts {
                has: list(&parts.has),
                lacks: list(&parts.lacks),
                json: parts
                    .json
                    .iter()
                    .map(|(at, value)| (at.clone(), crate::case::answer_value(value, &|text| named(text))))
                    .collect(),
            }),
        }
    }

    /// Checks a file; `None` says that it must not be there.
    pub(crate) fn holds(check: Option<&Self>, place: &Utf8Path) -> Result<(), String> {
        let Some(check) = check else {
            return if place.symlink_metadata().is_ok() { Err("it is there".to_owned()) } else { Ok(()) };
        };
        if matches!(check, Self::Parts(parts) if parts.is_empty()) {
            return place.symlink_metadata().map(drop).map_err(|error| error.to_string());
        }
        let found = std::fs::read(place).map_err(|error| error.to_string())?;
        let found = String::from_utf8_lossy(&found);
        match check {
            Self::Text(wanted) if *wanted == found => Ok(()),
            Self::Text(wanted) => Err(changed_lines(wanted, &found).join("\n")),
            Self::Parts(parts) => parts.hold(&found),
        }
    }
}

impl Parts {
    /// Tells whether only the existence of the file matters.
    fn is_empty(&self) -> bool {
        self.has.is_empty() && self.lacks.is_empty() && self.json.is_empty()
    }

    fn hold(&self, found: &str) -> Result<(), String> {
        let mut wrong: Vec<String> = Vec::new();
        wrong.extend(self.has.iter().filter(|text| !found.contains(*text)).map(|text| format!("no {text:?}")));
        wrong.extend(self.lacks.iter().filter(|text| found.contains(*text)).map(|text| format!("it has {text:?}")));
        if !self.json.is_empty() {
            let document: Value = serde_json::from_str(found).map_err(|error| format!("no JSON: {error}\n{found}"))?;
            let differs = |(pointer, wanted): (&String, &Value)| {
                let found = at(&document, pointer);
                (found != *wanted).then(|| format!("{pointer} is {found}, expected {wanted}"))
            };
            wrong.extend(self.json.iter().filter_map(differs));
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{}\n{found}", wrong.join("\n"))) }
    }
}

/// The whole text that a call printed, and the file that has what it should be.
pub(crate) struct WholeText {
    pub(crate) file: Utf8PathBuf,
    pub(crate) text: String,
    /// The ids that the case has, which no update changes.
    pub(crate) ids: BTreeSet<String>,
}

/// Words of a text that say where a run stands; `UPDATE=1` accepts no text in which they differ.
const VERDICTS: [&str; 5] = ["resume", "confirm", "blocked", "complete", "nothing"];

impl WholeText {
    /// Compares it, or writes it where only the wording is new.
    pub(crate) fn compare(&self, wants_update: bool) -> Result<(), String> {
        let is_new = !self.file.exists();
        let wanted = if is_new { String::new() } else { support::read(&self.file) };
        if wanted == self.text && !is_new {
            return Ok(());
        }
        if wants_update && (is_new || self.facts(&wanted) == self.facts(&self.text)) {
            return std::fs::write(&self.file, &self.text).map_err(|error| format!("{}: {error}", self.file));
        }
        let more = if wants_update {
            "\nUPDATE=1 changes wording only: a verdict, an id, a number or a command differs"
        } else {
            ""
        };
        Err(format!("{}\n{}{more}", self.file, changed_lines(&wanted, &self.text).join("\n")))
    }

    /// Returns what a text states beside its wording: verdicts, ids, words with a digit, and what stands in code marks.
    pub(crate) fn facts<'t>(&'t self, text: &'t str) -> Vec<&'t str> {
        let code = text.split('`').skip(1).step_by(2);
        let ids = self.ids.iter().flat_map(|id| text.matches(id.as_str()));
        let is_fact = |word: &&str| VERDICTS.contains(word) || word.contains(|c: char| c.is_ascii_digit());
        let words = text.split(|c: char| c.is_whitespace() || "().,;:`".contains(c)).filter(is_fact);
        let mut facts: Vec<&str> = code.chain(ids).chain(words).collect();
        facts.sort_unstable();
        facts
    }
}
