//! The log of reports and decisions, at the top of the main work tree: a linked work tree may go away, and its reports stay.
//!
//! A line is durable before the checkpoint that it belongs to is written, so that nothing that was acknowledged is lost. The log is never
//! rotated.

use camino::Utf8Path;

use super::error::StoreError;
use super::journal;
use super::lock;
use super::path::Root;
use crate::model::DialectId;
use crate::model::RelPath;
use crate::model::RunId;
use crate::model::Statement;

const LOG: &str = "reports.jsonl";

/// Appends a line, creating the folder if needed, and returns when it is durable.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn append(root: &Utf8Path, data_dir: &RelPath, statement: &Statement) -> Result<(), StoreError> {
    let data_path = Root::open(root)?.target(data_dir)?;
    lock::create_data_dir(&data_path)?;
    journal::append_durably(&data_path, LOG, statement)
}

/// Reads what was said about a run, oldest first. Lines that do not parse are left out.
pub(crate) fn read(root: &Utf8Path, data_dir: &RelPath, run: &RunId, dialect: DialectId) -> Vec<Statement> {
    let data_path = Root::open(root).ok().and_then(|root| root.locate(data_dir).ok());
    let mut statements: Vec<Statement> = data_path.map_or_else(Vec::new, |data_path| journal::read(&data_path, LOG));
    statements.retain(|statement| statement.run == run.as_str() && statement.dialect == dialect);
    statements
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
