//! The workflow file of a session, beside the definition that was recorded.

use super::{facts::Outline, paths, record::Header, session::Session, state::RunPhase};
use crate::{
    model::{FileSet, RelPath, sha256_hex},
    workflow::{self, Parsed},
};

/// Returns the steps of the workflow file as it is now, if it differs from the recorded one and has no mistakes.
pub(super) fn changed_outline(files: &FileSet, session: &Session) -> Option<Outline> {
    let shown = paths::folder_of(&files.state).and_then(|folder| paths::workflow(&folder))?;
    let bytes = files.bytes(&shown)?;
    if matches!(session.state.run.status, RunPhase::Completed | RunPhase::Aborted) {
        return None;
    }
    let parsed = changed(files, &session.header, bytes, &session.state.workflow.sha256)?;
    Some(Outline::of(&parsed.workflow?, parsed.sha256))
}

/// Returns the content of a file that the workflow file of a session includes, if it did when the session began.
fn included(files: &FileSet, header: &Header, path: &RelPath) -> Result<Vec<u8>, String> {
    if !header.included.contains(path) {
        return Err("was not included when the run began".to_owned());
    }
    let shown = paths::folder_of(&files.state).and_then(|folder| paths::included(&folder, path));
    let bytes = shown.and_then(|shown| files.bytes(&shown));
    bytes.map(<[u8]>::to_vec).ok_or_else(|| "cannot be read".to_owned())
}

/// Returns the workflow file of a session as it is now, unless it is as it was recorded.
pub(super) fn changed(files: &FileSet, header: &Header, bytes: &[u8], recorded: &str) -> Option<Parsed> {
    if header.included.is_empty() && sha256_hex(bytes) == recorded {
        return None;
    }
    let parsed = workflow::parse_with(&header.workflow.file, bytes, &|path| included(files, header, path));
    (parsed.sha256 != recorded).then_some(parsed)
}
