//! From the tree of a file in the language of `workflow/2` to a [`Workflow`]. Pure; every mistake becomes a finding with its position.

use serde_json::Value;

use super::{
    Input, InputKind, Merge, SpendingLimits, Workflow, WorktreeFiles, artifacts, check,
    include::Includes,
    keys::WORKFLOW_KEYS,
    needs, order,
    policy::{self, Inherited},
    step,
    template::Reader,
    values::{env, one_or_more, secrets, template, variable_name},
};
use crate::{
    document::{
        Kind, Node,
        definition::{Fields, Problems, Text, items, text_of},
    },
    model::{RelPath, clean_line},
};

const WORKTREE_KEYS: [&str; 2] = ["copy", "link"];
const LIMIT_KEYS: [&str; 4] = ["time", "cost_usd", "attempts", "wait"];
const INPUT_KEYS: [&str; 5] = ["type", "description", "default", "choices", "pattern"];
const MERGE_KEYS: [&str; 2] = ["steps", "timeout"];

/// Reads a workflow. `stem` is its name where the file has none.
pub(super) fn workflow(root: &Node, stem: &str, includes: &mut Includes<'_>, problems: &mut Problems<'_>) -> Workflow {
    let mut read = Workflow { name: stem.to_owned(), ..Workflow::default() };
    let root = without_extensions(root);
    let Some(mut map) = Fields::of(&root, "a workflow", &WORKFLOW_KEYS, problems) else { return read };
    if let Some(name) = map.text("name", problems) {
        read.name = clean_line(&name.text, 120);
    }
    read.description = map.text("description", problems).map(|text| text.text);
    read.inputs = map.take("inputs").map(|node| inputs(node, problems)).unwrap_or_default();
    read.env = map.take("env").map(|node| env(node, problems)).unwrap_or_default();
    read.secrets = map.take("secrets").map(|node| secrets(node, problems)).unwrap_or_default();
    if let Some(node) = map.take("env_files") {
        let files = items(node, "`env_files`", problems).iter();
        let files: Vec<Text> = files.filter_map(|file| text_of(file, "an entry of `env_files`", problems)).collect();
        read.env_files = files.iter().filter_map(|file| template(file, Reader::Plain, problems)).collect();
    }
    let inherited = Inherited {
        timeout: map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems)),
        retry: map.take("retry").and_then(|node| policy::retry(node, problems)),
    };
    read.merge = map.take("merge").and_then(|node| merge(node, problems));
    read.limits = map.take("limits").map(|node| limits(node, problems)).unwrap_or_default();
    read.worktree = map.take("worktree").map(|node| worktree(node, problems)).unwrap_or_default();
    match map.take("steps") {
        Some(node) => {
            let listed = step::listed(node, &inherited, includes, problems);
            read.steps = order::resolve(listed, problems);
            needs::name(&mut read.steps);
        }
        None => problems.add(root.place, "a workflow needs steps", "add `steps:` with a list of steps"),
    }
    if let Some(node) = map.take("at_end") {
        order::at_the_end(&mut read.steps, step::at_end(node, &inherited, problems));
    }
    if let Some(node) = map.take("on_stop") {
        read.on_stop = step::nested(node, "on_stop.", "`on_stop`", &inherited, problems);
    }
    check::check(&read, problems);
    read
}

/// Leaves the keys `x-...` at the top out: they hold anchors that other keys use.
fn without_extensions(root: &Node) -> Node {
    let mut root = root.clone();
    if let Kind::Map(members) = &mut root.kind {
        members.retain(|member| !member.key.starts_with("x-"));
    }
    root
}

fn inputs(node: &Node, problems: &mut Problems<'_>) -> Vec<Input> {
    let Kind::Map(members) = &node.kind else {
        let message = format!("`inputs` is a mapping of names to inputs, not {}", node.what());
        problems.add(node.place, message, "write `NAME: {description: TEXT}` below it");
        return Vec::new();
    };
    let mut found = Vec::new();
    for member in members {
        let name = Text { text: member.key.clone(), place: member.place };
        let Some(name) = variable_name(&name, problems) else { continue };
        let kind = InputKind::Text { choices: Vec::new() };
        let bare = Input { name, description: None, kind, pattern: None, default: None };
        if member.value.kind == Kind::Null {
            found.push(bare);
        } else if let Some(input) = input(&member.value, bare, problems) {
            found.push(input);
        }
    }
    found
}

fn input(node: &Node, mut input: Input, problems: &mut Problems<'_>) -> Option<Input> {
    let mut map = Fields::of(node, "an input", &INPUT_KEYS, problems)?;
    input.description = map.text("description", problems).map(|text| text.text);
    let choices = map.take("choices");
    input.kind = match map.text("type", problems) {
        None => input.kind,
        Some(kind) => match kind.text.as_str() {
            "string" => input.kind,
            "number" => InputKind::Number,
            "boolean" => InputKind::Boolean,
            other => {
                let message = format!("`{}` is not a type of input", clean_line(other, 40));
                problems.add(kind.place, message, "use string, number or boolean");
                return None;
            }
        },
    };
    if let Some(pattern) = map.text("pattern", problems) {
        if matches!(input.kind, InputKind::Number | InputKind::Boolean) {
            problems.add(pattern.place, "a `pattern` is for an input of type string", "remove `pattern` or `type`");
        }
        input.pattern = Some((pattern.text, pattern.place));
    }
    if let Some(node) = choices {
        match &mut input.kind {
            InputKind::Text { choices } => {
                let listed = items(node, "`choices`", problems).iter();
                *choices = listed.filter_map(|item| Some(text_of(item, "a choice", problems)?.text)).collect();
            }
            InputKind::Number | InputKind::Boolean => {
                problems.add(node.place, "`choices` are for an input of type string", "remove `choices` or `type`");
            }
        }
    }
    if let Some(node) = map.take("default") {
        match default_value(node, &input.kind) {
            Ok(value) => input.default = Some(value),
            Err(why) => {
                let message = format!("the `default` of `{}` {why}", input.name);
                problems.add(node.place, message, "write a value of its type");
            }
        }
    }
    Some(input)
}

fn default_value(node: &Node, kind: &InputKind) -> Result<Value, String> {
    match (&node.kind, kind) {
        (Kind::Text(text) | Kind::Number(text), InputKind::Text { .. } | InputKind::Number) => kind.value(text),
        (Kind::Bool(value), InputKind::Boolean) => Ok(Value::Bool(*value)),
        (Kind::Bool(value), InputKind::Text { .. }) => kind.value(&value.to_string()),
        (Kind::Text(text), InputKind::Boolean) => kind.value(text),
        (Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_), _) => {
            Err(format!("is {}, not {}", node.what(), kind.what()))
        }
    }
}

impl InputKind {
    /// Returns the value that a text stands for.
    ///
    /// # Errors
    ///
    /// What is wrong with it, after the name of the input.
    pub(crate) fn value(&self, text: &str) -> Result<Value, String> {
        let wrong = || format!("is `{}`, not {}", clean_line(text, 60), self.what());
        match self {
            Self::Text { choices } if choices.is_empty() || choices.iter().any(|choice| choice == text) => {
                Ok(Value::from(text))
            }
            Self::Text { .. } => Err(wrong()),
            Self::Number => super::condition::number(text).map(Value::Number).ok_or_else(wrong),
            Self::Boolean => text.trim().parse().map(Value::Bool).map_err(|_| wrong()),
        }
    }

    /// Returns what a value has to be.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Text { choices } if choices.is_empty() => "text".to_owned(),
            Self::Text { choices } => format!("one of {}", choices.join(", ")),
            Self::Number => "a number".to_owned(),
            Self::Boolean => "true or false".to_owned(),
        }
    }
}

fn merge(node: &Node, problems: &mut Problems<'_>) -> Option<Merge> {
    let inherited = Inherited::default();
    if matches!(node.kind, Kind::List(_)) {
        return Some(Merge { steps: step::nested(node, "merge.", "`merge`", &inherited, problems), timeout: None });
    }
    let mut map = Fields::of(node, "`merge`", &MERGE_KEYS, problems)?;
    let timeout = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    let Some(list) = map.take("steps") else {
        problems.add(node.place, "`merge` has no steps", "add a list of steps");
        return None;
    };
    Some(Merge { steps: step::nested(list, "merge.", "the steps of `merge`", &inherited, problems), timeout })
}

/// Reads the files of a new worktree. A path is in one list only, and in no other path.
fn worktree(node: &Node, problems: &mut Problems<'_>) -> WorktreeFiles {
    let Some(mut map) = Fields::of(node, "`worktree`", &WORKTREE_KEYS, problems) else {
        return WorktreeFiles::default();
    };
    let mut seen: Vec<RelPath> = Vec::new();
    let mut paths = |key: &str, problems: &mut Problems<'_>| {
        let listed = map.take(key).map(one_or_more).unwrap_or_default();
        let mut found = Vec::new();
        for item in listed {
            let Some(text) = text_of(item, "a path of `worktree`", problems) else { continue };
            let Some(path) = artifacts::path(&text, "path", problems) else { continue };
            let is_in = |outer: &RelPath, inner: &RelPath| {
                inner.as_str().strip_prefix(outer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if let Some(other) = seen.iter().find(|other| is_in(other, &path) || is_in(&path, other)) {
                problems.add(text.place, format!("`{path}` is in `{other}`, or that in it"), "name it once");
                continue;
            }
            seen.push(path.clone());
            found.push(path);
        }
        found
    };
    WorktreeFiles { copied: paths("copy", problems), linked: paths("link", problems) }
}

fn limits(node: &Node, problems: &mut Problems<'_>) -> SpendingLimits {
    let Some(mut map) = Fields::of(node, "`limits`", &LIMIT_KEYS, problems) else { return SpendingLimits::default() };
    let (time, cost, attempts) = (map.take("time"), map.take("cost_usd"), map.take("attempts"));
    let wait = map.take("wait");
    SpendingLimits {
        time: time.and_then(|node| policy::duration(node, "`time`", problems)),
        cost_usd: cost.and_then(|node| policy::number(node, "`cost_usd`", 1_000_000.0, problems)),
        attempts: attempts.and_then(|node| policy::count(node, "`attempts`", (1, 1_000_000), problems)),
        wait: wait.and_then(|node| policy::duration(node, "`wait`", problems)),
    }
}
