//! The kinds of steps that have keys of their own, and what runs around a step. Pure.

use serde_json::Value;

use super::{
    ClaudeOptions, Conversation, FileFormat, Foreach, Gate, Instructions, Items, Step, StepReference, When, WriteFile,
    condition::{Condition, Operand},
    json_path::JsonPath,
    policy,
    selection::{self, SortKey},
    template::{Reader, Template},
    values::{one_or_more, template, template_of},
};
use crate::{
    document::{
        Kind, Node,
        definition::{Fields, Problems, Text, text_of},
    },
    model::{StepId, clean_line},
};

const FOREACH_KEYS: [&str; 9] =
    ["items", "where", "sort_by", "max_items", "parallel", "timeout", "continue_on_error", "max_failures", "worktree"];
const ITEMS_KEYS: [&str; 2] = ["file", "at"];
const FILE_KEYS: [&str; 5] = ["path", "content", "format", "mode", "create_dirs"];

/// Reads `foreach`: the items, or a mapping with them.
pub(super) fn foreach(node: &Node, steps: Vec<Step>, problems: &mut Problems<'_>) -> Option<Foreach> {
    if !matches!(node.kind, Kind::Map(_)) {
        let items = listed(node, problems)?;
        return Some(Foreach {
            items,
            steps,
            parallel: 1,
            continue_on_error: false,
            max_failures: None,
            max_items: None,
            only: None,
            sort_by: Vec::new(),
            item_timeout: None,
            in_worktrees: false,
        });
    }
    let mut map = Fields::of(node, "`foreach`", &FOREACH_KEYS, problems)?;
    let given = map.take("items");
    let parallel = match map.take("parallel") {
        Some(Node { kind: Kind::Bool(false), .. }) | None => 1,
        Some(Node { kind: Kind::Bool(true), .. }) => 4,
        Some(node) => policy::count(node, "`parallel`", (1, 64), problems).map_or(1, |count| count as usize),
    };
    let continue_on_error = map.flag("continue_on_error", problems).unwrap_or(false);
    let max_items = map.take("max_items").and_then(|node| policy::count(node, "`max_items`", (1, 100_000), problems));
    let only = map.take("where").and_then(|node| condition(node, "`where`", problems));
    let sort_by = map.text("sort_by", problems).and_then(|text| sort_by(&text, problems)).unwrap_or_default();
    let item_timeout = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    let in_worktrees = map.text("worktree", problems).is_some_and(|text| in_worktrees(&text, problems));
    let most = map.take("max_failures");
    let most = most.and_then(|node| policy::count(node, "`max_failures`", (0, 100_000), problems));
    let Some(given) = given else {
        problems.add(node.place, "`foreach` needs `items`", "add `items:` with a list, or a command that prints them");
        return None;
    };
    let items = listed(given, problems)?;
    Some(Foreach {
        items,
        steps,
        parallel,
        continue_on_error: continue_on_error || most.is_some(),
        max_failures: most.map(|count| count as usize),
        max_items: max_items.map(|count| count as usize),
        only,
        sort_by,
        item_timeout,
        in_worktrees,
    })
}

/// Reads a condition.
pub(super) fn condition(node: &Node, what: &str, problems: &mut Problems<'_>) -> Option<When> {
    if let Kind::Bool(value) = node.kind {
        let condition = Condition::Value(Operand::Literal(Value::Bool(value)));
        return Some(When { condition, place: node.place, group_place: None });
    }
    let text = text_of(node, what, problems)?;
    match Condition::parse(&text.text) {
        Ok(condition) => Some(When { condition, place: text.place, group_place: None }),
        Err(message) => {
            problems.add(text.place, format!("{what}: {message}"), "correct the expression");
            None
        }
    }
}

fn sort_by(text: &Text, problems: &mut Problems<'_>) -> Option<Vec<SortKey>> {
    let read = selection::keys(&text.text);
    let wrong = |message: String| {
        problems.add(
            text.place,
            format!("`sort_by`: {message}"),
            "write paths with ASC or DESC: `priority DESC, name`",
        );
    };
    read.map_err(wrong).ok()
}

fn in_worktrees(text: &Text, problems: &mut Problems<'_>) -> bool {
    if text.text != "each" {
        let message = format!("`worktree` is each, not `{}`", clean_line(&text.text, 40));
        problems.add(
            text.place,
            message,
            "write `worktree: each`, or remove it: the items share the worktree of the run",
        );
    }
    text.text == "each"
}

fn listed(node: &Node, problems: &mut Problems<'_>) -> Option<Items> {
    match &node.kind {
        Kind::List(list) => {
            let items =
                list.iter().filter_map(|item| template_of(item, "an item of `foreach`", Reader::Plain, problems));
            Some(Items::List(items.collect()))
        }
        Kind::Map(_) => {
            let mut map = Fields::of(node, "`items`", &ITEMS_KEYS, problems)?;
            let file = map.text("file", problems);
            let at = map.text("at", problems);
            let Some(file) = file else {
                problems.add(node.place, "`items` needs a `file`", "add `file:` with the path of a JSON file");
                return None;
            };
            let path = match at.as_ref().map_or(Ok(JsonPath::root()), |at| JsonPath::parse(&at.text)) {
                Ok(path) => path,
                Err(message) => {
                    problems.add(at?.place, message, "write a path like `$.items[*]`");
                    return None;
                }
            };
            Some(Items::File { file: template(&file, Reader::Plain, problems)?, path })
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
            template_of(node, "the items of `foreach`", Reader::Shell, problems).map(Items::Command)
        }
    }
}

pub(super) fn write_file(node: &Node, problems: &mut Problems<'_>) -> Option<WriteFile> {
    let mut map = Fields::of(node, "`write_file`", &FILE_KEYS, problems)?;
    let path = map.text("path", problems).and_then(|text| template(&text, Reader::Plain, problems));
    let content = match map.take("content") {
        // An empty file is a file.
        Some(Node { kind: Kind::Text(text), .. }) if text.trim().is_empty() => {
            Template::parse(text, Reader::Plain).ok()
        }
        Some(node) => template_of(node, "`content`", Reader::Plain, problems),
        None => None,
    };
    let format = map.text("format", problems).map_or(Some(FileFormat::Text), |text| match text.text.as_str() {
        "text" => Some(FileFormat::Text),
        "json" => Some(FileFormat::Json),
        "yaml" => Some(FileFormat::Yaml),
        other => {
            let message = format!("`{}` is not a file format", clean_line(other, 40));
            problems.add(text.place, message, "use text, json or yaml");
            None
        }
    });
    let mode = map.text("mode", problems).map_or(Some(0o644), |text| {
        let mode = u32::from_str_radix(text.text.trim_start_matches("0o"), 8).ok().filter(|mode| *mode <= 0o777);
        if mode.is_none() {
            problems.add(text.place, "`mode` is an octal number from 0 to 0777", "write it like `\"0644\"`");
        }
        mode
    });
    let create_dirs = map.flag("create_dirs", problems).unwrap_or(false);
    if path.is_none() || content.is_none() {
        problems.add(node.place, "`write_file` needs a `path` and a `content`", "add `path:` and `content:`");
    }
    Some(WriteFile { path: path?, content: content?, format: format?, mode: mode?, create_dirs })
}

/// Reads instructions.
pub(super) fn told(text: Text, problems: &mut Problems<'_>) -> Option<Instructions> {
    let template = template(&text, Reader::Plain, problems)?;
    Some(Instructions { text: text.text, template })
}

/// Reads the options of a `claude` step.
pub(super) fn claude_options(map: &mut Fields<'_>, problems: &mut Problems<'_>) -> ClaudeOptions {
    let mut texts = |key: &str, problems: &mut Problems<'_>| -> Vec<String> {
        let node = map.take(key);
        let listed = node.map(one_or_more).unwrap_or_default().iter();
        listed.filter_map(|item| Some(text_of(item, &format!("an entry of `{key}`"), problems)?.text)).collect()
    };
    let (allowed_tools, disallowed_tools) = (texts("allowed_tools", problems), texts("disallowed_tools", problems));
    let turns = map.take("max_turns");
    let budget = map.take("max_budget_usd");
    let conversation = map.take("continue").map(|node| conversation(node, problems)).unwrap_or_default();
    let fails_on_denied = map.text("on_denied", problems).is_some_and(|text| fails_on_denied(&text, problems));
    ClaudeOptions {
        model: map.text("model", problems).map(|text| text.text),
        permission_mode: map.text("permission_mode", problems).map(|text| text.text),
        allowed_tools,
        disallowed_tools,
        max_turns: turns.and_then(|node| policy::count(node, "`max_turns`", (1, 100_000), problems)),
        max_budget_usd: budget.and_then(|node| policy::number(node, "`max_budget_usd`", 1_000_000.0, problems)),
        conversation,
        fails_on_denied,
    }
}

fn conversation(node: &Node, problems: &mut Problems<'_>) -> Conversation {
    match node.kind {
        Kind::Bool(true) => Conversation::OfTries,
        Kind::Bool(false) | Kind::Null => Conversation::New,
        Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => match text_of(node, "`continue`", problems) {
            Some(text) => Conversation::Of(StepReference { id: StepId::new(&text.text), place: text.place }),
            None => Conversation::New,
        },
    }
}

fn fails_on_denied(text: &Text, problems: &mut Problems<'_>) -> bool {
    match text.text.as_str() {
        "fail" => true,
        "warn" => false,
        other => {
            let message = format!("`on_denied` is fail or warn, not `{}`", clean_line(other, 40));
            problems.add(text.place, message, "write `on_denied: fail`, or remove it");
            false
        }
    }
}

/// Reads `gate`.
pub(super) fn gate(
    node: &Node,
    agent: Option<Text>,
    instructions: Option<Instructions>,
    problems: &mut Problems<'_>,
) -> Option<Gate> {
    let fix = "write `gate: true`, or name the approver";
    let text = match &node.kind {
        Kind::Bool(_) | Kind::Null => None,
        Kind::Text(text) if !text.trim().is_empty() => Some(text.clone()),
        Kind::Text(_) => {
            problems.add(node.place, "this gate does not say who approves it", fix);
            return None;
        }
        Kind::Number(_) | Kind::List(_) | Kind::Map(_) => {
            let message = format!("`gate` is true or the name of the approver, not {}", node.what());
            problems.add(node.place, message, fix);
            return None;
        }
    };
    Some(Gate {
        text,
        instructions,
        options: Vec::new(),
        agent: agent.map(|agent| (agent.text, agent.place)),
        place: node.place,
    })
}
