use std::{fs, path::Path};

use rustix::{fs::OFlags, io::Errno};

use super::opened::{NAMES, open_each, open_in_one_call};
use crate::store::testing::Scratch;

/// SECURITY: row 4
#[test]
fn both_ways_to_open_a_folder_agree() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.root.join("real/inner")).unwrap();
    fs::write(scratch.root.join("file"), "").unwrap();
    std::os::unix::fs::symlink("real", scratch.root.join("link")).unwrap();
    for (path, expected) in [
        ("", None),
        ("real", None),
        ("real/./inner", None),
        ("real/inner/..", None),
        ("link", Some(Errno::LOOP)),
        ("link/inner", Some(Errno::LOOP)),
        ("file", Some(Errno::NOTDIR)),
        ("file/inner", Some(Errno::NOTDIR)),
        ("missing/inner", Some(Errno::NOENT)),
    ] {
        let folder = scratch.root.join(path);
        let ways: [fn(&Path, OFlags) -> _; 2] = [|path, flags| Some(open_each(path, flags)), open_in_one_call];
        for purpose in [NAMES, OFlags::RDONLY] {
            for open in ways {
                let Some(opened) = open(folder.as_std_path(), purpose | OFlags::DIRECTORY) else { continue };
                assert_eq!(opened.err(), expected, "{path}");
            }
        }
    }
}
