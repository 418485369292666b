//! Steps of a group for items that must not run twice: what a resume asks about the one that was cut off.

use super::support::{Stage, kill, until};

const FLOW: &str = "
name: f
steps:
- id: build
  foreach: {items: [linux, macos]MORE}
  steps:
  - {id: make, shell: 'echo make ${item} >> LOG; echo ${item}-1'}
  - id: publish
    shell: 'echo publish ${item} >> LOG; work ${item}'
    idempotent: false
    probe: 'echo probe ${item} ${index} ${make.output} ${step.make.status} >> LOG; PROBE'
  - {id: tell, shell: 'echo tell ${make.output} >> LOG'}
- {id: after, shell: echo after >> LOG}
";

/// Cuts the runner off while `publish` runs for the first item.
fn cut_off(text: &str, probe: &str) -> (Stage, String) {
    cut_off_after(text, probe, &["publish linux"])
}

fn cut_off_after(text: &str, probe: &str, begun: &[&str]) -> (Stage, String) {
    let stage = Stage::new(&text.replace("PROBE", probe));
    stage.program("work", "[ $1 != linux ] || sleep 9").sandbox.commit("the workflow");
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("they are published", || begun.iter().all(|line| stage.count(line) == 1));
    kill(child.id());
    child.wait().expect("it was killed");
    stage.program("work", ":");
    let id = super::kills::sessions(&stage).remove(0);
    (stage, id)
}

fn rest(first: &[&str]) -> Vec<String> {
    let rest = ["tell linux-1", "make macos", "publish macos", "tell macos-1", "after"];
    ["make linux", "publish linux"].iter().chain(first).chain(&rest).map(|line| (*line).to_owned()).collect()
}

#[test]
fn the_probe_says_whether_the_step_took_effect_for_the_item() {
    for more in ["", ", worktree: each"] {
        let text = FLOW.replace("MORE", more);
        let (stage, id) = cut_off(&text, "true");
        let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
        let said = "The probe of step build[linux].publish found that it took effect; it is not repeated";
        assert!(output.stderr.contains(said), "{output}");
        assert_eq!(stage.executions(), rest(&["probe linux 0 linux-1 succeeded"]), "{more}");

        let (stage, id) = cut_off(&text, "exit 1");
        stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
        assert_eq!(stage.executions(), rest(&["probe linux 0 linux-1 succeeded", "publish linux"]), "{more}");
    }
}

#[test]
fn without_an_answer_a_person_says_it() {
    let with_probe = FLOW
        .replace("MORE", "")
        .replace("echo probe ${item} ${index} ${make.output} ${step.make.status} >> LOG; PROBE", "exit 2");
    let without = with_probe.replace("    probe: 'exit 2'\n", "");
    for text in [with_probe, without] {
        let (stage, id) = cut_off(&text, "");
        let finish = format!("piton decide build happened --run {id} --part linux.publish --by NAME --note WHY");
        let plan = stage.piton(["--format", "json", "plan"]).run();
        assert!(plan.stdout.contains(&finish), "{plan}");
        for more in [&[][..], &["--yes"], &["--dry-run"]] {
            let refused = stage.piton(["resume", &id].into_iter().chain(more.iter().copied())).run().expect_code(9);
            assert!(refused.stderr.contains("build[linux].publish must not run twice"), "{refused}");
            let finish = format!("piton decide build happened --run {id} --part linux.publish --by NAME --note WHY");
            assert!(refused.stderr.contains(&finish), "{refused}");
        }
        stage.piton(["exec", "build", "--run", &id]).run().expect_code(9);
        assert_eq!(stage.executions(), ["make linux", "publish linux"]);
        stage
            .piton(["decide", "build", "accept", "--part", "linux.publish", "--run", &id, "--by", "Ann"])
            .run()
            .expect_code(0);
        stage.resume(&id).expect_code(0);
        assert_eq!(stage.executions(), rest(&[]));
    }
}

#[test]
fn only_the_item_that_a_person_names_is_done_again() {
    let publish = ["publish linux", "publish macos"];
    let text = FLOW.replace("MORE", ", parallel: 2").replace("work ${item}", "work linux");
    let (stage, id) = cut_off_after(&text, "exit 2", &publish);
    let plan = stage.piton(["--format", "json", "plan"]).run();
    let message = "build must not run twice, and its part linux.publish was cut off: its outcome is unknown";
    assert_eq!(plan.at("/findings/0/message"), message, "{plan}");
    let options = plan.at("/data/questions/0/options").to_string();
    assert!(options.contains(&format!("decide build happened --run {id} --part linux.publish --by NAME")), "{plan}");
    let words = ["finish", "build", "--part", "linux.publish", "--status", "failed", "--run", &id];
    stage.piton(words).run().expect_code(0);
    let refused = stage.resume(&id).expect_code(9);
    assert!(refused.stderr.contains("build[macos].publish must not run twice"), "{refused}");
    let words =
        ["--format", "json", "decide", "build", "accept", "--part", "macos.publish", "--run", &id, "--by", "Ann"];
    let next = stage.piton(words).run().expect_code(0);
    assert_eq!(next.at("/data/next"), format!("piton resume {id}"), "{next}");
    stage.resume(&id).expect_code(0);
    assert_eq!(publish.map(|line| stage.count(line)), [2, 1]);
    assert_eq!(stage.executions().last().map(String::as_str), Some("after"));
}

#[test]
fn who_says_so_has_it_done_again() {
    let (stage, id) = cut_off(&FLOW.replace("MORE", ", parallel: 2"), "exit 2");
    stage.piton(["decide", "build", "redo", "--run", &id, "--by", "Ann", "--note", "it did not"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!((stage.count("publish linux"), stage.count("make linux")), (2, 1));

    let (stage, id) = cut_off(&FLOW.replace("MORE", ""), "exit 2");
    let skip =
        ["decide", "build", "skip", "--part", "linux.publish", "--run", &id, "--by", "me", "--note", "it is late"];
    stage.piton(skip).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), rest(&[]));

    let (stage, id) = cut_off(&FLOW.replace("MORE", ""), "exit 2");
    let Some(output) = stage.piton(["resume", &id, "--yes"]).on_terminal("no\n") else { return };
    let asked = "Step build[linux].publish must not run twice. Did it take effect?";
    assert!(output.expect_code(0).stderr.contains(asked));
    assert_eq!(stage.executions(), rest(&["probe linux 0 linux-1 succeeded", "publish linux"]));
}

#[test]
fn an_edit_before_a_step_that_was_cut_off_does_not_repeat_it() {
    let text = FLOW.replace("MORE", "").replace("PROBE", "true");
    let (stage, id) = cut_off(&text, "true");
    stage.workflow(&text.replace("'echo make", "'echo made"));
    stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    let expected =
        rest(&["probe linux 0 linux-1 succeeded"]).into_iter().map(|line| line.replace("make macos", "made macos"));
    assert_eq!(stage.executions(), expected.collect::<Vec<_>>());
}

#[test]
fn a_step_that_took_effect_is_not_repeated_where_the_worktree_is_gone() {
    let text = FLOW.replace("MORE", ", worktree: each").replace("PROBE", "true").replace("; work ${item}", "");
    let stage = Stage::new(&text.replace("'echo tell", "'work && echo tell"));
    stage.program("work", "[ -e LOG.repaired ]").sandbox.commit("the workflow");
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let listed = stage.sandbox.git(["worktree", "list", "--porcelain"]);
    let of_item =
        listed.lines().find_map(|line| line.strip_prefix("worktree ").filter(|path| path.ends_with("/linux")));
    let of_item = of_item.expect("the worktree of linux").replace("$TOP", stage.sandbox.top().as_str());
    stage.sandbox.git(["worktree", "remove", "--force", &of_item]);
    let branches = stage.sandbox.git(["for-each-ref", "--format=%(refname:short)", "refs/heads/piton"]);
    let branch = branches.lines().find(|line| line.ends_with("/linux")).expect("the branch of linux");
    stage.sandbox.git(["branch", "-D", branch]);
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
    stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), rest(&[]));
}
