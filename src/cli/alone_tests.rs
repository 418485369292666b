use std::ffi::OsString;

use clap::Command;
use clap::Parser as _;
use clap::Subcommand as _;

use super::ALONE;
use super::Cli;
use crate::cli::args::Verb;

fn words(line: &str) -> Vec<OsString> {
    std::iter::once("piton").chain(line.split_whitespace()).map(OsString::from).collect()
}

/// Says what a verb takes, as far as it matters to somebody who uses it rightly.
fn takes(mut verb: Command) -> (String, Vec<String>) {
    verb.build();
    (verb.get_name().to_owned(), verb.get_arguments().map(|argument| format!("{argument:?}")).collect())
}

#[test]
fn every_verb_alone_takes_what_it_takes_among_all() {
    let alone = ALONE.map(|(name, build)| takes(build(Command::new(name))));
    let together = Verb::augment_subcommands(Command::new("piton"));
    let together: Vec<_> = together.get_subcommands().cloned().map(takes).collect();
    assert_eq!(alone.to_vec(), together);
}

#[test]
fn one_verb_alone_understands_what_all_together_do() {
    let lines = [
        "list",
        "list --all --format json --project elsewhere -v",
        "plan 3 --from 2:4,2:5 --parallel --mode autopilot --now 2026-01-31T12:00:00Z",
        "context --step IMPL-1.2 --budget 100 --format yaml -q",
        "begin 2:4 --agent developer --part load --run bench --if-revision 0a1b",
        "begin --json -",
        "finish 2:4 --verdict NEEDS_REVISION --error --not-a-flag --output a b --condition -V",
        "finish --run bench --prodigy-home elsewhere -- 2:4",
        "run w.yml --args -V --help --yes",
        "archive --all --after 3 -y",
        "hook session-start",
        "statusline",
    ];
    for line in lines {
        let alone = super::of(&words(line)).unwrap_or_else(|| panic!("{line}: it was not understood"));
        let together = Cli::try_parse_from(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(format!("{alone:?}"), format!("{together:?}"), "{line}");
    }
}

#[test]
fn what_asks_for_help_or_is_wrong_is_left_to_all_verbs_together() {
    let lines = [
        "",
        "help plan",
        "--version",
        "--help",
        "--format json list",
        "lits",
        "plan --help",
        "plan -h",
        "begin --version",
        "begin -V",
        "begin",
        "begin 2:4 --agnet developer",
        "plan --format xml",
        "plan 1 2",
        "list -q -v",
        "archive 1 --all",
    ];
    for line in lines {
        assert!(super::of(&words(line)).is_none(), "{line}");
    }
}
