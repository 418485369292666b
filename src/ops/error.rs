//! Why a verb did not do what was asked. The command line turns it into an exit code and hints.

use super::report::ListedRun;
use crate::dialect::EditError;
use crate::engine::Refusal;
use crate::model::Finding;
use crate::model::RelPathError;
use crate::store::StoreError;

/// Is why a verb stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No run where one was looked for.
    #[error("No interrupted workflow found.")]
    NoRun { searched: String, findings: Vec<Finding> },
    /// No run by that name.
    #[error("no run `{wanted}` in {searched}")]
    UnknownRun { wanted: String, searched: String, known: Vec<String> },
    /// Several runs, and nobody said which.
    #[error("Found interrupted workflows: {}. Choose one", runs.len())]
    Ambiguous { runs: Vec<ListedRun> },
    /// The state says nothing that could be changed or planned.
    #[error("{message}")]
    Unreadable { message: String, findings: Vec<Finding> },
    /// The run has no such step.
    #[error("run {run} has no step `{wanted}`")]
    UnknownStep { run: String, wanted: String, known: Vec<String> },
    #[error("{}", .0.message)]
    Refused(Refusal),
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The command line asked for something that makes no sense.
    #[error("{message}")]
    Usage { message: String, hints: Vec<String> },
    /// The state moved on since the caller looked (`--if-revision`).
    #[error("the state is at revision {found}, not {expected}")]
    Moved { expected: String, found: String, run: String },
    /// Somebody else drives the run.
    #[error("another process is driving this run: {0}")]
    LiveOwner(String),
    /// There is something in the way that must not be overwritten.
    #[error("{message}")]
    InTheWay { message: String, hints: Vec<String> },
    /// A person has to agree, and nobody was there to ask.
    #[error("{message}")]
    NeedsConsent { message: String, hints: Vec<String> },
    /// What was to be written does not satisfy its own schema: a bug, caught before it reached the disk.
    #[error("the new state of {file} does not satisfy its schema: {problem}")]
    SelfCheck { file: String, problem: String },
    /// A path on the command line may not be used.
    #[error("{0}")]
    Path(#[from] RelPathError),
}
