//! `plan --patch`: suggested changes to files that Piton never writes, as a unified diff.

use super::{
    Exit, OpError,
    answers::{answers, is_built, not_in},
    opened_run::OpenedRun,
    plan::{self, PlanReport, PlanRequest},
    plan_document::PlanDetail,
    project_context::ProjectContext,
    report::Report,
    select,
};
use crate::model::{No, Patch, PatchAnswer, PatchedFile, Run, StepId, Suggestions, first_names, unified_diff};

/// Number of answers that a note names.
const NAMED: usize = 6;

/// Plans the requested run and adds the suggested edits; with `answer`, such as `7=done`, only those that say this about that step. Exits
/// with "no" if there are none.
pub(crate) fn patch(
    ctx: &ProjectContext,
    request: &PlanRequest,
    answer: Option<&str>,
) -> Result<Report<PlanReport>, OpError> {
    let opened = select::select(ctx)?;
    let run = opened.run()?;
    let planned = plan::planned(ctx, &opened, run, request)?;
    // What was built and not recorded is suggested too: a person who reads the patch decides about it.
    let built = planned.plan.next.iter().filter(|next| is_built(next)).map(|next| next.step.clone());
    let done: Vec<StepId> = planned.plan.steps.completed.iter().cloned().chain(built).collect();
    let answers = answers(&opened, run, &planned.plan);
    let patch = match answer {
        Some(answer) => answered(answers, answer),
        None => {
            let patch = suggested(&opened, run, &done);
            Patch { answers: not_in(&patch.files, answers, &planned.plan), ..patch }
        }
    };
    let mut report = plan::report(opened, planned, PlanDetail::default());
    report.exit = if patch.diff.is_empty() { Exit::No(No::Nothing) } else { Exit::Ok };
    report.body.plan.patch = Some(patch);
    Ok(report)
}

/// Returns what the run's own system suggests. `done` are the steps proved to be done.
pub(super) fn suggested(opened: &OpenedRun, run: &Run, done: &[StepId]) -> Patch {
    assemble(opened, opened.dialect.comparison().suggest(&opened.files, run, done))
}

/// Returns the patch of one answer.
fn answered(answers: Vec<PatchAnswer>, wanted: &str) -> Patch {
    let known: Vec<String> = answers.iter().map(|one| format!("{}={}", one.step, one.answer.as_str())).collect();
    let mut patch = Patch { diff: String::new(), files: Vec::new(), notes: Vec::new(), answers: Vec::new() };
    match known.iter().position(|one| one == wanted).and_then(|at| answers.into_iter().nth(at)) {
        Some(found) => {
            patch.diff.clone_from(&found.file.diff);
            patch.files.push(found.file);
        }
        None if known.is_empty() => patch.notes.push(format!("{wanted}: no step of it waits for such an answer")),
        None => patch.notes.push(format!("{wanted} is no answer; there are {}", first_names(&known, NAMED))),
    }
    patch
}

fn assemble(opened: &OpenedRun, suggestions: Suggestions) -> Patch {
    let mut patch = Patch { diff: String::new(), files: Vec::new(), notes: suggestions.notes, answers: Vec::new() };
    for suggestion in suggestions.files {
        let before = opened.files.bytes(&suggestion.file).unwrap_or_default();
        let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(&suggestion.after)) else {
            patch.notes.push(format!("{} is not UTF-8; nothing is suggested for it", suggestion.file));
            continue;
        };
        let diff = unified_diff(suggestion.file.as_str(), Some(before), after);
        if !diff.is_empty() {
            patch.diff.push_str(&diff);
            patch.files.push(PatchedFile { file: suggestion.file, reasons: suggestion.reasons, diff });
        }
    }
    patch
}
