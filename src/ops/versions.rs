//! The versions of a run: one list for every verb, newest first by what was recorded; and what to offer where the state cannot be read.

use std::sync::Arc;

use super::{
    OpError,
    opened_run::{OpenedRun, run_word},
    startable,
};
use crate::{
    dialect::{EditError, PastCheckpoint, StateHome},
    engine::{self, Planned, Refusal, RefusalKind, VersionFiles},
    model::{
        Content, Edit, Entry, FileEntry, Finding, FindingClass, FindingCode, Fix, ReadProblem, Reconstruction, RelPath,
        Severity, Status, StepId, Suggested, Timestamp, Verb,
    },
    store::{self, Project, StoreError},
};

/// Name of the state as it was recorded last.
const LAST: &str = "last";
/// Name of the backup that the system itself keeps beside the state.
const BACKUP: &str = "backup";
/// What the name of a version in git begins with.
const IN_GIT: &str = "git-";
/// Name of the state as other evidence tells it.
const EVIDENCE: &str = "evidence";
/// What a person does first with a state that has no version.
const BY_HAND: &str = "correct the file by hand";

/// A state that a run had, and can have again.
#[derive(Debug)]
pub(super) struct Version<'a> {
    /// What `restore --to` takes.
    pub(super) name: String,
    pub(super) at: Option<Timestamp>,
    pub(super) source: Source<'a>,
}

/// Where a version comes from.
#[derive(Debug)]
pub(super) enum Source<'a> {
    /// It is what the last change wrote, with these files; another program replaced or removed it.
    Last(VersionFiles),
    /// The change with this number replaced it.
    Replaced(usize, &'a Entry),
    /// A checkpoint in a journal that is the state.
    Checkpoint(PastCheckpoint),
    /// The backup of its system.
    Backup(RelPath),
    /// The state that a commit has.
    Commit(Vec<u8>),
    /// The state as other evidence tells it; in no list.
    Evidence(Reconstruction),
}

impl Version<'_> {
    /// Returns what it is, for people.
    pub(super) fn what(&self) -> String {
        match &self.source {
            Source::Last(_) => "as recorded last".to_owned(),
            Source::Replaced(_, Entry { change, .. }) | Source::Checkpoint(PastCheckpoint { change, .. }) => {
                format!("before {change}")
            }
            Source::Backup(path) => path.to_string(),
            Source::Commit(_) => format!("in commit {}", self.name.trim_start_matches(IN_GIT)),
            Source::Evidence(_) => "rebuilt from evidence".to_owned(),
        }
    }

    /// Returns the change that replaced it and its step, if they are known.
    pub(super) fn replaced_by(&self) -> Option<(&str, Option<&StepId>)> {
        match &self.source {
            Source::Replaced(_, entry) => Some((&entry.change, entry.step.as_ref())),
            Source::Checkpoint(past) => Some((&past.change, past.step.as_ref())),
            Source::Last(_) | Source::Backup(_) | Source::Commit(_) | Source::Evidence(_) => None,
        }
    }
}

/// Returns the name of the version that the change with this number replaced.
pub(super) fn name_of(number: usize) -> String {
    format!("{number:06}")
}

/// Lists every version besides the state that is there: newest first by what was recorded, then what other programs keep. Git is asked last.
pub(super) fn all(opened: &OpenedRun) -> impl Iterator<Item = Version<'_>> {
    let is_beside = opened.files.journal.is_some();
    let backup = opened.dialect.copies().backup_of(&opened.files.state).filter(|_| is_beside);
    let backup = backup.filter(|path| opened.files.bytes(path).is_some()).map(|path| Version {
        name: BACKUP.to_owned(),
        at: opened.files.files.get(&path).and_then(|entry| entry.modified),
        source: Source::Backup(path),
    });
    let in_git = std::iter::once_with(move || {
        let of_git = || store::git::versions_of(&opened.files.root, &opened.files.state);
        let versions = if is_beside { of_git() } else { Vec::new() };
        let version = |(sha, bytes): (String, Vec<u8>)| {
            let name = format!("{IN_GIT}{}", sha.get(..7)?);
            Some(Version { name, at: None, source: Source::Commit(bytes) })
        };
        versions.into_iter().filter_map(version).collect::<Vec<_>>()
    });
    recorded(opened).chain(backup).chain(in_git.flatten())
}

/// Lists the versions that Piton recorded, besides the state that is there: newest first.
pub(super) fn recorded(opened: &OpenedRun) -> impl Iterator<Item = Version<'_>> {
    let past = opened.dialect.journal().journal_checkpoints(&opened.files);
    let is_beside = past.is_none();
    let past = past.unwrap_or_default().into_iter().rev();
    let past = past.map(|past| Version { name: past.id.clone(), at: past.at, source: Source::Checkpoint(past) });
    let entries = if is_beside { &*opened.journal.entries } else { &[] };
    let last = opened.last_recorded().map(|files| Version {
        name: LAST.to_owned(),
        at: entries.iter().rfind(|entry| !entry.files.is_empty()).map(|entry| entry.at),
        source: Source::Last(files),
    });
    let replaced = engine::versions::replacing(entries).map(|(number, entry)| Version {
        name: name_of(number),
        at: Some(entry.at),
        source: Source::Replaced(number, entry),
    });
    last.into_iter().chain(past).chain(replaced)
}

/// Returns the version with a name. The number of a change may be without its zeros.
pub(super) fn named<'a>(opened: &'a OpenedRun, name: &str) -> Result<Version<'a>, OpError> {
    let number = name.parse().ok().map(name_of);
    all(opened).find(|version| version.name == name || Some(&version.name) == number.as_ref()).ok_or_else(|| {
        let path = opened.files.state.under(&opened.files.root);
        StoreError::HistoryMissing { path, id: name.chars().take(80).collect() }.into()
    })
}

/// Returns the edits that restore a version, and the run as it is then.
pub(super) fn restoring(opened: &OpenedRun, version: &Version<'_>) -> Result<(Vec<Edit>, OpenedRun), OpError> {
    let state = |bytes: &[u8]| Some(VersionFiles::from([(opened.files.state.clone(), bytes.to_vec())]));
    let files = match &version.source {
        Source::Checkpoint(past) => {
            let edits = opened.dialect.journal().restore_checkpoint(&opened.files, &past.id)?;
            let mut files = opened.files.clone();
            store::lay_edits_over(&mut files, &opened.candidate.reads, &edits);
            return Ok((edits, opened.reread(files)));
        }
        Source::Last(files) => Some(files.clone()),
        Source::Replaced(number, _) => engine::versions::before(&opened.journal.entries, *number),
        Source::Backup(path) => opened.files.bytes(path).and_then(state),
        Source::Commit(bytes) => state(bytes),
        Source::Evidence(rebuilt) => Some(rebuilt.files.iter().cloned().collect()),
    };
    let files = files.ok_or_else(|| {
        let path = opened.files.state.under(&opened.files.root);
        OpError::from(StoreError::HistoryMissing { path, id: version.name.clone() })
    })?;
    files.keys().try_for_each(|path| opened.check_readable(path))?;
    let edits = files.iter().map(|(path, bytes)| opened.edit_to_content(path, bytes.clone()));
    Ok((edits.filter(Edit::changes_something).collect(), with_files(opened, &files)))
}

/// Tells whether a version can be restored as a run that can be read.
pub(super) fn is_restorable(opened: &OpenedRun, version: &Version<'_>) -> bool {
    restoring(opened, version).is_ok_and(|(_, restored)| is_sound(&restored))
}

/// Tells whether a version can be restored as a run that can be read, and is not the state as it is.
pub(super) fn leads_elsewhere(opened: &OpenedRun, version: &Version<'_>) -> bool {
    restoring(opened, version).is_ok_and(|(edits, restored)| !edits.is_empty() && is_sound(&restored))
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

/// Returns the newest version that can be read.
pub(super) fn newest_readable(opened: &OpenedRun) -> Option<Version<'_>> {
    all(opened).find(|version| is_restorable(opened, version))
}

/// Returns the version that a state goes back to without a name: the newest one that can be read.
pub(super) fn to_go_back_to(opened: &OpenedRun) -> Result<Version<'_>, OpError> {
    let gone = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::JournalMissing);
    if let Some(gone) = gone {
        // Going on from the checkpoint is the repair.
        let hints = gone.fix.iter().cloned().collect();
        return Err(OpError::Refused(Refusal { kind: RefusalKind::Person, message: gone.message.clone(), hints }));
    }
    newest_readable(opened).ok_or_else(|| {
        let rebuilds = rebuilt(opened)
            .map(|_| Suggested::of(Verb::Restore, run_word(&opened.candidate)).flag("from-evidence").into());
        // Else the way out that the plan names.
        let is_about = |code| says_unreadable(code) || code == FindingCode::StateCorrupt;
        let about = opened.loaded.findings.iter().filter(|finding| is_about(finding.code));
        let ways = rebuilds.map_or_else(|_| about.filter_map(|finding| finding.fix.clone()).collect(), |way| vec![way]);
        no_version(opened, "has no earlier version that can be read", ways)
    })
}

/// Returns the state as other evidence tells it, as a version.
pub(super) fn rebuilt(opened: &OpenedRun) -> Result<Version<'_>, EditError> {
    let rebuilt = opened.dialect.rebuild().reconstruct(&opened.files, opened.files.clock.now)?;
    Ok(Version { name: EVIDENCE.to_owned(), at: None, source: Source::Evidence(rebuilt) })
}

/// Returns the refusal to rebuild a state, with the ways out.
pub(super) fn not_rebuilt(opened: &OpenedRun, error: &EditError) -> OpError {
    let restore = newest_readable(opened).map(|_| Suggested::of(Verb::Restore, run_word(&opened.candidate)).into());
    no_version(opened, &format!("cannot be rebuilt from evidence: {error}"), Vec::from_iter(restore))
}

/// Returns the refusal to go back where there is no such version, with the ways out.
fn no_version(opened: &OpenedRun, why: &str, ways: Vec<Fix>) -> OpError {
    let mut hints: Vec<Fix> = ways.into_iter().chain([by_hand(opened, BY_HAND, "")]).collect();
    hints.dedup();
    let message = format!("{} {why}", opened.candidate.state);
    OpError::Refused(Refusal { kind: RefusalKind::Unread, message, hints })
}

/// Returns what a person does with a state that has no version.
fn by_hand(opened: &OpenedRun, first: &str, more: &str) -> Fix {
    let close = Suggested::of(Verb::Close, run_word(&opened.candidate)).flag("abort");
    Fix::offering(format!("{first}, or archive it: `{close}`{more}"), [close])
}

/// Replaces the fixes for unreadable files if no checkpoint can be restored, by what works instead.
pub(super) fn offer_what_works(project: &Project, mut opened: OpenedRun) -> OpenedRun {
    let is_denied = |finding: &Finding| {
        finding.file.as_ref().and_then(|path| opened.files.problem(path)) == Some(ReadProblem::Permission)
    };
    let about = |finding: &Finding| says_unreadable(finding.code) && !is_denied(finding);
    let is_session = opened.dialect.state_home() == StateHome::Home;
    let is_guest = opened.guest().is_some();
    let is_restorable = || !is_guest && newest_readable(&opened).is_some();
    if is_session || !opened.loaded.findings.iter().any(about) || is_restorable() {
        return opened;
    }
    let run = run_word(&opened.candidate);
    let is_missing = opened.loaded.findings.iter().any(|finding| finding.code == FindingCode::StateMissing);
    let first = if is_missing { "put the file back" } else { BY_HAND };
    let fix = if is_guest {
        let version = in_git(&opened).map(|version| format!("{first}, or take {version}"));
        version.map_or_else(|| Fix::from(first), Fix::from)
    } else if rebuilt(&opened).is_ok() {
        let rebuild = Suggested::of(Verb::Restore, run).flag("from-evidence");
        Fix::offering(format!("{first}, or rebuild it: `{rebuild}`"), [rebuild])
    } else {
        let again =
            startable::again(project, &opened).map(|start| format!("; or start again: `{}`", start.flag("archive")));
        by_hand(&opened, first, &again.unwrap_or_default())
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
    let version = newest_readable(opened).filter(|_| opened.loaded.run.is_none())?;
    let sha = version.name.strip_prefix(IN_GIT)?;
    Some(format!(
        "the newest version in git that parses, of commit {sha}: `git show {sha}:./{}`",
        engine::quoted(opened.files.state.as_str())
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
    let counted = recorded(opened).take(NEWER).filter_map(|version| {
        let (_, restored) = restoring(opened, &version).ok()?;
        Some((done(&restored), version.name))
    });
    let best = counted.reduce(|best, other| if other.0 > best.0 { other } else { best });
    if let Some((_, name)) = best.filter(|(count, _)| *count > done(opened)) {
        let restore = Suggested::of(Verb::Restore, &opened.candidate.name);
        older.fix = Some(restore.option("to", &name).into());
    }
}

/// Number of versions among which a newer state is looked for.
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

/// Loads the newest readable version of a run whose state is unreadable, with a finding that says so: the plan stays blocked, and shows what
/// `restore` would bring back.
pub(super) fn shown_from_history(opened: OpenedRun) -> OpenedRun {
    let shown = recorded(&opened).find_map(|version| {
        let (_, shown) = restoring(&opened, &version).ok().filter(|(_, shown)| is_sound(shown))?;
        let at = version.at.map_or_else(String::new, |at| format!(" at {at}"));
        Some((shown, format!("shown as of version {}, {}{at}", version.name, version.what())))
    });
    let Some((mut shown, message)) = shown else { return opened };
    if let Some(run) = &mut shown.loaded.run {
        run.degraded = true;
    }
    let restore = Suggested::of(Verb::Restore, run_word(&opened.candidate));
    let found = Finding::new(FindingCode::RestoredFromHistory, message).fix(restore);
    let mut findings = opened.loaded.findings;
    findings.push(found);
    findings.append(&mut shown.loaded.findings);
    shown.loaded.findings = findings;
    shown.files = opened.files;
    shown
}

pub(super) fn is_sound(opened: &OpenedRun) -> bool {
    opened.loaded.run.as_ref().is_some_and(|run| !run.degraded)
}

/// Loads the run as it would be with these files.
pub(super) fn with_files<'f>(
    opened: &OpenedRun,
    contents: impl IntoIterator<Item = (&'f RelPath, &'f Vec<u8>)>,
) -> OpenedRun {
    let mut files = opened.files.clone();
    for (path, bytes) in contents {
        let entry = FileEntry::new(Content::Bytes(Arc::from(bytes.as_slice())), None);
        files.files.insert(path.clone(), entry);
    }
    opened.reread(files)
}
