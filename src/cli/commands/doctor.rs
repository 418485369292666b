//! `doctor`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Doctor;

impl Command for Doctor {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(Ok(ops::doctor(&call.request(None))))
    }
}
