//! A lenient view of the state file: any field may be missing, have another type or another spelling.
//!
//! Makes no decision about the run. Unusable fields are reported with pointer and line.

use std::collections::BTreeMap;

use super::rules::{StepNumber, StepPosition};
use crate::{
    dialect::last_interruption,
    document::{Field, Kind, Node, Reader},
    model::{FileSet, Finding, FindingCode, Severity, Timestamp, clean_line, is_commit_hash},
};

/// The newest supported `schema_version`, written to new states.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// A required field: its value, or why it has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Required<T> {
    Missing,
    Wrong,
    Is(T),
}

impl<T> Required<T> {
    fn read(value: Option<&Node>, read: impl FnOnce(&Node) -> Option<T>) -> Self {
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
pub(super) struct NineStepEntry {
    /// The key of the record in the file, with its index if that is an array.
    at: (&'static str, Option<usize>),
    pub(super) phase: Required<u32>,
    pub(super) step: Required<StepNumber>,
    pub(super) agent: Option<String>,
    pub(super) status: Required<String>,
    pub(super) verdict: Required<String>,
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

impl NineStepEntry {
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

    fn read(value: &Node, at: (&'static str, Option<usize>), files: &FileSet) -> Self {
        let text = |key: &str| value.get(key).and_then(Node::as_str);
        let field = |key: &str| Required::read(value.get(key), |value| value.as_str().map(str::to_owned));
        let count = |key: &str| value.get(key).and_then(whole).and_then(|n| u32::try_from(n).ok());
        let agent = text("agent").map(|agent| clean_line(agent, 100));
        Self {
            at,
            phase: Required::read(value.get("phase"), phase),
            step: Required::read(value.get("step"), StepNumber::read),
            agent: agent.filter(|agent| !agent.is_empty()),
            status: field("status"),
            verdict: field("verdict"),
            timestamp: ["timestamp", "at"].into_iter().find_map(|key| stamp(value.get(key)?, files)),
            commit: text("commit_sha").filter(|commit| is_commit_hash(commit)).map(str::to_owned),
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
pub(super) struct NineStepState {
    pub(super) feature: Required<String>,
    pub(super) current_phase: Required<u32>,
    pub(super) current_step: Required<StepNumber>,
    pub(super) last: Required<NineStepEntry>,
    pub(super) total_phases: Option<u32>,
    pub(super) worktree_path: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) base_branch: Option<String>,
    pub(super) plan_reference: Option<String>,
    pub(super) phase_description: Option<String>,
    pub(super) description: Option<String>,
    pub(super) issues: Vec<String>,
    pub(super) completed: Vec<NineStepEntry>,
    pub(super) history: Vec<NineStepEntry>,
    pub(super) skipped: Vec<NineStepEntry>,
    pub(super) approvals: Vec<NineStepEntry>,
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
    /// The version of the file as written, if it is newer than [`SCHEMA_VERSION`].
    pub(super) newer: Option<String>,
}

impl NineStepState {
    /// Reads the file and adds problems to `findings`.
    pub(super) fn read(source: &Reader<'_>, findings: &mut Vec<Finding>) -> Self {
        let value = source.node();
        let text = |key| text(source.get(key));
        let last = Required::read(value.get("last_execution"), |last| {
            last.is_map().then(|| NineStepEntry::read(last, ("last_execution", None), source.files()))
        });
        stamp_of(source, "/last_execution/timestamp");
        let at = last.get().and_then(NineStepEntry::position);
        let state = Self {
            feature: Required::read(value.get("feature_name"), |name| {
                name.as_str().map(|name| clean_line(name, 200)).filter(|name| !name.is_empty())
            }),
            current_phase: Required::read(value.get("current_phase"), phase),
            current_step: Required::read(value.get("current_step"), StepNumber::read),
            total_phases: source.get("total_phases").read("a whole number from 1", phase),
            worktree_path: text("worktree_path"),
            branch: text("branch_name").map(|name| name.trim_start_matches("refs/heads/").to_owned()),
            base_branch: text("base_branch"),
            plan_reference: text("plan_reference"),
            phase_description: text("phase_description"),
            description: text("description"),
            issues: source.get("related_issues").read("a list of issues", issues).unwrap_or_default(),
            completed: entries(source, "completed_steps"),
            history: entries(source, "history"),
            skipped: entries(source, "skipped_steps"),
            approvals: entries(source, "approvals"),
            phases: source.get("phases").node().map(phases).unwrap_or_default(),
            attempts: attempts(value.get("attempts"), at),
            open_conditions: value.get("conditions").and_then(open_conditions),
            run_status: text("run_status"),
            run_status_reason: text("run_status_reason"),
            paused_at: stamp_of(source, "/paused_at"),
            started_at: stamp_of(source, "/started_at").or_else(|| stamp_of(source, "/created_at")),
            updated_at: stamp_of(source, "/updated_at"),
            interrupted_at: last_interruption(source.files(), value, "interrupted_at"),
            resumes: value.get("resume_count").and_then(whole).map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            newer: ["schema_version", "format"].iter().find_map(|key| source.get(key).newer_version(SCHEMA_VERSION)),
            last,
        };
        findings.extend(source.take_findings());
        state
    }
}

/// Tells whether an object is the state of a nine-step run: it has `last_execution.step`, or two of its distinctive fields
/// (docs/formats/nine-step.md#finding-runs: 45 public repositories use the same file names for other data).
pub(super) fn is_ours(value: &Node) -> bool {
    let has = |key: &str| value.get(key).is_some();
    value.at("/last_execution/step").is_some()
        || ["feature_name", "current_step", "last_execution"].iter().filter(|key| has(key)).count() > 1
}

/// Reads a date and time: a text, or a number of seconds or milliseconds.
fn stamp(value: &Node, files: &FileSet) -> Option<Timestamp> {
    match &value.kind {
        Kind::Text(text) | Kind::Number(text) => files.time(text),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    }
}

/// Reads a date and time at a pointer. One that cannot be read is a warning, because the age of the run depends on it.
fn stamp_of(source: &Reader<'_>, pointer: &str) -> Option<Timestamp> {
    let value = source.node().at(pointer).filter(|value| !value.is_null())?;
    let stamp = stamp(value, source.files());
    if stamp.is_none() {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        let message = format!("`{name}` is {}, not a point in time, and was ignored", value.what());
        let finding = source.finding(FindingCode::FieldIgnored, pointer, message);
        source.report(Finding { severity: Severity::Warning, ..finding });
    }
    stamp
}

fn text(field: Field<'_>) -> Option<String> {
    let text = field.read("text", |node| node.as_str().map(str::to_owned));
    text.filter(|text| !text.trim().is_empty())
}

fn issues(issues: &Node) -> Option<Vec<String>> {
    match &issues.kind {
        Kind::List(issues) => Some(issues.iter().filter_map(short_text).collect()),
        Kind::Text(text) => {
            let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
            Some(parts.map(|part| clean_line(part, 100)).collect())
        }
        Kind::Number(_) => Some(short_text(issues).into_iter().collect()),
        Kind::Null | Kind::Bool(_) | Kind::Map(_) => None,
    }
}

fn entries(source: &Reader<'_>, key: &'static str) -> Vec<NineStepEntry> {
    let mut entries = Vec::new();
    let mut unusable = 0;
    for (at, item) in source.get(key).items().into_iter().enumerate() {
        let object = item.node().filter(|item| item.is_map());
        let entry = object.map(|object| NineStepEntry::read(object, (key, Some(at)), source.files()));
        match entry.filter(|entry| entry.position().is_some()) {
            Some(entry) => entries.push(entry),
            None => {
                unusable += 1;
                if unusable <= 3 {
                    let message = format!(
                        "`{key}.{at}` was ignored: it is not a record with a phase from 1 and one of the ten steps"
                    );
                    source.report(source.finding(FindingCode::FieldIgnored, &format!("/{key}/{at}"), message));
                }
            }
        }
    }
    entries
}

/// Reads the descriptions of phases, listed or by number.
fn phases(phases: &Node) -> BTreeMap<u32, String> {
    let describe = |value: &Node| {
        let text = ["description", "title", "name"].iter().find_map(|key| value.get(key)?.as_str());
        text.or_else(|| value.as_str()).map(str::to_owned)
    };
    let named = phases.members().iter();
    let named = named.filter_map(|member| Some((member.key.trim().parse().ok()?, describe(&member.value)?)));
    let listed = (1..).zip(phases.items()).filter_map(|(phase, value)| Some((phase, describe(value)?)));
    named.chain(listed).collect()
}

/// Reads a whole number: an integer, a float without a fraction, or either as a string.
pub(super) fn whole(value: &Node) -> Option<u64> {
    match &value.kind {
        Kind::Number(text) | Kind::Text(text) => {
            text.trim().parse().ok().or_else(|| whole_float(text.trim().parse().ok()?))
        }
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    }
}

fn whole_float(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    is_whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Reads a phase number, from 1.
pub(super) fn phase(value: &Node) -> Option<u32> {
    whole(value).and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

fn short_text(value: &Node) -> Option<String> {
    match &value.kind {
        Kind::Text(text) => Some(clean_line(text, 200)),
        Kind::Number(number) => Some(number.clone()),
        Kind::Map(_) => ["number", "id", "url"].iter().find_map(|key| short_text(value.get(key)?)),
        Kind::Null | Kind::Bool(_) | Kind::List(_) => None,
    }
}

/// Reads a text, or a list of texts or of objects that contain one.
fn texts(value: Option<&Node>) -> Vec<String> {
    let text = |value: &Node| match &value.kind {
        Kind::Map(_) => ["message", "description", "text", "issue", "finding", "title"]
            .iter()
            .find_map(|key| value.get(key)?.as_str())
            .map(str::to_owned),
        Kind::Text(text) => Some(text.clone()),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) => None,
    };
    let texts: Vec<String> = match value {
        Some(list) if list.is_list() => list.items().iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    };
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

/// Reads the conditions not marked as met.
fn open_conditions(value: &Node) -> Option<Vec<String>> {
    let is_met = |item: &Node| {
        let is_true = |key: &str| item.get(key).and_then(Node::as_bool) == Some(true);
        ["met", "resolved", "done", "verified"].into_iter().any(is_true)
            || item.get("status").and_then(Node::as_str).is_some_and(|status| {
                matches!(status.to_lowercase().as_str(), "met" | "resolved" | "done" | "verified" | "completed")
            })
    };
    let text = |item: &Node| match &item.kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Map(_) if is_met(item) => None,
        Kind::Map(_) => {
            let text = ["condition", "text", "description", "message"].iter().find_map(|key| item.get(key)?.as_str());
            Some(text.map_or_else(|| item.to_string(), str::to_owned))
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) => Some(item.to_string()),
    };
    match &value.kind {
        Kind::List(items) => Some(items.iter().filter_map(text).collect()),
        Kind::Text(condition) if !condition.trim().is_empty() => Some(vec![condition.clone()]),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => None,
    }
}

/// Reads `attempts`: one number for the last step, or numbers by `phase:step` or by step of the current phase.
fn attempts(value: Option<&Node>, last: Option<StepPosition>) -> BTreeMap<StepPosition, u32> {
    let count = |value: &Node| whole(value).and_then(|count| u32::try_from(count).ok());
    let Some(value) = value else { return BTreeMap::new() };
    match &value.kind {
        Kind::Map(counts) => {
            let counts = counts.iter().map(|member| {
                let position = StepPosition::parse(&member.key).or_else(|| {
                    StepNumber::parse(&member.key).zip(last).map(|(step, last)| StepPosition::new(last.phase, step))
                });
                Some((position?, count(&member.value)?))
            });
            counts.flatten().collect()
        }
        Kind::Number(_) | Kind::Text(_) => last.zip(count(value)).into_iter().collect(),
        Kind::Null | Kind::Bool(_) | Kind::List(_) => BTreeMap::new(),
    }
}
