//! Writes the files of sessions of Claude Code, in the shapes that the client writes.

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::support::Sandbox;

/// The id of the session of most tests.
pub(crate) const SESSION: &str = "5e551011-aaaa-4bbb-8ccc-0123456789ab";
/// The run of that session.
pub(crate) const RUN: &str = "claude-5e551011";

/// A transcript under construction. Every line is a second later than the one before, from 11:00:00 on.
#[derive(Clone)]
pub(crate) struct Trace {
    pub(crate) lines: Vec<String>,
    session: String,
    agent: Option<String>,
    cwd: String,
    second: u32,
    messages: u32,
}

/// Returns a time stamp in the hour before the default time of the tests.
pub(crate) fn stamp(second: u32) -> String {
    format!("2026-01-31T11:{:02}:{:02}.{:03}Z", second / 60 % 60, second % 60, 5)
}

/// Returns the client's folder.
pub(crate) fn client(sandbox: &Sandbox) -> Utf8PathBuf {
    sandbox.home().join(".claude")
}

/// Returns the name of the folder of a project's transcripts.
pub(crate) fn slug(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Writes a file of the client's folder.
pub(crate) fn put(sandbox: &Sandbox, path: &str, text: &str) {
    let path = client(sandbox).join(path);
    std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder in the sandbox");
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// Writes a task of a list.
pub(crate) fn task(sandbox: &Sandbox, list: &str, id: &str, subject: &str, status: &str, blocked_by: &[&str]) {
    let task = json!({
        "id": id, "subject": subject, "description": "d", "status": status, "blocks": [], "blockedBy": blocked_by,
    });
    put(sandbox, &format!("tasks/{list}/{id}.json"), &serde_json::to_string_pretty(&task).expect("it is there"));
}

impl Trace {
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        Self::of(sandbox, SESSION)
    }

    pub(crate) fn of(sandbox: &Sandbox, session: &str) -> Self {
        let cwd = sandbox.root().into_string();
        Self { lines: Vec::new(), session: session.to_owned(), agent: None, cwd, second: 0, messages: 0 }
    }

    pub(crate) fn at(mut self, second: u32) -> Self {
        self.second = second;
        self
    }

    /// Begins the transcript of an agent of this session.
    pub(crate) fn agent(&self, id: &str) -> Self {
        Self { lines: Vec::new(), agent: Some(id.to_owned()), messages: 0, ..self.clone() }
    }

    /// Appends any line.
    pub(crate) fn line(mut self, value: Value) -> Self {
        self.lines.push(value.to_string());
        self
    }

    fn message(mut self, kind: &str, message: Value, more: Value) -> Self {
        self.second += 1;
        let number = self.lines.len();
        let mut value = json!({
            "parentUuid": null, "isSidechain": self.agent.is_some(), "type": kind, "message": message,
            "uuid": format!("{}-{number}", self.agent.as_ref().unwrap_or(&self.session)), "timestamp": stamp(self.second),
            "cwd": self.cwd, "sessionId": self.session, "version": "2.1.197", "gitBranch": "main", "userType": "external",
        });
        if let Some(agent) = &self.agent {
            value["agentId"] = json!(agent);
        }
        for (name, more) in more.as_object().into_iter().flatten() {
            value[name] = more.clone();
        }
        self.line(value)
    }

    pub(crate) fn prompt(self, text: &str) -> Self {
        self.message("user", json!({"role": "user", "content": text}), json!({"origin": {"kind": "human"}}))
    }

    /// Appends a user line with members of its own.
    pub(crate) fn user(self, text: &str, more: Value) -> Self {
        self.message("user", json!({"role": "user", "content": text}), more)
    }

    /// Appends an answer of the model.
    pub(crate) fn answer(mut self, part: Value, stop: Option<&str>) -> Self {
        self.messages += 1;
        let id = format!("msg_{}", self.messages);
        self.block(&id, part, stop)
    }

    /// Appends a block of an answer: lines of one answer share its id.
    pub(crate) fn block(self, id: &str, part: Value, stop: Option<&str>) -> Self {
        let message = json!({
            "id": id, "role": "assistant", "model": "claude-x", "content": [part], "stop_reason": stop,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        });
        self.message("assistant", message, Value::Null)
    }

    pub(crate) fn ends(self, text: &str) -> Self {
        self.answer(json!({"type": "text", "text": text}), Some("end_turn"))
    }

    pub(crate) fn call(self, id: &str, name: &str, input: Value) -> Self {
        self.answer(json!({"type": "tool_use", "id": id, "name": name, "input": input}), Some("tool_use"))
    }

    pub(crate) fn result(self, id: &str, text: &str, structured: Value) -> Self {
        let part = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        let more = if structured.is_null() { Value::Null } else { json!({"toolUseResult": structured}) };
        self.message("user", json!({"role": "user", "content": [part]}), more)
    }

    /// Appends a call with its result.
    pub(crate) fn tool(self, id: &str, name: &str, input: Value, structured: Value) -> Self {
        self.call(id, name, input).result(id, "ok", structured)
    }

    pub(crate) fn writes(self, id: &str, path: &str) -> Self {
        let path = format!("{}/{path}", self.cwd);
        let is_agent = self.agent.is_some();
        let result = json!({"type": "create", "filePath": path, "content": "x"});
        let result = if is_agent { Value::Null } else { result };
        self.tool(id, "Write", json!({"file_path": path, "content": "x"}), result)
    }

    pub(crate) fn creates_task(self, id: &str, subject: &str) -> Self {
        let input = json!({"subject": subject, "description": "d"});
        self.tool(&format!("create{id}"), "TaskCreate", input, json!({"task": {"id": id, "subject": subject}}))
    }

    pub(crate) fn sets_task(self, id: &str, from: &str, to: &str) -> Self {
        let result = json!({
            "success": true, "taskId": id, "updatedFields": ["status"], "statusChange": {"from": from, "to": to},
        });
        self.tool(&format!("update{id}{to}"), "TaskUpdate", json!({"taskId": id, "status": to}), result)
    }

    /// Launches an agent in the background.
    pub(crate) fn launches(self, call: &str, agent: &str, title: &str) -> Self {
        let input = json!({"description": title, "prompt": "go", "run_in_background": true});
        let result = json!({"isAsync": true, "status": "async_launched", "agentId": agent, "description": title});
        self.tool(call, "Agent", input, result)
    }

    /// Appends the answer that the client puts in the place of the model's after an error.
    pub(crate) fn api_error(self, error: &str, text: &str) -> Self {
        let message = json!({
            "id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
        });
        self.message("assistant", message, json!({"error": error, "isApiErrorMessage": true}))
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns the path of the transcript in the client's folder.
    pub(crate) fn path(&self, sandbox: &Sandbox) -> String {
        let folder = format!("projects/{}", slug(sandbox.root().as_str()));
        match &self.agent {
            Some(agent) => format!("{folder}/{}/subagents/agent-{agent}.jsonl", self.session),
            None => format!("{folder}/{}.jsonl", self.session),
        }
    }

    pub(crate) fn write(&self, sandbox: &Sandbox) {
        put(sandbox, &self.path(sandbox), &self.text());
        if let Some(agent) = &self.agent {
            let meta = self.path(sandbox).replace(".jsonl", ".meta.json");
            let meta_text = json!({"agentType": "general-purpose", "description": format!("agent {agent}"), "toolUseId": format!("call-{agent}")});
            put(sandbox, &meta, &meta_text.to_string());
        }
    }
}

/// Writes the file of a process of the client.
pub(crate) fn process(sandbox: &Sandbox, pid: u32, start: &str, more: Value) {
    let mut value = json!({
        "pid": pid, "sessionId": SESSION, "cwd": sandbox.root().as_str(), "startedAt": 1_769_857_200_000_u64, "procStart": start,
        "version": "2.1.197", "kind": "interactive",
    });
    for (name, more) in more.as_object().into_iter().flatten() {
        value[name] = more.clone();
    }
    put(sandbox, &format!("sessions/{pid}.json"), &value.to_string());
}
