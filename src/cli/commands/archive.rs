//! `archive`, of a run or of all that have ended.

use super::prelude::*;
use crate::{
    cli::render::patch::suggested,
    model::{human_age, plural},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Archive {
    #[command(flatten)]
    run: RunArg,
    /// Archive every run that has ended, and leftovers: temporary files, dead locks, copies without an original
    #[arg(long, conflicts_with = "run")]
    all: bool,
    /// With --all: minimum age
    #[arg(long, value_name = "DAYS", default_value_t = 30, requires = "all", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    after: u32,
    /// Archive although steps are open; with --all: archive instead of listing
    #[arg(short, long)]
    yes: bool,
}

impl Command for Archive {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        match self.all {
            true => call.answer(ops::cleanup(&call.project(None)?, self.after, self.yes)),
            false => call.answer(ops::archive(&call.project(self.run.name())?, self.yes)),
        }
    }
}

impl Shown for ops::ArchiveReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        page.text.put(Tone::Good, "✅ ").plain(format!("{} is archived in {}", self.run, self.to)).end();
        if !page.quiet {
            let again = if self.next.starts_with("piton start ") { "   # begin it again" } else { "" };
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
