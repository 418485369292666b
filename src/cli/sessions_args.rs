//! The arguments of `sessions`.

use clap::Args;
use clap::Subcommand;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Sessions {
    #[command(subcommand)]
    pub(super) what: Option<What>,
}

#[derive(Debug, Subcommand)]
pub(super) enum What {
    /// List the sessions of this repository, newest first (the default)
    #[command(visible_alias = "ls")]
    List,
    /// Show one session with its steps
    Show(Show),
    /// Remove worktrees and branches of sessions that are done and merged, and archive their records
    Clean(Clean),
    /// Import a session of Prodigy, to resume it here; Prodigy's files are not changed
    Import(Import),
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Session id, or an unambiguous part of it (default: the newest)
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Clean {
    /// Only these sessions
    #[arg(value_name = "ID")]
    pub(super) ids: Vec<String>,
    /// Show what would be done, without doing it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Remove without asking
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The session id, as shown by `piton sessions list --prodigy-home DIR`
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Continue in the repository itself, not in the session's worktree
    #[arg(long)]
    pub(super) no_worktree: bool,
}
