use serde_json::{Value, json};

use super::{LIMIT, Subject, is_valid, validate, validate_edit};
use crate::model::Change;

/// The messages and pointers of what a schema objects to.
fn objections(subject: Subject, value: &Value) -> Vec<(String, String)> {
    validate(subject, value).into_iter().map(|finding| (finding.pointer.unwrap_or_default(), finding.message)).collect()
}

fn state() -> Value {
    json!({
        "feature_name": "real-time-quotes",
        "current_phase": 2,
        "current_step": 2.5,
        "last_execution": {
            "phase": 2, "step": "2.5", "agent": "user", "status": "waiting_approval",
            "timestamp": "2026-01-31T12:00:00.123456", "error_message": null, "mood": "hopeful"
        },
        "completed_steps": [{"phase": 1, "step": 9, "commit_sha": "a1b2c3d"}],
        "related_issues": [12, "13"],
        "total_phases": 3,
        "somebody_elses": {"field": [1]}
    })
}

/// Says where a schema judges a list by more than its entries, each by itself.
fn judged_as_a_whole(schema: &Value, pointer: &str, is_denied: bool, found: &mut Vec<String>) {
    // Which of several may hold for an object hangs on what stands beside the list.
    const OF_ALTERNATIVES: [&str; 5] = ["not", "if", "then", "else", "oneOf"];
    const OF_THE_LIST: [&str; 8] = [
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "prefixItems",
        "unevaluatedItems",
    ];
    for (key, value) in schema.as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{key}");
        if OF_THE_LIST.contains(&key.as_str()) || (is_denied && key == "items") {
            found.push(pointer.clone());
        }
        let is_choice = key == "properties" && pointer.contains("/anyOf/");
        let is_denied = is_denied || is_choice || OF_ALTERNATIVES.contains(&key.as_str());
        judged_as_a_whole(value, &pointer, is_denied, found);
    }
    for (at, value) in schema.as_array().into_iter().flatten().enumerate() {
        judged_as_a_whole(value, &format!("{pointer}/{at}"), is_denied, found);
    }
}

#[expect(clippy::disallowed_methods, reason = "reads a schema file of the repository")]
fn text_of(subject: Subject) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    std::fs::read_to_string(folder.join(format!("{}.schema.json", subject.as_str()))).unwrap()
}

#[test]
fn the_lists_of_state_files_are_judged_entry_by_entry() {
    for subject in Subject::ALL.into_iter().filter(|subject| *subject != Subject::Change) {
        let schema = serde_json::from_str(&text_of(subject)).unwrap();
        let mut found = Vec::new();
        judged_as_a_whole(&schema, "", false, &mut found);
        assert_eq!(found, [""; 0], "{}: what is left out of `dialect::news` would count", subject.as_str());
    }
}

#[test]
fn a_nine_step_state_with_unknown_fields_is_valid() {
    assert_eq!(objections(Subject::NineStepState, &state()), []);
}

#[test]
fn objections_say_where_and_what() {
    for (pointer, broken, message) in [
        ("/current_phase", json!(0), "/current_phase is 0, less than 1"),
        ("/current_phase", json!("two"), "/current_phase is text, a whole number is needed"),
        (
            "/current_step",
            json!(2.4),
            "/current_step is 2.4, one of 1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, `1`, `2`, `2.5`, `3`, `4`, `5`, `6`, `7`, `8`, `9` is needed",
        ),
        ("/last_execution", json!([]), "/last_execution is an array, an object is needed"),
        ("/feature_name", json!(""), "/feature_name is empty"),
        ("/completed_steps", json!("all"), "/completed_steps is text, an array is needed"),
        ("/worktree_path", json!(["/x"]), "/worktree_path is an array, text is needed"),
    ] {
        let mut value = state();
        value[&pointer[1..]] = broken;
        assert_eq!(objections(Subject::NineStepState, &value), [(pointer.to_owned(), message.to_owned())]);
    }
}

#[test]
fn missing_fields_are_named_one_by_one() {
    let messages: Vec<String> =
        objections(Subject::NineStepState, &json!({"feature_name": "x"})).into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        messages,
        [
            "the top level lacks the field `current_phase`",
            "the top level lacks the field `current_step`",
            "the top level lacks the field `last_execution`"
        ]
    );
    assert_eq!(
        objections(Subject::NineStepState, &json!([])),
        [(String::new(), "the top level is an array, an object is needed".to_owned())]
    );
}

#[test]
fn every_era_of_ccw_is_valid() {
    for (subject, value) in [
        (Subject::CcwSession, json!({"session_id": "WFS-a"})),
        (
            Subject::CcwSession,
            json!({"id": "WFS-a", "project": {"name": "x"}, "status": "role_analysis_in_progress",
                "depends_on": "WFS-b", "phases": [1], "phase": "two", "created": "2025-01-14", "resume_count": 2,
                "interruption_history": [{"timestamp": "2026-01-31", "reason": "crash", "affected_task": "IMPL-1"}]}),
        ),
        (
            Subject::CcwTask,
            json!({"id": "IMPL-1.2", "title": "t", "status": "pending", "meta": {"type": "feature", "agent": "@code-developer",
                "execution_group": null}, "context": {"requirements": ["r"], "depends_on": ["IMPL-1.1"], "parent": "IMPL-1"},
                "flow_control": {"pre_analysis": [{"step": "s", "command": "c"}], "implementation_approach": {"task_description": "d"},
                "target_files": ["a:b:1-2"]}}),
        ),
        (
            Subject::CcwTask,
            json!({"task_id": "T1", "title": "t", "dependencies": {"depends_on": [], "blocks": ["T2"]}}),
        ),
        (
            Subject::CcwTask,
            json!({"id": "L0", "title": "t", "description": "d", "depends_on": [], "convergence": {"criteria": ["c"]},
                "result": "done", "status_history": [{"from": null, "to": "pending", "changed_at": "x"}, {"status": "x", "at": "y"}],
                "subtasks": [{"id": "L0.1", "status": "pending"}], "沉淀位置": 1}),
        ),
    ] {
        assert_eq!(objections(subject, &value), [], "{value}");
    }
}

#[test]
fn a_task_without_an_id_is_reported_with_the_accepted_fields() {
    assert_eq!(
        objections(Subject::CcwTask, &json!({"title": "t"})),
        [(String::new(), "the top level needs one of the fields `id`, `task_id`".to_owned())]
    );
}

#[test]
fn what_the_change_schema_admits_is_what_the_type_reads() {
    for (value, admitted) in [
        (json!({"at": "2026-01-31T12:00:00Z", "change": "begin", "step": "IMPL-1"}), true),
        (json!({"at": "2026-01-31T12:00:00Z", "change": "finish", "step": "3", "status": "completed"}), true),
        (
            json!({"at": "2026-01-31T12:00:00Z", "change": "finish", "step": "3", "status": "failed",
                "outputs": ["a/b.txt"], "verdict": "NEEDS_REVISION", "set": {"x": [1]}}),
            true,
        ),
        (json!({"at": "2026-01-31T12:00:00Z", "change": "pause", "reason": null}), true),
        (json!({"at": "2026-01-31T12:00:00Z", "change": "start", "workflow": "nine-step", "feature": "f"}), true),
        (json!({"change": "begin", "step": "IMPL-1"}), false),
        (json!({"at": "2026-01-31T12:00:00Z", "change": "explode", "step": "IMPL-1"}), false),
        (json!({"at": "2026-01-31T12:00:00Z", "change": "begin", "step": 1}), false),
        (json!({"at": "2026-01-31T12:00:00Z", "change": "finish", "step": "3", "status": "done"}), false),
    ] {
        assert_eq!(is_valid(Subject::Change, &value), admitted, "{value}");
        assert_eq!(serde_json::from_value::<Change>(value.clone()).is_ok(), admitted, "{value}");
    }
}

#[test]
fn a_change_with_an_unknown_field_is_refused_by_the_schema() {
    let value = json!({"at": "2026-01-31T12:00:00Z", "change": "begin", "step": "1", "atempt": 2});
    assert_eq!(
        objections(Subject::Change, &value),
        [(String::new(), "the top level has fields that are not known: atempt".to_owned())]
    );
}

#[test]
fn messages_quote_little_and_mask_what_looks_like_a_key() {
    let mut value = state();
    value["current_step"] = json!(format!("ghp_0123456789abcdef\u{1b}[31m {}", "x".repeat(5000)));
    let found = objections(Subject::NineStepState, &value);
    assert!(found[0].1.starts_with("/current_step is `[masked]"), "{}", found[0].1);
    assert!(found[0].1.chars().count() <= 240);
}

#[test]
fn only_the_first_violations_are_reported() {
    let mut value = state();
    value["completed_steps"] = Value::Array(vec![json!("x"); 500]);
    assert_eq!(validate(Subject::NineStepState, &value).len(), LIMIT);
}

#[test]
fn an_edit_answers_only_for_what_it_broke() {
    let before = json!({"id": "IMPL-1", "status": "pending"});
    assert_eq!(validate(Subject::CcwTask, &before).len(), 1);
    assert_eq!(validate_edit(Subject::CcwTask, &before, &json!({"id": "IMPL-1", "status": "in_progress"})), []);
    let broken = validate_edit(Subject::CcwTask, &before, &json!({"id": "IMPL-1", "status": 3}));
    let messages: Vec<&str> = broken.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["/status is a number, text is needed"]);
}

#[test]
fn an_entry_that_moved_is_no_worse_than_it_was() {
    let mut before = state();
    before["completed_steps"] = json!([{"phase": 1, "step": 1, "status": "completed"}, {"step": 2}, {"step": 3}]);
    let mut after = before.clone();
    after["completed_steps"] = json!([{"step": 2}]);
    assert_eq!(validate_edit(Subject::NineStepState, &before, &after), []);
    after["completed_steps"] = json!([{"step": 2}, {"step": 3}, {"step": 4}]);
    let one_more = validate(Subject::NineStepState, &after).len() / 3;
    assert_eq!(
        validate_edit(Subject::NineStepState, &before, &after).len(),
        one_more,
        "one entry more is without a phase"
    );
}
