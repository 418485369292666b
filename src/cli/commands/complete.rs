//! `complete`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::NamedRun;
use crate::model::ChangeKind;
use crate::ops::ChangeRequest;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Complete {
    #[command(flatten)]
    run: NamedRun,
    /// A closing note
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    note: Option<String>,
    /// Complete the run although steps are open; never over an open gate or review
    #[arg(long)]
    force: bool,
}

impl Command for Complete {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let kind = ChangeKind::Complete { note: self.note.clone() };
        call.change(self.run.name(), ChangeRequest { force: self.force, ..ChangeRequest::of(kind) })
    }
}
