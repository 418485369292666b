//! Findings about what could not be looked at: unknown, and never taken for empty.

use camino::Utf8Path;

use super::error::permission_fix;
use crate::{
    engine::quoted,
    model::{Finding, FindingCode, ReadProblem, RelPath, Severity, Suggested, Unread, Verb},
    store,
};

/// Returns the finding about a place that may hold runs.
pub(super) fn hides_runs(root: &Utf8Path, unread: &Unread) -> Finding {
    let (shown, file) = shown(root, unread);
    let message = format!("{shown} cannot be read: {}; runs in it are not listed", unread.problem);
    let finding = Finding::new(FindingCode::FolderClosed, message).fix(fix(&unread.path, &unread.problem));
    Finding { file, ..finding }
}

/// Returns the finding about something that a run builds on, which therefore does not continue.
pub(super) fn blocks(root: &Utf8Path, unread: &Unread) -> Finding {
    let (shown, file) = shown(root, unread);
    let message = format!("{shown} cannot be read: {}; nothing that depends on it is decided", unread.problem);
    let finding = Finding::new(FindingCode::PartUnreadable, message).fix(fix(&unread.path, &unread.problem));
    Finding { file, severity: Severity::Blocking, ..finding }
}

/// Returns findings about what could not be looked at in this call, besides what these findings name.
pub(crate) fn unnamed(findings: &[Finding]) -> Vec<Finding> {
    let is_named = |unread: &Unread| {
        let is_it = |file: &RelPath| unread.path.as_str().ends_with(file.as_str());
        let names = |finding: &Finding| {
            finding.file.as_ref().is_some_and(is_it) || finding.message.contains(unread.path.as_str())
        };
        findings.iter().any(names)
    };
    let mut found: Vec<Finding> = Vec::new();
    for unread in store::unread::noted().iter().filter(|unread| !is_named(unread)) {
        let severity = Severity::Warning;
        // The paths of an answer are relative to a root that only its verb knows.
        let finding = Finding { severity, ..blocks(Utf8Path::new(""), unread) };
        if !found.contains(&finding) {
            found.push(finding);
        }
    }
    found
}

fn shown(root: &Utf8Path, unread: &Unread) -> (String, Option<RelPath>) {
    let below = RelPath::below(&unread.path, root).filter(|_| root.is_absolute());
    let shown = below.as_ref().map_or(unread.path.as_str(), RelPath::as_str).to_owned();
    (shown, below)
}

fn fix(path: &Utf8Path, problem: &ReadProblem) -> String {
    match problem {
        ReadProblem::Permission => permission_fix(path),
        ReadProblem::FolderLink | ReadProblem::LinkLeavesRoot => {
            let list = Suggested::new(Verb::List).project("DIR");
            format!("name the project that the link leads to: {list}")
        }
        ReadProblem::Missing
        | ReadProblem::Directory
        | ReadProblem::NotRegular
        | ReadProblem::TooLarge { .. }
        | ReadProblem::Other(_) => format!("ls -ld {}", quoted(path.as_str())),
    }
}
