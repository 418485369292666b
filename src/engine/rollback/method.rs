//! The git commands that discard the work of a rollback, and why these. They are printed, never run.

use schemars::JsonSchema;
use serde::Serialize;

use super::impact::Impact;
use crate::model::{GitImpact, GivenUpCommit, RelPath, Run, StepId, Suggested, Timestamp, Verb, plural, quoted};

/// Number of rollbacks to the same point after which a person has to confirm (docs/formats/nine-step.md#rollback).
const REPEAT_LIMIT: usize = 3;
/// Age above which a merge is reported as old (docs/formats/nine-step.md#rollback).
const OLD_MERGE_SECONDS: i64 = 7 * 86_400;
const SHOWN_FILES: usize = 5;

/// How commits are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// There are no commits to discard.
    None,
    /// The branch is reset; only if the commits exist nowhere else.
    Reset,
    /// New commits revert the old ones.
    Revert,
}

/// The git commands to run by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GitPlan {
    pub(crate) method: Method,
    pub(crate) because: String,
    /// Commands to check the situation first.
    pub(crate) checks: Vec<String>,
    /// Commands that discard the work, in this order.
    pub(crate) commands: Vec<String>,
    /// Alternative commands that keep every commit; empty if the method already does.
    pub(crate) instead: Vec<String>,
}

/// A reason not to roll back yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Obstacle {
    /// `uncommitted`, `main_branch`, `repeated`, `no_space`.
    pub(crate) code: String,
    pub(crate) message: String,
    /// The next command.
    pub(crate) command: Suggested,
}

/// Chooses between resetting the branch and reverting the commits (docs/formats/nine-step.md#rollback).
pub(crate) fn git_plan(run: &Run, git: &GitImpact, impact: &Impact, at: Timestamp) -> GitPlan {
    let plan = |method, because: String| GitPlan {
        method,
        because,
        checks: Vec::new(),
        commands: Vec::new(),
        instead: Vec::new(),
    };
    let Some(base) = &git.base else {
        let because = "no record says which commits belong to these steps: check `git log` before you revert any";
        return plan(Method::None, because.to_owned());
    };
    if let Some(step) = impact.unrecorded.as_ref().filter(|_| !git.commits.is_empty()) {
        let title = run.step(step).map_or("", |step| step.title.as_str());
        let because = format!(
            "{} has no recorded commit: which of the {} is its own cannot be known, so no reset is shown",
            step.with_title(title),
            plural(git.commits.len(), "commit")
        );
        return GitPlan { checks: vec![record_commit(run, step).into()], ..plan(Method::None, because) };
    }
    if git.commits.is_empty() {
        return plan(Method::None, "no commit was made since: only the state is rolled back".to_owned());
    }
    let folder = quoted(&git.folder);
    let keep = quoted(&format!("rollback/{}-{}", slug(run.id.as_str()), at.compact()));
    let commits = plural(git.commits.len(), "commit");
    let checks = vec![
        format!("git -C {folder} status --short    # prints nothing"),
        format!("git -C {folder} log --first-parent --oneline {}..HEAD    # prints {commits}", short(base)),
    ];
    let reverts = reverts(&git.commits.iter().map(GivenUpCommit::from).collect::<Vec<_>>());
    let in_folder = |folder: &str| -> Vec<String> {
        reverts.iter().map(|revert| format!("git -C {folder} revert --no-edit {revert}")).collect()
    };
    if git.is_merged {
        let main = quoted(git.main.as_deref().unwrap_or("HEAD"));
        let folder = quoted(&git.main_folder);
        let mut commands = vec![format!("git -C {folder} switch --create {keep} {main}")];
        commands.extend(in_folder(&folder));
        let because = format!("{main} has the {commits}: others may have built on them, so new commits revert them");
        return GitPlan { checks, commands, ..plan(Method::Revert, because) };
    }
    if let Some(remote) = git.pushed.first() {
        let mut commands = in_folder(&folder);
        commands.push(format!("git -C {folder} push"));
        let because = format!("{} has the {commits}, so new commits revert them", quoted(remote));
        return GitPlan { checks, commands, ..plan(Method::Revert, because) };
    }
    let because = format!("only this repository has the {commits}: they are on neither the main branch nor a remote");
    let commands =
        vec![format!("git -C {folder} branch {keep} HEAD"), format!("git -C {folder} reset --hard {}", short(base))];
    GitPlan { checks, commands, instead: in_folder(&folder), ..plan(Method::Reset, because) }
}

/// Returns the command that records the commit of a step.
pub(crate) fn record_commit(run: &Run, step: &StepId) -> Suggested {
    Suggested::on_step(Verb::Finish, step, &run.id).option("commit", "SHA")
}

/// Returns the arguments of each `git revert`, newest first: ordinary commits together, each merge separately.
pub(super) fn reverts(commits: &[GivenUpCommit]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for stretch in commits.chunk_by(|one, other| !one.is_merge && !other.is_merge) {
        let names: Vec<String> = stretch.iter().map(|commit| short(&commit.sha)).collect();
        let is_merge = stretch.first().is_some_and(|commit| commit.is_merge);
        all.push(format!("{}{}", if is_merge { "--mainline 1 " } else { "" }, names.join(" ")));
    }
    all
}

/// Shortens the name of a commit, quoted in case it is not one.
pub(super) fn short(sha: &str) -> String {
    quoted(&sha.chars().take(12).collect::<String>())
}

/// Returns a text that is safe in a branch name: letters, digits, `_` and `-`.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let slug: String = text.chars().map(plain).take(60).collect();
    slug.trim_matches('-').to_owned()
}

/// Returns the obstacles to a rollback. `times` is how often the run was rolled back to this point before, `again` the command to
/// repeat.
pub(crate) fn obstacles(run: &Run, git: Option<&GitImpact>, times: usize, again: &Suggested) -> Vec<Obstacle> {
    let mut all = Vec::new();
    let mut note = |code: &str, message: String, command: Suggested| {
        all.push(Obstacle { code: code.to_owned(), message, command });
    };
    if let Some(git) = git {
        let folder = quoted(&git.folder);
        let has_own_branch = run.workspace.branch.is_some() || run.workspace.place().is_some();
        let is_on_main = git.branch.is_some() && git.branch == git.main;
        if let (true, true, Some(main)) = (has_own_branch, is_on_main, &git.main) {
            let message = format!("{main} is checked out in {folder}: the main branch is never rolled back");
            let wanted = run.workspace.branch.as_deref().filter(|branch| branch != main && !branch.starts_with('-'));
            let create = if git.has_branch { "" } else { "--create " };
            let command = match wanted {
                Some(branch) => format!("git -C {folder} switch {create}{}", quoted(branch)),
                None => format!("git -C {folder} branch --all    # find the branch of the work, then switch to it"),
            };
            note("main_branch", message, Suggested::Other(command));
        }
        let is_at_risk = has_own_branch || !git.commits.is_empty();
        // If git does not answer, no destructive command is printed.
        if git.dirty.is_none() && !git.commits.is_empty() {
            let message = format!("git does not say whether everything in {folder} is committed");
            note("uncommitted", message, Suggested::Other(format!("git -C {folder} status --short")));
        }
        if let Some(dirty) = git.dirty.as_ref().filter(|dirty| is_at_risk && !dirty.is_empty()) {
            let shown: Vec<&str> = dirty.iter().take(SHOWN_FILES).map(String::as_str).collect();
            let more = if dirty.len() > SHOWN_FILES { ", ..." } else { "" };
            let message = format!(
                "{} in {folder} with uncommitted changes: {}{more}",
                plural(dirty.len(), "file"),
                shown.join(", ")
            );
            // The state is no work: it stays where it is.
            let state = state_in(run).into_iter().map(|state| format!(" {}", quoted(&format!(":(exclude){state}*"))));
            let state = state.collect::<String>();
            let only = if state.is_empty() { state } else { format!(" -- .{state}") };
            let stash = format!("git -C {folder} stash push --include-untracked{only}");
            note("uncommitted", message, Suggested::Other(stash));
        }
    }
    if times >= REPEAT_LIMIT {
        let message =
            format!("the run was rolled back to this point {} before: a person decides", plural(times, "time"));
        note("repeated", message, again.clone().flag("force"));
    }
    all
}

/// Returns the state files that are in the working folder of a run, by their paths from there.
fn state_in(run: &Run) -> Vec<&str> {
    let files = run.state_files.iter().filter(|_| run.workspace.outside.is_none());
    match &run.workspace.worktree {
        Some(tree) => {
            let below = files.filter_map(|path| path.as_str().strip_prefix(tree.as_str())?.strip_prefix('/'));
            below.collect()
        }
        None => files.map(RelPath::as_str).collect(),
    }
}

/// Tells whether the work was merged so long ago that other work may depend on it.
pub(crate) fn is_old_merge(git: &GitImpact, now: Timestamp) -> bool {
    git.merged_at.is_some_and(|merged_at| now.seconds_since(merged_at) > OLD_MERGE_SECONDS)
}

/// Returns the command that lists the possible targets.
pub(crate) fn listing_command(run: &Run) -> Suggested {
    Suggested::of(Verb::Rollback, &run.id)
}

/// Returns the command that rolls back to a target.
pub(crate) fn command_to(run: &Run, to: &str) -> Suggested {
    Suggested::of(Verb::Rollback, &run.id).option("to", to)
}
