//! Runs that came along when their project was copied: the project that they were copied from has them too.

use camino::Utf8Path;

use super::{OpError, run_location::header_bytes};
use crate::{
    engine,
    model::{Candidate, DialectId, Finding, FindingCode},
    store::RunIndex,
};

/// Returns the finding about a run of a workflow file in this home that is a copy which no person continued yet.
pub(super) fn finding(index: &RunIndex, home: &Utf8Path, candidate: &Candidate) -> Option<Finding> {
    let id = candidate.name.as_str();
    let bytes = header(home, candidate)?;
    let original = index.original_of(id, &bytes, home)?;
    let message =
        format!("this run was copied with its project: {original} has it too, and it does not go on in both places");
    let fix = format!("piton resume {} --trust", engine::quoted(id));
    Some(Finding::new(FindingCode::CopiedRun, message).fix(fix))
}

/// Records that a person continues a run here that came with a copy of its project.
pub(crate) fn trust(index: &RunIndex, home: &Utf8Path, candidate: &Candidate) -> Result<(), OpError> {
    let Some(bytes) = header(home, candidate) else { return Ok(()) };
    Ok(index.enter(&candidate.name, &bytes, home)?)
}

fn header(home: &Utf8Path, candidate: &Candidate) -> Option<Vec<u8>> {
    let is_own = candidate.dialect == DialectId::Piton;
    is_own.then(|| header_bytes(home, &candidate.name)).flatten()
}
