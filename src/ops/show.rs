//! `show`: everything about a run in one report, for a page, a picture in text, or a live view. Changes nothing.

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    context::{self, BRIEF_BYTES},
    half_made,
    history::{self, HistoryItem},
    logs::{self, StepOutput},
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, Lifecycle, Report},
    select,
    view::RunView,
};
use crate::{
    engine,
    model::{
        Action, Age, Cause, Commands, Context, Decision, DialectId, InterruptionKind, Next, Notice, Plan, Progress,
        Question, RelPath, Run, RunId, ShownAttempt, ShownStep, StepId, StepMark, StepReport, Suggested, Timestamp,
        Verdict, is_zero, safe_line, safe_text,
    },
    store,
};

/// Characters of a goal.
const GOAL_CHARS: usize = 400;

/// What happened in a run and what a resume would do (`show/2`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShowReport {
    pub(crate) run: ShownRun,
    /// The time at which this was true.
    pub(crate) at: Timestamp,
    pub(crate) verdict: Verdict,
    pub(crate) lifecycle: Lifecycle,
    /// The verdict in a sentence.
    pub(crate) headline: String,
    /// Why, if the headline does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// The most useful next command.
    pub(crate) command: Suggested,
    /// What has to be done first, if no command does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
    /// What the run's own system says about going on, such as how many tokens a way costs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<Notice>,
    pub(crate) progress: Progress,
    pub(crate) age: Age,
    /// Left out if the run stopped between two steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interruption: Option<ShownInterruption>,
    /// What the work has cost until now.
    pub(crate) paid: Effort,
    /// How much of that is paid again when the run continues.
    #[serde(skip_serializing_if = "Effort::is_nothing")]
    pub(crate) again: Effort,
    /// What comes next, in order. Steps that do not depend on each other are listed together.
    pub(crate) next: Vec<Next>,
    /// The questions for a person. Left out if nothing waits for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) questions: Vec<Question>,
    #[serde(skip_serializing_if = "Commands::is_empty")]
    pub(crate) commands: Commands,
    /// Every step, in the order of its definition.
    pub(crate) steps: Vec<ShownStep>,
    /// What was reported, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reports: Vec<StepReport>,
    /// What people decided, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<Decision>,
    /// The end of what the step printed that failed, was cut off or runs, if its output is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<StepOutput>,
    /// The changes that earlier checkpoints are kept of, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) history: Vec<HistoryItem>,
    /// What the agent of the first next step would be handed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) brief: Option<Context>,
}

impl Body for ShowReport {
    const SCHEMA: &'static str = "show/2";
}

/// The run that is shown.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShownRun {
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    pub(crate) workflow: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_branch: Option<String>,
    /// The file that holds the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<RelPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    /// How often it was resumed.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) resumes: u32,
    /// A digest that changes with the state.
    pub(crate) revision: String,
}

/// What cut a run off.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShownInterruption {
    pub(crate) kind: InterruptionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<StepId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    pub(crate) reason: String,
    /// What ended the work, as far as client events and processes show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
}

/// Work in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Effort")]
pub(crate) struct Effort {
    /// Number of steps that were worked on.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) steps: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) attempts: usize,
    /// Seconds of the attempts whose beginning and end are known.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) seconds: i64,
    /// Number of attempts whose beginning or end is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) untimed: usize,
    /// Tokens of all attempts of these steps, where their system counts them.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) tokens: u64,
}

impl Effort {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds up the attempts of some steps, the last one of each or all of them. Of those that no record has, only their number is known.
    fn of<'a>(steps: impl Iterator<Item = &'a ShownStep>, only_last: bool) -> Self {
        let mut effort = Self::default();
        for step in steps {
            let Some(last) = step.attempts.last() else { continue };
            let from = if only_last { step.attempts.len() - 1 } else { 0 };
            let known = &step.attempts[from..];
            let all = usize::try_from(last.number).unwrap_or(usize::MAX);
            let attempts = if only_last { 1 } else { known.len().max(all) };
            let seconds: Vec<i64> = known.iter().filter_map(ShownAttempt::seconds).collect();
            effort.steps += 1;
            effort.tokens = effort.tokens.saturating_add(step.tokens);
            effort.attempts = effort.attempts.saturating_add(attempts);
            effort.untimed = effort.untimed.saturating_add(attempts - seconds.len());
            effort.seconds = effort.seconds.saturating_add(seconds.iter().sum());
        }
        effort
    }
}

/// A page that was written (`page/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageFile {
    pub(crate) run: RunId,
    /// The absolute path.
    pub(crate) path: String,
    pub(crate) bytes: usize,
    /// The verdict in a sentence.
    pub(crate) headline: String,
    /// The most useful next command.
    pub(crate) command: Suggested,
}

impl Body for PageFile {
    const SCHEMA: &'static str = "page/1";

    fn written(&self) -> Option<String> {
        Some(format!("{} is written", self.path))
    }
}

/// Writes the page of a run to a file that a person names.
pub(crate) fn write_page(report: &ShowReport, path: &str, text: &str) -> Result<Report<PageFile>, OpError> {
    let path = store::write_page(path, text)?.into_string();
    let (headline, command) = (report.headline.clone(), report.command.clone());
    Ok(Report::ok(PageFile { run: report.run.id.clone(), path, bytes: text.len(), headline, command }))
}

/// Opens a page that was written with the program that the desktop has for it.
pub(crate) fn open_page(page: &PageFile) -> Result<(), OpError> {
    Ok(store::open_page(Utf8Path::new(&page.path))?)
}

/// Shows the requested run.
pub(crate) fn show(ctx: &ProjectContext) -> Result<Report<ShowReport>, OpError> {
    report(ctx, &select::select(ctx)?)
}

/// Shows a run that was read.
pub(super) fn report(ctx: &ProjectContext, opened: &OpenedRun) -> Result<Report<ShowReport>, OpError> {
    let run = opened.run()?;
    let options = plan::options(ctx, run, &PlanRequest::default())?;
    let evidence = ctx.evidence(opened, true);
    let planned = plan::evaluate(opened, run, &evidence, &options);
    let plan = &planned.plan;
    let steps = engine::shown_steps(run, &evidence, &planned);
    let view = RunView::of(opened, run, &planned);
    let (reports, decisions) = engine::said(run, &planned.statements, &planned.late);
    let is_work = |next: &&Next| !matches!(next.action, Action::Merge | Action::Archive);
    let brief = plan.next.first().filter(is_work).cloned().map(|mut next| {
        half_made::look(ctx, opened, run, &planned, &mut next);
        context::assemble(opened, run, &planned, &next, BRIEF_BYTES)
    });
    let is_over = view.lifecycle.stage.is_over();
    let why = plan.next.first().map(|next| next.reason.clone());
    let again = |step: &&ShownStep| step.is_again && !is_over;
    let body = ShowReport {
        run: shown_run(opened, run, plan),
        at: ctx.clock.now,
        verdict: plan.verdict,
        command: view.command,
        advice: view.advice,
        why: why.filter(|why| !is_over && !view.headline.contains(why.as_str())),
        headline: view.headline,
        notices: opened.dialect.wording().notices(&opened.files, run, plan, &planned.findings),
        progress: plan.progress,
        age: plan.age.clone(),
        interruption: shown_interruption(plan),
        paid: Effort::of(steps.iter(), false),
        again: Effort::of(steps.iter().filter(again), true),
        questions: view.questions,
        lifecycle: view.lifecycle,
        reports,
        decisions,
        output: output(opened, &steps),
        history: history::checkpoints(opened),
        brief,
        steps,
        next: planned.plan.next,
        commands: planned.plan.commands,
    };
    Ok(Report { findings: planned.findings, ..Report::ok(body) })
}

/// Returns the end of what the last step printed that is not over.
fn output(opened: &OpenedRun, steps: &[ShownStep]) -> Option<StepOutput> {
    let is_current = |mark| matches!(mark, StepMark::Running | StepMark::Interrupted | StepMark::Failed);
    logs::last_output(opened, &steps.iter().rev().find(|step| is_current(step.mark))?.id)
}

fn shown_run(opened: &OpenedRun, run: &Run, plan: &Plan) -> ShownRun {
    let line = |text: &String| safe_line(text, GOAL_CHARS);
    ShownRun {
        id: run.id.clone(),
        dialect: run.dialect,
        title: line(&run.title),
        workflow: line(&run.workflow),
        goal: run.goal.as_ref().map(line).filter(|goal| !goal.is_empty() && *goal != run.title),
        branch: plan.run.branch.as_ref().map(line),
        base_branch: plan.run.base_branch.as_ref().map(line),
        state: run.state_files.first().cloned(),
        started_at: run.started_at,
        resumes: run.resumes,
        revision: opened.revision(),
    }
}

fn shown_interruption(plan: &Plan) -> Option<ShownInterruption> {
    let report = plan.notable_interruption()?;
    Some(ShownInterruption {
        kind: report.kind,
        step: report.step.clone(),
        at: report.cause.as_ref().and_then(|cause| cause.at).or(report.at),
        reason: safe_text(&report.reason),
        cause: report.cause.clone(),
    })
}
