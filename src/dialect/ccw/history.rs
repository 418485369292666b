//! The past of a task, from `status_history` (format G on) and `execution` (format D) (docs/formats/ccw.md#task-file).

use crate::document::Node;

use super::{raw, rules};
use crate::model::{Clock, InterruptionKind, Status, Timestamp};

/// The past of one task.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    pub(super) attempts: u32,
    /// Failures since the last completion, if the file records any.
    failures: Option<u32>,
    error: Option<String>,
    pub(super) past_errors: Vec<String>,
    /// The text of `result`, which explains a failure if nothing else does.
    result: Option<String>,
    pub(super) started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    /// The newest timestamp.
    pub(super) stamp: Option<Timestamp>,
    /// The recorded reason of the interruption of the last attempt.
    pub(super) interruption_reason: Option<String>,
    pub(super) last_attempt: Option<Timestamp>,
}

struct CcwEntry {
    from: Option<Status>,
    to: Option<Status>,
    at: Option<Timestamp>,
    note: Option<String>,
}

impl History {
    /// Returns the past of a task, apart from it; `None` if it records nothing, as most do.
    pub(super) fn read(task: &Node, clock: Clock) -> Option<Box<Self>> {
        let time = |value: Option<&Node>| raw::text(value).and_then(|text| clock.read(&text));
        let (execution, meta) = (task.get("execution"), task.get("meta"));
        let in_execution = |key: &str| execution.and_then(|execution| execution.get(key));
        let entries: Vec<CcwEntry> =
            raw::items(task.get("status_history")).map(|entry| read_entry(entry, clock)).collect();
        // A failure after a failure was one of another attempt.
        let is_start = |entry: &&CcwEntry| {
            let again = entry.from == Some(Status::Failed) && entry.to == Some(Status::Failed);
            entry.to == Some(Status::InProgress) || again
        };
        let starts = u32::try_from(entries.iter().filter(is_start).count()).unwrap_or(u32::MAX);
        let attempts = raw::count(in_execution("attempts")).unwrap_or(starts);
        let last = |of: &[Status]| entries.iter().rfind(|entry| entry.to.is_some_and(|to| of.contains(&to)))?.at;
        let last_attempt = time(in_execution("last_attempt"));
        let completed = time(in_execution("completion_time"));
        let [executed_at, completed_at, updated_at] =
            ["executed_at", "completed_at", "updated_at"].map(|key| time(task.get(key)));
        let finished_at = last(&[Status::Completed, Status::Failed, Status::Skipped, Status::Cancelled])
            .or(completed)
            .or(executed_at)
            .or(completed_at);
        let in_meta = ["updated", "updated_at", "completed_at"].map(|key| time(meta.and_then(|meta| meta.get(key))));
        let stamps = [last_attempt, completed, executed_at, completed_at, updated_at].into_iter().chain(in_meta);
        let stamp = stamps.flatten().chain(entries.iter().filter_map(|entry| entry.at)).max();
        let history = Self {
            attempts,
            failures: failures(&entries, attempts, starts),
            error: error(task, execution, &entries),
            past_errors: past_errors(&entries),
            result: raw::text(task.get("result")),
            started_at: last(&[Status::InProgress]).or(last_attempt).or_else(|| time(in_execution("started_at"))),
            finished_at,
            stamp,
            interruption_reason: raw::text(in_execution("interruption_reason")),
            last_attempt,
        };
        (history != Self::default()).then(|| Box::new(history))
    }

    /// Returns the failures since the last completion. In a failed file without history, every attempt counts as a failure
    /// (docs/formats/ccw.md#attempts-and-failures).
    pub(super) fn failures(&self, status: Status) -> u32 {
        let default = if status == Status::Failed { self.attempts.max(1) } else { 0 };
        self.failures.unwrap_or(default)
    }

    /// Returns the error of a task that is open or failed.
    pub(super) fn error(&self, status: Status) -> Option<&str> {
        let result = || self.result.as_deref().filter(|_| status == Status::Failed);
        let counts = matches!(status, Status::Failed | Status::InProgress | Status::Blocked | Status::Pending);
        self.error.as_deref().or_else(result).filter(|_| counts)
    }

    /// Returns when the task ended.
    pub(super) fn finished_at(&self, status: Status) -> Option<Timestamp> {
        let ended = matches!(status, Status::Completed | Status::Failed | Status::Skipped | Status::Cancelled);
        self.finished_at.filter(|_| ended)
    }
}

fn read_entry(entry: &Node, clock: Clock) -> CcwEntry {
    let status = |pointers: &[&str]| {
        let word = raw::first_text(entry, pointers)?;
        rules::status(&word).or_else(|| rules::status_from_alias(&word))
    };
    let at = raw::first_text(entry, &["/changed_at", "/at", "/timestamp"]);
    CcwEntry {
        from: status(&["/from"]),
        to: status(&["/to", "/status"]),
        at: at.and_then(|text| clock.read(&text)),
        note: raw::first_text(entry, &["/note", "/error", "/reason"]),
    }
}

/// Counts consecutive failures, if there are any. A history that begins with failed continues a file without one, in which every
/// attempt was a failure (docs/formats/ccw.md#attempts-and-failures).
fn failures(entries: &[CcwEntry], attempts: u32, starts: u32) -> Option<u32> {
    if entries.iter().all(|entry| entry.to != Some(Status::Failed) && entry.from != Some(Status::Failed)) {
        return None;
    }
    let began_failed = entries.first().is_some_and(|entry| entry.from == Some(Status::Failed));
    let earlier = if began_failed { attempts.saturating_sub(starts).max(1) } else { 0 };
    Some(entries.iter().fold(earlier, |count, entry| match entry.to {
        Some(Status::Failed) => count.saturating_add(1),
        // A reopened task begins anew.
        Some(Status::Completed | Status::Pending) => 0,
        Some(Status::InProgress | Status::WaitingApproval | Status::Blocked | Status::Skipped | Status::Cancelled)
        | None => count,
    }))
}

/// Returns the note of each failure since the last success, oldest first.
fn past_errors(entries: &[CcwEntry]) -> Vec<String> {
    let is_over = |entry: &CcwEntry| matches!(entry.to, Some(Status::Completed | Status::Pending));
    let since = entries.iter().rposition(is_over).map_or(0, |at| at + 1);
    let failed = entries[since..].iter().filter(|entry| entry.to == Some(Status::Failed));
    failed.map(|entry| entry.note.clone().unwrap_or_default()).collect()
}

fn error(task: &Node, execution: Option<&Node>, entries: &[CcwEntry]) -> Option<String> {
    let (result, error) = (task.get("result"), task.get("error"));
    let errors = [execution.and_then(|value| value.get("error")), result.and_then(|value| value.get("error")), error];
    let stated = |error: &Node| raw::text(Some(error)).or_else(|| raw::text(error.get("message")));
    // What cut an attempt off says nothing about the work.
    let is_cut_off = |reason: &String| rules::interruption_kind(reason) == Some(InterruptionKind::AgentInterruption);
    let reason = || raw::text(execution?.get("interruption_reason")).filter(|reason| !is_cut_off(reason));
    let last_failure = || entries.iter().rev().find(|entry| entry.to == Some(Status::Failed))?.note.clone();
    errors.into_iter().flatten().find_map(stated).or_else(reason).or_else(last_failure)
}
