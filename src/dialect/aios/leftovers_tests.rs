use std::sync::Arc;

use camino::Utf8PathBuf;

use super::{is_temporary, original_of, report_renamed};
use crate::{
    dialect::aios::testing::path,
    model::{Listing, ListingEntry},
};

#[test]
fn states_that_were_put_aside_are_known_by_what_they_were_called() {
    for (at, original) in [
        (".aiox/epic-5-state.yaml.bak", Some(".aiox/epic-5-state.yaml")),
        (".aiox/workflow-state/1.1-state.yaml.migrated", Some(".aiox/workflow-state/1.1-state.yaml")),
        ("docs/stories/.session-state.yaml.discarded.1769857200000", Some("docs/stories/.session-state.yaml")),
        ("docs/stories/.session-state.yaml.discarded", Some("docs/stories/.session-state.yaml")),
        ("docs/stories/.session-state.yaml.discarded.soon", None),
        ("docs/stories/1.1.story.md.bak", None),
        (".aiox/epic-5-state.yaml", None),
        ("src/main.rs.bak", None),
    ] {
        assert_eq!(original_of(&path(at)).as_ref().map(|path| path.as_str()), original, "{at}");
    }
}

#[test]
fn a_temporary_file_ends_in_what_writers_add() {
    for (name, expected) in [
        ("x.yaml.tmp", true),
        ("x.yaml.tmp.4711", true),
        ("x.tmp.yaml-old", false),
        ("tmp.yaml", false),
        ("x.tmp.a b", false),
    ] {
        assert_eq!(is_temporary(name), expected, "{name}");
    }
}

#[test]
fn what_they_hold_is_said_and_a_copy_beside_its_original_is_no_news() {
    let epic = "epic_state:\n  epicId: 5\n";
    for (at, text, others, says) in [
        (
            ".aiox/epic-5-state.yaml.bak",
            epic,
            vec![],
            Some("a copy of .aiox/epic-5-state.yaml, which does not exist; it holds the state of an epic"),
        ),
        (".aiox/epic-5-state.yaml.bak", epic, vec![".aiox/epic-5-state.yaml"], None),
        (".aiox/a-state.yaml.migrated", "a: [\n", vec![], Some("it holds a file that cannot be parsed")),
        (".aiox/a-state.yaml.migrated", "a: 1\n", vec![".aiox/a-state.yaml"], Some("it holds no known kind of state")),
        (
            "docs/stories/.session-state.yaml.discarded.17",
            "session_state: {}\n",
            vec![],
            Some("discarded; it holds the session of Bob"),
        ),
    ] {
        let entry = |at: &str, look: Option<&str>| ListingEntry {
            path: path(at),
            is_dir: false,
            content: look.map(|text| Arc::from(text.as_bytes())),
        };
        let mut entries: Vec<ListingEntry> = others.iter().map(|other| entry(other, None)).collect();
        entries.push(entry(at, Some(text)));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let listing = Listing { root: Utf8PathBuf::from("/project"), entries, ..Listing::default() };
        let found = report_renamed(&listing, &entry(at, Some(text)), &original_of(&path(at)).unwrap());
        match (found, says) {
            (Some(found), Some(says)) => assert!(found.message.contains(says), "{at}: {}", found.message),
            (found, says) => assert_eq!(found.map(|found| found.message).as_deref(), says, "{at}"),
        }
    }
}
