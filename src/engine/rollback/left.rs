//! The commits of the steps that a rollback gave up: whether the branch still has them. The rollback prints the git commands, and only a person
//! runs them.

use std::collections::BTreeSet;

use super::method::{reverts, short};
use crate::model::{
    CommitFact, Evidence, Finding, FindingCode, GivenUpCommit, RollBackRecord, Run, Severity, Statement, StatementKind,
    Suggested, plural, quoted,
};

/// Number of commits that are named.
const NAMED: usize = 3;

/// Returns the rollbacks of a run whose commits may still be on the branch, newest first: not all of their steps are done again.
pub(crate) fn given_up<'a>(run: &'a Run, rollbacks: &'a [RollBackRecord]) -> impl Iterator<Item = &'a RollBackRecord> {
    let of_run = rollbacks.iter().rev().filter(|back| back.run == run.id.as_str() && !back.commits.is_empty());
    let is_open = |back: &&RollBackRecord| {
        run.steps.iter().any(|step| back.reopened.contains(&step.id) && !step.status.is_over())
    };
    of_run.filter(is_open)
}

/// Reports the commits of steps given up that are in the history of the branch, with the command that reverts them.
pub(in crate::engine) fn commits_left(run: &Run, evidence: &Evidence) -> Option<Finding> {
    let left = left(run, evidence);
    let last =
        given_up(run, &evidence.rollbacks).find(|back| left.iter().any(|commit| back.commits.contains(commit)))?;
    let folder = quoted(run.workspace.place().unwrap_or("."));
    let commands = reverts(&left).into_iter().map(|revert| format!("git -C {folder} revert --no-edit {revert}"));
    let message =
        format!("the branch still has {} of the steps given up by the rollback to {}", in_words(&left), last.to);
    let commands = Suggested::Other(commands.collect::<Vec<_>>().join(" && "));
    let finding = Finding::new(FindingCode::CommitsLeft, message).fix(commands);
    // Who began a step since was told in its brief.
    let is_known = evidence.statements.iter().any(|statement| has_begun_since(statement, last));
    Some(Finding { severity: if is_known { Severity::Info } else { finding.severity }, ..finding })
}

/// Returns what is said of these commits in a brief; empty if there are none.
pub(in crate::engine) fn left_in_words(findings: &[Finding]) -> String {
    let left = findings.iter().find(|finding| finding.code == FindingCode::CommitsLeft);
    left.map_or_else(String::new, |left| format!("; {}", left.message))
}

/// Returns the commits that are still on the branch, newest first.
fn left(run: &Run, evidence: &Evidence) -> Vec<GivenUpCommit> {
    let is_left = |commit: &&GivenUpCommit| evidence.commits.get(&commit.sha) == Some(&CommitFact::Reachable);
    let mut seen = BTreeSet::new();
    let commits = given_up(run, &evidence.rollbacks).flat_map(|back| &back.commits).filter(is_left);
    commits.filter(|commit| seen.insert(&commit.sha)).cloned().collect()
}

fn has_begun_since(statement: &Statement, back: &RollBackRecord) -> bool {
    match &statement.kind {
        StatementKind::Begun(attempt) => attempt.at > back.at && back.reopened.contains(&attempt.step),
        StatementKind::Report(_) | StatementKind::Decision(_) => false,
    }
}

fn in_words(commits: &[GivenUpCommit]) -> String {
    let names: Vec<String> = commits.iter().take(NAMED).map(|commit| short(&commit.sha)).collect();
    let more = if commits.len() > NAMED { ", ..." } else { "" };
    format!("{} ({}{more})", plural(commits.len(), "commit"), names.join(", "))
}

#[cfg(test)]
#[path = "left_tests.rs"]
mod tests;
