//! The use cases, one file per verb. They return reports and never print.
//!
//! From the bottom up:
//!
//! - `report` is what the verbs return, with what several reports share; each report is beside its verb. `error` and `exit` are how they fail.
//! - `run_location` is where a run is, `opened_run` a run that was read; `package` finds its files; `run_history` and `versions` have its earlier states, `workflow` and
//!   `startable` what a run can be started from, `unfinished` the findings about a walk or a change that was cut off, `lifecycle` the words
//!   for a run that is open, paused or over.
//! - `project_context` is the opened project; `entries` are its runs as rows, `archived` those that were put away, `choice` lists what to
//!   choose from, `select` finds the requested run.
//! - `client_sessions` are the sessions of Claude Code that belong to the project.
//! - `locked_run` is the only way to write a state: `draft` admits a change and computes its edits, `commit` writes them
//!   with what was said into the `journal`, `record` says who began and what a step left, `log` why a resume was safe.
//! - `begin` and `change` record what callers say; `resolve` reads what was typed.
//! - `plan_document` is the published form of a plan.
//! - `open_steps` are the steps that a session of the client has in progress, for its hooks; `agent_report` is what an agent
//!   reported about one, for `finish`.
//! - `session_left` is what a session of the client left open, for the hook of a resumed one.
//! - `workflow_runs` finds runs of workflow files, for `logs` and `merge`.
//! - `proposal` is what `restore` writes in the place of a state that cannot be read, after a yes.
//! - `archive` moves runs into archives and back; `discard` is what `close --discard` removes.
//! - Every other file is the verb of its name; `cleanup` is `close --all`, `patch` is `plan --patch`.

mod adopt;
mod agent_report;
mod alike;
mod answers;
mod archive;
mod archived;
mod begin;
mod change;
mod choice;
mod cleanup;
pub(crate) mod client_sessions;
mod close;
mod commit;
mod configured;
mod context;
mod decide;
mod demo;
mod discard;
mod doctor;
mod doctor_client;
mod doctor_sessions;
mod draft;
mod entries;
mod error;
mod exit;
mod half_made;
mod held;
mod history;
mod journal;
mod lifecycle;
mod list;
mod locked_run;
mod log;
mod logs;
mod lost_steps;
mod open_steps;
mod opened_run;
mod package;
mod patch;
mod phase;
mod plan;
mod plan_document;
mod project_context;
mod proposal;
mod record;
mod report;
mod reported;
mod resolve;
mod restore;
mod resume;
mod rollback;
mod run_location;
mod schema;
mod select;
mod session_left;
mod setup;
mod show;
mod start;
mod startable;
mod status;
#[cfg(test)]
mod toy_tests;
mod trust;
mod unfinished;
mod unmatched;
mod unread;
mod validate;
mod versions;
mod view;
mod watch;
mod workflow_file;
mod workflow_runs;
mod workflows;

pub(crate) use crate::store::{surroundings, unread::forget as forget_unread};
pub(crate) use adopt::{AdoptReport, adopt};
pub(crate) use begin::{BriefForm, BriefRequest, begin};
pub(crate) use change::{AnswerRequest, ChangeRequest, change, input};
pub(crate) use cleanup::{CleanupReport, cleanup};
pub(crate) use client_sessions::{last_error as last_error_of_session, notice as session_notice};
pub(crate) use close::{CloseReport, CloseRequest, Ending, close, discard};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use context::assemble_native;
pub(crate) use context::{brief_of, context, session_brief};
pub(crate) use decide::{DecideReport, answer, questions};
pub(crate) use demo::{DemoReport, demo, demos};
pub(crate) use discard::Discarded;
pub(crate) use doctor::{DoctorReport, doctor};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use draft::ChangeDraft;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use draft::PreparedChange;
pub(crate) use error::{NO_RUN, OpError, RunChoice, ways_to_trust};
pub(crate) use exit::Exit;
pub(crate) use held::held;
pub(crate) use history::{HistoryReport, history};
pub(crate) use list::{ListReport, list, summary, waiting};
pub(crate) use locked_run::check_not_its_child;
pub(crate) use logs::{LogPositions, LogsReport, logs, newest_log};
pub(crate) use open_steps::{OpenStep, OpenSteps, open_steps};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use opened_run::OpenedRun;
pub(crate) use patch::patch;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use plan::evaluate;
pub(crate) use plan::{PlanReport, PlanRequest, plan};
pub(crate) use plan_document::PlanDetail;
#[cfg(test)]
pub(crate) use plan_document::PlanDocument;
#[cfg(test)]
pub(crate) use plan_document::ResumeDocument;
pub(crate) use project_context::{ProjectContext, Request, wanted_format};
pub(crate) use proposal::{Confirmation, Proposal, RestoreReport};
pub(crate) use report::{Body, CheckpointReport, ListedRun, Report, Stage};
pub(crate) use restore::{RestoreRequest, record_branch, restore};
pub(crate) use resume::{
    ResumeOutcome, ResumeReport, ResumeRequest, chosen, declined, no_choice, not_ours, resume, unchanged, unconfirmed,
    way_out,
};
pub(crate) use rollback::{GitMethod, RollbackReport, RollbackRequest, rollback};
pub(crate) use run_location::{
    RunLocation, header_bytes, is_here, sentence as stranger_in_words, short_path, with_short_paths,
};
pub(crate) use schema::{SchemaFile, SchemaList, schema, schemas};
pub(crate) use select::{location, location_to_read, where_it_moved};
pub(crate) use session_left::session_left;
pub(crate) use setup::{Scope as SetupScope, SetupReport, SetupRequest, setup};
pub(crate) use show::{Effort, PageFile, ShowReport, open_page, show, write_page};
pub(crate) use start::{StartOptions, start, ways_to_start};
pub(crate) use status::{StatusReport, status};
pub(crate) use trust::{TrustReport, decide as trust, list as trusted};
pub(crate) use unread::unnamed as unnamed_unread;
pub(crate) use validate::{ValidateReport, validate};
pub(crate) use watch::{WatchedList, WatchedRun, watch, watch_all};
pub(crate) use workflow_file::{
    hints_for_missing as hints_for_missing_workflow, is_path as is_workflow_path, path_of as workflow_path,
    print as print_workflow,
};
pub(crate) use workflow_runs::{run_to_discard, run_to_merge, workflow_run};
pub(crate) use workflows::{ListedInput, WorkflowsReport, workflows};
