//! Records a change of a session.

use super::{after_agent::has_rest, facts::Facts, record::Event, session::Session};
use crate::{
    dialect::EditError,
    model::{Change, ChangeKind, Edit, FileSet},
};

/// Records a change that the runner did not make: a step of an agent, a decision about a step, or a pause.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let session = Session::read(files)
        .map_err(|finding| EditError::Unreadable { file: files.state.as_str().to_owned(), problem: finding.message })?;
    if let ChangeKind::Start(_) | ChangeKind::Repair { .. } = &change.kind {
        let instead = "it begins with `piton run FILE`, and `piton restore SESSION` goes back in its journal";
        return Err(EditError::cannot("a session", "be started or rebuilt by a change", instead));
    }
    let reopens = change.kind.reopens().to_vec();
    // A changed workflow file counts from here on.
    let definition = super::read::changed_outline(files, &session);
    let outline = definition.as_ref().unwrap_or(&session.state.workflow);
    let outcome = match &change.kind {
        ChangeKind::Finish(outcome) => Some(outcome.as_ref()),
        _ => None,
    };
    let after_agent = outcome.is_some_and(|outcome| {
        let step = outline.steps.iter().find(|step| step.id == outcome.step);
        step.is_some_and(|step| has_rest(&step.definition, outcome) && !session.state.took_effect(step))
    });
    let amends = outcome.is_some_and(|outcome| outcome.amends);
    let facts = Facts { reopens, definition, after_agent, amends, ..Facts::default() };
    Ok(vec![session.append(Event::Change(change.clone()), facts)?])
}
