use camino::Utf8Path;

use super::{changed, changes, commits, names, not_ignored, work_of};
use crate::{model::CommitFact, store::testing::Scratch};

const AT: &str = "2026-01-01T00:00:00Z";

fn commit(scratch: &Scratch, message: &str) -> String {
    scratch.git(AT, &["commit", "--quiet", "--allow-empty", "-m", message]);
    scratch.git(AT, &["rev-parse", "HEAD"])
}

#[test]
fn commits_are_told_apart_with_one_process() {
    let scratch = Scratch::new();
    scratch.git(AT, &["init", "--quiet"]);
    let first = commit(&scratch, "first");
    scratch.git(AT, &["checkout", "--quiet", "-b", "side"]);
    let side = commit(&scratch, "side");
    scratch.git(AT, &["checkout", "--quiet", "main"]);
    let second = commit(&scratch, "second");
    scratch.git(AT, &["checkout", "--quiet", "-b", "merged"]);
    let merged = commit(&scratch, "merged");
    scratch.git(AT, &["checkout", "--quiet", "main"]);
    scratch.git(AT, &["merge", "--quiet", "--no-ff", "-m", "merge", "merged"]);
    let tree = scratch.git(AT, &["rev-parse", "HEAD^{tree}"]);
    let short = first[..8].to_owned();
    let unknown = "deadbeef".repeat(5);
    for (sha, expected) in [
        (first.as_str(), CommitFact::Reachable),
        (&short, CommitFact::Reachable),
        (&second, CommitFact::Reachable),
        (&merged, CommitFact::Reachable),
        (&side, CommitFact::Elsewhere),
        (&unknown, CommitFact::Unknown),
        (&tree, CommitFact::Unknown),
        ("--help", CommitFact::Unknown),
        ("HEAD", CommitFact::Unknown),
        ("", CommitFact::Unknown),
        ("abc", CommitFact::Unknown),
    ] {
        assert_eq!(commits(&scratch.root, &[sha]).get(sha), Some(&expected), "{sha}");
    }
    let all = commits(&scratch.root, &[&first, &short, &side, &unknown, &second]);
    assert_eq!(all.len(), 5);
    assert_eq!(all[&side], CommitFact::Elsewhere);
    assert_eq!(all[&second], CommitFact::Reachable);
}

#[test]
fn a_commit_that_was_reverted_is_told_apart_until_that_is_reverted_too() {
    let scratch = Scratch::new();
    scratch.git(AT, &["init", "--quiet"]);
    let base = commit(&scratch, "base");
    let work = |name: &str| {
        scratch.write(name, name);
        scratch.git(AT, &["add", name]);
        commit(&scratch, name)
    };
    let (first, second) = (work("first"), work("second"));
    scratch.git(AT, &["revert", "--no-edit", &second, &first]);
    let facts = || {
        let facts = commits(&scratch.root, &[&base, &first, &second]);
        [facts[&base], facts[&first], facts[&second]]
    };
    assert_eq!(facts(), [CommitFact::Reachable, CommitFact::Reverted, CommitFact::Reverted]);
    scratch.git(AT, &["revert", "--no-edit", "HEAD"]);
    assert_eq!(facts(), [CommitFact::Reachable, CommitFact::Reachable, CommitFact::Reverted]);
}

#[test]
fn outside_of_git_there_is_nothing_to_say() {
    let scratch = Scratch::new();
    assert!(commits(&scratch.root, &["0123456"]).is_empty());
    assert_eq!(changes(&scratch.root), None);
}

#[test]
fn changed_and_unknown_files_are_counted() {
    let scratch = Scratch::new();
    scratch.git(AT, &["init", "--quiet"]);
    scratch.write("a", "1");
    scratch.write("b", "some text that is long enough to be found again");
    scratch.git(AT, &["add", "."]);
    commit(&scratch, "first");
    assert_eq!(changes(&scratch.root).map(|changes| changes.len()), Some(0));
    scratch.write("a", "2");
    scratch.git(AT, &["mv", "b", "c"]);
    scratch.write("new/x", "");
    scratch.write("new/y", "");
    assert_eq!(changes(&scratch.root).map(|changes| changes.len()), Some(3));
    assert_eq!(changed(b"R  new\0old\0?? x\0"), ["new", "x"]);
}

#[test]
fn a_short_name_stands_for_its_commit_only() {
    assert!(names("ABCD", "abcdef"));
    assert!(!names("abc", "abcdef"));
    assert!(!names("abce", "abcdef"));
}

#[test]
fn what_git_does_not_ignore_is_told_for_paths_that_are_not_there_yet() {
    let scratch = Scratch::new();
    assert_eq!(not_ignored(&scratch.root, &["a"]), [""; 0], "git does not answer");
    scratch.git(AT, &["init", "--quiet"]);
    let asked = ["a.state", "sub/b.state", "trees/", "kept.state", "other/"];
    assert_eq!(not_ignored(&scratch.root, &asked), asked);
    scratch.write(".gitignore", "*.state\n!kept.state\n/trees/\n");
    assert_eq!(not_ignored(&scratch.root, &asked), ["kept.state", "other/"]);
}

#[test]
fn what_a_killed_writer_staged_is_no_change() {
    let porcelain = b"?? .work/..state.json.0.0563ee0e39acc0d1.piton-tmp\0 M src/a.rs\0R  new.rs\0old.rs\0";
    assert_eq!(changed(porcelain), ["src/a.rs", "new.rs"]);
}

#[test]
#[cfg(unix)]
fn a_device_is_no_work() {
    // The sandbox of Claude Code puts one in place of each file that may not be made, and git lists them.
    let porcelain = b"?? null\0?? nothing.rs\0";
    assert_eq!(work_of(Utf8Path::new("/dev"), porcelain), ["nothing.rs"]);
}
