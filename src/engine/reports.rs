//! What was said of a run: what its format has no field for, the attempts that are going on, and the statement that a change makes.

use std::collections::BTreeMap;

use super::graph::Graph;
use crate::model::{
    Attempt, Change, ChangeKind, Decision, DecisionKind, DriverProcess, Evidence, Interruption, InterruptionKind,
    Presence, Review, ReviewVerdict, RollBackRecord, Run, RunStatus, Statement, StatementKind, Status, Step, StepId,
    StepKind, StepReport, Timestamp, clean_line, safe_line, safe_text,
};

/// Maximum length of a title, in characters.
pub(super) const TITLE_CHARS: usize = 200;
/// Maximum length of a sentence that quotes untrusted text, in characters.
pub(super) const SENTENCE_CHARS: usize = 600;
/// Maximum length of what a decision was made against, in characters.
const DESPITE_CHARS: usize = 300;

/// Adds to a run what its format has no field for. Returns the reviews whose no names the work that it is about.
pub(crate) fn add_unrecorded(run: &mut Run, statements: &[Statement], rollbacks: &[RollBackRecord]) -> Vec<StepId> {
    let statements: Vec<&Statement> = statements.iter().filter(|statement| belongs_to(run, statement)).collect();
    let rollbacks: Vec<&RollBackRecord> = rollbacks.iter().filter(|back| back.run == run.id.as_str()).collect();
    mark_counted(run, &statements, &rollbacks);
    mark_last_words(run, &statements, &rollbacks);
    mark_stopped(run, &statements, &rollbacks);
    mark_revised(run, &statements)
}

/// Counts the attempts at each step, and its failures in a row, as far as its format does not: a decision about a step, its success and a
/// rollback end the row. What the format counts more, such as what another program wrote, counts too.
fn mark_counted(run: &mut Run, statements: &[&Statement], rollbacks: &[&RollBackRecord]) {
    let mut counts: BTreeMap<&StepId, (u32, u32, Timestamp)> = BTreeMap::new();
    for statement in statements {
        let (step, at) = match &statement.kind {
            StatementKind::Begun(attempt) => (&attempt.step, attempt.at),
            StatementKind::Report(report) if report.part.is_none() && !report.amends => (&report.step, report.at),
            StatementKind::Decision(Decision { step: Some(step), decision, at, .. })
                if *decision != DecisionKind::Override =>
            {
                (step, *at)
            }
            StatementKind::Report(_) | StatementKind::Decision(_) => continue,
        };
        let (attempts, failures, last) = counts.entry(step).or_insert((0, 0, at));
        *last = at;
        match &statement.kind {
            StatementKind::Begun(attempt) => *attempts = (*attempts).max(attempt.attempt),
            StatementKind::Report(report) if report.status == Status::Failed => {
                *attempts = (*attempts).max(report.attempt);
                *failures = failures.saturating_add(1);
            }
            StatementKind::Report(_) | StatementKind::Decision(_) => *failures = 0,
        }
    }
    for back in rollbacks {
        counts.retain(|step, (.., last)| back.at <= *last || !back.reopened.contains(*step));
    }
    for step in &mut run.steps {
        if let Some((attempts, failures, _)) = counts.get(&step.id) {
            step.attempts = step.attempts.max(*attempts);
            step.failures = step.failures.max(*failures);
        }
    }
}

/// Gives a rejection the word of its reviewer where the format has one word for every no: a revision goes back to the work, a rejection
/// waits for a person. A review sends the run back to the step that its words name, of those that it stands on, else to the first. Returns the
/// reviews whose words name one.
fn mark_revised(run: &mut Run, statements: &[&Statement]) -> Vec<StepId> {
    let mut naming = Vec::new();
    let is_refused = |step: &&mut Step| {
        let rejected = step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Rejected);
        rejected && step.status == Status::Failed && step.kind == StepKind::Review
    };
    for step in run.steps.iter_mut().filter(is_refused) {
        let last = statements.iter().rev().find_map(|statement| match &statement.kind {
            StatementKind::Report(report) if report.step == step.id && report.part.is_none() => Some(Some(report)),
            StatementKind::Decision(decision) if decision.step.as_ref() == Some(&step.id) => Some(None),
            StatementKind::Report(_) | StatementKind::Decision(_) | StatementKind::Begun(_) => None,
        });
        let is_revision = |report: &&StepReport| report.verdict == Some(ReviewVerdict::NeedsRevision);
        let is_its_word = |report: &&StepReport| step.finished_at.is_none_or(|ended| ended <= report.at);
        if let Some(report) = last.flatten().filter(is_revision).filter(is_its_word) {
            step.review = Some(Review { verdict: ReviewVerdict::NeedsRevision, open_conditions: None });
            let named = step.depends_on.iter().find(|work| is_named(work, report));
            naming.extend(named.map(|_| step.id.clone()));
            step.returns_to = step.returns_to.take().or_else(|| named.or(step.depends_on.first()).cloned());
        }
    }
    naming
}

/// Tells whether the words of a report name a step.
fn is_named(step: &StepId, report: &StepReport) -> bool {
    let texts = report.findings.iter().chain(&report.error).chain(&report.summary);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut words = texts.flat_map(|text| text.split(|c| !is_part(c)));
    words.any(|word| word.trim_end_matches('.') == step.as_str())
}

/// Returns the pause or the abort that was said last, unless the run was begun or resumed after it.
fn last_stop<'a>(statements: impl Iterator<Item = &'a Statement>) -> Option<(RunStatus, &'a Decision)> {
    let mut stop = None;
    for statement in statements {
        stop = match &statement.kind {
            StatementKind::Begun(_) => None,
            StatementKind::Report(_) => stop,
            StatementKind::Decision(decision) => match decision.decision {
                DecisionKind::Pause => Some((RunStatus::Paused, decision)),
                DecisionKind::Abort => Some((RunStatus::Aborted, decision)),
                DecisionKind::Resume => None,
                DecisionKind::Approve
                | DecisionKind::Accept
                | DecisionKind::Redo
                | DecisionKind::RollBack
                | DecisionKind::Override
                | DecisionKind::Skip => stop,
            },
        };
    }
    stop
}

/// Tells whether the run is paused because that was said, not only by the word of its own system.
pub(super) fn was_paused(run: &Run, evidence: &Evidence) -> bool {
    let said = evidence.statements.iter().filter(|statement| belongs_to(run, statement));
    run.status == RunStatus::Paused && last_stop(said).is_some_and(|(status, _)| status == RunStatus::Paused)
}

/// Marks a run that was paused or aborted, with the reason. A begin, a resume, a rollback and what another program wrote later lift that.
fn mark_stopped(run: &mut Run, statements: &[&Statement], rollbacks: &[&RollBackRecord]) {
    let stop = last_stop(statements.iter().copied());
    let Some((status, decision)) = stop else { return };
    let is_lifted = rollbacks.iter().any(|back| back.at > decision.at)
        || statements.iter().map(|statement| statement.at()).max() < run.stamp;
    if !run.has_word_for(status) && run.status == RunStatus::Active && !is_lifted {
        run.status = status;
    }
    if run.status == RunStatus::Paused && run.interruption.is_none() && status == RunStatus::Paused {
        run.interruption = Some(Interruption {
            kind: InterruptionKind::Paused,
            step: None,
            at: Some(decision.at),
            reason: decision.note.clone().unwrap_or_else(|| Interruption::PAUSED.to_owned()),
        });
    }
}

/// The last word about a step, of those for which a format may have no field.
enum LastWord<'a> {
    Begun(&'a Attempt),
    Failed(&'a StepReport),
}

impl LastWord<'_> {
    const fn at(&self) -> Timestamp {
        match self {
            Self::Begun(attempt) => attempt.at,
            Self::Failed(report) => report.at,
        }
    }
}

/// Marks the steps that were begun or failed and whose format has no field for that. Any other end, a decision and a rollback lift it.
fn mark_last_words(run: &mut Run, statements: &[&Statement], rollbacks: &[&RollBackRecord]) {
    let mut words: BTreeMap<&StepId, LastWord<'_>> = BTreeMap::new();
    for statement in statements {
        match &statement.kind {
            StatementKind::Begun(attempt) => {
                words.insert(&attempt.step, LastWord::Begun(attempt));
            }
            StatementKind::Report(report) if report.part.is_none() => {
                words.remove(&report.step);
                if report.status == Status::Failed {
                    words.insert(&report.step, LastWord::Failed(report));
                }
            }
            StatementKind::Decision(decision) if decision.decision != DecisionKind::Override => {
                decision.step.as_ref().map(|step| words.remove(step));
            }
            StatementKind::Report(_) | StatementKind::Decision(_) => {}
        }
    }
    for back in rollbacks {
        words.retain(|step, word| back.at <= word.at() || !back.reopened.contains(step));
    }
    for step in &mut run.steps {
        let is_open = matches!(step.status, Status::Pending | Status::Blocked);
        match words.get(&step.id) {
            Some(LastWord::Begun(attempt)) if step.begins_unrecorded && is_open => {
                step.status = Status::InProgress;
                step.attempts = step.attempts.max(attempt.attempt);
                step.started_at = step.started_at.or(Some(attempt.at));
            }
            Some(LastWord::Failed(report))
                if (is_open || step.status == Status::InProgress)
                    && !step.ends.has_word_for(report.status, report.verdict)
                    && step.started_at.is_none_or(|begun| begun <= report.at) =>
            {
                step.status = Status::Failed;
                step.finished_at = Some(report.at);
                step.error.clone_from(&report.error);
                step.review = report.verdict.map(|verdict| Review { verdict, open_conditions: None });
            }
            Some(LastWord::Begun(_) | LastWord::Failed(_)) | None => {}
        }
    }
}

/// Returns the attempts that are going on, by position of their step: the last one that was begun of each step in progress. A pause ends
/// them.
pub(super) fn attempts(run: &Run, graph: &Graph, evidence: &Evidence) -> BTreeMap<usize, (Attempt, Presence)> {
    let mut attempts: BTreeMap<usize, (Attempt, Presence)> = BTreeMap::new();
    if run.status == RunStatus::Paused && run.records.pause {
        return attempts;
    }
    for statement in evidence.statements.iter().filter(|statement| belongs_to(run, statement)) {
        let attempt = match &statement.kind {
            StatementKind::Begun(attempt) => attempt,
            StatementKind::Decision(decision) if decision.decision == DecisionKind::Pause => {
                attempts.clear();
                continue;
            }
            StatementKind::Decision(_) | StatementKind::Report(_) => continue,
        };
        let Some(at) = graph.position(&attempt.step) else { continue };
        // A part begins the step, unless that was begun as a whole.
        if attempt.part.is_some() && attempts.contains_key(&at) {
            continue;
        }
        let Some(presence) = evidence.presences.get(&(attempt.step.clone(), attempt.attempt)) else { continue };
        let step = &run.steps[at];
        // Some formats do not count attempts, but say when the last one began.
        let is_current = step.attempts.max(1) == attempt.attempt || step.started_at == Some(attempt.at);
        if step.status == Status::InProgress && is_current && !step.is_reported {
            attempts.insert(at, (attempt.clone(), *presence));
        }
    }
    attempts
}

/// Returns the attempts of the caller that are going on, in the order of their steps.
pub(crate) fn own_attempts(run: &Run, evidence: &Evidence) -> Vec<Attempt> {
    let attempts = attempts(run, &Graph::of(run), evidence).into_values();
    attempts.filter(|(_, presence)| *presence == Presence::Caller).map(|(attempt, _)| attempt).collect()
}

/// Describes who began an attempt, and when.
pub(super) fn begun_by(attempt: &Attempt) -> String {
    let Attempt { driver, at, .. } = attempt;
    let who = match driver {
        Some(DriverProcess { session: Some(session), .. }) => format!("session {}", clean_line(session, 40)),
        Some(driver) => format!("process {} on {}", driver.pid, clean_line(&driver.host, 64)),
        None if attempt.about.driver.is_some() => "a driver of which nothing is known".to_owned(),
        None => "a shell".to_owned(),
    };
    format!("{who} began it at {}", at.in_seconds())
}

/// Returns what the run was told, oldest first.
pub(crate) fn said(run: &Run, statements: &[Statement], late: &[StepReport]) -> (Vec<StepReport>, Vec<Decision>) {
    let (mut reports, mut decisions) = (Vec::new(), Vec::new());
    for statement in heard(run, statements) {
        match &statement.kind {
            StatementKind::Report(report) if says_something(report) => reports.push(safe_report(report.clone())),
            StatementKind::Report(_) | StatementKind::Begun(_) => {}
            StatementKind::Decision(decision) => decisions.push(safe_decision(decision.clone())),
        }
    }
    if !late.is_empty() {
        reports.extend(late.iter().cloned().map(safe_report));
        reports.sort_by_key(|report| report.at);
    }
    (reports, decisions)
}

/// Returns the line of the report log for a change; `None` if nothing is said with it.
pub(crate) fn statement(run: &Run, change: &Change) -> Option<Statement> {
    let decision = |step: Option<&StepId>, decision, by: &Option<String>, note: Option<&String>| {
        let despite = step.and_then(|step| run.step(step)).and_then(refusal_of);
        let decision = Decision::new(step.cloned(), decision, (by.clone(), note.cloned()), change.at);
        StatementKind::Decision(Decision { despite, ..decision })
    };
    let kind = match &change.kind {
        ChangeKind::Finish(outcome) if outcome.accepts => {
            let said = (outcome.agent.clone(), outcome.summary.clone());
            let decision = Decision::new(Some(outcome.step.clone()), DecisionKind::Accept, said, change.at);
            StatementKind::Decision(Decision { despite: outcome.despite.clone(), ..decision })
        }
        ChangeKind::Finish(outcome) => {
            let report = StepReport {
                step: outcome.step.clone(),
                part: outcome.part.clone(),
                at: change.at,
                attempt: outcome.attempt,
                agent: outcome.agent.clone(),
                status: outcome.status,
                amends: outcome.amends,
                late: false,
                verdict: outcome.verdict,
                summary: outcome.summary.clone(),
                // A failed review has its findings for an error.
                error: outcome
                    .error
                    .clone()
                    .filter(|error| outcome.summary.as_ref() != Some(error) && *error != outcome.findings.join("\n")),
                conditions: outcome.conditions.clone(),
                findings: outcome.findings.clone(),
                files: outcome.outputs.clone(),
                commit: outcome.commit.clone(),
            };
            // The end of a step replaces what was said of it before, also without a word.
            let ends = report.part.is_none();
            StatementKind::Report(Some(report).filter(|report| ends || says_something(report))?)
        }
        ChangeKind::Approve { step, by, note, choice, .. } => {
            let is_refused = run.step(step).and_then(refusal_of).is_some();
            let kind = if is_refused { DecisionKind::Accept } else { DecisionKind::Approve };
            match decision(Some(step), kind, by, note.as_ref()) {
                StatementKind::Decision(decision) => {
                    StatementKind::Decision(Decision { choice: choice.clone(), ..decision })
                }
                kind @ (StatementKind::Report(_) | StatementKind::Begun(_)) => kind,
            }
        }
        ChangeKind::Skip { step, part: None, by, reason } => decision(Some(step), DecisionKind::Skip, by, Some(reason)),
        ChangeKind::RollBack(back) if back.reason.is_some() => {
            decision(back.reopened.first(), DecisionKind::RollBack, &None, back.reason.as_ref())
        }
        ChangeKind::Abort { by, reason } => decision(None, DecisionKind::Abort, by, reason.as_ref()),
        ChangeKind::Pause { reason } if reason.is_some() || !run.has_word_for(RunStatus::Paused) => {
            decision(None, DecisionKind::Pause, &None, reason.as_ref())
        }
        ChangeKind::Resume { .. } if !run.has_word_for(run.status) => decision(None, DecisionKind::Resume, &None, None),
        ChangeKind::Skip { part: Some(_), .. }
        | ChangeKind::Begin { .. }
        | ChangeKind::Pause { .. }
        | ChangeKind::Resume { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Repair { .. }
        | ChangeKind::RollBack(_)
        | ChangeKind::Start(_) => return None,
    };
    Some(Statement { run: run.id.as_str().to_owned(), dialect: run.dialect, kind })
}

impl Statement {
    fn at(&self) -> Timestamp {
        match &self.kind {
            StatementKind::Report(report) => report.at,
            StatementKind::Decision(decision) => decision.at,
            StatementKind::Begun(attempt) => attempt.at,
        }
    }
}

/// Tells whether a line is about this run, and not about an earlier one of the same name.
pub(super) fn belongs_to(run: &Run, statement: &Statement) -> bool {
    run.started_at.is_none_or(|started| statement.at() >= started)
}

/// Returns the lines about a run that people are told of: an abort without a word that was taken back says nothing.
pub(super) fn heard<'a>(run: &Run, statements: &'a [Statement]) -> Vec<&'a Statement> {
    let decides = |said: &Statement, kind| said.decision().is_some_and(|it| it.decision == kind);
    let said = statements.iter().filter(|statement| belongs_to(run, statement));
    let mut said: Vec<&Statement> = said.collect();
    if let Some(resumed) = said.iter().rposition(|said| decides(said, DecisionKind::Resume)) {
        let later = said.split_off(resumed);
        said.retain(|said| !decides(said, DecisionKind::Abort) || said.note().is_some());
        said.extend(later);
    }
    said
}

/// Tells whether a report says more than that the step is over.
pub(super) fn says_something(report: &StepReport) -> bool {
    report.verdict.is_some()
        || report.summary.is_some()
        || report.error.is_some()
        || report.commit.is_some()
        || !(report.conditions.is_empty() && report.findings.is_empty() && report.files.is_empty())
}

/// Returns what stands against a step: the verdict of its review, or its failure, with the reason.
pub(super) fn refusal_of(step: &Step) -> Option<String> {
    let what = match (&step.review, step.status) {
        (Some(review), _) if !review.verdict.approves() => review.verdict.as_str(),
        (_, Status::Failed) => "failed",
        (_, _) => return None,
    };
    let why = step.error.as_deref().map(|error| clean_line(error, DESPITE_CHARS));
    Some(why.filter(|why| !why.is_empty()).map_or_else(|| what.to_owned(), |why| format!("{what}: {why}")))
}

/// Cleans the texts of a report, which are untrusted.
pub(super) fn safe_report(report: StepReport) -> StepReport {
    let all = |texts: Vec<String>| texts.iter().map(|text| safe_text(text)).collect();
    let one = |text: Option<String>| text.map(|text| safe_text(&text));
    let short = |text: Option<String>| text.map(|text| safe_line(&text, TITLE_CHARS));
    StepReport {
        agent: short(report.agent),
        summary: one(report.summary),
        error: one(report.error),
        conditions: all(report.conditions),
        findings: all(report.findings),
        commit: short(report.commit),
        ..report
    }
}

/// Cleans the texts of a decision, which are untrusted.
pub(super) fn safe_decision(decision: Decision) -> Decision {
    let sentence = |text: Option<String>| text.map(|text| safe_line(&text, SENTENCE_CHARS));
    Decision {
        by: sentence(decision.by),
        note: sentence(decision.note),
        choice: sentence(decision.choice),
        despite: sentence(decision.despite),
        ..decision
    }
}
