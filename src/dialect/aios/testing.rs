//! Builds file sets from literals.

use std::sync::Arc;

use camino::Utf8PathBuf;

use crate::model::{Clock, Config, Content, FileEntry, FileSet, RelPath, RunFolder, Timestamp};

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// Holds the files of one run, of which the first is its state.
pub(super) fn files(files: &[(&str, &str)]) -> FileSet {
    let entry = |(at, text): &(&str, &str)| {
        let content = Content::Bytes(Arc::from(text.as_bytes()));
        (path(at), FileEntry::new(content, None))
    };
    FileSet {
        root: Utf8PathBuf::from("/project"),
        name: "run".to_owned(),
        state: path(files[0].0),
        own: RunFolder { home: "/project/.piton".into(), path: path("runs/own") },
        files: files.iter().map(entry).collect(),
        journal: None,
        local: crate::model::Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: Timestamp::parse("2026-03-01T12:00:00Z", 0).unwrap(), utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    }
}
