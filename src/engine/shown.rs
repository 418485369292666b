//! A planned run step by step, for people: the mark of each step, the reason and its rule, what shows it, and its attempts. It decides
//! nothing: it names what reconciling and planning found.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    choose::list,
    graph::Graph,
    plan::Planned,
    reconcile::reconcile,
    reconciled::{EffectiveStatus, ReconciledRun},
    reports::{SENTENCE_CHARS, TITLE_CHARS, belongs_to},
    step_evidence::EvidenceIndex,
};
use crate::model::{
    Action, Attempt, AttemptEnd, DecisionKind, Evidence, FileFact, Finding, FindingCode, Next, OutputRecord, Presence,
    RelPath, ReviewVerdict, Run, ShownAttempt, ShownStep, ShownWitness, Statement, StatementKind, Status, Step, StepId,
    StepKind, StepMark, StepReport, safe_line,
};

/// Characters of what an attempt ended with.
const SAID_CHARS: usize = 240;
/// Characters of the name of an agent, a group or a file that is not a path.
const NAME_CHARS: usize = 80;
/// Attempts of one step that are listed.
const ATTEMPTS: usize = 50;

/// Returns every step of a planned run, in the order of its definition.
pub(crate) fn shown_steps(run: &Run, evidence: &Evidence, planned: &Planned) -> Vec<ShownStep> {
    let graph = Graph::of(run);
    let reconciled = reconcile(run, &graph, evidence, &planned.findings);
    let view = View {
        reconciled: ReconciledRun::of(run, &graph, &reconciled),
        evidence,
        index: EvidenceIndex::of(run, evidence),
        findings: by_step(&planned.findings),
        next: planned.plan.next.iter().rev().map(|next| (&next.step, next)).collect(),
        approved: approved(run, &evidence.statements),
        statements: statements_by_step(run, &evidence.statements),
    };
    let again: BTreeSet<usize> = planned
        .plan
        .next
        .iter()
        .filter_map(|next| Some((graph.position(&next.step)?, next.action)))
        .flat_map(|(at, action)| view.reconciled.worked_on_again(at, action))
        .collect();
    (0..run.steps.len()).map(|at| view.step(at, again.contains(&at))).collect()
}

fn by_step(findings: &[Finding]) -> BTreeMap<&StepId, Vec<FindingCode>> {
    let mut found: BTreeMap<&StepId, Vec<FindingCode>> = BTreeMap::new();
    for finding in findings {
        if let Some(step) = &finding.step {
            found.entry(step).or_default().push(finding.code);
        }
    }
    found
}

/// Returns the steps of which a person's decision says that they are done.
fn approved<'a>(run: &Run, statements: &'a [Statement]) -> BTreeMap<&'a StepId, String> {
    let decided = statements.iter().filter(|statement| belongs_to(run, statement)).filter_map(|statement| {
        let StatementKind::Decision(decision) = &statement.kind else { return None };
        let is_yes = matches!(decision.decision, DecisionKind::Approve | DecisionKind::Accept);
        let by = decision.by.as_deref().map_or_else(|| "a person".to_owned(), |by| safe_line(by, NAME_CHARS));
        let step = decision.step.as_ref().filter(|_| is_yes)?;
        Some((step, format!("{} by {by}", decision.decision.as_past())))
    });
    decided.collect()
}

/// Returns the attempts and reports of each step as a whole, oldest first.
fn statements_by_step<'a>(run: &Run, statements: &'a [Statement]) -> BTreeMap<&'a StepId, Vec<&'a Statement>> {
    let mut found: BTreeMap<&StepId, Vec<&Statement>> = BTreeMap::new();
    for statement in statements.iter().filter(|statement| belongs_to(run, statement)) {
        let step = match &statement.kind {
            StatementKind::Begun(attempt) if attempt.part.is_none() => &attempt.step,
            StatementKind::Report(report) if report.part.is_none() => &report.step,
            StatementKind::Begun(_) | StatementKind::Report(_) | StatementKind::Decision(_) => continue,
        };
        found.entry(step).or_default().push(statement);
    }
    found
}

/// What is known of all steps.
struct View<'a> {
    reconciled: ReconciledRun<'a>,
    evidence: &'a Evidence,
    index: EvidenceIndex<'a>,
    findings: BTreeMap<&'a StepId, Vec<FindingCode>>,
    next: BTreeMap<&'a StepId, &'a Next>,
    approved: BTreeMap<&'a StepId, String>,
    statements: BTreeMap<&'a StepId, Vec<&'a Statement>>,
}

impl View<'_> {
    fn step(&self, at: usize, is_again: bool) -> ShownStep {
        let run = self.reconciled.run;
        let step = &run.steps[at];
        let witnesses = self.witnesses(step);
        let next = self.next.get(&step.id).filter(|next| next.title == step.title);
        let mark = match self.mark(at, &witnesses) {
            // A review sends the run back to it.
            mark if mark.is_over() && next.is_some_and(|next| next.action == Action::Return) => StepMark::Invalid,
            mark => mark,
        };
        let attempts = self.attempts(step, mark);
        let (reason, rule) = match next {
            Some(next) => (next.reason.clone(), next.rule.clone()),
            None => self.reason(at, mark),
        };
        ShownStep {
            id: step.id.clone(),
            title: safe_line(&step.title, TITLE_CHARS),
            group: step.group.as_deref().map(|group| safe_line(group, NAME_CHARS)),
            agent: step.agent.as_deref().map(|agent| safe_line(agent, NAME_CHARS)),
            mark,
            recorded: step.status,
            is_tolerated: step.is_tolerated,
            reason: safe_line(&reason, SENTENCE_CHARS),
            rule,
            is_next: next.is_some(),
            is_again: is_again || mark == StepMark::Invalid,
            is_container: step.kind == StepKind::Container,
            depends_on: self.reconciled.graph.depends_on(at).iter().map(|on| run.steps[*on].id.clone()).collect(),
            seconds: attempts.iter().filter_map(ShownAttempt::seconds).sum(),
            tokens: step.tokens,
            witnesses,
            attempts,
        }
    }

    fn mark(&self, at: usize, witnesses: &[ShownWitness]) -> StepMark {
        let step = &self.reconciled.run.steps[at];
        let is_unknown = self.findings.get(&step.id).is_some_and(|codes| codes.contains(&FindingCode::OutcomeUnknown));
        match self.reconciled.effective_status(at) {
            EffectiveStatus::Done if witnesses.iter().any(|witness| witness.done) => StepMark::Proved,
            // Its children are what it is.
            EffectiveStatus::Done if step.kind == StepKind::Container => StepMark::Proved,
            EffectiveStatus::Done => StepMark::Claimed,
            EffectiveStatus::Skipped | EffectiveStatus::Cancelled => StepMark::Skipped,
            EffectiveStatus::Open if step.kind == StepKind::Gate => StepMark::Gate,
            EffectiveStatus::Open | EffectiveStatus::OpenContainer => StepMark::Open,
            EffectiveStatus::Interrupted => match self.reconciled.attempt(at) {
                Some((_, Presence::Caller | Presence::Alive)) => StepMark::Running,
                Some((_, Presence::Unknown)) => StepMark::Unknown,
                Some((_, Presence::Gone)) | None => StepMark::Interrupted,
            },
            EffectiveStatus::Failed => StepMark::Failed,
            EffectiveStatus::Waiting => StepMark::Gate,
            EffectiveStatus::Verify if is_unknown => StepMark::Unknown,
            EffectiveStatus::Verify | EffectiveStatus::Conditions => StepMark::Verify,
            EffectiveStatus::Invalid => StepMark::Invalid,
            EffectiveStatus::Blocked => StepMark::Blocked,
            EffectiveStatus::Unreadable => StepMark::Unknown,
        }
    }

    /// Returns the reason for the mark of a step that is not next, with its rule.
    fn reason(&self, at: usize, mark: StepMark) -> (String, String) {
        let run = self.reconciled.run;
        let step = &run.steps[at];
        let noted = self.reconciled.compared.reasons.get(at).map(|reasons| reasons.join("; ")).unwrap_or_default();
        let unmet = self.reconciled.unmet(at);
        let waits = match self.reconciled.hold(at) {
            Some(hold) => hold,
            None if unmet.is_empty() => "nothing that it builds on is open; others come first".to_owned(),
            None => format!("waits for {}", list(&unmet)),
        };
        let said = |plain: &str| if noted.is_empty() { plain.to_owned() } else { noted.clone() };
        let (reason, rule) = match mark {
            StepMark::Proved => (said("the state says so, and the evidence agrees"), "3"),
            StepMark::Claimed => (said("the state says so; nothing else shows it"), "3"),
            StepMark::Running => (said("its driver is alive"), "2"),
            StepMark::Interrupted => (said("it began, and its end was never recorded"), "3"),
            StepMark::Invalid => (said("its result no longer counts"), "3"),
            StepMark::Verify => (said("a person or an agent has to check it"), "3"),
            StepMark::Failed => {
                (step.error.clone().filter(|error| !error.trim().is_empty()).unwrap_or_else(|| said("it failed")), "4")
            }
            StepMark::Unknown => (said("the files do not say what became of it"), "11"),
            StepMark::Gate if unmet.is_empty() => ("a person has to approve it".to_owned(), "5"),
            StepMark::Gate => (format!("a person approves it once {} is done", list(&unmet)), "5"),
            StepMark::Blocked | StepMark::Open => (waits, "6"),
            StepMark::Skipped => (said("left out"), "6"),
        };
        (reason, rule.to_owned())
    }

    /// Returns what besides its status says whether a step is done.
    fn witnesses(&self, step: &Step) -> Vec<ShownWitness> {
        let record = self.index.by_step.get(step.id.as_str());
        let recorded = |path: &RelPath| record?.outputs.iter().find(|output| output.path == *path);
        let mut seen = BTreeSet::new();
        let declared = step.proof.outputs.iter();
        let left = record.into_iter().flat_map(|record| record.outputs.iter().map(|output| &output.path));
        let reported = self.index.reported.get(step.id.as_str()).into_iter().flat_map(|report| &report.files);
        let files = declared.chain(left).chain(reported).filter(|path| seen.insert(path.as_str()));
        let files = files.filter_map(|path| {
            let (says, done) = file_says(self.evidence.files.get(path)?, recorded(path));
            Some(ShownWitness { source: path.as_str().to_owned(), says, done, file: Some(path.clone()), line: None })
        });
        let commit = step.commit.as_ref().map(|commit| {
            let fact = self.evidence.commits.get(commit);
            let (says, done) = match fact {
                Some(fact) => fact.lost().map_or(("is in the history of this branch", true), |why| (why, false)),
                None => ("is recorded; git was not asked", false),
            };
            let short: String = safe_line(commit, NAME_CHARS).chars().take(12).collect();
            ShownWitness { source: format!("commit {short}"), says: says.to_owned(), done, file: None, line: None }
        });
        let others = step.proof.witnesses.iter().map(|witness| ShownWitness {
            source: safe_line(&witness.source, NAME_CHARS),
            says: if witness.done { "says done" } else { "does not say done" }.to_owned(),
            done: witness.done,
            file: witness.file.clone(),
            line: witness.line,
        });
        let person = self.approved.get(&step.id).map(|says| ShownWitness {
            source: "a decision".to_owned(),
            says: says.clone(),
            done: true,
            file: None,
            line: None,
        });
        let verdict = step.review.as_ref().filter(|_| step.kind == StepKind::Review).map(|review| ShownWitness {
            source: "its verdict".to_owned(),
            says: format!("is {}", review.verdict),
            done: review.verdict.approves(),
            file: None,
            line: None,
        });
        files.chain(commit).chain(others).chain(person).chain(verdict).collect()
    }

    /// Returns the attempts at a step: those in Piton's own log, else what the state says of the last one.
    fn attempts(&self, step: &Step, mark: StepMark) -> Vec<ShownAttempt> {
        let mut attempts: Vec<ShownAttempt> = Vec::new();
        for statement in self.statements.get(&step.id).into_iter().flatten() {
            match &statement.kind {
                StatementKind::Begun(attempt) => attempts.push(begun(attempt)),
                StatementKind::Report(report) => {
                    match attempts.iter_mut().rev().find(|one| one.number == report.attempt) {
                        Some(open) if open.ended.is_none() => end(open, report),
                        Some(_) | None => {
                            let mut one = ShownAttempt { began: None, ..blank(report.attempt) };
                            end(&mut one, report);
                            attempts.push(one);
                        }
                    }
                }
                StatementKind::Decision(_) => {}
            }
        }
        self.add_recorded(step, mark, &mut attempts);
        if let Some(last) = attempts.last_mut().filter(|last| last.end == AttemptEnd::Interrupted)
            && mark == StepMark::Running
        {
            last.end = AttemptEnd::Running;
        }
        let skipped = attempts.len().saturating_sub(ATTEMPTS);
        attempts.split_off(skipped)
    }

    /// Adds what the state says of the last attempt: Piton's own log may not have it, or not its times.
    fn add_recorded(&self, step: &Step, mark: StepMark, attempts: &mut Vec<ShownAttempt>) {
        let number = step.attempts.max(1);
        let is_work = matches!(step.kind, StepKind::Work | StepKind::Review);
        let was_begun = is_work && matches!(step.status, Status::InProgress | Status::Completed | Status::Failed);
        if step.started_at.is_none() && step.finished_at.is_none() && step.attempts == 0 && !was_begun {
            return;
        }
        let is_known = attempts.iter().any(|one| one.number >= number);
        if !is_known {
            attempts.push(ShownAttempt { agent: step.agent.as_deref().map(named), ..blank(number) });
        }
        let Some(last) = attempts.last_mut().filter(|last| last.number == number) else { return };
        last.began = last.began.or(step.started_at);
        let is_over = matches!(step.status, Status::Completed | Status::Failed | Status::Cancelled | Status::Skipped);
        // A step that was begun again keeps the end of the attempt before.
        let ended = step.finished_at.filter(|ended| is_over && last.began.is_none_or(|began| began <= *ended));
        last.ended = last.ended.or(ended);
        if !is_known {
            last.end = match step.status {
                Status::Completed | Status::Skipped | Status::Cancelled | Status::WaitingApproval => {
                    AttemptEnd::Completed
                }
                Status::Failed => AttemptEnd::Failed,
                Status::InProgress | Status::Pending | Status::Blocked if mark.is_over() => AttemptEnd::Completed,
                Status::InProgress | Status::Pending | Status::Blocked => AttemptEnd::Interrupted,
            };
            let verdict = step.review.as_ref().map(|review| review.verdict.as_str().to_owned());
            last.said = step.error.as_deref().map(|error| safe_line(error, SAID_CHARS)).or(verdict);
        }
    }
}

fn blank(number: u32) -> ShownAttempt {
    ShownAttempt {
        number,
        agent: None,
        session: None,
        began: None,
        ended: None,
        end: AttemptEnd::Interrupted,
        said: None,
    }
}

fn named(agent: &str) -> String {
    safe_line(agent, NAME_CHARS)
}

fn begun(attempt: &Attempt) -> ShownAttempt {
    ShownAttempt {
        agent: attempt.agent.as_deref().map(named),
        session: attempt.driver.as_ref().and_then(|driver| driver.session.as_deref()).map(named),
        began: Some(attempt.at),
        ..blank(attempt.attempt)
    }
}

fn end(attempt: &mut ShownAttempt, report: &StepReport) {
    attempt.ended = Some(report.at);
    attempt.agent = attempt.agent.take().or_else(|| report.agent.as_deref().map(named));
    attempt.end = match report.status {
        Status::Failed => AttemptEnd::Failed,
        Status::Completed | Status::Skipped | Status::Cancelled | Status::WaitingApproval => AttemptEnd::Completed,
        Status::InProgress | Status::Pending | Status::Blocked => AttemptEnd::Interrupted,
    };
    let verdict = report.verdict.map(ReviewVerdict::as_str);
    let words = report.error.as_deref().or(report.summary.as_deref());
    let said = match (verdict, words) {
        (Some(verdict), Some(words)) => Some(format!("{verdict}: {words}")),
        (Some(verdict), None) => Some(verdict.to_owned()),
        (None, words) => words.map(str::to_owned),
    };
    attempt.said = said.map(|said| safe_line(&said, SAID_CHARS));
}

/// Returns what a file says about the step that left it, and whether it says that the step is done.
fn file_says(fact: &FileFact, recorded: Option<&OutputRecord>) -> (String, bool) {
    match fact {
        FileFact::Missing => ("is missing".to_owned(), false),
        FileFact::Unreadable(why) => (format!("cannot be read: {}", safe_line(why, NAME_CHARS)), false),
        FileFact::Present { bytes: 0, .. } => ("is empty".to_owned(), false),
        FileFact::Present { parses: Some(false), .. } => ("does not parse".to_owned(), false),
        FileFact::Present { violation: Some(_), .. } => ("does not satisfy its schema".to_owned(), false),
        FileFact::Present { bytes, sha256: Some(now), .. } => match recorded {
            Some(recorded) if recorded.sha256 == *now => ("is as the step left it".to_owned(), true),
            Some(_) => ("was changed since".to_owned(), false),
            None => (format!("is there, {bytes} bytes"), true),
        },
        FileFact::Present { bytes, sha256: None, .. } => match recorded {
            Some(recorded) if recorded.bytes == *bytes => ("is as the step left it".to_owned(), true),
            Some(_) | None => (format!("is there, {bytes} bytes"), true),
        },
    }
}
