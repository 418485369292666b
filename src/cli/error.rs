//! Errors as the user sees them: message, hints and exit code.

use std::io;

use super::{
    format::Format,
    output::{self, Text, Tone},
    typed::TypedCommand,
};
use crate::{
    model::{ErrorBody, ErrorDocument, Finding, FindingCode, Fix, HELP, Suggested, Verb, mask_secrets},
    ops::{self, Exit, OpError},
    runner::RunError,
};

/// Number of runs to choose from that an error names, the newest first.
const CHOICES_SHOWN: usize = 5;

/// Why a call failed: what kind of failure it is, what to say about it, and what to do next.
#[derive(Debug)]
pub(super) struct CommandError {
    kind: Exit,
    /// What went wrong, with its causes.
    error: anyhow::Error,
    /// The message of the run's own system, shown to people in place of ours.
    native_messages: Vec<String>,
    /// The runs to choose from; each becomes a hint with the command that was typed.
    choices: Vec<ops::RunChoice>,
    found_no_run: bool,
    hints: Vec<String>,
    findings: Vec<Finding>,
}

impl CommandError {
    fn new<H: Into<String>>(kind: Exit, message: impl Into<String>, hints: Vec<H>) -> Self {
        Self::of(kind, anyhow::Error::msg(message.into()), hints)
    }

    fn of<H: Into<String>>(kind: Exit, error: anyhow::Error, hints: Vec<H>) -> Self {
        let (native_messages, choices, findings) = (Vec::new(), Vec::new(), Vec::new());
        let hints = hints.into_iter().map(Into::into).collect();
        Self { kind, error, native_messages, choices, found_no_run: false, hints, findings }
    }

    pub(in crate::cli) fn message(&self) -> String {
        format!("{:#}", self.error)
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message, vec![HELP.join(", or ")])
    }

    /// Returns the error for a decision without the name of who made it.
    pub(super) fn without_decider() -> Self {
        let message = "a decision is a person's, and no name is given; nothing was recorded";
        Self::new(Exit::Usage, message, vec!["add `--by NAME`, with the name of who decided".to_owned()])
    }

    /// Returns the error for a caught panic.
    pub(super) fn bug() -> Self {
        let report = "this is a bug in piton; please report it with the command that led here";
        Self::new(Exit::Bug, "piton crashed; no state file is half written", vec![report.to_owned()])
    }

    /// Returns the error for an unknown session.
    pub(super) fn no_session(id: &str, known: &[String]) -> Self {
        let mut hints = vec!["The workflow may have completed or checkpoint was not saved".to_owned()];
        let sessions: Vec<&str> = known.iter().map(String::as_str).filter(|id| id.starts_with("session-")).collect();
        if !sessions.is_empty() {
            hints.push(format!("known sessions: {}", sessions.join(", ")));
        }
        hints.push(Suggested::new(Verb::List).flag("all").into());
        Self::new(Exit::NotFound, format!("No checkpoint found for session {id}"), hints)
    }

    /// Puts the runs to choose from into the command that was typed, as the first hints.
    pub(super) fn with_command(mut self, typed: &TypedCommand<'_>, format: Format) -> Self {
        let choices = std::mem::take(&mut self.choices);
        let hint = |choice: &ops::RunChoice| typed.for_run(&choice.run).comment(&choice.remark).into();
        let more = choices.len().saturating_sub(CHOICES_SHOWN);
        let rest = (more > 0).then(|| format!("{more} more: `{}`", typed.list()));
        let hints: Vec<String> = match choices.is_empty() || self.native_messages.is_empty() || format == Format::Json {
            true => choices.iter().take(CHOICES_SHOWN).map(hint).chain(rest).collect(),
            // The system's own message lists the runs with their numbers.
            false => vec![typed.for_run("NUMBER").into()],
        };
        self.hints.splice(0..0, hints);
        self
    }

    /// Adds what could not be looked at. What was not found may then be there.
    pub(super) fn with_unread(mut self) -> Self {
        let unread = ops::unnamed_unread(&self.findings);
        if let (Exit::NotFound, Some(first)) = (self.kind, unread.first()) {
            self.kind = Exit::Unreadable;
            self.error = anyhow::Error::msg(first.message.clone());
            self.hints = first.fix.iter().map(Fix::to_string).collect();
            self.native_messages.clear();
            self.found_no_run = false;
        }
        self.findings.extend(unread);
        self
    }

    /// Adds the ways to start a run where none was found.
    pub(super) fn with_starts(mut self, request: &ops::Request) -> Self {
        if self.found_no_run
            && let Ok(ctx) = ops::ProjectContext::open(request)
        {
            self.hints.extend(ops::ways_to_start(&ctx));
        }
        self
    }
}

impl From<OpError> for CommandError {
    fn from(error: OpError) -> Self {
        let findings = error.findings().to_vec();
        // A system's folder without a run has a finding that says what to do.
        let of = |code: FindingCode| findings.iter().find(|finding| finding.code == code).cloned();
        let own = [FindingCode::FolderClosed, FindingCode::WalkCutOff, FindingCode::NoRunHere].into_iter().find_map(of);
        let fix = own.as_ref().and_then(|own| own.fix.clone());
        let hints: Vec<Fix> = fix.into_iter().chain(error.hints()).collect();
        let (native_messages, choices) = (error.native_messages(), error.choices().to_vec());
        let (kind, found_no_run) = (error.exit(), error.found_no_run());
        let error = own.map_or_else(|| error.into(), |own| anyhow::Error::msg(own.message));
        Self { native_messages, choices, found_no_run, findings, ..Self::of(kind, error, hints) }
    }
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> Self {
        let problem = match error {
            RunError::Store(error) => return OpError::Store(error).into(),
            RunError::Refused(refusal) => return OpError::Refused(refusal).into(),
            RunError::Problem(problem) => problem,
        };
        Self { findings: problem.findings, ..Self::new(problem.kind, problem.message, problem.hints) }
    }
}

impl From<clap::Error> for CommandError {
    /// Splits what clap says into the message and the hints (tips and usage).
    fn from(error: clap::Error) -> Self {
        let rendered = error.render().to_string();
        let rendered = mask_secrets(&rendered).into_owned();
        let line = |section: &str| section.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut sections = rendered.split("\n\n").map(line).filter(|section| !section.is_empty());
        let message = sections.next().unwrap_or_default();
        let hints = sections.filter(|section| !section.starts_with("For more information"));
        Self::new(Exit::Usage, message.trim_start_matches("error: "), hints.collect())
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::of(Exit::Unreadable, error.into(), Vec::<Fix>::new())
    }
}

/// Prints an error in the format of the caller and returns its exit code, which counts also where nothing can be printed.
pub(super) fn report(error: &CommandError, format: Format) -> Exit {
    let _ = print(error, format);
    error.kind
}

/// Says on stderr that an answer could not be printed, and what was written all the same: the caller must not repeat it.
pub(super) fn unprinted(error: &io::Error, written: Option<String>, format: Format) -> Exit {
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
        Format::Text | Format::Markdown | Format::Yaml | Format::Junit => {
            output::say(Text::default().put(Tone::Bad, format!("❌ {message}")).end())
        }
    };
    exit
}

/// Shows an error that a question follows.
pub(super) fn show(error: &CommandError) -> io::Result<()> {
    print(error, Format::Text)
}

fn print(error: &CommandError, format: Format) -> io::Result<()> {
    match format {
        Format::Json => {
            let mut printed = document(error.kind, error.message(), None);
            printed.error.hints.clone_from(&error.hints);
            printed.findings.clone_from(&error.findings);
            output::print_json(&printed)
        }
        Format::Text | Format::Markdown | Format::Yaml | Format::Junit => output::say(&text(error)),
    }
}

fn document(exit: Exit, message: String, recorded: Option<bool>) -> ErrorDocument {
    ErrorDocument {
        schema: "error/2".to_owned(),
        ok: false,
        error: ErrorBody { code: exit.name().to_owned(), kind: exit.why(), message, hints: Vec::new(), recorded },
        findings: Vec::new(),
    }
}

fn text(error: &CommandError) -> Text {
    let mut text = Text::default();
    let (mark, tone) = match error.kind {
        Exit::No(_)
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
        text.put(tone, format!("{mark}{}", error.message())).end();
    }
    for line in &error.native_messages {
        text.line(line);
    }
    let message = error.message();
    for finding in error.findings.iter().filter(|finding| !message.contains(finding.message.as_str())) {
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
