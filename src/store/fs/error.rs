//! Errors of the store. Problems in the content of files are findings, not errors.

use std::{io, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};

use crate::model::{ReadProblem, Suggested, Verb};

/// What went wrong and where, for people; the command line maps the variants to exit codes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The file is not what the change was computed from: plan again.
    #[error("{path} {what} since the change was computed; nothing was written. Run the command again")]
    Conflict { path: Utf8PathBuf, what: &'static str },
    #[error(
        "{path} is still locked by {} after {} ms; nothing was written. Run the command again; PITON_LOCK_TIMEOUT_MS makes it wait \
         longer",
        holder.as_deref().unwrap_or("another piton"),
        waited.as_millis()
    )]
    LockTimeout { path: Utf8PathBuf, waited: Duration, holder: Option<String> },
    /// The file system has no locks, so concurrent writers could not be excluded.
    #[error(
        "{path} cannot be locked: {cause}; nothing was written. Its file system has to support locks, which some network \
         shares do not"
    )]
    NoLock { path: Utf8PathBuf, cause: io::Error },
    #[error("{path} cannot be read: {problem}")]
    Unreadable { path: Utf8PathBuf, problem: ReadProblem },
    #[error("{path}: permission denied")]
    Permission { path: Utf8PathBuf, cause: io::Error },
    #[error("{path}: no space is left on the device")]
    NoSpace { path: Utf8PathBuf, cause: io::Error },
    #[error("{path}: the file system is read-only")]
    ReadOnly { path: Utf8PathBuf, cause: io::Error },
    /// A change failed halfway, and so did undoing its first half.
    #[error("{cause}; what was written before that could not be undone")]
    NotRolledBack { cause: Box<StoreError> },
    /// The path leaves its root, or is one that is never written.
    #[error("{path} is refused: {problem}")]
    UnsafePath { path: Utf8PathBuf, problem: &'static str },
    #[error("{path}: {cause}")]
    Io { path: Utf8PathBuf, cause: io::Error },
    /// `file` is the configuration file, or the name of an environment variable.
    #[error("{file}{}: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
    Config { file: String, line: Option<u32>, message: String },
    #[error("no checkpoint `{id}` in {path}; `{}` lists those that are kept", Suggested::new(Verb::History))]
    HistoryMissing { path: Utf8PathBuf, id: String },
    /// What is there does not speak for this user, so that nothing is added to it.
    #[error("{path} came with the project: this user did not begin it here; nothing was written")]
    NotTrusted { path: Utf8PathBuf },
    /// What this user makes cannot be told from what comes with a project.
    #[error(
        "HOME, XDG_STATE_HOME and PITON_HOME are not set: Piton notes there what you make, to tell it from what comes with a project; \
         nothing was written"
    )]
    NoHome,
    /// A log of which nothing may be forgotten.
    #[error("{path} is full: a longer one could not be read whole; nothing was written")]
    Full { path: Utf8PathBuf },
    #[error("{path} is not UTF-8 text")]
    NotText { path: Utf8PathBuf },
}

impl StoreError {
    /// Classifies an error of the operating system by what a person can do about it.
    pub(in crate::store) fn io(path: impl AsRef<Utf8Path>, cause: io::Error) -> Self {
        let path = path.as_ref().to_owned();
        match cause.kind() {
            io::ErrorKind::PermissionDenied => Self::Permission { path, cause },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path, cause },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path, cause },
            _ => Self::Io { path, cause },
        }
    }

    /// Tells whether the cause is that nothing can be written here.
    pub(in crate::store) const fn is_write_refused(&self) -> bool {
        matches!(self, Self::Permission { .. } | Self::ReadOnly { .. } | Self::NoSpace { .. })
    }
}
