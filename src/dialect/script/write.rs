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
    if let ChangeKind::Start(_) | ChangeKind::Repair(_) = &change.kind {
        let instead = "it begins with `piton run FILE`, and `piton restore SESSION` goes back in its journal";
        return Err(EditError::cannot("a session", "be started or rebuilt by a change", instead));
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
