//! Rule 3, for the outputs of a step: what it declares has to be there and valid, and what it left has to be as it left it.

use std::time::Duration;

use super::{command, step_evidence::Reconciler};
use crate::model::{
    DecisionKind, FileFact, FindingCode, OutputRecord, Proof, RelPath, Statement, StatementKind, Status, Step,
    StepKind, Timestamp,
};

/// How much older than its step an output may look: some file systems store times with two seconds of precision.
const FILE_TIME_GRAIN_SECONDS: i64 = 2;
/// How far the clock of files may lag behind that of the program: one tick of a slow kernel.
const FILE_CLOCK_TICK: Duration = Duration::from_millis(10);

impl Reconciler<'_> {
    /// Returns the fix for an output that is not there.
    fn redo_or_restore(&self) -> String {
        format!("do {} again, or restore the file", self.step.id)
    }

    /// Returns why the declared outputs do not prove work done since `since`. Empty if they do, and if none are declared.
    pub(super) fn output_problems(&self, since: Option<Timestamp>) -> Vec<(RelPath, FindingCode, String)> {
        let Proof { outputs, outputs_any, .. } = &self.step.proof;
        let problem = |path: &RelPath| self.problem_of(path, since).map(|(code, what)| (path.clone(), code, what));
        let problems: Vec<_> = outputs.iter().filter_map(problem).collect();
        let one_is_enough = *outputs_any && problems.len() < outputs.len();
        if one_is_enough { Vec::new() } else { problems }
    }

    /// Gives the problems with the declared outputs as reasons; tells whether there are any. `report`: adds a finding for each.
    pub(super) fn has_bad_outputs(&mut self, report: bool, since: Option<Timestamp>) -> bool {
        let problems = self.output_problems(since);
        for (path, code, what) in &problems {
            self.reasons.push(format!("its output {path} {what}"));
            if report {
                let message = format!("the output {path} of {} {what}", self.step.id);
                self.note(*code, message, self.redo_or_restore());
                if let Some(finding) = self.findings.last_mut() {
                    finding.file = Some(path.clone());
                }
            }
        }
        !problems.is_empty()
    }

    /// Returns why an output does not prove work done since `since`; `None` if it does.
    fn problem_of(&self, path: &RelPath, since: Option<Timestamp>) -> Option<(FindingCode, String)> {
        let fact = self.evidence.files.get(path);
        let older = |start: Option<Timestamp>, slack: i64| {
            let Some(FileFact::Present { modified: Some(modified), .. }) = fact else { return false };
            let is_before = |start: Timestamp| start > modified.plus(FILE_CLOCK_TICK);
            start.is_some_and(|start| is_before(start) && (slack == 0 || start.seconds_since(*modified) > slack))
        };
        let fresh_since = self.step.proof.fresh_since.max(self.rolled_back_at());
        let fresh_since = fresh_since.filter(|_| self.step.status != Status::Completed);
        match fact {
            None | Some(FileFact::Missing) => Some((FindingCode::OutputMissing, "is missing".to_owned())),
            Some(FileFact::Unreadable(why)) => Some((FindingCode::OutputUnparsable, format!("cannot be read: {why}"))),
            Some(FileFact::Present { bytes: 0, .. }) => Some((FindingCode::OutputMissing, "is empty".to_owned())),
            Some(FileFact::Present { parses: Some(false), .. }) => {
                Some((FindingCode::OutputUnparsable, "does not parse".to_owned()))
            }
            Some(FileFact::Present { violation: Some(violation), .. }) => {
                Some((FindingCode::OutputInvalid, format!("does not satisfy its schema: {violation}")))
            }
            Some(FileFact::Present { .. }) if older(self.run.started_at, FILE_TIME_GRAIN_SECONDS) => {
                Some((FindingCode::OutputOlder, "is older than this run".to_owned()))
            }
            Some(FileFact::Present { .. }) if older(since, FILE_TIME_GRAIN_SECONDS) || older(fresh_since, 0) => {
                Some((FindingCode::OutputOlder, "is older than this attempt".to_owned()))
            }
            Some(FileFact::Present { .. }) => {
                let rejected = self.step.proof.rejected.iter().find(|(rejected, _)| rejected == path);
                rejected.map(|(_, why)| (FindingCode::OutputRejected, why.clone()))
            }
        }
    }

    /// Returns the time from which files can be the work of this attempt.
    pub(super) fn attempt_start(&self) -> Option<Timestamp> {
        self.step.started_at.or(self.run.started_at)
    }

    /// Tells whether a review or a person sent the step back and every output it declares is still as the refused attempt left it.
    pub(super) fn is_untouched_rework(&self) -> bool {
        let outputs = &self.step.proof.outputs;
        if outputs.is_empty() {
            return false;
        }
        let Some(record) = self.index.by_step.get(self.step.id.as_str()) else {
            // Another program, or a person, recorded its end: the time of the file says whether it was touched.
            let is_older = |path: &RelPath, sent_back: Timestamp| {
                let fact = self.evidence.files.get(path);
                matches!(fact, Some(FileFact::Present { modified: Some(modified), .. }) if *modified < sent_back)
            };
            return self.sent_back_at().is_some_and(|moment| outputs.iter().all(|path| is_older(path, moment)));
        };
        // Some systems reopen the review as soon as its rework begins, so what it said counts too.
        let said_no = |review: &Step| {
            let about = |statement: &&Statement| matches!(&statement.kind, StatementKind::Report(report) if report.step == review.id);
            let last = self.evidence.statements.iter().rev().find(about);
            last.is_some_and(|last| {
                matches!(&last.kind, StatementKind::Report(report) if report.status == Status::Failed && report.at >= record.at)
            })
        };
        let is_refused = |review: &Step| {
            review.status == Status::Failed && review.finished_at.is_none_or(|refused| record.at <= refused)
        };
        let refused = |review: &&Step| {
            review.returns_to.as_ref() == Some(&self.step.id) && (is_refused(review) || said_no(review))
        };
        let is_same = |path: &RelPath| {
            let Some(FileFact::Present { bytes, sha256, .. }) = self.evidence.files.get(path) else { return false };
            // Without a digest, size and time already say that the file is as it was recorded.
            let same =
                |output: &&OutputRecord| sha256.as_ref().map_or(*bytes == output.bytes, |now| *now == output.sha256);
            record.outputs.iter().filter(|output| output.path == *path).any(|output| same(&output))
        };
        let is_refused = self.run.steps.iter().any(|review| refused(&review))
            || self.sent_back_at().is_some_and(|moment| moment >= record.at);
        is_refused && outputs.iter().all(is_same)
    }

    /// Returns when a person asked for the step to be done again although it was done, unless it was completed since.
    fn sent_back_at(&self) -> Option<Timestamp> {
        let last = self.evidence.statements.iter().rev().find_map(|statement| match &statement.kind {
            StatementKind::Decision(decision) if decision.step.as_ref() == Some(&self.step.id) => {
                let is_no = decision.decision == DecisionKind::Redo && decision.despite.is_none();
                Some(is_no.then_some(decision.at))
            }
            StatementKind::Report(report) if report.step == self.step.id && report.part.is_none() => Some(None),
            StatementKind::Decision(_) | StatementKind::Report(_) | StatementKind::Begun(_) => None,
        });
        last.flatten()
    }

    /// Tells whether this program recorded the end of the step, in a repository with commits.
    pub(super) fn ended_in_git(&self) -> bool {
        self.index.by_step.get(self.step.id.as_str()).is_some_and(|record| record.head.is_some())
    }

    /// Reports documents that were changed since a gate approved them, unless a later step that declares them did that.
    pub(super) fn check_approved_documents(&mut self) {
        if self.step.kind != StepKind::Gate {
            return;
        }
        let Some(record) = self.index.by_step.get(self.step.id.as_str()) else { return };
        for output in &record.outputs {
            let is_replaced = self.index.last_of_path.get(&output.path) != Some(&self.step.id.as_str())
                || self.run.steps.iter().any(|other| {
                    other.id != self.step.id
                        && other.started_at.max(other.finished_at) > Some(record.at)
                        && other.proof.outputs.contains(&output.path)
                });
            let is_changed = match self.evidence.files.get(&output.path) {
                Some(FileFact::Present { sha256: Some(now), .. }) => *now != output.sha256,
                // A document that is gone has a finding of its own.
                Some(FileFact::Present { sha256: None, .. } | FileFact::Unreadable(_) | FileFact::Missing) | None => {
                    false
                }
            };
            if is_replaced || !is_changed {
                continue;
            }
            let what = format!("{} was changed after {} approved it", output.path, self.step.id);
            self.reasons.push(what.clone());
            let again = command::approve(self.step, &self.run.id);
            self.note(
                FindingCode::PlanChanged,
                what,
                format!("look at the change; `{again}` if it is approved as it is now"),
            );
            if let Some(finding) = self.findings.last_mut() {
                finding.file = Some(output.path.clone());
            }
        }
    }

    /// Compares the outputs with what `finish` recorded. A file that is gone counts against the step until a later step that declares it
    /// replaces it; one that was changed, only if no other work began or ended since.
    pub(super) fn recorded_outputs_are_gone(&mut self) -> bool {
        if self.step.kind == StepKind::Gate || self.step.proof.is_elsewhere {
            return false;
        }
        let Some(record) = self.index.by_step.get(self.step.id.as_str()) else { return self.reported_files_are_gone() };
        if self.step.started_at.is_some_and(|started| started > record.at) {
            // It was redone since without recording its outputs.
            return false;
        }
        let worked_since =
            self.index.last_busy.iter().any(|(moment, other)| **other != self.step.id && *moment > record.at);
        let later = self.run.steps.iter().filter(|other| {
            other.id != self.step.id && other.started_at.max(other.finished_at).is_some_and(|moment| moment > record.at)
        });
        let later: Vec<&Step> = later.collect();
        let is_committed = later.iter().any(|other| other.commit.is_some());
        let mut gone = false;
        for output in &record.outputs {
            let is_replaced = later.iter().any(|other| other.proof.outputs.contains(&output.path));
            if is_replaced || self.index.last_of_path.get(&output.path) != Some(&self.step.id.as_str()) {
                continue;
            }
            let (code, what) = match self.evidence.files.get(&output.path) {
                None | Some(FileFact::Missing) => (FindingCode::OutputMissing, "is gone"),
                Some(FileFact::Present { sha256: Some(now), .. }) if *now != output.sha256 => {
                    (FindingCode::OutputChanged, "was changed since")
                }
                Some(FileFact::Present { .. } | FileFact::Unreadable(_)) => continue,
            };
            self.reasons.push(format!("its output {} {what}", output.path));
            // A later step may change what it works on. What it removes it has to declare, unless a commit keeps it.
            let superseded = if code == FindingCode::OutputMissing { is_committed } else { worked_since };
            let (code, fix) = match (superseded, code) {
                (true, _) => {
                    (FindingCode::OutputSuperseded, "nothing, if a later step changed it on purpose".to_owned())
                }
                (false, FindingCode::OutputMissing) => (code, self.redo_or_restore()),
                (false, _) => {
                    let finish = command::finish(self.step, &self.run.id);
                    (code, format!("look at the file; `{finish}` records its current content"))
                }
            };
            self.note(code, format!("the output {} of {} {what}", output.path, self.step.id), fix);
            if let Some(finding) = self.findings.last_mut() {
                finding.file = Some(output.path.clone());
            }
            gone |= !superseded;
        }
        gone
    }

    /// Looks for the files that a step reported where the record of their digests is lost, as with a deleted worktree. A commit that was
    /// recorded since keeps them.
    fn reported_files_are_gone(&mut self) -> bool {
        let Some(report) = self.index.reported.get(self.step.id.as_str()) else { return false };
        let is_earlier = self.step.started_at.is_some_and(|started| started > report.at);
        let is_after = |other: &&Step| other.started_at.max(other.finished_at) > Some(report.at);
        let mut later = self.run.steps.iter().filter(|other| other.id != self.step.id).filter(is_after);
        if is_earlier || report.status != Status::Completed || later.any(|other| other.commit.is_some()) {
            return false;
        }
        let is_gone = |path: &&RelPath| self.evidence.files.get(*path) == Some(&FileFact::Missing);
        let gone: Vec<RelPath> = report.files.iter().filter(is_gone).cloned().collect();
        for path in &gone {
            self.reasons.push(format!("its output {path} is gone"));
            let message = format!("the output {path} of {} is gone", self.step.id);
            self.note(FindingCode::OutputMissing, message, self.redo_or_restore());
            if let Some(finding) = self.findings.last_mut() {
                finding.file = Some(path.clone());
            }
        }
        !gone.is_empty()
    }
}
