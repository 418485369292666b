//! Rules 4 to 7: what comes next, by standing and dependencies, and what a caller's options change about it.

use super::graph::Graph;
use super::settle::Settled;
use super::settle::Standing;
use crate::model::Action;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Options;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::clean_line;
use crate::model::mask_secrets;

/// Is one thing to do, with the rule that chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) at: usize,
    pub(super) action: Action,
    pub(super) rule: &'static str,
    pub(super) reason: String,
    /// The step whose failure led here, when that is another one.
    pub(super) caused_by: Option<usize>,
}

/// Is the outcome of choosing.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) choices: Vec<Choice>,
    pub(super) findings: Vec<Finding>,
    /// The caller asked to go on only if dependencies are met, and they are not.
    pub(super) answered_no: bool,
}

pub(super) struct Chooser<'a> {
    pub(super) run: &'a Run,
    pub(super) graph: &'a Graph<'a>,
    pub(super) settled: &'a Settled,
    pub(super) options: &'a Options,
}

impl Chooser<'_> {
    pub(super) fn choose(&self) -> Chosen {
        let mut chosen = Chosen::default();
        self.report_graph(&mut chosen.findings);
        if !self.options.from.is_empty() {
            self.from(&mut chosen);
        } else if let Some(retry) = &self.options.retry {
            self.retry(retry.as_ref(), &mut chosen);
        } else {
            self.by_standing(&mut chosen);
        }
        self.limits(&mut chosen);
        chosen
    }

    /// Rules 4, 5 and 6 over all steps, in dependency order.
    fn by_standing(&self, chosen: &mut Chosen) {
        for &at in self.graph.order() {
            if let Some(choice) = self.choice(at) {
                chosen.choices.push(choice);
            }
        }
        if !chosen.choices.is_empty() {
            return;
        }
        let first_open = self.graph.order().iter().copied().find(|at| {
            matches!(self.standing(*at), Standing::Open | Standing::Blocked | Standing::Invalid)
                && self.gate_before(*at).is_none()
        });
        match first_open {
            Some(at) if self.options.force => {
                let id = &self.run.steps[at].id;
                let message = format!("{id} was forced although it waits for {}", list(&self.unmet(at)));
                chosen.findings.push(Finding::new(FindingCode::OverrideForced, message).on(id));
                let reason = "nothing is ready; the first open step was forced".to_owned();
                chosen.choices.push(Choice { at, action: Action::Run, rule: "7.force", reason, caused_by: None });
            }
            Some(_) | None => chosen.findings.extend(self.dependency_block()),
        }
    }

    fn choice(&self, at: usize) -> Option<Choice> {
        let step = &self.run.steps[at];
        let id = &step.id;
        let choice = |action, rule, reason| Some(Choice { at, action, rule, reason, caused_by: None });
        match self.standing(at) {
            Standing::Done | Standing::Skipped | Standing::Cancelled | Standing::Held | Standing::OpenContainer => None,
            Standing::Verify => {
                let why = self.settled.evidence[at].join("; ");
                choice(Action::Verify, "3.verify", format!("{why}: look before anything is run again"))
            }
            Standing::Conditions => {
                choice(Action::Verify, "4.conditions", "approved with conditions that are still open".to_owned())
            }
            Standing::Waiting => choice(Action::Approve, "5.gate", "User approval required".to_owned()),
            Standing::Failed => Some(self.after_failure(at)),
            Standing::Interrupted => {
                let why = format!("{id} was started and nothing says that it ended{}", self.still_to_address(at));
                choice(Action::Retry, "3.interrupted", why)
            }
            Standing::Invalid if self.is_ready(at) => {
                let why = self.settled.evidence[at].iter().skip(1).cloned().collect::<Vec<_>>().join("; ");
                choice(Action::Retry, "3.invalid", format!("recorded as done, and not believed: {why}"))
            }
            Standing::Open | Standing::Blocked if self.is_ready(at) => match step.kind {
                StepKind::Gate => choice(Action::Approve, "5.gate", "User approval required".to_owned()),
                StepKind::Work | StepKind::Review | StepKind::Container => {
                    choice(Action::Run, "6.next", self.why_ready(at))
                }
            },
            Standing::Invalid | Standing::Open | Standing::Blocked => None,
        }
    }

    /// Rule 4: a failed review goes back to the work it judged, anything else is tried again.
    fn after_failure(&self, at: usize) -> Choice {
        let step = &self.run.steps[at];
        let target = self.options.to_step.as_ref().or(step.returns_to.as_ref()).and_then(|id| self.graph.position(id));
        match target {
            Some(target) if target != at => Choice {
                at: target,
                action: Action::Return,
                rule: "4.return",
                reason: format!("Address {} feedback", step.agent.as_deref().unwrap_or(step.title.as_str())),
                caused_by: Some(at),
            },
            Some(_) | None => Choice {
                at,
                action: Action::Retry,
                rule: "4.retry",
                reason: format!(
                    "{} failed; try it again with what the failure said{}",
                    step.id,
                    self.still_to_address(at)
                ),
                caused_by: None,
            },
        }
    }

    /// Names the review that sent the run back to a step which was begun since and has not ended well.
    fn still_to_address(&self, at: usize) -> String {
        let id = &self.run.steps[at].id;
        let sent_back = self.run.steps.iter().enumerate().find(|(other, step)| {
            step.returns_to.as_ref() == Some(id) && step.error.is_some() && !self.standing(*other).is_over()
        });
        sent_back.map_or_else(String::new, |(_, step)| {
            format!("; it was sent back by {} ({}), whose findings stand", step.id, step.title)
        })
    }

    fn why_ready(&self, at: usize) -> String {
        let needs: Vec<&str> = self.graph.depends_on(at).iter().map(|on| self.run.steps[*on].id.as_str()).collect();
        match needs.as_slice() {
            [] => "it depends on nothing and has not been started".to_owned(),
            [one] => format!("{one} is done and this has not been started"),
            many if many.len() <= 4 => format!("{} are done and this has not been started", many.join(", ")),
            many => format!("all {} steps it depends on are done and this has not been started", many.len()),
        }
    }

    /// Rule 7, `--from`: exactly these steps, when nothing they need is open.
    fn from(&self, chosen: &mut Chosen) {
        let mut positions: Vec<usize> = self.options.from.iter().filter_map(|id| self.graph.position(id)).collect();
        positions.sort_by_key(|at| self.graph.order().iter().position(|other| other == at));
        positions.dedup();
        if self.options.parallel
            && let Some((one, other)) = self.dependent_pair(&positions)
        {
            let message = format!("{other} waits for {one}: they cannot run side by side");
            chosen.findings.push(Finding::new(FindingCode::OverrideRefused, message).fix("leave out --parallel"));
            return;
        }
        for at in positions {
            let id = &self.run.steps[at].id;
            let unmet = self.unmet(at);
            if let Some(gate) = self.gate_before(at) {
                let message =
                    format!("{id} lies behind {gate}, which nobody has approved; no option steps over a gate");
                let fix = format!("piton approve {}", super::plan::quoted(gate.as_str()));
                chosen.findings.push(Finding::new(FindingCode::OverrideRefused, message).on(id).fix(fix));
                continue;
            }
            if !unmet.is_empty() && self.options.if_dependencies_met {
                chosen.answered_no = true;
                let message = self.still_waits(at, &unmet);
                chosen.findings.push(Finding::new(FindingCode::DependencyBlock, message).on(id));
                continue;
            }
            if !unmet.is_empty() && !self.options.force {
                let message = self.still_waits(at, &unmet);
                let fix = format!("finish or skip {} first, or add --force", list(&unmet));
                chosen.findings.push(Finding::new(FindingCode::OverrideRefused, message).on(id).fix(fix));
                continue;
            }
            if !unmet.is_empty() {
                let message = format!("{id} was forced although it waits for {}", list(&unmet));
                chosen.findings.push(Finding::new(FindingCode::OverrideForced, message).on(id));
            }
            let standing = self.standing(at);
            let action = match (self.run.steps[at].kind, standing) {
                (StepKind::Gate, _) => Action::Approve,
                (StepKind::Work | StepKind::Review | StepKind::Container, Standing::Open | Standing::Blocked) => {
                    Action::Run
                }
                (StepKind::Work | StepKind::Review | StepKind::Container, _) => Action::Retry,
            };
            chosen.findings.push(
                Finding::new(FindingCode::Override, format!("--from chose {id} instead of the first open step")).on(id),
            );
            let reason = format!("chosen with --from; {}", self.settled.evidence[at].join("; "));
            chosen.choices.push(Choice { at, action, rule: "7.from", reason, caused_by: None });
        }
    }

    /// Rule 7, `--retry`: the named step, else the first that failed or was cut off, itself and not where it returns to.
    fn retry(&self, id: Option<&StepId>, chosen: &mut Chosen) {
        let failed =
            |at: &usize| matches!(self.standing(*at), Standing::Failed | Standing::Interrupted | Standing::Invalid);
        let at = match id {
            Some(id) => self.graph.position(id),
            None => self.graph.order().iter().copied().find(failed),
        };
        let Some(at) = at else {
            let message = "--retry found no step that failed or was cut off";
            chosen.findings.push(Finding::new(FindingCode::OverrideRefused, message).fix("leave out --retry"));
            return;
        };
        let id = &self.run.steps[at].id;
        if !failed(&at) && !self.options.force {
            let message = format!("{id} neither failed nor was cut off, so there is nothing to retry");
            let fix = format!("use --from {} to do it again all the same", super::plan::quoted(id.as_str()));
            chosen.findings.push(Finding::new(FindingCode::OverrideRefused, message).on(id).fix(fix));
            return;
        }
        chosen.findings.push(Finding::new(FindingCode::Override, format!("--retry chose {id}")).on(id));
        chosen.choices.push(Choice {
            at,
            action: Action::Retry,
            rule: "7.retry",
            reason: format!("chosen with --retry; {}", self.settled.evidence[at].join("; ")),
            caused_by: None,
        });
    }

    /// Rule 4: what a person has to decide about the failures behind the choices.
    fn limits(&self, chosen: &mut Chosen) {
        let mut seen: Vec<usize> = Vec::new();
        for choice in &chosen.choices {
            let at = choice.caused_by.unwrap_or(choice.at);
            if seen.contains(&at) || !matches!(choice.action, Action::Return | Action::Retry) {
                continue;
            }
            seen.push(at);
            let step = &self.run.steps[at];
            let id = &step.id;
            let rejected = step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Rejected);
            if rejected && step.status == Status::Failed {
                let message = format!("{id} ({}) was rejected: a person decides how to go on", step.title);
                chosen.findings.push(self.overridable(FindingCode::Rejected, message, id));
            } else if step.failures >= self.options.attempt_limit {
                let message = format!("{id} ({}) failed {} times{}", step.title, step.failures, attempts(step));
                chosen.findings.push(self.overridable(FindingCode::AttemptLimit, message, id));
            }
        }
    }

    /// Returns a finding that stops, or one that only warns when the caller insisted with `--force`.
    fn overridable(&self, code: FindingCode, message: String, id: &StepId) -> Finding {
        if self.options.force {
            let message = format!("{message}; forced by the caller");
            return Finding::new(FindingCode::OverrideForced, message).on(id);
        }
        let quoted = super::plan::quoted(id.as_str());
        let step = self.run.step(id);
        let mut ways = Vec::new();
        if step.is_some_and(|step| step.kind == StepKind::Review) {
            ways.push(format!("`piton approve {quoted}` to let it be tried again"));
            ways.push(format!("`piton finish {quoted} --verdict APPROVED` to accept it as it is"));
        }
        if step.is_some_and(|step| super::transition::skip_refusal(step).is_none()) {
            ways.push(format!("`piton skip {quoted} --reason ...`"));
        }
        ways.push("--force to try once more".to_owned());
        Finding::new(code, message).on(id).fix(format!("decide, then {}", ways.join(", or ")))
    }

    fn report_graph(&self, findings: &mut Vec<Finding>) {
        if let Some(cycle) = self.cycle() {
            let path: Vec<&str> = cycle.iter().map(|id| id.as_str()).collect();
            let message = format!("steps depend on each other in a circle: {}", path.join(" -> "));
            let fix = "take one of these dependencies out, or skip one of the steps";
            findings.push(Finding::new(FindingCode::DependencyCycle, message).on(cycle[0]).fix(fix));
        }
        for (at, step) in self.run.steps.iter().enumerate() {
            if !step.dangling.is_empty() && !self.standing(at).is_over() {
                let message = format!("{} depends on {}, which does not exist", step.id, step.dangling.join(", "));
                let fix = format!(
                    "correct the dependency, or `piton plan --from {} --force`",
                    super::plan::quoted(step.id.as_str())
                );
                let finding = Finding::new(FindingCode::DependencyDangling, message).on(&step.id).fix(fix);
                findings.push(match &step.file {
                    Some(file) => finding.at(file),
                    None => finding,
                });
            }
            let skipped = self.graph.depends_on(at).iter().find(|on| self.standing(**on) == Standing::Skipped);
            if let Some(on) = skipped
                && !self.standing(at).is_over()
            {
                let message = format!("{} goes on although {} was skipped", step.id, self.run.steps[*on].id);
                findings.push(Finding::new(FindingCode::DependencySkipped, message).on(&step.id));
            }
        }
    }

    /// Rule 6: work is left and none of it can start. Names the chain from the first step that waits down to the root.
    fn dependency_block(&self) -> Option<Finding> {
        let first = self.graph.order().iter().copied().find(|at| !self.standing(*at).is_over())?;
        let chain = self.chain_below(first);
        let waiting = self.graph.order().iter().filter(|at| !self.standing(**at).is_over()).count();
        let root = chain[chain.len() - 1];
        let step = &self.run.steps[root];
        let cause = match self.standing(root) {
            Standing::Held => "cannot be understood",
            Standing::Cancelled => "was cancelled",
            _ if !step.dangling.is_empty() => "waits for a step that does not exist",
            _ if self.cycle().is_some() => "is part of a circle",
            _ => "is blocked",
        };
        let message = format!("nothing can start: {waiting} open, {}; {} {cause}", self.path(&chain), step.id);
        let id = super::plan::quoted(step.id.as_str());
        let fix = format!("resolve {id}, or `piton skip {id} --reason ...`");
        let finding = Finding::new(FindingCode::DependencyBlock, message).on(&step.id).fix(fix);
        Some(match &step.file {
            Some(file) => finding.at(file),
            None => finding,
        })
    }

    fn cycle(&self) -> Option<Vec<&StepId>> {
        self.graph.cycle_among(|at| !self.standing(at).is_over())
    }

    /// Follows the first dependency that is not met down to its root, beginning with the step itself.
    fn chain_below(&self, at: usize) -> Vec<usize> {
        let mut chain = vec![at];
        while let Some(next) = self
            .graph
            .depends_on(chain[chain.len() - 1])
            .iter()
            .copied()
            .find(|on| !self.standing(*on).satisfies() && !chain.contains(on))
        {
            chain.push(next);
        }
        chain
    }

    /// Says what a step waits for, down to what has to come first of all.
    fn still_waits(&self, at: usize, unmet: &[StepId]) -> String {
        let chain = self.chain_below(at);
        let tail = if chain.len() > 2 { format!(" ({})", self.path(&chain)) } else { String::new() };
        format!("{} still waits for {}{tail}", self.run.steps[at].id, list(unmet))
    }

    fn path(&self, chain: &[usize]) -> String {
        let ids: Vec<&str> = chain.iter().map(|at| self.run.steps[*at].id.as_str()).collect();
        ids.join(" waits for ")
    }

    fn dependent_pair(&self, positions: &[usize]) -> Option<(&StepId, &StepId)> {
        positions.iter().find_map(|at| {
            let waiting = self.graph.waiting_for(*at);
            let other = positions.iter().find(|other| waiting.contains(other))?;
            Some((&self.run.steps[*at].id, &self.run.steps[*other].id))
        })
    }

    fn unmet(&self, at: usize) -> Vec<StepId> {
        let open = self.graph.depends_on(at).iter().filter(|on| !self.standing(**on).satisfies());
        let mut unmet: Vec<StepId> = open.map(|on| self.run.steps[*on].id.clone()).collect();
        unmet.extend(self.run.steps[at].dangling.iter().map(StepId::new));
        unmet
    }

    /// Returns the first gate or review that the step lies behind and that is not done.
    fn gate_before(&self, at: usize) -> Option<&StepId> {
        let needed = self.graph.needed_by(at);
        let gate = needed.into_iter().find(|on| {
            matches!(self.run.steps[*on].kind, StepKind::Gate | StepKind::Review) && !self.standing(*on).satisfies()
        });
        gate.map(|on| &self.run.steps[on].id)
    }

    fn is_ready(&self, at: usize) -> bool {
        self.run.steps[at].dangling.is_empty()
            && self.graph.depends_on(at).iter().all(|on| self.standing(*on).satisfies())
    }

    fn standing(&self, at: usize) -> Standing {
        self.settled.standings[at]
    }
}

/// Lists what each attempt said, a line's worth of each.
fn attempts(step: &Step) -> String {
    let lines = step.past_errors.iter().enumerate().map(|(at, error)| {
        let error = match error.trim() {
            "" => "no message",
            text => text.trim_start_matches(['-', '*', '•']).trim_start(),
        };
        format!("attempt {}: {}", at + 1, mask_secrets(&clean_line(error, 120)))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
}

fn list(ids: &[StepId]) -> String {
    let ids: Vec<&str> = ids.iter().map(StepId::as_str).collect();
    ids.join(", ")
}
