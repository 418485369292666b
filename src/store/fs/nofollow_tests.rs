use std::fs;

use super::{OpenMode, create_dir, open, remove_dir, remove_dir_all, remove_file, rename, symlink, sync_dir};
use crate::store::testing::Scratch;

const MODES: [OpenMode; 7] = [
    OpenMode::Read,
    OpenMode::Create,
    OpenMode::Append,
    OpenMode::Log,
    OpenMode::Overwrite,
    OpenMode::Edit,
    OpenMode::Lock,
];

/// SECURITY: row 4
#[test]
fn a_link_on_the_way_is_refused_by_everything_that_writes() {
    let scratch = Scratch::new();
    let at = |path: &str| scratch.root.join(path).into_std_path_buf();
    for folder in ["real", "elsewhere"] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("there"), "old").unwrap();
    }
    std::os::unix::fs::symlink("elsewhere", at("link")).unwrap();
    for open_mode in MODES {
        assert!(open(&at("link/there"), open_mode, 0o600).is_err(), "{open_mode:?}");
        assert!(open(&at("link/new"), open_mode, 0o600).is_err(), "{open_mode:?}");
    }
    assert!(rename(at("real/there"), at("link/there")).is_err());
    assert!(rename(at("link/there"), at("real/there")).is_err());
    assert!(remove_file(at("link/there")).is_err());
    assert!(create_dir(&at("link/folder"), 0o700).is_err());
    assert!(symlink(&at("real"), &at("link/new")).is_err());
    assert!(sync_dir(&at("link")).is_err());
    fs::create_dir(at("elsewhere/inner")).unwrap();
    assert!(remove_dir(&at("link/inner")).is_err());
    assert!(remove_dir_all(&at("link/inner")).is_err());
    assert!(remove_dir_all(&at("link")).is_err());
    assert_eq!(fs::read_dir(at("elsewhere")).unwrap().count(), 2);

    open(&at("real/new"), OpenMode::Create, 0o600).unwrap();
    assert!(open(&at("real/new"), OpenMode::Create, 0o600).is_err(), "it is there");
    assert!(open(&at("real/missing"), OpenMode::Edit, 0o600).is_err(), "it is not there");
    fs::hard_link(at("real/there"), at("real/other")).unwrap();
    rename(at("real/other"), at("real/new")).unwrap();
    remove_file(at("real/new")).unwrap();
    create_dir(&at("real/folder"), 0o700).unwrap();
    symlink(&at("elsewhere"), &at("real/folder/link")).unwrap();
    create_dir(&at("real/folder/inner"), 0o700).unwrap();
    create_dir(&at("real/folder/inner/empty"), 0o700).unwrap();
    fs::write(at("real/folder/inner/file"), "").unwrap();
    sync_dir(&at("real")).unwrap();
    assert_eq!(fs::read_dir(at("real")).unwrap().count(), 2);
    assert!(remove_dir(&at("real/folder")).is_err(), "it is not empty");
    remove_dir_all(&at("real/folder")).unwrap();
    assert_eq!(fs::read_dir(at("real")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(at("elsewhere")).unwrap().count(), 2, "what a link names stays");
}

#[test]
fn a_link_or_a_pipe_in_the_place_itself_is_refused() {
    let scratch = Scratch::new();
    let at = |path: &str| scratch.root.join(path).into_std_path_buf();
    fs::write(at("there"), "old").unwrap();
    std::os::unix::fs::symlink("there", at("link")).unwrap();
    for open_mode in MODES {
        assert!(open(&at("link"), open_mode, 0o600).is_err(), "{open_mode:?}");
    }
    assert_eq!(fs::read(at("there")).unwrap(), b"old");
}
