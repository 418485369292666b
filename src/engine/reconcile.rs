//! Rule 3: compares the status of each step with the evidence. "Done" is verified again before the step is skipped.

use std::collections::BTreeSet;

use super::{
    command,
    decisions::Decisions,
    graph::Graph,
    guest,
    proof::{StepProof, WitnessReport},
    propagate::propagate,
    reconciled::{EffectiveStatus, Reconciled},
    reports::{attempts, belongs_to},
    step_evidence::{EvidenceIndex, Reconciler},
};
use crate::model::{
    Evidence, FileFact, Finding, FindingClass, FindingCode, Presence, RelPath, ReviewVerdict, Run, Statement,
    StatementKind, Status, Step, StepId, StepKind, StepReport, Suggested, Verb, clean_line, plural,
};

/// Returns the effective status of every step, by position in `run.steps`.
pub(crate) fn effective_statuses(run: &Run, evidence: &Evidence, load_findings: &[Finding]) -> Vec<EffectiveStatus> {
    reconcile(run, &Graph::of(run), evidence, load_findings).effective_statuses
}

/// Returns the effective status of a step by its own record, without evidence and without what follows from other steps.
pub(super) fn by_record(run: &Run, step: &Step) -> (EffectiveStatus, Vec<String>) {
    let (evidence, index) = (Evidence::default(), EvidenceIndex::default());
    let mut reconciler = Reconciler::new(run, step, &evidence, &index);
    let status = reconciler.effective_status();
    (status, reconciler.reasons)
}

pub(super) fn reconcile(run: &Run, graph: &Graph, evidence: &Evidence, load_findings: &[Finding]) -> Reconciled {
    let with_code = |is_one: &dyn Fn(FindingCode) -> bool| -> BTreeSet<&str> {
        let found = load_findings.iter().filter(|finding| is_one(finding.code));
        found.filter_map(|finding| finding.step.as_ref()).map(StepId::as_str).collect()
    };
    let closed = with_code(&|code| code == FindingCode::PartUnreadable);
    let unknown = with_code(&|code| code.is_of(FindingClass::UnknownWord));
    let unstated = with_code(&|code| code == FindingCode::StatusMissing);
    let passed_over = with_code(&|code| code == FindingCode::ApprovalUnrecorded);
    let index = EvidenceIndex::of(run, evidence);
    let mut reconciled = Reconciled {
        attempts: attempts(run, graph, evidence),
        decisions: Decisions::of(run, graph, &evidence.statements),
        ..Reconciled::default()
    };
    if guest::compare(run, graph, evidence, &unknown, &closed, &mut reconciled) {
        return reconciled;
    }
    for (at, step) in run.steps.iter().enumerate() {
        let attempt = reconciled.attempts.get(&at);
        // Only the attempt of a driver that is gone was cut off.
        let goes_on = attempt.is_some_and(|(_, presence)| matches!(presence, Presence::Caller | Presence::Alive));
        let overridden = reconciled.decisions.overrides(at);
        let id = step.id.as_str();
        let has_status = !unstated.contains(id);
        let mut reconciler =
            Reconciler { goes_on, overridden, has_status, ..Reconciler::new(run, step, evidence, &index) };
        let is_doubted = reconciler.is_doubted_late();
        if is_doubted {
            reconciled.decisions.forget_redo(at);
        }
        if !has_status {
            reconciled.unstated.insert(at);
        }
        if closed.contains(id) {
            reconciled.unread.insert(at);
        }
        if passed_over.contains(id) {
            reconciled.unrecorded.insert(at);
        }
        if unknown.contains(id) && !closed.contains(id) {
            reconciled.unknown_words.insert(at);
        }
        let redo = reconciled.decisions.redo(at).filter(|_| !closed.contains(id) && unknown.contains(id));
        let effective_status = if let Some(redo) = redo {
            // A person wants the step done again: the word no longer counts.
            reconciler.reasons.push(redo);
            EffectiveStatus::Open
        } else if closed.contains(id) {
            reconciler.unreadable()
        } else if unknown.contains(id) {
            EffectiveStatus::Unreadable
        } else {
            let found = reconciler.effective_status();
            let found = reconciler.reopened(found, reconciled.decisions.redo(at));
            if is_doubted { reconciler.doubted_late(found) } else { found }
        };
        if reconciler.is_outcome_unknown {
            reconciled.unknown_outcomes.insert(at);
        }
        reconciled.effective_statuses.push(effective_status);
        reconciled.reasons.push(reconciler.reasons);
        reconciled.findings.append(&mut reconciler.findings);
    }
    propagate(run, graph, &mut reconciled);
    hold_without_files(run, graph, evidence, &mut reconciled);
    reconciled
}

/// Holds back the steps that wait for nothing but a file that they use and that is not there.
fn hold_without_files(run: &Run, graph: &Graph, evidence: &Evidence, reconciled: &mut Reconciled) {
    let is_missing = |path: &&RelPath| evidence.files.get(*path) == Some(&FileFact::Missing);
    for (at, step) in run.steps.iter().enumerate().filter(|(_, step)| !step.uses.is_empty()) {
        let statuses = &reconciled.effective_statuses;
        let is_next =
            statuses[at] == EffectiveStatus::Open && graph.depends_on(at).iter().all(|on| statuses[*on].satisfies());
        if let Some(file) = step.uses.iter().find(is_missing).filter(|_| is_next) {
            reconciled.effective_statuses[at] = EffectiveStatus::Blocked;
            reconciled.missing.insert(at, file.clone());
        }
    }
}

impl Reconciler<'_> {
    /// Returns the status of a step that a person wants done again. A failure stays one: only its limit is lifted.
    fn reopened(&mut self, found: EffectiveStatus, redo: Option<String>) -> EffectiveStatus {
        let Some(redo) = redo else { return found };
        let status = match found {
            EffectiveStatus::Done | EffectiveStatus::Conditions if self.step.kind == StepKind::Gate => {
                EffectiveStatus::Open
            }
            EffectiveStatus::Done | EffectiveStatus::Conditions => EffectiveStatus::Invalid,
            EffectiveStatus::Skipped | EffectiveStatus::Cancelled => EffectiveStatus::Open,
            EffectiveStatus::Verify if self.step.status == Status::InProgress => EffectiveStatus::Interrupted,
            EffectiveStatus::Verify => EffectiveStatus::Open,
            EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Waiting
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => return found,
        };
        // What the evidence says about the attempt before no longer matters.
        self.findings.clear();
        self.is_outcome_unknown = false;
        self.reasons = vec![redo];
        status
    }

    /// Tells whether a step that must not run twice may have taken effect by a late report, with no decision about it since.
    fn is_doubted_late(&self) -> bool {
        let is_it = |report: &&StepReport| report.step == self.step.id && report.status == Status::Completed;
        let late = self.evidence.late.iter().filter(|_| !self.step.idempotent).filter(is_it);
        let Some(last) = late.map(|report| report.at).max() else { return false };
        let is_decided = |statement: &Statement| match &statement.kind {
            StatementKind::Decision(decision) => decision.step.as_ref() == Some(&self.step.id) && decision.at > last,
            StatementKind::Begun(_) | StatementKind::Report(_) => false,
        };
        !self.evidence.statements.iter().any(is_decided)
    }

    /// Returns the status of a step that a late report says is done.
    fn doubted_late(&mut self, found: EffectiveStatus) -> EffectiveStatus {
        match found {
            EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked
                if !self.goes_on =>
            {
                self.outcome_unknown("a report came late that says it is done")
            }
            EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked
            | EffectiveStatus::Done
            | EffectiveStatus::Conditions
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Verify
            | EffectiveStatus::Waiting
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => found,
        }
    }

    /// What cannot be read cannot be closed, but it is not run again where everything else says that it is done.
    fn unreadable(&mut self) -> EffectiveStatus {
        match self.witness_report() {
            Some(report) if report.enough => {
                self.reasons.insert(0, "its file cannot be read".to_owned());
                EffectiveStatus::Verify
            }
            Some(_) | None => EffectiveStatus::Unreadable,
        }
    }

    fn effective_status(&mut self) -> EffectiveStatus {
        if self.step.kind == StepKind::Container {
            return EffectiveStatus::OpenContainer;
        }
        match self.step.status {
            Status::Completed => self.completed(),
            Status::InProgress => self.in_progress(),
            Status::Pending | Status::Blocked => self.not_started(),
            Status::Failed => self.failed(),
            Status::WaitingApproval => self.waiting(),
            Status::Skipped => EffectiveStatus::Skipped,
            Status::Cancelled => EffectiveStatus::Cancelled,
        }
    }

    fn completed(&mut self) -> EffectiveStatus {
        if let Some(verdict) = self.disapproval() {
            let message = format!("{} is completed with the verdict {verdict}; it counts as failed", self.step.id);
            self.reasons.push(format!("its verdict is {verdict}"));
            self.note(FindingCode::VerdictConflict, message, "record the review again with the correct verdict");
            return EffectiveStatus::Failed;
        }
        if let Some(conditions) = self.open_conditions() {
            self.note(FindingCode::ConditionsOpen, conditions, "meet them, then have it reviewed again");
            return EffectiveStatus::Conditions;
        }
        if let Some(doubt) = self.doubt() {
            return if self.step.idempotent { EffectiveStatus::Invalid } else { self.outcome_unknown(doubt) };
        }
        let step = self.step;
        if let Some(doubt) = &step.doubt {
            return self.outcome_unknown(doubt);
        }
        if self.step.proof.is_commit && self.step.commit.is_none() && self.ended_in_git() {
            let fix =
                format!("`{}`", Suggested::on_step(Verb::Finish, &self.step.id, &self.run.id).option("commit", "SHA"));
            let message = format!("{} was finished without a commit", self.step.id.with_title(&self.step.title));
            self.note(FindingCode::CommitMissing, message, format!("commit the work, then name the commit: {fix}"));
        }
        if let Some(commit) = &self.step.commit
            && let Some(what) = self.evidence.commits.get(commit).and_then(|fact| fact.lost())
        {
            let short: String = commit.chars().take(12).collect();
            let message = format!("step {} recorded commit {short}, which {what}", self.step.id);
            self.note(FindingCode::CommitNotFound, message, "look for the commit with `git log --all --oneline`");
        }
        if self.has_lost_traces() {
            return EffectiveStatus::Verify;
        }
        let doubters = self.doubting_witnesses();
        if !doubters.is_empty() {
            let message = format!(
                "{} is done according to its state, but not according to {}",
                self.step.id,
                doubters.join(" and ")
            );
            self.note(FindingCode::StatusOptimistic, message, "update the other source");
        }
        EffectiveStatus::Done
    }

    /// Returns how a step stands that waits for approval: without its output, work would be done once approved, and at once invalid.
    fn waiting(&mut self) -> EffectiveStatus {
        let is_work = self.step.kind == StepKind::Work && self.step.idempotent;
        if is_work && self.doubt().is_some() { EffectiveStatus::Invalid } else { EffectiveStatus::Waiting }
    }

    /// Tells whether files are gone that the work left. Later work may have renamed or removed them.
    fn has_lost_traces(&mut self) -> bool {
        let is_lost = |path: &&RelPath| self.evidence.files.get(*path) == Some(&FileFact::Missing);
        let lost: Vec<&str> = self.step.proof.traces.iter().filter(is_lost).map(RelPath::as_str).collect();
        if lost.is_empty() || self.overridden {
            return false;
        }
        let what = format!("{} {} gone", lost.join(", "), if lost.len() == 1 { "is" } else { "are" });
        let message = format!("{} is done, but what it left is not there: {what}", self.step.id);
        self.reasons.push(what);
        self.note(FindingCode::OutputMissing, message, "look whether later work renamed or removed it");
        true
    }

    fn in_progress(&mut self) -> EffectiveStatus {
        match self.proof() {
            StepProof::Witnesses(report) => return self.judge_witnesses(&report),
            StepProof::Outputs { closes: false } => return self.output_is_there(),
            StepProof::Outputs { closes: true } => {
                let message = format!("{} was in progress, but its output exists and is valid", self.step.id);
                self.note(FindingCode::CompletedByEvidence, message, "nothing to do: the next checkpoint records it");
                return EffectiveStatus::Done;
            }
            StepProof::Nothing => {}
        }
        if self.step.idempotent || self.goes_on {
            EffectiveStatus::Interrupted
        } else {
            self.outcome_unknown("was cut off")
        }
    }

    /// Rule 11: a step that must not run twice is never rerun automatically.
    fn outcome_unknown(&mut self, what: &str) -> EffectiveStatus {
        let probe = match &self.step.probe {
            Some(probe) if !self.step.recorded => format!("find out whether it took effect: {probe}"),
            // Words with a command in them, or a command.
            Some(probe) if probe.contains('`') => format!("to find out whether it took effect: {probe}"),
            Some(probe) => format!("to find out whether it took effect: `{probe}`"),
            None => {
                let answers = command::answers(&self.step.id, &self.run.id);
                format!("find out whether it took effect; `{answers}` has the answers")
            }
        };
        let part = command::cut_off_part(self.step).map(|part| format!("its part {} ", clean_line(&part.name, 100)));
        let message = format!(
            "{} must not run twice, and {}{what}: its outcome is unknown",
            self.step.id,
            part.unwrap_or_default()
        );
        if !self.step.recorded {
            self.reasons.push("its outcome is unknown".to_owned());
        }
        self.note(FindingCode::OutcomeUnknown, message, probe);
        self.is_outcome_unknown = true;
        EffectiveStatus::Verify
    }

    fn not_started(&mut self) -> EffectiveStatus {
        match self.proof() {
            StepProof::Witnesses(report) => return self.judge_witnesses(&report),
            StepProof::Outputs { .. } => return self.output_is_there(),
            StepProof::Nothing => {}
        }
        let step = self.step;
        if let Some(doubt) = &step.doubt {
            self.outcome_unknown(doubt)
        } else if self.step.status == Status::Blocked {
            EffectiveStatus::Blocked
        } else if self.may_have_begun() {
            self.outcome_unknown("its system does not record that it began")
        } else if !step.idempotent && self.rolled_back_at().is_some() {
            self.outcome_unknown("was done or begun before the run went back")
        } else {
            EffectiveStatus::Open
        }
    }

    /// Tells whether a step that must not run twice may be under way unseen: what it waits for is done, its system records only its
    /// end, and Piton was told nothing about the steps before it.
    fn may_have_begun(&self) -> bool {
        let step = self.step;
        let told = |id: &StepId| {
            let about = |statement: &&Statement| match &statement.kind {
                StatementKind::Begun(attempt) => attempt.step == *id,
                StatementKind::Report(report) => report.step == *id,
                StatementKind::Decision(decision) => decision.step.as_ref() == Some(id),
            };
            self.evidence.statements.iter().filter(|statement| belongs_to(self.run, statement)).any(|said| about(&said))
                || self.index.by_step.contains_key(id.as_str())
        };
        let is_done = |id: &StepId| self.run.step(id).is_some_and(|before| before.status == Status::Completed);
        !step.idempotent
            && step.begins_unrecorded
            && !step.depends_on.is_empty()
            && step.depends_on.iter().all(is_done)
            && !step.depends_on.iter().chain([&step.id]).any(told)
    }

    fn output_is_there(&mut self) -> EffectiveStatus {
        let message = format!("{} is {} according to its state, but its output exists", self.step.id, self.step.status);
        self.reasons.push("its output exists".to_owned());
        self.note(FindingCode::StatusConflict, message, self.record_hint());
        EffectiveStatus::Verify
    }

    /// A recorded failure. All required witnesses together put it in doubt, but never turn it into success.
    fn failed(&mut self) -> EffectiveStatus {
        let Some(report) = self.witness_report().filter(|report| report.enough) else { return EffectiveStatus::Failed };
        self.note_witnesses(FindingCode::StatusConflict, &report, "a person has to check");
        EffectiveStatus::Verify
    }

    /// With all required witnesses the step is done; with fewer there is a conflict, which a person has to check
    /// (docs/formats/ccw.md#what-counts-as-evidence).
    fn judge_witnesses(&mut self, report: &WitnessReport) -> EffectiveStatus {
        if report.enough && self.closes_by_evidence() {
            self.note_witnesses(FindingCode::StatusDrift, report, "it counts as done");
            EffectiveStatus::Done
        } else {
            self.note_witnesses(FindingCode::StatusConflict, report, "a person has to check");
            EffectiveStatus::Verify
        }
    }

    fn note_witnesses(&mut self, code: FindingCode, report: &WitnessReport, tail: &str) {
        let (id, status) = (&self.step.id, self.step.status);
        let message = match self.has_status {
            true => {
                format!("{id} is {status} according to its state, but done according to {}: {tail}", report.sources)
            }
            false => format!("{id} has no status, but is done according to {}: {tail}", report.sources),
        };
        self.note(code, message, self.record_hint());
        if let Some(finding) = self.findings.last_mut() {
            finding.file.clone_from(&report.file);
            finding.line = report.line;
        }
    }

    fn open_conditions(&self) -> Option<String> {
        let review = self.step.review.as_ref()?;
        let id = &self.step.id;
        match (&review.open_conditions, review.verdict) {
            (Some(open), _) if open.is_empty() => None,
            (Some(open), _) => {
                Some(format!("{id} is approved with {} open: {}", plural(open.len(), "condition"), open.join("; ")))
            }
            (None, ReviewVerdict::ApprovedWithConditions) => {
                Some(format!("{id} is approved with conditions that the state does not list"))
            }
            (None, ReviewVerdict::Approved | ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected) => None,
        }
    }
}
