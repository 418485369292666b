//! What is refused before a session and a worktree are made, and what a step says that finds it later.

use super::support::Stage;

fn refused_before_anything(stage: &Stage, arguments: &[&str], expected: &str) {
    for more in [&[][..], &["--dry-run"]] {
        let words = ["run", "w.yml"].into_iter().chain(arguments.iter().chain(more).copied());
        let refused = stage.piton(words).run().expect_code(1);
        assert!(refused.stderr.contains(expected), "{refused}");
    }
    stage.piton(["sessions"]).run().expect_code(3);
    assert_eq!(stage.sandbox.git(["branch", "--list", "piton/*"]), "");
}

///
#[test]
fn a_working_dir_outside_of_the_project_is_refused() {
    let plain = "must be a relative path inside the project";
    for outside in ["../..", "/etc", "a/../../b", "../${ARG}", "~/x"] {
        let stage = Stage::new(&format!("steps:\n- shell: echo ran >> LOG\n  working_dir: {outside}\n"));
        let invalid = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(invalid.stdout.contains(plain) && invalid.stdout.contains("\"line\":3"), "{outside}: {invalid}");
        refused_before_anything(&stage, &[], &format!("w.yml:3:16: `working_dir` {plain}"));
    }
    for value in ["/etc", "../.."] {
        let stage = Stage::in_place(&format!(
            "steps:\n- {{shell: echo {value}, capture: d}}\n- {{shell: echo ran >> LOG, working_dir: '${{d}}'}}\n"
        ));
        let output = stage.run(&[]).0.expect_code(7);
        assert!(output.stderr.contains(&format!("working_dir {plain}; it is `{value}`")), "{output}");
    }
    let stage = Stage::in_place("steps: [{shell: echo ran >> LOG, working_dir: w.yml}]\n");
    let output = stage.run(&[]).0.expect_code(7);
    assert!(output.stderr.contains("working_dir w.yml is no folder"), "{output}");
    assert_eq!(stage.executions(), [""; 0]);
    stage.workflow("steps: [{shell: echo ran >> LOG, working_dir: .}]\n");
    stage.run(&[]).0.expect_code(0);
}

///
#[test]
fn files_that_a_run_needs_are_looked_for_before_it_is_made() {
    let stage = Stage::new("env_files: [missing]\nsteps: [{shell: echo ran >> LOG}]\n");
    let start_is_refused = |expected: &str| {
        let refused = stage.piton(["start", "w.yml", "--feature", "f", "--worktree"]).run().expect_code(1);
        assert!(refused.to_string().contains(expected), "{refused}");
        stage.piton(["plan", "f"]).run().expect_code(3);
    };
    refused_before_anything(&stage, &[], "missing is not in the commit that the worktree begins with");
    start_is_refused("missing is not in the commit that the worktree begins with");
    refused_before_anything(&stage, &["--no-worktree"], "an entry of `env_files`: $ROOT/missing: ");
    stage.sandbox.file("missing", "no pair\n");
    refused_before_anything(&stage, &["--no-worktree"], "missing: line 1 is not `NAME=value`");
    stage.workflow("worktree: {copy: [gone]}\nsteps: [{shell: echo ran >> LOG}]\n");
    refused_before_anything(&stage, &[], "gone does not exist in $ROOT");
    start_is_refused("gone does not exist in $ROOT");
    assert_eq!(stage.executions(), [""; 0]);
}

#[test]
fn environment_files_of_the_commit_and_copied_ones_are_found() {
    let stage =
        Stage::new("env_files: [a.env, b.env]\nworktree: {copy: [b.env]}\nsteps: [{shell: 'echo \"$A $B\" >> LOG'}]\n");
    stage.sandbox.file("a.env", "A=1\n").file(".gitignore", "b.env\n").file("b.env", "B=2\n");
    stage.sandbox.commit("environment");
    stage.sandbox.remove("a.env");
    stage.run(&["--yes"]).0.expect_code(0);
    assert_eq!(stage.executions(), ["1 2"]);
}

///
#[test]
fn messages_say_one_thing_and_exactly() {
    let stage = Stage::in_place("mode: mapreduce\n");
    let invalid = stage.piton(["validate", "w.yml"]).run().expect_code(1);
    assert_eq!(invalid.at("/data/files/0/problems"), 1, "{invalid}");
    stage.workflow("steps: [{shell: sleep 9, timeout: 1.5s}]\n");
    let output = stage.run(&[]).0.expect_code(7);
    assert!(output.stderr.contains("timed out after 1.5 s"), "{output}");
    for (more, expected) in [
        ("", "1 of 3 items failed, first a: "),
        (", continue_on_error: true", "2 of 3 items failed, first a: "),
        (", max_failures: 2", "2 of 3 items failed, first a: "),
    ] {
        stage.workflow(&format!("steps: [{{foreach: {{items: [a, b, c]{more}}}, shell: 'test ${{item}} = b'}}]\n"));
        let output = stage.run(&[]).0;
        assert!(output.stderr.contains(expected), "{more}: {output}");
    }
}
