//! Reports as text, Markdown and YAML. What a report looks like is beside its verb; here is what several have in common.

mod checkpoint;
pub(super) mod markdown;
pub(super) mod patch;
pub(super) mod plan;
mod preview;
pub(super) mod text_page;
mod yaml;

use std::time::Duration;

use serde_json::Value;

use super::output::Text;
use crate::{
    model::{Context, Finding, ReportedStatus, Status, human_duration},
    ops::{Body, PlanReport, Report},
};
pub(super) use preview::preview;
use text_page::Page;

/// A report as people read it.
pub(super) trait Shown: Body {
    /// Writes the report.
    fn text(&self, page: &mut Page, findings: &[Finding]);

    /// Tells whether a finding is listed below the text.
    fn lists(&self, _: &Finding, _verbose: bool) -> bool {
        true
    }

    /// Returns the report as Markdown: its text in a code block, if it has no other form.
    fn markdown(&self, findings: &[Finding]) -> String {
        markdown::fenced("text", &shown(self, findings, false, true))
    }

    /// Returns what YAML has of it.
    fn yaml(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

/// Returns the mark of a step of a session.
pub(super) const fn mark(status: ReportedStatus) -> &'static str {
    let ReportedStatus::Recorded(status) = status else { return "⚠️ " };
    match status {
        Status::Completed => "✅",
        Status::Failed => "❌",
        Status::InProgress => "⏳",
        Status::Skipped | Status::Cancelled => "–",
        Status::Pending | Status::WaitingApproval | Status::Blocked => "·",
    }
}

/// Returns a number of seconds as a person says it.
pub(super) fn seconds(seconds: i64) -> String {
    human_duration(Duration::from_secs(seconds.unsigned_abs()))
}

/// Renders a report for a person.
pub(super) fn text(report: &Report<impl Shown>, verbose: bool, quiet: bool) -> Text {
    shown(&report.body, &report.findings, verbose, quiet)
}

fn shown(body: &(impl Shown + ?Sized), findings: &[Finding], verbose: bool, quiet: bool) -> Text {
    written(body, findings, Page { text: Text::default(), verbose, quiet, asks: false })
}

/// Renders a plan before its question is asked.
pub(super) fn asked(report: &Report<PlanReport>) -> Text {
    written(&report.body, &report.findings, Page { text: Text::default(), verbose: false, quiet: false, asks: true })
}

fn written(body: &(impl Shown + ?Sized), findings: &[Finding], mut page: Page) -> Text {
    body.text(&mut page, findings);
    let listed: Vec<Finding> = findings.iter().filter(|finding| body.lists(finding, page.verbose)).cloned().collect();
    if !listed.is_empty() {
        page.text.end();
        page.findings(&listed);
    }
    page.text
}

/// Renders a context as plain text.
pub(super) fn context(context: &Context) -> String {
    shown(context, &[], false, true).plain_text()
}

/// Renders a value as one YAML document.
pub(super) fn yaml_of(value: &Value) -> String {
    yaml::document(value)
}

/// Renders the data of a report as one YAML document.
pub(super) fn yaml(body: &impl Shown) -> String {
    yaml::document(&body.yaml().unwrap_or_default())
}
