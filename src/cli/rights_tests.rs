//! Every verb and flag is known to be one that an agent may use unasked, or not.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory as _};

use super::args::Cli;
use crate::model::{PERSON_VERBS, RECORDING_VERBS, VERBS_READ_BY_CALL, Verb};

/// The verbs that the client asks about: they run programs, decide, move or remove state, write elsewhere or change settings, or no
/// agent has a use for them.
const ASKING_VERBS: &[&str] = &[
    "schema",
    "workflows",
    "start",
    "trust",
    "close",
    "resume",
    "run",
    "merge",
    "exec",
    "sessions",
    "rollback",
    "restore",
    "setup",
    "statusline",
    "doctor",
    "demo",
    "completions",
    "hook",
    "man",
];

/// The flags of the recording verbs, with the reason why each may be used unasked.
const RECORDING_FLAGS: &[(&str, &[&str])] = &[
    (
        "changes only what a plan answers",
        &[
            "from",
            "retry",
            "skip",
            "to-step",
            "force",
            "parallel",
            "if-dependencies-met",
            "refresh-analysis",
            "from-step",
            "retry-step",
            "skip-step",
        ],
    ),
    ("says which attempt a report is about: one that is not the last counts for nothing", &["begun"]),
    (
        "changes only what is printed",
        &[
            "patch",
            "answer",
            "native",
            "steps",
            "all",
            "changes",
            "html",
            "follow",
            "budget",
            "format",
            "exit-code",
            "quiet",
            "verbose",
        ],
    ),
    (
        "part of the record of a step that an agent did",
        &[
            "agent",
            "part",
            "phases",
            "status",
            "verdict",
            "condition",
            "finding",
            "summary",
            "error",
            "output",
            "result",
            "commit",
            "set",
            "note",
        ],
    ),
    ("writes the brief into Piton's own folder of the run", &["brief"]),
    ("names the step or run, or refuses a write", &["step", "run", "if-revision"]),
    ("a new attempt; refused while another driver lives", &["again"]),
    ("the same change as JSON: another change than the verb's is refused", &["json"]),
    ("another folder or time, in which the verb can do no more than here", &["project", "now"]),
    ("asks more or less; `begin` and `finish` ask the planner in any mode", &["mode"]),
];

/// Returns every verb, those with subcommands by their subcommands as well.
fn verbs() -> Vec<(String, Command)> {
    let mut cli = Cli::command();
    cli.build();
    let mut verbs = Vec::new();
    for verb in cli.get_subcommands().filter(|verb| verb.get_name() != "help") {
        verbs.push((verb.get_name().to_owned(), verb.clone()));
        for under in verb.get_subcommands().filter(|under| under.get_name() != "help") {
            verbs.push((format!("{} {}", verb.get_name(), under.get_name()), under.clone()));
        }
    }
    verbs
}

/// SECURITY: row 14
#[test]
fn every_verb_is_recording_or_asks_a_person() {
    for (name, _) in verbs() {
        let lists: [&[&str]; 3] = [&RECORDING_VERBS, ASKING_VERBS, &VERBS_READ_BY_CALL];
        let known = lists.iter().filter(|list| list.contains(&name.as_str())).count();
        assert_eq!(known, 1, "`{name}` must be in exactly one of RECORDING_VERBS, ASKING_VERBS and VERBS_READ_BY_CALL");
    }
    let names: Vec<String> = verbs().into_iter().map(|(name, _)| name).collect();
    for name in RECORDING_VERBS.iter().chain(ASKING_VERBS).chain(&VERBS_READ_BY_CALL) {
        assert!(names.iter().any(|known| known == name), "there is no verb `{name}`");
    }
}

#[test]
fn what_a_person_decides_is_asked() {
    for verb in PERSON_VERBS {
        assert!(!RECORDING_VERBS.contains(&verb), "`{verb}`");
    }
}

#[test]
fn no_recording_verb_begins_as_an_asking_one_does() {
    for recording in RECORDING_VERBS {
        for asking in ASKING_VERBS.iter().chain(&VERBS_READ_BY_CALL) {
            assert!(
                !format!("{asking} ").starts_with(&format!("{recording} ")),
                "a rule for `{recording}` allows `{asking}`"
            );
        }
    }
    for (name, verb) in verbs().iter().filter(|(name, _)| RECORDING_VERBS.contains(&name.as_str())) {
        assert_eq!(verb.get_subcommands().count(), 0, "a rule for `{name}` allows its subcommands");
    }
}

/// SECURITY: row 14
#[test]
fn no_flag_of_a_recording_verb_does_more_than_record() {
    let known: BTreeSet<&str> = RECORDING_FLAGS.iter().flat_map(|(_, flags)| *flags).copied().collect();
    let mut found = BTreeSet::new();
    for (name, verb) in verbs().iter().filter(|(name, _)| RECORDING_VERBS.contains(&name.as_str())) {
        for flag in verb.get_arguments().filter_map(|argument| argument.get_long()) {
            if matches!(flag, "help" | "version") {
                continue;
            }
            assert!(known.contains(flag), "`{name} --{flag}`: an agent may use it unasked; name the reason here");
            found.insert(flag.to_owned());
        }
    }
    assert_eq!(found, known.into_iter().map(str::to_owned).collect(), "a reason for a flag that is gone");
}

#[test]
fn every_printed_verb_is_one_of_the_program() {
    let grammar = Cli::command();
    for verb in Verb::ALL {
        assert!(grammar.find_subcommand(verb.as_str()).is_some(), "{verb}");
    }
}
