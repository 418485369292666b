//! Groups of steps for each item: what passed of an item is not done again, also not after a kill.

use super::support::{Stage, kill, until};
use crate::support::read;

const GROUPS: &str = "
name: f
steps:
- id: each
  foreach: {items: [a, b], worktree: each}
  steps:
  - id: build
    shell: 'echo build ${item} >> LOG; echo x > ${item}.txt; git add -A; git commit -qm ${item}; echo made of ${item}'
  - id: test
    shell: 'work ${item} && echo test ${build.output} >> LOG'
  - id: end
    shell: 'echo end ${build.output} >> LOG'
- id: after
  shell: 'test -e a.txt && test -e b.txt && echo after >> LOG'
";

const ALL: [&str; 7] =
    ["build a", "test made of a", "end made of a", "build b", "test made of b", "end made of b", "after"];

fn stage(workflow: &str) -> Stage {
    let stage = Stage::new(workflow);
    stage.program("work", ":");
    stage.sandbox.commit("the workflow");
    stage
}

fn item_branches(stage: &Stage) -> usize {
    let listed = stage.sandbox.git(["for-each-ref", "--format=%(refname:short)", "refs/heads/piton"]);
    listed.lines().filter(|branch| branch.contains(".items/")).count()
}

#[test]
fn an_item_that_was_killed_goes_on_at_its_step() {
    let stage = stage(GROUPS);
    stage.program("work", "[ $1 != b ] || { echo waits >> LOG; sleep 9; }");
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the second item is tested", || stage.count("waits") == 1);
    kill(child.id());
    child.wait().expect("it was killed");
    stage.program("work", ":");
    let output = stage.piton(["resume", "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions().into_iter().filter(|line| line != "waits").collect::<Vec<_>>(), ALL, "{output}");
    assert_eq!(item_branches(&stage), 0);
}

#[test]
fn an_item_whose_worktree_is_gone_begins_anew() {
    let stage = stage(GROUPS);
    stage.program("work", "[ $1 != b ] || [ -e LOG.repaired ]");
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let listed = stage.sandbox.git(["worktree", "list", "--porcelain"]);
    let of_b = listed.lines().find_map(|line| line.strip_prefix("worktree ").filter(|path| path.ends_with("/b")));
    let of_b = of_b.expect("the worktree of b").replace("$TOP", stage.sandbox.top().as_str());
    stage.sandbox.git(["worktree", "remove", "--force", &of_b]);
    let branch = stage.sandbox.git(["for-each-ref", "--format=%(refname:short)", "refs/heads/piton"]);
    let branch = branch.lines().find(|line| line.ends_with("/b")).expect("the branch of b").to_owned();
    stage.sandbox.git(["branch", "-D", &branch]);
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
    stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions().iter().filter(|line| *line == "build b").count(), 2, "its first step is done again");
    assert!(stage.sandbox.exists("b.txt"));
}

#[test]
fn a_loop_that_must_not_run_twice_runs_and_asks_only_about_the_item_that_was_cut_off() {
    let stage = Stage::new(
        "
name: f
steps:
- {id: l, foreach: [a, b, c], idempotent: false, shell: 'echo ${item} >> LOG; work ${item}'}
",
    );
    stage.program("work", "[ $1 != b ] || sleep 9");
    let mut child = stage.piton(["run", "w.yml", "--no-worktree"]).spawn();
    until("the second item runs", || stage.count("b") == 1);
    kill(child.id());
    child.wait().expect("it was killed");
    let id = super::kills::sessions(&stage).remove(0);
    let finish = format!("piton decide l happened --run {id} --part b --by NAME --note WHY");
    let plan = stage.piton(["--format", "json", "plan"]).run();
    assert!(plan.stdout.contains(&finish), "{plan}");
    let refused = stage.resume(&id).expect_code(9);
    assert!(refused.stderr.contains("l[b] must not run twice"), "{refused}");
    let again = stage.piton(["--format", "json", "resume", &id, "--yes"]).run().expect_code(9);
    assert!(
        again.to_string().contains(&format!("piton decide l happened --run {id} --part b --by NAME --note WHY")),
        "{again}"
    );
    stage.piton(["decide", "l", "accept", "--run", &id, "--part", "b", "--by", "Ann"]).run().expect_code(0);
    stage.program("work", ":");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "b", "c"]);
}

/// Clients and tools pass over what is in `.git`.
#[test]
fn worktrees_of_items_are_outside_of_git_and_are_found_after_a_move() {
    for more in [&["--yes"][..], &["--no-worktree"]] {
        let sandbox = crate::support::Sandbox::with_git();
        let log = sandbox.top().join("log");
        let text = GROUPS.replace("work ${item}", "{ test ${item} = a || test -e LOG.repaired; }");
        sandbox.file("w.yml", &text.replace("LOG", log.as_str())).commit("the workflow");
        let failed = sandbox.piton([&["run", "w.yml"], more].concat()).real_clock().run().expect_code(7);
        let id = super::support::session_of(&failed.stderr);
        let listed = sandbox.git(["worktree", "list", "--porcelain"]);
        let of_b = listed.lines().find(|line| line.starts_with("worktree ") && line.ends_with("/b"));
        let of_b = of_b.expect("the worktree of b");
        assert!(of_b.contains("$HOME/.local/state/piton/"), "{of_b}");
        assert!(!sandbox.exists(".git/piton/worktrees"));
        let moved = sandbox.top().join("moved");
        std::fs::rename(sandbox.root(), &moved).expect("both are in the sandbox");
        std::fs::create_dir(sandbox.root()).expect("it was moved away");
        std::fs::write(format!("{log}.repaired"), "").expect("the sandbox is ours");
        sandbox.piton(["resume", &id, "--yes"]).real_clock().folder(&moved).run().expect_code(0);
        assert_eq!(read(&log).lines().collect::<Vec<_>>(), ALL);
        assert!(moved.join("b.txt").exists());
        let left = std::path::Path::new(moved.as_str()).join(".git/worktrees").read_dir().map_or(0, Iterator::count);
        assert_eq!(left, 0, "the worktrees are merged and removed");
    }
}
