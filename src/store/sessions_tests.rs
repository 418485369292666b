use std::collections::BTreeSet;

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::SessionHome;
use super::key;
use super::new_id;
use crate::store::Environment;
use crate::store::testing::Scratch;
use crate::store::testing::time;

#[test]
fn repositories_of_one_name_do_not_share_a_folder() {
    let key = |root: &str| key(Utf8Path::new(root), &Utf8Path::new(root).join(".git"));
    assert_ne!(key("/a/app"), key("/b/app"));
    assert_eq!(key("/a/app"), key("/a/app"));
    assert!(key("/a/my app; rm").starts_with("my-app--rm-"), "{}", key("/a/my app; rm"));
    assert!(key(&format!("/{}", "x".repeat(300))).len() < 100);
}

#[test]
fn sessions_and_worktrees_lie_below_the_state_home() {
    let scratch = Scratch::new();
    let project = scratch.project();
    let environment = Environment { state_home: Some(Utf8PathBuf::from("/state")), ..Environment::default() };
    let home = SessionHome::of(&project, &environment).unwrap();
    assert_eq!(home.root().parent(), Some(Utf8Path::new("/state")));
    assert_eq!(home.session("s"), home.root().join("sessions/s"));
    assert_eq!(home.worktree("s"), home.root().join("worktrees/s"));
    assert_eq!(SessionHome::of(&project, &Environment::default()), None);
}

#[test]
fn ids_sort_by_time_and_never_meet() {
    let ids: BTreeSet<String> = (0..1_000).map(|_| new_id(time("2026-01-31T12:00:00Z"))).collect();
    assert_eq!(ids.len(), 1_000);
    assert!(ids.iter().all(|id| id.starts_with("session-20260131t120000z-") && id.len() == 37));
    assert!(ids.last() < Some(&new_id(time("2026-01-31T12:00:01Z"))));
}
