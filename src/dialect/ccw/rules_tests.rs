use serde_json::{Value, json};

use super::{StatusWord, TaskExecutor, interruption_kind, interruption_word, status_word};
use crate::{
    document::Node,
    model::{InterruptionKind, Status},
};

fn word_of(task: &Value) -> StatusWord {
    status_word(&Node::of(task))
}

#[test]
fn the_union_of_all_statuses_is_read() {
    for (text, status) in [
        ("pending", Status::Pending),
        ("active", Status::InProgress),
        ("in_progress", Status::InProgress),
        ("In-Progress", Status::InProgress),
        ("COMPLETED", Status::Completed),
        ("failed", Status::Failed),
        ("blocked", Status::Blocked),
        ("skipped", Status::Skipped),
        ("cancelled", Status::Cancelled),
    ] {
        assert_eq!(word_of(&json!({"status": text})), StatusWord::Known(status), "{text}");
    }
    assert_eq!(word_of(&json!({"status": "container"})), StatusWord::Container);
    assert_eq!(word_of(&json!({"status": null})), StatusWord::Missing);
    assert_eq!(word_of(&json!({"status": " "})), StatusWord::Missing);
    assert_eq!(word_of(&json!({})), StatusWord::Missing);
    let alias = |word: &str, status| StatusWord::Alias { word: word.to_owned(), status };
    assert_eq!(word_of(&json!({"status": "Not Started"})), alias("Not Started", Status::Pending));
    assert_eq!(word_of(&json!({"status": "WIP"})), alias("WIP", Status::InProgress));
    assert_eq!(word_of(&json!({"status": "done"})), alias("done", Status::Completed));
    for (text, status) in [
        ("inProgress", Status::InProgress),
        ("✅ completed", Status::Completed),
        ("**Done**", Status::Completed),
        ("已完成", Status::Completed),
        ("⏳ 进行中", Status::InProgress),
        ("待处理", Status::Pending),
        ("失败", Status::Failed),
    ] {
        assert_eq!(word_of(&json!({"status": text})), alias(text, status));
    }
    for text in ["未完成", "completed?no", "blocked by IMPL-1", "needs_review", "🎉"] {
        assert_eq!(word_of(&json!({"status": text})), StatusWord::Unknown(text.to_owned()));
    }
    assert_eq!(word_of(&json!({"status": "almost done"})), StatusWord::Unknown("almost done".to_owned()));
    assert_eq!(word_of(&json!({"status": true})), StatusWord::Unknown("true".to_owned()));
}

#[test]
fn agents_are_named_or_follow_from_the_type_and_the_time() {
    for (task, legacy, expected) in [
        (json!({"meta": {"agent": "@code-developer"}}), false, Some("code-developer")),
        (json!({"meta": {"agent": "codex", "type": "review"}}), false, Some("codex")),
        (json!({"agent": "planning-agent"}), true, Some("planning-agent")),
        (json!({"meta": {"type": "feature"}}), false, Some("code-developer")),
        (json!({"meta": {"type": "test-fix"}}), false, Some("test-fix-agent")),
        (json!({"meta": {"type": "review"}}), false, Some("universal-executor")),
        (json!({"meta": {"type": "docs"}}), false, Some("doc-generator")),
        (json!({"meta": {"type": "test"}}), true, Some("code-review-test-agent")),
        (json!({"meta": {"type": "review"}}), true, Some("code-review-agent")),
        (json!({"meta": {"type": "docs"}}), true, Some("code-developer")),
        (json!({"meta": {"type": "migration"}}), false, None),
        (json!({"meta": {"agent": "@"}}), false, None),
        (json!({"meta": 3}), false, None),
    ] {
        assert_eq!(TaskExecutor::of(&Node::of(&task)).agent(legacy).as_deref(), expected, "{task}");
    }
}

#[test]
fn interruptions_keep_their_word() {
    assert_eq!(interruption_kind("agent_timeout"), Some(InterruptionKind::AgentInterruption));
    assert_eq!(interruption_kind("task_failure"), Some(InterruptionKind::TaskFailure));
    assert_eq!(interruption_kind("Dependency Block"), Some(InterruptionKind::DependencyBlock));
    assert_eq!(interruption_kind("context_loss"), Some(InterruptionKind::ContextLost));
    assert_eq!(interruption_kind("hm"), None);
    let kind = InterruptionKind::AgentInterruption;
    assert_eq!(interruption_word(kind, "agent_timeout"), "agent_timeout");
    assert_eq!(interruption_word(kind, "the agent was lost"), "agent_interruption");
    assert_eq!(interruption_word(InterruptionKind::ContextLost, ""), "context_loss");
}
