//! Errors of the verbs, with their exit codes and hints.

use camino::Utf8Path;

use super::{exit::Exit, report::ListedRun};
use crate::{
    dialect::{self, EditError},
    engine::{Refusal, RefusalKind, quoted},
    model::{Finding, FindingCode, Fix, No, ReadProblem, RelPathError, RunId, Suggested, Verb, mistakes},
    store::{self, StoreError},
};

/// Number of existing names that an error shows.
const NAMES_SHOWN: usize = 12;

/// The seeds' sentence where no run is found.
pub(crate) const NO_RUN: &str = "No interrupted workflow found.";

/// A run to choose: the CLI repeats the command that was typed with this run.
#[derive(Clone, Debug)]
pub(crate) struct RunChoice {
    pub(crate) id: RunId,
    /// Selects the run as RUN: its name, or its path where the name is not unique.
    pub(crate) run: String,
    /// Its number, position and age, for people.
    pub(crate) remark: String,
}

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No run where one was looked for.
    #[error("{NO_RUN}")]
    NoRun { searched: String, findings: Vec<Finding> },
    /// No run by that name.
    #[error("no run `{wanted}` in {searched}{}", did_you_mean(near))]
    UnknownRun { wanted: String, searched: String, known: Vec<String>, near: Vec<RunChoice> },
    /// Several runs match, and none was chosen.
    #[error("Found {} workflows: {}. Choose one", if runs.iter().any(|run| run.is_driven) { "open" } else { "interrupted" }, runs.len())]
    Ambiguous { runs: Vec<ListedRun>, choices: Vec<RunChoice> },
    /// Several runs are open, and none of them has the step.
    #[error("no open run has a step `{step}`")]
    StepNowhere { step: String, runs: Vec<RunId> },
    /// The target of a rollback is ambiguous.
    #[error("{message}")]
    TargetAmbiguous { message: String, hints: Vec<Fix> },
    /// A resume failed, with the messages of the run's own system.
    #[error("{error}")]
    Resume { messages: Vec<String>, error: Box<OpError> },
    /// The state cannot be read.
    #[error("{message}")]
    Unreadable { message: String, findings: Vec<Finding> },
    /// The run has no such step.
    #[error("run {run} has no step `{wanted}`")]
    UnknownStep { run: String, wanted: String, known: Vec<String> },
    #[error("{}", .0.message)]
    Refused(Refusal),
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The command line is invalid.
    #[error("{message}")]
    Usage { message: String, hints: Vec<Fix> },
    /// A workflow file is invalid; one finding per mistake.
    #[error("{file} has {}", mistakes(findings.len()))]
    DefinitionInvalid { file: String, findings: Vec<Finding> },
    /// The state changed since the caller read it (`--if-revision`).
    #[error("the state is at revision {found}, not {expected}")]
    Moved { expected: String, found: String, run: String },
    /// Another living process drives the run.
    #[error("another process is driving this run: {0}")]
    LiveOwner(String),
    /// Something about the run or the project stands in the way.
    #[error("{message}")]
    InTheWay { why: No, message: String, hints: Vec<Fix> },
    /// A person has to confirm, and has not.
    #[error("{message}")]
    NotConfirmed { message: String, hints: Vec<Fix> },
    /// The new content violates its own schema: a bug, detected before anything was written.
    #[error("the new state of {file} does not satisfy its schema: {problem}")]
    SelfCheck { file: String, problem: String },
    #[error("there is no schema `{name}`")]
    UnknownSchema { name: String, known: String },
    /// A path on the command line may not be used.
    #[error("{0}")]
    Path(#[from] RelPathError),
}

impl OpError {
    /// Returns its kind, which is the exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => exit_of_store(error),
            Self::Resume { error, .. } => error.exit(),
            // A run may be in a folder that cannot be read.
            Self::NoRun { findings, .. } if findings.iter().any(is_closed) => Exit::Unreadable,
            Self::NoRun { .. }
            | Self::UnknownRun { .. }
            | Self::UnknownStep { .. }
            | Self::StepNowhere { .. }
            | Self::UnknownSchema { .. } => Exit::NotFound,
            Self::Ambiguous { .. } | Self::TargetAmbiguous { .. } => Exit::Ambiguous,
            Self::Unreadable { .. }
            | Self::Edit(EditError::Unreadable { .. } | EditError::Register { .. } | EditError::Missing { .. }) => {
                Exit::Unreadable
            }
            Self::Refused(refusal) => match refusal.kind {
                RefusalKind::NotFound => Exit::NotFound,
                RefusalKind::No(why) => Exit::No(why),
                RefusalKind::Person => Exit::Person,
                RefusalKind::Conflict => Exit::Conflict,
                RefusalKind::Usage => Exit::Usage,
                RefusalKind::Newer => Exit::Newer,
                RefusalKind::Unread => Exit::Unreadable,
            },
            Self::InTheWay { why, .. } => Exit::No(*why),
            Self::Edit(EditError::Unsupported(_)) | Self::DefinitionInvalid { .. } => Exit::No(No::Invalid),
            Self::Usage { .. } | Self::Path(_) => Exit::Usage,
            Self::Moved { .. } | Self::LiveOwner(_) => Exit::Conflict,
            Self::NotConfirmed { .. } => Exit::Person,
            Self::SelfCheck { .. } => Exit::Bug,
        }
    }

    /// Returns the messages of the run's own system that replace ours, for people.
    pub(crate) fn native_messages(&self) -> Vec<String> {
        if let Self::Resume { messages, .. } = self {
            return messages.clone();
        }
        let Self::Ambiguous { runs, .. } = self else { return Vec::new() };
        let rows: Option<Vec<(usize, &str)>> =
            runs.iter().map(|run| Some((run.number, run.native_row.as_deref()?))).collect();
        let dialect =
            runs.first().map(|first| first.dialect).filter(|first| runs.iter().all(|run| run.dialect == *first));
        rows.zip(dialect)
            .map_or_else(Vec::new, |(rows, dialect)| dialect::by_id(dialect).wording().choice_prompt(&rows))
    }

    /// Returns the runs to choose from, each to be put into the command that was typed.
    pub(crate) fn choices(&self) -> &[RunChoice] {
        match self {
            Self::Ambiguous { choices, .. } => choices,
            Self::UnknownRun { near, .. } => near,
            Self::Resume { error, .. } => error.choices(),
            _ => &[],
        }
    }

    /// Tells whether the project has no run, so that the ways to start one are the way out.
    pub(crate) fn found_no_run(&self) -> bool {
        match self {
            Self::NoRun { findings, .. } => !findings.iter().any(hides_runs),
            // For a whole id of a session no file of the project was looked at.
            Self::UnknownRun { wanted, known, .. } => known.is_empty() && !store::sessions::is_new_id(wanted),
            Self::Resume { error, .. } => error.found_no_run(),
            _ => false,
        }
    }

    /// Returns what to do besides [`Self::choices`], as exact commands if possible.
    pub(crate) fn hints(&self) -> Vec<Fix> {
        let one = |hint: Fix| vec![hint];
        match self {
            Self::Resume { error, .. } => error.hints(),
            Self::Store(StoreError::Conflict { .. }) => one(shows_state()),
            Self::Store(
                StoreError::Permission { path, .. } | StoreError::Unreadable { path, problem: ReadProblem::Permission },
            ) => vec![Suggested::Other(permission_fix(path)).into(), Suggested::new(Verb::Doctor).into()],
            Self::Store(StoreError::HistoryMissing { .. }) => one(Suggested::new(Verb::History).into()),
            Self::Store(
                StoreError::LockTimeout { .. }
                | StoreError::NoLock { .. }
                | StoreError::UnsafePath { .. }
                | StoreError::ReadOnly { .. },
            ) => one(Suggested::new(Verb::Doctor).into()),
            Self::Store(StoreError::Full { path }) => one(format!(
                "`mv {0} {0}.full` begins a new one: Piton then no longer knows what was reported and decided before",
                quoted(path.as_str())
            )
            .into()),
            Self::Store(StoreError::NoSpace { .. } | StoreError::Io { .. } | StoreError::NotRolledBack { .. }) => {
                vec![shows_state(), Suggested::new(Verb::Doctor).into()]
            }
            Self::Store(StoreError::Config { .. }) => one(Suggested::of(Verb::Schema, "config").into()),
            Self::Store(StoreError::NotTrusted { path }) => ways_to_trust(path.as_str()).into(),
            Self::Store(StoreError::NoHome) => {
                one("set PITON_HOME to a folder that lasts, then run the command again".into())
            }
            Self::Store(StoreError::Unreadable { .. } | StoreError::NotText { .. }) | Self::Path(_) => Vec::new(),
            Self::NoRun { searched, .. } => {
                vec![format!("searched {searched}").into(), elsewhere()]
            }
            Self::UnknownRun { near, .. } if !near.is_empty() => Vec::new(),
            Self::UnknownRun { known, .. } if known.is_empty() => one(elsewhere()),
            Self::UnknownRun { known, .. } => {
                vec![there_are(known), Suggested::new(Verb::List).flag("all").into()]
            }
            Self::Ambiguous { .. } => Vec::new(),
            Self::StepNowhere { runs, .. } => {
                runs.iter().take(NAMES_SHOWN).map(|run| Suggested::of(Verb::Plan, run).into()).collect()
            }
            Self::Unreadable { findings, .. } => findings.iter().filter_map(|finding| finding.fix.clone()).collect(),
            Self::UnknownStep { known, .. } if known.is_empty() => Vec::new(),
            Self::UnknownStep { known, .. } => one(format!("there are {}", known.join(", ")).into()),
            Self::Refused(refusal) => refusal.hints.clone(),
            Self::Edit(EditError::Unreadable { .. }) => {
                one(format!("`{}` says where it breaks; correct the file there", Suggested::new(Verb::Validate)).into())
            }
            Self::Edit(EditError::Register { file, .. }) => {
                one(format!("correct {} or move it away, then archive again", quoted(file)).into())
            }
            Self::Edit(EditError::Missing { .. } | EditError::Unsupported(_)) => one(Suggested::new(Verb::Plan).into()),
            Self::Usage { hints, .. }
            | Self::InTheWay { hints, .. }
            | Self::TargetAmbiguous { hints, .. }
            | Self::NotConfirmed { hints, .. } => hints.clone(),
            Self::DefinitionInvalid { file, .. } => {
                vec![Suggested::of(Verb::Validate, file).into(), Suggested::of(Verb::Schema, "workflow").into()]
            }
            Self::Moved { run, .. } => {
                one(format!("`{}` shows the current state", Suggested::of(Verb::Plan, run)).into())
            }
            Self::LiveOwner(_) => one("wait for it, or end it; then try again".into()),
            Self::SelfCheck { .. } => one("nothing was written; please report this as a bug in piton".into()),
            Self::UnknownSchema { known, .. } => one(format!("there are {known}").into()),
        }
    }

    /// Returns what was found in the data and stands behind it.
    pub(crate) fn findings(&self) -> &[Finding] {
        match self {
            Self::NoRun { findings, .. }
            | Self::Unreadable { findings, .. }
            | Self::DefinitionInvalid { findings, .. } => findings,
            _ => &[],
        }
    }
}

fn shows_state() -> Fix {
    format!("`{}` shows the current state of the run", Suggested::new(Verb::Plan)).into()
}

fn elsewhere() -> Fix {
    format!("to look elsewhere: `{}`", Suggested::new(Verb::List).project("DIR")).into()
}

fn there_are(known: &[String]) -> Fix {
    let shown: Vec<&str> = known.iter().take(NAMES_SHOWN).map(String::as_str).collect();
    let more = match known.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("there are {}{more}", shown.join(", ")).into()
}

/// Tells whether a finding is about a place of runs that cannot be read.
pub(super) fn is_closed(finding: &Finding) -> bool {
    finding.code == FindingCode::FolderClosed
}

/// Tells whether a finding says that runs may be where nothing was looked at.
pub(super) fn hides_runs(finding: &Finding) -> bool {
    is_closed(finding) || finding.code == FindingCode::WalkCutOff
}

const fn exit_of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::Conflict { .. } | StoreError::LockTimeout { .. } => Exit::Conflict,
        StoreError::HistoryMissing { .. } => Exit::NotFound,
        StoreError::Config { .. } => Exit::Usage,
        StoreError::NotTrusted { .. } => Exit::Person,
        StoreError::NoHome => Exit::No(No::Invalid),
        StoreError::Unreadable { .. }
        | StoreError::Permission { .. }
        | StoreError::NoSpace { .. }
        | StoreError::Full { .. }
        | StoreError::ReadOnly { .. }
        | StoreError::NoLock { .. }
        | StoreError::NotRolledBack { .. }
        | StoreError::UnsafePath { .. }
        | StoreError::Io { .. }
        | StoreError::NotText { .. } => Exit::Unreadable,
    }
}

/// Returns a question with the similar names; empty if there are none.
fn did_you_mean(near: &[RunChoice]) -> String {
    let names: Vec<&str> = near.iter().map(|choice| choice.id.as_str()).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

/// Returns the commands that answer whether something may speak for this user.
pub(crate) fn ways_to_trust(name: &str) -> [Fix; 2] {
    let (yes, no) = (Suggested::of(Verb::Trust, name), Suggested::new(Verb::Trust).option("no", name));
    [format!("if it is yours: `{yes}`"), format!("if not: `{no}`")].map(Fix::from)
}

/// Returns the command that gives this user access to a path.
pub(crate) fn permission_fix(path: &Utf8Path) -> String {
    let denied = store::denied(path).unwrap_or_else(|| path.to_owned());
    format!("chmod u+rwX {}", quoted(denied.as_str()))
}
