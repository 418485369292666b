//! Records a change of a session.

use super::{
    acts::acts_once, after_agent::has_rest, definition::changed_outline, facts::Facts, record::Event, session::Session,
};
use crate::{
    dialect::EditError,
    model::{Change, ChangeKind, Edit, FileSet, StepId, Suggested, Verb},
};

/// Records a change that the runner did not make: a step of an agent, a decision about a step, or a pause.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let session = Session::read(files)
        .map_err(|finding| EditError::Unreadable { file: files.state.as_str().to_owned(), problem: finding.message })?;
    if let ChangeKind::Start(_) | ChangeKind::Repair { .. } = &change.kind {
        let (run, restore) = (Suggested::of(Verb::Run, "FILE"), Suggested::of(Verb::Restore, "SESSION"));
        let instead = format!("it begins with `{run}`, and `{restore}` goes back in its journal");
        return Err(EditError::cannot("a session", "be started or rebuilt by a change", instead));
    }
    let reopens = change.kind.reopens().to_vec();
    // The next resume of a run that piton drives takes the file as it is; any other run goes on as it was recorded.
    let edited = if session.header.is_attended { None } else { changed_outline(files, &session) };
    if edited.is_some() && matches!(change.kind, ChangeKind::Begin { .. }) {
        let instead = format!("a person takes it with `{}`", session.header.resume());
        return Err(EditError::cannot("a workflow file that changed", "be taken with a begin", &instead));
    }
    let outcome = match &change.kind {
        ChangeKind::Finish(outcome) => Some(outcome.as_ref()),
        _ => None,
    };
    let after_agent = outcome.is_some_and(|outcome| {
        let step = session.state.workflow.steps.iter().find(|step| step.id == outcome.step);
        step.is_some_and(|step| has_rest(&step.definition, outcome) && !session.state.took_effect(step))
    });
    let amends = outcome.is_some_and(|outcome| outcome.amends);
    let digest = outcome.zip(edited).and_then(|(outcome, edited)| edited.digest_of(&outcome.step));
    let facts = Facts { reopens, after_agent, amends, digest, ..Facts::default() };
    Ok(vec![session.append(Event::Change(change.clone()), facts)?])
}

/// Returns the record by which a session takes its workflow file as it is now. Work in progress at a step that changed, or that builds on one,
/// moves: it is about the old definition. What must not run twice goes on: it may have taken effect.
pub(super) fn redefined(files: &FileSet) -> Option<Edit> {
    let session = Session::read(files).ok()?;
    let now = changed_outline(files, &session)?;
    let is_changed = |step: &&StepId| now.digest_of(step) != session.state.workflow.digest_of(step);
    let changed: Vec<&StepId> = now.steps.iter().map(|step| &step.id).filter(is_changed).collect();
    let built_on: Vec<&StepId> = changed.iter().flat_map(|step| now.behind(step)).collect();
    let known = || session.state.workflow.steps.iter().chain(&now.steps);
    let is_act = |id: &StepId| known().any(|step| step.id == *id && acts_once(&step.definition));
    let is_begun = |step: &StepId| session.state.standing.of(step).is_some_and(|stand| stand.is_begun);
    let moves = |step: &&&StepId| is_begun(step) && !is_act(step);
    let mut reopens: Vec<StepId> = changed.iter().chain(&built_on).filter(moves).copied().cloned().collect();
    reopens.sort();
    reopens.dedup();
    session.append(Event::Note(()), Facts { reopens, definition: Some(now), ..Facts::default() }).ok()
}
