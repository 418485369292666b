//! What a review of the runner found, and holds now.

use super::support::{Stage, session_of};
use crate::support::Output;

/// Three steps, of which the second fails.
const FAILS: &str = "
name: three
steps:
- shell: echo one >> LOG
- shell: test -e LOG.fixed
- shell: echo three >> LOG
";
/// Two steps for an agent, of which the second is a command that fails.
const AGENTS: &str = "
name: agents
steps:
- id: write
  instructions: Write it
- id: check
  shell: test -e LOG.fixed
";

fn json_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

/// R-20, of a run that agents drive.
#[test]
fn a_run_of_agents_that_lost_records_continues_after_a_yes() {
    let stage = Stage::new(AGENTS);
    json_of(&stage, &["start", "w.yml", "--feature", "f"]).expect_code(0);
    json_of(&stage, &["begin", "write"]).expect_code(0);
    json_of(&stage, &["finish", "write"]).expect_code(0);
    stage.piton(["exec", "check"]).run().expect_code(7);
    let journal = stage.folder("f").join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let first: String = text.split_inclusive('\n').take(1).collect();
    std::fs::write(&journal, first).expect("the sandbox is ours");
    let plan = json_of(&stage, &["plan", "--exit-code"]).expect_code(9);
    assert_eq!(plan.at("/data/progress/done"), 1, "the checkpoint counts");
    assert!(plan.findings().contains(&"journal-missing".to_owned()), "{plan}");
    let refused = json_of(&stage, &["decide", "check", "skip", "--note", "x", "--by", "Ann"]).expect_code(4);
    assert!(refused.stdout.contains("piton resume f --yes"), "{refused}");
    json_of(&stage, &["resume", "f", "--yes"]).expect_code(0);
    json_of(&stage, &["decide", "check", "skip", "--note", "x", "--by", "Ann"]).expect_code(0);
    assert_eq!(json_of(&stage, &["plan"]).expect_code(0).at("/data/progress/done"), 2);
}

///
#[test]
fn a_merge_that_was_cut_off_continues_at_the_step_that_did_not_finish() {
    let stage = Stage::new(
        "
name: merges
steps:
- shell: echo a > a.txt; git add -A; git commit -qm a
merge:
  steps:
  - {id: first, shell: echo m1 >> LOG; printf word}
  - shell: \"echo m2 ${first.output} >> LOG; [ -e LOG.fixed ] || kill -KILL $PPID\"
  - shell: echo m3 >> LOG; git -C ${PROJECT_ROOT} merge -q ${merge.source_branch}
",
    );
    let (output, id) = stage.run(&["--yes"]);
    assert_ne!(output.code, 0, "{output}");
    assert_eq!(stage.executions(), ["m1", "m2 word"]);
    let row = json_of(&stage, &["list"]).at("/data/runs/0");
    assert_eq!(row["verdict"], "resume", "{row}");
    std::fs::write(format!("{}.fixed", stage.log()), "").expect("the sandbox is ours");
    let resumed = stage.resume(&id).expect_code(0);
    assert!(resumed.stderr.contains("merged"), "the yes was given before\n{resumed}");
    assert_eq!(stage.executions(), ["m1", "m2 word", "m2 word", "m3"], "no finished step of the merge is repeated");
    assert!(stage.sandbox.root().join("a.txt").exists());
    assert_eq!(
        json_of(&stage, &["list", "--all"]).at("/data/runs/0/lifecycle"),
        serde_json::json!({"stage": "finished"})
    );
}

///
#[test]
fn the_worktree_is_named_once_and_by_a_short_path() {
    let stage = Stage::new(FAILS);
    let home = stage.sandbox.home().join("state");
    let run = |words: &[&str]| {
        let piton = stage.sandbox.piton(words.iter().copied()).real_clock();
        piton.env("PITON_HOME", home.as_str()).run().expect_code(7)
    };
    let output = run(&["run", "w.yml"]);
    let id = session_of(&output.stderr);
    assert!(output.stderr.contains(" in ~/state/"), "{output}");
    assert_eq!(output.stderr.matches("/worktrees/").count(), 1, "{output}");
    assert!(!output.stderr.contains(home.as_str()), "{output}");
    let resumed = run(&["resume", &id]);
    assert_eq!(resumed.stderr.matches("Its work is kept in ~/state/").count(), 1, "{resumed}");
    let piton = |words: &[&str]| {
        let piton = stage.sandbox.piton(words.iter().copied()).real_clock();
        piton.env("PITON_HOME", home.as_str()).run().expect_code(0)
    };
    stage.workflow("steps: [{shell: echo a > a; git add a; git commit -qm a; echo b > b}]\n");
    let kept = piton(&["run", "w.yml"]);
    let merged = piton(&["merge", &session_of(&kept.stderr), "--yes", "--format", "text"]);
    for output in [kept, merged] {
        assert_eq!(output.stderr.matches("/worktrees/").count(), 1, "{output}");
        assert!(output.stderr.contains(" in ~/state/") && !output.stderr.contains(home.as_str()), "{output}");
    }
}
