//! Runs a workflow file, unattended. A new run is a resume of a session without records.
//!
//! The path of a run:
//! - `open` starts or resumes a session: its lease and its records; `origin` finds out whether this user began it. `ready` checks and makes what has to
//!   be there before the first step, `worktree_files` puts files of the project into a new worktree, `prepare` does that before an
//!   agent begins, `warnings` say what a person may not expect of it.
//! - `resume` asks the planner which steps are due, and a person what only a person can know; `unknown_outcome` finds out
//!   whether one that was cut off took effect, from its `probe` or a person; `orphan` ends children of an earlier
//!   runner; `mend` goes on over a damaged journal once a person agreed.
//! - `drive` has the steps run and the run ended; `side_by_side` begins those that are due, one or several at a time;
//!   `recorded_step` runs one, with the retries that `retry` decides on (pure).
//! - `on_stop` runs the steps that follow a stop.
//! - `spending` stops a run at its limits.
//! - `finish` merges or keeps the worktree; `merge` does that at a later time.
//!
//! One step:
//! - `step_executor` runs its command; `step_outputs` keeps what it leaves; `foreach` its items, `item_steps` what is done for each, `item_worktrees` each in a worktree; `effects` the steps that are not a command.
//! - `claude_step` has the conversation of a `claude` step, and what it did and was denied.
//! - `context` is what all steps share; `scoped_variables` and `variables` (pure) render its texts; `secrets` masks values.
//! - `exec` starts processes and ends their groups; `output_watcher` passes on and logs what they print; `claude` reads the
//!   output of `claude -p` (pure).
//! - `inputs` has the values that a run is started with (pure); `files` writes files of steps; `ledger` admits and records every change.
//!
//! `result` has what a step ends with, `run_environment` what a run knows of its surroundings.
//!
//! `console` has the events and questions, `report` the result with the log of a failed step (`failed_log`), `preview` what a dry run shows (pure),
//! `error` the problems.

mod agent;
mod claude;
mod claude_step;
mod console;
mod context;
mod drive;
mod effects;
mod error;
mod exec;
mod failed_log;
mod files;
mod finish;
mod foreach;
mod item_steps;
mod item_worktrees;
mod ledger;
mod limit;
mod mend;
mod merge;
mod on_stop;
mod open;
mod origin;
mod orphan;
mod output_watcher;
mod prepare;
mod preview;
mod probe;
mod ready;
mod recorded_step;
mod report;
mod result;
mod resume;
mod retry;
mod run_environment;
mod scoped_variables;
mod secrets;
mod settle;
mod side_by_side;
mod sign_of_life;
mod spending;
mod step_executor;
mod step_outputs;
mod unknown_outcome;
mod warnings;
mod worktree_files;

pub(crate) use console::{Console, Event, OutputSource};
pub(crate) use error::RunError;
pub(crate) use exec::{Signals, Stop, Stream, Woken, pause, survive_file_limit};
pub(crate) use finish::MergeStyle;
pub(crate) use merge::{MergeRequest, merge, waits_for_merge};
pub(crate) use open::{ResumeRequest, StartRequest, check_files, resume, run};
pub(crate) use prepare::prepare;
pub(crate) use preview::{CostPreview, Preview, StepPreview};
pub(crate) use ready::check_worktree;
pub(crate) use report::{EndedStep, RunEnd, RunReport, RunResult, WorkEnd, WorktreeOutcome};
pub(crate) use resume::ResumeOptions;
