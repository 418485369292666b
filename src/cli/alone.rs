//! A command line that begins with its verb, as nearly all do, understood without the other verbs: to build them would be most of
//! what it costs to start.

use std::convert;
use std::ffi::OsString;

use clap::Args as _;
use clap::Command;
use clap::FromArgMatches as _;

use super::args::Approve;
use super::args::Archive;
use super::args::Begin;
use super::args::Cli;
use super::args::Complete;
use super::args::Completions;
use super::args::Context;
use super::args::Demo;
use super::args::Finish;
use super::args::Global;
use super::args::History;
use super::args::Hook;
use super::args::List;
use super::args::Plan;
use super::args::Repair;
use super::args::Rest;
use super::args::Restore;
use super::args::Resume;
use super::args::Rollback;
use super::args::Run;
use super::args::RunArg;
use super::args::Schema;
use super::args::Setup;
use super::args::Skip;
use super::args::Start;
use super::args::Validate;
use super::sessions::Sessions;

type Build = fn(Command) -> Command;

/// Builds each verb by itself; what help says of it is with [`Verb`](super::args::Verb).
const ALONE: [(&str, Build); 29] = [
    ("list", List::augment_args),
    ("plan", Plan::augment_args),
    ("context", Context::augment_args),
    ("status", RunArg::augment_args),
    ("validate", Validate::augment_args),
    ("schema", Schema::augment_args),
    ("start", Start::augment_args),
    ("begin", Begin::augment_args),
    ("finish", Finish::augment_args),
    ("approve", Approve::augment_args),
    ("skip", Skip::augment_args),
    ("pause", Rest::augment_args),
    ("abort", Rest::augment_args),
    ("complete", Complete::augment_args),
    ("resume", Resume::augment_args),
    ("run", Run::augment_args),
    ("sessions", Sessions::augment_args),
    ("history", History::augment_args),
    ("rollback", Rollback::augment_args),
    ("restore", Restore::augment_args),
    ("repair", Repair::augment_args),
    ("archive", Archive::augment_args),
    ("setup", Setup::augment_args),
    ("statusline", convert::identity),
    ("doctor", convert::identity),
    ("demo", Demo::augment_args),
    ("completions", Completions::augment_args),
    ("hook", Hook::augment_args),
    ("man", convert::identity),
];

/// Returns what the words say, the name of the program first; `None` where that takes all verbs, or is an error for them to tell.
pub(super) fn of(words: &[OsString]) -> Option<Cli> {
    let word = words.get(1)?;
    let (name, build) = ALONE.iter().find(|(name, _)| word == name)?;
    let command = Command::new("piton").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    let command = Global::augment_args(command).subcommand(build(Command::new(*name)));
    Cli::from_arg_matches(&command.try_get_matches_from(words).ok()?).ok()
}

#[cfg(test)]
#[path = "alone_tests.rs"]
mod tests;
