//! Tests of the sandbox itself.

use super::{Output, Sandbox, changed_lines};

#[test]
fn commits_have_the_same_id_everywhere() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    for sandbox in [&one, &other] {
        sandbox.file("a/b.txt", "text\n").git_init();
    }
    assert_eq!(one.git(["rev-parse", "HEAD"]), other.git(["rev-parse", "HEAD"]));
    assert_eq!(one.git(["log", "--format=%an %at %s"]), "Test 1769860800 start");
}

#[test]
fn a_worktree_is_a_checkout_of_its_own() {
    let sandbox = Sandbox::with_git();
    sandbox.worktree(".worktree/f", "feature/f");
    assert_eq!(sandbox.git_in(".worktree/f", ["branch", "--show-current"]), "feature/f");
    assert_eq!(sandbox.git(["branch", "--show-current"]), "main");
}

#[test]
fn a_project_without_git_is_in_no_repository() {
    let sandbox = Sandbox::new();
    assert!(!sandbox.exists(".git"));
    assert_eq!(sandbox.tree().changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn changes_on_disk_are_listed_by_path() {
    let sandbox = Sandbox::new();
    sandbox.file("same", "x").file("gone", "x").file("edited", "x").file("mode", "x").mode("mode", 0o644);
    sandbox.file(".piton/lock", "");
    let before = sandbox.tree().without(".piton");
    sandbox.remove("gone").file("edited", "y").file("new/one", "").mode("mode", 0o600).file(".piton/other", "");
    let after = sandbox.tree().without(".piton");
    assert_eq!(before.changes(&after), ["~ edited", "- gone", "m mode 644 -> 600", "+ new", "+ new/one"]);
}

#[test]
fn changed_lines_name_only_changes() {
    assert_eq!(changed_lines("a\r\nb\r\nc", "a\r\nB\r\nc"), [r"-2 b\r\n", r"+2 B\r\n"]);
    assert_eq!(changed_lines("a\nc\n", "a\nb\nc\n"), [r"+2 b\n"]);
    assert_eq!(changed_lines("a\n", "a"), [r"-1 a\n", "+1 a"]);
    assert_eq!(changed_lines("a\n", "a\n"), [] as [&str; 0]);
}

#[test]
fn paths_of_the_sandbox_are_not_in_the_output() {
    let sandbox = Sandbox::with_git();
    assert_eq!(sandbox.git(["rev-parse", "--show-toplevel"]), "$ROOT");
    assert_eq!(sandbox.normalise(sandbox.top().join("bin").as_str()), "$TOP/bin");
}

#[test]
fn a_snapshot_shows_code_stdout_and_stderr() {
    let stdout = "{\"schema\":\"plan/3\",\"ok\":true,\"data\":{\"verdict\":\"resume\"},\"findings\":[{\"code\":\"age-stale\"}]}\n";
    let output = Output { code: 9, stdout: stdout.to_owned(), stderr: "hint: look\n".to_owned() };
    assert_eq!(output.at("/data/verdict"), "resume");
    assert_eq!(output.findings(), ["age-stale"]);
    insta::assert_snapshot!(output, @r#"
    code: 9
    ----- stdout -----
    {"schema":"plan/3","ok":true,"data":{"verdict":"resume"},"findings":[{"code":"age-stale"}]}
    ----- stderr -----
    hint: look
    "#);
    let silent = Output { code: 0, stdout: String::new(), stderr: String::new() };
    insta::assert_snapshot!(silent, @"code: 0");
}
