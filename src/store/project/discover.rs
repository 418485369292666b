//! Lists the files of a project. Symlinks are never followed, other repositories never entered, and the work is bounded.

use std::{fs, path::Path, sync::Arc};

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

use super::{
    open::{FURTHER_PLACES, MARKERS, Project},
    repository,
    sessions::SessionHome,
};
use crate::{
    model::{Config, CutOff, Listing, ListingEntry, ReadProblem, RelPath, Unread},
    store::fs::{
        path::{Root, problem_of},
        stage::{self, DATA_DIR},
        unread,
    },
};

/// Levels of folders in a full walk.
const DEPTH_LIMIT: usize = 12;
/// Entries in a full walk.
const ENTRY_LIMIT: usize = 200_000;
/// Levels of folders in a quick walk.
const QUICK_DEPTH_LIMIT: usize = 7;
/// Entries in a quick walk.
const QUICK_ENTRY_LIMIT: usize = 20_000;
/// Names directly in one folder of a tree that is too large.
const NAMES_LIMIT: usize = 10_000;
/// The same in a quick walk.
const QUICK_NAMES_LIMIT: usize = 5_000;
/// Number of unread folders and links that are kept.
const UNREAD_LIMIT: usize = 10_000;

/// Folders that hold no run state, and often very many files.
const PRUNED: [&str; 21] = [
    ".git",
    DATA_DIR,
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

/// How much of a project is walked. Paths are absolute and without symlinks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    Whole,
    /// The whole project with lower limits on depth and entries, for interactive callers.
    Quick,
    /// Everything below a path, and the direct content of its parent folders.
    Around(&'a Utf8Path),
    /// The direct content of a folder and of its parent folders.
    Above(&'a Utf8Path),
    /// Only the sessions of workflow files, which are kept outside of the project's files.
    Sessions,
}

impl<'a> Scope<'a> {
    /// Tells whether the sessions of a home are in scope.
    pub(crate) fn includes(self, home: &SessionHome) -> bool {
        match self {
            Self::Whole | Self::Quick | Self::Sessions => true,
            Self::Around(path) | Self::Above(path) => path.starts_with(home.root()),
        }
    }

    /// Returns the path that the caller named.
    const fn named(self) -> Option<&'a Utf8Path> {
        match self {
            Self::Around(path) => Some(path),
            Self::Whole | Self::Quick | Self::Above(_) | Self::Sessions => None,
        }
    }

    const fn limits(self) -> WalkLimits {
        match self {
            Self::Quick => {
                WalkLimits { depth: QUICK_DEPTH_LIMIT, entries: QUICK_ENTRY_LIMIT, names: QUICK_NAMES_LIMIT }
            }
            Self::Whole | Self::Around(_) | Self::Above(_) | Self::Sessions => {
                WalkLimits { depth: DEPTH_LIMIT, entries: ENTRY_LIMIT, names: NAMES_LIMIT }
            }
        }
    }

    fn enters(self, folder: &Path) -> bool {
        match self {
            Self::Whole | Self::Quick => true,
            Self::Around(path) => path.as_std_path().starts_with(folder) || folder.starts_with(path),
            Self::Above(path) => path.as_std_path().starts_with(folder),
            Self::Sessions => false,
        }
    }
}

/// Limits of a walk.
#[derive(Clone, Copy, Debug)]
struct WalkLimits {
    depth: usize,
    entries: usize,
    /// Names directly in one folder of a tree that has too many entries.
    names: usize,
}

/// Lists the project's root and every linked worktree outside of it, as far as they are in scope.
///
/// Names that are not UTF-8, or not valid as a [`RelPath`], are left out. The content of files for which `marks` is true is
/// read.
pub(crate) fn listings(project: &Project, scope: Scope<'_>, marks: &dyn Fn(&str) -> bool) -> Vec<Listing> {
    let outside = project.worktrees().iter().filter(|worktree| !is_walked(&project.root, worktree));
    let roots = std::iter::once(&project.root).chain(outside.filter(|worktree| **worktree != project.root));
    roots
        .filter(|root| scope.enters(root.as_std_path()))
        .map(|root| Listing {
            root: root.clone(),
            config: Arc::clone(&project.config),
            branch: repository::head(root).and_then(|head| head.branch),
            named: scope.named().and_then(|path| relative(path.as_std_path(), root)),
            ..listing(
                WalkRoot {
                    root,
                    worktrees: project.worktrees(),
                    common_dir: project.common_dir(),
                    config: &project.config,
                    scope,
                },
                marks,
                scope.limits(),
            )
        })
        .collect()
}

/// Reads the content of more files of a listing.
pub(crate) fn probe_files(listing: &mut Listing, paths: &[RelPath]) {
    if paths.is_empty() {
        return;
    }
    let Some(root) = unread::root(&listing.root) else { return };
    for path in paths {
        if let Ok(at) = listing.entries.binary_search_by(|entry| entry.path.cmp(path)) {
            let entry = &mut listing.entries[at];
            if !entry.is_dir && entry.content.is_none() {
                look_into(&root, entry, &mut listing.unread);
            }
        }
    }
}

/// Reads the content of a file, or adds why that fails. A name that leads to no file has none.
fn look_into(root: &Root, entry: &mut ListingEntry, unread: &mut Vec<Unread>) {
    match root.read_for_probe(&entry.path) {
        Ok(content) => entry.content = Some(content),
        Err(ReadProblem::Missing | ReadProblem::Directory) => {}
        Err(problem) => unread.push(Unread { path: entry.path.under(root.path()), problem }),
    }
}

fn is_walked(root: &Utf8Path, worktree: &Utf8Path) -> bool {
    worktree.strip_prefix(root).is_ok_and(|below| {
        below.components().count() < DEPTH_LIMIT && !below.components().any(|part| PRUNED.contains(&part.as_str()))
    })
}

/// A tree to walk.
#[derive(Clone, Copy)]
struct WalkRoot<'a> {
    root: &'a Utf8Path,
    worktrees: &'a [Utf8PathBuf],
    common_dir: Option<&'a Utf8Path>,
    config: &'a Config,
    scope: Scope<'a>,
}

/// Walks a tree and reads the files that are marked.
fn listing(walk_root: WalkRoot<'_>, marks: &dyn Fn(&str) -> bool, limits: WalkLimits) -> Listing {
    let whole = walk(walk_root, walk_root.root, limits, None);
    let mut listing = whole.unwrap_or_else(|_: TooMany| by_places(walk_root, limits));
    let entries = &mut listing.entries;
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    entries.dedup_by(|a, b| a.path == b.path);
    if let Some(root) = unread::root(walk_root.root) {
        for entry in entries.iter_mut().filter(|entry| !entry.is_dir && marks(entry.path.as_str())) {
            look_into(&root, entry, &mut listing.unread);
        }
    }
    listing.unread.sort_by(|a, b| a.path.cmp(&b.path));
    listing.unread.dedup();
    listing.cut_off.sort_unstable();
    listing.cut_off.dedup();
    listing
}

/// Walks a tree that is too large: each folder that is known to hold runs with limits of its own, and then as much of the rest as fits.
fn by_places(walk_root: WalkRoot<'_>, limits: WalkLimits) -> Listing {
    let WalkRoot { root, worktrees, config, scope, .. } = walk_root;
    let configured = [config.nine_step.worktree_dir.as_str(), config.nine_step.plan_dir.as_str()];
    let named = MARKERS.iter().chain(&FURTHER_PLACES).copied().chain(configured);
    let named = named.filter_map(|name| RelPath::parse(name).ok()).map(|path| path.under(root));
    let places = named.chain(worktrees.iter().filter(|worktree| worktree.starts_with(root)).cloned());
    let is_place = |place: &Utf8PathBuf| {
        let is_real = place.canonicalize_utf8().is_ok_and(|real| real == *place);
        is_real && place.is_dir() && place != root && scope.enters(place.as_std_path())
    };
    let mut listing = Listing::default();
    for start in places.filter(is_place).chain([root.to_owned()]) {
        let above = start.ancestors().take_while(|above| *above != root);
        let folders = above.filter_map(|above| relative(above.as_std_path(), root));
        listing.entries.extend(folders.map(|path| ListingEntry { path, is_dir: true, content: None }));
        let part = walk(walk_root, &start, limits, None)
            .unwrap_or_else(|_: TooMany| as_deep_as_fits(walk_root, &start, limits));
        listing.entries.extend(part.entries);
        listing.unread.extend(part.unread);
        listing.cut_off.extend(part.cut_off);
    }
    listing
}

/// Walks without the folders that have very many names, and if that is not enough as deep as the limit of entries allows: whole levels are
/// left out, deepest first, so that the result does not depend on the order in which the file system lists names.
fn as_deep_as_fits(walk_root: WalkRoot<'_>, start: &Utf8Path, mut limits: WalkLimits) -> Listing {
    let folder = relative(start.as_std_path(), walk_root.root);
    let mut levels = None;
    loop {
        let cut_off = levels.map(|levels| CutOff { folder: folder.clone(), levels });
        match walk(walk_root, start, limits, Some(limits.names)) {
            Ok(mut listing) => {
                listing.cut_off.extend(cut_off);
                return listing;
            }
            Err(TooMany) if limits.depth == 1 => {
                return Listing { cut_off: vec![CutOff { folder, levels: 0 }], ..Listing::default() };
            }
            Err(TooMany) => {
                limits.depth = limits.depth * 2 / 3;
                levels = Some(limits.depth);
            }
        }
    }
}

/// There are more entries than the limit.
struct TooMany;

/// Walks a folder of a tree, without the folders that have more names than `most_names`.
fn walk(
    walk_root: WalkRoot<'_>,
    start: &Utf8Path,
    limits: WalkLimits,
    most_names: Option<usize>,
) -> Result<Listing, TooMany> {
    let WalkRoot { root, scope, .. } = walk_root;
    let mut listing = Listing::default();
    // For each level: the number of entries before the content of its current folder.
    let mut before_content: Vec<usize> = vec![0; limits.depth + 1];
    let walk = WalkDir::new(start).follow_links(false).same_file_system(true).max_depth(limits.depth).min_depth(1);
    let mut walk = walk.into_iter();
    while let Some(next) = walk.next() {
        let found = match next {
            Ok(found) => found,
            Err(error) => {
                // The folder whose names cannot be listed, where the error has no path.
                let around = error.depth().checked_sub(1).and_then(|depth| before_content[depth].checked_sub(1));
                let around = around.map_or_else(|| start.to_owned(), |at| listing.entries[at].path.under(root));
                add_unread(&mut listing, &error, around);
                continue;
            }
        };
        let is_dir = found.file_type().is_dir();
        let name = found.file_name().to_str();
        if name == Some(".git") && (found.depth() > 1 || start != root) && !is_project_worktree(&found, walk_root) {
            // Another repository: nothing beside its `.git` belongs to this project.
            if is_dir {
                walk.skip_current_dir();
            }
            walk.skip_current_dir();
            listing.entries.truncate(before_content[found.depth() - 1]);
            continue;
        }
        let path = name.filter(|name| !PRUNED.contains(name)).and_then(|_| relative(found.path(), root));
        let Some(path) = path else {
            if is_dir {
                walk.skip_current_dir();
            }
            continue;
        };
        if stage::is_temporary(found.file_name()) {
            if is_dir {
                walk.skip_current_dir();
            }
            continue;
        }
        if listing.entries.len() == limits.entries {
            return Err(TooMany);
        }
        if found.path_is_symlink() {
            add_link(&mut listing, path.under(root));
        }
        listing.entries.push(ListingEntry { path: path.clone(), is_dir, content: None });
        if is_dir {
            before_content[found.depth()] = listing.entries.len();
            if !scope.enters(found.path()) {
                walk.skip_current_dir();
            } else if most_names.is_some_and(|limit| has_more_names(found.path(), limit)) {
                listing.cut_off.push(CutOff { folder: Some(path), levels: 0 });
                walk.skip_current_dir();
            }
        }
    }
    Ok(listing)
}

fn has_more_names(folder: &Path, limit: usize) -> bool {
    fs::read_dir(folder).is_ok_and(|names| names.take(limit + 1).count() > limit)
}

/// Adds what the walk could not look at. A name that is gone meanwhile is not there.
fn add_unread(listing: &mut Listing, error: &walkdir::Error, around: Utf8PathBuf) {
    let path = error.path().map_or(Some(around), |path| Utf8PathBuf::from_path_buf(path.to_owned()).ok());
    let problem = error.io_error().map_or_else(|| ReadProblem::Other(error.to_string()), problem_of);
    if let Some(path) = path
        && problem != ReadProblem::Missing
        && listing.unread.len() < UNREAD_LIMIT
    {
        listing.unread.push(Unread { path, problem });
    }
}

/// Adds a link that leads to a folder, which is not followed.
fn add_link(listing: &mut Listing, path: Utf8PathBuf) {
    let problem = match path.metadata() {
        Ok(found) if found.is_dir() => ReadProblem::FolderLink,
        Ok(_) => return,
        Err(error) => problem_of(&error),
    };
    if problem != ReadProblem::Missing && listing.unread.len() < UNREAD_LIMIT {
        listing.unread.push(Unread { path, problem });
    }
}

fn is_project_worktree(dot_git: &DirEntry, walk_root: WalkRoot<'_>) -> bool {
    let Some(top) = dot_git.path().parent().and_then(Utf8Path::from_path) else { return false };
    walk_root.worktrees.iter().any(|worktree| worktree == top)
        || repository::is_stray_worktree(top, walk_root.root, walk_root.common_dir)
}

fn relative(found: &Path, root: &Utf8Path) -> Option<RelPath> {
    let path = found.to_str()?.strip_prefix(root.as_str())?;
    RelPath::parse(path.strip_prefix('/').unwrap_or(path)).ok()
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
