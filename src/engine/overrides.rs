//! Rule 7: the caller's options. Each one is checked, and each one adds a finding.

use super::{
    choose::{Choice, Chooser, Chosen, list},
    command,
    reconciled::{EffectiveStatus, ReconciledRun},
};
use crate::model::{
    Finding, FindingCode, Fix, Options, PartKind, PartRef, Run, Status, Step, StepId, StepKind, Suggested, Verb, quoted,
};

/// An option that cannot be honoured; a finding says why.
#[derive(Debug)]
pub(super) struct OptionRefused;

/// Applies `--skip` to a copy of the run, so that the planner sees the steps as skipped.
pub(super) fn skip(reconciled: &ReconciledRun<'_>, options: &Options) -> (Run, Vec<Finding>) {
    let mut run = reconciled.run.clone();
    let mut findings = Vec::new();
    for id in &options.skip {
        let at = reconciled.graph.position(id);
        let why = at.map_or(Some("it does not exist"), |at| reconciled.skip_refusal(at));
        findings.push(match (at, why) {
            (Some(at), None) => {
                run.steps[at].status = Status::Skipped;
                let message = format!("--skip skips {id}; its dependents continue without it");
                Finding::new(FindingCode::Override, message).on(id)
            }
            (_, why) => {
                refused(format!("{id} cannot be skipped: {}", why.unwrap_or_default()), "leave out --skip").on(id)
            }
        });
    }
    (run, findings)
}

impl Chooser<'_> {
    /// Chooses the steps that the caller named; returns false if none were named.
    pub(super) fn overrides(&self, chosen: &mut Chosen) -> bool {
        let (from, retry, to_step) = (&self.options.from, &self.options.retry, &self.options.to_step);
        // An option about a part also names its step, like `--from`. Naming the same step twice is not a conflict.
        let differs = |id: &StepId| from.iter().any(|other| other != id);
        let conflict = match (retry, to_step) {
            (Some(_), Some(_)) => Some("--retry and --to-step"),
            (Some(Some(id)), None) if differs(id) => Some("--from and --retry"),
            (None, Some(id)) if differs(id) => Some("--from and --to-step"),
            (Some(_), None) | (None, Some(_) | None) => None,
        };
        if let Some(options) = conflict {
            chosen.findings.push(refused(format!("{options} cannot be combined"), "use one of them"));
        } else if to_step.is_some() {
            return false;
        } else if let (true, Some(retry)) = (from.is_empty(), retry) {
            self.retry(retry.as_ref(), chosen);
        } else if !from.is_empty() {
            self.from(chosen);
        } else {
            return false;
        }
        true
    }

    /// `--from`: exactly these steps, if their dependencies are met.
    fn from(&self, chosen: &mut Chosen) {
        let mut positions = Vec::new();
        for id in &self.options.from {
            match self.reconciled.graph.position(id) {
                Some(at) => positions.push(at),
                None => chosen.findings.push(refused(format!("there is no step {id}"), "leave out --from").on(id)),
            }
        }
        positions.sort_by_key(|at| self.reconciled.graph.rank(*at));
        positions.dedup();
        if self.options.parallel
            && let Some((one, other)) = self.dependent_pair(&positions)
        {
            let message = format!("{other} waits for {one}: they cannot run in parallel");
            chosen.findings.push(refused(message, "leave out --parallel"));
            return;
        }
        for at in positions {
            self.choose_named(self.option_for(at), "7.from", at, chosen);
        }
    }

    /// Returns the option that names a step to start from: one for a part names its step too.
    fn option_for(&self, at: usize) -> &'static str {
        let id = &self.reconciled.run.steps[at].id;
        let Options { from_part, retry_part, skip_part, .. } = self.options;
        let parts = [("--from-step", from_part), ("--retry-step", retry_part), ("--skip-step", skip_part)];
        let of_part = parts.into_iter().find(|(_, part)| part.as_ref().is_some_and(|part| part.step == *id));
        of_part.map_or("--from", |(option, _)| option)
    }

    /// `--retry`: the named step, else the first that failed or was interrupted. Never the step it returns to.
    fn retry(&self, id: Option<&StepId>, chosen: &mut Chosen) {
        let order = self.reconciled.graph.order();
        let at = match id {
            Some(id) => self.reconciled.graph.position(id),
            None => order.iter().copied().find(|at| has_failed(self.reconciled.effective_status(*at))),
        };
        let Some(at) = at else {
            let message = id.map_or_else(
                || "--retry found no step that failed or was interrupted".to_owned(),
                |id| format!("there is no step {id}"),
            );
            chosen.findings.push(refused(message, "leave out --retry"));
            return;
        };
        let id = &self.reconciled.run.steps[at].id;
        if !has_failed(self.reconciled.effective_status(at)) && !self.options.force {
            let message = format!("{id} neither failed nor was interrupted, so there is nothing to retry");
            let plan = Suggested::of(Verb::Plan, &self.reconciled.run.id).option("from", id);
            chosen.findings.push(refused(message, format!("`{plan}` runs it again anyway")).on(id));
            return;
        }
        self.choose_named("--retry", "7.retry", at, chosen);
    }

    /// Chooses one step by name if its dependencies are met or the caller passed `--force`. No option bypasses a gate.
    pub(super) fn choose_named(&self, option: &str, rule: &'static str, at: usize, chosen: &mut Chosen) {
        let id = &self.reconciled.run.steps[at].id;
        if let Some(finding) = self.cannot_be_chosen(at) {
            chosen.findings.push(finding.on(id));
            return;
        }
        let unmet = self.reconciled.unmet(at);
        if !unmet.is_empty() && self.options.if_dependencies_met {
            chosen.dependencies_unmet = true;
            let message = self.still_waits(at, &unmet);
            chosen.findings.push(Finding::new(FindingCode::DependencyBlock, message).on(id));
            return;
        }
        if !unmet.is_empty() && !self.options.force {
            let message = self.still_waits(at, &unmet);
            let fix = format!("finish or skip {} first, or add --force", list(&unmet));
            chosen.findings.push(refused(message, fix).on(id));
            return;
        }
        if !unmet.is_empty() {
            let message = format!("{id} was forced although it waits for {}", list(&unmet));
            chosen.findings.push(Finding::new(FindingCode::OverrideForced, message).on(id));
        }
        let message = format!("{option} chose {id} instead of the first open step");
        chosen.findings.push(Finding::new(FindingCode::Override, message).on(id));
        let effective_status = self.reconciled.effective_status(at);
        let waits = effective_status == EffectiveStatus::Waiting;
        chosen.choices.push(if waits || self.reconciled.run.steps[at].kind == StepKind::Gate {
            Choice { forced: !unmet.is_empty() && !waits, ..self.approval(at) }
        } else {
            let doubted = effective_status == EffectiveStatus::Verify;
            let reviews = self.reconciled.sent_back(at);
            let again = effective_status.is_over() && reviews.is_empty();
            let forced = !unmet.is_empty() || again || doubted;
            let reason = match reviews.first().filter(|_| effective_status.is_over()) {
                Some(review) => format!("{} sent the work back", self.reconciled.run.steps[*review].id),
                None => format!("chosen with {option}"),
            };
            Choice { forced, ..Choice::new(at, self.work_action(at), rule, reason) }
        });
    }

    /// Returns why no option can choose a step; `None` if one can.
    fn cannot_be_chosen(&self, at: usize) -> Option<Finding> {
        let step = &self.reconciled.run.steps[at];
        let run = &self.reconciled.run.id;
        let id = &step.id;
        let effective_status = self.reconciled.effective_status(at);
        if effective_status == EffectiveStatus::Unreadable {
            let message = format!("the state of {id} cannot be interpreted; the step is left alone");
            return Some(refused(message, Suggested::of(Verb::Validate, run)));
        }
        if step.kind == StepKind::Container {
            let message = format!("{id} has no work of its own");
            return Some(refused(message, "name its child steps instead"));
        }
        if step.kind == StepKind::Gate && effective_status.is_over() {
            return Some(refused(format!("{id} is a gate, and it is {}", step.status), "name the step after it"));
        }
        let gate_at = self.reconciled.gate_before(at)?;
        let gate = &self.reconciled.run.steps[gate_at];
        let (message, begin) = match gate.kind {
            StepKind::Gate => (
                format!("{id} comes after {}, which is not approved; no option bypasses a gate", gate.id),
                command::approve(gate, run),
            ),
            StepKind::Work | StepKind::Review | StepKind::Container => (
                format!("{id} comes after {}, a review that is not done; no option bypasses it", gate.id),
                Suggested::on_step(Verb::Begin, &gate.id, run),
            ),
        };
        // A gate that itself waits, or a review that said no, is not what comes next.
        let is_next = gate.recorded
            && self.reconciled.is_ready(gate_at)
            && self.reconciled.effective_status(gate_at) != EffectiveStatus::Failed;
        let fix = if is_next { begin } else { Suggested::of(Verb::Plan, run) };
        Some(refused(message, fix))
    }

    /// `--to-step`: the step that failed reviews behind it send the run back to; `None` if not given.
    pub(super) fn to_step(&self, findings: &mut Vec<Finding>) -> Result<Option<usize>, OptionRefused> {
        let Some(id) = &self.options.to_step else { return Ok(None) };
        let failed = |at: usize| self.reconciled.effective_status(at) == EffectiveStatus::Failed;
        let mut fix = "leave out --to-step".to_owned();
        let why = match self.reconciled.graph.position(id) {
            None => format!("there is no step {id}"),
            Some(at) if !self.reconciled.can_be_redone(at) => format!("{id} cannot be redone"),
            Some(at) if !failed(at) && !self.reconciled.graph.all_dependents(at).into_iter().any(failed) => {
                if self.reconciled.effective_status(at) == EffectiveStatus::Done {
                    fix = format!("to do {id} again: `{}`", command::decide("redo", id, &self.reconciled.run.id));
                }
                format!("--to-step sends a failed step back to {id}, and nothing after {id} has failed")
            }
            Some(at) if !self.reconciled.is_ready(at) => {
                format!("{id} still waits for {}", list(&self.reconciled.unmet(at)))
            }
            Some(at) => {
                let message = format!("--to-step sends the run back to {id}");
                findings.push(Finding::new(FindingCode::Override, message).on(id));
                return Ok(Some(at));
            }
        };
        findings.push(refused(why, fix).on(id));
        Err(OptionRefused)
    }

    /// Checks the options for parts against the chosen steps.
    pub(super) fn part_overrides(&self, chosen: &mut Chosen) {
        let options = [
            ("--from-step", &self.options.from_part, "begins at"),
            ("--retry-step", &self.options.retry_part, "repeats"),
            ("--skip-step", &self.options.skip_part, "skips"),
        ];
        for (option, part, verb) in options {
            if let Some(part) = part {
                let finding = self.part_override(option, verb, part, &chosen.choices);
                chosen.findings.push(finding.on(&part.step));
            }
        }
        if self.options.refresh_analysis {
            let steps = chosen.choices.iter().filter(|choice| choice.is_work()).map(|choice| self.step(choice));
            let afresh: Vec<StepId> = steps
                .filter(|step| step.detail.parts.iter().any(|part| part.kind == PartKind::Analysis))
                .map(|step| step.id.clone())
                .collect();
            let message = match afresh.len() {
                0 => "--refresh-analysis changes nothing: no chosen step has parts for analysis".to_owned(),
                1..=8 => format!("--refresh-analysis repeats the analysis of {}", list(&afresh)),
                many => format!("--refresh-analysis repeats the analysis of {many} steps"),
            };
            chosen.findings.push(Finding::new(FindingCode::Override, message));
        }
    }

    fn part_override(&self, option: &str, verb: &str, part: &PartRef, choices: &[Choice]) -> Finding {
        let mut chosen = choices.iter().filter(|choice| choice.is_work()).map(|choice| self.step(choice));
        let Some(step) = chosen.find(|step| step.id == part.step) else {
            let message = format!("{option} is about {}, which is not next", part.step);
            return refused(message, format!("add --from {}", quoted(part.step.as_str())));
        };
        if step.detail.parts.iter().any(|other| other.name == part.part) {
            return Finding::new(FindingCode::Override, format!("{option} {verb} {} of {}", part.part, part.step));
        }
        let names: Vec<&str> = step.detail.parts.iter().map(|part| part.name.as_str()).collect();
        let fix = match names.as_slice() {
            [] => format!("{} has no parts; leave out {option}", part.step),
            names => format!("its parts are {}", names.join(", ")),
        };
        refused(format!("{} has no part {}", part.step, part.part), fix)
    }

    fn step(&self, choice: &Choice) -> &Step {
        &self.reconciled.run.steps[choice.at]
    }

    fn dependent_pair(&self, positions: &[usize]) -> Option<(&StepId, &StepId)> {
        let id = |at: usize| &self.reconciled.run.steps[at].id;
        positions.iter().find_map(|at| {
            let other =
                self.reconciled.graph.all_dependents(*at).into_iter().find(|waiting| positions.contains(waiting))?;
            Some((id(*at), id(other)))
        })
    }
}

const fn has_failed(effective_status: EffectiveStatus) -> bool {
    matches!(effective_status, EffectiveStatus::Failed | EffectiveStatus::Interrupted | EffectiveStatus::Invalid)
}

fn refused(message: impl Into<String>, fix: impl Into<Fix>) -> Finding {
    Finding::new(FindingCode::OverrideRefused, message).fix(fix)
}

/// Adds the options that reproduce this plan to the command that acts on it.
pub(super) fn with_options(options: &Options, command: Suggested) -> Suggested {
    let command = options.from.iter().fold(command, |command, id| command.option("from", id));
    let command = match &options.retry {
        None => command,
        Some(None) => command.flag("retry"),
        Some(Some(id)) => command.option("retry", id),
    };
    let command = options.skip.iter().fold(command, |command, id| command.option("skip", id));
    let switches = [
        (options.force, "force"),
        (options.parallel, "parallel"),
        (options.if_dependencies_met, "if-dependencies-met"),
        (options.refresh_analysis, "refresh-analysis"),
    ];
    let switches = switches.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag);
    let parts =
        [("from-step", &options.from_part), ("retry-step", &options.retry_part), ("skip-step", &options.skip_part)];
    let parts = parts.into_iter().filter_map(|(name, part)| part.as_ref().map(|part| (name, part)));
    let command = command.maybe("to-step", options.to_step.as_ref()).flags(switches);
    parts.fold(command, |command, (name, part)| command.pair(name, &part.part, part.step.as_str()))
}
