//! Keeps git from starting filter programs that the configuration of a repository names.
//!
//! A repository is untrusted, `.git` included: it may have been unpacked with the project. To compare a file with the committed
//! one, git first runs the filter that the attributes name (gitattributes(5)).

use std::{collections::BTreeSet, io::Read as _};

use camino::{Utf8Path, Utf8PathBuf};

use super::{git_process, repository};
use crate::store::fs::platform;

/// Bytes of a configuration file that is read.
const CONFIG_LIMIT: u64 = 1 << 20;
/// Bytes of the output of `git config --list`.
const LIST_LIMIT: u64 = 4 << 20;
/// Number of filters that are disabled.
const DRIVERS_LIMIT: usize = 200;
/// Words in a configuration, in any case, that require a closer look: sections that name filters or include other files, or a
/// work tree elsewhere.
const TELLING: [&[u8]; 3] = [b"filter", b"include", b"worktree"];

/// Returns the arguments before git's verb that disable all filters of the repository around a folder. `None` if that is not
/// possible, or if the repository has its work tree elsewhere.
pub(super) fn arguments_without_filters(folder: &Utf8Path) -> Option<Vec<String>> {
    let folder = folder.canonicalize_utf8().ok()?;
    let files = repository::config_files(&folder);
    if files.iter().all(|file| has_nothing_to_tell(file)) {
        return Some(Vec::new());
    }
    let mut command = git_process::command(&folder);
    command.args(["config", "--list", "-z", "--show-scope"]);
    let (listed, is_success) = git_process::ask(command.spawn().ok()?, |_, stdout| {
        let mut bytes = Vec::new();
        stdout.take(LIST_LIMIT + 1).read_to_end(&mut bytes).map(|_| bytes)
    })?;
    let listed = listed.ok().filter(|bytes| is_success && bytes.len() as u64 <= LIST_LIMIT)?;
    arguments(&listed, |work_tree| is_around(&folder, &files, work_tree))
}

fn has_nothing_to_tell(file: &Utf8Path) -> bool {
    match platform::read_data_file(file.as_std_path(), CONFIG_LIMIT) {
        Ok(None) => true,
        Ok(Some(text)) => {
            let text = text.to_ascii_lowercase();
            !TELLING.iter().any(|word| text.windows(word.len()).any(|window| window == *word))
        }
        Err(_) => false,
    }
}

/// Parses the output of `git config --list -z --show-scope`: the scope, then key and value separated by a newline.
fn arguments(listed: &[u8], is_here: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let listed = std::str::from_utf8(listed).ok()?;
    let mut names = BTreeSet::new();
    let mut fields = listed.split_terminator('\0');
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        if !matches!(scope, "local" | "worktree") {
            continue;
        }
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        if key == "core.worktree" && !is_here(value) {
            return None;
        }
        let filter = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.'));
        names.extend(filter.map(|(name, _)| name));
    }
    // In a `-c` argument the key ends at the first `=`.
    if names.len() > DRIVERS_LIMIT || names.iter().any(|name| name.contains('=')) {
        return None;
    }
    let off = |name| ["clean=", "smudge=", "process=", "required=false"].map(|end| format!("filter.{name}.{end}"));
    Some(names.into_iter().flat_map(off).flat_map(|setting| ["-c".to_owned(), setting]).collect())
}

/// Tells whether a configured work tree contains the folder.
fn is_around(folder: &Utf8Path, configs: &[Utf8PathBuf], work_tree: &str) -> bool {
    let mut git_dirs = configs.iter().filter_map(|file| file.parent());
    !work_tree.is_empty()
        && git_dirs.any(|git_dir| git_dir.join(work_tree).canonicalize_utf8().is_ok_and(|top| folder.starts_with(top)))
}

#[cfg(test)]
#[path = "git_filters_tests.rs"]
mod tests;
