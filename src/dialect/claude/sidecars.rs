//! Reads the small files beside a transcript: tasks, what is known of an agent, the processes of the client, the journal of a workflow.

use serde_json::Value;

use super::{
    digest::{Agent, Call, CallResult, ClientProcess, TaskFile, Workflow},
    lines::{cut, milliseconds, record, short, text, texts},
    transcript::TEXT_BYTES,
};
use crate::{document::json_value, model::clean_line};

/// Bytes of the beginning of a result that are kept.
const HEAD_BYTES: usize = 200;
/// Number of calls of one workflow that are kept.
const CALLS: usize = 10_000;
/// How results begin that are the text of an error.
const ERRORS: [&str; 6] = [
    "API Error",
    "Claude AI usage limit reached",
    "Credit balance is too low",
    "Error:",
    "Request rejected (429)",
    "You've hit your",
];

/// Reads the file of a task; `id` is its name.
pub(crate) fn task_file(id: &str, path: &str, bytes: &[u8]) -> TaskFile {
    let mut task = TaskFile { id: id.to_owned(), path: path.to_owned(), ..TaskFile::default() };
    let value = match json_value(bytes) {
        Ok(value) => value,
        Err(error) => {
            task.problem = Some((clean_line(&error.message, 200), error.place.line, error.place.column));
            return task;
        }
    };
    if !value.is_object() {
        task.problem = Some(("it is not an object".to_owned(), 1, 1));
        return task;
    }
    task.subject = short(&value, "subject", TEXT_BYTES);
    task.description = short(&value, "description", TEXT_BYTES);
    task.status = short(&value, "status", 40);
    task.owner = text(&value, "owner").map(|owner| cut(owner, 80));
    task.blocked_by = texts(&value, "blockedBy");
    let outputs = value.pointer("/metadata/outputs");
    task.outputs = match outputs {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(_) | None => Vec::new(),
    };
    task
}

/// Reads what is known of an agent beside its transcript.
pub(crate) fn agent(path: &str, meta: Option<&[u8]>) -> Agent {
    let value = meta.and_then(|bytes| json_value(bytes).ok()).unwrap_or_default();
    Agent {
        path: path.to_owned(),
        transcript: None,
        title: text(&value, "description").map(|title| cut(title, TEXT_BYTES)),
        kind: text(&value, "agentType").map(|kind| cut(kind, 120)),
        tool_use: text(&value, "toolUseId").map(|id| cut(id, 120)),
        is_finished: value.get("finished") == Some(&Value::Bool(true)),
    }
}

/// Reads the file of a process of the client; `None` if it names none.
pub(crate) fn client_process(bytes: &[u8]) -> Option<ClientProcess> {
    let value = json_value(bytes).ok()?;
    // The start time is text, and may become a number.
    let start = value.get("procStart").and_then(|start| start.as_u64().or_else(|| start.as_str()?.parse().ok()));
    Some(ClientProcess {
        pid: value.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok())?,
        session: cut(text(&value, "sessionId")?, 80),
        start,
        domain: text(&value, "pidDomain").map(|domain| cut(domain, 200)),
        started_at: milliseconds(&value, "startedAt"),
        updated_at: milliseconds(&value, "updatedAt").max(milliseconds(&value, "statusUpdatedAt")),
        status: text(&value, "status").map(|status| clean_line(status, 40)),
    })
}

impl Workflow {
    /// Reads one line of the journal; lines are counted from 1.
    pub(crate) fn line(&mut self, number: usize, bytes: &[u8]) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let (value, is_broken) = record(bytes);
        self.broken_lines += usize::from(is_broken);
        let Some(value) = value else { return };
        let Some(agent) = text(&value, "agentId").map(|agent| cut(agent, 80)) else { return };
        match text(&value, "type") {
            Some("started") => self.started(agent, &value),
            Some("result") => {
                let result = result(number, value.get("result").unwrap_or(&Value::Null));
                match self.calls.iter_mut().find(|call| call.agents.contains(&agent)) {
                    Some(call) => call.result = Some(result),
                    // The line of its start is lost.
                    None => self.add(Call { agents: vec![agent], result: Some(result), ..Call::default() }),
                }
            }
            Some(_) | None => {}
        }
    }

    fn started(&mut self, agent: String, value: &Value) {
        let key = text(value, "key").map(|key| cut(key, 120));
        let again = self
            .calls
            .iter_mut()
            .find(|call| call.agents.contains(&agent) || (key.is_some() && call.key == key && call.result.is_none()));
        match again {
            Some(call) if !call.agents.contains(&agent) => call.agents.push(agent),
            Some(_) => {}
            None => {
                let label = text(value, "label").map(|label| cut(label, TEXT_BYTES));
                let phase = text(value, "phase").map(|phase| cut(phase, TEXT_BYTES));
                self.add(Call { key, label, phase, agents: vec![agent], result: None });
            }
        }
    }

    fn add(&mut self, call: Call) {
        if self.calls.len() < CALLS {
            self.calls.push(call);
        }
    }
}

fn result(line: usize, result: &Value) -> CallResult {
    let said = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
    let begins = said.trim_start();
    CallResult {
        line,
        bytes: said.len(),
        head: cut(&said, HEAD_BYTES),
        is_error: result.is_null() || ERRORS.iter().any(|error| begins.starts_with(error)),
    }
}
