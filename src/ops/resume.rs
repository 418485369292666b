//! `resume`: takes the lease, records the interruption, applies the plan's bookkeeping, and hands over the context.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    Exit, OpError, client_sessions, configured, context, half_made,
    locked_run::LockedRun,
    opened_run::{OpenedRun, run_word},
    plan::{self, PlanReport, PlanRequest},
    plan_document::{PlanDetail, ResumeDocument},
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
};
use crate::{
    dialect::Guest,
    engine::{ChangeLimits, Planned},
    model::{
        Action, AgreedFindings, ChangeKind, Commands, Context, Decision, Edit, Entry, FindingClass, Interruption,
        InterruptionKind, Mode, Plan, Question, QuestionOption, Run, RunStatus, Status, Suggested, Verb, Verdict,
    },
    store,
};

/// The start of the next step of work.
#[derive(Debug)]
pub(crate) struct ResumeReport {
    pub(crate) plan: Plan,
    /// The context for the agent of the first next step; `None` if no step is next.
    pub(crate) context: Option<Context>,
    /// The revision after the bookkeeping.
    pub(crate) revision: String,
    /// The run belongs to another program: nothing was taken over.
    pub(crate) is_guest: bool,
    pub(crate) detail: PlanDetail,
}

impl Body for ResumeReport {
    const SCHEMA: &'static str = "resume/2";

    fn written(&self) -> Option<String> {
        (!self.is_guest).then(|| "the run is taken over".to_owned())
    }
}

impl Serialize for ResumeReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { plan, context, revision, detail, is_guest: _ } = self;
        ResumeDocument::of(plan, context.as_ref(), revision, *detail).serialize(serializer)
    }
}

/// Options of a resume.
#[derive(Clone, Debug)]
pub(crate) struct ResumeRequest {
    pub(crate) plan: PlanRequest,
    pub(crate) detail: PlanDetail,
    pub(crate) yes: bool,
    /// Take the definition of the run as its file has it now.
    pub(crate) accept_edits: bool,
    pub(crate) budget: usize,
}

/// The outcome of a resume.
#[derive(Debug)]
pub(crate) enum ResumeOutcome {
    Resumed(Box<Report<ResumeReport>>),
    /// Nothing is next, or something has to be resolved first.
    Planned(Box<Report<PlanReport>>),
    /// A plan whose first question a person has to answer; after a yes, call again with `yes`.
    Ask(Box<Report<PlanReport>>),
}

/// Resumes a run. `can_ask`: a person is at the terminal.
pub(crate) fn resume(
    ctx: &ProjectContext,
    location: &RunLocation,
    request: &ResumeRequest,
    can_ask: bool,
) -> Result<ResumeOutcome, OpError> {
    location.check_resumable()?;
    let agreed = if request.yes { AgreedFindings::All } else { AgreedFindings::None };
    let plan = PlanRequest { agreed, ..request.plan.clone() };
    let request = &ResumeRequest { plan, ..request.clone() };
    if let Some(guest) = location.guest() {
        return hand_over(ctx, location, request, guest);
    }
    if request.yes {
        mend(ctx, location)?;
    }
    configured::approve(ctx, location)?;
    let opened = ctx.read(location)?;
    if request.accept_edits
        && let Some(edit) = opened.dialect.journal().redefined(&opened.files)
    {
        if !request.yes {
            return edits_to_accept(ctx, &opened, &edit, request);
        }
        accept_edits(ctx, location)?;
        return resume(ctx, location, &ResumeRequest { accept_edits: false, ..request.clone() }, can_ask);
    }
    let run = opened.run().map_err(|error| failed(&opened, error))?;
    let planned = plan::planned(ctx, &opened, run, &request.plan)?;
    match decide(&planned, request.yes, can_ask) {
        ResumeDecision::Proceed => {}
        ResumeDecision::NothingToDo => {
            return Ok(ResumeOutcome::Planned(Box::new(plan::report(opened, planned, request.detail))));
        }
        ResumeDecision::Ask => {
            return Ok(ResumeOutcome::Ask(Box::new(plan::report(opened, planned, request.detail))));
        }
    }
    if planned.plan.verdict == Verdict::Complete {
        skip_last(ctx, location, &opened, &planned, request)?;
        let opened = ctx.read(location)?;
        let planned = plan::planned(ctx, &opened, opened.run()?, &PlanRequest::default())?;
        // Some formats do not say whether another step follows.
        return Ok(match planned.plan.verdict {
            Verdict::Resume | Verdict::Confirm => {
                let rest = ResumeRequest { plan: PlanRequest::default(), ..request.clone() };
                ResumeOutcome::Resumed(Box::new(take(ctx, location, &opened, planned, &rest)?))
            }
            Verdict::Complete | Verdict::Blocked | Verdict::Nothing => {
                ResumeOutcome::Planned(Box::new(plan::report(opened, planned, request.detail)))
            }
        });
    }
    let taken = take(ctx, location, &opened, planned, request).map_err(|error| failed(&opened, error))?;
    Ok(ResumeOutcome::Resumed(Box::new(taken)))
}

/// Lets a journal that lost its last records continue from the checkpoint, which a person agreed to.
fn mend(ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
    let opened = ctx.read(location)?;
    if opened.dialect.journal().mended(&opened.files).is_none() {
        return Ok(());
    }
    let locked = LockedRun::open(ctx, location)?;
    locked.check_not_driven()?;
    // A call that is killed in between leaves the same loss.
    for edit in locked.opened.dialect.journal().mended(&locked.opened.files).into_iter().flatten() {
        locked.commit_as("resume", vec![edit])?;
    }
    Ok(())
}

/// Asks whether a run takes its definition as the file has it now, and shows the plan that it would have then.
fn edits_to_accept(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    edit: &Edit,
    request: &ResumeRequest,
) -> Result<ResumeOutcome, OpError> {
    let mut files = opened.files.clone();
    store::lay_edits_over(&mut files, &opened.candidate.reads, std::slice::from_ref(edit));
    let edited = opened.reread(files);
    let run = edited.run()?;
    let mut planned = plan::planned(ctx, &edited, run, &request.plan)?;
    let id = &run.id;
    let take = Suggested::of(Verb::Resume, id).flag("accept-edits").yes();
    let options = vec![
        QuestionOption::new("yes", "take them and resume", take).by_person(),
        QuestionOption::leave("no", "leave it as it was recorded", Suggested::of(Verb::Plan, id)),
    ];
    let text = "This is the plan with the workflow file as it is now. Take its changes?";
    let question = Question::of_run(text, options, Some("no"));
    planned.plan.questions = vec![question];
    Ok(ResumeOutcome::Ask(Box::new(plan::report(edited, planned, request.detail))))
}

/// Records the definition of a run as its file has it now, which a person agreed to.
fn accept_edits(ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
    let locked = LockedRun::open(ctx, location)?;
    locked.check_not_driven()?;
    let edit = locked.opened.dialect.journal().redefined(&locked.opened.files);
    let note = Value::from("the run takes the workflow file as it is now");
    locked.commit(Entry { note, ..locked.entry("accept-edits", None) }, edit.into_iter().collect()).map(drop)
}

/// Answers with the brief and the command of a run of another program. Takes no lease and records nothing.
fn hand_over(
    ctx: &ProjectContext,
    location: &RunLocation,
    request: &ResumeRequest,
    guest: Guest,
) -> Result<ResumeOutcome, OpError> {
    if location.is_of_client() {
        client_sessions::check_not_adopted(ctx, location)?;
    }
    let opened = ctx.read(location)?;
    let run = opened.run()?;
    let mut planned = plan::planned(ctx, &opened, run, &request.plan)?;
    let next = planned.plan.next.first().filter(|_| planned.plan.verdict != Verdict::Blocked);
    let Some(next) = next else {
        return Ok(ResumeOutcome::Planned(Box::new(plan::report(opened, planned, request.detail))));
    };
    // Rule 9: autopilot does not take up what a person paused.
    if planned.plan.mode == Mode::Autopilot && run.status == RunStatus::Paused && !request.yes {
        let report = plan::report(opened, planned, request.detail);
        return Ok(ResumeOutcome::Planned(Box::new(Report { exit: Exit::Person, ..report })));
    }
    let context = match request.detail.native {
        true => context::assemble_native(&opened, run, &planned, next, request.budget),
        false => context::assemble(&opened, run, &planned, next, request.budget),
    };
    let command = plan::own_command(&planned.plan, &guest);
    planned.plan.commands = Commands { resume: Some(Suggested::Other(command)), ..Commands::default() };
    let (revision, detail) = (opened.revision(), request.detail);
    let body = ResumeReport { plan: planned.plan, context: Some(context), revision, is_guest: true, detail };
    Ok(ResumeOutcome::Resumed(Box::new(Report { exit: Exit::Ok, body, findings: planned.findings })))
}

/// Adds the messages of the run's own system to a failure, if it has any.
fn failed(opened: &OpenedRun, error: OpError) -> OpError {
    let title = opened.loaded.run.as_ref().map_or(opened.candidate.name.as_str(), |run| run.title.as_str());
    let action = error.hints().into_iter().next().unwrap_or_else(|| Suggested::new(Verb::Plan).into());
    let messages =
        opened.dialect.wording().failure(title, &opened.candidate.state, &error.to_string(), &action.to_string());
    if messages.is_empty() { error } else { OpError::Resume { messages, error: Box::new(error) } }
}

enum ResumeDecision {
    Proceed,
    /// The plan is the answer: nothing is next, or something has to be resolved first.
    NothingToDo,
    /// The plan has a question.
    Ask,
}

/// Rule 9. In interactive mode the verdict `resume` is only confirmed if a person is present; `confirm` always is. A person
/// also has to confirm what autopilot may not resume by itself, and answers what blocks the run or follows it.
fn decide(planned: &Planned, yes: bool, can_ask: bool) -> ResumeDecision {
    let plan = &planned.plan;
    let ask = |otherwise: ResumeDecision| plan.question().map_or(otherwise, |_| ResumeDecision::Ask);
    match plan.verdict {
        // What is left is skipped, and that is recorded.
        Verdict::Complete if plan.question().is_some_and(Question::offers_resume) => match can_ask && !yes {
            true => ask(ResumeDecision::NothingToDo),
            false => ResumeDecision::Proceed,
        },
        Verdict::Complete | Verdict::Blocked if can_ask && !yes => ask(ResumeDecision::NothingToDo),
        Verdict::Complete | Verdict::Blocked | Verdict::Nothing => ResumeDecision::NothingToDo,
        Verdict::Resume | Verdict::Confirm if yes => ResumeDecision::Proceed,
        // If a yes means to start over, no answer does not mean to continue.
        Verdict::Resume | Verdict::Confirm
            if planned.unattended && plan.question().is_none_or(Question::offers_resume) =>
        {
            ResumeDecision::Proceed
        }
        Verdict::Resume if plan.mode == Mode::Interactive && !can_ask => ResumeDecision::Proceed,
        Verdict::Resume | Verdict::Confirm => ask(ResumeDecision::Proceed),
    }
}

fn take(
    ctx: &ProjectContext,
    location: &RunLocation,
    seen: &OpenedRun,
    planned: Planned,
    request: &ResumeRequest,
) -> Result<Report<ResumeReport>, OpError> {
    let mut locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(Some(&seen.revision()))?;
    let mut findings = Vec::new();
    let (note, block) = super::log::line(&locked, run, &planned, request.yes);
    let mut is_noted = false;
    for kind in bookkeeping(run, &planned, request) {
        let limits = ChangeLimits { force: request.plan.force, ..locked.limits() };
        // The record of the resume says why it was safe.
        let is_resume = matches!(kind, ChangeKind::Resume { .. });
        let note = if is_resume { note.clone() } else { Value::Null };
        let mut written = locked.apply_as(kind, &locked.evidence(), limits, (ctx.about(), note))?;
        is_noted |= is_resume && written.already.is_none();
        locked = locked.after(location, &written)?;
        findings.append(&mut written.findings);
    }
    for (step, decision) in &planned.needs {
        let note = Some("chosen with the options of a resume".to_owned());
        let decision = Decision::new(Some(step.clone()), *decision, (None, note), locked.clock().now);
        locked.decide(locked.opened.run()?, decision)?;
        locked = locked.reload();
    }
    findings.extend(locked.take_lease("resume"));
    if !is_noted {
        locked.commit(Entry { note, ..locked.entry("resume", None) }, Vec::new())?;
    }
    findings.extend(super::log::tell(&locked, &planned, block));
    let opened = &locked.opened;
    let run = opened.run()?;
    let mut next = planned.plan.next.first().cloned();
    if let Some(next) = &mut next {
        half_made::look(ctx, opened, run, &planned, next);
    }
    let context = next.as_ref().map(|next| match request.detail.native {
        true => context::assemble_native(opened, run, &planned, next, request.budget),
        false => context::assemble(opened, run, &planned, next, request.budget),
    });
    let revision = opened.revision();
    let exit = Exit::Ok;
    let body = ResumeReport { plan: planned.plan, context, revision, is_guest: false, detail: request.detail };
    Ok(Report { exit, body, findings: planned.findings.into_iter().chain(findings).collect() })
}

/// Records the skipped steps of a resume after which no step is left.
fn skip_last(
    ctx: &ProjectContext,
    location: &RunLocation,
    seen: &OpenedRun,
    planned: &Planned,
    request: &ResumeRequest,
) -> Result<(), OpError> {
    let mut locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(Some(&seen.revision()))?;
    for kind in skips(run, request) {
        let written = locked.apply(kind, &locked.evidence(), locked.limits())?;
        locked = locked.after(location, &written)?;
    }
    let (note, block) = super::log::line(&locked, locked.opened.run()?, planned, request.yes);
    locked.commit(Entry { note, ..locked.entry("resume", None) }, Vec::new())?;
    super::log::tell(&locked, planned, block);
    Ok(())
}

/// Returns the changes that a resume records: skipped steps, then the resume itself.
fn bookkeeping(run: &Run, planned: &Planned, request: &ResumeRequest) -> Vec<ChangeKind> {
    let mut kinds = skips(run, request);
    kinds.push(resumption(planned));
    kinds
}

/// Returns the changes that skip the chosen steps.
fn skips(run: &Run, request: &ResumeRequest) -> Vec<ChangeKind> {
    let mut kinds: Vec<ChangeKind> = Vec::new();
    for text in plan::named(run, &request.plan.skip) {
        if let Some(step) = run.resolve(text)
            && step.status != Status::Skipped
        {
            kinds.push(ChangeKind::Skip {
                step: step.id.clone(),
                part: None,
                by: None,
                reason: "skipped on resume".to_owned(),
            });
        }
    }
    kinds
}

/// Returns the resume that a begin records first: the agent of the step before was lost, or the run was paused. `None` if a resume
/// recorded that already.
pub(super) fn cut_off(run: &Run, planned: &Planned, is_lost: bool) -> Option<ChangeKind> {
    let report = planned.plan.interruption.as_ref()?;
    let is_recorded = run.interrupted_at.is_some() && run.interrupted_at == report.at;
    let is_cut_off = matches!(report.kind, InterruptionKind::AgentInterruption | InterruptionKind::Paused);
    if !is_cut_off || is_recorded {
        return None;
    }
    let mut resumption = resumption(planned);
    if let (true, ChangeKind::Resume { interruption: Some(interruption), .. }) = (is_lost, &mut resumption) {
        // The caller knows better than any trace.
        "the agent was lost".clone_into(&mut interruption.reason);
    }
    Some(resumption)
}

fn resumption(planned: &Planned) -> ChangeKind {
    let plan = &planned.plan;
    let steps: Vec<_> = (plan.next.iter())
        .filter(|next| matches!(next.action, Action::Run | Action::Retry | Action::Return))
        .map(|next| next.step.clone())
        .collect();
    let settled: Vec<_> = (planned.findings.iter())
        .filter(|finding| finding.code.is_of(FindingClass::ShownDone))
        .filter_map(|finding| Some((finding.step.clone()?, Status::Completed)))
        .collect();
    let strategy = plan.next.first().and_then(|next| next.strategy).map(|strategy| strategy.as_str().to_owned());
    ChangeKind::Resume { steps, interruption: interruption(plan), strategy, settled }
}

/// Returns the interruption; `None` if the run stopped between two steps.
fn interruption(plan: &Plan) -> Option<Interruption> {
    let report = plan.interruption.as_ref()?;
    match report.kind {
        InterruptionKind::ReadyToExecute | InterruptionKind::WorkflowComplete => None,
        InterruptionKind::AgentInterruption
        | InterruptionKind::TaskFailure
        | InterruptionKind::DependencyBlock
        | InterruptionKind::ContextLost
        | InterruptionKind::WaitingApproval
        | InterruptionKind::Paused => Some(Interruption {
            kind: report.kind,
            step: report.step.clone(),
            at: report.at,
            reason: report.reason.clone(),
        }),
    }
}

/// Returns the option that an answer chooses: its number, id or label. `None` leaves everything as it is: the end of input does, and
/// anything that is not an option.
pub(crate) fn chosen<'a>(question: &'a Question, mode: Mode, answer: Option<&str>) -> Option<&'a QuestionOption> {
    let answer = answer?.trim().to_lowercase();
    let options = &question.options;
    let option = match (mode, answer.as_str()) {
        (Mode::Preflight, "proceed") => question.option("proceed"),
        (Mode::Preflight, _) if question.option("proceed").is_some() => None,
        (_, "") => question.default.as_ref().and_then(|id| question.option(id)),
        (_, "y") => question.option("yes"),
        (_, "n") => question.option("no"),
        (_, word) => match word.parse::<usize>() {
            Ok(number) => options.get(number.wrapping_sub(1)),
            Err(_) => options.iter().find(|option| option.id == word || option.label.to_lowercase() == word),
        },
    };
    option.filter(|option| !option.changes_nothing)
}

/// Returns the question about a state that cannot be read: repair it, start fresh, or leave it. `None` for any other error.
pub(crate) fn way_out(error: &OpError, location: &RunLocation) -> Option<Question> {
    if error.exit() != Exit::Unreadable {
        return None;
    }
    let cause = if let OpError::Resume { error, .. } = error { error } else { error };
    let fixes = || cause.findings().iter().filter_map(|finding| finding.fix.as_ref());
    let mend = fixes().find_map(|fix| fix.offer(Verb::Restore));
    if mend.is_none() && !fixes().any(|fix| fix.offer(Verb::Close).is_some()) {
        return None;
    }
    let path = run_word(&location.candidate);
    let what = if mend.is_some() { "Repair it, or start fresh?" } else { "Start fresh?" };
    let repair = mend.map(|mend| QuestionOption::new("repair", "repair it", mend.clone()));
    let others = [
        QuestionOption::new("fresh", "archive it and start fresh", Suggested::of(Verb::Close, &path).flag("abort"))
            .by_person(),
        QuestionOption::leave("no", "leave it as it is", Suggested::of(Verb::Status, &path)),
    ];
    let options = repair.into_iter().chain(others).collect();
    Some(Question::of_run(format!("State appears corrupted. {what}"), options, Some("no")))
}

/// Returns the error of a person who chose none of these options.
pub(crate) fn unchanged(question: &Question) -> OpError {
    let hints =
        question.options.iter().filter(|option| !option.changes_nothing).map(|option| option.command.clone().into());
    OpError::NotConfirmed { message: "not confirmed; nothing was changed".to_owned(), hints: hints.collect() }
}

/// Returns the error of a resume that a person declined.
pub(crate) fn declined(report: &Report<PlanReport>) -> OpError {
    OpError::NotConfirmed {
        message: "not confirmed; nothing was changed".to_owned(),
        hints: vec![format!("when you do: {}", with_yes(report)).into()],
    }
}

/// Returns the error for an option that is a command of another program: it is printed, never run.
pub(crate) fn not_ours(line: &str) -> OpError {
    OpError::NotConfirmed {
        message: "this command is not run here; nothing was changed".to_owned(),
        hints: vec![Suggested::Other(line.to_owned()).into()],
    }
}

/// Returns the error for a choice among runs that was not made.
pub(crate) fn no_choice() -> OpError {
    OpError::TargetAmbiguous {
        message: "no run was chosen; nothing was changed".to_owned(),
        hints: vec![Suggested::new(Verb::List).into(), Suggested::of(Verb::Resume, "NUMBER").into()],
    }
}

/// Returns the plan if no person could be asked: exit 9, with the command that confirms.
pub(crate) fn unconfirmed(mut report: Report<PlanReport>) -> Report<PlanReport> {
    report.exit = Exit::Person;
    let yes = with_yes(&report);
    if report.body.run.records.resume {
        report.body.plan.commands.resume = Some(yes);
    }
    report
}

/// Returns the command that answers the question of a plan with yes, with the options of the plan.
fn with_yes(report: &Report<PlanReport>) -> Suggested {
    let plan = &report.body.plan;
    let answer = plan.question().and_then(|question| question.option("yes"));
    if let Some(answer) = answer.filter(|answer| answer.command.verb() == Some(Verb::Resume)) {
        return answer.command.clone();
    }
    let resume = plan.commands.resume.clone();
    let resume = resume.unwrap_or_else(|| Suggested::of(Verb::Resume, &plan.run.id));
    resume.yes()
}

#[cfg(test)]
mod tests {
    use super::chosen;
    use crate::model::{Mode, Question, QuestionOption, Suggested, Verb};

    #[test]
    fn only_an_answer_that_names_an_option_changes_anything() {
        let option = |id: &str, label: &str| QuestionOption::new(id, label, Suggested::of(Verb::Plan, id));
        let no = || QuestionOption::leave("no", "leave it as it is", Suggested::new(Verb::Status));
        let question = |default: Option<&str>, options: Vec<QuestionOption>| Question::of_run("", options, default);
        let plain = question(Some("yes"), vec![option("yes", "resume"), no()]);
        let resume = question(Some("yes"), vec![option("yes", "resume"), no(), option("fresh", "Start fresh")]);
        let corrupt = question(Some("no"), vec![option("yes", "start fresh"), no()]);
        let decision = question(None, vec![option("redo", "do it again"), option("abort", "abort the run")]);
        let preflight = question(Some("cancel"), vec![option("proceed", "resume"), no()]);
        for (question, mode, answer, expected) in [
            (&plain, Mode::Interactive, Some(""), Some("yes")),
            (&plain, Mode::Interactive, Some(" Y\n"), Some("yes")),
            (&plain, Mode::Interactive, Some("n"), None),
            (&plain, Mode::Interactive, Some("2"), None),
            (&plain, Mode::Interactive, Some("proceed"), None),
            (&resume, Mode::Autopilot, Some("\n"), Some("yes")),
            (&resume, Mode::Interactive, Some("No"), None),
            (&resume, Mode::Interactive, Some("what"), None),
            (&resume, Mode::Interactive, Some("start FRESH"), Some("fresh")),
            (&resume, Mode::Interactive, Some("3"), Some("fresh")),
            (&resume, Mode::Interactive, None, None),
            (&corrupt, Mode::Interactive, Some(""), None),
            (&corrupt, Mode::Interactive, Some("y"), Some("yes")),
            (&corrupt, Mode::Interactive, None, None),
            (&decision, Mode::Interactive, Some(""), None),
            (&decision, Mode::Interactive, Some("y"), None),
            (&decision, Mode::Interactive, Some("0"), None),
            (&decision, Mode::Interactive, Some("3"), None),
            (&decision, Mode::Interactive, Some("2"), Some("abort")),
            (&decision, Mode::Preflight, Some("redo"), Some("redo")),
            (&preflight, Mode::Preflight, Some("y"), None),
            (&preflight, Mode::Preflight, Some("1"), None),
            (&preflight, Mode::Preflight, Some(""), None),
            (&preflight, Mode::Preflight, Some("proceed"), Some("proceed")),
        ] {
            let found = chosen(question, mode, answer).map(|option| option.id.as_str());
            assert_eq!(found, expected, "{mode:?} {answer:?}");
        }
    }
}
