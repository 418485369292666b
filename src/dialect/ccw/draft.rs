//! A set of files being changed: opened on first use, returned as edits if their bytes differ.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{parts, raw, session_files::SessionFiles, summary, task::TaskLocation, todo};
use crate::{
    dialect::{EditError, edit::FileEditor},
    document::{Node, Syntax, escape},
    model::{Content, Edit, EditKind, FileSet, Outcome, RelPath, Status, StepId},
};

/// A session folder with pending changes.
pub(super) struct Draft<'a> {
    pub(super) session_files: &'a SessionFiles<'a>,
    /// The opened JSON files, in order of first use; the session file is moved to the end.
    documents: Vec<FileEditor>,
    /// Checkboxes and their new marks.
    marks: Vec<(usize, u8)>,
    /// Checkboxes whose lines get a link to a summary.
    links: Vec<(usize, String)>,
    /// Summaries to create.
    summaries: Vec<(RelPath, String)>,
}

/// A task file being changed.
pub(super) struct TaskDraft<'a> {
    file: &'a mut FileEditor,
    /// Pointer of the task in the file.
    base: &'a str,
    /// The task before the change.
    was: Node,
}

impl<'a> Draft<'a> {
    pub(super) fn new(session_files: &'a SessionFiles<'a>) -> Self {
        Self { session_files, documents: Vec::new(), marks: Vec::new(), links: Vec::new(), summaries: Vec::new() }
    }

    /// Opens the file of a task; `None` for a task that is only in the checklist.
    pub(super) fn task(&mut self, step: &StepId) -> Result<Option<TaskDraft<'_>>, EditError> {
        let Some(location) = self.session_files.location(step) else {
            return Err(EditError::Missing { file: format!("the task file of {}", raw::line(step.as_str())) });
        };
        let (path, base) = match location {
            TaskLocation::Checklist { .. } => return Ok(None),
            TaskLocation::File { path, pointer } => (path, pointer.as_str()),
            TaskLocation::Unreadable { path } => (path, ""),
        };
        let file = self.document(path, base)?;
        let was = file.get(base).cloned().unwrap_or_else(Node::null);
        Ok(Some(TaskDraft { file, base, was }))
    }

    /// Opens the session file.
    pub(super) fn session_document(&mut self) -> Result<&mut FileEditor, EditError> {
        self.document(&self.session_files.layout.session, "")
    }

    /// Changes the session file if possible: a broken one must not prevent recording the result of a task.
    pub(super) fn session_if_readable(
        &mut self,
        change: impl FnOnce(&mut FileEditor) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        if self.session_files.session.value().is_null() {
            return Ok(());
        }
        change(self.session_document()?)
    }

    /// Sets the mark in the checkbox of a task, if it has one.
    pub(super) fn mark(&mut self, step: &StepId, mark: u8) {
        self.marks.extend(self.session_files.checkboxes_of(step).into_iter().map(|at| (at, mark)));
    }

    /// Sets the mark in the checkboxes of a part of a task, or of all its parts.
    pub(super) fn mark_parts(&mut self, step: &StepId, part: Option<&str>, mark: u8) {
        self.marks.extend(self.session_files.checkboxes_of_parts(step, part).into_iter().map(|at| (at, mark)));
    }

    /// Writes the summary of a task from its report, unless it has one, and links to it in the checklist.
    pub(super) fn summarise(&mut self, outcome: &Outcome) {
        let step = &outcome.step;
        let missing = self.session_files.missing_summary(step);
        let known = missing.clone().or_else(|| self.session_files.summary(step).cloned());
        let below = |path: &RelPath| {
            path.as_str().strip_prefix(&format!("{}/", self.session_files.layout.dir)).map(str::to_owned)
        };
        if let (Some(at), Some(path)) =
            (self.session_files.checkboxes_of(step).first().copied(), known.as_ref().and_then(below))
        {
            self.links.push((at, format!("./{path}")));
        }
        if let Some(path) = missing {
            let title = self.session_files.title(step).unwrap_or_default();
            self.summaries.push((path, summary::text(title, outcome)));
        }
    }

    /// Opens a JSON file with an object at `base`.
    fn document(&mut self, path: &RelPath, base: &str) -> Result<&mut FileEditor, EditError> {
        if let Some(at) = self.documents.iter().position(|known| known.path() == path) {
            return Ok(&mut self.documents[at]);
        }
        let file = FileEditor::open(self.session_files.files, path, Syntax::Json)?;
        if !file.get(base).is_some_and(Node::is_map) {
            let problem = "it is not a JSON object".to_owned();
            return Err(EditError::Unreadable { file: path.as_str().to_owned(), problem });
        }
        self.documents.push(file);
        Ok(self.documents.last_mut().expect("a document was just added"))
    }

    /// Returns the edits: task files, summaries, checklist, session file.
    pub(super) fn into_edits(self) -> Vec<Edit> {
        let (files, layout) = (self.session_files.files, &self.session_files.layout);
        let (session, tasks): (Vec<_>, Vec<_>) =
            self.documents.into_iter().partition(|file| *file.path() == layout.session);
        let mut edits: Vec<Edit> = tasks.into_iter().map(FileEditor::into_edit).collect();
        edits.extend(self.summaries.into_iter().map(|(path, text)| {
            let after = text.into_bytes();
            Edit { path, kind: EditKind::Create { after } }
        }));
        if let Some(bytes) = files.bytes(&layout.todo) {
            let marked = self.marks.iter().fold(bytes.to_vec(), |bytes, (at, mark)| todo::marked(bytes, *at, *mark));
            // From the end, so that no offset moves.
            let mut links = self.links;
            links.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
            let after = links.iter().fold(marked, |bytes, (at, summary)| todo::linked(bytes, *at, summary));
            edits.extend(replace(files, layout.todo.clone(), after));
        }
        edits.extend(session.into_iter().map(FileEditor::into_edit));
        edits.retain(Edit::changes_something);
        edits
    }
}

fn replace(files: &FileSet, path: RelPath, after: Vec<u8>) -> Option<Edit> {
    match &files.files.get(&path)?.content {
        Content::Bytes(before) if **before != *after => {
            Some(Edit { path, kind: EditKind::Replace { before: Arc::clone(before), after } })
        }
        Content::Bytes(_) | Content::NameOnly | Content::Problem(_) => None,
    }
}

impl TaskDraft<'_> {
    /// Returns the task before the change.
    pub(super) fn value(&self) -> &Node {
        &self.was
    }

    /// Sets a value below the task.
    pub(super) fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        self.file.set(&format!("{}{pointer}", self.base), value)
    }

    /// Sets the status and adds an entry to `status_history`, which CCW's own tools read.
    pub(super) fn set_status(&mut self, word: &str, at: &str, note: Option<&str>) -> Result<(), EditError> {
        if self.value().get("status").and_then(Node::as_str) == Some(word) {
            return Ok(());
        }
        self.set("/status", &json!(word))?;
        self.enter_history(word, at, note)
    }

    /// Appends an entry to `status_history`, from the previous status.
    pub(super) fn enter_history(&mut self, word: &str, at: &str, note: Option<&str>) -> Result<(), EditError> {
        let mut entry = json!({
            "from": self.value().get("status").map(Node::to_json),
            "to": word,
            "changed_at": at,
        });
        if let (Some(note), Some(fields)) = (note, entry.as_object_mut()) {
            fields.insert("note".to_owned(), json!(note));
        }
        let history = format!("{}/status_history", self.base);
        // Another use of the name is left alone.
        match self.value().get("status_history") {
            Some(recorded) if !recorded.is_list() && !recorded.is_null() => Ok(()),
            Some(_) | None => self.file.push(&history, &entry),
        }
    }

    pub(super) fn set_execution(&mut self, key: &str, value: &Value) -> Result<(), EditError> {
        self.set_in("execution", key, value)
    }

    /// Sets a field in an object of the task, creating the object. A value of another type is left alone.
    pub(super) fn set_in(&mut self, object: &str, key: &str, value: &Value) -> Result<(), EditError> {
        match self.file.get(&format!("{}/{object}", self.base)) {
            Some(other) if !other.is_map() && !other.is_null() => Ok(()),
            Some(_) | None => self.set(&format!("/{object}/{}", escape(key)), value),
        }
    }

    pub(super) fn drop_execution(&mut self, key: &str) -> Result<(), EditError> {
        self.drop(&format!("/execution/{key}"))
    }

    pub(super) fn drop(&mut self, pointer: &str) -> Result<(), EditError> {
        self.file.remove(&format!("{}{pointer}", self.base))
    }

    /// Sets a variable; a value of another type in the place of the variables is replaced.
    pub(super) fn set_variable(&mut self, name: &str, value: &Value) -> Result<(), EditError> {
        match self.file.get(&format!("{}/execution/variables", self.base)) {
            Some(other) if !other.is_map() => self.set_execution("variables", &json!({name: value})),
            Some(_) => self.set(&format!("/execution/variables/{}", escape(name)), value),
            None => self.set_execution("variables", &json!({name: value})),
        }
    }

    /// Records the running flow-control step.
    pub(super) fn enter_flow_step(&mut self, part: &str) -> Result<(), EditError> {
        self.list_completed()?;
        self.set_execution("flow_step", &json!(part))
    }

    /// Records the flow-control steps that count as done, before the fields they were inferred from change.
    fn list_completed(&mut self) -> Result<(), EditError> {
        if self.value().at("/execution/completed_flow_steps").is_some() {
            return Ok(());
        }
        let parts = parts::read(self.value()).into_iter().map(|part| part.part);
        let done = parts.filter(|part| part.status == Status::Completed).map(|part| part.name);
        let done: Vec<String> = done.filter(|name| self.subtask(name).is_none()).collect();
        self.set_execution("completed_flow_steps", &json!(done))
    }

    /// Records the end of a flow-control step.
    pub(super) fn leave_flow_step(&mut self, part: &str, list: &str) -> Result<(), EditError> {
        self.list_completed()?;
        let pointer = format!("/execution/{list}");
        let recorded = self.value().at(&pointer);
        let is_other = recorded.is_some_and(|recorded| !recorded.is_list() && !recorded.is_null());
        if is_other || self.value().get("execution").is_some_and(|execution| !execution.is_map()) {
            self.set_execution(list, &json!([part]))?;
        } else if !raw::list(recorded).iter().any(|name| name == part) {
            self.file.push(&format!("{}{pointer}", self.base), &json!(part))?;
        }
        if raw::first_text(self.value(), &["/execution/flow_step"]).as_deref() == Some(part) {
            self.drop_execution("flow_step")?;
        }
        Ok(())
    }

    /// Returns the pointer of a subtask without a file of its own, in the task.
    pub(super) fn subtask(&self, name: &str) -> Option<String> {
        let (pointer, subtasks) = parts::subtasks(self.value());
        let mut named = subtasks.enumerate().filter(|(_, subtask)| subtask.is_map());
        let (at, _) = named.find(|(at, subtask)| parts::subtask_name(subtask, *at).eq_ignore_ascii_case(name))?;
        Some(format!("{pointer}/{at}"))
    }
}
