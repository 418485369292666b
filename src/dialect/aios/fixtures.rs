//! File sets and short words for what was read, for the tests of the kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;

use crate::dialect::Loaded;
use crate::model::Clock;
use crate::model::Config;
use crate::model::Content;
use crate::model::FileEntry;
use crate::model::FileSet;
use crate::model::RelPath;
use crate::model::Timestamp;

/// Holds one state at noon of 31 January 2026.
pub(super) fn files(state: &str, text: &str) -> FileSet {
    let path = |text: &str| RelPath::parse(text).unwrap();
    let content = Content::Bytes(Arc::from(text.as_bytes()));
    FileSet {
        root: Utf8PathBuf::from("/project"),
        name: "state".to_owned(),
        data_dir: path(".piton"),
        files: BTreeMap::from([(path(state), FileEntry::new(content, None))]),
        state: path(state),
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: Timestamp::parse("2026-01-31T12:00:00Z", 0).unwrap(), utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    }
}

/// Returns `id status` of every step.
pub(super) fn steps(loaded: &Loaded) -> Vec<String> {
    let run = loaded.run.as_ref().expect("there is a run");
    run.steps.iter().map(|step| format!("{} {}", step.id, step.status)).collect()
}

/// Returns the codes of the findings.
pub(super) fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.findings.iter().map(|finding| finding.code.as_str()).collect()
}
