//! `run`: a workflow file, step by step.

use super::prelude::*;
use crate::{
    cli::screen::Screen,
    model::{Suggested, Verb},
    runner::{self, StartRequest},
};

#[derive(Debug, Args)]
#[command(
    before_help = "\
  piton run release.yaml --input version=1.2.0   a new run, in its own worktree
  piton run nightly                              the same, by the name of its file",
    after_help = "The rest of a run: `piton resume RUN`. Inputs, steps and description of a workflow: `piton workflows NAME|FILE`; all workflows: `piton workflows`"
)]
pub(in crate::cli) struct Run {
    /// The workflow file, YAML or JSON (schema: `piton schema workflow`), or its name in .claude/piton/ or piton/
    #[arg(value_name = "FILE|NAME")]
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
    /// Run the steps in a worktree of their own (the default); it has what is committed, not uncommitted changes
    #[arg(long, overrides_with = "no_worktree")]
    worktree: bool,
    /// Run the steps in the project itself instead of a worktree
    #[arg(long, overrides_with = "worktree")]
    no_worktree: bool,
    /// Take the uncommitted changes of the project along into the worktree, as uncommitted ones; untracked files are left out
    #[arg(long, conflicts_with = "no_worktree")]
    carry_changes: bool,
    /// Run up to N steps at the same time, those that do not depend on each other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Stop when this step is done, with exit 0
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    until: Option<String>,
    /// Run this step and no other, as `piton exec` does
    #[arg(long, value_name = "STEP")]
    only: Option<String>,
    /// Merge at the end without asking, and remove the worktree if everything in it is committed
    #[arg(short, long)]
    yes: bool,
    /// Print events as JSON lines
    #[arg(long)]
    events: bool,
    /// Check the file and show what would be run, with texts, conditions and the most it may cost; nothing is run or written
    #[arg(long)]
    dry_run: bool,
}

impl Command for Run {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let screen = Screen::of(call.global, self.events);
        let start = StartRequest {
            project: call.global.project.clone(),
            now: call.global.now.clone(),
            file: self.path(call)?,
            args: self.args.iter().chain(&self.rest).cloned().collect(),
            inputs: self.inputs.clone(),
            in_place: self.no_worktree,
            carries_changes: self.carry_changes,
            jobs: usize::from(self.jobs),
            until: self.until.clone(),
            only: self.only.clone(),
            yes: self.yes,
            dry_run: self.dry_run,
        };
        Ok(screen.end(runner::run(&start, &screen)))
    }
}

impl Run {
    /// Returns the path of the workflow file that is named.
    ///
    /// # Errors
    ///
    /// If it is the name of a run.
    fn path(&self, call: &Call<'_>) -> Result<String, CommandError> {
        if ops::is_workflow_path(&self.file) {
            return Ok(self.file.clone());
        }
        let named = |ctx: ops::ProjectContext| ops::workflow_path(&ctx.project, &self.file);
        if let Some(path) = call.project(None).ok().and_then(named) {
            return Ok(path.into_string());
        }
        let located = call.project(Some(&self.file)).and_then(|ctx| ops::location(&ctx));
        let Some(command) = located.ok().as_ref().and_then(ops::RunLocation::rest) else {
            return Ok(self.file.clone());
        };
        let run = Suggested::new(Verb::Run);
        let message = format!("{} is a run, and `{run}` begins one from a workflow file", self.file);
        Err(ops::OpError::Usage { message, hints: vec![command.into()] }.into())
    }
}
