use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

use super::written_since;
use crate::{model::Timestamp, store::testing::Scratch};

#[test]
fn what_was_written_since_is_named_by_file_and_nothing_of_others() {
    let scratch = Scratch::new();
    let all = [
        "app/old.rs",
        "app/new.rs",
        "app/fresh/a.rs",
        "app/fresh/b/c.rs",
        "app/fresh/old.rs",
        "app/fresh/.piton/journal.jsonl",
        "app/fresh/other/.git",
        "app/fresh/other/x.rs",
        "elsewhere/y.rs",
    ];
    fs::create_dir(scratch.root.join(".git")).unwrap();
    for path in all {
        scratch.write(path, "x");
        let seconds = if path.ends_with("old.rs") { 99 } else { 100 };
        let file = File::options().write(true).open(scratch.root.join(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }
    let changed = ["app/fresh/", "app/old.rs", "app/new.rs", "app/gone/z.rs", "elsewhere/y.rs"].map(str::to_owned);
    let app = scratch.root.join("app");
    let found = |since: Option<i64>| {
        let since = since.map(|since| Timestamp::from_unix(since, 0).unwrap());
        let found = written_since(&app, &changed, since);
        found.iter().map(|path| path.strip_prefix(&app).unwrap().as_str().to_owned()).collect::<Vec<String>>()
    };
    // What is gone went when its folder last changed.
    assert_eq!(found(Some(100)), ["fresh/a.rs", "fresh/b/c.rs", "gone/z.rs", "new.rs"]);
    assert_eq!(found(None).len(), 6);
    assert_eq!(found(Some(i64::from(u32::MAX))), [""; 0]);
}
