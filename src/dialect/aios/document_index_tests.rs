use std::sync::Arc;

use super::{DocumentIndex, StoryLocation};
use crate::{
    dialect::aios::execution,
    model::{Listing, ListingEntry, RelPath},
};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn listing(files: &[(&str, &str)]) -> Listing {
    let mut entries: Vec<ListingEntry> = files
        .iter()
        .map(|(name, text)| ListingEntry { path: path(name), is_dir: false, content: Some(Arc::from(text.as_bytes())) })
        .collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Listing { entries, ..Listing::default() }
}

#[test]
fn a_story_lies_where_the_plan_says_and_is_else_found_by_its_id() {
    let listing = listing(&[
        ("docs/stories/epics/x/a.md", "# Story 1.1: A\n"),
        ("docs/stories/1.2.full.md", "# Story 1.2: B\n"),
        ("docs/stories/1.10.story.md", "# Story 1.10: Ten\n"),
        ("docs/stories/1.1-report.md", "# Report\n"),
        ("other/docs/stories/2.1.story.md", "# Story 2.1: Elsewhere\n"),
    ]);
    let documents = DocumentIndex::of_listing(&listing);
    let plan = execution::read(
        b"execution:\n  storyBasePath: docs/stories/epics/x/\n  stories:\n    1.1: { file: a.md }\n    1.2: { file: \
          docs/stories/1.2.full.md }\n    1.3: { file: gone.md }\n    1.4: { file: docs/gone.md }\n    1.10: { title: x }\n",
    )
    .unwrap();
    for (base, id, expected) in [
        ("", "1.1", StoryLocation::At(path("docs/stories/epics/x/a.md"))),
        ("", "1.2", StoryLocation::At(path("docs/stories/1.2.full.md"))),
        ("", "1.3", StoryLocation::Missing(path("docs/stories/epics/x/gone.md"))),
        ("", "1.4", StoryLocation::Missing(path("docs/gone.md"))),
        ("", "1.10", StoryLocation::At(path("docs/stories/1.10.story.md"))),
        ("", "2.1", StoryLocation::NotFound),
        ("other/", "2.1", StoryLocation::At(path("other/docs/stories/2.1.story.md"))),
        ("", "../../etc", StoryLocation::NotFound),
    ] {
        assert_eq!(documents.locate(base, Some(&plan), id), expected, "{base}{id}");
    }
    // Without a plan, and `1.10` is not `1.1`.
    assert_eq!(documents.locate("", None, "1.10"), StoryLocation::At(path("docs/stories/1.10.story.md")));
    assert_eq!(documents.locate("", None, "1.1"), StoryLocation::NotFound);
}
