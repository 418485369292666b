//! The prompt for the agent that takes over a task, in the form of the resume command
//! (docs/formats/ccw.md#context-for-the-agent).

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{approach, layout::Layout, native, raw, rules, task};
use crate::{
    document::Node,
    model::{
        Action, Brief, FileSet, Next, Part, PartKind, Plan, ReadingItem, RelPath, Run, Status, Step, Timestamp, clean,
        mask_secrets,
    },
};

/// Maximum number of completed tasks named in a prompt.
const NAMED: usize = 20;

/// Fields that the context says elsewhere: in its action, reading list and files.
const TOLD: [&str; 15] = [
    "markers",
    "interruption_type",
    "previous_attempt",
    "completed_tasks",
    "current_task_state",
    "recovery_strategy",
    "completed_task_summaries",
    "failure_analysis",
    "previous_progress",
    "task_definition",
    "session_state",
    "pre_analysis",
    "implementation",
    "focus_paths",
    "target_files",
];

/// Writes the hand-over for one step.
pub(super) fn brief(files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief {
    let layout = Layout::of(&files.state);
    let step = run.step(&next.step);
    let facts = Facts::gather(files, &layout, run, plan, next);
    Brief {
        task: if facts.is_verify { VERIFY.to_owned() } else { String::new() },
        agent_context: facts.agent_context(plan, step),
        told: TOLD.to_vec(),
        prompt: facts.prompt(next, step),
        instructions: match step {
            _ if facts.is_verify => String::new(),
            Some(step) => approach::of(&Node::of(&task::definition_of(files, step)), &step.detail.parts),
            None => String::new(),
        },
        reading: facts.reading(files, &layout),
        notes: step.map(notes).unwrap_or_default(),
    }
}

/// The facts shared by prompt and JSON context.
struct Facts {
    kind: String,
    previous_attempt: Option<String>,
    completed: Vec<(String, String)>,
    strategy: Option<&'static str>,
    /// The flow-control step to resume from; `None` if the interrupted step is unknown.
    flow_step: Option<String>,
    summaries: Vec<RelPath>,
    failure_analysis: Option<RelPath>,
    task_file: Option<RelPath>,
    todo: RelPath,
    session: RelPath,
    is_verify: bool,
}

impl Facts {
    fn gather(files: &FileSet, layout: &Layout, run: &Run, plan: &Plan, next: &Next) -> Self {
        let step = run.step(&next.step);
        let recorded = run.interruption.as_ref().filter(|recorded| recorded.step.as_ref() == Some(&next.step));
        let report = plan.interruption.as_ref().filter(|report| report.step.as_ref() == Some(&next.step));
        let kind = match (recorded, report) {
            (Some(recorded), _) => rules::interruption_word(recorded.kind, &recorded.reason),
            (None, Some(report)) => rules::interruption_word(report.kind, &report.reason),
            (None, None) => native::point_type(plan),
        };
        let at = recorded.and_then(|recorded| recorded.at).or_else(|| report.and_then(|report| report.at));
        let completed = plan.steps.completed.iter().map(|id| {
            let title = run.step(id).map(|step| raw::line(&step.title)).unwrap_or_default();
            (id.as_str().to_owned(), title)
        });
        Self {
            kind,
            previous_attempt: at.or_else(|| step.and_then(|step| step.started_at)).map(Timestamp::in_seconds),
            completed: completed.collect(),
            strategy: next.strategy.map(|strategy| strategy.as_str()),
            flow_step: step.and_then(|step| interrupted_part(step)).map(|part| part.name.clone()),
            summaries: step.map(|step| dependency_summaries(run, step)).unwrap_or_default(),
            failure_analysis: step.and_then(|step| failure_analysis(files, layout, step)),
            task_file: step.and_then(|step| step.file.clone()),
            todo: layout.todo.clone(),
            session: layout.session.clone(),
            is_verify: next.action == Action::Verify,
        }
    }

    fn agent_context(&self, plan: &Plan, step: Option<&Step>) -> Value {
        let parts = |kind: PartKind| {
            let parts = step.map(|step| step.detail.parts.as_slice()).unwrap_or_default();
            parts.iter().filter(|part| part.kind == kind).map(part_facts).collect::<Vec<Value>>()
        };
        json!({
            "markers": ["[RESUME_CONTEXT]", "[FLOW_CONTROL]"],
            "interruption_type": self.kind,
            "previous_attempt": self.previous_attempt,
            "completed_tasks": plan.steps.completed,
            "current_task_state": step.map(|step| step.status.as_str()),
            "recovery_strategy": self.strategy,
            "interrupted_flow_step": self.flow_step,
            "completed_task_summaries": self.summaries,
            "failure_analysis": self.failure_analysis,
            "previous_progress": self.todo,
            "task_definition": self.task_file,
            "session_state": self.session,
            "pre_analysis": parts(PartKind::Analysis),
            "implementation": parts(PartKind::Work),
            "focus_paths": step.map(|step| step.detail.focus.clone()).unwrap_or_default(),
            "target_files": step.map(|step| step.detail.targets.clone()).unwrap_or_default(),
        })
    }

    fn prompt(&self, next: &Next, step: Option<&Step>) -> String {
        let mut text = String::new();
        let state = step.map_or("unknown", |step| step.status.as_str());
        let or_none = |value: Option<&str>| value.unwrap_or("none").to_owned();
        let verb = if self.is_verify { "Verify" } else { "Resume" };
        let title = raw::line(&next.title);
        let _ = write!(
            text,
            "[RESUME_CONTEXT] [FLOW_CONTROL] {verb} {id}: {title}\n\n\
             RESUMPTION CONTEXT:\n\
             - Interruption Type: {kind}\n\
             - Previous Attempt: {previous}\n\
             - Completed Tasks: {completed}\n\
             - Current Task State: {state}\n\
             - Recovery Strategy: {strategy}\n\
             - Interrupted at Flow Step: {flow_step}\n\n\
             AVAILABLE CONTEXT:\n\
             - Completed Task Summaries: {summaries}\n\
             - Previous Progress: Check {todo} for partial completion\n\
             - Task Definition: {task}\n\
             - Session State: {session}\n",
            id = raw::line(next.step.as_str()),
            kind = self.kind,
            previous = or_none(self.previous_attempt.as_deref()),
            completed = self.named_completed(),
            strategy = or_none(self.strategy),
            flow_step = raw::line(self.flow_step.as_deref().unwrap_or("not recorded")),
            summaries = joined(&self.summaries),
            todo = self.todo,
            task = or_none(self.task_file.as_ref().map(RelPath::as_str)),
            session = self.session,
        );
        if let Some(path) = &self.failure_analysis {
            let _ = writeln!(text, "- Failure Analysis: {path}");
        }
        if self.is_verify {
            text.push_str(VERIFY);
            return text;
        }
        let parts = step.map(|step| step.detail.parts.as_slice()).unwrap_or_default();
        if !parts.is_empty() {
            let from = self.flow_step.as_deref().or_else(|| first_open(parts).map(|part| part.name.as_str()));
            let from = from.map_or_else(
                || "All flow control steps are done.".to_owned(),
                |from| format!("Resume from step: {}", raw::line(from)),
            );
            let _ = writeln!(text, "\nFLOW CONTROL RECOVERY:\n{from}");
            for part in parts {
                let _ = writeln!(text, "{}", part_line(part));
            }
        }
        let variables = step.map(|step| &step.detail.variables).filter(|variables| !variables.is_empty());
        if let Some(variables) = variables {
            text.push_str("\nPREVIOUS STEP OUTPUTS:\n");
            for (name, value) in variables {
                let _ = writeln!(text, "- {} = {}", raw::line(name), raw::line(&mask_secrets(&value.to_string())));
            }
        }
        text.push_str(RECOVERY_STEPS);
        let paths = |paths: &[String]| if paths.is_empty() { "none".to_owned() } else { paths.join(", ") };
        let focus = step.map(|step| paths(&step.detail.focus)).unwrap_or_default();
        let targets = step.map(|step| paths(&step.detail.targets)).unwrap_or_default();
        let _ = write!(text, "\nFocus Paths: {focus}\nTarget Files: {targets}\n{IMPORTANT}");
        text
    }

    fn named_completed(&self) -> String {
        if self.completed.is_empty() {
            return "none".to_owned();
        }
        let named = self.completed.iter().take(NAMED).map(|(id, title)| format!("{} ({title})", raw::line(id)));
        let mut named: Vec<String> = named.collect();
        if self.completed.len() > NAMED {
            named.push(format!("and {} more", self.completed.len() - NAMED));
        }
        named.join(", ")
    }

    fn reading(&self, files: &FileSet, layout: &Layout) -> Vec<ReadingItem> {
        let mut reading: Vec<ReadingItem> = Vec::new();
        reading.extend(self.task_file.as_ref().map(|path| path.reading_item("task definition")));
        reading.extend(self.failure_analysis.as_ref().map(|path| path.reading_item("analysis of the last failure")));
        let present = |path: &&RelPath| files.files.contains_key(*path);
        reading.extend(layout.plan_in(files).map(|path| path.reading_item("implementation plan")));
        let todo = Some(&self.todo).filter(present).filter(|path| Some(*path) != self.task_file.as_ref());
        reading.extend(todo.map(|path| path.reading_item("progress of the session")));
        reading
    }
}

const VERIFY: &str = "
VERIFICATION:
1. The task file, the checklist and the summaries do not agree on whether this task is done
2. Check its acceptance criteria against the code as it is now
3. Run nothing again that is there; record the result
";

const RECOVERY_STEPS: &str = "
CONTEXT RECOVERY STEPS:
1. MANDATORY: Read previous task summary documents for all dependencies
2. Load dependency summaries of the tasks it depends on
3. Restore previous step outputs if available
4. Resume from interrupted flow control step
5. Execute remaining steps with accumulated context
6. Generate comprehensive summary with dependency outputs
";

const IMPORTANT: &str = "
IMPORTANT:
1. Resume flow control from interrupted step with error recovery
2. Ensure context continuity through step chain
3. Create enhanced summary for dependent tasks
4. Update progress tracking upon successful completion
";

fn interrupted_part(step: &Step) -> Option<&Part> {
    step.detail.parts.iter().find(|part| matches!(part.status, Status::InProgress | Status::Failed))
}

fn first_open(parts: &[Part]) -> Option<&Part> {
    parts.iter().find(|part| !part.status.is_over())
}

fn part_line(part: &Part) -> String {
    let mut line = format!("- Step: {} | Action: {}", raw::line(&part.name), raw::line(&part.title));
    if !part.commands.is_empty() {
        let commands: Vec<String> = part.commands.iter().map(|command| raw::line(command)).collect();
        let _ = write!(line, " | Command: {}", commands.join("; "));
    }
    if part.status != Status::Pending {
        let _ = write!(line, " | Status: {}", part.status);
    }
    line
}

fn part_facts(part: &Part) -> Value {
    json!({
        "step": part.name,
        "action": part.title,
        "status": part.status,
        "commands": part.commands.iter().map(|command| clean(command).into_owned()).collect::<Vec<String>>(),
        "output_to": part.output.as_ref().map(|(name, _)| name),
    })
}

/// Returns the summaries of what a task builds on; for a group, those of its children.
fn dependency_summaries(run: &Run, step: &Step) -> Vec<RelPath> {
    let mut found: Vec<RelPath> = Vec::new();
    for dependency in run.built_on(step) {
        let children = dependency.children.iter().filter_map(|id| run.step(id));
        let of = dependency.proof.summaries.iter().chain(children.flat_map(|child| &child.proof.summaries));
        found.extend(of.cloned());
    }
    found.sort();
    found.dedup();
    found
}

/// Finds an earlier agent's analysis of the failure (`.summaries/impl-1.2-failure-analysis.md`).
pub(super) fn failure_analysis(files: &FileSet, layout: &Layout, step: &Step) -> Option<RelPath> {
    let wanted = format!("{}-failure-analysis", step.id.as_str().to_lowercase());
    let mut names = layout.summaries.iter().flat_map(|dir| files.in_dir(dir));
    names.find(|(path, _)| path.name().to_lowercase().starts_with(&wanted)).map(|(path, _)| path.clone())
}

/// Returns the note that commands are quoted.
fn notes(step: &Step) -> Vec<String> {
    let has_commands = step.detail.parts.iter().any(|part| !part.commands.is_empty());
    let commands = has_commands.then(|| "Commands are quoted from the task file; Piton has not run them.".to_owned());
    commands.into_iter().collect()
}

fn joined(paths: &[RelPath]) -> String {
    if paths.is_empty() {
        return "none".to_owned();
    }
    paths.iter().map(RelPath::as_str).collect::<Vec<&str>>().join(", ")
}
