//! From a verb to its use case, and from its report to the output.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::Parser as _;

use super::args;
use super::args::Cli;
use super::args::Global;
use super::args::Verb;
use super::begin_args::Begin;
use super::begin_args::BriefArg;
use super::changes;
use super::error;
use super::error::CommandError;
use super::output;
use super::question;
use super::render;
use super::script;
use super::setup_args::SettingsScope;
use super::setup_args::Setup;
use super::shared_args::Format;
use super::shared_args::ModeArg;
use super::typed::TypedCommand;
use crate::model::DecisionKind;
use crate::model::Mode;
use crate::model::StartSpec;
use crate::ops;
use crate::ops::ChangeRequest;
use crate::ops::Confirmation;
use crate::ops::Exit;
use crate::ops::OpError;
use crate::ops::PlanDetail;
use crate::ops::ProjectContext;
use crate::ops::RepairRequest;
use crate::ops::Report;
use crate::ops::Request;
use crate::ops::ResumeOutcome;
use crate::ops::ResumeRequest;
use crate::ops::RunLocation;
use crate::published;

/// The result of a verb.
enum Outcome {
    Report(Box<Report>),
    /// The verb printed its output while it ran.
    Ran(Exit),
}

/// Runs a verb, prints its one document, and returns the exit code.
pub(super) fn run(cli: &Cli, words: &[OsString]) -> Exit {
    let format = format_of(&cli.global, &cli.verb);
    let outcome = format.and_then(|format| verb(cli, format).map(|report| (report, format)));
    let exit_zero = exit_zero(&cli.verb);
    match outcome {
        Ok((Outcome::Ran(exit), _)) => exit,
        Ok((Outcome::Report(report), format)) => match print(&report, format, cli) {
            Ok(()) if exit_zero => Exit::Ok,
            Ok(()) => report.exit,
            Err(error) => error::unprinted(&error, report.written(), format),
        },
        Err(error) => {
            let format = format_of(&cli.global, &cli.verb).unwrap_or_else(|_| usual_format());
            let error = error.with_command(&TypedCommand::new(words), format);
            let starts_runs = !matches!(cli.verb, Verb::Sessions(_));
            let error = if starts_runs { error.with_starts(&request(&cli.global, None)) } else { error };
            if exit_zero { error::report_as_answer(&error, format) } else { error::report(&error, format) }
        }
    }
}

/// Tells whether every answer of this call exits with 0, so that a client does not show a normal one as a failure.
const fn exit_zero(verb: &Verb) -> bool {
    match verb {
        Verb::List(list) => list.answer.exit_zero,
        Verb::Plan(plan) => plan.answer.exit_zero,
        Verb::Status(status) => status.answer.exit_zero,
        _ => false,
    }
}

/// Returns the requested format, else text for a person and JSON for a program.
pub(super) fn format_of(global: &Global, verb: &Verb) -> Result<Format, CommandError> {
    let asked = match (global.format, ops::wanted_format()) {
        (Some(format), _) => Some(format),
        (None, Some(text)) => match <Format as clap::ValueEnum>::from_str(&text, true) {
            Ok(format) => Some(format),
            Err(_) => {
                return Err(CommandError::usage(format!("PITON_FORMAT is `{text}`; it is text, json or markdown")));
            }
        },
        (None, None) => None,
    };
    match asked {
        Some(Format::Yaml) if !matches!(verb, Verb::Context(_) | Verb::Resume(_)) => {
            Err(CommandError::usage("--format yaml is for `context` and `resume`".to_owned()))
        }
        Some(format) => Ok(format),
        None => Ok(usual_format()),
    }
}

/// Returns text for a person and JSON for a program.
pub(super) fn usual_format() -> Format {
    if output::is_terminal() { Format::Text } else { Format::Json }
}

/// Returns the format requested by a command line that could not be parsed.
pub(super) fn format_of_words(words: impl Iterator<Item = OsString>) -> Format {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let mut asked = words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--format") {
        Some("") => words.get(at + 1).map(String::as_str),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    let asked = asked.next().map(str::to_owned).or_else(ops::wanted_format);
    asked.and_then(|text| <Format as clap::ValueEnum>::from_str(&text, true).ok()).unwrap_or_else(usual_format)
}

fn print(report: &Report, format: Format, cli: &Cli) -> std::io::Result<()> {
    match format {
        Format::Text => output::print_text(&render::text(report, cli.global.verbose, cli.global.quiet)),
        Format::Markdown => output::print_raw(&render::markdown(report)),
        Format::Yaml => output::print_raw(&render::yaml(report)),
        Format::Json => match render::json(report, exit_zero(&cli.verb)) {
            Ok(value) => output::print_json(&value),
            Err(document) => output::print_raw(document),
        },
    }
}

fn verb(cli: &Cli, format: Format) -> Result<Outcome, CommandError> {
    let global = &cli.global;
    let ctx = |run: Option<&String>| ProjectContext::open(&request(global, run));
    let report = match &cli.verb {
        Verb::List(list) => ops::list(&ctx(None)?, list.all)?,
        Verb::Plan(plan) if plan.patch => ops::patch(&ctx(plan.run.run.as_ref())?, &plan.flags.request())?,
        Verb::Plan(plan) => ops::plan(&ctx(plan.run.run.as_ref())?, &plan.flags.request(), detail(plan.detail))?,
        Verb::Context(context) => {
            let (native, budget) = (context.native, budget(context.budget, context.native));
            ops::context(&ctx(context.run.run.as_ref())?, context.step.as_deref(), budget, native)?
        }
        Verb::Status(status) => ops::status(&ctx(status.run.run.as_ref())?)?,
        Verb::Validate(validate) => ops::validate(&request(global, None), &validate.targets)?,
        Verb::Schema(schema) => ops::schema(&published::schemas(), schema.name.as_deref())?,
        Verb::Start(start) if start.print => ops::print_workflow(&ctx(None)?.project, &start.workflow)?,
        Verb::Start(start) => ops::start(&ctx(None)?, start_spec(start), start.archive)?,
        Verb::Skip(args::Skip { phase: Some(phase), by, reason, target, .. }) => {
            ops::skip_phase(&ctx(target.run.as_ref())?, *phase, by.as_deref(), reason.as_deref().unwrap_or_default())?
        }
        Verb::Begin(_) | Verb::Finish(_) | Verb::Approve(_) | Verb::Skip(_) => {
            let (run, change) = changes::of_step(&cli.verb)?;
            let ctx = change_ctx(global, run.as_ref(), &change)?;
            match &cli.verb {
                Verb::Begin(begin) => ops::begin(&ctx, change, brief_request(begin))?,
                _ => ops::change(&ctx, change)?,
            }
        }
        Verb::Accept(_) | Verb::Pause(_) | Verb::Abort(_) | Verb::Complete(_) => {
            let (run, change) = changes::of_run(&cli.verb);
            ops::change(&change_ctx(global, run.as_ref(), &change)?, change)?
        }
        Verb::Redo(redo) => ops::decide(&ctx(redo.run.as_ref())?, changes::decision(DecisionKind::Redo, redo))?,
        Verb::Override(over) => ops::decide(&ctx(over.run.as_ref())?, changes::decision(DecisionKind::Override, over))?,
        Verb::Resume(resume) => return resume_run(&ctx(resume.run.run.as_ref())?, global, resume, format),
        Verb::Run(run) => return Ok(Outcome::Ran(script::run(global, run))),
        Verb::Sessions(sessions) => super::sessions::sessions(sessions, request(global, None), format)?,
        Verb::History(history) => ops::history(&ctx(history.run.run.as_ref())?, history.changes)?,
        Verb::Restore(restore) => ops::restore(&ctx(restore.run.run.as_ref())?, restore.to.as_deref(), restore.yes)?,
        Verb::Rollback(back) => {
            super::rollback::rollback(&ctx(back.run.run.as_ref().or(back.named.as_ref()))?, back, format)?
        }
        Verb::Repair(repair) => repair_run(&ctx(repair.run.run.as_ref())?, repair, format)?,
        Verb::Archive(archive) if archive.all => ops::cleanup(&ctx(None)?, archive.after, archive.yes)?,
        Verb::Archive(archive) => ops::archive(&ctx(archive.run.run.as_ref())?, archive.yes)?,
        Verb::Setup(setup) => ops::setup(&request(global, None), setup_request(setup))?,
        Verb::Doctor => ops::doctor(&request(global, None)),
        Verb::Demo(demo) => ops::demo(demo.keep)?,
        Verb::Completions(completions) => completion_script(completions.shell),
        Verb::Man => manual()?,
        // Already handled by `cli::hook`.
        Verb::Hook(_) | Verb::Statusline => Report::ok(ops::Body::Document(String::new())),
    };
    Ok(report.into())
}

pub(super) fn request(global: &Global, run: Option<&String>) -> Request {
    Request {
        project: global.project.clone(),
        now: global.now.clone(),
        mode: global.mode.map(|mode| match mode {
            ModeArg::Autopilot => Mode::Autopilot,
            ModeArg::Interactive => Mode::Interactive,
            ModeArg::Preflight => Mode::Preflight,
        }),
        run: run.cloned(),
        step: None,
        prodigy_home: global.prodigy_home.clone(),
    }
}

/// Opens the project of a change, whose step may decide between several runs.
fn change_ctx(global: &Global, run: Option<&String>, change: &ChangeRequest) -> Result<ProjectContext, OpError> {
    let step = change.kind.step().map(|step| step.as_str().to_owned());
    ProjectContext::open(&Request { step, ..request(global, run) })
}

/// Returns the size limit of a context. In the form of its own system it says some things again.
fn budget(asked: Option<usize>, native: bool) -> usize {
    asked.unwrap_or(if native { 65_536 } else { 4_096 })
}

fn brief_request(begin: &Begin) -> ops::BriefRequest {
    let form = match begin.brief {
        None => ops::BriefForm::AsDelivered,
        Some(BriefArg::Inline) => ops::BriefForm::Inline,
        Some(BriefArg::File) => ops::BriefForm::File,
    };
    ops::BriefRequest { budget: begin.budget, form, to_text: render::context }
}

const fn detail(asked: args::Detail) -> PlanDetail {
    PlanDetail { native: asked.native, steps: asked.steps }
}

const fn setup_request(setup: &Setup) -> ops::SetupRequest {
    ops::SetupRequest {
        permissions: setup.permissions,
        statusline: setup.statusline,
        scope: match setup.scope {
            SettingsScope::User => ops::SetupScope::User,
            SettingsScope::Project => ops::SetupScope::Project,
            SettingsScope::Local => ops::SetupScope::Local,
        },
        yes: setup.yes,
    }
}

fn start_spec(start: &args::Start) -> StartSpec {
    StartSpec {
        description: start.description.clone(),
        phases: start.phases,
        issues: start.issue.clone(),
        branch: start.branch.clone(),
        ..StartSpec::new(&start.workflow, start.feature.as_deref().unwrap_or_default())
    }
}

/// Resumes a run: a session of the runner continues at once, any other run is handed over to the agent.
fn resume_run(
    ctx: &ProjectContext,
    global: &Global,
    resume: &args::Resume,
    format: Format,
) -> Result<Outcome, CommandError> {
    let (chosen, location) = match chosen_run(ctx, global, format) {
        Ok(found) => found,
        Err(error @ OpError::UnknownRun { .. }) => {
            refuse_prodigy(global, ctx)?;
            match error {
                OpError::UnknownRun { wanted, known, .. } if wanted.starts_with("session-") => {
                    return Ok(Outcome::Ran(script::unknown(global, &wanted, &known)));
                }
                error => return Err(error.into()),
            }
        }
        Err(error) => return Err(error.into()),
    };
    let ctx = chosen.as_ref().unwrap_or(ctx);
    if !resume.dry_run {
        location.check_writable()?;
    }
    if let Some(session) = location.session() {
        return Ok(Outcome::Ran(script::resume(global, resume, session)));
    }
    if resume.accept_edits || resume.events {
        let flag = if resume.events { "--events" } else { "--accept-edits" };
        return Err(CommandError::usage(format!("{flag} is only for a session of `piton run`")));
    }
    if resume.dry_run {
        return Ok(ops::plan(ctx, &resume.flags.request(), detail(resume.detail))?.into());
    }
    hand_over(ctx, &location, global, resume, format)
}

/// Refuses a Prodigy session named without `--prodigy-home`, with the command that imports it.
fn refuse_prodigy(global: &Global, ctx: &ProjectContext) -> Result<(), OpError> {
    let Some(prodigy_home) = ops::usual_prodigy_home().filter(|_| global.prodigy_home.is_none()) else { return Ok(()) };
    let wider = Request { prodigy_home: Some(prodigy_home), ..request(global, ctx.run.as_ref()) };
    // If Prodigy's folder cannot be read, the name is simply unknown.
    match ProjectContext::open(&wider).and_then(|wider| ops::location(&wider)) {
        Ok(location) => location.check_writable(),
        Err(_) => Ok(()),
    }
}

/// Resumes a run and asks where a person has to decide. End of input is never consent.
fn hand_over(
    ctx: &ProjectContext,
    location: &RunLocation,
    global: &Global,
    resume: &args::Resume,
    format: Format,
) -> Result<Outcome, CommandError> {
    let (plan, detail) = (resume.flags.request(), detail(resume.detail));
    let mut request = ResumeRequest { plan, detail, yes: resume.yes, budget: budget(resume.budget, detail.native) };
    let can_ask = can_ask(format);
    let (report, question, mode) = match ops::resume(ctx, location, &request, can_ask) {
        Err(error) if can_ask => return ask_for_a_way_out(error, location, global, format),
        Err(error) => return Err(error.into()),
        Ok(ResumeOutcome::Report(report)) => return Ok(Outcome::Report(report)),
        Ok(ResumeOutcome::Ask(report, question, mode)) => (report, question, mode),
    };
    if !can_ask && mode != Mode::Preflight {
        return Ok(ops::unconfirmed(*report).into());
    }
    let run = match &report.body {
        ops::Body::Plan(plan) => plan.plan.run.id.as_str().to_owned(),
        _ => String::new(),
    };
    output::say(&render::asked(&report))?;
    let answer = question::ask(&question)?;
    let option = ops::chosen(&question, mode, answer.as_deref());
    let declined = || Err(ops::declined(&report).into());
    let Some(option) = option else { return declined() };
    let Some(words) = question::completed(option, &run, &location.path())? else { return declined() };
    if words.first().is_none_or(|program| program != "piton") {
        return Err(ops::not_ours(&option.command).into());
    }
    let mut chosen = Cli::try_parse_from(words).map_err(CommandError::from)?;
    let Verb::Resume(again) = &chosen.verb else {
        chosen.global = global.clone();
        return verb(&chosen, format);
    };
    request.yes = true;
    request.plan.force |= again.flags.force;
    match ops::resume(ctx, location, &request, false)? {
        ResumeOutcome::Report(report) => Ok(Outcome::Report(report)),
        ResumeOutcome::Ask(report, ..) => Ok(ops::unconfirmed(*report).into()),
    }
}

/// Asks what is to be done with a state that cannot be read, and does it.
fn ask_for_a_way_out(
    error: OpError,
    location: &RunLocation,
    global: &Global,
    format: Format,
) -> Result<Outcome, CommandError> {
    let Some(question) = ops::way_out(&error, location) else { return Err(error.into()) };
    let declined = ops::unchanged(&question);
    error::show(&error.into())?;
    let answer = question::ask(&question)?;
    let option = ops::chosen(&question, Mode::Interactive, answer.as_deref());
    let words = option.map(|option| question::completed(option, "", "")).transpose()?.flatten();
    let Some(words) = words else { return Err(declined.into()) };
    let mut chosen = Cli::try_parse_from(words).map_err(CommandError::from)?;
    chosen.global = global.clone();
    verb(&chosen, format)
}

/// Tells whether a person can be asked, and reads what is printed.
fn can_ask(format: Format) -> bool {
    output::can_ask() && format == Format::Text
}

/// Locates the run to resume. Of several, a person chooses one.
fn chosen_run(
    ctx: &ProjectContext,
    global: &Global,
    format: Format,
) -> Result<(Option<ProjectContext>, RunLocation), OpError> {
    let error = match ops::location(ctx) {
        Err(error @ OpError::Ambiguous { .. }) if can_ask(format) => error,
        located => return located.map(|location| (None, location)),
    };
    let OpError::Ambiguous { runs, .. } = &error else { return Err(error) };
    // The last line is the question.
    let native = error.native_messages();
    let list = match native.split_last() {
        Some((_, list)) => list.iter().fold(output::Text::default(), |mut text, line| {
            text.line(line);
            text
        }),
        None => {
            let list = ops::ListReport { runs: runs.clone(), hidden: 0, in_review: 0 };
            render::text(&Report::ok(ops::Body::List(list)), false, true)
        }
    };
    let path = output::say(&list).and_then(|()| question::which(runs));
    // An answer that cannot be read is no answer.
    let Some(path) = path.unwrap_or_default() else { return Err(ops::no_choice()) };
    let ctx = ProjectContext::open(&request(global, Some(&path)))?;
    let location = ops::location(&ctx)?;
    Ok((Some(ctx), location))
}

impl From<Report> for Outcome {
    fn from(report: Report) -> Self {
        Self::Report(Box::new(report))
    }
}

/// Proposes a repair, and asks for consent when a person is at the terminal. End of input is never consent.
fn repair_run(ctx: &ProjectContext, repair: &args::Repair, format: Format) -> Result<Report, CommandError> {
    if let Some(branch) = &repair.branch {
        return Ok(ops::record_branch(ctx, branch)?);
    }
    let confirmation = if repair.yes { Confirmation::Any } else { Confirmation::None };
    let mut request = RepairRequest { from_evidence: repair.from_evidence, confirmation };
    let report = ops::repair(ctx, &request)?;
    let Some((question, digest)) = ops::repair_prompt(&report).filter(|_| output::can_ask() && format == Format::Text)
    else {
        return Ok(report);
    };
    output::say(&render::text(&report, false, false))?;
    let answer = output::ask(&question)?.map(|answer| answer.to_lowercase());
    if !matches!(answer.as_deref(), Some("y" | "yes")) {
        return Ok(report);
    }
    request.confirmation = Confirmation::Digest(digest);
    Ok(ops::repair(ctx, &request)?)
}

fn completion_script(shell: clap_complete::Shell) -> Report {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "piton", &mut script);
    Report::ok(ops::Body::Document(String::from_utf8_lossy(&script).into_owned()))
}

fn manual() -> Result<Report, CommandError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    Ok(Report::ok(ops::Body::Document(String::from_utf8_lossy(&page).into_owned())))
}
