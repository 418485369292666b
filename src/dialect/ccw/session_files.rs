//! Everything in a session folder, matched up: tasks, checklist, summaries. Shared by readers and writers.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ids::{self, Index},
    layout::{Layout, TASK_DIR},
    parsed_task::ParsedTask,
    parts::PartLine,
    raw,
    rules::StatusWord,
    session::CcwSession,
    summary,
    task::{self, CcwTask, TaskLocation},
    todo::{CheckboxMark, ChecklistLine, ChecklistStatus, Subject, Todo, UnknownHeading},
};
use crate::{
    document::Node,
    model::{Clock, FileSet, Finding, FindingCode, RelPath, StepId},
};

/// A session folder as read.
pub(super) struct SessionFiles<'a> {
    pub(super) files: &'a FileSet,
    pub(super) layout: Layout,
    pub(super) session: CcwSession,
    /// In natural order of their ids.
    pub(super) tasks: Vec<CcwTask>,
    pub(super) index: Index,
    /// The status word for a running task.
    pub(super) running: &'static str,
    pub(super) has_todo: bool,
    /// The checklist status of each task.
    pub(super) checklist: Vec<Option<ChecklistStatus>>,
    /// The lines of the checklist about parts of tasks.
    pub(super) part_lines: Vec<PartLine>,
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
        let session = CcwSession::read(files, &layout);
        let read = task::read(files, &layout, &session, with_detail);
        let mut findings = session.findings.clone();
        findings.extend(read.findings);
        let mut tasks = read.list;
        let running = task::running_word(&tasks);
        let todo = read_todo(files, &layout, &mut findings);
        let mut index = index_of(&tasks);
        let mut checklist = vec![None; tasks.len()];
        let mut part_lines = Vec::new();
        if let Some(todo) = &todo {
            let mut subjects = todo.subjects(&index);
            if add_checklist_tasks(&layout, (todo, &subjects), &mut tasks, &index, files.clock, &mut findings) {
                index = index_of(&tasks);
                subjects = todo.subjects(&index);
            }
            checklist = todo.checklist(&subjects, &index, tasks.len());
            part_lines = read_part_lines(todo, &subjects, &tasks, &index);
        }
        let summaries = match_summaries(files, &layout, &index, &tasks, &mut findings);
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
            part_lines,
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

    /// Returns the byte offsets of the checkboxes of a task. For a task that is only in the checklist, these are its status,
    /// regardless of other lines about it.
    pub(super) fn checkboxes_of(&self, id: &StepId) -> Vec<usize> {
        let Some(at) = self.find(id) else { return Vec::new() };
        match &self.tasks[at].location {
            TaskLocation::Checklist { boxes, .. } => boxes.clone(),
            TaskLocation::File { .. } | TaskLocation::Unreadable { .. } => {
                self.checklist[at].iter().filter_map(|mention| mention.at).collect()
            }
        }
    }

    /// Returns the byte offsets of the checkboxes of one part of a task, or of all its parts.
    pub(super) fn checkboxes_of_parts(&self, id: &StepId, part: Option<&str>) -> Vec<usize> {
        let Some(at) = self.find(id) else { return Vec::new() };
        let is_meant =
            |line: &&PartLine| line.task == at && part.is_none_or(|part| line.name.eq_ignore_ascii_case(part));
        self.part_lines.iter().filter(is_meant).map(|line| line.at).collect()
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

fn index_of<'t>(tasks: &'t [CcwTask]) -> Index {
    let names = |(at, task): (usize, &'t CcwTask)| task.aliases.iter().map(move |alias| (alias.as_str(), at));
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
    tasks: &mut Vec<CcwTask>,
    index: &Index,
    clock: Clock,
    findings: &mut Vec<Finding>,
) -> bool {
    let added = unknown_tasks(todo, subjects, tasks, index, clock);
    if !tasks.is_empty() && !added.is_empty() {
        let shown: Vec<&str> = added.iter().map(|task| task.id.as_str()).collect();
        let message = format!("{} is in the checklist but has no file in {TASK_DIR}", first_of(&shown));
        findings.push(Finding::new(FindingCode::TodoMismatch, message).at(&layout.todo));
    }
    let count = tasks.len();
    tasks.extend(added);
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

/// Returns the tasks whose ids only a line or a heading of the checklist has.
fn unknown_tasks(
    todo: &Todo,
    subjects: &[Option<Subject>],
    tasks: &[CcwTask],
    index: &Index,
    clock: Clock,
) -> Vec<CcwTask> {
    let (lines, headings) = (todo.unknown_lines(subjects), todo.unknown_headings(subjects));
    if lines.is_empty() && headings.is_empty() {
        return Vec::new();
    }
    let owners = Owners::of(tasks, index);
    let groups: BTreeSet<String> = tasks.iter().flat_map(|task| ids::ancestors(task.id.as_str())).collect();
    // A group line above tasks with files (`IMPL-1` over `IMPL-1.1`) is not a task itself.
    let is_new = |id: &str| !groups.contains(&ids::loose_key(id)) && ids::is_safe(id);
    let of_lines = lines.into_iter().filter(|(id, _, line)| is_new(id) && owners.of_line(id, line).is_none());
    let mut added: Vec<CcwTask> =
        of_lines.map(|(id, title, line)| from_line(line, &id, &title, !tasks.is_empty(), clock)).collect();
    for heading in headings {
        // A heading of another kind (`PHASE-1`) only divides the list.
        let is_alike = |task: &CcwTask| ids::word_of(task.id.as_str()) == ids::word_of(&heading.id);
        let is_added = added.iter().any(|task| task.id.matches(&heading.id));
        let is_known = index.find_leading(&heading.id).is_some();
        if !is_known
            && tasks.iter().any(is_alike)
            && is_new(&heading.id)
            && !is_added
            && owners.find(&heading.id).is_none()
        {
            added.push(from_heading(&heading, clock));
        }
    }
    added
}

/// The tasks with files that may list others as their parts.
struct Owners<'t> {
    tasks: &'t [CcwTask],
    index: &'t Index,
    /// By lowercase id of the subtask.
    listed: BTreeMap<String, usize>,
}

impl<'t> Owners<'t> {
    fn of(tasks: &'t [CcwTask], index: &'t Index) -> Self {
        let subtasks = |(at, task): (usize, &'t CcwTask)| {
            task.parsed.subtasks.iter().filter_map(move |subtask| Some((subtask.id.as_ref()?.to_lowercase(), at)))
        };
        Self { tasks, index, listed: tasks.iter().enumerate().flat_map(subtasks).collect() }
    }

    /// Returns the task that a line without a task is a part of. A line that links to a task file is a task itself.
    fn of_line(&self, id: &str, line: &ChecklistLine) -> Option<usize> {
        if line.names_file { None } else { self.find(id) }
    }

    /// Returns the task that lists the id, else the nearest one whose id it extends.
    fn find(&self, id: &str) -> Option<usize> {
        let has_file = |at: &usize| {
            let task = &self.tasks[*at];
            !matches!(task.location, TaskLocation::Checklist { .. }) && task.parsed.word != StatusWord::Container
        };
        let listed = self.listed.get(&id.to_lowercase()).copied();
        let extended = || ids::ancestors(id).iter().find_map(|above| self.index.find(above));
        listed.or_else(extended).filter(has_file)
    }
}

fn read_part_lines(todo: &Todo, subjects: &[Option<Subject>], tasks: &[CcwTask], index: &Index) -> Vec<PartLine> {
    let unknown = todo.unknown_lines(subjects);
    if unknown.is_empty() {
        return Vec::new();
    }
    let owners = Owners::of(tasks, index);
    let lines = unknown.into_iter().filter_map(|(name, title, line)| {
        let task = owners.of_line(&name, line)?;
        Some(PartLine { task, name, title, mark: line.mark, at: line.at })
    });
    lines.collect()
}

/// Creates a task from a heading; the boxes below it are its status.
fn from_heading(heading: &UnknownHeading<'_>, clock: Clock) -> CcwTask {
    let all = |mark: CheckboxMark| heading.boxes.iter().all(|line| line.mark == mark);
    let status = match () {
        () if all(CheckboxMark::Done) => "completed",
        () if all(CheckboxMark::Cancelled) => "cancelled",
        () => "pending",
    };
    let value = serde_json::json!({"title": heading.title, "status": status});
    let boxes = heading.boxes.iter().map(|line| line.at).collect();
    let location = TaskLocation::Checklist { number: heading.number, boxes };
    CcwTask {
        id: StepId::new(&heading.id),
        aliases: Vec::new(),
        location,
        parsed: ParsedTask::of(&Node::of(&value), clock),
    }
}

/// Creates a task from a checklist line; its checkbox is its only status. Open work whose file is missing is not known: it is blocked.
fn from_line(line: &ChecklistLine, id: &str, title: &str, has_files: bool, clock: Clock) -> CcwTask {
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
    let location = TaskLocation::Checklist { number: line.number, boxes: vec![line.at] };
    CcwTask { id: StepId::new(id), aliases: Vec::new(), location, parsed: ParsedTask::of(&Node::of(&value), clock) }
}

/// Assigns each summary to the task whose id its name begins with, unless its title is that of another task.
fn match_summaries(
    files: &FileSet,
    layout: &Layout,
    index: &Index,
    tasks: &[CcwTask],
    findings: &mut Vec<Finding>,
) -> Vec<Vec<RelPath>> {
    let mut summaries: Vec<Vec<RelPath>> = vec![Vec::new(); tasks.len()];
    for dir in &layout.summaries {
        for (path, _) in files.in_dir(dir).filter(|(path, _)| is_summary(path.name())) {
            let Some(at) = ids::named_in(path.name()).find_map(|id| index.find(id)) else { continue };
            let id = &tasks[at].id;
            let title = tasks[at].parsed.title.as_deref().unwrap_or_default();
            let is_foreign = |bytes: &[u8]| summary::is_about_another(bytes, id, title);
            if files.bytes(path).is_some_and(is_foreign) {
                let message = format!("the title of this summary is not that of {id}; it does not count as done by it");
                let finding = Finding::new(FindingCode::SummaryForeign, message).on(id).at(path);
                findings.push(finding.fix("move it to the session that it belongs to"));
            } else {
                summaries[at].push(path.clone());
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
