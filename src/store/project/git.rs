//! Queries that only git can answer: one process each, limited to five seconds, and prevented from running other programs.
//!
//! Without git, outside of a repository or after a timeout there is no answer, which is not an error.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{ChildStdin, ChildStdout, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};

pub(crate) use super::repository::{branch_exists, head};

use super::{
    git_filters,
    git_process::{ask, ask_within, command, output, start},
};
use crate::{
    model::{CommitFact, RelPath, Timestamp, name_of},
    store::fs::{platform, stage, surroundings::program},
};

/// Time after which a git process that dates the runs of a list is killed.
const LIST_TIME_LIMIT: Duration = Duration::from_millis(200);
/// Bytes of one line that is read.
const LINE_LIMIT: u64 = 1 << 10;
/// Bytes of output that are read.
const OUTPUT_LIMIT: u64 = 64 << 20;
/// Bytes of an object that is read.
const OBJECT_LIMIT: u64 = 4 << 20;
/// Number of commits that are visited from HEAD.
const WALK_LIMIT: usize = 100_000;
/// Assumed maximal difference between the clocks of committers, in seconds.
const CLOCK_SLOP: i64 = 7 * 86_400;

/// Returns the output of `git --version`; `None` without git.
pub(crate) fn version() -> Option<String> {
    let mut command = program("git");
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let text = String::from_utf8(output(&mut command, LINE_LIMIT)?).ok()?;
    Some(text.trim().to_owned())
}

/// Returns when a file was last committed, for a state without a timestamp.
pub(crate) fn committed_at(worktree: &Utf8Path, path: &str) -> Option<Timestamp> {
    last_commit(worktree, "HEAD", &[&format!(":(literal){path}")])
}

/// Returns when HEAD was committed.
pub(crate) fn head_committed_at(worktree: &Utf8Path) -> Option<Timestamp> {
    last_commit(worktree, "HEAD", &[])
}

/// Returns when a commit was made.
pub(crate) fn made_at(worktree: &Utf8Path, sha: &str) -> Option<Timestamp> {
    if is_sha(sha) { last_commit(worktree, sha, &[]) } else { None }
}

/// Tells whether a commit is in the history of a branch.
pub(crate) fn has_commit(worktree: &Utf8Path, branch: &str, sha: &str) -> bool {
    is_sha(sha) && is_in_history(worktree, sha, branch)
}

/// Returns when the newest commit in the history of a revision was made that changed one of the paths; without paths, the revision.
fn last_commit(worktree: &Utf8Path, revision: &str, paths: &[&str]) -> Option<Timestamp> {
    let mut command = command(worktree);
    command.args(["log", "-1", "--format=%ct", revision, "--"]).args(paths);
    let text = String::from_utf8(output(&mut command, LINE_LIMIT)?).ok()?;
    Timestamp::from_unix(text.trim().parse().ok()?, 0)
}

/// When files were last committed, as far as one call of git found out in its time.
#[derive(Debug, Default)]
pub(crate) struct CommitTimes {
    pub(crate) by_path: BTreeMap<String, Timestamp>,
    /// Whether a path without a time has no commit.
    pub(crate) is_complete: bool,
}

/// [`committed_at`] for many files and folders, in one call of at most 200 ms.
pub(crate) fn commit_times(worktree: &Utf8Path, paths: &[&str]) -> CommitTimes {
    if paths.is_empty() {
        return CommitTimes { is_complete: true, ..CommitTimes::default() };
    }
    let mut command = command(worktree);
    command.args(["log", "-z", "--format=%x01%ct", "--name-only", "--no-renames", "--relative", "--"]);
    command.args(paths.iter().map(|path| format!(":(literal){path}")));
    let Some(child) = start(&mut command) else { return CommitTimes::default() };
    let mut open: BTreeSet<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    // What was found before the time was up counts.
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    let known = Arc::clone(&found);
    let read = move |_: Option<ChildStdin>, stdout: ChildStdout| {
        let mut at = None;
        for token in BufReader::new(stdout.take(OUTPUT_LIMIT)).split(0).map_while(Result::ok) {
            let token = String::from_utf8_lossy(&token);
            if let Some(seconds) = token.strip_prefix('\u{1}') {
                at = seconds.trim().parse().ok().and_then(|seconds| Timestamp::from_unix(seconds, 0));
            } else if let Some(at) = at {
                let name = Utf8Path::new(token.trim_start_matches('\n'));
                let named: Vec<String> = name.ancestors().filter_map(|above| open.take(above.as_str())).collect();
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.extend(named.into_iter().map(|path| (path, at)));
            }
            if open.is_empty() {
                break;
            }
        }
    };
    let is_complete = ask_within(LIST_TIME_LIMIT, child, read).is_some();
    let by_path = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    CommitTimes { by_path, is_complete }
}

/// Runs a git command and returns its output; `None` if it fails.
pub(super) fn answer(worktree: &Utf8Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = command(worktree);
    command.args(arguments);
    output(&mut command, OUTPUT_LIMIT)
}

/// Returns the full id of the commit that a name means (`HEAD`, a branch, a short id); `None` if git does not know it.
pub(crate) fn resolve_commit(worktree: &Utf8Path, name: &str) -> Option<String> {
    let name = format!("{name}^{{commit}}");
    let answer = answer(worktree, &["rev-parse", "--verify", "--quiet", "--end-of-options", &name])?;
    String::from_utf8(answer).ok().map(|sha| sha.trim().to_owned()).filter(|sha| is_sha(sha))
}

/// Returns the branches, local and remote, that have a commit, by their full names.
pub(super) fn holders(worktree: &Utf8Path, sha: &str) -> Vec<String> {
    let contains = format!("--contains={sha}");
    let asked = ["for-each-ref", "--format=%(refname)", &contains, "refs/heads", "refs/remotes"];
    let bytes = answer(worktree, &asked).filter(|_| is_sha(sha)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

/// Tells whether a branch is in the history of another one.
pub(super) fn is_ancestor(worktree: &Utf8Path, branch: &str, of: &str) -> bool {
    is_in_history(worktree, &format!("refs/heads/{branch}"), of)
}

fn is_in_history(worktree: &Utf8Path, revision: &str, branch: &str) -> bool {
    answer(worktree, &["merge-base", "--is-ancestor", revision, &format!("refs/heads/{branch}")]).is_some()
}

/// Returns when a commit was merged into a branch.
pub(super) fn merged_at(worktree: &Utf8Path, sha: &str, branch: &str) -> Option<Timestamp> {
    let range = format!("{sha}..refs/heads/{branch}");
    let asked = ["log", "--merges", "--ancestry-path", "--max-count=10000", "--format=%ct", &range, "--"];
    let bytes = answer(worktree, &asked).filter(|_| is_sha(sha))?;
    let text = String::from_utf8_lossy(&bytes);
    Timestamp::from_unix(text.lines().last()?.trim().parse().ok()?, 0)
}

/// Arguments of `git status` whose output [`changed`] parses.
pub(super) const STATUS: [&str; 4] = ["--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all"];

/// Lists the files with uncommitted changes, untracked ones included, relative to the top of the worktree. `None` if git fails,
/// or cannot be run without starting programs that the repository configures.
///
/// Filters that the repository configures do not run: a file that only such a filter makes equal to the committed one counts as
/// changed once its timestamps differ. Filters of the user's settings, such as Git LFS, do run.
pub(super) fn changes(worktree: &Utf8Path) -> Option<Vec<String>> {
    let drivers = git_filters::arguments_without_filters(worktree)?;
    let mut command = command(worktree);
    command.args(drivers).arg("status").args(STATUS);
    output(&mut command, OUTPUT_LIMIT).map(|bytes| work_of(worktree, &bytes))
}

/// Returns the top of the worktree that a folder is in; the folder itself outside of git.
pub(super) fn top_of(folder: &Utf8Path) -> Utf8PathBuf {
    let top = folder.ancestors().find(|top| top.join(".git").symlink_metadata().is_ok());
    top.unwrap_or(folder).to_owned()
}

/// Lists the paths in a status of git of a worktree, without devices, which are no work.
pub(super) fn work_of(worktree: &Utf8Path, porcelain: &[u8]) -> Vec<String> {
    let mut changes = changed(porcelain);
    if !changes.is_empty() {
        let top = top_of(worktree);
        changes.retain(|path| !platform::is_device(&top.join(path)));
    }
    changes
}

/// Lists the paths in a status of git. What a killed writer staged is no work: the next call finishes or removes it.
fn changed(porcelain: &[u8]) -> Vec<String> {
    let is_work = |path: &&str| !stage::is_temporary(name_of(path).as_ref());
    let text = String::from_utf8_lossy(porcelain);
    let mut fields = text.split('\0').filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    while let Some(field) = fields.next() {
        // The old name of a renamed or copied file is a field of its own.
        if field.chars().take(2).any(|c| matches!(c, 'R' | 'C')) {
            fields.next();
        }
        changes.extend(field.get(3..).filter(is_work).map(str::to_owned));
    }
    changes
}

/// Tells whether a text can be a commit hash. Nothing else is ever passed to git as a commit, but what the caller names one by.
pub(crate) fn is_sha(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Tells whether a full or shortened hash names this commit.
pub(super) fn names(text: &str, sha: &str) -> bool {
    is_sha(text) && sha.starts_with(&text.to_ascii_lowercase())
}

/// Tells for each hash whether it is in the history of HEAD. Hashes without an answer are left out.
pub(crate) fn commits<S: AsRef<str>>(worktree: &Utf8Path, shas: &[S]) -> BTreeMap<String, CommitFact> {
    let (asked, nonsense): (BTreeSet<&str>, BTreeSet<&str>) =
        shas.iter().map(AsRef::as_ref).partition(|sha| is_sha(sha));
    let mut facts: BTreeMap<String, CommitFact> =
        nonsense.into_iter().map(|text| (text.to_owned(), CommitFact::Unknown)).collect();
    let asked: Vec<String> = asked.into_iter().map(str::to_owned).collect();
    if asked.is_empty() {
        return facts;
    }
    facts.extend(with_objects(worktree, move |objects| objects.facts(asked)).unwrap_or_default());
    facts
}

/// Returns the committed content of those of the given files that have another one now.
pub(crate) fn changed_since_commit(worktree: &Utf8Path, now: Vec<(RelPath, Arc<[u8]>)>) -> BTreeMap<RelPath, Vec<u8>> {
    let found = with_objects(worktree, move |objects| {
        let mut changed = BTreeMap::new();
        for (path, now) in now {
            let committed = objects.file("HEAD", &path)?.filter(|committed| committed[..] != now[..]);
            changed.extend(committed.map(|committed| (path, committed)));
        }
        Some(changed)
    });
    found.unwrap_or_default()
}

/// Returns the different versions of a file in the newest commits, newest first, each with its commit.
pub(crate) fn versions_of(worktree: &Utf8Path, path: &RelPath) -> Vec<(String, Vec<u8>)> {
    /// Commits that are looked at.
    const COMMITS: usize = 100;
    /// Versions that are returned.
    const VERSIONS: usize = 10;
    let path = path.clone();
    let found = with_objects(worktree, move |objects| {
        let mut versions: Vec<(String, Vec<u8>)> = Vec::new();
        let mut name = "HEAD".to_owned();
        for _ in 0..COMMITS {
            let Some(commit) = objects.commit(&name)? else { break };
            if let Some(bytes) = objects.file(&commit.sha, &path)? {
                // The oldest commit with this content made it.
                if let Some(last) = versions.last_mut().filter(|(_, last)| *last == bytes) {
                    last.0.clone_from(&commit.sha);
                } else if versions.len() == VERSIONS {
                    break;
                } else {
                    versions.push((commit.sha.clone(), bytes));
                }
            }
            let Some(parent) = commit.parents.first() else { break };
            name.clone_from(parent);
        }
        Some(versions)
    });
    found.unwrap_or_default()
}

/// Runs queries about objects against one `git cat-file` process; `None` without an answer.
pub(super) fn with_objects<T: Send + 'static>(
    worktree: &Utf8Path,
    question: impl FnOnce(&mut Objects) -> Option<T> + Send + 'static,
) -> Option<T> {
    let mut command = command(worktree);
    command.args(["cat-file", "--batch"]).stdin(Stdio::piped());
    let (answer, _) = ask(start(&mut command)?, move |stdin, stdout| {
        question(&mut Objects { stdin: stdin?, stdout: BufReader::new(stdout) })
    })?;
    answer
}

/// A running `git cat-file --batch`.
pub(super) struct Objects {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// A git object.
struct Object {
    sha: String,
    kind: String,
    body: Vec<u8>,
}

/// The parts of a commit that are used here.
pub(super) struct Commit {
    pub(super) sha: String,
    pub(super) time: i64,
    pub(super) parents: Vec<String>,
    /// The commit that it reverts, by its own message.
    pub(super) reverts: Option<String>,
}

impl Objects {
    /// Reads a commit by any of its names: the outer `None` if git ended, the inner one if there is no such commit.
    pub(super) fn commit(&mut self, name: &str) -> Option<Option<Commit>> {
        let object = self.object(&format!("{name}^{{commit}}"))?;
        let commit = object.filter(|object| object.kind == "commit");
        Some(commit.map(|commit| parse_commit(&commit.sha, &String::from_utf8_lossy(&commit.body))))
    }

    /// Reads a file of a commit: the inner `None` if it has no such file.
    pub(super) fn file(&mut self, commit: &str, path: &RelPath) -> Option<Option<Vec<u8>>> {
        let object = self.object(&format!("{commit}:./{path}"))?;
        Some(object.filter(|object| object.kind == "blob").map(|object| object.body))
    }

    fn object(&mut self, name: &str) -> Option<Option<Object>> {
        writeln!(self.stdin, "{name}").and_then(|()| self.stdin.flush()).ok()?;
        let mut header = String::new();
        if self.stdout.read_line(&mut header).ok()? == 0 {
            return None;
        }
        // A name that is not found is echoed, and it may contain spaces.
        let mut fields = header.trim_end().rsplit(' ');
        let (Some(size), Some(kind), Some(sha), None) = (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Some(None);
        };
        let Ok(size) = size.parse::<u64>() else { return Some(None) };
        let mut body = vec![0; usize::try_from(Some(size).filter(|size| *size <= OBJECT_LIMIT)?).ok()? + 1];
        self.stdout.read_exact(&mut body).ok()?;
        body.pop();
        Some(Some(Object { sha: sha.to_owned(), kind: kind.to_owned(), body }))
    }

    /// Walks back from HEAD, newest first, until every commit is found or all remaining ones are older.
    fn facts(&mut self, asked: Vec<String>) -> Option<BTreeMap<String, CommitFact>> {
        let mut facts = BTreeMap::new();
        let mut wanted: BTreeMap<String, (Vec<String>, i64)> = BTreeMap::new();
        for name in asked {
            match self.commit(&name)? {
                None => {
                    facts.insert(name, CommitFact::Unknown);
                }
                Some(commit) => wanted.entry(commit.sha).or_insert_with(|| (Vec::new(), commit.time)).0.push(name),
            }
        }
        let mut queue = BinaryHeap::new();
        let mut seen = BTreeSet::new();
        let mut waiting: BTreeMap<String, Commit> = BTreeMap::new();
        let mut reverted: BTreeSet<String> = BTreeSet::new();
        if let Some(commit) = self.commit("HEAD")? {
            seen.insert(commit.sha.clone());
            queue.push((commit.time, commit.sha.clone()));
            waiting.insert(commit.sha.clone(), commit);
        }
        while let Some((time, sha)) = queue.pop() {
            let Some(commit) = waiting.remove(&sha) else { continue };
            let is_reverted = reverted.contains(&sha);
            if let Some((names, _)) = wanted.remove(&sha) {
                let fact = if is_reverted { CommitFact::Reverted } else { CommitFact::Reachable };
                facts.extend(names.into_iter().map(|name| (name, fact)));
            }
            reverted.extend(commit.reverts.filter(|_| !is_reverted));
            let Some(oldest) = wanted.values().map(|(_, time)| *time).min() else { break };
            if time.saturating_add(CLOCK_SLOP) < oldest {
                break;
            }
            if seen.len() > WALK_LIMIT {
                return Some(facts);
            }
            for parent in commit.parents {
                if seen.insert(parent.clone())
                    && let Some(commit) = self.commit(&parent)?
                {
                    queue.push((commit.time, commit.sha.clone()));
                    waiting.insert(commit.sha.clone(), commit);
                }
            }
        }
        let elsewhere = wanted.into_values().flat_map(|(names, _)| names);
        facts.extend(elsewhere.map(|name| (name, CommitFact::Elsewhere)));
        Some(facts)
    }
}

fn parse_commit(sha: &str, body: &str) -> Commit {
    let mut commit = Commit { sha: sha.to_owned(), time: 0, parents: Vec::new(), reverts: reverted_by(body) };
    for line in body.lines().take_while(|line| !line.is_empty()) {
        if let Some(parent) = line.strip_prefix("parent ").filter(|parent| is_sha(parent)) {
            commit.parents.push(parent.to_owned());
        } else if let Some(committer) = line.strip_prefix("committer ") {
            commit.time = committer.rsplit(' ').nth(1).and_then(|time| time.parse().ok()).unwrap_or(0);
        }
    }
    commit
}

/// Returns the commit that `git revert` says in its message to revert.
fn reverted_by(body: &str) -> Option<String> {
    let (_, message) = body.split_once("\n\n")?;
    let rest = message.lines().find_map(|line| line.strip_prefix("This reverts commit "))?;
    let sha: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    is_sha(&sha).then_some(sha)
}

/// Returns those of the paths, which need not exist, that git does not ignore; none if it does not answer. A folder ends in `/`.
pub(crate) fn not_ignored<'a>(worktree: &Utf8Path, paths: &[&'a str]) -> Vec<&'a str> {
    let is_shown = |pattern: &String| pattern.is_empty() || pattern.starts_with('!');
    let decided = paths.iter().zip(ignore_patterns(worktree, paths));
    decided.filter(|(_, pattern)| is_shown(pattern)).map(|(path, _)| *path).collect()
}

/// Tells whether git ignores a folder by a pattern that is for nothing but folders of its name.
pub(crate) fn is_ignored_as_folder(worktree: &Utf8Path, folder: &RelPath) -> bool {
    let above = folder.parent().map(|above| format!("{above}/"));
    let paths = [folder.as_str()].into_iter().chain(above.as_deref()).collect::<Vec<_>>();
    let patterns = ignore_patterns(worktree, &paths);
    let is_pattern = |pattern: &String| !pattern.is_empty() && !pattern.starts_with('!');
    patterns.first().is_some_and(|pattern| is_pattern(pattern) && pattern.ends_with('/'))
        && !patterns.get(1).is_some_and(is_pattern)
}

/// Returns the pattern that decides whether git ignores each path; it is empty where no pattern matches. The list is empty if git fails.
fn ignore_patterns(worktree: &Utf8Path, paths: &[&str]) -> Vec<String> {
    let mut command = command(worktree);
    command.args(["check-ignore", "--verbose", "--non-matching", "--"]).args(paths);
    let read = |_: Option<ChildStdin>, stdout: ChildStdout| {
        let mut bytes = Vec::new();
        stdout.take(OUTPUT_LIMIT).read_to_end(&mut bytes).map(|_| bytes)
    };
    // It also fails where it ignores none of them.
    let printed = start(&mut command).and_then(|child| ask(child, read)).and_then(|(printed, _)| printed.ok());
    let printed = printed.unwrap_or_default();
    let text = String::from_utf8_lossy(&printed);
    let pattern = |line: &str| {
        let (rule, _) = line.split_once('\t')?;
        rule.splitn(3, ':').nth(2).map(str::to_owned)
    };
    let patterns: Vec<String> = text.lines().filter_map(pattern).collect();
    if patterns.len() == paths.len() { patterns } else { Vec::new() }
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
