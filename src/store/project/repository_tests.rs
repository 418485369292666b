use camino::Utf8PathBuf;

use super::{GitPaths, branch_exists, head, head_above, is_stray_worktree};
use crate::store::{Environment, Project, testing::Scratch};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// Makes a repository with one linked worktree, by hand.
fn repository() -> (Scratch, Utf8PathBuf) {
    let scratch = Scratch::new();
    let linked = scratch.root.join("main/.worktree/feature");
    scratch.write("main/.git/HEAD", "ref: refs/heads/main\n");
    scratch.write("main/.git/refs/heads/main", &format!("{SHA}\n"));
    scratch
        .write("main/.git/packed-refs", &format!("# pack-refs with: peeled\n{OTHER} refs/heads/feature/x\n^{SHA}\n"));
    scratch.write("main/.git/worktrees/feature/HEAD", "ref: refs/heads/feature/x\n");
    scratch.write("main/.git/worktrees/feature/commondir", "../..\n");
    scratch.write("main/.git/worktrees/feature/gitdir", &format!("{linked}/.git\n"));
    scratch.write("main/.worktree/feature/.git", &format!("gitdir: {}/main/.git/worktrees/feature\n", scratch.root));
    scratch.write("main/src/deep/x", "");
    (scratch, linked)
}

fn open(start: &camino::Utf8Path) -> Project {
    Project::open(start, &Environment::default()).unwrap()
}

#[test]
fn branch_and_commit_are_read_from_loose_and_packed_refs() {
    let (scratch, linked) = repository();
    let main = scratch.root.join("main");
    let found = head(&main).unwrap();
    assert_eq!((found.branch.as_deref(), found.sha.as_deref()), (Some("main"), Some(SHA)));
    let found = head(&linked).unwrap();
    assert_eq!((found.branch.as_deref(), found.sha.as_deref()), (Some("feature/x"), Some(OTHER)));
    for (branch, expected) in
        [("main", Some(true)), ("feature/x", Some(true)), ("gone", Some(false)), ("../../HEAD", None), ("a b", None)]
    {
        assert_eq!(branch_exists(&linked, branch), expected, "{branch}");
    }
    assert_eq!(branch_exists(&scratch.root, "main"), None);
}

#[test]
fn unusual_heads_say_what_they_can() {
    let (scratch, _) = repository();
    let main = scratch.root.join("main");
    for (text, branch, sha) in [
        (format!("{SHA}\n"), None, Some(SHA)),
        ("ref: refs/heads/unborn\n".to_owned(), Some("unborn"), None),
        ("ref: refs/remotes/origin/main\n".to_owned(), None, None),
        ("ref: refs/heads/../../../../secret\n".to_owned(), None, None),
        ("garbage".to_owned(), None, None),
        (String::new(), None, None),
    ] {
        scratch.write("main/.git/HEAD", &text);
        let found = head(&main).unwrap();
        assert_eq!((found.branch.as_deref(), found.sha.as_deref()), (branch, sha), "{text}");
    }
    scratch.write("main/.git/HEAD", "ref: refs/heads/main\n");
    scratch.write("main/.git/refs/heads/main", "ref: refs/heads/main\n");
    assert_eq!(head(&main).unwrap().sha, None);
}

#[test]
fn a_project_is_its_main_worktree_from_wherever_one_stands() {
    let (scratch, linked) = repository();
    let main = scratch.root.join("main");
    for start in [main.clone(), main.join("src/deep"), main.join("src/deep/x"), linked.clone()] {
        let project = open(&start);
        assert_eq!(project.root, main, "{start}");
        assert_eq!(project.worktrees(), std::slice::from_ref(&linked));
    }
    let git = open(&linked).git.unwrap();
    assert_eq!(git.common_dir, main.join(".git"));
    assert_eq!(git.git_dir, main.join(".git/worktrees/feature"));
}

#[test]
fn worktrees_that_are_gone_or_taken_over_do_not_count() {
    let (scratch, linked) = repository();
    let main = scratch.root.join("main");
    scratch.write("main/.git/worktrees/gone/HEAD", "ref: refs/heads/x\n");
    scratch.write("main/.git/worktrees/gone/gitdir", "/nowhere/.git\n");
    scratch.write("main/.git/worktrees/stolen/HEAD", "ref: refs/heads/x\n");
    scratch.write("main/.git/worktrees/stolen/gitdir", &format!("{linked}/.git\n"));
    scratch.write("main/.git/worktrees/broken/x", "");
    assert_eq!(GitPaths::at(&main).unwrap().worktrees, [linked]);
}

#[test]
fn a_broken_repository_is_none() {
    for (path, text) in [
        (".git", "gitdir: /nowhere\n"),
        (".git", "garbage"),
        (".git", ""),
        (".git/config", "no HEAD"),
        (".git", "gitdir: \0\n"),
    ] {
        let scratch = Scratch::new();
        scratch.write(path, text);
        scratch.write("deep/.plan/x", "");
        scratch.write("deep/er/x", "");
        let project = open(&scratch.root.join("deep/er"));
        assert_eq!(project.git, None, "{text:?}");
        assert_eq!(project.root, scratch.root.join("deep"), "{text:?}");
        assert_eq!(head(&scratch.root), None);
    }
}

#[test]
fn a_submodule_and_a_worktree_of_a_bare_repository_are_their_own_roots() {
    let scratch = Scratch::new();
    scratch.write("super/.git/HEAD", "ref: refs/heads/main\n");
    scratch.write("super/.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    scratch.write("super/sub/.git", "gitdir: ../.git/modules/sub\n");
    assert_eq!(open(&scratch.root.join("super/sub")).root, scratch.root.join("super/sub"));

    scratch.write("hub/.bare/HEAD", "ref: refs/heads/main\n");
    scratch.write("hub/.bare/worktrees/a/HEAD", "ref: refs/heads/a\n");
    scratch.write("hub/.bare/worktrees/a/commondir", "../..\n");
    scratch.write("hub/.bare/worktrees/a/gitdir", "../../../a/.git\n");
    scratch.write("hub/a/.git", "gitdir: ../.bare/worktrees/a\n");
    let project = open(&scratch.root.join("hub/a"));
    assert_eq!(project.root, scratch.root.join("hub/a"));
    assert_eq!(project.worktrees(), [scratch.root.join("hub/a")]);
}

#[test]
fn without_git_a_marker_or_the_folder_itself_is_the_project() {
    let scratch = Scratch::new();
    scratch.write("a/memory/state/x", "");
    scratch.write("a/b/c/x", "");
    scratch.write("plain/x", "");
    assert_eq!(open(&scratch.root.join("a/b/c")).root, scratch.root.join("a"));
    assert_eq!(open(&scratch.root.join("plain")).root, scratch.root.join("plain"));
    assert!(Project::open(&scratch.root.join("missing"), &Environment::default()).is_err());
}

#[test]
fn a_configuration_below_the_top_makes_a_project_of_its_own() {
    let (scratch, linked) = repository();
    scratch.write("main/piton.toml", "");
    scratch.write("main/.worktree/feature/piton.toml", "");
    scratch.write("main/examples/one/piton.toml", "[limits]\narchives = 9\n");
    scratch.write("main/examples/one/src/x", "");
    let project = open(&scratch.root.join("main/examples/one/src"));
    assert_eq!(project.root, scratch.root.join("main/examples/one"));
    assert_eq!(project.config.limits.archives, 9);
    assert_eq!(open(&linked).root, scratch.root.join("main"));
}

#[test]
fn a_worktree_is_stray_where_only_the_way_to_it_is_lost() {
    let (scratch, linked) = repository();
    let main = scratch.root.join("main");
    let common = main.join(".git");
    let is_stray = |top: &str| is_stray_worktree(&main.join(top), &main, Some(&common));
    assert!(!is_stray(".worktree/feature"), "git knows where it is");
    let here = format!("gitdir: {common}/worktrees/feature\n");
    scratch.write("main/twin/.git", &here);
    assert!(!is_stray("twin"), "a copy beside the one that git knows is not it");
    std::fs::rename(&linked, main.join(".worktree/renamed")).unwrap();
    assert!(is_stray(".worktree/renamed"));
    for (pointer, expected) in [
        ("gitdir: /nowhere/.git/worktrees/feature\n", true),
        ("gitdir: ../.git/modules/feature\n", false),
        ("gitdir: /nowhere/.git/modules/feature\n", false),
        ("worktrees/feature", false),
        ("", false),
    ] {
        scratch.write("main/other/.git", pointer);
        assert_eq!(is_stray("other"), expected, "{pointer}");
    }
    scratch.write("main/other/.git", "gitdir: /nowhere/.git/worktrees/feature\n");
    assert_eq!(head_above(&main.join("other")), None, "the repository around it is not its own");
    scratch.write("elsewhere/.git/worktrees/feature/HEAD", "ref: refs/heads/main\n");
    let foreign = format!("gitdir: {}/elsewhere/.git/worktrees/feature\n", scratch.root);
    scratch.write("main/.worktree/foreign/.git", &foreign);
    assert!(!is_stray(".worktree/foreign"), "another repository's, under another path");
    scratch.write("main/.worktree/feature/.git", &foreign);
    assert!(is_stray(".worktree/feature"), "the project was copied from there");
}

#[test]
fn a_worktree_is_of_a_repository_that_names_it_too() {
    let (scratch, linked) = repository();
    let main = scratch.root.join("main");
    let is_own = |top: &str| GitPaths::at(&scratch.root.join(top)).map(|git| git.is_own);
    assert_eq!([is_own("main"), is_own("main/.worktree/feature")], [Some(true), Some(true)]);
    let admin = format!("gitdir: {main}/.git/worktrees/feature\n");
    scratch.write("thief/.git", &admin);
    scratch.write("taken/.git", &format!("gitdir: {main}/.git\n"));
    assert_eq!([is_own("thief"), is_own("taken")], [None, Some(false)]);
    let project = open(&scratch.root.join("taken"));
    assert_eq!((project.root, project.git.unwrap().worktrees), (scratch.root.join("taken"), Vec::new()));
    scratch.write("forged/admin/HEAD", "ref: refs/heads/main\n");
    scratch.write("forged/admin/commondir", &format!("{main}/.git\n"));
    scratch.write("forged/admin/gitdir", &format!("{}/forged/.git\n", scratch.root));
    scratch.write("forged/.git", "gitdir: admin\n");
    scratch.write("split/.git/HEAD", "ref: refs/heads/main\n");
    scratch.write("split/.git/commondir", &format!("{main}/.git\n"));
    assert_eq!([is_own("forged"), is_own("split")], [None, None]);
    scratch.write("super/.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    scratch.write("super/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n");
    scratch.write("super/sub/.git", "gitdir: ../.git/modules/sub\n");
    assert_eq!(is_own("super/sub"), Some(true));
    assert_eq!(open(&linked).git.unwrap().main_root, main);
}

#[test]
fn a_pointer_is_read_as_git_reads_it_or_not_at_all() {
    for (dot_git, common, expected) in [
        ("gitdir: real\n", None, true),
        ("gitdir: real\r\n", None, true),
        ("gitdir:  real\n", None, false),
        ("gitdir: real \n", None, false),
        ("gitdir:real\n", None, false),
        ("gitdir: worktrees/real\n", Some(&b"../..\n"[..]), true),
        ("gitdir: worktrees/real\n", Some(b"../.. \n"), false),
        ("gitdir: worktrees/real\n", Some(b"../..\xff\n"), false),
    ] {
        let scratch = Scratch::new();
        scratch.write("p/real/HEAD", "ref: refs/heads/main\n");
        scratch.write("p/HEAD", "ref: refs/heads/main\n");
        scratch.write("p/.git", dot_git);
        if let Some(common) = common {
            scratch.write("p/worktrees/real/HEAD", "ref: refs/heads/main\n");
            scratch.write("p/worktrees/real/gitdir", &format!("{}/p/.git\n", scratch.root));
            std::fs::write(scratch.root.join("p/worktrees/real/commondir"), common).unwrap();
        }
        assert_eq!(GitPaths::at(&scratch.root.join("p")).is_some(), expected, "{dot_git:?} {common:?}");
    }
}
