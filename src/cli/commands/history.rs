//! `history`.

use super::prelude::*;
use crate::{
    cli::render::text_page::{decided, reported},
    model::{Suggested, Verb, clean_line, plural},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct History {
    #[command(flatten)]
    run: RunArg,
    /// Also show what each change did to the steps, and who made it
    #[arg(long)]
    changes: bool,
}

impl Command for History {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::history(&call.project(self.run.name())?, self.changes))
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("history", self.run.name(), None))
    }
}

impl Shown for ops::HistoryReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.checkpoints.is_empty() {
            page.text.line(format!("{} has no earlier checkpoints.", self.run));
        }
        for checkpoint in &self.checkpoints {
            let at = checkpoint.at.map_or_else(String::new, |at| at.to_string());
            let step = checkpoint.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
            let when = checkpoint.replaced_by.as_ref().map(|change| format!("before {change}{step}"));
            let when = when.unwrap_or_else(|| "as recorded last; another program changed it since".to_owned());
            page.text.bold(&checkpoint.id).plain(format!("  {when}, {at}"));
            let size = || plural(checkpoint.files.len(), "file");
            page.text.dim(format!("  {}", checkpoint.what.clone().unwrap_or_else(size))).end();
            let session = checkpoint.session.as_deref().map(|session| clean_line(session, 8));
            let agent = checkpoint.agent.as_deref().map(|agent| clean_line(agent, 60));
            let who = [agent, session.map(|session| format!("session {session}"))];
            let who: Vec<String> = who.into_iter().flatten().collect();
            if !who.is_empty() {
                page.text.line(format!("        by {}", who.join(", ")));
            }
            for change in checkpoint.changes.iter().flatten() {
                page.text.line(format!("        {}", clean_line(change, 120)));
            }
            let said = checkpoint.report.iter().map(reported).chain(checkpoint.decision.iter().map(decided));
            for line in said.collect::<Vec<String>>().iter().flat_map(|said| said.lines()) {
                page.text.line(format!("        {line}"));
            }
        }
        for report in &self.late {
            page.text.line(format!("late, {}", report.at));
            for line in reported(report).lines() {
                page.text.line(format!("        {line}"));
            }
        }
        if !self.checkpoints.is_empty() && !page.quiet {
            page.text.line(format!("→ {}", Suggested::of(Verb::Restore, &self.run).option("to", "CHECKPOINT")));
        }
    }
}
