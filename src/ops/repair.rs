//! `repair`: repairs an unreadable state. Proposes the newest readable checkpoint, or in AIOS the state rebuilt from evidence, and
//! writes either only with confirmation.

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
    restore,
    run_location::RunLocation,
    select, versions,
};
use crate::{
    dialect::EditError,
    engine::{self, Admitted, ChangeLimits, Refusal, RefusalKind},
    model::{
        Change, ChangeKind, EditKind, Evidence, FindingCode, RebuiltValue, Reconstruction, RelPath, Run, StepId,
        Timestamp, sha256_hex_of,
    },
    store,
};

/// A proposed or written repair of an unreadable state (`repair/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RepairReport {
    pub(crate) run: String,
    pub(crate) state: RelPath,
    /// What cannot be read, and where.
    pub(crate) problems: Vec<String>,
    /// Every known earlier version, newest first.
    pub(crate) versions: Vec<KnownVersion>,
    pub(crate) proposal: Proposal,
    /// False if not confirmed: nothing was written.
    pub(crate) written: bool,
    /// Where the replaced bytes are kept.
    pub(crate) kept: Vec<String>,
    /// The most useful next command.
    pub(crate) next: Option<String>,
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

/// The proposed content.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Proposal {
    /// `evidence`, or the name of the checkpoint.
    pub(crate) source: String,
    /// Digest of `files`.
    pub(crate) digest: String,
    pub(crate) files: Vec<ProposedFile>,
    /// The source of each value; only for a rebuilt state.
    pub(crate) values: Vec<RebuiltValue>,
    /// Values without evidence, and what is written instead.
    pub(crate) unknown: Vec<String>,
    /// Steps that are open again: each is begun again, or asked about where it must not run twice.
    pub(crate) repeats: Vec<StepId>,
}

/// A proposed file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedFile {
    pub(crate) file: RelPath,
    pub(crate) content: String,
}

impl RepairReport {
    /// Returns the question about a proposal, and the digest that a yes confirms; `None` if it is written.
    pub(crate) fn prompt(&self) -> Option<(String, String)> {
        let files: Vec<&str> = self.proposal.files.iter().map(|file| file.file.as_str()).collect();
        let question = format!("Write this in the place of {}? [y/N]", files.join(" and "));
        (!self.written).then(|| (question, self.proposal.digest.clone()))
    }
}

impl Body for RepairReport {
    const SCHEMA: &'static str = "repair/1";

    fn written(&self) -> Option<String> {
        self.written.then(|| format!("{} is repaired", self.run))
    }
}

/// Options of a repair.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairRequest {
    pub(crate) from_evidence: bool,
    pub(crate) confirmation: Confirmation,
}

/// Says whether the proposal may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// Not confirmed.
    #[default]
    None,
    /// Any proposal is confirmed.
    Any,
    /// The proposal with this digest is confirmed.
    Digest(String),
}

/// Proposes a repair, and writes it if confirmed.
pub(crate) fn repair(ctx: &ProjectContext, request: &RepairRequest) -> Result<Report<RepairReport>, OpError> {
    let location = select::location(ctx)?;
    let locked = LockedRun::open_as_it_is(ctx, &location)?;
    locked.opened.check_readable(&location.candidate.state)?;
    let problems = problems(&locked.opened)?;
    let mut report = RepairReport {
        run: location.candidate.name.clone(),
        state: location.candidate.state.clone(),
        problems,
        versions: versions(&locked.opened),
        proposal: Proposal::default(),
        written: false,
        kept: Vec::new(),
        next: None,
    };
    if request.from_evidence {
        from_evidence(ctx, &location, locked, request, &mut report)?;
    } else {
        from_checkpoint(ctx, &location, locked, request, &mut report)?;
    }
    let exit = if report.written { Exit::Ok } else { Exit::Person };
    Ok(Report { exit, body: report, findings: Vec::new() })
}

/// Records the new name of the branch of a run. Nothing else of its state is replaced.
pub(crate) fn record_branch(ctx: &ProjectContext, branch: &str) -> Result<Report<CheckpointReport>, OpError> {
    let refuse = |message: String, hint: &str| {
        OpError::Refused(Refusal { kind: RefusalKind::No, message, hints: vec![hint.to_owned()] })
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

/// Lists what cannot be read; refuses a run that is readable.
fn problems(opened: &OpenedRun) -> Result<Vec<String>, OpError> {
    if let Some(gone) = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::JournalMissing) {
        // Going on from the checkpoint is the repair.
        return Err(OpError::Refused(Refusal {
            kind: RefusalKind::Person,
            message: gone.message.clone(),
            hints: gone.fix.iter().cloned().collect(),
        }));
    }
    if opened.loaded.run.as_ref().is_none_or(|run| run.degraded) {
        let unreadable = opened.loaded.findings.iter().filter(|finding| versions::says_unreadable(finding.code));
        return Ok(unreadable.map(located_message).collect());
    }
    opened.loaded.run.iter().try_for_each(engine::rollback::check_writable).map_err(OpError::Refused)?;
    let name = run_word(&opened.candidate);
    Err(OpError::Refused(Refusal {
        kind: RefusalKind::No,
        message: format!("{} can be read: there is nothing to repair", opened.candidate.state),
        hints: vec![format!("piton plan {name}"), format!("piton history {name}")],
    }))
}

/// Lists the versions that could be restored, newest first.
fn versions(opened: &OpenedRun) -> Vec<KnownVersion> {
    let known = versions::all(opened).map(|version| KnownVersion {
        readable: versions::is_restorable(opened, &version),
        what: version.what(),
        at: version.at,
        name: version.name,
    });
    known.collect()
}

fn from_checkpoint(
    ctx: &ProjectContext,
    location: &RunLocation,
    locked: LockedRun<'_>,
    request: &RepairRequest,
    report: &mut RepairReport,
) -> Result<(), OpError> {
    let version = versions::newest_readable(&locked.opened).map_err(|error| no_version(ctx, &locked.opened, error))?;
    let (edits, restored) = versions::restoring(&locked.opened, &version)?;
    let files: Vec<_> = edits.iter().filter_map(|edit| Some((edit.path.clone(), edit.after()?.to_vec()))).collect();
    report.proposal = Proposal {
        source: format!("version {}", version.name),
        repeats: restore::repeats(ctx, &locked.opened, &restored),
        ..propose(&files)
    };
    let name = version.name;
    report.next = Some(format!("piton repair {} --yes", run_word(&location.candidate)));
    if !agreed(request, report)? {
        return Ok(());
    }
    // `restore` takes the lock itself.
    drop(locked);
    report.kept = restore(ctx, Some(&name), true)?.body.kept;
    written(location, report);
    Ok(())
}

/// Returns the error with hints if the history has no readable version.
fn no_version(ctx: &ProjectContext, opened: &OpenedRun, error: OpError) -> OpError {
    let OpError::Unreadable { message, findings } = error else { return error };
    let path = run_word(&opened.candidate);
    let archive_hint = format!("correct the file by hand, or archive it: `piton archive {path} --yes`");
    let rebuilt = opened.dialect.rebuild().reconstruct(&opened.files, ctx.clock.now);
    let hints = match rebuilt {
        Ok(_) => vec![format!("piton repair {path} --from-evidence"), archive_hint],
        // The way out that the plan names.
        Err(_) => {
            let is_about = |code| versions::says_unreadable(code) || code == FindingCode::StateCorrupt;
            let about = opened.loaded.findings.iter().filter(|finding| is_about(finding.code));
            let mut hints: Vec<String> = about.filter_map(|finding| finding.fix.clone()).collect();
            hints.push(archive_hint);
            hints.dedup();
            hints
        }
    };
    OpError::Irreparable { message, hints, findings }
}

fn from_evidence(
    ctx: &ProjectContext,
    location: &RunLocation,
    locked: LockedRun<'_>,
    request: &RepairRequest,
    report: &mut RepairReport,
) -> Result<(), OpError> {
    let opened = &locked.opened;
    let rebuilt = opened.dialect.rebuild().reconstruct(&opened.files, ctx.clock.now);
    let Reconstruction { files, values, unknown } = rebuilt.map_err(|error| not_rebuilt(opened, &error, report))?;
    let rebuilt = versions::with_files(opened, files.iter().map(|(path, bytes)| (path, bytes)));
    let run = sound(&rebuilt)?;
    let repeats = restore::repeats(ctx, opened, &rebuilt);
    report.proposal = Proposal { source: "evidence".to_owned(), values, unknown, repeats, ..propose(&files) };
    report.next = Some(format!("piton repair {} --from-evidence --yes", run_word(&location.candidate)));
    if !agreed(request, report)? {
        return Ok(());
    }
    locked.check_not_driven()?;
    report.kept = rebuild(ctx, &locked, run)?;
    written(location, report);
    Ok(())
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

fn not_rebuilt(opened: &OpenedRun, error: &EditError, report: &RepairReport) -> OpError {
    let path = run_word(&opened.candidate);
    let restore = report.versions.iter().find(|version| version.readable);
    let mut hints: Vec<String> = restore.map(|_| format!("piton restore {path}")).into_iter().collect();
    hints.push(format!("correct the file by hand, or archive it: `piton archive {path} --yes`"));
    OpError::Irreparable {
        message: format!("{} cannot be rebuilt from evidence: {error}", opened.candidate.state),
        hints,
        findings: opened.loaded.findings.clone(),
    }
}

fn propose(files: &[(RelPath, Vec<u8>)]) -> Proposal {
    let pieces = files.iter().flat_map(|(path, bytes)| [path.as_str().as_bytes(), &[0], bytes.as_slice(), &[0]]);
    let shown = files
        .iter()
        .map(|(path, bytes)| ProposedFile { file: path.clone(), content: String::from_utf8_lossy(bytes).into_owned() });
    Proposal { digest: sha256_hex_of(pieces), files: shown.collect(), ..Proposal::default() }
}

/// Tells whether the current proposal is confirmed.
fn agreed(request: &RepairRequest, report: &RepairReport) -> Result<bool, OpError> {
    match &request.confirmation {
        Confirmation::None => Ok(false),
        Confirmation::Any => Ok(true),
        Confirmation::Digest(digest) if *digest == report.proposal.digest => Ok(true),
        Confirmation::Digest(digest) => Err(OpError::Moved {
            expected: digest.clone(),
            found: report.proposal.digest.clone(),
            run: report.run.clone(),
        }),
    }
}

fn written(location: &RunLocation, report: &mut RepairReport) {
    report.written = true;
    report.next = Some(format!("piton plan {}", run_word(&location.candidate)));
}
