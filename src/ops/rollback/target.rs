//! Resolves a typed target to the steps that are reopened.

use std::collections::BTreeSet;

use super::{RollbackContext, report::RollbackTarget};
use crate::{
    engine::{
        self, Refusal, RefusalKind,
        rollback::{self, TargetMeaning},
    },
    model::{Edit, No, StepId, Suggested, Timestamp, Verb, clean_line},
    ops::{
        OpError,
        opened_run::OpenedRun,
        restore,
        versions::{self, Version},
    },
    store,
};

/// How many checkpoints are listed as targets.
const OFFERED: usize = 10;

/// The target of a rollback.
#[derive(Debug)]
pub(super) struct ResolvedTarget {
    pub(super) meaning: TargetMeaning,
    pub(super) reopened: Vec<StepId>,
    /// The edits that restore a checkpoint; `None` if the dialect reopens the steps.
    pub(super) edits: Option<Vec<Edit>>,
    /// The full hash of a given commit.
    pub(super) commit: Option<String>,
}

/// Lists the possible targets, phases first: those that a rollback would not refuse.
pub(super) fn targets(context: &RollbackContext<'_>) -> Vec<RollbackTarget> {
    let (run, phases) = (context.run, rollback::phases(context.run));
    let is_possible = |meaning: TargetMeaning| {
        let target = resolve_reading(context, meaning);
        target.is_ok_and(|target| context.admitted(context.back_to(&target, None), &target, false).is_ok())
    };
    let target = |to: String, what: String, at: Option<Timestamp>| {
        let command = rollback::command_to(run, &to);
        RollbackTarget { to, what, at, command }
    };
    let mut targets = Vec::new();
    for place in (0..=phases.len()).rev() {
        let meaning = TargetMeaning::Phase(place);
        if is_possible(meaning.clone()) {
            let steps = place.checked_sub(1).and_then(|at| phases.get(at)).map(|phase| &phase.steps);
            let at = steps.into_iter().flatten().filter_map(|at| run.steps[*at].finished_at).max();
            let number = place.checked_sub(1).and_then(|at| phases.get(at)).map_or(0, |phase| phase.number);
            targets.push(target(number.to_string(), meaning.describe(run), at));
        }
    }
    // Which steps a checkpoint repeats is not asked here: each answer looks at all evidence again.
    let differs = |id: &str| restoring_edits(context, id).is_ok_and(|(edits, _)| !edits.is_empty());
    let checkpoints = checkpoints(context.opened).filter(|version| differs(&version.name));
    for version in checkpoints.take(OFFERED) {
        let (change, step) = version.replaced_by().unwrap_or_default();
        let step = step.map_or_else(String::new, |step| format!(" {}", clean_line(step.as_str(), 60)));
        let change = clean_line(change, 40);
        targets.push(target(version.name, format!("checkpoint before {change}{step}"), version.at));
    }
    targets
}

/// Lists the versions that a change of Piton replaced, newest first.
fn checkpoints(opened: &OpenedRun) -> impl Iterator<Item = Version<'_>> {
    versions::recorded(opened).filter(|version| version.replaced_by().is_some())
}

/// Resolves a typed target.
pub(super) fn resolve(context: &RollbackContext<'_>, to: &str) -> Result<ResolvedTarget, OpError> {
    let run = context.run;
    let known: Vec<String> = checkpoints(context.opened).map(|version| version.name).collect();
    let Some(meaning) = rollback::meaning(run, to, &known) else {
        return Err(OpError::Refused(Refusal {
            kind: RefusalKind::NotFound,
            message: format!(
                "run {} has no phase, step or checkpoint `{}`, and a commit is named by at least seven digits",
                run.id,
                clean_line(to, 80)
            ),
            hints: vec![rollback::listing_command(run).into()],
        }));
    };
    let Some(meaning) = concrete(context, meaning, &known) else {
        return Err(OpError::Refused(Refusal {
            kind: RefusalKind::No(No::Nothing),
            message: format!("run {} has neither phases nor earlier checkpoints", run.id),
            hints: vec![Suggested::of(Verb::History, &run.id).into()],
        }));
    };
    resolve_reading(context, meaning)
}

/// Resolves `Last` to a phase or checkpoint; other meanings are unchanged.
fn concrete(context: &RollbackContext<'_>, meaning: TargetMeaning, known: &[String]) -> Option<TargetMeaning> {
    match meaning {
        TargetMeaning::Last => {
            let newest = || known.first().cloned().map(TargetMeaning::Checkpoint);
            rollback::last(context.run, &context.statuses).or_else(newest)
        }
        TargetMeaning::Phase(_) | TargetMeaning::Step(_) | TargetMeaning::Checkpoint(_) | TargetMeaning::Commit(_) => {
            Some(meaning)
        }
    }
}

fn resolve_reading(context: &RollbackContext<'_>, meaning: TargetMeaning) -> Result<ResolvedTarget, OpError> {
    let run = context.run;
    let plain = |meaning, reopened| ResolvedTarget { meaning, reopened, edits: None, commit: None };
    match meaning {
        TargetMeaning::Last | TargetMeaning::Phase(_) | TargetMeaning::Step(_) => {
            let reopened = rollback::reopens(run, &context.statuses, &meaning).map_err(OpError::Refused)?;
            Ok(plain(meaning, reopened))
        }
        TargetMeaning::Checkpoint(id) => {
            let (edits, after) = restoring_edits(context, &id)?;
            let reopened = restore::repeats(context.ctx, context.opened, &after);
            Ok(ResolvedTarget { edits: Some(edits), ..plain(TargetMeaning::Checkpoint(id), reopened) })
        }
        TargetMeaning::Commit(sha) => {
            let Some((_, history)) = store::history_of(&context.folder, &sha) else {
                return Err(OpError::Refused(Refusal {
                    kind: RefusalKind::NotFound,
                    message: format!("there is no commit {sha} in {}", context.shown_folder),
                    hints: vec![
                        Suggested::Other(format!("git -C {} log --oneline", engine::quoted(&context.shown_folder)))
                            .into(),
                    ],
                }));
            };
            let commit = history.first().cloned();
            let history: BTreeSet<String> = history.into_iter().collect();
            let reopened = rollback::reopened_at_commit(run, &context.statuses, &context.evidence.records, &history);
            Ok(ResolvedTarget { commit, ..plain(TargetMeaning::Commit(sha), reopened) })
        }
    }
}

/// Returns the edits that restore a checkpoint, and the restored run.
fn restoring_edits(context: &RollbackContext<'_>, id: &str) -> Result<(Vec<Edit>, OpenedRun), OpError> {
    let opened = context.opened;
    let (edits, after) = versions::restoring(opened, &versions::named(opened, id)?)?;
    if !versions::is_sound(&after) {
        return Err(OpError::Refused(Refusal {
            kind: RefusalKind::No(No::Invalid),
            message: format!("checkpoint {id} of {} holds a state that cannot be read", context.run.id),
            hints: vec![rollback::listing_command(context.run).into()],
        }));
    }
    Ok((edits, after))
}
