//! The reports of the verbs, as published under `schemas/`. The command line renders them.

use schemars::JsonSchema;
use serde::Serialize;
use serde::Serializer;

use super::exit::Exit;
use super::plan_document::PlanDetail;
use super::plan_document::PlanDocument;
use super::plan_document::ResumeDocument;
use super::rollback::RollbackReport;
use super::sessions::CleanReport;
use super::sessions::ImportReport;
use super::sessions::SessionDetail;
use super::sessions::SessionList;
use crate::model::AgeBand;
use crate::model::Cause;
use crate::model::Context;
use crate::model::Decision;
use crate::model::DialectId;
use crate::model::Finding;
use crate::model::Notice;
use crate::model::Patch;
use crate::model::Plan;
use crate::model::Progress;
use crate::model::RebuiltValue;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::RunId;
use crate::model::StepId;
use crate::model::StepReport;
use crate::model::Timestamp;
use crate::model::Verdict;

/// The result of a verb.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    pub(crate) body: Body,
    pub(crate) findings: Vec<Finding>,
}

/// The data of a report, by kind.
#[derive(Debug)]
pub(crate) enum Body {
    List(ListReport),
    Plan(Box<PlanReport>),
    Context(Box<ContextReport>),
    Status(StatusReport),
    Validate(ValidateReport),
    SchemaList(SchemaList),
    /// Printed verbatim, without the envelope.
    Document(String),
    Checkpoint(Box<CheckpointReport>),
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

    /// Returns what the call has written, for an answer that cannot be printed; `None` if it only read.
    pub(crate) fn written(&self) -> Option<String> {
        match &self.body {
            Body::Checkpoint(checkpoint) => checkpoint.recorded.then(|| checkpoint.message.clone()),
            Body::Resume(_) => Some("the run is taken over".to_owned()),
            Body::Restore(restore) => Some(format!("{} is back at {}", restore.run, restore.from)),
            Body::Archive(archive) => Some(format!("{} is in {}", archive.run, archive.to)),
            Body::Repair(repair) => repair.written.then(|| format!("{} is repaired", repair.run)),
            Body::Rollback(rollback) => rollback.written.then(|| format!("{} is rolled back", rollback.run)),
            Body::Cleanup(cleanup) => cleanup.written.then(|| "the archive is tidied up".to_owned()),
            Body::Clean(clean) => (!clean.dry_run).then(|| "the sessions are put away".to_owned()),
            Body::Import(import) => Some(format!("{} is imported", import.session)),
            Body::List(_)
            | Body::Plan(_)
            | Body::Context(_)
            | Body::Status(_)
            | Body::Validate(_)
            | Body::SchemaList(_)
            | Body::Document(_)
            | Body::History(_)
            | Body::Doctor(_)
            | Body::Setup(_)
            | Body::Demo(_)
            | Body::Sessions(_)
            | Body::Session(_) => None,
        }
    }
}

/// A plan with what its renderings for people need.
#[derive(Debug)]
pub(crate) struct PlanReport {
    pub(crate) plan: Plan,
    /// The planned run: titles, groups and agents of its steps.
    pub(crate) run: Run,
    /// Messages of the run's own system.
    pub(crate) notices: Vec<Notice>,
    /// Whether the plan's own messages sum it up.
    pub(crate) is_summed_up: bool,
    pub(crate) detail: PlanDetail,
}

/// The context of a step.
#[derive(Debug)]
pub(crate) struct ContextReport {
    pub(crate) context: Context,
}

/// A list of runs (`list/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// Newest first.
    pub(crate) runs: Vec<ListedRun>,
    /// Number of finished runs that were left out; `--all` shows them.
    pub(crate) hidden: usize,
    /// Number of stories that only wait for their review and were left out because they are many; `--all` shows them.
    pub(crate) in_review: usize,
}

/// One run of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ListedRun {
    /// Can be used as RUN in other verbs, as long as no run changes.
    pub(crate) number: usize,
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    /// The name of its workflow; that of the dialect where the state cannot be read.
    pub(crate) workflow: String,
    /// Current position, for people.
    pub(crate) position: String,
    pub(crate) verdict: Verdict,
    pub(crate) lifecycle: Lifecycle,
    /// What cut it off, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    pub(crate) age_seconds: Option<i64>,
    pub(crate) age_band: Option<AgeBand>,
    pub(crate) progress: Progress,
    /// The state, relative to the project; absolute when it lies elsewhere.
    pub(crate) state: String,
    /// Can be used as RUN in other verbs, at any time.
    pub(crate) path: String,
    /// The row in the format of the run's own system, for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) native_row: Option<String>,
    /// Something stopped in the middle, or was not continued for an hour. False for a run that is paused or over.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_cut_off: bool,
}

/// A three-line summary of a run (`status/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusReport {
    pub(crate) run: RunId,
    pub(crate) verdict: Verdict,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) where_you_are: String,
    /// What cut it off, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    pub(crate) what_is_stale: String,
    pub(crate) next_command: String,
    /// What was reported, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reports: Vec<StepReport>,
    /// What people decided, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<Decision>,
}

/// The result of validating files (`validate/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidateReport {
    pub(crate) valid: bool,
    pub(crate) files: Vec<ValidatedFile>,
}

/// A checked file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidatedFile {
    pub(crate) file: String,
    pub(crate) schema: Option<String>,
    pub(crate) problems: usize,
}

/// The published schemas (`schema-list/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaList {
    pub(crate) schemas: Vec<SchemaName>,
}

/// The name of a schema and what it describes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaName {
    pub(crate) name: String,
    pub(crate) about: String,
}

/// A recorded change (`checkpoint/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckpointReport {
    pub(crate) run: RunId,
    /// `begin`, `finish`, `approve`, ...
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    /// False if the state had the change already and nothing was written.
    pub(crate) recorded: bool,
    /// Whether a step failed or was refused, for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_setback: bool,
    pub(crate) message: String,
    /// The revision after the change, for `--if-revision`.
    pub(crate) revision: String,
    /// Files that were written.
    pub(crate) files: Vec<RelPath>,
    /// The most useful next command.
    pub(crate) next: Option<String>,
    /// What the agent of a step that begins has to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) brief: Option<Context>,
    /// The file with the brief, in place of `brief`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) brief_file: Option<BriefFile>,
}

/// A brief that was written to a file for the agent of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BriefFile {
    /// The absolute path, since an agent may work in another folder.
    pub(crate) path: String,
    pub(crate) bytes: usize,
    /// The agent for the step, if its system names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What to say to the agent: it has the brief from a hook, or reads the file.
    pub(crate) prompt: String,
}

/// The start of the next step of work.
#[derive(Debug)]
pub(crate) struct ResumeReport {
    pub(crate) plan: Plan,
    /// The context for the agent of the first next step; `None` if no step is next.
    pub(crate) context: Option<Context>,
    /// The revision after the bookkeeping.
    pub(crate) revision: String,
    pub(crate) detail: PlanDetail,
}

/// Earlier checkpoints (`history/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryReport {
    pub(crate) run: RunId,
    /// Newest first.
    pub(crate) checkpoints: Vec<HistoryItem>,
}

/// An earlier checkpoint: the state before a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryItem {
    pub(crate) id: String,
    pub(crate) at: Option<Timestamp>,
    /// The change that replaced it.
    pub(crate) replaced_by: String,
    pub(crate) step: Option<String>,
    /// The client's session that made that change; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The agent of the step; only with `--changes`, and left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What that change did to the steps; only with `--changes`, and left out if one of the two states cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<String>>,
    /// What was reported with that change; only with `--changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<StepReport>,
    /// What a person decided with that change; only with `--changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<Decision>,
    /// Whether another program changed the kept files: it cannot be restored. Left out if not.
    #[serde(rename = "damaged", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_damaged: bool,
    pub(crate) files: Vec<RelPath>,
    pub(crate) bytes: u64,
}

/// A restored checkpoint (`restore/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    pub(crate) run: String,
    pub(crate) from: String,
    pub(crate) files: Vec<RelPath>,
    /// Steps that are done again because the restored state is older.
    pub(crate) repeats: Vec<StepId>,
    /// Where an unreadable state was kept.
    pub(crate) kept: Vec<String>,
}

/// A proposed or written repair of an unreadable state (`repair/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RepairReport {
    pub(crate) run: String,
    pub(crate) state: RelPath,
    /// What cannot be read, and where.
    pub(crate) problems: Vec<String>,
    /// Every known earlier version, newest first.
    pub(crate) versions: Vec<KnownVersion>,
    pub(crate) proposal: Proposal,
    /// False if not confirmed: nothing was written.
    pub(crate) written: bool,
    /// Where the replaced bytes are kept.
    pub(crate) kept: Vec<String>,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// An earlier version of a state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnownVersion {
    /// What `restore --to` takes.
    pub(crate) name: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) what: String,
    pub(crate) readable: bool,
}

/// The proposed content.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Proposal {
    /// `evidence`, or the name of the checkpoint.
    pub(crate) source: String,
    /// Digest of `files`.
    pub(crate) digest: String,
    pub(crate) files: Vec<ProposedFile>,
    /// The source of each value; only for a rebuilt state.
    pub(crate) values: Vec<RebuiltValue>,
    /// Values without evidence, and what is written instead.
    pub(crate) unknown: Vec<String>,
    /// Steps that are done again.
    pub(crate) repeats: Vec<StepId>,
}

/// A proposed file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedFile {
    pub(crate) file: RelPath,
    pub(crate) content: String,
}

/// An archived run (`archive/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchiveReport {
    pub(crate) run: RunId,
    pub(crate) to: RelPath,
    /// The command that fits next: a start under the same name, if piton can start such a run.
    pub(crate) next: String,
    /// The command that brings the run back; left out for systems that keep archived runs as runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restore: Option<String>,
    /// How its own system starts a new run, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
    /// What sets back the files that still call its work open; Piton does not write them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<Patch>,
}

/// The finished runs and leftover files that are archived (`cleanup/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupReport {
    /// Younger ones stay.
    pub(crate) after_days: u32,
    pub(crate) items: Vec<CleanupItem>,
    /// False if not confirmed: nothing was moved.
    pub(crate) written: bool,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// A state or file to archive.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupItem {
    /// Relative to the project; absolute when it lies elsewhere.
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) age_seconds: i64,
    /// Where it was moved; `null` if it is only proposed, if moving failed, or if it is an archive, which is removed.
    pub(crate) to: Option<RelPath>,
    /// An archive beyond the limit (`limits.archives`), which is removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removes: bool,
    /// Why it stays.
    pub(crate) problem: Option<String>,
}

/// The result of the checks (`doctor/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    pub(crate) version: String,
    pub(crate) checks: Vec<DoctorCheck>,
}

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorCheck {
    pub(crate) name: String,
    /// `ok`, `warning` or `problem`.
    pub(crate) result: String,
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

/// The installed program, and the changes of the client's settings (`setup/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetupReport {
    pub(crate) version: String,
    pub(crate) program: Option<String>,
    /// The program is in the folder where `setup` builds it.
    pub(crate) in_cache: bool,
    /// Where hooks and the agent look for a program of this version.
    pub(crate) cache: Option<String>,
    pub(crate) settings: Option<SettingsChange>,
}

/// A proposed or written change of a settings file of the client.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingsChange {
    pub(crate) file: String,
    /// False if the file has the settings already.
    pub(crate) needed: bool,
    pub(crate) written: bool,
    /// Lines with `-`, `+` or a blank before them.
    pub(crate) diff: Vec<String>,
}

/// The transcript of the demonstration (`demo/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemoReport {
    pub(crate) scenes: Vec<DemoScene>,
    /// Path of the scratch project, if it was kept.
    pub(crate) kept: Option<String>,
}

/// One command of the demonstration with its output.
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
            Self::Plan(_) => "plan/2",
            Self::Context(_) => "context/2",
            Self::Status(_) => "status/1",
            Self::Validate(_) => "validate/1",
            Self::SchemaList(_) => "schema-list/1",
            Self::Document(_) => "document/1",
            Self::Checkpoint(_) => "checkpoint/1",
            Self::Resume(_) => "resume/2",
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

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::List(report) => report.serialize(serializer),
            Self::Plan(report) => PlanDocument::of(&report.plan, report.detail).serialize(serializer),
            Self::Context(report) => report.context.serialize(serializer),
            Self::Status(report) => report.serialize(serializer),
            Self::Validate(report) => report.serialize(serializer),
            Self::SchemaList(report) => report.serialize(serializer),
            Self::Document(text) => text.serialize(serializer),
            Self::Checkpoint(report) => report.serialize(serializer),
            Self::Resume(report) => {
                let ResumeReport { plan, context, revision, detail } = &**report;
                ResumeDocument::of(plan, context.as_ref(), revision, *detail).serialize(serializer)
            }
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

/// The stage of a run, with a person's reason for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Lifecycle {
    pub(crate) stage: Stage,
    /// Why it was paused or aborted, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// The stages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    Open,
    Paused,
    Aborted,
    /// Nothing is left to do but what its system does at the end.
    Finished,
    Archived,
}

impl Stage {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Aborted => "aborted",
            Self::Finished => "finished",
            Self::Archived => "archived",
        }
    }

    /// Tells whether the run continues only on explicit request, or not at all.
    pub(crate) const fn is_over(self) -> bool {
        match self {
            Self::Open | Self::Paused => false,
            Self::Aborted | Self::Finished | Self::Archived => true,
        }
    }
}
