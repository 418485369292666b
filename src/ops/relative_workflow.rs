//! The workflow file of a session of Prodigy that names it by a relative path: it is in the repository, else in the worktree of the session.

use camino::Utf8PathBuf;

use super::opened_run::OpenedRun;
use crate::{
    dialect::piton::prodigy,
    model::{Content, ReadSpec, RelPath},
    store::{self, Project},
};

/// Returns the file with the folders that may have it; `None` where its path is not relative.
pub(super) fn places(project: &Project, opened: &OpenedRun) -> Option<(RelPath, Vec<Utf8PathBuf>)> {
    let file = opened.guest().and_then(|_| prodigy::relative_workflow(&opened.files))?;
    let run = opened.loaded.run.as_ref();
    let named = run.and_then(|run| Some(run.workspace.worktree.as_ref()?.under(&opened.files.root)));
    let worktree = named.or_else(|| listed_worktree(project, &opened.candidate.name));
    Some((file, std::iter::once(project.root.clone()).chain(worktree).collect()))
}

/// Returns what reads the file from where it is.
pub(super) fn found(project: &Project, opened: &OpenedRun) -> Option<ReadSpec> {
    let (file, places) = places(project, opened)?;
    let root = places.iter().find(|root| matches!(store::read_file(root, &file), Content::Bytes(_)))?;
    prodigy::workflow_at(&opened.candidate.name, root, file)
}

/// Returns the worktree that git lists under the name of a session, which its own metadata may not name.
pub(super) fn listed_worktree(project: &Project, id: &str) -> Option<Utf8PathBuf> {
    let mut listed = project.worktrees().iter().filter(|folder| folder.file_name() == Some(id));
    listed.find(|folder| store::is_folder(folder)).cloned()
}
