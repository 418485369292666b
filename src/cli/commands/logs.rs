//! `logs`: what the steps of a session printed, once or as it comes.

use std::time::Duration;

use super::prelude::*;
use crate::{
    cli::{
        format::Format,
        output::{self, Text},
    },
    runner::{self, Signals, Stop},
};

/// How often a running session is asked for more.
const TICK: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
#[command(after_help = "\
  piton logs                      all steps of the newest session
  piton logs session-2026 test    one step, with those inside it
  piton logs -f                   what comes, until the session ends")]
pub(in crate::cli) struct Logs {
    /// Session id, or an unambiguous part of it (default: the newest)
    #[arg(value_name = "RUN")]
    id: Option<String>,
    /// Only this step
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Print what is logged until the session ends
    #[arg(short, long)]
    follow: bool,
}

impl Command for Logs {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.id.as_ref())?;
        let location = ops::workflow_run(&ctx)?;
        let wanted = (&location, self.step.as_deref());
        let mut positions = ops::LogPositions::new();
        let first = ops::logs(&ctx, wanted, &mut positions)?;
        if !self.follow {
            return call.answer(Ok(first));
        }
        if call.global.format.is_some_and(|format| format != Format::Text) {
            return Err(CommandError::usage("--follow prints text; use it without --format"));
        }
        let signals = Signals::listen_for_screen()?;
        let (mut report, mut shown) = (first, None);
        loop {
            let mut text = Text::default();
            print(&mut text, &report.body, &mut shown);
            output::print_text(&text)?;
            if !report.body.is_running {
                return Ok(Exit::Ok);
            }
            match runner::pause(TICK, &signals) {
                None => {}
                Some(Stop::HangUp) => return Ok(Exit::HungUp),
                Some(Stop::Interrupt) => return Ok(Exit::Interrupted),
                Some(Stop::Terminate) => return Ok(Exit::Terminated),
            }
            report = ops::logs(&ctx, wanted, &mut positions)?;
        }
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("logs", self.id.as_ref(), None))
    }
}

/// Adds the lines, with the name of the step where it changes.
fn print(text: &mut Text, report: &ops::LogsReport, shown: &mut Option<String>) {
    for log in &report.logs {
        if shown.as_ref() != Some(&log.file) {
            let attempt = if log.attempt > 1 { format!(", attempt {}", log.attempt) } else { String::new() };
            text.bold(format!("== {}{attempt}", log.step)).dim(format!("  {}", log.file)).end();
            *shown = Some(log.file.clone());
        }
        for line in &log.lines {
            text.line(line);
        }
    }
}

impl Shown for ops::LogsReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.logs.is_empty() {
            page.text.line(match &self.step {
                Some(step) => format!("{step} printed nothing."),
                None => format!("{} has no log: its steps printed nothing.", self.session),
            });
        }
        print(&mut page.text, self, &mut None);
    }
}
