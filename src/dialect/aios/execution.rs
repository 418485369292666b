//! The plan of an epic: order, dependencies and executors of its stories (docs/formats/aios.md#execution-plan).
//!
//! Three variants exist: waves with `wave:`, waves with `number:` and agents with an `@`, and phases of stories without waves.
//! Ids are text: `13.10` is not `13.1`.

use std::collections::BTreeMap;

use super::kind;
use crate::{
    document::{Kind as Value, Names, Node},
    model::letters_and_digits,
};

/// The contents of a plan.
#[derive(Debug, Default)]
pub(super) struct Execution {
    /// The folder of the story files.
    pub(super) folder: Option<String>,
    /// The template that the work is done from.
    pub(super) template: Option<String>,
    /// In the order of the file.
    pub(super) stories: Vec<PlannedStory>,
    /// Index by id; the first of two stories with the same id wins.
    by_id: BTreeMap<String, usize>,
    pub(super) waves: Vec<PlannedWave>,
    pub(super) final_agent: Option<String>,
    /// What the final gate looks at, in lines.
    pub(super) final_focus: Vec<String>,
    pub(super) final_tag: Option<String>,
}

impl Execution {
    fn new(stories: Vec<PlannedStory>) -> Self {
        let by_id = stories.iter().enumerate().rev().map(|(at, story)| (story.id.clone(), at)).collect();
        Self { stories, by_id, ..Self::default() }
    }

    /// Returns the story of an id.
    pub(super) fn story(&self, id: &str) -> Option<&PlannedStory> {
        self.by_id.get(id).map(|at| &self.stories[*at])
    }
}

/// One story of a plan.
#[derive(Debug, Default)]
pub(super) struct PlannedStory {
    pub(super) id: String,
    pub(super) title: Option<String>,
    pub(super) file: Option<String>,
    pub(super) executor: Option<String>,
    /// Who reviews the story.
    pub(super) quality_gate: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) depends_on: Vec<String>,
}

/// One wave of a plan.
#[derive(Debug, Default)]
pub(super) struct PlannedWave {
    pub(super) number: String,
    pub(super) name: Option<String>,
    /// Whether its stories may run in parallel.
    pub(super) is_parallel: bool,
    pub(super) stories: Vec<String>,
    /// The waves it depends on, as they are written.
    pub(super) depends_on: Vec<String>,
    pub(super) gate_agent: Option<String>,
    /// What its gate looks at, in lines.
    pub(super) gate_focus: Vec<String>,
    /// The stories or branches of its merge, in order.
    pub(super) merge_order: Vec<String>,
    pub(super) merge_risk: Option<String>,
    /// Notes on its merge, in lines.
    pub(super) merge_notes: Vec<String>,
    pub(super) tag: Option<String>,
}

/// Reads a plan; `None` if the file is not a plan.
pub(super) fn read(bytes: &[u8]) -> Option<Execution> {
    let node = kind::parse(bytes).ok()?;
    let Some(root) = node.get("execution") else { return phases(&node) };
    let stories = members(root.get("stories")).map(|(id, node)| story(id, node)).collect();
    let waves = items(root.get("waves")).filter_map(wave).collect();
    let final_gate = root.get("final_gate");
    Some(Execution {
        template: word(root, "template").map(|path| path.replace('\\', "/")),
        folder: word(root, "storyBasePath").map(|folder| folder.replace('\\', "/")),
        waves,
        final_agent: final_gate.and_then(|gate| agent(gate, "agent")),
        final_focus: lines(final_gate, "focus"),
        final_tag: final_gate.and_then(|gate| word(gate, "tag")),
        ..Execution::new(stories)
    })
}

/// Reads the variant without waves: `phases:` with lists of stories that depend on each other.
fn phases(root: &Node) -> Option<Execution> {
    let phases = root.get("phases")?;
    let listed = members(Some(phases)).flat_map(|(_, phase)| items(phase.get("stories")));
    Some(Execution::new(listed.filter_map(|node| Some(story(&word(node, "story_id")?, node))).collect()))
}

fn story(id: &str, node: &Node) -> PlannedStory {
    PlannedStory {
        id: id.to_owned(),
        title: word(node, "title"),
        file: word(node, "file").map(|file| file.replace('\\', "/")),
        executor: agent(node, "executor"),
        quality_gate: agent(node, "quality_gate"),
        branch: word(node, "branch"),
        depends_on: Names::of(node.get("dependencies")).all(),
    }
}

fn wave(node: &Node) -> Option<PlannedWave> {
    let number = word(node, "wave").or_else(|| word(node, "number"))?;
    let (gate, merge) = (node.get("gate"), node.get("merge"));
    Some(PlannedWave {
        number,
        name: word(node, "name"),
        is_parallel: word(node, "parallel").as_deref() == Some("true"),
        stories: Names::of(node.get("stories")).known,
        depends_on: Names::of(node.get("dependencies")).all(),
        gate_agent: gate.and_then(|gate| agent(gate, "agent")),
        gate_focus: lines(gate, "focus"),
        merge_order: Names::of(merge.and_then(|merge| merge.get("order"))).known,
        merge_risk: merge.and_then(|merge| word(merge, "conflict_risk")),
        merge_notes: lines(merge, "notes"),
        tag: word(node, "tag"),
    })
}

/// Returns a text in its lines, or the items of a list, without the marks and blanks before them.
fn lines(node: Option<&Node>, key: &str) -> Vec<String> {
    let Some(node) = node.and_then(|node| node.get(key)) else { return Vec::new() };
    let texts = node.scalar().into_iter().chain(items(Some(node)).filter_map(Node::scalar));
    let lines = texts.flat_map(str::lines).map(|line| line.trim().trim_start_matches("- ").to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

impl PlannedWave {
    /// Tells whether a dependency means this wave: `1`, `wave-1`, `wave_1`, `Wave 1`, or its name.
    pub(super) fn is_meant_by(&self, written: &str) -> bool {
        let bare = |text: &str| {
            let text = text.trim().to_lowercase();
            text.strip_prefix("wave").unwrap_or(&text).trim_start_matches(['-', '_', ' ', ':', '#']).to_owned()
        };
        let is_name = |name: &String| letters_and_digits(name) == letters_and_digits(written);
        bare(&self.number) == bare(written) || self.name.as_ref().is_some_and(is_name)
    }
}

/// Returns an agent without its leading `@`.
pub(super) fn agent(node: &Node, key: &str) -> Option<String> {
    let name = word(node, key)?;
    Some(name.trim_start_matches('@').to_owned()).filter(|name| !name.is_empty())
}

pub(super) fn word(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::scalar).map(str::to_owned)
}

fn items(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    let items = match node.map(|node| &node.kind) {
        Some(Value::List(items)) => items.as_slice(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_)) | None => &[],
    };
    items.iter()
}

/// Returns the keys of a mapping with their values.
pub(super) fn members(node: Option<&Node>) -> impl Iterator<Item = (&str, &Node)> {
    let members = match node.map(|node| &node.kind) {
        Some(Value::Map(members)) => members.as_slice(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_)) | None => &[],
    };
    members.iter().map(|member| (member.key.as_str(), &member.value))
}

#[cfg(test)]
#[path = "execution_tests.rs"]
mod tests;
