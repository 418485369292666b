//! From the command line to its verb, and from an error to its document.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _, ValueEnum as _};

use super::{
    args::Cli,
    call::{Call, Command, CommandLine},
    called::called,
    error::{self, CommandError},
    format::Format,
    shared_args::Global,
    typed::TypedCommand,
};
use crate::ops::{self, Exit};

const LINE: CommandLine = CommandLine {
    grammar: Cli::command,
    parse: |words| Cli::try_parse_from(words).map(|cli| cli.verb.into_command()),
    called,
};

/// Runs a verb and returns the exit code.
pub(super) fn run(global: &Global, command: &dyn Command, words: &[OsString]) -> Exit {
    ops::forget_unread();
    let asked = format_of(global, command);
    let format = asked.as_ref().map_or_else(|_| Format::usual(), |format| *format);
    let call = Call { global, format, line: &LINE };
    asked.and_then(|_| command.run(&call)).unwrap_or_else(|error| {
        let error = error.with_unread().with_command(&TypedCommand::new(Cli::command(), words), format);
        let error = if command.offers_starts() { error.with_starts(&call.request(None)) } else { error };
        error::report(&error, format)
    })
}

/// Reports a panic.
pub(super) fn crashed(global: &Global, command: &dyn Command) -> Exit {
    error::report(&CommandError::bug(), format_of(global, command).unwrap_or_else(|_| Format::usual()))
}

/// Returns the requested format, else text for a person and JSON for a program.
fn format_of(global: &Global, command: &dyn Command) -> Result<Format, CommandError> {
    let asked = match (global.format, ops::wanted_format()) {
        _ if command.is_for_client() => None,
        (Some(format), _) => Some(format),
        (None, Some(text)) => Some(
            Format::from_str(&text, true)
                .map_err(|_| CommandError::usage(format!("PITON_FORMAT is `{text}`; it is text, json or markdown")))?,
        ),
        (None, None) => None,
    };
    match asked {
        Some(Format::Yaml) if !command.has_yaml() => {
            Err(CommandError::usage("--format yaml is for `context` and `resume`"))
        }
        Some(Format::Junit) if !command.has_junit() => Err(CommandError::usage("--format junit is for `show`")),
        asked => Ok(asked.unwrap_or_else(Format::usual)),
    }
}
