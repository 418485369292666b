//! A lenient view of the state file: any field may be missing, have another type or another spelling.
//!
//! Makes no decision about the run. Unusable fields are reported with pointer and line.

use std::collections::BTreeMap;

use serde_json::Value;

use super::rules::StepNumber;
use super::rules::StepPosition;
use crate::dialect::json;
use crate::dialect::last_interruption;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::Severity;
use crate::model::Timestamp;
use crate::model::clean_line;

/// The newest supported `schema_version`, written to new states.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// The file being read, to locate findings.
pub(super) struct Source<'a> {
    pub(super) files: &'a FileSet,
    pub(super) file: &'a RelPath,
    pub(super) bytes: &'a [u8],
    pub(super) value: &'a Value,
}

impl Source<'_> {
    /// Creates a finding about the value at a pointer, or about its nearest existing parent.
    pub(super) fn finding(&self, code: FindingCode, pointer: &str, message: impl Into<String>) -> Finding {
        let mut position = pointer;
        while !position.is_empty() && self.value.pointer(position).is_none() {
            position = position.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        let finding = Finding::new(code, message).at(self.file).pointer(pointer);
        match json::position(self.bytes, position) {
            Some((line, column)) => finding.line(line, Some(column)),
            None => finding,
        }
    }
}

/// A required field: its value, or why it has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field<T> {
    Missing,
    Wrong,
    Is(T),
}

impl<T> Field<T> {
    fn read(value: Option<&Value>, read: impl FnOnce(&Value) -> Option<T>) -> Self {
        match value.filter(|value| !value.is_null()) {
            None => Self::Missing,
            Some(value) => read(value).map_or(Self::Wrong, Self::Is),
        }
    }

    pub(super) const fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Missing | Self::Wrong => None,
        }
    }
}

/// A record of an execution: `last_execution`, or an element of one of the arrays.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key of the record in the file, with its index if that is an array.
    at: (&'static str, Option<usize>),
    pub(super) phase: Field<u32>,
    pub(super) step: Field<StepNumber>,
    pub(super) agent: Option<String>,
    pub(super) status: Field<String>,
    pub(super) verdict: Field<String>,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) commit: Option<String>,
    /// The findings of a review or the message of an error, one per element.
    pub(super) findings: Vec<String>,
    /// The unmet conditions of an approval; `None` if none are listed.
    pub(super) open_conditions: Option<Vec<String>>,
    pub(super) attempt: Option<u32>,
    pub(super) failures: Option<u32>,
    pub(super) has_decision: bool,
    /// The step that a failure returns to, if the caller chose it.
    pub(super) returns_to: Option<StepNumber>,
}

impl Entry {
    pub(super) fn position(&self) -> Option<StepPosition> {
        Some(StepPosition::new(*self.phase.get()?, *self.step.get()?))
    }

    /// Returns its JSON pointer.
    pub(super) fn pointer(&self) -> String {
        match self.at {
            (key, Some(at)) => format!("/{key}/{at}"),
            (key, None) => format!("/{key}"),
        }
    }

    fn read(value: &Value, at: (&'static str, Option<usize>), files: &FileSet) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let field = |key: &str| Field::read(value.get(key), |value| value.as_str().map(str::to_owned));
        let count = |key: &str| value.get(key).and_then(whole).and_then(|n| u32::try_from(n).ok());
        let agent = text("agent").map(|agent| clean_line(agent, 100));
        Self {
            at,
            phase: Field::read(value.get("phase"), phase),
            step: Field::read(value.get("step"), StepNumber::read),
            agent: agent.filter(|agent| !agent.is_empty()),
            status: field("status"),
            verdict: field("verdict"),
            timestamp: ["timestamp", "at"].into_iter().find_map(|key| stamp(value.get(key)?, files)),
            commit: text("commit_sha").filter(|commit| is_commit(commit)).map(str::to_owned),
            findings: ["error_message", "findings", "error"]
                .into_iter()
                .map(|key| texts(value.get(key)))
                .find(|texts| !texts.is_empty())
                .unwrap_or_default(),
            open_conditions: value.get("conditions").and_then(open_conditions),
            attempt: count("attempt").or_else(|| count("attempts")),
            failures: count("revision_count"),
            has_decision: value.get("decision").is_some_and(|decision| !decision.is_null()),
            returns_to: value.get("returns_to").and_then(StepNumber::read),
        }
    }
}

/// The state file.
#[derive(Debug)]
pub(super) struct State {
    pub(super) feature: Field<String>,
    pub(super) current_phase: Field<u32>,
    pub(super) current_step: Field<StepNumber>,
    pub(super) last: Field<Entry>,
    pub(super) total_phases: Option<u32>,
    pub(super) worktree_path: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) base_branch: Option<String>,
    pub(super) plan_reference: Option<String>,
    pub(super) phase_description: Option<String>,
    pub(super) description: Option<String>,
    pub(super) issues: Vec<String>,
    pub(super) completed: Vec<Entry>,
    pub(super) history: Vec<Entry>,
    pub(super) skipped: Vec<Entry>,
    pub(super) approvals: Vec<Entry>,
    /// The description of each phase.
    pub(super) phases: BTreeMap<u32, String>,
    pub(super) attempts: BTreeMap<StepPosition, u32>,
    pub(super) open_conditions: Option<Vec<String>>,
    pub(super) run_status: Option<String>,
    pub(super) run_status_reason: Option<String>,
    pub(super) paused_at: Option<Timestamp>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
    /// The moment of the last interruption that a resume recorded.
    pub(super) interrupted_at: Option<Timestamp>,
    pub(super) resumes: u32,
    /// The version of the file, if it is newer than [`SCHEMA_VERSION`].
    pub(super) newer: Option<u64>,
}

impl State {
    /// Reads the file and adds problems to `findings`.
    pub(super) fn read(source: &Source<'_>, findings: &mut Vec<Finding>) -> Self {
        let value = source.value;
        let mut reader = Reader { value, source, findings };
        let last = Field::read(value.get("last_execution"), |last| {
            last.is_object().then(|| Entry::read(last, ("last_execution", None), source.files))
        });
        reader.check_stamp("/last_execution/timestamp");
        let at = last.get().and_then(Entry::position);
        Self {
            feature: Field::read(value.get("feature_name"), |name| {
                name.as_str().map(|name| clean_line(name, 200)).filter(|name| !name.is_empty())
            }),
            current_phase: Field::read(value.get("current_phase"), phase),
            current_step: Field::read(value.get("current_step"), StepNumber::read),
            total_phases: reader.total(),
            worktree_path: reader.text("worktree_path"),
            branch: reader.text("branch_name").map(|name| name.trim_start_matches("refs/heads/").to_owned()),
            base_branch: reader.text("base_branch"),
            plan_reference: reader.text("plan_reference"),
            phase_description: reader.text("phase_description"),
            description: reader.text("description"),
            issues: reader.issues(),
            completed: reader.entries("completed_steps"),
            history: reader.entries("history"),
            skipped: reader.entries("skipped_steps"),
            approvals: reader.entries("approvals"),
            phases: reader.phases(),
            attempts: attempts(value.get("attempts"), at),
            open_conditions: value.get("conditions").and_then(open_conditions),
            run_status: reader.text("run_status"),
            run_status_reason: reader.text("run_status_reason"),
            paused_at: reader.stamp("paused_at"),
            started_at: reader.stamp("started_at").or_else(|| reader.stamp("created_at")),
            updated_at: reader.stamp("updated_at"),
            interrupted_at: last_interruption(source.files, value, "interrupted_at"),
            resumes: value.get("resume_count").and_then(whole).map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            newer: ["schema_version", "format"]
                .iter()
                .filter_map(|key| version(value.get(key)?))
                .find(|version| *version > SCHEMA_VERSION),
            last,
        }
    }
}

/// Tells whether an object is the state of a nine-step run: it has `last_execution.step`, or two of its distinctive fields
/// (docs/formats/nine-step.md#finding-runs: 45 public repositories use the same file names for other data).
pub(super) fn is_ours(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    value.pointer("/last_execution/step").is_some()
        || ["feature_name", "current_step", "last_execution"].iter().filter(|key| has(key)).count() > 1
}

/// Reads a date and time: a text, or a number of seconds or milliseconds.
fn stamp(value: &Value, files: &FileSet) -> Option<Timestamp> {
    match value {
        Value::String(text) => files.time(text),
        Value::Number(number) => files.time(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

struct Reader<'a, 's> {
    value: &'a Value,
    source: &'a Source<'s>,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Reader<'a, '_> {
    fn ignored(&mut self, pointer: &str, wanted: &str) {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        self.findings.push(self.source.finding(
            FindingCode::FieldIgnored,
            pointer,
            format!("`{name}` is ignored: it is not {wanted}"),
        ));
    }

    fn field(&self, key: &str) -> Option<&'a Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.field(key)? {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            Value::String(_) => None,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.ignored(&format!("/{key}"), "a text");
                None
            }
        }
    }

    fn total(&mut self) -> Option<u32> {
        let total = phase(self.field("total_phases")?);
        if total.is_none() {
            self.ignored("/total_phases", "a whole number from 1");
        }
        total
    }

    fn stamp(&mut self, key: &str) -> Option<Timestamp> {
        self.field(key)?;
        self.check_stamp(&format!("/{key}"))
    }

    fn check_stamp(&mut self, pointer: &str) -> Option<Timestamp> {
        let value = self.value.pointer(pointer)?;
        let stamp = stamp(value, self.source.files);
        if stamp.is_none() && !value.is_null() {
            self.ignored(pointer, "a date and time");
            if let Some(finding) = self.findings.last_mut() {
                finding.severity = Severity::Warning;
            }
        }
        stamp
    }

    fn issues(&mut self) -> Vec<String> {
        let Some(issues) = self.field("related_issues") else { return Vec::new() };
        match issues {
            Value::Array(issues) => issues.iter().filter_map(short_text).collect(),
            Value::String(text) => text
                .split(|c: char| c == ',' || c.is_whitespace())
                .filter(|part| !part.is_empty())
                .map(|part| clean_line(part, 100))
                .collect(),
            Value::Number(_) => short_text(issues).into_iter().collect(),
            Value::Null | Value::Bool(_) | Value::Object(_) => {
                self.ignored("/related_issues", "a list of issues");
                Vec::new()
            }
        }
    }

    fn entries(&mut self, key: &'static str) -> Vec<Entry> {
        let Some(value) = self.field(key) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.ignored(&format!("/{key}"), "a list");
            return Vec::new();
        };
        let mut entries = Vec::new();
        let mut unusable = 0;
        for (at, item) in items.iter().enumerate() {
            let entry = item.is_object().then(|| Entry::read(item, (key, Some(at)), self.source.files));
            match entry.filter(|entry| entry.position().is_some()) {
                Some(entry) => entries.push(entry),
                None => {
                    unusable += 1;
                    if unusable <= 3 {
                        self.ignored(&format!("/{key}/{at}"), "a record with a phase from 1 and one of the ten steps");
                    }
                }
            }
        }
        entries
    }

    fn phases(&mut self) -> BTreeMap<u32, String> {
        let describe = |value: &Value| {
            let text = ["description", "title", "name"].iter().find_map(|key| value.get(key)?.as_str());
            text.or_else(|| value.as_str()).map(str::to_owned)
        };
        let Some(phases) = self.field("phases") else { return BTreeMap::new() };
        let named = phases.as_object().into_iter().flatten();
        let named = named.filter_map(|(key, value)| Some((key.trim().parse().ok()?, describe(value)?)));
        let listed = (1..)
            .zip(phases.as_array().into_iter().flatten())
            .filter_map(|(phase, value)| Some((phase, describe(value)?)));
        named.chain(listed).collect()
    }
}

/// Reads a whole number: an integer, a float without a fraction, or either as a string.
pub(super) fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| whole_float(text.trim().parse().ok()?)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn whole_float(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    is_whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Reads a phase number, from 1.
pub(super) fn phase(value: &Value) -> Option<u32> {
    whole(value).and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

/// Tells whether a text is a git object name, and so safe to pass to git.
pub(super) fn is_commit(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn short_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(clean_line(text, 200)),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(_) => ["number", "id", "url"].iter().find_map(|key| short_text(value.get(key)?)),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}

/// Reads a text, or a list of texts or of objects that contain one.
fn texts(value: Option<&Value>) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::Object(_) => ["message", "description", "text", "issue", "finding", "title"]
            .iter()
            .find_map(|key| value.get(key)?.as_str())
            .map(str::to_owned),
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let texts: Vec<String> = match value {
        Some(Value::Array(list)) => list.iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    };
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

/// Reads the conditions not marked as met.
fn open_conditions(value: &Value) -> Option<Vec<String>> {
    let is_met = |item: &Value| {
        let is_true = |key: &str| item.get(key).and_then(Value::as_bool) == Some(true);
        ["met", "resolved", "done", "verified"].into_iter().any(is_true)
            || item.get("status").and_then(Value::as_str).is_some_and(|status| {
                matches!(status.to_lowercase().as_str(), "met" | "resolved" | "done" | "verified" | "completed")
            })
    };
    let text = |item: &Value| match item {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) if is_met(item) => None,
        Value::Object(_) => {
            let text = ["condition", "text", "description", "message"].iter().find_map(|key| item.get(key)?.as_str());
            Some(text.map_or_else(|| item.to_string(), str::to_owned))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Some(item.to_string()),
    };
    match value {
        Value::Array(items) => Some(items.iter().filter_map(text).collect()),
        Value::String(condition) if !condition.trim().is_empty() => Some(vec![condition.clone()]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

/// Reads `attempts`: one number for the last step, or numbers by `phase:step` or by step of the current phase.
fn attempts(value: Option<&Value>, last: Option<StepPosition>) -> BTreeMap<StepPosition, u32> {
    let count = |value: &Value| whole(value).and_then(|count| u32::try_from(count).ok());
    let Some(value) = value else { return BTreeMap::new() };
    match value {
        Value::Object(counts) => {
            let counts = counts.iter().map(|(key, value)| {
                let position = StepPosition::parse(key).or_else(|| {
                    StepNumber::parse(key).zip(last).map(|(step, last)| StepPosition::new(last.phase, step))
                });
                Some((position?, count(value)?))
            });
            counts.flatten().collect()
        }
        Value::Number(_) | Value::String(_) => last.zip(count(value)).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Array(_) => BTreeMap::new(),
    }
}

/// Reads the major part of `2`, `"2.1"`, `"nine-step/2"` or `{"major": 2}`.
fn version(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?.floor())),
        Value::String(text) => {
            let number = text.rsplit('/').next()?.trim().trim_start_matches(['v', 'V']);
            number.split('.').next()?.parse().ok()
        }
        Value::Object(_) => version(value.get("major")?),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}
