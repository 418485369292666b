//! Rolls a run back as the plugin does (docs/formats/nine-step.md#rollback): the position, the list of completed steps, and where
//! the run continues.

use serde_json::{Map, Value, json};

use super::NineStepWriter;
use crate::{
    dialect::{EditError, RollbackBackup, nine_step::rules::StepPosition},
    document::Node,
    model::{FileSet, RelPath, RollBack, Run, StepId, StepKind, Timestamp, quoted},
};

impl NineStepWriter<'_> {
    /// Reopens a step and all later ones.
    pub(super) fn reopen_from(&mut self, back: &RollBack) -> Result<(), EditError> {
        let Some(first) = back.reopened.first() else { return Ok(()) };
        let first = super::position(first)?;
        let keeps = back.keeps.as_ref().map(super::position).transpose()?;
        self.import()?;
        self.clear_run_status()?;
        for list in ["completed_steps", "skipped_steps"] {
            self.drop_entries(list, first)?;
        }
        // The plugin writes this note after overwriting the phase, and so names the wrong one
        // (docs/formats/nine-step.md#rollback).
        let from = back.from.as_ref().and_then(|step| StepPosition::parse(step.as_str())).unwrap_or(first);
        let note = format!("Rolled back from Phase {}", from.phase);
        let last = self.last_execution(keeps, first, &note);
        self.replace_last(keeps.unwrap_or(first), &last)?;
        let reason = match keeps {
            Some(position) => format!("Continue from Phase {} after rollback", position.phase),
            None => "Begin again after rollback".to_owned(),
        };
        let plan = json!({
            "next_phase": first.phase,
            "next_step": first.step.to_value(),
            "next_agent": self.usual_agent(first),
            "reason": reason,
        });
        self.set("/resume_plan", &plan)?;
        let mut entry = self.entry(first, None, "rolled_back");
        entry.insert("from".to_owned(), json!(back.from.as_ref().map(StepId::as_str)));
        if let Some(reason) = &back.reason {
            entry.insert("reason".to_owned(), json!(reason));
        }
        self.push("/history", Value::Object(entry))
    }

    /// Returns `last_execution` for a run that has just completed `keeps`, or has not begun.
    fn last_execution(&self, keeps: Option<StepPosition>, first: StepPosition, note: &str) -> Map<String, Value> {
        let mut last = match keeps {
            Some(position) => self.entry(position, self.usual_agent(position), "completed"),
            None => self.entry(first, self.usual_agent(first), "pending"),
        };
        let record = keeps.and_then(|position| self.ledger.get(position));
        let is_review = keeps.is_some_and(|position| position.step.kind() == StepKind::Review);
        if let Some(verdict) = record.and_then(|record| record.verdict).filter(|_| is_review) {
            last.insert("verdict".to_owned(), json!(verdict));
            // The run had continued past the review, so its conditions were met.
            last.insert("conditions".to_owned(), json!([]));
        }
        if let Some(commit) = record.and_then(|record| record.commit.clone()) {
            last.insert("commit_sha".to_owned(), json!(commit));
        }
        last.insert("note".to_owned(), json!(note));
        last
    }

    /// Removes the entries of a list for a step and all later ones.
    fn drop_entries(&mut self, list: &str, first: StepPosition) -> Result<(), EditError> {
        let items = self.value.get(list).map(Node::items).unwrap_or_default().iter().enumerate();
        let is_gone = |entry: &Node| super::position_of(entry).is_some_and(|position| position >= first);
        let gone: Vec<usize> = items.filter(|(_, entry)| is_gone(entry)).map(|(at, _)| at).collect();
        self.file.remove_elements(&format!("/{list}"), &gone)
    }
}

/// Returns where the plugin keeps the backups of a feature: one folder per rollback, named after the phase it started from
/// (docs/formats/nine-step.md#project-layout).
pub(in crate::dialect::nine_step) fn rollback_backup(
    files: &FileSet,
    run: &Run,
    back: &RollBack,
    at: Timestamp,
) -> Option<RollbackBackup> {
    let all = RelPath::parse(&files.config.nine_step.backup_dir).ok()?;
    let feature = run.id.as_str();
    let is_name = !feature.contains(['/', '\\']) && !feature.starts_with('.');
    let folder = all.join(feature).ok().filter(|_| is_name)?;
    let from =
        back.from.as_ref().and_then(|step| StepPosition::parse(step.as_str())).map_or(1, |position| position.phase);
    let stamp = at.compact().replace('T', "_");
    let name = format!("phase{from}_{}", stamp.trim_end_matches('Z'));
    Some(RollbackBackup { folder: folder.join(&name).ok()?, log: folder.join("ROLLBACK_LOG.md").ok()? })
}

/// Returns the commands that the plugin runs in the issue tracker: label and comment for each issue
/// (docs/formats/nine-step.md#rollback).
pub(in crate::dialect::nine_step) fn tracker(issues: &[String], back: &RollBack) -> Vec<String> {
    let to =
        back.keeps.as_ref().and_then(|step| StepPosition::parse(step.as_str())).map_or(0, |position| position.phase);
    let reason = back.reason.as_deref().unwrap_or("a rollback");
    let comment = quoted(&format!("⏪ Rolled back to Phase {to} due to: {reason}"));
    let number = |issue: &String| issue.trim().trim_start_matches('#').parse::<u64>().ok();
    let commands = issues.iter().filter_map(number).flat_map(|issue| {
        [
            format!("gh issue edit {issue} --remove-label status:testing --add-label status:in-progress"),
            format!("gh issue comment {issue} --body {comment}"),
        ]
    });
    commands.collect()
}
