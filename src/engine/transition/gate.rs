//! Admits or refuses the answer of a person at a gate.

use super::{Admission, TransitionCheck};
use crate::{
    engine::{
        command,
        reconciled::EffectiveStatus,
        refusal::{Refusal, RefusalKind, refuse},
    },
    model::{
        ChangeKind, Fix, GateEffect, GateOption, No, Outcome, ReviewVerdict, Status, Step, StepId, StepKind, Verb,
        clean_line, nearest,
    },
};

impl TransitionCheck<'_> {
    /// Admits an approval. An answer that stops the run is recorded as a pause, one that sends it back as the verdict that it is.
    pub(super) fn approve(
        &self,
        id: StepId,
        (by, note): (Option<String>, Option<String>),
        phases: Option<u32>,
        choice: Option<String>,
    ) -> Result<Admission, Refusal> {
        let (at, step) = self.find(&id)?;
        if let Some(already) = self.approvable(at, phases)? {
            return Ok(Admission::Already(already));
        }
        let Some(option) = self.chosen(step, choice.as_deref())? else {
            return Ok(Admission::Admit(ChangeKind::Approve { step: id, by, note, phases, choice }));
        };
        let who = by.as_deref().unwrap_or("a person");
        let why = note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
        let said = format!("{who} chose {}{why}", option.word);
        let verdict = ReviewVerdict::NeedsRevision;
        Ok(Admission::Admit(match option.effect {
            GateEffect::Continue => ChangeKind::Approve { step: id, by, note, phases, choice },
            GateEffect::Stop => ChangeKind::Pause { reason: Some(format!("{said} at {id}")) },
            GateEffect::Abort => ChangeKind::Abort { by, reason: Some(said) },
            GateEffect::Wait => ChangeKind::Finish(Box::new(Outcome {
                status: Status::WaitingApproval,
                summary: note,
                agent: by,
                attempt: step.attempts.max(1),
                from: Some(step.status),
                ..Outcome::completed(id)
            })),
            GateEffect::Return(_) => ChangeKind::Finish(Box::new(Outcome {
                verdict: Some(verdict),
                status: verdict.status(),
                error: Some(said),
                agent: by,
                choice,
                attempt: step.attempts.max(1),
                failures: step.failures.saturating_add(1),
                from: Some(step.status),
                ..Outcome::completed(id)
            })),
        }))
    }

    /// Returns the answer that was chosen; `None` at a gate without answers to choose from.
    fn chosen<'a>(&self, gate: &'a Step, choice: Option<&str>) -> Result<Option<&'a GateOption>, Refusal> {
        let words = || gate.options.iter().map(|option| option.word.as_str());
        let ways = || {
            let way = |word: &str| command::choose(gate, &self.reconciled.run.id, word);
            words().map(way).map(Fix::from).collect::<Vec<_>>()
        };
        let refuse = |message: String, hints| Err(Refusal { kind: RefusalKind::Usage, message, hints });
        match (choice, gate.options.is_empty()) {
            (None, true) => Ok(None),
            (Some(choice), true) => {
                let message = format!("{} has no answers to choose from, so not `{}`", gate.id, clean_line(choice, 60));
                refuse(message, vec![command::approve(gate, &self.reconciled.run.id).into()])
            }
            (None, false) => {
                let message = format!("{} takes one of {}", gate.id, words().collect::<Vec<_>>().join(", "));
                refuse(message, ways())
            }
            (Some(choice), false) => match gate.options.iter().find(|option| option.word == choice) {
                Some(option) => Ok(Some(option)),
                None => {
                    let near = nearest(choice, words()).map(|near| format!("; did you mean `{near}`?"));
                    let choice = clean_line(choice, 60);
                    let message = format!("{} has no answer `{choice}`{}", gate.id, near.unwrap_or_default());
                    refuse(message, ways())
                }
            },
        }
    }

    /// Returns a message if the step is approved already; refuses when it cannot be approved now.
    pub(super) fn approvable(&self, at: usize, phases: Option<u32>) -> Result<Option<String>, Refusal> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        self.check_not_aborted()?;
        let effective_status = self.reconciled.effective_status(at);
        match (effective_status, step.kind) {
            (EffectiveStatus::Unreadable, _) => return Err(self.unreadable(step)),
            // What it approved was changed since, and a person approves it again.
            (EffectiveStatus::Done, StepKind::Gate)
                if self.reconciled.compared.reasons.get(at).is_some_and(|why| !why.is_empty()) => {}
            (EffectiveStatus::Done, StepKind::Gate) if self.reconciled.is_unrecorded(at) => {}
            (EffectiveStatus::Done, StepKind::Gate | StepKind::Review) => {
                if let (Some(phases), Some(first)) = (phases, self.reconciled.run.steps.first()) {
                    let message = format!("{id} is approved already; the number of phases is recorded with the plan");
                    let record = self.command(Verb::Finish, &first.id).option("phases", phases.to_string());
                    return Err(refuse(RefusalKind::No(No::Already), message, [record]));
                }
                return Ok(Some(format!("{id} is approved already")));
            }
            (EffectiveStatus::Done, StepKind::Work | StepKind::Container) => {
                return Ok(Some(format!("{id} is done already")));
            }
            (EffectiveStatus::Waiting | EffectiveStatus::Conditions, _) => {}
            (EffectiveStatus::Failed, StepKind::Review) => return Err(self.says_no(at)),
            (EffectiveStatus::Failed, StepKind::Gate) if self.reconciled.is_refused_gate(at) => {
                return Err(self.says_no(at));
            }
            (EffectiveStatus::Skipped | EffectiveStatus::Cancelled | EffectiveStatus::OpenContainer, _)
            | (_, StepKind::Work | StepKind::Review | StepKind::Container) => {
                let message = format!("{id} ({}) does not wait for approval; it is {}", step.title, step.status);
                return Err(refuse(RefusalKind::No(No::Invalid), message, [self.plan()]));
            }
            (_, StepKind::Gate) => {
                self.check_gates(at)?;
                self.check_dependencies(at)?;
            }
        }
        self.check_documents(at)?;
        if let Some(expired) = self.reconciled.expired(at, self.now) {
            return Err(refuse(RefusalKind::Person, expired, [self.decision("redo", id)]));
        }
        Ok(None)
    }
}
