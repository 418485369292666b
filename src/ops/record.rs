//! What is recorded beside a checkpoint: a log line, digests of a step's outputs, and the lease. The checkpoint is already
//! durable, so a failure to write here is a finding, not an error.

use serde::Serialize;

use super::{
    locked_run::{LockedRun, unwritten},
    workflow_file,
};
use crate::{
    model::{
        Action, Attempt, Candidate, Change, ChangeKind, Edit, EvidenceRecord, Finding, Next, RelPath, RollBack,
        RollBackRecord, Run, SessionEvent, Statement, StatementKind, Status, Step, StepId, Timestamp,
    },
    store::{self, Caller, SessionLog},
};

/// The lease, in messages.
const LEASE: &str = "who drives the run";

impl LockedRun<'_> {
    /// Takes or renews the lease if the caller has a session id; releases it when the run is paused or over.
    pub(crate) fn renew_lease(&self, command: &str) -> Option<Finding> {
        self.ctx().environment.session.as_ref()?;
        let caller = self.caller();
        if matches!(command, "pause" | "abort" | "complete") {
            return unwritten(LEASE, store::lease::release(self.lock(), self.clock(), &caller));
        }
        match store::lease::refresh(self.lock(), self.clock(), &caller) {
            Ok(true) => {
                self.log_to_session(&caller);
                None
            }
            Ok(false) => self.take_lease(command),
            Err(error) => unwritten(LEASE, Err(error)),
        }
    }

    /// Takes the lease for the caller.
    pub(crate) fn take_lease(&self, command: &str) -> Option<Finding> {
        let caller = self.caller();
        let taken = store::lease::take(self.lock(), self.clock(), &caller, command);
        if taken.is_ok() {
            self.log_to_session(&caller);
        }
        unwritten(LEASE, taken)
    }

    fn caller(&self) -> Caller {
        self.ctx().caller()
    }

    /// Records in the log of the client's session that it wrote to this run. Write errors are ignored.
    fn log_to_session(&self, caller: &Caller) {
        let Some(session) = caller.session.as_deref().filter(|_| caller.is_agent) else { return };
        let project = &self.ctx().project;
        let files = &self.opened.files;
        let log = SessionLog::of(&project.root, session);
        let run = store::session::driven_run(&project.root, &files.root, &files.data_dir, &files.state);
        let _ = log.begin(&project.root, self.clock().now, SessionEvent::Drives(run));
    }

    /// Records who begins an attempt or a part of it, and for what. Written before the checkpoint: a call that is killed in between counts
    /// no attempt.
    pub(super) fn note_attempt(&self, run: &Run, begin: &ChangeKind, planned: Option<&Next>) -> Option<Finding> {
        let ChangeKind::Begin { step, part, attempt, agent, .. } = begin else { return None };
        let (action, reason) = match planned {
            Some(next) => (next.action, next.reason.clone()),
            None if part.is_some() => (Action::Run, "it is done part by part".to_owned()),
            None => return None,
        };
        let driver = store::reports::driver(&self.caller());
        let (step, part, agent, at) = (step.clone(), part.clone(), agent.clone(), self.clock().now);
        let needs_head = run.step(&step).is_some_and(workflow_file::needs_head);
        let head = if needs_head { store::git::head(self.opened.base()).and_then(|head| head.sha) } else { None };
        let attempt = Attempt { step, part, at, attempt: *attempt, agent, action, reason, head, driver };
        let kind = StatementKind::Begun(attempt);
        let statement = Statement { run: run.id.as_str().to_owned(), dialect: run.dialect, kind };
        let (root, data_dir) = self.opened.reports_dir();
        unwritten(
            "who began the step",
            store::reports::note_attempt(&self.ctx().project.trusted, root, &data_dir, &statement),
        )
    }

    /// Records digests of a finished step's outputs, and of what a gate approves, so that a later plan can tell whether they changed.
    pub(super) fn record(&self, run: &Run, change: &Change) -> Option<Finding> {
        let step = run.step(change.kind.step()?)?;
        let mut paths = if let ChangeKind::Finish(outcome) = &change.kind {
            if outcome.status != Status::Completed || outcome.part.is_some() {
                return None;
            }
            let mut paths: Vec<RelPath> = outcome.outputs.iter().chain(&step.proof.outputs).cloned().collect();
            if outcome.amends {
                paths.extend(self.recorded_outputs(run, step));
            }
            paths
        } else if matches!(change.kind, ChangeKind::Approve { .. }) && !step.proof.documents.is_empty() {
            step.proof.documents.clone()
        } else {
            return None;
        };
        paths.sort();
        paths.dedup();
        let base = self.opened.base();
        let head_of = run.workspace.folder(base);
        let record = EvidenceRecord {
            at: change.at,
            run: run.id.as_str().to_owned(),
            step: step.id.clone(),
            head: store::git::head(&head_of).and_then(|head| head.sha),
            outputs: store::describe(base, &paths),
            definition: self.opened.definition_digest(step),
        };
        let limit = self.ctx().project.config.limits.log_bytes;
        unwritten("the digests of what the step left", store::record(self.lock(), &record, limit))
    }

    /// Returns the outputs that are recorded for a step.
    fn recorded_outputs(&self, run: &Run, step: &Step) -> Vec<RelPath> {
        let records = store::records(&self.opened.files.root, &self.opened.files.data_dir);
        let last = records.iter().rfind(|record| record.run == run.id.as_str() && record.step == step.id);
        last.map(|record| record.outputs.iter().map(|output| output.path.clone()).collect()).unwrap_or_default()
    }

    /// Records a rollback: older evidence of the reopened steps no longer counts, and repeated rollbacks are limited.
    pub(super) fn record_rollback(&self, run: &Run, at: Timestamp, back: &RollBack) -> Option<Finding> {
        let (to, reopened) = (back.to.clone(), back.reopened.clone());
        let record = RollBackRecord { at, run: run.id.as_str().to_owned(), to, reopened };
        let limit = self.ctx().project.config.limits.log_bytes;
        unwritten("the log of rollbacks", store::record_rollback(self.lock(), &record, limit))
    }

    /// Keeps a copy of a state whose folder may be deleted where the state was before. Without one only the history would be left.
    pub(super) fn keep_copy(&self, edits: &[Edit]) {
        let config = &self.opened.files.config;
        for edit in edits {
            let now = Candidate { state: edit.path.clone(), ..self.opened.candidate.clone() };
            let former = self.opened.dialect.copies().previous_location(&now, config);
            if let (Some(former), Some(after)) = (former, edit.after()) {
                // The checkpoint is written. A copy that is older brings less back.
                let _ = store::write_copy(self.lock(), &former.copy, after);
            }
        }
    }

    /// Appends a block to the log of rollbacks for people.
    pub(super) fn append_rollback_log(&self, log: &RelPath, block: &str) -> Option<Finding> {
        unwritten(log.as_str(), store::journal::append_block(&self.opened.files.root, log, block))
    }

    /// Records a change in the log of the run.
    pub(super) fn log(&self, change: &str, step: Option<&StepId>) {
        let limit = self.ctx().project.config.limits.log_bytes;
        let session = self.ctx().environment.session.as_deref();
        let line = LogLine { at: self.clock().now, change, step, session };
        // The checkpoint is durable; a failure to log does not change that.
        let _ = store::journal::log(self.lock(), &line, limit);
    }
}

/// A line of the log of a run.
#[derive(Debug, Serialize)]
struct LogLine<'a> {
    at: Timestamp,
    change: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a StepId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}
