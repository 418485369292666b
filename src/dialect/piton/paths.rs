//! The paths of the files of a session, below the folder of the sessions of a repository.

use camino::Utf8Path;

use super::record::{HEADER, Header, JOURNAL, SNAPSHOT};
use crate::model::{Candidate, DialectId, ReadSpec, RelPath};

const RUNS: &str = "runs";
/// The name of the workflow file among the files of its session.
const WORKFLOW: &str = "workflow";

/// Returns the folder of a session.
pub(super) fn folder(id: &str) -> Option<RelPath> {
    RelPath::parse(&format!("{RUNS}/{id}")).ok()
}

/// Returns the session whose [`HEADER`] lies at a path.
pub(super) fn session_of_header(path: &str) -> Option<&str> {
    let id = path.strip_prefix(RUNS)?.strip_prefix('/')?.strip_suffix(HEADER)?.strip_suffix('/')?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

/// Returns the folder of the session that a state file belongs to.
pub(super) fn folder_of(state: &RelPath) -> Option<RelPath> {
    state.parent()
}

pub(super) fn header(folder: &RelPath) -> Option<RelPath> {
    folder.join(HEADER).ok()
}

pub(super) fn journal(folder: &RelPath) -> Option<RelPath> {
    folder.join(JOURNAL).ok()
}

pub(super) fn snapshot(folder: &RelPath) -> Option<RelPath> {
    folder.join(SNAPSHOT).ok()
}

/// Returns the path that the workflow file has among the files of its session.
pub(super) fn workflow(folder: &RelPath) -> Option<RelPath> {
    folder.join(WORKFLOW).ok()
}

/// Returns the file of a definition that is kept with the records of its run.
pub(super) fn own_workflow(folder: &RelPath) -> Option<RelPath> {
    folder.join("workflow.json").ok()
}

/// Returns the path that an included file has among the files of its session.
pub(super) fn included(folder: &RelPath, file: &RelPath) -> Option<RelPath> {
    folder.join(&format!("included/{file}")).ok()
}

/// Returns the folder of the logs, among the files of a session.
pub(crate) fn logs() -> RelPath {
    RelPath::parse("logs").expect("a constant name")
}

/// Returns the folder with the lock under which one session of a home merges or is removed at a time.
pub(crate) fn merges() -> RelPath {
    RelPath::parse("merge").expect("a constant name")
}

/// Returns a session as a candidate. The header adds the workflow file to the files to read.
pub(crate) fn candidate(id: &str, header: Option<&Header>) -> Option<Candidate> {
    let own = folder(id)?;
    let workflow = header.zip(workflow(&own)).map(|(header, shown)| ReadSpec::Elsewhere {
        root: header.workflow.root.clone(),
        file: header.workflow.file.clone(),
        shown,
    });
    let included = header.into_iter().flat_map(|header| {
        let root = &header.workflow.root;
        let read = |file: &RelPath| {
            let shown = included(&own, file)?;
            Some(ReadSpec::Elsewhere { root: root.clone(), file: file.clone(), shown })
        };
        header.included.iter().filter_map(read).collect::<Vec<_>>()
    });
    let state = journal(&own)?;
    let files = [self::header(&own)?, state.clone(), snapshot(&own)?];
    let reads = files.into_iter().map(ReadSpec::File).chain(workflow).chain(included).collect();
    Some(Candidate::new(DialectId::Piton, id.to_owned(), state, reads))
}

/// Returns the session of Prodigy that a path is a checkpoint of: `state/SESSION/checkpoints/NAME.checkpoint.json`.
pub(crate) fn session_of_prodigy(path: &Utf8Path) -> Option<&str> {
    let checkpoints = path.as_str().strip_suffix(".checkpoint.json").and(path.parent())?;
    let session = checkpoints.parent().filter(|_| checkpoints.file_name() == Some("checkpoints"))?;
    session.file_name().filter(|_| session.parent().and_then(Utf8Path::file_name) == Some("state"))
}
