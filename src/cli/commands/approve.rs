//! `approve`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::Target;
use crate::cli::shared_args::step_id;
use crate::model::ChangeKind;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Approve {
    /// The gate's step id, as shown by `piton plan`
    #[arg(required_unless_present = "json")]
    step: Option<String>,
    /// The person who approved
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Their comment
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// Number of phases in the approved plan, for systems that record it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: Option<u32>,
    #[command(flatten)]
    target: Target,
}

impl Command for Approve {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let change = self.target.change("approve", || {
            let (by, note) = (self.by.clone(), self.note.clone());
            Ok(ChangeKind::Approve { step: step_id(self.step.as_ref()), by, note, phases: self.phases })
        })?;
        call.change(self.target.run.as_ref(), change)
    }
}
