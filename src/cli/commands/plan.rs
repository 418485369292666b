//! `plan`, with the flags that `resume` takes too.

use super::prelude::*;
use crate::{cli::shared_args::Judged, model::AgreedFindings};

#[derive(Debug, Args)]
pub(in crate::cli) struct Plan {
    #[command(flatten)]
    run: RunArg,
    /// Print suggested edits for outdated stories and check lists as a patch for `git apply`; writes nothing (exit 1: no edits)
    #[arg(long)]
    patch: bool,
    /// With --patch: print only the edits that say this about a step that has to be looked at, such as `7=done`
    #[arg(long, value_name = "STEP=WORD", requires = "patch")]
    answer: Option<String>,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    judged: Judged,
    #[command(flatten)]
    flags: PlanFlags,
}

/// The heading of overrides that a run which Piton drives does not have.
const OTHER: &str = "Runs that an agent drives";

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct PlanFlags {
    /// Continue with these steps instead of the first open one; their dependencies must be done (comma-separated or repeated)
    #[arg(long, value_name = "ID[,ID]")]
    from: Vec<String>,
    /// Retry this failed step (default: the first failed one), even when its failure would send the run back to an earlier step
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "from", help_heading = OTHER)]
    #[expect(clippy::option_option, reason = "the flag alone and the flag with a value mean different things")]
    retry: Option<Option<String>>,
    /// Skip these steps; steps that depend on them run without them (comma-separated or repeated)
    #[arg(long, value_name = "ID[,ID]")]
    skip: Vec<String>,
    /// Send a failed review back to this step instead of the usual one
    #[arg(long, value_name = "ID", help_heading = OTHER)]
    to_step: Option<String>,
    /// Ignore unmet dependencies and attempt limits (never gates)
    #[arg(long)]
    force: bool,
    /// Check that the steps of --from can run in parallel
    #[arg(long, help_heading = OTHER)]
    parallel: bool,
    /// Exit with 1 when dependencies of --from are not met
    #[arg(long, conflicts_with = "force", help_heading = OTHER)]
    if_dependencies_met: bool,
    /// Repeat the analysis parts of the chosen steps
    #[arg(long, help_heading = OTHER)]
    refresh_analysis: bool,
    /// Continue inside a step at this part
    #[arg(long, num_args = 2, value_names = ["PART", "ID"], help_heading = OTHER)]
    from_step: Option<Vec<String>>,
    /// Repeat this part of a step
    #[arg(long, num_args = 2, value_names = ["PART", "ID"], help_heading = OTHER)]
    retry_step: Option<Vec<String>>,
    /// Skip this part of a step
    #[arg(long, num_args = 2, value_names = ["PART", "ID"], help_heading = OTHER)]
    skip_step: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(in crate::cli) struct Detail {
    /// Add the answer in the words and form of the run's own system to the JSON
    #[arg(long)]
    native: bool,
    /// List the ids of all steps and all state files in the JSON, finished and open ones too
    #[arg(long)]
    steps: bool,
}

impl Command for Plan {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let (ctx, request) = (call.project(self.run.name())?, self.flags.request());
        match self.patch {
            true => call.answer(ops::patch(&ctx, &request, self.answer.as_deref())),
            false => call.answer(self.judged.report(ops::plan(&ctx, &request, self.detail.shown()))),
        }
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("plan", self.run.name(), None))
    }
}

impl PlanFlags {
    /// Returns what the flags ask for.
    pub(super) fn request(&self) -> ops::PlanRequest {
        let part = |pair: &Option<Vec<String>>| match pair.as_deref() {
            Some([part, step]) => Some((part.clone(), step.clone())),
            Some(_) | None => None,
        };
        ops::PlanRequest {
            from: self.from.clone(),
            retry: self.retry.clone(),
            skip: self.skip.clone(),
            to_step: self.to_step.clone(),
            force: self.force,
            parallel: self.parallel,
            if_dependencies_met: self.if_dependencies_met,
            agreed: AgreedFindings::None,
            refresh_analysis: self.refresh_analysis,
            from_part: part(&self.from_step),
            retry_part: part(&self.retry_step),
            skip_part: part(&self.skip_step),
        }
    }
}

impl Detail {
    /// Returns what the JSON has besides the plan.
    pub(super) const fn shown(self) -> ops::PlanDetail {
        ops::PlanDetail { native: self.native, steps: self.steps }
    }
}
