//! Which decisions of people still count: a step that is done again, or that starts or ends against a rule. A decision is for one
//! attempt: once the step is begun again, or ends, it is used up.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    graph::Graph,
    reports::{belongs_to, safe_decision},
};
use crate::model::{
    Action, Decision, DecisionKind, Run, Statement, StatementKind, Status, StepKind, StepReport, Timestamp, clean_line,
};

/// Maximum length of the reason of a refusal, in characters.
const WHY_CHARS: usize = 300;

/// The decisions about steps that are not used up, by position.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    redo: BTreeMap<usize, Decision>,
    overrides: BTreeMap<usize, Decision>,
    /// Steps whose current attempt is done part by part.
    by_parts: BTreeSet<usize>,
    /// Steps that were begun and whose end was not reported since.
    begun: BTreeSet<usize>,
    /// Of these, the ones that were done before: what still says that they are done is of the work before.
    begun_again: BTreeSet<usize>,
    /// Steps whose last report says that they are done.
    done: BTreeSet<usize>,
    /// The last record about each step in the journal.
    last_line: BTreeMap<usize, usize>,
    /// Reviews that said no, with what they said, while the work they send back was not begun again. Some formats forget that.
    refusals: BTreeMap<usize, String>,
    /// The approval of what follows when every step is done.
    end: Option<Decision>,
    /// The last line that says no to a step, or that reopens what it stands on.
    last_no: BTreeMap<usize, usize>,
}

impl Decisions {
    /// Reads the statements about a run, oldest first.
    pub(super) fn of(run: &Run, graph: &Graph, statements: &[Statement]) -> Self {
        let mut decisions = Self::default();
        for (line, statement) in statements.iter().enumerate().filter(|(_, statement)| belongs_to(run, statement)) {
            decisions.read(run, graph, line, &statement.kind);
        }
        // The line of an attempt is not flushed, so it may be lost; the state is.
        decisions.redo.retain(|at, decision| {
            let step = &run.steps[*at];
            step.started_at.max(step.finished_at).is_none_or(|moment| moment <= decision.at)
        });
        decisions.overrides.retain(|at, decision| run.steps[*at].started_at.is_none_or(|moment| moment <= decision.at));
        decisions
    }

    fn read(&mut self, run: &Run, graph: &Graph, line: usize, kind: &StatementKind) {
        match kind {
            StatementKind::Begun(attempt) => {
                let Some(at) = graph.position(&attempt.step) else { return };
                self.end = None;
                self.redo.remove(&at);
                self.overrides.remove(&at);
                self.last_line.insert(at, line);
                self.begun.insert(at);
                if attempt.action == Action::Return || self.done.contains(&at) {
                    self.begun_again.insert(at);
                }
                let returns_here = |review: usize| run.steps[review].returns_to.as_ref() == Some(&attempt.step);
                self.refusals.retain(|review, _| *review != at && !returns_here(*review));
                match attempt.part {
                    Some(_) => self.by_parts.insert(at),
                    None => self.by_parts.remove(&at),
                };
            }
            StatementKind::Report(report) if report.part.is_none() => {
                let Some(at) = graph.position(&report.step) else { return };
                self.redo.remove(&at);
                self.begun.remove(&at);
                self.begun_again.remove(&at);
                match report.status {
                    Status::Completed => self.done.insert(at),
                    Status::Pending
                    | Status::InProgress
                    | Status::WaitingApproval
                    | Status::Failed
                    | Status::Skipped
                    | Status::Cancelled
                    | Status::Blocked => self.done.remove(&at),
                };
                if !report.amends {
                    self.last_line.insert(at, line);
                }
                self.refusals.remove(&at);
                if report.status == Status::Failed {
                    self.last_no.insert(at, line);
                    self.refusals.extend(refusal(report).map(|refusal| (at, refusal)));
                }
            }
            StatementKind::Report(report) => {
                self.by_parts.extend(graph.position(&report.step));
            }
            StatementKind::Decision(decision) => {
                let Some(at) = decision.step.as_ref().and_then(|step| graph.position(step)) else { return };
                match decision.decision {
                    DecisionKind::Redo => {
                        self.redo.insert(at, decision.clone());
                        self.last_no.insert(at, line);
                    }
                    DecisionKind::Approve if run.steps[at].kind == StepKind::Work && at + 1 == run.steps.len() => {
                        self.end = Some(decision.clone());
                    }
                    DecisionKind::Override => {
                        self.overrides.insert(at, decision.clone());
                    }
                    DecisionKind::Approve
                    | DecisionKind::Accept
                    | DecisionKind::Skip
                    | DecisionKind::RollBack
                    | DecisionKind::Abort
                    | DecisionKind::Pause
                    | DecisionKind::Resume => {
                        self.redo.remove(&at);
                    }
                }
            }
        }
    }

    /// Returns what a review said when it refused the work, if that was not begun again since.
    pub(super) fn refusal(&self, at: usize) -> Option<&String> {
        self.refusals.get(&at)
    }

    /// Returns in one sentence who asked for a step to be done again, and why.
    pub(super) fn redo(&self, at: usize) -> Option<String> {
        self.redo.get(&at).map(|decision| sentence(decision, "asked for it to be done again"))
    }

    /// Drops the word to do a step again: what came later asks again.
    pub(super) fn forget_redo(&mut self, at: usize) {
        self.redo.remove(&at);
    }

    /// Returns when a person asked for a step to be done again.
    pub(super) fn redo_at(&self, at: usize) -> Option<Timestamp> {
        self.redo.get(&at).map(|decision| decision.at)
    }

    /// Returns in one sentence who approved what follows when every step is done.
    pub(super) fn approved_end(&self) -> Option<String> {
        self.end.as_ref().map(|decision| sentence(decision, "approved it"))
    }

    /// Tells whether a person lets a step start or end against a rule.
    pub(super) fn overrides(&self, at: usize) -> bool {
        self.overrides.contains_key(&at)
    }

    /// Tells whether a step was begun, and its end was not reported since.
    pub(super) fn is_begun(&self, at: usize) -> bool {
        self.begun.contains(&at)
    }

    /// Tells whether a step was begun that was done before, and its end was not reported since.
    pub(super) fn is_begun_again(&self, at: usize) -> bool {
        self.begun_again.contains(&at)
    }

    /// Tells whether the current attempt at a step is done part by part.
    pub(super) fn is_done_by_parts(&self, at: usize) -> bool {
        self.by_parts.contains(&at)
    }

    /// Tells whether one of these steps was worked on after a step was refused.
    pub(super) fn worked_on_since(&self, refused: usize, others: &[usize]) -> bool {
        self.last_no.get(&refused).is_some_and(|no| others.iter().any(|at| self.last_line.get(at) > Some(no)))
    }
}

/// Returns the verdict of a report that refuses the work, with the reason.
fn refusal(report: &StepReport) -> Option<String> {
    let verdict = report.verdict.filter(|verdict| !verdict.approves())?;
    let why = report.findings.first().or(report.error.as_ref()).or(report.summary.as_ref());
    Some(why.map_or_else(
        || verdict.as_str().to_owned(),
        |why| format!("{}: {}", verdict.as_str(), clean_line(why, WHY_CHARS)),
    ))
}

fn sentence(decision: &Decision, what: &str) -> String {
    let Decision { by, note, .. } = safe_decision(decision.clone());
    let by = by.unwrap_or_else(|| "a person".to_owned());
    note.map_or_else(|| format!("{by} {what}"), |note| format!("{by} {what}: {note}"))
}
