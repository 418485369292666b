//! Where a session keeps its files (docs/formats/ccw.md#session-folder-layout).

use crate::model::{FileSet, RelPath};

pub(super) const WORKFLOW: &str = ".workflow";
pub(super) const SESSION_FILE: &str = "workflow-session.json";
pub(super) const SUMMARY_DIRS: [&str; 2] = [".summaries", "summaries"];
pub(super) const TASK_DIR: &str = ".task";
pub(super) const MARKER: &str = ".active-";
pub(super) const ARCHIVES: &str = "archives";
pub(super) const ACTIVE: &str = "active";

/// The paths of the files in a session folder.
pub(super) struct Layout {
    pub(super) dir: RelPath,
    pub(super) session: RelPath,
    pub(super) todo: RelPath,
    pub(super) plan: RelPath,
    pub(super) machine_plan: RelPath,
    pub(super) tasks: RelPath,
    /// Both spellings occur (docs/formats/ccw.md#summaries).
    pub(super) summaries: [RelPath; 2],
    /// Whether the session is directly below `.workflow`, as in the first formats (A to E).
    pub(super) is_legacy: bool,
}

impl Layout {
    pub(super) fn of(dir: &RelPath) -> Self {
        Self {
            session: below(dir, SESSION_FILE),
            todo: below(dir, "TODO_LIST.md"),
            plan: below(dir, "IMPL_PLAN.md"),
            machine_plan: below(dir, "plan.json"),
            tasks: below(dir, TASK_DIR),
            summaries: SUMMARY_DIRS.map(|name| below(dir, name)),
            is_legacy: parent_name(dir) == Some(WORKFLOW),
            dir: dir.clone(),
        }
    }

    /// Returns the existing plan document, preferring the one for people.
    pub(super) fn plan_in(&self, files: &FileSet) -> Option<&RelPath> {
        [&self.plan, &self.machine_plan].into_iter().find(|path| files.files.contains_key(*path))
    }

    /// Tells whether the session is in the archive, which does not prove completion
    /// (docs/formats/ccw.md#what-counts-as-evidence).
    pub(super) fn is_archived(&self) -> bool {
        parent_name(&self.dir) == Some(ARCHIVES)
    }
}

fn parent_name(dir: &RelPath) -> Option<&str> {
    dir.as_str().rsplit('/').nth(1)
}

/// Appends a literal file name.
pub(super) fn below(dir: &RelPath, name: &str) -> RelPath {
    dir.join(name).expect("a literal file name is a path")
}
