//! `begin`: hands over the brief of a step, and records that the step starts.

use std::borrow::Cow;

use super::{
    OpError,
    change::{ChangeRequest, follow},
    configured, context,
    draft::{ChangeDraft, PreparedChange},
    half_made,
    locked_run::{LockedRun, Written},
    log,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    report::{BriefFile, CheckpointReport, Report},
    resolve::resolve_ids,
    resume,
    run_location::RunLocation,
};
use crate::{
    dialect::piton,
    engine::{self, Admitted, ChangeLimits, Planned, Refusal, RefusalKind},
    model::{
        Action, Change, ChangeKind, Context, DialectId, Edit, EditKind, Evidence, Finding, FindingCode, Next, No, Run,
        RunId, Step, StepId, Suggested, Uid, Verb, Verdict,
    },
    store::{self, StoreError},
};

/// Where the brief of a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BriefForm {
    /// Into a file if the client reports this session by its hooks, which hand the brief to the agent; else into the answer.
    AsDelivered,
    Inline,
    File,
}

/// How the brief of a step is handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BriefRequest {
    /// Size limit in bytes.
    pub(crate) budget: usize,
    pub(crate) form: BriefForm,
    /// Returns the text of a brief for its agent.
    pub(crate) to_text: fn(&Context) -> String,
}

/// Begins a step and answers with its brief, or where that is. Without a step it begins the first one that the plan names.
pub(crate) fn begin(
    ctx: &ProjectContext,
    location: &RunLocation,
    request: ChangeRequest,
    wanted: BriefRequest,
) -> Result<Report<CheckpointReport>, OpError> {
    if request.if_revision.is_none() {
        configured::approve(ctx, location)?;
    }
    let locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    let evidence = ctx.workspace_evidence(&locked.opened);
    let limits = ChangeLimits { again: request.again, ..locked.limits() };
    let Planning { kind, planned, mut next } = plan_step(&locked, request, &evidence)?;
    if let (ChangeKind::Begin { agent: Some(agent), .. }, Some(next)) = (&kind, &mut next) {
        next.agent = Some(agent.clone());
    }
    let ChangeKind::Begin { step, part, .. } = &kind else { return Err(not_a_begin()) };
    let (step, part) = (step.clone(), part.clone());
    check_for_agents(run, &step)?;
    if let Some(next) = &mut next {
        half_made::look(ctx, &locked.opened, run, &planned, next);
    }
    let (about, change) = (ctx.about(), locked.stamped(kind));
    // The parts of a step are one attempt.
    let cut_off = if part.is_none() { resume::cut_off(run, &planned, limits.again) } else { None };
    let admitted = locked.opened.admitted(&evidence, change.clone(), limits, Some(&planned))?;
    let begun = begun_by(&locked, &admitted, &step, about.id);
    let brief_of = |next| context::assemble_begun(&locked.opened, run, &planned, next, (begun, wanted.budget));
    let mut brief = next.as_ref().map(brief_of);
    // The plan of a large run is not kept while its edits are computed.
    let planned = cut_off.is_some().then_some(planned);
    let mut draft = locked.opened.drafted(admitted)?;
    let mut resumed = None;
    if matches!(draft, ChangeDraft::Checkpoint(_))
        && let Some(cut_off) = cut_off
    {
        resumed = draft_resumed(&locked, cut_off, change, limits, &evidence)?;
    }
    let planned = planned.filter(|_| resumed.is_some());
    draft = resumed.unwrap_or(draft);
    let note = planned.as_ref().map(|planned| log::line(&locked, run, planned, false));
    let (note, block) = note.unzip();
    let mut written =
        locked.write("begin", Some(step.clone()), draft, next.as_ref(), (about, note.unwrap_or_default()))?;
    written.findings.extend(planned.and_then(|planned| log::tell(&locked, &planned, block.flatten())));
    written.findings.extend(locked.note_driver(written.change));
    let mut brief_file = None;
    if let Some(inline) = brief.take_if(|_| is_for_a_file(ctx, wanted.form) && !written.moves_files()) {
        match write_brief(&locked, run, &step, &inline, wanted) {
            Ok(file) => brief_file = Some(file),
            Err(error) => {
                written.findings.push(unwritten(&error));
                brief = Some(inline);
            }
        }
    }
    // A brief in the answer says how to report.
    let without_brief = run.step(&step).filter(|_| brief.is_none());
    let end = without_brief.map(|step| engine::end_command(step, part.as_deref(), &run.id, begun));
    let revision = match written.moves_files() {
        true => follow(ctx, location, locked, &written)?.revision(),
        false => locked.revision_after(&written),
    };
    let Written { run, change, step, already, message, files, findings, .. } = written;
    let recorded = already.is_none();
    let body = CheckpointReport {
        run: RunId::new(run),
        change: change.to_owned(),
        step,
        recorded,
        is_setback: false,
        message,
        revision,
        files,
        next: end,
        brief,
        brief_file,
    };
    Ok(Report { findings, ..Report::ok(body) })
}

/// Returns the record that a report on the step is about: of what is begun already, the one that began it.
fn begun_by(locked: &LockedRun<'_>, admitted: &Admitted, step: &StepId, new: Uid) -> Option<Uid> {
    match admitted {
        Admitted::Change { .. } => Some(new),
        Admitted::Already(_) => {
            locked.opened.journal.standing.of(step).filter(|stand| stand.is_begun).map(|stand| stand.at)
        }
    }
}

/// Refuses to begin a command of a run that no agent drives.
fn check_for_agents(run: &Run, step: &StepId) -> Result<(), OpError> {
    let is_for_the_runner =
        |step: &&Step| run.dialect == DialectId::Piton && !step.is_command && !piton::is_for_an_agent(&step.definition);
    let Some(step) = run.step(step).filter(is_for_the_runner) else { return Ok(()) };
    let message = format!("step {} is a command, which only `{}` carries out", step.id, Suggested::new(Verb::Run));
    let finish = Suggested::on_step(Verb::Finish, &step.id, &run.id);
    let by_hand = format!("for a step that was done by hand: `{finish}`");
    Err(OpError::Refused(Refusal {
        kind: RefusalKind::No(No::NotYours),
        message,
        hints: vec![Suggested::of(Verb::Resume, &run.id).into(), by_hand.into()],
    }))
}

/// Tells whether the brief goes into a file.
fn is_for_a_file(ctx: &ProjectContext, form: BriefForm) -> bool {
    match form {
        BriefForm::AsDelivered => ctx.caller().is_client,
        BriefForm::Inline => false,
        BriefForm::File => true,
    }
}

/// Writes the brief of a step for its agent.
fn write_brief(
    locked: &LockedRun<'_>,
    run: &Run,
    step: &StepId,
    brief: &Context,
    wanted: BriefRequest,
) -> Result<BriefFile, StoreError> {
    let contract = run.step(step).map(engine::agent_contract).unwrap_or_default();
    let text = (wanted.to_text)(&Context { report: contract, ..brief.clone() });
    let path = store::briefs::write(locked.lock(), store::briefs::BriefFile::Brief, &run.id, step, text.as_bytes())?;
    let prompt = format!(
        "Do step {} of the run {}. Your brief is in your context; if it is not, read {path}. End your last message as it says.",
        brief.step, brief.run
    );
    Ok(BriefFile { path: path.into_string(), bytes: text.len(), agent: brief.agent.clone(), prompt })
}

/// Returns the finding for a brief that is in the answer because its file could not be written.
fn unwritten(error: &StoreError) -> Finding {
    let message = format!("the checkpoint is written, but not the file of the brief: {error}");
    Finding::new(FindingCode::RecordUnwritten, message).fix(Suggested::new(Verb::Doctor))
}

/// Drafts a begin that first records the interruption before it with a resume, in one checkpoint. `None` if that cannot be recorded.
fn draft_resumed(
    locked: &LockedRun<'_>,
    resume: ChangeKind,
    begin: Change,
    limits: ChangeLimits,
    evidence: &Evidence,
) -> Result<Option<ChangeDraft>, OpError> {
    let ChangeDraft::Checkpoint(first) = locked.opened.draft(evidence, locked.stamped(resume), limits)? else {
        return Ok(None);
    };
    if first.edits.iter().any(|edit| matches!(edit.kind, EditKind::Remove { .. })) {
        return Ok(None);
    }
    let mut files = locked.opened.files.clone();
    store::lay_edits_over(&mut files, &locked.opened.candidate.reads, &first.edits);
    let resumed = locked.opened.reread(files);
    let evidence = locked.ctx().workspace_evidence(&resumed);
    Ok(match resumed.draft(&evidence, begin, limits)? {
        ChangeDraft::Checkpoint(second) => {
            let edits = one_after_the_other(first.edits, second.edits);
            Some(ChangeDraft::Checkpoint(PreparedChange { edits, ..second }))
        }
        ChangeDraft::Already(_) => None,
    })
}

/// Returns the edits that do what two rounds of edits do. The second round was computed from the result of the first.
fn one_after_the_other(mut first: Vec<Edit>, second: Vec<Edit>) -> Vec<Edit> {
    for edit in second {
        let Some(at) = first.iter().position(|earlier| earlier.path == edit.path) else {
            first.push(edit);
            continue;
        };
        let earlier = first.remove(at);
        let kind = match (earlier.kind, edit.kind) {
            (EditKind::Replace { before, .. }, EditKind::Replace { after, .. }) => EditKind::Replace { before, after },
            (EditKind::Replace { before, .. }, EditKind::Remove { .. }) => EditKind::Remove { before },
            (EditKind::Create { .. }, EditKind::Replace { after, .. }) => EditKind::Create { after },
            (EditKind::Create { .. }, EditKind::Remove { .. }) => continue,
            (EditKind::Append { before_len, bytes }, EditKind::Append { bytes: more, .. }) => {
                EditKind::Append { before_len, bytes: [bytes, more].concat() }
            }
            (_, kind) => kind,
        };
        first.insert(at, Edit { path: edit.path, kind });
    }
    first
}

/// What is to be begun, and what the plan says about it before that.
struct Planning {
    kind: ChangeKind,
    planned: Planned,
    /// `None` for a part, which has no brief of its own.
    next: Option<Next>,
}

/// Plans the step of a begin. The brief is that of the plan before the step is begun: what is to be done, and why.
fn plan_step(locked: &LockedRun<'_>, request: ChangeRequest, evidence: &Evidence) -> Result<Planning, OpError> {
    let (ctx, run) = (locked.ctx(), locked.opened.run()?);
    let planned = |evidence: &Evidence, request: &PlanRequest| {
        let options = plan::options(ctx, run, request)?;
        Ok::<Planned, OpError>(plan::evaluate(&locked.opened, run, evidence, &options))
    };
    let mut plain = None;
    let kind = match request.kind {
        ChangeKind::Begin { step, part, agent, attempt, reopens } if step.as_str().is_empty() => {
            let first = plain.insert(planned(evidence, &PlanRequest::default())?);
            ChangeKind::Begin { step: first_of(first, run)?, part, agent, attempt, reopens }
        }
        kind => resolve_ids(ctx, &locked.opened, run, kind)?,
    };
    let ChangeKind::Begin { step, part, .. } = &kind else { return Err(not_a_begin()) };
    let mut before = Cow::Borrowed(evidence);
    if request.again {
        // The attempt that goes on is ended.
        before.to_mut().presences.retain(|(begun, _), _| begun != step);
        plain = None;
    }
    let plain = plain.map_or_else(|| planned(&before, &PlanRequest::default()), Ok)?;
    let next = plain.plan.next.iter().find(|next| next.step == *step).cloned().filter(|_| part.is_none());
    if next.is_some() || part.is_some() {
        return Ok(Planning { kind, planned: plain, next });
    }
    let from = vec![step.as_str().to_owned()];
    let named = planned(&before, &PlanRequest { from, force: true, ..PlanRequest::default() })?;
    let next = named.plan.next.iter().find(|next| next.step == *step).cloned();
    // What blocks the run is in the plan without options.
    let planned = Planned { findings: plain.findings, to_confirm: plain.to_confirm, ..named };
    Ok(Planning { kind, planned, next })
}

/// Returns the first step that the plan lets an agent begin.
fn first_of(planned: &Planned, run: &Run) -> Result<StepId, OpError> {
    let plan = &planned.plan;
    let is_work = |next: &&Next| matches!(next.action, Action::Run | Action::Retry | Action::Return);
    if plan.verdict != Verdict::Blocked
        && let Some(next) = plan.next.iter().find(is_work)
    {
        return Ok(next.step.clone());
    }
    Err(plan::refusal(planned, run, &format!("no step of {} can begin", run.id)))
}

fn not_a_begin() -> OpError {
    OpError::Usage {
        message: "the change is not a begin".to_owned(),
        hints: vec![Suggested::of(Verb::Schema, "change").into()],
    }
}
