//! A run that is locked and loaded: the only way to write its state.

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{
    OpError, client_sessions, commit,
    draft::{ChangeDraft, PreparedChange},
    lifecycle::gone,
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    run_location::{RunLocation, header_bytes},
    trust, versions,
};
use crate::{
    dialect::by_id,
    engine::{self, ChangeLimits, Planned, Refusal, RefusalKind},
    model::{
        About, Candidate, Change, ChangeKind, Clock, Content, Edit, EditKind, Entry, Evidence, Finding, Next, Outcome,
        Owner, RelPath, RollBack, RollBackRecord, Run, Statement, Status, StepId, Suggested, Timestamp, Verb,
        clean_line,
    },
    store::{self, Caller, CheckpointMeta, Environment, RunLock},
};

/// Characters of the open conditions in a message.
const CONDITION_CHARS: usize = 160;

/// The result of one change.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) run: String,
    pub(crate) change: &'static str,
    pub(crate) step: Option<StepId>,
    /// Whether it is about a part of the step.
    pub(crate) is_of_part: bool,
    /// Whether a step failed or was refused.
    pub(crate) is_setback: bool,
    /// The message if the state had the change already.
    pub(crate) already: Option<String>,
    pub(crate) message: String,
    /// The files that were written.
    pub(crate) files: Vec<RelPath>,
    pub(crate) edits: Vec<Edit>,
    /// Findings that `--force` overrode.
    pub(crate) findings: Vec<Finding>,
}

impl Written {
    /// Returns the result of a change that did nothing yet.
    pub(super) fn of(run: &Run, change: &'static str, step: Option<StepId>) -> Self {
        Self {
            run: run.id.as_str().to_owned(),
            change,
            step,
            is_of_part: false,
            is_setback: false,
            already: None,
            message: String::new(),
            files: Vec::new(),
            edits: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Tells whether the state may have moved.
    pub(super) fn moves_files(&self) -> bool {
        self.edits.iter().any(|edit| matches!(edit.kind, EditKind::Remove { .. }))
    }
}

/// A run that is locked and loaded: the only way to write changes.
#[derive(Debug)]
pub(crate) struct LockedRun<'a> {
    ctx: &'a ProjectContext,
    lock: RunLock,
    pub(crate) opened: OpenedRun,
    written: commit::Written,
}

impl<'a> LockedRun<'a> {
    /// Locks the run and loads it under the lock, to be written: what a killed writer left of a record is set aside.
    pub(crate) fn open(ctx: &'a ProjectContext, location: &RunLocation) -> Result<Self, OpError> {
        let locked = Self::open_as_it_is(ctx, location)?;
        let files = &locked.opened.files;
        let state = by_id(location.candidate.dialect).journal().truncated_tail(files);
        let own = state.map(|(path, sound)| (files.root.as_path(), path, sound));
        let beside = || {
            let journal = files.journal.as_ref()?;
            Some((journal.home.as_path(), journal.path.clone(), locked.opened.truncated_journal()?))
        };
        let Some((root, path, sound)) = own.or_else(beside) else { return Ok(locked) };
        store::set_tail_aside(&locked.lock, (root, &path), sound, files.clock.now)?;
        Self::loaded(ctx, location, locked.lock)
    }

    /// Locks the run and loads it under the lock, without a change to it.
    pub(crate) fn open_as_it_is(ctx: &'a ProjectContext, location: &RunLocation) -> Result<Self, OpError> {
        client_sessions::check_writable(ctx, location)?;
        trust::check(ctx, location)?;
        if let Some((_, run)) = location.own_run() {
            check_not_its_child(&ctx.environment, run).map_err(OpError::Refused)?;
        }
        let lock = store::lock_recorded(&ctx.project, &location.root, &location.candidate)?;
        if let Some((home, run)) = location.own_run()
            && let Some(header) = header_bytes(home, run)
        {
            // Derived data: the change does not depend on it.
            let _ = ctx.project.trusted.follow(run, &header, home);
        }
        Self::loaded(ctx, location, lock)
    }

    fn loaded(ctx: &'a ProjectContext, location: &RunLocation, lock: RunLock) -> Result<Self, OpError> {
        // After waiting for the lock, the time is read again.
        let clock = ctx.later();
        let files = store::file_set_locked(&ctx.project, &lock, &location.root, &location.candidate, clock);
        let opened = OpenedRun::new(location.candidate.clone(), files, &ctx.project.trusted);
        opened.check_journal()?;
        let opened = versions::offer_what_works(&ctx.project, opened);
        Ok(Self { ctx, lock, opened, written: commit::Written::default() })
    }

    /// Loads the run again, after a change was written. The old data is dropped first, so that a large run is never in memory
    /// twice.
    pub(crate) fn reload(self) -> Self {
        let Self { ctx, lock, opened, .. } = self;
        let (candidate, root, clock) = (opened.candidate.clone(), opened.files.root.clone(), opened.files.clock);
        drop(opened);
        let files = store::file_set_locked(&ctx.project, &lock, &root, &candidate, clock);
        let opened = OpenedRun::new(candidate, files, &ctx.project.trusted);
        Self { ctx, lock, opened, written: commit::Written::default() }
    }

    /// Loads the run again, where the change left it and under the lock there.
    pub(super) fn after(self, location: &RunLocation, written: &Written) -> Result<Self, OpError> {
        if !written.moves_files() {
            return Ok(self.reload());
        }
        let ctx = self.ctx;
        Self::open(ctx, &self.release_moved(location, written))
    }

    /// Releases the lock of a run whose state a change moved, because reading at another path takes the lock there. Returns the new
    /// location, with the evidence.
    pub(super) fn release_moved(self, location: &RunLocation, written: &Written) -> RunLocation {
        let ctx = self.ctx;
        drop(self);
        ctx.relocated(location, &written.files)
    }

    pub(super) const fn ctx(&self) -> &ProjectContext {
        self.ctx
    }

    /// Returns the time at which the run was locked, the timestamp of everything written under the lock.
    pub(crate) const fn clock(&self) -> Clock {
        self.opened.files.clock
    }

    pub(crate) const fn lock(&self) -> &RunLock {
        &self.lock
    }

    /// Refuses if another living process drives the run.
    pub(crate) fn check_not_driven(&self) -> Result<(), OpError> {
        let environment = &self.ctx.environment;
        let owner = store::local::owner(&self.opened.files.local, self.clock(), || Caller::find(environment));
        match store::local::merge_owners(owner, &self.opened.loaded.wanted.owner_processes, environment) {
            Owner::Live { description } => Err(OpError::LiveOwner(description)),
            Owner::None | Owner::Ours | Owner::Dead { .. } => Ok(()),
        }
    }

    /// Returns the run, unless another living process drives it or it moved since a revision.
    pub(super) fn checked_run(&self, if_revision: Option<&str>) -> Result<&Run, OpError> {
        self.check_not_driven()?;
        let run = self.opened.run()?;
        gone(&self.opened).map_or(Ok(()), |refusal| Err(OpError::Refused(refusal)))?;
        self.opened.check_revision(run, if_revision)?;
        Ok(run)
    }

    /// Returns the limits of a caller that overrides nothing.
    pub(crate) fn limits(&self) -> ChangeLimits {
        ChangeLimits::of(self.ctx.project.config.limits.attempts)
    }

    /// Returns the revision after a change: no other writer comes in between under the lock.
    pub(super) fn revision_after(self, written: &Written) -> String {
        let mut opened = self.opened;
        store::lay_edits_over(&mut opened.files, &opened.candidate.reads, &written.edits);
        opened.revision()
    }

    /// Gathers the evidence that a change is judged by, without git.
    pub(crate) fn evidence(&self) -> Evidence {
        self.ctx.evidence(&self.opened, false)
    }

    /// Admits, edits, checks and commits one change.
    pub(crate) fn apply(
        &self,
        kind: ChangeKind,
        evidence: &Evidence,
        limits: ChangeLimits,
    ) -> Result<Written, OpError> {
        self.apply_as(kind, evidence, limits, (self.ctx.about(), Value::Null))
    }

    /// [`LockedRun::apply`] as a given record, with a note.
    pub(super) fn apply_as(
        &self,
        kind: ChangeKind,
        evidence: &Evidence,
        limits: ChangeLimits,
        (about, note): (About, Value),
    ) -> Result<Written, OpError> {
        let change = self.stamped(kind);
        let (name, step) = (change.kind.as_str(), change.kind.step().cloned());
        let run = self.opened.run()?;
        let said = engine::statement(run, &change);
        let planned = if engine::asks_plan(run, &change.kind) { Some(self.planned(run, evidence)?) } else { None };
        let admitted = self.opened.admitted(evidence, change, limits, planned.as_ref())?;
        let draft = self.opened.drafted(admitted)?;
        let mut written = self.write(name, step, draft, None, (about, note))?;
        self.keep_words(run, said, &mut written)?;
        Ok(written)
    }

    /// Plans the run as it is, without options.
    fn planned(&self, run: &Run, evidence: &Evidence) -> Result<Planned, OpError> {
        let options = plan::options(self.ctx, run, &PlanRequest::default())?;
        Ok(plan::evaluate(&self.opened, run, evidence, &options))
    }

    /// Records what a person said with a decision that changes nothing.
    pub(super) fn keep_words(&self, run: &Run, said: Option<Statement>, written: &mut Written) -> Result<(), OpError> {
        let Some(said) = said.filter(|said| written.already.is_some() && said.note().is_some()) else { return Ok(()) };
        let is_known =
            self.opened.statements(run).iter().any(|known| known.step() == said.step() && known.note() == said.note());
        if !is_known {
            self.say(written.change, vec![said])?;
            written.message.push_str("; what was said with it is recorded");
        }
        Ok(())
    }

    /// Makes statements about the run durable.
    pub(super) fn say(&self, change: &str, said: Vec<Statement>) -> Result<(), OpError> {
        let step = said.first().and_then(Statement::step).cloned();
        self.commit(Entry { said, ..self.entry(change, step) }, Vec::new()).map(drop)
    }

    /// Returns the entry of a change at the time of the lock, with nothing said.
    pub(super) fn entry(&self, change: &str, step: Option<StepId>) -> Entry {
        self.entry_of(self.ctx.about(), change, step)
    }

    /// [`LockedRun::entry`] of a given record.
    pub(super) fn entry_of(&self, about: About, change: &str, step: Option<StepId>) -> Entry {
        Entry { about, ..Entry::new(change, step, self.clock().now) }
    }

    /// Returns a change with the time of the lock, without secrets.
    pub(super) fn stamped(&self, kind: ChangeKind) -> Change {
        Change { at: self.clock().now, kind: kind.without_secrets() }
    }

    /// Commits a change that was drafted. `planned` is what the plan says about a step that begins.
    pub(super) fn write(
        &self,
        name: &'static str,
        step: Option<StepId>,
        draft: ChangeDraft,
        planned: Option<&Next>,
        (about, note): (About, Value),
    ) -> Result<Written, OpError> {
        let run = self.opened.run()?;
        let mut written = Written::of(run, name, step);
        let PreparedChange { change, edits, findings } = match draft {
            ChangeDraft::Checkpoint(drafted) => drafted,
            ChangeDraft::Already(message) => return Ok(Written { already: Some(message.clone()), message, ..written }),
        };
        written.findings = findings;
        let said = engine::statement(run, &change).into_iter().chain(self.attempt(run, &change.kind, planned));
        let (said, left) = (said.collect(), self.record(run, &change).into_iter().collect());
        let (part, reopens) = (change.kind.part().map(str::to_owned), change.kind.reopens().to_vec());
        let entry = self.entry_of(about, change.kind.as_str(), change.kind.step().cloned());
        let entry = Entry { said, left, note, part, reopens, ..entry };
        let (_, edits) = self.commit(entry, edits)?;
        written.message = message(run, &change.kind);
        written.is_of_part = change.kind.part().is_some();
        written.is_setback = matches!(&change.kind, ChangeKind::Finish(outcome) if outcome.status == Status::Failed);
        written.files = edits.iter().map(|edit| edit.path.clone()).collect();
        written.edits = edits;
        Ok(written)
    }

    /// Writes edits as one checkpoint of a change of which nothing is said.
    pub(crate) fn commit_as(&self, change: &str, edits: Vec<Edit>) -> Result<(), OpError> {
        self.commit_something(self.entry(change, None), edits)
    }

    /// Writes edits and an entry as one checkpoint, unless the edits change nothing and nothing is said.
    pub(super) fn commit_something(&self, entry: Entry, mut edits: Vec<Edit>) -> Result<(), OpError> {
        edits.retain(Edit::changes_something);
        if edits.is_empty() && !entry.says_something() {
            return Ok(());
        }
        self.commit(entry, edits).map(drop)
    }

    /// Writes edits and an entry of the journal as one checkpoint. Returns the name of the version that they replaced, and the edits as
    /// they were made. The only way to write a state file.
    pub(crate) fn commit(&self, entry: Entry, edits: Vec<Edit>) -> Result<(Option<String>, Vec<Edit>), OpError> {
        let sound = self.opened.loaded.run.as_ref().is_some_and(|run| !run.degraded);
        let replaced = edits.iter().filter(|edit| sound && matches!(edit.kind, EditKind::Replace { .. }));
        let Self { opened, .. } = self;
        // One beside the state is made where its system relies on it, else only kept current.
        let backup_of = |path: &RelPath| {
            let backup = opened.dialect.copies().backup_of(path)?;
            (opened.dialect.copies().makes_backups() || opened.files.files.contains_key(&backup)).then_some(backup)
        };
        let meta = CheckpointMeta {
            step: entry.step.clone(),
            backup: replaced.filter_map(|edit| Some((edit.path.clone(), backup_of(&edit.path)?))).collect(),
            ..CheckpointMeta::new(&entry.change)
        };
        self.written.commit(opened, &self.lock, entry, (edits, &meta))
    }

    /// Commits a state of a run in the place of one that may not have told which run it is of.
    pub(super) fn commit_restored(&self, run: Option<&Run>, entry: Entry, edits: Vec<Edit>) -> Result<(), OpError> {
        let candidate = &self.opened.candidate;
        let named = run.filter(|run| !candidate.is_named && run.id.as_str() != candidate.name);
        let named = named.map(|run| Candidate { name: run.id.as_str().to_owned(), ..candidate.clone() });
        match named.and_then(|named| store::journals::of(&self.ctx.project, &named)) {
            Some(journal) => commit::commit_to(&self.opened.trusted, &self.lock, &journal, entry, &edits),
            None => self.commit(entry, edits).map(drop),
        }
    }

    /// Removes every state file; the journal has their contents. Returns its folder; absolute.
    pub(super) fn archive_in_journal(&self, record: Entry) -> Result<Utf8PathBuf, OpError> {
        let files = &self.opened.files;
        let run = self.opened.loaded.run.as_ref();
        let state = run.map_or_else(|| vec![files.state.clone()], |run| run.state_files.clone());
        let backups = state.iter().filter_map(|path| self.opened.dialect.copies().backup_of(path));
        let edits = self.removals(&state.iter().cloned().chain(backups).collect::<Vec<_>>())?;
        let is_elsewhere = files.root != self.ctx.project.root;
        let note = if is_elsewhere { json!({"worktree": files.root.file_name()}) } else { Value::Null };
        self.commit(Entry { note, ..record }, edits)?;
        let folder = files.journal.as_ref().and_then(|journal| Some(journal.file().parent()?.to_owned()));
        Ok(folder.unwrap_or_default())
    }

    /// Moves existing files into a folder: all of them or none.
    pub(super) fn move_files(&self, record: Entry, files: &[RelPath], folder: &RelPath) -> Result<(), OpError> {
        let mut edits = Vec::new();
        for removal in self.removals(files)? {
            if let EditKind::Remove { before } = &removal.kind {
                let kind = EditKind::Create { after: before.to_vec() };
                edits.push(Edit { path: folder.join(removal.path.name())?, kind });
            }
            edits.push(removal);
        }
        self.commit_something(record, edits)
    }

    /// Returns the edits that remove existing files.
    fn removals(&self, files: &[RelPath]) -> Result<Vec<Edit>, OpError> {
        files.iter().try_for_each(|path| self.opened.check_readable(path))?;
        let content = |path: &RelPath| Some(&self.opened.files.files.get(path)?.content);
        let removal = |path: &RelPath| match content(path)? {
            Content::Bytes(before) => {
                Some(Edit { path: path.clone(), kind: EditKind::Remove { before: before.clone() } })
            }
            Content::NameOnly | Content::Problem(_) => None,
        };
        Ok(files.iter().filter_map(removal).collect())
    }
}

fn message(run: &Run, kind: &ChangeKind) -> String {
    let of = |part: &Option<String>| part.as_ref().map_or_else(String::new, |part| format!("part {part} of "));
    match kind {
        ChangeKind::Begin { step, part, attempt, .. } => {
            format!("{}{step} is in progress (attempt {attempt})", of(part))
        }
        ChangeKind::Finish(outcome) if outcome.accepts => format!("{} is accepted by a person", outcome.step),
        ChangeKind::Finish(outcome) if outcome.amends => amended(outcome),
        ChangeKind::Finish(outcome) => match outcome.verdict {
            Some(verdict) if verdict.approves() && outcome.conditions.is_empty() => {
                format!("{} is {} ({verdict})", outcome.step, outcome.status)
            }
            Some(verdict) if verdict.approves() => {
                let conditions = clean_line(&outcome.conditions.join("; "), CONDITION_CHARS);
                format!("{} is {verdict}; it stays open until this is met: {conditions}", outcome.step)
            }
            Some(verdict) => format!("{} is {verdict}", outcome.step),
            None if outcome.status == Status::Failed => format!("{}{} failed", of(&outcome.part), outcome.step),
            None => format!("{}{} is {}", of(&outcome.part), outcome.step, outcome.status),
        },
        ChangeKind::Approve { step, .. } => format!("{step} is approved"),
        ChangeKind::Skip { step, part, .. } => format!("{}{step} is skipped", of(part)),
        ChangeKind::Pause { .. } => "the run is paused".to_owned(),
        ChangeKind::Abort { .. } => "the run is aborted; its state is kept".to_owned(),
        ChangeKind::Resume { .. } => "the run continues".to_owned(),
        ChangeKind::Complete { .. } if run.workspace.clean_up.is_empty() => "the run is complete".to_owned(),
        ChangeKind::Complete { .. } => format!("the run is complete; clean up: {}", run.workspace.clean_up.join(", ")),
        ChangeKind::Repair { branch: Some(branch) } => format!("the branch of the run is {branch}"),
        ChangeKind::Repair { branch: None } => "the state is rebuilt from evidence".to_owned(),
        ChangeKind::RollBack(back) => format!("the run is rolled back to {}", back.to),
        ChangeKind::Start(spec) => format!("run {} has begun", spec.feature),
    }
}

/// Returns what was added to the record of a step.
fn amended(outcome: &Outcome) -> String {
    match &outcome.to_step {
        Some(to) => format!("the failure of {} goes back to {to}", outcome.step),
        None => format!("it is added to what is recorded about {}", outcome.step),
    }
}

/// Returns the record of a rollback, for later plans.
pub(super) fn back_record(run: &Run, at: Timestamp, back: &RollBack) -> RollBackRecord {
    let (to, reopened) = (back.to.clone(), back.reopened.clone());
    RollBackRecord { at, run: run.id.as_str().to_owned(), to, reopened, commits: Vec::new() }
}

/// Refuses to a child of a step that the runner carries out to change the run: the runner records the step.
pub(crate) fn check_not_its_child(environment: &Environment, run: &str) -> Result<(), Refusal> {
    let Some((_, step)) = environment.step.as_ref().filter(|(own, _)| own == run) else { return Ok(()) };
    let message = format!(
        "`{}` carries out step {step} of {run} and records it; this process is part of that step",
        Suggested::new(Verb::Run)
    );
    let hints = vec![
        "leave it to the runner: an agent ends its last message with the report, a command with its exit code".into(),
    ];
    Err(Refusal { kind: RefusalKind::Conflict, message, hints })
}
