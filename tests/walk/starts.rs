//! The projects that walks begin in: every example, and fresh runs of every kind.

use serde_json::json;

use crate::{
    cli::{aios, projects},
    support::{self, Sandbox, Tree},
};

/// A project, and the calls that make a run in it.
pub(super) struct Start {
    pub(super) name: String,
    make: Box<dyn Fn() -> Sandbox + Sync + Send>,
    pub(super) calls: &'static [&'static str],
}

impl Start {
    pub(super) fn make(&self) -> Sandbox {
        (self.make)()
    }
}

fn start(name: &str, calls: &'static [&'static str], make: impl Fn() -> Sandbox + Sync + Send + 'static) -> Start {
    Start { name: name.to_owned(), make: Box::new(make), calls }
}

/// Returns every start, those of the examples first.
pub(super) fn all() -> Vec<Start> {
    let mut all: Vec<Start> = ["nine-step", "ccw", "dotagent", "aios", "own-workflow"]
        .into_iter()
        .map(|name| start(name, &[], move || example(name)))
        .collect();
    all.push(start("piton", &["piton run release.yaml --no-worktree"], || example("piton")));
    all.push(start("nine-step in a worktree", &[], nine_step_with_git));
    all.push(start("ccw in git", &[], || {
        let sandbox = example("ccw");
        sandbox.git_init();
        sandbox
    }));
    all.push(start("two runs", &[], || {
        let sandbox = example("nine-step");
        projects::add_ccw(&sandbox);
        sandbox
    }));
    all.push(start("fresh nine-step", &["piton start nine-step --feature cart --phases 2"], || git_with(&[])));
    all.push(start("fresh dotagent", &["piton start dotagent --feature cart"], || git_with(&[])));
    all.push(start("fresh workflow file", &["piton start walk.yaml --feature cart"], || {
        git_with(&[("walk.yaml", WALK)])
    }));
    all.push(start("ccw with subtasks", &[], ccw_with_subtasks));
    all.extend(aios::states().into_iter().map(|(path, text)| {
        start(&path.clone(), &[], move || {
            let sandbox = Sandbox::in_memory();
            sandbox.file(&path, &text);
            sandbox
        })
    }));
    all.extend([(QA_LOOP_PATH, QA_LOOP), (DEV_CYCLE_PATH, DEV_CYCLE)].map(|(path, text)| {
        start(path, &[], move || {
            let sandbox = Sandbox::in_memory();
            sandbox.file(path, text).file("docs/stories/1.1.story.md", "# Story 1.1: One\n\n**Status:** InProgress\n");
            sandbox
        })
    }));
    all
}

const QA_LOOP_PATH: &str = "qa/2.1/loop-status.json";
const QA_LOOP: &str = r#"{"storyId": "2.1", "currentIteration": 1, "maxIterations": 5, "status": "in_progress",
    "startedAt": "2026-01-31T11:00:00Z", "updatedAt": "2026-01-31T11:30:00Z",
    "history": [{"iteration": 1, "reviewedAt": "2026-01-31T11:10:00Z", "verdict": "REJECT", "fixedAt": null}]}
"#;
const DEV_CYCLE_PATH: &str = ".aiox/workflow-state/1.1-state.yaml";
const DEV_CYCLE: &str = "workflowId: development-cycle
currentPhase: 2_development
currentStory: docs/stories/1.1.story.md
executor: '@dev'
qualityGate: '@architect'
attemptCount: 1
startedAt: 2026-01-31T11:00:00.000Z
lastUpdated: 2026-01-31T11:30:00.000Z
phaseResults:
  1_validation:
    status: completed
";

fn example(name: &str) -> Sandbox {
    let sandbox = Sandbox::in_memory();
    Tree::of(&support::repository().join("examples").join(name)).write_to(&sandbox.root());
    sandbox
}

fn git_with(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::in_memory();
    for (path, text) in files {
        sandbox.file(path, text);
    }
    sandbox.git_init();
    sandbox
}

/// Lays the example out as `piton demo` does: the state is in a linked worktree.
fn nine_step_with_git() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    let files = Tree::of(&support::repository().join("examples/nine-step"));
    files.clone().only(|path| !path.starts_with(".worktree")).write_to(&sandbox.root());
    sandbox.git_init();
    sandbox.worktree(".worktree/user-auth", "feature/user-auth");
    files.only(|path| path.starts_with(".worktree")).write_to(&sandbox.root());
    sandbox
}

const WALK: &str = "name: walk
description: Every kind of step.
steps:
  - id: sketch
    title: Sketch it
    agent: writer
    outputs: out/sketch.md
  - id: build
    title: Build it
    agent: coder
    depends_on: sketch
    parts: [model, view]
  - id: review
    title: Review it
    agent: reviewer
    depends_on: build
    returns_to: build
  - id: test
    title: Test it
    agent: tester
    depends_on: review
    outputs:
      path: out/report.json
      schema: {type: object, required: [passed]}
  - id: approval
    title: Let it go out
    gate: the release manager
    depends_on: test
    returns_to: build
  - id: publish
    title: Publish it
    agent: publisher
    depends_on: approval
    idempotent: false
    probe: git log -1
  - id: announce
    title: Announce it
    depends_on: publish
";

fn ccw_with_subtasks() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    let folder = ".workflow/active/WFS-cart";
    let session = json!({"session_id": "WFS-cart", "project": "A cart", "status": "active", "type": "workflow",
                         "created_at": "2026-01-31T09:00:00Z"});
    sandbox.file(&format!("{folder}/workflow-session.json"), &format!("{session:#}\n"));
    let task = |id: &str, kind: &str, on: &[&str], more: serde_json::Value| {
        let mut task = json!({"id": id, "title": format!("Do {id}"), "status": "pending",
                              "meta": {"type": kind, "agent": "@code-developer"},
                              "context": {"requirements": ["it works"], "focus_paths": ["src/"], "acceptance": ["tests pass"],
                                          "depends_on": on}});
        if let (Some(task), Some(more)) = (task.as_object_mut(), more.as_object()) {
            task.extend(more.clone());
        }
        sandbox.file(&format!("{folder}/.task/{id}.json"), &format!("{task:#}\n"));
    };
    let parts = json!({"flow_control": {
        "pre_analysis": [{"step": "look", "action": "Look", "command": "Read(a)", "output_to": "seen", "on_error": "fail"}],
        "implementation_approach": [{"step": 1, "title": "Write", "description": "write it"}],
        "target_files": ["src/cart.rs"]}});
    task(
        "IMPL-001",
        "feature",
        &[],
        json!({"status": "container", "context": {"subtasks": ["IMPL-001.1", "IMPL-001.2"]}}),
    );
    task("IMPL-001.1", "feature", &[], parts);
    task("IMPL-001.2", "feature", &["IMPL-001.1"], json!({}));
    task("IMPL-002", "review", &["IMPL-001"], json!({}));
    sandbox
}
