use super::projects::{self, NINE_STEP, document};
use crate::support::{Output, Sandbox};

fn check(output: &Output, name: &str) -> serde_json::Value {
    let document = document(output);
    let checks = document["data"]["checks"].as_array().expect("a list of checks").clone();
    checks.into_iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check `{name}`\n{output}"))
}

#[test]
fn a_sound_project_is_sound() {
    let sandbox = projects::both();
    sandbox.git_init();
    let output = sandbox.piton(["doctor"]).run().expect_code(0);
    assert_eq!(check(&output, "runs")["detail"], "2 found");
    assert_eq!(check(&output, "run user-auth")["result"], "ok");
    assert_eq!(check(&output, "project")["detail"], "$ROOT (git)");
}

#[test]
fn without_git_it_says_what_is_not_checked() {
    let output = Sandbox::new().piton(["doctor"]).without_git().run().expect_code(0);
    let git = check(&output, "git");
    assert_eq!(
        (git["result"].as_str(), git["fix"].as_str()),
        (Some("warning"), Some("install git, or continue without it"))
    );
}

#[test]
fn a_broken_run_is_a_problem_with_a_way_out() {
    let sandbox = projects::both();
    sandbox.file(NINE_STEP, "{\"feature_name\": ");
    let before = sandbox.tree();
    let output = sandbox.piton(["doctor"]).run().expect_code(1);
    let run = check(&output, "run user-auth");
    assert_eq!(run["result"], "problem");
    assert!(run["fix"].as_str().unwrap().contains("piton archive ./"), "{run}");
    assert_eq!(check(&output, "run WFS-user-auth")["result"], "ok");
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

/// Writes the user's settings of the client.
fn settings(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".claude");
    std::fs::create_dir_all(&folder).expect("a folder of the sandbox");
    std::fs::write(folder.join("settings.json"), text).expect("a file of the sandbox");
}

#[test]
fn the_client_its_rights_its_hooks_and_the_program_come_first() {
    let output = projects::nine_step().piton(["doctor"]).run().expect_code(0);
    let checks = document(&output)["data"]["checks"].as_array().expect("a list of checks").clone();
    let names: Vec<&str> = checks.iter().filter_map(|check| check["name"].as_str()).collect();
    assert_eq!(names[..4], ["client", "rights", "hooks", "program"]);
    assert_eq!(checks[0]["detail"], "not called by Claude Code");
    assert_eq!(checks[1]["fix"], "piton setup --permissions");
    assert_eq!(checks[2]["detail"], "on");
}

#[test]
fn a_client_that_is_too_old_is_a_problem() {
    let sandbox = Sandbox::new();
    for (agent, result, detail, exit) in [
        ("claude-code_2-1-330_agent", "ok", "Claude Code 2.1.330", 0),
        ("claude-code_2-1-197_agent", "ok", "Claude Code 2.1.197", 0),
        ("claude-code_3-0-0_agent", "ok", "Claude Code 3.0.0", 0),
        ("claude-code_2-1-99_agent", "problem", "Claude Code 2.1.99; 2.1.197 is the oldest supported one", 1),
        ("another", "ok", "not called by Claude Code", 0),
    ] {
        let output = sandbox.piton(["doctor"]).env("AI_AGENT", agent).run().expect_code(exit);
        let client = check(&output, "client");
        assert_eq!((client["result"].as_str(), client["detail"].as_str()), (Some(result), Some(detail)));
        assert_eq!(client["fix"].as_str(), (exit == 1).then_some("claude update"));
    }
}

#[test]
fn rights_that_go_too_far_are_named_with_the_way_back() {
    let sandbox = projects::nine_step();
    settings(&sandbox, "{\"permissions\": {\"allow\": [\"Read\", \"Bash(piton:*)\"]}}");
    let wide = check(&sandbox.piton(["doctor"]).run().expect_code(0), "rights");
    assert_eq!(
        (wide["result"].as_str(), wide["fix"].as_str()),
        (Some("warning"), Some("piton setup --permissions --scope user --yes"))
    );
    assert!(wide["detail"].as_str().expect("text").ends_with("allows every verb without a question: Bash(piton:*)"));
    sandbox.piton(["setup", "--permissions", "--scope", "user", "--yes"]).run().expect_code(0);
    let narrow = check(&sandbox.piton(["doctor"]).run().expect_code(0), "rights");
    assert_eq!((narrow["result"].as_str(), narrow["fix"].as_str()), (Some("ok"), None), "the fix is one");

    sandbox.file(".claude/settings.local.json", "{\"permissions\": {\"allow\": [\"Bash(piton *)\"]}}");
    let local = check(&sandbox.piton(["doctor"]).run().expect_code(0), "rights");
    assert!(local["fix"].as_str().expect("a fix").starts_with("remove Bash(piton *) from permissions.allow in "));
}

#[test]
fn hooks_that_are_off_are_named() {
    for (text, fix) in [
        ("{\"disableAllHooks\": true}", "remove disableAllHooks from "),
        ("{\"enabledPlugins\": {\"piton@piton\": false}}", "claude plugin enable piton@piton"),
    ] {
        let sandbox = projects::nine_step();
        settings(&sandbox, text);
        let hooks = check(&sandbox.piton(["doctor"]).run().expect_code(0), "hooks");
        assert_eq!(hooks["result"], "warning");
        assert!(hooks["fix"].as_str().expect("a fix").starts_with(fix), "{hooks}");
    }
    let sandbox = projects::nine_step();
    settings(&sandbox, "{\"disableAllHooks\": false, \"enabledPlugins\": {\"piton@piton\": true}}");
    let hooks = || check(&sandbox.piton(["doctor"]).session("s").env("CLAUDECODE", "1").run().expect_code(0), "hooks");
    assert_eq!(hooks()["detail"], "on; nothing of this session is recorded yet");
    let start = format!("{{\"session_id\":\"s\",\"cwd\":\"{}\",\"source\":\"startup\"}}", sandbox.root());
    sandbox.piton(["hook", "session-start"]).session("s").stdin(start).run().expect_code(0);
    assert_eq!(hooks()["detail"], "on: this session is recorded");
}

#[test]
fn versions_and_counts_of_other_systems_are_shown_here_and_nowhere_else() {
    let sandbox = Sandbox::with_git();
    sandbox.file(".planning/ROADMAP.md", "# Roadmap\n\n### Phase 1: A\n");
    sandbox
        .file(".planning/phases/01-a/01-01-PLAN.md", "x")
        .file(".planning/phases/01-a/01-01-SUMMARY.md", "It flies.");
    sandbox.file(".planning/phases/01-a/01-02-PLAN.md", "x");
    sandbox.file(".planning/STATE.md", "---\ngsd_state_version: 7.5\n---\n");
    let tasks = r#"[{"id":1,"title":"A","status":"done"},{"id":2,"title":"B","status":"pending"}]"#;
    let metadata = r#"{"version":"7.5.1","taskCount":9,"completedCount":1}"#;
    sandbox.file(".taskmaster/tasks/tasks.json", &format!(r#"{{"master":{{"tasks":{tasks},"metadata":{metadata}}}}}"#));
    let sprint =
        "# generated: 2026-01-02\ndevelopment_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-2-b: backlog\n";
    sandbox.file("_bmad-output/implementation-artifacts/sprint-status.yaml", sprint);
    sandbox.commit("docs: plans");
    let output = sandbox.piton(["doctor"]).run().expect_code(0);
    for (run, expected) in [
        ("run gsd", ".planning; gsd_state_version 7.5"),
        (
            "run taskmaster-master",
            ".taskmaster/tasks/tasks.json; version 7.5.1; taskCount 9, and the list has 2; completedCount 1",
        ),
        ("run bmad", "_bmad-output/implementation-artifacts/sprint-status.yaml; generated 2026-01-02"),
    ] {
        assert_eq!(check(&output, run)["detail"], expected);
    }
    for run in ["gsd", "taskmaster-master"] {
        let plan = sandbox.piton(["plan", run, "-v"]).run();
        assert!(!plan.stdout.contains("7.5") && !plan.stdout.contains("taskCount"), "{plan}");
    }
}
