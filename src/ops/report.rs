//! What the verbs answer, as published under `schemas/`. Rendering is the command line's.

use schemars::JsonSchema;
use serde::Serialize;
use serde::Serializer;

use super::exit::Exit;
use super::rollback::RollbackReport;
use super::sessions::CleanReport;
use super::sessions::ImportReport;
use super::sessions::SessionDetail;
use super::sessions::SessionList;
use crate::model::AgeBand;
use crate::model::Cause;
use crate::model::Context;
use crate::model::DialectId;
use crate::model::Finding;
use crate::model::Notice;
use crate::model::Plan;
use crate::model::Progress;
use crate::model::RebuiltValue;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::RunId;
use crate::model::StepId;
use crate::model::Timestamp;
use crate::model::Verdict;

/// Is the answer of one verb.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    pub(crate) body: Body,
    pub(crate) findings: Vec<Finding>,
}

/// Holds the data of an answer, by kind.
#[derive(Debug)]
pub(crate) enum Body {
    List(ListReport),
    Plan(Box<PlanReport>),
    Context(Box<ContextReport>),
    Status(StatusReport),
    Validate(ValidateReport),
    SchemaList(SchemaList),
    /// Printed as it is, outside of the envelope.
    Document(String),
    Checkpoint(CheckpointReport),
    Resume(Box<ResumeReport>),
    History(HistoryReport),
    Restore(RestoreReport),
    Repair(Box<RepairReport>),
    Rollback(Box<RollbackReport>),
    Archive(ArchiveReport),
    Cleanup(CleanupReport),
    Doctor(DoctorReport),
    Setup(SetupReport),
    Demo(DemoReport),
    Sessions(SessionList),
    Session(Box<SessionDetail>),
    Clean(CleanReport),
    Import(ImportReport),
}

impl Report {
    pub(crate) fn ok(body: Body) -> Self {
        Self { exit: Exit::Ok, body, findings: Vec::new() }
    }
}

/// Is a plan with what only the renderings for people need.
#[derive(Debug)]
pub(crate) struct PlanReport {
    pub(crate) plan: Plan,
    /// What was planned: titles, groups and agents of its steps.
    pub(crate) run: Run,
    /// What the system's own messages say about the situation.
    pub(crate) notices: Vec<Notice>,
}

/// Is the context of a step.
#[derive(Debug)]
pub(crate) struct ContextReport {
    pub(crate) context: Context,
}

/// Lists runs (`list/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// Newest first.
    pub(crate) runs: Vec<ListedRun>,
    /// Runs that are over and were left out; `--all` shows them.
    pub(crate) hidden: usize,
}

/// Is one run of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ListedRun {
    /// Good as RUN for other verbs, as long as nothing changes.
    pub(crate) number: usize,
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    /// Where it stands, for people.
    pub(crate) position: String,
    pub(crate) verdict: Verdict,
    /// What cut it off, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    pub(crate) age_seconds: Option<i64>,
    pub(crate) age_band: Option<AgeBand>,
    pub(crate) progress: Progress,
    /// The state, relative to the project; absolute when it lies elsewhere.
    pub(crate) state: String,
    /// Good as RUN for other verbs, at any time.
    pub(crate) path: String,
    /// The same in the words of the run's own system, for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) native_row: Option<String>,
}

/// Says in three lines where a run is (`status/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusReport {
    pub(crate) run: RunId,
    pub(crate) verdict: Verdict,
    pub(crate) where_you_are: String,
    /// What cut it off, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    pub(crate) what_is_stale: String,
    pub(crate) next_command: String,
}

/// Says which files are sound (`validate/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidateReport {
    pub(crate) valid: bool,
    pub(crate) files: Vec<ValidatedFile>,
}

/// Is one file that was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidatedFile {
    pub(crate) file: String,
    pub(crate) schema: Option<String>,
    pub(crate) problems: usize,
}

/// Lists the published schemas (`schema-list/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaList {
    pub(crate) schemas: Vec<SchemaName>,
}

/// Is the name of a schema and what it describes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaName {
    pub(crate) name: String,
    pub(crate) about: String,
}

/// Says what was recorded (`checkpoint/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckpointReport {
    pub(crate) run: RunId,
    /// `begin`, `finish`, `approve`, ...
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    /// False when the state said so already and nothing was written.
    pub(crate) recorded: bool,
    pub(crate) message: String,
    /// The revision after the change, for `--if-revision`.
    pub(crate) revision: String,
    /// Files that were written.
    pub(crate) files: Vec<RelPath>,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// Is the start of the next piece of work (`resume/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResumeReport {
    pub(crate) plan: Plan,
    /// What the agent of the first next step is handed; `null` when no step is next.
    pub(crate) context: Option<Context>,
    /// The revision after the bookkeeping, for `--if-revision`.
    pub(crate) revision: String,
}

/// Lists earlier checkpoints (`history/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryReport {
    pub(crate) run: RunId,
    /// Newest first.
    pub(crate) checkpoints: Vec<HistoryItem>,
}

/// Is one earlier checkpoint: the state as it was before a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryItem {
    pub(crate) id: String,
    pub(crate) at: Option<Timestamp>,
    /// The change that replaced it.
    pub(crate) replaced_by: String,
    pub(crate) step: Option<String>,
    /// The client's session that made that change; left out where none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// Who did the step; only with `--changes`, and left out where nobody is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What that change did to the steps; only with `--changes`, and left out where one of the two states cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<String>>,
    pub(crate) files: Vec<RelPath>,
    pub(crate) bytes: u64,
}

/// Says what was brought back (`restore/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    pub(crate) run: String,
    pub(crate) from: String,
    pub(crate) files: Vec<RelPath>,
    /// Steps that would be done again because the restored state is older.
    pub(crate) repeats: Vec<StepId>,
    /// Where an unreadable state was kept.
    pub(crate) kept: Vec<String>,
}

/// Is what can be done about a state that cannot be read (`repair/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RepairReport {
    pub(crate) run: String,
    pub(crate) state: RelPath,
    /// What cannot be read, and where.
    pub(crate) problems: Vec<String>,
    /// Every earlier version that is known of, newest first.
    pub(crate) versions: Vec<KnownVersion>,
    pub(crate) proposal: Proposal,
    /// False while nobody agreed: then nothing was written.
    pub(crate) written: bool,
    /// Where the bytes that were replaced are kept.
    pub(crate) kept: Vec<String>,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// Is an earlier version of a state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnownVersion {
    /// What `restore --to` takes.
    pub(crate) name: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) what: String,
    pub(crate) readable: bool,
}

/// Is what would be written.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Proposal {
    /// `evidence`, or the checkpoint it comes from.
    pub(crate) source: String,
    /// Changes with every byte of `files`.
    pub(crate) digest: String,
    pub(crate) files: Vec<ProposedFile>,
    /// Which value comes from where; only for a state that is rebuilt.
    pub(crate) values: Vec<RebuiltValue>,
    /// What nothing tells, and what is written instead.
    pub(crate) unknown: Vec<String>,
    /// Steps that would be done again.
    pub(crate) repeats: Vec<StepId>,
}

/// Is one file that would be written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedFile {
    pub(crate) file: RelPath,
    pub(crate) content: String,
}

/// Says where the state went (`archive/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchiveReport {
    pub(crate) run: RunId,
    pub(crate) to: RelPath,
}

/// Lists what is put away of runs that are over (`cleanup/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupReport {
    /// What is younger stays.
    pub(crate) after_days: u32,
    pub(crate) items: Vec<CleanupItem>,
    /// False while nobody agreed: then nothing was moved.
    pub(crate) written: bool,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// Is one state or file that is put away.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupItem {
    /// Relative to the project; absolute when it lies elsewhere.
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) age_seconds: i64,
    /// Where it was put; `null` while it is only proposed, and where that failed.
    pub(crate) to: Option<RelPath>,
    /// Why it stays.
    pub(crate) problem: Option<String>,
}

/// Lists what was checked (`doctor/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    pub(crate) version: String,
    pub(crate) checks: Vec<DoctorCheck>,
}

/// Is one check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorCheck {
    pub(crate) name: String,
    /// `ok`, `warning` or `problem`.
    pub(crate) result: String,
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

/// Says which program runs, and what changes in the client's settings (`setup/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetupReport {
    pub(crate) version: String,
    pub(crate) program: Option<String>,
    /// It lies where `setup` builds it.
    pub(crate) in_cache: bool,
    /// Where hooks and the agent look for a program of this version.
    pub(crate) cache: Option<String>,
    pub(crate) settings: Option<SettingsChange>,
}

/// Is a change of a settings file of the client, made or to be made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingsChange {
    pub(crate) file: String,
    /// False when the file says so already.
    pub(crate) needed: bool,
    pub(crate) written: bool,
    /// Lines with `-`, `+` or a blank before them.
    pub(crate) diff: Vec<String>,
}

/// Is the transcript of the demonstration (`demo/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemoReport {
    pub(crate) scenes: Vec<DemoScene>,
    /// Where the scratch project is, when it was kept.
    pub(crate) kept: Option<String>,
}

/// Is one command of the demonstration with what it printed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemoScene {
    pub(crate) dialect: DialectId,
    pub(crate) say: String,
    pub(crate) command: Option<String>,
    pub(crate) output: String,
    pub(crate) exit: Option<i32>,
}

impl Body {
    /// Returns name and version of the document.
    pub(crate) const fn schema(&self) -> &'static str {
        match self {
            Self::List(_) => "list/1",
            Self::Plan(_) => "plan/1",
            Self::Context(_) => "context/1",
            Self::Status(_) => "status/1",
            Self::Validate(_) => "validate/1",
            Self::SchemaList(_) => "schema-list/1",
            Self::Document(_) => "document/1",
            Self::Checkpoint(_) => "checkpoint/1",
            Self::Resume(_) => "resume/1",
            Self::History(_) => "history/1",
            Self::Restore(_) => "restore/1",
            Self::Repair(_) => "repair/1",
            Self::Rollback(_) => "rollback/1",
            Self::Archive(_) => "archive/1",
            Self::Cleanup(_) => "cleanup/1",
            Self::Doctor(_) => "doctor/1",
            Self::Setup(_) => "setup/1",
            Self::Demo(_) => "demo/1",
            Self::Sessions(_) => "sessions/1",
            Self::Session(_) => "session/1",
            Self::Clean(_) => "sessions-clean/1",
            Self::Import(_) => "session-import/1",
        }
    }
}

/// Is the data of the document.
impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::List(report) => report.serialize(serializer),
            Self::Plan(report) => report.plan.serialize(serializer),
            Self::Context(report) => report.context.serialize(serializer),
            Self::Status(report) => report.serialize(serializer),
            Self::Validate(report) => report.serialize(serializer),
            Self::SchemaList(report) => report.serialize(serializer),
            Self::Document(text) => text.serialize(serializer),
            Self::Checkpoint(report) => report.serialize(serializer),
            Self::Resume(report) => report.serialize(serializer),
            Self::History(report) => report.serialize(serializer),
            Self::Restore(report) => report.serialize(serializer),
            Self::Repair(report) => report.serialize(serializer),
            Self::Rollback(report) => report.serialize(serializer),
            Self::Archive(report) => report.serialize(serializer),
            Self::Cleanup(report) => report.serialize(serializer),
            Self::Doctor(report) => report.serialize(serializer),
            Self::Setup(report) => report.serialize(serializer),
            Self::Demo(report) => report.serialize(serializer),
            Self::Sessions(report) => report.serialize(serializer),
            Self::Session(report) => report.serialize(serializer),
            Self::Clean(report) => report.serialize(serializer),
            Self::Import(report) => report.serialize(serializer),
        }
    }
}
