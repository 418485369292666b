//! The command line: arguments in, one document and an exit code out.

mod args;
mod changes;
mod dispatch;
mod error;
mod hook;
mod output;
mod progress;
mod render;
mod rollback;
mod script;
mod sessions;

use std::ffi::OsString;
use std::panic;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::Cli;
use args::Format;
use output::Text;

use crate::model::clean;
use crate::ops::Exit;

/// Runs the program and returns its exit code. A panic ends with 70 and a request to report it.
#[expect(clippy::disallowed_methods, reason = "the command line is what this room takes in")]
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(not_run(&error, &words).code()),
    };
    if hook::run(&cli) {
        return ExitCode::SUCCESS;
    }
    let exit = panic::catch_unwind(|| dispatch::run(&cli)).unwrap_or_else(|_| {
        let format = dispatch::format_of(&cli.global, &cli.verb).unwrap_or_else(|_| dispatch::usual_format());
        error::report(&error::CliError::bug(), format)
    });
    ExitCode::from(exit.code())
}

/// Answers a command line that names nothing to run. Help and version are results; anything else is a usage error, in the
/// format that the rest of the command line asks for.
fn not_run(error: &clap::Error, words: &[OsString]) -> Exit {
    let words = || words.iter().skip(1).cloned();
    if !error.use_stderr() {
        // A closed pipe is no problem of ours.
        let _ = error.print();
        return Exit::Ok;
    }
    if hook::is_meant(words()) {
        return Exit::Ok;
    }
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let rendered = error.render().to_string();
    if !is_help && dispatch::format_of_words(words()) == Format::Json {
        return error::report(&error::CliError::command_line(&rendered), Format::Json);
    }
    // What was typed may come out of a state file, by way of an agent.
    let _ = if clean(&rendered) == rendered { error.print() } else { output::say(Text::default().block(&rendered)) };
    Exit::Usage
}
