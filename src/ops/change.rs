//! `begin`, `finish`, `pause`, and the answers of `decide` and `close` that change a state: admits one change and writes it.

use serde_json::Value;

use super::{
    OpError, agent_report, configured,
    locked_run::{LockedRun, Written},
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{CheckpointReport, Lifecycle, Report},
    reported,
    resolve::resolve_ids,
    run_location::RunLocation,
    select, workflow_file,
};
use crate::{
    dialect::piton,
    engine::{self, ChangeLimits},
    model::{
        Action, ChangeKind, Decision, DecisionKind, Evidence, FindingCode, Options, Owner, ReviewVerdict, Run, Status,
        Suggested, Timestamp, Verb, mask_secrets,
    },
    schema, store,
};

/// A change as typed; ids and parts are not yet resolved against the run.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRequest {
    pub(crate) kind: ChangeKind,
    pub(crate) force: bool,
    /// The caller's own attempt has ended: its agent was lost.
    pub(crate) again: bool,
    pub(crate) if_revision: Option<String>,
}

/// An answer as typed; the step is not yet resolved against the run.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRequest {
    pub(crate) step: String,
    /// An answer of the gate, else one of [`crate::model::PersonsAnswer`].
    pub(crate) answer: String,
    pub(crate) by: String,
    pub(crate) note: Option<String>,
    pub(crate) part: Option<String>,
    pub(crate) phases: Option<u32>,
    /// The gates and reviews of a phase are skipped, or asked again, with it.
    pub(crate) with_gates: bool,
    pub(crate) if_revision: Option<String>,
}

impl ChangeRequest {
    /// Returns the request of a change that overrides nothing.
    pub(crate) fn of(kind: ChangeKind) -> Self {
        Self { kind, force: false, again: false, if_revision: None }
    }

    /// Parses a change from JSON (`--json`), of the kind that matches the verb.
    pub(crate) fn from_json(text: &str, verb: &str) -> Result<ChangeKind, OpError> {
        let usage =
            |message: String| OpError::Usage { message, hints: vec![Suggested::of(Verb::Schema, "change").into()] };
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

/// Records one change of the requested run.
pub(crate) fn change(ctx: &ProjectContext, request: ChangeRequest) -> Result<Report<CheckpointReport>, OpError> {
    change_at(ctx, &select::location(ctx)?, request)
}

/// Records one change of a run.
pub(super) fn change_at(
    ctx: &ProjectContext,
    location: &RunLocation,
    request: ChangeRequest,
) -> Result<Report<CheckpointReport>, OpError> {
    let locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    if let Some(decision) = approval_of_end(run, &request.kind, locked.clock().now) {
        let mut written = locked.decide(run, decision)?;
        if written.already.is_none() {
            "the merge is approved".clone_into(&mut written.message);
        }
        return Ok(report(ctx, &locked.reload().opened, written));
    }
    // Whether the work is merged, git says.
    let evidence = ctx.evidence(&locked.opened, matches!(request.kind, ChangeKind::Complete { .. }));
    let kind = agent_report::complete(&locked, run, &evidence, request.kind)?;
    let kind = resolve_ids(ctx, &locked.opened, run, kind)?;
    let (kind, about) = reported::about(&locked, run, kind)?;
    let limits = ChangeLimits { force: request.force, ..locked.limits() };
    if let ChangeKind::Finish(outcome) = &kind {
        workflow_file::check_result(&locked.opened, run, outcome)?;
        workflow_file::check_commit(&locked.opened, run, outcome)?;
    }
    let ends_step = matches!(&kind, ChangeKind::Finish(outcome) if outcome.part.is_none());
    let mut written = locked.apply_as(kind, &evidence, limits, (about, Value::Null))?;
    if let Some(step) = written.step.as_ref().filter(|_| ends_step) {
        store::briefs::remove(locked.lock(), &run.id, step);
    }
    written.findings.extend(locked.note_driver(written.change));
    if written.moves_files() {
        let opened = follow(ctx, location, locked, &written)?;
        return Ok(report(ctx, &opened, written));
    }
    // What the files were and are is not kept while a large run is read again.
    written.edits.clear();
    // Still under the lock, so that the reported revision is that of this change.
    let (locked, approved) = configured::approve_locked(locked.reload())?;
    for approved in approved {
        written.message.push_str(&format!("; {approved} is approved by configuration"));
    }
    Ok(report(ctx, &locked.opened, written))
}

/// Returns the command after a part of a step was changed.
fn next_of_parts(written: &Written, opened: &OpenedRun) -> Option<Suggested> {
    let run = opened.loaded.run.as_ref().filter(|_| written.is_of_part)?;
    // The items of a loop are begun by the runner.
    let step = run.step(written.step.as_ref()?).filter(|step| !piton::is_loop(&step.definition));
    step.map(|step| engine::after_part(step, &run.id))
}

/// Reads a run where a change moved its state, and takes its evidence there.
pub(super) fn follow(
    ctx: &ProjectContext,
    location: &RunLocation,
    locked: LockedRun<'_>,
    written: &Written,
) -> Result<OpenedRun, OpError> {
    ctx.read(&locked.release_moved(location, written))
}

/// Reports what was written and the command that fits next.
pub(super) fn report(ctx: &ProjectContext, opened: &OpenedRun, mut written: Written) -> Report<CheckpointReport> {
    let after = written.step.as_ref().and_then(|step| opened.loaded.run.as_ref()?.step(step));
    if let Some(step) = after.filter(|step| written.change == "finish" && step.status == Status::Blocked) {
        // Its output says so.
        written.message = format!("{} is blocked", step.id);
        written.is_setback = true;
    }
    if let Some(step) = after.filter(|step| written.already.is_none() && written.change == "finish" && step.is_reported)
    {
        written.message = format!("the report of {} is recorded; piton does the rest of the step", step.id);
    }
    let revision = opened.revision();
    let next = next_of_parts(&written, opened).or_else(|| next_command(ctx, opened, &revision, written.change));
    let body = CheckpointReport {
        is_setback: written.is_setback,
        files: written.files,
        run: crate::model::RunId::new(&written.run),
        change: written.change.to_owned(),
        step: written.step,
        recorded: written.already.is_none(),
        message: written.message,
        revision,
        next,
        brief: None,
        brief_file: None,
    };
    Report { findings: written.findings, ..Report::ok(body) }
}

fn next_command(ctx: &ProjectContext, opened: &OpenedRun, revision: &str, change: &str) -> Option<Suggested> {
    let run = opened.loaded.run.as_ref()?;
    let evidence = Evidence { owner: Owner::None, ..ctx.workspace_evidence(opened) };
    let options = Options { attempt_limit: ctx.project.config.limits.attempts, ..Options::at(ctx.clock.now) };
    let header = opened.header(run, revision.to_owned());
    let planned = engine::plan(run, header, &evidence, opened.loaded.findings.clone(), &options);
    // The state may name another run id than before.
    let plan = || Suggested::of(Verb::Plan, &run.id);
    if opened.loaded.is_unattended {
        // Its steps are run by a resume.
        return Some(planned.plan.commands.resume.unwrap_or_else(plan));
    }
    let (lifecycle, now) = (Lifecycle::of(opened, run, &planned.plan), ctx.clock.now);
    // The states of some systems have no word for a pause or an abort.
    match change {
        _ if lifecycle.stage.is_over() => return lifecycle.command(opened, run, &planned.plan, now),
        "pause" => return Some(planned.plan.commands.resume.unwrap_or_else(plan)),
        _ => {}
    }
    let make_worktree = planned.findings.into_iter().find(|finding| finding.code == FindingCode::WorktreeMissing);
    let required = make_worktree
        .filter(|_| run.workspace.wanted_worktree.is_some())
        .and_then(|finding| finding.fix)
        .map(Suggested::from);
    Some(planned.plan.commands.begin.or(required).unwrap_or_else(plan))
}

/// Returns the decision that approves what follows when every step is done, which has no step of its own.
fn approval_of_end(run: &Run, kind: &ChangeKind, at: Timestamp) -> Option<Decision> {
    let ChangeKind::Approve { step, by, note, .. } = kind else { return None };
    let merges = run.follow_up.as_ref().is_some_and(|after| after.action == Action::Merge);
    if step.as_str() != engine::END || run.step(step).is_some() || !merges {
        return None;
    }
    let step = run.steps.last().map(|last| last.id.clone());
    let said = (by.as_deref().map(masked), note.as_deref().map(masked));
    Some(Decision::new(step, DecisionKind::Approve, said, at))
}

/// Returns a text of a person without secrets.
pub(super) fn masked(text: &str) -> String {
    mask_secrets(text).into_owned()
}
