//! Sessions for people.

use super::page::Page;
use crate::cli::output::Tone;
use crate::model::Status;
use crate::model::human_age;
use crate::model::plural;
use crate::ops::CleanReport;
use crate::ops::ImportReport;
use crate::ops::SessionDetail;
use crate::ops::SessionList;
use crate::ops::SessionRow;
use crate::ops::SessionStatus;

const fn tone(status: SessionStatus) -> Tone {
    match status {
        SessionStatus::Completed | SessionStatus::Merged => Tone::Good,
        SessionStatus::Running => Tone::Bold,
        SessionStatus::Interrupted | SessionStatus::Paused => Tone::Warn,
        SessionStatus::Failed | SessionStatus::Unreadable => Tone::Bad,
        SessionStatus::GivenUp => Tone::Dim,
    }
}

pub(super) fn list(page: &mut Page, list: &SessionList) {
    for row in &list.sessions {
        head(page, row);
        if let Some(resume) = row.resume.as_ref().filter(|_| !page.quiet) {
            page.text.line(format!("  → {resume}"));
        }
    }
}

fn head(page: &mut Page, row: &SessionRow) {
    let age = row.age_seconds.map_or_else(|| "unknown age".to_owned(), |age| format!("{} ago", human_age(age)));
    page.text.bold(row.id.as_str()).plain("  ").put(tone(row.status), row.status.as_str());
    page.text.plain(format!("  {}/{}  {}", row.progress.done, row.progress.total, row.workflow));
    page.text.dim(format!("  {}, {age}", row.position)).end();
}

pub(super) fn show(page: &mut Page, detail: &SessionDetail) {
    let row = &detail.row;
    head(page, row);
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            page.text.plain(format!("  {name:<12} ")).line(value);
        }
    };
    line("Workflow", detail.workflow_file.as_deref());
    line("Folder", row.folder.as_deref());
    let merges = row.branch.as_ref().map(|branch| match &row.base_branch {
        Some(base) => format!("{branch} (from {base})"),
        None => branch.clone(),
    });
    line("Branch", merges.as_deref());
    line("Records", Some(&detail.records));
    line("Variables", Some(&detail.variables.join(", ")).filter(|names| !names.is_empty()).map(String::as_str));
    if !detail.steps.is_empty() {
        page.text.end().bold("Steps").end();
    }
    for step in &detail.steps {
        let mark = match step.status {
            Status::Completed if step.is_tolerated => "⚠️ ",
            Status::Completed => "✅",
            Status::Failed => "❌",
            Status::InProgress => "⏳",
            Status::Skipped | Status::Cancelled => "–",
            Status::Pending | Status::WaitingApproval | Status::Blocked => "·",
        };
        let never = if step.is_tolerated { " (never passed)" } else { "" };
        let tries = if step.attempts > 1 { format!(" ({} attempts)", step.attempts) } else { String::new() };
        page.text.line(format!("  {mark} {} {}{never}{tries}", step.id, step.title));
        if let Some(error) = &step.error {
            page.text.dim(format!("      {error}")).end();
        }
    }
    if let Some(resume) = row.resume.as_ref().filter(|_| !page.quiet) {
        page.text.end().line(format!("→ {resume}"));
    }
}

pub(super) fn clean(page: &mut Page, report: &CleanReport) {
    let (mark, verb) = if report.dry_run { ("", "would be archived") } else { ("✅ ", "is archived") };
    for over in &report.cleaned {
        page.text.put(Tone::Good, mark).bold(over.id.as_str()).line(format!(" {verb}: records in {}", over.records));
        if let (Some(worktree), Some(branch)) = (&over.worktree, &over.branch) {
            let gone = if report.dry_run { "to be removed" } else { "removed" };
            page.text.line(format!("   {gone}: worktree {worktree}, branch {branch}"));
        }
    }
    for kept in &report.kept {
        page.text.bold(kept.id.as_str()).line(format!(" is kept: {}", kept.reason));
        if let Some(fix) = kept.fix.as_ref().filter(|_| !page.quiet) {
            page.text.line(format!("   → {fix}"));
        }
    }
    if report.cleaned.is_empty() && report.kept.is_empty() {
        page.text.line("No session has ended: there is nothing to archive.");
    }
    if report.dry_run && !report.cleaned.is_empty() && !page.quiet {
        page.text.line(format!("→ piton sessions clean --yes archives {}", plural(report.cleaned.len(), "session")));
    }
}

pub(super) fn import(page: &mut Page, report: &ImportReport) {
    let progress = format!("{} of {} steps done", report.progress.done, report.progress.total);
    page.text.put(Tone::Good, "✅ ").plain(format!("{} continues as ", report.from)).bold(report.session.as_str());
    page.text.line(format!(": {progress}, in {}", report.folder));
    if !page.quiet {
        page.text.line(format!("→ {}", report.resume));
    }
}
