//! The arguments of the verbs that read runs and files, besides the plan.

use clap::Args;

#[derive(Debug, Default, Args)]
pub(super) struct RunArg {
    /// Run id, number from `piton list`, folder or branch of its worktree, or path of a project, worktree or state file (default: the only
    /// run)
    #[arg(value_name = "RUN")]
    pub(super) run: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Include runs that are complete, aborted or archived
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) answer: Answer,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct Answer {
    /// Exit with 0 for every answer; the JSON names the exit code as `code`
    #[arg(long)]
    pub(super) exit_zero: bool,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) run: RunArg,
    #[command(flatten)]
    pub(super) answer: Answer,
}

#[derive(Debug, Args)]
pub(super) struct Validate {
    /// A run or state files (default: every run of the project)
    #[arg(value_name = "RUN|FILE")]
    pub(super) targets: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Name of the schema (default: list all names)
    pub(super) name: Option<String>,
}
