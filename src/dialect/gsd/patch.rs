//! What evidence proves and `ROADMAP.md` does not say, as edits of it (docs/formats/gsd.md#roadmap).

use std::ops::Range;

use super::{
    names::{self, PhaseKey},
    roadmap::{Row, is_finished, is_unfinished, phase_in, plan_in},
};
use crate::{
    dialect::markdown::{LineContext, Lines, checkbox},
    model::{Run, Status, Step, StepId},
};

/// Returns the roadmap with the boxes ticked of plans that are done and of phases whose plans are all done, with the rows of such phases, and
/// why.
pub(super) fn ticked(bytes: &[u8], run: &Run, done: &[StepId]) -> (Vec<u8>, Vec<String>) {
    let mut reasons = Vec::new();
    let Ok(text) = std::str::from_utf8(bytes) else { return (bytes.to_vec(), reasons) };
    // What is built and not recorded is for a person to say.
    let has_summary = |id: &str| run.step(&StepId::new(id)).is_some_and(|step| step.status == Status::Completed);
    let is_done = |id: &str| done.iter().any(|step| step.as_str() == id) && has_summary(id);
    let is_plan_done = |id: &str| plan_of(run, id).is_some_and(is_done);
    let plans_of = |key: &PhaseKey| run.steps.iter().filter(|step| is_of(step, key)).count();
    let phase_done = |key: &PhaseKey| format!("all plans of phase {} are done", names::shown(key));
    let phase_is_done = |key: &PhaseKey| {
        let is_over = |step: &Step| step.status == Status::Skipped || is_done(step.id.as_str());
        plans_of(key) > 0 && run.steps.iter().filter(|step| is_of(step, key)).all(is_over)
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for line in Lines::of(text).filter(|line| line.context == LineContext::Text) {
        let place = |span: Range<usize>| line.start + span.start..line.start + span.end;
        if line.text.trim_start().starts_with('|') {
            let Some(row) = Row::of(line.text).filter(|row| phase_is_done(&row.phase)) else { continue };
            let Some(status) = row.status.filter(|span| is_unfinished(&line.text[span.clone()])) else { continue };
            let plans = plans_of(&row.phase);
            edits.extend(row.count.map(|span| (place(span), format!("{plans}/{plans}"))));
            edits.push((place(status), "Complete".to_owned()));
            reasons.push(phase_done(&row.phase));
            continue;
        }
        let Some(found) = checkbox(line.text).filter(|found| found.mark.text.is_empty()) else { continue };
        let why = if let Some(id) = plan_in(found.text) {
            is_plan_done(id).then(|| format!("{id} has its summary"))
        } else {
            let phase = phase_in(found.text).filter(|(key, _)| phase_is_done(key));
            phase.map(|(key, _)| phase_done(&key))
        };
        // Only a box of one blank keeps the length of the line.
        if let Some(why) = why.filter(|_| found.mark.span.len() == 1) {
            edits.push((place(found.mark.span.clone()), "x".to_owned()));
            reasons.push(why);
        }
    }
    (edited(bytes, edits), reasons)
}

/// Returns the roadmap without the ticks of a plan and of its phase, with the row of the phase in progress, and the lines that change.
pub(super) fn cleared(bytes: &[u8], run: &Run, id: &str, phase: &PhaseKey) -> Option<(Vec<u8>, Vec<u32>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let plans = || run.steps.iter().filter(|step| is_of(step, phase));
    let (mut edits, mut lines): (Vec<(Range<usize>, String)>, Vec<u32>) = (Vec::new(), Vec::new());
    for line in Lines::of(text).filter(|line| line.context == LineContext::Text) {
        let place = |span: Range<usize>| line.start + span.start..line.start + span.end;
        if line.text.trim_start().starts_with('|') {
            let Some(row) = Row::of(line.text).filter(|row| row.phase == *phase) else { continue };
            let Some(status) = row.status.filter(|span| is_finished(&line.text[span.clone()])) else { continue };
            let done = plans().filter(|step| step.status == Status::Completed).count();
            edits.extend(row.count.map(|span| (place(span), format!("{done}/{}", plans().count()))));
            edits.push((place(status), "In Progress".to_owned()));
            lines.push(line.number);
            continue;
        }
        let Some(found) = checkbox(line.text).filter(|found| found.mark.is_ticked()) else { continue };
        let is_its = match plan_in(found.text) {
            Some(plan) => plan_of(run, plan) == Some(id),
            None => phase_in(found.text).is_some_and(|(key, _)| key == *phase),
        };
        if is_its {
            edits.push((place(found.mark.span), " ".to_owned()));
            lines.push(line.number);
        }
    }
    (!lines.is_empty()).then(|| (edited(bytes, edits), lines))
}

/// Returns the step of the plan that a box names: of its id, else the only one with its number.
fn plan_of<'a>(run: &'a Run, named: &str) -> Option<&'a str> {
    let mut same = run.steps.iter().map(|step| step.id.as_str()).filter(|id| names::is_same_plan(id, named));
    let exact = run.steps.iter().map(|step| step.id.as_str()).find(|id| *id == named);
    exact.or_else(|| same.next().filter(|_| same.next().is_none()))
}

/// Tells whether a step is one of a phase.
fn is_of(step: &Step, phase: &PhaseKey) -> bool {
    names::leading(step.id.as_str()).is_some_and(|(own, _)| own == *phase)
}

/// Returns a text with these places replaced, which do not overlap.
fn edited(bytes: &[u8], mut edits: Vec<(Range<usize>, String)>) -> Vec<u8> {
    let mut after = bytes.to_vec();
    edits.sort_by_key(|(span, _)| span.start);
    for (span, text) in edits.into_iter().rev() {
        after.splice(span, text.into_bytes());
    }
    after
}
