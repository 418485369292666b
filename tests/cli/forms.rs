//! The same plan of another system in other forms: line ends, a byte order mark, without what its system keeps beside it, without git or with
//! a part of the history, and ignored by git. It has the same steps and the same next ones, or the answer says what could not be looked at.

use std::process::Command;

use crate::{
    cli::checklist,
    support::{Output, Sandbox},
};

/// A project of one system: its state, and what its system keeps beside it.
struct Plans {
    run: &'static str,
    /// The folder that may be ignored.
    folder: &'static str,
    state: Vec<(&'static str, String)>,
    beside: Vec<(&'static str, &'static str)>,
    /// The work, and the subject of its commit.
    work: (&'static str, &'static str),
    /// What is next.
    next: &'static str,
    completed: &'static [&'static str],
}

fn systems() -> Vec<Plans> {
    let gsd_plan = |file: &str| {
        format!(
            "---\nwave: 1\nmust_haves:\n  artifacts:\n    - path: {file}\n---\n\n<objective>\nDo it.\n</objective>\n"
        )
    };
    let story = "# Story 1.2: B\n\nStatus: in-progress\n\n## Tasks / Subtasks\n\n- [x] one\n- [x] two\n";
    let superpowers = "# P\n\n### Task 1: a\n\n**Files:**\n- Create: `src/one.rs`\n\n- [x] **Step 1: x**\n\n### Task 2: b\n\n**Files:**\n- Create: `src/two.rs`\n\n- [ ] **Step 1: x**\n";
    vec![
        Plans {
            run: "gsd",
            folder: ".planning/",
            state: vec![
                (".planning/ROADMAP.md", "# Roadmap: K\n\n### Phase 1: Sail\n\n- [x] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n".to_owned()),
                (".planning/phases/01-sail/01-01-PLAN.md", gsd_plan("src/one.rs")),
                (".planning/phases/01-sail/01-01-SUMMARY.md", "# Summary\n\nIt works.\n".to_owned()),
                (".planning/phases/01-sail/01-02-PLAN.md", gsd_plan("src/two.rs")),
            ],
            beside: vec![(".planning/STATE.md", "# State\n\nPhase: 1 of 1\nPlan: 1 of 2\n"), (".planning/config.json", "{}")],
            work: ("src/two.rs", "feat(01-02): two"),
            next: "verify 01-02",
            completed: &["01-01"],
        },
        Plans {
            run: "speckit-001-a",
            folder: "specs/",
            state: vec![("specs/001-a/tasks.md", "# Tasks\n\n## Phase 1\n\n- [x] T001 Add `src/one.rs`\n- [ ] T002 Add `src/two.rs`\n".to_owned())],
            beside: vec![(".specify/feature.json", "{\"feature_directory\": \"specs/001-a\"}"), ("specs/001-a/spec.md", "# Spec\n")],
            work: ("src/two.rs", "feat: two (T002)"),
            next: "verify T002",
            completed: &["T001"],
        },
        Plans {
            run: "openspec-a",
            folder: "openspec/",
            state: vec![("openspec/changes/a/tasks.md", "## 1. A\n- [x] 1.1 Add `src/one.rs`\n- [ ] 1.2 Add `src/two.rs`\n".to_owned())],
            beside: vec![("openspec/changes/a/proposal.md", "# Why\n")],
            work: ("src/two.rs", "feat: two"),
            next: "verify 1.2",
            completed: &["1.1"],
        },
        Plans {
            run: "superpowers-a",
            folder: "docs/",
            state: vec![("docs/superpowers/plans/a.md", superpowers.to_owned())],
            beside: vec![],
            work: ("src/two.rs", "feat: two"),
            next: "verify task-2",
            completed: &["task-1"],
        },
        Plans {
            run: "taskmaster-master",
            folder: ".taskmaster/",
            state: vec![(
                ".taskmaster/tasks/tasks.json",
                "{\n  \"tasks\": [\n    {\"id\": 1, \"title\": \"a\", \"status\": \"done\"},\n    {\"id\": 2, \"title\": \"b\", \"status\": \"review\"}\n  ]\n}\n".to_owned(),
            )],
            beside: vec![(".taskmaster/state.json", "{\"currentTag\": \"master\"}"), (".taskmaster/config.json", "{}")],
            work: ("src/two.rs", "feat: two (task 2)"),
            next: "verify 2",
            completed: &["1"],
        },
        Plans {
            run: "bmad",
            folder: "_bmad-output/",
            state: vec![
                (
                    "_bmad-output/implementation-artifacts/sprint-status.yaml",
                    "development_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-2-b: in-progress\n".to_owned(),
                ),
                ("_bmad-output/implementation-artifacts/1-2-b.md", story.to_owned()),
            ],
            beside: vec![("_bmad-output/implementation-artifacts/1-1-a.md", "# Story 1.1: A\n\nStatus: done\n")],
            work: ("src/two.rs", "feat: two (story 1.2)"),
            next: "verify 1-2-b",
            completed: &["1-1-a"],
        },
    ]
}

/// Writes a project, with the state in another form.
fn written(plans: &Plans, form: impl Fn(&str) -> String, with_beside: bool) -> Sandbox {
    let sandbox = Sandbox::with_git();
    for (path, text) in &plans.state {
        sandbox.file(path, &form(text));
    }
    for (path, text) in plans.beside.iter().filter(|_| with_beside) {
        sandbox.file(path, &form(text));
    }
    sandbox.file("src/one.rs", "1\n").commit("docs: plans");
    sandbox.file(plans.work.0, "2\n").commit(plans.work.1);
    sandbox
}

fn check(plans: &Plans, sandbox: &Sandbox, form: &str, said: Option<&str>) {
    let output: Output = checklist::plan(sandbox, plans.run);
    let name = format!("{} {form}", plans.run);
    assert_eq!(checklist::next(&output), [plans.next], "{name}: {output}");
    assert_eq!(checklist::steps(sandbox, plans.run, "completed"), plans.completed, "{name}: {output}");
    assert!(said.is_none_or(|said| checklist::findings(&output).contains(said)), "{name}: {output}");
}

#[test]
fn the_form_of_the_files_changes_nothing() {
    for plans in systems() {
        check(&plans, &written(&plans, str::to_owned, true), "as it is", None);
        check(&plans, &written(&plans, |text| text.replace('\n', "\r\n"), true), "line ends", None);
        check(&plans, &written(&plans, |text| format!("\u{feff}{text}"), true), "byte order mark", None);
        check(&plans, &written(&plans, str::to_owned, false), "alone", None);
    }
}

#[test]
fn what_git_does_not_tell_is_said() {
    for plans in systems() {
        let sandbox = written(&plans, str::to_owned, true);
        sandbox.remove(".git");
        check(&plans, &sandbox, "without git", Some("history-unseen"));
        let sandbox = Sandbox::with_git();
        sandbox.file(".gitignore", plans.folder).file("src/one.rs", "1\n").commit("start");
        for (path, text) in &plans.state {
            sandbox.file(path, text);
        }
        sandbox.file(plans.work.0, "2\n").commit(plans.work.1);
        check(&plans, &sandbox, "ignored", None);
    }
}

#[test]
fn a_part_of_the_history_never_makes_less_of_what_is_there() {
    for plans in systems() {
        let whole = written(&plans, str::to_owned, true);
        let clone = Sandbox::new();
        let source = format!("file://{}", whole.root());
        let target = clone.root().join("clone");
        let arguments = ["clone", "--quiet", "--depth=1", &source, target.as_str()];
        assert!(Command::new("git").args(arguments).status().unwrap().success());
        let output = clone.piton(["--project", "clone", "plan", plans.run]).run();
        let next = checklist::next(&output);
        // What ran before is looked at, or the answer says that commits are missing; nothing that was built begins anew.
        assert!(
            next == [plans.next] || checklist::findings(&output).contains("history-unseen"),
            "{}: {output}",
            plans.run
        );
        assert!(!next.iter().any(|step| step.starts_with("run ")), "{}: {output}", plans.run);
        let steps = clone.piton(["--project", "clone", "plan", plans.run, "--steps"]).run();
        let completed: Vec<String> =
            serde_json::from_value(steps.at("/data/steps/completed").clone()).unwrap_or_default();
        assert_eq!(completed, plans.completed, "{}", plans.run);
    }
}
