use std::sync::Arc;

use super::{is_session_file, probe};
use crate::{
    dialect::{Probed, ccw::testing::path},
    model::{FindingCode, Listing, ListingEntry, ReadSpec},
};

/// Makes a listing of paths; one that ends in `/` is a folder.
fn probed(paths: &[&str]) -> Probed {
    let mut entries: Vec<ListingEntry> = paths
        .iter()
        .map(|text| {
            let look = text.contains("named/").then(|| Arc::from(br#"{"session_id":"WFS-named"}"#.as_slice()));
            ListingEntry { path: path(text), is_dir: text.ends_with('/'), content: look }
        })
        .collect();
    entries.sort_by(|left, right| left.path.as_str().cmp(right.path.as_str()));
    probe(&Listing { entries, ..Listing::default() })
}

fn states(probed: &Probed) -> Vec<&str> {
    probed.candidates.iter().map(|candidate| candidate.state.as_str()).collect()
}

#[test]
fn sessions_come_in_the_order_of_discovery() {
    let found = probed(&[
        ".workflow/archives/WFS-old/workflow-session.json",
        ".workflow/WFS-legacy/workflow-session.json",
        ".workflow/active/WFS-b/.task/",
        ".workflow/active/WFS-a/workflow-session.json",
        ".workflow/sessions/WFS-s/.task/IMPL-1.json",
        ".workflow/archives/WFS-marked/.task/",
        ".workflow/.active-wfs-marked",
        "desktop/.workflow/active/WFS-nested/workflow-session.json",
        ".workflow/active/named/workflow-session.json",
        ".workflow/active/with-tasks/.task/IMPL-1.json",
    ]);
    let expected = [
        ".workflow/archives/WFS-marked",
        ".workflow/active/WFS-a",
        ".workflow/active/WFS-b",
        ".workflow/active/named",
        ".workflow/active/with-tasks",
        ".workflow/sessions/WFS-s",
        ".workflow/WFS-legacy",
        ".workflow/archives/WFS-old",
        "desktop/.workflow/active/WFS-nested",
    ];
    assert_eq!(states(&found), expected);
    assert!(found.findings.is_empty());
}

#[test]
fn a_candidate_names_all_that_is_read() {
    let found = probed(&["a/.workflow/active/WFS-x/workflow-session.json"]);
    let candidate = &found.candidates[0];
    assert_eq!(candidate.name, "WFS-x");
    let dir = "a/.workflow/active/WFS-x";
    let file = |name: &str| ReadSpec::File(path(&format!("{dir}/{name}")));
    let expected = [
        file("workflow-session.json"),
        file("TODO_LIST.md"),
        file("IMPL_PLAN.md"),
        file("plan.json"),
        ReadSpec::Contents { dir: path(&format!("{dir}/.task")), suffix: ".json" },
        ReadSpec::Contents { dir: path(&format!("{dir}/.summaries")), suffix: ".md" },
        ReadSpec::Contents { dir: path(&format!("{dir}/summaries")), suffix: ".md" },
        ReadSpec::Names { dir: path(&format!("{dir}/.summaries")) },
        ReadSpec::Names { dir: path(&format!("{dir}/summaries")) },
        ReadSpec::File(path("a/.workflow/.active-WFS-x")),
    ];
    assert_eq!(candidate.reads, expected);
}

#[test]
fn a_marker_without_a_session_is_reported() {
    let found = probed(&[
        ".workflow/.active-WFS-gone",
        ".workflow/.active-WFS-here",
        ".workflow/WFS-here/.task/",
        "other/.workflow/WFS-gone/.task/",
    ]);
    let orphans: Vec<&str> = found.findings.iter().map(|finding| finding.file.as_ref().unwrap().as_str()).collect();
    assert_eq!(orphans, [".workflow/.active-WFS-gone"]);
    assert_eq!(found.findings[0].code, FindingCode::MarkerOrphan);
}

#[test]
fn session_files_are_looked_into_only_where_sessions_are() {
    for (text, expected) in [
        (".workflow/active/WFS-x/workflow-session.json", true),
        ("pkg/.workflow/WFS-x/workflow-session.json", true),
        (".workflow/active/any/workflow-session.json", true),
        (".workflow/any/workflow-session.json", true),
        (".workflow/.scratch/workflow-session.json", false),
        (".workflow/active/workflow-session.json", false),
        (".workflow/active/WFS-x/.process/workflow-session.json", false),
        ("workflow-session.json", false),
        (".workflow", false),
        ("x.workflow/active/WFS-x/workflow-session.json", false),
    ] {
        assert_eq!(is_session_file(text), expected, "{text}");
    }
}
