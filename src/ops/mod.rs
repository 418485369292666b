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
//! - `locked_run` is the only way to write a state: `draft` admits a change and computes its edits, `record` writes what is kept beside a
//!   checkpoint, `log` the entry of a resume.
//! - `begin` and `change` record what callers say; `resolve` reads what was typed.
//! - `plan_document` is the published form of a plan.
//! - `open_steps` are the steps that a session of the client has in progress, for its hooks; `agent_report` is what an agent
//!   reported about one, for `finish`.
//! - `session_left` is what a session of the client left open, for the hook of a resumed one.
//! - `guard` compares the declared outputs of a task of the client with the project, for its hook.
//! - `group` keeps runs apart of which one runs at a time.
//! - Every other file is the verb of its name; `cleanup` is `archive --all`, `patch` is `plan --patch`.

mod adopt;
mod agent_report;
mod answers;
mod archive;
mod archived;
mod begin;
mod change;
mod choice;
mod cleanup;
pub(crate) mod client_sessions;
mod configured;
mod context;
mod copied_run;
mod decide;
mod demo;
mod doctor;
mod doctor_client;
mod doctor_sessions;
mod draft;
mod entries;
mod error;
mod exit;
mod group;
mod guard;
mod history;
mod lifecycle;
mod list;
mod locked_run;
mod log;
mod open_steps;
mod opened_run;
mod package;
mod patch;
mod plan;
mod plan_document;
mod project_context;
mod record;
mod relative_workflow;
mod repair;
mod report;
mod resolve;
mod restore;
mod resume;
mod rollback;
mod run_history;
mod run_location;
mod schema;
mod select;
mod session_left;
mod sessions;
mod setup;
mod show;
mod skip_phase;
mod start;
mod startable;
mod status;
#[cfg(test)]
mod toy_tests;
mod unfinished;
mod validate;
mod versions;
mod watch;
mod workflow_file;
mod workflows;

pub(crate) use crate::engine::Rebegin;
pub(crate) use adopt::AdoptReport;
pub(crate) use adopt::adopt;
pub(crate) use archive::ArchiveReport;
pub(crate) use archive::archive;
pub(crate) use begin::BriefForm;
pub(crate) use begin::BriefRequest;
pub(crate) use begin::begin;
pub(crate) use change::ChangeRequest;
pub(crate) use change::change;
pub(crate) use change::input;
pub(crate) use cleanup::CleanupReport;
pub(crate) use cleanup::cleanup;
pub(crate) use client_sessions::last_error as last_error_of_session;
pub(crate) use client_sessions::notice as session_notice;
#[cfg(any(test, fuzzing))]
pub(crate) use context::assemble_native;
pub(crate) use context::brief_of;
pub(crate) use context::context;
pub(crate) use context::session_brief;
pub(crate) use copied_run::trust;
pub(crate) use decide::DecisionRequest;
pub(crate) use decide::decide;
pub(crate) use demo::DemoReport;
pub(crate) use demo::demo;
pub(crate) use doctor::DoctorReport;
pub(crate) use doctor::doctor;
#[cfg(any(test, fuzzing))]
pub(crate) use draft::ChangeDraft;
#[cfg(any(test, fuzzing))]
pub(crate) use draft::PreparedChange;
pub(crate) use error::OpError;
pub(crate) use error::RunChoice;
pub(crate) use exit::Exit;
pub(crate) use group::GROUP_WAIT;
pub(crate) use group::Holder;
pub(crate) use group::InitialVariables;
pub(crate) use group::Taken;
pub(crate) use group::busy as busy_group;
pub(crate) use group::rendered_before;
pub(crate) use group::take as take_group;
pub(crate) use guard::CompletedTask;
pub(crate) use guard::TaskVerdict;
pub(crate) use guard::judge_task;
pub(crate) use history::HistoryReport;
pub(crate) use history::history;
pub(crate) use list::ListReport;
pub(crate) use list::list;
pub(crate) use list::summary;
pub(crate) use list::waiting;
pub(crate) use locked_run::check_not_its_child;
pub(crate) use open_steps::OpenStep;
pub(crate) use open_steps::OpenSteps;
pub(crate) use open_steps::open_steps;
#[cfg(any(test, fuzzing))]
pub(crate) use opened_run::OpenedRun;
pub(crate) use patch::patch;
pub(crate) use plan::PlanReport;
pub(crate) use plan::PlanRequest;
#[cfg(any(test, fuzzing))]
pub(crate) use plan::evaluate;
pub(crate) use plan::plan;
pub(crate) use plan_document::PlanDetail;
#[cfg(test)]
pub(crate) use plan_document::PlanDocument;
#[cfg(test)]
pub(crate) use plan_document::ResumeDocument;
pub(crate) use project_context::ProjectContext;
pub(crate) use project_context::Request;
pub(crate) use project_context::usual_prodigy_home;
pub(crate) use project_context::wanted_format;
pub(crate) use repair::Confirmation;
pub(crate) use repair::RepairReport;
pub(crate) use repair::RepairRequest;
pub(crate) use repair::record_branch;
pub(crate) use repair::repair;
pub(crate) use report::Body;
pub(crate) use report::CheckpointReport;
pub(crate) use report::ListedRun;
pub(crate) use report::Report;
pub(crate) use report::Stage;
pub(crate) use restore::RestoreReport;
pub(crate) use restore::restore;
pub(crate) use resume::ResumeOutcome;
pub(crate) use resume::ResumeReport;
pub(crate) use resume::ResumeRequest;
pub(crate) use resume::chosen;
pub(crate) use resume::declined;
pub(crate) use resume::no_choice;
pub(crate) use resume::not_ours;
pub(crate) use resume::resume;
pub(crate) use resume::unchanged;
pub(crate) use resume::unconfirmed;
pub(crate) use resume::way_out;
pub(crate) use rollback::GitMethod;
pub(crate) use rollback::RollbackReport;
pub(crate) use rollback::RollbackRequest;
pub(crate) use rollback::rollback;
pub(crate) use run_location::RunLocation;
pub(crate) use run_location::header_bytes;
pub(crate) use run_location::is_here;
pub(crate) use run_location::short_path;
pub(crate) use run_location::with_short_paths;
pub(crate) use schema::SchemaFile;
pub(crate) use schema::SchemaList;
pub(crate) use schema::schema;
pub(crate) use schema::schemas;
pub(crate) use select::is_run;
pub(crate) use select::location;
pub(crate) use select::location_to_read;
pub(crate) use select::where_it_moved;
pub(crate) use session_left::session_left;
pub(crate) use sessions::CleanReport;
pub(crate) use sessions::CleanRequest;
pub(crate) use sessions::DropReport;
pub(crate) use sessions::DropRequest;
pub(crate) use sessions::Ending;
pub(crate) use sessions::ImportReport;
pub(crate) use sessions::LogPositions;
pub(crate) use sessions::LogsReport;
pub(crate) use sessions::SessionDetail;
pub(crate) use sessions::SessionItem;
pub(crate) use sessions::SessionList;
pub(crate) use sessions::SessionRow;
pub(crate) use sessions::SessionStatus;
pub(crate) use sessions::clean as clean_sessions;
pub(crate) use sessions::drop_session;
pub(crate) use sessions::import as import_session;
pub(crate) use sessions::list as list_sessions;
pub(crate) use sessions::list_all as list_all_sessions;
pub(crate) use sessions::logs;
pub(crate) use sessions::only_session_to;
pub(crate) use sessions::session_location;
pub(crate) use sessions::show as show_session;
pub(crate) use setup::Scope as SetupScope;
pub(crate) use setup::SetupReport;
pub(crate) use setup::SetupRequest;
pub(crate) use setup::SetupSwitch;
pub(crate) use setup::setup;
pub(crate) use show::Effort;
pub(crate) use show::PageFile;
pub(crate) use show::ShowReport;
pub(crate) use show::open_page;
pub(crate) use show::show;
pub(crate) use show::write_page;
pub(crate) use skip_phase::skip_phase;
pub(crate) use start::StartOptions;
pub(crate) use start::start;
pub(crate) use start::ways_to_start;
pub(crate) use status::StatusReport;
pub(crate) use status::status;
pub(crate) use validate::ValidateReport;
pub(crate) use validate::validate;
pub(crate) use watch::WatchedList;
pub(crate) use watch::WatchedRun;
pub(crate) use watch::watch;
pub(crate) use watch::watch_all;
pub(crate) use workflow_file::hints_for_missing as hints_for_missing_workflow;
pub(crate) use workflow_file::is_path as is_workflow_path;
pub(crate) use workflow_file::path_of as workflow_path;
pub(crate) use workflow_file::print as print_workflow;
pub(crate) use workflows::ListedInput;
pub(crate) use workflows::WorkflowsReport;
pub(crate) use workflows::workflows;
