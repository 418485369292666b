//! What a record says besides its change, and the values of a session.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    model::{ClaudeWork, Entry, RelPath, Status, StepId, StepKind, Timestamp, sha256_hex},
    workflow::Workflow,
};

/// What the runner knows of an event besides the change itself. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The definition from here on: with the start, and with a resume of an edited file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<Outline>,
    /// Of a step that ended: the digest of its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
    /// Variables that it set; `null` removes one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) variables: BTreeMap<String, Captured>,
    /// Of a step that begins: those that build on it and lose their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reopens: Vec<StepId>,
    /// The items of a `foreach`, with the first record of one of its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Vec<Value>>,
    /// Of an item that ended: the steps of its group that left none of their outputs, counted from 0: skipped ones, and failures that the file
    /// tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<usize>,
    /// Of a `foreach` that begins again: the items that are done stay done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) keeps_items: bool,
    /// Of a part of a step with `validate`: 0 when its command begins, 1 when it passed, and 1 more for each `on_incomplete` that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<u32>,
    /// Of a failure: whether it is transient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retryable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// Of a step that never passed and counts as done: its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tolerated: Option<String>,
    /// Of a skipped step: its condition did not hold, or that of a step that it depends on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_unmet: bool,
    /// What stopped a step or the runner: `SIGINT`, `SIGTERM`, `SIGHUP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<String>,
    /// The child that runs the step, so that a resume can end one that outlived its runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) child: Option<ChildProcess>,
    /// Of a failed step that will be tried again: the tries so far and the time of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<RetryState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// Of a step or an item that ended: what its calls of `claude` did, failed ones included.
    #[serde(default, skip_serializing_if = "ClaudeWork::is_empty")]
    pub(crate) claude: ClaudeWork,
    /// HEAD of the working folder before the first step, for the git variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    /// Of a resume: a person lets the run go over its limits, which count anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) over_limits: bool,
    /// Of an agent's report: the step is not over, Piton does the rest of it. Of a begin: that begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) after_agent: bool,
    /// Of a whole state: it is an earlier one, which came back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) restores: bool,
    /// Of the end of a step that is done: it only adds to what is recorded about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) amends: bool,
    /// Of a failure: the handler of the step ran, and its agent tries again.
    #[serde(rename = "handled", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_handled: bool,
    /// What was said and seen with the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) entry: Option<Box<Entry>>,
    /// What happened to the worktree: `merged`, `kept`, `removed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
}

/// What the runner does besides the steps of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunnerAct {
    pub(crate) at: Timestamp,
    pub(crate) act: Act,
}

/// The kind of a [`RunnerAct`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// Files of the project are in the new worktree.
    WorktreeSetUp { copied: Vec<RelPath>, linked: Vec<RelPath> },
    /// The steps of `on_stop` begin.
    OnStopBegins,
    /// They are over, done or failed.
    OnStopEnds,
    /// A step of a group that must not run twice begins for an item of a `foreach`.
    ItemStepBegins { step: StepId, item: String, begun: BegunStep },
    /// The first `passed` steps of a group passed for an item of a `foreach`, the last of them with what its agents `said`; fewer than before where what they left is gone.
    ItemStep {
        step: StepId,
        item: String,
        passed: usize,
        /// How the last of them ended.
        #[serde(default = "completed", skip_serializing_if = "is_completed")]
        ended: Status,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        said: Vec<String>,
    },
}

impl Act {
    /// Returns the name used in the history.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::WorktreeSetUp { .. } => "worktree",
            Self::OnStopBegins => "on_stop",
            Self::OnStopEnds => "on_stop ended",
            Self::ItemStepBegins { .. } => "begin",
            Self::ItemStep { .. } => "finish",
        }
    }

    /// Returns the step that it belongs to.
    pub(crate) const fn step(&self) -> Option<&StepId> {
        match self {
            Self::WorktreeSetUp { .. } | Self::OnStopBegins | Self::OnStopEnds => None,
            Self::ItemStepBegins { step, .. } | Self::ItemStep { step, .. } => Some(step),
        }
    }
}

/// How many steps of a group are taken to have passed at most.
const MOST_STEPS: usize = 10_000;

/// How far an item has come for which a group of steps runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemProgress {
    /// The first of its steps, as far as they passed; empty once the item is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) passed: Vec<PassedStep>,
    /// The step that must not run twice and is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<BegunStep>,
    /// Once it is done: [`Facts::left_out`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<usize>,
}

/// A step of a group that must not run twice and began for an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BegunStep {
    /// From 1.
    pub(crate) number: usize,
    /// Its id, without that of the loop.
    pub(crate) name: String,
}

/// A step of a group that is over for an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PassedStep {
    /// Skipped by a condition, or failed where the file tolerates it.
    #[serde(default = "completed", skip_serializing_if = "is_completed")]
    pub(crate) ended: Status,
    /// What it set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) variables: BTreeMap<String, Captured>,
    /// What its agents said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) said: Vec<String>,
}

impl Default for PassedStep {
    fn default() -> Self {
        Self { ended: Status::Completed, variables: BTreeMap::new(), said: Vec::new() }
    }
}

impl ItemProgress {
    /// Leaves the first steps, of an edited group those that are the same, but all that are before a step that may have taken effect and must not
    /// run twice. `group` has their definitions.
    pub(super) fn go_back(&mut self, same: usize, group: &[Value]) {
        let is_once =
            |(step, passed): (&Value, &PassedStep)| step.get("idempotent").is_some() && passed.ended != Status::Skipped;
        let kept = group.iter().zip(&self.passed).rposition(is_once).map_or(0, |last| last + 1);
        if self.begun.is_none() {
            self.passed.truncate(same.max(kept));
        }
    }

    /// Takes over that so many steps passed, the last of them with what it left.
    pub(super) fn went_on(&mut self, passed: usize, last: PassedStep) {
        self.begun = None;
        self.passed.resize_with(passed.min(MOST_STEPS), PassedStep::default);
        if let Some(of_last) = self.passed.last_mut() {
            *of_last = last;
        }
    }
}

/// A process, identified by its id and start time, since ids are reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChildProcess {
    pub(crate) pid: u32,
    pub(crate) started: String,
}

/// The tries of a step so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetryState {
    pub(crate) attempts: u32,
    pub(crate) next_at: Timestamp,
    /// It waits for the end of a usage limit.
    #[serde(rename = "usage_limit", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_usage_limit: bool,
}

/// The value of a variable, or the file that holds a large one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Captured {
    /// A file of the session, for values over 1 MiB.
    Stored {
        stored: RelPath,
        bytes: u64,
        sha256: String,
    },
    Inline {
        value: Value,
    },
}

/// A workflow as a session records it: enough to report progress when the file is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outline {
    pub(crate) name: String,
    /// Digest of the bytes of the file.
    pub(crate) sha256: String,
    /// Digest of everything outside the steps: environment, secrets.
    pub(crate) head: String,
    pub(crate) steps: Vec<OutlineStep>,
}

/// One step of an outline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutlineStep {
    pub(crate) id: StepId,
    pub(crate) title: String,
    /// The title of the group that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// `None` in records from before there were dependencies: the step before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) depends_on: Option<Vec<StepId>>,
    /// The steps with which it is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) needs: Vec<StepId>,
    /// `Step::canonical`.
    pub(crate) definition: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) probe: Option<String>,
}

impl Outline {
    /// Returns the steps that depend on a step, at any distance.
    pub(crate) fn behind(&self, step: &StepId) -> Vec<&StepId> {
        let (mut behind, mut found) = (BTreeSet::from([step]), Vec::new());
        loop {
            let known = behind.len();
            let mut before: Option<&StepId> = None;
            for step in &self.steps {
                let needs = step.depends_on.as_deref().or(before.map(std::slice::from_ref)).unwrap_or_default();
                before = Some(&step.id);
                if needs.iter().any(|need| behind.contains(need)) && behind.insert(&step.id) {
                    found.push(&step.id);
                }
            }
            if behind.len() == known {
                return found;
            }
        }
    }

    /// Returns the digest of the definition of a step.
    pub(super) fn digest_of(&self, id: &StepId) -> Option<String> {
        self.steps.iter().find(|step| step.id == *id).map(OutlineStep::digest)
    }

    /// Returns the outline of a workflow; `sha256` is the digest of its file.
    pub(crate) fn of(workflow: &Workflow, sha256: String) -> Self {
        let steps = workflow.steps.iter().map(|step| OutlineStep {
            id: step.id.clone(),
            title: step.title.clone(),
            group: step.group.as_ref().map(|group| group.title.clone().unwrap_or_else(|| group.id.clone())),
            depends_on: Some(step.depends_on.iter().map(|need| need.id.clone()).collect()),
            needs: step.needs.iter().map(|need| need.id.clone()).collect(),
            definition: step.canonical.clone(),
            probe: step.probe.as_ref().map(ToString::to_string),
        });
        Self { name: workflow.name.clone(), sha256, head: workflow.head_digest(), steps: steps.collect() }
    }
}

impl OutlineStep {
    /// Returns the digest of its definition, as `Step::digest` does.
    pub(crate) fn digest(&self) -> String {
        sha256_hex(self.definition.to_string().as_bytes())
    }

    /// Returns the kind of the step.
    pub(crate) fn kind(&self) -> StepKind {
        match (self.definition.get("gate"), self.reviewed()) {
            (Some(_), _) => StepKind::Gate,
            (None, Some(_)) => StepKind::Review,
            (None, None) => StepKind::Work,
        }
    }

    /// Returns the step that it reviews.
    pub(crate) fn reviewed(&self) -> Option<StepId> {
        reviewed(&self.definition)
    }

    /// Tells whether it runs when the run ends.
    pub(crate) fn is_final(&self) -> bool {
        self.definition.get("at_end").is_some()
    }

    /// Tells whether an agent does it, or a person at a gate, and not a command.
    pub(crate) fn is_for_an_agent(&self) -> bool {
        is_for_an_agent(&self.definition)
    }
}

/// Tells whether an agent does a step of this definition, or a person at a gate, and not a command.
pub(crate) fn is_for_an_agent(definition: &Value) -> bool {
    ["agent", "gate"].iter().any(|key| definition.get(key).is_some())
}

/// Tells whether a step of this definition is a loop.
pub(crate) fn is_loop(definition: &Value) -> bool {
    definition.get("foreach").is_some()
}

/// Returns the files and folders that a step of this definition reads.
pub(super) fn uses_of(definition: &Value) -> Vec<RelPath> {
    let uses = definition.get("uses").and_then(Value::as_array).into_iter().flatten();
    uses.filter_map(|path| RelPath::parse(path.as_str()?).ok()).collect()
}

/// Returns the step that a step of this definition reviews.
pub(crate) fn reviewed(definition: &Value) -> Option<StepId> {
    definition.get("reviews")?.as_str().map(StepId::new)
}

const fn completed() -> Status {
    Status::Completed
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_completed(status: &Status) -> bool {
    *status == Status::Completed
}
