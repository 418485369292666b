//! The history of a session: the state before each record of the journal can be restored.

use super::facts::Facts;
use super::record::Event;
use super::session::Session;
use super::session::records;
use super::state::State;
use crate::dialect::EditError;
use crate::dialect::PastCheckpoint;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Finding;

/// Lists the state before each record but the first, which started the session.
pub(super) fn journal_checkpoints(files: &FileSet) -> Option<Vec<PastCheckpoint>> {
    let records = records(files).ok()?;
    let checkpoints = records.iter().skip(1).map(|record| {
        let (at, change, step) = match &record.event {
            Event::Change(change) => (Some(change.at), change.kind.as_str(), change.kind.step().cloned()),
            Event::Base(state) => (state.run.changed_at, "restore", None),
        };
        PastCheckpoint {
            id: format!("{:06}", record.seq),
            at,
            change: change.to_owned(),
            step,
            file: files.state.clone(),
        }
    });
    Some(checkpoints.collect())
}

/// Records the state before a record as the current state.
pub(super) fn restore_checkpoint(files: &FileSet, checkpoint: &str) -> Result<Vec<Edit>, EditError> {
    let unreadable = |finding: Box<Finding>| {
        let file = files.state.as_str().to_owned();
        EditError::Unreadable { file, problem: finding.message }
    };
    let session = Session::read(files).map_err(unreadable)?;
    let records = records(files).map_err(unreadable)?;
    let wanted = checkpoint.parse::<u64>().ok().filter(|seq| *seq > 1);
    let at = wanted.and_then(|seq| records.iter().position(|record| record.seq == seq));
    let Some(at) = at else {
        return Err(EditError::Unsupported(format!("{} has no checkpoint `{checkpoint}`", files.name)));
    };
    let state = State::from_records(&records[..at]);
    // The definition of the workflow is not undone.
    let state = State { workflow: session.state.workflow.clone(), ..state };
    let (edit, _) = session.append(Event::Base(Box::new(state)), Facts::default())?;
    Ok(vec![edit])
}
