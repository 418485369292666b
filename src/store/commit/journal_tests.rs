use std::os::unix::fs::symlink;

use super::append_block;
use crate::store::testing::Scratch;
use crate::store::testing::rel;

#[test]
fn a_block_is_added_behind_an_empty_line_and_a_torn_one_is_closed() {
    for (before, after) in [
        (None, "[now] a\n"),
        (Some("# Log\n"), "# Log\n\n[now] a\n"),
        (Some("# Log, torn"), "# Log, torn\n\n[now] a\n"),
        (Some(""), "[now] a\n"),
    ] {
        let scratch = Scratch::new();
        if let Some(before) = before {
            scratch.write("log.md", before);
        }
        append_block(&scratch.root, &rel("log.md"), "[now] a\n").unwrap();
        assert_eq!(scratch.text("log.md").as_deref(), Some(after), "{before:?}");
    }
}

#[test]
fn a_block_goes_nowhere_outside_of_the_root() {
    let (scratch, outside) = (Scratch::new(), Scratch::new());
    outside.write("log.md", "theirs");
    symlink(outside.root.join("log.md"), scratch.root.join("log.md")).unwrap();
    assert!(append_block(&scratch.root, &rel("log.md"), "[now] a\n").is_err());
    assert!(append_block(&scratch.root, &rel(".git/log.md"), "[now] a\n").is_err());
    assert_eq!(outside.text("log.md").as_deref(), Some("theirs"));
}
