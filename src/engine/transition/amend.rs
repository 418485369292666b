//! Late corrections: what is added to the record of a step that is done. A verdict or a commit that is recorded is not replaced.

use super::TransitionCheck;
use crate::{
    engine::{
        reconciled::EffectiveStatus,
        refusal::{Refusal, RefusalKind, refuse},
        reports::belongs_to,
    },
    model::{No, Outcome, ReviewVerdict, StatementKind, Status, Step, StepReport},
};

impl TransitionCheck<'_> {
    /// Marks an outcome that adds something to a step that is done. Refuses one that would replace what is recorded.
    pub(super) fn amend(&self, at: usize, outcome: &mut Outcome) -> Result<(), Refusal> {
        let step = &self.reconciled.run.steps[at];
        if self.names_target_late(at, outcome) {
            outcome.amends = true;
            return Ok(());
        }
        let is_done = self.reconciled.effective_status(at) == EffectiveStatus::Done && step.status == Status::Completed;
        if !is_done || outcome.status != Status::Completed || outcome.part.is_some() || self.limits.force {
            return Ok(());
        }
        let last = self.last_report(step);
        if !adds(step, last, outcome) {
            return Ok(());
        }
        let recorded = step.commit.as_ref().or_else(|| last.and_then(|report| report.commit.as_ref()));
        if let (Some(recorded), Some(commit)) = (recorded, &outcome.commit)
            && !is_same_commit(recorded, commit)
        {
            let message = format!("{} has recorded commit {recorded}; another one is new work", step.id);
            return Err(refuse(RefusalKind::No(No::Already), message, [self.redo_of(&step.id)]));
        }
        let verdict = step.review.as_ref().map(|review| review.verdict);
        let withdraws = verdict == Some(ReviewVerdict::ApprovedWithConditions)
            && outcome.verdict == Some(ReviewVerdict::Approved)
            && !outcome.conditions.is_empty();
        if withdraws {
            let message = format!("{} cannot be APPROVED and have a condition", step.id);
            return Err(refuse(RefusalKind::Usage, message, ["leave out --condition".to_owned()]));
        }
        if !outcome.conditions.is_empty() {
            outcome.verdict = verdict.map(|_| ReviewVerdict::ApprovedWithConditions);
        }
        outcome.verdict = outcome.verdict.or(verdict);
        outcome.amends = true;
        Ok(())
    }

    /// Tells whether an outcome only says where a failure that is recorded returns to.
    fn names_target_late(&self, at: usize, outcome: &Outcome) -> bool {
        let step = &self.reconciled.run.steps[at];
        let is_failed =
            self.reconciled.effective_status(at) == EffectiveStatus::Failed && step.status == Status::Failed;
        let is_same = outcome.error.is_none() || outcome.error == step.error;
        is_failed && is_same && outcome.to_step.is_some() && outcome.status == Status::Failed
    }

    /// Returns the last report about a step.
    fn last_report(&self, step: &Step) -> Option<&StepReport> {
        let of_run = self.evidence.statements.iter().filter(|statement| belongs_to(self.reconciled.run, statement));
        of_run.rev().find_map(|statement| match &statement.kind {
            StatementKind::Report(report) if report.step == step.id && report.part.is_none() => Some(report),
            StatementKind::Report(_) | StatementKind::Begun(_) | StatementKind::Decision(_) => None,
        })
    }
}

/// Tells whether an outcome says something that is not recorded. One end may be reported twice, for example by an agent and a hook.
fn adds(step: &Step, last: Option<&StepReport>, outcome: &Outcome) -> bool {
    let said = |what: &dyn Fn(&StepReport) -> bool| last.is_some_and(what);
    let new_text = |text: &Option<String>, known: &dyn Fn(&StepReport) -> &Option<String>| {
        text.is_some() && !said(&|report| known(report) == text)
    };
    let commit = outcome.commit.as_ref();
    let knows_commit = |known: &String| commit.is_some_and(|commit| is_same_commit(known, commit));
    let new_commit = commit.is_some()
        && !step.commit.as_ref().is_some_and(knows_commit)
        && !said(&|report| report.commit.as_ref().is_some_and(knows_commit));
    new_commit
        || outcome.phases.is_some()
        || new_text(&outcome.summary, &|report| &report.summary)
        || outcome.conditions.iter().any(|one| !said(&|report| report.conditions.contains(one)))
        || outcome.findings.iter().any(|one| !said(&|report| report.findings.contains(one)))
        || outcome.outputs.iter().any(|one| !said(&|report| report.files.contains(one)))
}

/// Compares the ids of two commits, either of which may be shortened.
fn is_same_commit(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
