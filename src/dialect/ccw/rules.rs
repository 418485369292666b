//! The vocabulary of CCW: statuses, agents, interruptions, strategies (docs/formats/ccw.md#status-words,
//! docs/formats/ccw.md#interruptions-and-strategies).

use crate::document::{Kind, Node};

use super::raw;
use crate::model::{InterruptionKind, Status};

/// The meaning of a task's `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum StatusWord {
    Known(Status),
    /// In no version of the vocabulary, but unambiguous.
    Alias {
        word: String,
        status: Status,
    },
    /// The children decide.
    Container,
    #[default]
    Missing,
    Unknown(String),
}

/// The fix for an unknown status.
pub(super) const STATUS_FIX: &str =
    "correct the status in the file: pending, in_progress, completed, failed, blocked, skipped or cancelled";

/// Reads the status of a task or subtask.
pub(super) fn status_word(task: &Node) -> StatusWord {
    let Some(value) = task.get("status") else { return StatusWord::Missing };
    match &value.kind {
        Kind::Null => StatusWord::Missing,
        Kind::Text(text) if text.trim().is_empty() => StatusWord::Missing,
        Kind::Text(text) => match status(text) {
            Some(status) => StatusWord::Known(status),
            None if fold(text) == "container" => StatusWord::Container,
            None => match status_from_alias(text) {
                Some(status) => StatusWord::Alias { word: raw::line(text), status },
                None => StatusWord::Unknown(raw::line(text)),
            },
        },
        Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => {
            StatusWord::Unknown(raw::line(&value.to_string()))
        }
    }
}

/// Parses a status word of any format; `active` is `in_progress` (docs/formats/ccw.md#status-words).
pub(super) fn status(text: &str) -> Option<Status> {
    match fold(text).as_str() {
        "pending" => Some(Status::Pending),
        "in_progress" | "active" => Some(Status::InProgress),
        "completed" => Some(Status::Completed),
        "failed" => Some(Status::Failed),
        "blocked" => Some(Status::Blocked),
        "skipped" => Some(Status::Skipped),
        "cancelled" | "canceled" => Some(Status::Cancelled),
        _ => None,
    }
}

/// Parses an unambiguous status word that is in no version of the vocabulary.
///
/// Any other word is unknown: a wrong guess would repeat work or report it as done.
pub(super) fn status_from_alias(text: &str) -> Option<Status> {
    let word = fold(&split_camel_case(text.trim_matches(|c: char| !c.is_alphanumeric())));
    status(&word).or(match word.as_str() {
        "todo" | "to_do" | "not_started" | "open" | "queued" | "ready" | "待处理" | "待办" | "待开始" | "待执行"
        | "未开始" | "未着手" => Some(Status::Pending),
        "wip" | "doing" | "running" | "started" | "work_in_progress" | "进行中" | "執行中" | "执行中" | "進行中" => {
            Some(Status::InProgress)
        }
        "done" | "complete" | "finished" | "已完成" | "完成" | "完了" | "완료" => Some(Status::Completed),
        "失败" | "已失败" | "失敗" => Some(Status::Failed),
        "阻塞" | "已阻塞" | "被阻塞" => Some(Status::Blocked),
        "跳过" | "已跳过" => Some(Status::Skipped),
        "取消" | "已取消" => Some(Status::Cancelled),
        _ => None,
    })
}

/// Splits `inProgress` into `in_Progress`.
fn split_camel_case(text: &str) -> String {
    let mut parted = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_uppercase() && parted.ends_with(|before: char| before.is_ascii_lowercase()) {
            parted.push('_');
        }
        parted.push(c);
    }
    parted
}

pub(super) fn fold(text: &str) -> String {
    text.trim().to_lowercase().replace(['-', ' '], "_")
}

/// The agent that a task names, directly or by its type.
#[derive(Debug, Default)]
pub(super) enum TaskExecutor {
    Named(String),
    /// An agent for work of this type.
    ForKind(String),
    #[default]
    Unspecified,
}

impl TaskExecutor {
    pub(super) fn of(task: &Node) -> Self {
        let named = raw::first_text(task, &["/meta/agent", "/agent"]);
        let named = named.map(|agent| raw::line(agent.trim_start_matches('@'))).filter(|agent| !agent.is_empty());
        let kind = || raw::first_text(task, &["/meta/type", "/type"]).map(|kind| kind.trim().to_lowercase());
        named.map(Self::Named).or_else(|| kind().map(Self::ForKind)).unwrap_or_default()
    }

    /// Returns the agent of the task: `meta.agent`, else by `meta.type` in the vocabulary of its format
    /// (docs/formats/ccw.md#choosing-the-agent).
    pub(super) fn agent(&self, legacy: bool) -> Option<String> {
        let kind = match self {
            Self::Named(agent) => return Some(agent.clone()),
            Self::ForKind(kind) => kind.as_str(),
            Self::Unspecified => return None,
        };
        let agent = match (kind, legacy) {
            ("feature" | "bugfix" | "refactor" | "test-gen", _) | ("docs", true) => "code-developer",
            ("test-fix", _) => "test-fix-agent",
            ("test", true) => "code-review-test-agent",
            ("review", true) => "code-review-agent",
            ("review", false) => "universal-executor",
            ("docs", false) => "doc-generator",
            _ => return None,
        };
        Some(agent.to_owned())
    }
}

/// Returns the possible agents of a task that names none.
pub(super) fn agent_candidates(legacy: bool) -> Vec<String> {
    let names: &[&str] =
        if legacy { &["code-developer", "code-review-agent"] } else { &["code-developer", "universal-executor"] };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the interruption kind of a recorded reason (docs/formats/ccw.md#interruptions-and-strategies); `None` if the reason
/// does not tell.
pub(super) fn interruption_kind(reason: &str) -> Option<InterruptionKind> {
    let reason = fold(reason);
    let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if has(&["depend"]) {
        Some(InterruptionKind::DependencyBlock)
    } else if has(&["context_loss", "context_lost"]) {
        Some(InterruptionKind::ContextLost)
    } else if has(&["fail", "error"]) {
        Some(InterruptionKind::TaskFailure)
    } else if has(&["pause"]) {
        Some(InterruptionKind::Paused)
    } else if has(&["agent", "timeout", "interrupt", "crash", "limit"]) {
        Some(InterruptionKind::AgentInterruption)
    } else {
        None
    }
}

/// Returns the reason as an identifier for the state: the recorded reason if it is one, else that of the kind.
pub(super) fn interruption_word(kind: InterruptionKind, reason: &str) -> String {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if (1..=60).contains(&reason.len()) && reason.contains('_') && reason.chars().all(is_word) {
        return reason.to_owned();
    }
    match kind {
        InterruptionKind::ContextLost => "context_loss".to_owned(),
        InterruptionKind::AgentInterruption
        | InterruptionKind::TaskFailure
        | InterruptionKind::DependencyBlock
        | InterruptionKind::WaitingApproval
        | InterruptionKind::Paused
        | InterruptionKind::ReadyToExecute
        | InterruptionKind::WorkflowComplete => kind.as_str().to_owned(),
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
