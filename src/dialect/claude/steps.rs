//! The steps of a session while they are made, and the paths that they name.

use camino::Utf8Path;

use super::{digest::Digest, ended::OpenWork};
use crate::model::{Finding, RelPath, Step, safe_line};

/// Number of files of one step that are named.
const FILES_SHOWN: usize = 20;

/// The steps of a session, with findings about them.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    pub(super) findings: Vec<Finding>,
    pub(super) open: OpenWork,
    /// Number of files that were written outside of the project.
    pub(super) outside: usize,
}

/// Makes a path of a record relative to the project; `None` if it is outside.
pub(super) fn relative(digest: &Digest, path: &str) -> Option<RelPath> {
    RelPath::below(Utf8Path::new(path), Utf8Path::new(&digest.root))
}

/// Returns the files of a list that are below the project, each once, and the number of the others.
pub(super) fn in_project<'a>(digest: &Digest, paths: impl Iterator<Item = &'a str>) -> (Vec<RelPath>, usize) {
    let (mut inside, mut outside) = (Vec::new(), std::collections::BTreeSet::new());
    for path in paths {
        match relative(digest, path) {
            Some(path) if !inside.contains(&path) => inside.push(path),
            Some(_) => {}
            None => drop(outside.insert(path)),
        }
    }
    (inside, outside.len())
}

/// Shortens the paths of the project and of the home in a text.
pub(super) fn without_home(digest: &Digest, text: &str) -> String {
    let text = text.replace(&format!("{}/", digest.root), "");
    match &digest.home {
        Some(home) => text.replace(home.as_str(), "~"),
        None => text,
    }
}

/// Returns the newest files of a list, for people.
pub(super) fn shown_files(files: &[RelPath]) -> Vec<String> {
    let skipped = files.len().saturating_sub(FILES_SHOWN);
    files[skipped..].iter().map(|path| safe_line(path.as_str(), 200)).collect()
}
