//! `status`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::Answer;
use crate::cli::shared_args::RunArg;
use crate::hook::CalledVerb;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Status {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    answer: Answer,
}

impl Command for Status {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::status(&call.project(self.run.name())?))
    }

    fn exit_zero(&self) -> bool {
        self.answer.exit_zero
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("status", self.run.name(), None))
    }
}
