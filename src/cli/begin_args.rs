//! The arguments of `begin`.

use clap::Args;
use clap::ValueEnum;

use super::shared_args::Target;

#[derive(Debug, Args)]
pub(super) struct Begin {
    /// The step id, as shown by `piton plan` (default: the first one that the plan lets an agent begin)
    pub(super) step: Option<String>,
    /// The agent that runs the step
    #[arg(long, value_name = "A")]
    pub(super) agent: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    pub(super) part: Option<String>,
    /// Begin a new attempt at a step that you have in progress, because its agent was lost
    #[arg(long)]
    pub(super) again: bool,
    /// Begin a new attempt at a step that was begun elsewhere, when it cannot be known whether its driver is still there
    #[arg(long, conflicts_with = "again")]
    pub(super) take_over: bool,
    /// Size limit of the brief; the least important parts are left out first, and listed
    #[arg(long, value_name = "BYTES", default_value_t = 4_096)]
    pub(super) budget: usize,
    /// Answer with the brief, or write it for the agent and answer with its path (default: `file` in a session of the client
    /// whose hooks give the agent its brief, else `inline`)
    #[arg(long, value_enum)]
    pub(super) brief: Option<BriefArg>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BriefArg {
    Inline,
    File,
}
