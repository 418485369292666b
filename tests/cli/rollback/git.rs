//! What git says about a rollback: reset or revert, the obstacles, and that no command is run.

use super::{FOLDER, STATE, project, rollback, texts, work};

#[test]
fn unpublished_commits_are_removed_with_a_reset() {
    let sandbox = project();
    let (head, first) =
        (sandbox.git_in(FOLDER, ["rev-parse", "HEAD"]), sandbox.git_in(FOLDER, ["rev-parse", "HEAD~1"]));
    let data = rollback(&sandbox, 0, &["--to", "1", "--yes"])["data"].clone();
    assert_eq!(data["git"]["method"], "reset");
    let (base, head_short) = (&first[..12], &head[..12]);
    assert_eq!(
        texts(&data, "/git/checks"),
        [
            "git -C .worktree/auth status --short    # prints nothing".to_owned(),
            format!("git -C .worktree/auth log --first-parent --oneline {base}..HEAD    # prints 1 commit"),
        ]
    );
    assert_eq!(
        texts(&data, "/git/commands"),
        [
            "git -C .worktree/auth branch rollback/auth-20260131T120000Z HEAD".to_owned(),
            format!("git -C .worktree/auth reset --hard {base}"),
        ]
    );
    assert_eq!(texts(&data, "/git/instead"), [format!("git -C .worktree/auth revert --no-edit {head_short}")]);
    assert_eq!(sandbox.git_in(FOLDER, ["rev-parse", "HEAD"]), head, "commands are printed, never run");
    assert_eq!(sandbox.git(["branch", "--list", "rollback/*"]), "");
}

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
fn a_merge_of_the_main_branch_is_undone_as_one() {
    let sandbox = project();
    sandbox.file("main.txt", "x");
    sandbox.commit("on main");
    sandbox.git_in(FOLDER, ["merge", "--quiet", "--no-ff", "--no-edit", "main"]);
    work(&sandbox, "p3.txt", "phase 3");
    sandbox.git(["update-ref", "refs/remotes/origin/feature/auth", "feature/auth"]);
    let data = rollback(&sandbox, 9, &["--to", "2"])["data"].clone();
    let subjects: Vec<&str> =
        data["commits"].as_array().unwrap().iter().map(|commit| commit["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["phase 3", "Merge branch 'main' into feature/auth"]);
    let commands = texts(&data, "/git/commands");
    assert_eq!(commands.len(), 3, "{commands:?}");
    assert!(commands[1].starts_with("git -C .worktree/auth revert --no-edit --mainline 1 "), "{commands:?}");
}

#[test]
fn a_merge_of_last_month_is_pointed_out() {
    for (now, expected) in [("2026-02-06T12:00:00Z", 0), ("2026-02-08T12:00:01Z", 1)] {
        let sandbox = project();
        sandbox.git(["merge", "--quiet", "--no-ff", "--no-edit", "feature/auth"]);
        let output = sandbox.piton(["rollback", "--to", "1"]).now(now).run().expect_code(9);
        let late = output.findings().into_iter().filter(|code| code == "rollback-late");
        assert_eq!(late.count(), expected, "{now}");
    }
}

#[test]
fn uncommitted_work_blocks_and_the_state_does_not() {
    let sandbox = project();
    // As where nothing hides the state from git.
    sandbox.file(".git/info/exclude", "");
    rollback(&sandbox, 9, &["--to", "1"]);
    let before = sandbox.read(STATE);
    for path in ["p1.txt", "new.txt"] {
        sandbox.file(&format!("{FOLDER}/{path}"), "changed");
        let proposed = rollback(&sandbox, 9, &["--to", "1"])["data"].clone();
        assert_eq!(proposed["obstacles"][0]["code"], "uncommitted");
        assert_eq!(proposed["next"], "git -C .worktree/auth stash push --include-untracked");
        let refused = rollback(&sandbox, 9, &["--to", "1", "--yes"]);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(path) && !message.contains("workflow-state"), "{message}");
        assert_eq!(
            texts(&refused, "/error/hints"),
            ["git -C .worktree/auth stash push --include-untracked", "then: `piton rollback auth --to 1 --yes`"]
        );
        assert_eq!(sandbox.read(STATE), before);
        assert!(!sandbox.exists(".workflow-backups"));
        sandbox.git_in(FOLDER, ["stash", "--quiet", "--include-untracked", "--", path]);
    }
    rollback(&sandbox, 0, &["--to", "1", "--yes"]);
}

#[test]
fn the_main_branch_is_never_rolled_back() {
    let sandbox = project();
    sandbox.git(["switch", "--quiet", "--detach"]);
    sandbox.git_in(FOLDER, ["switch", "--quiet", "main"]);
    let refused = rollback(&sandbox, 9, &["--to", "1", "--yes"]);
    assert_eq!(
        refused["error"]["message"],
        "main is checked out in .worktree/auth: the main branch is never rolled back"
    );
    assert_eq!(refused["error"]["hints"][0], "git -C .worktree/auth switch feature/auth");
}

#[test]
fn after_three_rollbacks_to_a_point_a_person_decides() {
    let sandbox = project();
    for _ in 0..3 {
        rollback(&sandbox, 0, &["--to", "1", "--yes"]);
        sandbox.piton(["restore", "--yes"]).run().expect_code(0);
    }
    let refused = rollback(&sandbox, 9, &["--to", "1", "--yes"]);
    assert_eq!(refused["error"]["message"], "the run was rolled back to this point 3 times before: a person decides");
    assert_eq!(texts(&refused, "/error/hints"), ["piton rollback auth --to 1 --force"]);
    rollback(&sandbox, 0, &["--to", "2", "--yes"]);
    sandbox.piton(["restore", "--yes"]).run().expect_code(0);
    rollback(&sandbox, 0, &["--to", "1", "--yes", "--force"]);
}

#[test]
fn a_commit_that_is_not_in_the_history_is_no_ground_for_a_command() {
    let sandbox = project();
    let first = sandbox.git_in(FOLDER, ["rev-parse", "HEAD~1"]);
    sandbox.file(STATE, &sandbox.read(STATE).replace(&first, "1234567890123456789012345678901234567890"));
    let data = rollback(&sandbox, 0, &["--to", "1", "--yes"])["data"].clone();
    assert_eq!(data["git"]["method"], "none");
    assert_eq!(texts(&data, "/git/commands"), [] as [&str; 0]);
}

#[test]
fn names_from_the_state_and_from_git_are_one_word_of_a_shell() {
    let sandbox = project();
    let evil = "a;b$(touch hit)'`c`";
    sandbox
        .file(STATE, &sandbox.read(STATE).replace("\"auth\"", &format!("{evil:?}")).replace("feature/auth", "b$(hit)"));
    sandbox.git_in(FOLDER, ["switch", "--quiet", "--create", "b$(hit)"]);
    sandbox.git(["update-ref", "refs/remotes/o/b$(hit)", "b$(hit)"]);
    let arguments = ["--to", "1", "--reason", "it's $(touch hit) & `touch hit`"];
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

#[test]
fn without_git_only_the_state_goes_back() {
    let sandbox = crate::cli::projects::nine_step();
    let data = rollback(&sandbox, 0, &["--to", "1", "--yes"])["data"].clone();
    assert!(data["git"].is_null() && data["commits"].as_array().unwrap().is_empty(), "{data}");
    let sandbox = project();
    let output = sandbox.piton(["rollback", "--to", "1", "--yes"]).without_git().run().expect_code(0);
    assert_eq!(output.at("/data/git/method"), "none");
}

#[test]
fn a_git_that_does_not_answer_is_named() {
    let sandbox = project();
    let output = sandbox.piton(["rollback", "--to", "1"]).without_git().run().expect_code(9);
    let found = output.findings();
    assert!(found.iter().any(|code| code == "git-silent"), "{output}");
    assert!(output.stdout.contains("git -C .worktree/auth status --short"), "{output}");
    assert_eq!(texts(&rollback(&sandbox, 9, &["--to", "1"]), "/findings"), [] as [&str; 0]);
}
