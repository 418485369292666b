//! Steps of agents and gates in a run that Piton drives: the agent's report ends the step, a refusal goes back, a gate waits for a person.

use super::support::Stage;
use crate::support::Output;

fn plan_of(stage: &Stage) -> Output {
    stage.piton(["plan", "x", "--format", "json"]).run()
}

const APART: &str = "steps:
- {id: draft, agent: writer, instructions: Write., outputs: draft.md}
- {id: keep, shell: 'git add draft.md; git commit -qm draft'}
";

/// workflow.md 2: the worktree is a property of the run, under both drivers.
#[test]
fn agents_work_in_the_worktree_of_their_run() {
    let stage = Stage::new(APART);
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    call(&["start", "w.yml", "--feature", "x", "--worktree"]).expect_code(0);
    let worktree = stage.worktree("x");
    let begun = call(&["begin", "draft", "--run", "x", "--format", "text"]).expect_code(0);
    assert!(
        begun.stdout.lines().any(|line| line.starts_with("Work in ") && line.contains("/worktrees/x; ")),
        "{begun}"
    );
    call(&["finish", "draft", "--run", "x", "--summary", "done"]).expect_code(1);
    std::fs::write(worktree.join("draft.md"), "text").unwrap();
    call(&["finish", "draft", "--run", "x", "--summary", "done"]).expect_code(0);
    call(&["exec", "keep", "--run", "x"]).expect_code(0);
    let plan = plan_of(&stage);
    assert_eq!(plan.at("/data/commands/begin"), "piton merge x", "{plan}");
    let refused = call(&["close", "x"]).expect_code(9);
    assert!(refused.to_string().contains("the work of x is not merged"), "{refused}");
    assert!(!stage.sandbox.root().join("draft.md").exists());
    call(&["merge", "x", "--yes"]).expect_code(0);
    assert!(stage.sandbox.root().join("draft.md").exists() && !worktree.exists());
    let plan = plan_of(&stage);
    assert_eq!(plan.at("/data/commands/begin"), "piton close x", "{plan}");
    call(&["close", "x"]).expect_code(0);
}

/// A probe of an agent's step is a text for a person.
#[test]
fn the_probe_of_an_agent_is_never_run() {
    let stage = Stage::new(
        "steps:\n- {id: publish, agent: writer, instructions: Go., idempotent: false, probe: echo probed >> LOG}\n",
    );
    stage.program("claude", "echo agent >> LOG; kill -KILL $PPID; sleep 5");
    let (_, id) = stage.run(&[]);
    let refused = stage.piton(["resume", &id, "--yes"]).run().expect_code(9);
    assert!(refused.stderr.contains("to find out: echo probed"), "{refused}");
    assert_eq!(stage.executions(), ["agent"]);
}
