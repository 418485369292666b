use std::{fs, io::Write as _};

use super::open;
use crate::store::{fs::nofollow::OpenMode, testing::Scratch};

/// SECURITY: row 5
#[test]
fn what_another_name_stands_for_is_not_written() {
    let scratch = Scratch::new();
    let (data_dir, other) = (scratch.root.join("log.jsonl"), scratch.root.join("other"));
    fs::write(&other, "theirs\n").unwrap();
    fs::hard_link(&other, &data_dir).unwrap();
    open(&data_dir, OpenMode::Log, 0o600).unwrap().write_all(b"ours\n").unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "theirs\n");
    assert_eq!(fs::read_to_string(&data_dir).unwrap(), "theirs\nours\n");
    assert_eq!(fs::read_dir(&scratch.root).unwrap().count(), 2, "nothing temporary is left");
}
