//! What Piton makes in a project stays out of `git status`.

use crate::support::Sandbox;

use super::projects;

/// Returns the names of files that git shows as new, but for the summary of a task, which is a document of CCW.
fn new_files(sandbox: &Sandbox) -> Vec<String> {
    let status = sandbox.git(["status", "--porcelain", "--untracked-files=all"]);
    let new = status.lines().filter_map(|line| line.strip_prefix("?? "));
    new.filter(|path| !path.ends_with("/.summaries/IMPL-002-summary.md")).map(str::to_owned).collect()
}

/// The state of each example is in git, as a project may have it: then its changes are seen, and nothing else.
#[test]
fn begin_finish_and_pause_leave_no_new_file() {
    for (example, step, state) in [
        ("nine-step", "2:3", ".worktree/"),
        ("ccw", "IMPL-002", ".workflow/"),
        ("dotagent", "task-001:verify", "memory/state/"),
        ("aios", "7.2", ".aios/epic-7-state.yaml"),
    ] {
        let sandbox = projects::example(example);
        sandbox.git_init();
        sandbox.piton(["plan"]).run().expect_code(0);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{example}: a plan only reads");
        sandbox.piton(["begin", step]).run().expect_code(0);
        assert_eq!(new_files(&sandbox), [""; 0], "{example}: begin");
        let verdict: &[&str] = if step.ends_with(":verify") { &["--verdict", "APPROVED"] } else { &[] };
        sandbox.piton([&["finish", step, "--summary", "written"], verdict].concat()).run().expect_code(0);
        assert_eq!(new_files(&sandbox), [""; 0], "{example}: finish");
        // An epic cannot rest.
        sandbox.piton(["pause", "--reason", "lunch"]).run().expect_code(if example == "aios" { 1 } else { 0 });
        assert_eq!(new_files(&sandbox), [""; 0], "{example}: pause");
        for line in sandbox.git(["status", "--porcelain"]).lines() {
            assert!(line.trim_start_matches(['M', '?', ' ']).starts_with(state), "{example}: {line}");
        }
    }
}

#[test]
fn a_run_that_piton_began_is_not_seen_at_all() {
    for (workflow, folder) in [("nine-step", ""), ("dotagent", ""), ("release", ""), ("release", "packages/[a] b")] {
        let sandbox = Sandbox::new();
        sandbox.file(format!("{folder}/piton.toml").trim_start_matches('/'), "");
        sandbox.file(
            format!("{folder}/.claude/piton/release.yaml").trim_start_matches('/'),
            "name: release\nsteps:\n- id: notes\n- id: publish\n  depends_on: notes\n",
        );
        sandbox.git_init();
        let piton = |words: &[&str]| {
            sandbox.piton(words.iter().copied()).folder(folder.into()).run().expect_code(0);
            assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{workflow} in `{folder}`: {words:?}");
        };
        piton(&["start", workflow, "--feature", "auth"]);
        piton(&["begin"]);
        piton(&["pause"]);
        piton(&["resume", "--yes"]);
        piton(&["archive", "--yes"]);
        let exclude = sandbox.read(".git/info/exclude");
        piton(&["start", workflow, "--feature", "auth"]);
        assert_eq!(sandbox.read(".git/info/exclude"), exclude, "no line twice");
    }
}

/// A run is where it was begun, also after its folder became a repository.
#[test]
fn a_folder_that_becomes_a_repository_keeps_its_runs() {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", "name: flow\nsteps:\n- id: notes\n- id: publish\n");
    sandbox.piton(["start", "flow.yaml", "--feature", "auth"]).run().expect_code(0);
    sandbox.git_init();
    for words in [["begin", "notes"], ["finish", "notes"]] {
        sandbox.piton(words).run().expect_code(0);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{words:?}");
    }
    assert_eq!(sandbox.piton(["plan", "auth"]).run().expect_code(0).at("/data/next/0/step"), "publish");
    assert!(!sandbox.exists(".git/piton"), "it is continued where it is");
    // A new one is kept where git does not look.
    sandbox.piton(["start", "flow.yaml", "--feature", "billing"]).run().expect_code(0);
    assert!(sandbox.exists(".git/piton/runs/billing/run.json"));
    let listed = sandbox.piton(["list"]).run().expect_code(0).at("/data/runs");
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
}

/// A client's sandbox may forbid writes below `.git`: that makes git show the state, and stops nothing.
#[test]
fn a_run_is_recorded_where_git_cannot_be_told() {
    let sandbox = Sandbox::with_git();
    sandbox.file(".git/info/exclude", "").mode(".git/info/exclude", 0o444).mode(".git/info", 0o555);
    sandbox.piton(["start", "nine-step", "--feature", "auth"]).unprivileged().run().expect_code(0);
    sandbox.piton(["begin"]).unprivileged().run().expect_code(0);
    assert_eq!(sandbox.read(".git/info/exclude"), "");
}
