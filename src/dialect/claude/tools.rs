//! Calls of tools and their results. Only results count: a call says what the model wanted.

use serde_json::Value;

use super::{
    digest::{
        EditInput, EndMarks, LastKind, Launch, Prompt, TaskChange, TaskInput, TaskRecord, ToolUse, WorkflowLaunch,
        WrittenFile,
    },
    lines::{cut, list, short, text, texts},
    transcript::{CutCall, TEXT_BYTES, TranscriptReader},
};
use crate::model::Timestamp;

/// Tools without effects besides the task list. Every other tool has effects, known or not
/// (docs/formats/claude.md#tools-without-effects).
const READ_TOOLS: [&str; 14] = [
    "AskUserQuestion",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "Read",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
];
/// Tools that write the file they name.
const WRITE_TOOLS: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];
/// Tools that start an agent.
const AGENT_TOOLS: [&str; 2] = ["Agent", "Task"];
/// Tools that only say what is done next.
const TURN_TOOLS: [&str; 4] = ["Agent", "Task", "Workflow", "ExitPlanMode"];

/// Bytes of an edit that are compared with its file.
const EDIT_BYTES: usize = 256 << 10;
/// Number of files, tasks, launches and calls that are kept.
const KEPT: usize = 5_000;
/// Number of changes of one task, and of answers, that are kept.
const CHANGES: usize = 50;

/// How the result of a call begins that a person stopped.
const REJECTED: &str = "The user doesn't want to proceed";
/// How the result of a call begins that was refused before it ran: by a rule, a mode, a hook, or because the client cannot make the call
/// (docs/formats/claude.md#tools-without-effects).
const REFUSED: [&str; 9] = [
    "<tool_use_error>",
    "Blocked by PreToolUse hook",
    "Claude requested permissions to ",
    "Execution stopped by PreToolUse hook",
    "Hook PreToolUse:",
    "Permission for this ",
    "Permission to ",
    "PreToolUse:",
    "This command requires approval",
];
/// What such a result has in its first line.
const REFUSED_WITHIN: [&str; 2] = [" operation blocked by hook", " was blocked. For security, Claude Code may only "];
/// What the error of a call has that was begun.
const BEGUN: [&str; 4] = ["calling tool", "ancelled", "discarded", "errored"];
/// How the result of a command begins that was killed.
const KILLED: [&str; 2] = ["Exit code 137", "Exit code 143"];

/// Returns the text of a result.
fn said_in(part: &Value) -> &str {
    let first = || list(part, "content").iter().find_map(|part| text(part, "text"));
    text(part, "content").or_else(first).unwrap_or_default()
}

fn is_error(part: &Value) -> bool {
    part.get("is_error") == Some(&Value::Bool(true))
}

/// Tells whether a result says that its call was refused before it ran.
fn is_refusal(part: &Value) -> bool {
    let said = said_in(part);
    let first = said.lines().next().unwrap_or_default();
    is_error(part)
        && (REFUSED.iter().any(|begin| said.starts_with(begin))
            || REFUSED_WITHIN.iter().any(|part| first.contains(part)))
        && !BEGUN.iter().any(|word| first.contains(word))
}

impl EndMarks {
    /// Tells whether a result after these lines is that of a tool which was ended with the client.
    pub(super) fn is_cut(self, result: &Value) -> bool {
        let is_killed = || KILLED.iter().any(|killed| said_in(result).starts_with(killed));
        is_error(result) && (self.latch || self.cost || (self.last_prompt && is_killed()))
    }
}

impl ToolUse {
    /// Tells whether it may have changed something.
    pub(crate) fn has_effects(&self) -> bool {
        !READ_TOOLS.contains(&self.name.as_str())
    }

    /// Tells whether its own steps say what became of it.
    pub(crate) fn is_of_agents(&self) -> bool {
        TURN_TOOLS.contains(&self.name.as_str())
    }

    /// Tells from the content of its file whether an edit took effect; `None` if the file does not tell.
    pub(crate) fn took_effect_in(&self, content: Option<&[u8]>) -> Option<bool> {
        let edit = self.edit.as_ref()?;
        match (&edit.old, content) {
            (None, Some(content)) => (content == edit.new.as_bytes()).then_some(true),
            // A file that is not there was not written.
            (None, None) => Some(false),
            (Some(_), None) => None,
            (Some(old), Some(content)) => {
                let content = String::from_utf8_lossy(content);
                let has = |part: &str| !part.is_empty() && content.contains(part);
                match (has(old), has(&edit.new)) {
                    (true, false) => Some(false),
                    (false, true) => Some(true),
                    // The new text may contain the old one.
                    (true, true) if edit.new.contains(old.as_str()) => Some(true),
                    (true, true) | (false, false) => None,
                }
            }
        }
    }
}

impl TaskRecord {
    pub(crate) fn is_in_progress(&self) -> bool {
        self.changes.last().is_some_and(|change| change.to == "in_progress")
    }

    /// Adds a change in its place by time.
    fn change(&mut self, at: Option<Timestamp>, to: &str) {
        let place = self.changes.iter().rposition(|change| change.at <= at).map_or(0, |before| before + 1);
        self.changes.insert(place, TaskChange { at, to: cut(to, 40) });
        if self.changes.len() > CHANGES {
            self.changes.remove(0);
        }
    }
}

impl TranscriptReader {
    pub(super) fn tool_use(&mut self, message: &str, part: &Value, at: Option<Timestamp>) {
        let input = part.get("input").unwrap_or(&Value::Null);
        let name = short(part, "name", 120);
        let id = short(part, "id", 120);
        let is_write = WRITE_TOOLS.contains(&name.as_str());
        let about = ["description", "subject", "command", "file_path", "query", "pattern", "url", "skill"];
        let about = about.iter().find_map(|key| text(input, key)).unwrap_or_default();
        let path = text(input, "file_path").or_else(|| text(input, "notebook_path")).filter(|_| is_write);
        let call = ToolUse {
            message: message.to_owned(),
            at,
            about: cut(about, TEXT_BYTES),
            path: path.map(str::to_owned),
            edit: edit_of(&name, input),
            took_effect: None,
            task: task_of(&name, input),
            is_background: input.get("run_in_background") == Some(&Value::Bool(true)),
            name,
            id,
        };
        if AGENT_TOOLS.contains(&call.name.as_str()) && self.found.launches.len() < KEPT {
            let launch = self.found.launches.entry(call.id.clone()).or_default();
            launch.title.clone_from(&call.about);
            launch.prompt = short(input, "prompt", TEXT_BYTES);
            launch.at = at;
            launch.is_background |= call.is_background;
        }
        let is_refused = self.refused.contains(&call.id);
        if call.has_effects() && !is_refused {
            if self.effects.len() >= KEPT {
                self.found.has_effects = true;
                self.effects.remove(0);
            }
            self.effects.push(ToolUse { edit: None, ..call.clone() });
        }
        if !self.early_results.remove(&call.id) && !is_refused && self.calls.len() < KEPT {
            self.calls.insert(call.id.clone(), call);
        }
    }

    pub(super) fn tool_result(&mut self, part: &Value, result: &Value, at: Option<Timestamp>) {
        let id = text(part, "tool_use_id").unwrap_or_default();
        let call = self.calls.remove(id);
        if is_refusal(part) {
            self.effects.retain(|call| call.id != id);
            if self.refused.len() < KEPT {
                self.refused.insert(id.to_owned());
            }
        } else if call.is_none() && self.early_results.len() < KEPT {
            self.early_results.insert(id.to_owned());
        }
        let call = call.unwrap_or_else(|| ToolUse { id: id.to_owned(), ..ToolUse::default() });
        self.observe(at, LastKind::ToolResult);
        let said = said_in(part);
        if said.starts_with(REJECTED) || result.as_str() == Some("User rejected tool use") {
            self.found.rejected.push(ToolUse { at, ..call });
            return;
        }
        self.task_result(&call, result, at);
        if is_error(part) {
            let is_closing = self.found.marks.is_cut(part);
            if is_closing || KILLED.iter().any(|killed| said.starts_with(killed)) {
                self.cut_calls.push(CutCall { call, at, is_closing });
            }
            return;
        }
        self.launch_result(&call, result, at);
        self.written(&call, result, at);
        match text(result, "plan") {
            Some(plan) if said.starts_with("User has approved your plan") => self.approve(plan, result, at),
            Some(_) | None => {}
        }
        let answers = result.get("answers").and_then(Value::as_object).into_iter().flatten();
        for (question, answer) in answers.take(CHANGES) {
            let answer = answer.as_str().unwrap_or_default();
            self.found.answers.push(format!("{}: {}", cut(question, TEXT_BYTES), cut(answer, TEXT_BYTES)));
        }
        let extra = self.found.answers.len().saturating_sub(CHANGES);
        self.found.answers.drain(..extra);
    }

    fn task_result(&mut self, call: &ToolUse, result: &Value, at: Option<Timestamp>) {
        if self.found.tasks.len() >= KEPT {
            return;
        }
        let input = call.task.clone().unwrap_or_default();
        if let Some(task) = result.get("task")
            && let Some(id) = text(task, "id").filter(|_| text(task, "subject").is_some())
        {
            let record = self.found.tasks.entry(cut(id, 20)).or_default();
            record.subject = short(task, "subject", TEXT_BYTES);
            record.created_at = at;
        }
        for task in list(result, "tasks") {
            let (Some(id), Some(status)) = (text(task, "id"), text(task, "status")) else { continue };
            let record = self.found.tasks.entry(cut(id, 20)).or_default();
            if record.subject.is_empty() {
                record.subject = short(task, "subject", TEXT_BYTES);
                record.blocked_by = texts(task, "blockedBy");
            }
            let is_new = record.changes.last().map_or("pending", |last| last.to.as_str()) != status;
            if is_new {
                record.change(at, status);
            }
        }
        // Workflows and commands in the background have ids of that name too.
        if let Some(id) = text(result, "taskId").filter(|_| result.get("success").is_some()) {
            self.task_update(&cut(id, 20), &input, result, at);
        }
        if call.name == "TodoWrite" && !input.todos.is_empty() {
            self.todos(&input.todos, at);
        }
    }

    fn task_update(&mut self, id: &str, input: &TaskInput, result: &Value, at: Option<Timestamp>) {
        let record = self.found.tasks.entry(id.to_owned()).or_default();
        if result.get("success") == Some(&Value::Bool(false)) {
            let reason = text(result, "error").unwrap_or("its completion was refused");
            if input.status.as_deref().is_none_or(|wanted| wanted == "completed") {
                record.refusal = Some(Prompt { text: cut(reason, TEXT_BYTES), at });
            }
            return;
        }
        if let Some(to) = result.get("statusChange").and_then(|change| text(change, "to")) {
            record.change(at, to);
        }
        let updated = texts(result, "updatedFields");
        if updated.iter().any(|field| field == "blockedBy") {
            record.blocked_by.extend(input.blocked_by.iter().cloned());
        }
        if updated.iter().any(|field| field == "blocks") {
            for other in &input.blocks {
                self.found.tasks.entry(other.clone()).or_default().blocked_by.push(id.to_owned());
            }
        }
    }

    /// Takes over the list of `TodoWrite`: the last one counts, in its order.
    fn todos(&mut self, todos: &[(String, String)], at: Option<Timestamp>) {
        for (number, (subject, status)) in (1_usize..).zip(todos) {
            let record = self.found.tasks.entry(number.to_string()).or_default();
            if record.subject != *subject {
                let (subject, created_at) = (subject.clone(), at);
                *record = TaskRecord { subject, created_at, is_todo: true, ..TaskRecord::default() };
            }
            if record.changes.last().map_or("pending", |last| last.to.as_str()) != status {
                record.change(at, status);
            }
        }
        self.found.tasks.retain(|id, _| id.parse::<usize>().is_ok_and(|number| number <= todos.len()));
    }

    fn launch_result(&mut self, call: &ToolUse, result: &Value, at: Option<Timestamp>) {
        if let Some(agent) = text(result, "agentId")
            && self.found.launches.len() < KEPT
        {
            let status = text(result, "status").unwrap_or_default();
            let launch: &mut Launch = self.found.launches.entry(call.id.clone()).or_default();
            if launch.title.is_empty() {
                launch.title = short(result, "description", TEXT_BYTES);
            }
            launch.at = launch.at.or(at);
            launch.agent = Some(cut(agent, 80));
            launch.is_done |= status == "completed";
            launch.is_background |= status == "async_launched";
        }
        if let Some(run) = text(result, "runId").filter(|_| text(result, "taskType") == Some("local_workflow")) {
            let launch = WorkflowLaunch {
                run: cut(run, 80),
                name: short(result, "workflowName", 120),
                task: short(result, "taskId", 80),
                at,
            };
            self.found.workflows.push(launch);
            self.found.workflows.truncate(KEPT);
        }
    }

    fn written(&mut self, call: &ToolUse, result: &Value, at: Option<Timestamp>) {
        // A plan has a path too.
        let told = text(result, "filePath").filter(|_| result.get("plan").is_none());
        let Some(path) = told.or(call.path.as_deref()) else { return };
        self.found.files.push(WrittenFile { path: cut(path, 4_096), at });
        if self.found.files.len() > KEPT {
            self.found.files.remove(0);
        }
    }
}

fn edit_of(name: &str, input: &Value) -> Option<EditInput> {
    let (old, new) = match name {
        "Write" => (None, text(input, "content")?),
        "Edit" => (Some(text(input, "old_string")?), text(input, "new_string")?),
        _ => return None,
    };
    let is_small = old.map_or(0, str::len) + new.len() <= EDIT_BYTES;
    is_small.then(|| EditInput { old: old.map(str::to_owned), new: new.to_owned() })
}

fn task_of(name: &str, input: &Value) -> Option<TaskInput> {
    match name {
        "TaskUpdate" => Some(TaskInput {
            id: short(input, "taskId", 20),
            status: text(input, "status").map(|status| cut(status, 40)),
            blocked_by: texts(input, "addBlockedBy"),
            blocks: texts(input, "addBlocks"),
            todos: Vec::new(),
        }),
        "TodoWrite" => {
            let todos = list(input, "todos").iter().take(1_000);
            let todo = |todo: &Value| (short(todo, "content", TEXT_BYTES), short(todo, "status", 40));
            Some(TaskInput { todos: todos.map(todo).collect(), ..TaskInput::default() })
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
