//! The planner: one pure function from a run, the evidence and the options to a plan. Same inputs, same bytes.

use serde_json::Value;

use super::age::age;
use super::choose::Choice;
use super::choose::Chooser;
use super::choose::Chosen;
use super::graph::Graph;
use super::question::question;
use super::settle::Settled;
use super::settle::Standing;
use super::settle::settle;
use super::strategy::strategy;
use super::workspace::workspace;
use crate::model::Action;
use crate::model::Age;
use crate::model::AgeBand;
use crate::model::Commands;
use crate::model::Cost;
use crate::model::Evidence;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::InterruptionKind;
use crate::model::InterruptionReport;
use crate::model::Mode;
use crate::model::Next;
use crate::model::Options;
use crate::model::Owner;
use crate::model::PartKind;
use crate::model::PartRef;
use crate::model::Plan;
use crate::model::PlannedPart;
use crate::model::Progress;
use crate::model::Run;
use crate::model::RunHeader;
use crate::model::RunStatus;
use crate::model::Severity;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepGroups;
use crate::model::StepId;
use crate::model::Strategy;
use crate::model::Verdict;
use crate::model::clean_line;
use crate::model::mask_secrets;
pub(crate) use crate::model::quoted;

/// Is a plan with everything there is to say about the data behind it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) findings: Vec<Finding>,
    /// Somebody else drives the run: the refusal is a conflict rather than a decision.
    pub(crate) live_owner: bool,
    /// The caller asked to go on only if dependencies are met (`--if-dependencies-met`), and they are not.
    pub(crate) answered_no: bool,
    /// In autopilot the plan is clean and fresh enough to go on without asking.
    pub(crate) unattended: bool,
    /// The caller wants to see every check.
    pub(crate) preflight: bool,
}

/// Plans how a run goes on.
///
/// `load_findings` is what reading the run said; `header` says which run it is. The result depends on nothing else.
pub(crate) fn plan(
    run: &Run,
    header: RunHeader,
    evidence: &Evidence,
    load_findings: Vec<Finding>,
    options: &Options,
) -> Planned {
    let skipped = skip_first(run, options);
    let run = skipped.as_ref().unwrap_or(run);
    let graph = Graph::of(run);
    let mut settled = settle(run, &graph, evidence, &load_findings);
    let mut chosen = Chooser { run, graph: &graph, settled: &settled, options }.choose();
    let mut findings = load_findings;
    findings.extend(owner(evidence));
    findings.append(&mut settled.findings);
    findings.append(&mut chosen.findings);
    findings.extend(skip_findings(run, options));
    let (age, age_findings) = age(run, evidence, options);
    findings.extend(age_findings);
    findings.extend(workspace(run, evidence));
    findings.extend(run_status(run, options));

    let planner = Planner { run, graph: &graph, settled: &settled, options };
    let done = settled.standings.iter().filter(|standing| standing.is_over()).count();
    let all_over = done == run.steps.len() && chosen.choices.is_empty();
    if all_over {
        // Age matters to somebody who wants to go on; here nothing is left to do.
        findings.retain(|finding| finding.code != FindingCode::AgeStale);
        findings.retain(|finding| finding.code != FindingCode::DependencyBlock);
    }
    let next = planner.next(&chosen, all_over, &findings);
    let next = if all_over && findings.iter().any(|finding| finding.code == FindingCode::StatusDrift) {
        planner.verify_drift(&findings)
    } else {
        next
    };
    findings.sort_by_key(|finding| finding.severity);
    findings.dedup();
    let is_empty = run.steps.is_empty() && run.done_elsewhere == 0;
    let verdict = if is_empty { Verdict::Nothing } else { verdict(&next, all_over, &chosen, &findings) };
    let interruption = planner.interruption(&chosen, evidence, all_over, &findings);
    let question = question(run, verdict, &next, &findings, &age, options);
    let commands = planner.commands(verdict, &next);
    let groups = planner.groups(&chosen);
    let total = run.steps.len() + run.done_elsewhere;
    let progress = Progress { done: done + run.done_elsewhere, total };
    let unattended = is_unattended(verdict, &age, &findings, options);
    let live_owner = matches!(evidence.owner, Owner::Live { .. });
    let plan = Plan {
        run: header,
        verdict,
        next,
        steps: groups,
        interruption,
        age,
        progress,
        question,
        commands,
        degraded: run.degraded,
        native: Value::Null,
    };
    Planned {
        plan,
        findings,
        live_owner,
        answered_no: chosen.answered_no,
        unattended,
        preflight: options.mode == Mode::Preflight,
    }
}

/// Applies `--skip` to a copy, so that the rest of the planning sees a world in which the step was skipped. Gates, reviews
/// and what is done are left as they are.
fn skip_first(run: &Run, options: &Options) -> Option<Run> {
    if options.skip.is_empty() {
        return None;
    }
    let mut run = run.clone();
    for id in &options.skip {
        if let Some(step) = run.steps.iter_mut().find(|step| &step.id == id)
            && super::transition::skip_refusal(step).is_none()
        {
            step.status = Status::Skipped;
            step.witnesses.clear();
        }
    }
    Some(run)
}

fn skip_findings(run: &Run, options: &Options) -> Vec<Finding> {
    let refused = |id: &&StepId| run.step(id).is_none_or(|step| step.status != Status::Skipped);
    let mut findings = Vec::new();
    for id in &options.skip {
        findings.push(if refused(&id) {
            let why = run
                .step(id)
                .and_then(super::transition::skip_refusal)
                .unwrap_or_else(|| "it does not exist".to_owned());
            Finding::new(FindingCode::OverrideRefused, format!("{id} cannot be skipped: {why}"))
                .on(id)
                .fix("leave out --skip")
        } else {
            Finding::new(
                FindingCode::Override,
                format!("--skip leaves out {id}; what depends on it goes on without it"),
            )
            .on(id)
        });
    }
    findings
}

/// Rule 2.
fn owner(evidence: &Evidence) -> Option<Finding> {
    match &evidence.owner {
        Owner::None | Owner::Ours => None,
        Owner::Live { description } => Some(
            Finding::new(FindingCode::LiveOwner, format!("another process is driving this run: {description}"))
                .fix("wait for it, or end it; then ask again"),
        ),
        Owner::Dead { since, session } => {
            let who =
                session.as_ref().map_or_else(|| "the process that drove it".to_owned(), |id| format!("session {id}"));
            let when = since.map_or_else(String::new, |since| format!(", last heard of at {since}"));
            Some(Finding::new(FindingCode::OwnerGone, format!("{who} is gone{when}")))
        }
    }
}

fn run_status(run: &Run, options: &Options) -> Option<Finding> {
    let aborted = run.status == RunStatus::Aborted;
    aborted.then(|| {
        if options.force {
            Finding::new(FindingCode::OverrideForced, "the run was given up; the caller takes it up again")
        } else {
            let fix = format!("piton resume {} --force", quoted(run.id.as_str()));
            Finding::new(FindingCode::RunAborted, "the run was given up; it goes on only when somebody says so")
                .fix(fix)
        }
    })
}

fn verdict(next: &[Next], all_over: bool, chosen: &Chosen, findings: &[Finding]) -> Verdict {
    let blocking = findings.iter().any(|finding| finding.severity == Severity::Blocking);
    let looks = next.iter().any(|next| next.action == Action::Verify);
    let wants_a_look = findings.iter().any(|finding| finding.severity != Severity::Info && finding.code.wants_a_look());
    if all_over && !looks && !findings.iter().any(|finding| finding.code == FindingCode::LiveOwner) {
        Verdict::Complete
    } else if blocking || chosen.answered_no || next.iter().all(|next| next.action == Action::Approve) {
        // A gate is no problem in the data, and still nothing goes on before a person has spoken.
        Verdict::Blocked
    } else if looks || wants_a_look || next.iter().any(|next| next.action == Action::Approve) {
        Verdict::Confirm
    } else {
        Verdict::Resume
    }
}

/// Rule 9: autopilot goes on by itself only when nothing stops it, the state is under a day old, and no gate or conflict
/// waits; warnings do not stop it.
fn is_unattended(verdict: Verdict, age: &Age, findings: &[Finding], options: &Options) -> bool {
    let fresh = matches!(age.band, Some(AgeBand::Fresh | AgeBand::Recent));
    let gate_or_conflict = findings.iter().any(|finding| {
        finding.severity == Severity::Blocking
            || matches!(
                finding.code,
                FindingCode::StatusConflict
                    | FindingCode::OverrideForced
                    | FindingCode::RestoredFromHistory
                    | FindingCode::StateCorrupt
                    | FindingCode::StateLeftover
                    | FindingCode::PartMissing
                    | FindingCode::RunFailed
            )
    });
    options.mode == Mode::Autopilot
        && fresh
        && !gate_or_conflict
        && matches!(verdict, Verdict::Resume | Verdict::Confirm)
}

struct Planner<'a> {
    run: &'a Run,
    graph: &'a Graph<'a>,
    settled: &'a Settled,
    options: &'a Options,
}

impl Planner<'_> {
    fn next(&self, chosen: &Chosen, all_over: bool, findings: &[Finding]) -> Vec<Next> {
        if !all_over {
            return chosen.choices.iter().map(|choice| self.next_of(choice, findings)).collect();
        }
        let last = self.graph.order().last().map(|at| self.run.steps[*at].id.clone());
        let (Some(after), Some(step)) = (&self.run.after, last) else { return Vec::new() };
        if self.run.status == RunStatus::Completed {
            return Vec::new();
        }
        vec![Next {
            step,
            title: after.title.clone(),
            action: after.action,
            agent: after.agent.clone(),
            agent_candidates: Vec::new(),
            attempt: 1,
            reason: after.reason.clone(),
            rule: "6.complete".to_owned(),
            evidence: vec![format!("all {} steps are done", self.run.steps.len() + self.run.done_elsewhere)],
            strategy: None,
            alternatives: Vec::new(),
            parts: Vec::new(),
            cost: Cost::default(),
        }]
    }

    /// Everything is done, and of some steps only the evidence says so: what is left is to look and to record it.
    fn verify_drift(&self, findings: &[Finding]) -> Vec<Next> {
        let drifted = |at: &usize| {
            findings.iter().any(|finding| {
                finding.code == FindingCode::StatusDrift && finding.step.as_ref() == Some(&self.run.steps[*at].id)
            })
        };
        let choice = |at| Choice {
            at,
            action: Action::Verify,
            rule: "3.drift",
            reason: format!("{}: look, then record it; nothing has to be run", self.settled.evidence[at].join("; ")),
            caused_by: None,
        };
        let positions = self.graph.order().iter().copied().filter(drifted);
        positions.map(|at| self.next_of(&choice(at), findings)).collect()
    }

    fn next_of(&self, choice: &Choice, findings: &[Finding]) -> Next {
        let step = &self.run.steps[choice.at];
        let kind = self.kind_of(choice);
        let lost = kind != InterruptionKind::AgentInterruption && kind != InterruptionKind::TaskFailure;
        let kind = if lost && self.context_is_lost(choice.at, findings) { InterruptionKind::ContextLost } else { kind };
        let strategy: Option<(Strategy, _)> = match choice.action {
            Action::Run | Action::Retry | Action::Return => strategy(kind),
            Action::Verify | Action::Approve | Action::Merge | Action::Archive => None,
        };
        let attempt = match choice.action {
            Action::Run | Action::Retry | Action::Return => step.attempts + 1,
            Action::Verify | Action::Approve | Action::Merge | Action::Archive => step.attempts.max(1),
        };
        let mut evidence = self.settled.evidence[choice.at].clone();
        if let Some(cause) = choice.caused_by {
            let failed = &self.run.steps[cause];
            let verdict = failed.review.as_ref().map_or("failed", |review| review.verdict.as_str());
            evidence.insert(0, format!("{} ended with {verdict}", failed.id));
        }
        Next {
            step: step.id.clone(),
            title: step.title.clone(),
            action: choice.action,
            agent: step.agent.clone(),
            agent_candidates: if step.agent.is_some() { Vec::new() } else { step.agent_candidates.clone() },
            attempt,
            reason: choice.reason.clone(),
            rule: choice.rule.to_owned(),
            evidence,
            strategy: strategy.map(|(strategy, _)| strategy),
            alternatives: strategy.map(|(_, names)| names.map(str::to_owned).to_vec()).unwrap_or_default(),
            parts: self.parts(step, choice.action),
            cost: self.cost(choice),
        }
    }

    fn kind_of(&self, choice: &Choice) -> InterruptionKind {
        let at = choice.caused_by.unwrap_or(choice.at);
        match (choice.action, self.settled.standings[at]) {
            (Action::Approve, _) => InterruptionKind::WaitingApproval,
            (_, Standing::Failed) => InterruptionKind::TaskFailure,
            (_, Standing::Interrupted | Standing::Conditions) => InterruptionKind::AgentInterruption,
            (_, Standing::Verify) if self.run.steps[at].status == Status::InProgress => {
                InterruptionKind::AgentInterruption
            }
            (_, Standing::Invalid) => InterruptionKind::ContextLost,
            (
                _,
                Standing::Open
                | Standing::Verify
                | Standing::Blocked
                | Standing::Done
                | Standing::Skipped
                | Standing::Cancelled
                | Standing::Waiting
                | Standing::Held
                | Standing::OpenContainer,
            ) => InterruptionKind::ReadyToExecute,
        }
    }

    /// Tells whether the step builds on work of which the state has lost the summaries or the session.
    fn context_is_lost(&self, at: usize, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| finding.code == FindingCode::SessionUnreadable)
            || findings.iter().any(|finding| {
                finding.code == FindingCode::SummaryMissing
                    && finding
                        .step
                        .as_ref()
                        .and_then(|id| self.graph.position(id))
                        .is_some_and(|lost| self.graph.depends_on(at).contains(&lost))
            })
    }

    /// Says what happens to each part of a step: finished ones stay, and the caller's part-level options come on top.
    fn parts(&self, step: &Step, action: Action) -> Vec<PlannedPart> {
        if !matches!(action, Action::Run | Action::Retry | Action::Return) {
            return Vec::new();
        }
        let chosen = |part: &Option<PartRef>| {
            let part = part.as_ref().filter(|part| part.step == step.id)?;
            step.parts.iter().position(|other| other.name == part.part)
        };
        let from = chosen(&self.options.from_part);
        let retry = chosen(&self.options.retry_part);
        let skip = chosen(&self.options.skip_part);
        let planned = step.parts.iter().enumerate().map(|(at, part)| {
            let refresh = self.options.refresh_analysis && part.kind == PartKind::Analysis;
            let action = if skip == Some(at) || part.status == Status::Skipped {
                "skip"
            } else if retry == Some(at) {
                "retry"
            } else if from.is_some_and(|from| at < from) {
                "skip"
            } else if refresh {
                "refresh"
            } else if part.status == Status::Completed && from.is_none_or(|from| at < from) {
                "done"
            } else if part.status == Status::InProgress || part.status == Status::Failed {
                "retry"
            } else {
                "run"
            };
            PlannedPart { name: part.name.clone(), title: part.title.clone(), action: action.to_owned() }
        });
        planned.collect()
    }

    /// Counts what was paid for already and would be paid for again.
    fn cost(&self, choice: &Choice) -> Cost {
        let step = &self.run.steps[choice.at];
        let again: Vec<usize> = match choice.action {
            Action::Return => {
                let mut again = self.graph.waiting_for(choice.at);
                again.push(choice.at);
                again.retain(|at| self.settled.standings[*at] == Standing::Done);
                again
            }
            Action::Retry => match self.settled.standings[choice.at] {
                Standing::Invalid | Standing::Done => vec![choice.at],
                _ => Vec::new(),
            },
            Action::Run | Action::Verify | Action::Approve | Action::Merge | Action::Archive => Vec::new(),
        };
        let mut paid: Vec<&Step> = again.iter().map(|at| &self.run.steps[*at]).collect();
        if choice.action == Action::Retry && again.is_empty() {
            paid.push(step);
        }
        let minutes = paid.iter().filter_map(|step| Some((step.started_at?, step.finished_at?)));
        let minutes_again = minutes.map(|(start, end)| end.seconds_since(start).max(0).unsigned_abs() / 60).sum();
        Cost { attempts: step.attempts, steps_again: again.len(), minutes_again }
    }

    fn interruption(
        &self,
        chosen: &Chosen,
        evidence: &Evidence,
        all_over: bool,
        findings: &[Finding],
    ) -> Option<InterruptionReport> {
        let report = |kind, at: Option<usize>, reason: String, affected| InterruptionReport {
            kind,
            step: at.map(|at| self.run.steps[at].id.clone()),
            at: at.and_then(|at| self.run.steps[at].started_at.max(self.run.steps[at].finished_at)).or(self.run.stamp),
            reason,
            affected,
            strategy: strategy(kind).map(|(strategy, _)| strategy),
            alternatives: strategy(kind).map(|(_, names)| names.map(str::to_owned).to_vec()).unwrap_or_default(),
        };
        if all_over {
            return None;
        }
        let cut_off = |choice: &&Choice| {
            let at = choice.caused_by.unwrap_or(choice.at);
            matches!(
                self.settled.standings[at],
                Standing::Failed | Standing::Interrupted | Standing::Waiting | Standing::Conditions
            )
        };
        let Some(choice) = chosen.choices.iter().find(cut_off).or_else(|| chosen.choices.first()) else {
            let block = findings.iter().find(|finding| finding.code == FindingCode::DependencyBlock)?;
            let at = block.step.as_ref().and_then(|id| self.graph.position(id));
            return Some(report(InterruptionKind::DependencyBlock, at, block.message.clone(), self.affected(at)));
        };
        let at = choice.caused_by.unwrap_or(choice.at);
        let kind = self.kind_of(choice);
        if let (InterruptionKind::ReadyToExecute, Some(paused)) = (kind, &self.run.interruption)
            && paused.kind == InterruptionKind::Paused
        {
            let at = paused.step.as_ref().and_then(|id| self.graph.position(id));
            let reason = mask_secrets(&clean_line(&paused.reason, 400)).into_owned();
            let affected = Vec::new();
            return Some(InterruptionReport { at: paused.at, ..report(paused.kind, at, reason, affected) });
        }
        let recorded = self
            .run
            .interruption
            .as_ref()
            .filter(|recorded| recorded.step.is_none() || recorded.step.as_ref() == Some(&self.run.steps[at].id));
        let reason = match (recorded, &self.run.steps[at].error, &evidence.owner) {
            (Some(recorded), _, _) => mask_secrets(&clean_line(&recorded.reason, 400)).into_owned(),
            (None, Some(error), _) => {
                mask_secrets(clean_line(error, 400).trim_start_matches(['-', '*', '•']).trim_start()).into_owned()
            }
            (None, None, Owner::Dead { .. }) => "the process that drove it is gone".to_owned(),
            (None, None, Owner::None | Owner::Ours | Owner::Live { .. }) => choice.reason.clone(),
        };
        let affected = match kind {
            InterruptionKind::ReadyToExecute => Vec::new(),
            InterruptionKind::AgentInterruption
            | InterruptionKind::TaskFailure
            | InterruptionKind::DependencyBlock
            | InterruptionKind::ContextLost
            | InterruptionKind::WaitingApproval
            | InterruptionKind::Paused
            | InterruptionKind::WorkflowComplete => self.affected(Some(at)),
        };
        Some(report(kind, Some(at), reason, affected))
    }

    fn affected(&self, at: Option<usize>) -> Vec<StepId> {
        let Some(at) = at else { return Vec::new() };
        let waiting = self.graph.waiting_for(at).into_iter().filter(|at| !self.settled.standings[*at].is_over());
        std::iter::once(at).chain(waiting).map(|at| self.run.steps[at].id.clone()).collect()
    }

    fn groups(&self, chosen: &Chosen) -> StepGroups {
        let mut groups = StepGroups::default();
        let returned =
            |at: usize| chosen.choices.iter().any(|choice| choice.at == at && choice.action == Action::Return);
        for &at in self.graph.order() {
            let group = match self.settled.standings[at] {
                Standing::Done if returned(at) => &mut groups.pending,
                Standing::Done => &mut groups.completed,
                Standing::Skipped | Standing::Cancelled => &mut groups.skipped,
                Standing::Open | Standing::Waiting | Standing::Verify => &mut groups.pending,
                Standing::OpenContainer => continue,
                Standing::Interrupted | Standing::Conditions => &mut groups.in_progress,
                Standing::Failed => &mut groups.failed,
                Standing::Invalid => &mut groups.invalid,
                Standing::Blocked | Standing::Held => &mut groups.blocked,
            };
            group.push(self.run.steps[at].id.clone());
        }
        groups
    }

    fn commands(&self, verdict: Verdict, next: &[Next]) -> Commands {
        let run = quoted(self.run.id.as_str());
        let Some(first) = next.first() else { return Commands::default() };
        let step = quoted(first.step.as_str());
        let agent = first.agent.as_ref().map_or_else(String::new, |agent| format!(" --agent {}", quoted(agent)));
        let begin = match first.action {
            Action::Run | Action::Retry | Action::Return => Some(format!("piton begin {step} --run {run}{agent}")),
            Action::Approve => Some(format!("piton approve {step} --run {run}")),
            Action::Verify => Some(format!("piton finish {step} --run {run} --status completed")),
            Action::Archive => Some(format!("piton archive {run}")),
            Action::Merge => None,
        };
        let done = matches!(first.action, Action::Merge | Action::Archive);
        let context = (!done).then(|| format!("piton context {run} --step {step}"));
        let resume = match verdict {
            Verdict::Resume | Verdict::Confirm => Some(format!("piton resume {run}")),
            Verdict::Blocked | Verdict::Complete | Verdict::Nothing => None,
        };
        Commands { begin, context, resume }
    }
}

#[cfg(test)]
#[path = "plan_fixtures.rs"]
pub(crate) mod fixtures;

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
