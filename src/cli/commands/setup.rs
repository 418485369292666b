//! `setup`.

use clap::Args;
use clap::ValueEnum;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::ops;
use crate::ops::Exit;
use crate::ops::SetupRequest;
use crate::ops::SetupScope;

#[derive(Debug, Args)]
pub(in crate::cli) struct Setup {
    /// Let the agent read and record runs without a permission prompt; shows the change, and writes it with --yes
    #[arg(long)]
    permissions: bool,
    /// Show the newest run in the client's status line; shows the change, and writes it with --yes
    #[arg(long)]
    statusline: bool,
    /// Which settings to change: yours, the project's, or yours for this project
    #[arg(long, value_enum, default_value_t = SettingsScope::User)]
    scope: SettingsScope,
    /// Write the change shown
    #[arg(short, long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SettingsScope {
    User,
    Project,
    Local,
}

impl Command for Setup {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let scope = match self.scope {
            SettingsScope::User => SetupScope::User,
            SettingsScope::Project => SetupScope::Project,
            SettingsScope::Local => SetupScope::Local,
        };
        let Self { permissions, statusline, yes, .. } = *self;
        call.answer(ops::setup(&call.request(None), SetupRequest { permissions, statusline, scope, yes }))
    }
}
