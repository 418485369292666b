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
    ($($group:literal { $($(#[$about:meta])* $verb:ident($arguments:ty),)* })*) => {
        // With `defer`, clap builds only the requested verb; the others contribute just a name and a summary line to the help.
        #[derive(Debug, Subcommand)]
        #[command(defer = true)]
        pub(super) enum Verb {
            $($($(#[$about])* $verb($arguments),)*)*
        }

        impl Verb {
            /// Returns the verb with its arguments, as what it does.
            pub(super) fn into_command(self) -> Box<dyn Command> {
                match self {
                    $($(Self::$verb(command) => Box::new(command),)*)*
                }
            }
        }

        /// The groups of verbs in the help, each with the first of its verbs.
        pub(super) const GROUPS: &[(&str, &str)] = &[$(($group, first(&[$(stringify!($verb)),*]))),*];
    };
}

const fn first(verbs: &[&'static str]) -> &'static str {
    verbs[0]
}

verbs! {
    "See" {
        /// List interrupted runs, newest first
        List(commands::list::List),
        /// Show which step a run continues with, and why; reads only
        Plan(commands::plan::Plan),
        /// Show in three lines where a run is, what is stale, and the next command
        Status(commands::status::Status),
        /// Show a run as a picture, live with --watch, as a page with --html
        Show(commands::show::Show),
        /// Print the context that the agent of the next step needs
        Context(commands::context::Context),
        /// List earlier checkpoints of a run
        History(commands::history::History),
        /// Check state files against their schemas and for contradictions
        Validate(commands::validate::Validate),
        /// List every run: `list --all` in the words of Prodigy
        #[command(hide = true)]
        Sessions(commands::list::Sessions),
    }
    "Agents" {
        /// Start a new run, also from a session of Claude Code that was cut off
        Start(commands::start::Start),
        /// Record that a step starts, and print the brief of its agent
        Begin(commands::begin::Begin),
        /// Record how a step ended
        Finish(commands::finish::Finish),
        /// Run one step that is a command
        Exec(commands::exec::Exec),
        /// Pause a run
        Pause(commands::pause::Pause),
    }
    "A person" {
        /// Record what a person decided about a step, or list what can be decided
        Decide(commands::decide::Decide),
        /// Continue an interrupted run: print its next brief, or run the rest of what `run` began
        Resume(commands::resume::Resume),
        /// End a run: done, aborted or discarded; its state is archived
        Close(commands::close::Close),
        /// List what came with the project and does not count, or say that it is yours
        Trust(commands::trust::Trust),
        /// Bring back an archived run or an earlier version, or repair a state that cannot be read
        Restore(commands::restore::Restore),
        /// Go back to an earlier phase, step or commit of a nine-step run
        Rollback(commands::rollback::Rollback),
    }
    "Workflow files" {
        /// Run a workflow file unattended, in its own worktree
        Run(commands::run::Run),
        /// List workflows with their inputs, or show one with its steps
        Workflows(commands::workflows::Workflows),
        /// Print what the steps of a session printed, with -f as it comes
        Logs(commands::logs::Logs),
        /// Merge the work of a finished session, or give it a branch
        Merge(commands::merge::Merge),
    }
    "Set-up" {
        /// Show which program is used, and set up Claude Code: permissions, status line
        Setup(commands::setup::Setup),
        /// Check this installation and project
        Doctor(commands::doctor::Doctor),
        /// Walk through an interrupted run of each kind, in a scratch project
        Demo(commands::demo::Demo),
        /// Print the published JSON Schemas
        Schema(commands::schema::Schema),
        /// Print a completion script for a shell
        Completions(commands::completions::Completions),
        /// Print the client's status line, from its JSON on standard input
        #[command(hide = true)]
        Statusline(commands::hook::Statusline),
        /// Handle a hook event of the client; exits with 0
        #[command(hide = true)]
        Hook(commands::hook::Hook),
        /// Print the manual page
        #[command(hide = true)]
        Man(commands::completions::Man),
    }
}
