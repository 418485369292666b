//! The published schemas are JSON Schemas, name themselves, and are all embedded.

use serde_json::Value;

use crate::support;

fn schemas() -> Vec<(String, Value)> {
    let folder = support::repository().join("schemas");
    let read = |path: camino::Utf8PathBuf| {
        let name = path.file_name().expect("a file has a name").to_owned();
        let schema = serde_json::from_str(&support::read(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, schema)
    };
    support::files_below(&folder, "json").into_iter().map(read).collect()
}

#[test]
fn every_schema_is_one() {
    let schemas = schemas();
    assert!(!schemas.is_empty());
    for (name, schema) in schemas {
        assert!(name.ends_with(".schema.json"), "{name}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        if let Err(error) = jsonschema::meta::validate(&schema) {
            panic!("{name}: {error} at {}", error.instance_path());
        }
        if let Err(error) = jsonschema::validator_for(&schema) {
            panic!("{name} does not compile: {error}");
        }
    }
}

#[test]
fn every_schema_is_embedded() {
    let table = support::read(&support::repository().join("src/published/mod.rs"));
    for (name, _) in schemas() {
        let name = name.trim_end_matches(".schema.json");
        assert!(table.contains(&format!("\n    \"{name}\" \"")), "{name} is not in src/published/mod.rs");
    }
}

#[test]
fn schemas_of_foreign_files_admit_unknown_fields() {
    for (name, schema) in schemas() {
        if ["nine-step-state", "ccw-session", "ccw-task"].iter().any(|foreign| name.starts_with(foreign)) {
            assert_eq!(schema["additionalProperties"], true, "{name}");
        }
    }
}

#[test]
fn the_schema_of_workflows_agrees_with_the_program() {
    let (_, schema) = schemas().into_iter().find(|(name, _)| name == "workflow.schema.json").expect("it is published");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let accepts = |text: &str| {
        let value: Value = serde_saphyr::from_str(text).expect("YAML");
        validator.is_valid(&value)
    };
    let repository = support::repository();
    let mut files = support::files_below(&repository.join("workflows"), "yaml");
    files.extend(support::files_below(&repository.join("examples/own-workflow"), "yaml"));
    for file in files {
        assert!(accepts(&support::read(&file)), "{file}");
    }
    for wrong in ["steps: []", "steps: [{id: a, agnet: x}]", "steps: [{title: A}]", "name: x", "steps: [{id: /x}]"] {
        assert!(!accepts(wrong), "{wrong}");
    }
}
