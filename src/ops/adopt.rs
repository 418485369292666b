//! `start --from`: makes a run of a session of Claude Code, with its tasks, its agents that did not end and the calls of its workflows as steps.

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError, client_sessions,
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
    select, startable,
};
use crate::{
    dialect::{
        claude,
        piton::{
            self, AdoptedStep,
            record::{Header, Source},
        },
    },
    engine::{self, EffectiveStatus},
    model::{
        Change, ChangeKind, DialectId, Entry, EvidenceRecord, FindingCode, No, Owner, Progress, RelPath, Run, RunId,
        StartSpec, Statement, StatementKind, Status, Step, StepId, StepReport, Suggested, Verb, clean, clean_line,
        mask_secrets, quoted,
    },
    store::{self, CheckpointMeta, RunLock},
};

/// Characters of a title.
const TITLE_CHARS: usize = 200;
/// Characters of the words about a step that did not end.
const ERROR_CHARS: usize = 600;
/// The name of a session's run, before the first characters of the session.
const NAME: &str = "adopted-";
/// What begins the names of sessions.
const SESSION: &str = "claude-";

/// A session that was made into a run (`adopt/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AdoptReport {
    /// The id of the session.
    pub(crate) session: String,
    pub(crate) run: RunId,
    pub(crate) progress: Progress,
    /// Steps that were in progress and are done again.
    pub(crate) interrupted: Vec<StepId>,
    /// Steps that a person looks at first: nothing proves that they are done, or that they are not.
    pub(crate) to_look_at: Vec<StepId>,
    /// The command that shows what is next.
    pub(crate) next: Suggested,
}

impl Body for AdoptReport {
    const SCHEMA: &'static str = "adopt/1";

    fn written(&self) -> Option<String> {
        Some(format!("run {} has begun", self.run))
    }
}

/// A step with the files that prove it.
struct TakenOver {
    step: AdoptedStep,
    files: Vec<RelPath>,
}

/// Makes a run of a session. `name` is that of the run, if not one made of the session's.
pub(crate) fn adopt(ctx: &ProjectContext, name: Option<&str>) -> Result<Report<AdoptReport>, OpError> {
    let location = located(ctx)?;
    let word = &location.candidate.name;
    let session = location.candidate.state.name().trim_end_matches(".jsonl").to_owned();
    let back = || Suggested::Other(format!("claude --resume {}", quoted(&session))).into();
    client_sessions::check_not_adopted(ctx, &location)?;
    let opened = ctx.read(&location)?;
    let run = opened.run()?;
    let evidence = ctx.evidence(&opened, true);
    check_left(&opened, run, &evidence.owner)?;
    let statuses = engine::effective_statuses(run, &evidence, &opened.loaded.findings);
    let taken = taken_over(&opened, run, &statuses);
    if taken.iter().all(|taken| taken.step.status == Status::Completed) {
        let message = format!("{} left no task, agent or workflow open: there is nothing to adopt", run.id);
        let hints = vec![back(), Suggested::of(Verb::Plan, word).into()];
        return Err(OpError::InTheWay { why: No::Nothing, message, hints });
    }
    if opened.files.root != ctx.project.root {
        let message = format!("{} worked in another work tree of this repository", run.id);
        let there = Suggested::new(Verb::Start).option("from", word).project(opened.files.root.as_str()).into();
        return Err(OpError::InTheWay { why: No::NotYours, message, hints: vec![there] });
    }
    let name = match name {
        Some(name) => name.to_owned(),
        None => location.candidate.name.replacen(SESSION, NAME, 1),
    };
    check_name(ctx, &name, word)?;
    let title = claude::adopted_words(&opened.files).title.map(|title| line(&title, TITLE_CHARS));
    let header = header(ctx, &name, &session, title.clone())?;
    let spec = StartSpec { description: title.clone(), ..StartSpec::new(&run.workflow, &name) };
    let change = Change { at: ctx.clock.now, kind: ChangeKind::Start(Box::new(spec)) };
    let steps: Vec<AdoptedStep> = taken.iter().map(|taken| taken.step.clone()).collect();
    let mut adopted = Vec::new();
    let entry = |steps: &[AdoptedStep]| {
        let files = taken.into_iter().map(|taken| taken.files);
        let renamed = steps.iter().cloned().zip(files).map(|(step, files)| TakenOver { step, files });
        adopted = renamed.collect();
        said(ctx, &header, &adopted)
    };
    let edits = piton::adopt(&header, (ctx.about(), change), title.as_deref(), &steps, entry).map_err(|findings| {
        let why = findings.first().map_or("its steps are no workflow", |finding| finding.message.as_str());
        let message = format!("{} cannot be adopted: {why}", run.id);
        OpError::InTheWay { why: No::Invalid, message, hints: vec![back()] }
    })?;
    write(ctx, &header, &edits)?;
    let taken = adopted;
    let with = |is_it: &dyn Fn(&AdoptedStep) -> bool| -> Vec<StepId> {
        taken.iter().filter(|taken| is_it(&taken.step)).map(|taken| taken.step.id.clone()).collect()
    };
    let done = with(&|step| step.status == Status::Completed).len();
    Ok(Report::ok(AdoptReport {
        session,
        progress: Progress { done, total: taken.len(), tolerated: 0 },
        interrupted: with(&|step| step.status == Status::InProgress && !step.is_unknown),
        to_look_at: with(&|step| step.is_unknown),
        next: Suggested::of(Verb::Plan, &name),
        run: RunId::new(name),
    }))
}

/// Locates the session that is named.
fn located(ctx: &ProjectContext) -> Result<RunLocation, OpError> {
    let location = select::location_to_read(ctx).map_err(|error| match (&error, &ctx.run) {
        (OpError::UnknownRun { wanted, .. }, Some(_)) if client_sessions::is_of_another_project(ctx, wanted) => {
            let message = format!("the session {wanted} worked in another project");
            let there = Suggested::new(Verb::Start).option("from", wanted).project("DIR").into();
            OpError::Refused(engine::Refusal { kind: engine::RefusalKind::NotFound, message, hints: vec![there] })
        }
        _ => error,
    })?;
    if location.is_of_client() {
        return Ok(location);
    }
    let message = format!("{} is no session of Claude Code: it is a run already", location.candidate.name);
    Err(OpError::InTheWay { why: No::Already, message, hints: vec![Suggested::of(Verb::Plan, location.path()).into()] })
}

/// Refuses a session that lives, or may live, or whose tasks another living one works on.
fn check_left(opened: &OpenedRun, run: &Run, owner: &Owner) -> Result<(), OpError> {
    if let Owner::Live { description } = owner {
        return Err(OpError::LiveOwner(description.clone()));
    }
    if run.ended.is_none() {
        return Err(OpError::LiveOwner("it is the session that this call comes from".to_owned()));
    }
    if let Some(step) = run.steps.iter().find(|step| step.status == Status::Blocked && step.hold.is_some()) {
        let what = format!("another session that shares the task list works on {}", step.id.with_title(&step.title));
        return Err(OpError::LiveOwner(what));
    }
    match opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::SessionMayLive) {
        None => Ok(()),
        Some(finding) => {
            let message = format!("{}; nothing was done", finding.message);
            let hints = finding.fix.iter().cloned().chain([Suggested::of(Verb::Plan, &run.id).into()]);
            Err(OpError::NotConfirmed { message, hints: hints.collect() })
        }
    }
}

/// Refuses a name that another run has.
fn check_name(ctx: &ProjectContext, name: &str, session: &str) -> Result<(), OpError> {
    startable::check_feature_name(name)?;
    let (locations, _) = ctx.locations();
    let is_taken = locations.iter().any(|location| location.candidate.name == name);
    if !is_taken && !name.starts_with(SESSION) {
        return Ok(());
    }
    let hints = vec![Suggested::new(Verb::Start).option("from", session).option("feature", "NAME").into()];
    Err(OpError::InTheWay { why: No::Already, message: format!("the name {name} is taken"), hints })
}

/// Returns the steps of a session that its run has, as the planner counts them.
fn taken_over(opened: &OpenedRun, run: &Run, statuses: &[EffectiveStatus]) -> Vec<TakenOver> {
    let words = claude::adopted_words(&opened.files);
    let mut taken = Vec::new();
    for (step, found) in run.steps.iter().zip(statuses) {
        let is_task = claude::is_task(&step.id);
        let (status, is_unknown) = status_of(step, *found);
        // An agent that ended and a turn whose outcome is known are no work of their own.
        let is_part = match is_task || claude::is_of_workflow(&step.id) {
            true => true,
            false if claude::is_turn(&step.id) => is_unknown,
            false => status != Status::Completed,
        };
        if !is_part {
            continue;
        }
        let title = words.steps.get(&step.id).unwrap_or(&step.title);
        let told = step.detail.requirements.first().filter(|_| is_task).map(|text| text_of(text));
        let error = (status == Status::InProgress).then(|| error_of(step, is_unknown, *found)).flatten();
        let files = if status == Status::Completed { step.proof.traces.clone() } else { Vec::new() };
        let step = AdoptedStep {
            id: step.id.clone(),
            title: line(title, TITLE_CHARS),
            instructions: told.filter(|text| !text.trim().is_empty()),
            depends_on: step.depends_on.clone(),
            status,
            is_unknown,
            attempts: step.attempts,
            started_at: step.started_at.filter(|_| status != Status::Pending),
            finished_at: step.finished_at.filter(|_| status == Status::Completed),
            error,
        };
        taken.push(TakenOver { step, files });
    }
    taken
}

/// Returns how a step is recorded, and whether a person looks at it first.
fn status_of(step: &Step, found: EffectiveStatus) -> (Status, bool) {
    match found {
        EffectiveStatus::Done => (Status::Completed, false),
        EffectiveStatus::Verify | EffectiveStatus::Unreadable => (Status::InProgress, true),
        EffectiveStatus::Interrupted | EffectiveStatus::Failed => (Status::InProgress, !step.idempotent),
        EffectiveStatus::Open
        | EffectiveStatus::Invalid
        | EffectiveStatus::Blocked
        | EffectiveStatus::Waiting
        | EffectiveStatus::Conditions
        | EffectiveStatus::OpenContainer
        | EffectiveStatus::Skipped
        | EffectiveStatus::Cancelled => (Status::Pending, false),
    }
}

/// Returns what is known of an attempt that did not end.
fn error_of(step: &Step, is_unknown: bool, found: EffectiveStatus) -> Option<String> {
    let mut parts: Vec<String> = step.error.iter().cloned().collect();
    if let Some(probe) = &step.probe {
        parts.push(probe.clone());
    } else if is_unknown && step.status == Status::Completed {
        let left: Vec<&str> = step.proof.traces.iter().map(RelPath::as_str).collect();
        parts.push(format!("the session says that it is done, but not all is there that it left: {}", left.join(", ")));
    } else if is_unknown && found == EffectiveStatus::Verify {
        parts.push("the files of the session disagree whether it is done".to_owned());
    } else if !step.detail.targets.is_empty() {
        parts.push(format!("it was cut off, and had written {}", step.detail.targets.join(", ")));
    }
    (!parts.is_empty()).then(|| line(&parts.join("; "), ERROR_CHARS))
}

fn line(text: &str, length: usize) -> String {
    clean_line(&mask_secrets(text), length)
}

fn text_of(text: &str) -> String {
    mask_secrets(&clean(text)).into_owned()
}

fn header(ctx: &ProjectContext, name: &str, session: &str, title: Option<String>) -> Result<Header, OpError> {
    let home = ctx.home.root();
    let file = piton::own_definition(name).ok_or_else(|| OpError::SelfCheck {
        file: name.to_owned(),
        problem: "the new run would not be found again".to_owned(),
    })?;
    let workflow = Source { root: home.to_owned(), file };
    Ok(Header {
        is_attended: true,
        description: title,
        adopted_from: Some(session.to_owned()),
        ..Header::new(ctx.home.places(), name, &ctx.project.root, workflow, ctx.clock.now)
    })
}

/// Writes the run.
fn write(ctx: &ProjectContext, header: &Header, edits: &[crate::model::Edit]) -> Result<(), OpError> {
    let home = &ctx.home;
    ctx.project.trusted.enter_new(&header.session, edits, home.root())?;
    home.create(&header.session)?;
    let lock = RunLock::acquire(home.root(), &home.folder(&header.session), ctx.project.lock_timeout)?;
    store::commit(&lock, edits, &CheckpointMeta::new("adopt"))?;
    Ok(())
}

/// Returns what was done in the session, and the files that each finished step left, as they are now, in the order in which the steps ended: the
/// last one that wrote a file has it.
fn said(ctx: &ProjectContext, header: &Header, taken: &[TakenOver]) -> Entry {
    let root: &Utf8Path = &header.root;
    let head = store::git::head(root).and_then(|head| head.sha);
    let mut done: Vec<&TakenOver> = taken.iter().filter(|taken| !taken.files.is_empty()).collect();
    done.sort_by_key(|taken| taken.step.finished_at);
    let left = done.into_iter().map(|taken| EvidenceRecord {
        at: header.created_at,
        run: header.session.clone(),
        step: taken.step.id.clone(),
        head: head.clone(),
        outputs: store::describe(root, &taken.files),
        definition: None,
    });
    let reported = taken.iter().filter(|taken| taken.step.status == Status::Completed);
    let said = reported.map(|taken| report(header, taken)).collect();
    Entry { left: left.collect(), said, ..Entry::new("adopt", None, ctx.clock.now) }
}

/// Returns the report of a step that was done in the session, for the agents of the steps that build on it.
fn report(header: &Header, taken: &TakenOver) -> Statement {
    let session = header.adopted_from.as_deref().unwrap_or_default();
    let summary = format!("done in the session {session} of Claude Code and taken over from it");
    let report = StepReport {
        attempt: taken.step.attempts.max(1),
        summary: Some(summary),
        files: taken.files.clone(),
        ..StepReport::completed(taken.step.id.clone(), header.created_at)
    };
    Statement { run: header.session.clone(), dialect: DialectId::Piton, kind: StatementKind::Report(report) }
}
