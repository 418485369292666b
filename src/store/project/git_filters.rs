//! Keeps git from starting filter programs that the configuration of a repository names.
//!
//! A repository is untrusted, `.git` included: it may have been unpacked with the project. To compare a file with the committed
//! one, git first runs the filter that the attributes name (gitattributes(5)).

use std::collections::BTreeSet;

use camino::Utf8Path;

use super::git_process;

/// Bytes of an answer of git.
const OUTPUT_LIMIT: u64 = 4 << 20;
/// Number of filters that are disabled.
const DRIVERS_LIMIT: usize = 200;

/// Returns the arguments before git's verb that disable all filters of the repository around a folder. `None` if that is not
/// possible, or if the repository has its work tree elsewhere.
///
/// Git is asked in every case: a reader of ours that finds or understands one of them otherwise than git
/// does would let a program start.
pub(super) fn arguments_without_filters(folder: &Utf8Path) -> Option<Vec<String>> {
    let mut command = git_process::command(folder);
    command.args(["config", "--list", "-z", "--show-scope"]);
    arguments(&git_process::output(&mut command, OUTPUT_LIMIT)?, || is_in_work_tree(folder))
}

/// Parses the output of `git config --list -z --show-scope`: the scope, then key and value separated by a newline.
fn arguments(listed: &[u8], is_in_work_tree: impl Fn() -> bool) -> Option<Vec<String>> {
    let listed = std::str::from_utf8(listed).ok()?;
    let mut names = BTreeSet::new();
    let mut fields = listed.split_terminator('\0');
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        if !matches!(scope, "local" | "worktree") {
            continue;
        }
        let key = entry.split_once('\n').map_or(entry, |(key, _)| key);
        if key == "core.worktree" && !is_in_work_tree() {
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

/// Tells whether the work tree that git takes a folder to be in contains it.
fn is_in_work_tree(folder: &Utf8Path) -> bool {
    let mut command = git_process::command(folder);
    command.args(["rev-parse", "--show-toplevel"]);
    let top = git_process::output(&mut command, OUTPUT_LIMIT).and_then(|bytes| String::from_utf8(bytes).ok());
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    let top = top.and_then(|top| real(Utf8Path::new(top.trim_end_matches('\n'))));
    real(folder).zip(top).is_some_and(|(folder, top)| folder.starts_with(top))
}

#[cfg(test)]
#[path = "git_filters_tests.rs"]
mod tests;
