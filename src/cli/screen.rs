//! The console of `run`, and of `resume` of a session: events of the runner, for people on stderr or as JSON on stdout. The output of the steps is
//! the result of a run, so it goes to stdout.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{
    error::{self, CommandError},
    format::Format,
    output::{self, Text, Tone},
    progress::Progress,
    render,
    shared_args::Global,
};
use crate::{
    model::{Context, Document, ReportedStatus, Suggested, Verb, human_duration, plural, until_in_words},
    ops::{self, Exit},
    runner::{self, EndedStep, Event, RunEnd, RunResult, WorkEnd, WorktreeOutcome},
};

/// What stdout is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stdout {
    /// The output of the steps, unchanged.
    Steps,
    /// One document at the end; the output of the steps goes to stderr.
    Document,
    /// One line of JSON for each event; the output of the steps is an event too.
    Events,
}

/// The console of a run.
pub(super) struct Screen {
    stdout: Stdout,
    is_quiet: bool,
    is_verbose: bool,
    /// A program reads this, and was not told that it can have JSON.
    tells_of_json: bool,
    progress: Option<Progress>,
    /// The folder of the steps was named at the beginning.
    is_folder_told: AtomicBool,
}

impl Screen {
    /// Returns the screen of a verb whose answer is one document where no person reads it.
    pub(super) fn of_answer(global: &Global) -> Self {
        let screen = Self::of(global, false);
        let is_document = screen.stdout == Stdout::Document || screen.tells_of_json;
        Self { stdout: if is_document { Stdout::Document } else { screen.stdout }, tells_of_json: false, ..screen }
    }

    pub(super) fn of(global: &Global, events: bool) -> Self {
        let wanted = ops::wanted_format();
        let tells_of_json = !events && global.format.is_none() && wanted.is_none() && !output::is_terminal();
        let is_json = match global.format {
            Some(format) => format == Format::Json,
            None => wanted.is_some_and(|format| format.eq_ignore_ascii_case("json")),
        };
        let stdout = match (events, is_json) {
            (true, _) => Stdout::Events,
            (false, true) => Stdout::Document,
            (false, false) => Stdout::Steps,
        };
        let progress = if global.quiet || stdout == Stdout::Events { None } else { Progress::on_terminal() };
        Self {
            stdout,
            is_quiet: global.quiet,
            is_verbose: global.verbose,
            tells_of_json,
            progress,
            is_folder_told: AtomicBool::new(false),
        }
    }

    /// Returns where the work is, for the end of a run: the folder is named once.
    fn work(&self, folder: &str) -> String {
        match self.is_folder_told.load(Ordering::Relaxed) {
            true => "   Its work is kept".to_owned(),
            false => format!("   Its work is kept in {}", ops::short_path(folder)),
        }
    }

    pub(super) fn refuse(&self, error: &CommandError) -> Exit {
        match self.stdout {
            Stdout::Steps => error::report(error, Format::Text),
            Stdout::Document | Stdout::Events => error::report(error, Format::Json),
        }
    }

    /// Reports how the run ended.
    pub(super) fn end(&self, result: Result<RunResult, runner::RunError>) -> Exit {
        self.progress.iter().for_each(Progress::clear);
        let result = match result {
            Ok(result) => result,
            Err(error) => return self.refuse(&CommandError::from(error)),
        };
        let exit = if result.failed_stop.is_some() { Exit::StepFailed } else { exit_of(&result.end) };
        let printed = match self.stdout {
            Stdout::Steps => self.say_end(&result),
            Stdout::Document => {
                let ok = exit == Exit::Ok;
                output::print_json(&Document {
                    schema: "run/1".to_owned(),
                    ok,
                    data: runner::RunReport::from(&result),
                    findings: Vec::new(),
                })
            }
            Stdout::Events => output::print_line(&Event::End(&runner::RunReport::from(&result))),
        };
        match printed {
            Ok(()) => exit,
            // Its terminal is gone.
            Err(_) if exit == Exit::HungUp => exit,
            Err(error) => {
                let format = if self.stdout == Stdout::Document { Format::Json } else { Format::Text };
                error::unprinted(&error, Some(format!("session {} is recorded", result.session)), format)
            }
        }
    }

    fn say_end(&self, result: &RunResult) -> std::io::Result<()> {
        let RunResult {
            session,
            folder,
            resume,
            end,
            done,
            claude,
            steps,
            log,
            total,
            tolerated: _,
            failed_items: _,
            failed_stop: _,
        } = result;
        let mut text = Text::default();
        let skipped = skipped(result);
        if !self.is_quiet {
            steps.iter().for_each(|step| put_step(&mut text, step));
        }
        match end {
            RunEnd::Planned(preview) => return output::print_text(&render::preview(preview, self.is_verbose)),
            RunEnd::Completed(left) => self.put_completed(&mut text, result, left),
            RunEnd::Failed { step, .. } => {
                text.put(
                    Tone::Bad,
                    format!("❌ Session {session} stopped at step {step}: {done}/{total} steps completed{skipped}"),
                )
                .end();
                if let Some(log) = log {
                    for line in &log.lines {
                        text.dim(format!("   | {line}")).end();
                    }
                    text.line(format!("   Its log: {}", ops::short_path(&log.file)));
                }
                text.line(self.work(folder)).line(format!("→ {resume}"))
            }
            RunEnd::Stepped { step, is_done, goes_on } => {
                let (tone, how) = if *is_done { (Tone::Good, "✅") } else { (Tone::Warn, "↩") };
                let what = if *is_done { "is done" } else { "has not passed" };
                text.put(tone, format!("{how} Step {step} of {session} {what}: {done}/{total} steps{skipped}")).end();
                let plan = Suggested::of(Verb::Plan, session);
                text.line(format!("→ {}", if *goes_on { resume } else { &plan }))
            }
            RunEnd::Waiting { step, what, decide, .. } => {
                let message = format!(
                    "⏸  Session {session} waits at step {step}: {what}; {done}/{total} steps completed{skipped}"
                );
                text.put(Tone::Warn, message).end();
                text.line(self.work(folder));
                for command in decide.commands(step, session) {
                    text.line(format!("→ {command}"));
                }
                text.line(format!("→ {resume}"))
            }
            RunEnd::Interrupted(stop) => {
                let message = format!(
                    "⚠️  Session {session} was interrupted by {}: {done}/{total} steps completed{skipped}",
                    stop.as_str()
                );
                text.put(Tone::Warn, message).end();
                text.line(self.work(folder)).line(format!("→ {resume}"))
            }
        };
        if claude.is_measured() && !self.is_quiet {
            text.line(format!("   Claude: {}, {}", plural(claude.calls, "call"), claude.in_words()));
        }
        if self.tells_of_json && !self.is_quiet {
            text.dim("   For programs: `--events` prints JSON lines, `--format json` one document at the end").end();
        }
        output::say(&text)
    }

    /// Puts how a run ended whose steps are all done.
    fn put_completed<'t>(&self, text: &'t mut Text, result: &RunResult, left: &WorkEnd) -> &'t mut Text {
        let RunResult { session, resume, folder, done, total, tolerated, failed_items, .. } = result;
        let WorkEnd { worktree, not_merged } = left;
        let merged = match worktree {
            WorktreeOutcome::Merged | WorktreeOutcome::Removed => ", merged",
            WorktreeOutcome::Branched => ", on a branch of its own",
            WorktreeOutcome::Kept if not_merged.is_some() => ", not merged",
            WorktreeOutcome::InPlace | WorktreeOutcome::Kept => "",
        };
        let never = if *tolerated > 0 { format!(", {tolerated} of them never passed") } else { String::new() };
        let skipped = skipped(result);
        let message = format!("✅ Session {session} is complete: {done}/{total} steps{skipped}{never}{merged}");
        text.put(Tone::Good, message).end();
        if *failed_items > 0 {
            let items = plural(*failed_items, "item");
            text.line(format!("   {items} failed; to run them again: {}", resume.clone().flag("failed")));
        }
        let is_there = matches!(worktree, WorktreeOutcome::Kept | WorktreeOutcome::Merged);
        if is_there && !self.is_folder_told.load(Ordering::Relaxed) {
            text.line(self.work(folder));
        }
        text
    }
}

/// Returns what is said after the numbers about skipped steps.
fn skipped(result: &RunResult) -> String {
    match result.skipped() {
        0 => String::new(),
        count => format!(", {count} of them skipped"),
    }
}

fn put_step(text: &mut Text, step: &EndedStep) {
    let mark = render::mark(step.status);
    let title = if step.title == step.step.as_str() { String::new() } else { format!(" {}", step.title) };
    let never = if step.status == ReportedStatus::Tolerated { ", never passed" } else { "" };
    if step.attempts == 0 {
        text.plain(format!("   {mark} {}{title} ", step.step)).dim("skipped").end();
        return;
    }
    let tries = if step.attempts > 1 { format!(", {} attempts", step.attempts) } else { String::new() };
    let time = step.seconds.map_or_else(|| "not ended".to_owned(), render::seconds);
    text.plain(format!("   {mark} {}{title} ", step.step)).dim(format!("{time}{never}{tries}")).end();
}

fn exit_of(end: &RunEnd) -> Exit {
    match end {
        RunEnd::Completed(_) | RunEnd::Stepped { .. } | RunEnd::Planned(_) => Exit::Ok,
        RunEnd::Failed { .. } => Exit::StepFailed,
        RunEnd::Waiting { .. } => Exit::Person,
        RunEnd::Interrupted(stop) => (*stop).into(),
    }
}

impl runner::Console for Screen {
    fn output(&self, source: runner::OutputSource<'_>, stream: runner::Stream, bytes: &[u8]) {
        let labelled = source.label.filter(|_| self.stdout != Stdout::Events).map(|label| labelled(label, bytes));
        let bytes = labelled.as_deref().unwrap_or(bytes);
        let is_result = self.stdout == Stdout::Steps && stream == runner::Stream::Stdout;
        match (self.stdout, &self.progress) {
            (Stdout::Steps | Stdout::Document, Some(progress)) => progress.pass_on(bytes, is_result),
            (Stdout::Steps | Stdout::Document, None) => output::pass_on(bytes, is_result),
            (Stdout::Events, _) => {
                print_event(&Event::Output { source, stream, text: &String::from_utf8_lossy(bytes) });
            }
        }
    }

    fn tell(&self, event: &Event<'_>) {
        match self.stdout {
            Stdout::Events => print_event(event),
            Stdout::Steps | Stdout::Document => {
                if let (Event::Executing { number, total, title, .. }, Some(progress)) = (event, &self.progress) {
                    progress.at(*number, *total, title);
                }
                let is_told = matches!(event, Event::Session { .. }) && !self.is_quiet;
                self.is_folder_told.fetch_or(is_told, Ordering::Relaxed);
                if let Some(text) = as_text(event, self.is_quiet) {
                    // If stderr is gone, there is no place to report it.
                    let _ = match &self.progress {
                        Some(progress) => progress.say(&text),
                        None => output::say(&text),
                    };
                }
            }
        }
    }

    fn brief(&self, context: &Context) -> String {
        render::context(context)
    }

    fn ask(&self, question: &str, signals: Option<&runner::Signals>) -> Option<String> {
        if self.stdout == Stdout::Events {
            return None;
        }
        self.progress.iter().for_each(Progress::clear);
        if !output::can_ask() {
            // Leave the unanswered question in the log of an unattended run.
            let _ = output::say(Text::default().bold(question).end());
            return None;
        }
        let answer = match signals {
            Some(signals) => output::ask_unless_stopped(question, signals),
            None => output::ask(question),
        };
        answer.ok().flatten()
    }
}

/// Returns lines that each begin with a label. An incomplete line is completed, so that the next one is another's.
fn labelled(label: &str, bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(bytes.len() + label.len() + 4);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        lines.extend_from_slice(format!("[{label}] ").as_bytes());
        lines.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        lines.push(b'\n');
    }
    lines
}

fn print_event(event: &Event<'_>) {
    // A closed pipe must not end a run.
    let _ = output::print_line(event);
}

/// Returns the label before a message about one of several steps or items that run side by side.
fn before(source: runner::OutputSource<'_>) -> String {
    source.label.map_or_else(String::new, |label| format!("[{label}] "))
}

/// Returns the message for a person; `None` for events that need none.
fn as_text(event: &Event<'_>, is_quiet: bool) -> Option<Text> {
    let mut text = Text::default();
    match *event {
        Event::Session { .. } | Event::Resuming { .. } | Event::Loaded { .. } | Event::Note { .. } if is_quiet => {
            return None;
        }
        Event::Session { id, folder } => {
            text.bold(format!("Session {id}")).line(format!(" in {}", ops::short_path(folder)))
        }
        Event::Resuming { id, project } => {
            let elsewhere =
                if ops::is_here(project) { String::new() } else { format!(" in {}", ops::short_path(project)) };
            text.bold(format!("Resuming session {id}{elsewhere}")).end()
        }
        Event::Loaded { done, total } => text.line(format!("Loaded checkpoint: {done}/{total} steps completed")),
        Event::Failed { number, step, error } => {
            let id = if number.to_string() == step { String::new() } else { format!(" ({step})") };
            text.put(Tone::Bad, ops::with_short_paths(&format!("Step {number}{id} failed: {error}"))).end()
        }
        Event::Warning { text: warning } => text.put(Tone::Warn, ops::with_short_paths(warning)).end(),
        Event::Note { text: note } => text.line(ops::with_short_paths(note)),
        _ if is_quiet => return None,
        Event::Completed { .. } | Event::ItemEnded { error: None, .. } | Event::Output { .. } | Event::End(_) => {
            return None;
        }
        Event::Retrying { number, title } => text.bold(format!("Retrying step {number}: {title}")).end(),
        Event::Executing { number, total, title, .. } => {
            text.bold(format!("Executing step {number}/{total}...")).line(format!(" {title}"))
        }
        Event::Tolerated { number, error, .. } => text
            .put(Tone::Warn, format!("Step {number} never passed: {error}; the workflow file lets the run go on"))
            .end(),
        Event::Item { name, number, total, .. } => text.line(format!("  Item {number}/{total}: {name}")),
        Event::ItemEnded { source, error: Some(error) } => {
            let item = source.item.unwrap_or_default();
            text.put(Tone::Warn, format!("  Item {item} failed: {error}")).end()
        }
        Event::Returned { number, total, step, verdict } => text
            .put(Tone::Warn, format!("Step {number}/{total}, {step}, ended with {verdict}: the run goes back"))
            .end(),
        Event::Skipped { number, total, why, .. } => text.line(format!("Skipping step {number}/{total}: {why}")),
        Event::Again { source, error, attempt, attempts, after } => text
            .put(
                Tone::Warn,
                format!(
                    "{}Step {} failed (try {attempt} of {attempts}): {error}; next try in {}",
                    before(source),
                    source.step,
                    human_duration(after)
                ),
            )
            .end(),
        Event::Limited { source, error, next_at, local, after } => {
            let at = until_in_words(next_at, local, after);
            text.put(Tone::Warn, format!("{}Step {}: {error}", before(source), source.step)).end();
            text.put(Tone::Warn, format!("Usage limit; next try at {at}")).end()
        }
        Event::Tool { source, tool, subject } => {
            text.dim(format!("{}  {tool} {subject}", before(source)).trim_end()).end()
        }
        Event::Claude { work, .. } if !work.is_measured() => return None,
        Event::Claude { source, work } => text.dim(format!("{}  Claude: {}", before(source), work.in_words())).end(),
        Event::Handling { source, error } => {
            let message = format!("{}Step {} failed: {error}; its on_failure takes over", before(source), source.step);
            text.put(Tone::Warn, message).end()
        }
    };
    Some(text)
}
