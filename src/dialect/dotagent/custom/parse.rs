//! Parses a workflow file into a definition. All mistakes are reported at once, with line and column.

use super::check;
use super::definition::Definition;
use super::definition::Gate;
use super::definition::Output;
use super::definition::PartDefinition;
use super::definition::PhaseDefinition;
use super::definition::StepDefinition;
use crate::document::Kind;
use crate::document::Node;
use crate::document::TextPosition;
use crate::document::definition::Fields;
use crate::document::definition::Problems;
use crate::document::definition::Text;
use crate::document::definition::identifier;
use crate::document::definition::items;
use crate::document::definition::text_of;
use crate::document::parse_definition;
use crate::model::Finding;
use crate::model::OutputSchema;
use crate::model::PartKind;
use crate::model::RelPath;
use crate::model::clean_line;

const WORKFLOW_KEYS: [&str; 4] = ["name", "description", "steps", "phases"];
const PHASE_KEYS: [&str; 3] = ["id", "title", "steps"];
const STEP_KEYS: [&str; 11] = [
    "id",
    "title",
    "agent",
    "depends_on",
    "returns_to",
    "gate",
    "outputs",
    "parts",
    "idempotent",
    "probe",
    "instructions",
];
const OUTPUT_KEYS: [&str; 2] = ["path", "schema"];
const PART_KEYS: [&str; 3] = ["name", "title", "kind"];

/// A definition with its problems; it may only be used if there are none.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) definition: Definition,
    pub(super) findings: Vec<Finding>,
}

/// Parses a file, YAML or JSON.
pub(super) fn file(file: &RelPath, bytes: &[u8]) -> Parsed {
    match parse_definition(bytes) {
        Ok(root) => tree(file, &root),
        Err(error) => {
            let mut problems = Problems::of(file);
            problems.add(error.place, error.message, "correct the syntax");
            Parsed { definition: Definition::default(), findings: problems.in_order() }
        }
    }
}

/// Reads a definition from the tree of a file or of the copy stored in a run.
pub(super) fn tree(file: &RelPath, root: &Node) -> Parsed {
    let mut problems = Problems::of(file);
    let mut definition = Definition::default();
    if let Some(mut map) = Fields::of(&without_extensions(root), "a workflow", &WORKFLOW_KEYS, &mut problems) {
        let stem = file.name().rsplit_once('.').map_or(file.name(), |(stem, _)| stem);
        definition.name = map.text("name", &mut problems).map_or_else(|| stem.to_owned(), |name| name.text);
        definition.description = map.text("description", &mut problems).map(|text| text.text);
        definition.steps = steps_or_phases(&mut map, root.place, &mut problems);
        resolve_order(&mut definition.steps);
        check::check(&definition, &mut problems);
    }
    Parsed { definition, findings: problems.in_order() }
}

/// Leaves the keys `x-...` at the top out: they hold anchors that other keys use.
fn without_extensions(root: &Node) -> Node {
    let mut root = root.clone();
    if let Kind::Map(members) = &mut root.kind {
        members.retain(|member| !member.key.starts_with("x-"));
    }
    root
}

fn steps_or_phases(map: &mut Fields<'_>, place: TextPosition, problems: &mut Problems<'_>) -> Vec<StepDefinition> {
    let key = map.members.iter().find(|member| member.key == "phases").map_or(place, |member| member.place);
    let (steps_node, phases_node) = (map.take("steps"), map.take("phases"));
    match (steps_node, phases_node) {
        (Some(_), Some(_)) => {
            let fix = "keep one: `steps`, or `phases` with steps in them";
            problems.add(key, "a workflow has `steps` or `phases`, not both", fix);
            Vec::new()
        }
        (Some(node), None) => steps(node, None, problems),
        (None, Some(node)) => {
            let mut all = Vec::new();
            for phase in items(node, "`phases`", problems) {
                all.extend(phase_steps(phase, &all, problems));
            }
            all
        }
        (None, None) => {
            problems.add(place, "a workflow needs steps", "add `steps:` with a list of steps");
            Vec::new()
        }
    }
}

fn phase_steps(node: &Node, before: &[StepDefinition], problems: &mut Problems<'_>) -> Vec<StepDefinition> {
    let Some(mut map) = Fields::of(node, "a phase", &PHASE_KEYS, problems) else { return Vec::new() };
    let id = map.take("id").and_then(|node| identifier(node, "the `id` of a phase", problems));
    let title = map.text("title", problems).map(|title| title.text);
    let Some(list) = map.take("steps") else {
        problems.add(node.place, "a phase needs steps", "add `steps:` with a list of steps");
        return Vec::new();
    };
    let Some(id) = id else {
        problems.add(node.place, "a phase needs an `id`", "add `id:`");
        return steps(list, None, problems);
    };
    let is_taken = |step: &StepDefinition| step.phase.as_ref().is_some_and(|phase| phase.id == id.text);
    if before.iter().any(is_taken) {
        problems.add(id.place, format!("the phase `{}` already exists", id.text), "give each phase a unique id");
    }
    steps(list, Some(&PhaseDefinition { id: id.text, title }), problems)
}

fn steps(node: &Node, phase: Option<&PhaseDefinition>, problems: &mut Problems<'_>) -> Vec<StepDefinition> {
    let items = items(node, "`steps`", problems).iter();
    items.filter_map(|item| step(item, phase, problems)).collect()
}

fn step(node: &Node, phase: Option<&PhaseDefinition>, problems: &mut Problems<'_>) -> Option<StepDefinition> {
    let mut map = Fields::of(node, "a step", &STEP_KEYS, problems)?;
    let id_node = map.take("id");
    let id = match id_node {
        Some(id) => identifier(id, "the `id` of a step", problems),
        None => {
            problems.add(node.place, "a step needs an `id`", "add `id:`");
            None
        }
    };
    let read = StepDefinition {
        title: map.text("title", problems).map(|title| title.text),
        phase: phase.cloned(),
        agent: map.text("agent", problems),
        depends_on: map.take("depends_on").map(|node| depends_on(node, problems)),
        returns_to: map.text("returns_to", problems),
        gate: map.take("gate").and_then(|node| gate(node, problems)),
        outputs: map.take("outputs").map(|node| outputs(node, problems)).unwrap_or_default(),
        parts: map.take("parts").map(|node| parts(node, problems)).unwrap_or_default(),
        idempotent: map.flag("idempotent", problems),
        probe: map.text("probe", problems).map(|probe| probe.text),
        instructions: map.text("instructions", problems).map(|text| text.text),
        id: id?,
    };
    Some(read)
}

fn depends_on(node: &Node, problems: &mut Problems<'_>) -> Vec<Text> {
    let list = match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => std::slice::from_ref(node),
    };
    let mut needs: Vec<Text> = Vec::new();
    for item in list {
        if let Some(id) = text_of(item, "an entry of `depends_on`", problems)
            && needs.iter().all(|other| other.text != id.text)
        {
            needs.push(id);
        }
    }
    needs
}

fn gate(node: &Node, problems: &mut Problems<'_>) -> Option<Gate> {
    match &node.kind {
        Kind::Bool(true) => Some(Gate { text: None, place: node.place }),
        Kind::Bool(false) | Kind::Null => None,
        Kind::Text(text) if !text.trim().is_empty() => Some(Gate { text: Some(text.clone()), place: node.place }),
        Kind::Text(_) => {
            problems.add(
                node.place,
                "this gate does not say who approves it",
                "write `gate: true`, or name the approver",
            );
            None
        }
        Kind::Number(_) | Kind::List(_) | Kind::Map(_) => {
            let message = format!("`gate` is true or the name of the approver, not {}", node.what());
            problems.add(node.place, message, "write `gate: true`, or name the approver");
            None
        }
    }
}

fn outputs(node: &Node, problems: &mut Problems<'_>) -> Vec<Output> {
    let list = match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => std::slice::from_ref(node),
    };
    list.iter().filter_map(|item| output(item, problems)).collect()
}

fn output(node: &Node, problems: &mut Problems<'_>) -> Option<Output> {
    if !matches!(node.kind, Kind::Map(_)) {
        let text = text_of(node, "an output", problems)?;
        return Some(Output { path: output_path(&text, problems)?, place: node.place, schema: None });
    }
    let mut map = Fields::of(node, "an output", &OUTPUT_KEYS, problems)?;
    let path = map.text("path", problems);
    let schema = map.take("schema").and_then(|node| schema(node, problems));
    let Some(path) = path else {
        problems.add(node.place, "an output needs a `path`", "add `path:`");
        return None;
    };
    let checked = output_path(&path, problems)?;
    if let Some((_, place)) = &schema
        && !checked.as_str().ends_with(".json")
    {
        let message = format!("a schema is checked against JSON, and `{checked}` does not end in .json");
        problems.add(*place, message, "remove the schema, or let the step write JSON");
    }
    Some(Output { path: checked, place: path.place, schema })
}

/// Checks an output path. An output proves that its step is done, so it must be in the project and not be written by Piton or
/// git.
fn output_path(text: &Text, problems: &mut Problems<'_>) -> Option<RelPath> {
    let path = match RelPath::parse(&text.text) {
        Ok(path) => path,
        Err(_) if text.text.contains('\\') => {
            let message = format!("the output `{}` has a backslash", clean_line(&text.text, 100));
            problems.add(text.place, message, "write paths with `/`");
            return None;
        }
        Err(error) => {
            problems.add(text.place, format!("the output cannot be used: {error}"), "name a file in the project");
            return None;
        }
    };
    if path.as_str().contains(['*', '?', '[', '{']) {
        let message = format!("the output `{path}` is a pattern, and an output is one file");
        problems.add(text.place, message, "name each file, without `*`, `?`, `[` and `{`");
        return None;
    }
    let mut parts = path.as_str().split('/');
    if path.as_str().starts_with("memory/state/") || parts.any(|part| matches!(part, ".git" | ".piton")) {
        let message = format!("the output `{path}` is in a state folder");
        problems.add(text.place, message, "name a file outside memory/state, .piton and .git");
        return None;
    }
    Some(path)
}

fn schema(node: &Node, problems: &mut Problems<'_>) -> Option<(OutputSchema, TextPosition)> {
    match &node.kind {
        Kind::Map(_) => Some((OutputSchema::Inline(node.to_json()), node.place)),
        Kind::Text(text) => match RelPath::parse(text) {
            Ok(path) => Some((OutputSchema::File(path), node.place)),
            Err(error) => {
                let fix = "name a schema file in the project";
                problems.add(node.place, format!("the schema cannot be used: {error}"), fix);
                None
            }
        },
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) => {
            let message = format!("`schema` is a JSON Schema or the path of one, not {}", node.what());
            problems.add(node.place, message, "write the schema itself, or the path of its file");
            None
        }
    }
}

fn parts(node: &Node, problems: &mut Problems<'_>) -> Vec<PartDefinition> {
    let mut parts: Vec<PartDefinition> = Vec::new();
    for item in items(node, "`parts`", problems) {
        let Some(part) = part(item, problems) else { continue };
        if parts.iter().any(|other| other.name == part.name) {
            let message = format!("the part `{}` already exists", part.name);
            problems.add(item.place, message, "give each part of a step a unique name");
            continue;
        }
        parts.push(part);
    }
    parts
}

fn part(node: &Node, problems: &mut Problems<'_>) -> Option<PartDefinition> {
    if !matches!(node.kind, Kind::Map(_)) {
        let name = identifier(node, "the name of a part", problems)?;
        return Some(PartDefinition { name: name.text, title: None, kind: PartKind::Work });
    }
    let mut map = Fields::of(node, "a part", &PART_KEYS, problems)?;
    let name = map.take("name").and_then(|name| identifier(name, "the `name` of a part", problems));
    let title = map.text("title", problems).map(|title| title.text);
    let kind = match map.text("kind", problems) {
        None => PartKind::Work,
        Some(kind) => match kind.text.as_str() {
            "work" => PartKind::Work,
            "analysis" => PartKind::Analysis,
            _ => {
                let message = format!("`{}` is not a kind of part", clean_line(&kind.text, 60));
                problems.add(kind.place, message, "use work or analysis");
                PartKind::Work
            }
        },
    };
    let Some(name) = name else {
        problems.add(node.place, "a part needs a `name`", "add `name:`");
        return None;
    };
    Some(PartDefinition { name: name.text, title, kind })
}

/// Makes each step depend on the previous one if no step declares dependencies.
fn resolve_order(steps: &mut [StepDefinition]) {
    if steps.iter().any(|step| step.depends_on.is_some()) {
        for step in steps {
            step.depends_on.get_or_insert_default();
        }
        return;
    }
    let mut before: Option<Text> = None;
    for step in steps {
        step.depends_on = Some(before.take().into_iter().collect());
        before = Some(step.id.clone());
    }
}
