//! A lenient view of the state file: every field may be missing, be of another type, or be spelled another way.
//!
//! Nothing here decides where the run stands. What could not be used is reported with its pointer and line.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::rules::Place;
use super::rules::StepNumber;
use crate::dialect::json::Json;
use crate::dialect::json::Kind;
use crate::dialect::json::Tape;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::Timestamp;
use crate::model::clean_line;

/// The newest `schema_version` that is written.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// Is the file that is being read, for the places in findings.
pub(super) struct Source<'a> {
    pub(super) files: &'a FileSet,
    pub(super) file: &'a RelPath,
    pub(super) tape: &'a Tape<'a>,
}

impl Source<'_> {
    /// Makes a finding about the value at a pointer, or about its nearest parent when there is no such value.
    pub(super) fn finding(&self, code: FindingCode, pointer: &str, message: impl Into<String>) -> Finding {
        let mut place = pointer;
        while !place.is_empty() && self.tape.root().pointer(place).is_none() {
            place = place.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        let finding = Finding::new(code, message).at(self.file).pointer(pointer);
        match self.tape.position(place) {
            Some((line, column)) => finding.line(line, Some(column)),
            None => finding,
        }
    }
}

/// Is a field that must be there: what it holds, or why it holds nothing usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field<T> {
    Missing,
    Wrong,
    Is(T),
}

impl<T> Field<T> {
    fn read(value: Option<Json<'_>>, read: impl FnOnce(Json<'_>) -> Option<T>) -> Self {
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

/// Is one record of an execution: `last_execution`, or an element of one of the arrays.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key of the file under which it stands, and its place there if that is a list.
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
    /// Conditions of an approval that are not met yet; `None` when none are listed.
    pub(super) open_conditions: Option<Vec<String>>,
    pub(super) attempt: Option<u32>,
    pub(super) failures: Option<u32>,
    pub(super) has_decision: bool,
}

impl Entry {
    pub(super) fn place(&self) -> Option<Place> {
        Some(Place::new(*self.phase.get()?, *self.step.get()?))
    }

    /// Returns its JSON pointer.
    pub(super) fn pointer(&self) -> String {
        match self.at {
            (key, Some(at)) => format!("/{key}/{at}"),
            (key, None) => format!("/{key}"),
        }
    }

    fn read(value: Json<'_>, at: (&'static str, Option<usize>), files: &FileSet) -> Self {
        let [phase_said, step, agent, status, verdict, timestamp, at_said, commit] =
            value.pick(["phase", "step", "agent", "status", "verdict", "timestamp", "at", "commit_sha"]);
        let [message, findings, error, conditions, attempt, attempts, revisions, decision] = value.pick([
            "error_message",
            "findings",
            "error",
            "conditions",
            "attempt",
            "attempts",
            "revision_count",
            "decision",
        ]);
        let text = |value: Option<Json<'_>>| Field::read(value, |value| value.as_str().map(Cow::into_owned));
        let count = |value: Option<Json<'_>>| value.and_then(whole).and_then(|n| u32::try_from(n).ok());
        let stamp = timestamp.and_then(Json::as_str).or_else(|| at_said.and_then(Json::as_str));
        let agent = agent.and_then(Json::as_str).map(|agent| clean_line(&agent, 100));
        let commit = commit.and_then(Json::as_str).filter(|commit| is_commit(commit));
        Self {
            at,
            phase: Field::read(phase_said, phase),
            step: Field::read(step, StepNumber::read),
            agent: agent.filter(|agent| !agent.is_empty()),
            status: text(status),
            verdict: text(verdict),
            timestamp: stamp.and_then(|stamp| files.time(&stamp)),
            commit: commit.map(Cow::into_owned),
            findings: [message, findings, error]
                .into_iter()
                .map(texts)
                .find(|texts| !texts.is_empty())
                .unwrap_or_default(),
            open_conditions: conditions.and_then(open_conditions),
            attempt: count(attempt).or_else(|| count(attempts)),
            failures: count(revisions),
            has_decision: decision.is_some_and(|decision| !decision.is_null()),
        }
    }
}

/// Is the file.
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
    /// What each phase is about.
    pub(super) phases: BTreeMap<u32, String>,
    pub(super) attempts: BTreeMap<Place, u32>,
    pub(super) open_conditions: Option<Vec<String>>,
    pub(super) run_status: Option<String>,
    pub(super) run_status_reason: Option<String>,
    pub(super) paused_at: Option<Timestamp>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
    pub(super) resumes: u32,
    /// The version that the file states, when it is newer than ours.
    pub(super) newer: Option<u64>,
}

impl State {
    /// Reads the file; findings go to `findings`.
    pub(super) fn read(source: &Source<'_>, findings: &mut Vec<Finding>) -> Self {
        let value = source.tape.root();
        let mut reader = Reader { value, source, findings };
        let last = Field::read(value.get("last_execution"), |last| {
            last.is_object().then(|| Entry::read(last, ("last_execution", None), source.files))
        });
        reader.check_stamp("/last_execution/timestamp");
        let at = last.get().and_then(Entry::place);
        Self {
            feature: Field::read(value.get("feature_name"), |name| {
                name.as_str().map(|name| clean_line(&name, 200)).filter(|name| !name.is_empty())
            }),
            current_phase: Field::read(value.get("current_phase"), phase),
            current_step: Field::read(value.get("current_step"), StepNumber::read),
            total_phases: reader.total(),
            worktree_path: reader.text("worktree_path"),
            branch: reader.text("branch_name"),
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
            resumes: value.get("resume_count").and_then(whole).map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            newer: ["schema_version", "format"]
                .iter()
                .filter_map(|key| version(value.get(key)?))
                .find(|version| *version > SCHEMA_VERSION),
            last,
        }
    }
}

/// Tells whether an object is the state of a nine-step run: `last_execution.step`, or two of the fields that only it has
/// (docs/formats/nine-step.md#finding-runs: 45 public repositories keep other things under the same names).
pub(super) fn is_ours(value: Json<'_>) -> bool {
    let has = |key: &str| value.get(key).is_some();
    value.pointer("/last_execution/step").is_some()
        || ["feature_name", "current_step", "last_execution"].iter().filter(|key| has(key)).count() > 1
}

struct Reader<'a, 's> {
    value: Json<'a>,
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

    fn field(&self, key: &str) -> Option<Json<'a>> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.field(key)?.kind() {
            Kind::String(text) if !text.trim().is_empty() => Some(text.into_owned()),
            Kind::String(_) => None,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Array | Kind::Object => {
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
        let value = pointer[1..].split('/').try_fold(self.value, Json::get)?;
        let stamp = value.as_str().and_then(|text| self.source.files.time(&text));
        if stamp.is_none() && !value.is_null() {
            self.ignored(pointer, "a date and time");
        }
        stamp
    }

    fn issues(&mut self) -> Vec<String> {
        let Some(issues) = self.field("related_issues") else { return Vec::new() };
        match issues.kind() {
            Kind::Array => issues.items().filter_map(short_text).collect(),
            Kind::String(text) => text
                .split(|c: char| c == ',' || c.is_whitespace())
                .filter(|part| !part.is_empty())
                .map(|part| clean_line(part, 100))
                .collect(),
            Kind::Number(_) => short_text(issues).into_iter().collect(),
            Kind::Null | Kind::Bool(_) | Kind::Object => {
                self.ignored("/related_issues", "a list of issues");
                Vec::new()
            }
        }
    }

    fn entries(&mut self, key: &'static str) -> Vec<Entry> {
        let Some(value) = self.field(key) else { return Vec::new() };
        if !value.is_array() {
            self.ignored(&format!("/{key}"), "a list");
            return Vec::new();
        }
        let mut entries = Vec::new();
        let mut unusable = 0;
        for (at, item) in value.items().enumerate() {
            let entry = item.is_object().then(|| Entry::read(item, (key, Some(at)), self.source.files));
            match entry.filter(|entry| entry.place().is_some()) {
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
        let describe = |value: Json<'_>| {
            let text = ["description", "title", "name"].iter().find_map(|key| value.get(key)?.as_str());
            text.or_else(|| value.as_str()).map(Cow::into_owned)
        };
        let Some(phases) = self.field("phases") else { return BTreeMap::new() };
        let named = phases.members().filter_map(|(key, value)| Some((phase_key(key)?, describe(value)?)));
        let listed = (1..).zip(phases.items()).filter_map(|(phase, value)| Some((phase, describe(value)?)));
        named.chain(listed).collect()
    }
}

/// Reads a whole number: an integer, a float without a fraction, or either as a string.
pub(super) fn whole(value: Json<'_>) -> Option<u64> {
    match value.kind() {
        Kind::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?)),
        Kind::String(text) => text.trim().parse().ok().or_else(|| whole_float(text.trim().parse().ok()?)),
        Kind::Null | Kind::Bool(_) | Kind::Array | Kind::Object => None,
    }
}

fn whole_float(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    is_whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Reads the number of a phase, from 1.
pub(super) fn phase(value: Json<'_>) -> Option<u32> {
    whole(value).and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

/// Tells whether a text is an object name of git, so that it can be handed to git as one.
pub(super) fn is_commit(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn phase_key(key: Json<'_>) -> Option<u32> {
    key.as_str()?.trim().parse().ok()
}

fn short_text(value: Json<'_>) -> Option<String> {
    match value.kind() {
        Kind::String(text) => Some(clean_line(&text, 200)),
        Kind::Number(number) => Some(number.to_string()),
        Kind::Object => ["number", "id", "url"].iter().find_map(|key| short_text(value.get(key)?)),
        Kind::Null | Kind::Bool(_) | Kind::Array => None,
    }
}

/// Reads a text, or a list of texts or of objects that hold one.
fn texts(value: Option<Json<'_>>) -> Vec<String> {
    let text = |value: Json<'_>| match value.kind() {
        Kind::Object => ["message", "description", "text", "issue", "finding", "title"]
            .iter()
            .find_map(|key| value.get(key)?.as_str())
            .map(Cow::into_owned),
        Kind::String(text) => Some(text.into_owned()),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Array => None,
    };
    let texts: Vec<String> = match value {
        Some(list) if list.is_array() => list.items().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    };
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

/// Reads the conditions that are not marked as met.
fn open_conditions(value: Json<'_>) -> Option<Vec<String>> {
    let is_met = |item: Json<'_>| {
        let is_true = |key: &str| item.get(key).is_some_and(|flag| matches!(flag.kind(), Kind::Bool(true)));
        ["met", "resolved", "done", "verified"].into_iter().any(is_true)
            || item.get("status").and_then(Json::as_str).is_some_and(|status| {
                matches!(status.to_lowercase().as_str(), "met" | "resolved" | "done" | "verified" | "completed")
            })
    };
    let text = |item: Json<'_>| match item.kind() {
        Kind::String(text) => Some(text.into_owned()),
        Kind::Object if is_met(item) => None,
        Kind::Object => {
            let text = ["condition", "text", "description", "message"].iter().find_map(|key| item.get(key)?.as_str());
            Some(text.map_or_else(|| item.to_value().to_string(), Cow::into_owned))
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Array => Some(item.to_value().to_string()),
    };
    match value.kind() {
        Kind::Array => Some(value.items().filter_map(text).collect()),
        Kind::String(condition) if !condition.trim().is_empty() => Some(vec![condition.into_owned()]),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Object => None,
    }
}

/// Reads `attempts`: one number for the step that ran last, or numbers by `phase:step` or by step of the current phase.
fn attempts(value: Option<Json<'_>>, last: Option<Place>) -> BTreeMap<Place, u32> {
    let count = |value: Json<'_>| whole(value).and_then(|count| u32::try_from(count).ok());
    let Some(value) = value else { return BTreeMap::new() };
    match value.kind() {
        Kind::Object => {
            let counts = value.members().map(|(key, value)| {
                let key = key.as_str()?;
                let place = Place::parse(&key)
                    .or_else(|| StepNumber::parse(&key).zip(last).map(|(step, last)| Place::new(last.phase, step)));
                Some((place?, count(value)?))
            });
            counts.flatten().collect()
        }
        Kind::Number(_) | Kind::String(_) => last.zip(count(value)).into_iter().collect(),
        Kind::Null | Kind::Bool(_) | Kind::Array => BTreeMap::new(),
    }
}

/// Reads the major part of `2`, `"2.1"`, `"nine-step/2"` or `{"major": 2}`.
fn version(value: Json<'_>) -> Option<u64> {
    match value.kind() {
        Kind::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?.floor())),
        Kind::String(text) => {
            let number = text.rsplit('/').next()?.trim().trim_start_matches(['v', 'V']);
            number.split('.').next()?.parse().ok()
        }
        Kind::Object => version(value.get("major")?),
        Kind::Null | Kind::Bool(_) | Kind::Array => None,
    }
}
