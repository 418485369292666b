//! `decide`: what a person can decide about a run, and the record of what they decided.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    change::{AnswerRequest, ChangeRequest, change_at, masked, report},
    locked_run::{LockedRun, Written},
    opened_run::OpenedRun,
    phase::{phase_of, redo_phase, skip_phase},
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{Body, CheckpointReport, Report},
    run_location::RunLocation,
    select,
};
use crate::{
    engine::{self, ChangeLimits, Decided},
    model::{
        Action, ChangeKind, Decision, DecisionKind, Finding, Fix, No, Outcome, PersonsAnswer, Question, QuestionOption,
        ReviewVerdict, Run, RunId, Severity, Statement, StatementKind, Step, StepId, StepKind, Suggested, Verb,
        Verdict, are, clean_line,
    },
};

/// Maximum number of steps whose answers are listed.
const STEPS: usize = 20;

/// What a person can decide (`decide/2`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecideReport {
    pub(crate) run: RunId,
    /// What the plan asks. Left out if nothing is asked before the run goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) questions: Vec<Question>,
    /// The steps that wait for a person, with what the question does not offer; or the one that was named.
    pub(crate) steps: Vec<StepAnswers>,
}

/// The answers about a step that would be recorded now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepAnswers {
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) options: Vec<QuestionOption>,
}

impl Body for DecideReport {
    const SCHEMA: &'static str = "decide/2";
}

/// Returns what a person can decide about the named step, else what the run asks.
pub(crate) fn questions(ctx: &ProjectContext, step: Option<&str>) -> Result<Report<DecideReport>, OpError> {
    let location = select::location(ctx)?;
    let opened = ctx.read(&location)?;
    let run = opened.run()?;
    let planned = plan::planned(ctx, &opened, run, &PlanRequest::default())?;
    let (planned, mut findings) = (planned.plan, planned.findings);
    let named = step.filter(|step| *step != engine::END).map(|step| plan::resolve(run, step)).transpose()?;
    let waiting = || {
        let next = planned.next.iter().filter(|next| matches!(next.action, Action::Approve | Action::Verify));
        let blocked = findings.iter().filter(|finding| finding.severity == Severity::Blocking);
        let mut steps: Vec<StepId> = next.map(|next| next.step.clone()).collect();
        for step in blocked.filter_map(|finding| finding.step.clone()) {
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        steps
    };
    // To go on is no decision.
    let is_asked = |question: &Question| match &named {
        Some(named) => question.step.as_ref() == Some(named),
        None => planned.verdict != Verdict::Resume,
    };
    let asked: Vec<Question> = planned.questions.iter().filter(|question| is_asked(question)).cloned().collect();
    let is_offered = |step: &Step, option: &QuestionOption| {
        let about = asked.iter().filter(|asked| asked.step.as_ref() == Some(&step.id));
        about.flat_map(|asked| &asked.options).any(|offered| offered.id == option.id)
    };
    let evidence = ctx.evidence(&opened, false);
    let limits = ChangeLimits::of(ctx.project.config.limits.attempts);
    let steps = named.clone().map_or_else(waiting, |step| vec![step]);
    let steps: Vec<&Step> = steps.iter().filter_map(|step| run.step(step)).take(STEPS).collect();
    let answers = engine::answers(run, (&evidence, &opened.loaded.findings), &steps, (limits, ctx.clock.now));
    let answers = steps.iter().zip(answers).map(|(step, mut options)| {
        options.retain(|option| !is_offered(step, option));
        StepAnswers { step: step.id.clone(), title: step.title.clone(), options }
    });
    let is_silent = named.is_some() && asked.is_empty();
    let steps = answers.filter(|step| is_silent || !step.options.is_empty()).collect();
    let is_about = |finding: &Finding| named.as_ref().is_none_or(|named| finding.step.as_ref() == Some(named));
    // What is asked is judged by them; the notes are in the plan.
    findings.retain(|finding| finding.severity != Severity::Info && is_about(finding));
    Ok(Report { findings, ..Report::ok(DecideReport { run: run.id.clone(), questions: asked, steps }) })
}

/// Records what a person decided.
pub(crate) fn answer(ctx: &ProjectContext, request: AnswerRequest) -> Result<Report<CheckpointReport>, OpError> {
    let location = select::location(ctx)?;
    let opened = ctx.read(&location)?;
    let step = opened.loaded.run.as_ref().and_then(|run| run.resolve(&request.step));
    let gate = opened.loaded.run.as_ref().zip(step).and_then(|(run, step)| gate_with(run, step, &request.answer));
    let of_gate = gate.is_some();
    let of_phase = |_: &u32| step.is_none() && ["skip", "redo"].contains(&&*request.answer);
    let phase = phase_of(&request.step).filter(of_phase);
    let id = gate.map_or_else(|| StepId::new(&request.step), |gate| gate.id.clone());
    check_flags(&location, &request, of_gate, phase.is_some())?;
    let AnswerRequest { answer, by, note, part, phases, .. } = request.clone();
    let change = |kind| {
        let if_revision = request.if_revision.clone();
        change_at(ctx, &location, ChangeRequest { if_revision, ..ChangeRequest::of(kind) })
    };
    let by = Some(by);
    let verdict = |verdict: ReviewVerdict, note: Option<String>| {
        change(ChangeKind::Finish(Box::new(Outcome {
            status: verdict.status(),
            verdict: Some(verdict),
            agent: by.clone(),
            error: note,
            ..Outcome::completed(id.clone())
        })))
    };
    let accept = |note: Option<String>| {
        change(ChangeKind::Finish(Box::new(Outcome {
            verdict: Some(ReviewVerdict::Approved),
            agent: by.clone(),
            summary: note,
            accepts: true,
            part: part.clone(),
            ..Outcome::completed(id.clone())
        })))
    };
    let approve = |note, choice| change(ChangeKind::Approve { step: id.clone(), by: by.clone(), note, phases, choice });
    if of_gate {
        return approve(note, Some(answer));
    }
    let Some(said) = PersonsAnswer::ALL.into_iter().find(|said| said.as_str() == answer) else {
        return match step.is_some_and(|step| step.kind == StepKind::Gate) {
            // The gate says which answers it has.
            true => approve(note, Some(answer)),
            false => Err(unknown(&location, &request)),
        };
    };
    check_fits(ctx, &opened, said, &request)?;
    match said {
        PersonsAnswer::Override | PersonsAnswer::Skip | PersonsAnswer::Reject | PersonsAnswer::Revise
            if note.is_none() =>
        {
            Err(without_note(&location, &request))
        }
        PersonsAnswer::Approve => approve(note, None),
        PersonsAnswer::Reject => verdict(ReviewVerdict::Rejected, note),
        PersonsAnswer::Revise => verdict(ReviewVerdict::NeedsRevision, note),
        PersonsAnswer::Accept | PersonsAnswer::Happened => accept(note),
        PersonsAnswer::Redo | PersonsAnswer::NotHappened => match phase {
            Some(phase) => redo_phase(ctx, &location, phase, &request),
            None => decide(ctx, &location, DecisionKind::Redo, &request),
        },
        PersonsAnswer::Override => decide(ctx, &location, DecisionKind::Override, &request),
        PersonsAnswer::Skip => match phase {
            Some(phase) => skip_phase(ctx, &location, phase, &request),
            None => {
                change(ChangeKind::Skip { step: id.clone(), part: part.clone(), by, reason: note.unwrap_or_default() })
            }
        },
    }
}

/// Returns the gate that takes a word: the step itself, or one of those that it stands for.
fn gate_with<'a>(run: &'a Run, step: &'a Step, word: &str) -> Option<&'a Step> {
    let children = step.children.iter().filter_map(|id| run.step(id));
    std::iter::once(step).chain(children).find(|step| step.options.iter().any(|option| option.word == word))
}

/// Refuses an answer that fits another kind of step: to say whether a step took effect that is in no doubt, a no of what is no gate.
fn check_fits(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    said: PersonsAnswer,
    request: &AnswerRequest,
) -> Result<(), OpError> {
    let why = match said {
        PersonsAnswer::Happened | PersonsAnswer::NotHappened if request.part.is_none() => {
            "nothing about it is in doubt"
        }
        PersonsAnswer::Reject | PersonsAnswer::Revise => "it is no gate that waits for such an answer",
        PersonsAnswer::Happened
        | PersonsAnswer::NotHappened
        | PersonsAnswer::Approve
        | PersonsAnswer::Accept
        | PersonsAnswer::Redo
        | PersonsAnswer::Override
        | PersonsAnswer::Skip => return Ok(()),
    };
    let run = opened.run()?;
    let id = plan::resolve(run, &request.step)?;
    let step: Vec<&Step> = run.step(&id).into_iter().collect();
    let evidence = ctx.evidence(opened, false);
    let limits = ChangeLimits::of(ctx.project.config.limits.attempts);
    let answers = engine::answers(run, (&evidence, &opened.loaded.findings), &step, (limits, ctx.clock.now));
    if answers.iter().flatten().any(|option| option.id == said.as_str()) {
        return Ok(());
    }
    let hints = vec![Suggested::on_step(Verb::Decide, &id, &run.id).into()];
    Err(OpError::InTheWay { why: No::Nothing, message: format!("{id} takes no `{}`: {why}", said.as_str()), hints })
}

/// Returns the refusal to step over a rule or a step without a reason.
fn without_note(location: &RunLocation, request: &AnswerRequest) -> OpError {
    let (step, run) = (StepId::new(&request.step), RunId::new(&location.candidate.name));
    let message = format!("a reason is needed to {} {step}", request.answer);
    OpError::Usage { message, hints: vec![engine::decide_command(&request.answer, &step, &run).into()] }
}

/// Refuses a flag that says nothing with the answer.
fn check_flags(location: &RunLocation, request: &AnswerRequest, of_gate: bool, of_phase: bool) -> Result<(), OpError> {
    let answer = request.answer.as_str();
    let flags = [
        ("--part", request.part.is_some(), !of_gate && !of_phase && ["accept", "skip", "happened"].contains(&answer)),
        ("--phases", request.phases.is_some(), of_gate || answer == "approve"),
        ("--yes", request.with_gates, of_phase),
    ];
    let Some((flag, ..)) = flags.into_iter().find(|(_, is_given, is_taken)| *is_given && !is_taken) else {
        return Ok(());
    };
    let message = format!("`{flag}` says nothing with the answer `{}`", clean_line(answer, 80));
    Err(OpError::Usage { message, hints: vec![answers_of(location, request)] })
}

/// Returns the command that lists the answers about a step.
fn answers_of(location: &RunLocation, request: &AnswerRequest) -> Fix {
    Suggested::of(Verb::Decide, &request.step).option("run", &location.candidate.name).into()
}

/// Returns the refusal of an unknown answer, with the known ones.
fn unknown(location: &RunLocation, request: &AnswerRequest) -> OpError {
    let known = PersonsAnswer::ALL.map(PersonsAnswer::as_str).join(", ");
    let message = format!("`{}` is not an answer; these are: {known}", clean_line(&request.answer, 80));
    OpError::Usage { message, hints: vec![answers_of(location, request)] }
}

/// Records a decision that changes no state file: the planner reads it.
fn decide(
    ctx: &ProjectContext,
    location: &RunLocation,
    decision: DecisionKind,
    request: &AnswerRequest,
) -> Result<Report<CheckpointReport>, OpError> {
    let locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    let said = (Some(masked(&request.by)), request.note.as_deref().map(masked));
    let decision = Decision::new(Some(plan::resolve(run, &request.step)?), decision, said, locked.clock().now);
    let written = locked.decide(run, decision)?;
    Ok(report(ctx, &locked.reload().opened, written))
}

impl LockedRun<'_> {
    /// Admits a decision and makes it durable.
    pub(super) fn decide(&self, run: &Run, decision: Decision) -> Result<Written, OpError> {
        let evidence = self.ctx().workspace_evidence(&self.opened);
        let (kind, step, said) = (decision.decision, decision.step.clone(), decision.clone());
        let statement = |decision| Statement {
            run: run.id.as_str().to_owned(),
            dialect: run.dialect,
            kind: StatementKind::Decision(decision),
        };
        let decided = engine::decide(run, &evidence, &self.opened.loaded.findings, decision, self.limits());
        let mut written = Written::of(run, kind.as_str(), step);
        match decided.map_err(OpError::Refused)? {
            Decided::Already(message) => {
                written.message.clone_from(&message);
                written.already = Some(message);
                self.keep_words(run, Some(statement(said)), &mut written)?;
            }
            Decided::Record(decisions) => {
                let steps: Vec<&str> = decisions.iter().filter_map(|one| Some(one.step.as_ref()?.as_str())).collect();
                written.message = format!("{} {} by a person", steps.join(", "), past(kind, steps.len()));
                self.say(kind.as_str(), decisions.into_iter().map(statement).collect())?;
            }
        }
        Ok(written)
    }
}

fn past(kind: DecisionKind, count: usize) -> String {
    format!("{} {}", are(count), kind.as_past())
}
