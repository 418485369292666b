//! What `claude -p --output-format stream-json` prints: one JSON object for each line. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    model::{ClaudeWork, DeniedTool, Timestamp, clean_line},
    workflow::ClaudeOptions,
};

/// What `claude` is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt<'a> {
    pub(super) text: &'a str,
    /// The agent of the client that is asked, if it has a definition.
    pub(super) agent: Option<&'a str>,
}

/// Returns the command line for a prompt; `session` is the conversation that it continues.
pub(super) fn words(prompt: Prompt<'_>, options: &ClaudeOptions, session: Option<&str>) -> Vec<String> {
    let mut words: Vec<String> =
        ["claude", "-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).to_vec();
    let turns = options.max_turns.map(|turns| turns.to_string());
    let budget = options.max_budget_usd.map(|budget| budget.to_string());
    let list = |tools: &[String]| (!tools.is_empty()).then(|| tools.join(","));
    for (flag, value) in [
        ("--model", options.model.clone()),
        ("--permission-mode", options.permission_mode.clone()),
        ("--allowedTools", list(&options.allowed_tools)),
        ("--disallowedTools", list(&options.disallowed_tools)),
        ("--max-turns", turns),
        ("--max-budget-usd", budget),
        ("--resume", session.map(str::to_owned)),
        ("--agent", prompt.agent.map(str::to_owned)),
    ] {
        // In one word, so that a flag that takes several values does not take the prompt.
        words.extend(value.map(|value| format!("{flag}={value}")));
    }
    if prompt.text.starts_with('-') {
        words.push("--".to_owned());
    }
    words.push(prompt.text.to_owned());
    words
}

/// Something in the stream that a person sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Text(String),
    /// A tool is called; `subject` is the file, the command or the address.
    Tool {
        name: String,
        subject: String,
    },
}

/// Reader of the stream of `claude`, fed as it arrives.
#[derive(Debug, Default)]
pub(super) struct ClaudeReader {
    work: ClaudeWork,
    /// The ids of the calls of tools, and of those that were denied.
    called: BTreeSet<String>,
    denied: BTreeSet<String>,
    /// The start of an incomplete line.
    begun: Vec<u8>,
    result: Option<String>,
    error: Option<String>,
    rejection: Option<Rejection>,
}

/// A refusal of the service: the usage of the plan is at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) resets_at: Option<Timestamp>,
}

/// Longer lines are truncated; no message that matters is that long.
const LONGEST_LINE: usize = 8 << 20;

impl ClaudeReader {
    /// Takes more of the stream and returns the part to show.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Shown> {
        let mut shown = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.begun);
            self.line(&line, &mut shown);
        }
        let room = LONGEST_LINE.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&rest[..rest.len().min(room)]);
        shown
    }

    /// Returns the part to show of a last line without a line end.
    pub(super) fn end(&mut self) -> Vec<Shown> {
        let mut shown = Vec::new();
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            self.line(&line, &mut shown);
        }
        shown
    }

    fn line(&mut self, line: &[u8], shown: &mut Vec<Shown>) {
        let text = String::from_utf8_lossy(line);
        let Ok(Value::Object(message)) = serde_json::from_str::<Value>(&text) else {
            shown.push(Shown::Text(format!("{text}\n")));
            return;
        };
        if let Some(session) = message.get("session_id").and_then(Value::as_str) {
            self.work.session = Some(clean_line(session, NAME));
        }
        match message.get("type").and_then(Value::as_str) {
            Some("assistant") => {
                let parts = message.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
                for part in parts.into_iter().flatten() {
                    if let Some(text) = part.get("text").and_then(Value::as_str) {
                        shown.push(Shown::Text(format!("{}\n", text.trim_end())));
                    }
                    if part.get("type").and_then(Value::as_str) == Some("tool_use") {
                        shown.push(self.called(part));
                    }
                }
            }
            Some("result") => {
                self.measure(&message);
                let result = message.get("result").and_then(Value::as_str).map(str::to_owned);
                let failed = message.get("is_error").and_then(Value::as_bool) == Some(true);
                if failed {
                    let errors = message.get("errors").and_then(Value::as_array).into_iter().flatten();
                    let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
                    let subtype = message.get("subtype").and_then(Value::as_str).unwrap_or("error");
                    let named = if errors.is_empty() { subtype.to_owned() } else { errors.join("\n") };
                    self.error = Some(result.filter(|result| !result.trim().is_empty()).unwrap_or(named));
                } else {
                    self.result = result;
                }
            }
            Some("rate_limit_event") => {
                let info = message.get("rate_limit_info").and_then(Value::as_object).unwrap_or(&message);
                let is_rejected = info.get("status").and_then(Value::as_str) == Some("rejected");
                let resets_at = info.get("resetsAt").and_then(Value::as_i64);
                let resets_at = resets_at.and_then(|seconds| Timestamp::from_unix(seconds, 0));
                self.rejection = is_rejected.then_some(Rejection { resets_at });
            }
            Some("error") => {
                let error = message.get("error").unwrap_or(&Value::Null);
                let said = error.get("message").and_then(Value::as_str).map(str::to_owned);
                let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
                self.error = Some(format!("{kind} {}", said.unwrap_or_else(|| error.to_string())).trim().to_owned());
            }
            Some(_) | None => {}
        }
    }

    /// Counts the call of a tool.
    fn called(&mut self, part: &Value) -> Shown {
        let name = tool_name(part.get("name"));
        let count = self.work.tools.entry(name.clone()).or_default();
        *count += 1;
        self.called.extend(part.get("id").and_then(Value::as_str).map(str::to_owned));
        Shown::Tool { name, subject: subject(part.get("input")) }
    }

    /// Reads what the client counted, of which a later message replaces an earlier one.
    fn measure(&mut self, message: &Map<String, Value>) {
        let count = |of: Option<&Value>| of.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let usage = message.get("usage");
        let tokens = |key: &str| count(usage.and_then(|usage| usage.get(key))).unwrap_or(0);
        self.work.turns = count(message.get("num_turns")).unwrap_or(self.work.turns);
        if usage.is_some() {
            self.work.input_tokens = tokens("input_tokens");
            self.work.output_tokens = tokens("output_tokens");
            self.work.cache_read_tokens = tokens("cache_read_input_tokens");
            self.work.cache_creation_tokens = tokens("cache_creation_input_tokens");
        }
        if let Some(cost) = message.get("total_cost_usd").and_then(Value::as_f64) {
            self.work.cost_usd = cost.max(0.0);
        }
        let denials = message.get("permission_denials").and_then(Value::as_array);
        for denial in denials.into_iter().flatten() {
            let id = denial.get("tool_use_id").and_then(Value::as_str);
            if id.is_some_and(|id| !self.denied.insert(id.to_owned())) {
                continue;
            }
            let tool = tool_name(denial.get("tool_name"));
            let input = denial.get("tool_input");
            let rule = rule(&tool, input);
            self.work.deny(DeniedTool { subject: subject(input), rule, times: 1, tool });
        }
    }

    /// Returns what the call did. The caller knows how long it took.
    pub(super) fn work(&self) -> ClaudeWork {
        ClaudeWork { calls: 1, ..self.work.clone() }
    }

    /// Tells whether tools were called and each call was denied.
    pub(super) fn is_all_denied(&self) -> bool {
        self.work.denials() > 0 && self.called.iter().all(|id| self.denied.contains(id))
    }

    /// Returns the final answer of the agent, which a step captures.
    pub(super) fn result(&self) -> Option<&str> {
        self.result.as_deref()
    }

    /// Returns what the service last said about the usage of the plan, if it takes no more.
    pub(super) const fn rejection(&self) -> Option<Rejection> {
        self.rejection
    }

    /// Returns the error that the service or the client reported.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

/// The longest name of a tool or a session, and the longest subject of a call.
const NAME: usize = 80;
const SUBJECT: usize = 160;

fn tool_name(name: Option<&Value>) -> String {
    clean_line(name.and_then(Value::as_str).unwrap_or("a tool"), NAME)
}

/// Returns what a tool is called with, in one line: the file, the command, the address.
fn subject(input: Option<&Value>) -> String {
    const KEYS: [&str; 10] = [
        "file_path",
        "notebook_path",
        "command",
        "pattern",
        "path",
        "url",
        "query",
        "skill",
        "subagent_type",
        "description",
    ];
    let text = KEYS.iter().find_map(|key| input?.get(key)?.as_str());
    clean_line(text.unwrap_or_default(), SUBJECT)
}

/// Returns the permission rule that allows a call, as narrow as the client's rules are.
fn rule(tool: &str, input: Option<&Value>) -> String {
    let of = |key: &str| input.and_then(|input| input.get(key)).and_then(Value::as_str);
    let argument = match tool {
        "Bash" => of("command").map(|command| match command.split_once('\n') {
            None if command.len() <= SUBJECT => command.to_owned(),
            None | Some(_) => format!("{} *", command.split_whitespace().next().unwrap_or_default()),
        }),
        "Read" | "Edit" | "Write" | "MultiEdit" => {
            of("file_path").map(|path| if path.starts_with('/') { format!("/{path}") } else { path.to_owned() })
        }
        "WebFetch" => of("url").and_then(|url| {
            let host = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
            Some(format!("domain:{host}"))
        }),
        "Skill" => of("skill").map(str::to_owned),
        _ => None,
    };
    // A rule for an edit covers every tool that edits files.
    let tool = if matches!(tool, "Write" | "MultiEdit") { "Edit" } else { tool };
    match argument {
        Some(argument) => format!("{tool}({})", clean_line(&argument, 2 * SUBJECT)),
        None => tool.to_owned(),
    }
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
