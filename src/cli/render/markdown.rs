//! The coordination list (docs/formats/ccw.md#context-for-the-agent): a check list that the agent keeps up to date while it works.

use std::collections::BTreeSet;

use crate::cli::output::Text;
use crate::model::Action;
use crate::model::Next;
use crate::model::Step;
use crate::model::StepId;
use crate::model::clean;
use crate::model::clean_line;
use crate::ops::Body;
use crate::ops::PlanReport;
use crate::ops::Report;

/// Renders a plan as a check list; everything else as text in a code block.
pub(in crate::cli) fn markdown(report: &Report) -> String {
    match &report.body {
        Body::Plan(body) if body.plan.patch.is_none() => plan(body),
        Body::Plan(_) => fenced("diff", super::text(report, false, false)),
        _ => fenced("text", super::text(report, false, true)),
    }
}

/// Puts untrusted text into a code block that it cannot close.
fn fenced(language: &str, text: Text) -> String {
    let text = text.into_plain();
    let text = clean(&text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}{fence}\n")
}

fn plan(report: &PlanReport) -> String {
    let PlanReport { plan, run, .. } = report;
    let mut text = Text::default();
    text.line("# Workflow Resume Coordination").line(format!("*Session: {} - RESUMPTION*", plan.run.id)).end();
    if let Some(interruption) = &plan.interruption {
        let step = interruption.step.as_ref().map_or("-", |step| step.as_str());
        text.line("## Interruption Analysis");
        text.line(format!("- **Interruption Point**: {step}"));
        text.line(format!("- **Interruption Type**: {}", interruption.kind.as_str()));
        if let Some(at) = interruption.at {
            text.line(format!("- **Last Activity**: {at}"));
        }
        if let Some(strategy) = plan.next.first().and_then(|next| next.strategy) {
            text.line(format!("- **Recovery Strategy**: {}", strategy.as_str()));
        }
        text.end();
    }
    text.line("## Resume Execution Plan");
    let done: BTreeSet<&StepId> = plan.steps.completed.iter().collect();
    let skipped: BTreeSet<&StepId> = plan.steps.skipped.iter().collect();
    for (at, step) in run.steps.iter().enumerate() {
        let line = StepLine {
            next: plan.next.iter().find(|next| next.step == step.id),
            is_done: done.contains(&step.id),
            is_skipped: skipped.contains(&step.id),
        };
        text.line(row(at + 1, step, line));
    }
    let last = if run.steps.is_empty() { "nothing to do" } else { "Update session state and mark workflow complete" };
    text.line(format!("- [ ] **TASK-{:03}**: {last}", run.steps.len() + 1));
    text.end().line("**Resume Markers**:");
    text.line("- [RESUME] = Task being resumed from interruption point");
    text.line("- [RETRY] = Task being retried after failure");
    text.line("- [SKIP] = Task marked as skipped in recovery");
    text.into_plain()
}

/// What the plan says about a step.
#[derive(Clone, Copy)]
struct StepLine<'a> {
    next: Option<&'a Next>,
    is_done: bool,
    is_skipped: bool,
}

fn row(number: usize, step: &Step, line: StepLine<'_>) -> String {
    let StepLine { next, is_done, is_skipped } = line;
    // Brackets would look like a marker or become a link.
    let unbracketed = |text: &str| clean_line(text, 120).replace(['[', ']'], "");
    let title = unbracketed(&step.title);
    let mark = match next.map(|next| next.action) {
        _ if is_skipped => "[SKIP] ",
        Some(Action::Retry | Action::Return) if next.is_some_and(|next| next.rule == "3.interrupted") => "[RESUME] ",
        Some(Action::Retry | Action::Return) => "[RETRY] ",
        Some(Action::Run) => "[RESUME] ",
        Some(Action::Verify) => "[VERIFY] ",
        Some(Action::Approve) => "[APPROVE] ",
        Some(Action::Merge | Action::Archive) | None if is_done => "[Completed] ",
        Some(Action::Merge | Action::Archive) | None => "[Pending] ",
    };
    let agent = step
        .agent
        .as_ref()
        .filter(|_| !is_done)
        .map_or_else(String::new, |agent| format!("[Agent: {}] ", unbracketed(agent)));
    let flow = if !is_done && !step.detail.parts.is_empty() { "[FLOW_CONTROL] " } else { "" };
    let checked = if is_done || is_skipped { "x" } else { " " };
    format!("- [{checked}] **TASK-{number:03}**: {mark}{agent}{flow}{title} ({})", unbracketed(step.id.as_str()))
}
