//! Steps that must not run twice and were cut off: their probe, else a person, says whether they took effect.

use super::console::says_yes;
use super::context::environment;
use super::context::named_secrets;
use super::error::ProblemKind;
use super::error::RunError;
use super::probe::Probe;
use super::probe::ProbeOutcome;
use super::resume::StepSelection;
use crate::dialect::piton;
use crate::dialect::piton::facts::Facts;
use crate::engine::quoted;
use crate::model::ChangeKind;
use crate::model::Outcome;
use crate::model::Status;
use crate::model::Step;
use crate::model::clean_line;
use crate::model::mask_secrets;

/// What is recorded of an effect that a person confirmed.
const BY_PERSON: &str = "a person said that it took effect";

impl StepSelection<'_> {
    /// Finds out whether an interrupted step that must not run twice took effect: from its probe, else from a person.
    pub(super) fn took_effect(&mut self, at: usize) -> Result<bool, RunError> {
        let step = self.ledger.run().steps[at].clone();
        if self.ledger.items(&step.id).is_some() {
            // The loop goes on with the items that are not done.
            return self.items_took_effect(&step).map(|()| false);
        }
        let may_ask = match self.run_probe(&step)? {
            Some(ProbeOutcome::TookEffect) => {
                self.say(&format!("The probe of step {} found that it took effect; it is not repeated", step.id));
                return self.record_effect(&step, "its probe found that it took effect").map(|()| true);
            }
            Some(ProbeOutcome::HadNoEffect) => {
                self.say(&format!("The probe of step {} found that it did not take effect; it is repeated", step.id));
                return Ok(false);
            }
            Some(ProbeOutcome::Stopped(stop)) => {
                let message =
                    format!("{} came while the probe of step {} ran; nothing was changed", stop.as_str(), step.id);
                let hint = self.header.resume();
                return Err(RunError::new(ProblemKind::Stopped(stop), message, [hint]));
            }
            Some(ProbeOutcome::Unknown(why)) => {
                self.say(&format!("The probe of step {} is inconclusive: {why}", step.id));
                true
            }
            None => !self.options.dry_run,
        };
        match self.answer_about(&format!("Step {}", step.id), may_ask) {
            Some(true) => self.record_effect(&step, BY_PERSON).map(|()| true),
            Some(false) => Ok(false),
            None => Err(self.outcome_unknown(&step)),
        }
    }

    /// Asks a person whether something that must not run twice took effect; `None` without an answer.
    fn answer_about(&self, what: &str, may_ask: bool) -> Option<bool> {
        let question = format!("{what} must not run twice. Did it take effect? [yes/no]");
        let answer = if may_ask { self.console.ask(&question, None)? } else { return None };
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(true),
            "n" | "no" => Some(false),
            _ => None,
        }
    }

    /// Finds out from a person whether the items took effect that were cut off, in a loop that must not run twice.
    fn items_took_effect(&mut self, step: &Step) -> Result<(), RunError> {
        let state = self.ledger.step(&step.id);
        let parts = state.into_iter().flat_map(|state| &state.parts);
        let begun: Vec<String> =
            parts.filter(|(_, status)| **status == Status::InProgress).map(|(part, _)| part.clone()).collect();
        for part in begun {
            let item = clean_line(&mask_secrets(&piton::item_id(step.id.as_str(), &part)), 120);
            match self.answer_about(&item, !self.options.dry_run) {
                Some(true) => {
                    let summary = Some(BY_PERSON.to_owned());
                    let outcome = Outcome { part: Some(part), summary, ..Outcome::completed(step.id.clone()) };
                    self.ledger.record(ChangeKind::Finish(Box::new(outcome)), Facts::default(), true)?;
                }
                Some(false) => {}
                None => return Err(self.item_unknown(step, &item, &part)),
            }
        }
        Ok(())
    }

    fn item_unknown(&self, step: &Step, item: &str, part: &str) -> RunError {
        let (id, name, resume) = (&self.header.session, quoted(step.id.as_str()), self.header.resume());
        let message =
            format!("{item} must not run twice, and it is unknown whether it took effect before it was interrupted");
        let hints = [
            format!("when it did: `piton finish {name} --part {} --run {id}`, then `{resume}`", quoted(part)),
            format!("when it did not: `{resume} --from {name}`"),
        ];
        RunError::new(ProblemKind::Person, message, hints)
    }

    /// Runs the probe of a step once a person agreed; `--yes` agrees to the probe, never to repeating the step.
    fn run_probe(&self, step: &Step) -> Result<Option<ProbeOutcome>, RunError> {
        let (Some(text), false) = (&step.probe, self.options.dry_run) else { return Ok(None) };
        let defined = self.workflow.steps.iter().find(|defined| defined.id == step.id);
        // That of an agent's step is a text for a person.
        let Some(defined) = defined.filter(|defined| !defined.has_agent()) else { return Ok(None) };
        let question =
            format!("Step {} must not run twice. Run its probe to see whether it took effect: {text} [y/N]", step.id);
        if !self.options.yes && !says_yes(self.console.ask(&question, None)) {
            return Ok(None);
        }
        let folder = self.header.worktree.as_ref().unwrap_or(&self.header.root);
        let mut env = environment(self.workflow, self.declared, self.header, folder)?;
        env.extend(named_secrets(&defined.secrets, self.declared));
        let probe = Probe { ledger: self.ledger, workflow: self.workflow, header: self.header, folder, env: &env };
        Ok(Some(probe.run(defined, self.console)))
    }

    fn record_effect(&mut self, step: &Step, summary: &str) -> Result<(), RunError> {
        let outcome = Outcome { summary: Some(summary.to_owned()), ..Outcome::completed(step.id.clone()) };
        let facts = Facts { digest: step.definition_digest(), ..Facts::default() };
        self.ledger.record(ChangeKind::Finish(Box::new(outcome)), facts, true)
    }

    fn outcome_unknown(&self, step: &Step) -> RunError {
        let (id, name) = (&self.header.session, quoted(step.id.as_str()));
        let resume = self.header.resume();
        let message = format!(
            "step {} ({}) must not run twice, and it is unknown whether it took effect before it was interrupted",
            step.id, step.title
        );
        let is_for_an_agent = piton::is_for_an_agent(&step.definition);
        let look = match (&step.probe, self.options.yes) {
            (Some(probe), _) if is_for_an_agent => format!("to find out: {probe}"),
            (Some(probe), false) => format!("to find out: `{resume} --yes`, which runs its probe: {probe}"),
            (Some(_), true) | (None, _) => format!("piton status {id}"),
        };
        let hints = [
            look,
            format!("when it did: `piton finish {name} --run {id}`, then `{resume}`"),
            format!("when it did not: `{resume} --from {name}`"),
        ];
        RunError::new(ProblemKind::Person, message, hints)
    }
}
