//! `demo`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Demo {
    /// Keep the scratch project and print its path
    #[arg(long)]
    keep: bool,
}

impl Command for Demo {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::demo(self.keep))
    }
}
