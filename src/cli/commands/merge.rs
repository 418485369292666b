//! `merge` and `drop`: what becomes of the work of a session, and the question before anything is lost.

use super::prelude::*;
use crate::{
    cli::{output, screen::Screen},
    model::quoted,
    runner::{self, MergeStyle, ResumeOptions, ResumeRequest, RunEnd},
};

#[derive(Debug, Args)]
#[command(after_help = "\
  piton merge session-20260131t1200            the branch it came from gets its work
  piton merge session-20260131t1200 --squash   as one commit
  piton merge session-20260131t1200 --branch add-login   a branch to push, for a pull request")]
pub(in crate::cli) struct Merge {
    /// Session id, or an unambiguous part of it (default: the only run that can be merged)
    #[arg(value_name = "RUN")]
    id: Option<String>,
    /// Put the work on the base branch as one commit
    #[arg(long, conflicts_with = "branch")]
    squash: bool,
    /// Merge nothing: give the work a branch of this name
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Merge without asking
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Drop {
    /// Session id, or an unambiguous part of it (default: the only run that can be dropped)
    #[arg(value_name = "RUN")]
    id: Option<String>,
    /// Lose what is not committed and commits that are not merged
    #[arg(long)]
    discard: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    dry_run: bool,
    /// Drop without asking
    #[arg(short, long)]
    yes: bool,
}

impl Command for Merge {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let style = match (&self.branch, self.squash) {
            (Some(name), _) => MergeStyle::Branch(name.clone()),
            (None, true) => MergeStyle::Squash,
            (None, false) => MergeStyle::Merge,
        };
        let ctx = call.project(self.id.as_ref())?;
        let flags = format!("{}{}", style.flags(), if self.yes { " --yes" } else { "" });
        let location = ops::run_to_merge(&ctx, &flags)?;
        location.check_writable()?;
        let (home, session) = location.own_run().expect("it is a run of a workflow file");
        let screen = Screen::of(call.global, false);
        let (now, home, session) = (call.global.now.clone(), home.to_owned(), session.to_owned());
        let request = runner::MergeRequest { now, home, session, style, yes: self.yes };
        Ok(screen.end(runner::merge(&request, &screen)))
    }
}

impl Command for Drop {
    /// Shows what would be lost and asks for consent. End of input is never consent.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.id.as_ref())?;
        let discard = if self.discard { " --discard" } else { "" };
        let location = ops::run_to_drop(&ctx, discard)?;
        let request = ops::DropRequest { discard: self.discard, dry_run: true };
        let planned = ops::drop_run(&ctx, &location, request)?;
        if self.dry_run {
            return call.answer(Ok(planned));
        }
        let would = &planned.body;
        let id = &would.run;
        let first = first(would).map(|first| format!("; {first}")).unwrap_or_default();
        let question = format!("Drop {id} ({}){}{first}? [y/N]", would.progress, lost(would));
        if self.yes || (call.can_ask() && output::agrees(&question)?) {
            if !would.finally.is_empty()
                && let Some(exit) = self.run_finally(&location, call)?
            {
                return Ok(exit);
            }
            return call.answer(ops::drop_run(&ctx, &location, ops::DropRequest { dry_run: false, ..request }));
        }
        let name = quoted(id.as_str());
        let hints = vec![format!("to agree: piton drop {name}{discard} --yes")];
        let message = format!("not confirmed to drop {id}; nothing was done");
        Err(ops::OpError::NotConfirmed { message, hints }.into())
    }
}

impl Drop {
    /// Runs the steps of its `finally`; returns how that ended, unless all are done.
    fn run_finally(&self, location: &ops::RunLocation, call: &Call<'_>) -> Result<Option<Exit>, CommandError> {
        let Some(run) = location.own_run() else { return Ok(None) };
        let screen = Screen::of(call.global, false);
        let asked = ResumeOptions { gives_up: true, yes: self.yes, ..ResumeOptions::default() };
        let ended = runner::resume(&ResumeRequest::new(call.global.now.as_ref(), run, asked), &screen);
        let is_done = ended.as_ref().is_ok_and(|result| matches!(result.end, RunEnd::Stepped { .. }));
        Ok((!is_done).then(|| screen.end(ended)))
    }
}

/// Names the steps that run before the session is dropped.
fn first(report: &ops::DropReport) -> Option<String> {
    let steps: Vec<&str> = report.finally.iter().map(|step| step.as_str()).collect();
    (!steps.is_empty()).then(|| format!("first runs {}", steps.join(", ")))
}

fn lost(report: &ops::DropReport) -> String {
    report.lost.in_words().map(|lost| format!(" with {lost}")).unwrap_or_default()
}

impl Shown for ops::DropReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let (mark, verb) = if self.dry_run { ("", "would be dropped") } else { ("✅ ", "is dropped") };
        page.text.put(Tone::Good, mark).bold(self.run.as_str());
        page.text.line(format!(" {verb}{}: records in {}", lost(self), self.records));
        if let Some(first) = first(self).filter(|_| self.dry_run) {
            page.text.line(format!("   {first}"));
        }
        let gone = if self.dry_run { "to be removed" } else { "removed" };
        let worktree = self.worktree.as_ref().map(|folder| format!("worktree {folder}"));
        let branch = self.branch.as_ref().map(|branch| format!("branch {branch}"));
        let parts: Vec<String> = [worktree, branch].into_iter().flatten().collect();
        if !parts.is_empty() {
            page.text.line(format!("   {gone}: {}", parts.join(", ")));
        }
        for branch in &self.item_branches {
            page.text.line(format!("   {gone}: branch {branch} of an item, with its worktree"));
        }
    }
}
