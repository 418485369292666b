//! `archive`, of a run or of all that have ended.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::RunArg;
use crate::ops;
use crate::ops::Exit;

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
