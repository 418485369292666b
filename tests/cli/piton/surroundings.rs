//! What a run has around its steps: the shell and the files of a new worktree.

use serde_json::json;

use super::support::Stage;
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
