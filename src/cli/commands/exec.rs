//! `exec`: one step that is a command.

use super::prelude::*;
use crate::{
    cli::screen::Screen,
    ops::OpError,
    runner::{self, ResumeOptions, ResumeRequest},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Exec {
    /// The step id, as shown by `piton plan`
    #[arg(value_name = "STEP")]
    step: String,
    /// The run that the step is of (default: the only one)
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Run its probe without asking, if it is unknown whether it took effect
    #[arg(short, long)]
    yes: bool,
    /// Print events as JSON lines
    #[arg(long)]
    events: bool,
}

impl Command for Exec {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.as_ref())?;
        let location = ops::location(&ctx)?;
        let Some(run) = location.own_run() else {
            let message = format!("{} is no run of a workflow file: an agent does its steps", location.candidate.name);
            return Err(CommandError::usage(message));
        };
        let screen = Screen::of(call.global, self.events);
        if let Some((refusal, _)) = ops::held(&ctx, &location, Some(&self.step))? {
            return Ok(screen.refuse(&OpError::Refused(refusal).into()));
        }
        let asked = ResumeOptions { only: Some(self.step.clone()), yes: self.yes, ..ResumeOptions::default() };
        let request = ResumeRequest::new(call.global.now.as_ref(), run, asked);
        Ok(screen.end(runner::resume(&request, &screen)))
    }
}
