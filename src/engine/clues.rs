//! What there is to judge by where a person is asked about a step.

use super::{graph::Graph, handed::handed, reconciled::ReconciledRun};
use crate::model::{
    Clue, ClueKind, Evidence, FileFact, RelPath, Statement, Step, StepKind, StepReport, Suggested, Verb, safe_line,
};

/// Maximum length of a clue, in characters.
const CHARS: usize = 400;
/// Maximum number of reports, and of files, about one step.
const SHOWN: usize = 3;

/// Returns the things to judge a step by: what it has to fulfil, the command that ran, the check that its definition has, what was reported about
/// it and, for a gate, about the work before it, where its output is, its commit and its files.
pub(super) fn clues(
    reconciled: &ReconciledRun<'_>,
    step: &Step,
    (evidence, statements): (&Evidence, &[Statement]),
) -> Vec<Clue> {
    let clue = |kind, text: &str| Clue { kind, text: safe_line(text, CHARS) };
    let mut clues = Vec::new();
    let required = &step.detail.requirements;
    let in_a_line = || required.join("; ").replace(":; ", ": ");
    clues.extend((!required.is_empty()).then(|| clue(ClueKind::Required, &in_a_line())));
    clues.extend(step.command.as_deref().map(|command| clue(ClueKind::Command, command)));
    clues.extend(step.probe.as_deref().map(|probe| clue(ClueKind::Check, probe)));
    let mut reports = handed(reconciled.run, reconciled.graph, statements, &step.id).reports;
    // A gate is about the work before it, a step about its own.
    reports.retain(|report| step.kind == StepKind::Gate || report.step == step.id);
    clues.extend(reports.iter().take(SHOWN).map(|report| clue(ClueKind::Words, &words(report))));
    let is_said = |error: &&str| clues.iter().any(|clue: &Clue| clue.text.contains(&safe_line(error, CHARS)));
    let error = step.error.as_deref().filter(|error| !is_said(error));
    clues.extend(error.map(|error| clue(ClueKind::Words, &format!("{}: {error}", step.id))));
    if step.command.is_some() && step.attempts > 0 {
        let logs = Suggested::of(Verb::Logs, &reconciled.run.id).word(&step.id);
        clues.push(clue(ClueKind::Log, &logs.to_string()));
    }
    clues.extend(step.commit.as_deref().map(|commit| clue(ClueKind::Commit, commit)));
    let files = files(reconciled.graph, reconciled, step);
    clues.extend(files.into_iter().take(SHOWN).map(|path| clue(ClueKind::File, &file(path, evidence))));
    clues
}

/// Returns the files that a step makes or that a gate is about; for a gate without any those of the work below it.
fn files<'a>(graph: &Graph, reconciled: &ReconciledRun<'a>, step: &'a Step) -> Vec<&'a RelPath> {
    let made = |step: &'a Step| step.proof.documents.iter().chain(&step.proof.outputs).collect::<Vec<_>>();
    let own = made(step);
    if !own.is_empty() || step.kind != StepKind::Gate {
        return own;
    }
    let below = graph.position(&step.id).map(|at| graph.depends_on(at)).unwrap_or_default();
    below.iter().flat_map(|at| made(&reconciled.run.steps[*at])).collect()
}

fn file(path: &RelPath, evidence: &Evidence) -> String {
    match evidence.files.get(path) {
        Some(FileFact::Missing) => format!("{path} is not there"),
        Some(_) | None => path.to_string(),
    }
}

/// Returns who said what of a step, in one line.
fn words(report: &StepReport) -> String {
    let agent = report.agent.as_ref().map_or_else(String::new, |agent| format!(" ({agent})"));
    let verdict = report.verdict.map(|verdict| verdict.as_str().to_owned());
    let said = verdict.into_iter().chain(report.summary.clone()).chain(report.error.clone());
    let said: Vec<String> =
        said.chain(report.findings.iter().cloned()).chain(report.conditions.iter().cloned()).collect();
    format!("{}{agent}: {}", report.step, if said.is_empty() { report.status.to_string() } else { said.join("; ") })
}
