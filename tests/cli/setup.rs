//! `setup`: its report, and the guard of tasks. The rest is in `tests/cases/setup`.

use serde_json::json;

use super::projects::document;
use crate::support::Sandbox;

const SETTINGS: &str = "home/.claude/settings.json";

fn put(sandbox: &Sandbox, path: &str, text: &str) {
    let path = sandbox.top().join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of the sandbox");
    std::fs::write(path, text).expect("a file of the sandbox");
}

fn read(sandbox: &Sandbox, path: &str) -> Option<String> {
    std::fs::read_to_string(sandbox.top().join(path)).ok()
}

#[test]
fn without_flags_it_only_reports() {
    let sandbox = Sandbox::new();
    let output = sandbox.piton(["setup"]).run().expect_code(0);
    let report = document(&output);
    assert_eq!(report["data"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["data"]["in_cache"], false);
    assert_eq!(report["data"]["settings"], json!(null));
    assert!(!sandbox.home().join(".claude").exists() && !sandbox.home().join(".cache").exists());
}

/// SECURITY: row 16
#[test]
fn the_guard_is_set_and_removed_in_the_users_settings_only() {
    let sandbox = Sandbox::new();
    let before = "{\n  \"model\": \"opus\"\n}\n";
    put(&sandbox, SETTINGS, before);
    let shown = sandbox.piton(["setup", "--guard"]).run().expect_code(0);
    assert_eq!(document(&shown)["data"]["settings"]["needed"], true);
    assert_eq!(read(&sandbox, SETTINGS).as_deref(), Some(before), "nothing is written unasked");
    sandbox.piton(["setup", "--guard", "--yes"]).run().expect_code(0);
    let settings: serde_json::Value = serde_json::from_str(&read(&sandbox, SETTINGS).expect("settings")).expect("JSON");
    let hook = &settings["hooks"]["TaskCompleted"][0]["hooks"][0];
    let program = env!("CARGO_BIN_EXE_piton");
    assert_eq!((&hook["type"], &hook["timeout"]), (&json!("command"), &json!(5)));
    assert_eq!(
        hook["command"].as_str().map(|command| command.replace('\'', "")),
        Some(format!("{program} hook task-completed"))
    );
    let doctor = sandbox.piton(["doctor"]).run().expect_code(0);
    assert!(doctor.stdout.contains("on; the guard of tasks is on"), "{doctor}");
    sandbox.piton(["setup", "--no-guard", "--yes"]).run().expect_code(0);
    assert_eq!(read(&sandbox, SETTINGS).as_deref(), Some(before));
    let again = sandbox.piton(["setup", "--no-guard", "--yes"]).run().expect_code(0);
    assert_eq!(document(&again)["data"]["settings"]["needed"], false);
    for words in [["setup", "--guard", "--scope", "project"], ["setup", "--no-guard", "--scope", "local"]] {
        let refused = sandbox.piton(words).run().expect_code(2);
        assert!(refused.stdout.contains("never in those of a project"), "{refused}");
    }
    sandbox.piton(["setup", "--guard", "--no-guard"]).run().expect_code(2);
    assert!(!sandbox.exists(".claude"));
}

#[test]
fn a_guard_whose_program_is_gone_is_named() {
    let sandbox = Sandbox::new();
    let hook = json!({"type": "command", "command": "'/gone/piton' hook task-completed"});
    put(&sandbox, SETTINGS, &json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}}).to_string());
    let doctor = sandbox.piton(["doctor"]).run().expect_code(0);
    assert!(doctor.stdout.contains("calls a guard that is not there: '/gone/piton'"), "{doctor}");
    sandbox.piton(["setup", "--guard", "--yes"]).run().expect_code(0);
    let doctor = sandbox.piton(["doctor"]).run().expect_code(0);
    assert!(doctor.stdout.contains("on; the guard of tasks is on"), "{doctor}");
}
