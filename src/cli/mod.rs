//! The command line: arguments in, one document and an exit code out.

mod args;
mod changes;
mod dispatch;
mod error;
mod output;
mod render;

use std::panic;
use std::process::ExitCode;

use clap::Parser as _;

use crate::ops::Exit;

/// Runs the program and returns its exit code. A panic ends with 70 and a request to report it.
pub fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are results; anything else is a usage error. A closed pipe is no problem of ours.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(Exit::Usage.code()) } else { ExitCode::SUCCESS };
        }
    };
    match panic::catch_unwind(|| dispatch::run(&cli)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(_) => ExitCode::from(error::bug()),
    }
}
