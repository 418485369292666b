//! From the bytes of a workflow file to a [`Workflow`]. Pure; every mistake becomes a finding with its line and column.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Merge;
use super::Parsed;
use super::Secret;
use super::Step;
use super::Workflow;
use super::policy;
use super::step::Inherited;
use super::step::steps;
use super::template::Reader;
use super::values::env;
use super::values::named;
use super::values::template;
use crate::document::Kind;
use crate::document::Node;
use crate::document::TextPosition;
use crate::document::definition::Fields;
use crate::document::definition::Problems;
use crate::document::definition::Text;
use crate::document::definition::items;
use crate::document::definition::text_of;
use crate::document::parse_definition;
use crate::model::RelPath;
use crate::model::clean_line;

const WORKFLOW_KEYS: [&str; 8] = ["name", "env", "secrets", "env_files", "timeout", "retry", "merge", "commands"];
const MERGE_KEYS: [&str; 2] = ["commands", "timeout"];
const SECRET_KEYS: [&str; 2] = ["provider", "key"];

/// Reads a workflow file, YAML or JSON: a list of steps, or a mapping with `commands`.
pub(crate) fn parse(file: &RelPath, bytes: &[u8]) -> Parsed {
    let mut problems = Problems::of(file);
    let stem = file.name().rsplit_once('.').map_or(file.name(), |(stem, _)| stem);
    let workflow = match parse_definition(bytes) {
        Ok(root) => Some(workflow(&root, stem, &mut problems)),
        Err(error) => {
            problems.add(error.place, error.message, "correct the syntax");
            None
        }
    };
    if let Some(workflow) = &workflow {
        unique_ids(workflow, &mut problems);
        irreversible_inside(workflow, &mut problems);
    }
    let findings = problems.in_order();
    Parsed { workflow: workflow.filter(|_| findings.is_empty()), findings }
}

/// Refuses `idempotent: false` on nested steps: only a top-level step is recorded, so only there an interruption is known.
fn irreversible_inside(workflow: &Workflow, problems: &mut Problems<'_>) {
    let merge = workflow.merge.iter().flat_map(|merge| &merge.steps);
    let mut waiting: Vec<&Step> = workflow.steps.iter().flat_map(Step::inside).flatten().chain(merge).collect();
    while let Some(step) = waiting.pop() {
        if !step.idempotent {
            let message = format!("step {} must not run twice, and it is inside of another one", step.id);
            problems.add(step.place, message, "say it of the step of the workflow that it belongs to, or make it one");
        }
        waiting.extend(step.inside().into_iter().flatten());
    }
}

/// Returns where a workflow says that it is a MapReduce one, whose other keys mean nothing here.
fn mapreduce(root: &Node) -> Option<TextPosition> {
    let Kind::Map(members) = &root.kind else { return None };
    let is_mode = |kind: &Kind| matches!(kind, Kind::Text(mode) if mode == "mapreduce");
    members.iter().find(|member| member.key == "mode" && is_mode(&member.value.kind)).map(|member| member.place)
}

fn workflow(root: &Node, stem: &str, problems: &mut Problems<'_>) -> Workflow {
    let mut read = Workflow { name: stem.to_owned(), ..Workflow::default() };
    if matches!(root.kind, Kind::List(_)) {
        read.steps = steps(root, "", "a workflow", &Inherited::default(), problems);
        return read;
    }
    if let Some(place) = mapreduce(root) {
        problems.add(place, "MapReduce workflows of Prodigy are not run by piton", "run it with Prodigy");
        return read;
    }
    let Some(mut map) = Fields::of(root, "a workflow", &WORKFLOW_KEYS, problems) else { return read };
    if let Some(name) = map.text("name", problems) {
        read.name = clean_line(&name.text, 120);
    }
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
    match map.take("commands") {
        Some(node) => read.steps = steps(node, "", "`commands`", &inherited, problems),
        None => problems.add(root.place, "the workflow has no `commands`", "add `commands:` with a list of steps"),
    }
    read
}

fn merge(node: &Node, problems: &mut Problems<'_>) -> Option<Merge> {
    let inherited = Inherited::default();
    if matches!(node.kind, Kind::List(_)) {
        return Some(Merge { steps: steps(node, "merge.", "`merge`", &inherited, problems), timeout: None });
    }
    let mut map = Fields::of(node, "`merge`", &MERGE_KEYS, problems)?;
    let timeout = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    let Some(list) = map.take("commands") else {
        problems.add(node.place, "`merge` has no `commands`", "add `commands:` with a list of steps");
        return None;
    };
    Some(Merge { steps: steps(list, "merge.", "`commands`", &inherited, problems), timeout })
}

fn secrets(node: &Node, problems: &mut Problems<'_>) -> BTreeMap<String, Secret> {
    let mut found = BTreeMap::new();
    for (name, node) in named(node, "`secrets`", problems) {
        if !matches!(node.kind, Kind::Map(_)) {
            if let Some(variable) = text_of(node, "a secret", problems) {
                found.insert(name, Secret::Env(variable.text));
            }
            continue;
        }
        let Some(mut map) = Fields::of(node, "a secret", &SECRET_KEYS, problems) else { continue };
        let provider = map.text("provider", problems);
        let Some(key) = map.text("key", problems) else {
            problems.add(node.place, "a secret needs a `key`", "add `key:` with the environment variable or the file");
            continue;
        };
        match provider.as_ref().map_or("env", |provider| provider.text.as_str()) {
            "env" => found.insert(name, Secret::Env(key.text)),
            "file" => found.insert(name, Secret::File(key.text)),
            other => {
                let message = format!("`{}` is not a provider of secrets", clean_line(other, 60));
                let fix = "use env or file; let another tool put the secret into the environment";
                problems.add(provider.map_or(node.place, |text| text.place), message, fix);
                None
            }
        };
    }
    found
}

fn unique_ids(workflow: &Workflow, problems: &mut Problems<'_>) {
    let mut seen = BTreeSet::new();
    let merge = workflow.merge.as_ref().map_or(&[][..], |merge| &merge.steps);
    let mut waiting: Vec<&Step> = workflow.steps.iter().chain(merge).rev().collect();
    while let Some(step) = waiting.pop() {
        if !seen.insert(step.id.as_str()) {
            let message = format!("the id `{}` is taken by another step", step.id);
            problems.add(step.place, message, "give each step an id of its own; one without an id has its number");
        }
        waiting.extend(step.inside().into_iter().flatten().rev());
    }
}
