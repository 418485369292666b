//! `pause`.

use super::prelude::*;
use crate::{cli::shared_args::RunArg, model::ChangeKind, ops::ChangeRequest};

#[derive(Debug, Args)]
pub(in crate::cli) struct Pause {
    #[command(flatten)]
    run: RunArg,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    if_revision: Option<String>,
}

impl Command for Pause {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let kind = ChangeKind::Pause { reason: self.note.clone() };
        let if_revision = self.if_revision.clone();
        call.change(self.run.name(), ChangeRequest { if_revision, ..ChangeRequest::of(kind) })
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("pause", self.run.name(), None))
    }
}
