//! `begin`, `finish`, `approve`, `skip`, `pause`, `abort`, `complete`: admits one change and writes it.

use serde_json::Value;

use super::OpError;
use super::agent_report;
use super::configured;
use super::decide::approval_of_end;
use super::draft::ChangeDraft;
use super::draft::PreparedChange;
use super::lifecycle;
use super::lifecycle::Lifecycle;
use super::lifecycle::gone;
use super::plan;
use super::plan::PlanRequest;
use super::project_context::OpenedRun;
use super::project_context::ProjectContext;
use super::project_context::RunLocation;
use super::record;
use super::report::Body;
use super::report::CheckpointReport;
use super::report::Report;
use super::resolve::resolve_ids;
use super::restore;
use super::select;
use crate::dialect::StateHome;
use crate::dialect::by_id;
use crate::engine;
use crate::engine::ChangeLimits;
use crate::engine::Rebegin;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Clock;
use crate::model::Content;
use crate::model::Edit;
use crate::model::EditKind;
use crate::model::Evidence;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Next;
use crate::model::Options;
use crate::model::Owner;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::clean_line;
use crate::schema;
use crate::store;
use crate::store::CheckpointMeta;
use crate::store::RunLock;
use crate::store::StoreError;

/// Characters of the open conditions in a message.
const CONDITION_CHARS: usize = 160;

/// A change as typed; ids and parts are not yet resolved against the run.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRequest {
    pub(crate) kind: ChangeKind,
    pub(crate) force: bool,
    pub(crate) rebegin: Rebegin,
    pub(crate) if_revision: Option<String>,
}

impl ChangeRequest {
    /// Returns the request of a change that overrides nothing.
    pub(crate) fn of(kind: ChangeKind) -> Self {
        Self { kind, force: false, rebegin: Rebegin::No, if_revision: None }
    }

    /// Parses a change from JSON (`--json`), of the kind that matches the verb.
    pub(crate) fn from_json(text: &str, verb: &str) -> Result<ChangeKind, OpError> {
        let usage = |message: String| OpError::Usage { message, hints: vec!["piton schema change".to_owned()] };
        let mut value: Value =
            serde_json::from_str(text).map_err(|error| usage(format!("the change is not JSON: {error}")))?;
        let Some(object) = value.as_object_mut() else {
            return Err(usage("the change is not a JSON object".to_owned()));
        };
        // The recording process sets the time, so that timestamps never run backwards.
        object.insert("at".to_owned(), Value::String("1970-01-01T00:00:00Z".to_owned()));
        let kind = object.entry("change").or_insert_with(|| Value::String(verb.to_owned()));
        if kind.as_str() != Some(verb) {
            return Err(usage(format!("the change says {kind} and the command says {verb}")));
        }
        // A verdict is taken in the words that the flag takes, and implies its status, unless a status is given.
        if let Some(verdict) = object.get("verdict").and_then(Value::as_str).and_then(ReviewVerdict::parse) {
            object.insert("verdict".to_owned(), Value::String(verdict.as_str().to_owned()));
            let status = Value::String(verdict.status().as_str().to_owned());
            object.entry("status").or_insert(status);
        }
        if let Some(finding) = schema::validate(schema::Subject::Change, &value).into_iter().next() {
            return Err(usage(finding.message));
        }
        value.as_object_mut().map(|object| object.remove("at"));
        serde_path_to_error::deserialize(value)
            .map_err(|error| usage(format!("the change is wrong at `{}`: {}", error.path(), error.inner())))
    }
}

/// Reads the argument of `--json`: a file, or the standard input for `-`.
pub(crate) fn input(source: &str) -> Result<String, OpError> {
    Ok(store::text_input(source)?)
}

/// Records one change.
pub(crate) fn change(ctx: &ProjectContext, request: ChangeRequest) -> Result<Report, OpError> {
    let location = select::location(ctx)?;
    let locked = LockedRun::open(ctx, &location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    if let Some(decision) = approval_of_end(run, &request.kind, locked.clock().now) {
        let mut written = locked.decide(run, decision)?;
        if written.already.is_none() {
            "the merge is approved".clone_into(&mut written.message);
        }
        return Ok(report(ctx, &locked.opened, written));
    }
    let evidence = locked.evidence();
    let kind = agent_report::complete(&locked, run, &evidence, request.kind)?;
    let kind = resolve_ids(ctx, &locked.opened, run, kind)?;
    let limits = ChangeLimits { force: request.force, ..locked.limits() };
    locked.check_plan(run, &kind, &evidence)?;
    let ends_step = matches!(&kind, ChangeKind::Finish(outcome) if outcome.part.is_none());
    let mut written = locked.apply(kind, &evidence, limits)?;
    if let Some(step) = written.step.as_ref().filter(|_| ends_step) {
        store::briefs::remove(locked.lock(), &run.id, step);
    }
    written.findings.extend(locked.renew_lease(written.change));
    if written.moves_files() {
        let opened = follow(ctx, &location, locked, &mut written)?;
        return Ok(report(ctx, &opened, written));
    }
    // Still under the lock, so that the reported revision is that of this change.
    let (locked, approved) = configured::approve_locked(locked.reload())?;
    for approved in approved {
        written.message.push_str(&format!("; {approved} is approved by configuration"));
    }
    Ok(report(ctx, &locked.opened, written))
}

/// Reads a run where a change moved its state, and takes its evidence there.
pub(super) fn follow(
    ctx: &ProjectContext,
    location: &RunLocation,
    locked: LockedRun<'_>,
    written: &mut Written,
) -> Result<OpenedRun, OpError> {
    ctx.read(&locked.release_moved(location, written))
}

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
            edits: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Returns the files that were written.
    pub(super) fn files(&self) -> Vec<RelPath> {
        self.edits.iter().map(|edit| edit.path.clone()).collect()
    }

    /// Returns the command after a part of a step was changed.
    fn next_of_parts(&self, opened: &OpenedRun) -> Option<String> {
        let run = opened.loaded.run.as_ref().filter(|_| self.is_of_part)?;
        run.step(self.step.as_ref()?).map(|step| engine::after_part(step, &run.id))
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
}

impl<'a> LockedRun<'a> {
    /// Locks the run and loads it under the lock.
    pub(crate) fn open(ctx: &'a ProjectContext, location: &RunLocation) -> Result<Self, OpError> {
        location.check_writable()?;
        let lock = RunLock::acquire(&location.root, &location.candidate.data_dir, ctx.project.lock_timeout)?;
        // After waiting for the lock, the time is read again.
        let clock = ctx.later();
        let read = || store::file_set_locked(&ctx.project, &lock, &location.root, &location.candidate, clock);
        let mut files = read();
        if let Some((path, sound)) = by_id(location.candidate.dialect).truncated_tail(&files) {
            store::set_tail_aside(&lock, &path, sound, clock.now)?;
            files = read();
        }
        let opened = OpenedRun::new(location.candidate.clone(), files);
        Ok(Self { ctx, lock, opened: restore::offer_what_works(ctx, opened) })
    }

    /// Loads the run again, after a change was written. The old data is dropped first, so that a large run is never in memory
    /// twice.
    pub(crate) fn reload(self) -> Self {
        let Self { ctx, lock, opened } = self;
        let (candidate, root, clock) = (opened.candidate.clone(), opened.files.root.clone(), opened.files.clock);
        drop(opened);
        let files = store::file_set_locked(&ctx.project, &lock, &root, &candidate, clock);
        Self { ctx, lock, opened: OpenedRun::new(candidate, files) }
    }

    /// Loads the run again, where the change left it and under the lock there.
    pub(super) fn after(self, location: &RunLocation, written: &mut Written) -> Result<Self, OpError> {
        if !written.moves_files() {
            return Ok(self.reload());
        }
        let ctx = self.ctx;
        Self::open(ctx, &self.release_moved(location, written))
    }

    /// Releases the lock of a run whose state a change moved, because reading at another path takes the lock there. Returns the new
    /// location, with the evidence.
    fn release_moved(self, location: &RunLocation, written: &mut Written) -> RunLocation {
        let ctx = self.ctx;
        drop(self);
        let now = ctx.relocated(location, &written.files());
        written.findings.extend(record::carry_evidence(ctx, location, &now));
        now
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
        let owner = store::lease::inspect_locked(&self.lock, self.clock(), environment);
        match store::lease::merge_owners(owner, &self.opened.loaded.wanted.owner_processes, environment) {
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

    /// Refuses to finish a step that was not begun while the plan blocks it (invariant 16).
    fn check_plan(&self, run: &Run, kind: &ChangeKind, evidence: &Evidence) -> Result<(), OpError> {
        let ChangeKind::Finish(outcome) = kind else { return Ok(()) };
        let is_open = |step: &Step| matches!(step.status, Status::Pending | Status::Blocked | Status::Failed);
        if !run.step(&outcome.step).is_some_and(is_open) {
            return Ok(());
        }
        let options = plan::options(self.ctx, run, &PlanRequest::default())?;
        let planned = plan::evaluate(&self.opened, run, evidence, &options);
        planned.refusal_of(&outcome.step).map_or(Ok(()), |refusal| Err(OpError::Refused(refusal)))
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
        let change = self.stamped(kind);
        let (name, step) = (change.kind.as_str(), change.kind.step().cloned());
        let draft = self.opened.draft(evidence, change, limits)?;
        self.write(name, step, draft, None)
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
    ) -> Result<Written, OpError> {
        let run = self.opened.run()?;
        let mut written = Written::of(run, name, step);
        let PreparedChange { change, edits, findings } = match draft {
            ChangeDraft::Checkpoint(drafted) => drafted,
            ChangeDraft::Already(message) => return Ok(Written { already: Some(message.clone()), message, ..written }),
        };
        written.findings = findings;
        super::start::hide_from_git(self.ctx, self.opened.dialect);
        if let Some(statement) = engine::statement(run, &change) {
            let (root, data_dir) = self.opened.reports_dir();
            let is_wordless = engine::is_wordless(run, &statement);
            match store::reports::append(root, &data_dir, &[statement]) {
                // Nothing that was said is lost.
                Err(_) if is_wordless => {}
                appended => appended?,
            }
        }
        written.findings.extend(self.note_attempt(run, &change.kind, planned));
        self.commit_as(change.kind.as_str(), change.kind.step(), &edits)?;
        self.log(name, written.step.as_ref());
        written.findings.extend(self.record(run, &change));
        written.message = message(run, &change.kind);
        written.is_of_part = change.kind.is_of_part();
        written.is_setback = matches!(&change.kind, ChangeKind::Finish(outcome) if outcome.status == Status::Failed);
        written.edits = edits;
        Ok(written)
    }

    /// Writes edits as one checkpoint and returns the history id of what they replaced. The only way to write a state file.
    pub(crate) fn commit_as(
        &self,
        change: &str,
        step: Option<&StepId>,
        edits: &[Edit],
    ) -> Result<Option<String>, OpError> {
        if edits.is_empty() {
            return Ok(None);
        }
        let sound = self.opened.loaded.run.as_ref().is_some_and(|run| !run.degraded);
        let replaced = edits.iter().filter(|edit| sound && matches!(edit.kind, EditKind::Replace { .. }));
        let Self { opened, .. } = self;
        // The history in the data folder has a copy. One beside the state is made where its system relies on it, else only kept current.
        let backup_of = |path: &RelPath| {
            let backup = opened.dialect.backup_of(path)?;
            (opened.dialect.makes_backups() || opened.files.files.contains_key(&backup)).then_some(backup)
        };
        let meta = CheckpointMeta {
            step: step.cloned(),
            backup: replaced.filter_map(|edit| Some((edit.path.clone(), backup_of(&edit.path)?))).collect(),
            ..CheckpointMeta::new(change, self.clock().now, self.ctx.project.config.limits.history)
        };
        let replaced = store::commit(&self.lock, edits, &meta)?.replaced;
        self.keep_copy(edits);
        Ok(replaced)
    }

    /// Moves every state file into an archive in the data folder and returns its path.
    pub(crate) fn archive_in_data_dir(&self, name: &str) -> Result<RelPath, OpError> {
        let files = &self.opened.files;
        let former = self.opened.dialect.previous_location(&self.opened.candidate, &files.config);
        // A worktree is removed after the merge, and its data folder with it.
        let lasting = former.as_ref().filter(|former| files.bytes(&former.copy).is_some());
        let data_dir = lasting.map_or(&files.data_dir, |former| &former.data_dir);
        let folder = data_dir.join(&format!("archive/{name}_{}", self.clock().now.compact()))?;
        let run = self.opened.loaded.run.as_ref();
        let state = run.map_or_else(|| vec![files.state.clone()], |run| run.state_files.clone());
        // A remaining copy would look like a state whose original was lost.
        let backups = state.iter().filter_map(|path| self.opened.dialect.backup_of(path));
        let copies = backups.chain(former.map(|former| former.copy));
        self.move_files(&state.iter().cloned().chain(copies).collect::<Vec<RelPath>>(), &folder)?;
        Ok(folder)
    }

    /// Moves existing files into a folder: all of them or none.
    pub(crate) fn move_files(&self, files: &[RelPath], folder: &RelPath) -> Result<(), OpError> {
        let mut edits = Vec::new();
        for path in files {
            self.opened.check_readable(path)?;
            if let Some(Content::Bytes(before)) = self.opened.files.files.get(path).map(|entry| &entry.content) {
                edits.push(Edit { path: folder.join(path.name())?, kind: EditKind::Create { after: before.to_vec() } });
                edits.push(Edit { path: path.clone(), kind: EditKind::Remove { before: before.clone() } });
            }
        }
        self.commit_as("archive", None, &edits).map(drop)
    }
}

impl OpenedRun {
    pub(crate) fn check_revision(&self, run: &Run, expected: Option<&str>) -> Result<(), OpError> {
        // The revision is a digest of every state file, so it is only computed on request.
        let Some(expected) = expected else { return Ok(()) };
        let found = self.revision();
        if found == expected {
            return Ok(());
        }
        Err(OpError::Moved { expected: expected.to_owned(), found, run: run.id.as_str().to_owned() })
    }

    /// Returns the edit that gives a file this content; its current content does not matter.
    pub(crate) fn edit_to_content(&self, path: &RelPath, after: Vec<u8>) -> Edit {
        let kind = match self.files.files.get(path).map(|entry| &entry.content) {
            Some(Content::Bytes(before)) => EditKind::Replace { before: before.clone(), after },
            Some(Content::NameOnly | Content::Problem(_)) | None => EditKind::Create { after },
        };
        Edit { path: path.clone(), kind }
    }

    /// Refuses if a file exists but cannot be read.
    pub(crate) fn check_readable(&self, path: &RelPath) -> Result<(), OpError> {
        match self.files.files.get(path).map(|entry| &entry.content) {
            Some(Content::Problem(problem)) => Err(OpError::Store(StoreError::Unreadable {
                path: path.under(&self.files.root),
                problem: problem.clone(),
            })),
            Some(Content::Bytes(_) | Content::NameOnly) | None => Ok(()),
        }
    }
}

fn message(run: &Run, kind: &ChangeKind) -> String {
    let of = |part: &Option<String>| part.as_ref().map_or_else(String::new, |part| format!("part {part} of "));
    match kind {
        ChangeKind::Begin { step, part, attempt, .. } => {
            format!("{}{step} is in progress (attempt {attempt})", of(part))
        }
        ChangeKind::Finish(outcome) if outcome.accepts => format!("{} is accepted by a person", outcome.step),
        ChangeKind::Finish(outcome) if outcome.amends => record::amended(outcome),
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
        ChangeKind::Repair(traces) if traces.branch.is_some() => {
            format!("the branch of the run is {}", traces.branch.as_deref().unwrap_or_default())
        }
        ChangeKind::Repair(_) => "the state is rebuilt from evidence".to_owned(),
        ChangeKind::RollBack(back) => format!("the run is rolled back to {}", back.to),
        ChangeKind::Start(spec) => format!("run {} has begun", spec.feature),
    }
}

/// Reports what was written and the command that fits next.
pub(super) fn report(ctx: &ProjectContext, opened: &OpenedRun, mut written: Written) -> Report {
    let after = written.step.as_ref().and_then(|step| opened.loaded.run.as_ref()?.step(step));
    if let Some(step) = after.filter(|step| written.change == "finish" && step.status == Status::Blocked) {
        // Its output says so.
        written.message = format!("{} is blocked", step.id);
        written.is_setback = true;
    }
    let revision = opened.revision();
    let next = written.next_of_parts(opened).or_else(|| next_command(ctx, opened, &revision, written.change));
    let body = Body::Checkpoint(Box::new(CheckpointReport {
        is_setback: written.is_setback,
        files: written.files(),
        run: crate::model::RunId::new(&written.run),
        change: written.change.to_owned(),
        step: written.step,
        recorded: written.already.is_none(),
        message: written.message,
        revision,
        next,
        brief: None,
        brief_file: None,
    }));
    Report { findings: written.findings, ..Report::ok(body) }
}

fn next_command(ctx: &ProjectContext, opened: &OpenedRun, revision: &str, change: &str) -> Option<String> {
    let run = opened.loaded.run.as_ref()?;
    let evidence = Evidence { owner: Owner::None, ..ctx.workspace_evidence(opened) };
    let options = Options { attempt_limit: ctx.project.config.limits.attempts, ..Options::at(ctx.clock.now) };
    let header = opened.header(run, revision.to_owned());
    let planned = engine::plan(run, header, &evidence, opened.loaded.findings.clone(), &options);
    // The state may name another run id than before.
    let plan = || format!("piton plan {}", engine::quoted(run.id.as_str()));
    if opened.dialect.state_home() == StateHome::Home {
        // Its steps are run by a resume.
        return Some(planned.plan.commands.resume.unwrap_or_else(plan));
    }
    let (lifecycle, now) = (Lifecycle::of(opened, run, &planned.plan), ctx.clock.now);
    // The states of some systems have no word for a pause or an abort.
    match change {
        _ if lifecycle.stage.is_over() => return lifecycle.command(opened, run, &planned.plan, now),
        "pause" => return Some(planned.plan.commands.resume.unwrap_or_else(plan)),
        "abort" => {
            let archive = lifecycle::archive_command(opened, run, now);
            return archive.map(|command| format!("{command} --yes")).or_else(|| Some(plan()));
        }
        _ => {}
    }
    let make_worktree = planned.findings.into_iter().find(|finding| finding.code == FindingCode::WorktreeMissing);
    let required = make_worktree.filter(|_| run.workspace.wanted_worktree.is_some()).and_then(|finding| finding.fix);
    let merge = planned.plan.question.as_ref().and_then(|question| question.option("merge"));
    let merge = merge.map(|option| option.command.clone());
    Some(planned.plan.commands.begin.or(required).or(merge).unwrap_or_else(plan))
}
