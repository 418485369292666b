//! `restore`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::RunArg;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Restore {
    #[command(flatten)]
    run: RunArg,
    /// The checkpoint, from `piton history` (default: the newest readable one)
    #[arg(long, value_name = "CHECKPOINT")]
    to: Option<String>,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
}

impl Command for Restore {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::restore(&call.project(self.run.name())?, self.to.as_deref(), self.yes))
    }
}
