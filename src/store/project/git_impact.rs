//! What git knows about the work that a rollback discards: a few queries, one process each.

use camino::{Utf8Path, Utf8PathBuf};

use super::{git, repository};
use crate::model::{AffectedCommit, GitImpact, RelPath, Timestamp};

/// Limit of listed commits.
const COMMITS: usize = 1_000;
/// Separators in git's output: the start of a commit, and the end of a field.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

/// The work that a rollback discards.
#[derive(Debug)]
pub(crate) struct AbandonedWork<'a> {
    /// The working folder of the run, absolute.
    pub(crate) folder: &'a Utf8Path,
    /// The recorded commit to go back to.
    pub(crate) base: Option<&'a str>,
    /// Without a recorded commit, for a run on its own branch: commits since then belong to the run.
    pub(crate) since: Option<Timestamp>,
    /// The first recorded commit of the work.
    pub(crate) first: Option<&'a str>,
    /// The recorded branch of the run.
    pub(crate) branch: Option<&'a str>,
    /// The recorded branch that the work is merged into.
    pub(crate) main: Option<&'a str>,
    /// State files and folders, absolute; changes to them are ignored.
    pub(crate) ours: &'a [Utf8PathBuf],
}

/// Queries git; `None` outside of a repository. The caller fills in the folder names.
pub(crate) fn git_impact(work: &AbandonedWork<'_>) -> Option<GitImpact> {
    let head = repository::head_above(work.folder)?;
    let has = |branch: &str| repository::branch_exists(&git::top_of(work.folder), branch) == Some(true);
    let main = work.main.into_iter().chain(["main", "master"]).find(|branch| has(branch)).map(str::to_owned);
    let has_branch = work.branch.is_some_and(has);
    let dirty = dirty(work.folder, work.ours);
    let mut impact = GitImpact { branch: head.branch, has_branch, main, dirty, ..GitImpact::default() };
    let Some(sha) = head.sha else { return Some(impact) };
    match (work.base, work.since) {
        (Some(base), _) => (impact.base, impact.commits) = since_commit(work.folder, base, &sha),
        (None, Some(since)) => {
            let elsewhere = impact.main.as_deref().filter(|main| impact.branch.as_deref() != Some(main));
            (impact.base, impact.commits) = since_moment(work.folder, since, elsewhere);
            if let (true, Some(first)) = (impact.commits.is_empty(), work.first) {
                // Already merged: the main branch has all commits.
                (impact.base, impact.commits) = from_commit(work.folder, first);
            }
        }
        (None, None) => {}
    }
    let Some(oldest) = impact.commits.last() else { return Some(impact) };
    let holders = git::holders(work.folder, &oldest.sha);
    let is_main =
        |name: &String| impact.main.as_ref().is_some_and(|main| name.strip_prefix("refs/heads/") == Some(main));
    impact.is_merged = holders.iter().any(is_main);
    impact.pushed = holders.iter().filter_map(|name| name.strip_prefix("refs/remotes/")).map(str::to_owned).collect();
    if let (true, Some(main)) = (impact.is_merged, &impact.main) {
        let newest = impact.commits.first().and_then(|commit| commit.at);
        impact.merged_at = git::merged_at(work.folder, &oldest.sha, main).or(newest);
    }
    Some(impact)
}

/// Lists the commits after `base` up to HEAD, if HEAD descends from it.
fn since_commit(folder: &Utf8Path, base: &str, head: &str) -> (Option<String>, Vec<AffectedCommit>) {
    if git::names(base, head) {
        return (Some(head.to_owned()), Vec::new());
    }
    let is_base = |parent: &String| git::names(base, parent);
    let range = git::is_sha(base).then(|| format!("{base}..HEAD"));
    let commits = range.and_then(|range| log(folder, &[&range])).unwrap_or_default();
    match commits.last().and_then(|(_, parent)| parent.clone()).filter(is_base) {
        Some(parent) => (Some(parent), commits.into_iter().map(|(commit, _)| commit).collect()),
        None => (None, Vec::new()),
    }
}

/// Lists the commits from `first` up to HEAD, inclusive.
fn from_commit(folder: &Utf8Path, first: &str) -> (Option<String>, Vec<AffectedCommit>) {
    let range = git::is_sha(first).then(|| format!("{first}^..HEAD"));
    let commits = range.and_then(|range| log(folder, &[&range])).unwrap_or_default();
    let oldest = commits.last().filter(|(oldest, _)| git::names(first, &oldest.sha));
    match oldest.and_then(|(_, parent)| parent.clone()) {
        Some(parent) => (Some(parent), commits.into_iter().map(|(commit, _)| commit).collect()),
        None => (None, Vec::new()),
    }
}

/// Lists the commits of a branch since a point in time.
fn since_moment(folder: &Utf8Path, since: Timestamp, main: Option<&str>) -> (Option<String>, Vec<AffectedCommit>) {
    let without = main.map(|main| format!("^refs/heads/{main}"));
    let range: Vec<&str> = std::iter::once("HEAD").chain(without.as_deref()).collect();
    let commits = log(folder, &range).unwrap_or_default();
    // Git stores whole seconds.
    let is_since = |at: Option<Timestamp>| at.is_some_and(|at| at.unix_seconds() >= since.unix_seconds());
    let commits: Vec<_> = commits.into_iter().take_while(|(commit, _)| is_since(commit.at)).collect();
    let base = commits.last().and_then(|(_, parent)| parent.clone());
    (base, commits.into_iter().map(|(commit, _)| commit).collect())
}

/// Returns commits, newest first, each with its first parent; changes of merged commits are attributed to the merge.
fn log(folder: &Utf8Path, range: &[&str]) -> Option<Vec<(AffectedCommit, Option<String>)>> {
    let [mark, end] = MARKS;
    let format = format!("--format={mark}%H{end}%P{end}%ct{end}%s{end}");
    let limit = format!("--max-count={COMMITS}");
    let fixed =
        ["log", "--first-parent", &limit, &format, "-z", "--name-only", "--no-renames", "--diff-merges=first-parent"];
    let bytes = git::answer(folder, &[&fixed, range, &["--"]].concat())?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.split(mark).filter_map(commit).collect())
}

fn commit(text: &str) -> Option<(AffectedCommit, Option<String>)> {
    let mut fields = text.splitn(5, MARKS[1]);
    let (sha, parents, seconds) = (fields.next()?, fields.next()?, fields.next()?);
    let (subject, names) = (fields.next()?, fields.next()?);
    let parents: Vec<&str> = parents.split_whitespace().collect();
    let names = names.split('\0').map(|name| name.trim_start_matches('\n')).filter(|name| !name.is_empty());
    let commit = AffectedCommit {
        sha: git::is_sha(sha).then(|| sha.to_owned())?,
        subject: subject.to_owned(),
        at: seconds.parse().ok().and_then(|seconds| Timestamp::from_unix(seconds, 0)),
        is_merge: parents.len() > 1,
        files: names.filter_map(|name| RelPath::parse(name).ok()).collect(),
    };
    Some((commit, parents.first().map(|parent| (*parent).to_owned())))
}

/// Lists the files with uncommitted changes, untracked ones included, without state files.
fn dirty(folder: &Utf8Path, ours: &[Utf8PathBuf]) -> Option<Vec<String>> {
    let top = git::top_of(folder);
    let changes = git::changes(folder)?;
    let is_ours = |name: &String| {
        let path = top.join(name.trim_end_matches('/'));
        ours.iter().any(|own| path.starts_with(own) || (name.ends_with('/') && own.starts_with(&path)))
    };
    Some(changes.into_iter().filter(|name| !is_ours(name)).collect())
}

/// Returns the time of a commit and the hashes of it and its ancestors; `None` if git does not know it.
pub(crate) fn history_of(folder: &Utf8Path, sha: &str) -> Option<(Timestamp, Vec<String>)> {
    if !git::is_sha(sha) {
        return None;
    }
    let commit = format!("{sha}^{{commit}}");
    let bytes = git::answer(folder, &["log", "--max-count=100000", "--format=%H %ct", &commit, "--"])?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().filter_map(|line| line.split_once(' ')).peekable();
    let at = lines.peek().and_then(|(_, seconds)| Timestamp::from_unix(seconds.parse().ok()?, 0))?;
    Some((at, lines.map(|(sha, _)| sha.to_owned()).collect()))
}

#[cfg(test)]
#[path = "git_impact_tests.rs"]
mod tests;
