use std::sync::Arc;

use super::{add_wanted, compare_with_git};
use crate::{
    dialect::{
        Loaded,
        aios::{
            kind::Kind,
            load, subject,
            testing::{files, path},
        },
    },
    model::{CommittedFile, CommittedState, Evidence, FileFact, FileSet},
};

const STORY: &str = "docs/stories/2.1.story.md";
const LOOP: &str = "qa/2.1/loop-status.json";

const TOLD: &str = "# Story 2.1: Sign in\n\n**Status:** InReview\n\n## Acceptance Criteria\n1. It works\n\n## Scope\n- all\n\n\
                    ## Tasks\n- [x] a\n\n## Dev Notes\nnone\n\n## File List\n- `src/a.rs`\n\n## Change Log\n- first\n\n## Links\n- x\n";

/// A loop in which a review (`fix` is false) or a fix comes next.
fn state(fix: bool) -> String {
    let entry = "{\"iteration\": 1, \"reviewedAt\": \"2026-03-01T10:00:00Z\", \"verdict\": \"REJECT\"}";
    format!(
        "{{\"storyId\": \"2.1\", \"currentIteration\": 1, \"maxIterations\": 5, \"status\": \"in_progress\", \"updatedAt\": \
         \"2026-03-01T11:30:00Z\", \"history\": [{}]}}",
        if fix { entry } else { "" }
    )
}

fn loaded(set: &FileSet) -> Loaded {
    let mut loaded = load(Kind::QaLoop, set);
    subject::attach(Kind::QaLoop, set, &mut loaded);
    add_wanted(set, &mut loaded);
    loaded
}

fn past(entries: &[(&str, &str, bool)]) -> Evidence {
    let file = |(at, text, since): &(&str, &str, bool)| {
        (path(at), CommittedFile { content: Some(Arc::from(text.as_bytes())), is_committed_since: *since })
    };
    let past = CommittedState { commit: "0123456789abcdef".to_owned(), files: entries.iter().map(file).collect() };
    Evidence { past: Some(past), ..Evidence::default() }
}

/// Returns `code severity` of what a changed story comes to.
fn found(then: &str, now: &str, committed: bool, fix: bool) -> Vec<String> {
    let state = state(fix);
    let set = files(&[(LOOP, &state), (STORY, now)]);
    let loaded = loaded(&set);
    let comparison = compare_with_git(&set, &loaded.run.unwrap(), &past(&[(STORY, then, committed)]));
    comparison.findings.iter().map(|finding| format!("{} {}", finding.code, finding.severity.as_str())).collect()
}

#[test]
fn a_story_is_compared_section_by_section() {
    for (from, to, committed, fix, expected) in [
        ("It works", "It works", true, true, None),
        ("It works", "It works twice", false, true, Some("story-changed warning")),
        ("- all", "- half of it", false, true, Some("story-changed warning")),
        // What a review judges by must not change under it.
        ("It works", "It works twice", false, false, Some("story-changed blocking")),
        ("- all", "- half of it", true, false, Some("story-changed blocking")),
        ("none", "look at b", true, false, Some("story-changed warning")),
        ("- first", "- first\n- second", true, true, Some("story-changed warning")),
        ("`src/a.rs`", "`src/b.rs`", true, true, Some("story-changed warning")),
        // Not committed: the work that was cut off may have written it.
        ("none", "look at b", false, false, Some("story-changed info")),
        ("- [x] a", "- [ ] a", true, false, Some("story-changed info")),
        ("- x", "- y", true, false, Some("story-changed info")),
        ("It works", "It   works  ", true, false, Some("story-changed info")),
    ] {
        let now = TOLD.replace(from, to);
        let expected: Vec<String> = expected.map(str::to_owned).into_iter().collect();
        assert_eq!(found(TOLD, &now, committed, fix), expected, "{from} to {to}, {committed} {fix}");
    }
    assert_eq!(found(TOLD, &TOLD.replace('\n', "\r\n"), true, false), ["story-changed info"]);
}

#[test]
fn the_message_names_the_sections_and_the_fix_shows_them() {
    let now = TOLD.replace("none", "see b").replace("- first", "- second");
    let set = files(&[(LOOP, &state(true)), (STORY, &now)]);
    let run = loaded(&set).run.unwrap();
    let comparison = compare_with_git(&set, &run, &past(&[(STORY, TOLD, true)]));
    let finding = &comparison.findings[0];
    assert!(finding.message.contains("story of 2.1") && finding.message.contains("(Dev Notes, Change Log)"));
    assert_eq!(finding.fix_text().as_deref(), Some("git diff 0123456789ab -- docs/stories/2.1.story.md"));
    let row = comparison.compared.iter().find(|row| row.file == STORY).unwrap();
    assert_eq!(
        (row.role.as_str(), row.critical, row.found.as_str()),
        ("story of 2.1", true, "changed: Dev Notes, Change Log")
    );
}

#[test]
fn files_of_the_open_work_that_commits_changed_are_named() {
    let set = files(&[(LOOP, &state(true)), (STORY, TOLD)]);
    let loaded = loaded(&set);
    assert!(loaded.wanted.past.as_ref().unwrap().files.contains(&path("src/a.rs")));
    let run = loaded.run.unwrap();
    for (committed, expected) in [(true, vec!["work-changed"]), (false, vec![])] {
        let comparison = compare_with_git(&set, &run, &past(&[(STORY, TOLD, false), ("src/a.rs", "x", committed)]));
        let codes: Vec<&str> = comparison.findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, expected);
    }
}

#[test]
fn branch_and_agent_are_looked_for_where_the_state_and_the_project_name_them() {
    let set = files(&[(LOOP, &state(true)), (STORY, TOLD)]);
    let mut run = loaded(&set).run.unwrap();
    run.workspace.branch = Some("story/2.1".to_owned());
    let there = |name: &str| {
        let fact = FileFact::Present { bytes: 9, modified: None, sha256: None, parses: None, violation: None };
        (path(&format!(".aiox-core/development/agents/{name}.md")), fact)
    };
    for (exists, checked_out, agents, expected) in [
        (Some(true), Some("story/2.1"), vec![there("dev")], vec![]),
        (Some(false), Some("main"), vec![], vec!["branch-mismatch warning"]),
        (Some(true), Some("main"), vec![], vec!["branch-mismatch warning"]),
        (None, None, vec![], vec![]),
        // The next step is a fix, for the developer.
        (None, None, vec![there("qa")], vec!["agent-missing warning"]),
    ] {
        let evidence = Evidence {
            branches: exists.map(|exists| ("story/2.1".to_owned(), exists)).into_iter().collect(),
            checked_out: checked_out.map(str::to_owned),
            files: agents.into_iter().collect(),
            ..Evidence::default()
        };
        let comparison = compare_with_git(&set, &run, &evidence);
        let found: Vec<String> = comparison
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.code, finding.severity.as_str()))
            .collect();
        assert_eq!(found, expected, "{exists:?} {checked_out:?}");
    }
}

#[test]
fn without_git_nothing_is_guessed() {
    let set = files(&[(LOOP, &state(false)), (STORY, TOLD)]);
    let comparison = compare_with_git(&set, &loaded(&set).run.unwrap(), &Evidence::default());
    assert_eq!(comparison.findings, []);
    assert_eq!(comparison.compared[0].found, "present; git has no earlier version");
}
