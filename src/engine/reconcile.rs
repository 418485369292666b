//! Rule 3: compares the status of each step with the evidence. "Done" is verified again before the step is skipped.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::command;
use super::graph::Graph;
use super::propagate::propagate;
use super::reports::attempts;
use crate::model::Attempt;
use crate::model::CommitFact;
use crate::model::Evidence;
use crate::model::EvidenceRecord;
use crate::model::FileFact;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Presence;
use crate::model::Proof;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::Timestamp;
use crate::model::Witness;
use crate::model::plural;

/// How much older than its step an output may look: some file systems store times with two seconds of precision.
const FILE_TIME_GRAIN_SECONDS: i64 = 2;

/// The status of a step after comparison with the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectiveStatus {
    Done,
    Skipped,
    /// Over, but its dependents may not count it as done.
    Cancelled,
    /// Not started.
    Open,
    /// Started but never finished.
    Interrupted,
    Failed,
    /// Waits for the approval of a person.
    Waiting,
    /// Approved with conditions that are not met yet.
    Conditions,
    /// Evidence and state disagree: a person checks before anything is run.
    Verify,
    /// Recorded as done, but the evidence disagrees.
    Invalid,
    /// The state itself calls it blocked.
    Blocked,
    /// Its state cannot be interpreted; the step is left alone.
    Unreadable,
    /// A container with children that are not done.
    OpenContainer,
}

impl EffectiveStatus {
    /// Tells whether dependents may start.
    pub(crate) const fn satisfies(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }

    /// Tells whether nothing is left to do for the step.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Skipped | Self::Cancelled)
    }
}

/// The result of comparing a run with its evidence.
#[derive(Debug)]
pub(super) struct Reconciled {
    /// By position in `run.steps`.
    pub(super) effective_statuses: Vec<EffectiveStatus>,
    /// The reasons besides the recorded status, by position; short statements for people.
    pub(super) reasons: Vec<Vec<String>>,
    pub(super) findings: Vec<Finding>,
    /// The attempts that are going on, by position.
    pub(super) attempts: BTreeMap<usize, (Attempt, Presence)>,
}

/// Returns the effective status of every step, by position in `run.steps`.
pub(crate) fn effective_statuses(run: &Run, evidence: &Evidence, load_findings: &[Finding]) -> Vec<EffectiveStatus> {
    reconcile(run, &Graph::of(run), evidence, load_findings).effective_statuses
}

/// Returns the problems with the declared outputs of a step, as the next plan would see them if it were completed now.
pub(super) fn unproved(run: &Run, step: &Step, evidence: &Evidence) -> Vec<String> {
    let step = Step { status: Status::Completed, ..step.clone() };
    let index = EvidenceIndex::default();
    let reconciler = Reconciler {
        run,
        step: &step,
        evidence,
        index: &index,
        goes_on: false,
        reasons: Vec::new(),
        findings: Vec::new(),
    };
    let problem = |path: &RelPath| Some(format!("{path} {}", reconciler.problem_of(path, run.started_at)?.1));
    let Proof { outputs, outputs_any, .. } = &step.proof;
    let problems: Vec<String> = outputs.iter().filter_map(problem).collect();
    let one_is_enough = *outputs_any && problems.len() < outputs.len();
    if one_is_enough { Vec::new() } else { problems }
}

pub(super) fn reconcile(run: &Run, graph: &Graph<'_>, evidence: &Evidence, load_findings: &[Finding]) -> Reconciled {
    let unreadable: BTreeSet<&str> = load_findings
        .iter()
        .filter(|finding| {
            matches!(
                finding.code,
                FindingCode::PartUnreadable | FindingCode::StatusUnknown | FindingCode::VerdictUnknown
            )
        })
        .filter_map(|finding| finding.step.as_ref())
        .map(StepId::as_str)
        .collect();
    let index = EvidenceIndex::of(run, evidence);
    let attempts = attempts(run, graph, evidence);
    let mut reconciled =
        Reconciled { effective_statuses: Vec::new(), reasons: Vec::new(), findings: Vec::new(), attempts };
    for (at, step) in run.steps.iter().enumerate() {
        let attempt = reconciled.attempts.get(&at);
        // Only the attempt of a driver that is gone was cut off.
        let goes_on = attempt.is_some_and(|(_, presence)| matches!(presence, Presence::Caller | Presence::Alive));
        let mut reconciler =
            Reconciler { run, step, evidence, index: &index, goes_on, reasons: Vec::new(), findings: Vec::new() };
        let effective_status = if unreadable.contains(step.id.as_str()) {
            EffectiveStatus::Unreadable
        } else {
            reconciler.effective_status()
        };
        reconciled.effective_statuses.push(effective_status);
        reconciled.reasons.push(reconciler.reasons);
        reconciled.findings.append(&mut reconciler.findings);
    }
    propagate(run, graph, &mut reconciled);
    reconciled
}

/// The evidence log of a run, indexed by step and path.
#[derive(Default)]
struct EvidenceIndex<'a> {
    /// The last record of each step.
    by_step: BTreeMap<&'a str, &'a EvidenceRecord>,
    /// The step that last recorded each path.
    last_of_path: BTreeMap<&'a RelPath, &'a str>,
    /// The time of the last rollback of each step. Earlier evidence no longer counts.
    rolled_back: BTreeMap<&'a str, Timestamp>,
    /// The two steps with the latest activity, so that one of them is always another step than the one in question.
    last_busy: Vec<(Timestamp, &'a StepId)>,
}

impl<'a> EvidenceIndex<'a> {
    fn of(run: &'a Run, evidence: &'a Evidence) -> Self {
        let mut last_busy: Vec<(Timestamp, &StepId)> = Vec::with_capacity(3);
        let mut note_busy = |step: &'a StepId, moment: Timestamp| {
            match last_busy.iter_mut().find(|(_, known)| *known == step) {
                Some((last, _)) => *last = moment.max(*last),
                None => last_busy.push((moment, step)),
            }
            last_busy.sort_by_key(|(moment, _)| Reverse(*moment));
            last_busy.truncate(2);
        };
        for step in &run.steps {
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
            note_busy(&record.step, record.at);
            by_step.insert(record.step.as_str(), record);
            for output in &record.outputs {
                last_of_path.insert(&output.path, record.step.as_str());
            }
        }
        let rollbacks = evidence.rollbacks.iter().filter(|rollback| rollback.run == run.id.as_str());
        let rolled_back =
            rollbacks.flat_map(|rollback| rollback.reopened.iter().map(|step| (step.as_str(), rollback.at)));
        Self { by_step, last_of_path, rolled_back: rolled_back.collect(), last_busy }
    }
}

/// Compares one step with the evidence.
struct Reconciler<'a> {
    run: &'a Run,
    step: &'a Step,
    evidence: &'a Evidence,
    index: &'a EvidenceIndex<'a>,
    /// Whether its current attempt has a living driver.
    goes_on: bool,
    reasons: Vec<String>,
    findings: Vec<Finding>,
}

/// The witnesses that say done.
struct WitnessReport {
    /// Their names, joined.
    sources: String,
    /// Whether they are as many as needed.
    enough: bool,
    file: Option<RelPath>,
    line: Option<u32>,
}

/// The state of all declared outputs of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outputs {
    /// None declared.
    None,
    Valid,
    Missing,
    Bad,
}

impl Reconciler<'_> {
    fn effective_status(&mut self) -> EffectiveStatus {
        if self.step.kind == StepKind::Container {
            return EffectiveStatus::OpenContainer;
        }
        match self.step.status {
            Status::Completed => self.completed(),
            Status::InProgress => self.in_progress(),
            Status::Pending | Status::Blocked => self.not_started(),
            Status::Failed => self.failed(),
            Status::WaitingApproval => EffectiveStatus::Waiting,
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
            self.note(FindingCode::ConditionsOpen, conditions, "record the review again once they are met");
            return EffectiveStatus::Conditions;
        }
        let declared = self.declared_outputs(true, self.run.started_at);
        let doubt = if matches!(declared, Outputs::Missing | Outputs::Bad) || self.recorded_outputs_are_gone() {
            Some("its result is gone")
        } else {
            self.definition_has_changed().then_some("its definition was changed")
        };
        if let Some(doubt) = doubt {
            return if self.step.idempotent { EffectiveStatus::Invalid } else { self.outcome_unknown(doubt) };
        }
        if let Some(commit) = &self.step.commit
            && let Some(fact @ (CommitFact::Elsewhere | CommitFact::Unknown)) = self.evidence.commits.get(commit)
        {
            let short: String = commit.chars().take(12).collect();
            let what = match fact {
                CommitFact::Elsewhere => "exists, but not in the history of this branch",
                CommitFact::Unknown | CommitFact::Reachable => "is not known to git",
            };
            let message = format!("step {} recorded commit {short}, which {what}", self.step.id);
            self.note(FindingCode::CommitNotFound, message, "look for the commit with `git log --all --oneline`");
        }
        // A missing witness is not a contradiction: most finished tasks leave no summary.
        let doubting = |witness: &&Witness| !witness.done && witness.file.is_some();
        let witnesses = self.step.proof.witnesses.iter();
        let doubters: Vec<&str> = witnesses.filter(doubting).map(|witness| &*witness.source).collect();
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

    fn in_progress(&mut self) -> EffectiveStatus {
        if let Some(report) = self.witness_report() {
            return self.judge_witnesses(&report);
        }
        if self.declared_outputs(false, self.attempt_start()) == Outputs::Valid {
            let closes = match self.step.kind {
                StepKind::Work | StepKind::Container => true,
                // A report is not an approval: it must contain a verdict.
                StepKind::Review => self.step.review.is_some() && self.disapproval().is_none(),
                // Only the state records an approval.
                StepKind::Gate => false,
            };
            if !closes {
                return self.output_is_there();
            }
            let message = format!("{} was in progress, but its output exists and is valid", self.step.id);
            self.note(FindingCode::CompletedByEvidence, message, "nothing to do: the next checkpoint records it");
            return EffectiveStatus::Done;
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
            Some(probe) => format!("run the declared probe yourself: {probe}"),
            None => {
                let (finish, begin) = (
                    command::finish(self.step, &self.run.id),
                    command::on_step("begin", &self.step.id, &self.run.id, " --force"),
                );
                format!("find out whether it took effect, then `{finish}` or `{begin}`")
            }
        };
        let message = format!("{} must not run twice, and {what}: its outcome is unknown", self.step.id);
        self.note(FindingCode::OutcomeUnknown, message, probe);
        EffectiveStatus::Verify
    }

    fn not_started(&mut self) -> EffectiveStatus {
        if let Some(report) = self.witness_report() {
            return self.judge_witnesses(&report);
        }
        if self.declared_outputs(false, self.attempt_start()) == Outputs::Valid {
            return self.output_is_there();
        }
        if self.step.status == Status::Blocked { EffectiveStatus::Blocked } else { EffectiveStatus::Open }
    }

    fn output_is_there(&mut self) -> EffectiveStatus {
        let message = format!("{} is {} according to its state, but its output exists", self.step.id, self.step.status);
        self.reasons.push("its output exists".to_owned());
        self.note(FindingCode::StatusConflict, message, self.record_hint());
        EffectiveStatus::Verify
    }

    /// Tells whether evidence can show that the step is done. It cannot replace an approval or a verdict.
    fn closes_by_evidence(&self) -> bool {
        matches!(self.step.kind, StepKind::Work | StepKind::Container)
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

    /// Returns the witnesses that say done; `None` if there are none.
    fn witness_report(&mut self) -> Option<WitnessReport> {
        let Proof { witnesses, witnesses_needed, .. } = &self.step.proof;
        let (speaking, silent): (Vec<&Witness>, Vec<&Witness>) =
            witnesses.iter().partition(|witness| witness.done && !self.is_rolled_back(witness));
        let first = *speaking.first()?;
        let names = |witnesses: &[&Witness]| {
            let names: Vec<&str> = witnesses.iter().map(|witness| &*witness.source).collect();
            names.join(" and ")
        };
        let sources = names(&speaking);
        self.reasons.push(format!("{sources} {} done", if speaking.len() == 1 { "says" } else { "say" }));
        match silent.len() {
            0 => {}
            1 => self.reasons.push(format!("{} does not", names(&silent))),
            _ => self.reasons.push(format!("{} do not", names(&silent))),
        }
        let enough = *witnesses_needed > 0 && speaking.len() >= *witnesses_needed;
        Some(WitnessReport { sources, enough, file: first.file.clone(), line: first.line })
    }

    fn rolled_back_at(&self) -> Option<Timestamp> {
        self.index.rolled_back.get(self.step.id.as_str()).copied()
    }

    /// Tells whether a witness is from before a rollback.
    fn is_rolled_back(&self, witness: &Witness) -> bool {
        let fact = witness.file.as_ref().and_then(|file| self.evidence.files.get(file));
        let Some(FileFact::Present { modified: Some(said), .. }) = fact else { return false };
        self.rolled_back_at().is_some_and(|rolled_back_at| *said <= rolled_back_at)
    }

    fn note_witnesses(&mut self, code: FindingCode, report: &WitnessReport, tail: &str) {
        let (id, status) = (&self.step.id, self.step.status);
        let message =
            format!("{id} is {status} according to its state, but done according to {}: {tail}", report.sources);
        self.note(code, message, self.record_hint());
        if let Some(finding) = self.findings.last_mut() {
            finding.file.clone_from(&report.file);
            finding.line = report.line;
        }
    }

    fn record_hint(&self) -> String {
        if !self.step.recorded {
            return "check its result, then record it in the files that the step is read from".to_owned();
        }
        format!("check its result, then `{}` to record it", command::finish(self.step, &self.run.id))
    }

    /// Returns the verdict of a review if it does not approve.
    fn disapproval(&self) -> Option<ReviewVerdict> {
        let verdict = self.step.review.as_ref()?.verdict;
        (!verdict.approves()).then_some(verdict)
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

    /// Checks the declared outputs, which must not be older than `since`. `report`: adds a finding for each bad one.
    fn declared_outputs(&mut self, report: bool, since: Option<Timestamp>) -> Outputs {
        let Proof { outputs, outputs_any, .. } = &self.step.proof;
        if *outputs_any && outputs.iter().any(|path| self.problem_of(path, since).is_none()) {
            return Outputs::Valid;
        }
        let mut all = Outputs::None;
        for path in outputs {
            match self.problem_of(path, since) {
                None if all == Outputs::None => all = Outputs::Valid,
                None => {}
                Some((code, what)) => {
                    all = if code == FindingCode::OutputMissing && all != Outputs::Bad {
                        Outputs::Missing
                    } else {
                        Outputs::Bad
                    };
                    self.reasons.push(format!("its output {path} {what}"));
                    if report {
                        let message = format!("the output {path} of {} {what}", self.step.id);
                        self.note(code, message, format!("do {} again, or restore the file", self.step.id));
                        if let Some(finding) = self.findings.last_mut() {
                            finding.file = Some(path.clone());
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns why an output does not prove work done since `since`; `None` if it does.
    fn problem_of(&self, path: &RelPath, since: Option<Timestamp>) -> Option<(FindingCode, String)> {
        let fact = self.evidence.files.get(path);
        let older = |start: Option<Timestamp>, slack: i64| {
            let Some(FileFact::Present { modified: Some(modified), .. }) = fact else { return false };
            start.is_some_and(|start| start > *modified && (slack == 0 || start.seconds_since(*modified) > slack))
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
    fn attempt_start(&self) -> Option<Timestamp> {
        self.step.started_at.or(self.run.started_at)
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

    /// Compares the outputs with what `finish` recorded. A difference counts against the step only if no other step began or ended
    /// since, because later steps may change earlier outputs.
    fn recorded_outputs_are_gone(&mut self) -> bool {
        let Some(record) = self.index.by_step.get(self.step.id.as_str()) else { return false };
        if self.step.started_at.is_some_and(|started| started > record.at) {
            // It was redone since without recording its outputs.
            return false;
        }
        let superseded =
            self.index.last_busy.iter().any(|(moment, other)| **other != self.step.id && *moment > record.at);
        let mut gone = false;
        for output in &record.outputs {
            if self.index.last_of_path.get(&output.path) != Some(&self.step.id.as_str()) {
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
            let (code, fix) = match superseded {
                true => (FindingCode::OutputSuperseded, "nothing, if a later step changed it on purpose".to_owned()),
                false => {
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

    fn note(&mut self, code: FindingCode, message: impl Into<String>, fix: impl Into<String>) {
        let finding = Finding::new(code, message).on(&self.step.id).fix(fix);
        let finding = match &self.step.file {
            Some(file) => finding.at(file),
            None => finding,
        };
        self.findings.push(finding);
    }
}
