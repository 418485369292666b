//! The task list: its files say how a task stands, the transcript how it came there (docs/formats/claude.md#tasks).

use std::collections::BTreeMap;

use super::{
    digest::{Digest, TaskFile, TaskRecord},
    standing::TITLE_CHARS,
    steps::{Steps, in_project, relative},
};
use crate::model::{Finding, FindingCode, Hold, RelPath, Status, Step, StepId, Timestamp, Witness, natural, safe_line};

/// A task of the list with both of its sources.
struct ClaudeTask<'a> {
    id: &'a str,
    file: Option<&'a TaskFile>,
    record: Option<&'a TaskRecord>,
}

/// Adds the tasks to the steps, in the order of their numbers.
pub(super) fn add(digest: &Digest, all: &mut Steps) {
    let mut tasks: BTreeMap<&str, ClaudeTask<'_>> = BTreeMap::new();
    for file in &digest.task_files {
        tasks.entry(&file.id).or_insert(ClaudeTask { id: &file.id, file: None, record: None }).file = Some(file);
    }
    for (id, record) in &digest.main.tasks {
        tasks.entry(id).or_insert(ClaudeTask { id, file: None, record: None }).record = Some(record);
    }
    let mut tasks: Vec<ClaudeTask<'_>> = tasks.into_values().collect();
    tasks.sort_by(|a, b| natural(a.id, b.id));
    let first = all.steps.len();
    for task in &tasks {
        if let Some(step) = task.step(digest, all) {
            all.open.tasks += usize::from(step.status != Status::Completed);
            all.steps.push(step);
        }
    }
    let ids: Vec<StepId> = all.steps[first..].iter().map(|step| step.id.clone()).collect();
    for step in &mut all.steps[first..] {
        // A blocker that was deleted blocks no more.
        step.depends_on.retain(|id| *id != step.id && ids.contains(id));
        step.depends_on.sort();
        step.depends_on.dedup();
    }
}

/// Returns the id of the step of a task.
pub(super) fn step_id(id: &str) -> StepId {
    StepId::new(format!("T{}", safe_line(id, 20)))
}

impl ClaudeTask<'_> {
    fn step(&self, digest: &Digest, all: &mut Steps) -> Option<Step> {
        let id = step_id(self.id);
        let file = self.file.filter(|file| file.problem.is_none());
        if let Some((file, (problem, line, column))) = self.file.and_then(|file| Some((file, file.problem.as_ref()?))) {
            let message = format!("the file of task {} cannot be read: {problem}", safe_line(self.id, 20));
            let finding = Finding::new(FindingCode::FileUnclassified, message).line(*line, Some(*column));
            all.findings.push(match RelPath::parse(&file.path) {
                Ok(path) => finding.at(&path),
                Err(_) => finding,
            });
        }
        let changed = self.record.and_then(|record| record.changes.last()).map(|change| change.to.as_str());
        let recorded = changed.or(self.record.map(|_| "pending"));
        if file.is_none() && recorded.is_none_or(|status| status == "deleted") {
            return None;
        }
        let subject = file.map(|file| file.subject.as_str()).filter(|subject| !subject.is_empty());
        let subject = subject.or(self.record.map(|record| record.subject.as_str())).unwrap_or_default();
        let subject = if subject.is_empty() { format!("task {}", self.id) } else { subject.to_owned() };
        let mut step = Step::new(id, safe_line(&subject, TITLE_CHARS));
        step.group = Some("Tasks".to_owned());
        step.tokens = self.record.map_or(0, |record| record.tokens);
        step.file = file.and_then(|file| RelPath::parse(&file.path).ok());
        let word = file.map(|file| file.status.as_str()).or(recorded).unwrap_or_default();
        step.status = match word {
            "completed" => Status::Completed,
            "in_progress" => Status::InProgress,
            "pending" => Status::Pending,
            other => {
                let message = format!("task {}: the status `{}` is unknown", self.id, safe_line(other, 40));
                all.findings.push(Finding::new(FindingCode::StatusUnknown, message).on(&step.id));
                Status::Pending
            }
        };
        if let Some(session) = digest.worked_on.get(self.id).filter(|_| step.status == Status::InProgress) {
            step.status = Status::Blocked;
            step.hold = Some(Hold::Because(format!("the living session {session} shares the list and works on it")));
        }
        let blockers = file.map(|file| &file.blocked_by).or(self.record.map(|record| &record.blocked_by));
        step.depends_on = blockers.into_iter().flatten().map(|id| step_id(id)).collect();
        self.compare(file, recorded, &mut step, all);
        self.add_history(digest, &mut step);
        self.add_files(digest, file, &mut step, all);
        let said = file.map(|file| file.description.clone()).filter(|text| !text.is_empty() && *text != step.title);
        step.detail.requirements = said.into_iter().collect();
        Some(step)
    }

    /// Reports where file and transcript disagree.
    fn compare(&self, file: Option<&TaskFile>, recorded: Option<&str>, step: &mut Step, all: &mut Steps) {
        let is_list_of_files = self.record.is_some_and(|record| !record.is_todo);
        match (file, recorded) {
            (Some(_), Some("completed")) if step.status != Status::Completed => step.proof.witnesses.push(Witness {
                source: "the transcript".into(),
                done: true,
                file: step.file.clone(),
                line: None,
            }),
            (Some(_), Some("in_progress")) if step.status == Status::Completed => {
                let message = format!("{} was completed, but not by this session", step.id);
                all.findings.push(Finding::new(FindingCode::StatusOptimistic, message).on(&step.id));
            }
            (None, Some(_)) if is_list_of_files && step.status != Status::Completed && self.file.is_none() => {
                let message = format!("{}: its file is gone; the transcript says {}", step.id, step.status);
                all.findings.push(Finding::new(FindingCode::FileMissing, message).on(&step.id));
            }
            (_, _) => {}
        }
    }

    fn add_history(&self, digest: &Digest, step: &mut Step) {
        let Some(record) = self.record else {
            step.attempts = u32::from(step.status != Status::Pending);
            return;
        };
        let begun = record.changes.iter().filter(|change| change.to == "in_progress");
        step.attempts = u32::try_from(begun.clone().count()).unwrap_or(u32::MAX);
        step.started_at = begun.clone().next_back().and_then(|change| change.at);
        let completed = record.changes.iter().rfind(|change| change.to == "completed");
        step.finished_at = completed.and_then(|change| change.at).filter(|_| step.status == Status::Completed);
        let is_current = |at: Option<Timestamp>| step.status != Status::Completed && at >= step.started_at;
        step.error = record.refusal.as_ref().filter(|refusal| is_current(refusal.at)).map(|refusal| {
            let lacks = digest.task_files.iter().find(|file| file.id == self.id).map(|file| file.outputs.join(", "));
            let lacks = lacks.filter(|outputs| !outputs.is_empty());
            let lacks = lacks.map_or_else(String::new, |outputs| format!("; it declares {outputs}"));
            format!("its completion was refused: {}{lacks}", safe_line(&refusal.text, 200))
        });
    }

    /// Adds the files that were written while it was in progress, by the session and the agents that it launched then.
    fn add_files(&self, digest: &Digest, file: Option<&TaskFile>, step: &mut Step, all: &mut Steps) {
        let window = Window { from: step.started_at, to: step.finished_at };
        let (mut files, outside) = in_project(digest, window.files(digest).into_iter());
        all.outside += outside;
        step.detail.agents = window.agents(digest).into_iter().map(|(_, title)| title).collect();
        if step.status == Status::Completed {
            for output in file.iter().flat_map(|file| &file.outputs) {
                let path = relative(digest, output).or_else(|| RelPath::parse(output).ok());
                files.extend(path.filter(|path| !files.contains(path)));
            }
            step.proof.traces = files;
        } else {
            step.detail.targets = files.iter().map(|path| safe_line(path.as_str(), 200)).collect();
        }
    }
}

/// The time in which a task was in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
}

impl Window {
    fn includes(self, at: Option<Timestamp>) -> bool {
        self.from.is_some() && at >= self.from && self.to.is_none_or(|to| at <= Some(to))
    }

    /// Returns the files that were written in it, as absolute paths.
    pub(super) fn files(self, digest: &Digest) -> Vec<&str> {
        let main = digest.main.files.iter().filter(|file| self.includes(file.at));
        let launched = self.agents(digest);
        let agents = launched.iter().filter_map(|(id, _)| digest.agents.get(id)?.transcript.as_ref());
        let of_agents = agents.flat_map(|transcript| &transcript.files);
        main.chain(of_agents).map(|file| file.path.as_str()).collect()
    }

    /// Returns the agents that were launched in it: id and title.
    pub(super) fn agents(self, digest: &Digest) -> Vec<(String, String)> {
        let launches = digest.main.launches.iter().filter(|(_, launch)| self.includes(launch.at));
        let agent_of = |call: &String| {
            let by_file = digest.agents.iter().find(|(_, agent)| agent.tool_use.as_ref() == Some(call));
            by_file.map(|(id, _)| id.clone())
        };
        let agents = launches.filter_map(|(call, launch)| {
            let id = launch.agent.clone().or_else(|| agent_of(call))?;
            Some((id, safe_line(&launch.title, TITLE_CHARS)))
        });
        agents.collect()
    }
}
