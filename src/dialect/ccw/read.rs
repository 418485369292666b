//! Reads a run from a session folder.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    history::History,
    ids, interruptions,
    parsed_task::ParsedTask,
    parts, plan_document, raw,
    rules::{self, StatusWord},
    session_files::{SessionFiles, first_of},
    task::{CcwTask, TaskLocation},
    todo::CheckboxMark,
};
use crate::{
    dialect::{Loaded, last_interruption},
    document::Node,
    model::{
        Action, DialectId, EvidenceRequest, FileSet, Finding, FindingCode, FollowUp, Hold, Proof, RelPath, Run,
        RunStatus, Status, Step, StepId, StepKind, Witness, WorkspaceRecord, mask_secrets,
    },
};

/// The number of tasks that CCW allows; real sessions have more (docs/formats/ccw.md#groups).
const TASK_LIMIT: usize = 10;

/// Reads a run from all readable files of its folder.
pub(super) fn load(files: &FileSet) -> Loaded {
    let mut session_files = SessionFiles::read_with_detail(files);
    let mut findings = std::mem::take(&mut session_files.findings);
    let hierarchy = TaskHierarchy::of(&session_files, &mut findings);
    let mut steps = Vec::with_capacity(session_files.tasks.len());
    let mut stamp = session_files.session.stamp(files);
    let mut interruption = None;
    for at in 0..session_files.tasks.len() {
        let task = &session_files.tasks[at];
        let (status, kind) = status_and_kind(&session_files, at, &hierarchy, &mut findings);
        stamp = stamp.max(task.parsed.history.as_ref().and_then(|history| history.stamp));
        interruption = interruptions::newer(interruption, interruptions::recorded(task, status));
        let parts = std::mem::take(&mut session_files.tasks[at].parsed.parts);
        let detail = session_files.tasks[at].parsed.detail.take();
        let mut step = step(&session_files, at, (status, kind), &hierarchy, &mut findings);
        step.detail = *detail.unwrap_or_default();
        if kind != StepKind::Container {
            // Whether a subtask is a step itself depends on the whole session.
            let is_child = |name: &str| session_files.index.find(name).is_some_and(|child| child != at);
            step.detail.parts = parts::of_step(parts, status, is_child);
            let lines = session_files.part_lines.iter().filter(|line| line.task == at);
            lines.for_each(|line| parts::note_line(&mut step.detail.parts, status, line));
        }
        steps.push(step);
    }
    report_lost_summaries(&steps, &mut findings);
    report_groups(&steps, &mut findings);
    let (status, unknown) = session_files.session.status();
    // A timestamp means that it was archived on purpose; its location alone proves nothing
    // (docs/formats/ccw.md#archiving-a-session).
    let is_archived = session_files.layout.is_archived() && session_files.session.is_stamped_archived();
    let status = if is_archived { RunStatus::Archived } else { status };
    report_session(&session_files, status, unknown, &steps, &mut findings);
    let interruption =
        interruption.map(|(interruption, _)| interruption).or_else(|| interruptions::session(&session_files, &steps));
    let interruption = interruption.or_else(|| interruptions::context_loss(&session_files, &steps, &mut findings));
    let workspace = workspace(&session_files);
    let name = || session_files.layout.dir.name().to_owned();
    let id = session_files.session.id().unwrap_or_else(name);
    let title = raw::line(&session_files.session.goal().unwrap_or_else(name));
    let run = Run {
        status,
        position: position(&session_files, &steps),
        goal: session_files.session.goal(),
        started_at: session_files.session.started_at(files),
        stamp,
        follow_up: if session_files.layout.is_archived() { None } else { follow_up(status) },
        interruption,
        interrupted_at: last_interruption(files, session_files.session.value(), "timestamp"),
        resumes: session_files.session.resumes(),
        degraded: session_files.is_degraded,
        steps,
        workspace,
        ..Run::new(id, DialectId::Ccw, title, "ccw", state_files(&session_files))
    };
    let wanted = wanted(&run);
    Loaded { run: Some(run), findings, wanted, ..Loaded::default() }
}

/// The groups of tasks (docs/formats/ccw.md#groups).
struct TaskHierarchy {
    children: Vec<Vec<usize>>,
    parent: Vec<Option<usize>>,
    /// Named children without a file.
    missing: Vec<Vec<String>>,
    /// The task that lists each subtask, by lowercase id of the subtask.
    owners: BTreeMap<String, usize>,
}

impl TaskHierarchy {
    fn of(session_files: &SessionFiles<'_>, findings: &mut Vec<Finding>) -> Self {
        let count = session_files.tasks.len();
        let mut hierarchy = Self {
            children: vec![Vec::new(); count],
            parent: vec![None; count],
            missing: vec![Vec::new(); count],
            owners: BTreeMap::new(),
        };
        for (at, task) in session_files.tasks.iter().enumerate() {
            for (number, subtask) in task.parsed.subtasks.iter().enumerate() {
                if let Some(id) = subtask.id.as_ref().filter(|_| number < raw::LIST_LIMIT) {
                    hierarchy.owners.entry(id.to_ascii_lowercase()).or_insert(at);
                }
                match session_files.index.find(&subtask.name) {
                    Some(child) => hierarchy.add_child(at, child),
                    None if subtask.is_name && ids::is_task_shaped(&subtask.name) => {
                        hierarchy.missing[at].push(subtask.name.clone());
                    }
                    None => {}
                }
            }
        }
        for (at, task) in session_files.tasks.iter().enumerate() {
            let above = ids::ancestors(task.id.as_str());
            let declared = task.parsed.parent.as_ref().and_then(|parent| session_files.index.find(parent));
            if let Some(parent) = declared
                && (is_group(&session_files.tasks[parent])
                    || above.contains(&ids::loose_key(session_files.tasks[parent].id.as_str())))
            {
                hierarchy.add_child(parent, at);
            }
            let nearest = above.iter().find_map(|id| session_files.index.find(id));
            if let Some(parent) = nearest.filter(|parent| is_group(&session_files.tasks[*parent])) {
                hierarchy.add_child(parent, at);
            }
        }
        for (task, missing) in
            session_files.tasks.iter().zip(&hierarchy.missing).filter(|(_, missing)| !missing.is_empty())
        {
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            let message = format!("{} names subtasks without a file: {}", task.id, first_of(&missing));
            findings.push(Finding::new(FindingCode::FileMissing, message).on(&task.id));
        }
        hierarchy
    }

    /// Tells whether a group contains a task, directly or through other groups.
    fn is_around(&self, group: usize, task: usize) -> bool {
        std::iter::successors(self.parent[task], |above| self.parent[*above]).any(|above| above == group)
    }

    /// Adds a child, unless it has a parent already or would close a cycle.
    fn add_child(&mut self, parent: usize, child: usize) {
        let mut above = Some(parent);
        while let Some(at) = above {
            if at == child {
                return;
            }
            above = self.parent[at];
        }
        if self.parent[child].is_none() {
            self.parent[child] = Some(parent);
            self.children[parent].push(child);
        }
    }
}

/// Tells whether a task may be a group because other ids extend its own: it says so, or is only a checklist line.
fn is_group(task: &CcwTask) -> bool {
    task.parsed.word == StatusWord::Container || matches!(task.location, TaskLocation::Checklist { .. })
}

/// Returns status and kind of a task, and reports a missing or unknown status.
fn status_and_kind(
    session_files: &SessionFiles<'_>,
    at: usize,
    hierarchy: &TaskHierarchy,
    findings: &mut Vec<Finding>,
) -> (Status, StepKind) {
    let task = &session_files.tasks[at];
    if matches!(task.location, TaskLocation::Unreadable { .. }) {
        return (Status::Blocked, StepKind::Work);
    }
    let is_container = !hierarchy.children[at].is_empty();
    let kind = if is_container { StepKind::Container } else { StepKind::Work };
    let mut report = |code, message: String| {
        let finding = Finding::new(code, message).on(&task.id);
        let finding = if code == FindingCode::StatusUnknown { finding.fix(rules::STATUS_FIX) } else { finding };
        findings.push(match &task.location {
            TaskLocation::File { path, pointer } => finding.at(path).pointer(format!("{pointer}/status")),
            TaskLocation::Unreadable { path } => finding.at(path),
            TaskLocation::Checklist { number, .. } => finding.at(&session_files.layout.todo).line(*number, None),
        });
    };
    match &task.parsed.word {
        StatusWord::Known(status) => (*status, kind),
        StatusWord::Container if is_container => (Status::Pending, kind),
        StatusWord::Container if !hierarchy.missing[at].is_empty() => {
            report(FindingCode::FileMissing, format!("no subtask of the container {} has a file", task.id));
            (Status::Blocked, StepKind::Work)
        }
        StatusWord::Container if task.parsed.subtasks.is_empty() => {
            let message = format!("{} is a container without subtasks; its remaining work is unknown", task.id);
            report(FindingCode::StatusUnknown, message);
            (Status::Blocked, StepKind::Work)
        }
        StatusWord::Container => (status_of_subtasks(task), StepKind::Work),
        StatusWord::Missing => {
            if !is_container {
                report(
                    FindingCode::StatusMissing,
                    format!("{} has no status; evidence decides, else it is pending", task.id),
                );
            }
            (Status::Pending, kind)
        }
        StatusWord::Alias { word, status } => {
            let message = format!("the status `{word}` of {} is not a CCW status; it is read as {status}", task.id);
            report(FindingCode::StatusAlias, message);
            (*status, kind)
        }
        StatusWord::Unknown(word) => {
            report(FindingCode::StatusUnknown, format!("the status `{word}` of {} is unknown to CCW", task.id));
            (Status::Blocked, kind)
        }
    }
}

/// Derives the status of a container with its subtasks in the same file.
fn status_of_subtasks(task: &CcwTask) -> Status {
    let statuses = || task.parsed.parts.iter().map(|part| part.part.status);
    if statuses().all(Status::is_over) {
        Status::Completed
    } else if statuses().any(|status| status == Status::Failed) {
        Status::Failed
    } else if statuses().any(|status| status == Status::InProgress || status.is_over()) {
        Status::InProgress
    } else {
        Status::Pending
    }
}

/// Returns the step of a task, without its detail and definition.
fn step(
    session_files: &SessionFiles<'_>,
    at: usize,
    (status, kind): (Status, StepKind),
    hierarchy: &TaskHierarchy,
    findings: &mut Vec<Finding>,
) -> Step {
    let task = &session_files.tasks[at];
    let (parsed, nothing) = (&task.parsed, History::default());
    let history = parsed.history.as_deref().unwrap_or(&nothing);
    let legacy = session_files.layout.is_legacy;
    let agent = parsed.executor.agent(legacy);
    let (depends_on, mut dangling) = dependencies(session_files, at, hierarchy, findings);
    if kind == StepKind::Container || parsed.word == StatusWord::Container {
        dangling.extend(hierarchy.missing[at].iter().cloned());
    }
    let ids_of = |tasks: &[usize]| tasks.iter().map(|at| session_files.tasks[*at].id.clone()).collect::<Vec<StepId>>();
    Step {
        kind,
        status,
        group: hierarchy.parent[at].map(|parent| session_files.tasks[parent].id.as_str().to_owned()),
        agent_candidates: if agent.is_some() { Vec::new() } else { rules::agent_candidates(legacy) },
        agent,
        depends_on,
        dangling,
        hold: hold(parsed),
        attempts: history.attempts,
        failures: history.failures(status),
        error: history.error(status).map(|error| mask_secrets(error).into_owned()),
        past_errors: history.past_errors.iter().map(|error| mask_secrets(error).into_owned()).collect(),
        // An unknown status is for the user to resolve; witnesses must not close its step.
        proof: Proof {
            witnesses: match parsed.word {
                StatusWord::Unknown(_) => Vec::new(),
                _ => witnesses(session_files, at),
            },
            witnesses_needed: 2,
            summaries: session_files.summaries[at].clone(),
            ..Proof::default()
        },
        children: ids_of(&hierarchy.children[at]),
        started_at: history.started_at,
        finished_at: history.finished_at(status),
        commit: parsed.commit.clone(),
        begins_unrecorded: matches!(task.location, TaskLocation::Checklist { .. }),
        file: task.location.path().cloned().or_else(|| Some(session_files.layout.todo.clone())),
        ..Step::new(task.id.clone(), parsed.title.clone().unwrap_or_else(|| raw::line(task.id.as_str())))
    }
}

/// Returns why a task is blocked that its dependencies do not block (docs/formats/ccw.md#blocked-tasks).
fn hold(parsed: &ParsedTask) -> Option<Hold> {
    let is_blocked =
        matches!(parsed.word, StatusWord::Known(Status::Blocked) | StatusWord::Alias { status: Status::Blocked, .. });
    is_blocked.then(|| parsed.blocked_because.clone().map_or(Hold::Unexplained, Hold::Because))
}

/// Resolves dependencies to steps. A dependency on a subtask without a file resolves to the task that lists it.
fn dependencies(
    session_files: &SessionFiles<'_>,
    at: usize,
    hierarchy: &TaskHierarchy,
    findings: &mut Vec<Finding>,
) -> (Vec<StepId>, Vec<String>) {
    let (mut depends_on, mut dangling, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
    let find = |text: &str| {
        let owner = || hierarchy.owners.get(&text.to_ascii_lowercase()).copied();
        session_files.index.find_leading(text).or_else(owner)
    };
    for dependency in &session_files.tasks[at].parsed.dependencies {
        let named = session_files.index.find(&dependency.text);
        let texts = match named {
            Some(_) => vec![dependency.text.clone()],
            None if dependency.text.ends_with(".*") => below(session_files, at, &dependency.text),
            None => apart(&dependency.text, |text| find(text).is_some()),
        };
        for text in texts {
            match named.or_else(|| find(&text)).map(|found| (found, session_files.tasks[found].id.clone())) {
                Some((_, id)) if depends_on.contains(&id) => {}
                Some((found, id)) if hierarchy.is_around(found, at) => {
                    let own = &session_files.tasks[at].id;
                    let message =
                        format!("{own} depends on {id}, the group that contains it; the dependency is ignored");
                    findings.push(Finding::new(FindingCode::FieldIgnored, message).on(own));
                }
                Some((_, id)) => depends_on.push(id),
                None if dependency.is_vague && !ids::is_task_shaped(&text) => ignored.push(text),
                None => dangling.push(text),
            }
        }
    }
    if !ignored.is_empty() {
        let shown: Vec<&str> = ignored.iter().map(String::as_str).collect();
        let id = &session_files.tasks[at].id;
        let message = format!("dependencies of {id} that are not tasks are ignored: {}", first_of(&shown));
        findings.push(Finding::new(FindingCode::FieldIgnored, message).on(id).pointer("/dependencies"));
    }
    depends_on.shrink_to_fit();
    (depends_on, dangling)
}

/// Spells `IMPL-3.*` out: the tasks of that group besides the one that depends on them. Unchanged if there are none.
fn below(session_files: &SessionFiles<'_>, at: usize, text: &str) -> Vec<String> {
    let group = ids::loose_key(text.trim_end_matches(".*"));
    let is_below = |id: &StepId| ids::ancestors(id.as_str()).contains(&group);
    let others = session_files.tasks.iter().enumerate().filter(|(other, task)| *other != at && is_below(&task.id));
    let found: Vec<String> = others.map(|(_, task)| task.id.as_str().to_owned()).collect();
    if found.is_empty() { vec![text.to_owned()] } else { found }
}

/// Splits `IMPL-1 and IMPL-2` and `IMPL-1 to IMPL-3` if every piece names a task, so that no dependency is lost.
fn apart(text: &str, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let spelled_out = |piece: String| match ids::range(&piece) {
        range if range.is_empty() => vec![piece],
        range => range,
    };
    let pieces: Vec<String> = ids::pieces(text).into_iter().flat_map(spelled_out).collect();
    let names_one = |piece: &String| is_known(piece) || ids::is_task_shaped(ids::leading_token(piece));
    if pieces.len() > 1 && pieces.iter().all(names_one) { pieces } else { vec![text.to_owned()] }
}

/// Returns the witnesses from checklist and summaries; for a task that is only in the checklist, the summary is the only one.
fn witnesses(session_files: &SessionFiles<'_>, at: usize) -> Vec<Witness> {
    let mut witnesses = Vec::with_capacity(2);
    let is_file = !matches!(session_files.tasks[at].location, TaskLocation::Checklist { .. });
    if let Some(mention) = session_files.checklist[at].as_ref().filter(|_| is_file) {
        witnesses.push(Witness {
            source: "TODO_LIST.md".into(),
            done: mention.mark == CheckboxMark::Done,
            file: Some(session_files.layout.todo.clone()),
            line: Some(mention.number),
        });
    }
    witnesses.extend(session_files.tasks[at].parsed.record.map(|source| Witness {
        source: source.into(),
        done: true,
        file: session_files.tasks[at].location.path().cloned(),
        line: None,
    }));
    let task = &session_files.tasks[at];
    if let (TaskLocation::Unreadable { path }, StatusWord::Known(Status::Completed)) =
        (&task.location, &task.parsed.word)
    {
        let source = "the readable part of its file".into();
        witnesses.push(Witness { source, done: true, file: Some(path.clone()), line: None });
    }
    if session_files.session.calls_completed(&task.id) {
        let source = "workflow-session.json".into();
        witnesses.push(Witness { source, done: true, file: Some(session_files.layout.session.clone()), line: None });
    }
    let summary = session_files.summaries[at].first();
    witnesses.push(Witness { source: "summary".into(), done: summary.is_some(), file: summary.cloned(), line: None });
    witnesses
}

/// Reports dependencies without the summary that agents must read first (docs/formats/ccw.md#checks-before-a-resume).
fn report_lost_summaries(steps: &[Step], findings: &mut Vec<Finding>) {
    let is_open = |step: &&Step| step.kind == StepKind::Work && !step.status.is_over();
    let places: BTreeMap<&str, &Step> = steps.iter().map(|step| (step.id.as_str(), step)).collect();
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    for step in steps.iter().filter(is_open) {
        for on in step.depends_on.iter().filter_map(|id| places.get(id.as_str())) {
            if on.status == Status::Completed && on.proof.summaries.is_empty() && reported.insert(on.id.as_str()) {
                let message = format!("{} left no summary for {} to read", on.id, step.id);
                findings.push(Finding::new(FindingCode::SummaryMissing, message).on(&on.id));
            }
        }
    }
}

/// Reports completed groups with open tasks; the tasks decide (docs/formats/ccw.md#groups).
fn report_groups(steps: &[Step], findings: &mut Vec<Finding>) {
    let groups = steps.iter().filter(|step| step.kind == StepKind::Container && step.status == Status::Completed);
    for group in groups.filter(|group| !group.children.is_empty()) {
        let name = Some(group.id.as_str());
        let below = steps.iter().filter(|step| step.group.as_deref() == name && !step.status.is_over());
        let open: Vec<&str> = below.map(|step| step.id.as_str()).collect();
        if !open.is_empty() {
            let message = format!(
                "{} is marked completed but these subtasks are not, and they decide: {}",
                group.id,
                first_of(&open)
            );
            let finding = Finding::new(FindingCode::StatusOptimistic, message).on(&group.id);
            findings.push(group.file.iter().fold(finding, |finding, file| finding.at(file)));
        }
    }
}

/// Reports differences between the status of the session and its tasks; the session status decides nothing
/// (docs/formats/ccw.md#session-file).
fn report_session(
    session_files: &SessionFiles<'_>,
    status: RunStatus,
    unknown: Option<String>,
    steps: &[Step],
    findings: &mut Vec<Finding>,
) {
    let path = &session_files.layout.session;
    let stale = |message: String| Finding::new(FindingCode::SessionStatusStale, message).at(path).pointer("/status");
    if steps.is_empty() {
        let message = "the session has no tasks in .task or a checklist; /workflow:plan writes them";
        findings.push(Finding::new(FindingCode::FileMissing, message).at(&session_files.layout.tasks));
    }
    if let Some(id) = session_files.session.unsafe_id() {
        let message = format!("`{id}` cannot be used as a session id; the folder name is used instead");
        findings.push(Finding::new(FindingCode::IdUnsafe, message).at(path).pointer("/session_id"));
    }
    if let Some(word) = unknown {
        findings.push(stale(format!("the session's status `{word}` is unknown to CCW; it counts as active")));
    }
    let work = || steps.iter().filter(|step| step.kind == StepKind::Work);
    let open: Vec<&str> = work().filter(|step| !step.status.is_over()).map(|step| step.id.as_str()).collect();
    if session_files.session.status().0 == RunStatus::Completed && !open.is_empty() {
        findings.push(stale(format!("the session is marked completed but these tasks are not: {}", first_of(&open))));
    }
    let word = session_files.session.value().get("status").and_then(Node::as_str).map(rules::fold).unwrap_or_default();
    let has_begun = work().any(|step| matches!(step.status, Status::Completed | Status::InProgress | Status::Failed));
    if ["planning", "initialized", "ready"].contains(&word.as_str()) && has_begun {
        findings.push(stale(format!("the session status is {word} although tasks have begun")));
    }
    if status == RunStatus::Archived || session_files.layout.is_archived() {
        let message = "the session is archived; CCW marks all tasks completed when it archives a session";
        findings.push(Finding::new(FindingCode::SessionArchived, message).at(&session_files.layout.dir));
    }
    if session_files.layout.plan_in(session_files.files).is_none() {
        let message = "the session has neither IMPL_PLAN.md nor plan.json";
        findings.push(Finding::new(FindingCode::FileMissing, message).at(&session_files.layout.plan));
    }
    plan_document::report(session_files, findings);
    if work().count() > TASK_LIMIT {
        let message = format!("the session has {} tasks; CCW plans at most {TASK_LIMIT}", work().count());
        findings.push(Finding::new(FindingCode::TooManySteps, message).at(&session_files.layout.tasks));
    }
}

fn state_files(session_files: &SessionFiles<'_>) -> Vec<RelPath> {
    let own = [&session_files.layout.session, &session_files.layout.todo];
    // A file may have several tasks.
    let mut listed: BTreeSet<&RelPath> = own.into_iter().collect();
    let places =
        session_files.tasks.iter().filter_map(|task| Some((task.location.path()?, task.location.is_whole_file())));
    let tasks = places.filter(|(path, is_alone)| *is_alone || listed.insert(path)).map(|(path, _)| path);
    own.into_iter().filter(|path| session_files.files.files.contains_key(*path)).chain(tasks).cloned().collect()
}

fn position(session_files: &SessionFiles<'_>, steps: &[Step]) -> Option<StepId> {
    let running = steps.iter().find(|step| step.status == Status::InProgress && step.kind == StepKind::Work);
    running.map(|step| step.id.clone()).or_else(|| {
        let named = raw::first_text(session_files.session.value(), &["/progress/current_tasks/0", "/current_task"])?;
        session_files.index.find(&named).map(|at| session_files.tasks[at].id.clone())
    })
}

fn follow_up(status: RunStatus) -> Option<FollowUp> {
    match status {
        RunStatus::Completed | RunStatus::Archived => None,
        RunStatus::Active | RunStatus::Paused | RunStatus::Aborted => Some(FollowUp {
            action: Action::Archive,
            title: "Review the session, then archive it".to_owned(),
            agent: None,
            reason: "every task is done: review the whole with /workflow:review; archiving completes the session"
                .to_owned(),
            merge: None,
        }),
    }
}

fn workspace(session_files: &SessionFiles<'_>) -> WorkspaceRecord {
    let session = session_files.session.value();
    let line = |pointers: &[&str]| raw::first_line(session, pointers);
    let worktree = line(&["/worktree", "/worktree/path", "/worktree_path"]);
    WorkspaceRecord {
        branch: line(&["/feature_branch", "/branch", "/worktree/branch", "/git_branch"]),
        base_branch: line(&["/base_branch", "/worktree/base_branch"]),
        worktree: worktree.as_deref().and_then(|path| RelPath::parse(path).ok()),
        plan_reference: session_files.layout.plan_in(session_files.files).map(|path| path.as_str().to_owned()),
        ..WorkspaceRecord::default()
    }
}

/// Requests git evidence only if the state recorded something to compare.
fn wanted(run: &Run) -> EvidenceRequest {
    let has_record = run.workspace.branch.is_some() || run.workspace.worktree.is_some();
    EvidenceRequest {
        commits: run.steps.iter().filter_map(|step| step.commit.clone()).collect(),
        workspace: has_record.then(|| run.workspace.worktree.clone()),
        ..EvidenceRequest::default()
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
