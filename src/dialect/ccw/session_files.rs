//! Everything in a session folder, matched up: tasks, checklist, summaries. Shared by readers and writers.

use std::collections::BTreeSet;

use super::ids;
use super::ids::Index;
use super::layout::Layout;
use super::layout::TASK_DIR;
use super::parsed_task::ParsedTask;
use super::raw;
use super::rules::StatusWord;
use super::session::Session;
use super::task;
use super::task::Task;
use super::task::TaskLocation;
use super::todo::CheckboxMark;
use super::todo::ChecklistLine;
use super::todo::ChecklistStatus;
use super::todo::Subject;
use super::todo::Todo;
use crate::model::Clock;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::StepId;

/// A session folder as read.
pub(super) struct SessionFiles<'a> {
    pub(super) files: &'a FileSet,
    pub(super) layout: Layout,
    pub(super) session: Session,
    /// In natural order of their ids.
    pub(super) tasks: Vec<Task>,
    pub(super) index: Index,
    /// The status word for a running task.
    pub(super) running: &'static str,
    pub(super) has_todo: bool,
    /// The checklist status of each task.
    pub(super) checklist: Vec<Option<ChecklistStatus>>,
    /// The summaries of each task.
    pub(super) summaries: Vec<Vec<RelPath>>,
    pub(super) findings: Vec<Finding>,
    pub(super) is_degraded: bool,
}

impl<'a> SessionFiles<'a> {
    /// Reads a session folder, without the parts and detail of its tasks.
    pub(super) fn read(files: &'a FileSet) -> Self {
        Self::read_tasks(files, false)
    }

    /// Reads a session folder with the parts and detail of its tasks.
    pub(super) fn read_with_detail(files: &'a FileSet) -> Self {
        Self::read_tasks(files, true)
    }

    fn read_tasks(files: &'a FileSet, with_detail: bool) -> Self {
        let layout = Layout::of(&files.state);
        let session = Session::read(files, &layout);
        let read = task::read(files, &layout, &session, with_detail);
        let mut findings = session.findings.clone();
        findings.extend(read.findings);
        let mut tasks = read.list;
        let running = task::running_word(&tasks);
        let todo = read_todo(files, &layout, &mut findings);
        let mut index = index_of(&tasks);
        let mut checklist = vec![None; tasks.len()];
        if let Some(todo) = &todo {
            let mut subjects = todo.subjects(&index);
            if add_checklist_tasks(&layout, (todo, &subjects), &mut tasks, files.clock, &mut findings) {
                index = index_of(&tasks);
                subjects = todo.subjects(&index);
            }
            checklist = todo.checklist(&subjects, &index, tasks.len());
        }
        let summaries = match_summaries(files, &layout, &index, tasks.len());
        let is_degraded = read.is_degraded || session.is_unreadable;
        let mut session_files = Self {
            files,
            layout,
            session,
            tasks,
            index,
            running,
            has_todo: todo.is_some(),
            checklist,
            summaries,
            findings,
            is_degraded,
        };
        session_files.compare_checklist();
        session_files
    }

    /// Returns where a task is recorded.
    pub(super) fn location(&self, id: &StepId) -> Option<&TaskLocation> {
        Some(&self.tasks[self.find(id)?].location)
    }

    /// Tells whether the checkbox of a task says that nothing is left to do.
    pub(super) fn is_marked_over(&self, id: &StepId) -> bool {
        let said = self.find(id).and_then(|at| self.checklist[at].as_ref());
        said.is_some_and(|said| matches!(said.mark, CheckboxMark::Done | CheckboxMark::Cancelled))
    }

    /// Returns the first summary of a task.
    pub(super) fn summary(&self, id: &StepId) -> Option<&RelPath> {
        self.summaries[self.find(id)?].first()
    }

    /// Returns the path of the summary that a task with a file of its own lacks.
    pub(super) fn missing_summary(&self, id: &StepId) -> Option<RelPath> {
        let at = self.find(id)?;
        let task = &self.tasks[at];
        let has_file = matches!(&task.location, TaskLocation::File { pointer, .. } if pointer.is_empty());
        if !has_file || !self.summaries[at].is_empty() || !ids::is_safe(task.id.as_str()) {
            return None;
        }
        let [hidden, plain] = &self.layout.summaries;
        let is_used = |dir: &RelPath| self.files.in_dir(dir).next().is_some();
        let dir = if is_used(plain) && !is_used(hidden) { plain } else { hidden };
        // An id such as `q:x` is safe in a command, but no file name everywhere.
        dir.join(&format!("{}-summary.md", task.id)).ok()
    }

    /// Returns the title of a task.
    pub(super) fn title(&self, id: &StepId) -> Option<&str> {
        self.tasks[self.find(id)?].parsed.title.as_deref()
    }

    /// Returns the byte offset of the checkbox of a task. For a task that is only in the checklist, this checkbox is its status,
    /// regardless of other lines about it.
    pub(super) fn checkbox_of(&self, id: &StepId) -> Option<usize> {
        let at = self.find(id)?;
        match self.tasks[at].location {
            TaskLocation::Checklist { at, .. } => Some(at),
            TaskLocation::File { .. } | TaskLocation::Unreadable { .. } => {
                self.checklist[at].as_ref().and_then(|mention| mention.at)
            }
        }
    }

    fn find(&self, id: &StepId) -> Option<usize> {
        let exact = self.tasks.iter().position(|task| task.id == *id);
        exact.or_else(|| self.tasks.iter().position(|task| task.id.matches(id.as_str())))
    }

    /// Reports differences between the checklist and the tasks (docs/formats/ccw.md#checks-before-a-resume).
    fn compare_checklist(&mut self) {
        if !self.has_todo {
            return;
        }
        let mut found = Vec::new();
        for (task, mention) in self.tasks.iter().zip(&self.checklist) {
            if let Some(mention) = mention.as_ref().filter(|mention| mention.contradicts) {
                let message = format!("{} has contradictory lines; the last one counts", task.id);
                let finding = Finding::new(FindingCode::TodoMismatch, message).on(&task.id).at(&self.layout.todo);
                found.push(finding.line(mention.number, None));
            }
        }
        let silent: Vec<&str> = self
            .tasks
            .iter()
            .zip(&self.checklist)
            // A group is in the list as a line without a checkbox (docs/formats/ccw.md#checklist).
            .filter(|(task, mention)| mention.is_none() && task.parsed.word != StatusWord::Container)
            .map(|(task, _)| task.id.as_str())
            .collect();
        if !silent.is_empty() {
            let message = format!("the checklist does not mention {}", first_of(&silent));
            found.push(Finding::new(FindingCode::TodoMismatch, message).at(&self.layout.todo));
        }
        self.findings.extend(found);
    }
}

fn index_of<'t>(tasks: &'t [Task]) -> Index {
    let names = |(at, task): (usize, &'t Task)| task.aliases.iter().map(move |alias| (alias.as_str(), at));
    Index::of(tasks.iter().map(|task| task.id.as_str()), tasks.iter().enumerate().flat_map(names))
}

fn read_todo(files: &FileSet, layout: &Layout, findings: &mut Vec<Finding>) -> Option<Todo> {
    let path = &layout.todo;
    if let Some(bytes) = files.bytes(path) {
        return Some(Todo::parse(bytes));
    }
    let problem = files.problem(path).map(|problem| problem.to_string()).unwrap_or_default();
    let message = format!("the checklist cannot be read: {problem}");
    findings.push(Finding::new(FindingCode::FileMissing, message).at(path));
    None
}

/// Adds tasks that are only in the checklist, so that open work does not vanish when its file is missing. Returns whether there
/// were any. If no task has an id, each unindented checkbox is a task.
fn add_checklist_tasks(
    layout: &Layout,
    (todo, subjects): (&Todo, &[Option<Subject>]),
    tasks: &mut Vec<Task>,
    clock: Clock,
    findings: &mut Vec<Finding>,
) -> bool {
    let count = tasks.len();
    let unknown_lines = todo.unknown_lines(subjects);
    let groups: BTreeSet<String> = match unknown_lines.is_empty() {
        true => BTreeSet::new(),
        false => tasks.iter().flat_map(|task| ids::ancestors(task.id.as_str())).collect(),
    };
    let mut added: Vec<String> = Vec::new();
    for (id, title, line) in unknown_lines {
        // A group line above tasks with files (`IMPL-1` over `IMPL-1.1`) is not a task itself.
        if !groups.contains(&ids::loose_key(&id)) && ids::is_safe(&id) {
            added.push(id.clone());
            tasks.push(from_line(line, &id, &title, count > 0, clock));
        }
    }
    if count > 0 && !added.is_empty() {
        let shown: Vec<&str> = added.iter().map(String::as_str).collect();
        let message = format!("{} is in the checklist but has no file in {TASK_DIR}", first_of(&shown));
        findings.push(Finding::new(FindingCode::TodoMismatch, message).at(&layout.todo));
    }
    if tasks.is_empty() {
        let boxes = todo.lines.iter().filter(|line| !line.is_indented && !line.is_legend());
        for (at, line) in boxes.enumerate() {
            tasks.push(from_line(line, &format!("TODO-{}", at + 1), &line.title(""), false, clock));
        }
    }
    if tasks.len() > count {
        tasks.sort_by(|left, right| left.id.cmp(&right.id));
    }
    tasks.len() > count
}

/// Creates a task from a checklist line; its checkbox is its only status. Open work whose file is missing is not known: it is blocked.
fn from_line(line: &ChecklistLine, id: &str, title: &str, has_files: bool, clock: Clock) -> Task {
    let status = match line.mark {
        CheckboxMark::Open => "pending",
        CheckboxMark::Done => "completed",
        CheckboxMark::InProgress => "in_progress",
        CheckboxMark::Blocked => "blocked",
        CheckboxMark::Cancelled => "cancelled",
    };
    let is_lost = has_files && line.names_file && !matches!(line.mark, CheckboxMark::Done | CheckboxMark::Cancelled);
    let value = match is_lost {
        true => serde_json::json!({
            "title": title, "status": "blocked", "blocked_reason": format!("{TASK_DIR}/{id}.json is missing"),
        }),
        false => serde_json::json!({"title": title, "status": status}),
    };
    let location = TaskLocation::Checklist { number: line.number, at: line.at };
    Task { id: StepId::new(id), aliases: Vec::new(), location, parsed: ParsedTask::of(&value, clock) }
}

/// Assigns each summary to the task whose id its name begins with.
fn match_summaries(files: &FileSet, layout: &Layout, index: &Index, count: usize) -> Vec<Vec<RelPath>> {
    let mut summaries: Vec<Vec<RelPath>> = vec![Vec::new(); count];
    for dir in &layout.summaries {
        for (path, _) in files.in_dir(dir) {
            let name = path.name();
            if is_summary(name)
                && let Some(task) = ids::named_in(name).find_map(|id| index.find(id))
            {
                summaries[task].push(path.clone());
            }
        }
    }
    summaries
}

/// Tells whether a file describes what was done, rather than why it failed (docs/formats/ccw.md#summaries).
fn is_summary(name: &str) -> bool {
    let name = name.to_lowercase();
    !name.starts_with('.')
        && ![".tmp", ".bak", ".swp", "~"].iter().any(|end| name.ends_with(end))
        && !name.contains("failure-analysis")
        && !name.contains("failure_analysis")
}

/// Lists the first ids and the number of the others.
pub(super) fn first_of(ids: &[&str]) -> String {
    let shown: Vec<String> = ids.iter().take(10).map(|id| raw::line(id)).collect();
    let more = ids.len() - shown.len();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
