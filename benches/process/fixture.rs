//! Projects to measure on: runs in the middle of their work, as large as asked.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// The folder that everything lies in; it goes when the benchmark ends.
pub(crate) struct Scratch {
    folder: TempDir,
}

/// A project with one run.
pub(crate) struct Project {
    project: PathBuf,
    /// The state; where it is several files, those that `finish` writes come first.
    state_files: Vec<PathBuf>,
    /// How many of them `finish` writes.
    written: usize,
    /// What `finish` writes beside them: a backup, a summary.
    beside: PathBuf,
}

/// A run as it was.
pub(crate) struct State {
    files: Vec<(PathBuf, Vec<u8>)>,
    /// What has to be gone.
    beside: PathBuf,
    /// The logs of the run, which know nothing of what comes later.
    logs: Vec<PathBuf>,
}

/// The steps of a phase of a nine-step run.
const PHASE: [&str; 10] = ["1", "2", "2.5", "3", "4", "5", "6", "7", "8", "9"];

impl Scratch {
    /// Makes it in a folder outside of this repository, which would otherwise be the project's.
    pub(crate) fn below(folder: &Path) -> Self {
        let folder = TempDir::with_prefix_in("piton-bench-", folder).unwrap();
        Self { folder }
    }

    pub(crate) fn top(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a nine-step run in the middle of its middle phase, ten steps each.
    pub(crate) fn nine_step(&self, name: &str, phases: usize) -> Project {
        self.nine_step_with_history(name, phases, 0)
    }

    /// Makes the same with so many executions on record.
    pub(crate) fn nine_step_with_history(&self, name: &str, phases: usize, executions: usize) -> Project {
        let project = self.project(name);
        let state = project.join(".worktree/bench/.workflow-state.json");
        put(&state, nine_step_state("bench", phases, executions).as_bytes());
        Project { beside: backup_of(&state), project, state_files: vec![state], written: 1 }
    }

    /// Makes the same in git, with a real worktree.
    pub(crate) fn nine_step_in_git(&self, name: &str, phases: usize) -> Project {
        let project = self.project(name);
        put(&project.join("src/main.rs"), b"fn main() {}\n");
        let git = |arguments: &[&str]| git(&project, arguments);
        git(&["init", "--quiet", "--initial-branch=main"]);
        put(&project.join(".git/info/exclude"), b".workflow-state.json*\n.piton/\n.worktree/\n");
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "start"]);
        git(&["worktree", "add", "--quiet", "-b", "feature/bench", ".worktree/bench"]);
        let state = project.join(".worktree/bench/.workflow-state.json");
        put(&state, nine_step_state("bench", phases, 0).as_bytes());
        Project { beside: backup_of(&state), project, state_files: vec![state], written: 1 }
    }

    /// Makes a session of Claude-Code-Workflow of which the first half of the tasks is done.
    pub(crate) fn ccw(&self, name: &str, tasks: usize) -> Project {
        let project = self.project(name);
        let mut state_files = ccw_session(&project, "WFS-bench", tasks);
        let next = state_files.iter().position(|file| file.ends_with(task_file(tasks / 2 + 1))).unwrap();
        state_files.swap(2, next);
        let summary = format!(".summaries/IMPL-{:03}-summary.md", tasks / 2 + 1);
        let beside = state_files[0].parent().unwrap().join(summary);
        Project { beside, project, state_files, written: 3 }
    }

    /// Makes a large tree with many small runs of both kinds.
    pub(crate) fn forest(&self, name: &str, runs: usize, files: usize) -> PathBuf {
        let project = self.project(name);
        let mut made = 0;
        for at in 0..runs.div_ceil(2) {
            let state = project.join(format!(".worktree/run-{at}/.workflow-state.json"));
            put(&state, nine_step_state(&format!("run-{at}"), 2, 0).as_bytes());
            made += 1;
        }
        for at in 0..runs / 2 {
            made += ccw_session(&project, &format!("WFS-run-{at}"), 2).len();
        }
        for folder in 0..files.saturating_sub(made) / 100 {
            for file in 0..100 {
                put(&project.join(format!("src/part{}/module{folder}/file{file}.rs", folder / 50)), b"//\n");
            }
        }
        project
    }

    /// Makes the stories of an AIOS project, twenty to an epic; every fourth is being worked on.
    pub(crate) fn stories(&self, name: &str, stories: usize) -> PathBuf {
        let project = self.project(name);
        for at in 0..stories {
            let id = format!("{}.{}", at / 20 + 1, at % 20 + 1);
            let status = ["InProgress", "Done", "Draft", "Done"][at % 4];
            let path = format!("docs/stories/epic-{}/{id}.story.md", at / 20 + 1);
            put(&project.join(path), story(&id, status).as_bytes());
        }
        project
    }

    /// Makes a project in git with plans of other systems, all half done: changes of OpenSpec with ten boxes, plans of superpowers with five
    /// tasks, and a list of Task Master with so many tasks and subtasks.
    pub(crate) fn guests(&self, name: &str, changes: usize, plans: usize, tasks: usize) -> PathBuf {
        let project = self.project(name);
        for at in 0..changes {
            let mark = |number: usize| if number < 5 { 'x' } else { ' ' };
            let boxes = (1..=10).map(|number| format!("- [{}] 1.{number} Do `src/m{at}/p{number}.rs`\n", mark(number)));
            let folder = project.join(format!("openspec/changes/change-{at:03}"));
            put(&folder.join("tasks.md"), format!("## 1. Work\n{}", boxes.collect::<String>()).as_bytes());
            put(&folder.join("proposal.md"), b"# Why\n");
        }
        for at in 0..plans {
            let task = |number: usize| {
                let mark = if number == 1 { 'x' } else { ' ' };
                format!(
                    "### Task {number}: part\n\n**Files:**\n- Create: `src/s{at}/t{number}.rs`\n\n- [{mark}] **Step 1: do**\n- [ ] **Step 2: do**\n\n"
                )
            };
            let text = format!("# Plan\n\n{}", (1..=5).map(task).collect::<String>());
            put(&project.join(format!("docs/superpowers/plans/2026-01-02-plan-{at}.md")), text.as_bytes());
        }
        let status = |number: usize| if number * 40 < tasks { "done" } else { "pending" };
        let task = |number: usize| {
            let piece = |piece: usize| {
                format!(
                    "{{\"id\":{piece},\"title\":\"P\",\"status\":\"{}\",\"details\":\"{}\"}}",
                    status(number),
                    "x".repeat(200)
                )
            };
            let pieces: Vec<String> = (1..=9).map(piece).collect();
            format!(
                "{{\"id\":{number},\"title\":\"T\",\"status\":\"{}\",\"subtasks\":[{}]}}",
                status(number),
                pieces.join(",\n")
            )
        };
        let list: Vec<String> = (1..=tasks / 10).map(task).collect();
        let list = format!("{{\"master\":{{\"tasks\":[{}]}}}}\n", list.join(",\n"));
        put(&project.join(".taskmaster/tasks/tasks.json"), list.as_bytes());
        git(&project, &["init", "--quiet", "--initial-branch=main"]);
        for at in 0..50 {
            put(&project.join(format!("src/m{at}/p1.rs")), b"//\n");
            git(&project, &["add", "--all"]);
            git(&project, &["commit", "--quiet", "--message", &format!("feat: part {at}")]);
        }
        project
    }

    /// Makes a folder with a workflow file.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let project = self.project(name);
        put(&project.join("w.yml"), text.as_bytes());
        project
    }

    /// Writes an event as the client sends it to a hook.
    pub(crate) fn event(&self, project: &Path, session: &str, source: &str) -> PathBuf {
        let file = self.top().join(format!("{session}-{source}.json"));
        let cwd = project.display();
        let text = format!(
            r#"{{"session_id":"{session}","cwd":"{cwd}","source":"{source}","agent_id":"a","agent_type":"developer","prompt":"go on","last_assistant_message":"STATUS: DONE\nSUMMARY: x","permission_mode":"default","tool_name":"Bash","tool_input":{{"command":"piton plan run-7"}}}}"#
        );
        put(&file, text.as_bytes());
        file
    }

    fn project(&self, name: &str) -> PathBuf {
        let project = self.top().join(name);
        // Without it the project would be the repository around the scratch folder.
        put(&project.join("piton.toml"), b"");
        project
    }
}

impl Project {
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    pub(crate) fn state_files(&self) -> &[PathBuf] {
        &self.state_files
    }

    /// Copies the files that `finish` writes to where another program may write them.
    pub(crate) fn copies(&self) -> Vec<PathBuf> {
        let copy = |file: &PathBuf| {
            let to = self.project.join("floor").join(file.file_name().unwrap());
            put(&to, &fs::read(file).or_else(|_| fs::read(&self.state_files[0])).unwrap());
            to
        };
        std::iter::once(&self.beside).chain(&self.state_files[..self.written]).map(copy).collect()
    }

    pub(crate) fn state(&self) -> State {
        let files = self.state_files[..self.written].iter().map(|file| (file.clone(), fs::read(file).unwrap()));
        let runs = fs::read_dir(self.project.join(".piton/runs")).into_iter().flatten();
        let logs = runs.map(|run| run.unwrap().path().join("journal.jsonl"));
        State { files: files.collect(), beside: self.beside.clone(), logs: logs.collect() }
    }
}

impl State {
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(file, _)| file.as_path())
    }

    /// Writes the files as they were, and flushes them: what is measured next is not to wait for that.
    pub(crate) fn put_back(&self) {
        for (file, bytes) in &self.files {
            let mut written = fs::File::create(file).unwrap();
            written.write_all(bytes).and_then(|()| written.sync_all()).unwrap();
        }
        let _ = fs::remove_file(&self.beside);
        // A log that is ahead of the state would be a finding of its own.
        for log in self.logs.iter().filter(|log| log.exists()) {
            fs::File::create(log).and_then(|log| log.sync_all()).unwrap();
        }
    }
}

fn git(project: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.test"];
    super::run(Command::new("git").args(identity).args(arguments).current_dir(project));
}

fn backup_of(state: &Path) -> PathBuf {
    let name = format!("{}.backup", state.file_name().unwrap().to_string_lossy());
    state.with_file_name(name)
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn nine_step_state(name: &str, phases: usize, executions: usize) -> String {
    let current = phases.div_ceil(2);
    let mut done = Vec::new();
    for phase in 1..=current {
        let steps = if phase < current { &PHASE[..] } else { &PHASE[..3] };
        for step in steps {
            let status = if matches!(*step, "2" | "2.5" | "4") { "approved" } else { "completed" };
            done.push(format!(
                r#"    {{ "phase": {phase}, "step": {step}, "agent": "agent-{step}", "status": "{status}", "timestamp": "2026-01-31T09:40:00Z" }}"#
            ));
        }
    }
    let done = done.join(",\n");
    let execution = r#"    { "phase": 1, "step": 3, "agent": "agent-3", "status": "completed", "timestamp": "2026-01-31T09:40:00Z", "attempt": 1 }"#;
    let history = match executions {
        0 => String::new(),
        _ => format!(",\n  \"history\": [\n{}\n  ]", vec![execution; executions].join(",\n")),
    };
    format!(
        r#"{{
  "feature_name": "{name}",
  "current_phase": {current},
  "current_step": 3,
  "total_phases": {phases},
  "last_execution": {{ "phase": {current}, "step": 2.5, "agent": "user", "status": "approved", "timestamp": "2026-01-31T11:30:00Z" }},
  "completed_steps": [
{done}
  ]{history}
}}
"#
    )
}

fn story(id: &str, status: &str) -> String {
    let mut text =
        format!("# Story {id}: Part of the bench\n\n## Status\n\n**{status}**\n\n## Acceptance Criteria\n\n");
    for number in 1..=8 {
        let _ = writeln!(text, "{number}. A user sees what the program did, and why, without looking it up elsewhere.");
    }
    text.push_str("\n## Tasks / Subtasks\n\n");
    for number in 1..=20 {
        let mark = if number <= 10 { "x" } else { " " };
        let _ = writeln!(text, "- [{mark}] Task {number}: write the code, its tests and a page about it");
    }
    text.push_str("\n## Dev Notes\n\n");
    for _ in 0..40 {
        text.push_str("What was found while the story was made, in a line that is about as long as people write.\n");
    }
    text
}

fn task_file(number: usize) -> String {
    format!("IMPL-{number:03}.json")
}

/// Writes a session and returns its files: session, checklist, then one per task.
fn ccw_session(project: &Path, name: &str, tasks: usize) -> Vec<PathBuf> {
    let folder = project.join(".workflow/active").join(name);
    let mut files = vec![folder.join("workflow-session.json"), folder.join("TODO_LIST.md")];
    let session = format!(
        "{{\n  \"session_id\": \"{name}\",\n  \"project\": \"Bench\",\n  \"status\": \"active\",\n  \"type\": \"workflow\",\n  \"created_at\": \"2026-01-31T09:00:00Z\"\n}}\n"
    );
    put(&files[0], session.as_bytes());
    let mut list = "# Tasks: Bench\n\n".to_owned();
    for number in 1..=tasks {
        let done = number <= tasks / 2;
        let (mark, status) = if done { ("x", "completed") } else { (" ", "pending") };
        let before = if number > 1 { format!("\"IMPL-{:03}\"", number - 1) } else { String::new() };
        let _ = writeln!(
            list,
            "- [{mark}] **IMPL-{number:03}**: Task number {number} → [📋](./.task/IMPL-{number:03}.json)"
        );
        let task = format!(
            "{{\n  \"id\": \"IMPL-{number:03}\",\n  \"title\": \"Task number {number}\",\n  \"status\": \"{status}\",\n  \"meta\": {{ \"type\": \"feature\", \"agent\": \"@code-developer\" }},\n  \"context\": {{\n    \"requirements\": [\"do it\", \"do it well\"],\n    \"focus_paths\": [\"src/part{number}/\"],\n    \"acceptance\": [\"tests pass\"],\n    \"depends_on\": [{before}]\n  }},\n  \"flow_control\": {{\n    \"pre_analysis\": [\n      {{ \"step\": \"load\", \"action\": \"Read\", \"command\": \"Read(src)\", \"output_to\": \"source\", \"on_error\": \"fail\" }}\n    ],\n    \"implementation_approach\": [\n      {{ \"step\": 1, \"title\": \"Write\", \"description\": \"write it\" }},\n      {{ \"step\": 2, \"title\": \"Test\", \"description\": \"test it\" }}\n    ],\n    \"target_files\": [\"src/part{number}/mod.rs\"]\n  }}\n}}\n"
        );
        let file = folder.join(".task").join(task_file(number));
        put(&file, task.as_bytes());
        files.push(file);
        if done {
            put(&folder.join(format!(".summaries/IMPL-{number:03}-summary.md")), b"# Done\n\nAll of it.\n");
        }
    }
    put(&files[1], list.as_bytes());
    files
}
