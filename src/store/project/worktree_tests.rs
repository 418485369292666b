use camino::{Utf8Path, Utf8PathBuf};

use super::{MergeOutcome, add, commits_ahead, git, merge, remove, remove_left_locks};
use crate::store::testing::Scratch;

fn repository() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("main/file", "one\n");
    let root = scratch.root.join("main");
    run(&root, "init", &["--quiet", "--initial-branch=main"]);
    run(&root, "config", &["user.name", "a"]);
    run(&root, "config", &["user.email", "a@example.org"]);
    commit(&root);
    scratch
}

fn run(folder: &Utf8Path, verb: &'static str, arguments: &[&str]) {
    git(folder, verb, arguments).unwrap();
}

fn commit(folder: &Utf8Path) {
    run(folder, "add", &["--all"]);
    run(folder, "commit", &["--quiet", "--message=x"]);
}

#[test]
fn work_is_merged_and_its_worktree_goes() {
    let scratch = repository();
    let (root, folder) = (scratch.root.join("main"), scratch.root.join("tree"));
    add(&root, &folder, "piton/s", "HEAD").unwrap();
    scratch.write("tree/new", "two\n");
    assert_eq!(commits_ahead(&root, "main", "piton/s"), Some(0));
    let refusal = remove(&root, &folder, "piton/s").unwrap_err();
    assert_eq!(refusal.verb, "worktree");
    assert_eq!(scratch.text("tree/new").as_deref(), Some("two\n"), "what is not committed is not removed");
    commit(&folder);
    assert_eq!(commits_ahead(&root, "main", "piton/s"), Some(1));
    assert_eq!(merge(&root, "piton/s"), MergeOutcome::Yes);
    remove(&root, &folder, "piton/s").unwrap();
    assert_eq!((scratch.text("main/new").as_deref(), folder.exists()), (Some("two\n"), false));
    assert_eq!(commits_ahead(&root, "main", "piton/s"), None, "the branch went too");
}

#[test]
fn a_conflict_is_taken_back() {
    let scratch = repository();
    let (root, folder) = (scratch.root.join("main"), scratch.root.join("tree"));
    add(&root, &folder, "piton/s", "HEAD").unwrap();
    scratch.write("tree/file", "theirs\n");
    commit(&folder);
    scratch.write("main/file", "ours\n");
    commit(&root);
    let MergeOutcome::No { refusal, .. } = merge(&root, "piton/s") else { panic!("it went through") };
    assert!(refusal.message.starts_with("CONFLICT"), "{refusal}");
    assert_eq!(scratch.text("main/file").as_deref(), Some("ours\n"));
    assert_eq!(scratch.text("tree/file").as_deref(), Some("theirs\n"));
}

#[test]
fn a_worktree_that_was_deleted_is_made_again_on_its_branch() {
    let scratch = repository();
    let (root, folder) = (scratch.root.join("main"), scratch.root.join("tree"));
    add(&root, &folder, "piton/s", "HEAD").unwrap();
    scratch.write("tree/new", "two\n");
    commit(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    add(&root, &folder, "piton/s", "HEAD").unwrap();
    assert_eq!(scratch.text("tree/new").as_deref(), Some("two\n"));
}

/// git reads every registered worktree, and refuses one that another git is still creating.
#[test]
fn worktrees_are_created_side_by_side() {
    let scratch = repository();
    let root = scratch.root.join("main");
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (root, folder) = (&root, scratch.root.join(format!("tree{number}")));
            scope.spawn(move || add(root, &folder, &format!("piton/{number}"), "HEAD").unwrap());
        }
    });
    assert_eq!(git(&root, "worktree", &["list"]).unwrap().lines().count(), 17);
}

#[test]
fn locks_that_an_ended_git_left_go_from_own_worktrees_only() {
    let scratch = repository();
    let (root, ours, others) = (scratch.root.join("main"), scratch.root.join("ours"), scratch.root.join("others"));
    add(&root, &ours, "piton/s", "HEAD").unwrap();
    add(&root, &others, "piton/t", "HEAD").unwrap();
    let locks = ["", "worktrees/ours/", "worktrees/others/"].map(|of| format!("main/.git/{of}index.lock"));
    locks.iter().for_each(|lock| scratch.write(lock, ""));
    scratch.write("main/.git/worktrees/ours/locked", "by a person");
    let is_ours = |folder: &Utf8Path| folder.file_name() == Some("ours");
    let hold = |folder: &Utf8Path| {
        scratch.write("git-hold", "#!/bin/sh\necho ready; read line");
        let program = scratch.root.join("git-hold");
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let pipe = std::process::Stdio::piped;
        std::process::Command::new(program).current_dir(folder).stdin(pipe()).stdout(pipe()).spawn().unwrap()
    };
    if cfg!(target_os = "linux") {
        let mut git = hold(&ours);
        std::io::Read::read_exact(git.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
        assert_eq!(remove_left_locks(&root, &is_ours), Vec::<Utf8PathBuf>::new(), "a git is at work there");
        drop(git.stdin.take());
        git.wait().unwrap();
        let removed: Vec<String> = remove_left_locks(&root, &is_ours).iter().map(ToString::to_string).collect();
        assert!(removed.len() == 1 && removed[0].ends_with("worktrees/ours/index.lock"), "{removed:?}");
    }
    let left = locks.map(|lock| scratch.root.join(lock).exists());
    assert_eq!(left, [true, cfg!(not(target_os = "linux")), true]);
    assert!(scratch.root.join("main/.git/worktrees/ours/locked").exists());
}
