//! Builds the steps of all phases, each with its status, agent, gate and return target.

use super::{
    last_step::LastStep,
    ledger::{Ledger, StepRecord},
    raw::{NineStepEntry, NineStepState},
    rules::{Role, StepNumber, StepPosition},
    sent_back::sent_back,
};
use crate::{
    document::Reader,
    model::{
        Finding, FindingCode, NineStepConfig, Review, ReviewVerdict, RunStatus, Status, Step, StepKind, Suggested, Verb,
    },
};

/// Maximum number of phases: 20,000 steps, about 16 MB. For a file that claims more, only the current phase is shown, and the run
/// is blocked.
const MAX_PHASES: u32 = 2_000;

/// The steps of a run.
pub(super) struct StepLayout {
    pub(super) steps: Vec<Step>,
    pub(super) done_elsewhere: usize,
}

/// Builder of the steps from the state, its records and the last step.
pub(super) struct StepBuilder<'a> {
    state: &'a NineStepState,
    ledger: &'a Ledger,
    last_step: &'a LastStep,
    config: &'a NineStepConfig,
    status: RunStatus,
    /// The name of the run.
    run: &'a str,
    names: AgentNames,
    /// The later step whose failure the current one has to address.
    sent_back_by: Option<StepPosition>,
}

/// The configured agent names, looked up once per step.
struct AgentNames {
    by_step: Vec<(StepNumber, Option<String>)>,
    developers: Vec<String>,
}

impl AgentNames {
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

impl<'a> StepBuilder<'a> {
    pub(super) fn new(
        state: &'a NineStepState,
        ledger: &'a Ledger,
        last_step: &'a LastStep,
        (run, status): (&'a str, RunStatus),
        config: &'a NineStepConfig,
    ) -> Self {
        let is_open = !last_step.status.satisfies();
        let sent_back_by = sent_back(state, last_step.at).filter(|_| is_open).and_then(NineStepEntry::position);
        Self { state, ledger, last_step, config, status, run, names: AgentNames::of(config), sent_back_by }
    }

    /// Returns the steps of all known phases, in order (docs/formats/nine-step.md#steps-and-agents).
    pub(super) fn build(&self, source: &Reader<'_>, findings: &mut Vec<Finding>) -> StepLayout {
        let (first, last) = self.phases(source, findings);
        // Steps are large: reserve the capacity so that they are not moved while the list grows.
        let mut steps: Vec<Step> = Vec::with_capacity((first..=last).count() * StepNumber::ALL.len());
        for phase in first..=last {
            let (entry, name) = (self.first_step(phase), phase.to_string());
            let group = ["Phase ", &name].concat();
            for number in StepNumber::ALL.into_iter().filter(|number| *number >= entry) {
                let mut step = self.step(StepPosition::new(phase, number), &name);
                step.group = Some(group.clone());
                step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
                steps.push(step);
            }
        }
        let done_elsewhere = usize::try_from(first - 1).unwrap_or(usize::MAX).saturating_mul(StepNumber::ALL.len());
        StepLayout { steps, done_elsewhere }
    }

    /// Returns the first and last phase to build.
    fn phases(&self, source: &Reader<'_>, findings: &mut Vec<Finding>) -> (u32, u32) {
        let current = self.last_step.at.phase;
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
                    "how many phases there are is not recorded: it is unknown whether phase {current} was the last, so phase {} is planned",
                    current.saturating_add(1)
                );
                let finish = Suggested::of(Verb::Finish, "1:1").option("run", self.run).option("phases", "NUMBER");
                let close = Suggested::of(Verb::Close, self.run).flag("done");
                let fix =
                    format!("`{finish}` records how many there are, or `{close}` if phase {current} was the last");
                findings.push(source.finding(FindingCode::TotalMissing, "/total_phases", message).fix(fix));
                current.saturating_add(1)
            }
            None => current,
        };
        if last <= MAX_PHASES {
            return (1, last);
        }
        let message = format!("the state has {last} phases; at most {MAX_PHASES} are supported");
        let pointer = if self.state.total_phases == Some(last) { "/total_phases" } else { "/last_execution/phase" };
        findings.push(source.finding(FindingCode::StateWrongType, pointer, message));
        (current, current.saturating_add(1).min(last))
    }

    fn is_phase_done(&self) -> bool {
        let at = self.last_step.at;
        at.step == StepNumber::Commit && self.status_of(at).satisfies()
    }

    /// Returns the first step of a phase. Later phases begin with the configured step, unless a record names an earlier one
    /// (docs/formats/nine-step.md#where-a-later-phase-begins).
    fn first_step(&self, phase: u32) -> StepNumber {
        let configured = match self.config.phase_entry_step {
            3 if phase > 1 => StepNumber::Implementation,
            _ => return StepNumber::Plan,
        };
        let here = (self.last_step.at.phase == phase).then_some(self.last_step.at.step);
        let seen = self.ledger.steps_in(phase).chain(here).any(|step| step < configured);
        if seen { StepNumber::Plan } else { configured }
    }

    /// Builds one step; `phase` is the phase number as text.
    fn step(&self, position: StepPosition, phase: &str) -> Step {
        let record = self.ledger.get(position);
        let is_here = position == self.last_step.at;
        let mut step = Step::new(position.step.in_phase(phase), position.step.title());
        step.short = Some(position.step.as_str().to_owned());
        step.kind = position.step.kind();
        step.proof.is_commit = position.step == StepNumber::Commit;
        step.status = self.status_of(position);
        step.may_be_last = is_here && self.state.total_phases.is_none() && self.is_phase_done();
        step.agent = self.agent(position, record);
        if step.agent.is_none() {
            step.agent_candidates.clone_from(&self.names.developers);
        }
        let back = match step.status {
            Status::Failed if is_here => self.last_step.returns_to,
            _ if self.sent_back_by == Some(position) => Some(self.last_step.at.step),
            Status::WaitingApproval if position.step == StepNumber::Approval => Some(StepNumber::Plan),
            _ => position.step.reviewed(),
        };
        step.returns_to = back.filter(|back| *back >= self.first_step(position.phase)).map(|back| back.in_phase(phase));
        step.review = if is_here { self.last_step.review.clone() } else { past_review(&step, record) };
        if let Some(record) = record {
            step.attempts = record.attempts;
            step.failures = record.failures;
            step.started_at = record.started_at;
            step.finished_at = record.finished_at.filter(|_| step.status == Status::Completed);
            step.commit.clone_from(&record.commit);
            step.error.clone_from(&record.error);
            step.past_errors.clone_from(&record.errors);
        }
        if is_here {
            step.error = self.last_step.error.clone().or(step.error);
        }
        if position.step == StepNumber::Commit {
            step.probe = Some(format!("`git log -1` shows whether HEAD has the commit of phase {phase}"));
        }
        step
    }

    /// Returns the status of a step: `last_execution` gives that of its own step; earlier steps are completed, later ones are
    /// not.
    fn status_of(&self, position: StepPosition) -> Status {
        if self.ledger.get(position).is_some_and(|record| record.skipped) {
            return Status::Skipped;
        }
        let (at, status) = (self.last_step.at, self.last_step.status);
        if position < at {
            return Status::Completed;
        }
        if position == at {
            let waits = matches!(status, Status::Pending | Status::InProgress | Status::WaitingApproval);
            return match position.step.kind() {
                StepKind::Gate if waits && self.is_approved(position.phase) => Status::Completed,
                // An interrupted gate asks the user again; the work before it is not repeated.
                StepKind::Gate if waits => Status::WaitingApproval,
                StepKind::Gate | StepKind::Work | StepKind::Review | StepKind::Container => status,
            };
        }
        let is_gate_next = position.step == StepNumber::Approval
            && at == StepPosition::new(position.phase, StepNumber::PlanReview)
            && self.status_of(at).satisfies()
            && !self.has_open_conditions();
        match is_gate_next {
            true if self.is_approved(position.phase) => Status::Completed,
            true => Status::WaitingApproval,
            false => Status::Pending,
        }
    }

    fn has_open_conditions(&self) -> bool {
        self.last_step.review.as_ref().is_some_and(|review| {
            review.verdict == ReviewVerdict::ApprovedWithConditions
                && review.open_conditions.as_ref().is_none_or(|open| !open.is_empty())
        })
    }

    /// Tells whether the approval of a phase was recorded after `last_execution` (docs/formats/nine-step.md#decision-table).
    fn is_approved(&self, phase: u32) -> bool {
        let Some(since) = self.state.last.get().and_then(|last| last.timestamp) else { return false };
        let gate = StepPosition::new(phase, StepNumber::Approval);
        self.state
            .approvals
            .iter()
            .any(|approval| approval.position() == Some(gate) && approval.timestamp > Some(since))
    }

    /// Returns the agent of a step: the last one recorded in this phase, else the plugin's name for its role
    /// (docs/formats/nine-step.md#steps-and-agents).
    fn agent(&self, position: StepPosition, record: Option<&StepRecord>) -> Option<String> {
        let recorded = record.and_then(|record| record.agent.clone());
        recorded.or_else(|| match position.step.role() {
            Some(_) => self.names.of_step(position.step),
            None => self.ledger.developer.clone(),
        })
    }
}

/// Returns the verdict of a review that the run has passed; its conditions no longer block anything.
fn past_review(step: &Step, record: Option<&StepRecord>) -> Option<Review> {
    let verdict = record.and_then(|record| record.verdict)?;
    let is_past = step.kind == StepKind::Review && step.status == Status::Completed;
    (is_past && verdict.approves())
        .then(|| Review { verdict, open_conditions: (verdict == ReviewVerdict::ApprovedWithConditions).then(Vec::new) })
}
