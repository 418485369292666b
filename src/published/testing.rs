//! Generates the published schemas from the types. Compiled for tests only; the program embeds the generated files.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Value, json};

use super::Published;
use crate::model::Document;

/// The URL that the schemas are published under.
pub(super) const BASE: &str = "https://raw.githubusercontent.com/piton-dev/piton/main/schemas/";

/// The source of a published schema.
#[derive(Debug)]
pub(super) enum SchemaSource {
    /// Written by hand, because it describes a foreign format.
    ByHand,
    /// A type that is read or written without an envelope.
    Type(fn() -> Schema),
    /// A whole document. Its `schema` field is `NAME/MAJOR`, and its `ok` has this value if it is constant.
    Document { schema: fn() -> Schema, major: u32, ok: Option<bool> },
}

/// Publishes a type that Piton reads.
pub(super) const fn input<T: JsonSchema>() -> SchemaSource {
    SchemaSource::Type(|| SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>())
}

/// Publishes a type that Piton writes.
pub(super) const fn output<T: JsonSchema>() -> SchemaSource {
    SchemaSource::Type(written::<T>)
}

/// Publishes a type as the `data` of an answer.
pub(super) const fn answer<T: JsonSchema>(major: u32) -> SchemaSource {
    SchemaSource::Document { schema: written::<Document<T>>, major, ok: Some(true) }
}

/// Publishes a type as the `data` of an answer that may report failure.
pub(super) const fn run_result<T: JsonSchema>(major: u32) -> SchemaSource {
    SchemaSource::Document { schema: written::<Document<T>>, major, ok: None }
}

/// Publishes the document that replaces an answer on errors.
pub(super) const fn error<T: JsonSchema>(major: u32) -> SchemaSource {
    SchemaSource::Document { schema: written::<T>, major, ok: Some(false) }
}

fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Returns the text of the schema file; `None` if it is written by hand.
pub(super) fn text(published: &Published) -> Option<String> {
    let name = published.file.name;
    let generated = match &published.source {
        SchemaSource::ByHand => return None,
        SchemaSource::Type(schema) => schema().to_value(),
        SchemaSource::Document { schema, major, ok } => {
            let mut document = schema().to_value();
            document["properties"]["schema"]["const"] = Value::from(format!("{name}/{major}"));
            if let Some(ok) = ok {
                document["properties"]["ok"]["const"] = Value::from(*ok);
            }
            document
        }
    };
    let mut file = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("{BASE}{name}.schema.json"),
        "title": format!("Piton {name}"),
        "description": published.file.about,
    });
    for (key, value) in generated.as_object()? {
        if file.get(key).is_none() {
            file[key] = value.clone();
        }
    }
    serde_json::to_string_pretty(&file).ok().map(|text| text + "\n")
}
