use super::{SectionKind, Story, StoryStatus, parse, same_id};
use crate::model::RelPath;

use StoryStatus::{Blocked, Done, Draft, InProgress, InReview, Ready, TerminalOther, Unknown};

fn story(text: &str) -> Story<'_> {
    at("docs/stories/9.9.story.md", text)
}

fn at<'a>(path: &str, text: &'a str) -> Story<'a> {
    parse(&RelPath::parse(path).unwrap(), text.as_bytes())
}

fn status(text: &str) -> Option<StoryStatus> {
    story(text).status().map(|seen| seen.status)
}

#[test]
fn every_way_to_write_a_status_is_read_with_its_place() {
    for (encoding, text, line, column) in [
        ("bold", "# Story 1.2: Login\n\n**Status:** InProgress\n", 3, 13),
        ("bold, colon outside", "# Story 1.2: Login\n\n**Status**: InProgress\n", 3, 13),
        ("section", "# Story 1.2: Login\n\n## Status\n\nInProgress\n", 5, 1),
        ("section, bold value", "# Story 1.2: Login\n\n## Status\n\n**InProgress**\n", 5, 3),
        ("section, nested field", "# Story 1.2: Login\n\n## Status\n\n**Status:** InProgress\n", 5, 13),
        ("heading", "# Story 1.2: Login\n\n## Status: InProgress\n", 3, 12),
        ("heading, decorated", "# Story 1.2: Login\n\n## 🚦 Status: 🔄 In Progress\n", 3, 22),
        ("quote", "# Story 1.2: Login\n\n> **Status:** InProgress\n", 3, 15),
        ("list, bold", "# Story 1.2: Login\n\n- **Status:** InProgress\n", 3, 15),
        ("list", "# Story 1.2: Login\n\n- Status: InProgress\n", 3, 11),
        ("front matter", "---\nstory: 1.2\nstatus: in_progress\n---\n# Login\n", 3, 9),
        ("front matter below the title", "# Story 1.2\n---\nstatus: \"in-progress\"\n---\n", 3, 10),
        ("table", "# Story 1.2: Login\n\n| Field | Value |\n|---|---|\n| **Status** | In Progress |\n", 5, 16),
        ("checkbox field", "# Story 1.2: Login\n\n- Status: [x] In progress\n", 3, 15),
        ("metadata section", "# Story 1.2: Login\n\n## Metadata\n\n- **Status:** In Progress\n", 5, 15),
        ("Portuguese metadata", "# História 1.2\n\n## Metadados\n\n**Status:** Em Progresso\n", 5, 13),
    ] {
        for (ends, text) in [("LF", text.to_owned()), ("CRLF", text.replace('\n', "\r\n"))] {
            for (bom, text) in [("", text.clone()), ("BOM", format!("\u{feff}{text}"))] {
                let read = story(&text);
                let seen = read.status().unwrap_or_else(|| panic!("{encoding} {ends} {bom}"));
                assert_eq!(seen.status, InProgress, "{encoding} {ends} {bom}");
                assert_eq!((seen.line, seen.column), (line, column), "{encoding} {ends} {bom}");
                assert_eq!(read.contradictions().count(), 0, "{encoding} {ends} {bom}");
            }
        }
    }
}

#[test]
fn every_word_of_the_vocabulary_has_its_meaning() {
    for (expected, words) in [
        (
            Draft,
            "draft|Draft|planning|planned|planejado|rascunho|backlog|todo|To Do|pending|ready to draft|para_revisao",
        ),
        (Ready, "Ready|approved|aprovado|Ready for Development|ready-for-implementation|validado|✅ Approved"),
        (
            InProgress,
            "InProgress|In Progress|in_progress|doing|em progresso|em_execucao|Em Execução|active|development",
        ),
        (InReview, "InReview|review|Ready for Review|readyforreview|ready for QA|Implemented|implementado|en revisión"),
        (
            Done,
            "Done|complete|completed|completo|concluido|Concluído|shipped|released|merged|✅ **Done**|Done — 2026-02-01",
        ),
        (
            Done,
            "Done (PR #12)|Done - merged|Done: all green|`Done`|:white_check_mark: Done|Done ✅|Done <!-- by qa -->",
        ),
        (TerminalOther, "absorbed|Superseded|discarded|deferred|closed|promoted|Superseded → 3.2"),
        (InReview, "Ready for Review → Done"),
        (Blocked, "blocked|rejeitado|review_failed|Deployment Failed"),
        (Unknown, "REVISADO|PARTIAL|Scaffolded, nothing runs|Done, merged|half done|🤷 maybe"),
    ] {
        for word in words.split('|') {
            assert_eq!(status(&format!("# Story 1.2\n\n**Status:** {word}\n")), Some(expected), "{word}");
            assert_eq!(status(&format!("# Story 1.2\n\n## Status\n\n{word}\n")), Some(expected), "section: {word}");
        }
    }
}

#[test]
fn what_is_announced_is_done_with_a_question() {
    let text = "# Story 1.2\n\n**Status:** Ready for Deploy\n";
    let seen = story(text).status().cloned().unwrap();
    assert_eq!((seen.status, seen.is_provisional), (Done, true));
    assert!(!story("# Story 1.2\n\n**Status:** Done\n").status().unwrap().is_provisional);
}

#[test]
fn what_only_looks_like_a_status_is_none() {
    for (friend, text) in [
        ("fence", "# Story 1.2\n\n```ts\n**Status:** Done\nstatus: 'done'\n```\n"),
        ("type", "# Story 1.2\n\n```yaml\nstatus: string\n```\n"),
        ("comment", "# Story 1.2\n\n<!--\n**Status:** Done\n-->\n"),
        ("template in braces", "# Story 1.2\n\n**Status:** {Draft|Ready|InProgress}\n"),
        ("template of choices", "# Story 1.2\n\n**Status:** Draft | Ready | InProgress | Done\n"),
        ("template with angles", "# Story 1.2\n\n**Status:** <status>\n"),
        ("verdict of a gate", "# Story 1.2\n\n**Status:** PASS\n"),
        ("icons", "# Story 1.2\n\n**Status Icons:** Done\n"),
        ("current state", "# Story 1.2\n\n**Status Atual:** Done\n"),
        ("reason", "# Story 1.2\n\n**Status Reason:** Done\n"),
        ("a criterion's own", "# Story 1.2\n\n## Acceptance Criteria\n\n**Status:** Done\n"),
        ("a task's own", "# Story 1.2\n\n## Tasks / Subtasks\n\n**Status:** Done\n"),
        ("a nested item", "# Story 1.2\n\n- **Depends on:** 1.1\n  - **Status:** Done\n"),
        ("unticked", "# Story 1.2\n\n- Status: [ ] Done\n"),
        ("nothing", "# Story 1.2\n\n**Status:**\n"),
        ("empty file", ""),
    ] {
        assert_eq!(story(text).statuses, [], "{friend}");
    }
}

#[test]
fn a_value_with_more_fields_on_its_line_ends_at_the_bar() {
    assert_eq!(status("# Story 1.2\n\n> **Status:** InReview | **Points:** 3\n"), Some(InReview));
}

#[test]
fn the_first_status_wins_and_every_other_one_is_shown() {
    let text = "# Story 1.2\n\n**Status:** Ready for Review\n\n## Status\n\nDone\n\n## Dev Agent Record\n\n**Status:** InProgress\n  \
                **Status:** Draft\n\n## Acceptance Criteria\n\n**Status:** Blocked\n";
    let read = story(text);
    assert_eq!(read.status().map(|seen| (seen.status, seen.line)), Some((InReview, 3)));
    let others: Vec<(StoryStatus, u32, bool)> =
        read.contradictions().map(|seen| (seen.status, seen.line, seen.counts)).collect();
    assert_eq!(others, [(Done, 7, true), (InProgress, 11, false)]);
}

#[test]
fn a_status_far_from_the_header_alone_does_not_count() {
    let read = story("# Story 1.2\n\n## QA Results\n\n**Status:** Done\n");
    assert_eq!(read.status(), None);
    assert_eq!(read.statuses.len(), 1);
}

#[test]
fn two_unknown_words_contradict_each_other() {
    let read = story("# Story 1.2\n\n**Status:** PARTIAL\n\n## Status\n\nREVISADO\n");
    assert_eq!(read.contradictions().map(|seen| seen.raw.as_str()).collect::<Vec<_>>(), ["REVISADO"]);
}

#[test]
fn a_list_of_all_values_stands_at_the_last_tick_from_the_front() {
    for (list, expected) in [
        ("- [x] Rascunho\n- [x] Aprovado\n- [x] Em progresso\n- [ ] Concluído\n", vec![InProgress]),
        ("- [x] Draft\n- [ ] Ready\n- [ ] Done\n", vec![Draft]),
        ("- [ ] Draft\n- [ ] Ready\n- [x] Done\n", vec![Done]),
        ("- [x] Draft\n- [ ] Ready\n- [x] Done\n", vec![Draft, Done]),
        ("- [ ] Draft\n- [ ] Ready\n", vec![]),
        ("- [x] Tests pass everywhere\n", vec![]),
    ] {
        let text = format!("# Story 1.2\n\n## Status\n\n{list}\n## Tasks\n\n- [x] Done\n");
        let read = story(&text);
        assert_eq!(read.statuses.iter().map(|seen| seen.status).collect::<Vec<_>>(), expected, "{list}");
    }
}

#[test]
fn a_story_is_named_by_front_matter_then_field_then_title_then_file() {
    for (path, text, id) in [
        ("docs/stories/a.md", "---\nepic: 3\nstory: 10\n---\n# Story 1.2\n**Story ID:** 7.7\n", "3.10"),
        ("docs/stories/a.md", "---\nid: \"STORY-X-01\"\n---\n# Story 1.2\n", "STORY-X-01"),
        ("docs/stories/a.md", "# Story 1.2: Login\n\n**Story ID:** TD-006\n", "TD-006"),
        ("docs/stories/a.md", "# Story 1.10: Login\n", "1.10"),
        ("docs/stories/a.md", "# 📖 Story ACT-6 — Context\n", "ACT-6"),
        ("docs/stories/a.md", "# História 2.1: Entrar\n", "2.1"),
        ("docs/stories/a.md", "## Story 4.2: Second depth\n", "4.2"),
        ("docs/stories/a.md", "# OAuth2 Login\n", "a"),
        ("docs/stories/1.2.5.story.md", "# Login\n", "1.2.5"),
        ("docs/stories/1.2.login.story.md", "# Login\n", "1.2"),
        ("docs/stories/3.1/story.md", "# Login\n", "3.1"),
        ("docs/stories/INF-004-logs.md", "# Logs\n", "INF-004"),
        ("docs/stories/epics/epic-act/story-act-1-loader.md", "# Loader\n", "act-1"),
    ] {
        assert_eq!(at(path, text).id, id, "{path} {text}");
    }
    assert!(same_id("STORY-ACT-1", "act-1"));
    assert!(!same_id("1.1", "1.10"));
}

#[test]
fn reports_and_lists_beside_the_stories_are_none() {
    for (path, text, expected) in [
        ("docs/stories/1.2.story.md", "# Story 1.2: Login\n", true),
        ("docs/stories/login.md", "# Login\n\n## User Story\n\nAs a user\n", true),
        ("docs/stories/login.md", "# Login\n\n## História de Usuário\n\nComo\n", true),
        ("docs/stories/login.md", "# Login\n", false),
        ("docs/stories/STATUS.md", "# Story status 1.2\n", false),
        ("docs/stories/backlog.md", "# Story backlog\n", false),
        ("docs/stories/epic-5.md", "# Epic 5\n", false),
        ("docs/stories/EPIC-003-EXECUTION-REPORT.md", "# EPIC-003 Execution\n", false),
        ("docs/stories/EPIC-ACT-INDEX.md", "# Story index\n", false),
        ("docs/stories/3.1-qa-report.md", "# Story 3.1\n", false),
        ("docs/stories/notes.md", "# EPIC-003 notes\n", false),
    ] {
        assert_eq!(at(path, text).is_story(), expected, "{path}");
    }
}

#[test]
fn tasks_are_the_boxes_of_the_tasks_only() {
    let read = story(
        "# Story 1.2\n\n## Acceptance Criteria\n\n- [ ] a criterion\n\n## Tasks / Subtasks\n\n### Task 1: Form\n\n- [x] Form\n  \
         - [X] Field\n- [ ] Send\n1. [ ] Docs\n```\n- [ ] code\n```\n\n## Dev Notes\n\n- [ ] a note\n",
    );
    let tasks: Vec<(&str, bool, u32)> =
        read.tasks.iter().map(|task| (task.text.as_str(), task.done, task.line)).collect();
    assert_eq!(tasks, [("Form", true, 11), ("Field", true, 12), ("Send", false, 13), ("Docs", false, 14)]);
    assert_eq!(read.first_open_task().map(|task| task.text.as_str()), Some("Send"));
}

#[test]
fn the_executor_is_read_from_every_form_of_its_block() {
    for text in [
        "# Story 1.2\n\n## Executor Assignment\n\n```yaml\nexecutor: \"@data-engineer\"\nquality_gate: '@dev'\n```\n",
        "# Story 1.2\n\n## Executor Assignment\n\nexecutor: \"@data-engineer\"\n",
        "# Story 1.2\n\n**Executor:** @data-engineer (Dara)\n",
        "---\nexecutor: '@data-engineer'\n---\n# Story 1.2\n",
    ] {
        assert_eq!(story(text).executor.as_deref(), Some("data-engineer"), "{text}");
    }
    assert_eq!(story("# Story 1.2\n\n## Dev Notes\n\nexecutor: x\n").executor, None);
}

#[test]
fn the_file_list_is_read_from_items_and_tables() {
    let text = "# Story 1.2\n\n## Dev Agent Record\n\n### File List\n\n- `src/a.rs` (new)\n* src/b.rs: changed\n- none yet\n\
                | File | Change |\n|---|---|\n| `src/c.rs` | new |\n";
    assert_eq!(story(text).files, ["src/a.rs", "src/b.rs", "src/c.rs"]);
}

#[test]
fn a_section_is_compared_without_what_only_spaces_change() {
    let left = story("# Story 1.2\n\n## Acceptance Criteria\n\n1. It  works \n2. It lasts\n\n## Dev Notes\n\nleft\n");
    let right = story("# Story 1.2\n\n## Acceptance Criteria\n1. It works\n\n2. It lasts\n## Dev Notes\nright\n");
    assert_eq!(left.section(SectionKind::Acceptance), ["1. It works", "2. It lasts"]);
    assert_eq!(left.section(SectionKind::Acceptance), right.section(SectionKind::Acceptance));
    assert_ne!(left.section(SectionKind::DevNotes), right.section(SectionKind::DevNotes));
}

#[test]
fn bytes_that_are_no_text_are_read_as_far_as_they_go() {
    let path = RelPath::parse("docs/stories/1.2.story.md").unwrap();
    let read = parse(&path, b"# Story 1.2 \xff\xfe\n\n**Status:** Done \xff\n\0\n");
    assert_eq!(read.status().map(|seen| seen.status), Some(Done));
    for bytes in [&b"---\n"[..], b"#", b"|", b"- [", b"**", b"> > >", b"## Status:", b"<!--", b"```", b"\xef\xbb\xbf"] {
        assert_eq!(parse(&path, bytes).statuses, []);
    }
}
