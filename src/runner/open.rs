//! Starts or resumes a session: the checks before its first step.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    console::{Console, Event},
    context::{RunContext, UsedVariables, check_environment, environment},
    drive::drive,
    error::RunError,
    files,
    ledger::{Ledger, SessionPaths},
    mend::load_repaired,
    orphan,
    preview::{KnownVariables, NewRun, Preview},
    ready::{check_programs, check_programs_of, check_worktree, folder},
    report::RunResult,
    resume::{ResumeOptions, ScheduledStep, check_asked, scheduled_steps},
    run_environment::RunEnvironment,
    secrets::{self, Masks},
    settle, sign_of_life, warnings, worktree_files,
};
use crate::{
    dialect::piton::{
        self,
        facts::Outline,
        record::{HEADER, Header, Source},
    },
    engine::{self, quoted},
    model::{
        About, Candidate, Change, ChangeKind, Content, Evidence, Fix, No, Owner, RelPath, Run, RunFolder, RunId,
        StartSpec, StepId, Suggested, Verb, human_age, mistakes,
    },
    ops::{self, Exit},
    schema,
    store::{self, CheckpointMeta, Project, SessionHome, worktree},
    workflow::{self, SpendingLimits, Step, Workflow, inputs},
};

/// How often a run that goes on says that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(store::local::RENEWAL_SECONDS.unsigned_abs());

/// The options of a new run.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartRequest {
    pub(crate) project: Option<String>,
    pub(crate) now: Option<String>,
    pub(crate) file: String,
    /// For `${ARG}`.
    pub(crate) args: Vec<String>,
    /// `NAME=VALUE`, for the inputs of the workflow.
    pub(crate) inputs: Vec<String>,
    /// Run the steps in the project itself.
    pub(crate) in_place: bool,
    /// Uncommitted changes of the project are taken along into the worktree.
    pub(crate) carries_changes: bool,
    /// How many steps run at the same time.
    pub(crate) jobs: usize,
    /// Stop when this step is done.
    pub(crate) until: Option<String>,
    /// Run this step and no other.
    pub(crate) only: Option<String>,
    /// Merge at the end without asking.
    pub(crate) yes: bool,
    pub(crate) dry_run: bool,
}

/// The options of a session to resume.
#[derive(Clone, Debug)]
pub(crate) struct ResumeRequest {
    pub(crate) now: Option<String>,
    /// The folder of all sessions of its repository.
    pub(crate) home: Utf8PathBuf,
    pub(crate) session: String,
    pub(crate) asked: ResumeOptions,
}

impl ResumeRequest {
    /// Returns the request for a session, given with the home of its records.
    pub(crate) fn new(now: Option<&String>, (home, session): (&Utf8Path, &str), asked: ResumeOptions) -> Self {
        Self { now: now.cloned(), home: home.to_owned(), session: session.to_owned(), asked }
    }
}

/// Locates the workflow file of a new run.
fn located(start: &StartRequest) -> Result<(RunEnvironment, Source), RunError> {
    let folder = match &start.project {
        Some(folder) => store::surroundings::folder().join(folder),
        None => store::current_dir()?,
    };
    let run_environment = RunEnvironment::open(&folder, start.now.as_deref())?;
    let path = files::real(&run_environment.project.cwd.join(&start.file)).map_err(|why| {
        let what = if ops::is_workflow_path(&start.file) { "workflow file" } else { "workflow, run or file" };
        let message = format!("there is no {what} {}: {why}", start.file);
        let mut hints = ops::hints_for_missing_workflow(&run_environment.project, &start.file);
        hints.push(format!("for the form of the file: `{}`", Suggested::of(Verb::Schema, "workflow")).into());
        RunError::problem(Exit::NotFound, message, hints)
    })?;
    let source = source(&run_environment.project, &path)?;
    Ok((run_environment, source))
}

/// Checks the files that a new run needs before its first step. A workflow file with mistakes is left to what starts the run.
pub(crate) fn check_files(start: &StartRequest) -> Result<(), RunError> {
    let Ok((run_environment, source)) = located(start) else { return Ok(()) };
    let Ok((workflow, files)) = workflow(&source) else { return Ok(()) };
    if inputs::values(&workflow.inputs, &start.inputs).is_err() {
        return Ok(());
    }
    new_header(&run_environment, start, source, (&workflow, &BTreeMap::new()), files.included).map(drop)
}

/// Runs a workflow file.
pub(crate) fn run(start: &StartRequest, console: &dyn Console) -> Result<RunResult, RunError> {
    let (run_environment, source) = located(start)?;
    if !start.dry_run {
        run_environment.project.trusted.check_home()?;
    }
    let (workflow, workflow_files) = workflow(&source)?;
    let asked = ResumeOptions {
        is_new: true,
        jobs: start.jobs,
        until: start.until.clone(),
        only: start.only.clone(),
        yes: start.yes,
        dry_run: start.dry_run,
        ..ResumeOptions::default()
    };
    check_asked(&workflow, &start.file, &asked)?;
    match check_programs(&asked_for(&workflow, start)) {
        Err(error) if start.dry_run => console.tell(&Event::Warning { text: &error.to_string() }),
        checked => checked?,
    }
    inputs::values(&workflow.inputs, &start.inputs)?;
    // Before a session and a worktree are made, which would stay.
    let declared = secrets::fetch(&workflow.all_secrets(), &run_environment.project.root)?;
    if !start.in_place {
        let in_place = Suggested::of(Verb::Run, &start.file).flag("no-worktree").options("input", &start.inputs);
        check_worktree(&run_environment.project, &in_place)?;
    }
    if start.dry_run {
        new_header(&run_environment, start, source, (&workflow, &declared), workflow_files.included)?;
        let root = &run_environment.project.root;
        let new = NewRun {
            root,
            in_place: start.in_place,
            args: &start.args,
            inputs: &inputs::values(&workflow.inputs, &start.inputs)?,
            until: start.until.as_deref(),
            only: start.only.as_deref(),
        };
        let (shown, total) = (new.preview(&workflow), workflow.steps.len());
        let begins = Suggested::of(Verb::Run, &start.file);
        return Ok(RunResult::planned(shown, (root.as_str().to_owned(), begins), total));
    }
    let (home, header) = begin(&run_environment, start, source, (&workflow, &declared), workflow_files)?;
    let id = header.session.clone();
    let shown = header.work_folder().to_owned();
    console.tell(&Event::Session { id: &id, folder: shown.as_str() });
    for text in warnings::at_start(&header) {
        console.tell(&Event::Warning { text: &text });
    }
    drive_session(&run_environment, home.root(), &id, &asked, console)
}

/// Returns the steps that a new run is to carry out, with those around them.
fn asked_for<'a>(workflow: &'a Workflow, start: &StartRequest) -> Vec<&'a Step> {
    let is = |step: &Step, name: &Option<String>| name.as_deref() == Some(step.id.as_str());
    if start.only.is_some() {
        return workflow.steps.iter().filter(|step| is(step, &start.only)).collect();
    }
    match workflow.steps.iter().position(|step| is(step, &start.until)) {
        Some(last) => workflow.steps[..=last].iter().chain(&workflow.on_stop).collect(),
        None => workflow.steps.iter().chain(workflow.around()).collect(),
    }
}

/// Resumes a session.
pub(crate) fn resume(resume: &ResumeRequest, console: &dyn Console) -> Result<RunResult, RunError> {
    let header = header(&resume.home, &resume.session)?;
    let run_environment = RunEnvironment::of_session(&resume.home, &header, resume.now.as_deref(), console)?;
    drive_session(&run_environment, &resume.home, &resume.session, &resume.asked, console)
}

/// Describes a new run, without the changes that it takes along, with the commit that is checked out, and checks the files that it needs before its first step.
fn new_header(
    run_environment: &RunEnvironment,
    start: &StartRequest,
    source: Source,
    (workflow, declared): (&Workflow, &BTreeMap<String, String>),
    included: Vec<RelPath>,
) -> Result<(SessionHome, Header, Option<String>), RunError> {
    let project = &run_environment.project;
    let home = SessionHome::for_project(project, &run_environment.environment);
    let now = run_environment.ticker.now().now;
    let id = store::sessions::new_id(now);
    let head = store::git::head(&project.cwd).or_else(|| store::git::head(&project.root)).unwrap_or_default();
    let in_worktree = !start.in_place;
    let header = Header {
        worktree: in_worktree.then(|| home.worktree(&id)),
        branch: in_worktree.then(|| format!("piton/{id}")),
        base_branch: head.branch.filter(|_| in_worktree),
        base_commit: head.sha.clone().filter(|_| in_worktree),
        args: start.args.clone(),
        inputs: inputs::values(&workflow.inputs, &start.inputs)?,
        included,
        ..Header::new(home.places(), &id, &project.root, source, now)
    };
    worktree_files::check_wanted(&header, &workflow.worktree)?;
    check_environment(workflow, declared, &header, start.dry_run)?;
    Ok((home, header, head.sha))
}

/// Creates a session with its first record.
fn begin(
    run_environment: &RunEnvironment,
    start: &StartRequest,
    source: Source,
    (workflow, declared): (&Workflow, &BTreeMap<String, String>),
    files: WorkflowFiles,
) -> Result<(SessionHome, Header), RunError> {
    let project = &run_environment.project;
    let (home, mut header, head) = new_header(run_environment, start, source, (workflow, declared), files.included)?;
    let (id, now) = (header.session.clone(), header.created_at);
    if start.carries_changes {
        header.carried = warnings::carried(&project.root, head.as_deref())?;
    }
    let spec = StartSpec {
        branch: header.branch.clone(),
        base_branch: header.base_branch.clone(),
        ..StartSpec::new(&workflow.name, &id)
    };
    let change = Change { at: now, kind: ChangeKind::Start(Box::new(spec)) };
    let about = About::new(store::new_uid(), run_environment.caller().driver(home.root()));
    let new = piton::start(&header, (about, change), Outline::of(workflow, files.sha256), head)
        .expect("a generated id is valid");
    project.trusted.enter_new(&id, &new, home.root())?;
    home.create(&id)?;
    let lock = session_paths(home.root(), &id, project)?.lock()?;
    let meta = CheckpointMeta::new("start");
    store::commit(&lock, &new, &meta)?;
    Ok((home, header))
}

pub(super) fn session_paths(home: &Utf8Path, id: &str, project: &Project) -> Result<SessionPaths, RunError> {
    let own = RunFolder { home: home.to_owned(), path: records_of(id)? };
    Ok(SessionPaths { own, lock_timeout: project.lock_timeout })
}

/// Returns the folder of a session in its home.
fn records_of(id: &str) -> Result<RelPath, RunError> {
    let state = candidate(id, None)?.state;
    Ok(state.parent().unwrap_or(state))
}

pub(super) fn candidate(id: &str, header: Option<&Header>) -> Result<Candidate, RunError> {
    piton::candidate(id, header)
        .ok_or_else(|| RunError::new(Exit::Usage, format!("`{id}` is not a valid session name"), []))
}

/// Drives a session, new or resumed, under its lease.
fn drive_session(
    run_environment: &RunEnvironment,
    home: &Utf8Path,
    id: &str,
    asked: &ResumeOptions,
    console: &dyn Console,
) -> Result<RunResult, RunError> {
    let header = header(home, id)?;
    let paths = session_paths(home, id, &run_environment.project)?;
    if asked.dry_run {
        return drive_claimed(run_environment, &paths, &header, asked, console);
    }
    claim(&paths, run_environment, asked)?;
    let (ticker, caller) = (run_environment.ticker, run_environment.caller());
    let renew = || {
        // The run does not depend on it.
        if let (Some(name), Ok(lock)) = (caller.driver(&paths.own.home), paths.lock()) {
            let _ = store::local::refresh(&lock, ticker.now(), (&caller, name));
        }
    };
    let done =
        sign_of_life::during(SIGN_OF_LIFE, renew, || drive_claimed(run_environment, &paths, &header, asked, console));
    if done.is_err() {
        let lock = paths.lock()?;
        store::local::release(&lock, run_environment.ticker.now(), &run_environment.caller())?;
    }
    done
}

/// Drives a session whose lease this process holds.
fn drive_claimed(
    run_environment: &RunEnvironment,
    paths: &SessionPaths,
    header: &Header,
    asked: &ResumeOptions,
    console: &dyn Console,
) -> Result<RunResult, RunError> {
    let candidate = candidate(&header.session, Some(header))?;
    if !header.is_writable() {
        return Err(newer(header));
    }
    let (files, session, mut loaded) = load_repaired(run_environment, paths, &candidate, asked, console)?;
    let (mut workflow, workflow_files) = workflow(&header.workflow).map_err(|error| match asked.is_new {
        true => error,
        false => without_workflow(header, error),
    })?;
    check_included(header, &workflow_files)?;
    let header = &header.with_defaults(&workflow.inputs);
    let Some(mut run) = loaded.run.take() else {
        let message = loaded.findings.first().map_or_else(String::new, |finding| finding.message.clone());
        return Err(RunError::new(Exit::Unreadable, message, []).with(loaded.findings));
    };
    if !run.writable {
        return Err(newer(header));
    }
    check_recorded(header, &session, &workflow_files.sha256, asked)?;
    if asked.gives_up {
        keep_final(&mut workflow, &mut run);
    }
    // A person asked for these steps.
    if asked.gives_up || asked.only.is_some() {
        workflow.limits = SpendingLimits::default();
    }
    if asked.over_limits {
        workflow.limits.wait = None;
    }
    let declared = secrets::fetch(&workflow.all_secrets(), &header.root)?;
    let evidence = if asked.is_new {
        Evidence::default()
    } else {
        settle::evidence(&run_environment.project, &files, &loaded, &run_environment.environment)
    };
    let caller = (run_environment.ticker, run_environment.caller());
    let mut ledger = Ledger::new(paths.clone(), caller, session, (run, evidence));
    check_no_agent(header, &ledger, asked)?;
    if !asked.dry_run {
        ledger.catch_up()?;
        // No runner before a new run was killed.
        if !asked.is_new {
            end_what_was_left(header, &ledger, console);
        }
        settle::record_shown(&mut ledger, (header, &workflow), asked, console)?;
    }
    let plan = scheduled_steps(
        &mut ledger,
        (&workflow, &workflow_files.sha256, &declared),
        (header, loaded.findings),
        asked,
        console,
    )?;
    check_programs_of(&plan, &workflow, &ledger, asked)?;
    if asked.dry_run {
        return Ok(preview_rest(header, &workflow, &ledger, &plan));
    }
    let (folder, is_new) = folder(header, &ledger, &plan, asked)?;
    worktree_files::set_up((header, &folder, is_new), &workflow.worktree, &mut ledger, console)?;
    if let Some(text) = warnings::of_branch(header, &folder) {
        console.tell(&Event::Warning { text: &text });
    }
    let env = environment(&workflow, &declared, header, &folder)?;
    let context = RunContext {
        masks: Masks::of(&declared, store::variables()),
        secrets: declared,
        used: UsedVariables::of(&workflow),
        header: header.clone(),
        session: paths.folder(),
        ticker: run_environment.ticker,
        ledger: std::sync::Mutex::new(ledger),
        worktrees: std::sync::Mutex::default(),
        workflow,
        folder,
        console,
        env,
    };
    drive(&context, &plan, asked)
}

/// Refuses to run steps as the file has them now, where the run of an agent goes on as it was recorded.
fn check_recorded(
    header: &Header,
    session: &piton::Session,
    sha256: &str,
    asked: &ResumeOptions,
) -> Result<(), RunError> {
    if !header.is_attended || asked.is_new || asked.accept_edits || session.state.workflow.sha256 == sha256 {
        return Ok(());
    }
    let file = &header.workflow.file;
    let message = format!("{file} was changed since the run began, which goes on as it was recorded");
    let accept = format!("take the changes: `{}`", header.accept_edits());
    let hints = [accept, format!("or undo them in {file}")].map(Fix::from);
    Err(RunError::new(Exit::Person, message, hints))
}

/// Ends what an earlier runner left at work, and removes the locks of what was ended.
fn end_what_was_left(header: &Header, ledger: &Ledger, console: &dyn Console) {
    for folder in header.worktree.iter().chain([&header.root]) {
        worktree::wait_for_calls(folder);
    }
    for pid in orphan::end_all(ledger) {
        let text = format!("Process {pid} of the previous runner was still running; it was ended");
        console.tell(&Event::Note { text: &text });
    }
    orphan::remove_locks(header, console);
}

/// Returns what a resume would do.
fn preview_rest(header: &Header, workflow: &Workflow, ledger: &Ledger, plan: &[ScheduledStep]) -> RunResult {
    let folder = header.work_folder();
    let known = KnownVariables::of(workflow, |name| {
        // How a step ends that is not over is not known yet.
        let is_open = |value: &serde_json::Value| piton::status_of(name).is_some() && value == "open";
        let left = ledger.variable(name).ok().flatten().filter(|value| !is_open(value));
        left.or_else(|| header.variable(name, &workflow.name, folder))
    });
    let due: Vec<usize> = plan.iter().map(|due| due.at).collect();
    let left_out = ledger.state().steps.iter().filter(|(_, state)| state.is_unmet);
    let left_out = left_out.map(|(id, _)| StepId::new(id)).collect();
    let shown = Preview::of(workflow, &due, &known, left_out);
    let (total, done) = (workflow.steps.len(), workflow.steps.len() - plan.len());
    let at = (folder.as_str().to_owned(), header.resume());
    RunResult { session: header.session.clone(), done, ..RunResult::planned(shown, at, total) }
}

/// Leaves the steps that run when the run ends: they no longer wait for the others.
fn keep_final(workflow: &mut Workflow, run: &mut Run) {
    workflow.steps.retain(|step| step.is_final);
    let ids: BTreeSet<&StepId> = workflow.steps.iter().map(|step| &step.id).collect();
    run.steps.retain(|step| ids.contains(&step.id));
    run.steps.iter_mut().for_each(|step| step.depends_on.retain(|id| ids.contains(id)));
}

fn newer(header: &Header) -> RunError {
    let message = format!("session {} was written by a newer version of piton", header.session);
    RunError::new(Exit::Newer, message, ["update piton, then try again".into()])
}

/// Refuses to go on where an agent may be at a step that was begun by hand.
fn check_no_agent(header: &Header, ledger: &Ledger, asked: &ResumeOptions) -> Result<(), RunError> {
    let goes_on = !(asked.dry_run || asked.is_new || asked.gives_up || asked.only.is_some());
    let Some(attempt) = ledger.begun_from_a_shell().filter(|_| goes_on) else { return Ok(()) };
    let age = human_age(ledger.now().seconds_since(attempt.at));
    let message = format!("{} was begun from a shell {age} ago, and its agent may be at work", attempt.step);
    let run = RunId::new(&header.session);
    let done = format!("if it is done: `{}`", Suggested::on_step(Verb::Finish, &attempt.step, &run));
    let again = engine::redo_command(&attempt.step, &run);
    let again = format!("if its agent is gone: `{again}`");
    Err(RunError::new(Exit::Person, message, [done.into(), again.into()]))
}

/// Takes the lease of the session; refuses when another process holds it.
pub(super) fn claim(
    paths: &SessionPaths,
    run_environment: &RunEnvironment,
    asked: &ResumeOptions,
) -> Result<(), RunError> {
    ops::check_not_its_child(&run_environment.environment, paths.own.path.name()).map_err(RunError::Refused)?;
    let lock = paths.lock()?;
    let command = if asked.is_new { "run" } else { "resume" };
    let (now, caller) = (run_environment.ticker.now(), run_environment.caller());
    match store::local::owner_for(&lock, now, &caller) {
        Owner::None | Owner::Ours | Owner::Dead { .. } => {
            let name = caller.driver(&paths.own.home).expect("a process that drives a run has a name");
            Ok(store::local::take(&lock, now, (&caller, name), command)?)
        }
        Owner::Live { description } => {
            let id = paths.own.path.name();
            let message = format!("session {id} is already running: {description}");
            let hints = ["wait for it, or end it; then try again".into(), Suggested::of(Verb::Status, id).into()];
            Err(RunError::new(Exit::Conflict, message, hints))
        }
    }
}

/// Reads the header of a session.
pub(super) fn header(home: &Utf8Path, id: &str) -> Result<Header, RunError> {
    let file = records_of(id)?.join(HEADER).expect("a constant name");
    let unreadable =
        |why: String| RunError::new(Exit::Unreadable, format!("{} cannot be read: {why}", file.under(home)), []);
    match store::read_file(home, &file) {
        Content::Bytes(bytes) => Header::parse(&bytes, home).map_err(|error| unreadable(error.to_string())),
        Content::NameOnly => Err(unreadable("it has no content".to_owned())),
        Content::Problem(problem) => Err(unreadable(problem.to_string())),
    }
}

/// Returns the absolute location of a workflow file.
fn source(project: &Project, path: &Utf8Path) -> Result<Source, RunError> {
    let root = if path.starts_with(&project.root) { Some(project.root.as_path()) } else { path.parent() };
    let root = root.unwrap_or(&project.root);
    RelPath::below(path, root)
        .map(|file| Source { root: root.to_owned(), file })
        .ok_or_else(|| RunError::new(Exit::Usage, format!("{path} is not a path that a session can store"), []))
}

/// The files of a workflow.
pub(super) struct WorkflowFiles {
    /// The digest of all of them.
    sha256: String,
    included: Vec<RelPath>,
}

/// Refuses to go on with files that the plan of the run cannot look at.
fn check_included(header: &Header, files: &WorkflowFiles) -> Result<(), RunError> {
    let Some(new) = files.included.iter().find(|file| !header.included.contains(file)) else { return Ok(()) };
    let message = format!("{} includes {new} now, which it did not when the run began", header.workflow.file);
    let hint = format!("write the steps of {new} into {}, or begin another run", header.workflow.file);
    Err(RunError::new(Exit::No(No::Invalid), message, [hint.into()]))
}

pub(super) fn workflow(source: &Source) -> Result<(Workflow, WorkflowFiles), RunError> {
    let path = source.file.under(&source.root);
    let text = files::read(&path).map_err(|why| {
        let (kind, next) = match store::unread::exists(&path) {
            true => (Exit::Unreadable, Verb::Doctor),
            false => (Exit::NotFound, Verb::Workflows),
        };
        RunError::new(kind, format!("the workflow file cannot be read: {why}"), [Suggested::new(next).into()])
    })?;
    let mut parsed = workflow::parse_with(&source.file, text.as_bytes(), &|path| store::read_bytes(&source.root, path));
    if let Some(workflow) = &parsed.workflow {
        let declared = workflow.expected_schemas().into_iter();
        let declared = declared.map(|(step, schema)| (&step.id, schema, (step.place.line, step.place.column)));
        parsed.findings = schema::invalid_schemas(&source.file, declared);
    }
    match parsed.workflow.filter(|_| parsed.findings.is_empty()) {
        Some(workflow) => Ok((workflow, WorkflowFiles { sha256: parsed.sha256, included: parsed.included })),
        None => {
            let mistakes = mistakes(parsed.findings.len());
            let schema = Suggested::of(Verb::Schema, "workflow");
            let hint = format!("correct the file, then run the command again; its schema: `{schema}`");
            Err(RunError::new(Exit::No(No::Invalid), format!("{} has {mistakes}", source.file), [hint.into()])
                .with(parsed.findings))
        }
    }
}

fn without_workflow(header: &Header, error: RunError) -> RunError {
    let path = header.workflow.file.under(&header.workflow.root);
    match error {
        RunError::Problem(problem) if problem.kind == Exit::NotFound => {
            let message =
                format!("session {} cannot continue without its workflow file: {}", header.session, problem.message);
            let hint = format!("restore {}, then: `{}`", quoted(path.as_str()), header.resume());
            RunError::new(Exit::Unreadable, message, [hint.into()])
        }
        RunError::Problem(_) | RunError::Store(_) | RunError::Refused(_) => error,
    }
}
