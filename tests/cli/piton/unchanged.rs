//! `uses`, and steps that are up to date.

use super::support::Stage;

const FLOW: &str = "inputs: {level: {default: one}}
env: {MODE: fast}
steps:
- id: build
  uses: [src, tool.txt]
  outputs: out.txt
  skip_if_unchanged: true
  shell: 'echo build >> LOG; cat src/a.txt > out.txt; echo ${level} >> out.txt'
- {id: last, shell: echo last >> LOG}
";

fn staged() -> Stage {
    let stage = Stage::in_place(FLOW);
    stage.sandbox.file("src/a.txt", "a\n").file("src/deep/b.txt", "b\n").file("tool.txt", "1\n");
    stage
}

fn run(stage: &Stage, more: &[&str]) -> usize {
    let before = stage.count("build");
    stage.run(more).0.expect_code(0);
    stage.count("build") - before
}

#[test]
fn a_step_is_skipped_only_while_all_that_it_is_made_from_is_the_same() {
    let stage = staged();
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 0));
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(0);
    assert!(output.stderr.contains("it is up to date"), "{output}");
    assert!(output.stderr.contains("2/2 steps, 1 up to date"), "{output}");
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run();
    assert_eq!(shown.at("/data/steps/0/status"), "skipped", "{shown}");
    let journal = crate::support::read(&stage.folder(&id).join("journal.jsonl"));
    assert!(journal.contains("what it uses, does and leaves is as in session-"), "{journal}");
    let report = stage.piton(["--format", "json", "run", "w.yml"]).run().expect_code(0);
    assert_eq!(report.at("/data/up_to_date"), 1, "{report}");

    stage.sandbox.file("src/deep/b.txt", "changed\n");
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 0), "a file in a folder that it uses");
    stage.sandbox.file("src/new.txt", "new\n");
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 0), "a new file in it");
    stage.sandbox.file("out.txt", "by hand\n");
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 0), "its output was changed");
    stage.sandbox.remove("out.txt");
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 0), "its output is gone");
    assert_eq!(run(&stage, &["--input", "level=two"]), 1, "the value of a variable");
    assert_eq!(run(&stage, &["--input", "level=two"]), 0);
    assert_eq!(run(&stage, &["--input", "level=two", "--always-run"]), 1, "a person wants it");
    stage.workflow(&FLOW.replace("fast", "slow"));
    assert_eq!(run(&stage, &["--input", "level=two"]), 1, "the environment of the file");
    stage.workflow(&FLOW.replace("echo build", "true; echo build"));
    assert_eq!(run(&stage, &["--input", "level=two"]), 1, "its command");
    let text = crate::support::read(&stage.sandbox.root().join("w.yml"));
    stage.sandbox.file("other.yml", &text);
    let other = stage.piton(["run", "other.yml", "--input", "level=two"]).run().expect_code(0);
    assert!(!other.stderr.contains("up to date"), "another file knows nothing of it: {other}");
}

#[test]
fn a_step_that_failed_or_changed_what_it_uses_is_not_up_to_date() {
    let stage = Stage::in_place(
        "steps: [{id: build, uses: in.txt, outputs: out.txt, skip_if_unchanged: true, shell: 'echo build >> LOG; echo x >> in.txt; echo y > out.txt'}]",
    );
    stage.sandbox.file("in.txt", "a\n");
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 1));
    let stage = Stage::in_place(
        "steps: [{id: build, uses: in.txt, outputs: out.txt, skip_if_unchanged: true, shell: 'echo build >> LOG; echo y > out.txt; test -e LOG.go'}]",
    );
    stage.sandbox.file("in.txt", "a\n");
    stage.run(&[]).0.expect_code(7);
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    assert_eq!((run(&stage, &[]), run(&stage, &[])), (1, 0));
}

#[test]
fn what_a_step_uses_is_there_when_it_begins() {
    let stage = Stage::in_place("steps: [{id: a, uses: none.txt, shell: echo a >> LOG}]");
    let (output, _) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("it uses none.txt, which does not exist"), "{output}");
    assert_eq!(stage.executions(), [""; 0]);

    let stage = Stage::in_place("steps: [{id: a, agent: writer, instructions: x, uses: notes.md}]");
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    let refused = stage.piton(["begin", "a", "--run", "x"]).run().expect_code(1);
    assert!(refused.to_string().contains("step a uses notes.md, which does not exist"), "{refused}");
    stage.sandbox.file("notes.md", "text\n");
    let brief = stage.piton(["begin", "a", "--run", "x"]).run().expect_code(0);
    assert!(brief.to_string().contains("notes.md"), "{brief}");
}

#[test]
fn it_is_for_a_command_with_uses_and_outputs() {
    for step in [
        "{id: a, shell: b, outputs: o, skip_if_unchanged: true}",
        "{id: a, shell: b, uses: u, skip_if_unchanged: true}",
        "{id: a, agent: b, uses: u, outputs: o, skip_if_unchanged: true}",
        "{id: a, shell: b, uses: u, outputs: o, skip_if_unchanged: true, idempotent: false}",
    ] {
        let stage = Stage::in_place(&format!("steps: [{step}]"));
        let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(said.to_string().contains("`skip_if_unchanged` is for a command with"), "{step}: {said}");
    }
    let stage = Stage::in_place("steps: [{id: a, shell: b, uses: ../x}]");
    stage.piton(["validate", "w.yml"]).run().expect_code(1);
}
