//! Rule 4: where a person decides before a step is tried again.

use std::collections::BTreeSet;

use super::{
    choose::{Choice, Chooser, Chosen},
    command,
    reconciled::{EffectiveStatus, Limit},
};
use crate::model::{
    Action, DecisionKind, Finding, FindingCode, Step, StepId, StepKind, Suggested, Verb, clean_line, mask_secrets,
    plural, safe_line,
};

/// The longest reason of a rejection that a finding repeats, in characters.
const WHY_CHARS: usize = 200;

impl Chooser<'_> {
    /// Returns the failed steps whose limits apply to the choices, each once.
    fn failures(&self, choices: &[Choice]) -> Vec<usize> {
        let mut failures: Vec<usize> = Vec::new();
        for choice in choices {
            if choice.action == Action::Approve && self.reconciled.is_refused_gate(choice.at) {
                failures.push(choice.at);
            } else if !choice.is_work() {
                continue;
            } else if choice.caused_by.is_empty() && choice.is_named() {
                failures.extend(self.reconciled.limited_by(choice.at));
            } else if choice.action != Action::Run {
                failures.extend(choice.causes());
            }
        }
        let mut seen = BTreeSet::new();
        failures.retain(|at| seen.insert(*at));
        failures
    }

    /// Returns the decisions without which the choices cannot be begun.
    pub(super) fn needed_decisions(&self, choices: &[Choice]) -> Vec<(StepId, DecisionKind)> {
        let mut needs = Vec::new();
        for choice in choices.iter().filter(|choice| choice.forced) {
            if !self.reconciled.is_ready(choice.at) {
                needs.push((choice.at, DecisionKind::Override));
            }
            let effective_status = self.reconciled.effective_status(choice.at);
            if effective_status.is_over() || effective_status == EffectiveStatus::Verify {
                needs.push((choice.at, DecisionKind::Redo));
            }
        }
        // The same work is not reviewed again unless a person wants that.
        let says_no = |choice: &&Choice| {
            let step = &self.reconciled.run.steps[choice.at];
            let is_no = step.says_no();
            choice.is_named() && is_no && self.reconciled.returns_to(choice.at).is_some()
        };
        let reviews = choices.iter().filter(says_no);
        needs.extend(
            reviews
                .filter(|choice| self.reconciled.compared.decisions.redo(choice.at).is_none())
                .map(|choice| (choice.at, DecisionKind::Redo)),
        );
        let is_limited = |at: &usize| self.reconciled.limit(*at, self.options.attempt_limit).is_some();
        if self.options.force {
            let limited = self.failures(choices).into_iter().filter(is_limited);
            needs.extend(limited.map(|at| (at, DecisionKind::Redo)));
        }
        needs.sort_unstable();
        needs.dedup();
        needs.into_iter().map(|(at, kind)| (self.reconciled.run.steps[at].id.clone(), kind)).collect()
    }

    /// Rule 4: adds findings for failures that a person has to decide about.
    pub(super) fn limits(&self, chosen: &mut Chosen) {
        let failures = self.failures(&chosen.choices);
        let is_limited = |at: &usize| self.reconciled.limit(*at, self.options.attempt_limit).is_some();
        let is_free = |choice: &&Choice| {
            choice.action == Action::Run && choice.caused_by.is_empty() && !is_limited(&choice.at) && !choice.forced
        };
        let free = chosen.choices.iter().find(is_free).map(|choice| &self.reconciled.run.steps[choice.at]);
        let free = free
            .filter(|step| step.recorded)
            .map(|step| Suggested::on_step(Verb::Begin, &step.id, &self.reconciled.run.id));
        let gates = chosen.choices.iter().filter(|choice| choice.action == Action::Approve);
        let expired: Vec<Finding> = gates
            .filter_map(|gate| {
                let message = self.reconciled.expired(gate.at, self.options.now)?;
                let id = &self.reconciled.run.steps[gate.at].id;
                let answers = command::answers(id, &self.reconciled.run.id);
                Some(Finding::new(FindingCode::GateExpired, message).on(id).fix(answers))
            })
            .collect();
        chosen.findings.extend(expired);
        for at in failures {
            let step = &self.reconciled.run.steps[at];
            let (code, what) = match self.reconciled.limit(at, self.options.attempt_limit) {
                None => continue,
                Some(Limit::Rejected) => {
                    let why = step.error.as_ref().filter(|_| step.kind == StepKind::Gate);
                    let why = why.map(|why| format!(" ({})", safe_line(why, WHY_CHARS))).unwrap_or_default();
                    (FindingCode::Rejected, format!("was rejected{why}: a person decides how to continue"))
                }
                Some(Limit::Failed { times }) => (
                    FindingCode::AttemptLimit,
                    format!(
                        "failed {}{}",
                        plural(usize::try_from(times).unwrap_or(usize::MAX), "time"),
                        attempts(step)
                    ),
                ),
            };
            let message = format!("{} {what}", step.id.with_title(&step.title));
            let mut finding = self.overridable(code, message, at);
            if let (Some(fix), Some(free), false) = (&mut finding.fix, &free, self.options.force) {
                *fix = format!("{fix}; what does not depend on it goes on: `{free}`").into();
            }
            chosen.findings.push(finding);
        }
    }

    /// Returns a blocking finding, or a warning if the caller passed `--force`.
    fn overridable(&self, code: FindingCode, message: String, at: usize) -> Finding {
        let step = &self.reconciled.run.steps[at];
        if self.options.force {
            let message = format!("{message}; forced by the caller");
            return Finding::new(FindingCode::OverrideForced, message).on(&step.id);
        }
        if !step.recorded {
            let fix = "decide, and record it in the files that the step is read from";
            return Finding::new(code, message).on(&step.id).fix(fix);
        }
        let answers = command::answers(&step.id, &self.reconciled.run.id);
        Finding::new(code, message).on(&step.id).fix(format!("a person decides: `{answers}`"))
    }
}

/// Lists the error of each attempt, shortened to one line each.
fn attempts(step: &Step) -> String {
    let lines = step.past_errors.iter().enumerate().map(|(at, error)| {
        let error = match error.trim() {
            "" => "no message",
            text => text.trim_start_matches(['-', '*', '•']).trim_start(),
        };
        format!("attempt {}: {}", at + 1, clean_line(&mask_secrets(error), 120))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
}
