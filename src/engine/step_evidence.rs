//! One step beside what is known about it: the records, reports, rollbacks and files of its run.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{command, reports::belongs_to};
use crate::model::{
    Evidence, EvidenceRecord, Finding, FindingCode, Fix, RelPath, Run, StatementKind, Step, StepId, StepKind,
    StepReport, Timestamp,
};

/// The evidence log of a run, indexed by step and path.
#[derive(Default)]
pub(super) struct EvidenceIndex<'a> {
    /// The last record of each step.
    pub(super) by_step: BTreeMap<&'a str, &'a EvidenceRecord>,
    /// The last report of each step.
    pub(super) reported: BTreeMap<&'a str, &'a StepReport>,
    /// The step that last recorded each path.
    pub(super) last_of_path: BTreeMap<&'a RelPath, &'a str>,
    /// The time of the last rollback of each step. Earlier evidence no longer counts.
    pub(super) rolled_back: BTreeMap<&'a str, Timestamp>,
    /// The time at which each step was last begun, where Piton recorded it.
    pub(super) begun: BTreeMap<&'a str, Timestamp>,
    /// The two working steps with the latest activity, so that one of them is always another step than the one in question. Reviews and
    /// gates write nothing.
    pub(super) last_busy: Vec<(Timestamp, &'a StepId)>,
}

impl<'a> EvidenceIndex<'a> {
    pub(super) fn of(run: &'a Run, evidence: &'a Evidence) -> Self {
        let mut last_busy: Vec<(Timestamp, &StepId)> = Vec::with_capacity(3);
        let mut note_busy = |step: &'a StepId, moment: Timestamp| {
            match last_busy.iter_mut().find(|(_, known)| *known == step) {
                Some((last, _)) => *last = moment.max(*last),
                None => last_busy.push((moment, step)),
            }
            last_busy.sort_by_key(|(moment, _)| Reverse(*moment));
            last_busy.truncate(2);
        };
        let works = |step: &Step| !matches!(step.kind, StepKind::Review | StepKind::Gate);
        let idle: BTreeSet<&str> = run.steps.iter().filter(|step| !works(step)).map(|step| step.id.as_str()).collect();
        for step in run.steps.iter().filter(|step| works(step)) {
            if let Some(moment) = step.started_at.max(step.finished_at) {
                note_busy(&step.id, moment);
            }
        }
        let mut by_step = BTreeMap::new();
        let mut last_of_path = BTreeMap::new();
        for record in evidence.records.iter().filter(|record| record.run == run.id.as_str()) {
            // A record from before the start of this run belongs to another run of the same name.
            if run.started_at.is_some_and(|started| record.at < started) {
                continue;
            }
            if !idle.contains(record.step.as_str()) {
                note_busy(&record.step, record.at);
            }
            by_step.insert(record.step.as_str(), record);
            for output in &record.outputs {
                last_of_path.insert(&output.path, record.step.as_str());
            }
        }
        let rollbacks = evidence.rollbacks.iter().filter(|rollback| rollback.run == run.id.as_str());
        let rolled_back =
            rollbacks.flat_map(|rollback| rollback.reopened.iter().map(|step| (step.as_str(), rollback.at)));
        let statements = || evidence.statements.iter().filter(|statement| belongs_to(run, statement));
        let reported = statements().filter_map(|statement| match &statement.kind {
            StatementKind::Report(report) if report.part.is_none() => Some((report.step.as_str(), report)),
            StatementKind::Report(_) | StatementKind::Begun(_) | StatementKind::Decision(_) => None,
        });
        let reported = reported.collect();
        let begun = statements();
        let begun = begun.filter_map(|statement| match &statement.kind {
            StatementKind::Begun(attempt) => Some((attempt.step.as_str(), attempt.at)),
            StatementKind::Report(_) | StatementKind::Decision(_) => None,
        });
        Self { by_step, reported, last_of_path, rolled_back: rolled_back.collect(), begun: begun.collect(), last_busy }
    }
}

/// Compares one step with the evidence.
pub(super) struct Reconciler<'a> {
    pub(super) run: &'a Run,
    pub(super) step: &'a Step,
    pub(super) evidence: &'a Evidence,
    pub(super) index: &'a EvidenceIndex<'a>,
    /// Whether its current attempt has a living driver.
    pub(super) goes_on: bool,
    /// Whether a person takes its result as it is.
    pub(super) overridden: bool,
    /// Whether the state has a status for it.
    pub(super) has_status: bool,
    /// Whether it is unknown if it took effect, and it must not run twice.
    pub(super) is_outcome_unknown: bool,
    pub(super) reasons: Vec<String>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Reconciler<'a> {
    /// Returns the comparison of a step with a status of its own, which no attempt and no decision is about.
    pub(super) fn new(run: &'a Run, step: &'a Step, evidence: &'a Evidence, index: &'a EvidenceIndex<'a>) -> Self {
        let (reasons, findings) = (Vec::new(), Vec::new());
        let (goes_on, overridden, has_status, is_outcome_unknown) = (false, false, true, false);
        Self { run, step, evidence, index, goes_on, overridden, has_status, is_outcome_unknown, reasons, findings }
    }

    pub(super) fn note(&mut self, code: FindingCode, message: impl Into<String>, fix: impl Into<Fix>) {
        let finding = Finding::new(code, message).on(&self.step.id).fix(fix);
        let finding = match &self.step.file {
            Some(file) => finding.at(file),
            None => finding,
        };
        self.findings.push(finding);
    }

    /// Returns what records a result that was checked.
    pub(super) fn record_hint(&self) -> String {
        if !self.step.recorded {
            return "check its result, then record it in the files that the step is read from".to_owned();
        }
        format!("check its result, then `{}` to record it", command::finish(self.step, &self.run.id))
    }

    pub(super) fn rolled_back_at(&self) -> Option<Timestamp> {
        self.index.rolled_back.get(self.step.id.as_str()).copied()
    }
}
