//! `--dry-run` of a workflow file: what would be run, with what is known before; nothing is run and nothing is written.

use serde_json::{Value, json};

use super::support::Stage;
use crate::support::Output;

const FILE: &str = "name: release
inputs: {version: {default: 1.2.3}, draft: {type: boolean, default: false}}
env: {OUT: 'out/${version}', WHERE: '${WORKTREE}'}
secrets: {TOKEN: SECRET_OF_TEST}
steps:
  - {id: base, shell: 'echo base >> LOG; printf 7', capture: base}
  - {id: left, depends_on: base, shell: 'echo left ${version} ${base} ${TOKEN} >> ${OUT}/x', timeout: 20m, retry: 3}
  - id: right
    depends_on: base
    title: The right one
    shell: |
      one
      two
    on_failure: {claude: '/fix ${version}', max_attempts: 2}
  - {id: loop, depends_on: [left, right], foreach: {items: ['x', '${version}'], parallel: 2, worktree: each}, shell: 'echo ${item}'}
  - {id: drafted, when: '${draft}', shell: 'echo LOG'}
  - {id: told, when: '${draft} || ${base} > 6', claude: '/tell ${base}', model: haiku, permission_mode: acceptEdits}
  - {id: sent, depends_on: loop, shell: 'send ${version}', idempotent: false, probe: 'sent ${version}'}
";

fn staged(text: &str) -> Stage {
    let stage = Stage::in_place(text);
    stage.program("claude", "exit 1");
    stage
}

fn dry(stage: &Stage, more: &[&str]) -> Output {
    let all = ["run", "w.yml", "--dry-run"].into_iter().chain(more.iter().copied());
    stage.piton(all).env("SECRET_OF_TEST", "hunter2unique").run().expect_code(0)
}

fn step(output: &Output, id: &str) -> Value {
    let steps = output.at("/data/would_run/steps");
    let found = steps.as_array().into_iter().flatten().find(|step| step["id"] == id);
    found.unwrap_or_else(|| panic!("no step {id}: {output}")).clone()
}

#[test]
fn it_shows_texts_conditions_handlers_and_items_with_what_is_known_before() {
    let stage = staged(FILE);
    let shown = dry(&stage, &["--format", "json"]);
    assert!(stage.executions().is_empty(), "{shown}");
    assert!(!stage.state().exists(), "no session is made");
    assert!(!shown.stdout.contains("hunter2unique"), "{shown}");
    let left = step(&shown, "left");
    assert_eq!(left["text"], "echo left 1.2.3 ${base} ${TOKEN} >> out/1.2.3/x");
    assert_eq!((&left["timeout_seconds"], &left["attempts"], &left["number"]), (&json!(1200), &json!(3), &json!(2)));
    let right = step(&shown, "right");
    assert_eq!(right["title"], "The right one");
    let handler = &right["inside"][0];
    assert_eq!((&handler["key"], &handler["repeats"]), (&json!("on_failure"), &json!(2)));
    assert_eq!(handler["steps"][0]["text"], "/fix 1.2.3");
    let items = &step(&shown, "loop")["items"];
    assert_eq!((&items["values"], &items["parallel"]), (&json!(["x", "1.2.3"]), &json!(2)));
    assert_eq!((&items["worktrees"], &step(&shown, "loop")["title"]), (&json!(true), &json!(null)));
    assert_eq!(step(&shown, "drafted")["when"], json!({"condition": "${draft}", "holds": false}));
    assert_eq!(step(&shown, "told")["when"], json!({"condition": "${draft} || ${base} > 6"}));
    assert_eq!(step(&shown, "told")["claude"], json!(["--model haiku", "--permission-mode acceptEdits"]));
    let sent = step(&shown, "sent");
    assert_eq!((&sent["idempotent"], &sent["probe"]), (&json!(false), &json!("sent 1.2.3")));
    assert_eq!(shown.at("/data/would_run/side_by_side"), json!([["left", "right"], ["drafted", "sent"]]));
}

#[test]
fn the_text_for_people_says_all_of_it_in_short() {
    let stage = staged(FILE);
    let shown = dry(&stage, &["--format", "text", "--input", "version=9"]);
    for line in [
        "Would run 7 steps:",
        "  2. left shell · at most 20 min · up to 3 attempts",
        "  3. right shell · after base",
        "     The right one",
        "     on_failure, then again, at most 2 times:",
        "     for each of x, 9, 2 at once, each in its own worktree",
        "     when ${draft} (does not hold: it is skipped)",
        "     claude --model haiku --permission-mode acceptEdits",
        "  7. sent shell · after loop · not repeated after a crash",
        "Side by side: left, right",
        "Cost: no upper bound for right, told",
    ] {
        assert!(shown.stdout.lines().any(|found| found == line), "{line}: {shown}");
    }
}

#[test]
fn it_computes_what_the_calls_of_claude_may_cost_at_most() {
    const BOUNDED: &str = "limits: {cost_usd: 20}
steps:
  - {claude: /one, max_budget_usd: 0.5, retry: 2}
  - {foreach: {items: [a, b, c]}, claude: '/each ${item}', max_budget_usd: 0.25, retry: 1}
  - {shell: 'true', on_failure: {claude: /fix, max_attempts: 3}}
";
    let stage = staged(&BOUNDED.replace("claude: /fix", "shell: 'true'"));
    // 0.5 twice, and 0.25 for each of three.
    let cost = dry(&stage, &["--format", "json"]).at("/data/would_run/cost");
    assert_eq!(cost, json!({"at_most_usd": 1.75, "limit_usd": 20.0}));
    stage.workflow(BOUNDED);
    let cost = dry(&stage, &["--format", "json"]).at("/data/would_run/cost");
    assert_eq!(cost, json!({"limit_usd": 20.0, "unbounded": ["3"]}));
    stage.workflow("steps: [{shell: 'true'}]");
    assert_eq!(dry(&stage, &["--format", "json"]).at("/data/would_run/cost"), Value::Null);
}

#[test]
fn a_resume_shows_the_rest_with_what_the_steps_before_left() {
    let stage = staged(
        "steps:
  - {id: base, shell: 'printf 7', capture: base}
  - {id: stop, shell: 'test -e fixed'}
  - {id: last, shell: 'echo ${base} ${workflow.id}', when: '${base} > 6'}
",
    );
    let (failed, id) = stage.run(&["--no-worktree"]);
    failed.expect_code(7);
    let shown = stage.piton(["--format", "json", "resume", &id, "--dry-run"]).run().expect_code(0);
    let last = step(&shown, "last");
    assert_eq!(last["text"], json!(format!("echo 7 {id}")));
    assert_eq!(last["when"], json!({"condition": "${base} > 6", "holds": true}));
    assert_eq!(shown.at("/data/would_run/steps").as_array().map(Vec::len), Some(2), "{shown}");
}

#[test]
fn until_and_only_show_what_they_leave() {
    let stage =
        staged("steps: [{id: a, shell: 'true'}, {id: b, shell: 'true'}, {id: c, shell: 'true', depends_on: []}]");
    let ids = |more: &[&str]| {
        let steps = dry(&stage, more).at("/data/would_run/steps");
        steps.as_array().into_iter().flatten().map(|step| step["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--format", "json", "--until", "b"]), ["a", "b"]);
    assert_eq!(ids(&["--format", "json", "--only", "c"]), ["c"]);
}

#[test]
fn it_says_what_an_agent_may_do_and_that_its_program_is_missing() {
    let stage = Stage::in_place(
        "steps: [{id: a, shell: 'true'}, {id: b, agent: writer, instructions: Go.}, {id: c, claude: /go, allowed_tools: [Read]}]",
    );
    let shown = dry(&stage, &["--format", "text"]);
    for line in [
        "  2. b agent writer · default permissions · up to 5 attempts",
        "  3. c claude · up to 5 attempts",
        "     claude --allowedTools Read",
    ] {
        assert!(shown.stdout.lines().any(|found| found == line), "{line}: {shown}");
    }
    assert!(shown.stderr.contains("calls `claude`, which is not on the PATH"), "{shown}");
    // Only what is asked for has to be installed.
    let (stopped, id) = stage.run(&["--until", "a"]);
    stopped.expect_code(0);
    let refused = stage.resume(&id).expect_code(1);
    assert!(refused.to_string().contains("which is not on the PATH"), "{refused}");
}

/// Over a damaged journal nothing is asked and nothing changes.
#[test]
fn a_dry_resume_over_a_damaged_journal_says_what_a_resume_would_go_on_from() {
    let stage = staged("steps: [{id: a, shell: 'true'}, {id: b, shell: 'false'}]");
    let (failed, id) = stage.run(&["--no-worktree"]);
    failed.expect_code(7);
    let folder = stage.folder(&id);
    let (journal, checkpoint) = (folder.join("journal.jsonl"), folder.join("checkpoint.json"));
    let whole = crate::support::read(&journal);
    std::fs::remove_file(checkpoint).unwrap();
    let first = |records: usize| whole.split_inclusive('\n').take(records).collect::<String>();
    for (content, said) in [
        (first(3) + "broken\n", "a resume would go on from record 3, done: a"),
        (first(2) + "broken\n", "a resume would go on from record 2, no step"),
        (String::new(), "a resume would begin with the first step"),
    ] {
        std::fs::write(&journal, &content).unwrap();
        let shown = stage.piton(["--format", "text", "resume", &id, "--dry-run"]).run().expect_code(9);
        assert!(shown.stderr.contains(said) && shown.stderr.contains("its journal is"), "{said}: {shown}");
        assert!(shown.stderr.contains(&format!("`piton resume {id} ")) && shown.stderr.contains("--yes`"), "{shown}");
        assert!(!shown.to_string().contains("[y/N]"), "{shown}");
        assert_eq!(crate::support::read(&journal), content);
    }
}
