//! `schema`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::ops;
use crate::ops::Exit;
use crate::published;

#[derive(Debug, Args)]
pub(in crate::cli) struct Schema {
    /// Name of the schema (default: list all names)
    name: Option<String>,
}

impl Command for Schema {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::schema(&published::schemas(), self.name.as_deref()))
    }
}
