//! Markdown: a plan as the page of its own system, with verdict, findings and question; cells of tables; code blocks.
//!
//! A plan of nine-step is the page of its resume command (docs/formats/nine-step.md#plan-in-the-words-of-the-plugin), every other one the
//! coordination list (docs/formats/ccw.md#context-for-the-agent): a check list that the agent keeps up to date while it works.

use std::collections::BTreeSet;

use serde_json::Value;

use super::text_page::{position_lines, word};
use crate::{
    cli::output::Text,
    model::{Action, Finding, Fix, Next, Plan, QuestionOption, Severity, Step, StepId, Suggested, clean, clean_line},
    ops::PlanReport,
};

/// Puts untrusted text into a code block that it cannot close.
pub(in crate::cli) fn fenced(language: &str, text: &Text) -> String {
    let text = text.plain_text();
    let text = clean(&text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}{fence}\n")
}

/// Renders a plan as the page of its system, and what it answers.
pub(super) fn page(report: &PlanReport, findings: &[Finding]) -> String {
    let mut text = Text::default();
    match report.plan.native.get("current_state") {
        Some(state) => resume_page(&mut text, report, state),
        None => coordination(&mut text, report),
    }
    answer(&mut text, &report.plan, findings);
    text.plain_text()
}

/// Adds verdict, findings and question.
fn answer(text: &mut Text, plan: &Plan, findings: &[Finding]) {
    text.end().line(format!("**Verdict**: {}", plan.verdict.as_str()));
    let shown: Vec<&Finding> = findings.iter().filter(|finding| finding.severity != Severity::Info).collect();
    if !shown.is_empty() {
        text.end().line("**Findings**:");
    }
    for finding in shown {
        let fix = finding.fix.as_ref().map_or_else(String::new, |fix| match fix {
            Fix::Command(command) => format!(" → `{}`", clean_line(&command.to_string(), 1_000)),
            Fix::Advice { text, .. } => format!(" → {}", unbracketed(text, 1_000)),
        });
        text.line(format!("- {}: {}{fix}", finding.severity.as_str(), unbracketed(&finding.message, 1_000)));
    }
    for question in &plan.questions {
        text.end().line(format!("**{}**", unbracketed(&question.text, 1_000)));
        for option in question.options.iter().filter(|option| !option.changes_nothing) {
            text.line(format!(
                "- {}: `{}`",
                unbracketed(&option.label, 200),
                clean_line(&option.command.to_string(), 1_000)
            ));
        }
    }
    if let (Some(begin), []) = (&plan.commands.begin, plan.questions.as_slice()) {
        text.end().line(format!("To go on: `{}`", clean_line(&begin.to_string(), 1_000)));
    }
}

/// Renders the page of the resume command of nine-step.
fn resume_page(text: &mut Text, report: &PlanReport, state: &Value) {
    let native = &report.plan.native;
    let said = |value: &Value| word(value).map(|text| unbracketed(&text, 400));
    let of = |value: &Value, key: &str| value.get(key).and_then(said);
    text.line("# 📋 Workflow Resume Plan").end();
    for (name, key) in [("Feature", "feature_name"), ("Worktree", "worktree_path"), ("Branch", "branch_name")] {
        text.line(format!("**{name}**: {}", of(native, key).unwrap_or_else(|| "-".to_owned())));
    }
    text.end().line("**Current State**:");
    for line in position_lines(state) {
        text.line(format!("- {line}"));
    }
    for (name, key) in [("Interrupted", "interrupted"), ("Interruption Reason", "interruption_reason")] {
        if let Some(value) = of(state, key) {
            text.line(format!("- {name}: {value}"));
        }
    }
    text.end().line("**Completed Work**:");
    let done = native.get("completed_work").and_then(Value::as_array);
    for line in done.into_iter().flatten().filter_map(said) {
        text.line(format!("- ✅ {line}"));
    }
    let next = native.get("resume_plan").unwrap_or(&Value::Null);
    text.end().line("**Resume Plan**:");
    for (name, key) in [
        ("Next Phase", "next_phase"),
        ("Next Step", "next_step"),
        ("Agent to invoke", "next_agent"),
        ("Resume Reason", "reason"),
    ] {
        if let Some(value) = of(next, key) {
            text.line(format!("- {name}: {value}"));
        }
    }
    let blocking = report.plan.questions.iter().flat_map(|question| &question.options);
    let required: Vec<&QuestionOption> =
        blocking.filter(|option| matches!(option.command, Suggested::Other(_))).collect();
    if !required.is_empty() {
        text.end().line("**Required Actions**:");
    }
    for option in required {
        text.line(format!(
            "- [ ] {}: `{}`",
            unbracketed(&option.label, 200),
            clean_line(&option.command.to_string(), 1_000)
        ));
    }
}

/// Returns a text as the content of a table cell.
pub(in crate::cli) fn celled(text: &str) -> String {
    unbracketed(text, 1_000).replace('|', "\\|")
}

/// Returns one line without brackets, which would look like a marker or become a link.
fn unbracketed(text: &str, limit: usize) -> String {
    clean_line(text, limit).replace(['[', ']'], "")
}

fn coordination(text: &mut Text, report: &PlanReport) {
    let PlanReport { plan, run, .. } = report;
    text.line("# Workflow Resume Coordination").line(format!("*Session: {} - RESUMPTION*", plan.run.id)).end();
    if let Some(interruption) = &plan.interruption {
        let step = interruption.step.as_ref().map_or("-", |step| step.as_str());
        text.line("## Interruption Analysis");
        text.line(format!("- **Interruption Point**: {step}"));
        text.line(format!("- **Interruption Type**: {}", interruption.kind.as_str()));
        if let Some(at) = interruption.at {
            text.line(format!("- **Last Activity**: {}", at.in_seconds()));
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
    let unbracketed = |text: &str| unbracketed(text, 120);
    let title = unbracketed(&step.title);
    let mark = match next.map(|next| next.action) {
        _ if is_skipped => "[SKIP] ",
        Some(Action::Retry | Action::Return) if next.is_some_and(|next| next.rule == "3.interrupted") => "[RESUME] ",
        Some(Action::Retry | Action::Return) => "[RETRY] ",
        Some(Action::Run | Action::Exec) => "[RESUME] ",
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
