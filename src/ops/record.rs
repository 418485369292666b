//! What is recorded with a checkpoint: who began, the digests of what a step left; and beside it: who drives the run. The checkpoint is durable
//! by then, so a failure to write those is a finding, not an error.

use super::{locked_run::LockedRun, workflow_file};
use crate::{
    model::{
        About, Action, Attempt, Change, ChangeKind, EvidenceRecord, Finding, FindingCode, Next, RelPath, Run,
        SessionEvent, Statement, StatementKind, Status, Step, Suggested, Uid, Verb,
    },
    store::{self, Caller, SessionLog, StoreError},
};

/// What is known of the driver, in messages.
const DRIVER: &str = "who drives the run";

impl LockedRun<'_> {
    /// Writes down who called, if it is a driver; its session takes or renews the lease, and releases it when the run is paused or over.
    pub(crate) fn note_driver(&self, command: &str) -> Option<Finding> {
        let name = self.ctx().driver()?;
        let caller = self.caller();
        if caller.session.is_none() {
            return unwritten(DRIVER, store::local::enter(self.lock(), self.clock(), (&caller, name)));
        }
        if matches!(command, "pause" | "abort" | "complete") {
            return unwritten(DRIVER, store::local::release(self.lock(), self.clock(), &caller));
        }
        match store::local::refresh(self.lock(), self.clock(), (&caller, name)) {
            Ok(true) => {
                self.log_to_session(&caller);
                None
            }
            Ok(false) => self.take_lease_as((&caller, name), command),
            Err(error) => unwritten(DRIVER, Err(error)),
        }
    }

    /// Takes the lease for the caller, unless it is a passing shell.
    pub(crate) fn take_lease(&self, command: &str) -> Option<Finding> {
        let name = self.ctx().driver()?;
        self.take_lease_as((&self.caller(), name), command)
    }

    fn take_lease_as(&self, (caller, name): (&Caller, Uid), command: &str) -> Option<Finding> {
        let taken = store::local::take(self.lock(), self.clock(), (caller, name), command);
        if taken.is_ok() {
            self.log_to_session(caller);
        }
        unwritten(DRIVER, taken)
    }

    fn caller(&self) -> Caller {
        self.ctx().caller()
    }

    /// Records in the log of the client's session that it wrote to this run. Write errors are ignored.
    fn log_to_session(&self, caller: &Caller) {
        let Some(session) = caller.session.as_deref().filter(|_| caller.is_agent) else { return };
        let project = &self.ctx().project;
        let files = &self.opened.files;
        let log = SessionLog::of(&store::journals::sessions_folders(project), session);
        let run = store::session::driven_run(&project.root, &files.root, &files.own, &files.state);
        let _ = log.begin(self.clock().now, SessionEvent::Drives(run));
    }

    /// Returns who begins an attempt or a part of it, and for what.
    pub(super) fn attempt(&self, run: &Run, begin: &ChangeKind, planned: Option<&Next>) -> Option<Statement> {
        let ChangeKind::Begin { step, part, attempt, agent, .. } = begin else { return None };
        let (action, reason) = match planned {
            Some(next) => (next.action, next.reason.clone()),
            None if part.is_some() => (Action::Run, "it is done part by part".to_owned()),
            None => return None,
        };
        let half_made = planned.and_then(|next| next.half_made.clone());
        let (step, part, agent, at) = (step.clone(), part.clone(), agent.clone(), self.clock().now);
        let needs_head = run.step(&step).is_some_and(workflow_file::needs_head);
        let head = if needs_head { store::git::head(self.opened.base()).and_then(|head| head.sha) } else { None };
        let (attempt, about, driver) = (*attempt, About::default(), None);
        let attempt = Attempt { step, part, at, attempt, agent, action, reason, head, half_made, about, driver };
        Some(Statement { run: run.id.as_str().to_owned(), dialect: run.dialect, kind: StatementKind::Begun(attempt) })
    }

    /// Returns the digests of a finished step's outputs, and of what a gate approves, so that a later plan can tell whether they changed.
    pub(super) fn record(&self, run: &Run, change: &Change) -> Option<EvidenceRecord> {
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
        Some(EvidenceRecord {
            at: change.at,
            run: run.id.as_str().to_owned(),
            step: step.id.clone(),
            head: store::git::head(&head_of).and_then(|head| head.sha),
            outputs: store::describe(base, &paths),
            definition: self.opened.definition_digest(step),
        })
    }

    /// Returns the outputs that are recorded for a step.
    fn recorded_outputs(&self, run: &Run, step: &Step) -> Vec<RelPath> {
        let records = self.opened.records();
        let last = records.iter().rfind(|record| record.run == run.id.as_str() && record.step == step.id);
        last.map(|record| record.outputs.iter().map(|output| output.path.clone()).collect()).unwrap_or_default()
    }

    /// Appends a block to the log of rollbacks for people.
    pub(super) fn append_rollback_log(&self, log: &RelPath, block: &str) -> Option<Finding> {
        unwritten(log.as_str(), store::journal::append_block(&self.opened.files.root, log, block))
    }
}

/// Returns a finding if something could not be written.
fn unwritten(what: &str, written: Result<(), StoreError>) -> Option<Finding> {
    let message = format!("the checkpoint is written, but not {what}: {}", written.err()?);
    Some(Finding::new(FindingCode::RecordUnwritten, message).fix(Suggested::new(Verb::Doctor)))
}
