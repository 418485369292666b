//! `history`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::RunArg;
use crate::hook::CalledVerb;
use crate::ops;
use crate::ops::Exit;

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
