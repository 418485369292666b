//! The fields of a task or subtask (docs/formats/taskmaster.md#status).

use crate::{
    document::{Names, Node},
    model::{Status, clean_line, letters_and_digits},
};

/// Characters of an id, a status or a title.
pub(super) const TITLE: usize = 100;
/// What older versions wrote in place of the id of a task.
pub(super) const UNDEFINED: &str = "undefined";

/// How a status is spelled.
pub(super) enum Word {
    Known,
    Missing,
    Review,
    Unknown(String),
}

/// Returns the status of a task, and how it is spelled.
pub(super) fn status_word(task: &Node) -> (Word, Status) {
    let word = task.get("status").and_then(Node::scalar).unwrap_or_default();
    // `done?` and `~~done~~` take something back.
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '-' | '_'));
    let status = match letters_and_digits(word).as_str() {
        _ if !is_plain => return (Word::Unknown(clean_line(word, TITLE)), Status::Pending),
        "done" | "completed" | "complete" => Status::Completed,
        "" => return (Word::Missing, Status::Pending),
        "pending" | "todo" => Status::Pending,
        "inprogress" => Status::InProgress,
        "blocked" => Status::Blocked,
        "deferred" => Status::Cancelled,
        "cancelled" | "canceled" | "dropped" | "skipped" | "wontfix" | "obsolete" | "superseded" | "cut" => {
            Status::Skipped
        }
        "review" => return (Word::Review, Status::Pending),
        _ => return (Word::Unknown(clean_line(word, TITLE)), Status::Pending),
    };
    (Word::Known, status)
}

/// Returns the id as it is written.
pub(super) fn id_of(task: &Node) -> Option<String> {
    let id = clean_line(task.get("id")?.scalar()?, TITLE);
    Some(id).filter(|id| !id.is_empty() && !["null", UNDEFINED].contains(&id.as_str()))
}

/// Returns the id of a subtask, which may already hold that of its task, or a placeholder for it.
pub(super) fn full_id(parent: &str, own: &str) -> String {
    let rest = own.strip_prefix(parent).or_else(|| own.strip_prefix(UNDEFINED));
    match rest.and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) => format!("{parent}.{rest}"),
        None => format!("{parent}.{own}"),
    }
}

/// The keys of what a task depends on: that of Task Master, and those of lists that other tools write in its form.
const DEPENDENCIES: [&str; 6] = ["dependencies", "depends_on", "dependsOn", "blockedBy", "blocked_by", "requires"];

/// Returns what a task says it depends on, as it is written.
pub(super) fn dependencies_of(task: &Node) -> Vec<String> {
    Names::of(DEPENDENCIES.iter().find_map(|key| task.get(key))).all()
}

/// Returns the subtasks of a task.
pub(super) fn subtasks_of(task: &Node) -> &[Node] {
    task.get("subtasks").map(Node::items).unwrap_or_default()
}

/// Returns the place of a priority in the order of work.
pub(super) fn priority_of(task: &Node) -> u8 {
    match task.get("priority").and_then(Node::scalar).map(letters_and_digits).as_deref() {
        Some("critical") => 0,
        Some("high") => 1,
        Some("low") => 3,
        Some(_) | None => 2,
    }
}
