//! A session of the client in a project, and its log.

use std::time::Duration;

use camino::Utf8PathBuf;

use super::{Answer, input::Input};
use crate::{
    model::{DrivenRun, SessionEvent, SessionLine, clean_line},
    ops::{self, OpenSteps, ProjectContext, Request},
    store::{self, Caller, HeldRun, RunLock, SessionLog},
};

/// How long a hook waits for another writer.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(100);
pub(super) const WORD_CHARS: usize = 80;

/// A session with its log.
#[derive(Debug)]
pub(super) struct HookSession {
    pub(super) ctx: ProjectContext,
    pub(super) id: String,
    pub(super) log: SessionLog,
}

impl HookSession {
    /// Opens the client's current project; `None` if its folder is not a project.
    pub(super) fn open(input: &Input, request: &Request) -> Option<Self> {
        Self::open_anywhere(input, request).filter(|session| session.ctx.project.is_marked())
    }

    /// Opens the client's current folder, project or not.
    pub(super) fn open_anywhere(input: &Input, request: &Request) -> Option<Self> {
        let request = Request { project: Some(input.cwd.clone()), run: None, ..request.clone() };
        let mut ctx = ProjectContext::open(&request).ok()?;
        let id = ctx.environment.session.get_or_insert_with(|| input.session_id.clone()).clone();
        ctx.environment.is_agent = true;
        let log = SessionLog::of(&store::journals::sessions_folders(&ctx.project), &id);
        Some(Self { ctx, id, log })
    }

    /// Opens a session that has a log; `None` for any other, of which nothing is recorded.
    pub(super) fn known(input: &Input, request: &Request) -> Option<Self> {
        Self::open(input, request).filter(|session| session.log.exists())
    }

    /// Appends to the log; a failed write is ignored.
    pub(super) fn note(&self, event: SessionEvent) {
        let _ = self.log.note(self.ctx.clock.now, event);
    }

    /// Starts the log if it does not exist: from here on, events of this session are recorded.
    pub(super) fn begin(&self, source: &str) {
        let caller = Caller::find(&self.ctx.environment);
        let event = store::session::start_event(&caller, source);
        let _ = self.log.begin(self.ctx.clock.now, event);
    }

    /// Returns the runs driven by the session, each with its root.
    pub(super) fn held(&self, events: &[SessionLine]) -> Vec<HeldRun> {
        let homes: Vec<Utf8PathBuf> = self.ctx.homes.iter().map(|home| home.root().to_owned()).collect();
        let project = &self.ctx.project;
        store::session::held_runs(&project.root, project.worktrees(), &homes, &self.id, events)
    }

    /// Returns the project with one run selected.
    pub(super) fn select_run(&self, root: &Utf8PathBuf, run: &DrivenRun) -> Option<ProjectContext> {
        let state = run.state.under(root).into_string();
        let now = Some(self.ctx.clock.now.to_string());
        let request = Request { project: Some(root.as_str().to_owned()), run: Some(state), now, ..Request::default() };
        let mut ctx = ProjectContext::open(&request).ok()?;
        ctx.environment.session = Some(self.id.clone());
        ctx.environment.is_agent = true;
        Some(ctx)
    }

    /// Returns the runs that the session drives, with the steps that it has in progress.
    pub(super) fn open_steps(&self, events: &[SessionLine]) -> Vec<(DrivenRun, OpenSteps)> {
        let opened = |held: HeldRun| {
            let open = ops::open_steps(&self.select_run(&held.root, &held.run)?).ok()?;
            Some((held.run, open))
        };
        self.held(events).into_iter().filter_map(opened).collect()
    }

    /// Records that a turn ended in an error, and releases the leases: the runs are paused until they are resumed.
    pub(super) fn fails(&self, input: &Input) -> Option<Answer> {
        self.note(SessionEvent::Failure { error: clean_line(&input.error, WORD_CHARS) });
        self.release_leases();
        None
    }

    /// Records that the session is over, and releases its leases. The client waits for this event but not for `StopFailure`, which it may
    /// cut off as it exits; so the error that ended the last turn is looked up in the transcript.
    pub(super) fn ends(&self, input: &Input) -> Option<Answer> {
        let is_known =
            matches!(self.log.events().last(), Some(line) if matches!(line.event, SessionEvent::Failure { .. }));
        let missed = if is_known { None } else { ops::last_error_of_session(&self.ctx, &input.session_id) };
        if let Some(error) = missed {
            self.note(SessionEvent::Failure { error: clean_line(&error, WORD_CHARS) });
        }
        self.note(SessionEvent::End { reason: clean_line(&input.reason, WORD_CHARS) });
        self.release_leases();
        None
    }

    /// Releases the leases of this session; each keeps the name of its last holder.
    fn release_leases(&self) {
        for held in self.held(&self.log.events()) {
            if let Ok(lock) = RunLock::acquire(&held.root, &held.folder, LOCK_TIMEOUT) {
                let _ = store::local::mark_idle(&lock, &self.id);
            }
        }
    }

    /// Refreshes the leases of this session's runs.
    pub(super) fn heartbeat(&self, events: &[SessionLine]) {
        let held = self.held(events);
        if held.is_empty() {
            return;
        }
        let caller =
            store::session::caller(&store::journals::sessions_folders(&self.ctx.project), &self.ctx.environment);
        let Some(name) = self.ctx.driver() else { return };
        for held in held {
            if let Ok(lock) = RunLock::acquire(&held.root, &held.folder, LOCK_TIMEOUT) {
                let _ = store::local::refresh(&lock, self.ctx.clock, (&caller, name));
            }
        }
    }
}
