//! `schema`: the published JSON Schemas.

use super::OpError;
use super::report::Body;
use super::report::Report;
use super::report::SchemaList;
use super::report::SchemaName;

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

/// Prints one of the schemas, or lists their names.
pub(crate) fn schema(all: &[&SchemaFile], name: Option<&str>) -> Result<Report, OpError> {
    let Some(name) = name else {
        let schemas = all.iter().map(|one| SchemaName { name: one.name.to_owned(), about: one.about.to_owned() });
        return Ok(Report::ok(Body::SchemaList(SchemaList { schemas: schemas.collect() })));
    };
    let found = all.iter().find(|one| one.name == name.trim_end_matches(".schema.json"));
    found.map(|one| Report::ok(Body::Document(one.text.to_owned()))).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| one.name).collect();
        OpError::UnknownSchema { name: name.to_owned(), known: names.join(", ") }
    })
}
