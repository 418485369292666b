//! Exit codes.

use crate::model::No;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    No(No),
    Usage,
    NotFound,
    Unreadable,
    Newer,
    Conflict,
    StepFailed,
    Ambiguous,
    Person,
    Bug,
    HungUp,
    Interrupted,
    Terminated,
}

impl Exit {
    pub(crate) const ALL: [Self; 14] = [
        Self::Ok,
        Self::No(No::Invalid),
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
        match self {
            Self::Ok => 0,
            Self::No(_) => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Unreadable => 4,
            Self::Newer => 5,
            Self::Conflict => 6,
            Self::StepFailed => 7,
            Self::Ambiguous => 8,
            Self::Person => 9,
            Self::Bug => 70,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Returns why not, of a refusal.
    pub(crate) const fn why(self) -> Option<No> {
        if let Self::No(why) = self { Some(why) } else { None }
    }

    /// Returns the name in error documents.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::No(_) => "no",
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
            Self::No(_) => "refused; `error.kind` says why: already, not-yet, not-yours, invalid or nothing",
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
