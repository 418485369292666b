//! `status`.

use super::prelude::*;
use crate::cli::{output::Text, render::markdown::celled, shared_args::Judged};

#[derive(Debug, Args)]
pub(in crate::cli) struct Status {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    judged: Judged,
}

impl Command for Status {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(self.judged.report(ops::status(&call.project(self.run.name())?)))
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("status", self.run.name(), None))
    }
}

impl Shown for ops::StatusReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        page.text.bold("Where you are  ").line(&self.where_you_are);
        if let Some(cause) = &self.cause {
            page.text.bold("Cut off by     ").line(format!("{}: {}", cause.kind.as_str(), cause.detail));
        }
        page.text.bold("What's stale   ").line(&self.what_is_stale);
        if let Some(advice) = &self.advice {
            page.text.bold("First          ").line(advice);
        }
        page.text.bold("Next command   ").line(self.next_command.to_string());
        if page.verbose {
            page.said(&self.reports, &self.decisions);
        }
    }

    fn lists(&self, _: &Finding, _: bool) -> bool {
        false
    }

    fn markdown(&self, _: &[Finding]) -> String {
        let mut text = Text::default();
        text.line(format!("| {} | |", celled(self.run.as_str()))).line("| --- | --- |");
        for (name, value) in [
            ("Where you are", self.where_you_are.as_str()),
            ("Verdict", self.verdict.as_str()),
            ("What's stale", &self.what_is_stale),
            ("Next command", &format!("`{}`", self.next_command)),
        ] {
            text.line(format!("| {name} | {} |", celled(value)));
        }
        text.plain_text()
    }
}
