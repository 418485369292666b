//! Schemas that a workflow declares for the outputs of its steps. They are compiled on demand and never fetched.

use jsonschema::{Draft, Validator};
use serde_json::Value;

use super::message;
use crate::model::{Finding, FindingCode, RelPath, StepId, clean_line};

/// Returns why a value is not a JSON Schema; `None` if it is one.
pub(crate) fn schema_error(schema: &Value) -> Option<String> {
    compile(schema).err()
}

/// Returns a finding for each declared schema that is not a JSON Schema. Each one comes with its step, line and column.
pub(crate) fn invalid_schemas<'a>(
    file: &RelPath,
    declared: impl IntoIterator<Item = (&'a StepId, &'a Value, (u32, u32))>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (step, schema, (line, column)) in declared {
        if let Some(problem) = schema_error(schema) {
            let message = format!("the `expected_schema` of {step} is not a JSON Schema: {problem}");
            let finding = Finding::new(FindingCode::DefinitionInvalid, message).on(step).at(file);
            findings.push(finding.line(line, Some(column)).fix("correct the schema"));
        }
    }
    findings
}

/// Returns the first violation of a declared schema, with the JSON pointer; `None` if the value is valid.
///
/// # Errors
///
/// If the schema itself is not a JSON Schema.
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

    use super::{schema_error, violation};

    #[test]
    fn a_declared_schema_names_the_place_and_the_reason() {
        let schema = json!({"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}});
        assert_eq!(violation(&schema, &json!({"ok": true})), Ok(None));
        let found = |value| violation(&schema, &value).unwrap().unwrap();
        assert_eq!(found(json!({"ok": 1})), "/ok is a number, true or false is needed");
        assert_eq!(found(json!({})), "the top level lacks the field `ok`");
    }

    #[test]
    fn an_invalid_schema_is_reported_and_nothing_is_fetched() {
        assert!(schema_error(&json!({"type": "objekt"})).is_some());
        assert!(schema_error(&json!({"$ref": "http://127.0.0.1:9/schema.json"})).is_some());
        assert_eq!(schema_error(&json!({"type": "object"})), None);
    }
}
