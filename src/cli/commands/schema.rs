//! `schema`.

use super::prelude::*;
use crate::{
    model::{Suggested, Verb},
    published,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Schema {
    /// Name of the schema (default: list all names)
    name: Option<String>,
}

impl Command for Schema {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let all = published::schemas();
        match &self.name {
            Some(name) => Ok(call.print(ops::schema(&all, name)?)),
            None => call.answer(Ok(ops::schemas(&all))),
        }
    }
}

impl Shown for ops::SchemaList {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let width = self.schemas.iter().map(|schema| schema.name.len() + 2).max().unwrap_or_default();
        for schema in &self.schemas {
            page.text.bold(format!("{:<width$}", schema.name)).line(&schema.about);
        }
        if !page.quiet {
            page.text.line(format!("→ {}", Suggested::of(Verb::Schema, "NAME")));
        }
    }
}
