//! The end of a run, and its stops that are no failure: `finally`, `limits`, `--until`, `on_end`.

use serde_json::json;

use super::support::Stage;

const TIDY: &str = "
steps:
- id: work
  shell: echo work >> LOG
- id: check
  shell: test -f TMP/allowed
finally:
- id: tidy
  shell: echo tidy >> LOG
- shell: echo last >> LOG
";

/// Makes a repository with a workflow, in which `TMP` stands for a folder outside.
fn staged(workflow: &str) -> Stage {
    let stage = Stage::new("");
    rewrite(&stage, workflow);
    stage
}

fn rewrite(stage: &Stage, workflow: &str) {
    stage.workflow(&workflow.replace("TMP", stage.sandbox.top().join("tmp").as_str()));
}

fn tidy() -> Stage {
    staged(TIDY)
}

#[test]
fn steps_of_finally_run_at_the_end_and_not_at_a_stop() {
    let stage = tidy();
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    assert_eq!(stage.executions(), ["work"], "a failure is a stop");
    stage.outside("allowed", "");
    let done = stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["work", "tidy", "last"]);
    assert!(done.stderr.contains("4/4 steps"), "{done}");
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    assert_eq!(shown.at("/data/steps/3/id"), json!("finally.2"));
}

#[test]
fn a_failure_of_finally_is_exit_7_and_a_resume_goes_on_inside() {
    let stage = staged(
        "steps: [{id: a, shell: 'echo a >> LOG'}]\nfinally: [{shell: 'echo 1 >> LOG'}, {id: two, shell: 'echo 2 >> LOG; test -f TMP/allowed'}]",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let step = |at: &str| {
        let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
        shown.at(&format!("/data/steps/{at}/status"))
    };
    assert_eq!((step("0"), step("2")), (json!("completed"), json!("failed")));
    stage.outside("allowed", "");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "1", "2", "2"]);
}

#[test]
fn a_kill_inside_of_finally_resumes_there_and_a_step_that_must_not_run_twice_does_not() {
    let stage = Stage::new(
        "steps: [{id: a, shell: 'echo a >> LOG'}]\nfinally: [{id: once, shell: 'echo once >> LOG; kill -9 $PPID; sleep 30', idempotent: false}, {shell: 'echo last >> LOG'}]",
    );
    let (output, id) = stage.run(&[]);
    assert_ne!(output.code, 0);
    stage.resume(&id).expect_code(9);
    stage.piton(["finish", "once", "--run", &id]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "once", "last"]);
}

#[test]
fn drop_runs_them_after_a_yes_and_keeps_the_worktree_when_one_fails() {
    let stage = tidy();
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let would = stage.piton(["--format", "json", "drop", &id, "--dry-run"]).run().expect_code(0);
    assert_eq!(would.at("/data/finally"), json!(["tidy", "finally.2"]));
    stage.piton(["drop", &id]).run().expect_code(9);
    assert_eq!(stage.executions(), ["work"]);
    stage.piton(["drop", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["work", "tidy", "last"]);
    assert!(!stage.sandbox.git(["branch", "--list", "piton/*"]).contains(&id));

    stage.forget();
    rewrite(
        &stage,
        "steps: [{id: go, gate: true}, {shell: 'echo never >> LOG'}]\nfinally: [{shell: 'echo 1 >> LOG'}, {shell: 'echo 2 >> LOG; test -f TMP/here'}]",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(9);
    let failed = stage.piton(["drop", &id, "--yes"]).run().expect_code(7);
    assert!(failed.stderr.contains(&format!("→ piton drop {id}")), "{failed}");
    assert!(stage.worktree(&id).is_dir());
    let refused = stage.piton(["resume", &id, "--yes"]).run().expect_code(9);
    assert!(refused.stderr.contains("was aborted"), "{refused}");
    stage.outside("here", "");
    stage.piton(["drop", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2"], "the step that was done is not repeated");
}

#[test]
fn an_aborted_run_is_dropped_with_them_too() {
    let stage = tidy();
    let (_, id) = stage.run(&[]);
    stage.piton(["abort", &id]).run().expect_code(0);
    let aborted = stage.piton(["resume", &id]).run();
    assert!(aborted.stderr.contains("was aborted"), "{aborted}");
    assert_eq!(stage.executions(), ["work"]);
    stage.piton(["drop", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["work", "tidy", "last"]);
}

#[test]
fn mistakes_of_finally_are_reported_at_once() {
    let stage = Stage::new(
        "steps: [{id: a, shell: x}]\nfinally: [{gate: true, id: g}, {shell: y, depends_on: a}, {id: a, shell: z}]",
    );
    let found = stage.piton(["--format", "json", "validate", "w.yml"]).run().expect_code(1);
    for part in
        ["is `shell`, `claude` or `write_file`, not `gate`", "`depends_on` is not for a step", "id `a` is already"]
    {
        assert!(found.stdout.contains(part), "{part}\n{found}");
    }
}

#[test]
fn a_run_stops_at_its_limit_of_attempts_and_goes_on_over_it() {
    let stage = staged(
        "limits: {attempts: 2}\nsteps: [{id: a, shell: 'echo a >> LOG'}, {id: b, shell: 'echo b >> LOG'}, {id: c, shell: 'echo c >> LOG'}, {id: d, shell: 'echo d >> LOG'}, {id: e, shell: 'echo e >> LOG'}]",
    );
    let (output, id) = stage.run(&[]);
    let stopped = output.expect_code(9);
    assert!(stopped.stderr.contains("limit `attempts` (2)") && stopped.stderr.contains("in 2 attempts"), "{stopped}");
    assert!(stopped.stderr.contains(&format!("piton resume {id} --over-limits")), "{stopped}");
    stage.piton(["resume", &id, "--yes"]).run().expect_code(9);
    assert_eq!(stage.executions(), ["a", "b"], "consent to other things is none to this");
    let plan = stage.piton(["--format", "json", "plan", &id]).run();
    assert_eq!(
        (plan.at("/data/verdict"), plan.at("/findings/0/code")),
        (json!("confirm"), json!("limit-reached")),
        "{plan}"
    );
    let resume = plan.at("/data/commands/resume");
    assert_eq!(resume, json!(format!("piton resume {id} --over-limits")), "{plan}");
    assert_eq!(plan.at("/data/question/options/0/command"), resume, "{plan}");
    let listed = stage.piton(["--format", "json", "sessions"]).run().expect_code(0);
    assert_eq!(listed.at("/data/sessions/0/resume"), resume, "{listed}");
    stage.piton(["resume", &id, "--over-limits"]).run().expect_code(9);
    assert_eq!(stage.executions(), ["a", "b", "c", "d"]);
    let text = std::fs::read_to_string(stage.sandbox.root().join("w.yml")).expect("the sandbox is ours");
    std::fs::write(stage.sandbox.root().join("w.yml"), text.replace("attempts: 2", "attempts: 9"))
        .expect("the sandbox is ours");
    stage.piton(["resume", &id]).run().expect_code(0);
    assert_eq!(stage.executions(), ["a", "b", "c", "d", "e"]);
}

#[test]
fn time_and_cost_are_limits_and_a_try_counts_as_an_attempt() {
    let time = staged("limits: {time: 1ms}\nsteps: [{shell: 'sleep 0.05'}, {shell: 'echo never >> LOG'}]");
    let stopped = time.run(&[]).0.expect_code(9);
    assert!(stopped.stderr.contains("limit `time` ("), "{stopped}");
    assert!(time.executions().is_empty());

    let cost = staged("limits: {cost_usd: 0.2}\nsteps: [{claude: /go}, {claude: /on}, {claude: /again}]");
    cost.program("claude", "echo call >> LOG\necho '{\"type\":\"result\",\"result\":\"x\",\"total_cost_usd\":0.125}'");
    let stopped = cost.run(&[]).0.expect_code(9);
    assert!(stopped.stderr.contains("limit `cost_usd` ($0.2)") && stopped.stderr.contains("cost $0.25"), "{stopped}");
    assert_eq!(cost.count("call"), 2);

    let tries = staged(
        "limits: {attempts: 2}\nsteps: [{shell: 'echo try >> LOG; false', retry: {attempts: 5, initial_delay: 1ms}}]",
    );
    tries.run(&[]).0.expect_code(9);
    assert_eq!(tries.count("try"), 2);
}

#[test]
fn items_of_a_loop_stop_at_a_limit_and_the_rest_follows() {
    let stage =
        staged("limits: {cost_usd: 0.2, attempts: 1}\nsteps: [{id: each, foreach: [x, y, z], claude: '/go ${item}'}]");
    stage.program("claude", "echo call >> LOG\necho '{\"type\":\"result\",\"result\":\"x\",\"total_cost_usd\":0.125}'");
    let (output, id) = stage.run(&[]);
    output.expect_code(9);
    assert_eq!(stage.count("call"), 2);
    stage.piton(["resume", &id, "--over-limits"]).run().expect_code(0);
    assert_eq!(stage.count("call"), 3);
}

const THREE: &str =
    "steps: [{id: a, shell: 'echo a >> LOG'}, {id: b, shell: 'echo b >> LOG'}, {id: c, shell: 'echo c >> LOG'}]";

#[test]
fn until_stops_after_a_step_and_says_how_to_go_on() {
    let stage = staged(THREE);
    let (output, id) = stage.run(&["--until", "b"]);
    let stopped = output.expect_code(0);
    assert_eq!(stage.executions(), ["a", "b"]);
    assert!(stopped.stderr.contains(&format!("→ piton resume {id}")), "{stopped}");
    let again = stage.piton(["run", &id, "--until", "a"]).run().expect_code(1);
    assert!(again.stderr.contains("step a is done already; nothing was run"), "{again}");
    let would = stage.piton(["run", &id, "--until", "c", "--dry-run", "--format", "json"]).run().expect_code(0);
    let steps = would.at("/data/would_run/steps");
    assert_eq!((&steps[0]["id"], &steps[0]["number"], &steps[1]), (&json!("c"), &json!(3), &json!(null)), "{would}");
    let report = stage.piton(["run", &id, "--until", "c", "--format", "json"]).run().expect_code(0);
    assert_eq!(
        (report.at("/data/status"), report.at("/data/resume")),
        (json!("stepped"), json!(format!("piton resume {id}")))
    );
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "b", "c"]);
    let unknown = stage.piton(["run", "w.yml", "--until", "z"]).run().expect_code(3);
    assert!(unknown.stderr.contains("has no step `z`"), "{unknown}");
}

#[test]
fn only_runs_one_step_whose_dependencies_are_done() {
    let stage = staged(THREE);
    let refused = stage.piton(["run", "w.yml", "--only", "b"]).run().expect_code(1);
    assert!(refused.stderr.contains("step b comes after a, which is not done"), "{refused}");
    assert!(!stage.state().exists(), "no session is made for it");
    let (output, id) = stage.run(&["--only", "a"]);
    output.expect_code(0);
    stage.piton(["run", &id, "--only", "c"]).run().expect_code(1);
    stage.piton(["run", &id, "--only", "b"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["a", "b"]);
}

const TELLS: &str =
    "secrets: {KEY: OUTER}\non_end: 'echo \"$PITON_STATUS:$PITON_STEP:$PITON_RUN\" >> LOG; echo told $KEY'\n";

#[test]
fn on_end_hears_of_every_end_and_stop() {
    let told = |steps: &str, more: &[&str]| {
        let stage = staged(&format!("{TELLS}{steps}"));
        let arguments = ["run", "w.yml"].into_iter().chain(more.iter().copied());
        let output = stage.piton(arguments).env("OUTER", "hush-hush").run();
        let id = super::support::session_of(&output.stderr);
        assert!(output.stderr.contains("told [masked]") && !output.to_string().contains("hush-hush"), "{output}");
        (output.code, stage.executions().join(",").replace(&id, "ID"))
    };
    assert_eq!(told("steps: [{shell: 'true'}]", &[]), (0, "completed::ID".to_owned()));
    assert_eq!(told("steps: [{id: bad, shell: 'false'}]", &[]), (7, "failed:bad:ID".to_owned()));
    assert_eq!(told("steps: [{id: go, gate: true}]", &[]), (9, "waiting:go:ID".to_owned()));
    assert_eq!(
        told("limits: {attempts: 1}\nsteps: [{shell: 'true'}, {shell: 'true'}]", &[]),
        (9, "stopped::ID".to_owned())
    );
    let two = "steps: [{id: a, shell: 'true'}, {shell: 'true'}]";
    assert_eq!(told(two, &["--until", "a"]), (0, "stepped:a:ID".to_owned()));
}

#[test]
fn a_failure_of_on_end_is_a_warning_and_one_step_alone_runs_it_not() {
    let stage = staged("on_end: 'echo end >> LOG; exit 3'\nsteps: [{id: a, shell: 'true'}, {shell: 'true'}]");
    stage.run(&["--only", "a"]).0.expect_code(0);
    assert!(stage.executions().is_empty());
    let output = stage.run(&[]).0.expect_code(0);
    assert!(output.stderr.contains("the `on_end` command failed: exit code 3"), "{output}");
    assert_eq!(stage.executions(), ["end"]);
}
