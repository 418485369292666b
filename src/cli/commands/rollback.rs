//! `rollback`, with the questions to a person and what the answers mean.

use super::prelude::*;
use crate::{
    cli::{output, render, shared_args::RunArg},
    model::{ChangeKind, StepId, clean_line, human_age, plural},
    ops::{GitMethod, RollbackReport},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Rollback {
    #[command(flatten)]
    run: RunArg,
    /// Where to go back to: the end of a phase (0: the beginning), before a step, a checkpoint of `piton history`, a commit (at
    /// least 7 digits), or `last`: the end of the phase before the latest one begun, else the newest checkpoint. Also written
    /// `phase:2`, `step:2:3`, `checkpoint:000002` or `commit:SHA` (default: list the targets)
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// Why; kept in the log of rollbacks, and in the state if its format has a field for it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// Write without asking; git commands are only printed, never run
    #[arg(short, long)]
    yes: bool,
    /// Allow a fourth rollback to the same point, and the rollback of an aborted run
    #[arg(long)]
    force: bool,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    if_revision: Option<String>,
    /// Read target and reason as JSON from standard input (schema: `piton schema change`)
    #[arg(long, value_name = "-", conflicts_with_all = ["to", "note"])]
    json: Option<String>,
}

impl Command for Rollback {
    /// Proposes a rollback, and asks for consent when a person is at the terminal. End of input is never consent.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.name())?;
        let mut request = self.request()?;
        let mut report = ops::rollback(&ctx, &request)?;
        if call.can_ask() && !report.body.targets.is_empty() {
            output::say(&render::text(&report, false, true))?;
            request.to = output::ask("Roll back to which? (empty: none)")?.filter(|answer| !answer.trim().is_empty());
            if request.to.is_none() {
                return call.answer(Ok(report));
            }
            report = ops::rollback(&ctx, &request)?;
        }
        let prompt = report.body.prompt().filter(|_| call.can_ask());
        let Some((question, revision)) = prompt else { return call.answer(Ok(report)) };
        output::say(&render::text(&report, false, true))?;
        if !output::agrees(&question)? {
            return call.answer(Ok(report));
        }
        (request.yes, request.if_revision) = (true, Some(revision));
        call.answer(ops::rollback(&ctx, &request))
    }
}

impl Rollback {
    fn request(&self) -> Result<ops::RollbackRequest, CommandError> {
        let (to, reason) = match &self.json {
            None => (self.to.clone(), self.note.clone()),
            Some(source) => match ops::ChangeRequest::from_json(&ops::input(source)?, "rollback")? {
                ChangeKind::RollBack(wanted) => (Some(wanted.to), wanted.reason),
                _ => return Err(CommandError::usage("the change is not a rollback")),
            },
        };
        let (yes, force, if_revision) = (self.yes, self.force, self.if_revision.clone());
        Ok(ops::RollbackRequest { to, reason, yes, force, if_revision })
    }
}

/// How many commits and files are shown without `--verbose`.
const SHOWN: usize = 10;

impl Shown for RollbackReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.to.is_none() {
            targets(page, self);
            return;
        }
        let what = self.what.as_deref().unwrap_or_default();
        if self.written {
            page.text.put(Tone::Good, "✅ ").plain(format!("{} is rolled back to {what}", self.run)).end();
        } else {
            page.text.bold(format!("Rolling {} back to {what}; nothing is written yet", self.run)).end();
        }
        impact(page, self);
        git(page, self);
        list(page, "For the tracker, to be run by hand", &self.tracker);
        for obstacle in &self.obstacles {
            page.text.put(Tone::Bad, format!("  {:<12}", obstacle.code)).line(&obstacle.message);
            page.text.line(format!("              → {}", obstacle.command));
        }
        if let Some(backup) = self.backup.as_ref().filter(|_| self.written) {
            page.text.line(format!("A backup is in {backup}"));
        }
        if !self.left_out.is_empty() {
            page.text.put(Tone::Warn, format!("Not copied: {}", plural(self.left_out.len(), "file"))).end();
        }
        if let Some(undo) = self.undo.as_ref().filter(|_| !page.quiet) {
            page.text.line(format!("To take it back: {undo}"));
        }
        if let Some(next) = self.next.as_ref().filter(|_| !page.quiet) {
            page.text.line(format!("→ {next}"));
        }
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
