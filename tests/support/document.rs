//! What every answer in JSON has to satisfy.

use std::{
    collections::BTreeMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use serde_json::Value;

use super::{Output, read, repository};

/// Checks the document of an answer: it satisfies its published schema, and an error is none that exits 0.
pub(crate) fn check_document(output: &Output, document: &Value) -> Result<(), String> {
    let schema = document["schema"].as_str().ok_or("a document without a schema")?;
    let (name, _) = schema.split_once('/').ok_or_else(|| format!("{schema} has no version"))?;
    validate(name, document)?;
    let is_error = name == "error";
    if is_error && (document["ok"] != false || output.code == 0) {
        return Err(format!("an error that exits {} with `ok` {}", output.code, document["ok"]));
    }
    Ok(())
}

/// Checks a document against a published schema, which is compiled once.
pub(crate) fn validate(name: &str, document: &Value) -> Result<(), String> {
    static COMPILED: OnceLock<Mutex<BTreeMap<String, jsonschema::Validator>>> = OnceLock::new();
    let mut compiled = COMPILED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if !compiled.contains_key(name) {
        let text = read(&repository().join(format!("schemas/{name}.schema.json")));
        let schema = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
        compiled.insert(name.to_owned(), jsonschema::validator_for(&schema).map_err(|error| error.to_string())?);
    }
    compiled[name].validate(document).map_err(|error| format!("{name}{}: {error}", error.instance_path()))
}
