//! Semantic checks of a definition: references exist, dependencies have no cycles, gates can be approved.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::definition::Definition;
use crate::document::TextPosition;
use crate::document::definition::Problems;
use crate::document::definition::Text;

/// Adds problems of the steps as a whole.
pub(super) fn check(definition: &Definition, problems: &mut Problems<'_>) {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, step) in definition.steps.iter().enumerate() {
        if let Some(first) = index.get(step.id()) {
            let line = definition.steps[*first].id.place.line;
            let message = format!("the id `{}` is already used by the step on line {line}", step.id());
            problems.add(step.id.place, message, "give each step a unique id");
        } else {
            index.insert(step.id(), at);
        }
    }
    let needs: Vec<Vec<(usize, TextPosition)>> = definition
        .steps
        .iter()
        .map(|step| {
            step.needs().iter().filter_map(|need| Some((*index.get(need.text.as_str())?, need.place))).collect()
        })
        .collect();
    for step in &definition.steps {
        for need in step.needs().iter().filter(|need| !index.contains_key(need.text.as_str())) {
            let message = format!("`{}` depends on `{}`, which is not a step", step.id(), need.text);
            problems.add(need.place, message, known(&index));
        }
    }
    cycles(definition, &needs, problems);
    returns(definition, &index, &needs, problems);
    gates(definition, problems);
    outputs(definition, problems);
}

fn known(index: &BTreeMap<&str, usize>) -> String {
    let mut steps: Vec<(&usize, &str)> = index.iter().map(|(id, at)| (at, *id)).collect();
    steps.sort();
    let names: Vec<&str> = steps.iter().take(12).map(|(_, id)| *id).collect();
    format!("the steps are {}", names.join(", "))
}

/// Reports each cycle once, with its path, at the dependency that closes it.
fn cycles(definition: &Definition, needs: &[Vec<(usize, TextPosition)>], problems: &mut Problems<'_>) {
    let mut seen = vec![false; needs.len()];
    let mut depth_of: Vec<Option<usize>> = vec![None; needs.len()];
    for start in 0..needs.len() {
        // The path from `start`: steps with the number of dependencies already followed.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !seen[start] {
            seen[start] = true;
            depth_of[start] = Some(0);
            path.push((start, 0));
        }
        while let Some((at, followed)) = path.last_mut() {
            let at = *at;
            let Some(&(on, place)) = needs[at].get(*followed) else {
                depth_of[at] = None;
                path.pop();
                continue;
            };
            *followed += 1;
            if let Some(depth) = depth_of[on] {
                let circle = path[depth..].iter().map(|(at, _)| *at).chain([on]);
                let ids: Vec<&str> = circle.map(|at| definition.steps[at].id()).collect();
                let message = format!("steps depend on each other in a cycle: {}", ids.join(" -> "));
                problems.add(place, message, "remove one of these dependencies");
            } else if !seen[on] {
                seen[on] = true;
                depth_of[on] = Some(path.len());
                path.push((on, 0));
            }
        }
    }
}

/// Checks that a review returns to a step that it depends on.
fn returns(
    definition: &Definition,
    index: &BTreeMap<&str, usize>,
    needs: &[Vec<(usize, TextPosition)>],
    problems: &mut Problems<'_>,
) {
    for (at, step) in definition.steps.iter().enumerate() {
        let Some(target) = &step.returns_to else { continue };
        let Some(&to) = index.get(target.text.as_str()) else {
            let message = format!("`{}` returns to `{}`, which is not a step", step.id(), target.text);
            problems.add(target.place, message, known(index));
            continue;
        };
        if to == at || !reaches(at, to, needs) {
            let message = format!("`{}` returns to `{}`, which it does not depend on", step.id(), target.text);
            let fix = format!("return to a step that comes before `{}`", step.id());
            problems.add(target.place, message, fix);
        } else if definition.steps[to].gate.is_some() {
            let message = format!("`{}` returns to the gate `{}`, which has no work to redo", step.id(), target.text);
            problems.add(target.place, message, "return to the step whose work was reviewed");
        }
    }
}

fn reaches(from: usize, to: usize, needs: &[Vec<(usize, TextPosition)>]) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for (on, _) in &needs[at] {
            if *on == to {
                return true;
            }
            if seen.insert(*on) {
                open.push(*on);
            }
        }
    }
    false
}

/// Checks that a gate is approved by a person and contains no work.
fn gates(definition: &Definition, problems: &mut Problems<'_>) {
    let agents: BTreeMap<&str, &str> =
        (definition.steps.iter()).filter_map(|step| Some((step.agent.as_ref()?.text.as_str(), step.id()))).collect();
    for step in &definition.steps {
        let Some(gate) = &step.gate else { continue };
        let id = step.id();
        if let Some(Text { text, place }) = &step.agent {
            let message = format!("the gate `{id}` must be approved by a person, and `{text}` is an agent");
            problems.add(*place, message, "remove `agent`, or remove `gate` if an agent reviews (`returns_to`)");
        }
        if let Some((agent, of)) = gate.text.as_deref().and_then(|text| agents.get_key_value(text)) {
            let message = format!("the gate `{id}` must be approved by a person, and `{agent}` is the agent of `{of}`");
            problems.add(gate.place, message, "name a person, or write `gate: true`");
        }
        if let Some(output) = step.outputs.first() {
            let message = format!("the gate `{id}` has an output, but a gate contains no work");
            problems.add(output.place, message, "let the step before it write the file");
        }
        if !step.parts.is_empty() {
            let message = format!("the gate `{id}` has parts, but a gate contains no work");
            problems.add(step.id.place, message, "remove `parts`");
        }
    }
}

/// Checks that each output belongs to one step, because it proves that the step is done.
fn outputs(definition: &Definition, problems: &mut Problems<'_>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for step in &definition.steps {
        for output in &step.outputs {
            if let Some(owner) = owners.insert(output.path.as_str(), step.id()) {
                let message = format!("`{}` is already the output of `{owner}`", output.path);
                problems.add(output.place, message, "give each step separate outputs");
            }
        }
    }
}
