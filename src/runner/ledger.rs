//! The records of a session: every change is admitted, chained to the one before it, and durable before anything else happens.
//!
//! The ledger keeps the end of the journal in memory, so each record is one short append.

use std::{collections::BTreeMap, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::error::RunError;
use crate::{
    dialect::piton::{
        self, Session,
        facts::{Act, BegunStep, Captured, Facts, ItemProgress, PassedStep, RunnerAct},
        record::{Event, Header, JOURNAL, JournalEnd, MergeRecord, SNAPSHOT},
        snapshot,
        state::{RunPhase, State, StepState},
    },
    engine::{self, Admitted, ChangeLimits, EffectiveStatus, LiveRun, StepDue},
    model::{
        About, Attempt, Change, ChangeKind, ClaudeWork, Content, Edit, EditKind, Entry, Evidence, EvidenceRecord,
        Options, Outcome, Part, PartKind, Proof, RelPath, Run, RunFolder, RunStatus, StartSpec, Statement,
        StatementKind, Status, Step, StepId, Timestamp, Uid,
    },
    store::{self, Caller, CheckpointMeta, RunLock, StoreError, Ticker, briefs::BriefFile},
    workflow::Workflow,
};

/// The number of records between two snapshots: two for each of a hundred steps.
const SNAPSHOT_EVERY: u64 = 200;
/// Larger values are stored in a separate file.
const INLINE_LIMIT: usize = 1 << 20;

/// The location of the records of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionPaths {
    /// The folder of the session, in the home of all sessions of the repository.
    pub(super) own: RunFolder,
    pub(super) lock_timeout: Duration,
}

/// The recorded state of a run, and the writer of its journal.
#[derive(Debug)]
pub(super) struct Ledger {
    paths: SessionPaths,
    header: Header,
    ticker: Ticker,
    caller: Caller,
    /// The name of this process as a driver.
    driver: Option<Uid>,
    journal_end: JournalEnd,
    state: State,
    /// The same state as the engine's run.
    run: LiveRun,
    /// The index of each step in it.
    positions: BTreeMap<String, usize>,
    /// What was said about the run, oldest first.
    said: Vec<Statement>,
    /// The last record that the latest snapshot covers.
    snapshot_seq: u64,
    /// The run was aborted, and its last steps run.
    is_given_up: bool,
    /// The steps that must not run twice of which it was found out whether they took effect.
    acts: BTreeMap<StepId, bool>,
}

impl SessionPaths {
    pub(super) fn lock(&self) -> Result<RunLock, RunError> {
        Ok(RunLock::acquire(&self.own.home, &self.own, self.lock_timeout)?)
    }

    /// Returns the absolute folder of the session.
    pub(super) fn folder(&self) -> Utf8PathBuf {
        self.own.absolute()
    }

    fn file(&self, name: &str) -> RelPath {
        self.own.path.join(name).expect("a constant name")
    }
}

impl Ledger {
    /// Returns the ledger of a run, with the evidence of what was done before and what people decided about its steps.
    pub(super) fn new(
        paths: SessionPaths,
        (ticker, caller): (Ticker, Caller),
        session: Session,
        (mut run, evidence): (Run, Evidence),
    ) -> Self {
        let is_judged =
            |step: &Step| !evidence.files.is_empty() && matches!(step.status, Status::Completed | Status::InProgress);
        run.steps.iter_mut().filter(|step| !is_judged(step)).for_each(|step| step.proof = Proof::default());
        let positions = run.steps.iter().zip(0..).map(|(step, at)| (step.id.as_str().to_owned(), at)).collect();
        let Session { header, state, journal_end, entries, .. } = session;
        let said: Vec<Statement> = entries.into_iter().flat_map(|entry| entry.said).collect();
        let decisions = said.iter().filter(|statement| matches!(statement.kind, StatementKind::Decision(_)));
        let statements = decisions.cloned().collect();
        let run = LiveRun::new(run, Evidence { statements, ..evidence });
        let (snapshot_seq, is_given_up) = (journal_end.seq, false);
        let acts = BTreeMap::new();
        let driver = caller.driver(&paths.own.home);
        Self {
            driver,
            paths,
            header,
            ticker,
            caller,
            snapshot_seq,
            journal_end,
            state,
            run,
            positions,
            said,
            is_given_up,
            acts,
        }
    }

    pub(super) const fn state(&self) -> &State {
        &self.state
    }

    pub(super) const fn run(&self) -> &Run {
        self.run.run()
    }

    /// Returns the evidence of what was done before, and what people decided about the run.
    pub(super) const fn evidence(&self) -> &Evidence {
        self.run.evidence()
    }

    /// Returns what the record and the evidence say of a step, by position.
    pub(super) fn effective_status(&self, at: usize) -> Option<EffectiveStatus> {
        self.run.effective_status(at)
    }

    /// Tells whether a person wants a step done again, by position.
    pub(super) fn is_redone(&self, at: usize) -> bool {
        self.run.is_redone(at)
    }

    /// Returns the steps that are due, in the order of the plan.
    pub(super) fn order(&self, options: &Options) -> Vec<StepDue> {
        self.run.order(options)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.ticker.now().now
    }

    /// Returns the recorded state of a step.
    pub(super) fn step(&self, id: &StepId) -> Option<&StepState> {
        self.state.steps.get(id.as_str()).map(Box::as_ref)
    }

    /// Takes note of whether a step that must not run twice took effect: then it is left as it is also where what it builds on is done
    /// again, else it may run.
    pub(super) fn found_out(&mut self, step: &StepId, took_effect: bool) {
        self.acts.insert(step.clone(), took_effect);
    }

    /// Tells whether it was found out that a step that must not run twice took effect.
    pub(super) fn has_acted(&self, step: &StepId) -> bool {
        self.acts.get(step) == Some(&true)
    }

    /// Admits a change and makes it durable. `force`: a person chose to repeat a finished step.
    pub(super) fn record(&mut self, kind: ChangeKind, facts: Facts, force: bool) -> Result<(), RunError> {
        // The items that passed are not repeated then.
        let repeats = facts.keeps_items || kind.step().is_some_and(|step| self.acts.get(step) == Some(&false));
        self.admit(kind, facts, ChangeLimits { force, repeats, ..ChangeLimits::of(u32::MAX) }, false)
    }

    /// Records that a step is skipped by its condition, or with one that it depends on.
    pub(super) fn leave_out(&mut self, step: StepId, why: &str, force: bool) -> Result<(), RunError> {
        let kind = ChangeKind::Skip { step, part: None, by: None, reason: why.to_owned() };
        let limits = ChangeLimits { force, with_gates: true, ..ChangeLimits::of(u32::MAX) };
        self.admit(kind, Facts { is_unmet: true, ..Facts::default() }, limits, false)
    }

    /// Records how work of an agent ended, with what it said: that reaches the steps that build on it, as with `piton finish`.
    pub(super) fn record_report(&mut self, outcome: Outcome, facts: Facts) -> Result<(), RunError> {
        self.admit(ChangeKind::Finish(Box::new(outcome)), facts, ChangeLimits::of(u32::MAX), true)
    }

    /// The `retry` of a step limits its tries, not the engine.
    fn admit(&mut self, kind: ChangeKind, facts: Facts, limits: ChangeLimits, is_said: bool) -> Result<(), RunError> {
        let at = self.ticker.now().now;
        match self.run.admit(Change { at, kind }, ChangeLimits { knows_outcome: true, ..limits })? {
            Admitted::Change { change, .. } => {
                let said = if is_said { engine::statement(self.run.run(), &change) } else { None };
                let entry = said.map(|said| {
                    self.said.push(said.clone());
                    let entry = Entry::new(change.kind.as_str(), change.kind.step().cloned(), at);
                    Box::new(Entry { said: vec![said], ..entry })
                });
                let reopens =
                    change.kind.reopens().iter().filter(|step| !self.has_acted(step)).cloned().collect::<Vec<_>>();
                if let ChangeKind::Begin { step, .. } = &change.kind {
                    std::iter::once(step).chain(&reopens).for_each(|step| self.forget_proof(step));
                }
                self.append(Event::Change(change), Facts { reopens, entry, ..facts })
            }
            Admitted::Already(_) => Ok(()),
        }
    }

    /// From its begin on, the runner checks the outputs of a step itself, before it ends.
    fn forget_proof(&mut self, step: &StepId) {
        let Some(at) = self.positions.get(step.as_str()) else { return };
        if self.run.run().steps.get(*at).is_some_and(|step| !step.proof.outputs.is_empty()) {
            self.run.update(*at, |step| step.proof = Proof::default());
        }
    }

    fn append(&mut self, event: Event, facts: Facts) -> Result<(), RunError> {
        let (name, step) = match &event {
            Event::Change(change) => (change.kind.as_str(), change.kind.step().cloned()),
            Event::Runner(act) => (act.act.as_str(), act.act.step().cloned()),
            Event::Base(_) => ("base", None),
            Event::Merge(merge) => ("merge", Some(merge.step.clone())),
            Event::Note(()) => ("note", None),
        };
        let about = About::new(store::new_uid(), self.driver);
        let record = self.journal_end.next(&self.state.standing, about, event, facts);
        let (bytes, journal_end) = self.journal_end.append(&record);
        let kind = EditKind::Append { before_len: self.journal_end.length, bytes };
        let edit = Edit { path: self.paths.file(JOURNAL), kind };
        let lock = self.paths.lock()?;
        store::commit(&lock, &[edit], &CheckpointMeta { step: step.clone(), ..CheckpointMeta::new(name) })?;
        self.driver.map_or(Ok(true), |name| store::local::refresh(&lock, self.ticker.now(), (&self.caller, name)))?;
        drop(lock);
        let mut changed = record.facts.reopens.clone();
        if let Event::Change(Change { kind: ChangeKind::Begin { step, .. }, .. }) = &record.event {
            changed.extend(self.state.left_out_behind(step));
        }
        self.state.apply(&record);
        self.journal_end = journal_end;
        self.update_run(step.as_ref(), &changed);
        if self.journal_end.seq - self.snapshot_seq >= SNAPSHOT_EVERY { self.snapshot() } else { Ok(()) }
    }

    /// Copies the recorded state of one step and of those that it reopened into the run, or of all steps.
    fn update_run(&mut self, step: Option<&StepId>, reopened: &[StepId]) {
        self.run.set_status(match self.state.run.status {
            RunPhase::Aborted if self.is_given_up => RunStatus::Active,
            RunPhase::Active => RunStatus::Active,
            RunPhase::Paused => RunStatus::Paused,
            RunPhase::Completed => RunStatus::Completed,
            RunPhase::Aborted => RunStatus::Aborted,
        });
        if step.is_none_or(|step| !self.positions.contains_key(step.as_str())) {
            return self.run.update_all(|step| copy(&self.state, step));
        }
        for at in step.into_iter().chain(reopened).filter_map(|step| self.positions.get(step.as_str())) {
            self.run.update(*at, |step| copy(&self.state, step));
        }
    }

    /// Sets the parts of a step.
    pub(super) fn set_parts(&mut self, step: &StepId, names: &[String]) {
        let parts = names.iter().map(|name| Part {
            name: name.clone(),
            title: name.clone(),
            kind: PartKind::Work,
            status: Status::Pending,
            output: None,
            commands: Vec::new(),
        });
        if let Some(at) = self.positions.get(step.as_str()) {
            self.run.update(*at, |step| {
                step.detail.parts = parts.collect();
                copy(&self.state, step);
            });
        }
    }

    /// Returns an attempt that goes on and that a shell began which may have ended since: nothing says whether its agent is at work.
    pub(super) fn begun_from_a_shell(&self) -> Option<&Attempt> {
        let mut begun = self.said.iter().filter_map(Statement::attempt);
        begun.rfind(|attempt| attempt.about.driver.is_none() && self.state.standing.goes_on(attempt))
    }

    /// Returns what agents said about the items of a step, by item.
    pub(super) fn item_reports(&self, step: &StepId) -> BTreeMap<String, String> {
        let said = self.said.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Report(report) if report.step == *step => {
                Some((report.part.clone()?, report.summary.clone()?))
            }
            StatementKind::Report(_) | StatementKind::Decision(_) | StatementKind::Begun(_) => None,
        });
        said.collect()
    }

    /// Records the digests of the outputs of a step that an agent did by hand, as `piton finish` does. Called once its end is recorded: before
    /// that they would say that the state is an older one.
    pub(super) fn record_outputs(
        &mut self,
        step: &StepId,
        (folder, outputs): (&Utf8Path, &[RelPath]),
        definition: Option<String>,
    ) -> Result<(), RunError> {
        let record = EvidenceRecord {
            at: self.now(),
            run: self.run().id.as_str().to_owned(),
            step: step.clone(),
            head: store::git::head(folder).and_then(|head| head.sha),
            outputs: store::describe(folder, outputs),
            definition,
        };
        let entry = Entry { left: vec![record], ..Entry::new("outputs", Some(step.clone()), self.now()) };
        self.append(Event::Note(()), Facts { entry: Some(Box::new(entry)), ..Facts::default() })
    }

    /// Returns HEAD when the agent of a step last began it by hand, if the step needs that.
    pub(super) fn head_of_agent(&self, step: &StepId) -> Option<String> {
        self.said.iter().rev().find_map(|statement| match &statement.kind {
            StatementKind::Begun(attempt) if attempt.step == *step => attempt.head.clone(),
            StatementKind::Begun(_) | StatementKind::Report(_) | StatementKind::Decision(_) => None,
        })
    }

    /// Writes the brief of a step for its agent, and returns the path.
    pub(super) fn write_brief(&self, step: &StepId, brief: &str) -> Result<Utf8PathBuf, StoreError> {
        let lock = RunLock::acquire(&self.paths.own.home, &self.paths.own, self.paths.lock_timeout)?;
        store::briefs::write(&lock, BriefFile::Brief, &self.run().id, step, brief.as_bytes())
    }

    /// Removes the brief of a step, if nothing else is at the run.
    pub(super) fn remove_brief(&self, step: &StepId) {
        if let Ok(lock) = self.paths.lock() {
            store::briefs::remove(&lock, &self.run().id, step);
        }
    }

    /// Returns the recorded items of a step.
    pub(super) fn items(&self, step: &StepId) -> Option<Vec<Value>> {
        self.step(step)?.items.clone()
    }

    pub(super) fn is_part_done(&self, step: &StepId, part: &str) -> bool {
        let status = self.step(step).and_then(|step| step.parts.get(part));
        status.is_some_and(|status| status.satisfies())
    }

    /// Tells whether a part was begun and did not end.
    pub(super) fn is_part_begun(&self, step: &StepId, part: &str) -> bool {
        self.step(step).and_then(|step| step.parts.get(part)) == Some(&Status::InProgress)
    }

    /// Records that a part begins, with all items when they are not recorded yet.
    pub(super) fn begin_part(&mut self, step: &StepId, part: &str, items: &[Value]) -> Result<(), RunError> {
        let is_known = self.step(step).is_some_and(|step| step.items.as_deref() == Some(items));
        let facts = Facts { items: (!is_known).then(|| items.to_vec()), ..Facts::default() };
        let kind = ChangeKind::Begin {
            step: step.clone(),
            part: Some(part.to_owned()),
            agent: None,
            attempt: 0,
            reopens: Vec::new(),
        };
        self.record_begun_part(kind, facts)
    }

    /// Records the begin of a part of a step that this process runs: a step that must not run twice was not cut off.
    fn record_begun_part(&mut self, kind: ChangeKind, facts: Facts) -> Result<(), RunError> {
        let limits = ChangeLimits { force: true, repeats: true, ..ChangeLimits::of(u32::MAX) };
        self.admit(kind, facts, limits, false)
    }

    /// Records that a part of a step begins or is done: the last of its parts so far.
    pub(super) fn record_part(
        &mut self,
        step: &StepId,
        parts: &[String],
        is_done: bool,
        facts: Facts,
    ) -> Result<(), RunError> {
        self.set_parts(step, parts);
        let part = parts.last().cloned();
        let kind = match is_done {
            true => ChangeKind::Finish(Box::new(Outcome { part, ..Outcome::completed(step.clone()) })),
            false => {
                let kind = ChangeKind::Begin { step: step.clone(), part, agent: None, attempt: 0, reopens: Vec::new() };
                return self.record_begun_part(kind, facts);
            }
        };
        self.record(kind, facts, false)
    }

    /// Tells whether a step of the merge is done by its current definition.
    pub(super) fn is_merged_by(&self, step: &StepId, digest: &str) -> bool {
        let done = self.state.run.merge.as_ref().and_then(|done| done.get(step.as_str()));
        done.is_some_and(|done| done == digest)
    }

    /// Records that a step of the merge begins, or with the digest of its definition that it is done.
    pub(super) fn record_merge(&mut self, step: &StepId, done: Option<String>, facts: Facts) -> Result<(), RunError> {
        let merge = MergeRecord { at: self.now(), step: step.clone(), done };
        self.append(Event::Merge(merge), facts)
    }

    /// Records that the run is given up; the steps that run at its end can still be recorded.
    pub(super) fn give_up(&mut self) -> Result<(), RunError> {
        self.is_given_up = true;
        if self.state.run.status == RunPhase::Aborted {
            self.run.set_status(RunStatus::Active);
            return Ok(());
        }
        let reason = Some("dropped".to_owned());
        self.record(ChangeKind::Abort { reason, by: None }, Facts::default(), false)
    }

    /// Records something that the runner does besides the steps.
    pub(super) fn runner_does(&mut self, act: Act) -> Result<(), RunError> {
        self.append(Event::Runner(RunnerAct { at: self.now(), act }), Facts::default())
    }

    /// Records that a step of a group that must not run twice begins for an item.
    pub(super) fn begin_item_step(&mut self, step: &StepId, item: &str, begun: BegunStep) -> Result<(), RunError> {
        self.runner_does(Act::ItemStepBegins { step: step.clone(), item: item.to_owned(), begun })
    }

    /// Records how many steps of a group passed for an item, with how the last of them ended and what it left.
    pub(super) fn record_item_step(
        &mut self,
        step: &StepId,
        (item, passed): (&str, usize),
        last: PassedStep,
        claude: ClaudeWork,
    ) -> Result<(), RunError> {
        let PassedStep { ended, variables, said } = last;
        let act = Act::ItemStep { step: step.clone(), item: item.to_owned(), passed, ended, said };
        let facts = Facts { variables, claude, ..Facts::default() };
        self.append(Event::Runner(RunnerAct { at: self.now(), act }), facts)
    }

    /// Restarts the session from its first step.
    pub(super) fn start_again(&mut self, workflow: &Workflow, facts: Facts) -> Result<(), RunError> {
        let spec = StartSpec::new(&workflow.name, self.run().id.as_str());
        self.record(ChangeKind::Start(Box::new(spec)), facts, true)
    }

    /// Records the state of the snapshot where it is newer than the journal.
    pub(super) fn catch_up(&mut self) -> Result<(), RunError> {
        if self.state.seq <= self.journal_end.seq {
            return Ok(());
        }
        self.append(Event::Base(Box::new(self.state.clone())), Facts::default())?;
        // The old snapshot counts more records than the journal has.
        self.snapshot()
    }

    /// Writes a snapshot of the state.
    pub(super) fn snapshot(&mut self) -> Result<(), RunError> {
        let path = self.paths.file(SNAPSHOT);
        let after = snapshot::write(&self.header.session, &self.state, &self.journal_end);
        let lock = self.paths.lock()?;
        let kind = match store::read_file(&self.paths.own.home, &path) {
            Content::Bytes(before) => EditKind::Replace { before, after },
            Content::NameOnly | Content::Problem(_) => EditKind::Create { after },
        };
        store::commit(&lock, &[Edit { path, kind }], &CheckpointMeta::new("snapshot"))?;
        self.snapshot_seq = self.journal_end.seq;
        Ok(())
    }

    /// Releases the lease of the run.
    pub(super) fn release(&self) -> Result<(), RunError> {
        Ok(store::local::release(&self.paths.lock()?, self.ticker.now(), &self.caller)?)
    }

    /// Returns a value as it is recorded; a large one is written to a file first.
    pub(super) fn keep(&self, value: Value) -> Result<Captured, String> {
        let large = match &value {
            Value::String(text) if text.len() > INLINE_LIMIT => Some(value.to_string()),
            Value::Array(_) | Value::Object(_) => Some(value.to_string()).filter(|text| text.len() > INLINE_LIMIT),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        let Some(text) = large else { return Ok(Captured::Inline { value }) };
        let sha256 = crate::model::sha256_hex(text.as_bytes());
        let stored = RelPath::parse(&format!("captures/{sha256}.json")).expect("hex digits");
        super::files::write_private(&stored.under(&self.paths.folder()), text.as_bytes())
            .map_err(|error| format!("{stored}: {error}"))?;
        Ok(Captured::Stored { stored, bytes: text.len() as u64, sha256 })
    }

    /// Returns the value of a captured variable, or for `step.ID.status` how a step ended.
    pub(super) fn variable(&self, name: &str) -> Result<Option<Value>, String> {
        if let Some(step) = piton::status_of(name) {
            return Ok(Some(Value::from(self.state.end_of(step))));
        }
        match self.state.variable(name) {
            None => Ok(None),
            Some(captured) => self.value(captured).map(Some),
        }
    }

    /// Returns a recorded value.
    pub(super) fn value(&self, captured: &Captured) -> Result<Value, String> {
        match captured {
            Captured::Inline { value } => Ok(value.clone()),
            Captured::Stored { stored, sha256, .. } => {
                let text = super::files::read(&stored.under(&self.paths.folder()))?;
                if crate::model::sha256_hex(text.as_bytes()) != *sha256 {
                    return Err(format!("{stored} was changed since the step wrote it"));
                }
                serde_json::from_str(&text).map_err(|error| format!("{stored}: {error}"))
            }
        }
    }

    /// Records that of the steps that passed for an item only the first ones count.
    pub(super) fn keep_item_steps(&mut self, step: &StepId, item: &str, kept: usize) -> Result<(), RunError> {
        let progress = self.item_progress(step, item).filter(|progress| progress.passed.len() > kept);
        let Some(progress) = progress else { return Ok(()) };
        let last = kept.checked_sub(1).map(|last| progress.passed[last].clone()).unwrap_or_default();
        self.record_item_step(step, (item, kept), last, ClaudeWork::default())
    }

    /// Returns how far an item has come for which a group of steps runs.
    pub(super) fn item_progress(&self, step: &StepId, item: &str) -> Option<&ItemProgress> {
        self.step(step)?.item_progress.get(item)
    }
}

/// Copies the recorded state of a step into the step.
fn copy(state: &State, step: &mut Step) {
    let untouched = StepState::default();
    let state = state.steps.get(step.id.as_str()).map_or(&untouched, Box::as_ref);
    piton::copy_record(step, state);
    let cut_off: Vec<String> = state.cut_off_steps().into_iter().map(|step| step.part).collect();
    for part in &mut step.detail.parts {
        let unknown = if cut_off.contains(&part.name) { Status::InProgress } else { Status::Pending };
        part.status = state.parts.get(&part.name).copied().unwrap_or(unknown);
    }
}
