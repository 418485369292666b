//! What `restore` proposes for a state that cannot be read: the newest readable version, or in AIOS the state rebuilt from evidence.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit, OpError,
    change::{ChangeRequest, change},
    draft::check_change,
    locked_run::LockedRun,
    opened_run::{OpenedRun, located_message, run_word},
    project_context::ProjectContext,
    report::{Body, CheckpointReport, Report},
    run_location::RunLocation,
    select,
    versions::{self, Version},
};
use crate::{
    dialect::EditError,
    engine::{self, Admitted, ChangeLimits, EffectiveStatus, Refusal, RefusalKind},
    model::{
        Change, ChangeKind, EditKind, Evidence, FindingCode, Fix, No, RebuiltValue, Reconstruction, RelPath, Run,
        StepId, Timestamp, sha256_hex_of,
    },
    store,
};

/// A restored or proposed version of a run (`restore/1`).
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    pub(crate) run: String,
    /// The version, the archive, or `evidence`.
    pub(crate) from: String,
    /// False if it is only proposed: the state that is there cannot be read, and a person has not agreed to replace it.
    pub(crate) written: bool,
    pub(crate) files: Vec<RelPath>,
    /// Steps that are open again because the restored state is older: each is begun again, or asked about where it must not run twice.
    pub(crate) repeats: Vec<StepId>,
    /// Where an unreadable state was kept.
    pub(crate) kept: Vec<String>,
    /// What is written in the place of a state that could not be read. Left out where a version is restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proposal: Option<Proposal>,
}

impl RestoreReport {
    pub(super) fn new(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// Returns the question about a proposal, and the digest that a yes confirms; `None` if it is written.
    pub(crate) fn prompt(&self) -> Option<(String, String)> {
        let proposal = self.proposal.as_ref().filter(|_| !self.written)?;
        let files: Vec<&str> = self.files.iter().map(RelPath::as_str).collect();
        let question = format!("Write this in the place of {}? [y/N]", files.join(" and "));
        Some((question, proposal.digest.clone()))
    }
}

impl Body for RestoreReport {
    const SCHEMA: &'static str = "restore/1";

    fn written(&self) -> Option<String> {
        self.written.then(|| format!("{} is back at {}", self.run, self.from))
    }
}

/// Says whether steps may be opened again, and what cannot be read be replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// Not confirmed.
    #[default]
    None,
    /// Anything is confirmed.
    Any,
    /// The proposal with this digest is confirmed.
    Digest(String),
}

/// The proposed content of a state, and what it is chosen from.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Proposal {
    /// What cannot be read, and where.
    pub(crate) problems: Vec<String>,
    /// Every known earlier version, newest first.
    pub(crate) versions: Vec<KnownVersion>,
    /// Digest of `files`.
    pub(crate) digest: String,
    pub(crate) files: Vec<ProposedFile>,
    /// The source of each value; only for a rebuilt state.
    pub(crate) values: Vec<RebuiltValue>,
    /// Values without evidence, and what is written instead.
    pub(crate) unknown: Vec<String>,
    /// The command that writes it.
    pub(crate) command: String,
}

/// An earlier version of a state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnownVersion {
    /// What `restore --to` takes.
    pub(crate) name: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) what: String,
    pub(crate) readable: bool,
}

/// A proposed file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedFile {
    pub(crate) file: RelPath,
    pub(crate) content: String,
}

/// Returns what would replace a state that cannot be read; `None` if nothing has to be asked: it can be read, or nothing is replaced.
pub(super) fn of_version(ctx: &ProjectContext, location: &RunLocation) -> Result<Option<RestoreReport>, OpError> {
    let locked = LockedRun::open_as_it_is(ctx, location)?;
    let opened = &locked.opened;
    opened.check_readable(&location.candidate.state)?;
    if versions::is_sound(opened) {
        return Ok(None);
    }
    let version = newest_readable(ctx, opened)?;
    let (edits, restored) = versions::restoring(opened, &version)?;
    if !edits.iter().any(|edit| matches!(edit.kind, EditKind::Replace { .. })) {
        return Ok(None);
    }
    let files: Vec<_> = edits.iter().filter_map(|edit| Some((edit.path.clone(), edit.after()?.to_vec()))).collect();
    let command = format!("piton restore {} --yes", run_word(&location.candidate));
    Ok(Some(RestoreReport {
        repeats: repeats(ctx, opened, &restored),
        from: version.name,
        files: files.iter().map(|(path, _)| path.clone()).collect(),
        proposal: Some(Proposal { command, ..propose(opened, &files) }),
        ..RestoreReport::new(&location.candidate.name)
    }))
}

/// Proposes the state rebuilt from evidence, and writes it if that is agreed.
pub(super) fn from_evidence(
    ctx: &ProjectContext,
    location: &RunLocation,
    confirmation: &Confirmation,
) -> Result<Report<RestoreReport>, OpError> {
    let locked = LockedRun::open_as_it_is(ctx, location)?;
    let opened = &locked.opened;
    opened.check_readable(&location.candidate.state)?;
    check_broken(opened)?;
    let rebuilt = opened.dialect.rebuild().reconstruct(&opened.files, ctx.clock.now);
    let Reconstruction { files, values, unknown } = rebuilt.map_err(|error| not_rebuilt(opened, &error))?;
    let rebuilt = versions::with_files(opened, files.iter().map(|(path, bytes)| (path, bytes)));
    let run = sound(&rebuilt)?;
    let command = format!("piton restore {} --from-evidence --yes", run_word(&location.candidate));
    let proposal = Proposal { values, unknown, command, ..propose(opened, &files) };
    let report = RestoreReport {
        from: "evidence".to_owned(),
        repeats: repeats(ctx, opened, &rebuilt),
        files: files.into_iter().map(|(path, _)| path).collect(),
        proposal: Some(proposal),
        ..RestoreReport::new(&location.candidate.name)
    };
    if !is_agreed(confirmation, &report)? {
        return Ok(Report { exit: Exit::Person, ..Report::ok(report) });
    }
    locked.check_not_driven()?;
    let kept = rebuild(ctx, &locked, run)?;
    Ok(Report::ok(RestoreReport { kept, written: true, ..report }))
}

/// Records the new name of the branch of a run. Nothing else of its state is replaced.
pub(crate) fn record_branch(ctx: &ProjectContext, branch: &str) -> Result<Report<CheckpointReport>, OpError> {
    let refuse = |message: String, hint: &str| {
        OpError::Refused(Refusal { kind: RefusalKind::No(No::Invalid), message, hints: vec![hint.to_owned()] })
    };
    let opened = select::select(ctx)?;
    if !opened.run()?.records.details {
        return Err(refuse(format!("the state of {} has no place for a branch", opened.candidate.name), "piton plan"));
    }
    if store::git::branch_exists(&ctx.project.root, branch) != Some(true) {
        return Err(refuse(format!("git knows no branch {}", engine::quoted(branch)), "git branch --list"));
    }
    change(ctx, ChangeRequest::of(ChangeKind::Repair { branch: Some(branch.to_owned()) }))
}

/// Refuses to rebuild a run that can be read.
fn check_broken(opened: &OpenedRun) -> Result<(), OpError> {
    if !versions::is_sound(opened) {
        return Ok(());
    }
    opened.loaded.run.iter().try_for_each(engine::rollback::check_writable).map_err(OpError::Refused)?;
    let name = run_word(&opened.candidate);
    Err(OpError::Refused(Refusal {
        kind: RefusalKind::No(No::Nothing),
        message: format!("{} can be read: there is nothing to repair", opened.candidate.state),
        hints: vec![format!("piton plan {name}"), format!("piton history {name}")],
    }))
}

/// Lists the versions that could be restored, newest first.
fn known_versions(opened: &OpenedRun) -> Vec<KnownVersion> {
    let known = versions::all(opened).map(|version| KnownVersion {
        readable: versions::is_restorable(opened, &version),
        what: version.what(),
        at: version.at,
        name: version.name,
    });
    known.collect()
}

/// Returns the newest version that can be read, or what else there is to do.
pub(super) fn newest_readable<'a>(ctx: &ProjectContext, opened: &'a OpenedRun) -> Result<Version<'a>, OpError> {
    let gone = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::JournalMissing);
    if let Some(gone) = gone {
        // Going on from the checkpoint is the repair.
        return Err(OpError::Refused(Refusal {
            kind: RefusalKind::Person,
            message: gone.message.clone(),
            hints: gone.fix.iter().map(Fix::to_string).collect(),
        }));
    }
    versions::newest_readable(opened).map_err(|error| no_version(ctx, opened, error))
}

/// Returns the error with hints if the history has no readable version.
fn no_version(ctx: &ProjectContext, opened: &OpenedRun, error: OpError) -> OpError {
    let OpError::Unreadable { message, .. } = error else { return error };
    let path = run_word(&opened.candidate);
    let archive_hint = format!("correct the file by hand, or archive it: `piton close {path} --abort`");
    let rebuilt = opened.dialect.rebuild().reconstruct(&opened.files, ctx.clock.now);
    let hints = match rebuilt {
        Ok(_) => vec![format!("piton restore {path} --from-evidence"), archive_hint],
        // The way out that the plan names.
        Err(_) => {
            let is_about = |code| versions::says_unreadable(code) || code == FindingCode::StateCorrupt;
            let about = opened.loaded.findings.iter().filter(|finding| is_about(finding.code));
            let mut hints: Vec<String> = about.filter_map(|finding| Some(finding.fix.as_ref()?.to_string())).collect();
            hints.push(archive_hint);
            hints.dedup();
            hints
        }
    };
    OpError::Refused(Refusal { kind: RefusalKind::Unread, message, hints })
}

/// Writes a rebuilt state that describes `run`. Returns where the replaced bytes are kept.
fn rebuild(ctx: &ProjectContext, locked: &LockedRun<'_>, run: &Run) -> Result<Vec<String>, OpError> {
    let guard = ChangeLimits::of(ctx.project.config.limits.attempts);
    let change = Change { at: ctx.clock.now, kind: ChangeKind::Repair { branch: None } };
    let change = match engine::admit(run, &Evidence::default(), &[], change, guard).map_err(OpError::Refused)? {
        Admitted::Change { change, .. } => change,
        Admitted::Already(_) => return Ok(Vec::new()),
    };
    check_change(&change)?;
    let edits = locked.opened.dialect.edit(&locked.opened.files, &change)?;
    edits.iter().try_for_each(|edit| locked.opened.check_schema(edit))?;
    let mut kept = Vec::new();
    for edit in &edits {
        if let EditKind::Replace { before, .. } = &edit.kind {
            let copy = store::aside::keep(locked.lock(), &edit.path, change.at, before)?;
            kept.push(locked.opened.shown_path(&copy));
        }
    }
    locked.commit_restored(Some(run), locked.entry(change.kind.as_str(), None), edits)?;
    Ok(kept)
}

/// Returns the run of a rebuilt state; an invalid one is a bug and is never written.
fn sound(rebuilt: &OpenedRun) -> Result<&Run, OpError> {
    rebuilt.loaded.run.as_ref().filter(|run| !run.degraded).ok_or_else(|| OpError::SelfCheck {
        file: rebuilt.candidate.state.as_str().to_owned(),
        problem: rebuilt.loaded.findings.first().map_or_else(|| "it contains no run".to_owned(), located_message),
    })
}

fn not_rebuilt(opened: &OpenedRun, error: &EditError) -> OpError {
    let path = run_word(&opened.candidate);
    let restore = versions::newest_readable(opened).ok();
    let mut hints: Vec<String> = restore.map(|_| format!("piton restore {path}")).into_iter().collect();
    hints.push(format!("correct the file by hand, or archive it: `piton close {path} --abort`"));
    let message = format!("{} cannot be rebuilt from evidence: {error}", opened.candidate.state);
    OpError::Refused(Refusal { kind: RefusalKind::Unread, message, hints })
}

fn propose(opened: &OpenedRun, files: &[(RelPath, Vec<u8>)]) -> Proposal {
    let pieces = files.iter().flat_map(|(path, bytes)| [path.as_str().as_bytes(), &[0], bytes.as_slice(), &[0]]);
    let shown = files
        .iter()
        .map(|(path, bytes)| ProposedFile { file: path.clone(), content: String::from_utf8_lossy(bytes).into_owned() });
    let unreadable = opened.loaded.findings.iter().filter(|finding| versions::says_unreadable(finding.code));
    Proposal {
        problems: unreadable.map(located_message).collect(),
        versions: known_versions(opened),
        digest: sha256_hex_of(pieces),
        files: shown.collect(),
        ..Proposal::default()
    }
}

/// Tells whether what is proposed now is confirmed.
pub(super) fn is_agreed(confirmation: &Confirmation, report: &RestoreReport) -> Result<bool, OpError> {
    let found = report.proposal.as_ref().map(|proposal| proposal.digest.clone()).unwrap_or_default();
    match confirmation {
        Confirmation::None => Ok(false),
        Confirmation::Any => Ok(true),
        Confirmation::Digest(digest) if *digest == found => Ok(true),
        Confirmation::Digest(digest) => {
            Err(OpError::Moved { expected: digest.clone(), found, run: report.run.clone() })
        }
    }
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
