//! `rollback`, with the questions to a person and what the answers mean.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::output;
use crate::cli::render;
use crate::cli::shared_args::NamedRun;
use crate::model::ChangeKind;
use crate::ops;
use crate::ops::Body;
use crate::ops::ChangeRequest;
use crate::ops::Exit;
use crate::ops::Report;
use crate::ops::RollbackRequest;

#[derive(Debug, Args)]
pub(in crate::cli) struct Rollback {
    #[command(flatten)]
    run: NamedRun,
    /// Where to go back to: the end of a phase (0: the beginning), before a step, a checkpoint of `piton history`, a commit (at
    /// least 7 digits), or `last`: the end of the phase before the latest one begun, else the newest checkpoint. Where a name is
    /// ambiguous, write `phase:2`, `step:2`, `checkpoint:000002` or `commit:SHA` (default: list the targets)
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// The reason; kept in the log of rollbacks, and in the state if its format has a field for it
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Write without asking; git commands are only printed, never run
    #[arg(short, long)]
    yes: bool,
    /// Allow a fourth rollback to the same point, and the rollback of an aborted run
    #[arg(long)]
    force: bool,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    if_revision: Option<String>,
    /// Read target and reason as JSON from standard input (schema: `piton schema change`)
    #[arg(long, value_name = "-", conflicts_with_all = ["to", "reason"])]
    json: Option<String>,
}

impl Command for Rollback {
    /// Proposes a rollback, and asks for consent when a person is at the terminal. End of input is never consent.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.name())?;
        let mut request = self.request()?;
        let mut report = ops::rollback(&ctx, &request)?;
        if call.can_ask() && has_targets(&report) {
            output::say(&render::text(&report, false, true))?;
            request.to = output::ask("Roll back to which? (empty: none)")?.filter(|answer| !answer.trim().is_empty());
            if request.to.is_none() {
                return call.answer(Ok(report));
            }
            report = ops::rollback(&ctx, &request)?;
        }
        let prompt = ops::rollback_prompt(&report).filter(|_| call.can_ask());
        let Some((question, revision)) = prompt else { return call.answer(Ok(report)) };
        output::say(&render::text(&report, false, true))?;
        if !output::agrees(&question)? {
            return call.answer(Ok(report));
        }
        (request.yes, request.if_revision) = (true, Some(revision));
        call.answer(ops::rollback(&ctx, &request))
    }
}

impl Rollback {
    fn request(&self) -> Result<RollbackRequest, CommandError> {
        let (to, reason) = match &self.json {
            None => (self.to.clone(), self.reason.clone()),
            Some(source) => match ChangeRequest::from_json(&ops::input(source)?, "rollback")? {
                ChangeKind::RollBack(wanted) => (Some(wanted.to), wanted.reason),
                _ => return Err(CommandError::usage("the change is not a rollback")),
            },
        };
        let (yes, force, if_revision) = (self.yes, self.force, self.if_revision.clone());
        Ok(RollbackRequest { to, reason, yes, force, if_revision })
    }
}

fn has_targets(report: &Report) -> bool {
    matches!(&report.body, Body::Rollback(rollback) if !rollback.targets.is_empty())
}
