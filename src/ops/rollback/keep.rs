//! The backup of what a rollback discards, with its description (docs/formats/nine-step.md#rollback).

use std::fmt::Write as _;

use super::{RollbackContext, report::RollbackReport};
use crate::{
    dialect::RollbackBackup,
    engine::{self, rollback::Obstacle},
    model::{
        Change, ChangeKind, Finding, GitImpact, RelPath, RollBack, StepId, Suggested, Verb, clean_line, sha256_hex,
    },
    ops::{OpError, locked_run::LockedRun},
    store::{
        self,
        backup::{Backup, Copied},
    },
};

const INFO: &str = "BACKUP_INFO.md";
const COMMITS: &str = "commit_info.txt";

/// Returns where the system keeps what a rollback discards; `None` if it has no such place.
fn rollback_backup(context: &RollbackContext<'_>, back: &RollBack) -> Option<RollbackBackup> {
    let opened = context.opened;
    context.format.rollback_backup(&opened.files, context.run, back, opened.files.clock.now)
}

/// Returns the backup folder of one rollback.
pub(super) fn backup_folder(context: &RollbackContext<'_>, back: &RollBack) -> Option<RelPath> {
    Some(rollback_backup(context, back)?.folder)
}

/// Finds out what to copy, and adds obstacles to the report.
pub(super) fn plan(context: &RollbackContext<'_>, back: &RollBack, report: &mut RollbackReport) -> Option<Backup> {
    let folder = backup_folder(context, back)?;
    let opened = context.opened;
    let root = &opened.files.root;
    let mut wanted: Vec<(RelPath, RelPath)> = Vec::new();
    let copies = context.run.state_files.iter().filter_map(|path| opened.dialect.copies().backup_of(path));
    let state = context.run.state_files.iter().cloned().chain(copies);
    let is_there = |path: &RelPath| opened.files.files.contains_key(path);
    wanted.extend(state.filter(is_there).filter_map(|path| Some((path.clone(), within("state", &path)?))));
    let mut touched: Vec<RelPath> = report.commits.iter().flat_map(|commit| commit.files.iter().cloned()).collect();
    touched.sort();
    touched.dedup();
    report.files = touched.iter().map(|path| path.as_str().to_owned()).collect();
    let tree = context.run.workspace.worktree.as_ref();
    let work = |path: &RelPath| tree.map_or_else(|| Some(path.clone()), |tree| tree.join(path.as_str()).ok());
    // Files outside of the root are not copied: they are committed, and git has them.
    let touched = touched.iter().filter(|_| context.run.workspace.outside.is_none());
    wanted.extend(touched.filter_map(|path| Some((work(path)?, within("files", path)?))));
    let mut extent = store::backup::extent(root, &wanted);
    if extent.is_too_much {
        // These files are committed, so git still has them.
        let is_state = |(_, name): &(RelPath, RelPath)| name.as_str().starts_with("state/");
        let (state, files): (Vec<_>, Vec<_>) = extent.files.into_iter().partition(is_state);
        extent.left_out.extend(files.into_iter().map(|(path, _)| path));
        extent.files = state;
    }
    if let Some(free) = extent.free.filter(|free| *free < extent.bytes.saturating_mul(2)) {
        report.obstacles.push(Obstacle {
            code: "no_space".to_owned(),
            message: format!(
                "the backup has {} bytes, and only {free} are free; it needs twice its size",
                extent.bytes
            ),
            command: Suggested::Other(format!("df -h {}", engine::quoted(root.as_str()))),
        });
    }
    report.left_out = extent.left_out;
    report.backup = Some(folder.clone());
    Some(Backup { folder, files: extent.files })
}

fn within(folder: &str, path: &RelPath) -> Option<RelPath> {
    RelPath::parse(folder).ok()?.join(path.as_str()).ok()
}

/// Makes the backup. The state is only written after the backup is durable.
pub(super) fn keep(
    context: &RollbackContext<'_>,
    locked: &LockedRun<'_>,
    change: &Change,
    backup: Backup,
    git_impact: Option<&GitImpact>,
    report: &mut RollbackReport,
) -> Result<(), OpError> {
    let commits = commit_info(report, git_impact);
    let mut digest = String::new();
    let kept = store::backup::keep(locked.lock(), &backup, |folder, copied| {
        let listed = listing(copied);
        digest = sha256_hex(listed.as_bytes());
        let info = info(context, change, folder, (&listed, &digest), report);
        let name = |name: &str| RelPath::parse(name).expect("a plain name");
        vec![(name(COMMITS), commits), (name(INFO), info)]
    })?;
    report.digest = Some(digest);
    report.backup = Some(kept);
    Ok(())
}

/// Lists the copied files in the format of `sha256sum --check`.
fn listing(copied: &[Copied]) -> String {
    copied.iter().map(|one| format!("{}  {}\n", one.sha256, one.name)).collect()
}

fn commit_info(report: &RollbackReport, git_impact: Option<&GitImpact>) -> String {
    let mut text = String::new();
    let Some(git_impact) = git_impact else { return "no commit belongs to these steps\n".to_owned() };
    let _ = writeln!(text, "branch: {}", git_impact.branch.as_deref().unwrap_or("(detached)"));
    let _ = writeln!(text, "back to: {}", git_impact.base.as_deref().unwrap_or("(not recorded)"));
    for commit in &report.commits {
        let at = commit.at.map_or_else(String::new, |at| at.to_string());
        let _ = writeln!(text, "{} {at} {}", commit.sha, clean_line(&commit.subject, 200));
    }
    text
}

fn info(
    context: &RollbackContext<'_>,
    change: &Change,
    folder: &RelPath,
    (listed, digest): (&str, &str),
    report: &RollbackReport,
) -> String {
    let run = context.run.id.as_str();
    let mut text = format!("# Backup before a rollback\n\n- Run: {}\n- At: {}\n", clean_line(run, 200), change.at);
    text.push_str(&change_lines(change));
    let _ = writeln!(text, "- Digest of the list below: {digest}");
    let (history, restore) = (Suggested::of(Verb::History, run), Suggested::of(Verb::Restore, run));
    let _ = write!(
        text,
        "\nTo take the rollback back: `{history}`, then `{}` with the one before \
         `rollback`.\nTo compare the copy: `cd {}`, then `sha256sum --check` with this list:\n\n```\n{listed}```\n",
        restore.option("to", "CHECKPOINT"),
        engine::quoted(folder.as_str())
    );
    if !report.left_out.is_empty() {
        text.push_str("\nNot copied, because they are links, gone, or more than a backup holds:\n\n");
        for path in &report.left_out {
            let _ = writeln!(text, "- {}", clean_line(path.as_str(), 300));
        }
    }
    text.push_str("\nThe plugin keeps backups for 30 days. Piton deletes none.\n");
    text
}

/// Describes the rollback, one line per fact.
fn change_lines(change: &Change) -> String {
    let ChangeKind::RollBack(back) = &change.kind else { return String::new() };
    let from = back.from.as_ref().map_or("(unknown)", StepId::as_str);
    let reopened: Vec<&str> = back.reopened.iter().map(StepId::as_str).collect();
    let mut text = format!("- From: {}\n- To: {}\n", clean_line(from, 200), clean_line(&back.to, 200));
    if let Some(reason) = &back.reason {
        let _ = writeln!(text, "- Reason: {}", clean_line(reason, 500));
    }
    let _ = writeln!(text, "- Open again: {}", clean_line(&reopened.join(", "), 2_000));
    text
}

/// Appends the rollback to the log for people.
pub(super) fn log(
    context: &RollbackContext<'_>,
    locked: &LockedRun<'_>,
    change: &Change,
    report: &RollbackReport,
) -> Option<Finding> {
    let ChangeKind::RollBack(back) = &change.kind else { return None };
    let mut block = format!("## {}\n\n{}", change.at, change_lines(change));
    if let Some(backup) = &report.backup {
        let _ = writeln!(block, "- Backup: {backup}");
    }
    if let Some(undo) = &report.undo {
        let _ = writeln!(block, "- To take it back: `{undo}`");
    }
    locked.append_rollback_log(&rollback_backup(context, back)?.log, &block)
}
