//! What git says about a rollback: reset or revert, the obstacles, and that no command is run.

use super::{FOLDER, STATE, project, rollback, texts, work};

#[test]
fn the_commands_do_what_they_say() {
    for instead in [false, true] {
        let sandbox = project();
        let first = sandbox.git_in(FOLDER, ["rev-parse", "HEAD~1^{tree}"]);
        work(&sandbox, "p3.txt", "phase 3");
        let data = rollback(&sandbox, 0, &["--to", "1", "--yes"])["data"].clone();
        for command in texts(&data, if instead { "/git/instead" } else { "/git/commands" }) {
            sandbox.tool("/bin/sh", ["-c", &command]).run().expect_code(0);
        }
        assert_eq!(sandbox.git_in(FOLDER, ["rev-parse", "HEAD^{tree}"]), first, "{instead}");
    }
}

#[test]
fn commits_that_were_merged_or_pushed_are_reverted() {
    let sandbox = project();
    sandbox.git(["update-ref", "refs/remotes/origin/feature/auth", "feature/auth"]);
    let data = rollback(&sandbox, 9, &["--to", "1"])["data"].clone();
    assert_eq!(data["git"]["method"], "revert");
    assert!(data["git"]["because"].as_str().unwrap().starts_with("origin/feature/auth has the 1 commit"), "{data}");
    assert_eq!(texts(&data, "/git/commands").last().unwrap(), "git -C .worktree/auth push");
    assert_eq!(texts(&data, "/git/instead"), [] as [&str; 0]);

    sandbox.git(["merge", "--quiet", "--no-ff", "--no-edit", "feature/auth"]);
    let data = rollback(&sandbox, 9, &["--to", "1"])["data"].clone();
    assert_eq!(data["git"]["method"], "revert");
    let name = sandbox.git(["rev-parse", "feature/auth"]);
    assert_eq!(
        texts(&data, "/git/commands"),
        [
            "git -C . switch --create rollback/auth-20260131T120000Z main".to_owned(),
            format!("git -C . revert --no-edit {}", &name[..12]),
        ]
    );
    for command in texts(&data, "/git/commands") {
        sandbox.tool("/bin/sh", ["-c", &command]).run().expect_code(0);
    }
    assert!(sandbox.exists("p1.txt") && !sandbox.exists("p2.txt"));
    let data = rollback(&sandbox, 9, &["--to", "0"])["data"].clone();
    assert_eq!(data["git"]["method"], "revert", "where no commit is recorded to go back to, those since count");
}

#[test]
fn names_from_the_state_and_from_git_are_one_word_of_a_shell() {
    let sandbox = project();
    let evil = "a;b$(touch hit)'`c`";
    sandbox
        .file(STATE, &sandbox.read(STATE).replace("\"auth\"", &format!("{evil:?}")).replace("feature/auth", "b$(hit)"));
    sandbox.git_in(FOLDER, ["switch", "--quiet", "--create", "b$(hit)"]);
    sandbox.git(["update-ref", "refs/remotes/o/b$(hit)", "b$(hit)"]);
    let arguments = ["--to", "1", "--note", "it's $(touch hit) & `touch hit`"];
    let data = rollback(&sandbox, 9, &arguments)["data"].clone();
    let mut commands = [texts(&data, "/git/commands"), texts(&data, "/tracker")].concat();
    commands.push(data["next"].as_str().unwrap().to_owned());
    for command in commands {
        let script =
            format!("git() {{ echo \"$#\"; }}; gh() {{ echo \"$#\"; }}; piton() {{ echo \"$2\"; }}\n{command}");
        let ran = sandbox.tool("/bin/sh", ["-c", &script]).run().expect_code(0);
        assert_eq!(ran.stdout.lines().count(), 1, "{command}: {ran}");
        assert!(!command.starts_with("piton") || ran.stdout.trim_end() == evil, "{command}: {ran}");
    }
    assert!(!sandbox.exists("hit"));
    let because = data["git"]["because"].as_str().unwrap();
    assert!(because.starts_with("'o/b$(hit)' has the 1 commit"), "{because}");
}
