//! The session file. Only `session_id` is ever required (docs/formats/ccw.md#session-file).

use crate::document::Node;

use super::{
    ids,
    layout::Layout,
    raw,
    rules::{self, StatusWord},
};
use crate::{
    document::parse_json,
    model::{FileSet, Finding, FindingCode, Fix, RunStatus, Status, StepId, Suggested, Timestamp, Verb},
};

/// The content of the session file; without one, everything is empty.
#[derive(Debug)]
pub(super) struct CcwSession {
    /// An object, or null without a readable file.
    value: Node,
    pub(super) is_unreadable: bool,
    pub(super) findings: Vec<Finding>,
}

/// Status words seen in session files for an active session (docs/formats/ccw.md#session-file).
const ACTIVE: [&str; 13] = [
    "planning",
    "active",
    "implementing",
    "reviewing",
    "ready",
    "initialized",
    "in_progress",
    "executing",
    "review_in_progress",
    "role_analysis_in_progress",
    "synthesis_completed",
    "failed",
    "interrupted",
];

/// The fields for the start time, in the order of CCW's own scanner.
const CREATED: [&str; 5] = ["/created_at", "/initialized_at", "/timestamp", "/created", "/meta/created"];
const LATER: [&str; 8] = [
    "/execution_started_at",
    "/updated_at",
    "/resumed_at",
    "/paused_at",
    "/completed_at",
    "/archived_at",
    "/last_execute_run",
    "/meta/updated",
];

impl CcwSession {
    pub(super) fn read(files: &FileSet, layout: &Layout) -> Self {
        let path = &layout.session;
        let Some(bytes) = files.bytes(path) else {
            let problem = files.problem(path).map(|problem| problem.to_string()).unwrap_or_default();
            let missing = !files.files.contains_key(path);
            let code = if missing { FindingCode::FileMissing } else { FindingCode::SessionUnreadable };
            let finding = Finding::new(code, format!("the session file cannot be read: {problem}")).at(path);
            return Self { value: Node::null(), is_unreadable: !missing, findings: vec![finding] };
        };
        match parse_json(bytes) {
            Ok(value) if value.is_map() => Self { value, is_unreadable: false, findings: Vec::new() },
            Ok(_) => {
                let finding = Finding::new(FindingCode::SessionUnreadable, "the session file is not a JSON object");
                Self { value: Node::null(), is_unreadable: true, findings: vec![finding.at(path).line(1, Some(1))] }
            }
            Err(error) => {
                let message = format!("the session file does not parse: {}", error.message);
                let finding = Finding::new(FindingCode::SessionUnreadable, message).at(path);
                let run = path.parent().map(|dir| format!("./{dir}")).unwrap_or_default();
                let restore = Suggested::of(Verb::Restore, run);
                let fix = format!(
                    "correct the file by hand, or restore a checkpoint: `{restore}`; the tasks are planned without it"
                );
                let finding = finding.line(error.place.line, Some(error.place.column));
                let finding = finding.fix(Fix::offering(fix, [restore]));
                Self { value: Node::null(), is_unreadable: true, findings: vec![finding] }
            }
        }
    }

    pub(super) fn value(&self) -> &Node {
        &self.value
    }

    pub(super) fn id(&self) -> Option<String> {
        self.raw_id().filter(|id| ids::is_safe(id))
    }

    /// Returns an id that cannot be used: a path, or too long.
    pub(super) fn unsafe_id(&self) -> Option<String> {
        self.raw_id().filter(|id| !ids::is_safe(id)).map(|id| raw::line(&id))
    }

    fn raw_id(&self) -> Option<String> {
        raw::first_text(self.value(), &["/session_id", "/id"]).map(|id| id.trim().to_owned())
    }

    /// Returns the goal of the session, which tools record in different fields.
    pub(super) fn goal(&self) -> Option<String> {
        let fields = ["project", "description", "goal", "topic", "task_description"];
        fields.iter().find_map(|field| {
            let stated = self.value().get(field)?;
            if !stated.is_map() {
                return raw::text(Some(stated));
            }
            let inside = ["/goal", "/description", "/title", "/name", "/summary", "/objective", "/text", "/topic"];
            raw::first_text(stated, &inside).or_else(|| raw::item(stated))
        })
    }

    /// Returns the status and, if it is unknown, its word.
    pub(super) fn status(&self) -> (RunStatus, Option<String>) {
        let Some(text) = self.value().get("status").filter(|status| !status.is_null()) else {
            return (RunStatus::Active, None);
        };
        let word = text.as_str().map(rules::fold).unwrap_or_default();
        match word.as_str() {
            "paused" => (RunStatus::Paused, None),
            "completed" => (RunStatus::Completed, None),
            "archived" => (RunStatus::Archived, None),
            "cancelled" | "canceled" | "aborted" | "abandoned" => (RunStatus::Aborted, None),
            known if ACTIVE.contains(&known) => (RunStatus::Active, None),
            _ => (RunStatus::Active, Some(raw::line(&raw::item(text).unwrap_or_default()))),
        }
    }

    /// Tells whether the session says that a task is done: it is completed itself, or a completed phase of it lists the task
    /// (docs/formats/ccw.md#session-file).
    pub(super) fn calls_completed(&self, task: &StepId) -> bool {
        let lists = |phase: &Node| raw::list(phase.get("tasks")).iter().any(|id| task.matches(id));
        let is_done = |phase: &Node| rules::status_word(phase) == StatusWord::Known(Status::Completed);
        self.status().0 == RunStatus::Completed
            || raw::items(self.value().get("phases")).any(|phase| is_done(phase) && lists(phase))
    }

    /// Tells whether the file has an archive timestamp.
    pub(super) fn is_stamped_archived(&self) -> bool {
        raw::first_text(self.value(), &["/archived_at"]).is_some()
    }

    pub(super) fn started_at(&self, files: &FileSet) -> Option<Timestamp> {
        CREATED.iter().find_map(|pointer| self.time(files, pointer))
    }

    /// Returns the newest timestamp of the session file.
    pub(super) fn stamp(&self, files: &FileSet) -> Option<Timestamp> {
        let fields = CREATED.iter().chain(&LATER).filter_map(|pointer| self.time(files, pointer));
        let history = raw::items(self.value().get("interruption_history"));
        let interruptions = history.filter_map(|entry| files.time(&raw::first_text(entry, &["/timestamp"])?));
        fields.chain(interruptions).max()
    }

    pub(super) fn time(&self, files: &FileSet, pointer: &str) -> Option<Timestamp> {
        files.time(&raw::text(self.value().at(pointer))?)
    }

    pub(super) fn resumes(&self) -> u32 {
        raw::count(self.value().get("resume_count")).unwrap_or(0)
    }
}
