//! Which reports and decisions reach a step (rule 13): along dependencies those of what it builds on, nearest first; along a return those of
//! the reviews that send work back to it or past it, and its own earlier ones.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    choose::BEGUN,
    graph::Graph,
    reports::{belongs_to, heard, safe_decision, safe_report, says_something},
};
use crate::model::{
    Action, Decision, DecisionKind, Next, Run, Statement, StatementKind, Status, StepId, StepKind, StepReport,
    Timestamp, clean_line,
};

/// Maximum length of a report that is not of a direct predecessor, in characters.
const OLDER_CHARS: usize = 160;
/// Maximum number of parts of one step whose reports are handed on, the last ones.
const PARTS: usize = 12;

/// What reaches the step that is next.
#[derive(Debug, Default)]
pub(super) struct Handed {
    pub(super) reports: Vec<StepReport>,
    pub(super) decisions: Vec<Decision>,
}

/// What is known of the files that attempts at a step left half made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HalfMade {
    /// No attempt was lost or failed since the step was last done.
    Nothing,
    /// Recorded when the attempt began that goes on.
    Recorded(Option<Vec<String>>),
    /// What was written since the first of these attempts began.
    Since(Timestamp),
    /// The state does not say when the attempt began.
    SinceUnknown,
}

/// Returns what is known of the files that attempts at the next step left half made.
pub(crate) fn half_made(run: &Run, statements: &[Statement], next: &Next) -> HalfMade {
    let is_work = matches!(next.action, Action::Run | Action::Retry | Action::Return);
    let step = run.step(&next.step).filter(|step| is_work && step.recorded && step.kind == StepKind::Work);
    let Some(step) = step else { return HalfMade::Nothing };
    let (mut first, mut last) = (None, None);
    for statement in statements.iter().filter(|statement| belongs_to(run, statement)) {
        match &statement.kind {
            StatementKind::Begun(attempt) if attempt.step == step.id => {
                first = first.or(Some(attempt.at));
                last = Some(attempt);
            }
            StatementKind::Report(report) if report.step == step.id && report.part.is_none() => {
                first = first.filter(|_| report.status == Status::Failed);
            }
            StatementKind::Decision(decision) if decision.step.as_ref() == Some(&step.id) => match decision.decision {
                DecisionKind::Approve | DecisionKind::Accept | DecisionKind::Skip | DecisionKind::RollBack => {
                    first = None
                }
                DecisionKind::Redo
                | DecisionKind::Override
                | DecisionKind::Abort
                | DecisionKind::Pause
                | DecisionKind::Resume => {}
            },
            StatementKind::Begun(_) | StatementKind::Report(_) | StatementKind::Decision(_) => {}
        }
    }
    if next.rule == BEGUN {
        return last.map_or(HalfMade::Nothing, |attempt| HalfMade::Recorded(attempt.half_made.clone()));
    }
    // Some systems also call work failed that a review sent back.
    let is_lost = step.status == Status::InProgress || step.was_cut_off();
    match first.or(step.started_at.filter(|_| is_lost)) {
        Some(begun) => HalfMade::Since(begun),
        None if is_lost => HalfMade::SinceUnknown,
        None => HalfMade::Nothing,
    }
}

/// What was said of a run and still counts.
#[derive(Default)]
struct Said<'a> {
    /// The last report of each step as a whole.
    last: BTreeMap<usize, &'a StepReport>,
    /// The last report of each part, by step and part, with its line.
    parts: BTreeMap<(usize, &'a str), (usize, &'a StepReport)>,
    /// The decisions with the steps that they are about; `None` for the run as a whole.
    decisions: Vec<(Option<usize>, &'a Decision)>,
    /// Reports of steps that the run no longer has, with their line. They are for the step that comes next.
    gone: Vec<(usize, &'a StepReport)>,
    /// Decisions about such steps, with their line.
    gone_decisions: Vec<(usize, &'a Decision)>,
}

impl Handed {
    /// Returns the same with the reports about a step that came when it had moved.
    pub(super) fn with_late(mut self, late: &[StepReport], step: &StepId) -> Self {
        self.reports.extend(late.iter().filter(|report| report.step == *step).cloned().map(safe_report));
        self
    }
}

/// Returns what reaches a step: the reports of the reviews that send work back to it or past it, its own last one, those of steps that are gone
/// since, those of its direct predecessors in full, and of the steps before them a line each; and the decisions about any of these and about
/// the run.
pub(super) fn handed(run: &Run, graph: &Graph, statements: &[Statement], step: &StepId) -> Handed {
    let Some(at) = graph.position(step) else { return Handed::default() };
    let said = Said::of(run, graph, statements);
    let returning = returning(run, graph, at);
    let direct = direct_predecessors(run, graph, at);
    let older = older_predecessors(run, graph, &direct);
    let is_open = |review: &&usize| {
        let refuses = matches!(run.steps[**review].status, Status::Failed | Status::Pending | Status::Blocked);
        said.last
            .get(review)
            .is_some_and(|report| report.status == Status::Failed && refuses || !report.conditions.is_empty())
    };
    let mut seen = BTreeSet::new();
    let mut reports = Vec::new();
    for place in returning.iter().filter(is_open).chain([&at]).chain(&direct).filter(|place| seen.insert(**place)) {
        reports.extend(said.last.get(place).map(|report| (*report).clone()));
        reports.extend(said.parts_of(*place));
        if *place == at {
            reports.extend(said.gone.iter().map(|(_, report)| (*report).clone()));
        }
    }
    let older = older.into_iter().filter(|place| !seen.contains(place));
    for place in older.clone() {
        match said.last.get(&place) {
            Some(report) => reports.push(in_a_line(report)),
            // What its parts said is all that was said of it.
            None => reports.extend(said.parts_of(place).map(|report| in_a_line(&report))),
        }
    }
    let near: BTreeSet<usize> = returning.iter().chain(&direct).chain([&at]).copied().collect();
    let decisions = said.decisions(at, &near, &older.collect());
    Handed {
        reports: reports.into_iter().map(safe_report).collect(),
        decisions: decisions.into_iter().map(safe_decision).collect(),
    }
}

impl<'a> Said<'a> {
    fn of(run: &Run, graph: &Graph, statements: &'a [Statement]) -> Self {
        let mut said = Self::default();
        let mut begun: BTreeMap<usize, usize> = BTreeMap::new();
        for (line, statement) in heard(run, statements).into_iter().enumerate() {
            match &statement.kind {
                StatementKind::Begun(attempt) => begun.extend(graph.position(&attempt.step).map(|at| (at, line))),
                StatementKind::Report(report) => match graph.position(&report.step) {
                    Some(at) if let Some(part) = &report.part => {
                        said.parts.insert((at, part), (line, report));
                    }
                    Some(at) => {
                        said.last.insert(at, report);
                        // What was said at a step that is gone was for the steps that were done since.
                        let since = begun.get(&at).filter(|_| report.status == Status::Completed);
                        let heard = since.copied().unwrap_or_default();
                        said.gone.retain(|(line, _)| *line >= heard);
                        said.gone_decisions.retain(|(line, _)| *line >= heard);
                    }
                    None if says_something(report) => said.gone.push((line, report)),
                    None => {}
                },
                StatementKind::Decision(decision) if !DecisionKind::ABOUT_WORK.contains(&decision.decision) => {}
                StatementKind::Decision(decision) => match &decision.step {
                    None => said.decisions.push((None, decision)),
                    Some(step) => match graph.position(step) {
                        Some(at) => said.decisions.push((Some(at), decision)),
                        None => said.gone_decisions.push((line, decision)),
                    },
                },
            }
        }
        // A failure does not outlive the work that followed it, also where another program recorded that.
        said.last.retain(|at, report| {
            let step = &run.steps[*at];
            let is_of_now =
                report.status != Status::Failed || step.status != Status::Completed || step.kind == StepKind::Review;
            is_of_now && says_something(report)
        });
        said.parts.retain(|_, (_, report)| says_something(report));
        said
    }

    /// Returns the last reports of the parts of a step.
    fn parts_of(&self, at: usize) -> impl Iterator<Item = StepReport> {
        let of_step = self.parts.range((at, "")..(at + 1, ""));
        let mut of_step: Vec<(usize, &StepReport)> = of_step.map(|(_, part)| *part).collect();
        of_step.sort_by_key(|(line, _)| *line);
        let skipped = of_step.len().saturating_sub(PARTS);
        of_step.into_iter().skip(skipped).map(|(_, report)| report.clone())
    }

    /// Returns the decisions about the run, the last about each step, and of the near steps all that have words. One that was made about
    /// several steps at once is said once.
    fn decisions(&self, at: usize, near: &BTreeSet<usize>, older: &BTreeSet<usize>) -> Vec<Decision> {
        let key = |about: Option<usize>, decision: &Decision| (about, about.is_none().then_some(decision.decision));
        let places = self.decisions.iter().enumerate().map(|(place, (about, decision))| (key(*about, decision), place));
        let last: BTreeMap<(Option<usize>, Option<DecisionKind>), usize> = places.collect();
        let is_heard = |(place, (about, decision)): &(usize, &(Option<usize>, &Decision))| {
            let is_last = last.get(&key(*about, decision)) == Some(place);
            match about {
                None => is_last,
                Some(about) if near.contains(about) => is_last || decision.note.is_some(),
                Some(about) => is_last && older.contains(about),
            }
        };
        let heard: Vec<&(Option<usize>, &Decision)> =
            self.decisions.iter().enumerate().filter(is_heard).map(|(_, heard)| heard).collect();
        let words = |one: &'a Decision| Some((one.at, one.decision, &one.by, one.note.as_ref()?));
        let mut speakers = BTreeMap::new();
        for (about, decision) in &heard {
            let speaker = speakers.entry(words(decision)).or_insert(*about);
            if *about == Some(at) {
                *speaker = *about;
            }
        }
        let is_new = |(about, decision): &&&(Option<usize>, &'a Decision)| {
            words(decision).is_none_or(|words| speakers.get(&Some(words)) == Some(about))
        };
        let decisions = heard.iter().filter(is_new).map(|(_, decision)| *decision);
        let gone = self.gone_decisions.iter().map(|(_, decision)| *decision);
        let mut decisions: Vec<Decision> = decisions.chain(gone).cloned().collect();
        decisions.sort_by_key(|decision| decision.at);
        decisions
    }
}

/// Returns the reviews and gates that send work back to a step, or to one before it, so that the step is done again with it.
fn returning(run: &Run, graph: &Graph, at: usize) -> Vec<usize> {
    let reach = |start: usize, next: fn(&Graph, usize) -> &[usize]| {
        let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
        while let Some(at) = open.pop() {
            open.extend(next(graph, at).iter().copied().filter(|at| seen.insert(*at)));
        }
        seen
    };
    let (before, behind) = (reach(at, Graph::depends_on), reach(at, Graph::dependents));
    let sends_back = |other: &usize| {
        let review = &run.steps[*other];
        let judges = review.review.is_some() || matches!(review.kind, StepKind::Review | StepKind::Gate);
        match &review.returns_to {
            Some(target) if *target == run.steps[at].id => true,
            Some(target) => behind.contains(other) && graph.position(target).is_some_and(|on| before.contains(&on)),
            None if !behind.contains(other) => false,
            None => judges && judged(run, graph, *other).iter().any(|on| before.contains(on)),
        }
    };
    (0..run.steps.len()).filter(|other| *other != at && sends_back(other)).collect()
}

/// Returns the steps that a review or a gate is about: those that it stands on, and where one of them is a review or a gate, what that is
/// about too.
fn judged(run: &Run, graph: &Graph, at: usize) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), graph.depends_on(at).to_vec());
    while let Some(on) = open.pop() {
        let judges = matches!(run.steps[on].kind, StepKind::Review | StepKind::Gate);
        if seen.insert(on) && judges {
            open.extend(graph.depends_on(on));
            open.extend(run.steps[on].returns_to.as_ref().and_then(|target| graph.position(target)));
        }
    }
    seen
}

/// Returns the steps that a step builds on directly, in order: a gate and a container stand for what they build on or are made of.
fn direct_predecessors(run: &Run, graph: &Graph, at: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = graph.depends_on(at).iter().rev().copied().collect();
    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
    while let Some(at) = open.pop() {
        let through: Vec<usize> = match run.steps[at].kind {
            StepKind::Work | StepKind::Review => Vec::new(),
            StepKind::Gate => graph.depends_on(at).to_vec(),
            StepKind::Container => run.steps[at].children.iter().filter_map(|child| graph.position(child)).collect(),
        };
        found.push(at);
        open.extend(through.into_iter().rev().filter(|at| seen.insert(*at)));
    }
    found
}

/// Returns the steps behind these, nearest first.
fn older_predecessors(run: &Run, graph: &Graph, direct: &[usize]) -> Vec<usize> {
    let mut seen: BTreeSet<usize> = direct.iter().copied().collect();
    let (mut older, mut nearest) = (Vec::new(), direct.to_vec());
    while !nearest.is_empty() {
        let behind = nearest.iter().flat_map(|at| {
            let children = run.steps[*at].children.iter().filter_map(|child| graph.position(child));
            graph.depends_on(*at).iter().copied().chain(children).collect::<Vec<usize>>()
        });
        let behind: Vec<usize> = behind.filter(|at| seen.insert(*at)).collect();
        older.extend(behind.iter().copied());
        nearest = behind;
    }
    older
}

/// Shortens a report to one line; its verdict and commit stay.
fn in_a_line(report: &StepReport) -> StepReport {
    let line = |text: &String| clean_line(text, OLDER_CHARS);
    StepReport {
        summary: report.summary.as_ref().or(report.error.as_ref()).map(line),
        error: None,
        conditions: Vec::new(),
        findings: Vec::new(),
        files: Vec::new(),
        ..report.clone()
    }
}
