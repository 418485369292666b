//! What lies in a project, by name. Links are never followed, other repositories never entered, and the work is bounded.

use std::io::Read as _;
use std::sync::Arc;

use camino::Utf8Path;
use camino::Utf8PathBuf;
use walkdir::DirEntry;
use walkdir::WalkDir;

use super::path::Root;
use super::project::Project;
use super::stage;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::RelPath;

const DEPTH_LIMIT: usize = 12;
const ENTRY_LIMIT: usize = 200_000;
const LOOK_LIMIT: u64 = 4 << 20;

/// Holds no state of anybody, and often very many files.
const PRUNED: [&str; 21] = [
    ".git",
    ".piton",
    "node_modules",
    "bower_components",
    "target",
    "vendor",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".terraform",
    ".next",
    ".nuxt",
    ".yarn",
    ".pnpm-store",
    ".direnv",
];

/// Lists the project's root and every linked worktree that this walk does not pass.
///
/// Names that are not UTF-8, or that no path of a run can have, are left out. `marks` says which files deserve a first look.
pub(crate) fn listings(project: &Project, marks: &dyn Fn(&str) -> bool) -> Vec<Listing> {
    let outside = project.worktrees().iter().filter(|worktree| !is_walked(&project.root, worktree));
    let roots = std::iter::once(&project.root).chain(outside.filter(|worktree| **worktree != project.root));
    roots
        .map(|root| Listing {
            root: root.clone(),
            entries: entries(root, project.worktrees(), marks, ENTRY_LIMIT),
            config: Arc::clone(&project.config),
        })
        .collect()
}

/// Takes a first look into more files of a listing.
pub(crate) fn look_further(listing: &mut Listing, paths: &[RelPath]) {
    if paths.is_empty() {
        return;
    }
    let Ok(root) = Root::open(&listing.root) else { return };
    for path in paths {
        if let Ok(at) = listing.entries.binary_search_by(|entry| entry.path.cmp(path)) {
            let entry = &mut listing.entries[at];
            if !entry.is_dir && entry.look.is_none() {
                entry.look = look(&root, path);
            }
        }
    }
}

fn is_walked(root: &Utf8Path, worktree: &Utf8Path) -> bool {
    worktree.strip_prefix(root).is_ok_and(|below| {
        below.components().count() < DEPTH_LIMIT && !below.components().any(|part| PRUNED.contains(&part.as_str()))
    })
}

/// Walks as deep as the limit of entries allows: where there is too much, whole levels are left out, the deepest first, so that
/// the answer does not depend on the order in which the file system tells its names.
fn entries(
    root: &Utf8Path,
    worktrees: &[Utf8PathBuf],
    marks: &dyn Fn(&str) -> bool,
    entry_limit: usize,
) -> Vec<ListingEntry> {
    let mut depth = DEPTH_LIMIT;
    let mut entries = loop {
        match walk(root, worktrees, depth, entry_limit) {
            Some(entries) => break entries,
            None if depth == 1 => return Vec::new(),
            None => depth = depth * 2 / 3,
        }
    };
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    if let Ok(root) = Root::open(root) {
        for entry in entries.iter_mut().filter(|entry| !entry.is_dir && marks(entry.path.as_str())) {
            entry.look = look(&root, &entry.path);
        }
    }
    entries
}

/// Returns `None` when there are more entries than allowed.
fn walk(root: &Utf8Path, worktrees: &[Utf8PathBuf], depth: usize, entry_limit: usize) -> Option<Vec<ListingEntry>> {
    let mut entries: Vec<ListingEntry> = Vec::new();
    // For each folder on the way down: how many entries there were before its content.
    let mut before_content = vec![0; depth + 1];
    let mut walk =
        WalkDir::new(root).follow_links(false).same_file_system(true).max_depth(depth).min_depth(1).into_iter();
    while let Some(next) = walk.next() {
        let Ok(found) = next else { continue };
        let is_dir = found.file_type().is_dir();
        let name = found.file_name().to_str();
        if name == Some(".git") && found.depth() > 1 && !is_own_worktree(&found, worktrees) {
            // Another repository: nothing of what is beside its `.git` belongs to this project.
            if is_dir {
                walk.skip_current_dir();
            }
            walk.skip_current_dir();
            entries.truncate(before_content[found.depth() - 1]);
            continue;
        }
        let path = name.filter(|name| !PRUNED.contains(name)).and_then(|_| relative(&found, root));
        let Some(path) = path else {
            if is_dir {
                walk.skip_current_dir();
            }
            continue;
        };
        if stage::is_temporary(found.file_name()) || is_special(&found) {
            continue;
        }
        if entries.len() == entry_limit {
            return None;
        }
        entries.push(ListingEntry { path, is_dir, look: None });
        if is_dir {
            before_content[found.depth()] = entries.len();
        }
    }
    Some(entries)
}

fn is_own_worktree(dot_git: &DirEntry, worktrees: &[Utf8PathBuf]) -> bool {
    let top = dot_git.path().parent();
    worktrees.iter().any(|worktree| Some(worktree.as_std_path()) == top)
}

fn is_special(found: &DirEntry) -> bool {
    let kind = found.file_type();
    !kind.is_file() && !kind.is_dir() && !kind.is_symlink()
}

fn relative(found: &DirEntry, root: &Utf8Path) -> Option<RelPath> {
    let path = found.path().to_str()?.strip_prefix(root.as_str())?;
    RelPath::parse(path.strip_prefix('/').unwrap_or(path)).ok()
}

fn look(root: &Root, path: &RelPath) -> Option<Arc<[u8]>> {
    let (file, metadata) = root.open_file(path).ok()?;
    if metadata.len() > LOOK_LIMIT {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()? + 1);
    file.take(LOOK_LIMIT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LOOK_LIMIT).then(|| bytes.into())
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
