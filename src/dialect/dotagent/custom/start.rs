//! Creates both files of a new run, with everything it needs to continue without the workflow file.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::definition::digest;
use super::definition::needs;
use super::definition::phases;
use super::definition::to_value;
use super::state::EXECUTION;
use crate::dialect::EditError;
use crate::document::Node;
use crate::model::Definition as Given;
use crate::model::Edit;
use crate::model::EditKind;
use crate::model::StartSpec;
use crate::model::Timestamp;
use crate::workflow;
use crate::workflow::Step;
use crate::workflow::Workflow;

/// Computes the files of a new run.
///
/// # Errors
///
/// If there is no definition, or an invalid one.
pub(in super::super) fn start(spec: &StartSpec, at: Timestamp) -> Result<Vec<Edit>, EditError> {
    let unsupported = |problem: String| EditError::Unsupported(problem);
    let Some(given) = &spec.definition else {
        return Err(unsupported("a custom workflow needs its definition".to_owned()));
    };
    let path = |name: &str| given.folder.join(name).map_err(|error| unsupported(error.to_string()));
    let (phase_path, execution_path) = (path("phase.json")?, path(EXECUTION)?);
    let parsed = workflow::parse_tree(&phase_path, &Node::of(&given.value));
    let Some(definition) = parsed.workflow else {
        let first = parsed.findings.first().map(|finding| finding.message.clone());
        return Err(unsupported(first.unwrap_or_default()));
    };
    let tasks: Vec<Value> = definition.steps.iter().map(task).collect();
    let execution = json!({"workflow_id": spec.feature, "tasks": tasks});
    let phase = phase(spec, given, &definition, at);
    let create = |path, value: &Value| {
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        Edit { path, kind: EditKind::Create { after: text.into_bytes() } }
    };
    Ok(vec![create(execution_path, &execution), create(phase_path, &phase)])
}

/// Returns the record of a step that has not started.
pub(super) fn task(step: &Step) -> Value {
    let mut task = json!({
        "id": step.id,
        "status": "pending",
        "attempts": 0,
        "started_at": null,
        "completed_at": null,
        "depends_on": needs(step),
        "output": step.outputs.first().map(|output| output.path.as_str()),
    });
    if !step.parts.is_empty() {
        let parts = step.parts.iter().map(|part| json!({"name": part.name, "status": "pending"}));
        task["parts"] = Value::Array(parts.collect());
    }
    task
}

fn phase(spec: &StartSpec, given: &Given, definition: &Workflow, at: Timestamp) -> Value {
    let first = phases(definition).into_iter().next().map(|(phase, _)| phase);
    let digests: Map<String, Value> =
        definition.steps.iter().map(|step| (step.id.as_str().to_owned(), json!(digest(step)))).collect();
    let fields = [
        ("workflow_id", Some(json!(spec.feature))),
        ("feature", Some(json!(spec.feature))),
        ("description", spec.description.as_ref().map(|text| json!(text))),
        ("workflow", Some(json!(definition.name))),
        ("branch", spec.branch.as_ref().map(|branch| json!(branch))),
        ("issues", (!spec.issues.is_empty()).then(|| json!(spec.issues))),
        ("started_at", Some(json!(at))),
        ("last_updated", Some(json!(at))),
        ("current_phase", Some(json!(first))),
        ("phase_status", Some(json!("pending"))),
        ("completed_phases", Some(json!([]))),
        ("user_checkpoints", Some(json!([]))),
        ("interruption_safe", Some(json!(true))),
        ("definition", Some(to_value(definition))),
        ("definition_source", Some(json!({"path": given.source, "sha256": given.sha256, "digests": digests}))),
    ];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
