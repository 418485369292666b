//! The workflow files of Prodigy: the tree of such a file becomes that of a current one (docs/formats/prodigy.md#the-workflow-file).
//! Pure. Keys that are not Prodigy's are kept, so that the parser names them; what has no effect is a note.
//!
//! - `step` translates steps, `capture` what they capture, `text` the notation of variables in texts, `mapreduce` a file with `map` and `reduce`.

mod capture;
mod mapreduce;
mod step;
mod text;

use std::collections::BTreeSet;

use crate::document::{
    Kind, Member, Node, TextPosition,
    definition::{Problems, items},
};

use capture::Captures;
pub(super) use capture::attach;

/// Keys at the top that change nothing.
const NO_EFFECT: [&str; 3] = ["profiles", "checkpoint", "config"];

/// Tells whether a file is one of Prodigy: a list of steps, or `commands`, or a MapReduce workflow.
pub(super) fn is_prodigy(root: &Node) -> bool {
    let has = |key: &str| root.get(key).is_some();
    root.is_list() || has("commands") || has("mode") || (has("map") && has("reduce"))
}

/// What a translation knows of the whole file, and what it reports.
struct Translation<'a, 'b> {
    problems: &'a mut Problems<'b>,
    /// The variables that the file defines anywhere.
    names: BTreeSet<String>,
    /// Those of them that steps set, which are not in the environment of a command.
    set_by_steps: BTreeSet<String>,
    /// The values of its `env`.
    env: Vec<(String, String)>,
    captures: &'a mut Captures,
    /// How many steps are around the current ones that record nothing about them.
    depth: u32,
}

/// Translates a file, and collects what its steps capture; `None` if it has no steps.
pub(super) fn translate(root: &Node, captures: &mut Captures, problems: &mut Problems<'_>) -> Option<Node> {
    let mut set_by_steps: BTreeSet<String> = ["ITERATION", "CAPTURED_OUTPUT"].map(str::to_owned).into();
    captured_names(root, &mut set_by_steps);
    let mut names: BTreeSet<String> = ["ARG", "PROJECT_ROOT", "WORKTREE"].map(str::to_owned).into();
    names.extend(set_by_steps.iter().cloned());
    for key in ["env", "secrets"] {
        names.extend(root.get(key).map(Node::members).unwrap_or_default().iter().map(|member| member.key.clone()));
    }
    let value = |found: &Member| match &found.value.kind {
        Kind::Text(text) | Kind::Number(text) => Some((found.key.clone(), text.clone())),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    };
    let env = root.get("env").map(Node::members).unwrap_or_default().iter().filter_map(value).collect();
    let mut translation = Translation { problems, names, set_by_steps, env, captures, depth: 0 };
    if root.is_list() {
        let steps = translation.listed(root, "a workflow")?;
        return Some(mapping(root.place, vec![member("steps", root.place, steps)]));
    }
    if mapreduce::is_one(root) {
        return translation.mapreduce(root);
    }
    let Some(commands) = root.member("commands") else {
        let fix = "add `commands:` with a list of steps";
        translation.problems.add(root.place, "the workflow has no `commands`", fix);
        return None;
    };
    let steps = translation.listed(&commands.value, "`commands`")?;
    let mut members = vec![member("steps", commands.place, steps)];
    for found in root.members() {
        let place = found.place;
        match found.key.as_str() {
            "commands" => {}
            "mode" => translation.mode(&found.value),
            key if NO_EFFECT.contains(&key) => translation.no_effect(place, key),
            "merge" => members.push(member("merge", place, translation.merge(&found.value))),
            "retry" => members.push(member("retry", place, translation.retry(&found.value))),
            _ => members.push(found.clone()),
        }
    }
    // The steps come last, as a person writes them.
    members.rotate_left(1);
    Some(mapping(root.place, members))
}

impl Translation<'_, '_> {
    /// Translates the steps of the workflow.
    fn listed(&mut self, node: &Node, what: &str) -> Option<Node> {
        if items(node, what, self.problems).is_empty() {
            return None;
        }
        let steps = self.steps(node);
        (!steps.items().is_empty()).then_some(steps)
    }

    fn mode(&mut self, node: &Node) {
        if node.as_str() != Some("standard") {
            self.problems.add(node.place, "`mode` is standard or mapreduce", "remove `mode`");
        }
    }

    fn no_effect(&mut self, place: TextPosition, key: &str) {
        self.problems.note(place, format!("`{key}` has no effect here"), format!("remove `{key}`"));
    }

    fn merge(&mut self, node: &Node) -> Node {
        if node.is_list() {
            return self.inside(node);
        }
        let members = node.members().iter().map(|found| match found.key.as_str() {
            "commands" => member("steps", found.place, self.inside(&found.value)),
            _ => found.clone(),
        });
        let members = members.collect();
        with(node, members)
    }
}

/// Collects the names of captured variables, at any depth.
fn captured_names(node: &Node, names: &mut BTreeSet<String>) {
    for found in node.members() {
        if matches!(found.key.as_str(), "capture" | "capture_output")
            && let Kind::Text(name) = &found.value.kind
        {
            names.insert(name.clone());
        }
        captured_names(&found.value, names);
    }
    for item in node.items() {
        captured_names(item, names);
    }
}

fn member(key: &str, place: TextPosition, value: Node) -> Member {
    let span = value.span;
    Member { key: key.to_owned(), place, span, value }
}

/// Returns a mapping, or the node itself where it is not one: the parser says so.
fn with(node: &Node, members: Vec<Member>) -> Node {
    match &node.kind {
        Kind::Map(_) => Node { kind: Kind::Map(members), ..node.clone() },
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => node.clone(),
    }
}

fn mapping(place: TextPosition, members: Vec<Member>) -> Node {
    Node { place, kind: Kind::Map(members), ..Node::null() }
}

fn text_node(place: TextPosition, text: impl Into<String>) -> Node {
    Node { place, kind: Kind::Text(text.into()), ..Node::null() }
}

#[cfg(test)]
mod tests;
