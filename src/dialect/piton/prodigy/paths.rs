//! The paths of the files of a session of Prodigy, below its home.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::checkpoint::Checkpoint;
use crate::{
    dialect::Probed,
    model::{Candidate, DialectId, Finding, FindingCode, Listing, ListingEntry, ReadSpec, RelPath, Timestamp},
};

pub(super) const SUFFIX: &str = ".checkpoint.json";

/// Tells whether a file below the home belongs to a session.
pub(in super::super) fn is_marked(path: &str) -> bool {
    session_of(path).is_some()
}

/// Tells whether a state file is one of Prodigy's.
pub(in super::super) fn is_state(state: &RelPath) -> bool {
    session_of(state.as_str()).is_some()
}

/// Returns the session that a checkpoint belongs to: `state/<session>/checkpoints/<checkpoint>.checkpoint.json`.
pub(super) fn session_of(path: &str) -> Option<&str> {
    let (session, name) = path.strip_prefix("state/")?.split_once("/checkpoints/")?;
    let is_one = name.len() > SUFFIX.len() && name.ends_with(SUFFIX) && !name.contains('/');
    (is_one && !session.is_empty() && !session.contains('/')).then_some(session)
}

/// Tells whether a path is a checkpoint of this session.
pub(super) fn is_state_of(path: &RelPath, session: &str) -> bool {
    session_of(path.as_str()) == Some(session)
}

/// Returns the home that a checkpoint lies in.
pub(crate) fn home_of(path: &Utf8Path) -> Option<&Utf8Path> {
    let home = path.ancestors().nth(4)?;
    session_of(path.strip_prefix(home).ok()?.as_str()).map(|_| home)
}

pub(super) fn session_file(session: &str) -> Option<RelPath> {
    RelPath::parse(&format!("sessions/{session}.json")).ok()
}

/// Returns the path that the workflow file has among the files of its session.
pub(super) fn workflow(session: &str) -> Option<RelPath> {
    RelPath::parse(&format!("state/{session}/workflow")).ok()
}

/// Returns the worktree of a session from the path of its metadata: `worktrees/<repository>/.metadata/<session>.json`.
pub(super) fn worktree_of(metadata: &RelPath) -> Option<RelPath> {
    let repository = metadata.parent()?.parent()?;
    repository.join(metadata.name().strip_suffix(".json")?).ok()
}

/// Tells whether a path is the metadata of a worktree.
pub(super) fn is_metadata(path: &RelPath) -> bool {
    path.as_str().starts_with("worktrees/") && path.parent().is_some_and(|folder| folder.name() == ".metadata")
}

/// Finds the sessions that have a checkpoint, and reports jobs that are not resumed.
pub(in super::super) fn probe(listing: &Listing) -> Probed {
    let mut sessions: BTreeMap<&str, Vec<&ListingEntry>> = BTreeMap::new();
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        if let Some(session) = session_of(entry.path.as_str()) {
            sessions.entry(session).or_default().push(entry);
        }
    }
    let candidates = sessions.into_iter().filter_map(|(session, entries)| candidate(listing, session, &entries));
    let jobs = listing.entries.iter().filter(|entry| entry.is_dir && is_job(entry.path.as_str()));
    let findings = jobs.map(|entry| {
        let message = format!("{} is a MapReduce job of Prodigy, which is recognised and not resumed", entry.path);
        Finding::new(FindingCode::JobNotResumed, message).at(&entry.path)
    });
    Probed { candidates: candidates.collect(), findings: findings.collect(), ..Probed::default() }
}

/// `state/<repository>/mapreduce/jobs/<job>`.
fn is_job(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["state", _, "mapreduce", "jobs", _])
}

fn candidate(listing: &Listing, session: &str, entries: &[&ListingEntry]) -> Option<Candidate> {
    // The newest by its own timestamp counts: ids and file times are less reliable.
    let look = |entry: &ListingEntry| Checkpoint::read(entry.content.as_deref()?).ok();
    let stamp = |entry: &ListingEntry| -> Option<Timestamp> { look(entry)?.at };
    let newest = entries.iter().max_by_key(|entry| (stamp(entry), entry.path.clone()))?;
    let workflow = look(newest).and_then(|checkpoint| elsewhere(session, &checkpoint.workflow_path?));
    let metadata = listing
        .entries
        .iter()
        .map(|entry| &entry.path)
        .find(|path| is_metadata(path) && path.name().strip_suffix(".json") == Some(session));
    let folder = newest.path.parent()?;
    let checkpoints = ReadSpec::Contents { dir: folder, suffix: SUFFIX };
    let reads = std::iter::once(checkpoints)
        .chain(session_file(session).map(ReadSpec::File))
        .chain(metadata.cloned().map(ReadSpec::File))
        .chain(workflow);
    Some(Candidate::new(DialectId::Piton, session.to_owned(), newest.path.clone(), reads.collect()))
}

fn elsewhere(session: &str, path: &Utf8Path) -> Option<ReadSpec> {
    let root = path.parent().filter(|_| path.is_absolute())?;
    workflow_at(session, root, RelPath::parse(path.file_name()?).ok()?)
}

/// Returns what reads the workflow file of a session.
pub(crate) fn workflow_at(session: &str, root: &Utf8Path, file: RelPath) -> Option<ReadSpec> {
    Some(ReadSpec::Elsewhere { root: root.to_owned(), file, shown: workflow(session)? })
}
