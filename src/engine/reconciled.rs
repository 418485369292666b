//! A run after comparison with the evidence, and the questions that the planner and transitions both ask about it: which steps may start,
//! which are behind a gate, where a failure goes back to. Both use this module, so they agree.

use std::collections::{BTreeMap, BTreeSet};

use super::{command, decisions::Decisions, graph::Graph, proof::missing_documents};
use crate::model::{
    Action, Attempt, DecisionKind, Evidence, Finding, GateEffect, Hold, Presence, Records, RelPath, ReviewVerdict, Run,
    Status, Step, StepId, StepKind, Suggested, Timestamp, Verb, clean_line, human_duration, mask_secrets, safe_line,
};

/// Characters of a reason that the state gives.
const HOLD_CHARS: usize = 160;
/// Maximum number of characters of an earlier error in a reason.
const ERROR_CHARS: usize = 160;

/// The status of a step after comparison with the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectiveStatus {
    Done,
    Skipped,
    /// Over, but its dependents may not count it as done.
    Cancelled,
    /// Not started.
    Open,
    /// Started but never finished.
    Interrupted,
    Failed,
    /// Waits for the approval of a person.
    Waiting,
    /// Approved with conditions that are not met yet.
    Conditions,
    /// Evidence and state disagree: a person checks before anything is run.
    Verify,
    /// Recorded as done, but the evidence disagrees.
    Invalid,
    /// The state itself calls it blocked.
    Blocked,
    /// Its state cannot be interpreted; the step is left alone.
    Unreadable,
    /// A container with children that are not done.
    OpenContainer,
}

impl EffectiveStatus {
    /// Tells whether dependents may start.
    pub(crate) const fn satisfies(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }

    /// Tells whether nothing is left to do for the step.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Skipped | Self::Cancelled)
    }

    /// Tells whether the step took effect, or may have.
    pub(crate) const fn may_have_acted(self) -> bool {
        matches!(self, Self::Done | Self::Verify)
    }
}

/// The result of comparing a run with its evidence.
#[derive(Debug, Default)]
pub(super) struct Reconciled {
    /// By position in `run.steps`.
    pub(super) effective_statuses: Vec<EffectiveStatus>,
    /// The reasons besides the recorded status, by position; short statements for people.
    pub(super) reasons: Vec<Vec<String>>,
    pub(super) findings: Vec<Finding>,
    /// The attempts that are going on, by position.
    pub(super) attempts: BTreeMap<usize, (Attempt, Presence)>,
    pub(super) decisions: Decisions,
    /// Steps whose status is a word that is not known, by position.
    pub(super) unknown_words: BTreeSet<usize>,
    /// Steps that must not run twice and of which it is unknown whether they took effect, by position.
    pub(super) unknown_outcomes: BTreeSet<usize>,
    /// The file that a step uses and that is not there, by position; the step waits for nothing else.
    pub(super) missing: BTreeMap<usize, RelPath>,
    /// Steps without a status, by position.
    pub(super) unstated: BTreeSet<usize>,
    /// Steps whose file cannot be read, by position.
    pub(super) unread: BTreeSet<usize>,
    /// Steps of a run that is only read which evidence shows as done, and nothing contradicts.
    pub(super) built: BTreeSet<usize>,
    /// Gates and reviews that no record says were passed, by position.
    pub(super) unrecorded: BTreeSet<usize>,
}

/// A run with its graph and the result of the comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReconciledRun<'a> {
    pub(super) run: &'a Run,
    pub(super) graph: &'a Graph,
    /// By position in `run.steps`: those of the comparison, or what they would be later.
    pub(super) effective_statuses: &'a [EffectiveStatus],
    pub(super) compared: &'a Reconciled,
}

/// Why a person has to decide before a step is retried (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Rejected,
    Failed { times: u32 },
}

impl<'a> ReconciledRun<'a> {
    pub(super) fn of(run: &'a Run, graph: &'a Graph, reconciled: &'a Reconciled) -> Self {
        Self { run, graph, effective_statuses: &reconciled.effective_statuses, compared: reconciled }
    }

    /// Returns what is known of the attempts that were made at an open step.
    pub(super) fn earlier_attempts(&self, at: usize) -> String {
        let step = &self.run.steps[at];
        if step.is_reported {
            return "; its agent reported, and piton does the rest of the step".to_owned();
        }
        if step.kind == StepKind::Review {
            // What it said is among the findings, and the work that it judges was done again.
            return String::new();
        }
        let last = step.error.as_deref().or_else(|| step.past_errors.last().map(String::as_str));
        match (step.attempts, last.and_then(|error| error.lines().find(|line| !line.trim().is_empty()))) {
            (0, _) => String::new(),
            (_, Some(error)) => format!("; the last attempt failed: {}", safe_line(error, ERROR_CHARS)),
            (_, None) if step.was_cut_off() => "; the last attempt never finished".to_owned(),
            (1, None) => "; 1 earlier attempt is on record".to_owned(),
            (many, None) => format!("; {many} earlier attempts are on record"),
        }
    }
}

impl ReconciledRun<'_> {
    /// Returns what a person can decide about a step that said no or that failed too often, each with its command. What the format cannot
    /// record is left out.
    pub(super) fn ways_out(&self, at: usize) -> Vec<(DecisionKind, Suggested)> {
        let (run, step) = (self.run, &self.run.steps[at]);
        let decide = |kind: DecisionKind| (kind, command::decide(kind.as_str(), &step.id, &run.id));
        let is_no = matches!(step.kind, StepKind::Review | StepKind::Gate);
        let can_skip = self.skip_refusal(at).is_none();
        let abort = || (DecisionKind::Abort, Suggested::of(Verb::Close, &run.id).flag("abort"));
        let ways = [
            run.records.redo.then(|| decide(DecisionKind::Redo)),
            is_no.then(|| decide(DecisionKind::Accept)),
            can_skip.then(|| decide(DecisionKind::Skip)),
            (run.records != Records::NONE).then(abort),
        ];
        ways.into_iter().flatten().collect()
    }

    /// Returns the documents without which a step does not end, in words, unless a person lets it end without them.
    pub(super) fn missing_documents(&self, at: usize, evidence: &Evidence) -> Vec<String> {
        if self.compared.decisions.overrides(at) {
            Vec::new()
        } else {
            missing_documents(&self.run.steps[at], evidence)
        }
    }

    /// Returns the step that writes the documents of a gate.
    pub(super) fn writer_of(&self, at: usize) -> Option<&Step> {
        let documents = &self.run.steps[at].proof.documents;
        self.run.steps.iter().find(|step| step.kind == StepKind::Work && step.proof.documents == *documents)
    }

    /// Returns why a step may not be skipped; `None` if it may, or if it was skipped before.
    pub(super) fn skip_refusal(&self, at: usize) -> Option<&'static str> {
        let (run, step) = (self.run, &self.run.steps[at]);
        let why = match (self.effective_status(at), step.kind) {
            (EffectiveStatus::Skipped, _) => return None,
            _ if !run.records.skip || !step.recorded => "its format has no word for a skipped step",
            (EffectiveStatus::Done, _) => "it is done",
            (EffectiveStatus::Unreadable, _) => "its state cannot be interpreted",
            (_, StepKind::Gate) => "a gate is approved, never skipped",
            (_, StepKind::Review) => "a review is never skipped; record its verdict",
            (EffectiveStatus::Waiting, StepKind::Work | StepKind::Container) => "it waits for a person's approval",
            // A container with a missing child can only be skipped as a whole.
            (_, StepKind::Container) if !step.children.is_empty() && step.dangling.is_empty() => {
                "its child steps are skipped one by one"
            }
            _ if step.skip_is_done && !self.is_ready(at) => {
                "what it builds on is open, and its format would say that it is done"
            }
            (_, StepKind::Work | StepKind::Container) => return None,
        };
        Some(why)
    }

    /// Tells whether only the word for the status of a step cannot be interpreted, so that another can take its place.
    pub(super) fn has_unknown_word(&self, at: usize) -> bool {
        self.compared.unknown_words.contains(&at) && self.run.steps[at].recorded && self.run.records.redo
    }

    /// Tells whether no record says that a gate or review that the run is past was passed.
    pub(super) fn is_unrecorded(&self, at: usize) -> bool {
        self.compared.unrecorded.contains(&at)
    }

    /// Returns the commands that replace an unknown word for the status of a step.
    pub(super) fn replace_word(&self, at: usize) -> Option<String> {
        let step = self.run.steps.get(at).filter(|_| self.has_unknown_word(at))?;
        let [redo, accept] = ["redo", "accept"].map(|verb| command::decide(verb, &step.id, &self.run.id));
        Some(format!("a person decides: `{redo}` to do it again, or `{accept}` if it is done"))
    }

    /// Returns the finished steps that an action does again.
    pub(super) fn done_again(&self, at: usize, action: Action) -> Vec<usize> {
        let is_done =
            |at: &usize| matches!(self.effective_status(*at), EffectiveStatus::Done | EffectiveStatus::Invalid);
        match action {
            Action::Return => std::iter::once(at).chain(self.graph.all_dependents(at)).filter(is_done).collect(),
            Action::Retry => std::iter::once(at).filter(is_done).collect(),
            Action::Run | Action::Exec | Action::Verify | Action::Approve | Action::Merge | Action::Archive => {
                Vec::new()
            }
        }
    }

    /// Returns the steps that an action does again, with the one whose attempt was cut off or failed.
    pub(super) fn worked_on_again(&self, at: usize, action: Action) -> Vec<usize> {
        let own = (action == Action::Retry).then_some(at);
        self.done_again(at, action).into_iter().chain(own).collect()
    }

    pub(super) fn effective_status(&self, at: usize) -> EffectiveStatus {
        self.effective_statuses.get(at).copied().unwrap_or(EffectiveStatus::Open)
    }

    /// Returns the attempt at a step that is going on, with whether its driver is still there.
    pub(super) fn attempt(&self, at: usize) -> Option<(&Attempt, Presence)> {
        let attempt = self.compared.attempts.get(&at).map(|(attempt, presence)| (attempt, *presence));
        attempt.filter(|_| self.effective_status(at) == EffectiveStatus::Interrupted)
    }

    /// Tells whether a step must not run twice and it is unknown whether it took effect.
    pub(super) fn is_outcome_unknown(&self, at: usize) -> bool {
        self.compared.unknown_outcomes.contains(&at)
    }

    /// Returns the caller's own attempt at a step. It is over once a person wants the step done again.
    pub(super) fn own_attempt(&self, at: usize) -> Option<&Attempt> {
        let is_own = |presence: Presence| presence == Presence::Caller && self.compared.decisions.redo(at).is_none();
        self.attempt(at).filter(|(_, presence)| is_own(*presence)).map(|(attempt, _)| attempt)
    }

    /// Tells whether another driver has the step in progress, which lives or, unless a person said that it is done again, may live.
    pub(super) fn is_driven_elsewhere(&self, at: usize) -> bool {
        match self.attempt(at).map(|(_, presence)| presence) {
            Some(Presence::Alive) => true,
            Some(Presence::Unknown) => self.compared.decisions.redo(at).is_none(),
            Some(Presence::Caller | Presence::Gone) | None => false,
        }
    }

    /// Returns the reasons for the effective status of a step: short statements for people.
    pub(super) fn reasons_for(&self, at: usize) -> Vec<String> {
        let is_understood =
            self.effective_status(at) != EffectiveStatus::Unreadable && !self.compared.unread.contains(&at);
        let said = is_understood.then(|| match self.compared.unstated.contains(&at) {
            true => "it has no status".to_owned(),
            false => format!("the state says {}", self.run.steps[at].status),
        });
        said.into_iter().chain(self.compared.reasons.get(at).into_iter().flatten().cloned()).collect()
    }

    /// Returns what the witnesses of a step say that is only read; `None` if they say nothing, or it is a step of any other run.
    pub(super) fn guest_reason(&self, at: usize) -> Option<String> {
        let reasons = self.compared.reasons.get(at).filter(|reasons| !reasons.is_empty())?;
        self.run.steps[at].guest.is_some().then(|| reasons.join("; "))
    }

    /// Returns the first dependency that keeps a step from starting.
    pub(super) fn blocker(&self, at: usize) -> Option<usize> {
        self.blockers(at).next()
    }

    /// Returns the dependencies that a step still waits for.
    pub(super) fn blockers(&self, at: usize) -> impl Iterator<Item = usize> {
        self.graph.depends_on(at).iter().copied().filter(move |on| self.waits_for(at, *on))
    }

    /// Tells whether a step waits for its dependency `on`. A step that was begun does not wait for a dependency that was cancelled
    /// since.
    fn waits_for(&self, at: usize, on: usize) -> bool {
        let was_begun = matches!(self.effective_status(at), EffectiveStatus::Failed | EffectiveStatus::Interrupted);
        let is_met = self.effective_status(on).satisfies()
            || (was_begun && self.effective_status(on) == EffectiveStatus::Cancelled);
        !is_met
    }

    pub(super) fn is_ready(&self, at: usize) -> bool {
        let is_free = self.run.steps[at].dangling.is_empty() && self.blocker(at).is_none() && self.hold(at).is_none();
        is_free || self.compared.decisions.overrides(at)
    }

    /// Returns the reason for which the state holds a step back.
    pub(super) fn hold(&self, at: usize) -> Option<String> {
        if self.effective_status(at) != EffectiveStatus::Blocked {
            return None;
        }
        match &self.run.steps[at].hold {
            Some(Hold::Because(reason)) => Some(clean_line(&mask_secrets(reason), HOLD_CHARS)),
            Some(Hold::Unexplained) | None => {
                self.compared.missing.get(&at).map(|file| format!("it uses {file}, which does not exist"))
            }
        }
    }

    /// Returns what a step that is not ready waits for, as the end of a sentence.
    pub(super) fn waits_in_words(&self, at: usize) -> String {
        let unmet: Vec<String> = self.unmet(at).iter().map(ToString::to_string).collect();
        match self.hold(at) {
            Some(reason) if unmet.is_empty() => format!("is blocked: {reason}"),
            Some(_) | None => format!("still waits for {}", unmet.join(", ")),
        }
    }

    /// Tells whether a step that one in progress builds on was reopened since: its result would not count.
    pub(super) fn lost_its_base(&self, at: usize) -> bool {
        if self.effective_status(at) != EffectiveStatus::Interrupted {
            return false;
        }
        let begun = self.run.steps[at].started_at;
        let is_reopened = |on: &usize| {
            let again = self.run.steps[*on].started_at;
            let is_begun_later = begun.is_some() && again > begun;
            !self.effective_status(*on).is_over() && (self.compared.decisions.redo(*on).is_some() || is_begun_later)
        };
        !self.is_ready(at) && self.graph.all_dependencies(at).iter().any(is_reopened)
    }

    /// Returns the unmet dependencies of a step, including those that do not exist.
    pub(super) fn unmet(&self, at: usize) -> Vec<StepId> {
        let open = self.graph.depends_on(at).iter().filter(|on| self.waits_for(at, **on));
        let mut unmet: Vec<StepId> = open.map(|on| self.run.steps[*on].id.clone()).collect();
        unmet.extend(self.run.steps[at].dangling.iter().map(StepId::new));
        unmet
    }

    /// Tells whether the step is a gate or a review that is not done. Nothing may bypass it.
    pub(super) fn is_pending_gate(&self, at: usize) -> bool {
        matches!(self.run.steps[at].kind, StepKind::Gate | StepKind::Review) && !self.effective_status(at).satisfies()
    }

    /// Returns the first gate or review before the step that is not done.
    pub(super) fn gate_before(&self, at: usize) -> Option<usize> {
        self.graph.all_dependencies(at).into_iter().find(|on| self.is_pending_gate(*on))
    }

    /// Tells whether the step has passed its gates, because it was begun.
    pub(super) fn passed_its_gates(&self, at: usize) -> bool {
        self.run.steps[at].status == Status::InProgress
            || match self.effective_status(at) {
                EffectiveStatus::Done
                | EffectiveStatus::Interrupted
                | EffectiveStatus::Waiting
                | EffectiveStatus::Conditions => true,
                EffectiveStatus::Skipped
                | EffectiveStatus::Cancelled
                | EffectiveStatus::Open
                | EffectiveStatus::Failed
                | EffectiveStatus::Verify
                | EffectiveStatus::Invalid
                | EffectiveStatus::Blocked
                | EffectiveStatus::Unreadable
                | EffectiveStatus::OpenContainer => false,
            }
    }

    /// Returns the step that a failed step or a review with open conditions goes back to; `None` if it is retried in place.
    pub(super) fn returns_to(&self, at: usize) -> Option<usize> {
        self.target(at).filter(|target| !self.was_finished_since(*target, at))
    }

    /// Tells whether the work that a failed review sent back was finished since, so that it is reviewed again.
    pub(super) fn was_reworked(&self, at: usize) -> bool {
        self.target(at).is_some_and(|target| self.was_finished_since(target, at))
    }

    /// Returns the failed steps that send the run back to this one. If there are none and the step is done, returns the failed steps
    /// behind it that send the run anywhere, which `--to-step` may redirect.
    pub(super) fn sent_back(&self, at: usize) -> Vec<usize> {
        let all = 0..self.run.steps.len();
        let direct: Vec<usize> = all.filter(|failed| self.returns_to(*failed) == Some(at)).collect();
        if !direct.is_empty() || self.effective_status(at) != EffectiveStatus::Done {
            return direct;
        }
        let behind = self.graph.all_dependents(at).into_iter();
        behind.filter(|failed| self.returns_to(*failed).is_some()).collect()
    }

    /// Returns the steps whose limits apply to an attempt at this one: those that send the run back to it, or itself.
    pub(super) fn limited_by(&self, at: usize) -> Vec<usize> {
        match self.effective_status(at) {
            EffectiveStatus::Done | EffectiveStatus::Open | EffectiveStatus::Invalid | EffectiveStatus::Blocked => {
                self.sent_back(at)
            }
            // The work was resumed, so its reviews were already decided about.
            EffectiveStatus::Failed | EffectiveStatus::Interrupted => vec![at],
            EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Waiting
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => Vec::new(),
        }
    }

    /// Returns why a person has to decide before the step is retried, if so.
    pub(super) fn limit(&self, at: usize, attempts: u32) -> Option<Limit> {
        if self.was_reworked(at) || self.compared.decisions.redo(at).is_some() {
            // The rework was already allowed.
            return None;
        }
        if self.compared.attempts.contains_key(&at) {
            // It was within the limit when it was begun, and nothing says that it failed: to be cut off is no failure.
            return None;
        }
        let step = &self.run.steps[at];
        if step.kind == StepKind::Gate {
            return self.is_refused_gate(at).then_some(Limit::Rejected);
        }
        let rejected = step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Rejected);
        if rejected && self.effective_status(at) == EffectiveStatus::Failed {
            Some(Limit::Rejected)
        } else {
            (step.failures >= attempts).then_some(Limit::Failed { times: step.failures })
        }
    }

    /// Tells whether a gate was rejected and nothing it stands on was worked on since.
    pub(super) fn is_refused_gate(&self, at: usize) -> bool {
        let gate = &self.run.steps[at];
        let before = self.graph.depends_on(at);
        let finished_since = |on: &usize| self.run.steps[*on].finished_at > gate.finished_at;
        let says_no = gate.says_no() || (gate.review.is_none() && gate.agent.is_none());
        // A person who chose to send the work back decided already.
        let is_sent_back = |to: &StepId| gate.options.iter().any(|one| one.effect == GateEffect::Return(to.clone()));
        gate.kind == StepKind::Gate
            && says_no
            && !gate.returns_to.as_ref().is_some_and(is_sent_back)
            && self.effective_status(at) == EffectiveStatus::Failed
            && !self.was_reworked(at)
            && !self.compared.decisions.worked_on_since(at, before)
            && !(gate.finished_at.is_some() && before.iter().any(finished_since))
    }

    /// Returns why an open gate takes no answer any more, if its time was over before `now`. The time begins when the gate is reached, is
    /// answered without being passed, or is asked again.
    pub(super) fn expired(&self, at: usize, now: Timestamp) -> Option<String> {
        let gate = &self.run.steps[at];
        let within = gate.answer_within.filter(|_| !self.effective_status(at).is_over() && self.is_ready(at))?;
        let ends = self.graph.depends_on(at).iter().filter_map(|on| self.run.steps[*on].finished_at);
        let asked = ends.chain(gate.finished_at).chain(self.compared.decisions.redo_at(at)).max();
        let end = asked.or(self.run.started_at)?.plus(within);
        (now >= end).then(|| {
            let what = gate.id.with_title(&gate.title);
            format!("{what} was not answered within {} and stopped the run", human_duration(within))
        })
    }

    /// Tells whether the work of a step can be redone.
    pub(super) fn can_be_redone(&self, at: usize) -> bool {
        matches!(self.run.steps[at].kind, StepKind::Work | StepKind::Review)
            && match self.effective_status(at) {
                EffectiveStatus::Done
                | EffectiveStatus::Open
                | EffectiveStatus::Interrupted
                | EffectiveStatus::Failed
                | EffectiveStatus::Waiting
                | EffectiveStatus::Conditions
                | EffectiveStatus::Verify
                | EffectiveStatus::Invalid
                | EffectiveStatus::Blocked => true,
                EffectiveStatus::Skipped
                | EffectiveStatus::Cancelled
                | EffectiveStatus::Unreadable
                | EffectiveStatus::OpenContainer => false,
            }
    }

    fn target(&self, at: usize) -> Option<usize> {
        let target = self.run.steps[at].returns_to.as_ref().and_then(|id| self.graph.position(id))?;
        (target != at && self.asks_for_work(at) && self.can_be_redone(target)).then_some(target)
    }

    /// Tells whether a step wants something of other work: it failed, or it approved on conditions that are open.
    pub(super) fn asks_for_work(&self, at: usize) -> bool {
        matches!(self.effective_status(at), EffectiveStatus::Failed | EffectiveStatus::Conditions)
    }

    fn was_finished_since(&self, target: usize, failed: usize) -> bool {
        let (target, failed) = ((target, &self.run.steps[target]), &self.run.steps[failed]);
        self.effective_status(target.0) == EffectiveStatus::Done
            && failed.finished_at.is_some_and(|failed| target.1.finished_at > Some(failed))
    }
}
