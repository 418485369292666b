//! Items and steps side by side: whose output is whose, what is recorded of each, and what is done again.

use serde_json::json;

use super::support::{Stage, kill, until};

fn repair(stage: &Stage) {
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
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
fn a_retry_of_failed_items_that_was_cut_off_goes_on_with_them() {
    let stage = Stage::new(&TOLERANT.replace("shell: 'echo ${item}", "shell: 'work ${item}; echo ${item}"));
    stage.program("work", ":");
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(0);
    repair(&stage);
    // The retry is killed in its second item.
    stage.program("work", "[ \"$1\" != c ] || { echo waits >> LOG; sleep 9; }");
    let mut child = stage.piton(["resume", &id, "--failed"]).spawn();
    until("the second item begins", || stage.count("waits") == 1);
    kill(child.id());
    child.wait().expect("it was killed");
    stage.program("work", ":");
    stage.resume(&id).expect_code(0);
    let log = stage.executions();
    assert_eq!(log[6..], ["b", "waits", "c", "after 0"], "neither `a` nor `b` is done again");
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
    let dropped = stage.piton(["close", &id, "--discard"]).run();
    assert_ne!(dropped.code, 0, "work that is nowhere else is not dropped: {dropped}");
    stage.piton(["close", &id, "--discard", "--yes"]).run().expect_code(0);
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
    let kept = stage.piton(["close", &id, "--discard"]).run().expect_code(9);
    assert!(kept.to_string().contains("left.txt)"), "{kept}");
    assert_eq!(item_branches(&stage).len(), 1);
    stage.piton(["close", &id, "--discard", "--yes"]).run().expect_code(0);
    assert_eq!(item_branches(&stage), [] as [String; 0]);
}

const JOBS: &str = "
name: f
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
    let list = stage.piton(["--format", "json", "list"]).run().expect_code(0);
    assert_eq!(list.at("/data/runs/0/lifecycle/stage"), json!("paused"), "{list}");
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
