//! Arguments that several verbs take.

use clap::Args;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Markdown,
    /// Only for `context`
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeArg {
    /// Continue without asking when nothing blocks and the state is less than a day old
    Autopilot,
    /// Ask before continuing
    Interactive,
    /// Show every check and require the answer "proceed"
    Preflight,
}

#[derive(Debug, Default, Args)]
pub(super) struct Target {
    /// The run, if several are open
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
    /// Read the change as JSON from standard input, in place of the other flags (schema: `piton schema change`)
    #[arg(long, value_name = "-")]
    pub(super) json: Option<String>,
}
