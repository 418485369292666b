//! What `claude -p --output-format stream-json` prints: one JSON object for each line. Pure.

use serde_json::Value;

use crate::workflow::ClaudeOptions;

/// Returns the command line for a prompt.
pub(super) fn words(prompt: &str, options: &ClaudeOptions) -> Vec<String> {
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
    ] {
        // In one word, so that a flag that takes several values does not take the prompt.
        words.extend(value.map(|value| format!("{flag}={value}")));
    }
    if prompt.starts_with('-') {
        words.push("--".to_owned());
    }
    words.push(prompt.to_owned());
    words
}

/// Reader of the stream of `claude`, fed as it arrives.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The start of an incomplete line.
    begun: Vec<u8>,
    result: Option<String>,
    error: Option<String>,
}

/// Longer lines are truncated; no message that matters is that long.
const LONGEST_LINE: usize = 8 << 20;

impl Reader {
    /// Takes more of the stream and returns the part to show.
    pub(super) fn take(&mut self, bytes: &[u8]) -> String {
        let mut shown = String::new();
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
    pub(super) fn end(&mut self) -> String {
        let mut shown = String::new();
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            self.line(&line, &mut shown);
        }
        shown
    }

    fn line(&mut self, line: &[u8], shown: &mut String) {
        let text = String::from_utf8_lossy(line);
        let Ok(Value::Object(message)) = serde_json::from_str::<Value>(&text) else {
            shown.push_str(&text);
            shown.push('\n');
            return;
        };
        match message.get("type").and_then(Value::as_str) {
            Some("assistant") => {
                let parts = message.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
                let texts = parts.into_iter().flatten().filter_map(|part| part.get("text").and_then(Value::as_str));
                for text in texts {
                    shown.push_str(text.trim_end());
                    shown.push('\n');
                }
            }
            Some("result") => {
                let result = message.get("result").and_then(Value::as_str).map(str::to_owned);
                let failed = message.get("is_error").and_then(Value::as_bool) == Some(true);
                if failed {
                    let subtype = message.get("subtype").and_then(Value::as_str).unwrap_or("error");
                    self.error = Some(result.unwrap_or_else(|| subtype.to_owned()));
                } else {
                    self.result = result;
                }
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

    /// Returns the final answer of the agent, which a step captures.
    pub(super) fn result(&self) -> Option<&str> {
        self.result.as_deref()
    }

    /// Returns the error that the service or the client reported.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
