use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::{SessionHome, folder_name, new_id};
use crate::store::{
    Environment,
    testing::{Scratch, time},
};

#[test]
fn repositories_of_one_name_do_not_share_a_folder() {
    let key = |root: &str| folder_name(Utf8Path::new(root), &Utf8Path::new(root).join(".git"));
    assert_ne!(key("/a/app"), key("/b/app"));
    assert_eq!(key("/a/app"), key("/a/app"));
    assert!(key("/a/my app; rm").starts_with("my-app--rm-"), "{}", key("/a/my app; rm"));
    assert!(key(&format!("/{}", "x".repeat(300))).len() < 100);
}

#[test]
fn runs_lie_in_the_data_folder_outside_of_git_and_their_worktrees_in_the_state_folder() {
    let scratch = Scratch::new();
    let project = scratch.project();
    let environment = Environment { state_home: Some(Utf8PathBuf::from("/state")), ..Environment::default() };
    let home = SessionHome::for_project(&project, &environment);
    assert_eq!(home.session("s"), project.root.join(".piton/runs/s"));
    assert!(home.worktree("s").starts_with("/state"));
}

#[test]
fn ids_sort_by_time_and_never_meet() {
    let ids: BTreeSet<String> = (0..1_000).map(|_| new_id(time("2026-01-31T12:00:00Z"))).collect();
    assert_eq!(ids.len(), 1_000);
    assert!(ids.iter().all(|id| id.starts_with("session-20260131t120000z-") && id.len() == 37));
    assert!(ids.last() < Some(&new_id(time("2026-01-31T12:00:01Z"))));
}

/// Makes a home with one session in it.
fn home(scratch: &Scratch) -> SessionHome {
    let home = SessionHome::for_project(&scratch.project(), &Environment::default());
    std::fs::create_dir_all(home.session("session-1")).unwrap();
    std::fs::write(home.session("session-1").join("run.json"), "{}").unwrap();
    home
}

fn found(home: &SessionHome, scratch: &Scratch) -> (Vec<String>, usize) {
    let sessions = home.listing(&scratch.project());
    (sessions.listing.entries.iter().map(|entry| entry.path.to_string()).collect(), sessions.foreign.len())
}

/// SECURITY: row 20
#[test]
fn folders_that_can_be_no_session_are_not_listed() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let elsewhere = scratch.root.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("run.json"), "{}").unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.session("session-2")).unwrap();
    for name in ["-rf", "a b", "..x", ".hidden", "half"] {
        std::fs::create_dir_all(home.session(name)).unwrap();
    }
    for name in ["-rf", "a b", "..x", ".hidden"] {
        std::fs::write(home.session(name).join("run.json"), "{}").unwrap();
    }
    assert_eq!(found(&home, &scratch), (vec!["runs/session-1/run.json".to_owned()], 0));
    std::fs::remove_dir_all(home.root()).unwrap();
    assert_eq!(found(&home, &scratch), (vec![], 0));
}

/// SECURITY: row 20
#[test]
fn a_home_behind_a_link_is_named_and_not_read() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let moved = scratch.root.join("moved");
    std::fs::rename(home.root(), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, home.root()).unwrap();
    assert_eq!(found(&home, &scratch), (vec![], 1));
}

#[test]
fn paths_lead_to_their_session() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let around = |path: Utf8PathBuf| SessionHome::containing(&path).map(|(_, id)| id);
    for (path, id) in [
        (home.session("session-1"), Some("session-1")),
        (home.session("session-1").join("journal.jsonl"), Some("session-1")),
        (home.worktree("session-1").join("src"), None),
        (home.root().to_owned(), None),
        (home.root().join("runs/../x"), None),
        (home.root().join("runs/-x"), None),
        (scratch.root.join("runs/session-1"), None),
    ] {
        assert_eq!(around(path.clone()).as_deref(), id, "{path}");
    }
}
