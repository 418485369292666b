//! `archive --all`: finished runs and leftovers are listed first, and moved, never deleted, after a yes.

use serde_json::json;

use crate::support::{Output, Sandbox, Tree, repository};

const STATE: &str = ".aios/epic-5-state.yaml";

fn epic(status: &str, updated: &str) -> String {
    format!(
        "epic_state:\n  epicId: 5\n  updated_at: \"{updated}\"\n  status: {status}\n  waves:\n    1:\n      name: A\n      \
         status: completed\n      stories:\n        5.1: {{ status: completed }}\n"
    )
}

fn paths(output: &Output) -> Vec<String> {
    let items = output.at("/data/items");
    items.as_array().into_iter().flatten().map(|item| item["path"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_finished_epic_is_archived_after_a_while_with_every_byte() {
    for (status, updated, is_put_away) in [
        ("completed", "2025-12-01T00:00:00Z", true),
        ("aborted", "2026-01-01T12:00:00Z", true),
        ("completed", "2026-01-01T12:00:01Z", false),
        ("active", "2025-12-01T00:00:00Z", false),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(STATE, &epic(status, updated)).file(&format!("{STATE}.bak"), "epic_state:\n  epicId: 5\n");
        sandbox.file("docs/stories/5.1.story.md", "# Story 5.1: A\n\n**Status:** Done\n");
        let text = sandbox.read(STATE);
        let before = sandbox.tree();
        let listed = sandbox.piton(["archive", "--all"]).run();
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{status} {updated}");
        if !is_put_away {
            assert_eq!(listed.code, 1, "{status} {updated}: {listed}");
            assert_eq!(listed.at("/data/items"), json!([]));
            continue;
        }
        assert_eq!(listed.code, 9, "{listed}");
        assert_eq!(paths(&listed), [STATE]);
        assert_eq!(listed.at("/data/next"), "piton archive --all --after 30 --yes");
        let done = sandbox.piton(["archive", "--all", "--yes"]).run().expect_code(0);
        let to = done.at("/data/items/0/to").as_str().unwrap().to_owned();
        assert!(!sandbox.exists(STATE) && !sandbox.exists(&format!("{STATE}.bak")));
        assert_eq!(sandbox.read(&format!("{to}/epic-5-state.yaml")), text);
        assert_eq!(sandbox.read(&format!("{to}/epic-5-state.yaml.bak")), "epic_state:\n  epicId: 5\n");
        sandbox.piton(["archive", "--all", "--yes"]).run().expect_code(1);
    }
}

#[test]
fn leftovers_are_moved_once_they_are_not_needed() {
    let old = 1_760_000_000;
    let mine = std::process::id();
    for (path, text, modified, is_moved) in [
        (".aiox/epic-5-state.yaml.tmp.123", "x", old, true),
        (".aiox/locks/dead.lock", "pid: 999999999\nowner: bob\n", old, true),
        (".aiox/locks/live.lock", &format!("pid: {mine}\nowner: bob\n"), old, false),
        (".aiox/locks/empty.lock", "", old, true),
        (".aiox/epic-5-state.yaml.bak", "epic_state:\n  epicId: 5\n", old, true),
        ("docs/stories/.session-state.yaml.discarded.1750000000000", "session_state:\n", old, true),
        ("docs/stories/.session-state.yaml.migrated", "session_state:\n", old, false),
        // A quarter of an hour ago.
        (".aiox/epic-5-state.yaml.tmp.123", "x", 1_769_860_000, false),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(path, text).modified(path, modified);
        let before = sandbox.tree();
        let listed = sandbox.piton(["archive", "--all", "--after", "0"]).run();
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{path}");
        assert_eq!(paths(&listed), if is_moved { vec![path] } else { Vec::new() }, "{path}: {listed}");
        if is_moved {
            let done = sandbox.piton(["archive", "--all", "--after", "0", "--yes"]).run().expect_code(0);
            let to = done.at("/data/items/0/to").as_str().unwrap().to_owned();
            assert!(!sandbox.exists(path), "{path}");
            assert_eq!(sandbox.read(&to), text, "{path}");
            // One folder at the top of the project, not one beside each file.
            assert!(to.starts_with(".piton/leftovers/archive/") && to.ends_with(&format!("/{path}")), "{to}");
        }
    }
}

#[test]
fn finished_runs_of_every_system_are_archived_and_open_ones_stay() {
    let sandbox = Sandbox::new();
    for name in ["nine-step", "ccw", "dotagent", "aios"] {
        Tree::of(&repository().join("examples").join(name)).write_to(&sandbox.root());
    }
    let all = ["archive", "--all", "--after", "0", "--yes"];
    sandbox.piton(all).run().expect_code(1);
    for task in ["IMPL-002", "IMPL-003"] {
        sandbox.piton(["begin", task, "--run", "WFS-user-auth"]).run().expect_code(0);
        sandbox.piton(["finish", task, "--run", "WFS-user-auth"]).run().expect_code(0);
    }
    sandbox.piton(["complete", "WFS-user-auth"]).run().expect_code(0);
    let done = sandbox.piton(all).run().expect_code(0);
    assert_eq!(paths(&done), [".workflow/active/WFS-user-auth"]);
    assert!(sandbox.exists(".workflow/archives/WFS-user-auth/workflow-session.json"));
    assert!(sandbox.exists(".worktree/user-auth/.workflow-state.json") && sandbox.exists("memory/state/phase.json"));
    // Files in the archive are not archived again.
    sandbox.piton(all).run().expect_code(1);
}

#[test]
fn the_text_shows_what_would_be_done() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &epic("completed", "2025-12-01T00:00:00Z"));
    sandbox.file("docs/stories/5.1.story.md", "# Story 5.1: A\n\n**Status:** Done\n");
    let text = sandbox.piton(["archive", "--all", "--format", "text"]).run().expect_code(9).stdout;
    assert_eq!(
        text,
        "   .aios/epic-5-state.yaml: epic-5 is over, 61 days old\n→ piton archive --all --after 30 --yes\n"
    );
    let text = sandbox.piton(["archive", "--all", "--format", "text", "--yes"]).run().expect_code(0).stdout;
    assert!(text.starts_with("✅ .aios/epic-5-state.yaml is in .aios/.piton/"), "{text}");
    sandbox.piton(["archive", "epic-5", "--all"]).run().expect_code(2);
    sandbox.piton(["archive", "--after", "3"]).run().expect_code(2);
}
