//! Runs one step: its command, its output and its variables. Only the items of a `foreach` are recorded here.

use std::collections::BTreeMap;
use std::time::Duration;
use std::time::Instant;

use camino::Utf8PathBuf;
use serde_json::Value;

use super::console::Event;
use super::context::RunContext;
use super::context::merged_env;
use super::error::RunError;
use super::exec;
use super::exec::ChildExit;
use super::exec::Job;
use super::exec::Signals;
use super::exec::Stop;
use super::files;
use super::orphan;
use super::output_watcher::OutputWatcher;
use super::retry::Decision;
use super::retry::FailedCommand;
use super::retry::Failure;
use super::retry::FailureKind;
use super::retry::classify;
use super::retry::decide;
use super::scoped_variables::ScopedVariables;
use super::spec::Capture;
use super::spec::Command;
use super::spec::Step;
use super::spec::template::Template;
use super::variables;
use super::variables::RenderError;
use crate::dialect::script::facts::Captured;
use crate::model::StepId;
use crate::store;

/// How long a child has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// The largest output that a step can capture.
pub(super) const CAPTURE_LIMIT: usize = 8 << 20;

/// One thread of a run, which runs steps one after the other.
pub(super) struct StepExecutor<'a> {
    pub(super) context: &'a RunContext<'a>,
    pub(super) signals: Signals,
    /// Variables of the current item.
    pub(super) locals: BTreeMap<String, Value>,
    /// Variables that the step set so far; recorded when it ends.
    pub(super) outputs: BTreeMap<String, Value>,
    /// HEAD before the first try of the step.
    pub(super) head: Option<String>,
    /// The deadline of the step as a whole.
    pub(super) deadline: Option<Instant>,
    /// The current top-level step.
    pub(super) workflow_step: Option<StepId>,
    /// Whether the output of the next commands is needed.
    pub(super) keeps_stdout: bool,
}

/// The outcome of a step.
#[derive(Clone, Debug)]
pub(super) enum StepOutcome {
    Completed(StepOutput),
    Skipped(&'static str),
    Failed(Failure),
    /// A signal stopped the runner during the step.
    Stopped(Stop),
}

/// What a step produced.
#[derive(Clone, Debug, Default)]
pub(super) struct StepOutput {
    pub(super) code: Option<i32>,
    /// Empty unless it is needed.
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    pub(super) took: Duration,
    /// A remark for the history.
    pub(super) summary: Option<String>,
    /// The error of a step that never passed, which the workflow tolerates.
    pub(super) tolerated: Option<String>,
}

impl<'a> StepExecutor<'a> {
    pub(super) fn new(context: &'a RunContext<'a>) -> Result<Self, RunError> {
        let signals = Signals::listen().map_err(|error| {
            RunError::new(super::error::ProblemKind::Unreadable, format!("cannot listen for signals: {error}"), [])
        })?;
        let (locals, outputs) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self {
            context,
            signals,
            locals,
            outputs,
            head: None,
            deadline: None,
            workflow_step: None,
            keeps_stdout: false,
        })
    }

    fn variables(&self) -> ScopedVariables<'_> {
        ScopedVariables {
            context: self.context,
            locals: &self.locals,
            outputs: &self.outputs,
            head: self.head.as_deref(),
        }
    }

    pub(super) fn render(&self, template: &Template) -> Result<String, Failure> {
        variables::render(template, &self.variables()).map_err(unrendered)
    }

    /// Runs a nested step with all its tries.
    pub(super) fn run_nested(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        if let Some(done) = self.skipped_by_condition(step) {
            return Ok(done);
        }
        let (mut attempt, mut waits) = (1, 0);
        loop {
            match self.try_once(step)? {
                StepOutcome::Failed(failure) => {
                    let Some((after, counts)) = self.retry_delay(step, (attempt, waits), &failure) else {
                        return self.run_handler(step, failure);
                    };
                    if let Some(stop) = exec::pause(after, &self.signals) {
                        return Ok(StepOutcome::Stopped(stop));
                    }
                    if counts {
                        attempt += 1;
                    } else {
                        waits += 1;
                    }
                }
                done @ (StepOutcome::Completed(_) | StepOutcome::Skipped(_) | StepOutcome::Stopped(_)) => {
                    return Ok(done);
                }
            }
        }
    }

    /// Runs steps in order until one fails.
    pub(super) fn run_all(&mut self, steps: &[Step]) -> Result<StepOutcome, RunError> {
        let mut last = StepOutput::default();
        for step in steps {
            match self.run_nested(step)? {
                StepOutcome::Completed(produced) => last = produced,
                StepOutcome::Skipped(_) => {}
                StepOutcome::Failed(failure) => {
                    let message = format!("{}: {}", step.title, failure.message);
                    return Ok(StepOutcome::Failed(Failure { message, ..failure }));
                }
                stopped @ StepOutcome::Stopped(_) => return Ok(stopped),
            }
        }
        Ok(StepOutcome::Completed(last))
    }

    /// Returns the delay before the next try and whether the last one counts, and reports it; `None` when there is no further try. `tries`
    /// are the tries so far and the waits for a usage limit.
    pub(super) fn retry_delay(&self, step: &Step, tries: (u32, u32), failure: &Failure) -> Option<(Duration, bool)> {
        let policy = step.retry.as_ref()?;
        let now = self.context.ticker.now().now;
        let seed = store::sessions::random();
        match decide(policy, tries, failure, now, seed) {
            Decision::GiveUp => None,
            Decision::TryAgain { after } => {
                let (step, error) = (step.id.as_str(), failure.message.as_str());
                let (attempt, attempts) = (tries.0, policy.attempts);
                self.context.console.tell(&Event::Again { step, error, attempt, attempts, after });
                Some((after, true))
            }
            Decision::Wait { after } => {
                let next_at = now.plus(after);
                let (step, error) = (step.id.as_str(), failure.message.as_str());
                let local = i64::from(store::utc_offset(None, next_at.unix_seconds()).unwrap_or(0));
                self.context.console.tell(&Event::Limited { step, error, next_at, local, after });
                Some((after, false))
            }
        }
    }

    /// Runs the handler of a failed step, then tries the step again.
    pub(super) fn run_handler(&mut self, step: &Step, mut failure: Failure) -> Result<StepOutcome, RunError> {
        let Some(handler) = &step.on_failure else { return Ok(StepOutcome::Failed(failure)) };
        for attempt in 0..handler.max_attempts.max(1) {
            self.context.console.tell(&Event::Handling { step: step.id.as_str(), error: &failure.message });
            self.locals.insert("error".to_owned(), Value::String(failure.message.clone()));
            let handled = self.run_all(&handler.steps);
            self.locals.remove("error");
            match handled? {
                StepOutcome::Completed(_) | StepOutcome::Skipped(_) => {}
                StepOutcome::Failed(of_handler) => {
                    let message = format!("{}; its handler failed as well: {}", failure.message, of_handler.message);
                    failure.message = crate::model::clean_line(&message, 400);
                    break;
                }
                stopped @ StepOutcome::Stopped(_) => return Ok(stopped),
            }
            if attempt >= handler.max_attempts {
                break;
            }
            match self.try_once(step)? {
                StepOutcome::Failed(again) => failure = again,
                done @ (StepOutcome::Completed(_) | StepOutcome::Skipped(_) | StepOutcome::Stopped(_)) => {
                    return Ok(done);
                }
            }
        }
        if handler.fail_workflow {
            return Ok(StepOutcome::Failed(failure));
        }
        let summary = format!("failed ({}); its `on_failure` lets the workflow continue", failure.message);
        Ok(StepOutcome::Completed(StepOutput {
            code: failure.exit_code,
            summary: Some(summary),
            tolerated: Some(failure.message),
            ..StepOutput::default()
        }))
    }

    /// Returns the outcome of a step whose `when` does not hold; `None` when it has to run.
    pub(super) fn skipped_by_condition(&self, step: &Step) -> Option<StepOutcome> {
        match variables::holds(step.when.as_ref()?, &self.variables()) {
            Ok(true) => None,
            Ok(false) => Some(StepOutcome::Skipped("its `when` does not hold")),
            Err(error) => Some(StepOutcome::Failed(unrendered(error))),
        }
    }

    /// Tries a step once: its command, its checks and its `on_success` steps.
    pub(super) fn try_once(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        let outer = self.deadline;
        let own = step.timeout.and_then(exec::moment_in);
        self.deadline = [outer, own].into_iter().flatten().min();
        let done = self.command(step);
        self.deadline = outer;
        let produced = match done? {
            StepOutcome::Completed(produced) => produced,
            done @ (StepOutcome::Skipped(_) | StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => return Ok(done),
        };
        if let Some(failure) = self.collect_outputs(step, &produced) {
            return Ok(StepOutcome::Failed(failure));
        }
        match self.run_all(&step.on_success)? {
            StepOutcome::Completed(_) | StepOutcome::Skipped(_) => Ok(StepOutcome::Completed(produced)),
            StepOutcome::Failed(failure) => {
                let message = format!("on_success: {}", failure.message);
                Ok(StepOutcome::Failed(Failure { message, ..failure }))
            }
            stopped @ StepOutcome::Stopped(_) => Ok(stopped),
        }
    }

    fn command(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        match &step.command {
            Command::Shell(program) => Ok(self.shell(step, program).unwrap_or_else(StepOutcome::Failed)),
            Command::Claude(prompt) => Ok(self.claude(step, prompt).unwrap_or_else(StepOutcome::Failed)),
            Command::WriteFile(file) => Ok(match self.write_file(step, file) {
                Ok(()) => StepOutcome::Completed(StepOutput::default()),
                Err(failure) => StepOutcome::Failed(failure),
            }),
            Command::Validate(validate) => self.validate(validate),
            Command::Foreach(foreach) => self.foreach(step, foreach),
        }
    }

    /// Captures the outputs of the step; returns a failure when that is impossible.
    fn collect_outputs(&mut self, step: &Step, produced: &StepOutput) -> Option<Failure> {
        if step.commit_required && store::git::head(&self.context.folder).and_then(|head| head.sha) == self.head {
            return Some(refused("it has `commit_required`, and no commit was made".to_owned()));
        }
        if let Some(capture) = &step.capture
            && let Err(failure) = self.capture(capture, produced)
        {
            return Some(failure);
        }
        if self.context.referenced.contains(step.id.as_str()) {
            let output = String::from_utf8_lossy(&produced.stdout).trim_end_matches(['\n', '\r']).to_owned();
            return self.set_output(format!("step.{}.output", step.id), Value::String(output)).err();
        }
        None
    }

    fn capture(&mut self, capture: &Capture, produced: &StepOutput) -> Result<(), Failure> {
        let (name, streams) = (&capture.name, capture.streams);
        if streams.stdout {
            let text = String::from_utf8_lossy(&produced.stdout);
            let value = variables::captured(capture, &text).map_err(unrendered)?;
            self.set_output(name.clone(), value)?;
        }
        if streams.stderr {
            let text = Value::String(produced.stderr.trim_end_matches(['\n', '\r']).to_owned());
            if !streams.stdout {
                self.set_output(name.clone(), text.clone())?;
            }
            self.set_output(format!("{name}.stderr"), text)?;
        }
        let more = [
            (streams.exit_code, "exit_code", Value::from(produced.code.unwrap_or(0))),
            (streams.success, "success", Value::from(true)),
            (streams.duration, "duration", Value::from(produced.took.as_secs_f64())),
        ];
        for (_, what, value) in more.into_iter().filter(|(wanted, _, _)| *wanted) {
            self.set_output(format!("{name}.{what}"), value)?;
        }
        Ok(())
    }

    /// Takes the variables that the step set, in recorded form.
    pub(super) fn take_outputs(&mut self) -> Result<BTreeMap<String, Captured>, String> {
        let left = std::mem::take(&mut self.outputs);
        let ledger = self.context.ledger();
        left.into_iter().map(|(name, value)| Ok((name, ledger.keep(value)?))).collect()
    }

    fn set_output(&mut self, name: String, value: Value) -> Result<(), Failure> {
        if let Some(secret) = self.context.masks.found_in(&variables::as_text(&value)) {
            let message = format!("`{name}` captures the secret `{secret}`, and secrets are never stored");
            return Err(refused(format!("{message}: let the step that needs it read it from its environment")));
        }
        self.outputs.insert(name, value);
        Ok(())
    }

    pub(super) fn shell(&mut self, step: &Step, program: &Template) -> Result<StepOutcome, Failure> {
        let shell = variables::render_shell(program, &self.variables()).map_err(unrendered)?;
        let words = vec!["/bin/sh".to_owned(), "-c".to_owned(), shell.text];
        self.run_command(step, words, shell.env, false)
    }

    fn claude(&mut self, step: &Step, prompt: &Template) -> Result<StepOutcome, Failure> {
        let words = super::claude::words(&self.render(prompt)?);
        self.run_command(step, words, Vec::new(), true)
    }

    /// Runs a command in the folder of a step.
    fn run_command(
        &mut self,
        step: &Step,
        words: Vec<String>,
        env: Vec<(String, String)>,
        is_claude: bool,
    ) -> Result<StepOutcome, Failure> {
        let folder = self.folder(step)?;
        let own = step.env.iter().map(|(name, value)| Ok((name.clone(), self.render(value)?)));
        let own: Vec<(String, String)> = own.collect::<Result<_, Failure>>()?;
        let output = match &step.output_file {
            Some(path) => {
                let path = files::below(&folder, &self.render(path)?).map_err(refused)?;
                Some(files::create(&path).map_err(refused)?)
            }
            None => None,
        };
        let is_kept = step.capture.is_some() || self.context.referenced.contains(step.id.as_str()) || self.keeps_stdout;
        let now = exec::now();
        let timeout = self.deadline.map(|deadline| deadline.saturating_duration_since(now));
        let keep = if is_kept && !is_claude { CAPTURE_LIMIT } else { 0 };
        let mark = orphan::mark(&self.context.header.session, self.workflow_step.as_ref().map(StepId::as_str));
        let job = Job {
            words,
            folder,
            env: merged_env(&self.context.env, own.into_iter().chain(env).chain([mark])),
            timeout,
            grace: GRACE,
            keep,
        };
        let mut watcher = OutputWatcher::new(self.context, step, is_claude, output);
        let exit = exec::run(&job, &self.signals, &mut watcher);
        let seen = watcher.end();
        let exit = exit.map_err(|error| not_started(&job.words[0], &error))?;
        if let Some(stop) = exit.stop {
            return Ok(StepOutcome::Stopped(stop));
        }
        if let Some(problem) = seen.problem {
            return Err(refused(problem));
        }
        let api_error = seen.api_error.as_deref();
        if exit.code != Some(0) || exit.timed_out || api_error.is_some() {
            return Err(self.failure(&exit, &seen.stderr, api_error, is_claude));
        }
        if is_kept && (exit.is_cut && !is_claude && exit.stdout.len() >= CAPTURE_LIMIT) {
            return Err(refused(format!("its output exceeds the {CAPTURE_LIMIT} bytes that a step can capture")));
        }
        let stdout = if is_claude { seen.result.unwrap_or_default().into_bytes() } else { exit.stdout };
        let took = exec::now().saturating_duration_since(now);
        Ok(StepOutcome::Completed(StepOutput {
            code: exit.code,
            stdout,
            stderr: seen.stderr,
            took,
            ..StepOutput::default()
        }))
    }

    fn failure(&self, exit: &ChildExit, stderr: &str, api_error: Option<&str>, is_claude: bool) -> Failure {
        let hidden = self.context.masks.hide(stderr);
        let api_error = api_error.map(|error| self.context.masks.hide(error));
        let failed = FailedCommand {
            // An error in the stream is a failure even with exit code 0.
            exit_code: exit.code.map(|code| if code == 0 { 1 } else { code }),
            signal: exit.signal,
            timed_out: exit.timed_out,
            stderr: &hidden,
            api_error: api_error.as_deref(),
            is_claude,
        };
        classify(failed, self.context.ticker.now().now, &store::utc_offset)
    }

    pub(super) fn folder(&self, step: &Step) -> Result<Utf8PathBuf, Failure> {
        match &step.working_dir {
            None => Ok(self.context.folder.clone()),
            Some(path) => files::below(&self.context.folder, &self.render(path)?).map_err(refused),
        }
    }
}

/// Returns a failure that another try cannot change.
pub(super) fn refused(message: String) -> Failure {
    let message = crate::model::clean_line(&crate::model::mask_secrets(&message), 400);
    Failure { kind: FailureKind::Spawn, resets_at: None, exit_code: None, message }
}

fn unrendered(error: RenderError) -> Failure {
    refused(format!("{}: {}", error.message, error.hint))
}

fn not_started(program: &str, error: &std::io::Error) -> Failure {
    let hint = match (error.kind(), program) {
        (std::io::ErrorKind::NotFound, "claude") => ": this step needs Claude Code on the PATH",
        _ => "",
    };
    refused(format!("{program} cannot be started ({error}){hint}"))
}
