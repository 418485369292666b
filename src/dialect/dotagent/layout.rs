//! Where a project keeps its files (docs/formats/dotagent.md#files).

use super::{paths::base_of, rules};
use crate::model::{FileSet, RelPath};

pub(super) const PHASE_FILE: &str = "memory/state/phase.json";
pub(super) const EXECUTION_FILE: &str = "memory/state/execution.json";

/// The files of one project, which may lie below the root.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The folder that contains `memory`, with a trailing slash; empty for the root.
    base: String,
    pub(super) phase: RelPath,
    pub(super) execution: RelPath,
}

impl Layout {
    /// Returns the layout for the path of a phase file; `None` for any other path.
    pub(super) fn of(phase: &RelPath) -> Option<Self> {
        let base = base_of(phase.as_str(), PHASE_FILE)?;
        let execution = RelPath::parse(&format!("{base}{EXECUTION_FILE}")).ok()?;
        Some(Self { base: base.to_owned(), phase: phase.clone(), execution })
    }

    /// Resolves a path in the state against the project; `None` if it leaves the project.
    pub(super) fn at(&self, path: &str) -> Option<RelPath> {
        // Projects come from Windows too.
        let path = RelPath::parse(&path.replace('\\', "/")).ok()?;
        RelPath::parse(&format!("{}{path}", self.base)).ok()
    }

    /// Returns a path as the state spells it; paths outside the project are unchanged.
    pub(super) fn name_of<'a>(&self, path: &'a RelPath) -> &'a str {
        path.as_str().strip_prefix(self.base.as_str()).unwrap_or(path.as_str())
    }

    fn literal(&self, path: &str) -> RelPath {
        self.at(path).expect("a literal of ours is a path")
    }

    pub(super) fn state_dir(&self) -> RelPath {
        self.literal("memory/state")
    }

    pub(super) fn archive_dir(&self) -> RelPath {
        self.literal("memory/state/.archive")
    }

    pub(super) fn reports(&self) -> RelPath {
        self.literal("memory/reports")
    }

    pub(super) fn designs(&self) -> RelPath {
        self.literal("memory/reports/designs")
    }

    pub(super) fn reflections(&self) -> RelPath {
        self.literal("memory/reflections")
    }

    pub(super) fn contracts(&self) -> RelPath {
        self.literal("memory/contracts")
    }

    pub(super) fn tasks(&self) -> RelPath {
        self.literal("memory/tasks")
    }

    /// Returns a file in a task's folder, under the spelling of the id that exists, else the usual one; `None` if the id cannot
    /// be part of a path.
    pub(super) fn of_task(&self, files: &FileSet, id: &str, name: &str) -> Option<RelPath> {
        let path = |id: &str| is_part(id).then(|| self.at(&format!("memory/tasks/{id}/{name}"))).flatten();
        self.existing_spelling(files, id, &path)
    }

    /// Returns the path of the resolution of a blocked task.
    pub(super) fn resolution(&self, files: &FileSet, id: &str) -> Option<RelPath> {
        let path = |id: &str| is_part(id).then(|| self.at(&format!("memory/contracts/resolution_{id}.json"))).flatten();
        self.existing_spelling(files, id, &path)
    }

    fn existing_spelling(&self, files: &FileSet, id: &str, path: &dyn Fn(&str) -> Option<RelPath>) -> Option<RelPath> {
        let usual = path(id)?;
        let other = path(&rules::other_spelling(id)).filter(|other| files.files.contains_key(other));
        Some(if files.files.contains_key(&usual) { usual } else { other.unwrap_or(usual) })
    }
}

/// Returns whether a text can be one component of a path.
pub(super) fn is_part(text: &str) -> bool {
    RelPath::parse(text).is_ok_and(|path| path.as_str() == text) && !text.contains(['/', '\\']) && text.len() <= 200
}
