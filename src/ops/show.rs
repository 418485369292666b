//! `show`: everything about a run in one report, for a page, a picture in text, or a live view. Changes nothing.

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError, archived,
    context::{self, BRIEF_BYTES},
    half_made,
    history::{self, HistoryItem},
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, Lifecycle, Report, Stage},
    select::{self, Selected},
    status,
};
use crate::{
    engine::{self, Planned},
    model::{
        Action, Age, Cause, Commands, Context, Decision, DialectId, FindingClass, InterruptionKind, Next, Notice, Plan,
        Progress, Question, QuestionOption, RelPath, Run, RunId, Severity, ShownStep, StepId, StepReport, Suggested,
        Timestamp, Verb, Verdict, is_zero, plural, safe_line, safe_text,
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

    /// Adds up the attempts of some steps, the last one of each or all of them.
    fn of<'a>(steps: impl Iterator<Item = &'a ShownStep>, only_last: bool) -> Self {
        let mut effort = Self::default();
        for step in steps.filter(|step| !step.attempts.is_empty()) {
            let from = if only_last { step.attempts.len() - 1 } else { 0 };
            effort.steps += 1;
            effort.tokens = effort.tokens.saturating_add(step.tokens);
            effort.attempts += step.attempts.len() - from;
            for attempt in &step.attempts[from..] {
                match attempt.seconds() {
                    Some(seconds) => effort.seconds = effort.seconds.saturating_add(seconds),
                    None => effort.untimed += 1,
                }
            }
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
    let opened = match select::selected(ctx)? {
        Selected::There(location) => ctx.read(&location)?,
        Selected::Archived(run) => archived::open(ctx, &run)?,
    };
    report(ctx, &opened)
}

/// Shows a run that was read.
pub(super) fn report(ctx: &ProjectContext, opened: &OpenedRun) -> Result<Report<ShowReport>, OpError> {
    let run = opened.run()?;
    let options = plan::options(ctx, run, &PlanRequest::default())?;
    let evidence = ctx.evidence(opened, true);
    let planned = plan::evaluate(opened, run, &evidence, &options);
    let plan = &planned.plan;
    let steps = engine::shown_steps(run, &evidence, &planned);
    let lifecycle = Lifecycle::of(opened, run, plan);
    let (reports, decisions) = engine::said(run, &planned.statements, &planned.late);
    let is_work = |next: &&Next| !matches!(next.action, Action::Merge | Action::Archive);
    let brief = plan.next.first().filter(is_work).cloned().map(|mut next| {
        half_made::look(ctx, opened, run, &planned, &mut next);
        context::assemble(opened, run, &planned, &next, BRIEF_BYTES)
    });
    let headline = headline(&planned, &lifecycle);
    let why = plan.next.first().map(|next| next.reason.clone()).filter(|why| !headline.contains(why.as_str()));
    let (command, advice) = way_on(run, plan, status::next_command(ctx, opened, run, &planned, &lifecycle));
    let again = |step: &&ShownStep| step.is_again && !lifecycle.stage.is_over();
    let body = ShowReport {
        run: shown_run(opened, run, plan),
        at: ctx.clock.now,
        verdict: plan.verdict,
        command,
        advice,
        headline,
        notices: opened.dialect.wording().notices(&opened.files, run, plan, &planned.findings),
        why: why.filter(|_| !lifecycle.stage.is_over()),
        progress: plan.progress,
        age: plan.age.clone(),
        interruption: shown_interruption(plan),
        paid: Effort::of(steps.iter(), false),
        again: Effort::of(steps.iter().filter(again), true),
        questions: if lifecycle.stage.is_over() { Vec::new() } else { decisions_of(plan) },
        lifecycle,
        steps,
        reports,
        decisions,
        history: history::checkpoints(opened),
        brief,
        next: planned.plan.next,
        commands: planned.plan.commands,
    };
    Ok(Report { findings: planned.findings, ..Report::ok(body) })
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

/// Splits what to do next into a command and, if it is more than a command, the advice.
fn way_on(run: &Run, plan: &Plan, next: Suggested) -> (Suggested, Option<String>) {
    if next.verb().is_some() {
        return (next, None);
    }
    let begin = plan.commands.begin.clone().or_else(|| plan.commands.resume.clone());
    (begin.unwrap_or_else(|| Suggested::of(Verb::Plan, &run.id)), Some(next.into()))
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

/// Returns the questions of a plan, unless it only asks whether to go on.
fn decisions_of(plan: &Plan) -> Vec<Question> {
    let goes_on = |option: &QuestionOption| {
        option.changes_nothing || !option.person && plan.commands.resume.is_some() && option.id == "yes"
    };
    let asks = |question: &&Question| plan.verdict != Verdict::Resume || !question.options.iter().all(goes_on);
    plan.questions.iter().filter(asks).cloned().collect()
}

/// Returns the verdict as a sentence.
fn headline(planned: &Planned, lifecycle: &Lifecycle) -> String {
    let plan = &planned.plan;
    let Progress { done, total, .. } = plan.progress;
    let never = || plan.progress.never_passed();
    let next = plan.next.first().map_or_else(|| "nothing is next".to_owned(), Next::in_words);
    let more = match plan.next.len() {
        0 | 1 => String::new(),
        count => format!(", and {} beside it", plural(count - 1, "step")),
    };
    let worst = planned.findings.first().filter(|finding| finding.severity != Severity::Info);
    let asks = planned.findings.iter().find(|finding| {
        finding.severity != Severity::Info
            && (finding.code.needs_confirmation() || finding.code.is_of(FindingClass::NeedsPerson))
    });
    match lifecycle.stage {
        Stage::Aborted | Stage::Archived => {
            return format!("This run is {}. {done} of {total} steps are done{}.", lifecycle.describe(), never());
        }
        Stage::Finished => return format!("Every step is done: {done} of {total}{}.", never()),
        Stage::Open | Stage::Paused => {}
    }
    let paused = if lifecycle.stage == Stage::Paused { "This run is paused. " } else { "" };
    let sentence = match plan.verdict {
        Verdict::Resume => format!("It can go on: {next}{more}."),
        Verdict::Confirm => {
            let why = asks.map_or_else(|| next.clone(), |finding| finding.message.clone());
            format!("It can go on once a person has looked: {}.", why.trim_end_matches('.'))
        }
        Verdict::Blocked if planned.live_owner => "It is in progress: another process drives it.".to_owned(),
        Verdict::Blocked => match worst.filter(|finding| finding.severity == Severity::Blocking) {
            Some(finding) => format!("It is blocked: {}.", finding.message.trim_end_matches('.')),
            None => format!("It waits for a person: {next}."),
        },
        Verdict::Complete => format!("Every step is done; what follows: {next}."),
        Verdict::Nothing => "There is nothing to resume.".to_owned(),
    };
    safe_line(&format!("{paused}{sentence}"), GOAL_CHARS)
}
