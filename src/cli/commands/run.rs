//! `run`: a workflow file, step by step.

use super::prelude::*;
use crate::{
    cli::{screen::Screen, shared_args::Allowed},
    runner::{self, ResumeOptions, ResumeRequest, StartRequest},
};

/// The heading of what only a new run takes.
const NEW: &str = "New runs";
/// The heading of what only the rest of a run takes.
const REST: &str = "Runs that Piton drives";

#[derive(Debug, Args)]
#[command(
    before_help = "\
  piton run release.yaml --input version=1.2.0   a new run, in its own worktree
  piton run spring                               the rest of a run, also of one that `piton start` began",
    after_help = "Inputs, steps and description of a workflow: `piton workflows NAME|FILE`; all workflows: `piton workflows`"
)]
pub(in crate::cli) struct Run {
    /// The workflow file, YAML or JSON (schema: `piton schema workflow`), its name in .claude/piton/ or piton/, or a run of one
    #[arg(value_name = "FILE|RUN")]
    file: String,
    /// Value of `${ARG}`; several are joined by spaces, and one that begins with `-` is written `--args=VALUE`
    #[arg(long, value_name = "VALUE", help_heading = NEW)]
    args: Vec<String>,
    /// An input of the workflow, NAME=VALUE; can be given several times
    #[arg(long = "input", value_name = "NAME=VALUE", help_heading = NEW)]
    inputs: Vec<String>,
    /// More values of `${ARG}`
    #[arg(value_name = "VALUES", last = true)]
    rest: Vec<String>,
    /// Run the steps in a worktree of their own (the default); it has what is committed, not uncommitted changes
    #[arg(long, overrides_with = "no_worktree", help_heading = NEW)]
    worktree: bool,
    /// Run the steps in the project itself instead of a worktree
    #[arg(long, overrides_with = "worktree", help_heading = NEW)]
    no_worktree: bool,
    /// Take the uncommitted changes of the project along into the worktree, as uncommitted ones; untracked files are left out
    #[arg(long, conflicts_with = "no_worktree", help_heading = NEW)]
    carry_changes: bool,
    /// Run up to N steps at the same time, those that do not depend on each other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Stop when this step is done, with exit 0
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    until: Option<String>,
    /// Run this step and no other, as `piton exec` does
    #[arg(long, value_name = "STEP", conflicts_with_all = ["from", "skip", "force"])]
    only: Option<String>,
    /// Run steps that are up to date, too (`skip_if_unchanged`)
    #[arg(long)]
    always_run: bool,
    /// Repeat this finished step and everything after it
    #[arg(long, value_name = "STEP", help_heading = REST)]
    from: Option<String>,
    /// Skip a step; can be given several times
    #[arg(long, value_name = "STEP", help_heading = REST)]
    skip: Vec<String>,
    /// Run the items of `foreach` that failed again, and what builds on them
    #[arg(long, conflicts_with_all = ["from", "force", "until", "only"], help_heading = REST)]
    failed: bool,
    /// Start over from the first step (it asks first)
    #[arg(long, help_heading = REST)]
    force: bool,
    /// Merge at the end without asking, and remove the worktree if everything in it is committed
    #[arg(short, long)]
    yes: bool,
    /// Print events as JSON lines
    #[arg(long)]
    events: bool,
    /// Check the file and show what would be run, with texts, conditions and the most it may cost; nothing is run or written
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    allowed: Allowed,
}

impl Command for Run {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let screen = Screen::of(call.global, self.events);
        let file = self.named_file(call);
        if let Some(location) = self.named_run(call, file.is_some())? {
            return self.go_on(&location, call, &screen);
        }
        if self.from.is_some() || !self.skip.is_empty() || self.force || self.failed || self.allowed.given().is_some() {
            let flags = "--from, --skip, --failed, --force, --accept-edits and --over-limits";
            let message = format!("{} is no run: {flags} are for one", self.file);
            return Err(CommandError::usage(message));
        }
        let start = StartRequest {
            project: call.global.project.clone(),
            now: call.global.now.clone(),
            file: file.unwrap_or_else(|| self.file.clone()),
            args: self.args.iter().chain(&self.rest).cloned().collect(),
            inputs: self.inputs.clone(),
            in_place: self.no_worktree,
            carries_changes: self.carry_changes,
            jobs: usize::from(self.jobs),
            until: self.until.clone(),
            only: self.only.clone(),
            always_run: self.always_run,
            yes: self.yes,
            dry_run: self.dry_run,
        };
        Ok(screen.end(runner::run(&start, &screen)))
    }
}

impl Run {
    /// Returns the run of a workflow file that is named instead of a file.
    ///
    /// # Errors
    ///
    /// If several runs fit, or the repository of the run is gone, and no file is meant.
    fn named_run(&self, call: &Call<'_>, has_file: bool) -> Result<Option<ops::RunLocation>, CommandError> {
        if ops::is_workflow_path(&self.file) {
            return Ok(None);
        }
        let Ok(ctx) = call.project(Some(&self.file)) else { return Ok(None) };
        match ops::location(&ctx) {
            Ok(location) if location.own_run().is_some() && ops::is_run(&ctx, &location, &self.file) => {
                Ok(Some(location))
            }
            Err(error @ (ops::OpError::Ambiguous { .. } | ops::OpError::Refused(_))) if !has_file => Err(error.into()),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Returns the path of the workflow file that is named.
    fn named_file(&self, call: &Call<'_>) -> Option<String> {
        if ops::is_workflow_path(&self.file) {
            return None;
        }
        let ctx = call.project(None).ok()?;
        ops::workflow_path(&ctx.project, &self.file).map(|path| path.into_string())
    }

    /// Runs the rest of a run.
    fn go_on(&self, location: &ops::RunLocation, call: &Call<'_>, screen: &Screen) -> Result<Exit, CommandError> {
        let Some((home, session)) = location.own_run() else { return Ok(Exit::No) };
        if !(self.args.is_empty() && self.inputs.is_empty() && self.rest.is_empty())
            || self.no_worktree
            || self.worktree
            || self.carry_changes
        {
            let message = format!("{session} is a run: its arguments, inputs and worktree stay as it was begun");
            return Err(CommandError::usage(message));
        }
        let asked = ResumeOptions {
            is_new: false,
            from: self.from.clone(),
            skip: self.skip.clone(),
            failed: self.failed,
            jobs: usize::from(self.jobs),
            until: self.until.clone(),
            only: self.only.clone(),
            gives_up: false,
            always_run: self.always_run,
            force: self.force,
            accept_edits: self.allowed.accept_edits,
            over_limits: self.allowed.over_limits,
            yes: self.yes,
            dry_run: self.dry_run,
        };
        let request = ResumeRequest::new(call.global.now.as_ref(), (home, session), asked);
        Ok(screen.end(runner::resume(&request, screen)))
    }
}
