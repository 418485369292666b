//! `list`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::Answer;
use crate::hook::CalledVerb;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    /// Include runs that are complete, aborted or archived
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    answer: Answer,
}

impl Command for List {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::list(&call.project(None)?, self.all))
    }

    fn exit_zero(&self) -> bool {
        self.answer.exit_zero
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_all("list"))
    }
}
