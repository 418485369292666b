//! Items and steps side by side: whose output is whose, what is recorded of each, and what is done again.

use serde_json::{Value, json};

use super::support::{Stage, kill, until};
use crate::support::Output;

fn repair(stage: &Stage) {
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
}

/// Returns the events of a call with `--events`.
fn events(output: &Output) -> Vec<Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

const BUILD: &str = "
name: release
steps:
- id: build
  foreach: {items: [linux, macos, linux, 'src/a b'], parallel: 4}
  shell: 'echo building ${item}; printf \"%s \" ${index}; sleep 0.05; echo built; printf last'
";

#[test]
fn lines_of_parallel_items_are_labelled_and_logged_by_item() {
    let stage = Stage::new(BUILD);
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(0);
    let mut lines: Vec<&str> = output.stdout.lines().collect();
    lines.sort_unstable();
    let mut expected = Vec::new();
    for (label, item, index) in
        [("linux", "linux", 0), ("macos", "macos", 1), ("linux#2", "linux", 2), ("src/a b", "src/a b", 3)]
    {
        expected.push(format!("[{label}] building {item}"));
        expected.push(format!("[{label}] {index} built"));
        expected.push(format!("[{label}] last"));
    }
    expected.sort();
    assert_eq!(lines, expected, "{output}");
    let all = stage.piton(["--format", "json", "logs", &id]).run().expect_code(0);
    let steps: Vec<Value> = (0..4).map(|at| all.at(&format!("/data/logs/{at}/step"))).collect();
    assert_eq!(steps, ["build[linux]", "build[macos]", "build[linux#2]", "build[src/a b]"], "{all}");
    let one = stage.piton(["--format", "json", "logs", &id, "build[linux#2]"]).run().expect_code(0);
    assert_eq!(one.at("/data/logs/0/lines"), json!(["building linux", "2 built", "last"]), "{one}");
    assert_eq!(one.at("/data/logs/1"), Value::Null, "{one}");
    let shown = stage.piton(["--format", "text", "sessions", "show", &id]).run().expect_code(0);
    assert!(shown.stdout.contains("      ✅ build[linux#2]\n"), "{shown}");
    assert_eq!(stage.piton(["logs", &id, "build[none]"]).run().code, 3);
}

#[test]
fn lines_of_items_in_turn_are_as_they_were_printed() {
    let stage = Stage::new("name: f\nsteps: [{id: each, foreach: [a, b], shell: 'echo ${item}'}]");
    assert_eq!(stage.run(&[]).0.expect_code(0).stdout, "a\nb\n");
}

#[test]
fn events_name_the_item_and_its_place() {
    let stage = Stage::new(
        "
name: f
steps:
- id: each
  foreach: {items: [a, b], parallel: 2, continue_on_error: true}
  shell: 'echo ${item}; [ ${item} = a ]'
- shell: 'true'
",
    );
    let output = stage.piton(["run", "w.yml", "--events"]).run().expect_code(7);
    let mut found: Vec<Value> = events(&output);
    found.retain(|event| event["event"] == "output" || event["event"] == "item_ended");
    found.sort_by_key(|event| (event["item"].to_string(), event["event"].to_string()));
    assert_eq!(
        found,
        [
            json!({"event": "item_ended", "step": "each", "item": "a", "index": 0}),
            json!({"event": "output", "step": "each.1", "item": "a", "index": 0, "stream": "stdout", "text": "a\n"}),
            json!({"event": "item_ended", "step": "each", "item": "b", "index": 1, "error": found[2]["error"]}),
            json!({"event": "output", "step": "each.1", "item": "b", "index": 1, "stream": "stdout", "text": "b\n"}),
        ],
        "{output}"
    );
    assert!(found[2]["error"].as_str().expect("a text").ends_with("exit code 1"), "{output}");
}

#[test]
fn a_failed_item_is_named_with_its_log() {
    let stage = Stage::new(
        "
name: f
steps:
- id: each
  foreach: {items: [a, b, c], parallel: 3, continue_on_error: true}
  shell: 'echo of ${item}; [ ${item} != b ]'
",
    );
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("  Item b failed: ") && output.stderr.contains("   | of b\n"), "{output}");
    assert!(output.stderr.contains("/logs/each[b].1.log\n"), "{output}");
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    let items: Vec<_> = (0..3).map(|at| shown.at(&format!("/data/steps/0/items/{at}"))).collect();
    assert_eq!(items[0], json!({"id": "each[a]", "status": "completed"}));
    assert_eq!((&items[1]["id"], &items[1]["status"]), (&json!("each[b]"), &json!("failed")));
    assert!(items[1]["error"].as_str().expect("a text").ends_with("exit code 1"), "{shown}");
}

#[test]
fn the_recorded_items_count_when_their_source_changes() {
    let stage = Stage::new(
        "
name: f
steps:
- id: each
  foreach: {items: {file: /dev/null, at: '$[*]'}}
  shell: 'echo ${item} >> LOG; [ ${item} != b ] || [ -e LOG.repaired ]'
",
    );
    let items = stage.outside("items.json", "[\"a\", \"b\", \"c\"]");
    let text = stage.sandbox.read("w.yml").replace("/dev/null", items.as_str());
    stage.sandbox.file("w.yml", &text);
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    repair(&stage);
    stage.outside("items.json", "[\"b\", \"c\", \"d\"]");
    let output = stage.resume(&id).expect_code(0);
    let drift =
        "Step each: the source of its items has changed since it began (new: d; gone: a); the 3 recorded items count";
    assert!(output.stderr.contains(drift), "{output}");
    assert_eq!(stage.executions(), ["a", "b", "b", "c"]);
}

const TOLERANT: &str = "
name: f
steps:
- id: before
  shell: echo before >> LOG
- id: each
  foreach: {items: [a, b, c], max_failures: 2}
  shell: 'echo ${item} >> LOG; [ ${item} = a ] || [ -e LOG.repaired ]'
- id: after
  shell: 'echo after ${each.failed} >> LOG'
- id: apart
  depends_on: before
  shell: echo apart >> LOG
";

#[test]
fn failed_items_of_a_loop_that_passed_are_run_again_alone() {
    let stage = Stage::new(TOLERANT);
    let (output, id) = stage.run(&["--no-worktree"]);
    let output = output.expect_code(0);
    let hint = format!("   2 items failed; to run them again: piton run {id} --failed\n");
    assert!(output.stderr.contains(&hint), "{output}");
    assert_eq!(stage.executions(), ["before", "a", "b", "c", "after 2", "apart"]);
    repair(&stage);
    let again = stage.piton(["run", &id, "--failed"]).run().expect_code(0);
    assert!(!again.stderr.contains("items failed"), "{again}");
    // What builds on the loop follows; the rest stays as it is.
    assert_eq!(stage.executions()[6..], ["b", "c", "after 0"]);
    let none = stage.piton(["run", &id, "--failed"]).run().expect_code(1);
    assert!(none.stderr.contains("no item of a `foreach` has failed"), "{none}");
    let file = stage.piton(["run", "w.yml", "--failed"]).run().expect_code(2);
    assert!(file.stdout.contains("w.yml is no run"), "{file}");
}

#[test]
fn a_retry_of_failed_items_that_was_cut_off_goes_on_with_them() {
    let stage = Stage::new(&TOLERANT.replace("shell: 'echo ${item}", "shell: 'work ${item}; echo ${item}"));
    stage.program("work", ":");
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(0);
    repair(&stage);
    // The retry is killed in its second item.
    stage.program("work", "[ \"$1\" != c ] || { echo waits >> LOG; sleep 9; }");
    let mut child = stage.piton(["run", &id, "--failed"]).spawn();
    until("the second item begins", || stage.count("waits") == 1);
    kill(child.id());
    child.wait().expect("it was killed");
    stage.program("work", ":");
    stage.resume(&id).expect_code(0);
    let log = stage.executions();
    assert_eq!(log[6..], ["b", "waits", "c", "after 0"], "neither `a` nor `b` is done again");
}

#[test]
fn failed_items_of_a_merged_run_get_its_worktree_back() {
    let stage = Stage::new(
        "
name: f
steps:
- id: each
  foreach: {items: [a, b], max_failures: 1}
  shell: 'echo ${item} >> LOG; [ ${item} = a ] || [ -e LOG.repaired ] || exit 1; echo x > ${item}.txt; git add -A; git commit -qm ${item}'
",
    );
    stage.sandbox.commit("the workflow");
    let (output, id) = stage.run(&["--yes"]);
    output.expect_code(0);
    assert!(stage.sandbox.exists("a.txt") && !stage.worktree(&id).exists());
    repair(&stage);
    let again = stage.piton(["run", &id, "--failed", "--yes"]).run().expect_code(0);
    assert!(stage.sandbox.exists("b.txt") && !stage.worktree(&id).exists(), "{again}");
    assert_eq!(stage.executions(), ["a", "b", "b"]);
}

const IN_WORKTREES: &str = "
name: f
steps:
- id: base
  shell: 'echo base > base.txt; git add -A; git commit -qm base'
- id: each
  foreach: {items: [a, b, c], parallel: 3, worktree: each}
  shell: 'work ${item} && echo ${item} >> LOG && cat base.txt > ${item}.txt && git add -A && git commit -qm ${item}'
- id: after
  shell: 'cat a.txt b.txt c.txt > all.txt; git log --format=%s -n 9 | head -n 9 >> LOG'
";

fn in_worktrees(work: &str) -> Stage {
    let stage = Stage::new(IN_WORKTREES);
    stage.program("work", work);
    stage.sandbox.commit("the workflow");
    stage
}

/// Returns the branches of items that a repository has.
fn item_branches(stage: &Stage) -> Vec<String> {
    let listed = stage.sandbox.git(["for-each-ref", "--format=%(refname:short)", "refs/heads/piton"]);
    listed.lines().filter(|branch| branch.contains(".items/")).map(str::to_owned).collect()
}

#[test]
fn items_in_worktrees_are_merged_in_their_order() {
    let stage = in_worktrees("[ $1 != a ] || sleep 0.3");
    let (output, id) = stage.run(&["--yes"]);
    output.expect_code(0);
    for file in ["a.txt", "b.txt", "c.txt"] {
        assert_eq!(stage.sandbox.read(file), "base\n");
    }
    let log = stage.executions();
    let merges: Vec<&str> = log.iter().filter_map(|line| line.split("/each-").nth(1)?.split('/').nth(1)).collect();
    // The first item is a fast-forward; the newest merge comes first.
    assert_eq!(merges.iter().map(|line| &line[..1]).collect::<Vec<_>>(), ["c", "b"], "{log:?}");
    assert_eq!(item_branches(&stage), [] as [String; 0]);
    assert!(!stage.worktree(&id).with_extension("items").exists(), "nothing is left of the worktrees");
    let journal = crate::support::read(&stage.folder(&id).join("journal.jsonl"));
    assert_eq!(journal.matches("merge of b").count(), 2, "a merge is recorded before and after");
}

#[test]
fn a_conflict_names_the_item_the_files_and_what_goes_on() {
    let stage = in_worktrees("echo $1 > same.txt");
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("each[b] cannot be merged: conflicts in same.txt"), "{output}");
    let folder = stage.worktree(&id).with_extension("items");
    let command = output.stderr.lines().find(|line| line.contains("To resolve: ")).expect("a way out").to_owned();
    assert!(
        command.contains(&format!("merge piton/{id}")) && command.contains(&format!("piton resume {id}")),
        "{output}"
    );
    let of_b = folder.read_dir_utf8().unwrap().next().unwrap().unwrap().path().join("b");
    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(0);
    assert_eq!((plan.at("/findings/0/code"), plan.at("/findings/0/step")), (json!("merge-failed"), json!("each")));
    assert_eq!(plan.at("/findings/0/message"), json!("each[b] cannot be merged: conflicts in same.txt"), "{plan}");
    assert!(command.ends_with(plan.at("/findings/0/fix").as_str().expect("a text")), "{plan}");
    let text = stage.piton(["--format", "text", "plan", &id]).run().expect_code(0);
    assert!(text.stdout.contains(&format!("merge piton/{id}`, resolve the conflicts and commit")), "{text}");
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    assert!(shown.at("/data/steps/1/items/1/worktree").as_str().unwrap().ends_with("/b"), "{shown}");
    // Before the conflict is resolved, nothing is repeated but the merge.
    stage.resume(&id).expect_code(7);
    let git = |arguments: &[&str]| {
        let mut all = vec!["-C", of_b.as_str()];
        all.extend(arguments);
        stage.sandbox.tool("git", all).run()
    };
    assert_ne!(git(&["merge", "-q", &format!("piton/{id}")]).code, 0);
    std::fs::write(of_b.join("same.txt"), "a and b\n").unwrap();
    git(&["add", "-A"]).expect_code(0);
    git(&["commit", "-qm", "resolved"]).expect_code(0);
    // The third item is in conflict with both.
    let third = stage.resume(&id).expect_code(7);
    assert!(third.stderr.contains("each[c] cannot be merged: conflicts in same.txt"), "{third}");
    let items: Vec<String> = stage.executions();
    assert_eq!(items.len(), 3, "no item ran twice: {items:?}");
    let dropped = stage.piton(["drop", &id, "--yes"]).run();
    assert_ne!(dropped.code, 0, "work that is nowhere else is not dropped: {dropped}");
    stage.piton(["drop", &id, "--yes", "--discard"]).run().expect_code(0);
    assert_eq!(item_branches(&stage), [] as [String; 0]);
    assert!(!of_b.exists());
}

#[test]
fn what_an_item_did_not_commit_is_kept_and_named() {
    let stage = in_worktrees(":");
    let text = IN_WORKTREES
        .replace("git commit -qm ${item}'", "git commit -qm ${item}; [ ${item} != b ] || echo y > left.txt'");
    stage.workflow(&text);
    stage.sandbox.commit("left");
    let (output, id) = stage.run(&["--yes"]);
    let output = output.expect_code(0);
    assert!(
        output.stderr.contains("1 file of each[b]: not committed, so not merged; the worktree is kept: "),
        "{output}"
    );
    let clean = stage.piton(["--format", "text", "sessions", "clean", "--yes"]).run().expect_code(0);
    assert!(clean.stdout.contains("1 uncommitted file (left.txt) of an item would be lost: "), "{clean}");
    assert_eq!(item_branches(&stage).len(), 1);
    stage.piton(["drop", &id, "--yes", "--discard"]).run().expect_code(0);
    assert_eq!(item_branches(&stage), [] as [String; 0]);
}

#[test]
fn a_worktree_for_each_item_needs_git_and_a_step_of_the_workflow() {
    let stage = Stage::in_place("name: f\nsteps: [{id: e, foreach: {items: [a], worktree: each}, shell: 'true'}]");
    let output = stage.piton(["run", "w.yml", "--no-worktree"]).run().expect_code(7);
    assert!(output.stderr.contains("`worktree: each` needs a git repository with a commit"), "{output}");
    for (text, message) in [
        ("steps: [{id: e, foreach: {items: [a], worktree: own}, shell: x}]", "`worktree` is each, not `own`"),
        (
            "steps: [{id: s, shell: x, on_success: [{foreach: {items: [a], worktree: each}, shell: x}]}]",
            "has `worktree: each`, and it is inside of another one",
        ),
        ("steps: [{id: s, shell: x, pool: gpu}]", "`s` uses the pool `gpu`, which the file does not have"),
        ("pools: {gpu: 0}\nsteps: [{id: s, shell: x}]", "the size of a pool"),
    ] {
        stage.workflow(&format!("name: f\n{text}\n"));
        let output = stage.piton(["--format", "text", "validate", "w.yml"]).run().expect_code(1);
        assert!(format!("{}{}", output.stdout, output.stderr).contains(message), "{text}: {output}");
    }
}

const JOBS: &str = "
name: f
pools: {gpu: 1}
steps:
- id: a
  depends_on: []
  shell: 'meet a b; echo of a'
- id: b
  depends_on: []
  shell: 'meet b a; echo of b'
- id: c
  depends_on: [a, b]
  shell: echo c >> LOG
";

/// A program that waits until both of two steps run.
const MEET: &str = ": > TMP/met.$1; n=0; until [ -e TMP/met.$2 ]; do sleep 0.02; n=$((n+1)); [ $n -lt 500 ] || exit 1; done; echo $1 >> LOG";

#[test]
fn independent_steps_run_side_by_side_with_their_names_before_each_line() {
    let stage = Stage::new(JOBS);
    stage.program("meet", MEET);
    let output = stage.run(&["--jobs", "2"]).0.expect_code(0);
    let mut lines: Vec<&str> = output.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[a] of a", "[b] of b"], "{output}");
    assert_eq!(stage.executions()[2..], ["c"]);
}

#[test]
fn a_failure_lets_running_steps_end_and_begins_no_other() {
    let stage = Stage::new(
        "
name: f
steps:
- {id: a, depends_on: [], shell: 'meet a b; exit 1'}
- {id: b, depends_on: [], shell: 'meet b a; sleep 0.3; echo b ended >> LOG'}
- {id: c, depends_on: [], shell: 'echo c >> LOG'}
- {id: d, depends_on: b, shell: 'echo d >> LOG'}
",
    );
    stage.program("meet", MEET);
    let (output, id) = stage.run(&["--jobs", "2"]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("Step 1 (a) failed"), "{output}");
    assert_eq!(stage.count("b ended"), 1);
    assert_eq!((stage.count("c"), stage.count("d")), (0, 0));
    stage.program("meet", "echo $1 >> LOG");
    let text = stage.sandbox.read("w.yml").replace("; exit 1", "");
    stage.sandbox.file("w.yml", &text);
    stage.piton(["resume", &id, "--jobs", "3"]).run().expect_code(0);
    assert_eq!((stage.count("b ended"), stage.count("c"), stage.count("d")), (1, 1, 1));
}

#[test]
fn a_gate_stops_only_what_depends_on_it() {
    let stage = Stage::new(
        "
name: f
steps:
- {id: ask, depends_on: [], gate: Ann}
- {id: after, shell: 'echo after >> LOG'}
- {id: apart, depends_on: [], shell: 'echo apart >> LOG'}
- {id: more, shell: 'echo more >> LOG'}
",
    );
    let (output, id) = stage.run(&["--jobs", "2"]);
    let output = output.expect_code(9);
    assert!(output.stderr.contains("waits at step ask: Ann"), "{output}");
    assert_eq!(stage.executions(), ["apart", "more"]);
    stage.piton(["approve", "ask", "--run", &id, "--by", "Ann", "--note", "yes"]).run().expect_code(0);
    stage.piton(["run", &id, "--jobs", "2"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["apart", "more", "after"]);
}

#[test]
fn a_pool_limits_steps_and_items() {
    // Each holds a folder while it runs, which only one can make.
    let alone = "mkdir TMP/held || { echo together >> LOG; exit 1; }; sleep 0.05; rmdir TMP/held; echo $1 >> LOG";
    let stage = Stage::new(
        "
name: f
pools: {gpu: 1}
steps:
- {id: a, depends_on: [], pool: gpu, shell: alone a}
- {id: b, depends_on: [], pool: gpu, shell: alone b}
- {id: e, depends_on: [], pool: gpu, foreach: {items: [x, y], parallel: 2}, shell: 'alone ${item}'}
",
    );
    stage.program("alone", &alone.replace("mkdir", "/bin/mkdir").replace("rmdir", "/bin/rmdir"));
    stage.run(&["--jobs", "4"]).0.expect_code(0);
    let mut all = stage.executions();
    all.sort();
    assert_eq!(all, ["a", "b", "x", "y"]);
}

#[test]
fn a_signal_ends_all_steps_that_run() {
    let stage = Stage::new(
        "
name: f
steps:
- {id: a, depends_on: [], shell: 'echo a >> LOG; sleep 30'}
- {id: b, depends_on: [], shell: 'echo b >> LOG; sleep 30'}
",
    );
    let mut child = stage.piton(["run", "w.yml", "--jobs", "2"]).spawn();
    until("both run", || stage.executions().len() == 2);
    crate::support::run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -TERM {}", child.id())], &[]);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    let list = stage.piton(["--format", "json", "sessions"]).run().expect_code(0);
    assert_eq!(list.at("/data/sessions/0/status"), json!("interrupted"), "{list}");
}

#[test]
fn a_number_of_jobs_is_for_runs_of_workflow_files() {
    let stage = Stage::new(JOBS);
    assert_eq!(stage.piton(["run", "w.yml", "--jobs", "0"]).run().code, 2);
    stage.program("meet", "echo $1 >> LOG");
    // The order of the file, one after the other.
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["a", "b", "c"]);
}

#[test]
fn a_mapreduce_file_runs_each_item_in_a_worktree() {
    let stage = Stage::new(
        r#"
name: fix
mode: mapreduce
setup:
  - shell: 'cp "$ITEMS" items.json'
map:
  input: items.json
  json_path: $.items[*]
  filter: item.score >= 5 && kind != 'old'
  sort_by: item.score DESC
  max_parallel: 2
  timeout_per_agent: 1m
  agent_template:
    - shell: 'echo ${item.name} >> LOG; echo x > ${item.name}.txt; git add -A; git commit -qm ${item.name}'
reduce:
  - shell: 'cat a.txt b.txt; echo ${map.successful}/${map.total} >> LOG; git log --format=%s -n 3 >> LOG'
"#,
    );
    let items = r#"{"items": [{"name": "b", "score": 7}, {"name": "a", "score": 9}, {"name": "c", "score": 1},
        {"name": "d", "score": 8, "kind": "old"}]}"#;
    let items = stage.outside("items.json", items);
    std::os::unix::fs::symlink("/bin/cp", stage.sandbox.top().join("bin/cp")).expect("the sandbox is ours");
    let output = stage.piton(["run", "w.yml"]).env("ITEMS", items.as_str()).run().expect_code(0);
    let log = stage.executions();
    let (mut done, rest) = (log[..2].to_vec(), &log[2..]);
    done.sort();
    assert_eq!((done.as_slice(), rest[0].as_str()), (&["a".to_owned(), "b".to_owned()][..], "2/2"), "{output}");
    assert!(rest[1].contains("/map-") && rest[1].contains("name-b"), "the second item is merged: {rest:?}");
}
