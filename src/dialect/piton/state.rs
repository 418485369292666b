//! The state of a session, computed from its records. Pure.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::{Act, Captured, ChildProcess, Facts, ItemProgress, Outline, PassedStep, RetryState, RunnerAct};
use crate::{
    engine::share::LastRecords,
    model::{Change, ChangeKind, ClaudeWork, Outcome, ReviewVerdict, Status, StepId, Timestamp},
};

/// The state after all records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Number of the last record.
    pub(crate) seq: u64,
    pub(crate) run: RunState,
    pub(crate) workflow: Outline,
    pub(crate) steps: BTreeMap<String, Box<StepState>>,
    pub(crate) variables: BTreeMap<String, Captured>,
    #[serde(rename = "state")]
    pub(crate) execution: ExecutionState,
    /// Which record each step stands at.
    #[serde(default)]
    pub(crate) standing: LastRecords,
}

/// The state of the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunState {
    pub(crate) status: RunPhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) resumes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub(crate) spent: Spent,
    /// The steps of the merge that are done, each with the digest of its definition, from when the merge begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) merge: Option<BTreeMap<String, String>>,
    /// Files of the project are in the worktree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_set_up: bool,
    /// The steps of `on_stop` began and are not over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_stopping: bool,
}

/// What a run has spent, since a person last let it go over its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) time_ms: u64,
    pub(crate) cost_usd: f64,
    /// Tries of steps.
    pub(crate) attempts: u32,
    /// When the step began that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

impl Spent {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the time that steps ran until now.
    pub(crate) fn time(&self, now: Timestamp) -> Duration {
        let running = self.since.map_or(Duration::ZERO, |since| now.time_left(since));
        Duration::from_millis(self.time_ms).saturating_add(running)
    }

    fn stop(&mut self, now: Timestamp) {
        self.time_ms = u64::try_from(self.time(now).as_millis()).unwrap_or(u64::MAX);
        self.since = None;
    }
}

/// The status of the run as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunPhase {
    #[default]
    Active,
    Paused,
    Completed,
    Aborted,
}

/// The state of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepState {
    pub(crate) status: Status,
    #[serde(default)]
    pub(crate) attempts: u32,
    #[serde(default)]
    pub(crate) failures: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
    /// The error of a step that never passed and counts as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tolerated: Option<String>,
    /// It was skipped by its condition, or that of a step that it depends on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_unmet: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retryable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// HEAD before its first try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) child: Option<ChildProcess>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<RetryState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Vec<Value>>,
    /// What its calls of `claude` did, over all attempts.
    #[serde(default, skip_serializing_if = "ClaudeWork::is_empty")]
    pub(crate) claude: ClaudeWork,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parts: BTreeMap<String, Status>,
    /// How far items have come, where a group of steps runs for each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) item_progress: BTreeMap<String, ItemProgress>,
    /// How far the current attempt at a step with `validate` is ([`Facts::measured`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) measured: u32,
    /// Why items of a `foreach` failed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) part_errors: BTreeMap<String, String>,
    /// The variable that each part set last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) part_outputs: BTreeMap<String, (String, Value)>,
    /// The agent that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What its agent reported, until Piton did the rest of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reported: Option<Box<Outcome>>,
    /// How often its handler ran and its agent tried again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) handled: u32,
    /// The last answer at a gate that offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<ReviewVerdict>,
    /// The conditions of the verdict that are not met yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<String>,
    /// It took effect, must not run twice, and is not in the workflow file any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_gone_act: bool,
    /// A step that it builds on is done again since it was done, and it must not run twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_doubted: bool,
    /// When it lost its result to a step that it builds on: older outputs are no proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reopened_at: Option<Timestamp>,
}

/// The execution state of Specification 186 (docs/formats/prodigy.md#the-four-states).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ExecutionState {
    /// Nothing was done yet.
    #[default]
    Created,
    BeforeStep {
        step: StepId,
    },
    Completed {
        step: StepId,
    },
    Failed {
        step: StepId,
        error: String,
        retryable: bool,
    },
    Interrupted {
        step: Option<StepId>,
        in_progress: bool,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How many errors of one step are kept, the newest.
const ERRORS: usize = 10;

impl State {
    /// Returns the steps that a condition left out and that depend on a step: once that begins again, their conditions are asked again.
    pub(crate) fn left_out_behind(&self, begun: &StepId) -> Vec<StepId> {
        let is_left_out = |id: &StepId| self.steps.get(id.as_str()).is_some_and(|step| step.is_unmet);
        if self.steps.values().all(|step| !step.is_unmet) {
            return Vec::new();
        }
        self.workflow.behind(begun).into_iter().filter(|id| is_left_out(id)).cloned().collect()
    }

    /// Returns the newer of the state of the journal and that of a snapshot.
    pub(crate) fn newest(journal: Self, snapshot: Option<Self>) -> Self {
        snapshot.filter(|snapshot| snapshot.seq > journal.seq).unwrap_or(journal)
    }

    pub(super) fn change(&mut self, change: &Change, facts: &Facts) {
        self.run.changed_at = Some(change.at);
        match &change.kind {
            ChangeKind::Begin { step, part, agent, attempt, .. } => {
                for left_out in self.left_out_behind(step) {
                    self.steps.remove(left_out.as_str());
                }
                self.begin(step, part.as_ref(), (*attempt, change.at), facts);
                if agent.is_some() {
                    self.step(step).agent.clone_from(agent);
                }
            }
            ChangeKind::Finish(outcome) => {
                let outcome = &self.with_summary(outcome);
                self.finish(outcome, change.at, facts);
                if outcome.part.is_none() {
                    let verdict = outcome.verdict.map(|verdict| verdict.to_string());
                    self.leave(&outcome.step, [("summary", outcome.summary.clone()), ("verdict", verdict)]);
                    let name = format!("{}.result", outcome.step);
                    let value = outcome.result.clone();
                    self.variables.extend(value.map(|value| (name, Captured::Inline { value })));
                }
            }
            ChangeKind::Approve { step, note, choice, .. } => {
                self.leave(step, [("note", note.clone()), ("choice", choice.clone())]);
                self.set_phase(RunPhase::Active, None);
                let digest = self.workflow.digest_of(step);
                let state = self.step(step);
                *state = StepState {
                    status: Status::Completed,
                    finished_at: Some(change.at),
                    digest,
                    choice: choice.clone(),
                    attempts: state.attempts,
                    started_at: state.started_at,
                    ..StepState::default()
                };
                self.execution = ExecutionState::Completed { step: step.clone() };
            }
            ChangeKind::Skip { step, part: Some(part), .. } => {
                self.step(step).skip_part(part);
            }
            ChangeKind::Skip { step, part: None, .. } => {
                let state = self.step(step);
                state.status = Status::Skipped;
                state.is_doubted = false;
                state.is_unmet = facts.is_unmet;
                state.finished_at = Some(change.at);
                self.execution = ExecutionState::Completed { step: step.clone() };
            }
            ChangeKind::Pause { reason } => {
                self.go_on(RunPhase::Paused, reason.as_ref());
                self.run.spent.stop(change.at);
                self.execution = self.interrupted();
            }
            ChangeKind::Abort { reason, .. } => self.set_phase(RunPhase::Aborted, reason.as_ref()),
            ChangeKind::Complete { note } => self.set_phase(RunPhase::Completed, note.as_ref()),
            ChangeKind::Resume { settled, .. } => {
                self.set_phase(RunPhase::Active, None);
                // Of a runner that was killed.
                self.run.spent.since = None;
                self.run.resumes = self.run.resumes.saturating_add(1);
                for (step, status) in settled {
                    let digest = self.workflow.digest_of(step);
                    let state = self.step(step);
                    state.status = *status;
                    state.finished_at = Some(change.at);
                    state.digest = digest;
                }
            }
            // A session is restored from its journal, neither rebuilt nor rolled back, so no record has these changes.
            ChangeKind::RollBack(_) | ChangeKind::Repair { .. } => {}
            ChangeKind::Start(_) => {
                // The first record of a session, or of one that is restarted.
                let (resumes, standing) = (self.run.resumes, std::mem::take(&mut self.standing));
                *self = Self { run: RunState { resumes, ..RunState::default() }, standing, ..Self::default() };
                self.run.started_at = Some(change.at);
                self.run.changed_at = Some(change.at);
            }
        }
    }

    pub(super) fn runner_did(&mut self, done: &RunnerAct, facts: &Facts) {
        self.run.changed_at = Some(done.at);
        match &done.act {
            Act::WorktreeSetUp { .. } => self.run.is_set_up = true,
            Act::OnStopBegins => self.run.is_stopping = true,
            Act::OnStopEnds => self.run.is_stopping = false,
            Act::ItemStepBegins { step, item, begun } => {
                self.step(step).item_progress.entry(item.clone()).or_default().begun = Some(begun.clone());
            }
            Act::ItemStep { step, item, passed, ended, said } => {
                self.run.spent.cost_usd += facts.claude.cost_usd;
                let step = self.step(step);
                step.claude.add(&facts.claude);
                let last = PassedStep { ended: *ended, variables: facts.variables.clone(), said: said.clone() };
                step.item_progress.entry(item.clone()).or_default().went_on(*passed, last);
            }
        }
    }

    pub(super) fn facts(&mut self, facts: &Facts) {
        for (name, value) in &facts.variables {
            if *value == (Captured::Inline { value: Value::Null }) {
                self.variables.remove(name);
            } else {
                self.variables.insert(name.clone(), value.clone());
            }
        }
        if self.run.head.is_none() {
            self.run.head.clone_from(&facts.head);
        }
        if facts.over_limits {
            self.run.spent = Spent::default();
        }
        if facts.worktree.is_some() {
            self.run.worktree.clone_from(&facts.worktree);
        }
    }

    /// Replaces the definition. The items of a loop that passed stay done, and the others go on at their first step that changed.
    pub(super) fn define(&mut self, facts: &Facts) {
        let Some(definition) = &facts.definition else { return };
        self.keep_acts(definition);
        let old = std::mem::replace(&mut self.workflow, definition.clone());
        let old: BTreeMap<&str, &Value> = old.steps.iter().map(|step| (step.id.as_str(), &step.definition)).collect();
        for step in &definition.steps {
            let is_changed = old.get(step.id.as_str()).is_some_and(|old| **old != step.definition);
            if let Some(state) = self.steps.get_mut(step.id.as_str()).filter(|_| is_changed) {
                state.measured = 0;
                let of_loop = |definition: &Value| definition.pointer("/foreach/do").and_then(Value::as_array).cloned();
                let of_old = old.get(step.id.as_str()).and_then(|old| of_loop(old));
                if let (Some(old), Some(now)) = (of_old, of_loop(&step.definition)) {
                    let same = old.iter().zip(&now).take_while(|(old, now)| old == now).count();
                    state.item_progress.values_mut().for_each(|item| item.go_back(same, &old));
                    continue;
                }
                state.parts.clear();
                state.part_errors.clear();
                state.item_progress.clear();
                state.items = None;
            }
        }
    }

    pub(super) fn step(&mut self, id: &StepId) -> &mut StepState {
        self.steps.entry(id.as_str().to_owned()).or_default()
    }

    fn set_phase(&mut self, phase: RunPhase, reason: Option<&String>) {
        self.run.status = phase;
        self.run.reason = reason.cloned();
    }

    /// Sets the phase, except of a run that was given up: it stays so while its last steps run.
    fn go_on(&mut self, phase: RunPhase, reason: Option<&String>) {
        if self.run.status != RunPhase::Aborted {
            self.set_phase(phase, reason);
        }
    }

    /// Returns the errors of failed reviews of a step, which outlive the records of the reviews.
    fn review_errors(&self, id: &StepId) -> Vec<String> {
        let reviews = self.workflow.steps.iter().filter(|step| step.reviewed().as_ref() == Some(id));
        let failed = reviews.filter_map(|review| self.steps.get(review.id.as_str()));
        let failed = failed.filter(|review| review.status == Status::Failed);
        failed.filter_map(|review| review.errors.last().cloned()).collect()
    }

    fn reopen(&mut self, id: &StepId, at: Timestamp) {
        self.moved(id, Some(at));
    }

    /// Takes back what a step did, and its attempt that goes on.
    pub(super) fn moved(&mut self, id: &StepId, at: Option<Timestamp>) {
        let step = self.step(id);
        *step = StepState {
            attempts: step.attempts,
            failures: step.failures,
            agent: step.agent.take(),
            head: step.head.take(),
            // What was spent stays spent.
            claude: std::mem::take(&mut step.claude),
            reopened_at: at,
            ..StepState::default()
        };
    }

    fn begin(&mut self, id: &StepId, part: Option<&String>, (attempt, at): (u32, Timestamp), facts: &Facts) {
        self.go_on(RunPhase::Active, None);
        // Its work is to be merged as well.
        self.run.merge = None;
        if part.is_none() {
            let is_try = u32::from(!facts.after_agent);
            self.run.spent.attempts = self.run.spent.attempts.saturating_add(is_try);
            // The time in which several run counts once.
            let is_first = self.steps.values().all(|step| step.status != Status::InProgress);
            if is_first || self.run.spent.since.is_none() {
                self.run.spent.since = Some(at);
            }
        }
        let objections = self.review_errors(id);
        for reopened in &self.losing_their_result(&facts.reopens) {
            self.reopen(reopened, at);
        }
        let step = self.step(id);
        step.errors.extend(objections);
        step.reopened_at = None;
        if part.is_none() || step.status != Status::InProgress {
            step.is_doubted = false;
            if step.status == Status::Completed && !facts.keeps_items {
                step.parts.clear();
                step.part_errors.clear();
                step.part_outputs.clear();
                step.item_progress.clear();
                step.items = None;
            }
            if step.status != Status::InProgress {
                step.measured = 0;
            }
            let is_same = matches!(step.status, Status::InProgress | Status::Failed) || facts.keeps_items;
            if !(is_same || facts.after_agent) || step.head.is_none() {
                step.head.clone_from(&facts.head);
            }
            step.status = Status::InProgress;
            if !facts.after_agent {
                step.reported = None;
                step.attempts = attempt.max(1);
                step.started_at = Some(at);
            }
            step.finished_at = None;
            step.tolerated = None;
            step.retryable = None;
            step.exit_code = None;
        }
        step.child.clone_from(&facts.child);
        if facts.items.is_some() {
            step.items.clone_from(&facts.items);
        }
        step.measured = facts.measured.unwrap_or(step.measured);
        if let Some(part) = part {
            step.parts.insert(part.clone(), Status::InProgress);
            step.part_errors.remove(part);
        }
        self.execution = ExecutionState::BeforeStep { step: id.clone() };
    }

    fn finish(&mut self, outcome: &Outcome, at: Timestamp, facts: &Facts) {
        let digest = facts.digest.clone().or_else(|| self.workflow.digest_of(&outcome.step));
        self.run.spent.cost_usd += facts.claude.cost_usd;
        if outcome.part.is_none() {
            self.run.spent.stop(at);
            let mut running = self.steps.iter().filter(|(_, step)| step.status == Status::InProgress);
            let has_others = running.any(|(id, _)| id != outcome.step.as_str());
            self.run.spent.since = has_others.then_some(at);
        }
        if facts.after_agent {
            return self.report(outcome);
        }
        if outcome.part.is_none() {
            self.count_handled(outcome, facts);
        }
        let step = self.step(&outcome.step);
        step.child = None;
        step.claude.add(&facts.claude);
        if let Some(part) = &outcome.part {
            if step.settle(part, outcome.status) {
                return;
            }
            step.measured = facts.measured.unwrap_or(step.measured);
            step.parts.insert(part.clone(), outcome.status);
            if let Some(progress) = step.item_progress.get_mut(part) {
                progress.begun = None;
            }
            if outcome.status.satisfies() {
                step.item_progress.remove(part);
                if !facts.left_out.is_empty() {
                    let left_out = facts.left_out.clone();
                    step.item_progress.insert(part.clone(), ItemProgress { left_out, ..ItemProgress::default() });
                }
            }
            if let Some(error) = outcome.error.as_ref().filter(|_| outcome.status == Status::Failed) {
                step.part_errors.insert(part.clone(), error.clone());
            }
            if let Some((name, value)) = outcome.set.iter().next() {
                step.part_outputs.insert(part.clone(), (name.clone(), value.clone()));
            }
            return;
        }
        if outcome.agent.is_some() {
            step.agent.clone_from(&outcome.agent);
        }
        step.choice.clone_from(&outcome.choice);
        step.verdict = outcome.verdict;
        step.conditions.clone_from(&outcome.conditions);
        (step.status, step.is_doubted) = (outcome.status, false);
        if !facts.amends {
            step.finished_at = Some(at);
        }
        step.exit_code = facts.exit_code;
        step.commit.clone_from(&outcome.commit);
        step.retry = facts.retry;
        step.tolerated.clone_from(&facts.tolerated);
        match outcome.status {
            Status::Completed => {
                step.failures = 0;
                step.errors.clear();
                step.retryable = None;
                step.digest = digest;
                self.execution = ExecutionState::Completed { step: outcome.step.clone() };
            }
            Status::Failed => {
                let error = outcome.error.clone().or_else(|| outcome.summary.clone()).unwrap_or_default();
                let retryable = facts.retryable.unwrap_or(false);
                step.failures = outcome.failures;
                step.errors.push(error.clone());
                let old = step.errors.len().saturating_sub(ERRORS);
                step.errors.drain(..old);
                step.retryable = Some(retryable);
                self.execution = ExecutionState::Failed { step: outcome.step.clone(), error, retryable };
            }
            Status::Pending
            | Status::InProgress
            | Status::WaitingApproval
            | Status::Blocked
            | Status::Skipped
            | Status::Cancelled => {}
        }
    }

    fn interrupted(&self) -> ExecutionState {
        let running = self.steps.iter().find(|(_, step)| step.status == Status::InProgress);
        match (running, &self.execution) {
            (Some((id, _)), _) => ExecutionState::Interrupted { step: Some(StepId::new(id)), in_progress: true },
            (None, ExecutionState::Created) => ExecutionState::Interrupted { step: None, in_progress: false },
            (
                None,
                ExecutionState::BeforeStep { step }
                | ExecutionState::Completed { step }
                | ExecutionState::Failed { step, .. }
                | ExecutionState::Interrupted { step: Some(step), .. },
            ) => ExecutionState::Interrupted { step: Some(step.clone()), in_progress: false },
            (None, ExecutionState::Interrupted { step: None, .. }) => {
                ExecutionState::Interrupted { step: None, in_progress: false }
            }
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
