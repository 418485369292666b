//! The verbs that a client may be told to run without asking a person.

/// The verbs that read, or record the progress of a run.
///
/// Every other verb runs programs, decides, moves or removes state, or changes settings: it goes through the client's own question,
/// whose answer is the person's consent. A rule of the client matches by prefix and cannot look at flags, so every flag of these verbs
/// is pre-approved as well; `cli/rights_tests.rs` lists them.
pub(crate) const RECORDING_VERBS: [&str; 10] =
    ["plan", "list", "status", "context", "begin", "finish", "validate", "history", "logs", "pause"];

/// The verbs of which only some calls read. A rule of the client would allow the others too, so none is made for them; the hook that is
/// asked for a permission reads the whole call.
pub(crate) const VERBS_READ_BY_CALL: [&str; 2] = ["show", "decide"];

/// The verbs that record the word of a person, or change what needs it. In its auto mode the client lets a safety check answer instead of the
/// person, and no check can know what the person said: a rule makes the client ask in every mode.
pub(crate) const PERSON_VERBS: [&str; 3] = ["decide", "close", "setup"];

/// Returns the client's permission rule for a verb with any arguments.
pub(crate) fn permission_rule(verb: &str) -> String {
    format!("Bash(piton {verb}:*)")
}
