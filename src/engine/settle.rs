//! Rule 3: what the state says of each step, weighed against the evidence. "Done" is proved again before it is skipped.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::graph::Graph;
use crate::model::CommitFact;
use crate::model::Evidence;
use crate::model::EvidenceRecord;
use crate::model::FileFact;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::Timestamp;

/// Some file systems keep times in steps of two seconds.
const TIME_STEP: i64 = 2;

/// Is where a step stands after the evidence was weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Done,
    Skipped,
    /// Given up; it is over, and nothing that depends on it may count it as done.
    Cancelled,
    /// Not started.
    Open,
    /// Started, and nothing says that it ended.
    Interrupted,
    Failed,
    /// A person has to approve.
    Waiting,
    /// Approved under conditions that are not met yet.
    Conditions,
    /// Evidence and state disagree: somebody looks before anything is done.
    Verify,
    /// Recorded as done, and not believed.
    Invalid,
    /// The state itself calls it blocked.
    Blocked,
    /// What the state says of it cannot be understood; it is left alone.
    Held,
    /// Children decide, and some are not done.
    OpenContainer,
}

impl Standing {
    /// Tells whether what depends on it may start.
    pub(crate) const fn satisfies(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }

    /// Tells whether nothing is left to do for it.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Skipped | Self::Cancelled)
    }
}

/// Is the standing of every step, by position, with what there is to say about it.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) standings: Vec<Standing>,
    /// What the standing goes by, by position: short statements for people.
    pub(super) evidence: Vec<Vec<String>>,
    pub(super) findings: Vec<Finding>,
}

/// Returns the standing of every step of a run, by position in `run.steps`.
pub(crate) fn standings(run: &Run, evidence: &Evidence, load_findings: &[Finding]) -> Vec<Standing> {
    settle(run, &Graph::of(run), evidence, load_findings).standings
}

pub(super) fn settle(run: &Run, graph: &Graph<'_>, evidence: &Evidence, load_findings: &[Finding]) -> Settled {
    let held: BTreeSet<&str> = load_findings
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
    let records = Records::of(run, evidence);
    let mut settled = Settled { standings: Vec::new(), evidence: Vec::new(), findings: Vec::new() };
    for step in &run.steps {
        let mut weighing =
            Weighing { run, step, evidence, records: &records, because: Vec::new(), findings: Vec::new() };
        let standing = if held.contains(step.id.as_str()) { Standing::Held } else { weighing.standing() };
        settled.standings.push(standing);
        settled.evidence.push(weighing.because);
        settled.findings.append(&mut weighing.findings);
    }
    derive_containers(run, graph, &mut settled);
    reopen_dependents(run, graph, &mut settled);
    settled
}

/// Is the evidence log, read once: the last record of every path, and when anything was last begun or finished.
struct Records<'a> {
    by_step: BTreeMap<&'a str, &'a EvidenceRecord>,
    last_of_path: BTreeMap<&'a RelPath, (&'a str, &'a str)>,
    /// When the two steps that were busy last were so.
    last_busy: Vec<(Timestamp, StepId)>,
}

impl<'a> Records<'a> {
    fn of(run: &Run, evidence: &'a Evidence) -> Self {
        let mut last_busy: Vec<(Timestamp, StepId)> = run
            .steps
            .iter()
            .filter_map(|step| Some((step.started_at.max(step.finished_at)?, step.id.clone())))
            .collect();
        last_busy.sort_by(|a, b| b.cmp(a));
        last_busy.truncate(2);
        let mut records = Self { by_step: BTreeMap::new(), last_of_path: BTreeMap::new(), last_busy };
        for record in evidence.records.iter().filter(|record| record.run == run.id.as_str()) {
            // Evidence must belong to this run: a record from before its start is another run's of the same name.
            if run.started_at.is_some_and(|started| record.at < started) {
                continue;
            }
            records.by_step.insert(record.step.as_str(), record);
            for output in &record.outputs {
                records.last_of_path.insert(&output.path, (record.step.as_str(), output.sha256.as_str()));
            }
        }
        records
    }
}

struct Weighing<'a> {
    run: &'a Run,
    step: &'a Step,
    evidence: &'a Evidence,
    records: &'a Records<'a>,
    because: Vec<String>,
    findings: Vec<Finding>,
}

/// Says what the declared outputs of a step look like together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outputs {
    /// None declared.
    None,
    Valid,
    Missing,
    Bad,
}

impl Weighing<'_> {
    fn standing(&mut self) -> Standing {
        self.because.push(format!("the state says {}", self.step.status));
        if self.step.kind == StepKind::Container {
            return Standing::OpenContainer;
        }
        match self.step.status {
            Status::Completed => self.completed(),
            Status::InProgress => self.in_progress(),
            Status::Pending | Status::Blocked => self.not_started(),
            Status::Failed => Standing::Failed,
            Status::WaitingApproval => Standing::Waiting,
            Status::Skipped => Standing::Skipped,
            Status::Cancelled => Standing::Cancelled,
        }
    }

    fn completed(&mut self) -> Standing {
        if let Some(conditions) = self.open_conditions() {
            self.note(FindingCode::ConditionsOpen, conditions, "record the review again once they are met");
            return Standing::Conditions;
        }
        let declared = self.declared_outputs(true);
        let gone = self.recorded_outputs_are_gone();
        if matches!(declared, Outputs::Missing | Outputs::Bad) || gone || self.definition_has_changed() {
            return Standing::Invalid;
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
        let doubters: Vec<String> =
            (self.step.witnesses.iter().filter(|witness| !witness.done && witness.file.is_some()))
                .map(|witness| witness.source.clone())
                .collect();
        // A witness that is merely absent contradicts nobody: most finished tasks leave no summary.
        if !doubters.is_empty() {
            let message = format!("{} is done by its state, and not by {}", self.step.id, doubters.join(" and "));
            self.note(FindingCode::StatusOptimistic, message, "bring the other place up to date");
        }
        Standing::Done
    }

    fn in_progress(&mut self) -> Standing {
        match self.witnesses() {
            Some(standing) => return standing,
            None if self.declared_outputs(false) == Outputs::Valid => {
                let message = format!("{} was in progress and its output is there and valid", self.step.id);
                self.note(FindingCode::CompletedByEvidence, message, "nothing: the next checkpoint records it");
                return Standing::Done;
            }
            None => {}
        }
        if !self.step.idempotent {
            let probe = self.step.probe.as_ref().map_or_else(
                || "find out whether it took effect, then `piton finish` or `piton begin` it".to_owned(),
                |probe| format!("run the declared probe yourself: {probe}"),
            );
            let message = format!("{} must not run twice and was cut off: its outcome is unknown", self.step.id);
            self.note(FindingCode::OutcomeUnknown, message, probe);
            return Standing::Verify;
        }
        Standing::Interrupted
    }

    fn not_started(&mut self) -> Standing {
        if let Some(standing) = self.witnesses() {
            return standing;
        }
        if self.declared_outputs(false) == Outputs::Valid {
            let message = format!("{} is {} by its state, and its output is there", self.step.id, self.step.status);
            self.note(FindingCode::StatusConflict, message, self.record_hint());
            return Standing::Verify;
        }
        match self.step.status {
            Status::Blocked => Standing::Blocked,
            Status::Pending
            | Status::InProgress
            | Status::Completed
            | Status::Failed
            | Status::WaitingApproval
            | Status::Skipped
            | Status::Cancelled => Standing::Open,
        }
    }

    /// Hears the other places in the state: all of those that are needed make a step done, one alone makes a conflict, which
    /// is neither run again nor believed (ccw.md B6, B7.3).
    fn witnesses(&mut self) -> Option<Standing> {
        let speaking: Vec<&crate::model::Witness> = self.step.witnesses.iter().filter(|witness| witness.done).collect();
        let first = *speaking.first()?;
        let (file, line) = (first.file.clone(), first.line);
        let sources: Vec<&str> = speaking.iter().map(|witness| witness.source.as_str()).collect();
        let sources = sources.join(" and ");
        self.because.push(format!("{sources} {} done", if speaking.len() == 1 { "says" } else { "say" }));
        let silent: Vec<&str> =
            self.step.witnesses.iter().filter(|witness| !witness.done).map(|witness| witness.source.as_str()).collect();
        if !silent.is_empty() {
            self.because.push(format!("{} does not", silent.join(" and ")));
        }
        let enough = self.step.witnesses_needed > 0 && speaking.len() >= self.step.witnesses_needed;
        let (code, standing, tail) = if enough {
            (FindingCode::StatusDrift, Standing::Done, "it counts as done")
        } else {
            (FindingCode::StatusConflict, Standing::Verify, "somebody has to look")
        };
        let message = format!("{} is {} by its state and done by {sources}: {tail}", self.step.id, self.step.status);
        self.note(code, message, self.record_hint());
        if let Some(finding) = self.findings.last_mut() {
            finding.file = file;
            finding.line = line;
        }
        Some(standing)
    }

    fn record_hint(&self) -> String {
        let (run, step) = (super::plan::quoted(self.run.id.as_str()), super::plan::quoted(self.step.id.as_str()));
        format!("look at its result, then `piton finish {step} --run {run} --status completed` to record it")
    }

    fn open_conditions(&self) -> Option<String> {
        let review = self.step.review.as_ref()?;
        match (review.verdict, &review.open_conditions) {
            (_, Some(open)) if !open.is_empty() => Some(format!(
                "{} is approved with {} open: {}",
                self.step.id,
                count(open.len(), "condition"),
                open.join("; ")
            )),
            (ReviewVerdict::ApprovedWithConditions, None) => {
                Some(format!("{} is approved with conditions that the state does not list", self.step.id))
            }
            _ => None,
        }
    }

    /// Looks at the files the step must have left. `tell`: a bad one is worth a finding.
    fn declared_outputs(&mut self, tell: bool) -> Outputs {
        if self.step.outputs_any && self.step.outputs.iter().any(|path| self.problem_of(path).is_none()) {
            return Outputs::Valid;
        }
        let mut all = Outputs::None;
        for path in &self.step.outputs {
            let problem = self.problem_of(path);
            match problem {
                None if all == Outputs::None => all = Outputs::Valid,
                None => {}
                Some((code, what)) => {
                    all = if code == FindingCode::OutputMissing && all != Outputs::Bad {
                        Outputs::Missing
                    } else {
                        Outputs::Bad
                    };
                    self.because.push(format!("its output {path} {what}"));
                    if tell {
                        let message = format!("the output {path} of {} {what}", self.step.id);
                        self.note(code, message, format!("do {} again, or bring the file back", self.step.id));
                        if let Some(finding) = self.findings.last_mut() {
                            finding.file = Some(path.clone());
                        }
                    }
                }
            }
        }
        all
    }

    /// Says why an output proves nothing; `None` for a good one.
    fn problem_of(&self, path: &RelPath) -> Option<(FindingCode, String)> {
        let fact = self.evidence.files.get(path);
        let older = |start: Option<Timestamp>| {
            let Some(FileFact::Present { modified: Some(modified), .. }) = fact else { return false };
            start.is_some_and(|start| *modified < start)
        };
        // What a step that is not done finds there from before its start is left from an earlier attempt.
        let attempt = self.step.started_at.filter(|_| self.step.status != Status::Completed);
        let attempt = attempt.map(|start| start.plus_seconds(-TIME_STEP));
        match fact {
            None | Some(FileFact::Missing) => Some((FindingCode::OutputMissing, "is missing".to_owned())),
            Some(FileFact::Unreadable(why)) => Some((FindingCode::OutputUnparsable, format!("cannot be read: {why}"))),
            Some(FileFact::Present { bytes: 0, .. }) => Some((FindingCode::OutputMissing, "is empty".to_owned())),
            Some(FileFact::Present { parses: Some(false), .. }) => {
                Some((FindingCode::OutputUnparsable, "does not parse".to_owned()))
            }
            Some(FileFact::Present { .. }) if older(self.run.started_at) => {
                Some((FindingCode::OutputOlder, "is older than this run".to_owned()))
            }
            Some(FileFact::Present { .. }) if older(attempt) => {
                Some((FindingCode::OutputOlder, "is older than this attempt".to_owned()))
            }
            Some(FileFact::Present { .. }) => {
                let rejected = self.step.rejected.iter().find(|(rejected, _)| rejected == path);
                rejected.map(|(_, why)| (FindingCode::OutputRejected, why.clone()))
            }
        }
    }

    /// Compares with what `finish` saw. A difference counts against the step only when no other step began or ended since:
    /// later steps are free to change what earlier ones left.
    fn recorded_outputs_are_gone(&mut self) -> bool {
        let Some(record) = self.records.by_step.get(self.step.id.as_str()) else { return false };
        let superseded =
            self.records.last_busy.iter().any(|(moment, other)| *other != self.step.id && *moment > record.at);
        let mut gone = false;
        for output in &record.outputs {
            let Some((last_step, sha256)) = self.records.last_of_path.get(&output.path) else { continue };
            if *last_step != self.step.id.as_str() {
                continue;
            }
            let (code, what) = match self.evidence.files.get(&output.path) {
                None | Some(FileFact::Missing) => (FindingCode::OutputMissing, "is gone"),
                Some(FileFact::Present { sha256: Some(now), .. }) if now != sha256 => {
                    (FindingCode::OutputChanged, "was changed since")
                }
                Some(FileFact::Present { .. } | FileFact::Unreadable(_)) => continue,
            };
            self.because.push(format!("its output {} {what}", output.path));
            let code = if superseded { FindingCode::OutputSuperseded } else { code };
            let message = format!("the output {} of {} {what}", output.path, self.step.id);
            self.note(
                code,
                message,
                format!("look at the file; `piton finish {}` records it as it is now", self.step.id),
            );
            if let Some(finding) = self.findings.last_mut() {
                finding.file = Some(output.path.clone());
            }
            gone |= !superseded;
        }
        gone
    }

    /// Rule 10: what was done was done to another definition.
    fn definition_has_changed(&mut self) -> bool {
        let record = self.records.by_step.get(self.step.id.as_str());
        let Some(recorded) = record.and_then(|record| record.definition.as_ref()) else { return false };
        if self.step.definition_digest().as_ref() == Some(recorded) {
            return false;
        }
        self.because.push("its definition was changed since".to_owned());
        let message = format!("the definition of {} was changed after it was done", self.step.id);
        self.note(FindingCode::DefinitionChanged, message, self.record_hint());
        true
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

/// Gives every container the standing of its children; one without any is looked at.
fn derive_containers(run: &Run, graph: &Graph<'_>, settled: &mut Settled) {
    for &at in graph.order() {
        let step = &run.steps[at];
        if step.kind != StepKind::Container || settled.standings[at] == Standing::Held {
            continue;
        }
        let children: Vec<Standing> =
            step.children.iter().filter_map(|id| graph.position(id)).map(|child| settled.standings[child]).collect();
        settled.standings[at] = if children.is_empty() {
            match step.status {
                Status::Completed => Standing::Done,
                Status::Skipped => Standing::Skipped,
                Status::Cancelled => Standing::Cancelled,
                Status::Pending | Status::InProgress | Status::Failed | Status::WaitingApproval | Status::Blocked => {
                    Standing::Verify
                }
            }
        } else if children.iter().all(|child| child.is_over())
            && (step.dangling.is_empty()
                || matches!(step.status, Status::Completed | Status::Skipped | Status::Cancelled))
        {
            Standing::Done
        } else {
            Standing::OpenContainer
        };
        let done = children.iter().filter(|child| child.is_over()).count();
        settled.evidence[at].push(format!("{done} of {} are done", count(children.len(), "child step")));
    }
}

/// Opens again what was built on a step that is not believed any more (invariant 14).
fn reopen_dependents(run: &Run, graph: &Graph<'_>, settled: &mut Settled) {
    for &at in graph.order() {
        if settled.standings[at] != Standing::Done || run.steps[at].kind == StepKind::Container {
            continue;
        }
        let Some(&on) = graph.depends_on(at).iter().find(|on| settled.standings[**on] == Standing::Invalid) else {
            continue;
        };
        let (id, on) = (&run.steps[at].id, &run.steps[on].id);
        settled.standings[at] = Standing::Invalid;
        settled.evidence[at].push(format!("{on}, which it depends on, is open again"));
        settled.findings.push(
            Finding::new(FindingCode::StaleDependent, format!("{id} was done on top of {on}, which is open again"))
                .on(id)
                .fix(format!("it is planned again after {on}")),
        );
    }
}

fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
