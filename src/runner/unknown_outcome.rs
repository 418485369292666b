//! Steps that must not run twice and took effect, or may have: their probe, else a person, says whether they run again.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde_json::Value;

use super::{
    console::says_yes,
    context::{environment, named_secrets},
    error::RunError,
    item_worktrees,
    probe::{Probe, ProbeOutcome},
    resume::StepSelection,
};
use crate::{
    dialect::piton::{self, CutOffStep, ItemWorktree, facts::Facts},
    engine::{self},
    model::{ChangeKind, Fix, Outcome, RunId, Status, Step, StepId, Suggested, Verb, clean_line, mask_secrets},
    ops::Exit,
    workflow::{self, Command},
};

/// What is recorded of an effect that a person confirmed.
const BY_PERSON: &str = "a person said that it took effect";
const BY_PROBE: &str = "its probe found that it took effect";

/// What is found out about a step.
enum Effect {
    /// With what says so.
    Took(&'static str),
    HadNone,
    Unknown,
}

/// The variables and the folder of a probe, where a loop does not have those of the run.
struct ItemScope {
    folder: Utf8PathBuf,
    locals: BTreeMap<String, Value>,
    of_item: BTreeSet<String>,
}

impl StepSelection<'_> {
    /// Finds out whether a step that must not run twice took effect: from its probe, else from a person.
    pub(super) fn took_effect(&mut self, at: usize) -> Result<bool, RunError> {
        let step = self.ledger.run().steps[at].clone();
        let took_effect = self.find_out(&step)?;
        self.ledger.found_out(&step.id, took_effect);
        Ok(took_effect)
    }

    fn find_out(&mut self, step: &Step) -> Result<bool, RunError> {
        if self.ledger.items(&step.id).is_some() && step.status == Status::InProgress {
            // The loop goes on with the items that are not done.
            self.items_took_effect(step)?;
            return self.steps_of_items_took_effect(step).map(|()| false);
        }
        let probed = match self.workflow.steps.iter().find(|defined| defined.id == step.id) {
            Some(defined) => self.run_probe(step.id.as_str(), (step, defined), None)?,
            None => None,
        };
        let is_done = step.status == Status::Completed;
        match self.effect(step.id.as_str(), is_done, probed)? {
            Effect::Took(summary) => self.record_effect(step, summary).map(|()| true),
            Effect::HadNone => Ok(false),
            Effect::Unknown => Err(self.outcome_unknown(step)),
        }
    }

    /// Returns what the probe of a step found, else what a person says.
    fn effect(&self, id: &str, is_done: bool, probed: Option<ProbeOutcome>) -> Result<Effect, RunError> {
        let may_ask = match probed {
            Some(ProbeOutcome::TookEffect) => {
                self.say(&format!("The probe of step {id} found that it took effect; it is not repeated"));
                return Ok(Effect::Took(BY_PROBE));
            }
            Some(ProbeOutcome::HadNoEffect) => {
                self.say(&format!("The probe of step {id} found that it did not take effect; it is repeated"));
                return Ok(Effect::HadNone);
            }
            Some(ProbeOutcome::Stopped(stop)) => {
                let message = format!("{} came while the probe of step {id} ran; nothing was changed", stop.as_str());
                let hint = self.header.resume().into();
                return Err(RunError::new(Exit::from(stop), message, [hint]));
            }
            Some(ProbeOutcome::Unknown(why)) => {
                self.say(&format!("The probe of step {id} is inconclusive: {why}"));
                true
            }
            None => !self.options.dry_run,
        };
        let question = match is_done {
            true => format!("Step {id} is done and must not run twice. Does it stay as it is? [yes/no]"),
            false => took_effect_question(&format!("Step {id}")),
        };
        Ok(match self.answer(&question, may_ask) {
            Some(true) => Effect::Took(BY_PERSON),
            Some(false) => Effect::HadNone,
            None => Effect::Unknown,
        })
    }

    /// Asks a person; `None` without an answer.
    fn answer(&self, question: &str, may_ask: bool) -> Option<bool> {
        let answer = if may_ask { self.console.ask(question, None)? } else { return None };
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(true),
            "n" | "no" => Some(false),
            _ => None,
        }
    }

    /// Finds out from a person whether the items took effect that were cut off, in a loop that must not run twice.
    fn items_took_effect(&mut self, step: &Step) -> Result<(), RunError> {
        if step.definition.get("idempotent").is_none() {
            return Ok(());
        }
        let state = self.ledger.step(&step.id);
        let parts = state.into_iter().flat_map(|state| &state.parts);
        let begun: Vec<String> =
            parts.filter(|(_, status)| **status == Status::InProgress).map(|(part, _)| part.clone()).collect();
        for part in begun {
            let item = clean_line(&mask_secrets(&piton::item_id(step.id.as_str(), &part)), 120);
            match self.answer(&took_effect_question(&item), !self.options.dry_run) {
                Some(true) => self.record_part_effect(step, part, BY_PERSON)?,
                Some(false) => {}
                None => return Err(self.item_unknown(step, (&item, &part), None)),
            }
        }
        Ok(())
    }

    /// Finds out whether the steps of its group took effect that were cut off for an item and must not run twice.
    fn steps_of_items_took_effect(&mut self, step: &Step) -> Result<(), RunError> {
        let cut_off = self.ledger.step(&step.id).map(|state| state.cut_off_steps()).unwrap_or_default();
        for one in cut_off {
            let id = clean_line(&mask_secrets(&one.id(step.id.as_str())), 120);
            let top = self.workflow.steps.iter().find(|top| top.id == step.id);
            let defined = match top.map(|top| &top.command) {
                Some(Command::Foreach(foreach)) => foreach.steps.get(one.begun.number.wrapping_sub(1)),
                _ => None,
            };
            let probed = match top.zip(defined) {
                Some((top, defined)) => {
                    let scope = self.scope_of(top, &one);
                    self.run_probe(&id, (step, defined), Some(scope))?
                }
                None => None,
            };
            match self.effect(&id, false, probed)? {
                Effect::Took(summary) => self.record_part_effect(step, one.part, summary)?,
                Effect::HadNone => {}
                Effect::Unknown => return Err(self.item_unknown(step, (&id, &one.part), defined)),
            }
        }
        Ok(())
    }

    /// Returns what a step for an item sees.
    fn scope_of(&self, top: &workflow::Step, cut_off: &CutOffStep) -> ItemScope {
        let run_folder = self.header.work_folder();
        let state = self.ledger.step(&top.id);
        let items = state.and_then(|state| state.items.clone()).unwrap_or_default();
        let mut locals = BTreeMap::from([("total".to_owned(), Value::from(items.len()))]);
        let at = piton::item_names(&items).iter().position(|name| *name == cut_off.item);
        if let Some(at) = at {
            locals.insert("item".to_owned(), items[at].clone());
            locals.insert("index".to_owned(), Value::from(at));
        }
        let (steps, is_apart) = match &top.command {
            Command::Foreach(foreach) => (foreach.steps.as_slice(), foreach.in_worktrees),
            _ => (&[][..], false),
        };
        let passed = self.ledger.item_progress(&top.id, &cut_off.item).map(|progress| progress.passed.as_slice());
        for (inner, passed) in steps.iter().zip(passed.unwrap_or_default()) {
            let values =
                passed.variables.iter().map(|(name, captured)| Some((name.clone(), self.ledger.value(captured).ok()?)));
            locals.extend(values.flatten());
            locals.insert(workflow::end_variable(&inner.id), Value::from(piton::end_word(passed.ended, false)));
        }
        let base = state.and_then(|state| state.head.as_deref()).filter(|_| is_apart);
        let worktree = base.map(|base| ItemWorktree::of(self.header, (top.id.as_str(), base), &cut_off.item));
        let folder = worktree.and_then(|worktree| item_worktrees::folder_in(&worktree, run_folder).ok());
        let folder = folder.unwrap_or_else(|| run_folder.to_owned());
        ItemScope { folder, locals, of_item: self.workflow.set_by_item(top) }
    }

    fn record_part_effect(&mut self, step: &Step, part: String, summary: &str) -> Result<(), RunError> {
        let summary = Some(summary.to_owned());
        let outcome = Outcome { part: Some(part), summary, ..Outcome::completed(step.id.clone()) };
        self.ledger.record(ChangeKind::Finish(Box::new(outcome)), Facts::default(), true)
    }

    /// `defined` is the step that was cut off for the item, where it is not the item as a whole.
    fn item_unknown(&self, step: &Step, (item, part): (&str, &str), defined: Option<&workflow::Step>) -> RunError {
        let (run, resume) = (RunId::new(&self.header.session), self.header.resume());
        let message =
            format!("{item} must not run twice, and it is unknown whether it took effect before it was interrupted");
        let probe = defined.and_then(|defined| Some((defined.probe.as_ref()?.to_string(), defined.has_agent())));
        let accept = engine::answer_command(engine::HAPPENED, &step.id, &run).option("part", part).by_and_why();
        let failed = Suggested::of(Verb::Finish, &step.id).option("part", part).run(&run).option("status", "failed");
        let hints = [
            self.look(probe),
            format!("when it did: `{accept}`, then `{resume}`"),
            format!("when it did not: `{failed}`, then `{resume}`"),
        ]
        .map(Fix::from);
        RunError::new(Exit::Person, message, hints)
    }

    /// Returns how to find out whether a step with this probe took effect; that of an agent's step is a text.
    fn look(&self, probe: Option<(String, bool)>) -> String {
        match probe {
            Some((probe, true)) => format!("to find out: {probe}"),
            Some((probe, false)) if !self.options.yes => {
                format!("to find out: `{}`, which runs its probe: {probe}", self.header.resume().yes())
            }
            Some((_, false)) | None => Suggested::of(Verb::Status, &self.header.session).into(),
        }
    }

    /// Runs the probe of a step once a person agreed; `--yes` agrees to the probe, never to repeating the step.
    fn run_probe(
        &self,
        id: &str,
        (top, defined): (&Step, &workflow::Step),
        scope: Option<ItemScope>,
    ) -> Result<Option<ProbeOutcome>, RunError> {
        // That of an agent's step is a text for a person.
        let (Some(text), false) = (&defined.probe, self.options.dry_run || defined.has_agent()) else {
            return Ok(None);
        };
        let question =
            format!("Step {id} must not run twice. Run its probe to see whether it took effect: {text} [y/N]");
        if !self.options.yes && !says_yes(self.console.ask(&question, None)) {
            return Ok(None);
        }
        let run_folder = self.header.work_folder();
        let mut env = environment(self.workflow, self.declared, self.header, run_folder)?;
        env.extend(named_secrets(&defined.secrets, self.declared));
        let scope = scope.unwrap_or_else(|| ItemScope {
            folder: run_folder.to_owned(),
            locals: BTreeMap::new(),
            of_item: BTreeSet::new(),
        });
        let ItemScope { folder, locals, of_item } = scope;
        let (ledger, workflow, header, folder) = (&*self.ledger, self.workflow, self.header, folder.as_path());
        let probe = Probe { top: &top.id, ledger, workflow, header, folder, env: &env, locals, of_item };
        Ok(Some(probe.run(defined, self.console)))
    }

    /// Records that the result of a step counts, by its definition as it is now.
    pub(super) fn leave_as_it_is(&mut self, id: &StepId) -> Result<(), RunError> {
        let step = self.ledger.run().steps.iter().find(|step| step.id == *id).cloned();
        step.map_or(Ok(()), |step| self.record_effect(&step, BY_PERSON))
    }

    fn record_effect(&mut self, step: &Step, summary: &str) -> Result<(), RunError> {
        let summary = Some(summary.to_owned());
        let outcome = Outcome { summary, ..Outcome::completed(step.id.clone()) };
        let facts = Facts { digest: step.definition_digest(), ..Facts::default() };
        self.ledger.record(ChangeKind::Finish(Box::new(outcome)), facts, true)
    }

    fn outcome_unknown(&self, step: &Step) -> RunError {
        let (id, again) = (&self.header.session, self.same_call());
        let redo = engine::redo_command(&step.id, &self.ledger.run().id);
        let is_done = step.status == Status::Completed;
        let why = match &step.doubt {
            Some(doubt) => doubt.clone(),
            None if is_done => "it is done; this would run it again".to_owned(),
            None => "it is unknown whether it took effect before it was interrupted".to_owned(),
        };
        let done: Vec<&str> = self.ledger.step(&step.id).into_iter().flat_map(piton::done_items).collect();
        let items = if done.is_empty() { String::new() } else { format!("; its items {} are done", named(&done)) };
        let message = format!("step {} ({}) must not run twice, and {why}{items}", step.id, step.title);
        // A step before it is repeated in this call only.
        let kept = match is_done && step.doubt.is_none() {
            true => format!("`{}`", again.clone().option("skip", &step.id)),
            false => {
                format!("`{}`, then `{again}`", engine::decide_command(engine::HAPPENED, &step.id, &RunId::new(id)))
            }
        };
        let (did, did_not) = match is_done {
            true => ("to leave it as it is", "to run it again"),
            false => ("when it did", "when it did not"),
        };
        let is_for_an_agent = piton::is_for_an_agent(&step.definition);
        let hints = [
            self.look(step.probe.clone().map(|probe| (probe, is_for_an_agent))),
            format!("{did}: {kept}"),
            format!("{did_not}: `{redo}`, then `{again}`"),
        ]
        .map(Fix::from);
        RunError::new(Exit::Person, message, hints)
    }
}

/// Returns the question whether something took effect that was cut off.
fn took_effect_question(what: &str) -> String {
    format!("{what} must not run twice. Did it take effect? [yes/no]")
}

/// The most items that a message names.
const NAMED: usize = 8;

/// Names items; of many, the first ones.
fn named(items: &[&str]) -> String {
    let shown: Vec<String> = items.iter().take(NAMED).map(|item| clean_line(&mask_secrets(item), 80)).collect();
    let rest = items.len().saturating_sub(NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
