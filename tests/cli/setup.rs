//! `setup` and `statusline`: changes to the client's settings, and the status line.

use serde_json::json;

use super::projects::{self, document};
use crate::support::Sandbox;

const SETTINGS: &str = "home/.claude/settings.json";

/// The rules for the verbs that read or record.
const RULES: &str = "\"Bash(piton plan:*)\", \"Bash(piton list:*)\", \"Bash(piton status:*)\", \"Bash(piton context:*)\", \
    \"Bash(piton begin:*)\", \"Bash(piton finish:*)\", \"Bash(piton validate:*)\", \"Bash(piton history:*)\", \
    \"Bash(piton logs:*)\", \"Bash(piton pause:*)\", \"Bash(piton sessions list:*)\", \"Bash(piton sessions show:*)\"";

/// The rules for the verbs that record the word of a person.
const ASKED: &str = "\"Bash(piton approve:*)\", \"Bash(piton accept:*)\", \"Bash(piton redo:*)\", \"Bash(piton override:*)\", \
    \"Bash(piton skip:*)\", \"Bash(piton abort:*)\", \"Bash(piton complete:*)\", \"Bash(piton setup:*)\"";

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

/// SECURITY: row 14
#[test]
fn a_change_of_settings_is_shown_first_and_made_on_yes() {
    let sandbox = Sandbox::new();
    let before = "{\n    \"model\": \"opus\",\n    \"permissions\": { \"allow\": [\"Read\"] }\n}";
    put(&sandbox, SETTINGS, before);
    let shown = sandbox.piton(["setup", "--permissions"]).run().expect_code(0);
    assert_eq!(
        document(&shown)["data"]["settings"]["diff"],
        json!([
            " {",
            "     \"model\": \"opus\",",
            "-    \"permissions\": { \"allow\": [\"Read\"] }",
            format!("+    \"permissions\": {{ \"allow\": [\"Read\", {RULES}], \"ask\": [{ASKED}] }}"),
            " }"
        ])
    );
    assert_eq!(read(&sandbox, SETTINGS).as_deref(), Some(before), "nothing is written unasked");
    sandbox.piton(["setup", "--permissions", "--yes"]).run().expect_code(0);
    let after = before.replace("[\"Read\"]", &format!("[\"Read\", {RULES}], \"ask\": [{ASKED}]"));
    assert_eq!(read(&sandbox, SETTINGS), Some(after.clone()));
    let again = sandbox.piton(["setup", "--permissions", "--yes"]).run().expect_code(0);
    assert_eq!(document(&again)["data"]["settings"]["needed"], false);
    assert_eq!(read(&sandbox, SETTINGS), Some(after));
    let names: Vec<_> = sandbox.home().join(".claude").read_dir_utf8().expect("it is there").flatten().collect();
    assert_eq!(names.len(), 1, "nothing else is left there");
}

#[test]
fn the_rule_that_allowed_every_verb_is_replaced_and_other_rules_stay() {
    let sandbox = Sandbox::new();
    let own = "\"Bash(piton skip:*)\", \"Bash(git log:*)\"";
    let asked = ASKED.replace("\"Bash(piton skip:*)\", ", "");
    put(&sandbox, SETTINGS, &format!("{{\"permissions\": {{\"allow\": [{own}, \"Bash(piton:*)\"]}}}}"));
    sandbox.piton(["setup", "--permissions", "--yes"]).run().expect_code(0);
    let after = format!("{{\"permissions\": {{\"allow\": [{own}, {RULES}], \"ask\": [{asked}]}}}}");
    assert_eq!(read(&sandbox, SETTINGS), Some(after));
    let again = sandbox.piton(["setup", "--permissions"]).run().expect_code(0);
    assert_eq!(document(&again)["data"]["settings"]["needed"], false);
}

#[test]
fn the_settings_of_the_project_can_be_meant() {
    let sandbox = projects::nine_step();
    for (scope, file) in [("project", "settings.json"), ("local", "settings.local.json")] {
        sandbox.piton(["setup", "--permissions", "--scope", scope, "--yes"]).run().expect_code(0);
        let settings = sandbox.read_json(&format!(".claude/{file}"));
        let list = |rules: &str| -> serde_json::Value { serde_json::from_str(&format!("[{rules}]")).expect("a list") };
        assert_eq!(settings, json!({ "permissions": { "allow": list(RULES), "ask": list(ASKED) } }));
    }
    assert!(!sandbox.home().join(".claude").exists());
}

#[test]
fn settings_that_are_not_understood_are_left_alone() {
    for text in ["{ // mine\n}", "{\"permissions\": []}", "{\"a\": 1} x"] {
        let sandbox = Sandbox::new();
        put(&sandbox, SETTINGS, text);
        let refused = sandbox.piton(["setup", "--permissions", "--yes", "--format", "text"]).run().expect_code(1);
        assert!(refused.stderr.contains("was not changed"), "{refused}");
        assert!(refused.stderr.contains(&format!("add it by hand: {RULES} to permissions.allow")), "{refused}");
        assert_eq!(read(&sandbox, SETTINGS).as_deref(), Some(text));
    }
}

#[test]
fn a_status_line_of_ones_own_stays() {
    let sandbox = Sandbox::new();
    let mine = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine.sh\"}}";
    put(&sandbox, SETTINGS, mine);
    let refused = sandbox.piton(["setup", "--statusline", "--yes"]).run().expect_code(1);
    assert!(refused.stdout.contains("another status line is set: mine.sh"), "{refused}");
    assert_eq!(read(&sandbox, SETTINGS).as_deref(), Some(mine));
}

#[test]
fn settings_behind_a_link_stay_behind_it() {
    let sandbox = Sandbox::new();
    put(&sandbox, "dotfiles/claude.json", "{}\n");
    std::fs::create_dir(sandbox.home().join(".claude")).expect("a fresh folder");
    std::os::unix::fs::symlink("../../dotfiles/claude.json", sandbox.top().join(SETTINGS)).expect("a fresh folder");
    sandbox.piton(["setup", "--statusline", "--yes"]).run().expect_code(0);
    assert!(sandbox.top().join(SETTINGS).is_symlink());
    let text = read(&sandbox, "dotfiles/claude.json").expect("it is there");
    assert!(text.contains(" statusline\""), "{text}");
}

#[test]
fn the_status_line_is_one_line_or_nothing() {
    let line = |sandbox: &Sandbox, session: &str| {
        let input = json!({"session_id": session, "cwd": sandbox.root(), "model": {"id": "x"}}).to_string();
        let output = sandbox.piton(["statusline"]).session(session).stdin(input).run().expect_code(0);
        assert_eq!(output.stderr, "");
        output.stdout
    };
    assert_eq!(line(&Sandbox::new(), "s"), "");
    let sandbox = projects::both();
    assert_eq!(line(&sandbox, "s"), "piton user-auth 13/20 interrupted (+1): /workflow-resume\n");
    sandbox.piton(["begin", "2:3", "--run", "user-auth"]).session("s").run().expect_code(0);
    assert_eq!(line(&sandbox, "s"), "piton user-auth 13/20 at 2:3\n");
    for wrong in ["", "{", "[]", "{\"session_id\": \"s\", \"cwd\": \"/nowhere\"}"] {
        let output = sandbox.piton(["statusline"]).stdin(wrong).run();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""), "{wrong}");
    }
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
