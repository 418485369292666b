//! A run that goes back, as the plugin's own rollback writes it (docs/formats/nine-step.md#rollback): the position, what is listed
//! as completed, and where it goes on.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Writer;
use crate::dialect::EditError;
use crate::dialect::RollbackBackup;
use crate::dialect::nine_step::raw;
use crate::dialect::nine_step::rules::Place;
use crate::dialect::nine_step::rules::StepNumber;
use crate::model::FileSet;
use crate::model::RelPath;
use crate::model::RollBack;
use crate::model::Run;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::Timestamp;
use crate::model::quoted;

impl Writer<'_> {
    /// Opens a step and everything behind it again.
    pub(super) fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        let Some(first) = back.reopened.first() else { return Ok(()) };
        let first = super::place(first)?;
        let keeps = back.keeps.as_ref().map(super::place).transpose()?;
        self.import()?;
        self.go_on();
        for list in ["completed_steps", "skipped_steps"] {
            self.drop_entries(list, first);
        }
        // The plugin builds this after the phase was overwritten, and names the wrong one (docs/formats/nine-step.md#rollback).
        let from = back.from.as_ref().and_then(|step| Place::parse(step.as_str())).unwrap_or(first);
        let note = format!("Rolled back from Phase {}", from.phase);
        let stand = self.stand(keeps, first, &note);
        self.replace_last(keeps.unwrap_or(first), &stand)?;
        let reason = match keeps {
            Some(place) => format!("Continue from Phase {} after rollback", place.phase),
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

    /// Returns `last_execution` of a run that stands at the end of a step, or before its first one.
    fn stand(&self, keeps: Option<Place>, first: Place, note: &str) -> Map<String, Value> {
        let mut stand = match keeps {
            Some(place) => self.entry(place, self.usual_agent(place), "completed"),
            None => self.entry(first, self.usual_agent(first), "pending"),
        };
        let tally = keeps.and_then(|place| self.ledger.get(place));
        let is_review = keeps.is_some_and(|place| place.step.kind() == StepKind::Review);
        if let Some(verdict) = tally.and_then(|tally| tally.verdict).filter(|_| is_review) {
            stand.insert("verdict".to_owned(), json!(verdict));
            // What was to be done about them was done: the run had gone on.
            stand.insert("conditions".to_owned(), json!([]));
        }
        if let Some(commit) = tally.and_then(|tally| tally.commit.clone()) {
            stand.insert("commit_sha".to_owned(), json!(commit));
        }
        stand.insert("note".to_owned(), json!(note));
        stand
    }

    /// Takes the entries of a list out that are about a step or what comes behind it.
    fn drop_entries(&mut self, list: &str, first: Place) {
        let items = self.value.get(list).and_then(Value::as_array);
        let gone: Vec<usize> = items
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, entry)| place_of(entry).is_some_and(|place| place >= first))
            .map(|(at, _)| at)
            .collect();
        self.document.remove_elements(&format!("/{list}"), &gone);
    }
}

fn place_of(entry: &Value) -> Option<Place> {
    Some(Place::new(raw::phase(entry.get("phase")?)?, StepNumber::read(entry.get("step")?)?))
}

/// Says where the plugin keeps the backups of a feature: one folder for each rollback, named after the phase that it comes from
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
    let from = back.from.as_ref().and_then(|step| Place::parse(step.as_str())).map_or(1, |place| place.phase);
    let stamp = at.compact().replace('T', "_");
    let name = format!("phase{from}_{}", stamp.trim_end_matches('Z'));
    Some(RollbackBackup {
        folder: folder.join(&name).ok()?,
        log: folder.join("ROLLBACK_LOG.md").ok()?,
        unversioned: Some(format!("/{all}/")),
    })
}

/// Returns what the plugin does in the tracker of its issues: the label and the comment of each
/// (docs/formats/nine-step.md#rollback).
pub(in crate::dialect::nine_step) fn tracker(issues: &[String], back: &RollBack) -> Vec<String> {
    let to = back.keeps.as_ref().and_then(|step| Place::parse(step.as_str())).map_or(0, |place| place.phase);
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
