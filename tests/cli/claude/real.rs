//! Traces of the real client with their right answers, where the machine has them: they are not part of the repository.

use std::io::Write as _;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{
    standings,
    trace::{client, slug},
};
use crate::support::{Output, Sandbox, files_below, repository};

/// Copies a trace into a sandbox, with the path of its project; `None` where there are no traces.
fn trace(name: &str, files: &[&str]) -> Option<Sandbox> {
    let from =
        repository().ancestors().map(|above| above.join("shared/real/claude").join(name)).find(|path| path.is_dir());
    let Some(from) = from else {
        let _ = writeln!(std::io::stderr(), "left out: there is no shared/real/claude/{name} beside the repository");
        return None;
    };
    let sandbox = Sandbox::with_git();
    sandbox.git(["branch", "-m", "master"]);
    let root = sandbox.root();
    let place = |path: &Utf8Path| -> Utf8PathBuf {
        let below =
            path.strip_prefix(&from).expect("a file below").as_str().replace("-home-u-proj", &slug(root.as_str()));
        client(&sandbox).join(below)
    };
    for extension in ["jsonl", "json", "md", "js"] {
        for path in files_below(&from, extension) {
            let text = std::fs::read_to_string(&path).expect("a trace").replace("/home/u/proj", root.as_str());
            let to = place(&path);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder in the sandbox");
            std::fs::write(to, text).expect("a file in the sandbox");
        }
    }
    for file in files {
        sandbox.file(file, "x");
    }
    Some(sandbox)
}

fn plan(sandbox: &Sandbox, run: &str, now: &str) -> Output {
    let listed = sandbox.piton(["--format", "json", "list"]).now(now).run().expect_code(0);
    assert_eq!(listed.at("/data/runs/0/id"), run);
    let plan = sandbox.piton(["--format", "json", "plan", run, "--native", "--steps", "--exit-code"]).now(now).run();
    assert_eq!(listed.at("/data/runs/0/verdict"), plan.at("/data/verdict"), "{plan}");
    plan
}

#[test]
fn killed_with_a_task_and_an_agent_in_the_background() {
    let Some(sandbox) = trace("killed-task-and-background-agent", &["parser.txt", "printer.txt", "b.txt"]) else {
        return;
    };
    let found = plan(&sandbox, "claude-4644b01c", "2026-11-22T10:06:00Z").expect_code(9);
    assert_eq!(standings(&found), ["T1 done", "T2 interrupted", "A-a47eb3 outcome_unknown", "turn interrupted"]);
    assert_eq!(found.at("/data/run/title"), "Build the parser and printer");
    assert_eq!(found.at("/data/verdict"), "confirm");
    assert_eq!(found.at("/data/native/ended/cause"), "killed");
    assert_eq!(found.at("/data/native/steps/2/files"), json!(["b.txt"]));
    assert_eq!(found.at("/data/native/steps/1/tokens"), 45);
    assert_eq!(found.at("/data/native/agents_done/0/agent_id"), "a0012625d363a2409");
    assert_eq!(found.at("/data/native/back/0/tokens"), 15);
    sandbox.remove("parser.txt");
    let without = plan(&sandbox, "claude-4644b01c", "2026-11-22T10:06:00Z").expect_code(9);
    assert_eq!(standings(&without)[0], "T1 unproved");
}

#[test]
fn the_same_resumed_later() {
    let Some(sandbox) = trace("the-same-resumed-later", &["parser.txt", "printer.txt", "b.txt"]) else { return };
    let found = plan(&sandbox, "claude-4644b01c", "2026-11-22T10:07:00Z").expect_code(9);
    assert_eq!(standings(&found), ["T1 done", "T2 interrupted", "T4 open", "A-a47eb3 outcome_unknown"]);
    assert_eq!(found.at("/data/native/ended/cause"), "session_ended");
}

#[test]
fn killed_in_a_workflow() {
    let Some(sandbox) = trace("killed-in-a-workflow", &[]) else { return };
    let found = plan(&sandbox, "claude-fa6451b0", "2026-11-22T10:07:00Z").expect_code(0);
    assert_eq!(standings(&found), ["W1/1 done", "W1/2 interrupted", "turn interrupted"]);
    assert_eq!(found.at("/data/native/ended/cause"), "killed");
    assert_eq!(found.at("/data/native/workflows/0/run_again"), json!(["W1/2"]));
}

#[test]
fn planned_compacted_and_stopped_by_hand() {
    let Some(sandbox) = trace("teams-plan-compacted-esc", &["a.txt"]) else { return };
    let found = plan(&sandbox, "claude-41eecf2f", "2026-11-22T10:10:00Z").expect_code(9);
    assert_eq!(standings(&found), ["T1 interrupted", "turn outcome_unknown"]);
    assert_eq!(found.at("/data/native/ended/cause"), "stopped");
    assert_eq!(
        found.at("/data/native/plan"),
        json!({"approved": true, "edited": true, "file": "plans/sharded-watching-orbit.md", "bytes": 29})
    );
    assert_ne!(found.at("/data/native/session/compactions"), Value::Null);
}
