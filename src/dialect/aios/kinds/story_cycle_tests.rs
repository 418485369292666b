use super::{implied, load};
use crate::{
    dialect::{
        aios::testing::{files, path},
        story,
    },
    model::{FindingCode, RunStatus, Severity, Status},
};

use Status::{Completed, Failed, InProgress, Pending};

const STORY: &str = "docs/stories/3.2.story.md";
const GATE: &str = "docs/qa/gates/3.2-login.yml";
const HALF: &str = "\n## Tasks / Subtasks\n\n- [x] Form\n- [ ] Send\n";
const ALL: &str = "\n## Tasks / Subtasks\n\n- [x] Form\n- [x] Send\n";

fn text(status: &str, tasks: &str) -> String {
    format!("# Story 3.2: Login\n\n**Status:** {status}\n{tasks}")
}

#[test]
fn the_status_of_a_story_says_which_phases_are_over() {
    for (status, tasks, expected, position) in [
        ("Draft", HALF, [Completed, Pending, Pending, Pending], Some("2_validate")),
        ("Ready", HALF, [Completed, Completed, Pending, Pending], Some("3_implement")),
        ("InProgress", HALF, [Completed, Completed, InProgress, Pending], Some("3_implement")),
        ("InProgress", "", [Completed, Completed, InProgress, Pending], Some("3_implement")),
        ("InProgress", ALL, [Completed, Completed, Completed, Pending], Some("4_qa")),
        ("InReview", HALF, [Completed, Completed, Completed, Pending], Some("4_qa")),
        ("Done", HALF, [Completed, Completed, Completed, Completed], None),
        ("Superseded", HALF, [Completed, Completed, Completed, Completed], None),
    ] {
        let text = text(status, tasks);
        let run = load(&files(&[(STORY, &text)])).run.unwrap();
        assert_eq!(run.steps.iter().map(|step| step.status).collect::<Vec<_>>(), expected, "{status}");
        assert_eq!(run.position.as_ref().map(|id| id.as_str()), position, "{status}");
        let is_over = matches!(status, "Done" | "Superseded");
        assert_eq!(run.status, if is_over { RunStatus::Completed } else { RunStatus::Active }, "{status}");
    }
}

#[test]
fn a_cycle_is_named_after_its_story_and_its_agents_after_the_task() {
    let text = format!("{}\n## Executor Assignment\n\nexecutor: \"@data-engineer\"\n", text("InProgress", HALF));
    let run = load(&files(&[(STORY, &text)])).run.unwrap();
    assert_eq!((run.id.as_str(), run.title.as_str()), ("sdc-3.2", "SDC for story 3.2"));
    assert_eq!(run.goal.as_deref(), Some("Story 3.2: Login"));
    let agents: Vec<&str> = run.steps.iter().filter_map(|step| step.agent.as_deref()).collect();
    assert_eq!(agents, ["sm", "po", "data-engineer", "qa"]);
    let parts: Vec<(&str, Status)> =
        run.steps[2].detail.parts.iter().map(|part| (part.title.as_str(), part.status)).collect();
    assert_eq!(parts, [("Form", Completed), ("Send", Pending)]);
}

#[test]
fn the_newest_gate_says_how_a_review_ended_and_the_status_never_does() {
    for (status, tasks, gate, review, says_done) in [
        ("InReview", ALL, "gate: FAIL\n", Failed, false),
        ("InReview", ALL, "gate: PASS\n", Pending, true),
        ("InReview", ALL, "gate: CONCERNS\n", Pending, true),
        ("InReview", ALL, "gate: LGTM\n", Pending, false),
        ("InProgress", ALL, "gate: FAIL\n", Failed, false),
        ("InProgress", HALF, "gate: FAIL\n", Failed, false),
        ("InProgress", HALF, "gate: PASS\n", Pending, false),
        ("Ready", HALF, "gate: FAIL\n", Pending, false),
        ("Done", ALL, "gate: FAIL\n", Completed, false),
    ] {
        let text = text(status, tasks);
        let run = load(&files(&[(STORY, &text), (GATE, gate)])).run.unwrap();
        let step = &run.steps[3];
        assert_eq!(step.status, review, "{status} {gate}");
        assert_eq!(step.proof.witnesses.iter().any(|witness| witness.done), says_done, "{status} {gate}");
        assert_eq!(step.returns_to.as_ref().map(|id| id.as_str()), Some("3_implement"));
    }
}

#[test]
fn a_failed_gate_comes_with_its_reasons_and_count() {
    let text = text("InReview", ALL);
    let gate = "gate: FAIL\niteration: 2\nstatus_reason: no tests\ntop_issues:\n  - finding: slow\n";
    let run = load(&files(&[(STORY, &text), (GATE, gate)])).run.unwrap();
    assert_eq!(run.steps[3].error.as_deref(), Some("no tests; slow"));
    assert_eq!(run.steps[3].failures, 2);
}

#[test]
fn what_a_person_should_know_is_said_with_its_line() {
    use FindingCode::{RunFailed, StatusAlias, StatusConflict, StatusUnknown, VerdictMissing, VerdictUnknown};
    for (status, gate, expected) in [
        ("InProgress", None, vec![]),
        ("InReview", None, vec![(VerdictMissing, Severity::Warning, Some(3))]),
        ("InReview", Some("gate: LGTM\n"), vec![(VerdictUnknown, Severity::Warning, Some(1))]),
        ("InReview", Some("gate: PASS\n"), vec![]),
        ("Blocked", None, vec![(RunFailed, Severity::Blocking, Some(3))]),
        ("Ready for Deploy", None, vec![(StatusAlias, Severity::Warning, Some(3))]),
        ("REVISADO", None, vec![(StatusUnknown, Severity::Blocking, Some(3))]),
        ("{Draft|Ready}", None, vec![(StatusUnknown, Severity::Blocking, None)]),
        ("InProgress\n\n## Status\n\nDone", None, vec![(StatusConflict, Severity::Warning, Some(7))]),
    ] {
        let text = text(status, HALF);
        let mut all = vec![(STORY, text.as_str())];
        all.extend(gate.map(|gate| (GATE, gate)));
        let loaded = load(&files(&all));
        let found: Vec<_> =
            loaded.findings.iter().map(|finding| (finding.code, finding.severity, finding.line)).collect();
        assert_eq!(found, expected, "{status}");
        let is_unknown = expected.iter().any(|(code, ..)| *code == StatusUnknown);
        assert_eq!(loaded.run.is_none(), is_unknown, "{status}");
    }
}

#[test]
fn only_stories_in_progress_or_in_review_imply_a_run() {
    for (at, status, expected) in [
        (STORY, "InProgress", Some(4)),
        (STORY, "Ready for Review", Some(5)),
        (STORY, "Draft", None),
        (STORY, "Ready", None),
        (STORY, "Done", None),
        (STORY, "Blocked", None),
        (STORY, "Superseded", None),
        (STORY, "PARTIAL", None),
        (STORY, "", None),
        ("docs/stories/EPIC-3-INDEX.md", "InProgress", None),
    ] {
        let text = text(status, HALF);
        assert_eq!(implied(&story::parse(&path(at), text.as_bytes())), expected, "{at} {status}");
    }
}

#[test]
fn a_story_that_cannot_be_read_is_said() {
    let mut set = files(&[(STORY, "")]);
    set.files.clear();
    let loaded = load(&set);
    assert!(loaded.run.is_none());
    assert_eq!(loaded.findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::StateUnreadable]);
}
