//! `pause`, `abort` and `complete`: what is said about the whole run.

use super::prelude::*;
use crate::{cli::shared_args::NamedRun, model::ChangeKind, ops::ChangeRequest};

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
    /// Abort without asking, which is the rule: accepted as by every verb that takes something away
    #[arg(short, long)]
    yes: bool,
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
