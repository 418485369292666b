use std::sync::Arc;

use super::extra_probe_paths;
use crate::model::{Listing, ListingEntry, RelPath};

fn named(files: &[(&str, &str)]) -> Vec<String> {
    let entry = |(name, text): &(&str, &str)| ListingEntry {
        path: RelPath::parse(name).unwrap(),
        is_dir: false,
        content: Some(Arc::from(text.as_bytes())),
    };
    let mut entries: Vec<ListingEntry> = files.iter().map(entry).collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let listing = Listing { entries, ..Listing::default() };
    extra_probe_paths(&listing).into_iter().map(String::from).collect()
}

#[test]
fn settings_say_where_stories_lie() {
    for (name, text) in [
        ("config.yaml", "storiesDir: work/stories\n"),
        (".aios/config.yaml", "epicsDir: work/stories/\n"),
        (".aiox/config.yml", "stories: { location: work/stories }\n"),
    ] {
        let files = [(name, text), ("work/stories/1.1.md", ""), ("work/stories/a.txt", ""), ("work/x.md", "")];
        assert_eq!(named(&files), ["work/stories/1.1.md"], "{name}");
    }
    assert_eq!(named(&[("config.yaml", "storiesDir: ../x\n"), ("a.md", "")]), [""; 0]);
    assert_eq!(named(&[("config.yaml", "a: [\n"), ("a.md", "")]), [""; 0]);
}

#[test]
fn the_plan_of_an_epic_is_looked_at_wherever_it_lies() {
    let state = "epic_state:\n  epicId: 5\n  execution_plan: plans/EPIC-5-EXECUTION.yaml\n";
    assert_eq!(named(&[(".aios/epic-5-state.yaml", state)]), ["plans/EPIC-5-EXECUTION.yaml"]);
    assert_eq!(named(&[("x/.aios/epic-5-state.yaml", state)]), ["x/plans/EPIC-5-EXECUTION.yaml"]);
}
