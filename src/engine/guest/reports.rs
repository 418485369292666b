//! What the records of another program say came of its finished steps, as reports that reach the steps behind them (rule 13).

use std::borrow::Cow;

use super::history::History;
use crate::model::{
    Evidence, GuestEvidence, GuestProof, Run, Statement, StatementKind, Status, Step, StepReport, Timestamp,
};

/// Returns what was said about a run, with the records of its own system, or at least the commit of a step. A record of an unknown time is
/// left out: no report is without one.
pub(in crate::engine) fn statements<'a>(run: &Run, evidence: &'a Evidence) -> Cow<'a, [Statement]> {
    let history = History::of(run, &evidence.guest);
    let is_said = |proof: &GuestProof| {
        proof.said.is_some() || (history.is_some() && !(proof.names.is_empty() && proof.commits.is_empty()))
    };
    let is_finished = |step: &&Step| step.status == Status::Completed && step.guest.as_deref().is_some_and(is_said);
    if !run.steps.iter().any(|step| is_finished(&step)) {
        return Cow::Borrowed(&evidence.statements);
    }
    let finished = run.steps.iter().filter(is_finished);
    let of_state = run.stamp.or(evidence.committed_at);
    let reports = finished.filter_map(|step| report(step, of_state, history.as_ref(), &evidence.guest));
    let said = |report| Statement {
        run: run.id.as_str().to_owned(),
        dialect: run.dialect,
        kind: StatementKind::Report(report),
    };
    Cow::Owned(evidence.statements.iter().cloned().chain(reports.map(said)).collect())
}

/// Returns the report of a finished step. `of_state` is the time of the state, for a record without a commit of its own.
fn report(
    step: &Step,
    of_state: Option<Timestamp>,
    history: Option<&History<'_>>,
    evidence: &GuestEvidence,
) -> Option<StepReport> {
    let proof = step.guest.as_deref()?;
    let commit = newest_commit(proof, history, evidence);
    let (sha, at) = commit.unzip();
    if proof.said.is_none() && sha.is_none() {
        return None;
    }
    Some(StepReport {
        summary: Some(proof.said.clone().unwrap_or_else(|| step.title.clone())),
        files: proof.results.iter().filter(|_| proof.said.is_some()).map(|file| file.path.clone()).collect(),
        commit: sha,
        ..StepReport::completed(step.id.clone(), at.flatten().or(of_state)?)
    })
}

/// Returns the last commit of a step: one that its record names, else the newest that names the step.
fn newest_commit(
    proof: &GuestProof,
    history: Option<&History<'_>>,
    evidence: &GuestEvidence,
) -> Option<(String, Option<Timestamp>)> {
    let history = history?;
    let log = evidence.log.as_deref()?;
    let is_recorded = |sha: &str| proof.commits.iter().any(|named| sha.starts_with(named.as_str()));
    let recorded = log.commits().iter().position(|commit| is_recorded(&commit.sha));
    let own = || history.of_step(proof, history.since_of(proof)).first().copied();
    let commit = history.commit(recorded.or_else(own)?);
    Some((commit.short().to_owned(), commit.at))
}
