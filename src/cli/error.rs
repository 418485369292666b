//! Errors as the user sees them: message, hints and exit code.

use super::output;
use super::output::Text;
use super::output::Tone;
use super::shared_args::Format;
use super::typed::TypedCommand;
use crate::model::ErrorBody;
use crate::model::ErrorDocument;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::ops;
use crate::ops::Exit;
use crate::ops::OpError;
use crate::ops::ProjectContext;
use crate::ops::Request;
use crate::ops::RunChoice;
use crate::runner::ProblemKind;
use crate::runner::RunError;
use crate::runner::Stop;

/// Number of runs to choose from that an error names, the newest first.
const CHOICES_SHOWN: usize = 5;

/// An error with its exit code, hints and findings.
#[derive(Debug)]
pub(super) struct CliError {
    exit: Exit,
    error: anyhow::Error,
    /// The message of the run's own system, shown to people in place of ours.
    native_messages: Vec<String>,
    /// The runs to choose from; each becomes a hint with the command that was typed.
    choices: Vec<RunChoice>,
    found_no_run: bool,
    hints: Vec<String>,
    findings: Vec<Finding>,
}

impl CliError {
    pub(super) fn usage(message: String) -> Self {
        let hints = vec!["piton --help, or piton VERB --help".to_owned()];
        Self {
            exit: Exit::Usage,
            error: anyhow::Error::msg(message),
            hints,
            findings: Vec::new(),
            native_messages: Vec::new(),
            choices: Vec::new(),
            found_no_run: false,
        }
    }

    /// Splits clap's output into the message and the hints (tips and usage).
    pub(super) fn command_line(rendered: &str) -> Self {
        let line = |section: &str| section.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut sections = rendered.split("\n\n").map(line).filter(|section| !section.is_empty());
        let message = sections.next().unwrap_or_default();
        let hints = sections.filter(|section| !section.starts_with("For more information"));
        Self { hints: hints.collect(), ..Self::usage(message.trim_start_matches("error: ").to_owned()) }
    }

    /// Returns the error for a caught panic.
    pub(super) fn bug() -> Self {
        Self::from(anyhow::Error::msg("piton crashed; no state file is half written"))
    }

    /// Converts an error of the runner.
    pub(super) fn of_run(error: RunError) -> Self {
        match error {
            RunError::Store(error) => Self::of(OpError::Store(error)),
            RunError::Refused(refusal) => Self::of(OpError::Refused(refusal)),
            RunError::Problem(problem) => {
                let exit = match problem.kind {
                    ProblemKind::No => Exit::No,
                    ProblemKind::Usage => Exit::Usage,
                    ProblemKind::NotFound => Exit::NotFound,
                    ProblemKind::Unreadable => Exit::Unreadable,
                    ProblemKind::Newer => Exit::Newer,
                    ProblemKind::Conflict => Exit::Conflict,
                    ProblemKind::Person => Exit::Person,
                    ProblemKind::Stopped(Stop::HangUp) => Exit::HungUp,
                    ProblemKind::Stopped(Stop::Interrupt) => Exit::Interrupted,
                    ProblemKind::Stopped(Stop::Terminate) => Exit::Terminated,
                };
                let error = anyhow::Error::msg(problem.message);
                Self {
                    exit,
                    error,
                    hints: problem.hints,
                    findings: problem.findings,
                    native_messages: Vec::new(),
                    choices: Vec::new(),
                    found_no_run: false,
                }
            }
        }
    }

    /// Returns the error for an unknown session.
    pub(super) fn no_session(id: &str, known: &[String]) -> Self {
        let error = anyhow::Error::msg(format!("No checkpoint found for session {id}"));
        let mut hints = vec!["The workflow may have completed or checkpoint was not saved".to_owned()];
        let sessions: Vec<&str> = known.iter().map(String::as_str).filter(|id| id.starts_with("session-")).collect();
        if !sessions.is_empty() {
            hints.push(format!("known sessions: {}", sessions.join(", ")));
        }
        hints.push("piton list --all".to_owned());
        Self {
            exit: Exit::NotFound,
            error,
            hints,
            findings: Vec::new(),
            native_messages: Vec::new(),
            choices: Vec::new(),
            found_no_run: false,
        }
    }

    /// Puts the runs to choose from into the command that was typed, as the first hints.
    pub(super) fn with_command(mut self, typed: &TypedCommand<'_>, format: Format) -> Self {
        let choices = std::mem::take(&mut self.choices);
        let hint = |choice: &RunChoice| format!("{}   # {}", typed.for_run(&choice.run), choice.remark);
        let more = choices.len().saturating_sub(CHOICES_SHOWN);
        let rest = (more > 0).then(|| format!("{more} more: `{}`", typed.list()));
        let hints: Vec<String> = match choices.is_empty() || self.native_messages.is_empty() || format == Format::Json {
            true => choices.iter().take(CHOICES_SHOWN).map(hint).chain(rest).collect(),
            // The system's own message lists the runs with their numbers.
            false => vec![typed.for_run("NUMBER")],
        };
        self.hints.splice(0..0, hints);
        self
    }

    /// Adds the ways to start a run where none was found.
    pub(super) fn with_starts(mut self, request: &Request) -> Self {
        if self.found_no_run
            && let Ok(ctx) = ProjectContext::open(request)
        {
            self.hints.extend(ops::ways_to_start(&ctx));
        }
        self
    }

    pub(super) fn of(error: OpError) -> Self {
        let exit = ops::exit_of_error(&error);
        let hints = ops::hints(&error);
        let native_messages = ops::native_messages(&error);
        let choices = ops::choices(&error).to_vec();
        let found_no_run = ops::found_no_run(&error);
        let findings = match &error {
            OpError::NoRun { findings, .. }
            | OpError::NoSession { findings, .. }
            | OpError::Unreadable { findings, .. }
            | OpError::DefinitionInvalid { findings, .. } => findings.clone(),
            _ => Vec::new(),
        };
        // A system's folder without a run has a finding that says what to do.
        let says_so = |code: FindingCode| findings.iter().find(|finding: &&Finding| finding.code == code).cloned();
        let hidden = says_so(FindingCode::FolderClosed).or_else(|| says_so(FindingCode::WalkCutOff));
        let own = hidden.or_else(|| says_so(FindingCode::NoRunHere));
        match own {
            Some(own) => {
                let hints = own.fix.into_iter().chain(hints).collect();
                Self {
                    exit,
                    error: anyhow::Error::msg(own.message),
                    hints,
                    findings,
                    native_messages,
                    choices,
                    found_no_run,
                }
            }
            None => Self { exit, error: error.into(), hints, findings, native_messages, choices, found_no_run },
        }
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self {
            exit: Exit::Bug,
            error,
            hints: vec![REPORT.to_owned()],
            findings: Vec::new(),
            native_messages: Vec::new(),
            choices: Vec::new(),
            found_no_run: false,
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self {
            exit: Exit::Unreadable,
            error: error.into(),
            hints: Vec::new(),
            findings: Vec::new(),
            native_messages: Vec::new(),
            choices: Vec::new(),
            found_no_run: false,
        }
    }
}

const REPORT: &str = "this is a bug in piton; please report it with the command that led here";

/// Prints an error in the format of the caller and returns its exit code, which counts also where nothing can be printed.
pub(super) fn report(error: &CliError, format: Format) -> Exit {
    let _ = print(error, format, None);
    error.exit
}

/// Says on stderr that an answer could not be printed, and what was written all the same: the caller must not repeat it.
pub(super) fn unprinted(error: &std::io::Error, written: Option<String>, format: Format) -> Exit {
    let is_recorded = written.is_some();
    let message = match written {
        Some(written) => format!("{written}; the answer could not be printed: {error}"),
        None => format!("the answer could not be printed: {error}"),
    };
    let exit = Exit::Unreadable;
    let _ = match format {
        Format::Json => {
            let recorded = is_recorded.then_some(true);
            output::say_json(&document(exit, message, recorded))
        }
        Format::Text | Format::Markdown | Format::Yaml => {
            output::say(Text::default().put(Tone::Bad, format!("❌ {message}")).end())
        }
    };
    exit
}

/// Shows an error that a question follows.
pub(super) fn show(error: &CliError) -> std::io::Result<()> {
    print(error, Format::Text, None)
}

/// Does the same with `--exit-zero`: the document names the exit code, which is 0.
pub(super) fn report_as_answer(error: &CliError, format: Format) -> Exit {
    match print(error, format, Some(error.exit.name().to_owned())) {
        Ok(()) => Exit::Ok,
        Err(_) => error.exit,
    }
}

fn print(error: &CliError, format: Format, code: Option<String>) -> std::io::Result<()> {
    let message = format!("{:#}", error.error);
    match format {
        Format::Json => {
            let mut printed = document(error.exit, message, None);
            printed.code = code;
            printed.error.hints.clone_from(&error.hints);
            printed.findings.clone_from(&error.findings);
            output::print_json(&printed)
        }
        Format::Text | Format::Markdown | Format::Yaml => output::say(&text(error, &message)),
    }
}

fn document(exit: Exit, message: String, recorded: Option<bool>) -> ErrorDocument {
    ErrorDocument {
        schema: "error/1".to_owned(),
        ok: false,
        code: None,
        error: ErrorBody { code: exit.name().to_owned(), message, hints: Vec::new(), recorded },
        findings: Vec::new(),
    }
}

fn text(error: &CliError, message: &str) -> Text {
    let mut text = Text::default();
    let (mark, tone) = match error.exit {
        Exit::No
        | Exit::Person
        | Exit::Ambiguous
        | Exit::Conflict
        | Exit::StepFailed
        | Exit::HungUp
        | Exit::Interrupted
        | Exit::Terminated => ("⚠️  ", Tone::Warn),
        Exit::Ok | Exit::Usage | Exit::NotFound | Exit::Unreadable | Exit::Newer | Exit::Bug => ("❌ ", Tone::Bad),
    };
    if error.native_messages.is_empty() {
        text.put(tone, format!("{mark}{message}")).end();
    }
    for line in &error.native_messages {
        text.line(line);
    }
    for finding in error.findings.iter().filter(|finding| !message.contains(&finding.message)) {
        let place = finding.file.as_ref().map_or_else(String::new, |file| match (finding.line, finding.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
            (Some(line), None) => format!("{file}:{line}: "),
            (None, _) => format!("{file}: "),
        });
        text.dim(format!("   {place}{}", finding.message)).end();
    }
    // The system's own message may end with one.
    let is_said = |hint: &&String| error.native_messages.iter().any(|line| line.ends_with(hint.as_str()));
    for hint in error.hints.iter().filter(|hint| !is_said(hint)) {
        text.line(format!("→ {hint}"));
    }
    text
}
