//! Runs one step: its command, its output and its variables. Only the items of a `foreach` are recorded here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use serde_json::Value;

use super::{
    claude::Rejection,
    console::{Event, OutputSource},
    context::{RunContext, merged_env, named_secrets},
    error::RunError,
    exec::{self, ChildExit, Job, Signals, Stop},
    files, orphan,
    output_watcher::OutputWatcher,
    retry::{FailedCommand, Failure, FailureKind, RetryDecision, classify, decide},
    scoped_variables::ScopedVariables,
    spending::{NextTry, PersonNeeded, Tries},
};
use crate::{
    dialect::piton::{self, unmet},
    model::{AgentReport, ClaudeWork, Context, Outcome, RelPath, StepId},
    ops::Exit,
    store,
    workflow::{
        Command, Step, StepReference,
        template::Template,
        variables::{self, RenderError},
    },
};

/// How long a child has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// The largest output of a step that is kept.
pub(super) const CAPTURE_LIMIT: usize = 8 << 20;

/// One thread of a run, which runs steps one after the other.
pub(super) struct StepExecutor<'a> {
    pub(super) context: &'a RunContext<'a>,
    pub(super) signals: Signals,
    /// Where the steps work.
    pub(super) folder: Utf8PathBuf,
    /// The item of a `foreach` that it works on.
    pub(super) item: Option<CurrentItem>,
    /// What its lines begin with where others print at the same time.
    pub(super) label: Option<String>,
    /// Variables of the current item.
    pub(super) locals: BTreeMap<String, Value>,
    /// Variables that the step set so far; recorded when it ends.
    pub(super) outputs: BTreeMap<String, Value>,
    /// What the last commands printed: `shell.output`, `claude.output`, `CAPTURED_OUTPUT`.
    pub(super) last: BTreeMap<String, Value>,
    /// The variables that the steps for the current item set.
    pub(super) of_item: Arc<BTreeSet<String>>,
    /// HEAD before the first try of the step.
    pub(super) head: Option<String>,
    /// The deadline of the step as a whole.
    pub(super) deadline: Option<Instant>,
    /// The current top-level step.
    pub(super) workflow_step: Option<StepId>,
    /// Whether the output of the next commands is needed.
    pub(super) keeps_stdout: bool,
    /// How far an earlier runner came with the step, if it has `validate`: 1 is its command, and 1 more each `on_incomplete` that ran.
    pub(super) measured: u32,
    /// What calls of `claude` did since the last record.
    pub(super) work: ClaudeWork,
    /// The conversations of `claude` steps whose last try failed.
    pub(super) conversations: BTreeMap<StepId, String>,
    /// The brief of the current top-level step, if it has work for an agent.
    pub(super) brief: Option<Box<Context>>,
    /// What agents said about the current item.
    pub(super) said: Vec<String>,
    /// What the agent of the current top-level step reported, where it drives the step by hand: Piton does the rest.
    pub(super) reported: Option<Box<Outcome>>,
    /// The step is run alone: an agent that has to try again is not started.
    pub(super) is_alone: bool,
    /// The handler of the current top-level step ran, and its agent tries again by hand.
    pub(super) is_handed_back: bool,
    /// The digests of the outputs that a review sent back.
    pub(super) sent_back: Vec<Option<String>>,
    /// Dropped when the step is recorded as begun: the next one begins after it.
    pub(super) begun: Option<Sender<()>>,
}

/// The item of a `foreach` that a thread works on.
#[derive(Clone, Debug)]
pub(super) struct CurrentItem {
    /// Its name, secrets masked.
    pub(super) name: String,
    /// The name of its log.
    pub(super) log: String,
    /// Its place, counted from 0.
    pub(super) index: usize,
}

/// The outcome of a step.
#[derive(Clone, Debug)]
pub(super) enum StepOutcome {
    Completed(Box<StepOutput>),
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
    /// What a call of `claude` did.
    pub(super) claude: Option<ClaudeWork>,
    /// The error of a step that never passed, which the workflow tolerates.
    pub(super) tolerated: Option<String>,
    /// What its agent said.
    pub(super) report: Option<AgentReport>,
}

impl StepOutput {
    /// Tells whether a review does not approve: the run goes back.
    fn sends_back(&self) -> bool {
        self.report.as_ref().and_then(|report| report.verdict).is_some_and(|verdict| !verdict.approves())
    }
}

impl<'a> StepExecutor<'a> {
    pub(super) fn new(context: &'a RunContext<'a>) -> Result<Self, RunError> {
        let signals = Signals::listen()
            .map_err(|error| RunError::new(Exit::Unreadable, format!("cannot listen for signals: {error}"), []))?;
        let (locals, outputs) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self {
            context,
            signals,
            folder: context.folder.clone(),
            item: None,
            label: None,
            locals,
            outputs,
            last: BTreeMap::new(),
            of_item: Arc::default(),
            head: None,
            deadline: None,
            workflow_step: None,
            keeps_stdout: false,
            measured: 0,
            work: ClaudeWork::default(),
            conversations: BTreeMap::new(),
            brief: None,
            said: Vec::new(),
            reported: None,
            is_alone: false,
            is_handed_back: false,
            sent_back: Vec::new(),
            begun: None,
        })
    }

    /// Returns what events of a step are about.
    pub(super) fn source<'s>(&'s self, step: &'s Step) -> OutputSource<'s> {
        let (step, item) = (step.id.as_str(), self.item.as_ref());
        let (index, label) = (item.map(|item| item.index), self.label.as_deref());
        OutputSource { step, item: item.map(|item| item.name.as_str()), index, label }
    }

    pub(super) fn variables(&self) -> ScopedVariables<'_> {
        ScopedVariables {
            context: self.context,
            folder: &self.folder,
            locals: &self.locals,
            outputs: &self.outputs,
            last: &self.last,
            of_item: &self.of_item,
            head: self.head.as_deref(),
        }
    }

    pub(super) fn render(&self, template: &Template) -> Result<String, Failure> {
        variables::render(template, &self.variables()).map_err(unrendered)
    }

    /// Returns the files that prove the step, as its outputs name them.
    pub(super) fn output_files(&self, step: &Step) -> Result<Vec<RelPath>, Failure> {
        let scope = self.variables();
        step.outputs.iter().map(|output| output.file(&scope).map_err(refused)).collect()
    }

    /// Runs a nested step with all its tries.
    fn run_nested(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        if let Some(done) = self.skipped_by_condition(step) {
            return Ok(done);
        }
        // Of an earlier item, perhaps.
        self.conversations.remove(&step.id);
        let mut tries = Tries::default();
        loop {
            match self.try_once(step)? {
                StepOutcome::Failed(failure) => {
                    let after = match self.next_try(step, tries, &failure) {
                        NextTry::Never => return self.run_handler(step, failure),
                        NextTry::Person(person) => {
                            return Err(self.context.ask_about_limit(step, &failure.message, person));
                        }
                        NextTry::After { after, tries: now } => {
                            tries = now;
                            after
                        }
                    };
                    if let Some(stop) = exec::pause(after, &self.signals) {
                        return Ok(StepOutcome::Stopped(stop));
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
        let mut last = Box::<StepOutput>::default();
        for step in steps {
            match self.run_titled(step)? {
                StepOutcome::Completed(produced) => last = produced,
                StepOutcome::Skipped(_) => {}
                done @ (StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => return Ok(done),
            }
        }
        Ok(StepOutcome::Completed(last))
    }

    /// Runs a nested step; a failure names it.
    pub(super) fn run_titled(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        Ok(match self.run_nested(step)? {
            StepOutcome::Failed(failure) => {
                let message = format!("{}: {}", step.title, failure.message);
                StepOutcome::Failed(Failure { message, ..failure })
            }
            done @ (StepOutcome::Completed(_) | StepOutcome::Skipped(_) | StepOutcome::Stopped(_)) => done,
        })
    }

    /// Returns when the next try is, and reports it.
    pub(super) fn next_try(&self, step: &Step, tries: Tries, failure: &Failure) -> NextTry {
        let Some(policy) = step.retry.as_ref() else { return NextTry::Never };
        let now = self.context.ticker.now().now;
        let seed = store::sessions::random();
        let (source, error) = (self.source(step), failure.message.as_str());
        match decide(policy, (tries.attempt, tries.waits), failure, now, seed) {
            RetryDecision::GiveUp => NextTry::Never,
            RetryDecision::Ask => NextTry::Person(PersonNeeded::ToSpend),
            RetryDecision::TryAgain { after } => {
                let (attempt, attempts) = (tries.attempt, policy.attempts);
                self.context.console.tell(&Event::Again { source, error, attempt, attempts, after });
                NextTry::After { after, tries: Tries { attempt: tries.attempt.saturating_add(1), ..tries } }
            }
            RetryDecision::Wait { after } => {
                let next_at = now.plus(after);
                let waited = tries.waited.saturating_add(after);
                if let Some(limit) = self.context.workflow.limits.wait.filter(|limit| waited > *limit) {
                    return NextTry::Person(PersonNeeded::ToWait { limit, next_at });
                }
                let local = i64::from(store::utc_offset(None, next_at.unix_seconds()).unwrap_or(0));
                self.context.console.tell(&Event::Limited { source, error, next_at, local, after });
                NextTry::After { after, tries: Tries { waits: tries.waits.saturating_add(1), waited, ..tries } }
            }
        }
    }

    /// Runs the handler of a failed step, then tries the step again.
    pub(super) fn run_handler(&mut self, step: &Step, mut failure: Failure) -> Result<StepOutcome, RunError> {
        let Some(handler) = &step.on_failure else { return Ok(StepOutcome::Failed(failure)) };
        let rounds = if handler.steps.is_empty() { 0 } else { handler.attempts.max(1) };
        for attempt in self.handled(step)..rounds {
            self.context.console.tell(&Event::Handling { source: self.source(step), error: &failure.message });
            // Handlers nest: when this one ends, the error of the outer one is back.
            let outer = self.locals.insert("error".to_owned(), Value::String(failure.message.clone()));
            let handled = self.run_all(&handler.steps);
            match outer {
                Some(outer) => self.locals.insert("error".to_owned(), outer),
                None => self.locals.remove("error"),
            };
            match handled? {
                StepOutcome::Completed(_) | StepOutcome::Skipped(_) => {}
                StepOutcome::Failed(of_handler) => {
                    let message = format!("{}; its handler failed as well: {}", failure.message, of_handler.message);
                    failure.message = crate::model::clean_line(&message, 400);
                    break;
                }
                stopped @ StepOutcome::Stopped(_) => return Ok(stopped),
            }
            if attempt >= handler.attempts {
                break;
            }
            if self.is_by_hand(step) {
                if self.is_alone {
                    self.is_handed_back = true;
                    return Ok(StepOutcome::Failed(failure));
                }
                self.reported = None;
            }
            match self.try_once(step)? {
                StepOutcome::Failed(again) => failure = again,
                done @ (StepOutcome::Completed(_) | StepOutcome::Skipped(_) | StepOutcome::Stopped(_)) => {
                    return Ok(done);
                }
            }
        }
        // Without a verdict a review is never over.
        if handler.fail_workflow || step.reviews.is_some() {
            return Ok(StepOutcome::Failed(failure));
        }
        // What it printed is known to the steps after it, also after a resume.
        self.outputs.append(&mut self.last);
        let summary = format!("failed ({}); its `on_failure` lets the workflow continue", failure.message);
        Ok(StepOutcome::Completed(Box::new(StepOutput {
            code: failure.exit_code,
            summary: Some(summary),
            tolerated: Some(failure.message),
            ..StepOutput::default()
        })))
    }

    /// Tells whether an agent drives the step by hand and has reported.
    pub(super) fn is_by_hand(&self, step: &Step) -> bool {
        self.reported.is_some() && self.workflow_step.as_ref() == Some(&step.id)
    }

    /// Returns how often the handler of a step ran already and its agent, which drives it by hand, tried again.
    fn handled(&self, step: &Step) -> u32 {
        if !self.is_by_hand(step) {
            return 0;
        }
        self.context.ledger().step(&step.id).map_or(0, |state| state.handled)
    }

    /// Returns the outcome of a step whose `when` does not hold; `None` when it has to run.
    pub(super) fn skipped_by_condition(&self, step: &Step) -> Option<StepOutcome> {
        match variables::holds(&step.when.as_ref()?.condition, &self.variables()) {
            Ok(true) => None,
            Ok(false) => Some(StepOutcome::Skipped(unmet::OWN)),
            Err(error) => Some(StepOutcome::Failed(unrendered(error))),
        }
    }

    /// Tells whether a step is skipped by its condition, or with one that it depends on.
    pub(super) fn is_left_out(&self, step: &Step) -> bool {
        let outcome = self.skipped_with_others(step).or_else(|| self.skipped_by_condition(step));
        matches!(outcome, Some(StepOutcome::Skipped(_)))
    }

    /// Returns the outcome of a step that needs one that was skipped by its condition.
    pub(super) fn skipped_with_others(&self, step: &Step) -> Option<StepOutcome> {
        let ledger = self.context.ledger();
        let is_unmet = |need: &StepReference| ledger.step(&need.id).is_some_and(|state| state.is_unmet);
        let is_skipped = step.needs.iter().any(is_unmet);
        is_skipped.then_some(StepOutcome::Skipped(unmet::WITH_OTHERS))
    }

    /// Tries a step once: its command, its checks and its measurement.
    pub(super) fn try_once(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        let produced = match self.work(step)? {
            StepOutcome::Completed(produced) if produced.sends_back() => return Ok(StepOutcome::Completed(produced)),
            StepOutcome::Completed(produced) => produced,
            done @ (StepOutcome::Skipped(_) | StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => return Ok(done),
        };
        Ok(match self.run_all(step.measurement())? {
            StepOutcome::Completed(_) | StepOutcome::Skipped(_) => StepOutcome::Completed(produced),
            done @ (StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => done,
        })
    }

    /// Runs the command of a step and its checks, unless it is done and only its measurement was cut off.
    fn work(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        let is_measured = self.is_measured(step);
        if is_measured && self.measured > 0 {
            return Ok(StepOutcome::Completed(Box::default()));
        }
        let missing = step.uses.iter().find(|path| !files::exists(&path.under(&self.context.folder)));
        if let Some(missing) = missing {
            return Ok(StepOutcome::Failed(refused(format!("it uses {missing}, which does not exist"))));
        }
        if is_measured {
            self.record_measured(0, false)?;
        }
        let outer = self.deadline;
        let own = step.timeout.and_then(exec::moment_in);
        self.deadline = [outer, own].into_iter().flatten().min();
        let done = self.command(step);
        self.deadline = outer;
        let produced = match done? {
            // What follows a step follows its success.
            StepOutcome::Completed(produced) if produced.sends_back() => return Ok(StepOutcome::Completed(produced)),
            StepOutcome::Completed(produced) => produced,
            done @ (StepOutcome::Skipped(_) | StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => return Ok(done),
        };
        if let Some(failure) = self.collect_outputs(step, &produced) {
            return Ok(StepOutcome::Failed(failure));
        }
        let end = if is_measured { self.record_measured(0, true)? } else { None };
        Ok(end.unwrap_or(StepOutcome::Completed(produced)))
    }

    fn command(&mut self, step: &Step) -> Result<StepOutcome, RunError> {
        match &step.command {
            Command::Shell(program) => Ok(self.shell(step, program).unwrap_or_else(StepOutcome::Failed)),
            Command::Claude(claude) => Ok(self.claude(step, claude).unwrap_or_else(StepOutcome::Failed)),
            Command::WriteFile(file) => Ok(match self.write_file(step, file) {
                Ok(()) => StepOutcome::Completed(Box::default()),
                Err(failure) => StepOutcome::Failed(failure),
            }),
            Command::Validate(validate) => self.validate(step, validate),
            Command::Foreach(foreach) => self.foreach(step, foreach),
            Command::Agent(work) => Ok(self.agent(step, work).unwrap_or_else(StepOutcome::Failed)),
            // `drive` stops there.
            Command::Gate(_) => Ok(StepOutcome::Failed(refused("a gate waits for a person".to_owned()))),
        }
    }

    pub(super) fn shell(&mut self, step: &Step, program: &Template) -> Result<StepOutcome, Failure> {
        let shell = variables::render_shell(program, &self.variables()).map_err(unrendered)?;
        let words = exec::shell(shell.text);
        self.run_command(step, words, shell.env, false)
    }

    /// Runs a command in the folder of a step.
    pub(super) fn run_command(
        &mut self,
        step: &Step,
        words: Vec<String>,
        env: Vec<(String, String)>,
        is_claude: bool,
    ) -> Result<StepOutcome, Failure> {
        let folder = self.folder(step)?;
        let own = step.env.iter().map(|(name, value)| Ok((name.clone(), self.render(value)?)));
        let own: Vec<(String, String)> = own.collect::<Result<_, Failure>>()?;
        let secrets = named_secrets(&step.secrets, &self.context.secrets);
        let kind = if is_claude { "claude.output" } else { "shell.output" };
        let is_kept = !step.captures.is_empty()
            || step.result.is_some()
            || self.keeps_stdout
            || self.context.used.has_results(&step.id)
            || self.context.used.has(kind);
        let now = exec::now();
        let timeout = self.deadline.map(|deadline| deadline.saturating_duration_since(now));
        let keep = if is_kept && !is_claude { CAPTURE_LIMIT } else { 0 };
        let marks = orphan::marks(&self.context.header.session, self.workflow_step.as_ref().map(StepId::as_str));
        let job = Job {
            words,
            folder,
            env: merged_env(&self.context.env, secrets.into_iter().chain(own).chain(env).chain(marks)),
            timeout,
            grace: GRACE,
            keep,
        };
        let log = self.item.as_ref().map_or_else(|| step.id.to_string(), |item| self.id_inside(step, &item.log));
        let top = self.workflow_step.as_ref().unwrap_or(&step.id);
        let attempt = self.context.ledger().step(top).map_or(1, |state| state.attempts.max(1));
        let log = piton::log_file(&log, attempt);
        let mut watcher = OutputWatcher::new(self.context, (self.source(step), &self.folder), &log, is_claude);
        let exit = exec::run(&job, &self.signals, &mut watcher);
        let seen = watcher.end();
        let took = exec::now().saturating_duration_since(now);
        let work = seen.work.map(|(work, is_all_denied)| (self.count_work(step, work, took), is_all_denied));
        let exit = exit.map_err(|error| not_started(&job.words[0], &error))?;
        if exit.stop.is_some() || exit.timed_out || exit.signal.is_some() {
            orphan::remove_locks(&self.context.header, self.context.console);
        }
        if let Some(stop) = exit.stop {
            return Ok(StepOutcome::Stopped(stop));
        }
        let api_error = seen.api_error.as_deref();
        if exit.code != Some(0) || exit.timed_out || api_error.is_some() {
            if is_kept {
                let said =
                    if is_claude { seen.result.clone().unwrap_or_default().into_bytes() } else { exit.stdout.clone() };
                self.remember(step, kind, (&said, &seen.stderr, exit.code));
            }
            let said = (seen.stderr.as_str(), api_error, seen.rejection);
            return Err(self.failure(&exit, said, is_claude, step.timeout.or(timeout)));
        }
        if is_kept && (exit.is_cut && !is_claude && exit.stdout.len() >= CAPTURE_LIMIT) {
            let limit = CAPTURE_LIMIT >> 20;
            let message = format!("it has run, and its output exceeds the {limit} MiB that are kept");
            return Err(refused(format!("{message}; let it write a file")));
        }
        if let Some((work, is_all_denied)) = &work {
            self.check_denials(step, work, *is_all_denied)?;
        }
        let stdout = if is_claude { seen.result.unwrap_or_default().into_bytes() } else { exit.stdout };
        Ok(StepOutcome::Completed(Box::new(StepOutput {
            code: exit.code,
            stdout,
            stderr: seen.stderr,
            took,
            claude: work.map(|(work, _)| work),
            ..StepOutput::default()
        })))
    }

    /// Returns the failure of a command; `stderr` is the end of what it said, `timeout` how long it could take.
    fn failure(
        &self,
        exit: &ChildExit,
        (stderr, api_error, rejection): (&str, Option<&str>, Option<Rejection>),
        is_claude: bool,
        timeout: Option<Duration>,
    ) -> Failure {
        let hidden = self.context.masks.hide(stderr);
        let api_error = api_error.map(|error| self.context.masks.hide(error));
        let failed = FailedCommand {
            // An error in the stream is a failure even with exit code 0.
            exit_code: exit.code.map(|code| if code == 0 { 1 } else { code }),
            signal: exit.signal,
            timed_out: timeout.filter(|_| exit.timed_out),
            stderr: &hidden,
            api_error: api_error.as_deref(),
            rejection,
            is_claude,
        };
        classify(failed, self.context.ticker.now().now, &store::utc_offset)
    }

    pub(super) fn folder(&self, step: &Step) -> Result<Utf8PathBuf, Failure> {
        match &step.working_dir {
            None => Ok(self.folder.clone()),
            Some(path) => files::working_dir(&self.folder, &self.render(path)?).map_err(refused),
        }
    }
}

/// Returns what a command printed, without the last line end.
pub(super) fn printed(stdout: &[u8]) -> String {
    String::from_utf8_lossy(stdout).trim_end_matches(['\n', '\r']).to_owned()
}

/// Returns the failure of a command that ran and did not leave what it has to.
pub(super) fn rejected(message: String) -> Failure {
    Failure { kind: FailureKind::Exit, ..refused(message) }
}

/// Returns a failure that another try cannot change.
pub(super) fn refused(message: String) -> Failure {
    let message = crate::model::clean_line(&crate::model::mask_secrets(&message), 400);
    Failure { kind: FailureKind::Spawn, resets_at: None, exit_code: None, message }
}

pub(super) fn unrendered(error: RenderError) -> Failure {
    refused(format!("{}: {}", error.message, error.hint))
}

fn not_started(program: &str, error: &std::io::Error) -> Failure {
    let hint = match (error.kind(), program) {
        (std::io::ErrorKind::NotFound, "claude") => ": this step needs Claude Code on the PATH",
        _ => "",
    };
    refused(format!("{program} cannot be started ({error}){hint}"))
}
