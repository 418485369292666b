//! `pause` and `abort`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::NamedRun;
use crate::hook::CalledVerb;
use crate::model::ChangeKind;
use crate::ops::ChangeRequest;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Pause {
    #[command(flatten)]
    run: NamedRun,
    /// The reason
    #[arg(long, visible_alias = "note", value_name = "T", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    if_revision: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Abort {
    #[command(flatten)]
    pause: Pause,
    /// The person who decided
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl Command for Pause {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        self.change(ChangeKind::Pause { reason: self.reason.clone() }, call)
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("pause", self.run.name(), None))
    }
}

impl Command for Abort {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        self.pause.change(ChangeKind::Abort { by: self.by.clone(), reason: self.pause.reason.clone() }, call)
    }
}

impl Pause {
    fn change(&self, kind: ChangeKind, call: &Call<'_>) -> Result<Exit, CommandError> {
        let if_revision = self.if_revision.clone();
        call.change(self.run.name(), ChangeRequest { if_revision, ..ChangeRequest::of(kind) })
    }
}
