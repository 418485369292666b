//! The command that was typed, repeated for another run.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

use crate::model::{Suggested, Verb};

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

impl<'a> TypedCommand<'a> {
    pub(super) const fn new(grammar: Command, words: &'a [OsString]) -> Self {
        Self { grammar, words }
    }

    /// Returns the command with its arguments, for this run; a plan of it if the verb takes no run.
    pub(super) fn for_run(&self, run: &str) -> Suggested {
        self.repeated(run).unwrap_or_else(|| Suggested::of(Verb::Plan, run))
    }

    /// Returns the command that lists the runs where the typed one looked for them.
    pub(super) fn list(&self) -> Suggested {
        let mut command = self.grammar.clone();
        let list = Suggested::new(Verb::List);
        let matches = command.try_get_matches_from_mut(self.words).ok();
        let Some((_, typed)) = matches.as_ref().and_then(ArgMatches::subcommand) else { return list };
        let arguments = command.get_arguments().filter(|argument| WHERE.contains(&argument.get_id().as_str()));
        arguments.fold(list, |list, argument| repeat(list, argument, typed))
    }

    fn repeated(&self, run: &str) -> Option<Suggested> {
        let mut command = self.grammar.clone();
        let matches = command.try_get_matches_from_mut(self.words).ok()?;
        let (verb, typed) = matches.subcommand()?;
        let arguments: Vec<&Arg> = command.find_subcommand(verb)?.get_arguments().collect();
        let taken = arguments.iter().find(|argument| RUN.contains(&argument.get_id().as_str()))?;
        let again = Suggested::new(Verb::of(verb)?);
        let again = match taken.get_long().filter(|_| !taken.is_positional()) {
            Some(name) => again.option(name, run),
            None => again.word(run),
        };
        let is_kept = |argument: &&Arg| {
            let id = argument.get_id().as_str();
            !RUN.contains(&id) && !LEFT_OUT.contains(&id)
        };
        Some(arguments.into_iter().filter(is_kept).fold(again, |again, argument| repeat(again, argument, typed)))
    }
}

/// Adds an argument as often as it was typed.
fn repeat(command: Suggested, argument: &Arg, typed: &ArgMatches) -> Suggested {
    let id = argument.get_id().as_str();
    if typed.value_source(id) != Some(ValueSource::CommandLine) {
        return command;
    }
    if !argument.get_action().takes_values() {
        return argument.get_long().into_iter().fold(command, Suggested::flag);
    }
    typed.get_raw_occurrences(id).into_iter().flatten().fold(command, |command, occurrence| {
        let values: Vec<String> = occurrence.map(|value| value.to_string_lossy().into_owned()).collect();
        match argument.get_long() {
            Some(name) => command.values(name, &values),
            None => values.into_iter().fold(command, Suggested::word),
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{RUN, Verb};

    #[test]
    fn every_command_for_a_run_can_be_repeated() {
        let mut grammar = crate::cli::args::Cli::command();
        grammar.build();
        let takes_run = |verb: &&clap::Command| verb.get_arguments().any(|one| RUN.contains(&one.get_id().as_str()));
        let verbs: Vec<&str> = grammar.get_subcommands().filter(takes_run).map(clap::Command::get_name).collect();
        assert!(verbs.len() > 10, "{verbs:?}");
        assert!(verbs.iter().all(|verb| Verb::of(verb).is_some()), "{verbs:?}");
    }
}
