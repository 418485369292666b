//! `restore`: brings an archived run back, or an earlier version of a run. What it replaces stays among the versions. A state that cannot be
//! read is replaced only after a yes to what `proposal` shows.

use std::collections::BTreeSet;

use super::{
    Exit, OpError, archive, archived,
    change::{ChangeRequest, change},
    lifecycle::gone,
    locked_run::{LockedRun, back_record},
    opened_run::{OpenedRun, run_word},
    project_context::ProjectContext,
    proposal::{Confirmation, Proposal, RestoreReport},
    report::{CheckpointReport, Report},
    run_location::RunLocation,
    select::{self, Selected},
    versions::{self, Source, Version, says_unreadable},
};
use crate::{
    engine::{self, EffectiveStatus, Refusal, RefusalKind},
    model::{ChangeKind, Edit, Entry, Finding, No, RollBack, Run, StepId, Suggested, Verb, plural},
    store,
};

/// Options of a restore.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestoreRequest {
    /// The version; without it the newest readable one.
    pub(crate) to: Option<String>,
    /// Rebuild the state from the evidence in place of a version.
    pub(crate) from_evidence: bool,
    pub(crate) confirmation: Confirmation,
}

/// Brings an archived run back, or restores a version: the named one, else the newest readable one.
pub(crate) fn restore(ctx: &ProjectContext, request: &RestoreRequest) -> Result<Report<RestoreReport>, OpError> {
    let to = request.to.as_deref();
    let selected = select::selected(ctx)?;
    let is_gone_then = ctx.run_path.is_some() && to.is_some();
    let location = match (archive::bring_back(ctx, &selected, is_gone_then)?, selected) {
        // A version is restored where the run was.
        (Some(_), _) if to.is_some() => return restore(ctx, request),
        (Some(back), _) => return Ok(Report::ok(back)),
        (None, Selected::There(location)) => location,
        (None, Selected::Archived(run)) => return Err(archived::refusal(ctx, &run)),
    };
    let asks = request.confirmation != Confirmation::Any && (to.is_none() || request.from_evidence);
    if asks {
        // What is only proposed leaves the record of a killed writer as it is.
        let locked = LockedRun::open_as_it_is(ctx, &location)?;
        let found = Restoration::of(ctx, &locked.opened, request)?;
        if let Some(proposal) = &found.proposal
            && !proposal.is_agreed(&location.candidate.name, &request.confirmation)?
        {
            return Ok(Report { exit: Exit::Person, ..Report::ok(found.report(&location)) });
        }
    }
    let locked = LockedRun::open(ctx, &location)?;
    locked.check_not_driven()?;
    let found = Restoration::of(ctx, &locked.opened, request)?;
    if request.confirmation == Confirmation::None {
        check_confirmed(&location.candidate.name, &found.version.name, &found.repeats)?;
    }
    found.write(ctx, &locked, &location)
}

/// A version that takes the place of the state that is there.
struct Restoration<'a> {
    version: Version<'a>,
    edits: Vec<Edit>,
    restored: OpenedRun,
    repeats: Vec<StepId>,
    proposal: Option<Proposal>,
}

impl<'a> Restoration<'a> {
    /// Finds the requested version, and what it changes.
    fn of(ctx: &ProjectContext, opened: &'a OpenedRun, request: &RestoreRequest) -> Result<Self, OpError> {
        opened.check_readable(&opened.candidate.state)?;
        let is_back = opened.files.lost.as_ref().is_none_or(|lost| lost.has_folder);
        if let Some(refusal) = gone(opened).filter(|_| !is_back) {
            return Err(OpError::Refused(refusal));
        }
        let sound = opened.loaded.run.as_ref().filter(|run| !run.degraded);
        sound.map_or(Ok(()), engine::rollback::check_writable).map_err(OpError::Refused)?;
        let version = match (&request.to, request.from_evidence) {
            (_, true) if sound.is_some() => {
                let message = format!("{} can be read: there is nothing to repair", opened.candidate.state);
                return Err(refused(opened, No::Nothing, message, [Verb::Plan, Verb::History]));
            }
            (_, true) => versions::rebuilt(opened).map_err(|error| versions::not_rebuilt(opened, &error))?,
            (Some(name), false) => versions::named(opened, name)?,
            (None, false) => match versions::to_go_back_to(opened) {
                Err(OpError::Refused(Refusal { kind: RefusalKind::Unread, .. })) if sound.is_some() => {
                    return Err(without_version(ctx, opened));
                }
                found => found?,
            },
        };
        let (edits, restored) = versions::restoring(opened, &version)?;
        if edits.is_empty() {
            let message = format!("nothing changed: the state is already as it was at {}", version.name);
            return Err(refused(opened, No::Already, message, [Verb::History, Verb::Status]));
        }
        if !versions::is_sound(&restored) {
            let message = format!("nothing changed: the state at {} cannot be read", version.name);
            return Err(refused(opened, No::Invalid, message, [Verb::History, Verb::Restore]));
        }
        let repeats = repeats(ctx, opened, &restored);
        let proposal = Proposal::of(opened, &version, &edits);
        Ok(Self { version, edits, restored, repeats, proposal })
    }

    fn report(self, location: &RunLocation) -> RestoreReport {
        // Discovery may know a broken state by its file only.
        let name = self.restored.loaded.run.as_ref().map_or(location.candidate.name.as_str(), |run| run.id.as_str());
        RestoreReport {
            run: name.to_owned(),
            from: self.version.name,
            files: self.edits.into_iter().map(|edit| edit.path).collect(),
            repeats: self.repeats,
            proposal: self.proposal,
            ..RestoreReport::default()
        }
    }

    fn write(
        self,
        ctx: &ProjectContext,
        locked: &LockedRun<'_>,
        location: &RunLocation,
    ) -> Result<Report<RestoreReport>, OpError> {
        let is_rebuilt = matches!(self.version.source, Source::Evidence(_));
        if is_rebuilt {
            self.edits.iter().try_for_each(|edit| locked.opened.check_schema(edit))?;
        }
        let kept = keep_unreadable(locked, &self.edits)?;
        let reopened = reopened(ctx, &self.restored, &self.repeats);
        let run = locked.opened.loaded.run.as_ref().filter(|_| !reopened.is_empty());
        let back = RollBack { to: self.version.name.clone(), reopened, ..RollBack::default() };
        let back = run.map(|run| back_record(run, locked.clock().now, &back));
        let entry = Entry { back, ..locked.entry(if is_rebuilt { "repair" } else { "restore" }, None) };
        locked.commit_restored(self.restored.loaded.run.as_ref(), entry, self.edits.clone())?;
        Ok(Report::ok(RestoreReport { kept, written: true, ..self.report(location) }))
    }
}

/// Returns the steps whose records are from the state that is given up: those that it had done, also if their results are gone since.
fn reopened(ctx: &ProjectContext, restored: &OpenedRun, repeats: &[StepId]) -> Vec<StepId> {
    let Some(run) = &restored.loaded.run else { return repeats.to_vec() };
    let lost = engine::lost_steps(run, &ctx.evidence(restored, false));
    let is_lost = |step: &StepId| repeats.contains(step) || lost.iter().any(|lost| lost.id == *step);
    run.steps.iter().map(|step| step.id.clone()).filter(is_lost).collect()
}

/// Returns the refusal to restore a version, with what two verbs say about the run.
fn refused(opened: &OpenedRun, why: No, message: String, verbs: [Verb; 2]) -> OpError {
    let hints = verbs.map(|verb| Suggested::of(verb, run_word(&opened.candidate)).into()).into();
    OpError::Refused(Refusal { kind: RefusalKind::No(why), message, hints })
}

/// Returns the refusal to restore a run that never changed, with the archived runs of its name.
fn without_version(ctx: &ProjectContext, opened: &OpenedRun) -> OpError {
    let name = &opened.candidate.name;
    let archived = archived::find(ctx).into_iter().filter(|archived| archived.name == *name);
    let hints = archived.map(|archived| archived::restore_command(ctx, &archived.folder).into());
    let hints = hints.chain([Suggested::of(Verb::History, run_word(&opened.candidate)).into()]).collect();
    let message = format!("nothing changed: {name} has no earlier version");
    OpError::Refused(Refusal { kind: RefusalKind::No(No::Nothing), message, hints })
}

/// Refuses to repeat steps without confirmation.
fn check_confirmed(run: &str, version: &str, repeats: &[StepId]) -> Result<(), OpError> {
    if repeats.is_empty() {
        return Ok(());
    }
    let shown = repeats.iter().take(8).map(StepId::as_str).collect::<Vec<_>>().join(", ");
    Err(OpError::NotConfirmed {
        message: format!("with {version} restored, {} would be open again: {shown}", plural(repeats.len(), "step")),
        hints: vec![Suggested::of(Verb::Restore, run).option("to", version).yes().into()],
    })
}

/// Keeps copies of unreadable files before they are replaced.
fn keep_unreadable(locked: &LockedRun<'_>, edits: &[Edit]) -> Result<Vec<String>, OpError> {
    let mut kept = Vec::new();
    let loaded = &locked.opened.loaded;
    let is_about = |finding: &Finding, path| says_unreadable(finding.code) && finding.file.as_ref() == Some(path);
    let is_unreadable = |path| loaded.run.is_none() || loaded.findings.iter().any(|finding| is_about(finding, path));
    for path in edits.iter().map(|edit| &edit.path) {
        if let Some(bytes) = locked.opened.files.bytes(path).filter(|_| is_unreadable(path)) {
            let copy = store::aside::keep(locked.lock(), path, locked.clock().now, bytes)?;
            kept.push(locked.opened.shown_path(&copy));
        }
    }
    Ok(kept)
}

/// Records the new name of the branch of a run. Nothing else of its state is replaced.
pub(crate) fn record_branch(ctx: &ProjectContext, branch: &str) -> Result<Report<CheckpointReport>, OpError> {
    let refuse = |message: String, hint: Suggested| {
        OpError::Refused(Refusal { kind: RefusalKind::No(No::Invalid), message, hints: vec![hint.into()] })
    };
    let opened = select::select(ctx)?;
    if !opened.run()?.records.details {
        return Err(refuse(
            format!("the state of {} has no place for a branch", opened.candidate.name),
            Suggested::new(Verb::Plan),
        ));
    }
    if store::git::branch_exists(&ctx.project.root, branch) != Some(true) {
        return Err(refuse(
            format!("git knows no branch {}", engine::quoted(branch)),
            Suggested::Other("git branch --list".to_owned()),
        ));
    }
    change(ctx, ChangeRequest::of(ChangeKind::Repair { branch: Some(branch.to_owned()) }))
}

/// Returns the steps that are done now and would not be after restoring. If the state is unreadable, the evidence log tells
/// which steps were done.
pub(super) fn repeats(ctx: &ProjectContext, now: &OpenedRun, restored: &OpenedRun) -> Vec<StepId> {
    let done = |opened: &OpenedRun, run: &Run| -> BTreeSet<StepId> {
        let evidence = ctx.evidence(opened, false);
        let statuses = engine::effective_statuses(run, &evidence, &opened.loaded.findings);
        let done = run.steps.iter().zip(statuses).filter(|(_, status)| *status == EffectiveStatus::Done);
        done.map(|(step, _)| step.id.clone()).collect()
    };
    let before = match &now.loaded.run {
        Some(run) => done(now, run),
        None => now.records().into_iter().map(|record| record.step).collect(),
    };
    let after = restored.loaded.run.as_ref().map(|run| done(restored, run)).unwrap_or_default();
    before.into_iter().filter(|step| !after.contains(step)).collect()
}
