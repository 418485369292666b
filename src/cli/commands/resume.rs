//! `resume`: a session of the runner continues at once, any other run is handed over to the agent. What a person has to decide is asked.

use camino::Utf8Path;
use clap::ArgMatches;
use serde_json::Value;

use super::{
    context::budget,
    plan::{Detail, PlanFlags},
    prelude::*,
};
use crate::{
    cli::{
        error,
        output::{self, Text},
        question,
        render::{self, plan},
        screen::Screen,
        shared_args::Allowed,
    },
    model::{Mode, Plan, Question, Severity, Suggested},
    ops::{OpError, PlanReport, ProjectContext, Report, ResumeOutcome, RunLocation},
    runner::{self, ResumeOptions},
};

#[derive(Debug, Args)]
#[command(
    before_help = "\
  piton resume              the only interrupted run: its next step, or the rest of a run that Piton drives
  piton resume spring       a run by its name",
    after_help = "Of a run that Piton drives, --from ID repeats the finished step ID and all after it, --skip ID skips a step, and --force \
                  starts over (it asks first). A flag that means nothing for a run is refused."
)]
pub(in crate::cli) struct Resume {
    #[command(flatten)]
    run: RunArg,
    /// Continue without asking; gates and blocking findings still stop it
    #[arg(short, long)]
    yes: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    flags: PlanFlags,
    #[command(flatten, next_help_heading = "Runs that an agent drives")]
    detail: Detail,
    /// Size limit of the context (default: 4096, with --native 65536); the least important parts are left out first
    #[arg(long, value_name = "BYTES", help_heading = "Runs that an agent drives")]
    budget: Option<usize>,
    #[command(flatten)]
    allowed: Allowed,
    /// Run the rest of a run that `piton start` began, instead of handing its next step to an agent
    #[arg(long, conflicts_with = "attended", help_heading = DRIVEN)]
    unattended: bool,
    /// Hand the next step of a run that `piton run` began to an agent, instead of running the rest
    #[arg(long, help_heading = DRIVEN)]
    attended: bool,
    /// Run the items of `foreach` that failed again, and what builds on them
    #[arg(long, conflicts_with_all = ["from", "force", "until"], help_heading = DRIVEN)]
    failed: bool,
    /// Stop when this step is done, with exit 0
    #[arg(long, value_name = "STEP", help_heading = DRIVEN)]
    until: Option<String>,
    /// Run up to N steps at the same time, those that do not depend on each other
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), help_heading = DRIVEN)]
    jobs: Option<u8>,
    /// Print events as JSON lines
    #[arg(long, help_heading = DRIVEN)]
    events: bool,
}

/// The heading of what only a run takes that Piton drives.
const DRIVEN: &str = "Runs that Piton drives";

impl Command for Resume {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.name())?;
        let (chosen, location) = match chosen_run(&ctx, call) {
            Err(error @ OpError::UnknownRun { .. }) => return unknown(error, call),
            chosen => chosen?,
        };
        let ctx = chosen.unwrap_or(ctx);
        if !self.dry_run {
            location.check_resumable()?;
        }
        let driven = match (self.attended, self.unattended) {
            (true, _) => None,
            (false, true) => location.own_run(),
            (false, false) => location.session(),
        };
        if let Some((home, session)) = driven {
            return self.run_on(&ctx, (&location, home, session), call);
        }
        if let Some(flag) = self.only_for_piton(location.own_run().is_some()) {
            let hints = location.rest().into_iter().map(Into::into).collect();
            let message = format!("{flag} is only for a run that Piton drives");
            return Err(OpError::Usage { message, hints }.into());
        }
        if self.allowed.accept_edits && (self.dry_run || location.own_run().is_none()) {
            let why = if self.dry_run {
                "--accept-edits without --yes shows the plan with the changes and writes nothing; it does not go with --dry-run"
            } else {
                "--accept-edits is only for a run of a workflow file"
            };
            return Err(CommandError::usage(why));
        }
        if self.dry_run {
            return call.answer(ops::plan(&ctx, &self.flags.request(), self.detail.shown()));
        }
        self.hand_over(&ctx, &location, call)
    }

    fn has_yaml(&self) -> bool {
        true
    }
}

impl Resume {
    /// Returns the first flag that says nothing about a run whose steps agents do; `is_own`: it is one of a workflow file.
    fn only_for_piton(&self, is_own: bool) -> Option<&'static str> {
        let flags = [
            (self.attended && !is_own, "--attended"),
            (self.unattended, "--unattended"),
            (self.failed, "--failed"),
            (self.until.is_some(), "--until"),
            (self.jobs.is_some(), "--jobs"),
            (self.events, "--events"),
            (self.allowed.over_limits, "--over-limits"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    /// Returns why the flags about an answer for an agent cannot be about a run that Piton drives.
    fn only_for_agents(&self) -> Option<String> {
        let shown = self.detail.shown();
        let flags = [(shown.native, "--native"), (shown.steps, "--steps"), (self.budget.is_some(), "--budget")];
        let (_, flag) = flags.into_iter().find(|(is_given, _)| *is_given)?;
        Some(format!("{flag} does not apply to a run that Piton drives: no agent is handed a context"))
    }

    /// Continues a session of the runner, once a person saw what the plan has them look at first.
    fn run_on(
        &self,
        ctx: &ProjectContext,
        (location, home, session): (&RunLocation, &Utf8Path, &str),
        call: &Call<'_>,
    ) -> Result<Exit, CommandError> {
        let screen = Screen::of(call.global, self.events);
        let plan = self.flags.request();
        if let Some(message) = plan.not_for_a_session().or_else(|| self.only_for_agents()) {
            return Ok(screen.refuse(&CommandError::usage(message)));
        }
        let is_seen = self.yes || self.dry_run || plan.force;
        if !is_seen && let Some((refusal, report)) = ops::held(ctx, location, None)? {
            if !call.can_ask() {
                return Ok(screen.refuse(&OpError::Refused(refusal).into()));
            }
            match ask(&report, location, call)? {
                Answer::Resume(_) => {}
                Answer::Other(exit) => return Ok(exit),
            }
        }
        let asked = ResumeOptions {
            from: plan.from.into_iter().next(),
            skip: plan.skip,
            failed: self.failed,
            until: self.until.clone(),
            jobs: self.jobs.map_or(1, usize::from),
            force: plan.force,
            accept_edits: self.allowed.accept_edits,
            over_limits: self.allowed.over_limits,
            yes: self.yes,
            dry_run: self.dry_run,
            ..ResumeOptions::default()
        };
        let is_plain = asked.from.is_none()
            && asked.skip.is_empty()
            && !(asked.force || asked.dry_run || asked.failed || asked.until.is_some());
        let merges = asked.yes && is_plain && runner::waits_for_merge(home, session, &screen);
        if merges {
            let (now, home, session) = (call.global.now.clone(), home.to_owned(), session.to_owned());
            let request = runner::MergeRequest { now, home, session, style: runner::MergeStyle::Merge, yes: true };
            return Ok(screen.end(runner::merge(&request, &screen)));
        }
        let request = runner::ResumeRequest::new(call.global.now.as_ref(), (home, session), asked);
        Ok(screen.end(runner::resume(&request, &screen)))
    }

    /// Resumes a run and asks where a person has to decide. End of input is never consent.
    fn hand_over(&self, ctx: &ProjectContext, location: &RunLocation, call: &Call<'_>) -> Result<Exit, CommandError> {
        let (plan, detail) = (self.flags.request(), self.detail.shown());
        let mut request = ops::ResumeRequest {
            plan,
            detail,
            yes: self.yes,
            accept_edits: self.allowed.accept_edits,
            budget: budget(self.budget, detail.native),
        };
        let can_ask = call.can_ask();
        let report = match ops::resume(ctx, location, &request, can_ask) {
            Err(error) if can_ask => return ask_for_a_way_out(error, location, call),
            Err(error) => return Err(error.into()),
            Ok(ResumeOutcome::Resumed(report)) => return call.answer(Ok(*report)),
            Ok(ResumeOutcome::Planned(report)) => return call.answer(Ok(*report)),
            Ok(ResumeOutcome::Ask(report)) => report,
        };
        if !can_ask && report.body.plan.mode != Mode::Preflight {
            return call.answer(Ok(ops::unconfirmed(*report)));
        }
        match ask(&report, location, call)? {
            Answer::Resume(again) => request.plan.force |= again.get_flag("force"),
            Answer::Other(exit) => return Ok(exit),
        }
        request.yes = true;
        match ops::resume(ctx, location, &request, false)? {
            ResumeOutcome::Resumed(report) => call.answer(Ok(*report)),
            ResumeOutcome::Planned(report) => call.answer(Ok(*report)),
            ResumeOutcome::Ask(report) => call.answer(Ok(ops::unconfirmed(*report))),
        }
    }
}

/// What came of the question of a plan.
enum Answer {
    /// The run goes on, with these arguments of a resume.
    Resume(ArgMatches),
    /// Another command was run in its place.
    Other(Exit),
}

/// Shows a plan and asks its first question; another answer than to resume is done at once.
fn ask(report: &Report<PlanReport>, location: &RunLocation, call: &Call<'_>) -> Result<Answer, CommandError> {
    let plan = &report.body.plan;
    output::say(&render::asked(report))?;
    let path = location.path();
    let words = plan.question().map(|question| answered(question, plan, &path)).transpose()?;
    let Some(words) = words.flatten() else { return Err(ops::declined(report).into()) };
    let mut typed = (call.line.grammar)().try_get_matches_from(&words)?;
    match typed.remove_subcommand() {
        Some((verb, again)) if verb == "resume" => Ok(Answer::Resume(again)),
        Some(_) | None => {
            let exit = run_instead(&words, call)?;
            others(plan, &path, exit, call).map(Answer::Other)
        }
    }
}

/// Asks what else a plan asks, and does it: several steps that wait are answered in one round.
fn others(plan: &Plan, path: &str, first: Exit, call: &Call<'_>) -> Result<Exit, CommandError> {
    let mut exit = first;
    for question in plan.questions.iter().skip(1) {
        if let Some(words) = answered(question, plan, path)? {
            exit = run_instead(&words, call)?;
        }
    }
    Ok(exit)
}

/// Asks a question of a plan and returns the words of the answer's command; `None` if nothing is chosen. Refuses a command that is not ours.
fn answered(question: &Question, plan: &Plan, path: &str) -> Result<Option<Vec<String>>, CommandError> {
    let answer = question::ask(question)?;
    let option = ops::chosen(question, plan.mode, answer.as_deref());
    if let Some(Suggested::Other(line)) = option.map(|option| &option.command) {
        return Err(ops::not_ours(line).into());
    }
    let completed = |option| question::completed(option, plan.run.id.as_str(), path);
    Ok(option.map(completed).transpose()?.flatten())
}

/// Refuses to resume an unknown run, a session in the words of Specification 186.
fn unknown(error: OpError, call: &Call<'_>) -> Result<Exit, CommandError> {
    match error {
        OpError::UnknownRun { wanted, known, .. } if wanted.starts_with("session-") => {
            Ok(Screen::of(call.global, false).refuse(&CommandError::no_session(&wanted, &known)))
        }
        error => Err(error.into()),
    }
}

/// Asks what is to be done with a state that cannot be read, and does it.
fn ask_for_a_way_out(error: OpError, location: &RunLocation, call: &Call<'_>) -> Result<Exit, CommandError> {
    let Some(question) = ops::way_out(&error, location) else { return Err(error.into()) };
    let declined = ops::unchanged(&question);
    error::show(&error.into())?;
    let answer = question::ask(&question)?;
    let option = ops::chosen(&question, Mode::Interactive, answer.as_deref());
    let words = option.map(|option| question::completed(option, "", "")).transpose()?.flatten();
    let Some(words) = words else { return Err(declined.into()) };
    run_instead(&words, call)
}

/// Runs the command behind an answer, with the global options of this call.
fn run_instead(words: &[String], call: &Call<'_>) -> Result<Exit, CommandError> {
    (call.line.parse)(words)?.run(call)
}

/// Locates the run to resume. Of several, a person chooses one.
fn chosen_run(ctx: &ProjectContext, call: &Call<'_>) -> Result<(Option<ProjectContext>, RunLocation), OpError> {
    let error = match ops::location_to_read(ctx) {
        Err(error @ OpError::Ambiguous { .. }) if call.can_ask() => error,
        located => return located.map(|location| (None, location)),
    };
    let OpError::Ambiguous { runs, .. } = &error else { return Err(error) };
    // The last line is the question.
    let native = error.native_messages();
    let list = match native.split_last() {
        Some((_, list)) => list.iter().fold(Text::default(), |mut text, line| {
            text.line(line);
            text
        }),
        None => {
            let list = ops::ListReport {
                runs: runs.clone(),
                hidden: 0,
                in_review: 0,
                hints: Vec::new(),
                sessions_shown: usize::MAX,
            };
            render::text(&Report::ok(list), false, true)
        }
    };
    let path = output::say(&list).and_then(|()| question::which(runs));
    // An answer that cannot be read is no answer.
    let Some(path) = path.unwrap_or_default() else { return Err(ops::no_choice()) };
    let ctx = call.project(Some(&path))?;
    let location = ops::location_to_read(&ctx)?;
    Ok((Some(ctx), location))
}

impl Shown for ops::ResumeReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        plan::resumed(page, &self.plan, self.is_guest);
        if let Some(context) = &self.context {
            page.text.end();
            page.context(context);
        }
    }

    /// A resume repeats its plan, which keeps the notes for `-v`.
    fn lists(&self, finding: &Finding, verbose: bool) -> bool {
        finding.severity != Severity::Info || verbose
    }

    fn yaml(&self) -> serde_json::Result<Value> {
        serde_json::to_value(&self.context)
    }
}
