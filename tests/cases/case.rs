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
    pub(crate) like: Option<String>,
    pub(crate) git: bool,
    pub(crate) now: Option<String>,
    pub(crate) files: BTreeMap<String, Option<String>>,
    pub(crate) repeat: Vec<Repeat>,
    /// As they are written, but for their words, which are split: what a name in them stands for is known when they are carried out.
    pub(crate) steps: Vec<Value>,
}

/// Files that are alike but for a number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    pub(crate) times: usize,
    pub(crate) files: BTreeMap<String, String>,
}

/// One step: an action, and what belongs to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(flatten)]
    pub(crate) action: Action,
    pub(crate) r#in: Option<String>,
    pub(crate) r#as: Option<String>,
    pub(crate) prints: Option<String>,
    pub(crate) now: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) session: Option<String>,
    pub(crate) stdin: Option<String>,
    #[serde(default)]
    pub(crate) without_git: bool,
    #[serde(default)]
    pub(crate) program: bool,
    #[serde(default)]
    pub(crate) code: i32,
    #[serde(flatten)]
    pub(crate) content: Content,
    pub(crate) findings: Option<Value>,
    pub(crate) text: Option<String>,
    pub(crate) changes: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) same: bool,
}

/// What a step does; it does one thing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Piton(Vec<String>),
    Write(BTreeMap<String, String>),
    Replace(BTreeMap<String, BTreeMap<String, String>>),
    Remove(Vec<String>),
    Folder(Vec<String>),
    Link(BTreeMap<String, String>),
    Move(BTreeMap<String, String>),
    Mode(BTreeMap<String, String>),
    Modified(BTreeMap<String, u64>),
    Git(Vec<String>),
    Commit(String),
    After(BTreeMap<String, Option<FileCheck>>),
}

impl Case {
    /// Reads `case.yaml` of a folder, and refuses a case that asserts nothing.
    pub(crate) fn read(folder: &Utf8Path) -> Result<Self, String> {
        let path = folder.join("case.yaml");
        Self::parse(&support::read(&path)).map_err(|problem| format!("{path}: {problem}"))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut case: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut asserts = false;
        for (at, step) in case.steps.iter_mut().enumerate() {
            for key in ["piton", "git"] {
                if let Some(line) = step.get(key).and_then(Value::as_str) {
                    step[key] = line.split_whitespace().collect();
                }
            }
            let checks = Step::read(step).and_then(|step| step.asserts());
            asserts |= checks.map_err(|problem| format!("step {}: {problem}", at + 1))?;
        }
        if asserts { Ok(case) } else { Err("it asserts nothing: no check but exit codes".to_owned()) }
    }
}

impl Step {
    pub(crate) fn read(step: &Value) -> Result<Self, String> {
        let mut step = Self::deserialize(step).map_err(|error| error.to_string())?;
        let codes = step.findings.take().map(|codes| ("/findings/*/code".to_owned(), codes));
        step.content.json.extend(codes);
        Ok(step)
    }

    /// Tells whether it checks anything, and refuses a check that has no meaning.
    fn asserts(&self) -> Result<bool, String> {
        let checks = self.content != Content::default() || self.text.is_some() || self.changes.is_some() || self.same;
        // Times, digests and revisions have such parts.
        let is_chance = |text: &String| text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_call = matches!(self.action, Action::Piton(_));
        if checks && !is_call {
            Err("checks of an answer without a call".to_owned())
        } else if self.content.absent().any(is_chance) {
            Err("what must not be there may be there by chance; name more of its sentence".to_owned())
        } else {
            Ok(checks || self.prints.is_some() || matches!(&self.action, Action::After(files) if !files.is_empty()))
        }
    }
}
