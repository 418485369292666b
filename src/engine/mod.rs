//! Decides what a run does next, which changes are admitted, and what an agent is given. Pure functions over the model: no I/O, no
//! clock, no dialect names. The rules are those of docs/planning.md#rules.
//!
//! Planning, in order:
//!
//! - `graph`: the dependencies between steps.
//! - `reconcile`: rule 3, the recorded status of each step against its `step_evidence`; `proof` says what proves a step, with `outputs` for
//!   files, and `propagate` carries the result to containers and dependents; `reconciled` is the result, and answers questions about it that
//!   planning and changes share. `guest` compares the steps of a run that is only read.
//! - `choose`: rules 4 to 6, what comes next, and `dependency_block`, why nothing can; `limits` stops where a person decides, `overrides`
//!   applies the caller's options (rule 7).
//! - `plan`: the entry point, which puts the plan together from `next` (next steps, interruption, commands), `age` (rule 8),
//!   `question` (rule 9), `preconditions` (owner, workspace, abort: rules 2 and 12), `cause` and `strategy` (what ended the work and
//!   how to recover).
//!
//! - `shown`: what reconciling and planning found, step by step, for people.
//! - `order`: the same rules again and again, for a caller that does all that is left in one go.
//!
//! Changes and contexts:
//!
//! - `transition`: admits or refuses a change, by the same reconciled run; `refusal` is the reason for a refused one.
//! - `live_run`: a run that one process drives, kept up to date step by step; it admits and orders.
//! - `rollback`: what going back to an earlier point means, what it discards, and the git commands for it.
//! - `reports`: which reports and decisions reach a step (rule 13); `decisions`: which of the latter are not used up.
//! - `versions`: the earlier states of a run, from its journal.
//! - `context`: assembles the context for the next agent within a size budget.
//! - `clues`: what there is to judge by where a person is asked.
//! - `command`: exact command lines, quoted for a shell.
//!
//! A caller reads a run and its evidence, plans, and admits a change against the same data:
//!
//! ```text
//! let planned = engine::plan(&run, header, &evidence, load_findings.clone(), &options);
//! let next = &planned.plan.next[0];
//! let kind = ChangeKind::Begin { step: next.step.clone(), part: None, agent: None, attempt: 0, reopens: Vec::new() };
//! match engine::admit(&run, (&evidence, &load_findings), Change { at: options.now, kind }, limits, Some(&planned))? {
//!     Admitted::Change { change, findings } => { /* the dialect turns it into edits */ }
//!     Admitted::Already(message) => { /* nothing to write */ }
//! }
//! ```

mod age;
mod cause;
mod choose;
mod clues;
mod command;
mod context;
mod decisions;
mod dependency_block;
mod graph;
mod guest;
mod handed;
mod limits;
mod live_run;
mod next;
mod order;
mod outputs;
mod overrides;
mod plan;
mod preconditions;
mod proof;
mod propagate;
mod question;
mod reconcile;
mod reconciled;
mod refusal;
mod reports;
pub(crate) mod rollback;
pub(crate) mod share;
mod shown;
mod step_evidence;
mod strategy;
#[cfg(test)]
mod testing;
mod transition;
pub(crate) mod versions;

pub(crate) use choose::BUILT;
pub(crate) use command::{
    END, HAPPENED, after_part, agent_contract, answer as answer_command, approve as approve_command,
    context as context_command, decide as decide_command, end as end_command, end_reported, failed as failed_command,
    redo as redo_command,
};
pub(crate) use context::assemble;
pub(crate) use handed::{HalfMade, half_made};
pub(crate) use live_run::LiveRun;
pub(crate) use order::StepDue;
pub(crate) use plan::{Planned, plan};
pub(crate) use preconditions::lost_steps;
pub(crate) use reconcile::effective_statuses;
pub(crate) use reconciled::EffectiveStatus;
pub(crate) use refusal::{Refusal, RefusalKind};
pub(crate) use reports::{add_unrecorded, own_attempts, said, statement};
pub(crate) use shown::shown_steps;
pub(crate) use transition::{Admitted, ChangeLimits, Decided, admit, answers, asks_plan, decide};
pub(crate) use versions::VersionFiles;

pub(crate) use crate::model::quoted;

#[cfg(test)]
mod choose_review_tests;
#[cfg(test)]
mod choose_tests;
#[cfg(test)]
mod gate_rule_tests;
#[cfg(test)]
mod interruption_tests;
#[cfg(test)]
mod overrides_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod preconditions_tests;
#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod propagate_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod reconcile_tests;
#[cfg(test)]
mod reports_tests;
#[cfg(test)]
mod shown_tests;
#[cfg(test)]
mod statement_tests;
