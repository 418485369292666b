//! What a run has around its steps: the shell, the files of a new worktree, and the runs that do not run beside it.

use std::time::Duration;

use serde_json::json;

use super::support::{Stage, until};
use crate::support::run_tool;

const SET_UP: &str = "worktree: {copy: [.env, config/own], link: node_modules}
steps:
- shell: 'cat .env >> LOG; cat config/own/a >> LOG; cat node_modules/pkg >> LOG'
- shell: 'git status --porcelain >> LOG'
- {id: g, gate: Ann}
";

fn project() -> Stage {
    let stage = Stage::new(SET_UP);
    stage.sandbox.file(".gitignore", ".env\nnode_modules\nconfig/own\n");
    stage.sandbox.git(["add", "."]);
    stage.sandbox.git(["commit", "-qm", "w"]);
    stage.sandbox.file(".env", "KEY=1\n").file("config/own/a", "own\n").file("node_modules/pkg", "pkg\n");
    stage
}

#[test]
fn files_that_git_ignores_are_in_a_new_worktree_before_the_first_step() {
    let stage = project();
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(9);
    assert_eq!(stage.executions(), ["KEY=1", "own", "pkg"], "they are there, and git shows none of them: {output}");
    assert!(output.stderr.contains("copied from the project: .env, config/own"), "{output}");
    let worktree = stage.worktree(&id);
    assert!(worktree.join("node_modules").symlink_metadata().unwrap().is_symlink());
    std::fs::write(worktree.join(".env"), "KEY=2\n").unwrap();
    let history = stage.piton(["history", &id]).run().expect_code(0);
    assert!(history.to_string().contains("worktree"), "{history}");
    stage.resume(&id).expect_code(9);
    assert_eq!(crate::support::read(&worktree.join(".env")), "KEY=2\n", "it is done once");
    assert_eq!(crate::support::read(&stage.sandbox.root().join(".env")), "KEY=1\n");
}

fn grouped(on_conflict: &str) -> Stage {
    Stage::in_place(&format!(
        "inputs: {{target: {{default: a}}}}\nconcurrency: {{group: 'deploy-${{target}}'{on_conflict}}}\nsteps:\n- {{shell: 'echo begin ${{target}} >> LOG; until [ -e LOG.go ] || [ $((n+=1)) -gt 3000 ]; do sleep 0.02; done; echo end >> LOG'}}\n"
    ))
}

#[test]
fn another_run_of_the_group_is_waited_for() {
    let stage = grouped("");
    let first = stage.piton(["run", "w.yml"]).spawn();
    until("the first runs", || stage.count("begin a") == 1);
    let second = stage.piton(["run", "w.yml"]).spawn();
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    for child in [first, second] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(stage.executions(), ["begin a", "end", "begin a", "end"]);
}

#[test]
fn another_run_of_the_group_is_refused_by_name_and_one_of_another_group_is_not() {
    let stage = grouped(", on_conflict: refuse");
    let mut first = stage.piton(["run", "w.yml"]).spawn();
    until("the first runs", || stage.count("begin a") == 1);
    let refused = stage.piton(["run", "w.yml"]).run().expect_code(6);
    assert!(refused.to_string().contains(" (process "), "{refused}");
    assert!(refused.to_string().contains("runs in the group deploy-a, and one run of it runs at a time"), "{refused}");
    let listed = stage.piton(["--format", "json", "sessions"]).run().expect_code(0);
    assert_eq!(listed.at("/data/runs").as_array().unwrap().len(), 1, "nothing is left of the refused one: {listed}");
    let mut other = stage.piton(["run", "w.yml", "--input", "target=b"]).spawn();
    until("the other runs", || stage.count("begin b") == 1);
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    assert!(first.wait().unwrap().success() && other.wait().unwrap().success());
    stage.piton(["run", "w.yml"]).run().expect_code(0);
}

/// A run of agents has its group from its start until it is over or paused: no process lives that could hold it.
#[test]
fn a_run_of_agents_has_its_group_while_it_is_open() {
    let flow = |on_conflict: &str| {
        format!(
            "inputs: {{target: {{default: a}}}}\nconcurrency: {{group: 'deploy-${{target}}'{on_conflict}}}\nsteps:\n- {{id: work, agent: x}}\n- {{id: ship, shell: echo shipped >> LOG}}\n"
        )
    };
    let stage = Stage::in_place(&flow(", on_conflict: refuse"));
    stage.program(
        "claude",
        "echo called >> LOG; printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"STATUS: DONE\"}\\n'",
    );
    let start = |feature: &str| stage.piton(["start", "w.yml", "--feature", feature]).run();
    start("one").expect_code(0);
    for refused in [start("two").expect_code(6), stage.piton(["run", "w.yml"]).run().expect_code(6)] {
        let said = refused.to_string();
        assert!(said.contains("one (agents drive it) runs in the group deploy-a"), "{said}");
        assert!(said.contains("piton pause one"), "{said}");
    }
    let elsewhere = ["start", "w.yml", "--feature", "three", "--input", "target=b"];
    stage.piton(elsewhere).run().expect_code(0);
    // A pause lets another one go first, and the paused one waits for that.
    stage.piton(["pause", "one"]).run().expect_code(0);
    start("two").expect_code(0);
    let waits = stage.piton(["begin", "work", "--run", "one"]).run().expect_code(6);
    assert!(waits.to_string().contains("two (agents drive it)"), "{waits}");
    assert!(waits.to_string().contains("piton begin work --run one"), "{waits}");
    for run in ["two", "one"] {
        stage.piton(["begin", "work", "--run", run]).run().expect_code(0);
        stage.piton(["finish", "work", "--run", run]).run().expect_code(0);
        stage.piton(["exec", "ship", "--run", run]).run().expect_code(0);
    }
    assert_eq!(stage.executions(), ["shipped", "shipped"]);
    // Where the file says `wait`, a runner waits for agents.
    stage.workflow(&flow(""));
    start("four").expect_code(0);
    std::fs::write(stage.log(), "").unwrap();
    let waited = stage.piton(["run", "w.yml"]).run_within(Duration::from_millis(600));
    assert!(waited.is_none() && stage.executions().is_empty(), "it did not wait");
    stage.piton(["close", "four", "--abort"]).run().expect_code(0);
    stage.piton(["run", "w.yml"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["called", "shipped"]);
}

/// A copied project brings its runs along: one run does not go on in two places before a person said so, and a moved project keeps its runs.
#[test]
fn a_copied_run_waits_for_a_word_and_a_moved_one_does_not() {
    let sandbox = crate::support::Sandbox::with_git();
    sandbox.file("w.yml", "steps:\n- {id: a, agent: x}\n- {id: b, shell: echo > ran}\n- {id: c, agent: x}\n");
    sandbox.piton(["start", "w.yml", "--feature", "v1"]).run().expect_code(0);
    let (original, copy) = (sandbox.root(), sandbox.top().join("copy"));
    run_tool("/bin/cp".as_ref(), &["-r", original.as_str(), copy.as_str()], &[]);
    let in_copy = |words: &[&str]| sandbox.piton(words.iter().copied()).folder(&copy).run();
    let plan = in_copy(&["--format", "json", "plan", "v1", "--exit-code"]).expect_code(9);
    assert_eq!(
        (plan.at("/data/verdict"), plan.findings()),
        (json!("blocked"), vec!["run-untrusted".to_owned()]),
        "{plan}"
    );
    for words in [&["begin", "a"][..], &["exec", "b"], &["resume", "v1", "--unattended"], &["finish", "a"]] {
        let refused = in_copy(words).expect_code(9);
        assert!(refused.to_string().contains("copied with its project"), "{words:?}\n{refused}");
    }
    let fix = plan.at("/findings/0/fix");
    assert_eq!(fix, json!("piton trust v1"));
    in_copy(&["trust", "v1"]).expect_code(0);
    in_copy(&["begin", "a"]).expect_code(0);
    in_copy(&["finish", "a"]).expect_code(0);
    sandbox.piton(["begin", "a"]).run().expect_code(0);

    std::fs::remove_dir_all(&copy).unwrap();
    let moved = sandbox.top().join("moved");
    std::fs::rename(&original, &moved).unwrap();
    std::fs::create_dir(&original).unwrap();
    let plan = sandbox.piton(["--format", "json", "plan", "v1"]).folder(&moved).run().expect_code(0);
    assert!(!plan.findings().contains(&"run-untrusted".to_owned()), "{plan}");
    sandbox.piton(["finish", "a"]).folder(&moved).run().expect_code(0);
}

/// A `.git` file that came with the project leads nowhere: the repository that it names does not know this folder.
#[test]
fn nothing_is_kept_in_a_repository_that_does_not_name_the_folder() {
    let sandbox = crate::support::Sandbox::with_git();
    let other = sandbox.top().join("other.git");
    run_tool("/bin/cp".as_ref(), &["-r", sandbox.root().join(".git").as_str(), other.as_str()], &[]);
    let project = sandbox.top().join("shipped");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join(".git"), format!("gitdir: {other}\n")).unwrap();
    std::fs::write(project.join("w.yml"), "steps: [{id: a, agent: x}]").unwrap();
    sandbox.piton(["start", "w.yml", "--feature", "v"]).folder(&project).run().expect_code(0);
    assert!(!other.join("piton").exists(), "the run is not there");
    assert!(project.join(".piton/runs/v/run.json").is_file(), "it is in the project");
    sandbox.piton(["begin", "a"]).folder(&project).run().expect_code(0);
}

/// R-27.
#[test]
fn a_run_names_the_place_that_its_repository_was_moved_from() {
    for flags in [&["--no-worktree"][..], &[]] {
        let sandbox = crate::support::Sandbox::with_git();
        let call =
            |words: &[&str], folder: &camino::Utf8Path| sandbox.piton(words.iter().copied()).folder(folder).run();
        sandbox.file("w.yml", "steps: [{id: a, shell: git status && exit 1}]\n").commit("one");
        let id = super::support::session_of(&call(&[&["run", "w.yml"], flags].concat(), &sandbox.root()).stderr);
        let (old, new) = (sandbox.root(), sandbox.top().join("moved"));
        std::fs::rename(&old, &new).unwrap();
        for words in [&["resume", &id][..], &["resume", &id, "--unattended"]] {
            let refused = call(words, sandbox.top()).expect_code(3).to_string();
            assert!(refused.contains("$ROOT, which is not there any more"), "{refused}");
            assert!(refused.contains(&format!("piton --project DIR resume {id}")), "{refused}");
        }
        for words in [&["status", &id][..], &["logs", &id], &["show", &id]] {
            let refused = call(words, sandbox.top()).expect_code(3);
            assert!(refused.to_string().contains("call piton in the folder that it was moved to"), "{refused}");
        }
        let plan = call(&["--format", "json", "plan"], &new).expect_code(0);
        assert_eq!(plan.at("/data/run/id"), json!(id), "{plan}");
        let said = format!("Session {id} was made in project, which is now moved");
        let resumed = call(&["--project", new.as_str(), "resume", &id], sandbox.top()).expect_code(7);
        assert!(resumed.stderr.contains(&said), "{resumed}");
        let again = call(&["resume", &id], &new).expect_code(7);
        assert!(!again.stderr.contains("was made in"), "it is said once\n{again}");
        assert!(!again.stderr.contains("not a git repository"), "the worktree is whole\n{again}");
        call(&["logs", &id], sandbox.top()).expect_code(0);
    }
}
