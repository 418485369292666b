//! The global options, and arguments that several verbs take.

use clap::{Args, ValueEnum};

use super::{error::CommandError, format::Format};
use crate::{
    model::{ChangeKind, Mode, StepId},
    ops::{self, ChangeRequest, Exit, OpError},
};

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Global {
    /// Work in this project instead of the current folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) project: Option<String>,
    /// Output format: text for people, json for programs (default: PITON_FORMAT, else text on a terminal and json elsewhere)
    #[arg(long, global = true, value_enum)]
    pub(super) format: Option<Format>,
    /// How much to ask before continuing (default: PITON_MODE, else the mode the run was started in, else piton.toml, else interactive)
    #[arg(long, global = true, value_enum)]
    pub(super) mode: Option<ModeArg>,
    /// Plan as if it were this time (RFC 3339); for tests and reproducible plans
    #[arg(long, global = true, value_name = "RFC3339")]
    pub(super) now: Option<String>,
    /// Print results only, no hints
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Print more: the evidence behind each step
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeArg {
    /// Continue without asking when nothing blocks and the state is less than a day old
    Autopilot,
    /// Ask before continuing
    Interactive,
    /// Show every check and require the answer "proceed"
    Preflight,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Autopilot => Self::Autopilot,
            ModeArg::Interactive => Self::Interactive,
            ModeArg::Preflight => Self::Preflight,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct Judged {
    /// Exit with what the answer means, for scripts: 3 no run waits, 6 another process drives it, 9 a person must decide
    #[arg(long)]
    exit_code: bool,
}

impl Judged {
    /// Returns the report with the exit code that is wanted: an answer ends with 0 unless the flag is given. What could not be read, or was not
    /// so as asked, keeps its code.
    pub(super) fn report<B>(self, report: Result<ops::Report<B>, OpError>) -> Result<ops::Report<B>, OpError> {
        let exit = |exit| match exit {
            Exit::Person | Exit::Conflict | Exit::NotFound if !self.exit_code => Exit::Ok,
            exit => exit,
        };
        report.map(|report| ops::Report { exit: exit(report.exit), ..report })
    }
}

// What a person allows when Piton runs the rest of a run. As a doc comment this would replace that of the verb in its help.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Runs that Piton drives")]
pub(super) struct Allowed {
    /// Take the workflow file as it is now: finished steps that changed are done again
    #[arg(long)]
    pub(super) accept_edits: bool,
    /// Go on although a limit of the run is reached, and count anew from here
    #[arg(long)]
    pub(super) over_limits: bool,
}

#[derive(Debug, Default, Args)]
pub(super) struct RunArg {
    /// Run id, number from `piton list`, folder or branch of its worktree, or path of a project, worktree or state file (default: the only
    /// run)
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Same as RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    named: Option<String>,
}

impl RunArg {
    /// Returns the run as typed.
    pub(super) fn name(&self) -> Option<&String> {
        self.run.as_ref().or(self.named.as_ref())
    }
}

#[derive(Debug, Default, Args)]
pub(super) struct Target {
    /// The run, if several are open
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
    /// Read the change as JSON from standard input, in place of the other flags (schema: `piton schema change`)
    #[arg(long, value_name = "-")]
    pub(super) json: Option<String>,
}

impl Target {
    /// Returns the change that the flags of a verb say, or the one on standard input in their place.
    pub(super) fn change(
        &self,
        verb: &str,
        flags: impl FnOnce() -> Result<ChangeKind, CommandError>,
    ) -> Result<ChangeRequest, CommandError> {
        let kind = match &self.json {
            Some(source) => ChangeRequest::from_json(&ops::input(source)?, verb)?,
            None => flags()?,
        };
        Ok(ChangeRequest { if_revision: self.if_revision.clone(), ..ChangeRequest::of(kind) })
    }
}

/// Returns the id of a step as typed.
pub(super) fn step_id(step: Option<&String>) -> StepId {
    StepId::new(step.cloned().unwrap_or_default())
}
