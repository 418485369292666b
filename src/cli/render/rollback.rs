//! A rollback for people: which steps open again, the git commands, the obstacles, and what was done.

use super::page::Page;
use crate::cli::output::Tone;
use crate::model::StepId;
use crate::model::clean_line;
use crate::model::human_age;
use crate::model::plural;
use crate::ops::GitMethod;
use crate::ops::RollbackReport;

/// How many commits and files are shown without `--verbose`.
const SHOWN: usize = 10;

pub(super) fn rollback(page: &mut Page, back: &RollbackReport) {
    if back.to.is_none() {
        targets(page, back);
        return;
    }
    let what = back.what.as_deref().unwrap_or_default();
    if back.written {
        page.text.put(Tone::Good, "✅ ").plain(format!("{} is rolled back to {what}", back.run)).end();
    } else {
        page.text.bold(format!("Rolling {} back to {what}; nothing is written yet", back.run)).end();
    }
    impact(page, back);
    git(page, back);
    list(page, "For the tracker, to be run by hand", &back.tracker);
    for obstacle in &back.obstacles {
        page.text.put(Tone::Bad, format!("  {:<12}", obstacle.code)).line(&obstacle.message);
        page.text.line(format!("              → {}", obstacle.command));
    }
    if let Some(backup) = back.backup.as_ref().filter(|_| back.written) {
        page.text.line(format!("A backup is in {backup}"));
    }
    if !back.left_out.is_empty() {
        page.text.put(Tone::Warn, format!("Not copied: {}", plural(back.left_out.len(), "file"))).end();
    }
    if let Some(undo) = back.undo.as_ref().filter(|_| !page.quiet) {
        page.text.line(format!("To take it back: {undo}"));
    }
    if let Some(next) = back.next.as_ref().filter(|_| !page.quiet) {
        page.text.line(format!("→ {next}"));
    }
}

fn targets(page: &mut Page, back: &RollbackReport) {
    if back.targets.is_empty() {
        page.text
            .line(format!("{} has nothing to go back to: no phase was begun, and there is no checkpoint.", back.run));
        return;
    }
    page.text.bold(format!("{} can be rolled back to", back.run)).end();
    for target in &back.targets {
        let at = target.at.map_or_else(String::new, |at| format!(", {at}"));
        page.text.line(format!("  {:<10} {}{at}", target.to, target.what));
    }
    page.text.line("  ❌ Cancel rollback: do nothing");
    if let Some(next) = back.next.as_ref().filter(|_| !page.quiet) {
        page.text.line(format!("→ {next}"));
    }
}

fn impact(page: &mut Page, back: &RollbackReport) {
    let impact = &back.impact;
    let ids = |ids: &[StepId]| ids.iter().map(|id| clean_line(id.as_str(), 60)).collect::<Vec<_>>().join(", ");
    if impact.reopened.is_empty() {
        page.text.line("  No step that is done opens again.");
        return;
    }
    page.text.put(Tone::Warn, format!("  {} open again: ", plural(impact.reopened.len(), "step")));
    page.text.line(ids(&impact.reopened));
    for phase in &impact.phases {
        let commit =
            phase.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {}", clean_line(commit, 12)));
        page.text.line(format!("    {}: {} done{commit}", clean_line(&phase.phase, 60), plural(phase.done, "step")));
    }
    if !impact.approvals.is_empty() {
        page.text.line(format!("  To be approved again: {}", ids(&impact.approvals)));
    }
    if let Some(lost) = impact.lost_seconds.filter(|lost| *lost > 0) {
        page.text.line(format!("  Work of {} is lost", human_age(lost)));
    }
    let shown = if page.verbose { usize::MAX } else { SHOWN };
    if back.has_commits_in_doubt() {
        page.text.line("  Commits in doubt, some of which stay:");
    }
    for commit in back.commits.iter().take(shown) {
        let sha: String = commit.sha.chars().take(12).collect();
        page.text.dim(format!("    {sha} {}", clean_line(&commit.subject, 100))).end();
    }
    let files: Vec<String> = back.files.iter().take(shown).map(|file| clean_line(file, 100)).collect();
    if !files.is_empty() {
        let more = if back.files.len() > files.len() { ", ..." } else { "" };
        page.text.line(format!("  Files they touched: {}{more}", files.join(", ")));
    }
}

fn git(page: &mut Page, back: &RollbackReport) {
    let Some(git) = &back.git else { return };
    let method = match git.method {
        GitMethod::None => "nothing",
        GitMethod::Reset => "reset",
        GitMethod::Revert => "revert",
    };
    page.text.bold(format!("Git: {method}")).plain(format!(", {}", clean_line(&git.because, 300))).end();
    let head = if back.has_commits_in_doubt() { "Record its commit, then ask again" } else { "Look first" };
    list(page, head, &git.checks);
    list(page, "Then, by hand and in this order", &git.commands);
    list(page, "Instead, to keep every commit", &git.instead);
}

fn list(page: &mut Page, head: &str, commands: &[String]) {
    if !commands.is_empty() {
        page.text.line(format!("  {head}:"));
        for command in commands {
            page.text.line(format!("    {command}"));
        }
    }
}
