use super::{AbandonedWork, commit, git_impact, history_of};
use crate::{model::RelPath, store::testing::Scratch};

#[test]
fn only_the_name_of_a_commit_is_ever_handed_to_git() {
    let scratch = Scratch::new();
    let created = scratch.root.join("made");
    let init = std::process::Command::new("git").args(["init", "--quiet"]).arg(&scratch.root).status().unwrap();
    assert!(init.success());
    for text in [format!("--output={created}"), "HEAD".to_owned(), "main".to_owned(), String::new(), "ab;c".to_owned()]
    {
        assert_eq!(history_of(&scratch.root, &text), None, "{text}");
        let work = AbandonedWork {
            folder: &scratch.root,
            base: Some(&text),
            since: None,
            first: Some(&text),
            branch: Some(&text),
            main: Some(&text),
            ours: &[],
        };
        let found = git_impact(&work).unwrap();
        assert!(found.commits.is_empty() && found.base.is_none() && found.main.is_none(), "{text}: {found:?}");
    }
    assert!(!created.exists());
}

#[test]
fn outside_of_a_repository_there_is_nothing_to_say() {
    let scratch = Scratch::new();
    let work = AbandonedWork {
        folder: &scratch.root,
        base: None,
        since: None,
        first: None,
        branch: None,
        main: None,
        ours: &[],
    };
    assert!(git_impact(&work).is_none());
}

#[test]
fn a_commit_is_read_with_odd_names_and_without_what_leaves_the_root() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let text = format!("{sha}\u{2}{sha} {sha}\u{2}1800000000\u{2}a\tsubject\u{2}\0\na\nb\0../c\0/d\0e f\0");
    let (commit, parent) = commit(&text).unwrap();
    assert_eq!((commit.subject.as_str(), commit.is_merge, parent.as_deref()), ("a\tsubject", true, Some(sha)));
    let names: Vec<&str> = commit.files.iter().map(RelPath::as_str).collect();
    assert_eq!(names, ["e f"]);
    assert!(super::commit("no commit").is_none());
    assert!(super::commit("x\u{2}y\u{2}1\u{2}s\u{2}").is_none());
}
