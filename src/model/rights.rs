//! The verbs that a client may be told to run without asking a person.

/// The verbs that read, or record the progress of a run, with the subcommands that differ from their siblings.
///
/// Every other verb runs programs, decides, moves or removes state, or changes settings: it goes through the client's own question,
/// whose answer is the person's consent. A rule of the client matches by prefix and cannot look at flags, so every flag of these verbs
/// is pre-approved as well; `cli/rights_tests.rs` lists them.
pub(crate) const RECORDING_VERBS: [&str; 11] = [
    "plan",
    "list",
    "status",
    "context",
    "begin",
    "finish",
    "validate",
    "history",
    "pause",
    "sessions list",
    "sessions show",
];

/// Returns the client's permission rule for a verb with any arguments.
pub(crate) fn permission_rule(verb: &str) -> String {
    format!("Bash(piton {verb}:*)")
}
