//! The command that was typed, repeated for another run.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

use crate::model::quoted;

/// The arguments that name a run, by their ids.
const RUN: [&str; 3] = ["run", "named", "targets"];
/// The arguments that are not repeated: they change how an answer looks, or are not asked for twice.
const LEFT_OUT: [&str; 6] = ["format", "now", "quiet", "verbose", "help", "version"];

/// The arguments that say where to look for runs.
const WHERE: [&str; 1] = ["project"];

/// The words of a command line.
pub(super) struct TypedCommand<'a> {
    grammar: Command,
    words: &'a [OsString],
}

/// A command in the making.
#[derive(Default)]
struct Pieces {
    positional: Vec<String>,
    options: Vec<String>,
}

impl<'a> TypedCommand<'a> {
    pub(super) const fn new(grammar: Command, words: &'a [OsString]) -> Self {
        Self { grammar, words }
    }

    /// Returns the command with its arguments, for this run; a plan of it if the verb takes no run.
    pub(super) fn for_run(&self, run: &str) -> String {
        self.repeated(run).unwrap_or_else(|| {
            let plan = Pieces { positional: vec![run.to_owned()], ..Pieces::default() };
            plan.command("plan")
        })
    }

    /// Returns the command that lists the runs where the typed one looked for them.
    pub(super) fn list(&self) -> String {
        let mut command = self.grammar.clone();
        let mut pieces = Pieces::default();
        let matches = command.try_get_matches_from_mut(self.words).ok();
        if let Some(typed) = matches.as_ref().and_then(|matches| Some(matches.subcommand()?.1)) {
            let arguments = command.get_arguments().filter(|argument| WHERE.contains(&argument.get_id().as_str()));
            arguments.for_each(|argument| pieces.repeat(argument, typed));
        }
        pieces.command("list")
    }

    fn repeated(&self, run: &str) -> Option<String> {
        let mut command = self.grammar.clone();
        let matches = command.try_get_matches_from_mut(self.words).ok()?;
        let (verb, typed) = matches.subcommand()?;
        let arguments: Vec<&Arg> = command.find_subcommand(verb)?.get_arguments().collect();
        let taken = arguments.iter().find(|argument| RUN.contains(&argument.get_id().as_str()))?;
        let mut pieces = Pieces::default();
        match taken.get_long().filter(|_| !taken.is_positional()) {
            Some(name) => pieces.option(name, &[run.to_owned()]),
            None => pieces.positional.push(run.to_owned()),
        }
        for argument in arguments {
            let id = argument.get_id().as_str();
            if !RUN.contains(&id) && !LEFT_OUT.contains(&id) {
                pieces.repeat(argument, typed);
            }
        }
        Some(pieces.command(verb))
    }
}

impl Pieces {
    /// Adds an argument as often as it was typed.
    fn repeat(&mut self, argument: &Arg, typed: &ArgMatches) {
        let id = argument.get_id().as_str();
        if typed.value_source(id) != Some(ValueSource::CommandLine) {
            return;
        }
        if !argument.get_action().takes_values() {
            self.options.extend(argument.get_long().map(|name| format!(" --{name}")));
            return;
        }
        for occurrence in typed.get_raw_occurrences(id).into_iter().flatten() {
            let values: Vec<String> = occurrence.map(|value| value.to_string_lossy().into_owned()).collect();
            match argument.get_long() {
                Some(name) => self.option(name, &values),
                None => self.positional.extend(values),
            }
        }
    }

    fn option(&mut self, name: &str, values: &[String]) {
        let piece = match values {
            [one] if one.starts_with('-') => format!(" --{name}={}", quoted(one)),
            many => many.iter().fold(format!(" --{name}"), |piece, value| format!("{piece} {}", quoted(value))),
        };
        self.options.push(piece);
    }

    fn command(self, verb: &str) -> String {
        let words: String = self.positional.iter().map(|word| format!(" {}", quoted(word))).collect();
        let options = self.options.concat();
        match self.positional.iter().any(|word| word.starts_with('-')) {
            true => format!("piton {verb}{options} --{words}"),
            false => format!("piton {verb}{words}{options}"),
        }
    }
}
