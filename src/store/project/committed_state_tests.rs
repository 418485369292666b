use super::{StateOnDisk, compare};
use crate::{
    model::{CommittedState, CommittedStateQuery, Timestamp},
    store::testing::{Scratch, rel},
};

fn commit(scratch: &Scratch, at: &str, files: &[(&str, &str)]) -> String {
    for (path, text) in files {
        scratch.write(path, text);
    }
    scratch.git(at, &["add", "--all", "--force"]);
    scratch.git(at, &["commit", "--quiet", "--allow-empty", "-m", at]);
    scratch.git(at, &["rev-parse", "HEAD"])
}

fn past(scratch: &Scratch, since: &str, state: Option<&str>) -> Option<CommittedState> {
    let wanted = CommittedStateQuery {
        since: Timestamp::parse(since, 0).unwrap(),
        files: vec![rel("a file.md"), rel("new.md")],
    };
    compare(&scratch.root, &wanted, &StateOnDisk { path: &rel("state.yaml"), bytes: state.map(str::as_bytes) })
}

#[test]
fn a_state_that_is_committed_is_compared_with_the_commit_that_made_it_so() {
    let scratch = Scratch::new();
    scratch.git("2026-01-01T00:00:00Z", &["init", "--quiet"]);
    commit(&scratch, "2026-01-01T10:00:00Z", &[("state.yaml", "one"), ("a file.md", "1")]);
    let saved = commit(&scratch, "2026-01-01T12:00:00Z", &[("state.yaml", "two"), ("a file.md", "2")]);
    commit(&scratch, "2026-01-01T13:00:00Z", &[("a file.md", "3"), ("new.md", "n")]);
    let found = past(&scratch, "2026-01-01T11:00:00Z", Some("two")).unwrap();
    assert_eq!(found.commit, saved);
    let file = &found.files[&rel("a file.md")];
    assert_eq!((file.content.as_deref(), file.is_committed_since), (Some(&b"2"[..]), true));
    let new = &found.files[&rel("new.md")];
    assert_eq!((new.content.as_deref(), new.is_committed_since), (None, true));
}

#[test]
fn a_state_that_git_does_not_have_is_compared_with_the_last_commit_before_its_stamp() {
    let scratch = Scratch::new();
    scratch.git("2026-01-01T00:00:00Z", &["init", "--quiet"]);
    let first = commit(&scratch, "2026-01-01T10:00:00Z", &[("a file.md", "1")]);
    let second = commit(&scratch, "2026-01-01T12:00:00Z", &[("a file.md", "2")]);
    for (since, expected, changed) in [
        ("2026-01-01T11:00:00Z", Some(&first), true),
        ("2026-01-01T12:00:00Z", Some(&second), false),
        ("2026-01-01T09:00:00Z", None, false),
    ] {
        let found = past(&scratch, since, Some("two"));
        assert_eq!(found.as_ref().map(|past| &past.commit), expected, "{since}");
        let is_changed = found.is_some_and(|past| past.files[&rel("a file.md")].is_committed_since);
        assert_eq!(is_changed, changed, "{since}");
    }
    assert!(past(&Scratch::new(), "2026-01-01T12:00:00Z", None).is_none(), "there is no git");
}

#[test]
fn a_project_below_the_top_of_its_repository_finds_its_files() {
    let scratch = Scratch::new();
    scratch.git("2026-01-01T00:00:00Z", &["init", "--quiet"]);
    commit(&scratch, "2026-01-01T10:00:00Z", &[("sub/a file.md", "below"), ("a file.md", "top")]);
    let wanted = CommittedStateQuery {
        since: Timestamp::parse("2026-01-02T00:00:00Z", 0).unwrap(),
        files: vec![rel("a file.md")],
    };
    let saved = StateOnDisk { path: &rel("state.yaml"), bytes: None };
    let found = compare(&scratch.root.join("sub"), &wanted, &saved).unwrap();
    assert_eq!(found.files[&rel("a file.md")].content.as_deref(), Some(&b"below"[..]));
}
