//! The guard of the client's own tasks: a task that declares outputs is not completed while they are missing.
//!
//! A person asks for it with `setup --guard`. It reads no configuration, so that no project switches it off.

use camino::{Utf8Path, Utf8PathBuf};

use super::project_context::Request;
use crate::{
    document::{Node, Syntax, parse},
    model::{Content, Evidence, FileFact, ReadProblem, RelPath, Timestamp, clean_line, mask_secrets},
    store::{self, Environment, HookMemory},
};

/// How often the completion of one task is refused before it is let through.
const REFUSALS: usize = 2;
/// Bytes of a task file, as the client writes them.
const TASK_BYTES: usize = 64 << 10;
/// Bytes of the transcript that are searched for the start of the task.
const TRANSCRIPT_BYTES: u64 = 16 << 20;
/// Seconds by which a file may seem older than it is: file systems round their stamps.
const STAMP_SLACK: i64 = 2;
const OUTPUTS_LIMIT: usize = 200;
const OUTPUTS_SHOWN: usize = 5;
const NAME_CHARS: usize = 120;

/// A task of the client's list that is about to be completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompletedTask {
    pub(crate) session: String,
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) cwd: String,
    pub(crate) transcript: String,
}

/// What is said to a completion. Most pass in silence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskVerdict {
    Refused(String),
    /// It was refused before; the sentence says what is still missing.
    LetThrough(String),
}

/// Compares the declared outputs of a task with the project. `None` if they are there, or if anything about the task cannot be read.
pub(crate) fn judge_task(task: &CompletedTask, request: &Request) -> Option<TaskVerdict> {
    let environment = Environment::read();
    let now = store::now(request.now.as_deref().or(environment.now.as_deref())).ok()?.now;
    let declared = declared_outputs(&environment, task)?;
    let folders = folders(&task.cwd)?;
    let since = started_at(task);
    let problems: Vec<String> = declared
        .iter()
        .filter_map(|output| {
            let reason = problem(&folders, output, since)?;
            Some(format!("{} {reason}", clean_line(&mask_secrets(output), NAME_CHARS)))
        })
        .collect();
    let (first, more) = (problems.iter().take(OUTPUTS_SHOWN), problems.len().saturating_sub(OUTPUTS_SHOWN));
    let mut said = first.cloned().collect::<Vec<_>>().join(", ");
    if said.is_empty() {
        return None;
    }
    if more > 0 {
        said.push_str(&format!(" and {more} more"));
    }
    let memory = HookMemory::of(&environment)?;
    let topic = format!("guard {} {}", task.session, task.id);
    if memory.count(&topic) >= REFUSALS {
        let message = format!("Piton: task {} was completed after {REFUSALS} refusals: {said}", task.id);
        return Some(TaskVerdict::LetThrough(message));
    }
    // What cannot be remembered would be refused for ever.
    memory.note(now, &topic).ok()?;
    let them = if problems.len() == 1 { "it" } else { "them" };
    Some(TaskVerdict::Refused(format!("{said}; task {} declares {them}", task.id)))
}

/// Returns the outputs that the file of the task declares in `metadata.outputs`: a path or a list of paths.
fn declared_outputs(environment: &Environment, task: &CompletedTask) -> Option<Vec<String>> {
    let home = environment.client_home.as_ref()?;
    let is_number = !task.id.is_empty() && task.id.len() < 12 && task.id.bytes().all(|byte| byte.is_ascii_digit());
    let head: String = task.session.chars().take(8).collect();
    let named = store::variable("CLAUDE_CODE_TASK_LIST_ID");
    let lists = named.into_iter().chain([task.session.clone(), format!("session-{head}")]);
    let file = lists.filter(|list| is_number && is_plain_name(list)).find_map(|list| {
        let path = RelPath::parse(&format!("tasks/{list}/{}.json", task.id)).ok()?;
        let Content::Bytes(bytes) = store::read_file(home, &path) else { return None };
        let file = parse(&bytes, Syntax::Json).ok().filter(|_| bytes.len() <= TASK_BYTES)?;
        // Two lists may have a task of this number.
        let is_same = file.get("subject").and_then(Node::as_str) == Some(task.subject.as_str());
        (is_same || task.subject.is_empty()).then_some(file)
    })?;
    let outputs = file.at("/metadata/outputs")?;
    let each = outputs.items().iter().chain(outputs.as_str().map(|_| outputs));
    let outputs: Vec<String> = each.filter_map(Node::as_str).take(OUTPUTS_LIMIT).map(str::to_owned).collect();
    (!outputs.is_empty()).then_some(outputs)
}

/// Tells whether a list of the client can have this name: it becomes a folder.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns the folders that an output may be relative to: the top of the work tree first, then that of the session, then where it is now.
fn folders(cwd: &str) -> Option<Vec<Utf8PathBuf>> {
    let top = store::work_tree(Utf8Path::new(cwd))?;
    let session = store::variable("CLAUDE_PROJECT_DIR").and_then(|folder| store::existing_path(&top, &folder));
    let cwd = store::existing_path(&top, cwd);
    let is_around = |folder: &Utf8PathBuf| cwd.as_ref().is_some_and(|cwd| cwd.starts_with(folder));
    let mut folders = vec![top];
    folders.extend(session.filter(is_around).into_iter().chain(cwd.clone()));
    Some(folders)
}

/// Returns what is wrong with an output; `None` if it is there, or if it cannot be looked at.
fn problem(folders: &[Utf8PathBuf], output: &str, since: Option<Timestamp>) -> Option<&'static str> {
    let mut problems = folders.iter().map(|folder| problem_in(folder, output, since));
    let first = problems.next()??;
    problems.all(|problem| problem.is_some()).then_some(first)
}

fn problem_in(folder: &Utf8Path, output: &str, since: Option<Timestamp>) -> Option<&'static str> {
    const OUTSIDE: &str = "is outside of the project";
    let below = Utf8Path::new(output).strip_prefix(folder).map_or(output, Utf8Path::as_str);
    let Ok(path) = RelPath::parse(below) else { return Some(OUTSIDE) };
    let mut evidence = Evidence::default();
    store::inspect_files(folder, std::slice::from_ref(&path), &mut evidence);
    match evidence.files.get(&path)? {
        FileFact::Missing => Some("is missing"),
        FileFact::Unreadable(reason) => (*reason == ReadProblem::LinkLeavesRoot.to_string()).then_some(OUTSIDE),
        // A folder has no time of its own here.
        FileFact::Present { modified: None, .. } => None,
        FileFact::Present { bytes: 0, .. } => Some("is empty"),
        FileFact::Present { modified: Some(modified), .. } => {
            let is_older = since.is_some_and(|since| modified.plus_seconds(STAMP_SLACK) < since);
            is_older.then_some("is older than the work on it")
        }
    }
}

/// Returns when the task went into progress, according to the client's transcript.
fn started_at(task: &CompletedTask) -> Option<Timestamp> {
    let marker = br#""statusChange""#;
    store::last_line(Utf8Path::new(&task.transcript), TRANSCRIPT_BYTES, |line| {
        line.windows(marker.len()).find(|part| part == marker)?;
        let line = parse(line, Syntax::Json).ok()?;
        let text = |pointer: &str| line.at(pointer).and_then(Node::as_str);
        let is_start = text("/toolUseResult/taskId") == Some(task.id.as_str())
            && text("/toolUseResult/statusChange/to") == Some("in_progress");
        text("/timestamp").filter(|_| is_start).and_then(|time| Timestamp::parse(time, 0).ok())
    })
}
