//! Reads a transcript line by line (docs/formats/claude.md#lines-of-a-transcript). The lines are not in the order of the conversation: times
//! decide which message is the newest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    digest::{ApprovedPlan, EndMarks, LastKind, LastMessage, Notification, Prompt, ToolUse, Transcript},
    lines::{cut, list, milliseconds, record, short, text, time},
};
use crate::model::{Timestamp, clean_line};

/// Bytes of a prompt that are kept.
const PROMPT_BYTES: usize = 4_000;
/// Bytes of a plan that are kept.
const PLAN_BYTES: usize = 16_000;
/// Bytes of other texts that are kept.
pub(super) const TEXT_BYTES: usize = 400;
/// Number of unknown types that are counted one by one.
const TYPES_LIMIT: usize = 20;

/// Lines that say nothing about the work.
const BOOKKEEPING: [&str; 16] = [
    "agent-name",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "attachment",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
    "system",
    "tag",
    "tools-used",
];

/// How texts begin that the client writes for a person in the place of a prompt.
const NOT_PROMPTS: [&str; 6] =
    ["<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>"];

/// A transcript that is being read.
#[derive(Debug, Default)]
pub(crate) struct TranscriptReader {
    pub(super) found: Transcript,
    /// The transcript of an agent, where every line is one of a side chain.
    is_agent: bool,
    /// The calls without a result.
    pub(super) calls: BTreeMap<String, ToolUse>,
    /// Results that were read before their calls.
    pub(super) early_results: BTreeSet<String>,
    /// Calls that were refused before they ran.
    pub(super) refused: BTreeSet<String>,
    /// The calls of tools with effects that were not refused, in the order of the lines.
    pub(super) effects: Vec<ToolUse>,
    /// The calls that were ended with the client.
    pub(super) cut_calls: Vec<CutCall>,
    /// The messages whose tokens are counted.
    counted: BTreeSet<String>,
    /// The newest answer of the model.
    newest_answer: (Option<Timestamp>, String),
    is_last_broken: bool,
}

/// A call whose program was ended together with the client, which still wrote a result.
#[derive(Debug)]
pub(super) struct CutCall {
    pub(super) call: ToolUse,
    /// When its result was written.
    pub(super) at: Option<Timestamp>,
    /// The lines of the end stand in front of the result.
    pub(super) is_closing: bool,
}

impl TranscriptReader {
    pub(crate) fn new(is_agent: bool) -> Self {
        Self { is_agent, ..Self::default() }
    }

    /// Reads one line, without its end.
    pub(crate) fn line(&mut self, bytes: &[u8]) {
        self.count_bytes(bytes.len());
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match record(bytes) {
            (Some(value), is_broken) => {
                self.found.broken_lines += usize::from(is_broken);
                self.value(&value);
            }
            (None, _) => self.is_last_broken = true,
        }
    }

    /// Counts a line that is too long to be read.
    pub(crate) fn long_line(&mut self, bytes: usize) {
        self.count_bytes(bytes);
        self.found.long_lines += 1;
    }

    fn count_bytes(&mut self, bytes: usize) {
        // Only the last line may be truncated.
        self.found.broken_lines += usize::from(std::mem::take(&mut self.is_last_broken));
        self.found.live_bytes += bytes as u64 + 1;
    }

    /// Returns what was read. `is_whole`: the file was read from its beginning.
    pub(crate) fn finish(mut self, bytes: u64, is_whole: bool) -> Transcript {
        let last = self.found.last.as_ref().map(|last| &last.kind);
        let is_open = matches!(last, Some(LastKind::Answer { .. } | LastKind::ToolResult | LastKind::Interrupted));
        let newest = &self.newest_answer.1;
        let calls = self.calls.into_values().filter(|call| is_open && call.message == *newest);
        let asked_at = self.found.last_prompt.as_ref().and_then(|prompt| prompt.at);
        let is_cut = |cut: &CutCall| match cut.is_closing {
            true => cut.at >= asked_at,
            false => last == Some(&LastKind::ToolResult) && cut.at >= self.newest_answer.0,
        };
        let cut_calls = self.cut_calls.into_iter().filter(is_cut).map(|cut| cut.call);
        let mut calls: Vec<ToolUse> = calls.chain(cut_calls).collect();
        calls.sort_by_key(|call| call.at);
        if last == Some(&LastKind::Interrupted) {
            self.found.rejected.append(&mut calls);
        } else {
            self.found.in_flight = calls;
        }
        if let Some(last) = &mut self.found.last
            && last.kind == LastKind::ToolResult
            && !self.found.rejected.is_empty()
        {
            last.kind = LastKind::Interrupted;
        }
        self.found.files.sort_by_key(|file| file.at);
        // A call that is not in the file may have been any.
        self.found.has_effects |= !self.effects.is_empty() || !self.early_results.is_empty();
        self.found.last_effect = self.effects.into_iter().max_by_key(|call| call.at);
        self.found.bytes = bytes;
        self.found.is_whole = is_whole;
        self.found
    }

    fn value(&mut self, value: &Value) {
        let kind = text(value, "type").unwrap_or_default();
        match kind {
            "user" | "assistant" => self.message(kind, value),
            "system" if text(value, "subtype") == Some("compact_boundary") => self.compaction(value),
            "queue-operation" => {
                self.notification(text(value, "content").unwrap_or_default(), time(value, "timestamp"))
            }
            "custom-title" => self.title(value, "customTitle", true),
            "ai-title" => self.title(value, "aiTitle", false),
            "continued-in" => self.found.continued_in = text(value, "continuedInSessionId").map(|id| cut(id, 80)),
            "last-prompt" => self.found.marks.last_prompt = true,
            "atis-latch" => self.found.marks.latch = true,
            "cost-state" => {
                self.found.marks.cost = true;
                self.found.marks.process_started_at = milliseconds(value, "startTime");
            }
            _ if BOOKKEEPING.contains(&kind) => {}
            _ => self.unknown(kind),
        }
    }

    fn unknown(&mut self, kind: &str) {
        let types = &mut self.found.unknown_types;
        let kind = clean_line(kind, 40);
        if types.len() < TYPES_LIMIT || types.contains_key(&kind) {
            *types.entry(kind).or_default() += 1;
        }
    }

    fn title(&mut self, value: &Value, key: &str, by_person: bool) {
        let title = text(value, key).or_else(|| text(value, "title")).map(|title| cut(title, TEXT_BYTES));
        let place = if by_person { &mut self.found.title } else { &mut self.found.made_title };
        if title.is_some() {
            *place = title;
        }
    }

    fn compaction(&mut self, value: &Value) {
        self.found.compactions += 1;
        let metadata = value.get("compactMetadata").unwrap_or(&Value::Null);
        self.found.last_compaction_is_automatic = text(metadata, "trigger") == Some("auto");
        self.found.live_bytes = 0;
    }

    fn message(&mut self, kind: &str, value: &Value) {
        let is_sidechain = value.get("isSidechain") == Some(&Value::Bool(true));
        if is_sidechain && !self.is_agent {
            // Older clients kept agents in the same file. Alone they are no session.
            self.found.is_sidechain |= self.found.first_at.is_none();
            return;
        }
        self.found.is_sidechain = false;
        if !self.is_of_the_end(kind, value) {
            self.found.marks = EndMarks::default();
            self.found.continued_in = None;
        }
        let at = time(value, "timestamp");
        self.place(value, at);
        match kind {
            "user" => self.user(value, at),
            _ => self.assistant(value, at),
        }
    }

    /// Tells whether a message was written by a client that is ending: the result of the tool that it ended, and what follows until something
    /// is asked.
    fn is_of_the_end(&self, kind: &str, value: &Value) -> bool {
        let parts = list(value.get("message").unwrap_or(&Value::Null), "content");
        let mut results = parts.iter().filter(|part| text(part, "type") == Some("tool_result")).peekable();
        let is_closing = self.cut_calls.last().is_some_and(|cut| cut.is_closing);
        match kind {
            "user" if results.peek().is_some() => results.all(|part| self.found.marks.is_cut(part)),
            "user" => false,
            _ => is_closing,
        }
    }

    /// Notes where and when a message was written.
    fn place(&mut self, value: &Value, at: Option<Timestamp>) {
        let found = &mut self.found;
        let cwd = text(value, "cwd").map(str::to_owned);
        if found.first_uuid.is_none() || (at.is_some() && at < found.first_at) {
            found.first_cwd = cwd.clone().or_else(|| found.first_cwd.take());
            found.first_uuid = Some(short(value, "uuid", 64));
            found.first_at = at;
        }
        if at >= found.last_at {
            found.last_cwd = cwd.or_else(|| found.last_cwd.take());
            found.last_at = at;
            found.branch = text(value, "gitBranch").map(|name| cut(name, 200)).or_else(|| found.branch.take());
            found.version = text(value, "version").map(|name| cut(name, 40)).or_else(|| found.version.take());
        }
    }

    /// Takes a message as the newest one, unless another is newer.
    pub(super) fn observe(&mut self, at: Option<Timestamp>, kind: LastKind) {
        if self.found.last.as_ref().is_some_and(|last| last.at > at) {
            return;
        }
        if matches!(kind, LastKind::Prompt | LastKind::Answer { .. } | LastKind::Summary) {
            self.found.rejected.clear();
        }
        self.found.last = Some(LastMessage { at, kind });
    }

    fn user(&mut self, value: &Value, at: Option<Timestamp>) {
        let message = value.get("message").unwrap_or(&Value::Null);
        let parts = list(message, "content");
        let results = parts.iter().filter(|part| text(part, "type") == Some("tool_result"));
        let mut has_results = false;
        for result in results {
            has_results = true;
            self.tool_result(result, value.get("toolUseResult").unwrap_or(&Value::Null), at);
        }
        if has_results {
            return;
        }
        let is_text = |part: &&Value| text(part, "type") == Some("text");
        let said = text(message, "content").or_else(|| text(parts.iter().find(is_text)?, "text"));
        let said = said.unwrap_or_default();
        let origin = value.get("origin").and_then(|origin| text(origin, "kind"));
        let is = |key: &str| value.get(key) == Some(&Value::Bool(true));
        let begins = said.trim_start();
        if begins.starts_with("[Request interrupted by user") {
            self.observe(at, LastKind::Interrupted);
        } else if is("isCompactSummary") {
            self.observe(at, LastKind::Summary);
        } else if origin == Some("task-notification") || begins.starts_with("<task-notification>") {
            self.notification(said, at);
        } else if !is("isMeta") && !NOT_PROMPTS.iter().any(|mark| begins.starts_with(mark)) {
            self.prompt(said, at);
        }
    }

    fn prompt(&mut self, said: &str, at: Option<Timestamp>) {
        let prompt = Prompt { text: cut(said.trim(), PROMPT_BYTES), at };
        let found = &mut self.found;
        if found.first_prompt.as_ref().is_none_or(|first| at < first.at) {
            found.first_prompt = Some(prompt.clone());
        }
        if found.last_prompt.as_ref().is_none_or(|last| at >= last.at) {
            found.last_prompt = Some(prompt);
        }
        self.observe(at, LastKind::Prompt);
    }

    /// Reads what the client tells the model about background work. It comes twice.
    fn notification(&mut self, said: &str, at: Option<Timestamp>) {
        for one in said.split("<task-notification>").skip(1) {
            let (Some(id), Some(status)) = (tagged(one, "task-id"), tagged(one, "status")) else { continue };
            let known = self.found.notifications.get(id);
            if known.is_none_or(|known| known.at <= at) {
                let notification = Notification { status: cut(status, 40), at };
                self.found.notifications.insert(cut(id, 80), notification);
            }
        }
    }

    fn assistant(&mut self, value: &Value, at: Option<Timestamp>) {
        let message = value.get("message").unwrap_or(&Value::Null);
        let parts = list(message, "content");
        let said = || parts.iter().find_map(|part| text(part, "text")).unwrap_or_default();
        let is_error = value.get("isApiErrorMessage") == Some(&Value::Bool(true));
        if is_error || said().starts_with("Claude AI usage limit reached") {
            let error = if is_error { short(value, "error", 60) } else { "rate_limit".to_owned() };
            let mut words = cut(said(), TEXT_BYTES);
            if let Some(details) = text(value, "errorDetails").filter(|details| !words.contains(*details)) {
                words = format!("{words} ({})", cut(details, TEXT_BYTES));
            }
            self.observe(at, LastKind::ApiError { error, text: words });
            return;
        }
        if text(message, "model") == Some("<synthetic>") {
            return;
        }
        let id = text(message, "id").or_else(|| text(value, "uuid")).unwrap_or_default();
        self.count_tokens(id, message, at);
        if at >= self.newest_answer.0 {
            self.newest_answer = (at, id.to_owned());
        }
        let words = said().trim();
        if !words.is_empty() && self.found.last_answer.as_ref().is_none_or(|last| at >= last.at) {
            self.found.last_answer = Some(Prompt { text: cut(words, TEXT_BYTES), at });
        }
        for part in parts.iter().filter(|part| text(part, "type") == Some("tool_use")) {
            self.tool_use(id, part, at);
        }
        let stop = text(message, "stop_reason");
        // Any other reason cut the answer off.
        let is_over = stop.is_some_and(|stop| matches!(stop, "end_turn" | "stop_sequence"));
        self.observe(at, LastKind::Answer { is_over });
    }

    /// Counts the tokens of an answer once: each of its lines repeats them.
    fn count_tokens(&mut self, id: &str, message: &Value, at: Option<Timestamp>) {
        let usage = message.get("usage").unwrap_or(&Value::Null);
        let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let read = number("input_tokens")
            .saturating_add(number("cache_read_input_tokens"))
            .saturating_add(number("cache_creation_input_tokens"));
        let tokens = read.saturating_add(number("output_tokens"));
        if tokens == 0 {
            return;
        }
        if at >= self.newest_answer.0 {
            self.found.tokens_again = tokens;
        }
        if !self.counted.insert(id.to_owned()) {
            return;
        }
        self.found.tokens = self.found.tokens.saturating_add(tokens);
        let in_progress = self.found.tasks.values_mut().filter(|task| task.is_in_progress());
        in_progress.for_each(|task| task.tokens = task.tokens.saturating_add(tokens));
    }

    /// Keeps the newest plan that a person approved.
    pub(super) fn approve(&mut self, plan: &str, result: &Value, at: Option<Timestamp>) {
        if self.found.plan.as_ref().is_some_and(|known| known.at > at) {
            return;
        }
        self.found.plan = Some(ApprovedPlan {
            text: cut(plan, PLAN_BYTES),
            bytes: plan.len(),
            file: short(result, "filePath", 1_000),
            is_edited: result.get("planWasEdited") == Some(&Value::Bool(true)),
            at,
        });
    }
}

/// Returns the text between two tags.
fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim())
}
