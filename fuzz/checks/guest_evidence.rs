//! The evidence for plans of other programs, from the input.
//!
//! The lines of the input before the first file are commits, newest first: the subject, and behind a bar the files that it touches.

use std::sync::Arc;

use super::bundle::Bundle;
use crate::model::{
    CommitLog, DeclaredFile, DeclaredState, FileChange, GuestEvidence, GuestRequest, LogReach, LoggedCommit, Need,
    TouchedFile,
};

/// Looks at the files of a project and the commits of the input.
pub(super) fn evidence(request: &GuestRequest, bundle: &Bundle) -> GuestEvidence {
    let state = |file: &DeclaredFile| match bundle.files.get(&file.path) {
        None => DeclaredState::Missing,
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let is_there = |need: &&Need| match need {
                Need::Text(wanted) | Need::Name(wanted) => !text.contains(wanted.as_str()),
                Need::Lines(count) => (text.lines().count() as u64) < *count,
            };
            let lacks = file.needs.iter().filter(is_there).map(|need| format!("{need:?}")).collect();
            DeclaredState::Present { is_empty: text.trim().is_empty(), lacks }
        }
    };
    let files = request.files.iter().map(|file| (file.clone(), state(file))).collect();
    let commits: Vec<LoggedCommit> =
        bundle.changes.iter().enumerate().map(|(at, line)| commit(at, line, bundle)).collect();
    let log = Arc::new(CommitLog::new(commits, LogReach::Whole));
    let log = request.wants_log.then_some(log);
    GuestEvidence { files, log, state_folders: request.state_folders.clone(), was_asked: true }
}

fn commit(at: usize, line: &[u8], bundle: &Bundle) -> LoggedCommit {
    let line = String::from_utf8_lossy(line);
    let (subject, paths) = line.split_once('|').unwrap_or((&line, "src/other"));
    let change = |path: &str| {
        if bundle.files.keys().any(|known| known.as_str() == path) { FileChange::Added } else { FileChange::Deleted }
    };
    let files = paths.split_whitespace().map(|path| TouchedFile { change: change(path), path: path.to_owned() });
    LoggedCommit {
        sha: format!("{at:040x}"),
        at: None,
        subject: subject.trim().to_owned(),
        files: files.collect(),
        are_files_known: true,
    }
}
