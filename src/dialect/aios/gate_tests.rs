use super::{Gate, GateDecision, newest};
use crate::{dialect::aios::testing::files, model::FindingCode};

const STORY: (&str, &str) = ("docs/stories/1.2.story.md", "# Story 1.2\n");

fn only(name: &str, text: &str) -> Option<Gate> {
    let mut findings = Vec::new();
    let gate = newest(&files(&[STORY, (name, text)]), "1.2", &mut findings);
    assert_eq!(findings, [], "{name}");
    gate
}

#[test]
fn each_of_the_three_shapes_is_read() {
    let name = "docs/qa/gates/1.2-login.yml";
    for (shape, text, decision, word, line) in [
        ("BMAD", "schema: 1\nstory: '1.2'\ngate: PASS\nwaiver: {active: false}\n", GateDecision::Pass, "PASS", 3),
        ("BMAD, concerns", "schema: 1\nstory: '1.2'\ngate: CONCERNS\n", GateDecision::Pass, "CONCERNS", 3),
        ("BMAD, waived", "story: '1.2'\ngate: WAIVED\n", GateDecision::Pass, "WAIVED", 2),
        ("BMAD with a mark", "\u{feff}schema: 1\r\nstory: '1.2'\r\ngate: FAIL\r\n", GateDecision::Fail, "FAIL", 3),
        ("verdict", "storyId: 1.2\nreviewDate: 2026-02-01\nverdict: APPROVED\n", GateDecision::Pass, "APPROVED", 3),
        ("nexos", "storyId: \"1.2\"\nverdict: REJECT\nscore: \"3/7\"\niteration: 2\n", GateDecision::Fail, "REJECT", 2),
        ("no story inside", "gate: PASS\n", GateDecision::Pass, "PASS", 1),
        ("JSON", "{\"storyId\": \"1.2\",\n \"verdict\": \"NEEDS_WORK\"}\n", GateDecision::Fail, "NEEDS_WORK", 2),
        ("unknown word", "story: '1.2'\ngate: LGTM\n", GateDecision::Unknown, "LGTM", 2),
    ] {
        let gate = only(name, text).unwrap_or_else(|| panic!("{shape}"));
        assert_eq!((gate.decision, gate.word.as_str(), gate.line), (decision, word, line), "{shape}");
    }
}

#[test]
fn the_gate_of_another_story_says_nothing() {
    for (name, text) in [
        ("docs/qa/gates/1.20-other.yml", "gate: PASS\n"),
        ("docs/qa/gates/1.2-copied.yml", "story: '1.20'\ngate: PASS\n"),
        ("docs/qa/gates/1.2-draft.yml", "story: '1.2'\n"),
        ("docs/qa/1.2-login.yml", "story: '1.2'\ngate: PASS\n"),
    ] {
        assert_eq!(only(name, text), None, "{name}");
    }
}

#[test]
fn the_newest_gate_counts_by_stamp_then_iteration() {
    for (left, right, word) in [
        ("gate: FAIL\nupdated: 2026-02-02T10:00:00Z\n", "gate: PASS\nupdated: 2026-02-01T10:00:00Z\n", "FAIL"),
        ("gate: FAIL\nupdated: 2026-02-01T10:00:00Z\n", "gate: PASS\nupdated: 2026-02-02T10:00:00Z\n", "PASS"),
        ("gate: FAIL\niteration: 3\n", "gate: PASS\niteration: 2\n", "FAIL"),
        ("gate: FAIL\n", "gate: PASS\nupdated: 2026-02-01\n", "PASS"),
    ] {
        let set = files(&[STORY, ("docs/qa/gates/1.2-a.yml", left), ("docs/qa/gates/1.2-b.yml", right)]);
        assert_eq!(newest(&set, "1.2", &mut Vec::new()).map(|gate| gate.word).as_deref(), Some(word), "{left}");
    }
}

#[test]
fn what_has_to_be_mended_comes_with_it() {
    let text = "story: '1.2'\ngate: FAIL\nstatus_reason: 'two tests missing'\ntop_issues:\n  - id: T-1\n    finding: no test\n  - \
                plain words\n";
    let gate = only("docs/qa/gates/1.2-login.yml", text).unwrap();
    assert_eq!(gate.reasons, ["two tests missing", "no test", "plain words"]);
}

#[test]
fn a_gate_that_cannot_be_read_is_said() {
    for text in ["gate: [", "", "--- \na: 1\n---\nb: 2\n"] {
        let mut findings = Vec::new();
        let set = files(&[STORY, ("docs/qa/gates/1.2-login.yml", text)]);
        assert_eq!(newest(&set, "1.2", &mut findings), None, "{text:?}");
        assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::PartUnreadable]);
    }
}
