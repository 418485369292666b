//! The earlier versions of a run: its checkpoints, the backup of its system, Piton's copy; and what to offer where the state cannot be read.

use std::sync::Arc;

use super::{
    OpError,
    opened_run::{OpenedRun, run_word},
    run_history::RunHistory,
    startable,
};
use crate::{
    dialect::StateHome,
    engine::{self, Planned},
    model::{
        Content, Edit, FileEntry, Finding, FindingClass, FindingCode, FinishedTrace, ReadProblem, RelPath, Severity,
        Status, Timestamp, Traces,
    },
    store::{self, Project},
};

/// A version that could be restored.
pub(super) struct Version {
    pub(super) name: String,
    pub(super) files: Vec<(RelPath, Vec<u8>)>,
}

/// A known version, readable or not.
pub(super) struct RestorableVersion {
    pub(super) name: String,
    pub(super) at: Option<Timestamp>,
    /// What it is, for people.
    pub(super) what: String,
    /// `None` if it cannot be read from the history.
    pub(super) version: Option<Version>,
}

/// Lists every earlier version, newest first, and then the copy beside the state.
pub(super) fn known_versions(opened: &OpenedRun) -> Vec<RestorableVersion> {
    let past = history_of(opened);
    let entries = past.entries().unwrap_or_default().into_iter();
    let mut known: Vec<RestorableVersion> = entries
        .map(|entry| RestorableVersion {
            version: past.read(&entry.id).ok().map(|files| Version { name: entry.id.clone(), files }),
            at: Some(entry.at),
            what: format!("before {}", entry.change),
            name: entry.id,
        })
        .collect();
    if let (Some(version), Some(path)) = (backup(opened), opened.dialect.copies().backup_of(&opened.files.state)) {
        let at = opened.files.files.get(&path).and_then(|entry| entry.modified);
        known.push(RestorableVersion {
            name: version.name.clone(),
            at,
            what: path.to_string(),
            version: Some(version),
        });
    }
    known
}

/// Tells whether a finding says that a file of the state cannot be read.
pub(super) fn says_unreadable(code: FindingCode) -> bool {
    code.is_of(FindingClass::Unreadable)
}

/// Tells whether a finding says that the run cannot be read, or not be written for that reason.
pub(super) fn is_unreadable(finding: &Finding) -> bool {
    let is_unread = says_unreadable(finding.code) || finding.code == FindingCode::FolderClosed;
    is_unread && finding.severity == Severity::Blocking
}

pub(super) fn version_by_name(opened: &OpenedRun, id: &str) -> Result<Version, OpError> {
    if id == COPY
        && let Some(version) = last_copy(opened)
    {
        return Ok(version);
    }
    if id == BACKUP
        && let Some(version) = backup(opened)
    {
        return Ok(version);
    }
    let files = history_of(opened).read(id)?;
    Ok(Version { name: id.to_owned(), files })
}

/// Name of the backup that the system itself keeps beside the state.
const BACKUP: &str = "backup";

pub(super) fn newest_readable(opened: &OpenedRun) -> Result<Version, OpError> {
    if let Some(version) = copy(opened).filter(|version| is_sound(&with_files(opened, version))) {
        return Ok(version);
    }
    let past = history_of(opened);
    for entry in past.entries()? {
        let Ok(files) = past.read(&entry.id) else { continue };
        let version = Version { name: entry.id, files };
        if is_sound(&with_files(opened, &version)) {
            return Ok(version);
        }
    }
    backup(opened).filter(|version| is_sound(&with_files(opened, version))).ok_or_else(|| {
        let path = run_word(&opened.candidate);
        let instead = format!("correct the file by hand, or archive it: `piton archive {path} --yes`");
        // The fix of these findings is to restore the file, which just failed.
        let findings = opened.loaded.findings.iter().cloned().map(|finding| finding.fix(instead.clone()));
        OpError::Unreadable {
            message: format!("{} has no earlier checkpoint that can be read", opened.candidate.state),
            findings: findings.collect(),
        }
    })
}

/// Replaces the fixes for unreadable files if no checkpoint can be restored, by what works instead.
pub(super) fn offer_what_works(project: &Project, mut opened: OpenedRun) -> OpenedRun {
    let is_denied = |finding: &Finding| {
        finding.file.as_ref().and_then(|path| opened.files.problem(path)) == Some(ReadProblem::Permission)
    };
    let about = |finding: &Finding| says_unreadable(finding.code) && !is_denied(finding);
    let is_session = opened.dialect.state_home() == StateHome::Home;
    if is_session || !opened.loaded.findings.iter().any(about) || newest_readable(&opened).is_ok() {
        return opened;
    }
    let finished =
        opened.records().into_iter().map(|record| FinishedTrace { step: record.step, at: record.at }).collect();
    let traces = Traces { finished, ..Traces::default() };
    let run = run_word(&opened.candidate);
    let is_missing = opened.loaded.findings.iter().any(|finding| finding.code == FindingCode::StateMissing);
    let by_hand = if is_missing { "put the file back" } else { "correct the file by hand" };
    let fix = if opened.guest().is_some() {
        in_git(&opened).map_or_else(|| by_hand.to_owned(), |version| format!("{by_hand}, or take {version}"))
    } else if opened.dialect.rebuild().reconstruct(&opened.files, &traces, opened.files.clock.now).is_ok() {
        format!("{by_hand}, or rebuild it: `piton repair {run} --from-evidence`")
    } else if opened.loaded.run.is_none() {
        let again = startable::again(project, &opened).map(|start| format!("; or start again: `{start} --archive`"));
        format!("{by_hand}, or archive it: `piton archive {run} --yes`{}", again.unwrap_or_default())
    } else {
        by_hand.to_owned()
    };
    let fixed: Vec<usize> =
        opened.loaded.findings.iter().enumerate().filter(|(_, finding)| about(finding)).map(|(at, _)| at).collect();
    for at in fixed {
        opened.loaded.findings[at].fix = Some(fix.clone());
    }
    opened
}

/// Returns the newest version in git of the state of another program that can be read, in words.
fn in_git(opened: &OpenedRun) -> Option<String> {
    if opened.loaded.run.is_some() {
        return None;
    }
    let state = &opened.files.state;
    let versions = store::git::versions_of(&opened.files.root, state);
    let (sha, _) = versions.into_iter().find(|(_, bytes)| {
        is_sound(&with_files(opened, &Version { name: String::new(), files: vec![(state.clone(), bytes.clone())] }))
    })?;
    let sha = sha.get(..7)?;
    Some(format!(
        "the newest version in git that parses, of commit {sha}: `git show {sha}:./{}`",
        engine::quoted(state.as_str())
    ))
}

/// Names the version of a state that was put back by another program, if there is one with more steps done.
pub(super) fn offer_newer(opened: &OpenedRun, findings: &mut [Finding]) {
    let Some(older) = findings.iter_mut().find(|finding| finding.code == FindingCode::StateOlderThanLog) else {
        return;
    };
    let done = |opened: &OpenedRun| {
        let steps = opened.loaded.run.iter().flat_map(|run| &run.steps);
        steps.filter(|step| step.status == Status::Completed).count()
    };
    let past = history_of(opened);
    let entries = past.entries().unwrap_or_default().into_iter().take(NEWER);
    let kept = entries.filter_map(|entry| Some(Version { files: past.read(&entry.id).ok()?, name: entry.id }));
    let versions = last_copy(opened).into_iter().chain(kept);
    let counted = versions.map(|version| (done(&with_files(opened, &version)), version.name));
    let best = counted.reduce(|best, other| if other.0 > best.0 { other } else { best });
    if let Some((_, name)) = best.filter(|(count, _)| *count > done(opened)) {
        let run = engine::quoted(&opened.candidate.name);
        older.fix = Some(format!("piton restore {run} --to {}", engine::quoted(&name)));
    }
}

/// Number of checkpoints among which a newer state is looked for.
const NEWER: usize = 20;

/// Takes the commands out of the plan of a state that cannot be read, besides those that make it readable: the others are refused.
pub(super) fn offer_only_repair(planned: &mut Planned) {
    if !planned.findings.iter().any(is_unreadable) {
        return;
    }
    let mends = |code: FindingCode| says_unreadable(code) || code == FindingCode::RestoredFromHistory;
    planned.findings.iter_mut().filter(|finding| !mends(finding.code)).for_each(|finding| finding.fix = None);
    planned.plan.commands.clear_begin();
    planned.plan.commands.resume = None;
}

/// Loads the newest readable checkpoint of a run whose state is unreadable, with a finding that says so: the plan stays
/// blocked, and shows what `restore` would bring back.
pub(super) fn shown_from_history(opened: OpenedRun) -> OpenedRun {
    let past = history_of(&opened);
    for entry in past.entries().unwrap_or_default() {
        let Ok(files) = past.read(&entry.id) else { continue };
        let mut shown = with_files(&opened, &Version { name: entry.id.clone(), files });
        let Some(run) = shown.loaded.run.as_mut().filter(|run| !run.degraded) else { continue };
        run.degraded = true;
        let path = run_word(&opened.candidate);
        let message = format!("shown as of checkpoint {}, before {} at {}", entry.id, entry.change, entry.at);
        let found = Finding::new(FindingCode::RestoredFromHistory, message).fix(format!("piton restore {path}"));
        let mut findings = opened.loaded.findings.clone();
        findings.push(found);
        findings.append(&mut shown.loaded.findings);
        shown.loaded.findings = findings;
        shown.files = opened.files;
        return shown;
    }
    opened
}

pub(super) fn history_of(opened: &OpenedRun) -> RunHistory<'_> {
    RunHistory::of(&opened.files.root, &opened.candidate, &opened.files.config)
}

pub(super) fn is_sound(opened: &OpenedRun) -> bool {
    opened.loaded.run.as_ref().is_some_and(|run| !run.degraded)
}

fn backup(opened: &OpenedRun) -> Option<Version> {
    let state = &opened.files.state;
    let bytes = opened.files.bytes(&opened.dialect.copies().backup_of(state)?)?;
    Some(Version { name: BACKUP.to_owned(), files: vec![(state.clone(), bytes.to_vec())] })
}

/// Name of the copy that Piton keeps of a state whose folder may be deleted.
const COPY: &str = "copy";

/// Returns the copy of a state that is gone.
fn copy(opened: &OpenedRun) -> Option<Version> {
    let is_gone = opened.files.problem(&opened.files.state) == Some(ReadProblem::Missing);
    if is_gone { last_copy(opened) } else { None }
}

/// Returns the copy of a state, which every change of Piton renews.
fn last_copy(opened: &OpenedRun) -> Option<Version> {
    let state = &opened.files.state;
    let former = opened.dialect.copies().previous_location(&opened.candidate, &opened.files.config)?;
    let bytes = opened.files.bytes(&former.copy)?;
    Some(Version { name: COPY.to_owned(), files: vec![(state.clone(), bytes.to_vec())] })
}

/// Loads the run as it would be with these files.
pub(super) fn with_files(opened: &OpenedRun, version: &Version) -> OpenedRun {
    let mut files = opened.files.clone();
    for (path, bytes) in &version.files {
        let entry = FileEntry::new(Content::Bytes(Arc::from(bytes.as_slice())), None);
        files.files.insert(path.clone(), entry);
    }
    opened.reread(files)
}

/// Loads the run as it would be with a checkpoint of its journal restored, with the edits that do that.
pub(super) fn in_journal(opened: &OpenedRun, id: &str) -> Result<(Vec<Edit>, OpenedRun), OpError> {
    let edits = opened.dialect.journal().restore_checkpoint(&opened.files, id)?;
    let mut files = opened.files.clone();
    store::lay_edits_over(&mut files, &opened.candidate.reads, &edits);
    Ok((edits, opened.reread(files)))
}
