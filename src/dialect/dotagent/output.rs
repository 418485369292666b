//! Checks whether the output of a phase, a task or a verifier is a result of this run.

use super::rules::{self, TaskStatus};
use crate::{
    document::{Kind, Node, parse_json},
    model::{Content, FileSet, RelPath, ReviewVerdict, Timestamp, clean_line, mask_secrets},
};

/// Some file systems have a time resolution of two seconds.
const TIME_STEP: i64 = 2;

/// The result of checking an output.
#[derive(Debug)]
pub(super) enum OutputCheck {
    Missing,
    /// It exists but is older than the run or the attempt.
    Older,
    /// It exists but is not a result of this run, with the reason.
    Rejected(String),
    /// It exists and is a result of this run; `Null` if it is not JSON or was not read.
    Valid(Node),
}

/// The owner that an output must name, and how new it must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputOwner<'a> {
    pub(super) workflow: Option<&'a str>,
    pub(super) task: Option<&'a str>,
    /// The start of the run, without tolerance.
    pub(super) run_start: Option<Timestamp>,
    /// The start of this attempt, if known.
    pub(super) attempt_start: Option<Timestamp>,
}

impl OutputOwner<'_> {
    /// Checks one output. For files that are not JSON or were not read, only existence and time are checked.
    pub(super) fn check(&self, files: &FileSet, path: &RelPath) -> OutputCheck {
        let Some(entry) = files.files.get(path) else { return OutputCheck::Missing };
        let is_older = |start: Option<Timestamp>, slack: i64| {
            let (Some(start), Some(modified)) = (start, entry.modified) else { return false };
            start > modified && start.seconds_since(modified) >= slack
        };
        if is_older(self.run_start, 0) || is_older(self.attempt_start, TIME_STEP) {
            return OutputCheck::Older;
        }
        match &entry.content {
            Content::Bytes(bytes) if bytes.is_empty() => OutputCheck::Rejected("is empty".to_owned()),
            Content::Bytes(bytes) if path.as_str().ends_with(".json") => match parse_json(bytes) {
                Ok(value) => match self.rejection(&value) {
                    Some(why) => OutputCheck::Rejected(why),
                    None => OutputCheck::Valid(value),
                },
                Err(error) => OutputCheck::Rejected(format!("does not parse: {}", error.message)),
            },
            Content::Bytes(_) | Content::NameOnly => OutputCheck::Valid(Node::null()),
            Content::Problem(problem) => OutputCheck::Rejected(format!("cannot be read: {problem}")),
        }
    }

    fn rejection(&self, value: &Node) -> Option<String> {
        let is_empty = match &value.kind {
            Kind::Null => true,
            Kind::Text(text) => text.trim().is_empty(),
            Kind::List(items) => items.is_empty(),
            Kind::Map(fields) => fields.is_empty(),
            Kind::Bool(_) | Kind::Number(_) => false,
        };
        if is_empty {
            return Some("has no content".to_owned());
        }
        let named = |field: &str| value.get(field).and_then(Node::as_str);
        if let (Some(other), Some(own)) = (named("workflow_id"), self.workflow)
            && other != own
        {
            return Some(format!("names the run `{}`", clean_line(other, 60)));
        }
        match (named("task_id"), self.task) {
            (Some(other), Some(own)) if !rules::is_same_task(other, own) => {
                Some(format!("names the task `{}`", clean_line(other, 60)))
            }
            _ => None,
        }
    }
}

/// Returns the status that a task's output reports; `Err` with an unknown word.
pub(super) fn reported_status(output: &Node) -> Result<TaskStatus, String> {
    let Some(status) = output.get("status").filter(|status| !status.is_null()) else {
        // An output without a status has to be judged by a verifier.
        return Ok(TaskStatus::PreComplete);
    };
    match status.as_str() {
        Some(text) => match TaskStatus::parse(text) {
            Some(TaskStatus::PreComplete | TaskStatus::Verified) => Ok(TaskStatus::PreComplete),
            Some(status @ (TaskStatus::Blocked | TaskStatus::Failed)) => Ok(status),
            Some(TaskStatus::Pending | TaskStatus::Running | TaskStatus::Verifying) | None => Err(clean_line(text, 40)),
        },
        None => Err(clean_line(&status.to_string(), 40)),
    }
}

/// Returns the verdict of a verifier; `Err` if it is not understood.
pub(super) fn verdict(verification: &Node) -> Result<ReviewVerdict, String> {
    for field in ["verdict", "status", "result", "overall", "overall_status"] {
        if let Some(text) = verification.get(field).and_then(Node::as_str) {
            return rules::verdict(text).ok_or_else(|| clean_line(text, 40));
        }
    }
    for field in ["passed", "verified", "success", "valid", "approved"] {
        if let Some(flag) = verification.get(field).and_then(Node::as_bool) {
            return Ok(if flag { ReviewVerdict::Approved } else { ReviewVerdict::NeedsRevision });
        }
    }
    Err("nothing".to_owned())
}

/// Returns what an output says about a failure or blocker, on one line.
pub(super) fn failure_text(output: &Node) -> Option<String> {
    let pointers = [
        "/blocked_details/description",
        "/failure_reason",
        "/last_error",
        "/error",
        "/summary",
        "/message",
        "/blocked_reason",
    ];
    let text = pointers.iter().find_map(|pointer| output.at(pointer)?.as_str())?;
    Some(clean_line(&mask_secrets(text), 400))
}
