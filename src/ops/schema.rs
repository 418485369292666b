//! `schema`: the published JSON Schemas.

use super::OpError;
use super::report::Body;
use super::report::Report;
use super::report::SchemaList;
use super::report::SchemaName;
use crate::schema::PUBLISHED;
use crate::schema::by_name;

/// Prints one schema, or lists their names.
pub(crate) fn schema(name: Option<&str>) -> Result<Report, OpError> {
    let Some(name) = name else {
        let schemas = PUBLISHED.iter().map(|one| SchemaName { name: one.name.to_owned(), about: one.about.to_owned() });
        return Ok(Report::ok(Body::SchemaList(SchemaList { schemas: schemas.collect() })));
    };
    let found = by_name(name.trim_end_matches(".schema.json"));
    found.map(|one| Report::ok(Body::Document(one.text.to_owned()))).ok_or_else(|| {
        let names: Vec<&str> = PUBLISHED.iter().map(|one| one.name).collect();
        OpError::UnknownSchema { name: name.to_owned(), known: names.join(", ") }
    })
}
