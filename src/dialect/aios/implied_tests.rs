use std::{collections::BTreeSet, sync::Arc};

use camino::Utf8PathBuf;

use super::candidates;
use crate::{
    dialect::aios::testing::path,
    model::{Candidate, Claim, Listing, ListingEntry, ReadSpec},
};

fn found(files: &[(&str, &str)]) -> Vec<Candidate> {
    let mut entries: Vec<ListingEntry> = files
        .iter()
        .map(|(at, text)| ListingEntry { path: path(at), is_dir: false, content: Some(Arc::from(text.as_bytes())) })
        .collect();
    entries.sort_by(|left, right| left.path.cmp(&right.path));
    candidates(
        &Listing { root: Utf8PathBuf::from("/project"), entries, ..Listing::default() },
        &BTreeSet::new(),
        &BTreeSet::new(),
        &mut Vec::new(),
    )
}

fn names(files: &[(&str, &str)]) -> Vec<String> {
    found(files).into_iter().map(|candidate| candidate.name).collect()
}

const ACTIVE: &str = "# Story 3.2: Login\n\n**Status:** InProgress\n";
const REVIEWED: &str = "# Story 3.3: Logout\n\n**Status:** InReview\n";
const DONE: &str = "# Story 3.1: Base\n\n**Status:** Done\n";

#[test]
fn stories_that_somebody_works_on_are_found_in_their_order() {
    let found = found(&[
        ("docs/stories/3.1.story.md", DONE),
        ("docs/stories/3.2.story.md", ACTIVE),
        ("docs/stories/active/3.3.story.md", REVIEWED),
        ("docs/stories/STATUS.md", ACTIVE),
        ("docs/stories/_archived/3.9.story.md", ACTIVE),
        ("docs/qa/3.8.story.md", ACTIVE),
    ]);
    let all: Vec<(&str, &str, Claim)> =
        found.iter().map(|run| (run.name.as_str(), run.state.as_str(), run.claim)).collect();
    assert_eq!(
        all,
        [
            ("sdc-3.2", "docs/stories/3.2.story.md", Claim::Implied { priority: 4 }),
            ("sdc-3.3", "docs/stories/active/3.3.story.md", Claim::Implied { priority: 5 }),
        ]
    );
}

#[test]
fn a_cycle_reads_its_story_and_the_gates_about_it() {
    let found = found(&[
        ("docs/qa/gates/3.2-login.yml", "gate: FAIL\n"),
        ("docs/qa/gates/3.20-other.yml", "gate: FAIL\n"),
        ("docs/qa/gates/copied.yml", "story: '3.2'\ngate: FAIL\n"),
        ("docs/stories/3.2.story.md", ACTIVE),
    ]);
    let reads: Vec<ReadSpec> = ["docs/stories/3.2.story.md", "docs/qa/gates/3.2-login.yml", "docs/qa/gates/copied.yml"]
        .map(|at| ReadSpec::File(path(at)))
        .to_vec();
    assert_eq!(found[0].reads, reads);
}

#[test]
fn a_pipeline_is_found_until_it_ends_or_its_story_is_told() {
    let gathered = ("docs/stories/4.1/spec/requirements.json", "{}");
    let critique = |text| ("docs/stories/4.1/spec/critique.json", text);
    for (files, expected) in [
        (vec![gathered], vec!["spec-4.1"]),
        (vec![gathered, critique("{\"verdict\": \"APPROVED\"}")], vec!["spec-4.1"]),
        (vec![gathered, ("docs/stories/4.1/spec/plan.json", "{}")], vec![]),
        (vec![gathered, ("docs/stories/4.1/spec/implementation.yaml", "a: 1\n")], vec![]),
        (vec![gathered, ("docs/stories/4.1.story.md", "# Story 4.1\n\n**Status:** Draft\n")], vec![]),
        (vec![gathered, ("docs/stories/4.10.story.md", "# Story 4.10\n")], vec!["spec-4.1"]),
        (vec![("docs/specs/login/requirements.json", "{}")], vec!["spec-login"]),
        (
            vec![
                ("docs/specs/login/requirements.json", "{}"),
                ("docs/specs/login/critique.json", "{\"critique\": {\"verdict\": \"APPROVED\"}}"),
            ],
            vec![],
        ),
        (
            vec![
                ("docs/stories/4.1/spec/requirements.yml", "a: 1\n"),
                ("docs/stories/4.1/spec/critique.yml", "verdict: APPROVED\n"),
            ],
            vec![],
        ),
    ] {
        assert_eq!(names(&files), expected, "{files:?}");
    }
}
