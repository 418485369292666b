//! Makes a run of a session: its steps with what is known of them, what has to be looked at, and what is odd about its files.

use super::{
    digest::{Digest, Life, ToolUse, Workflow},
    ended::OpenWork,
    layout,
    standing::{AgentEnd, TITLE_CHARS, TurnEnd},
    steps::{Steps, in_project, relative, shown_files, without_home},
    tasks,
};
use crate::{
    dialect::Loaded,
    model::{
        DialectId, EvidenceRequest, FileSet, Finding, FindingCode, OutputRequest, OwnerProcess, Records, RelPath, Run,
        RunStatus, Status, Step, StepId, Suggested, Verb, Witness, plural, quoted, safe_line,
    },
};

/// The step that stands for what the main session was doing.
pub(super) const TURN: &str = "turn";
/// The name of the workflow of every session.
const WORKFLOW: &str = "claude";
/// The newest version of the client whose files were looked at.
pub(super) const NEWEST_KNOWN: &str = "2.1.330";
/// An unclean end as young as this may be that of a living session, in seconds.
const YOUNG_SECONDS: i64 = 120;
/// A session on another machine that was updated as lately as this may be alive, in seconds.
const ELSEWHERE_SECONDS: i64 = 600;

/// Loads a session.
pub(super) fn load(files: &FileSet, digest: &Digest) -> Loaded {
    let mut all = steps(digest);
    let cause = digest.cause(&all.open);
    let mut run =
        Run::new(files.name.as_str(), DialectId::Claude, layout::title(digest), WORKFLOW, vec![files.state.clone()]);
    run.goal = digest.main.first_prompt.as_ref().map(|prompt| prompt.text.clone());
    // A plan that was approved in this session is not offered a second time as a check list.
    let plan = digest.main.plan.as_ref().and_then(|plan| relative(digest, &plan.file));
    run.workspace.plan_reference = plan.map(|path| path.as_str().to_owned());
    run.started_at = digest.main.first_at;
    run.stamp = digest.last_at();
    run.records = Records::NONE;
    run.degraded = digest.main.broken_lines > 0;
    run.status = RunStatus::Active;
    // Only a clean end with nothing open is the end of the work.
    run.waits = !digest.is_clean() || digest.is_stopped();
    run.ended = (digest.life != Life::Alive).then_some(cause);
    all.findings.extend(liveness(files, digest));
    all.findings.extend(oddities(digest, all.outside));
    all.findings.extend(digest.adopted_as.as_ref().map(|run| {
        let message = format!("adopted as {}", safe_line(run, 100));
        Finding::new(FindingCode::SessionAdopted, message).fix(Suggested::of(Verb::Plan, run))
    }));
    let looked_at = all.steps.iter().flat_map(|step| step.proof.traces.iter().map(move |path| (step, path)));
    let outputs =
        looked_at.map(|(step, path)| OutputRequest { step: step.id.clone(), path: path.clone(), schema: None });
    let owner = digest.process.as_ref().filter(|_| digest.life == Life::Alive).map(|process| OwnerProcess {
        pid: process.pid,
        start: process.start,
        session: Some(process.session.clone()),
        name: format!(
            "Claude Code, session {}{}",
            safe_line(&process.session, 80),
            process.status.as_ref().map_or_else(String::new, |status| format!(", {}", safe_line(status, 40)))
        ),
        since: process.started_at,
    });
    let wanted = EvidenceRequest {
        outputs: outputs.collect(),
        workspace: Some(None),
        owner_processes: owner.into_iter().collect(),
        ..EvidenceRequest::default()
    };
    run.steps = all.steps;
    Loaded { run: Some(run), findings: all.findings, wanted, ..Loaded::default() }
}

/// Returns the steps of a session in the order of its plan: tasks, agents, workflows, the turn.
pub(super) fn steps(digest: &Digest) -> Steps {
    let mut all = Steps::default();
    tasks::add(digest, &mut all);
    add_agents(digest, &mut all);
    for (number, workflow) in (1_usize..).zip(in_launch_order(digest)) {
        add_workflow(digest, number, workflow, &mut all);
    }
    add_turn(digest, &mut all);
    for (at, step) in all.steps.iter_mut().enumerate() {
        step.plan_order = Some(at);
        // Nothing of it is written by a command.
        step.recorded = false;
    }
    all
}

/// Returns the id of the step of an agent: as many characters as tell it from the others.
pub(super) fn agent_step_id(id: &str, all: &[String]) -> StepId {
    let is_unique = |length: &usize| {
        let start = |id: &str| id.chars().take(*length).collect::<String>();
        all.iter().filter(|other| start(other) == start(id)).count() <= 1
    };
    let length = (6..=id.chars().count().max(6)).find(is_unique).unwrap_or(usize::MAX);
    StepId::new(format!("A-{}", id.chars().take(length).collect::<String>()))
}

/// Returns the id of the step of a call of a workflow.
pub(super) fn call_step_id(workflow: usize, place: usize) -> StepId {
    StepId::new(format!("W{workflow}/{place}"))
}

fn add_agents(digest: &Digest, all: &mut Steps) {
    let ids = digest.agent_ids();
    for id in &ids {
        let agent = digest.agents.get(id);
        let (launch, said) = digest.launch_of(id, agent);
        let end = digest.agent_end(id);
        all.open.all_agents += 1;
        let is_done = end == AgentEnd::Done;
        // An agent of the foreground that ended is a part of its turn.
        if is_done && !launch.is_some_and(|launch| launch.is_background) {
            continue;
        }
        let transcript = agent.and_then(|agent| agent.transcript.as_ref());
        let prompt = || transcript?.first_prompt.as_ref().map(|prompt| prompt.text.as_str());
        let title = launch.map(|launch| launch.title.as_str()).filter(|title| !title.is_empty());
        let title = title.or_else(|| agent?.title.as_deref()).or_else(prompt).unwrap_or(id);
        let mut step = Step::new(agent_step_id(id, &ids), safe_line(title, TITLE_CHARS));
        step.group = Some("Agents".to_owned());
        step.agent = agent.and_then(|agent| agent.kind.as_deref()).map(|kind| safe_line(kind, TITLE_CHARS));
        step.started_at = launch.and_then(|launch| launch.at).or_else(|| transcript?.first_at);
        step.tokens = transcript.map_or(0, |transcript| transcript.tokens);
        step.file = agent.and_then(|agent| RelPath::parse(&agent.path).ok());
        let (files, outside) =
            in_project(digest, transcript.iter().flat_map(|it| &it.files).map(|file| file.path.as_str()));
        all.outside += outside;
        if let Some(said) = said.filter(|said| is_done && said.status != "completed") {
            let status = safe_line(&said.status, 40);
            let message =
                format!("the client says of agent {}: {status}; its own transcript says that it ended", step.id);
            all.findings.push(Finding::new(FindingCode::StatusOptimistic, message));
        }
        let last = transcript.and_then(|transcript| transcript.last_effect.as_ref());
        let places = probe(digest, &files, last, step.file.as_ref());
        close(&mut step, &end, &places);
        step.finished_at = transcript.and_then(|transcript| transcript.last_at).filter(|_| is_done);
        step.detail.targets = shown_files(&files);
        count(&end, &mut all.open);
        all.steps.push(step);
    }
    if digest.more_agents > 0 {
        let message =
            format!("{} were not looked at: they are not known to be done", plural(digest.more_agents, "agent"));
        all.findings.push(Finding::new(FindingCode::WalkCutOff, message));
    }
}

/// Adds an agent that did not end to what is open.
fn count(end: &AgentEnd, open: &mut OpenWork) {
    if let AgentEnd::Cut { may_have_acted, .. } = end {
        open.agents += 1;
        open.unknown += usize::from(*may_have_acted);
    }
}

/// Gives a step the facts of the end of its agent.
fn close(step: &mut Step, end: &AgentEnd, probe: &str) {
    step.attempts = step.attempts.max(1);
    match end {
        AgentEnd::Done => step.status = Status::Completed,
        AgentEnd::Disputed => {
            step.status = Status::InProgress;
            step.proof.witnesses.push(Witness {
                source: "one of its files".into(),
                done: true,
                file: step.file.clone(),
                line: None,
            });
        }
        AgentEnd::Cut { may_have_acted, error } => {
            step.status = Status::InProgress;
            step.idempotent = !may_have_acted;
            step.error.clone_from(error);
            step.probe = may_have_acted.then(|| probe.to_owned());
        }
    }
}

/// Returns where to look to find out what an agent or a tool did, in words.
fn probe(digest: &Digest, files: &[RelPath], last: Option<&ToolUse>, transcript: Option<&RelPath>) -> String {
    let mut places = Vec::new();
    if !files.is_empty() {
        places.push(format!("it wrote {}", shown_files(files).join(", ")));
    }
    if let Some(last) = last {
        let about = match last.about.is_empty() {
            true => String::new(),
            false => format!(" ({})", safe_line(&without_home(digest, &last.about), 120)),
        };
        places.push(format!("its last tool with effects was {}{about}", safe_line(&last.name, 60)));
    }
    if let Some(transcript) = transcript {
        places.push(format!("its transcript is {transcript}"));
    }
    if places.is_empty() { "nothing is known of what it did".to_owned() } else { places.join("; ") }
}

/// Returns the runs of workflows in the order in which they were launched.
pub(super) fn in_launch_order(digest: &Digest) -> Vec<&Workflow> {
    let mut workflows: Vec<&Workflow> = digest.workflows.iter().collect();
    let at = |workflow: &Workflow| digest.main.workflows.iter().position(|launch| launch.run == workflow.id);
    workflows.sort_by_key(|workflow| (at(workflow).unwrap_or(usize::MAX), workflow.id.clone()));
    workflows
}

/// Returns the name of a workflow.
pub(super) fn workflow_name(digest: &Digest, workflow: &Workflow) -> String {
    let launch = digest.main.workflows.iter().find(|launch| launch.run == workflow.id);
    let name = launch.map(|launch| launch.name.as_str()).filter(|name| !name.is_empty());
    safe_line(name.unwrap_or(&workflow.id), TITLE_CHARS)
}

/// Tells whether the client told the session that a workflow is complete, or wrote the file of its end.
pub(super) fn is_reported_complete(digest: &Digest, workflow: &Workflow) -> bool {
    if workflow.has_end {
        return true;
    }
    let launch = digest.main.workflows.iter().find(|launch| launch.run == workflow.id);
    let ids = launch.map(|launch| launch.task.as_str()).into_iter().chain([workflow.id.as_str()]);
    let mut said = ids.filter_map(|id| digest.main.notifications.get(id));
    said.any(|said| said.status == "completed")
}

fn add_workflow(digest: &Digest, number: usize, workflow: &Workflow, all: &mut Steps) {
    let name = workflow_name(digest, workflow);
    let mut is_open = false;
    for (place, call) in (1_usize..).zip(&workflow.calls) {
        let end = workflow.call_end(call);
        let agent = call.agents.last().and_then(|id| workflow.agents.get(id));
        let transcript = agent.and_then(|agent| agent.transcript.as_ref());
        let mut step = Step::new(call_step_id(number, place), workflow.title_of(call));
        step.group = Some(name.clone());
        step.attempts = u32::try_from(call.agents.len()).unwrap_or(u32::MAX);
        step.started_at = transcript.and_then(|transcript| transcript.first_at);
        step.tokens = transcript.map_or(0, |transcript| transcript.tokens);
        step.file =
            agent.map(|agent| agent.path.as_str()).or(Some(&workflow.path)).and_then(|path| RelPath::parse(path).ok());
        let (files, outside) =
            in_project(digest, transcript.iter().flat_map(|it| &it.files).map(|file| file.path.as_str()));
        all.outside += outside;
        let last = transcript.and_then(|transcript| transcript.last_effect.as_ref());
        let places = probe(digest, &files, last, step.file.as_ref());
        close(&mut step, &end, &places);
        step.finished_at = transcript.and_then(|transcript| transcript.last_at).filter(|_| end == AgentEnd::Done);
        step.detail.targets = shown_files(&files);
        all.open.all_agents += 1;
        count(&end, &mut all.open);
        is_open |= end != AgentEnd::Done;
        all.steps.push(step);
    }
    // All of its agents ended, and the client never said that the workflow did.
    if !is_open && !is_reported_complete(digest, workflow) {
        let title = format!("the rest of the workflow {name}");
        let mut step = Step::new(StepId::new(format!("W{number}")), safe_line(&title, TITLE_CHARS));
        step.group = Some(name);
        step.status = Status::InProgress;
        step.attempts = 1;
        step.file = RelPath::parse(&workflow.path).ok();
        all.open.workflows += 1;
        all.steps.push(step);
    }
}

fn add_turn(digest: &Digest, all: &mut Steps) {
    let end = digest.turn_end();
    let main = &digest.main;
    let calls = if digest.is_stopped() { &main.rejected } else { &main.in_flight };
    let prompt = main.last_prompt.as_ref().map(|prompt| prompt.text.as_str()).unwrap_or_default();
    let title = match calls.iter().find(|call| !call.name.is_empty()) {
        Some(call) if call.about.is_empty() => call.name.clone(),
        Some(call) => format!("{}: {}", call.name, call.about),
        None if prompt.is_empty() => "the last turn".to_owned(),
        None => prompt.to_owned(),
    };
    let mut step = Step::new(StepId::new(TURN), safe_line(&without_home(digest, &title), TITLE_CHARS));
    step.group = Some("Session".to_owned());
    step.status = Status::InProgress;
    step.attempts = 1;
    step.error = main.api_error();
    step.started_at = main.last.as_ref().and_then(|last| last.at);
    match end {
        TurnEnd::Waiting => {
            // It is what a person goes on with, where nothing else is left.
            if all.open.is_nothing() && (all.steps.is_empty() || !digest.is_clean()) {
                step.status = Status::Completed;
                all.steps.push(step);
            }
            return;
        }
        TurnEnd::Open => {}
        TurnEnd::Unknown(unknown) => {
            step.idempotent = false;
            let paths = unknown.iter().filter_map(|call| call.path.as_deref());
            let (files, outside) = in_project(digest, paths);
            all.outside += outside;
            let mut places = probe(digest, &files, unknown.last(), None).replace("it wrote", "it was to write");
            if digest.is_stopped() {
                places.push_str("; it may not have run at all, if it was refused at the prompt");
            }
            step.detail.targets = shown_files(&files);
            step.probe = Some(places);
        }
    }
    all.open.has_turn = true;
    all.steps.push(step);
}

/// Returns a finding where it cannot be known whether the session is alive.
fn liveness(files: &FileSet, digest: &Digest) -> Option<Finding> {
    let age = |at| files.clock.now.seconds_since(at);
    let updated = digest.process.as_ref().and_then(|process| process.updated_at).max(digest.last_at())?;
    let why = match digest.life {
        Life::Elsewhere if age(updated) < ELSEWHERE_SECONDS => "its process is on another machine or in a container",
        Life::Unnamed if !digest.is_clean() && age(digest.last_at()?) < YOUNG_SECONDS => {
            "no file names its process, and it wrote something less than two minutes ago"
        }
        Life::Unnamed | Life::Dead | Life::Alive | Life::Elsewhere => return None,
    };
    let message = format!("the session may be alive: {why}");
    let fix = "look whether it is open in another terminal before you continue";
    Some(Finding::new(FindingCode::SessionMayLive, message).fix(fix))
}

fn oddities(digest: &Digest, outside: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    let main = &digest.main;
    if let Some(version) = main.version.as_deref().filter(|version| layout::is_newer(version, NEWEST_KNOWN)) {
        let version = safe_line(version, 40);
        let message = format!(
            "the session is of Claude Code {version}, newer than {NEWEST_KNOWN}: it is read as far as it can be"
        );
        findings.push(Finding::new(FindingCode::ClientNewer, message));
    }
    if main.long_lines > 0 || main.broken_lines > 0 {
        let lines = plural(main.long_lines + main.broken_lines, "line");
        let message = format!("{lines} of the transcript could not be read and count as unknown");
        findings.push(Finding::new(FindingCode::FileUnclassified, message));
    }
    if outside > 0 {
        let message =
            format!("{} outside of the project were written; they are not looked at", plural(outside, "file"));
        findings.push(Finding::new(FindingCode::FileUnclassified, message));
    }
    if let Some(next) = &main.continued_in {
        let message = format!("Claude Code went on with it in the session {}", safe_line(next, 80));
        findings.push(Finding::new(FindingCode::SessionContinued, message).fix(Suggested::of(Verb::Plan, next)));
    }
    if !digest.older.is_empty() {
        let older: Vec<String> = digest.older.iter().take(5).map(|id| quoted(id)).collect();
        let message = format!("it continues {}: {}", plural(digest.older.len(), "older session"), older.join(", "));
        findings.push(Finding::new(FindingCode::SessionContinued, message));
    }
    findings
}
