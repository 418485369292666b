//! `close`: ends one run, or archives all that have ended; with the question before work is lost.

use super::prelude::*;
use crate::{
    cli::{output, render::patch::suggested, screen::Screen, shared_args::RunArg},
    model::{Suggested, Verb, human_age, plural},
    ops::Ending,
    runner::{self, ResumeOptions, ResumeRequest, RunEnd},
};

#[derive(Debug, Args)]
#[command(after_help = "\
  piton close user-auth             a run that is over: archives it
  piton close user-auth --abort     ends a run as it is, and archives it
  piton close session-2 --discard   its worktree and branch go too; lists what is lost, and asks
  piton close --all                 lists what has ended; --yes archives it

`piton restore RUN` brings back what was archived.")]
pub(in crate::cli) struct Close {
    #[command(flatten)]
    run: RunArg,
    /// Its work is in: record that the whole run is over, and archive it (default for a run that is over)
    #[arg(long)]
    done: bool,
    /// End the run as it is, also one that cannot be read, and archive it
    #[arg(long, conflicts_with = "done")]
    abort: bool,
    /// End a run of a workflow file, remove its worktree and branch, and archive its records
    #[arg(long, conflicts_with_all = ["done", "abort"])]
    discard: bool,
    /// The person who decided
    #[arg(long, value_name = "NAME", requires = "abort")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["discard", "all"])]
    note: Option<String>,
    /// With --discard: show what would be done, without doing it
    #[arg(long, requires = "discard")]
    dry_run: bool,
    /// Close every run that has ended, and archive leftovers: temporary files, dead locks, copies without an original
    #[arg(long, conflicts_with_all = ["run", "named", "done", "abort", "discard"])]
    all: bool,
    /// With --all: minimum age
    #[arg(long, value_name = "DAYS", default_value_t = 30, requires = "all", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    after: u32,
    /// Agree: to lose work with --discard; with --done that steps are open (never a gate or a review) or its work is not merged;
    /// with --all to archive instead of listing
    #[arg(short, long)]
    yes: bool,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R", conflicts_with_all = ["discard", "all"])]
    if_revision: Option<String>,
}

impl Command for Close {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        if self.all {
            return call.answer(ops::cleanup(&call.project(None)?, self.after, self.yes));
        }
        let ctx = call.project(self.run.name())?;
        if self.discard {
            return self.discard(&ctx, call);
        }
        let ending = match (self.done, self.abort) {
            (true, _) => Some(Ending::Done),
            (false, true) => Some(Ending::Abort),
            (false, false) => None,
        };
        let request = ops::CloseRequest {
            ending,
            by: self.by.clone(),
            note: self.note.clone(),
            yes: self.yes,
            if_revision: self.if_revision.clone(),
        };
        call.answer(ops::close(&ctx, request))
    }
}

impl Close {
    /// Shows what would be lost and asks for consent. End of input is never consent.
    fn discard(&self, ctx: &ops::ProjectContext, call: &Call<'_>) -> Result<Exit, CommandError> {
        let asked = Suggested::new(Verb::Close).flag("discard");
        let asked = if self.yes { asked.yes() } else { asked };
        let location = ops::run_to_discard(ctx, &asked)?;
        let planned = ops::discard(ctx, &location, true)?;
        if self.dry_run {
            return call.answer(Ok(planned));
        }
        let id = &planned.body.run;
        let Some(would) = &planned.body.discarded else { return call.answer(Ok(planned)) };
        let first = first(would).map(|first| format!("; {first}")).unwrap_or_default();
        let question = format!("Discard {id} ({}){}{first}? [y/N]", would.progress, lost(would));
        if self.yes || (call.can_ask() && output::agrees(&question)?) {
            if !would.at_end.is_empty()
                && let Some(exit) = self.run_at_end(&location, call)?
            {
                return Ok(exit);
            }
            return call.answer(ops::discard(ctx, &location, false));
        }
        let discard = Suggested::of(Verb::Close, id).flag("discard");
        let hints = [discard.clone().flag("dry-run").into(), format!("to agree: `{}`", discard.yes()).into()];
        let message = format!("not confirmed to discard {id}{}; nothing was done", lost(would));
        Err(ops::OpError::NotConfirmed { message, hints: hints.to_vec() }.into())
    }

    /// Runs the steps of its `at_end`; returns how that ended, unless all are done.
    fn run_at_end(&self, location: &ops::RunLocation, call: &Call<'_>) -> Result<Option<Exit>, CommandError> {
        let Some(run) = location.own_run() else { return Ok(None) };
        let screen = Screen::of(call.global, false);
        let asked = ResumeOptions { gives_up: true, yes: self.yes, ..ResumeOptions::default() };
        let ended = runner::resume(&ResumeRequest::new(call.global.now.as_ref(), run, asked), &screen);
        let is_done = ended.as_ref().is_ok_and(|result| matches!(result.end, RunEnd::Stepped { .. }));
        Ok((!is_done).then(|| screen.end(ended)))
    }
}

/// Names the steps that run before the run is discarded.
fn first(report: &ops::Discarded) -> Option<String> {
    let steps: Vec<&str> = report.at_end.iter().map(|step| step.as_str()).collect();
    (!steps.is_empty()).then(|| format!("first runs {}", steps.join(", ")))
}

fn lost(report: &ops::Discarded) -> String {
    report.lost.in_words().map(|lost| format!(" with {lost}")).unwrap_or_default()
}

/// Names what is removed with a run.
fn removed(page: &mut Page, report: &ops::Discarded) {
    let gone = if report.dry_run { "to be removed" } else { "removed" };
    if let Some(first) = first(report).filter(|_| report.dry_run) {
        page.text.line(format!("   {first}"));
    }
    let worktree = report.worktree.as_ref().map(|folder| format!("worktree {folder}"));
    let branch = report.branch.as_ref().map(|branch| format!("branch {branch}"));
    let parts: Vec<String> = [worktree, branch].into_iter().flatten().collect();
    if !parts.is_empty() {
        page.text.line(format!("   {gone}: {}", parts.join(", ")));
    }
    for branch in &report.item_branches {
        page.text.line(format!("   {gone}: branch {branch} of an item, with its worktree"));
    }
}

impl Shown for ops::CloseReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let said = self.message.as_ref().map(|message| format!("{}: {message}", self.run));
        let said = self.discarded.as_ref().map_or(said, |gone| {
            let verb = if gone.dry_run { "would be discarded" } else { "is discarded" };
            Some(format!("{} {verb}{}", self.run, lost(gone)))
        });
        let said = match (&self.to, said) {
            (Some(to), None) => format!("{} is archived in {to}", self.run),
            (Some(to), Some(said)) => format!("{said}; archived in {to}"),
            (None, said) => said.unwrap_or_else(|| format!("{} has ended; a worktree is left of it", self.run)),
        };
        let is_shown = self.discarded.as_ref().is_some_and(|gone| gone.dry_run);
        page.text.put(Tone::Good, if is_shown { "" } else { "✅ " }).plain(said).end();
        if let Some(gone) = &self.discarded {
            removed(page, gone);
        }
        if !page.quiet && !is_shown {
            let again = if self.next.verb() == Some(Verb::Start) { "   # begin it again" } else { "" };
            page.text.line(format!("→ {}{again}", self.next));
            if let Some(restore) = &self.restore {
                page.text.line(format!("→ {restore}   # bring it back"));
            }
            if let Some(start) = &self.start {
                page.text.line(format!("To begin again, {start}."));
            }
        }
        if let Some(patch) = &self.patch {
            suggested(page, &self.run, patch);
        }
    }
}

impl Shown for ops::CleanupReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.items.is_empty() {
            page.text.line(format!(
                "No finished run or leftover file is older than {}.",
                plural(self.after_days as usize, "day")
            ));
        }
        for item in &self.items {
            let age = human_age(item.age_seconds);
            match (&item.to, &item.problem) {
                (Some(to), _) => page.text.put(Tone::Good, "✅ ").line(format!("{} is in {to}", item.path)),
                (None, Some(problem)) => {
                    page.text.put(Tone::Bad, "✗  ").line(format!("{} is kept: {problem}", item.path))
                }
                (None, None) if item.removes && self.written => {
                    page.text.put(Tone::Good, "✅ ").line(format!("{} is removed", item.path))
                }
                (None, None) => page.text.plain("   ").line(format!("{}: {}, {age} old", item.path, item.why)),
            };
        }
        if let Some(next) = self.next.as_ref().filter(|_| !page.quiet) {
            page.text.line(format!("→ {next}"));
        }
    }
}
