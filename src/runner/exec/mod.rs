//! Children: one process group each, whose output is passed on as it arrives, ended at their timeout or when a signal stops the
//! runner. The only module besides `store` that starts processes; it knows nothing of workflows.

#![expect(clippy::disallowed_methods, reason = "this module starts the processes of a workflow and waits for them")]

mod output;
mod signals;

use std::{
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::store;

use output::Pipe;
pub(crate) use output::Stream;
pub(crate) use signals::{Signals, Stop, Woken, survive_file_limit};

/// How often a group is looked at whose leader has ended.
const TICK: Duration = Duration::from_millis(10);

/// A command to run. Its words are passed without a shell.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) words: Vec<String>,
    pub(crate) folder: Utf8PathBuf,
    /// Set on top of the runner's own environment.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) timeout: Option<Duration>,
    /// How long the group may take to end by itself before it is killed.
    pub(crate) grace: Duration,
    /// How many bytes of each stream are kept.
    pub(crate) keep: usize,
}

/// How a child ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChildExit {
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    /// The signal that the runner received meanwhile.
    pub(crate) stop: Option<Stop>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether a stream was longer than the part that was kept.
    pub(crate) is_cut: bool,
}

/// A receiver of the output of a child.
pub(crate) trait Watcher {
    /// The child printed something.
    fn printed(&mut self, stream: Stream, bytes: &[u8]);
}

/// Runs a command to its end. The output of the leader is passed on completely. Background processes are neither waited for nor
/// ended, unless the command was told to end: then the whole group has its grace period.
///
/// # Errors
///
/// When it cannot be started or waited for. It is not running then.
pub(crate) fn run(job: &Job, signals: &Signals, watcher: &mut dyn Watcher) -> io::Result<ChildExit> {
    let mut child = spawn(job)?;
    let mut running = Running {
        group: Pid::from_child(&child),
        stdout: Pipe::new(Stream::Stdout, child.stdout.take(), job.keep)?,
        stderr: Pipe::new(Stream::Stderr, child.stderr.take(), job.keep)?,
        deadline: job.timeout.and_then(|limit| Instant::now().checked_add(limit)),
        grace: job.grace,
        kill_at: None,
        exit: ChildExit::default(),
    };
    let waited = running.wait(&mut child, signals, watcher);
    if waited.is_err() {
        running.signal(Signal::KILL);
        let _ = child.wait();
    }
    let status = waited?;
    Ok(running.into_exit(status))
}

/// Returns the words that run a shell program. Every system has this shell, also with an empty PATH.
pub(crate) fn shell(program: String) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), program]
}

/// Returns the current moment of the monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the moment after a duration; `None` when the clock cannot represent it.
pub(crate) fn moment_in(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

/// Waits until the time is over or a signal stops the runner.
pub(crate) fn pause(time: Duration, signals: &Signals) -> Option<Stop> {
    let until = moment_in(time);
    while signals.stop().is_none() && until.is_none_or(|until| Instant::now() < until) {
        if output::poll(&[], signals, until).is_err() {
            break;
        }
    }
    signals.stop()
}

/// Ends processes that are not our children: SIGTERM, then SIGKILL for those still running.
pub(crate) fn end_processes(pids: &[u32], grace: Duration, is_running: &dyn Fn(usize) -> bool) {
    const STEP: Duration = Duration::from_millis(5);
    for signal in [Signal::TERM, Signal::KILL] {
        for at in (0..pids.len()).filter(|at| is_running(*at)) {
            if let Some(pid) = i32::try_from(pids[at]).ok().and_then(Pid::from_raw) {
                // The process may have just ended.
                let _ = kill_process(pid, signal);
            }
        }
        let until = Instant::now() + grace;
        while (0..pids.len()).any(is_running) && Instant::now() < until {
            std::thread::sleep(STEP);
        }
    }
}

fn spawn(job: &Job) -> io::Result<Child> {
    let (program, rest) = job.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    store::program(program)
        .args(rest)
        .current_dir(&job.folder)
        .envs(job.env.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// A running child.
struct Running {
    group: Pid,
    stdout: Pipe,
    stderr: Pipe,
    deadline: Option<Instant>,
    grace: Duration,
    /// Set once the group received SIGTERM.
    kill_at: Option<Instant>,
    exit: ChildExit,
}

impl Running {
    /// Waits for the leader, and for the whole group once it was told to end.
    fn wait(&mut self, child: &mut Child, signals: &Signals, watcher: &mut dyn Watcher) -> io::Result<ExitStatus> {
        let mut ended = None;
        loop {
            // The end of a process that is no child of ours is not signalled.
            let tick = ended.and_then(|_: ExitStatus| moment_in(TICK));
            let until = self.kill_at.or(self.deadline);
            output::poll(&[&self.stdout, &self.stderr], signals, tick.into_iter().chain(until).min())?;
            // Before the pipes are read, so that all output of a child that ended is seen.
            ended = match ended {
                None => child.try_wait()?,
                ended @ Some(_) => ended,
            };
            let is_group_gone = ended.is_some() && (self.kill_at.is_none() || !self.is_group_running());
            self.stdout.pass_on(watcher)?;
            self.stderr.pass_on(watcher)?;
            if let Some(status) = ended.filter(|_| is_group_gone) {
                return Ok(status);
            }
            self.end_when_due(signals);
        }
    }

    /// Tells whether a process of the group is running. One that the system cannot end is not waited for.
    fn is_group_running(&self) -> bool {
        let is_given_up = self.kill_at.is_some_and(|kill_at| Instant::now() >= kill_at + self.grace);
        !is_given_up && store::is_group_running(self.group)
    }

    /// Sends SIGTERM at the deadline or when the runner is stopped, SIGKILL after the grace period.
    fn end_when_due(&mut self, signals: &Signals) {
        let now = Instant::now();
        match self.kill_at {
            Some(kill_at) if now >= kill_at => self.signal(Signal::KILL),
            Some(_) => {}
            None => {
                self.exit.stop = signals.stop();
                self.exit.timed_out = self.exit.stop.is_none() && self.deadline.is_some_and(|at| now >= at);
                if self.exit.stop.is_some() || self.exit.timed_out {
                    self.signal(Signal::TERM);
                    self.kill_at = Some(now + self.grace);
                }
            }
        }
    }

    fn signal(&self, signal: Signal) {
        // The group may have just ended.
        let _ = kill_process_group(self.group, signal);
    }

    fn into_exit(self, status: ExitStatus) -> ChildExit {
        let is_cut = self.stdout.is_cut() || self.stderr.is_cut();
        ChildExit {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout.into_kept(),
            stderr: self.stderr.into_kept(),
            is_cut,
            ..self.exit
        }
    }
}

#[cfg(test)]
#[path = "exec_tests.rs"]
mod tests;
