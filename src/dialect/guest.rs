//! Runs of other programs: read and planned, never written.

/// A run that another program keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    /// Why Piton does not write it, as the rest of a sentence that begins with its name.
    pub(crate) refusal: String,
    /// The command of its own system that continues it, or of Piton that makes a run of it.
    pub(crate) command: String,
    /// Whether an agent can also continue from Piton's brief. Then `resume` shows the brief beside the command, and records nothing.
    pub(crate) has_brief: bool,
}
