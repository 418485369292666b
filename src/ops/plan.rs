//! `plan`: computes the plan of a run. Changes nothing.

use serde::{Serialize, Serializer};

use super::{
    Exit, OpError, answers, lost_steps,
    opened_run::{OpenedRun, command_word},
    plan_document::{PlanDetail, PlanDocument},
    project_context::ProjectContext,
    report::{Body, Report},
    select, versions,
    view::RunView,
};
use crate::{
    dialect::{Guest, piton},
    engine::{self, Planned, Refusal, RefusalKind},
    model::{
        Action, AgreedFindings, Commands, Evidence, FindingCode, Fix, LimitWait, Mode, Next, No, Notice, Options,
        Owner, PartRef, Plan, Question, QuestionOption, Run, RunStatus, Step, StepId, Suggested, Timestamp, Verb,
        Verdict, until_in_words,
    },
    store,
};

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
    pub(crate) view: RunView,
}

impl Body for PlanReport {
    const SCHEMA: &'static str = "plan/3";
}

impl Serialize for PlanReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PlanDocument::of(&self.plan, self.detail).serialize(serializer)
    }
}

/// Options of the planner, as typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanRequest {
    pub(crate) from: Vec<String>,
    /// `Some(None)`: the first step that failed.
    #[expect(clippy::option_option, reason = "given, and given with a value, are two things")]
    pub(crate) retry: Option<Option<String>>,
    pub(crate) skip: Vec<String>,
    pub(crate) to_step: Option<String>,
    pub(crate) force: bool,
    pub(crate) parallel: bool,
    pub(crate) if_dependencies_met: bool,
    /// The findings with which a person says that the run goes on.
    pub(crate) agreed: AgreedFindings,
    pub(crate) refresh_analysis: bool,
    /// Part and step.
    pub(crate) from_part: Option<(String, String)>,
    pub(crate) retry_part: Option<(String, String)>,
    pub(crate) skip_part: Option<(String, String)>,
}

impl PlanRequest {
    /// Returns why it cannot be about a session of `run`; `None` if it can.
    pub(crate) fn not_for_a_session(&self) -> Option<String> {
        let unused = [
            (self.retry.is_some(), "--retry"),
            (self.to_step.is_some(), "--to-step"),
            (self.parallel, "--parallel"),
            (self.if_dependencies_met, "--if-dependencies-met"),
            (self.refresh_analysis, "--refresh-analysis"),
            (self.from_part.is_some(), "--from-step"),
            (self.retry_part.is_some(), "--retry-step"),
            (self.skip_part.is_some(), "--skip-step"),
            (self.from.len() > 1, "--from with several steps"),
        ];
        let (_, flag) = unused.iter().find(|(is_given, _)| *is_given)?;
        Some(format!("{flag} does not apply to a session of `run`; use --from, --skip or --force"))
    }
}

/// Plans the requested run.
pub(crate) fn plan(
    ctx: &ProjectContext,
    request: &PlanRequest,
    detail: PlanDetail,
) -> Result<Report<PlanReport>, OpError> {
    let opened = select::select(ctx)?;
    if opened.loaded.is_unattended
        && let Some(message) = request.not_for_a_session()
    {
        return Err(OpError::Usage { message, hints: Vec::new() });
    }
    let run = opened.run()?;
    let options = options(ctx, run, request)?;
    let evidence = ctx.evidence(&opened, true);
    let is_ours = evidence.owner == Owner::Ours;
    let mut planned = waiting(ctx, run, weighed(ctx, &opened, run, evidence, &options));
    // Its driver was asked when it took the run over; from then on only decisions are asked for.
    let plan = &mut planned.plan;
    let goes_on = ctx.environment.session.is_some() && is_ours;
    if goes_on && plan.verdict == Verdict::Resume && plan.mode != Mode::Preflight && plan.commands.begin.is_some() {
        plan.questions.clear();
    }
    if opened.guest().is_some_and(|guest| guest.has_brief) {
        planned.plan.questions = answers::question(&opened, run, &planned.plan).into_iter().collect();
    }
    Ok(report(opened, planned, detail))
}

/// Plans a loaded run, with evidence from git.
pub(crate) fn planned(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    run: &Run,
    request: &PlanRequest,
) -> Result<Planned, OpError> {
    let options = options(ctx, run, request)?;
    let evidence = ctx.evidence(opened, true);
    Ok(waiting(ctx, run, weighed(ctx, opened, run, evidence, &options)))
}

/// Plans a loaded run, and asks git about a list that calls itself complete.
fn weighed(ctx: &ProjectContext, opened: &OpenedRun, run: &Run, mut evidence: Evidence, options: &Options) -> Planned {
    let planned = evaluate(opened, run, &evidence, options);
    if planned.plan.verdict != Verdict::Complete || ctx.project.git.is_none() || opened.guest().is_none() {
        return planned;
    }
    let committed = lost_steps::committed(&opened.files.root, std::iter::once(opened));
    match lost_steps::finding(opened, run, &committed) {
        Some(finding) => {
            evidence.findings.push(finding);
            evaluate(opened, run, &evidence, options)
        }
        None => planned,
    }
}

/// Adds the wait for a usage limit, which needs the clock and the time zone.
fn waiting(ctx: &ProjectContext, run: &Run, mut planned: Planned) -> Planned {
    planned.plan.limit_wait = limit_wait(run, ctx.clock.now);
    planned
}

/// Returns the wait for a usage limit that ends last.
fn limit_wait(run: &Run, now: Timestamp) -> Option<LimitWait> {
    let waiting = run.steps.iter().filter_map(|step| Some((step.limit_ends.filter(|end| *end > now)?, step)));
    let (until, step) = waiting.max_by_key(|(end, _)| *end)?;
    let local = i64::from(store::utc_offset(None, until.unix_seconds()).unwrap_or(0));
    let in_words = until_in_words(until, local, until.time_left(now));
    Some(LimitWait { step: step.id.clone(), until, in_words })
}

/// Plans a loaded run from gathered evidence. Pure.
pub(crate) fn evaluate(opened: &OpenedRun, run: &Run, evidence: &Evidence, options: &Options) -> Planned {
    let weighed = opened.dialect.comparison().compare_with_git(&opened.files, run, evidence);
    let findings = opened.loaded.findings.iter().cloned().chain(weighed.findings).collect();
    let mut planned = engine::plan(run, opened.header(run, opened.revision()), evidence, findings, options);
    planned.plan.native = opened.dialect.native(&opened.loaded.native, run, &planned.plan, &planned.findings);
    if !weighed.compared.is_empty()
        && let Some(native) = planned.plan.native.as_object_mut()
    {
        native.insert("comparison".to_owned(), serde_json::json!(weighed.compared));
    }
    if let Some(guest) = opened.guest() {
        offer_guest(&mut planned.plan, guest, run.waits, &command_word(&opened.files.root, &opened.candidate));
    }
    // `resume` runs the steps of a session; one for an agent can be handed to one instead.
    if opened.loaded.is_unattended {
        let is_work = |next: &Next| matches!(next.action, Action::Run | Action::Retry | Action::Return);
        let first = planned.plan.next.first().filter(|next| is_work(next)).and_then(|next| run.step(&next.step));
        if !first.is_some_and(|step| piton::is_for_an_agent(&step.definition)) {
            planned.plan.commands.clear_begin();
        }
        let goes_on = planned.plan.next.first().map(|next| &next.step);
        let goes_on = goes_on.filter(|_| run.status == RunStatus::Aborted);
        let goes_on = goes_on.map(|step| Suggested::of(Verb::Resume, &run.id).option("from", step));
        let aborted = planned.findings.iter_mut().filter(|finding| finding.code == FindingCode::RunAborted);
        aborted.for_each(|finding| finding.fix = goes_on.clone().map(Fix::from).or(finding.fix.take()));
        let resume = goes_on.as_ref().or(planned.plan.commands.resume.as_ref());
        let questions = std::mem::take(&mut planned.plan.questions);
        planned.plan.questions = questions.into_iter().filter_map(|question| of_session(question, resume)).collect();
    }
    versions::offer_newer(opened, &mut planned.findings);
    versions::offer_only_repair(&mut planned);
    // The question of a preflight is the same for all systems.
    if options.mode != Mode::Preflight
        && let Some(question) = opened.dialect.wording().question(run, &planned.plan, &planned.findings)
    {
        // It asks the first in its own words.
        let first = planned.plan.questions.len().min(1);
        planned.plan.questions.splice(..first, [question]);
    }
    planned
}

/// Returns the command of its own system that continues a run of another program: for the next step, if its dialect names one.
pub(super) fn own_command(plan: &Plan, guest: &Guest) -> String {
    plan.native.get("next").and_then(serde_json::Value::as_str).unwrap_or(&guest.command).to_owned()
}

/// Leaves only what can be done with a run of another program: to read it, and to continue it by its own command or from the brief. `word`
/// names it in commands.
fn offer_guest(plan: &mut Plan, guest: Guest, waits: bool, word: &str) {
    let resume = match plan.verdict {
        Verdict::Resume | Verdict::Confirm if guest.has_brief => Some(Suggested::of(Verb::Resume, word)),
        // Nothing is left for an agent; a person may go on in the system itself.
        Verdict::Complete if waits => Some(Suggested::Other(guest.command)),
        Verdict::Resume | Verdict::Confirm | Verdict::Blocked | Verdict::Complete | Verdict::Nothing => {
            plan.commands.resume.take().map(|_| Suggested::Other(own_command(plan, &guest)))
        }
    };
    if guest.has_brief {
        plan.questions.clear();
    }
    let context = plan.commands.context.take().map(|command| {
        plan.next.first().map_or(command, |next| Suggested::of(Verb::Context, word).option("step", &next.step))
    });
    plan.commands = Commands { context, resume, ..Commands::default() };
}

/// Returns the question about a session of the runner, which begins its steps itself when it is resumed. `--yes` is left out: it would confirm
/// the merge at the end too.
fn of_session(mut question: Question, resume: Option<&Suggested>) -> Option<Question> {
    let begins = |option: &QuestionOption| matches!(option.command.verb(), Some(Verb::Begin | Verb::Exec));
    question.options.retain_mut(|option| match resume {
        Some(resume) if option.command.verb() == Some(Verb::Resume) => {
            option.command.clone_from(resume);
            true
        }
        _ => option.changes_nothing || !begins(option),
    });
    question.options.iter().any(|option| !option.changes_nothing).then_some(question)
}

/// Builds the report of a plan.
pub(crate) fn report(opened: OpenedRun, planned: Planned, detail: PlanDetail) -> Report<PlanReport> {
    let exit = exit_of(&planned);
    let view = RunView::of(&opened, opened.loaded.run.as_ref().expect("a run was planned"), &planned);
    let run = opened.loaded.run.expect("a run was planned");
    let notices = opened.dialect.wording().notices(&opened.files, &run, &planned.plan, &planned.findings);
    let is_summed_up = opened.dialect.wording().sums_up();
    let body = PlanReport { plan: planned.plan, run, notices, is_summed_up, detail, view };
    Report { exit, body, findings: planned.findings }
}

/// Returns the exit code of a verdict.
pub(crate) fn exit_of(planned: &Planned) -> Exit {
    match planned.plan.verdict {
        _ if planned.dependencies_unmet => Exit::No(No::NotYet),
        Verdict::Resume | Verdict::Complete => Exit::Ok,
        Verdict::Confirm => Exit::Person,
        Verdict::Blocked if planned.live_owner => Exit::Conflict,
        Verdict::Blocked if planned.findings.iter().any(versions::is_unreadable) => Exit::Unreadable,
        Verdict::Blocked => Exit::Person,
        Verdict::Nothing => Exit::NotFound,
    }
}

/// Returns the refusal to do what a plan does not have: what stops it, and what resolves that.
pub(super) fn refusal(planned: &Planned, run: &Run, what: &str) -> OpError {
    let plan = &planned.plan;
    let first = planned.findings.first().filter(|_| plan.verdict == Verdict::Blocked);
    let fix = first.and_then(|finding| finding.fix.clone());
    let why = first.map_or_else(|| format!("the plan is {}", plan.verdict.as_str()), |finding| finding.message.clone());
    let kind = match plan.verdict {
        Verdict::Blocked if planned.live_owner => RefusalKind::Conflict,
        Verdict::Blocked if planned.findings.iter().any(versions::is_unreadable) => RefusalKind::Unread,
        Verdict::Blocked | Verdict::Confirm => RefusalKind::Person,
        Verdict::Resume | Verdict::Complete | Verdict::Nothing => RefusalKind::No(No::Nothing),
    };
    let more = match plan.verdict {
        // The plan would say no more.
        Verdict::Nothing => Suggested::new(Verb::List).flag("all").into(),
        Verdict::Resume | Verdict::Confirm | Verdict::Blocked | Verdict::Complete => {
            Suggested::of(Verb::Plan, &run.id).into()
        }
    };
    let hints = plan.commands.begin.clone().map(Fix::from).or(fix).into_iter().chain([more]).collect();
    OpError::Refused(Refusal { kind, message: format!("{what}: {why}"), hints })
}

/// Resolves typed options, with every id checked against the run.
pub(crate) fn options(ctx: &ProjectContext, run: &Run, request: &PlanRequest) -> Result<Options, OpError> {
    let step = |text: &String| resolve(run, text);
    let part = |pair: &Option<(String, String)>| -> Result<Option<PartRef>, OpError> {
        let Some((part, id)) = pair else { return Ok(None) };
        let step = resolve(run, id)?;
        Ok(Some(PartRef { part: resolve_part(run, &step, part)?, step }))
    };
    let steps = |texts: &[String]| named(run, texts).map(|text| resolve(run, text)).collect::<Result<Vec<_>, _>>();
    let mut from = steps(&request.from)?;
    let (from_part, retry_part, skip_part) =
        (part(&request.from_part)?, part(&request.retry_part)?, part(&request.skip_part)?);
    if from.is_empty() {
        // A part-level option names its step too, which is where the plan starts.
        from.extend([&from_part, &retry_part, &skip_part].into_iter().flatten().map(|part| part.step.clone()));
        from.dedup();
    }
    let config = &ctx.project.config;
    Ok(Options {
        now: ctx.clock.now,
        mode: ctx.mode_of(run),
        from,
        retry: match &request.retry {
            None => None,
            Some(None) => Some(None),
            Some(Some(id)) => Some(Some(step(id)?)),
        },
        skip: steps(&request.skip)?,
        to_step: request.to_step.as_ref().map(step).transpose()?,
        force: request.force,
        parallel: request.parallel,
        if_dependencies_met: request.if_dependencies_met,
        agreed: request.agreed,
        refresh_analysis: request.refresh_analysis,
        from_part,
        retry_part,
        skip_part,
        attempt_limit: config.limits.attempts,
        age: config.age.clone(),
    })
}

/// Resolves a typed step id.
pub(crate) fn resolve(run: &Run, text: &str) -> Result<StepId, OpError> {
    if let Some(step) = run.resolve(text) {
        return Ok(step.id.clone());
    }
    let has_part = |step: &&Step| step.detail.parts.iter().any(|part| part.name.eq_ignore_ascii_case(text));
    if let Some(step) = run.steps.iter().find(has_part) {
        let message = format!("{text} is a part of {}; parts are named with --part", step.id);
        return Err(OpError::Usage { message, hints: vec![engine::context_command(&step.id, &run.id).into()] });
    }
    Err(OpError::UnknownStep {
        run: run.id.as_str().to_owned(),
        wanted: text.to_owned(),
        known: run.steps.iter().take(12).map(|step| step.id.as_str().to_owned()).collect(),
    })
}

/// Splits lists of ids at commas; a text that is the id of a step is not split.
pub(crate) fn named<'a>(run: &Run, texts: &'a [String]) -> impl Iterator<Item = &'a str> {
    texts.iter().flat_map(|text| {
        let is_id = run.steps.iter().any(|step| step.id.as_str() == text);
        if is_id { vec![text.as_str()] } else { text.split(',').collect() }
    })
}

/// Resolves a typed part name, ignoring case.
pub(crate) fn resolve_part(run: &Run, step: &StepId, text: &str) -> Result<String, OpError> {
    let parts = run.step(step).map(|step| step.detail.parts.as_slice()).unwrap_or_default();
    let found = parts.iter().find(|part| part.name == text);
    let found = found.or_else(|| parts.iter().find(|part| part.name.eq_ignore_ascii_case(text)));
    found.map(|part| part.name.clone()).ok_or_else(|| OpError::UnknownStep {
        run: format!("{}, step {step},", run.id),
        wanted: text.to_owned(),
        known: parts.iter().take(12).map(|part| part.name.clone()).collect(),
    })
}
