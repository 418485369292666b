//! Rule 3: what proves that a step is done. The recorded status is compared with it, and `finish` is held to it, here and nowhere else.

use super::step_evidence::{EvidenceIndex, Reconciler};
use crate::model::{
    Evidence, FileFact, FindingCode, Proof, RelPath, ReviewVerdict, Run, Status, Step, StepKind, Witness,
};

/// What the evidence says about a step that its state does not call done.
pub(super) enum StepProof {
    Nothing,
    Witnesses(WitnessReport),
    /// The declared outputs are there and valid. `closes`: they are the result of this attempt, and nothing else is needed.
    Outputs {
        closes: bool,
    },
}

/// The witnesses that say done.
pub(super) struct WitnessReport {
    /// Their names, joined.
    pub(super) sources: String,
    /// Whether they are as many as needed.
    pub(super) enough: bool,
    pub(super) file: Option<RelPath>,
    pub(super) line: Option<u32>,
}

/// Returns why a step that were completed now would not be proved; empty if it would be.
pub(super) fn unproved(run: &Run, step: &Step, evidence: &Evidence) -> Vec<String> {
    if step.proof.outputs.is_empty() {
        return Vec::new();
    }
    let step = Step { status: Status::Completed, ..step.clone() };
    let index = EvidenceIndex::of(run, evidence);
    let reconciler = Reconciler::new(run, &step, evidence, &index);
    if reconciler.is_untouched_rework() {
        let unchanged = |path: &RelPath| format!("{path} is unchanged since the attempt that was sent back");
        return step.proof.outputs.iter().map(unchanged).collect();
    }
    reconciler.output_problems(run.started_at).into_iter().map(|(path, _, what)| format!("{path} {what}")).collect()
}

/// Returns the documents of a step that are not there, in words.
pub(super) fn missing_documents(step: &Step, evidence: &Evidence) -> Vec<String> {
    let documents = step.proof.documents.iter();
    let missing = documents.filter(|path| evidence.files.get(*path) == Some(&FileFact::Missing));
    missing.map(|path| format!("the plan document {path} does not exist")).collect()
}

impl Reconciler<'_> {
    /// Returns why the result of a step that is recorded as done does not count any more.
    pub(super) fn doubt(&mut self) -> Option<&'static str> {
        let has_bad_outputs = !self.overridden && self.has_bad_outputs(true, self.run.started_at);
        self.check_approved_documents();
        if has_bad_outputs || (!self.overridden && self.recorded_outputs_are_gone()) {
            return Some("its result is gone");
        }
        self.definition_has_changed().then_some("its definition was changed")
    }

    /// Returns what says that a step is done although its state does not.
    pub(super) fn proof(&mut self) -> StepProof {
        // A command that was cut off may have written half of its outputs; only its end says that it is done.
        if self.step.is_command || self.step.proof.is_partial {
            return StepProof::Nothing;
        }
        if let Some(report) = self.witness_report() {
            return StepProof::Witnesses(report);
        }
        let has_outputs = !self.step.proof.outputs.is_empty();
        if self.has_bad_outputs(false, self.attempt_start()) || !has_outputs {
            return StepProof::Nothing;
        }
        let is_begun = self.step.status == Status::InProgress;
        if is_begun && self.is_untouched_rework() {
            return StepProof::Nothing;
        }
        // The report of a review must contain a verdict.
        let approves = self.step.review.is_some() && self.disapproval().is_none();
        let closes = self.closes_by_evidence() || (self.step.kind == StepKind::Review && approves);
        StepProof::Outputs { closes: is_begun && closes }
    }

    /// Tells whether evidence can show that the step is done. It cannot replace an approval or a verdict.
    pub(super) fn closes_by_evidence(&self) -> bool {
        matches!(self.step.kind, StepKind::Work | StepKind::Container)
    }

    /// Returns the verdict of a review if it does not approve.
    pub(super) fn disapproval(&self) -> Option<ReviewVerdict> {
        let verdict = self.step.review.as_ref()?.verdict;
        (!verdict.approves()).then_some(verdict)
    }

    /// Returns the witnesses that say done; `None` if there are none.
    pub(super) fn witness_report(&mut self) -> Option<WitnessReport> {
        let Proof { witnesses, witnesses_needed, .. } = &self.step.proof;
        let (speaking, silent): (Vec<&Witness>, Vec<&Witness>) =
            witnesses.iter().partition(|witness| witness.done && !self.is_outdated(witness));
        let first = *speaking.first()?;
        let enough = *witnesses_needed > 0 && speaking.len() >= *witnesses_needed;
        // Another step may have written the same file since: that says nothing about this attempt.
        if !enough && silent.iter().any(|witness| witness.done) {
            return None;
        }
        let names = |witnesses: &[&Witness]| {
            let names: Vec<&str> = witnesses.iter().map(|witness| &*witness.source).collect();
            match names.split_last() {
                Some((last, [])) => (*last).to_owned(),
                Some((last, others)) => format!("{} and {last}", others.join(", ")),
                None => String::new(),
            }
        };
        let sources = names(&speaking);
        self.reasons.push(format!("{sources} {} done", if speaking.len() == 1 { "says" } else { "say" }));
        let (denying, absent): (Vec<&Witness>, Vec<&Witness>) =
            silent.iter().partition(|witness| witness.file.is_some());
        match denying.len() {
            0 => {}
            1 => self.reasons.push(format!("{} does not", names(&denying))),
            _ => self.reasons.push(format!("{} do not", names(&denying))),
        }
        self.reasons.extend(absent.iter().map(|witness| format!("there is no {}", witness.source)));
        Some(WitnessReport { sources, enough, file: first.file.clone(), line: first.line })
    }

    /// Returns the witnesses that do not say that a step is done which its state calls done. One that is missing says nothing: most finished
    /// tasks leave no summary.
    pub(super) fn doubting_witnesses(&self) -> Vec<&str> {
        let witnesses = self.step.proof.witnesses.iter().filter(|witness| !witness.done && witness.file.is_some());
        witnesses.map(|witness| &*witness.source).collect()
    }

    /// Tells whether a witness is from before a rollback, or from before the current attempt.
    fn is_outdated(&self, witness: &Witness) -> bool {
        let fact = witness.file.as_ref().and_then(|file| self.evidence.files.get(file));
        let Some(FileFact::Present { modified: Some(said), .. }) = fact else { return false };
        let begun_at = self.index.begun.get(self.step.id.as_str()).copied();
        self.rolled_back_at().max(begun_at).is_some_and(|since| *said <= since)
    }

    /// Rule 10: tells whether the step was done by another definition.
    fn definition_has_changed(&mut self) -> bool {
        let record = self.index.by_step.get(self.step.id.as_str());
        let logged = record.and_then(|record| record.definition.as_ref());
        let Some(recorded) = self.step.done_definition.as_ref().or(logged) else { return false };
        let now = self.step.definition_digest();
        if now.as_ref().or_else(|| self.evidence.definitions.get(&self.step.id)) == Some(recorded) {
            return false;
        }
        self.reasons.push("its definition was changed since".to_owned());
        let message = format!("the definition of {} was changed after it was done", self.step.id);
        self.note(FindingCode::DefinitionChanged, message, self.record_hint());
        true
    }
}
