//! The plan and the resume as published: what is empty, the same in every plan, or told elsewhere in the document is left out. The size does
//! not depend on the number of finished steps.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::model::{
    Age, Cause, Commands, Context, Decision, DialectId, InterruptionKind, LimitWait, Mode, Next, Patch, Plan, Progress,
    Question, RelPath, RunHeader, RunId, StepGroups, StepId, StepReport, Strategy, Timestamp, Verdict,
};

/// Maximum number of ids per status without `--steps`.
const IDS: usize = 20;
/// Maximum number of reports in a plan; the brief of the step has more.
const REPORTS: usize = 5;

/// The parts of a plan that are printed only on request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlanDetail {
    /// The plan in the vocabulary of the run's own system.
    pub(crate) native: bool,
    /// Every id and every state file.
    pub(crate) steps: bool,
}

/// The resume plan: which step is next, why, and what blocks it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanDocument<'a> {
    run: RunDocument<'a>,
    verdict: Verdict,
    /// The mode that the caller chose, else the mode in which the run was started. Left out if it is `interactive`.
    #[serde(skip_serializing_if = "is_interactive")]
    mode: Mode,
    /// What to do next, in order. Steps that do not depend on each other are listed together.
    next: &'a [Next],
    steps: StepsDocument<'a>,
    /// Left out if the run stopped between two steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<InterruptionDocument<'a>>,
    /// The wait for the end of a usage limit. Left out if the run does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_wait: Option<&'a LimitWait>,
    age: &'a Age,
    progress: Progress,
    /// The questions for a person, most pressing first. Left out if no decision is needed.
    #[serde(skip_serializing_if = "<[Question]>::is_empty")]
    questions: &'a [Question],
    /// Exact command lines.
    #[serde(skip_serializing_if = "Commands::is_empty")]
    commands: &'a Commands,
    /// What was reported by the steps that `next[0]` builds on, nearest first: direct predecessors in full, older ones in a line. The brief of
    /// the step has all of them.
    #[serde(skip_serializing_if = "<[StepReport]>::is_empty")]
    reports: &'a [StepReport],
    /// What people decided about these steps and the run, oldest first.
    #[serde(skip_serializing_if = "<[Decision]>::is_empty")]
    decisions: &'a [Decision],
    /// True if part of the state could not be read. The rest was planned.
    #[serde(skip_serializing_if = "is_false")]
    degraded: bool,
    /// Suggested edits to files that Piton never writes; only with `--patch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<&'a Patch>,
    /// The plan in the vocabulary of the run's own system; only with `--native`.
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<&'a Value>,
}

/// The start of the next step of work (`resume/2`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResumeDocument<'a> {
    /// Its revision is that after the bookkeeping.
    run: RunDocument<'a>,
    verdict: Verdict,
    /// What to do next, in order. Steps that do not depend on each other are listed together.
    next: &'a [Next],
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<InterruptionDocument<'a>>,
    #[serde(skip_serializing_if = "Commands::is_empty")]
    commands: &'a Commands,
    /// The context for the agent of the first next step; left out if no step is next.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a Context>,
    /// The plan in the vocabulary of the run's own system; only with `--native`.
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<&'a Value>,
}

/// The run that a plan is for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunHeader")]
struct RunDocument<'a> {
    id: &'a RunId,
    dialect: DialectId,
    title: &'a str,
    workflow: &'a str,
    /// The absolute path that all other paths are relative to.
    root: &'a str,
    /// The file that holds the position; with `--steps`, every file of the state.
    #[serde(skip_serializing_if = "<[RelPath]>::is_empty")]
    state_files: &'a [RelPath],
    /// The branch named in the state, else the one checked out in the working folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// The branch to merge into, if the state names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_branch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_reference: Option<&'a str>,
    /// How often the run was resumed.
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    resumes: u32,
    /// A digest that changes with the state; for `--if-revision`.
    revision: &'a str,
}

/// Steps by their status after comparison with the evidence. A status without steps is left out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Steps")]
struct StepsDocument<'a> {
    counts: StepCounts,
    /// Only with `--steps`.
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    completed: &'a [StepId],
    /// Only with `--steps`.
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    pending: &'a [StepId],
    /// This list and those below have at most 20 ids without `--steps`.
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    in_progress: &'a [StepId],
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    failed: &'a [StepId],
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    blocked: &'a [StepId],
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    skipped: &'a [StepId],
    /// Recorded as done, but the evidence disagrees.
    #[serde(skip_serializing_if = "<[StepId]>::is_empty")]
    invalid: &'a [StepId],
}

/// The number of steps of each status. Zeros are left out.
#[derive(Debug, Serialize, JsonSchema)]
struct StepCounts {
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    completed: usize,
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    in_progress: usize,
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    failed: usize,
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    pending: usize,
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    blocked: usize,
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    skipped: usize,
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    invalid: usize,
}

/// How the run was interrupted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Interruption")]
struct InterruptionDocument<'a> {
    kind: InterruptionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a StepId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    /// Left out if it is the reason of a next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// What ended the work, as far as client events and processes show.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Cause>,
    /// The number of open steps that wait for this: the step itself and all that depend on it.
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    affected: usize,
    /// The default recovery strategy. Left out if it is that of a next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<Strategy>,
    /// Names of other strategies. Left out with the strategy.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    alternatives: &'a [String],
}

impl<'a> PlanDocument<'a> {
    pub(crate) fn of(plan: &'a Plan, detail: PlanDetail) -> Self {
        Self {
            run: RunDocument::of(&plan.run, &plan.run.revision, detail.steps),
            verdict: plan.verdict,
            mode: plan.mode,
            next: &plan.next,
            steps: StepsDocument::of(&plan.steps, detail.steps),
            interruption: InterruptionDocument::of(plan),
            limit_wait: plan.limit_wait.as_ref(),
            age: &plan.age,
            progress: plan.progress,
            questions: &plan.questions,
            commands: &plan.commands,
            reports: first(&plan.reports, REPORTS),
            decisions: &plan.decisions,
            degraded: plan.degraded,
            patch: plan.patch.as_ref(),
            native: Some(&plan.native).filter(|_| detail.native),
        }
    }
}

impl<'a> ResumeDocument<'a> {
    pub(crate) fn of(plan: &'a Plan, context: Option<&'a Context>, revision: &'a str, detail: PlanDetail) -> Self {
        Self {
            run: RunDocument::of(&plan.run, revision, detail.steps),
            verdict: plan.verdict,
            next: &plan.next,
            interruption: InterruptionDocument::of(plan),
            commands: &plan.commands,
            context,
            native: Some(&plan.native).filter(|_| detail.native),
        }
    }
}

impl<'a> RunDocument<'a> {
    fn of(run: &'a RunHeader, revision: &'a str, all_files: bool) -> Self {
        Self {
            id: &run.id,
            dialect: run.dialect,
            title: &run.title,
            workflow: &run.workflow,
            root: &run.root,
            state_files: first(&run.state_files, if all_files { usize::MAX } else { 1 }),
            branch: run.branch.as_deref(),
            base_branch: run.base_branch.as_deref(),
            worktree: run.worktree.as_deref(),
            plan_reference: run.plan_reference.as_deref(),
            resumes: run.resumes,
            revision,
        }
    }
}

impl<'a> StepsDocument<'a> {
    fn of(groups: &'a StepGroups, all: bool) -> Self {
        let StepGroups { completed, in_progress, failed, pending, blocked, skipped, invalid } = groups;
        let (ordinary, noted) = if all { (usize::MAX, usize::MAX) } else { (0, IDS) };
        Self {
            counts: StepCounts {
                completed: completed.len(),
                in_progress: in_progress.len(),
                failed: failed.len(),
                pending: pending.len(),
                blocked: blocked.len(),
                skipped: skipped.len(),
                invalid: invalid.len(),
            },
            completed: first(completed, ordinary),
            pending: first(pending, ordinary),
            in_progress: first(in_progress, noted),
            failed: first(failed, noted),
            blocked: first(blocked, noted),
            skipped: first(skipped, noted),
            invalid: first(invalid, noted),
        }
    }
}

impl<'a> InterruptionDocument<'a> {
    fn of(plan: &'a Plan) -> Option<Self> {
        let report = plan.notable_interruption()?;
        let is_new_strategy = plan.next.iter().all(|next| next.strategy != report.strategy);
        Some(Self {
            kind: report.kind,
            step: report.step.as_ref(),
            at: report.at,
            reason: plan.own_reason(report),
            cause: report.cause.as_ref(),
            affected: report.affected.len(),
            strategy: report.strategy.filter(|_| is_new_strategy),
            alternatives: if is_new_strategy { &report.alternatives } else { &[] },
        })
    }
}

fn first<T>(items: &[T], limit: usize) -> &[T] {
    &items[..items.len().min(limit)]
}

const fn is_false(value: &bool) -> bool {
    !*value
}

fn is_interactive(mode: &Mode) -> bool {
    *mode == Mode::Interactive
}
