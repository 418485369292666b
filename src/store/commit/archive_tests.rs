use super::{archives, free_folder, parts_of, prune};
use crate::store::testing::{Scratch, rel, time};

#[test]
fn only_names_with_a_stamp_are_archives() {
    for (name, expected) in [
        ("user-auth_20260131T120000Z", Some(("user-auth", "20260131T120000Z", 1))),
        ("user_auth_20260131T120000Z-2", Some(("user_auth", "20260131T120000Z", 2))),
        ("user-auth_20260131T120000Z-1", None),
        ("user-auth_20260131T120000Z-x", None),
        ("user-auth_20260131", None),
        ("user-auth_old", None),
        ("_20260131T120000Z", None),
        ("user-auth", None),
    ] {
        assert_eq!(parts_of(name), expected, "{name}");
    }
}

/// Returns a folder with archives, each named by its series, day and counter.
fn shelf() -> Scratch {
    let scratch = Scratch::new();
    for name in ["b_20260102T120000Z", "a_20260102T120000Z-2", "a_20260101T120000Z", "c_20260103T120000Z"] {
        scratch.write(&format!("old/{name}/state.json"), "");
    }
    for path in ["old/other/state.json", "old/d_20260104T120000Z/folder/x", "old/e_20260105T120000Z"] {
        scratch.write(path, "");
    }
    scratch
}

#[test]
fn archives_are_folders_with_files_oldest_first() {
    let scratch = shelf();
    let found = archives(&scratch.root, &rel("old"));
    let short: Vec<_> = found.iter().map(|one| (one.folder.as_str(), one.series.as_str(), one.at)).collect();
    assert_eq!(
        short,
        [
            ("a_20260101T120000Z", "a", time("2026-01-01T12:00:00Z")),
            ("b_20260102T120000Z", "b", time("2026-01-02T12:00:00Z")),
            ("a_20260102T120000Z-2", "a", time("2026-01-02T12:00:00Z")),
            ("c_20260103T120000Z", "c", time("2026-01-03T12:00:00Z")),
        ]
    );
    assert!(found.iter().all(|one| one.files == ["state.json"]));
}

#[test]
fn the_oldest_archives_go_and_the_new_one_stays() {
    for (keep, left) in [
        (9, vec!["a_20260101T120000Z", "a_20260102T120000Z-2", "b_20260102T120000Z", "c_20260103T120000Z"]),
        (4, vec!["a_20260101T120000Z", "a_20260102T120000Z-2", "b_20260102T120000Z", "c_20260103T120000Z"]),
        (2, vec!["a_20260101T120000Z", "c_20260103T120000Z"]),
        (1, vec!["a_20260101T120000Z"]),
        (0, vec!["a_20260101T120000Z"]),
    ] {
        let scratch = shelf();
        for name in ["d_20260104T120000Z", "other"] {
            std::fs::remove_dir_all(scratch.root.join("old").join(name)).unwrap();
        }
        prune(&scratch.lock(), &rel("old/a_20260101T120000Z"), keep).unwrap();
        let mut found: Vec<String> =
            scratch.files("old").iter().filter_map(|path| Some(path.split_once('/')?.0.to_owned())).collect();
        found.dedup();
        assert_eq!(found, left, "{keep}");
    }
}

#[test]
fn a_taken_name_gets_a_counter() {
    let scratch = shelf();
    let lock = scratch.lock();
    for (wanted, free) in [
        ("old/new", "old/new"),
        ("old/b_20260102T120000Z", "old/b_20260102T120000Z-2"),
        ("old/e_20260105T120000Z", "old/e_20260105T120000Z-2"),
    ] {
        assert_eq!(free_folder(&lock, &rel(wanted)).unwrap(), rel(free));
    }
}
