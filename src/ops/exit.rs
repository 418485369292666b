//! Exit codes.

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    No = 1,
    Usage = 2,
    NotFound = 3,
    Unreadable = 4,
    Newer = 5,
    Conflict = 6,
    StepFailed = 7,
    Ambiguous = 8,
    Person = 9,
    Bug = 70,
    HungUp = 129,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    pub(crate) const ALL: [Self; 14] = [
        Self::Ok,
        Self::No,
        Self::Usage,
        Self::NotFound,
        Self::Unreadable,
        Self::Newer,
        Self::Conflict,
        Self::StepFailed,
        Self::Ambiguous,
        Self::Person,
        Self::Bug,
        Self::HungUp,
        Self::Interrupted,
        Self::Terminated,
    ];

    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the name in error documents.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::No => "no",
            Self::Usage => "usage",
            Self::NotFound => "not-found",
            Self::Unreadable => "unreadable",
            Self::Newer => "newer-format",
            Self::Conflict => "conflict",
            Self::StepFailed => "step-failed",
            Self::Ambiguous => "ambiguous",
            Self::Person => "person-decides",
            Self::Bug => "bug",
            Self::HungUp => "hung-up",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }

    /// Returns the meaning, for the README.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "done, or go on",
            Self::No => "answered no: invalid, nothing to do, or something else comes first",
            Self::Usage => "the command line is wrong",
            Self::NotFound => "nothing found: no run, no step, no checkpoint",
            Self::Unreadable => "unreadable or corrupt",
            Self::Newer => "written by a newer format version; read, never written",
            Self::Conflict => "conflict: locked, driven by a living process, or changed meanwhile",
            Self::StepFailed => "a step of a workflow failed; the run can be resumed",
            Self::Ambiguous => "several runs: choose one",
            Self::Person => "a person must decide: gate, rejection, attempt limit, blocking finding",
            Self::Bug => "a bug in piton; please report it",
            Self::HungUp => "SIGHUP stopped a run, because its terminal was closed; it can be resumed",
            Self::Interrupted => "SIGINT stopped a run; it can be resumed",
            Self::Terminated => "SIGTERM stopped a run; it can be resumed",
        }
    }
}
