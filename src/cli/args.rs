//! The command line: the global options and the verbs, with the text of `--help`, written for a first-time reader.

use clap::{Parser, Subcommand};

use super::{call::Command, commands, shared_args::Global};
use crate::ops::Exit;

/// Durable checkpoints and resume plans for multi-step agent work.
#[derive(Debug, Parser)]
#[command(
    name = "piton",
    version,
    propagate_version = true,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = after_help()
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

fn after_help() -> String {
    let mut text =
        "Start with `piton list`, then `piton plan`. Try it all in a scratch project: `piton demo`.\n\nExit codes:\n"
            .to_owned();
    for exit in Exit::ALL {
        text.push_str(&format!("  {:>2}  {}\n", exit.code(), exit.meaning()));
    }
    text
}

macro_rules! verbs {
    ($($(#[$about:meta])* $verb:ident($arguments:ty),)*) => {
        // With `defer`, clap builds only the requested verb; the others contribute just a name and a summary line to the help.
        #[derive(Debug, Subcommand)]
        #[command(defer = true)]
        pub(super) enum Verb {
            $($(#[$about])* $verb($arguments),)*
        }

        impl Verb {
            /// Returns the verb with its arguments, as what it does.
            pub(super) fn into_command(self) -> Box<dyn Command> {
                match self {
                    $(Self::$verb(command) => Box::new(command),)*
                }
            }
        }
    };
}

verbs! {
    /// List interrupted runs, newest first
    List(commands::list::List),
    /// Show which step a run continues with, and why; reads only
    Plan(commands::plan::Plan),
    /// Print the context that the agent of the next step needs
    Context(commands::context::Context),
    /// Show in three lines where a run is, what is stale, and the next command
    Status(commands::status::Status),
    /// Show a run as a picture: on the terminal, live with --watch, or with --html as one page for a browser
    Show(commands::show::Show),
    /// Check state files against their schemas and for contradictions
    Validate(commands::validate::Validate),
    /// Print the published JSON Schemas
    Schema(commands::schema::Schema),
    /// List the workflows of the project and the built-in ones with their inputs, or show one with its steps
    Workflows(commands::workflows::Workflows),
    /// Start a new run, also from a session of Claude Code that was cut off
    Start(commands::start::Start),
    /// Record that a step starts; call it before the agent starts (`resume` begins the steps of a `run` session itself)
    Begin(commands::begin::Begin),
    /// Record how a step ended; call it after the agent has finished
    Finish(commands::finish::Finish),
    /// Record what a person decided about a step, or list what can be decided
    Decide(commands::decide::Decide),
    /// Pause a run
    Pause(commands::pause::Pause),
    /// End a run: done, aborted or discarded; its state is archived
    Close(commands::close::Close),
    /// Resume an interrupted run: print the context of its next step or, for a session of `run`, continue running it
    Resume(commands::resume::Resume),
    /// List what came with the project and does not count, or say that it is yours
    Trust(commands::trust::Trust),
    /// Run a workflow file unattended, in its own worktree
    Run(commands::run::Run),
    /// Print what the steps of a session printed, with -f as it comes
    Logs(commands::logs::Logs),
    /// Merge the work of a finished session, or give it a branch
    Merge(commands::merge::Merge),
    /// Run one step of a workflow file that is a command, or what a step has besides the work of its agent
    Exec(commands::exec::Exec),
    /// List every run: `list --all` in the words of Prodigy
    #[command(hide = true)]
    Sessions(commands::list::Sessions),
    /// List earlier checkpoints of a run
    History(commands::history::History),
    /// Go back to an earlier phase, step, checkpoint or commit: shows what would be lost, and writes with --yes
    Rollback(commands::rollback::Rollback),
    /// Bring an archived run back, restore an earlier version, or propose one in place of a state that cannot be read
    Restore(commands::restore::Restore),
    /// Show which program is used, and configure the client: permissions, status line
    Setup(commands::setup::Setup),
    /// Print the client's status line, from its JSON on standard input
    Statusline(commands::hook::Statusline),
    /// Check this installation and project
    Doctor(commands::doctor::Doctor),
    /// Walk through an interrupted run of each kind, in a scratch project that is removed afterwards
    Demo(commands::demo::Demo),
    /// Print a completion script for a shell
    Completions(commands::completions::Completions),
    /// Handle a hook event of the client; exits with 0
    #[command(hide = true)]
    Hook(commands::hook::Hook),
    /// Print the manual page
    #[command(hide = true)]
    Man(commands::completions::Man),
}
