//! `demo`: an interrupted run in a scratch project, taken through list, plan, resume, crash and resume.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    project_context::{ProjectContext, Request},
    report::{Body, Report},
    trust,
};
use crate::{
    model::{DialectId, Suggested},
    store::{CLIENT_FOLDER, Environment, Scratch, Trusted},
};

/// The transcript of the demonstration (`demo/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemoReport {
    pub(crate) scenes: Vec<DemoScene>,
    /// Path of the scratch project, if it was kept.
    pub(crate) kept: Option<String>,
}

/// One command of the demonstration with its output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemoScene {
    pub(crate) dialect: DialectId,
    pub(crate) say: String,
    pub(crate) command: Option<Suggested>,
    pub(crate) output: String,
    pub(crate) exit: Option<i32>,
}

impl Body for DemoReport {
    const SCHEMA: &'static str = "demo/1";
}

/// The time of the demonstration, fixed so that its output is always the same.
const NOW: &str = "2026-01-31T12:00:00Z";
/// When the interrupted work was committed.
const COMMITTED: &str = "2026-01-31T09:00:00Z";

/// One scene: an explanation and a command.
struct DemoStep {
    say: &'static str,
    command: &'static [&'static str],
    /// A file that is written before the command.
    writes: Option<(&'static str, &'static str)>,
}

const fn step(say: &'static str, command: &'static [&'static str]) -> DemoStep {
    DemoStep { say, command, writes: None }
}

/// A small interrupted project and the commands that are run in it.
struct DemoScenario {
    dialect: DialectId,
    folder: &'static str,
    /// The linked worktree that the run works in, with its branch.
    worktree: Option<(&'static str, &'static str)>,
    files: &'static [(&'static str, &'static str)],
    steps: &'static [DemoStep],
}

macro_rules! example {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../examples/", $folder, "/", $path))),)*]
    };
}

const SCENARIOS: [DemoScenario; 6] = [
    DemoScenario {
        dialect: DialectId::Claude,
        folder: "claude",
        worktree: None,
        files: example!("claude":
            "README.md",
            "cart.js",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab.jsonl",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab/subagents/agent-a1f00d0000000001.jsonl",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab/subagents/agent-a1f00d0000000001.meta.json",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab/subagents/agent-a2f00d0000000002.jsonl",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab/subagents/agent-a2f00d0000000002.meta.json",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab/subagents/agent-a3f00d0000000003.jsonl",
            "client/projects/PROJECT/c1a0de00-1234-4abc-8def-0123456789ab/subagents/agent-a3f00d0000000003.meta.json",
            "client/tasks/c1a0de00-1234-4abc-8def-0123456789ab/1.json",
            "client/tasks/c1a0de00-1234-4abc-8def-0123456789ab/2.json",
        ),
        steps: &[
            step("No system at all: a session of Claude Code met a usage limit with three agents running.", &["list"]),
            step(
                "One agent is done, one only read, and what the third one did cannot be known: a person decides.",
                &["plan"],
            ),
            step("What a fresh session has to know:", &["context"]),
        ],
    },
    DemoScenario {
        dialect: DialectId::NineStep,
        folder: "nine-step",
        worktree: Some((".worktree/user-auth", "feature/user-auth")),
        files: example!("nine-step":
            "piton.toml",
            ".plan/user-auth_plan.md",
            ".worktree/user-auth/.workflow-state.json",
        ),
        steps: &[
            step("A review sent the work back, then the session ended. What is there to resume?", &["list"]),
            step("Where does it resume, and why?", &["plan"]),
            step("Resume: the developer gets the findings of the review.", &["resume", "--yes"]),
            step(
                "Record that the step starts, before the agent does.",
                &["begin", "3", "--agent", "backend-developer"],
            ),
            step(
                "The agent is killed in the middle of it, and the session starts another one.",
                &["begin", "3", "--again"],
            ),
            step("Nothing had to be unlocked or repaired, and the attempts are counted:", &["plan"]),
            step("This time it ends well.", &["finish", "3", "--summary", "validated, constant-time"]),
            step("And the review comes next.", &["status"]),
        ],
    },
    DemoScenario {
        dialect: DialectId::Ccw,
        folder: "ccw",
        worktree: None,
        files: example!("ccw":
            "piton.toml",
            ".workflow/active/WFS-user-auth/workflow-session.json",
            ".workflow/active/WFS-user-auth/TODO_LIST.md",
            ".workflow/active/WFS-user-auth/IMPL_PLAN.md",
            ".workflow/active/WFS-user-auth/.summaries/IMPL-001-summary.md",
            ".workflow/active/WFS-user-auth/.task/IMPL-001.json",
            ".workflow/active/WFS-user-auth/.task/IMPL-002.json",
            ".workflow/active/WFS-user-auth/.task/IMPL-003.json",
        ),
        steps: &[
            step("A usage limit ended the session in the middle of a task.", &["list"]),
            step("Where does it resume, and why?", &["plan"]),
            step("Resume.", &["resume", "--yes"]),
            step("Record that the task starts.", &["begin", "IMPL-002", "--agent", "code-developer"]),
            step("The agent is killed, and the session starts another one.", &["begin", "IMPL-002", "--again"]),
            step("Where the session stands, as its own system lists it:", &["plan", "--format", "markdown"]),
            step("Done: task file, check list and session agree.", &["finish", "IMPL-002", "--summary", "tokens"]),
            step("And the review comes next.", &["status"]),
        ],
    },
    DemoScenario {
        dialect: DialectId::Dotagent,
        folder: "dotagent",
        worktree: None,
        files: example!("dotagent":
            "piton.toml",
            "memory/state/phase.json",
            "memory/state/execution.json",
            "memory/reports/demand.json",
            "memory/reports/final_design.json",
            "memory/reports/designs/tokens.json",
            "memory/tasks/task-001/output.json",
        ),
        steps: &[
            step("Two agents were working when the machine went down.", &["list"]),
            step("One had left its result, the other had not:", &["plan"]),
            step("Resume: the result is recorded, the lost attempt is counted.", &["resume", "--yes"]),
            step("Record that the verifier starts.", &["begin", "task-001:verify", "--agent", "verifier"]),
            step("It is killed as well, and the session starts another one.", &["begin", "task-001:verify", "--again"]),
            step("This time it ends well.", &["finish", "task-001:verify", "--verdict", "APPROVED"]),
            step("And the lost task comes next.", &["status"]),
            step("Done with this one: archive it, to start another.", &["close", "--abort"]),
        ],
    },
    DemoScenario {
        dialect: DialectId::Aios,
        folder: "aios",
        worktree: None,
        files: example!("aios":
            "piton.toml",
            ".aios/epic-7-state.yaml",
            "docs/stories/epics/checkout/EPIC-7-EXECUTION.yaml",
            "docs/stories/epics/checkout/7.1.story.md",
            "docs/stories/epics/checkout/7.2.story.md",
            "docs/stories/epics/checkout/7.10.story.md",
            "docs/qa/gates/7.1-keep-a-cart.yml",
        ),
        steps: &[
            step("An epic of two waves was interrupted.", &["list"]),
            step("Which story is next, in the words of its own system?", &["plan"]),
            step("Resume.", &["resume", "--yes"]),
            step("Record that the developer starts.", &["begin", "7.2", "--agent", "dev"]),
            step("The developer is killed, and the session starts another one.", &["begin", "7.2", "--again"]),
            step("This time it ends well.", &["finish", "7.2", "--summary", "quantities"]),
            step("Two stories lag behind now. Stories are never written, so this is a patch:", &["plan", "--patch"]),
        ],
    },
    DemoScenario {
        dialect: DialectId::Piton,
        folder: "piton",
        worktree: None,
        files: example!("piton": "release.yaml"),
        steps: &[
            step(
                "Not only agents: a workflow file of shell steps runs unattended.",
                &["run", "release.yaml", "--no-worktree"],
            ),
            step("Its third step failed. How far did it get?", &["sessions"]),
            step("Where does it resume, and why?", &["plan"]),
            DemoStep {
                say: "With notes.md written, it resumes at the failed step, with its variables, and repeats nothing.",
                command: &["resume"],
                writes: Some(("notes.md", "Faster, and fewer surprises.\n")),
            },
            step("Done.", &["sessions"]),
        ],
    },
];

/// Asks for every scenario.
const ALL: &str = "all";

/// Returns what `demo` can be asked for; a newcomer sees the first.
pub(crate) fn demos() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|scenario| scenario.folder).chain([ALL])
}

/// Runs a scenario of [`demos`] with this program. The scratch project is removed afterwards unless `keep`.
pub(crate) fn demo(name: &str, keep: bool) -> Result<Report<DemoReport>, OpError> {
    let scratch = Scratch::new()?;
    let wanted = || SCENARIOS.iter().filter(|scenario| name == ALL || scenario.folder == name);
    let mut scenes = Vec::new();
    for scenario in wanted() {
        lay_out(scenario, &scratch)?;
        for step in scenario.steps {
            if let Some((path, text)) = step.writes {
                scratch.write(&format!("{}/{path}", scenario.folder), text)?;
            }
            let outcome = scratch.run_self(scenario.folder, NOW, step.command)?;
            scenes.push(DemoScene {
                dialect: scenario.dialect,
                say: step.say.to_owned(),
                command: Some(Suggested::made(step.command)),
                output: outcome.output,
                exit: outcome.exit,
            });
        }
    }
    let kept = keep.then(|| scratch.keep());
    if let Some(place) = &kept {
        // What was reported there is this user's; without a list of theirs it is asked about.
        let trusted = Trusted::of(&Environment::read());
        for scenario in wanted() {
            let request = Request { project: Some(place.join(scenario.folder).into_string()), ..Request::default() };
            let Ok(ctx) = ProjectContext::open(&request) else { continue };
            for journal in trust::journals(&ctx) {
                let _ = trusted.enter_journal(&journal.home, journal.bytes());
            }
        }
    }
    Ok(Report::ok(DemoReport { scenes, kept: kept.map(camino::Utf8PathBuf::into_string) }))
}

/// Writes and commits the project of a scenario, adds the worktree, and writes the files in it.
fn lay_out(scenario: &DemoScenario, scratch: &Scratch) -> Result<(), OpError> {
    let client = CLIENT_FOLDER;
    for (path, text) in scenario.files.iter().filter(|(path, _)| path.starts_with(client)) {
        scratch.write_for_client(scenario.folder, path, text)?;
    }
    let in_worktree = |path: &str| scenario.worktree.is_some_and(|(worktree, _)| path.starts_with(worktree));
    let write = |is_wanted: &dyn Fn(&str) -> bool| -> Result<(), OpError> {
        let is_of_client = |path: &str| path.starts_with(client);
        for (path, text) in scenario.files.iter().filter(|(path, _)| is_wanted(path) && !is_of_client(path)) {
            scratch.write(&format!("{}/{path}", scenario.folder), text)?;
        }
        Ok(())
    };
    write(&|path| !in_worktree(path))?;
    scratch.make_repository(scenario.folder, COMMITTED, scenario.worktree)?;
    write(&in_worktree)
}
