//! `skip`, of a step or of a phase.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::shared_args::Target;
use crate::cli::shared_args::step_id;
use crate::model::ChangeKind;
use crate::ops;
use crate::ops::Exit;

#[derive(Debug, Args)]
pub(in crate::cli) struct Skip {
    /// The step id, as shown by `piton plan`
    #[arg(required_unless_present_any = ["json", "phase"])]
    step: Option<String>,
    /// Leave out every open step of a phase, its gate and reviews too (nine-step)
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["step", "part", "json", "if_revision"])]
    phase: Option<u32>,
    /// The reason
    #[arg(
        long,
        visible_alias = "note",
        value_name = "T",
        required_unless_present = "json",
        allow_hyphen_values = true
    )]
    reason: Option<String>,
    /// The person who decided
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Command for Skip {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let (run, by) = (self.target.run.as_ref(), self.by.clone());
        let reason = self.reason.clone().unwrap_or_default();
        if let Some(phase) = self.phase {
            return call.answer(ops::skip_phase(&call.project(run)?, phase, by.as_deref(), &reason));
        }
        let (step, part) = (step_id(self.step.as_ref()), self.part.clone());
        call.change(run, self.target.change("skip", || Ok(ChangeKind::Skip { step, part, by, reason }))?)
    }
}
