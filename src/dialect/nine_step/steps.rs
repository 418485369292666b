//! Lays the phases out as steps, each with its status, agent, gate and way back.

use super::ledger::Ledger;
use super::ledger::Tally;
use super::raw::Entry;
use super::raw::Source;
use super::raw::State;
use super::rules::Place;
use super::rules::Role;
use super::rules::StepNumber;
use super::rules::approves;
use super::sent_back::sent_back;
use super::stand::Stand;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::NineStepConfig;
use crate::model::Review;
use crate::model::ReviewVerdict;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepKind;

/// How many phases are laid out: 20,000 steps, some 16 MB of them. A file that claims more is shown around its current phase
/// only, and blocked.
const MAX_PHASES: u32 = 2_000;

/// Is the layout.
pub(super) struct Laid {
    pub(super) steps: Vec<Step>,
    pub(super) done_elsewhere: usize,
}

/// Is what the steps are laid out from.
pub(super) struct Layout<'a> {
    state: &'a State,
    ledger: &'a Ledger,
    stand: &'a Stand,
    config: &'a NineStepConfig,
    status: RunStatus,
    names: Names,
    /// The step whose failure the current one has to answer.
    sent_back_by: Option<Place>,
}

/// Holds the configured name of each step's agent, looked up once.
struct Names {
    by_step: Vec<(StepNumber, Option<String>)>,
    developers: Vec<String>,
}

impl Names {
    fn of(config: &NineStepConfig) -> Self {
        Self {
            by_step: StepNumber::ALL.map(|step| (step, step.role().map(|role| role.name(config)))).to_vec(),
            developers: Role::DEVELOPERS.map(|role| role.name(config)).to_vec(),
        }
    }

    fn of_step(&self, step: StepNumber) -> Option<String> {
        self.by_step.iter().find(|(number, _)| *number == step).and_then(|(_, name)| name.clone())
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        state: &'a State,
        ledger: &'a Ledger,
        stand: &'a Stand,
        status: RunStatus,
        config: &'a NineStepConfig,
    ) -> Self {
        let is_open = !matches!(stand.status, Status::Completed | Status::Skipped);
        let sent_back_by = sent_back(state, stand.at).filter(|_| is_open).and_then(Entry::place);
        Self { state, ledger, stand, config, status, names: Names::of(config), sent_back_by }
    }

    /// Lists the steps of every phase that is known, in order (docs/formats/nine-step.md#steps-and-agents).
    pub(super) fn lay_out(&self, source: &Source<'_>, findings: &mut Vec<Finding>) -> Laid {
        let (first, last) = self.phases(source, findings);
        // A step is large, and there are many: they are not moved while the list grows.
        let mut steps: Vec<Step> = Vec::with_capacity((first..=last).count() * StepNumber::ALL.len());
        for phase in first..=last {
            let (entry, name) = (self.entry(phase), phase.to_string());
            let group = ["Phase ", &name].concat();
            for number in StepNumber::ALL.into_iter().filter(|number| *number >= entry) {
                let mut step = self.step(Place::new(phase, number), &name);
                step.group = Some(group.clone());
                step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
                steps.push(step);
            }
        }
        let done_elsewhere = usize::try_from(first - 1).unwrap_or(usize::MAX).saturating_mul(StepNumber::ALL.len());
        Laid { steps, done_elsewhere }
    }

    /// Returns the first and last phase to lay out.
    fn phases(&self, source: &Source<'_>, findings: &mut Vec<Finding>) -> (u32, u32) {
        let current = self.stand.at.phase;
        let last = match self.state.total_phases {
            Some(total) => {
                if current > total {
                    let pointer = if self.state.last.get().is_some_and(|last| last.phase.get().is_some()) {
                        "/last_execution/phase"
                    } else {
                        "/current_phase"
                    };
                    let message = format!("phase {current} is beyond `total_phases`, which is {total}");
                    let fix = "correct `total_phases`, or the phase";
                    findings.push(source.finding(FindingCode::StateWrongType, pointer, message).fix(fix));
                }
                total.max(current)
            }
            None if self.is_phase_done() && self.status != RunStatus::Completed => {
                let message = format!(
                    "`total_phases` is missing: nobody can tell whether phase {current} was the last, so phase {} is planned",
                    current.saturating_add(1)
                );
                let fix = "add `total_phases` to the state";
                findings.push(source.finding(FindingCode::TotalMissing, "/total_phases", message).fix(fix));
                current.saturating_add(1)
            }
            None => current,
        };
        if last <= MAX_PHASES {
            return (1, last);
        }
        let message = format!("the state speaks of {last} phases; more than {MAX_PHASES} are not believed");
        let pointer = if self.state.total_phases == Some(last) { "/total_phases" } else { "/last_execution/phase" };
        findings.push(source.finding(FindingCode::StateWrongType, pointer, message));
        (current, current.saturating_add(1).min(last))
    }

    fn is_phase_done(&self) -> bool {
        let at = self.stand.at;
        at.step == StepNumber::Commit && matches!(self.status_of(at), Status::Completed | Status::Skipped)
    }

    /// Returns the step a phase begins with: of later phases the configured one, unless the records know an earlier
    /// (docs/formats/nine-step.md#where-a-later-phase-begins).
    fn entry(&self, phase: u32) -> StepNumber {
        let configured = match self.config.phase_entry_step {
            3 if phase > 1 => StepNumber::Implementation,
            _ => return StepNumber::Plan,
        };
        let here = (self.stand.at.phase == phase).then_some(self.stand.at.step);
        let seen = self.ledger.steps_in(phase).chain(here).any(|step| step < configured);
        if seen { StepNumber::Plan } else { configured }
    }

    /// Lays out one step; `phase` is the number of its phase as a text.
    fn step(&self, place: Place, phase: &str) -> Step {
        let tally = self.ledger.get(place);
        let is_here = place == self.stand.at;
        let mut step = Step::new(place.step.in_phase(phase), place.step.title());
        step.short = Some(place.step.as_str().to_owned());
        step.kind = place.step.kind();
        step.status = self.status_of(place);
        step.agent = self.agent(place, tally);
        if step.agent.is_none() {
            step.agent_candidates.clone_from(&self.names.developers);
        }
        let back = match step.status {
            Status::Failed if is_here => self.stand.returns_to,
            _ if self.sent_back_by == Some(place) => Some(self.stand.at.step),
            _ => place.step.reviewed(),
        };
        step.returns_to = back.filter(|back| *back >= self.entry(place.phase)).map(|back| back.in_phase(phase));
        step.review = if is_here { self.stand.review.clone() } else { past_review(&step, tally) };
        if let Some(tally) = tally {
            step.attempts = tally.attempts;
            step.failures = tally.failures;
            step.started_at = tally.started_at;
            step.finished_at = tally.finished_at.filter(|_| step.status == Status::Completed);
            step.commit.clone_from(&tally.commit);
            step.error.clone_from(&tally.error);
            step.past_errors.clone_from(&tally.errors);
        }
        if is_here {
            step.error = self.stand.error.clone().or(step.error);
        }
        if place.step == StepNumber::Commit {
            step.probe = Some(format!("look whether HEAD already holds the commit of phase {phase}: git log -1"));
        }
        step
    }

    /// Says where a step stands: `last_execution` speaks for its own, what lies before it is done, what lies behind is not.
    fn status_of(&self, place: Place) -> Status {
        if self.ledger.get(place).is_some_and(|tally| tally.skipped) {
            return Status::Skipped;
        }
        let (at, status) = (self.stand.at, self.stand.status);
        if place < at {
            return Status::Completed;
        }
        if place == at {
            let waits = matches!(status, Status::Pending | Status::InProgress | Status::WaitingApproval);
            return match place.step.kind() {
                StepKind::Gate if waits && self.is_approved(place.phase) => Status::Completed,
                // A gate that was cut off is put to the person again; what led to it is not run again.
                StepKind::Gate if waits => Status::WaitingApproval,
                StepKind::Gate | StepKind::Work | StepKind::Review | StepKind::Container => status,
            };
        }
        let is_gate_next = place.step == StepNumber::Approval
            && at == Place::new(place.phase, StepNumber::PlanReview)
            && matches!(self.status_of(at), Status::Completed | Status::Skipped)
            && !self.has_open_conditions();
        match is_gate_next {
            true if self.is_approved(place.phase) => Status::Completed,
            true => Status::WaitingApproval,
            false => Status::Pending,
        }
    }

    fn has_open_conditions(&self) -> bool {
        self.stand.review.as_ref().is_some_and(|review| {
            review.verdict == ReviewVerdict::ApprovedWithConditions
                && review.open_conditions.as_ref().is_none_or(|open| !open.is_empty())
        })
    }

    /// Tells whether the approval of a phase was recorded after what `last_execution` says
    /// (docs/formats/nine-step.md#decision-table).
    fn is_approved(&self, phase: u32) -> bool {
        let Some(since) = self.state.last.get().and_then(|last| last.timestamp) else { return false };
        let gate = Place::new(phase, StepNumber::Approval);
        self.state.approvals.iter().any(|approval| approval.place() == Some(gate) && approval.timestamp > Some(since))
    }

    /// Returns who does a step: who did it last in this phase, else the name from the plugin
    /// (docs/formats/nine-step.md#steps-and-agents).
    fn agent(&self, place: Place, tally: Option<&Tally>) -> Option<String> {
        let recorded = tally.and_then(|tally| tally.agent.clone());
        recorded.or_else(|| match place.step.role() {
            Some(_) => self.names.of_step(place.step),
            None => self.ledger.developer.clone(),
        })
    }
}

/// Returns what was said in a review that the run has left behind: its conditions no longer hold anything up.
fn past_review(step: &Step, tally: Option<&Tally>) -> Option<Review> {
    let verdict = tally.and_then(|tally| tally.verdict)?;
    let is_past = step.kind == StepKind::Review && step.status == Status::Completed;
    (is_past && approves(verdict))
        .then(|| Review { verdict, open_conditions: (verdict == ReviewVerdict::ApprovedWithConditions).then(Vec::new) })
}
