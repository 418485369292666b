//! `history`: the checkpoints that can be restored, who replaced them, and what that changed.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Body, Report},
    select,
    versions::{self, Source, Version},
};
use crate::{
    dialect::PastCheckpoint,
    engine,
    model::{Decision, Entry, RelPath, Run, RunId, Step, StepId, StepReport, Timestamp},
};

/// Earlier checkpoints (`history/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryReport {
    pub(crate) run: RunId,
    /// Newest first.
    pub(crate) checkpoints: Vec<HistoryItem>,
    /// The reports that came when their step had moved, newest first. They changed nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) late: Vec<StepReport>,
}

/// An earlier checkpoint: the state before a change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryItem {
    pub(crate) id: String,
    pub(crate) at: Option<Timestamp>,
    /// The change that replaced it; left out of the state as it was recorded last, which another program replaced or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replaced_by: Option<String>,
    pub(crate) step: Option<String>,
    /// What the record of that change says besides: attempt, result, duration, reason. Left out of a run that does not keep a journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<String>,
    /// The client's session that made that change; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The agent of the step; only with `--changes`, and left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What that change did to the steps; only with `--changes`, and left out if one of the two states cannot be read, and in a
    /// journal for all but the newest 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<String>>,
    /// What was reported with that change; only with `--changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<StepReport>,
    /// What a person decided with that change; only with `--changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<Decision>,
    pub(crate) files: Vec<RelPath>,
}

impl Body for HistoryReport {
    const SCHEMA: &'static str = "history/1";
}

/// Lists the earlier checkpoints of a run, newest first. `with_changes`: with what each change did to the steps.
pub(crate) fn history(ctx: &ProjectContext, with_changes: bool) -> Result<Report<HistoryReport>, OpError> {
    let opened = select::select(ctx)?;
    let mut checkpoints = checkpoints(&opened);
    if with_changes {
        add_changes(&opened, &mut checkpoints);
    }
    let late = opened.loaded.run.as_ref().map(|run| engine::said(run, &[], &opened.late(run)).0);
    let late = late.unwrap_or_default().into_iter().rev().collect();
    Ok(Report::ok(HistoryReport { run: RunId::new(&opened.candidate.name), checkpoints, late }))
}

/// Lists the earlier checkpoints of a run that was read, newest first, without what each change did.
pub(super) fn checkpoints(opened: &OpenedRun) -> Vec<HistoryItem> {
    versions::recorded(opened).map(|version| item(opened, version)).collect()
}

fn item(opened: &OpenedRun, version: Version<'_>) -> HistoryItem {
    let entry = match &version.source {
        Source::Replaced(_, entry) => Some(*entry),
        Source::Checkpoint(past) => opened.journal.entries.iter().find(|entry| is_of(entry, past)),
        Source::Last(_) | Source::Backup(_) | Source::Commit(_) | Source::Evidence(_) => None,
    };
    HistoryItem {
        at: version.at,
        replaced_by: version.replaced_by().map(|(change, _)| change.to_owned()),
        step: version.replaced_by().and_then(|(_, step)| Some(step?.as_str().to_owned())),
        what: if let Source::Checkpoint(past) = &version.source { Some(past.what.clone()) } else { None },
        session: entry.and_then(|entry| entry.session.clone()),
        agent: None,
        changes: None,
        report: None,
        decision: None,
        files: match &version.source {
            Source::Replaced(_, entry) => {
                let replaced = entry.files.iter().filter(|file| file.replaces());
                replaced.map(|file| file.path.clone()).collect()
            }
            Source::Checkpoint(past) => vec![past.file.clone()],
            Source::Last(files) => files.keys().cloned().collect(),
            Source::Backup(_) | Source::Commit(_) | Source::Evidence(_) => vec![opened.files.state.clone()],
        },
        id: version.name,
    }
}

fn is_of(entry: &Entry, past: &PastCheckpoint) -> bool {
    Some(entry.at) == past.at && entry.change == past.change && entry.step == past.step
}

/// Of how many checkpoints the changes are told, the newest: each one is made again from the journal.
const CHANGES_SHOWN: usize = 200;

/// Compares each state with the one that came after it, and adds what was said with each change.
fn add_changes(opened: &OpenedRun, checkpoints: &mut [HistoryItem]) {
    let mut after = opened.loaded.run.clone();
    let said = after.as_ref().map(|run| engine::said(run, &opened.statements(run), &[]));
    let (reports, decisions) = said.unwrap_or_default();
    let mut versions = versions::recorded(opened);
    for (at, checkpoint) in checkpoints.iter_mut().enumerate() {
        let is_then = |at: Timestamp, step: Option<&StepId>| {
            checkpoint.at == Some(at) && step.is_none_or(|step| checkpoint.step.as_deref() == Some(step.as_str()))
        };
        let is_change = |word: &str| checkpoint.replaced_by.as_deref() == Some(word);
        let decided = |decision: &&Decision| is_change(decision.decision.as_str());
        let decided = |decision: &&Decision| decided(decision) && is_then(decision.at, decision.step.as_ref());
        let decision = decisions.iter().find(decided).cloned();
        let report = reports.iter().find(|report| is_change("finish") && is_then(report.at, Some(&report.step)));
        (checkpoint.decision, checkpoint.report) = (decision, report.cloned());
        let version = versions.next().filter(|_| at < CHANGES_SHOWN);
        let restored = version.and_then(|version| versions::restoring(opened, &version).ok());
        let before = restored.and_then(|(_, opened)| opened.loaded.run);
        if let (Some(before), Some(after)) = (&before, &after) {
            checkpoint.changes = Some(differences(before, after));
        }
        let step = checkpoint.step.as_deref().and_then(|step| after.as_ref()?.resolve(step));
        checkpoint.agent = step.and_then(|step| step.agent.clone());
        after = before;
    }
}

/// Describes the changed steps: their status, else the names of other changed fields.
fn differences(before: &Run, after: &Run) -> Vec<String> {
    let mut all = Vec::new();
    for step in &after.steps {
        match before.step(&step.id) {
            None => all.push(format!("{}: new, {}", step.id, step.status)),
            Some(old) if old.status != step.status => {
                all.push(format!("{}: {} → {}", step.id, old.status, step.status))
            }
            Some(old) => {
                let fields = fields(old, step);
                if !fields.is_empty() {
                    all.push(format!("{}: {}", step.id, fields.join(", ")));
                }
            }
        }
    }
    let gone = before.steps.iter().filter(|step| after.step(&step.id).is_none());
    all.extend(gone.map(|step| format!("{}: gone", step.id)));
    if before.status != after.status {
        all.push(format!("the run: {:?} → {:?}", before.status, after.status).to_lowercase());
    }
    all
}

fn fields(before: &Step, after: &Step) -> Vec<&'static str> {
    let (old, new) = (&before.detail, &after.detail);
    [
        ("attempts", before.attempts != after.attempts),
        ("failures", before.failures != after.failures),
        ("verdict", before.review != after.review),
        ("error", before.error != after.error),
        ("commit", before.commit != after.commit),
        ("times", (before.started_at, before.finished_at) != (after.started_at, after.finished_at)),
        ("variables", old.variables != new.variables),
        ("parts", old.parts.iter().map(|part| part.status).ne(new.parts.iter().map(|part| part.status))),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}
