//! Records a change of a session.

use super::facts::Facts;
use super::record::Event;
use super::session::Session;
use crate::dialect::EditError;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Status;

/// Records a change that the runner did not make: a decision about a step, or a pause.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let session = Session::read(files)
        .map_err(|finding| EditError::Unreadable { file: files.state.as_str().to_owned(), problem: finding.message })?;
    let refusal = match &change.kind {
        ChangeKind::Start(_) => Some("a session begins with `piton run FILE`"),
        ChangeKind::Repair(_) => Some("a session is not rebuilt: `piton restore SESSION` goes back in its journal"),
        ChangeKind::Begin { .. }
        | ChangeKind::Finish(_)
        | ChangeKind::Approve { .. }
        | ChangeKind::Skip { .. }
        | ChangeKind::Pause { .. }
        | ChangeKind::Abort { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Resume { .. }
        | ChangeKind::RollBack(_) => None,
    };
    if let Some(refusal) = refusal {
        return Err(EditError::Unsupported(refusal.to_owned()));
    }
    let (edit, _) = session.append(Event::Change(change.clone()), facts(files, change))?;
    Ok(vec![edit])
}

/// Returns the digest of the current definition for a step that is finished by hand.
fn facts(files: &FileSet, change: &Change) -> Facts {
    let ChangeKind::Finish(outcome) = &change.kind else { return Facts::default() };
    if outcome.status != Status::Completed || outcome.part.is_some() {
        return Facts::default();
    }
    let loaded = super::read::load(files);
    let digest = loaded.run.as_ref().and_then(|run| run.step(&outcome.step)?.definition_digest());
    Facts { digest, ..Facts::default() }
}
