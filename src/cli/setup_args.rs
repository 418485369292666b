//! The arguments of the verbs that set Piton up and show it.

use clap::Args;
use clap::ValueEnum;

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Keep the scratch project and print its path
    #[arg(long)]
    pub(super) keep: bool,
}

#[derive(Debug, Args)]
pub(super) struct Setup {
    /// Let the agent read and record runs without a permission prompt; shows the change, and writes it with --yes
    #[arg(long)]
    pub(super) permissions: bool,
    /// Show the newest run in the client's status line; shows the change, and writes it with --yes
    #[arg(long)]
    pub(super) statusline: bool,
    /// Which settings to change: yours, the project's, or yours for this project
    #[arg(long, value_enum, default_value_t = SettingsScope::User)]
    pub(super) scope: SettingsScope,
    /// Write the change shown
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SettingsScope {
    User,
    Project,
    Local,
}

#[derive(Debug, Args)]
pub(super) struct Hook {
    /// The event; its fields are JSON on standard input
    #[arg(value_name = "EVENT")]
    pub(super) event: String,
}

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(super) shell: clap_complete::Shell,
}
