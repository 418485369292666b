//! Checks of a workflow as a whole: ids are unique, references exist, dependencies have no cycles, gates can be approved. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Command, Foreach, Step, Workflow, order::ancestors};
use crate::{
    document::{TextPosition, definition::Problems},
    model::{GateEffect, StepId},
};

/// Adds problems of the steps as a whole.
pub(super) fn check(workflow: &Workflow, problems: &mut Problems<'_>) {
    unique_ids(workflow, problems);
    recorded_inside(workflow, problems);
    let steps = &workflow.steps;
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        index.entry(step.id.as_str()).or_insert(at);
    }
    let needs: Vec<Vec<(usize, TextPosition)>> = steps
        .iter()
        .map(|step| {
            step.depends_on.iter().filter_map(|need| Some((*index.get(need.id.as_str())?, need.place))).collect()
        })
        .collect();
    for step in steps {
        for need in step.depends_on.iter().filter(|need| !index.contains_key(need.id.as_str())) {
            let message = format!("`{}` depends on `{}`, which is not a step", step.id, need.id);
            problems.add(need.place, message, known(&index));
        }
    }
    cycles(steps, &needs, problems);
    reviews(steps, &index, problems);
    gates(steps, problems);
    outputs(steps, problems);
    secrets(workflow, problems);
}

/// Refuses a secret of a step that has the name of another one with another source: a value is known by its name.
fn secrets(workflow: &Workflow, problems: &mut Problems<'_>) {
    let mut known = workflow.secrets.clone();
    workflow.each_step(&mut |step| {
        for (name, secret) in &step.secrets {
            if known.entry(name.clone()).or_insert_with(|| secret.clone()) != secret {
                let message = format!("the secret `{name}` of this step has another source elsewhere in the file");
                problems.add(step.place, message, "give it another name");
            }
        }
    });
}

fn unique_ids(workflow: &Workflow, problems: &mut Problems<'_>) {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut waiting: Vec<&Step> = workflow.steps.iter().chain(workflow.around()).rev().collect();
    while let Some(step) = waiting.pop() {
        match seen.get(step.id.as_str()) {
            Some(line) => {
                let message = format!("the id `{}` is already used by the step on line {line}", step.id);
                problems.add(step.id_place, message, "give each step a unique id; one without an id has its number");
            }
            None => drop(seen.insert(step.id.as_str(), step.id_place.line)),
        }
        waiting.extend(step.inside().into_iter().flatten().rev());
    }
}

/// Refuses `idempotent: false` and `worktree: each` on nested steps: only a top-level step is recorded, and one of its group for items, so only
/// there an interruption is known.
fn recorded_inside(workflow: &Workflow, problems: &mut Problems<'_>) {
    let groups = workflow.steps.iter().filter_map(|step| match &step.command {
        Command::Foreach(foreach) => Some(&foreach.steps),
        _ => None,
    });
    let recorded: BTreeSet<&StepId> = groups.flatten().map(|step| &step.id).collect();
    let inside = workflow.steps.iter().flat_map(Step::inside).flatten();
    let mut waiting: Vec<&Step> = inside.chain(workflow.around()).collect();
    while let Some(step) = waiting.pop() {
        if let Command::Foreach(Foreach { in_worktrees: true, .. }) = &step.command {
            let message = format!("step {} has `worktree: each`, and it is inside of another one", step.id);
            problems.add(step.place, message, "make it a step of the workflow: only there its merges are recorded");
        }
        if !step.idempotent && !recorded.contains(&step.id) {
            let message = format!("step {} must not run twice, and it is inside of another one", step.id);
            problems.add(step.place, message, "say it of the step of the workflow that it belongs to, or make it one");
        }
        waiting.extend(step.inside().into_iter().flatten());
    }
}

fn known(index: &BTreeMap<&str, usize>) -> String {
    let mut steps: Vec<(&usize, &str)> = index.iter().map(|(id, at)| (at, *id)).collect();
    steps.sort();
    let names: Vec<&str> = steps.iter().take(12).map(|(_, id)| *id).collect();
    format!("the steps are {}", names.join(", "))
}

/// Reports each cycle once, with its path, at the dependency that closes it.
fn cycles(steps: &[Step], needs: &[Vec<(usize, TextPosition)>], problems: &mut Problems<'_>) {
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
                let ids: Vec<&str> = circle.map(|at| steps[at].id.as_str()).collect();
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

/// Checks that a review returns to a step with work that it depends on.
fn reviews(steps: &[Step], index: &BTreeMap<&str, usize>, problems: &mut Problems<'_>) {
    for (at, step) in steps.iter().enumerate() {
        let Some(target) = &step.reviews else { continue };
        let (id, of) = (&step.id, &target.id);
        if !matches!(step.command, Command::Agent(_) | Command::Gate(_)) {
            let message = format!("`{id}` reviews `{of}`, and a `{}` step gives no verdict", step.kind_name());
            problems.add(target.place, message, "give the review an `agent`, or remove `reviews`");
            continue;
        }
        let Some(&to) = index.get(of.as_str()) else {
            problems.add(target.place, format!("`{id}` reviews `{of}`, which is not a step"), known(index));
            continue;
        };
        if to == at || !ancestors(steps, at).contains(of) {
            let message = format!("`{id}` reviews `{of}`, which it does not depend on");
            problems.add(target.place, message, format!("review a step that comes before `{id}`"));
        } else if matches!(steps[to].command, Command::Gate(_)) {
            let message = format!("`{id}` reviews the gate `{of}`, which has no work to redo");
            problems.add(target.place, message, "review the step whose work the gate approves");
        }
    }
}

/// Checks that a gate is approved by a person and contains no work.
fn gates(steps: &[Step], problems: &mut Problems<'_>) {
    let agents: BTreeMap<&str, &Step> = steps.iter().filter_map(|step| Some((step.agent()?, step))).collect();
    for (at, step) in steps.iter().enumerate() {
        if let (Some(_), false) = (step.parts.first(), matches!(step.command, Command::Agent(_) | Command::Gate(_))) {
            let message = format!("parts are for an agent, and this is a `{}` step", step.kind_name());
            problems.add(step.id_place, message, "remove `parts`");
        }
        let Command::Gate(gate) = &step.command else { continue };
        let id = &step.id;
        if let Some((agent, place)) = &gate.agent {
            let message = format!("the gate `{id}` must be approved by a person, and `{agent}` is an agent");
            problems.add(*place, message, "remove `agent`, or remove `gate` if an agent reviews (`reviews`)");
        }
        if let Some((agent, of)) = gate.text.as_ref().and_then(|text| agents.get_key_value(text.as_str())) {
            let of = &of.id;
            let message = format!("the gate `{id}` must be approved by a person, and `{agent}` is the agent of `{of}`");
            problems.add(gate.place, message, "name a person, or write `gate: true`");
        }
        for (option, place) in &gate.options {
            let GateEffect::Return(to) = &option.effect else { continue };
            let target = steps.iter().position(|other| other.id == *to);
            let message = match target.map(|at| &steps[at].command) {
                None => format!("the answer `{}` goes back to `{to}`, which is not a step", option.word),
                Some(Command::Gate(_)) => {
                    format!("the answer `{}` goes back to the gate `{to}`, which has no work to redo", option.word)
                }
                Some(_) if !ancestors(steps, at).contains(to) => {
                    format!("the answer `{}` goes back to `{to}`, which `{id}` does not depend on", option.word)
                }
                Some(_) => continue,
            };
            problems.add(*place, message, format!("name a step with work that comes before `{id}`"));
        }
        if let Some(output) = step.outputs.first() {
            let message = format!("the gate `{id}` has an output, but a gate contains no work");
            problems.add(output.place, message, "let the step before it write the file");
        }
        if !step.parts.is_empty() {
            let message = format!("the gate `{id}` has parts, but a gate contains no work");
            problems.add(step.id_place, message, "remove `parts`");
        }
    }
}

/// Checks that a file is the output of one step, because it proves that the step is done. A later version of it is an output of a step
/// that depends on the earlier one.
fn outputs(steps: &[Step], problems: &mut Problems<'_>) {
    let mut owners: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        for output in &step.outputs {
            let earlier = owners.entry(output.path.to_string()).or_default();
            let before = ancestors(steps, at);
            let rival = earlier.iter().find(|owner| **owner == at || !before.contains(&steps[**owner].id));
            if let Some(rival) = rival {
                let message = format!("`{}` is already the output of `{}`", output.path, steps[*rival].id);
                problems.add(output.place, message, "give each step separate outputs, or let one depend on the other");
            }
            earlier.push(at);
        }
    }
}
