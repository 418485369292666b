//! `repair`.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::output;
use crate::cli::render;
use crate::cli::shared_args::RunArg;
use crate::ops;
use crate::ops::Confirmation;
use crate::ops::Exit;
use crate::ops::RepairRequest;

#[derive(Debug, Args)]
pub(in crate::cli) struct Repair {
    #[command(flatten)]
    run: RunArg,
    /// Rebuild the state from stories, artifacts, gates, summaries and commits, and show the source of each value
    #[arg(long)]
    from_evidence: bool,
    /// Record that the branch of the run was renamed; nothing else of the state is replaced
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from_evidence", "yes"])]
    branch: Option<String>,
    /// Write the proposal without asking; the state it replaces is kept
    #[arg(short, long)]
    yes: bool,
}

impl Command for Repair {
    /// Proposes a repair, and asks for consent when a person is at the terminal. End of input is never consent.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.name())?;
        if let Some(branch) = &self.branch {
            return call.answer(ops::record_branch(&ctx, branch));
        }
        let confirmation = if self.yes { Confirmation::Any } else { Confirmation::None };
        let mut request = RepairRequest { from_evidence: self.from_evidence, confirmation };
        let report = ops::repair(&ctx, &request)?;
        let prompt = ops::repair_prompt(&report).filter(|_| call.can_ask());
        let Some((question, digest)) = prompt else { return call.answer(Ok(report)) };
        output::say(&render::text(&report, false, false))?;
        if !output::agrees(&question)? {
            return call.answer(Ok(report));
        }
        request.confirmation = Confirmation::Digest(digest);
        call.answer(ops::repair(&ctx, &request))
    }
}
