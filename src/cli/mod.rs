//! The command line: arguments in, one document and an exit code out. The only room that prints.
//!
//! - `args`: the arguments (clap) and the text of `--help`; `begin_args`, `reading_args`, `sessions_args` and `setup_args` those of `begin`,
//!   of the verbs that read, of `sessions`, and of the verbs that set Piton up; `shared_args` those that several verbs take.
//! - `dispatch`: from a verb to its use case in `ops` or `runner`, and from the report to the output.
//! - `changes`: arguments of the recording verbs to a `Change`.
//! - `rollback`, `script`, `sessions`: verbs that ask questions or print while they run.
//! - `hook`: the verbs that Claude Code calls; they never fail. `called` reads the calls that it asks about.
//! - `typed`: the command that was typed, repeated for another run.
//! - `error`: message, hints and exit code of everything that can fail.
//! - `output`: stdout, stderr and questions; the only file that writes to them.
//! - `question`: the questions of a plan at a terminal, and the command behind an answer.
//! - `progress`: the progress line of a long run.
//! - `render/`: reports as text, Markdown and YAML; one function per report. `page` has what they have in common.

mod args;
mod begin_args;
mod called;
mod changes;
mod dispatch;
mod error;
mod hook;
mod output;
mod progress;
mod question;
mod reading_args;
mod render;
#[cfg(test)]
mod rights_tests;
mod rollback;
mod script;
mod sessions;
mod sessions_args;
mod setup_args;
mod shared_args;
mod typed;

use std::ffi::OsString;
use std::panic;
use std::process::ExitCode;

use args::Cli;
use clap::Parser as _;
use clap::error::ErrorKind;
use output::Text;
use shared_args::Format;

use crate::model::clean;
use crate::ops::Exit;

/// Runs the program and returns its exit code. After a panic that is 70, with a request to report it.
#[expect(clippy::disallowed_methods, reason = "the command line is an input of this room")]
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(not_run(error, &words).code()),
    };
    if hook::run(&cli) {
        return ExitCode::SUCCESS;
    }
    let exit = panic::catch_unwind(|| dispatch::run(&cli, &words)).unwrap_or_else(|_| {
        let format = dispatch::format_of(&cli.global, &cli.verb).unwrap_or_else(|_| dispatch::usual_format());
        error::report(&error::CommandError::bug(), format)
    });
    ExitCode::from(exit.code())
}

/// Handles a command line without a verb to run. Help and version are results; anything else is a usage error, printed in the
/// format requested by the rest of the command line.
fn not_run(error: clap::Error, words: &[OsString]) -> Exit {
    let words = || words.iter().skip(1).cloned();
    if !error.use_stderr() {
        // A closed pipe is not an error.
        let _ = error.print();
        return Exit::Ok;
    }
    if hook::is_hook_call(words()) {
        return Exit::Ok;
    }
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !is_help && dispatch::format_of_words(words()) == Format::Json {
        return error::report(&error.into(), Format::Json);
    }
    let rendered = error.render().to_string();
    // An agent may have copied the arguments from a state file, so they are untrusted.
    let _ = if clean(&rendered) == rendered { error.print() } else { output::say(Text::default().block(&rendered)) };
    Exit::Usage
}
