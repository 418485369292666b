//! The keys of a workflow and of its steps, and which of them go together. Pure.

use super::{StepReference, template::Template, values::one_or_more};
use crate::{
    document::{
        Kind, Node,
        definition::{Fields, Problems, Text, text_of},
    },
    model::{RelPath, StepId},
};

pub(super) const WORKFLOW_KEYS: [&str; 14] = [
    "name",
    "description",
    "inputs",
    "env",
    "secrets",
    "env_files",
    "timeout",
    "retry",
    "limits",
    "worktree",
    "merge",
    "steps",
    "at_end",
    "on_stop",
];

/// The keys that say what a step does.
pub(super) const KINDS: [&str; 6] = ["agent", "gate", "shell", "claude", "write_file", "steps"];
pub(super) const STEP_KEYS: [&str; 29] = [
    "id",
    "title",
    "agent",
    "gate",
    "shell",
    "claude",
    "write_file",
    "validate",
    "steps",
    "foreach",
    "options",
    "instructions",
    "depends_on",
    "reviews",
    "when",
    "uses",
    "outputs",
    "result",
    "parts",
    "timeout",
    "retry",
    "env",
    "secrets",
    "working_dir",
    "on_failure",
    "continue_on_error",
    "commit_required",
    "idempotent",
    "probe",
];
/// The further keys of a `claude` step.
pub(super) const CLAUDE_KEYS: [&str; 8] = [
    "model",
    "permission_mode",
    "allowed_tools",
    "disallowed_tools",
    "max_turns",
    "max_budget_usd",
    "continue",
    "on_denied",
];
/// The keys of a group of steps.
pub(super) const GROUP_KEYS: [&str; 5] = ["id", "title", "depends_on", "when", "steps"];
/// The keys that only a step of the workflow can have.
pub(super) const TOP_KEYS: [&str; 6] = ["depends_on", "reviews", "uses", "outputs", "parts", "instructions"];
/// Those of them that a step in a group for items has as well.
const ITEM_KEYS: [&str; 2] = ["instructions", "outputs"];
/// The further keys of a gate.
pub(super) const GATE_KEYS: [&str; 1] = ["options"];

/// The position of a step in its workflow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Top,
    /// In a group that runs for each item.
    Item,
    /// Inside another step.
    Nested,
}

pub(super) fn is_given(node: &Node, key: &str) -> bool {
    node.get(key).is_some_and(|value| value.kind != Kind::Null)
}

/// Returns the key that says what a step does.
pub(super) fn kind(
    node: &Node,
    map: &Fields<'_>,
    (level, has_id): (Level, bool),
    problems: &mut Problems<'_>,
) -> Option<&'static str> {
    let has = |key: &str| map.members.iter().any(|member| member.key == key);
    let is_closed_gate = node.get("gate").is_some_and(|gate| matches!(gate.kind, Kind::Bool(false) | Kind::Null));
    let mut given: Vec<&str> = KINDS.into_iter().filter(|key| has(key)).collect();
    given.retain(|key| *key != "gate" || !is_closed_gate);
    let first = given.first().copied();
    match (given.as_slice(), level) {
        ([], Level::Top) if has_id => Some("agent"),
        ([], Level::Top) => {
            problems.add(node.place, "a step needs an `id`", "add `id:`, and what the step does");
            None
        }
        (["agent" | "gate"], Level::Top) if !has_id => {
            problems.add(node.place, "a step needs an `id`", "add `id:`");
            None
        }
        (["gate"], Level::Item) | (["agent" | "gate"], Level::Nested) => {
            let message = format!("`{}` is for a step of the workflow, and this one is inside another", given[0]);
            problems.add(node.place, message, "make it a step of the workflow");
            None
        }
        (["agent", "gate"], Level::Top) => {
            // The checker names both.
            Some("gate")
        }
        ([_], _) => first,
        (several, _) => {
            let message = match several {
                [] => "the step has no command".to_owned(),
                several => format!("a step has one command, and this one has {}", several.join(" and ")),
            };
            problems.add(node.place, message, format!("give it one of {}", KINDS.join(", ")));
            None
        }
    }
}

/// Refuses keys that mean nothing for a step inside another one.
pub(super) fn only_at_the_top(map: &Fields<'_>, level: Level, problems: &mut Problems<'_>) {
    let is_top = |key: &str| TOP_KEYS.contains(&key) && !(level == Level::Item && ITEM_KEYS.contains(&key));
    for member in map.members.iter().filter(|member| is_top(&member.key)) {
        let message = format!("`{}` is for a step of the workflow, and this one is inside another", member.key);
        problems.add(member.place, message, "remove it, or make the step one of the workflow");
    }
}

pub(super) fn references(node: &Node, problems: &mut Problems<'_>) -> Vec<StepReference> {
    let mut needs: Vec<StepReference> = Vec::new();
    for item in one_or_more(node) {
        if let Some(id) = text_of(item, "an entry of `depends_on`", problems)
            && needs.iter().all(|other| other.id.as_str() != id.text)
        {
            needs.push(reference(id));
        }
    }
    needs
}

pub(super) fn reference(text: Text) -> StepReference {
    StepReference { id: StepId::new(&text.text), place: text.place }
}

/// Refuses a folder that is outside of the project in any case; what a variable makes of it is known when the step begins.
pub(super) fn working_folder(folder: Option<&Template>, problems: &mut Problems<'_>) {
    let Some(folder) = folder else { return };
    let text = folder.to_string();
    let is_outside = match folder.references().is_empty() {
        true => text != "." && RelPath::parse(&text).is_err(),
        false => text.starts_with('/') || text.split('/').any(|part| part == ".."),
    };
    if is_outside {
        let message = "`working_dir` must be a relative path inside the project";
        problems.add(folder.place, message, "write a path relative to the project, without `..`");
    }
}
