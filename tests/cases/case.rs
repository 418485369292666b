//! A case as it is written.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    check::{Content, FileCheck},
    support,
};

/// A case as its file has it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Case {
    like: Option<String>,
    pub(crate) git: bool,
    /// Folders of `examples/` that the project begins with.
    pub(crate) examples: Vec<String>,
    pub(crate) now: Option<String>,
    /// The files of the case that it is like are among them; one that is left out has no text.
    pub(crate) files: BTreeMap<String, Option<String>>,
    /// As they are written, but for their words, which are split: what a name in them stands for is known when they are carried out.
    pub(crate) steps: Vec<Value>,
    /// All that is written in its file, and in those of the cases that it is like.
    #[serde(skip)]
    pub(crate) source: String,
}

/// One step: an action, and what belongs to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(flatten)]
    pub(crate) action: Action,
    pub(crate) r#in: Option<String>,
    pub(crate) r#as: Option<String>,
    pub(crate) now: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) session: Option<String>,
    pub(crate) stdin: Option<String>,
    #[serde(default)]
    pub(crate) program: bool,
    #[serde(default)]
    pub(crate) code: i32,
    #[serde(flatten)]
    pub(crate) content: Content,
    pub(crate) prints: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) changes: Option<Vec<String>>,
}

/// What a step does; it does one thing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Piton(Vec<String>),
    Sh(String),
    Commit(String),
    Write(BTreeMap<String, String>),
    Replace(BTreeMap<String, BTreeMap<String, String>>),
    After(BTreeMap<String, Option<FileCheck>>),
}

impl Case {
    /// Reads `case.yaml` of a folder, with what it takes from another case, and refuses a case that asserts nothing.
    pub(crate) fn read(folder: &Utf8Path) -> Result<Self, String> {
        let path = folder.join("case.yaml");
        let source = support::read(&path);
        let mut case = Self::parse(&source).map_err(|problem| format!("{path}: {problem}"))?;
        case.source = source;
        if let Some(other) = &case.like {
            let mut other = Self::read(&folder.with_file_name(other))?;
            other.files.append(&mut case.files);
            case.files = other.files;
            case.source += &other.source;
            case.examples.append(&mut other.examples);
            case.git |= other.git;
        }
        Ok(case)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut case: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut asserts = false;
        for (at, written) in case.steps.iter_mut().enumerate() {
            if let Some(line) = written.get("piton").and_then(Value::as_str) {
                written["piton"] = line.split_whitespace().collect();
            }
            let checks = Step::read(&written.to_string()).and_then(|step| step.asserts());
            asserts |= checks.map_err(|problem| format!("step {}: {problem}", at + 1))?;
        }
        if asserts { Ok(case) } else { Err("it asserts nothing: no check but exit codes".to_owned()) }
    }
}

impl Step {
    /// Reads it from JSON.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Tells whether it is a call, which has an answer.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self.action, Action::Piton(_) | Action::Sh(_))
    }

    /// Tells whether it checks anything, and refuses a check that has no meaning.
    fn asserts(&self) -> Result<bool, String> {
        let whole = self.prints.is_some() || self.text.is_some() || self.changes.is_some();
        let checks = whole || self.content != Content::default();
        // Times, digests and revisions have such parts.
        let is_chance = |text: &String| text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if checks && !self.is_call() {
            Err("checks of an answer without a call".to_owned())
        } else if self.content.absent().any(is_chance) {
            Err("what must not be there may be there by chance; name more of its sentence".to_owned())
        } else {
            Ok(checks || matches!(&self.action, Action::After(files) if !files.is_empty()))
        }
    }
}
