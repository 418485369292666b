//! `schema`: the published JSON Schemas.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    report::{Body, Report},
};

/// A schema that is printed.
#[derive(Debug)]
pub(crate) struct SchemaFile {
    /// The argument of `piton schema`.
    pub(crate) name: &'static str,
    /// A one-line description for the list.
    pub(crate) about: &'static str,
    /// The schema, as in `schemas/NAME.schema.json`.
    pub(crate) text: &'static str,
}

/// The published schemas (`schema-list/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaList {
    pub(crate) schemas: Vec<SchemaName>,
}

impl Body for SchemaList {
    const SCHEMA: &'static str = "schema-list/1";
}

/// The name of a schema and what it describes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaName {
    pub(crate) name: String,
    pub(crate) about: String,
}

/// Lists the names of the schemas.
pub(crate) fn schemas(all: &[&SchemaFile]) -> Report<SchemaList> {
    let schemas = all.iter().map(|one| SchemaName { name: one.name.to_owned(), about: one.about.to_owned() });
    Report::ok(SchemaList { schemas: schemas.collect() })
}

/// Returns the text of one of the schemas.
pub(crate) fn schema(all: &[&SchemaFile], name: &str) -> Result<&'static str, OpError> {
    let found = all.iter().find(|one| one.name == name.trim_end_matches(".schema.json"));
    found.map(|one| one.text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| one.name).collect();
        OpError::UnknownSchema { name: name.to_owned(), known: names.join(", ") }
    })
}
