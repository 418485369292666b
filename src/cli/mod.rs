//! The command line: arguments in, one document and an exit code out. The only room that prints.
//!
//! - `args`: the command line (clap) and the text of `--help`; `shared_args` has the global options and what several verbs take.
//! - `commands/`: a file per verb: its arguments, the call into `ops` or `runner`, and the text of its report. `call` says what a verb has to
//!   do and what it is given.
//! - `dispatch`: from the command line to its verb; `called` reads the calls that the client asks about.
//! - `error`: message, hints and exit code of everything that can fail; `typed` repeats the command that was typed for another run.
//! - `output`: stdout, stderr and questions; the only file that writes to them. `format` is the form of an answer.
//! - `question`: the questions of a plan at a terminal, and the command behind an answer.
//! - `watch`: `show --watch`; `terminal`: its screen.
//! - `screen`: the console of a running session; `progress` its progress line.
//! - `render/`: what several texts have in common, with Markdown and YAML.

mod args;
mod call;
mod called;
mod commands;
mod dispatch;
mod error;
mod format;
mod output;
mod progress;
mod question;
mod render;
#[cfg(test)]
mod rights_tests;
mod screen;
mod shared_args;
mod terminal;
mod typed;
mod watch;

use std::{
    ffi::OsString,
    io,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::Arc,
};

use args::Cli;
use clap::{Parser as _, error::ErrorKind};
use format::Format;
use output::Text;

pub use crate::ops::surroundings::Surroundings;
use crate::{
    model::{HELP, clean, mask_secrets},
    ops::{
        Exit,
        surroundings::{self, Stream},
    },
    runner,
};

/// Runs the program and returns its exit code. After a panic that is 70, with a request to report it.
#[expect(clippy::disallowed_methods, reason = "the command line is an input of this room")]
pub fn main() -> ExitCode {
    runner::survive_file_limit();
    ExitCode::from(run(&std::env::args_os().collect::<Vec<_>>()).code())
}

/// Runs one call in this process, with surroundings of its own, which hold what it printed; the first word is the name of the program.
/// Returns the exit code.
pub fn call(words: &[OsString], surroundings: Arc<Surroundings>) -> u8 {
    surroundings::within(Some(surroundings), || run(words).code())
}

fn run(words: &[OsString]) -> Exit {
    let (global, command) = match Cli::try_parse_from(words) {
        Ok(cli) => (cli.global, cli.verb.into_command()),
        Err(error) => return not_run(error, words),
    };
    let ran = panic::catch_unwind(AssertUnwindSafe(|| dispatch::run(&global, command.as_ref(), words)));
    ran.unwrap_or_else(|_| dispatch::crashed(&global, command.as_ref()))
}

/// Handles a command line without a verb to run. Help and version are results; anything else is a usage error, printed in the
/// format requested by the rest of the command line.
fn not_run(error: clap::Error, words: &[OsString]) -> Exit {
    let words = || words.iter().skip(1).cloned();
    if !error.use_stderr() {
        // A closed pipe is not an error.
        let _ = match help_of_verb(&error) {
            Some(help) => output::print_styled(&help),
            None => print_error(&error),
        };
        if error.kind() == ErrorKind::DisplayHelp {
            let words: Vec<String> = words().map(|word| word.to_string_lossy().into_owned()).collect();
            let _ = commands::workflows::about_named(&words).map(|about| output::print_text(&about));
        }
        return Exit::Ok;
    }
    if commands::hook::is_hook_call(words()) {
        return Exit::Ok;
    }
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !is_help && Format::of_words(words()) == Format::Json {
        return error::report(&error.into(), Format::Json);
    }
    let rendered = error.render().to_string();
    // An agent may have copied the arguments from a state file, so they are untrusted; and a secret may begin like an option.
    let safe = mask_secrets(&rendered);
    let is_plain = safe == rendered && clean(&rendered) == rendered;
    let _ = if is_plain { print_error(&error) } else { output::say(Text::default().block(&safe)) };
    Exit::Usage
}

fn print_error(error: &clap::Error) -> io::Result<()> {
    let stream = if error.use_stderr() { Stream::Err } else { Stream::Out };
    output::write_styled(stream, &error.render().ansi().to_string())
}

/// Returns the help of the program with its verbs in groups.
fn grouped(rendered: &clap::builder::StyledStr) -> String {
    let (plain, text) = (rendered.to_string(), rendered.ansi().to_string());
    let (mut grouped, mut is_verb) = (String::new(), false);
    for (plain, line) in plain.lines().zip(text.lines()) {
        if plain == VERBS {
            is_verb = true;
            continue;
        }
        is_verb = is_verb && !plain.is_empty();
        let verb = plain.split_whitespace().next().filter(|_| is_verb);
        if let Some((group, _)) = args::GROUPS.iter().find(|(_, first)| Some(&*first.to_lowercase()) == verb) {
            let gap = if grouped.ends_with("\n\n") { "" } else { "\n" };
            grouped.push_str(&format!("{gap}{group}:\n"));
        }
        grouped.push_str(line);
        grouped.push('\n');
    }
    grouped
}

/// The heading of the verbs.
const VERBS: &str = "Commands:";
/// The heading of the options of every verb.
const GLOBAL: &str = "Global options:";

/// Returns the help of the program with its verbs in groups, and that of a verb with one line in place of the options of every verb; `None`
/// for anything else.
fn help_of_verb(error: &clap::Error) -> Option<String> {
    let rendered = error.render();
    if rendered.to_string().contains("piton [OPTIONS] <COMMAND>") {
        return Some(grouped(&rendered));
    }
    let text = rendered.ansi().to_string();
    let heading = text.lines().position(|line| line.contains(GLOBAL))?;
    let mut lines: Vec<&str> = text.lines().collect();
    let is_after = |line: &&str| !line.is_empty() && !line.starts_with(' ');
    let end = lines.iter().skip(heading + 1).position(is_after).map_or(lines.len(), |after| heading + 1 + after);
    let about = format!("`{}` has the options of every command", HELP[0]);
    let gap = (end < lines.len()).then_some("");
    lines.splice(heading..end, std::iter::once(about.as_str()).chain(gap));
    Some(lines.join("\n") + "\n")
}
