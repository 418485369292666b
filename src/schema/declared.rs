//! Schemas that a workflow declares for the outputs of its steps: compiled when they are needed, never fetched from anywhere.

use jsonschema::Draft;
use jsonschema::Validator;
use serde_json::Value;

use super::message;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::StepId;
use crate::model::clean_line;

/// Says why a value is no JSON Schema; `None` when it is one.
pub(crate) fn problem_of_schema(schema: &Value) -> Option<String> {
    compile(schema).err()
}

/// Says of a workflow file which of the schemas that it declares are none. Each is given with its step, line and column.
pub(crate) fn not_schemas<'a>(
    file: &RelPath,
    declared: impl IntoIterator<Item = (&'a StepId, &'a Value, (u32, u32))>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (step, schema, (line, column)) in declared {
        if let Some(problem) = problem_of_schema(schema) {
            let message = format!("the `expected_schema` of {step} is not a JSON Schema: {problem}");
            let finding = Finding::new(FindingCode::DefinitionInvalid, message).on(step).at(file);
            findings.push(finding.line(line, Some(column)).fix("correct the schema"));
        }
    }
    findings
}

/// Says what a declared schema objects to first in a value, with the JSON pointer; `None` when nothing.
///
/// # Errors
///
/// When the schema itself is none.
pub(crate) fn violation(schema: &Value, value: &Value) -> Result<Option<String>, String> {
    let validator = compile(schema)?;
    Ok(validator.iter_errors(value).next().map(|error| message::describe(&error)))
}

fn compile(schema: &Value) -> Result<Validator, String> {
    let compiled = jsonschema::options().with_draft(Draft::Draft202012).build(schema);
    compiled.map_err(|error| {
        let place = error.instance_path().as_str();
        let place = if place.is_empty() { "the top level" } else { place };
        clean_line(&format!("{place}: {}", error.masked()), 240)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::problem_of_schema;
    use super::violation;

    #[test]
    fn a_declared_schema_names_the_place_and_the_reason() {
        let schema = json!({"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}});
        assert_eq!(violation(&schema, &json!({"ok": true})), Ok(None));
        let found = |value| violation(&schema, &value).unwrap().unwrap();
        assert_eq!(found(json!({"ok": 1})), "/ok is a number, true or false is needed");
        assert_eq!(found(json!({})), "the top level lacks the field `ok`");
    }

    #[test]
    fn what_is_no_schema_is_told_and_nothing_is_fetched() {
        assert!(problem_of_schema(&json!({"type": "objekt"})).is_some());
        assert!(problem_of_schema(&json!({"$ref": "http://127.0.0.1:9/schema.json"})).is_some());
        assert_eq!(problem_of_schema(&json!({"type": "object"})), None);
    }
}
