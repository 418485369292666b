use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
};

use super::{copy_and_remove, move_folder};
use crate::store::testing::{Scratch, rel};

/// Returns a run with a nested file, a link, and a file that may be executed.
fn run() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "{}");
    scratch.write("run/deep/er/tool", "#!/bin/sh");
    symlink("state.json", scratch.root.join("run/link")).unwrap();
    let mode = fs::Permissions::from_mode(0o750);
    fs::set_permissions(scratch.root.join("run/deep/er/tool"), mode.clone()).unwrap();
    fs::set_permissions(scratch.root.join("run/deep"), mode).unwrap();
    scratch
}

#[test]
fn a_folder_that_cannot_be_renamed_is_copied_with_all_that_is_in_it() {
    let scratch = run();
    let [from, to] = ["run", "moved"].map(|name| scratch.root.join(name));
    let modified = |folder: &camino::Utf8Path| fs::metadata(folder.join("state.json")).unwrap().modified().unwrap();
    let before = modified(&from);
    copy_and_remove(&from, &to).unwrap();
    assert_eq!(scratch.files(""), ["moved/deep/er/tool", "moved/link", "moved/state.json"]);
    assert_eq!((scratch.text("moved/state.json").as_deref(), modified(&to)), (Some("{}"), before));
    assert_eq!(fs::read_link(to.join("link")).unwrap().to_str(), Some("state.json"));
    for path in ["deep", "deep/er/tool"] {
        assert_eq!(fs::metadata(to.join(path)).unwrap().permissions().mode() & 0o777, 0o750, "{path}");
    }
    assert!(!from.exists());
}

#[test]
fn what_cannot_be_copied_stays_where_it_was() {
    let scratch = run();
    let [from, to] = ["run", "moved"].map(|name| scratch.root.join(name));
    let _socket = UnixListener::bind(from.join("socket")).unwrap();
    assert!(copy_and_remove(&from, &to).is_err());
    assert_eq!(scratch.files(""), ["run/deep/er/tool", "run/link", "run/socket", "run/state.json"]);
}

#[test]
fn a_move_makes_the_folders_on_the_way_and_takes_them_back_if_it_fails() {
    let scratch = run();
    scratch.write("new/other", "");
    let lock = scratch.lock();
    assert!(move_folder(&lock, &rel("nowhere"), &rel("new/a/b/run")).is_err());
    assert!(scratch.root.join("new").exists() && !scratch.root.join("new/a").exists());
    move_folder(&lock, &rel("run/deep"), &rel("new/a/b/run")).unwrap();
    assert_eq!(scratch.files("new"), ["a/b/run/er/tool", "other"]);
}
