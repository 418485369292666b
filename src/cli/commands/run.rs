//! `run`: a workflow file, step by step.

use super::prelude::*;
use crate::cli::screen::Screen;
use crate::runner;
use crate::runner::StartRequest;

#[derive(Debug, Args)]
pub(in crate::cli) struct Run {
    /// The workflow file, YAML or JSON (schema: `piton schema workflow`)
    #[arg(value_name = "FILE")]
    file: String,
    /// Value of `${ARG}`; several are joined by spaces, and one that begins with `-` is written `--args=VALUE`
    #[arg(long, value_name = "VALUE")]
    args: Vec<String>,
    /// An input of the workflow, NAME=VALUE; can be given several times
    #[arg(long = "input", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// More values of `${ARG}`
    #[arg(value_name = "VALUES", last = true)]
    rest: Vec<String>,
    /// Run the steps in the project itself instead of a worktree
    #[arg(long)]
    no_worktree: bool,
    /// Merge at the end without asking, and remove the worktree if everything in it is committed
    #[arg(short, long)]
    yes: bool,
    /// Print events as JSON lines
    #[arg(long)]
    events: bool,
    /// Check the file and show what would be done, without doing it
    #[arg(long)]
    dry_run: bool,
}

impl Command for Run {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let screen = Screen::of(call.global, self.events);
        let start = StartRequest {
            project: call.global.project.clone(),
            now: call.global.now.clone(),
            file: self.file.clone(),
            args: self.args.iter().chain(&self.rest).cloned().collect(),
            inputs: self.inputs.clone(),
            in_place: self.no_worktree,
            yes: self.yes,
            dry_run: self.dry_run,
        };
        Ok(screen.end(runner::run(&start, &screen)))
    }
}
