//! Reads the files in `.git` without starting git. A broken repository counts as none and is never an error.

use camino::{Utf8Path, Utf8PathBuf};

use crate::store::fs::{
    platform,
    unread::{data_file, is_folder, there},
};

/// Bytes of a file that holds a path, reference or hash.
const POINTER_LIMIT: u64 = 64 << 10;
/// Bytes of `packed-refs`.
const PACKED_REFS_LIMIT: u64 = 64 << 20;
/// Number of linked worktrees that are considered.
const WORKTREES_LIMIT: usize = 1_000;

/// The folders of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitPaths {
    /// Shared by all worktrees.
    pub(crate) common_dir: Utf8PathBuf,
    /// The git folder of the current worktree.
    pub(crate) git_dir: Utf8PathBuf,
    /// The main worktree, or the worktree itself if the repository is bare.
    pub(crate) main_root: Utf8PathBuf,
    /// Existing linked worktrees, sorted by path.
    pub(crate) worktrees: Vec<Utf8PathBuf>,
    /// Whether worktree and git folder name each other and the latter belongs to this user. Else the `.git` may have come with the project
    /// and lead to the repository of another one: nothing is written there.
    pub(crate) is_own: bool,
}

/// The HEAD of one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// `None` when detached.
    pub(crate) branch: Option<String>,
    /// `None` before the first commit.
    pub(crate) sha: Option<String>,
}

impl GitPaths {
    /// Finds the repository whose worktree begins exactly at `top`.
    pub(crate) fn at(top: &Utf8Path) -> Option<Self> {
        let git_dir = git_dir(top)?;
        let common_dir = common_dir(&git_dir)?;
        let is_joined = name_each_other(top, &git_dir, &common_dir);
        if common_dir != git_dir && !is_joined {
            // The way to a worktree that was moved or copied, or to the repository of another one.
            return None;
        }
        let is_own = is_joined && common_dir.metadata().is_ok_and(|metadata| platform::is_ours(&metadata));
        let main_root = match common_dir.parent() {
            Some(parent) if common_dir != git_dir && common_dir.file_name() == Some(".git") => parent.to_owned(),
            Some(_) | None => top.to_owned(),
        };
        let worktrees = if is_joined { worktrees(&common_dir) } else { Vec::new() };
        Some(Self { common_dir, git_dir, main_root, worktrees, is_own })
    }

    /// Keeps only the worktrees below `root`: a nested project does not own those of the repository around it.
    pub(super) fn below(mut self, root: &Utf8Path) -> Self {
        self.worktrees.retain(|worktree| worktree.starts_with(root));
        self
    }
}

/// Returns the folder that holds HEAD for the worktree at `top`.
fn git_dir(top: &Utf8Path) -> Option<Utf8PathBuf> {
    let dot_git = top.join(".git");
    let metadata = there(&dot_git, std::fs::metadata(&dot_git))?;
    let dir = if metadata.is_dir() { dot_git } else { pointer(&dot_git, "gitdir: ", top)? };
    let head = dir.join("HEAD");
    there(&head, head.symlink_metadata()).map(|_| dir)
}

/// Tells whether a worktree and its git folder name each other: the git folder is the `.git` of the worktree, it is one of those that the
/// shared folder keeps for its worktrees (`gitdir`), or that of a submodule (`core.worktree`). A project can bring a `.git` that leads
/// anywhere, but cannot write where it leads to.
fn name_each_other(top: &Utf8Path, git_dir: &Utf8Path, common_dir: &Utf8Path) -> bool {
    let is_here = |place: &Utf8Path| top.canonicalize_utf8().is_ok_and(|top| top == place);
    if common_dir != git_dir {
        let admin = git_dir.canonicalize_utf8().unwrap_or_else(|_| git_dir.to_owned());
        let named = pointer(&git_dir.join("gitdir"), "", git_dir);
        return admin.parent().is_some_and(|admins| admins == common_dir.join("worktrees"))
            && named.is_some_and(|dot_git| dot_git.parent().is_some_and(is_here));
    }
    if top.join(".git").symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return true;
    }
    let config = read_text(&git_dir.join("config"), POINTER_LIMIT).unwrap_or_default();
    let mut section = "";
    config.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            section = line;
        }
        let worktree = line.split_once('=').filter(|(key, _)| key.trim().eq_ignore_ascii_case("worktree"));
        let worktree = worktree.filter(|_| section.eq_ignore_ascii_case("[core]"));
        let place =
            worktree.and_then(|(_, place)| git_dir.join(place.trim().trim_matches('"')).canonicalize_utf8().ok());
        place.is_some_and(|place| is_here(&place))
    })
}

/// Tells whether the repository of a folder is a shallow clone.
pub(super) fn is_shallow(folder: &Utf8Path) -> bool {
    let git_dir = folder.ancestors().find_map(git_dir);
    git_dir.and_then(|git_dir| common_dir(&git_dir)).is_some_and(|common_dir| common_dir.join("shallow").is_file())
}

/// Returns the git folder that all worktrees share; `None` if `commondir` is there and leads nowhere.
fn common_dir(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let named = git_dir.join("commondir");
    match named.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(git_dir.to_owned()),
        found => {
            there(&named, found)?;
            pointer(&named, "", git_dir).filter(|dir| is_folder(dir))
        }
    }
}

/// Reads a file that holds one path, relative to `base`. Only what git leaves out around it is left out (`read_gitfile_gently`).
fn pointer(file: &Utf8Path, label: &str, base: &Utf8Path) -> Option<Utf8PathBuf> {
    let text = read_text(file, POINTER_LIMIT)?;
    let target = text.strip_prefix(label)?.trim_end_matches(['\n', '\r']);
    if target.is_empty() || target.contains('\0') {
        return None;
    }
    let target = base.join(target);
    there(&target, target.canonicalize_utf8())
}

fn worktrees(common_dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let folder = common_dir.join("worktrees");
    let Some(entries) = there(&folder, folder.read_dir_utf8()) else { return Vec::new() };
    let mut worktrees: Vec<Utf8PathBuf> = entries
        .take(WORKTREES_LIMIT)
        .filter_map(|entry| {
            let admin = there(&folder, entry)?.path().to_owned();
            // The worktree must point back here, or it was moved or belongs to another repository.
            let dot_git = pointer(&admin.join("gitdir"), "", &admin)?;
            let top = dot_git.parent()?.to_owned();
            (git_dir(&top)? == admin.canonicalize_utf8().ok()?).then_some(top)
        })
        .collect();
    worktrees.sort_unstable();
    worktrees.dedup();
    worktrees
}

/// Tells whether a folder below `root` is a linked worktree that git no longer finds: it was renamed, or moved or copied
/// together with its repository. Its content still belongs to the project.
pub(super) fn is_stray_worktree(top: &Utf8Path, root: &Utf8Path, common_dir: Option<&Utf8Path>) -> bool {
    let dot_git = top.join(".git");
    let text = if is_folder(&dot_git) { None } else { read_text(&dot_git, POINTER_LIMIT) };
    let Some(target) = text.as_deref().and_then(|text| text.strip_prefix("gitdir:")).map(str::trim) else {
        return false;
    };
    let target = top.join(target);
    let (Some(name), Some("worktrees")) = (target.file_name(), target.parent().and_then(Utf8Path::file_name)) else {
        return false;
    };
    let Ok(found) = target.canonicalize_utf8() else { return true };
    let Some(admin) = common_dir.map(|common| common.join("worktrees").join(name)) else { return false };
    let recorded = read_text(&admin.join("gitdir"), POINTER_LIMIT).map(|path| admin.join(path.trim()));
    if admin.canonicalize_utf8().is_ok_and(|admin| admin == found) {
        return !recorded.is_some_and(|dot_git| dot_git.exists());
    }
    let place = top.strip_prefix(root).map(|below| below.join(".git"));
    place.is_ok_and(|place| recorded.is_some_and(|dot_git| dot_git.ends_with(place)))
}

fn read_text(path: &Utf8Path, limit: u64) -> Option<String> {
    String::from_utf8(data_file(path, limit)?).ok()
}

/// Reads the current branch and commit of a worktree; `None` outside of git.
pub(crate) fn head(worktree: &Utf8Path) -> Option<Head> {
    let git_dir = git_dir(worktree)?;
    let common_dir = common_dir(&git_dir)?;
    let text = read_text(&git_dir.join("HEAD"), POINTER_LIMIT)?;
    let Some(reference) = text.trim_end().strip_prefix("ref:").map(str::trim) else {
        return Some(Head { branch: None, sha: sha_in(&text) });
    };
    let branch = reference.strip_prefix("refs/heads/").filter(|name| is_ref_name(name)).map(str::to_owned);
    let sha = is_ref_name(reference).then(|| resolve(&git_dir, &common_dir, reference)).flatten();
    Some(Head { branch, sha })
}

/// [`head`] for any folder in a worktree. A worktree whose link to its repository is broken has no HEAD; the HEAD of a
/// repository around it does not count.
pub(super) fn head_above(folder: &Utf8Path) -> Option<Head> {
    folder.ancestors().find(|top| git_dir(top).is_some() || top.join(".git").is_file()).and_then(head)
}

/// Tells whether the repository of a worktree has a branch; `None` outside of git or for an invalid name.
pub(crate) fn branch_exists(worktree: &Utf8Path, branch: &str) -> Option<bool> {
    let git_dir = git_dir(worktree)?;
    let reference = format!("refs/heads/{branch}");
    let common_dir = common_dir(&git_dir)?;
    is_ref_name(&reference).then(|| resolve(&git_dir, &common_dir, &reference).is_some())
}

fn resolve(git_dir: &Utf8Path, common_dir: &Utf8Path, reference: &str) -> Option<String> {
    let mut reference = reference.to_owned();
    for _ in 0..5 {
        let loose = [git_dir, common_dir].iter().find_map(|dir| read_text(&dir.join(&reference), POINTER_LIMIT));
        let Some(text) = loose else { return packed(common_dir, &reference) };
        match text.trim_end().strip_prefix("ref:").map(str::trim) {
            Some(next) if is_ref_name(next) => reference = next.to_owned(),
            Some(_) => return None,
            None => return sha_in(&text),
        }
    }
    None
}

fn packed(common_dir: &Utf8Path, reference: &str) -> Option<String> {
    let text = read_text(&common_dir.join("packed-refs"), PACKED_REFS_LIMIT)?;
    text.lines().find_map(|line| {
        let (sha, name) = line.split_once(' ')?;
        (name == reference).then(|| sha_in(sha)).flatten()
    })
}

/// Tells whether a reference name is valid. Strict enough to join the name to a path.
fn is_ref_name(name: &str) -> bool {
    name.len() < 1_000
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.contains(".."))
        && !name.chars().any(|c| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\'))
}

fn sha_in(text: &str) -> Option<String> {
    let sha = text.trim();
    (matches!(sha.len(), 40 | 64) && sha.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| sha.to_ascii_lowercase())
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
