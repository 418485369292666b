//! A project with many plans of other systems, a run of Piton's own and a session of the client that was cut off.

use serde_json::{Value, json};

use crate::{
    cli::{
        checklist,
        claude::trace::{self, Trace},
    },
    support::{Sandbox, Tree, repository},
};

/// Writes 60 features, 200 plans of GSD and 20 tags, all half done.
fn crowd(sandbox: &Sandbox) {
    for at in 0..60 {
        let boxes: String =
            (1..=50).map(|task| format!("- [{}] T{task:03} Do {task}\n", if task < 20 { 'x' } else { ' ' })).collect();
        sandbox.file(&format!("specs/{at:03}-feature/tasks.md"), &format!("# Tasks\n\n## Phase 1\n\n{boxes}"));
    }
    let mut roadmap = "# Roadmap: Crowd\n\n".to_owned();
    for phase in 1..=20 {
        roadmap.push_str(&format!("### Phase {phase}: Part\n\n"));
        for plan in 1..=10 {
            let id = format!("{phase:02}-{plan:02}");
            let folder = format!(".planning/phases/{phase:02}-part");
            sandbox.file(&format!("{folder}/{id}-PLAN.md"), "---\nwave: 1\n---\n\n<objective>\nDo it.\n</objective>\n");
            if phase < 10 {
                sandbox.file(&format!("{folder}/{id}-SUMMARY.md"), "# Summary\n\nIt works.\n");
            }
        }
    }
    sandbox.file(".planning/ROADMAP.md", &roadmap);
    let task =
        |id: u32, status: &str| json!({"id": id, "title": "t", "status": status, "dependencies": [], "subtasks": []});
    let tags: serde_json::Map<String, Value> = (0..20)
        .map(|tag| (format!("tag-{tag}"), json!({"tasks": [task(1, "done"), task(2, "pending"), task(3, "pending")]})))
        .collect();
    sandbox.file(".taskmaster/tasks/tasks.json", &Value::from(tags).to_string());
}

fn project() -> Sandbox {
    let sandbox = Sandbox::with_git();
    Tree::of(&repository().join("examples/ccw")).write_to(&sandbox.root());
    crowd(&sandbox);
    sandbox.commit("plans");
    Trace::new(&sandbox)
        .prompt("build it")
        .creates_task("1", "Build")
        .call("run", "Bash", json!({"command": "make"}))
        .write(&sandbox);
    trace::put(&sandbox, "settings.json", "{}");
    sandbox
}

#[test]
fn the_own_run_and_the_session_come_before_all_plans_of_other_systems() {
    let sandbox = project();
    let before = sandbox.everything();
    let list = sandbox.piton(["list"]).run().expect_code(0);
    let dialects: Vec<String> = list
        .at("/data/runs")
        .as_array()
        .into_iter()
        .flatten()
        .map(|run| run["dialect"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(dialects[..2], ["ccw", "claude"], "{dialects:?}");
    assert_eq!(dialects.len(), 2 + 60 + 1 + 20);
    assert!(!dialects[2..].iter().any(|dialect| ["ccw", "claude"].contains(&dialect.as_str())));
    let text = sandbox.piton(["--format", "text", "list"]).run();
    let rows: Vec<&str> =
        text.stdout.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit())).collect();
    assert!(rows[0].contains("ccw") && rows[1].contains("claude"), "{text}");
    assert!(text.stdout.contains("and 76 more plans of other systems"), "{text}");
    // Without a name, a verb is about the run of its own.
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/run/dialect"), "ccw");
    assert_eq!(before.changes(&sandbox.everything()), [""; 0]);
}

#[test]
fn list_and_plan_agree_about_every_plan_of_another_system() {
    let sandbox = project();
    let list = sandbox.piton(["list", "--all"]).run();
    for run in list.at("/data/runs").as_array().into_iter().flatten().filter(|run| run["dialect"] != "claude") {
        let id = run["id"].as_str().unwrap_or_default();
        let plan = checklist::plan(&sandbox, id);
        let (listed, planned) = (&run["verdict"], plan.at("/data/verdict"));
        assert!(*listed == planned || listed == "confirm", "{id}: list {listed}, plan {planned}");
        assert_eq!(run["progress"], plan.at("/data/progress"), "{id}");
    }
}
