//! A call of a verb: what a verb has to do, and what the call gives it.

use super::{
    error::{self, CommandError},
    format::Format,
    output::{self, Text},
    question,
    render::{self, Shown, markdown},
    shared_args::Global,
};
use crate::{
    hook::CalledVerb,
    model::Document,
    ops::{self, Exit, OpError, ProjectContext, Request},
};

/// A verb with its arguments.
pub(super) trait Command {
    /// Does what the verb is for, prints its one document, and returns the exit code.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError>;

    /// Tells whether its answer is a context, which has a form in YAML.
    fn has_yaml(&self) -> bool {
        false
    }

    /// Tells whether it can answer as a JUnit report.
    fn has_junit(&self) -> bool {
        false
    }

    /// Tells whether the ways to start a run are offered where it found none.
    fn offers_starts(&self) -> bool {
        true
    }

    /// Tells whether the client calls it: then it must not fail, even with broken settings.
    fn is_for_client(&self) -> bool {
        false
    }

    /// Returns the call as the client may allow it unasked. `None` if a person is asked, which is what most verbs need.
    fn called(&self) -> Option<CalledVerb> {
        None
    }
}

/// A verb as typed.
pub(super) type Parsed = Result<Box<dyn Command>, clap::Error>;

/// The command line with all its verbs, for the few that print it or read another call.
pub(super) struct CommandLine {
    pub(super) grammar: fn() -> clap::Command,
    pub(super) parse: fn(&[String]) -> Parsed,
    pub(super) called: fn(&[String]) -> Option<CalledVerb>,
}

/// What a verb is called with besides its own arguments.
pub(super) struct Call<'a> {
    pub(super) global: &'a Global,
    pub(super) format: Format,
    pub(super) line: &'a CommandLine,
}

impl Call<'_> {
    pub(super) fn request(&self, run: Option<&String>) -> Request {
        Request {
            project: self.global.project.clone(),
            now: self.global.now.clone(),
            mode: self.global.mode.map(Into::into),
            run: run.cloned(),
            step: None,
        }
    }

    /// Opens the project.
    pub(super) fn project(&self, run: Option<&String>) -> Result<ProjectContext, OpError> {
        ProjectContext::open(&self.request(run))
    }

    /// Opens the project for a step, which may decide between several runs.
    pub(super) fn project_with_step(
        &self,
        run: Option<&String>,
        step: Option<String>,
    ) -> Result<ProjectContext, OpError> {
        ProjectContext::open(&Request { step, ..self.request(run) })
    }

    /// Opens the project of a change, whose step may decide between several runs.
    pub(super) fn project_of(
        &self,
        run: Option<&String>,
        change: &ops::ChangeRequest,
    ) -> Result<ProjectContext, OpError> {
        self.project_with_step(run, change.kind.step().map(|step| step.as_str().to_owned()))
    }

    /// Returns who decides about a run that this caller may change: the name that was given, else the one that a person types. No decision
    /// is recorded without one.
    pub(super) fn decider(&self, ctx: &ProjectContext, by: Option<String>) -> Result<String, CommandError> {
        if let Some(name) = by.filter(|name| !name.trim().is_empty()) {
            return Ok(name);
        }
        if let Some((_, run)) = ops::location(ctx)?.own_run() {
            ops::check_not_its_child(&ctx.environment, run).map_err(OpError::Refused)?;
        }
        let typed = if self.can_ask() { question::name()? } else { None };
        typed.ok_or_else(CommandError::without_decider)
    }

    /// Records a change, and answers with its checkpoint.
    pub(super) fn change(&self, run: Option<&String>, change: ops::ChangeRequest) -> Result<Exit, CommandError> {
        let ctx = self.project_of(run, &change)?;
        self.answer(ops::change(&ctx, change))
    }

    /// Tells whether a person can be asked, and reads what is printed.
    pub(super) fn can_ask(&self) -> bool {
        output::can_ask() && self.format == Format::Text
    }

    /// Prints a report in the format of the call.
    pub(super) fn answer<B: Shown>(&self, report: Result<ops::Report<B>, OpError>) -> Result<Exit, CommandError> {
        let mut report = report?;
        let unread = ops::unnamed_unread(&report.findings);
        report.findings.extend(unread);
        let printed = match self.format {
            Format::Text => output::print_text(&render::text(&report, self.global.verbose, self.global.quiet)),
            Format::Markdown => output::print_raw(&report.body.markdown(&report.findings)),
            Format::Yaml => output::print_raw(&render::yaml(&report.body)),
            Format::Json | Format::Junit => output::print_json(&Document {
                schema: B::SCHEMA.to_owned(),
                ok: true,
                data: &report.body,
                findings: report.findings.clone(),
            }),
        };
        Ok(match printed {
            Ok(()) => report.exit,
            Err(error) => error::unprinted(&error, report.body.written(), self.format),
        })
    }

    /// Prints a text for other programs, which has no document around it.
    pub(super) fn print(&self, text: &str) -> Exit {
        let printed = match self.format {
            Format::Text => output::print_text(Text::default().block(text)),
            Format::Markdown => output::print_raw(&markdown::fenced("text", Text::default().block(text))),
            Format::Json | Format::Yaml | Format::Junit => output::print_raw(text),
        };
        printed.map_or_else(|error| error::unprinted(&error, None, self.format), |()| Exit::Ok)
    }

    /// Prints a page for a browser, which has no other form.
    pub(super) fn print_page(&self, html: &str) -> Exit {
        output::print_raw(html).map_or_else(|error| error::unprinted(&error, None, self.format), |()| Exit::Ok)
    }
}
