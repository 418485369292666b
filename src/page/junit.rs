//! A run as a JUnit report, which CI services show step by step.

use maud::{Markup, html};

use crate::{
    model::{AttemptEnd, ShownStep, StepMark, clean},
    ops::ShowReport,
};

/// Returns the run as one suite. A step that is done passed; one that failed, was cut off, or whose result no longer counts is a failure with
/// its reason; all others are skipped, with what they wait for. One whose failure the file tolerates passed, and says so.
pub(crate) fn junit(report: &ShowReport) -> String {
    let steps: Vec<&ShownStep> = report.steps.iter().filter(|step| !step.is_container).collect();
    let count = |wanted: Outcome| steps.iter().filter(|step| outcome(step.mark) == wanted).count();
    let (failures, skipped) = (count(Outcome::Failed), count(Outcome::Skipped));
    let seconds: i64 = steps.iter().map(|step| step.seconds).sum();
    let name = text(&report.run.title);
    let started = report.run.started_at.map(|at| at.to_string());
    let suite = html! {
        testsuites name=(name) tests=(steps.len()) failures=(failures) skipped=(skipped) time=(seconds) {
            testsuite name=(name) tests=(steps.len()) failures=(failures) errors="0" skipped=(skipped) time=(seconds) timestamp=[started] {
                properties {
                    property name="run" value=(text(report.run.id.as_str())) {}
                    property name="workflow" value=(text(&report.run.workflow)) {}
                    property name="state" value=(text(&report.headline)) {}
                }
                @for step in &steps { (case(step, report)) }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", suite.into_string())
}

/// What a test report calls the state of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

const fn outcome(mark: StepMark) -> Outcome {
    match mark {
        StepMark::Proved | StepMark::Claimed => Outcome::Passed,
        StepMark::Failed | StepMark::Interrupted | StepMark::Invalid => Outcome::Failed,
        StepMark::Running
        | StepMark::Verify
        | StepMark::Unknown
        | StepMark::Gate
        | StepMark::Blocked
        | StepMark::Open
        | StepMark::Skipped => Outcome::Skipped,
    }
}

fn case(step: &ShownStep, report: &ShowReport) -> Markup {
    let output = report.output.as_ref().filter(|output| output.step == step.id);
    let last = step.attempts.last();
    let said = last.and_then(|last| last.said.as_deref()).map(text);
    let name = if step.title.is_empty() || step.title == step.id.as_str() {
        text(step.id.as_str())
    } else {
        text(&format!("{}: {}", step.id, step.title))
    };
    let inside = match outcome(step.mark) {
        Outcome::Passed if step.is_tolerated => {
            let said = said.unwrap_or_default();
            html! {
                properties { property name="tolerated" value=(said) {} }
                system-out { "never passed; the workflow file lets the run go on: " (said) }
            }
        }
        Outcome::Passed => html! { @if let Some(said) = &said { system-out { (said) } } },
        Outcome::Failed => {
            let kind = last.map_or(AttemptEnd::Failed, |last| last.end).as_str();
            let printed = output.map(|output| text(&output.lines.join("\n")));
            html! {
                failure message=(text(&step.reason)) type=(kind) { (said.unwrap_or_default()) }
                @if let Some(printed) = printed { system-out { (printed) } }
            }
        }
        Outcome::Skipped => html! { skipped message=(text(&step.reason)) {} },
    };
    html! { testcase classname=(text(&report.run.workflow)) name=(name) time=(step.seconds) { (inside) } }
}

/// Returns a text without the characters that XML has no place for.
fn text(raw: &str) -> String {
    clean(raw)
        .chars()
        .filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}' | '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}'))
        .collect()
}
