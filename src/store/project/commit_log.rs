//! The newest commits with the files they touch, in one call of git.

use std::{io::Read as _, time::Duration};

use camino::Utf8Path;

use super::{
    git::is_sha,
    git_process::{ask_within, command, start},
    repository,
};
use crate::model::{CommitLog, FileChange, LogReach, LoggedCommit, Timestamp, TouchedFile};

/// Number of commits that are read.
const COMMITS: usize = 500;
/// Bytes of output that are read.
const OUTPUT_LIMIT: u64 = 4 << 20;
/// Time after which git is killed.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Returns the newest commits of the branch that is checked out at `root`, with the files below `root` that they touch. `None` if git
/// does not answer, or there is no commit.
pub(crate) fn commit_log(root: &Utf8Path) -> Option<CommitLog> {
    let mut command = command(root);
    command.args(["log", "-z", &format!("--max-count={COMMITS}"), "--format=%x01%H%x02%P%x02%ct%x02%s"]);
    command.args(["--name-status", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative", "HEAD", "--"]);
    let (read, is_success) = ask_within(TIME_LIMIT, start(&mut command)?, |_, stdout| {
        let mut bytes = Vec::new();
        stdout.take(OUTPUT_LIMIT).read_to_end(&mut bytes).map(|_| bytes)
    })?;
    let bytes = read.ok()?;
    let is_cut_off = bytes.len() as u64 >= OUTPUT_LIMIT;
    if !is_success && !is_cut_off {
        return None;
    }
    Some(parse(&bytes, is_cut_off, repository::is_shallow(root)))
}

/// Parses the output of git. The last commit of output that was cut off is left out, and so are the files of the commits at which a shallow
/// clone begins: they list the whole tree.
fn parse(bytes: &[u8], is_cut_off: bool, is_shallow: bool) -> CommitLog {
    let mut commits: Vec<LoggedCommit> = Vec::new();
    let mut reach = if is_cut_off { LogReach::CutOff } else { LogReach::Whole };
    let mut tokens = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    while let Some(token) = tokens.next() {
        let token = token.trim_start_matches('\n');
        if let Some(header) = token.strip_prefix('\u{1}') {
            let Some((commit, has_parents)) = parse_header(header) else { break };
            let are_files_known = has_parents || !is_shallow;
            if !are_files_known {
                reach = LogReach::Shallow;
            }
            commits.push(LoggedCommit { are_files_known, ..commit });
        } else if let (Some(change), Some(commit)) = (change_of(token), commits.last_mut()) {
            let Some(path) = tokens.next() else { break };
            if commit.are_files_known {
                commit.files.push(TouchedFile { change, path: path.into_owned() });
            }
        }
    }
    if is_cut_off {
        commits.pop();
    }
    if commits.len() == COMMITS && reach == LogReach::Whole {
        reach = LogReach::CutOff;
    }
    CommitLog::new(commits, reach)
}

fn parse_header(header: &str) -> Option<(LoggedCommit, bool)> {
    let mut fields = header.splitn(4, '\u{2}');
    let (sha, parents, seconds, subject) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let at = seconds.parse().ok().and_then(|seconds| Timestamp::from_unix(seconds, 0));
    let commit =
        LoggedCommit { sha: sha.to_owned(), at, subject: subject.to_owned(), files: Vec::new(), are_files_known: true };
    is_sha(sha).then_some((commit, !parents.trim().is_empty()))
}

fn change_of(status: &str) -> Option<FileChange> {
    match status {
        "A" => Some(FileChange::Added),
        "D" => Some(FileChange::Deleted),
        "M" | "T" | "U" | "X" => Some(FileChange::Modified),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::model::{FileChange, LogReach};

    const NEW: &str = "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4";
    const OLD: &str = "b1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4";

    fn output() -> Vec<u8> {
        let text = format!(
            "\u{1}{NEW}\u{2}{OLD}\u{2}100\u{2}feat(03-02): a\u{2}b\0\nA\0src/ü 1.rs\0M\0\u{1}odd\0D\0A\0\u{1}{OLD}\u{2}\u{2}50\u{2}init\0\nA\0x\0"
        );
        text.into_bytes()
    }

    #[test]
    fn a_log_has_every_commit_with_its_files() {
        let log = parse(&output(), false, false);
        assert_eq!(log.reach, LogReach::Whole);
        let [new, old] = log.commits() else { panic!("{log:?}") };
        assert_eq!((new.sha.as_str(), new.subject.as_str()), (NEW, "feat(03-02): a\u{2}b"));
        let files: Vec<(FileChange, &str)> = new.files.iter().map(|file| (file.change, file.path.as_str())).collect();
        let expected =
            [(FileChange::Added, "src/ü 1.rs"), (FileChange::Modified, "\u{1}odd"), (FileChange::Deleted, "A")];
        assert_eq!(files, expected);
        assert_eq!((old.files.len(), old.at.map(|at| at.to_string())), (1, Some("1970-01-01T00:00:50Z".to_owned())));
    }

    #[test]
    fn the_first_commit_of_a_shallow_clone_says_nothing_about_files() {
        let log = parse(&output(), false, true);
        assert_eq!(log.reach, LogReach::Shallow);
        assert_eq!(log.commits().iter().map(|commit| commit.files.len()).collect::<Vec<_>>(), [3, 0]);
        assert_eq!(log.commits().iter().map(|commit| commit.are_files_known).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn output_that_was_cut_off_loses_its_last_commit() {
        for end in 0..=output().len() {
            let log = parse(&output()[..end], true, false);
            assert_eq!(log.reach, LogReach::CutOff);
            assert!(log.commits().len() <= 1, "{end}");
        }
    }

    #[test]
    fn output_that_is_no_log_has_no_commits() {
        for text in ["", "\u{1}nothing", "\u{1}zz\u{2}\u{2}1\u{2}x\0", "A\0src/a\0", "\0\0\0"] {
            assert_eq!(parse(text.as_bytes(), false, false).commits().len(), 0, "{text:?}");
        }
    }

    #[test]
    fn a_log_of_the_largest_number_of_commits_may_go_on() {
        let commit = |at: usize| format!("\u{1}{at:040x}\u{2}{OLD}\u{2}{at}\u{2}s\0\nR\0a\0");
        let log = |count: usize| parse((0..count).map(commit).collect::<String>().as_bytes(), false, false);
        assert_eq!((log(499).reach, log(500).reach), (LogReach::Whole, LogReach::CutOff));
        // A change that is unknown to this reader counts for nothing.
        assert!(log(2).commits().iter().all(|commit| commit.files.is_empty()));
    }
}
