//! A definition as a run of dotagent's files stores it, in the form that such runs have always had.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::model::OutputSchema;
use crate::model::PartKind;
use crate::model::sha256_hex;
use crate::workflow::Command;
use crate::workflow::Output;
use crate::workflow::PartDefinition;
use crate::workflow::Step;
use crate::workflow::Workflow;

/// Returns everything that determines what a step does. The title is left out, because changing it must not reopen the step.
pub(super) fn essence(step: &Step) -> Value {
    let mut value = step_value(step);
    value.shift_remove("title");
    Value::Object(value)
}

/// Returns the digest of a step's definition.
pub(super) fn digest(step: &Step) -> String {
    sha256_hex(essence(step).to_string().as_bytes())
}

/// Returns the ids of the steps that a step depends on.
pub(super) fn needs(step: &Step) -> Vec<&str> {
    step.depends_on.iter().map(|need| need.id.as_str()).collect()
}

/// Returns the agent of a step.
pub(super) fn agent(step: &Step) -> Option<&str> {
    match &step.command {
        Command::Agent(work) => work.agent.as_deref(),
        Command::Gate(_)
        | Command::Shell(_)
        | Command::Claude(_)
        | Command::Foreach(_)
        | Command::WriteFile(_)
        | Command::Validate(_) => None,
    }
}

/// Finds a step by its id.
pub(super) fn step<'a>(workflow: &'a Workflow, id: &str) -> Option<&'a Step> {
    workflow.steps.iter().find(|step| step.id.as_str() == id)
}

/// Returns the definition as stored in a run, with defaults that depend on other steps written out.
pub(crate) fn to_value(workflow: &Workflow) -> Value {
    let mut value = Map::new();
    value.insert("name".to_owned(), json!(workflow.name));
    if let Some(description) = &workflow.description {
        value.insert("description".to_owned(), json!(description));
    }
    let steps = |steps: &[Step]| -> Value {
        steps.iter().map(|step| Value::Object(step_value(step))).collect::<Vec<_>>().into()
    };
    if workflow.steps.iter().all(|step| step.group.is_none()) {
        value.insert("steps".to_owned(), steps(&workflow.steps));
        return Value::Object(value);
    }
    let phases = workflow.steps.chunk_by(|a, b| a.group == b.group).map(|chunk| {
        let mut phase = Map::new();
        if let Some(group) = chunk.first().and_then(|step| step.group.as_ref()) {
            phase.insert("id".to_owned(), json!(group.id));
            if let Some(title) = &group.title {
                phase.insert("title".to_owned(), json!(title));
            }
        } else if let Some(first) = chunk.first() {
            // A step outside of groups, as a phase of its own.
            phase.insert("id".to_owned(), json!(format!("{}:", first.id)));
        }
        phase.insert("steps".to_owned(), steps(chunk));
        Value::Object(phase)
    });
    value.insert("phases".to_owned(), phases.collect::<Vec<_>>().into());
    Value::Object(value)
}

/// Returns the phases in file order, or the steps if there are no phases, as counted in `completed_phases`.
pub(super) fn phases(workflow: &Workflow) -> Vec<(String, Vec<&Step>)> {
    let mut phases: Vec<(String, Vec<&Step>)> = Vec::new();
    for step in &workflow.steps {
        let name = step.group.as_ref().map_or(step.id.as_str(), |group| group.id.as_str());
        match phases.last_mut() {
            Some((last, steps)) if step.group.is_some() && last == name => steps.push(step),
            Some(_) | None => phases.push((name.to_owned(), vec![step])),
        }
    }
    phases
}

fn step_value(step: &Step) -> Map<String, Value> {
    let (gate, instructions) = match &step.command {
        Command::Gate(gate) => {
            let text = gate.text.as_ref().map_or(Value::Bool(true), |text| json!(text));
            (Some(text), gate.instructions.as_ref())
        }
        Command::Agent(work) => (None, work.instructions.as_ref()),
        Command::Shell(_) | Command::Claude(_) | Command::Foreach(_) | Command::WriteFile(_) | Command::Validate(_) => {
            (None, None)
        }
    };
    let parts: Vec<Value> = step.parts.iter().map(part_value).collect();
    let outputs: Vec<Value> = step.outputs.iter().map(output_value).collect();
    let fields = [
        ("id", Some(json!(step.id))),
        ("title", Some(&step.title).filter(|title| title.as_str() != step.id.as_str()).map(|title| json!(title))),
        ("agent", agent(step).map(|agent| json!(agent))),
        ("depends_on", Some(json!(needs(step)))),
        ("returns_to", step.reviews.as_ref().map(|of| json!(of.id))),
        ("gate", gate),
        ("outputs", (!outputs.is_empty()).then_some(Value::Array(outputs))),
        ("parts", (!parts.is_empty()).then_some(Value::Array(parts))),
        ("idempotent", (!step.idempotent).then_some(Value::Bool(false))),
        ("probe", step.probe.as_ref().map(|probe| json!(probe.to_string()))),
        ("instructions", instructions.map(|told| json!(told.text))),
    ];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn output_value(output: &Output) -> Value {
    match &output.schema {
        None => json!(output.path),
        Some((OutputSchema::Inline(schema), _)) => json!({"path": output.path, "schema": schema}),
        Some((OutputSchema::File(file), _)) => json!({"path": output.path, "schema": file}),
    }
}

fn part_value(part: &PartDefinition) -> Value {
    match (&part.title, part.kind) {
        (None, PartKind::Work) => json!(part.name),
        (title, kind) => {
            let mut value = json!({"name": part.name});
            if let Some(title) = title {
                value["title"] = json!(title);
            }
            if kind == PartKind::Analysis {
                value["kind"] = json!("analysis");
            }
            value
        }
    }
}
