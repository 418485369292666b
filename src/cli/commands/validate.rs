//! `validate`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::hook::CalledVerb;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Validate {
    /// A run or state files (default: every run of the project)
    #[arg(value_name = "RUN|FILE")]
    targets: Vec<String>,
}

impl Command for Validate {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::validate(&call.request(None), &self.targets))
    }

    fn called(&self) -> Option<CalledVerb> {
        let all = Some(CalledVerb::of_all("validate"));
        all.filter(|_| self.targets.is_empty())
    }
}
