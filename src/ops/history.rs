//! `history`: the checkpoints that can be restored, who replaced them, and what that changed.

use std::borrow::Borrow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError, archived, journal,
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Body, Report},
    run_history::RunHistory,
    run_location::RunLocation,
    select::{self, Selected},
    versions::{self, Version},
};
use crate::{
    dialect::{PastCheckpoint, StateHome, by_id},
    engine,
    model::{Decision, Entry, RelPath, Run, RunId, Step, StepId, StepReport, Timestamp},
    store::history::HistoryEntry,
};

/// Earlier checkpoints (`history/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryReport {
    pub(crate) run: RunId,
    /// Newest first.
    pub(crate) checkpoints: Vec<HistoryItem>,
}

/// An earlier checkpoint: the state before a change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryItem {
    pub(crate) id: String,
    pub(crate) at: Option<Timestamp>,
    /// The change that replaced it.
    pub(crate) replaced_by: String,
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
    /// Whether another program changed the kept files: it cannot be restored. Left out if not.
    #[serde(rename = "damaged", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_damaged: bool,
    pub(crate) files: Vec<RelPath>,
    pub(crate) bytes: u64,
}

impl Body for HistoryReport {
    const SCHEMA: &'static str = "history/1";
}

/// Lists the earlier checkpoints of a run, newest first. `with_changes`: with what each change did to the steps.
pub(crate) fn history(ctx: &ProjectContext, with_changes: bool) -> Result<Report<HistoryReport>, OpError> {
    let location = match select::selected(ctx)? {
        Selected::There(location) => location,
        Selected::Archived(run) => archived::location(ctx, &run),
    };
    let mut checkpoints = match journal_items(&location, || ctx.read(&location))? {
        Some(checkpoints) => checkpoints,
        None => kept_items(ctx, &location)?,
    };
    if with_changes {
        add_changes(ctx, &location, &mut checkpoints)?;
    }
    Ok(Report::ok(HistoryReport { run: RunId::new(&location.candidate.name), checkpoints }))
}

/// Lists the earlier checkpoints of a run that was read, newest first, without what each change did.
pub(super) fn checkpoints(
    ctx: &ProjectContext,
    location: &RunLocation,
    opened: &OpenedRun,
) -> Result<Vec<HistoryItem>, OpError> {
    match journal_items(location, || Ok(opened))? {
        Some(items) => Ok(items),
        None => kept_items(ctx, location),
    }
}

/// Lists the checkpoints in Piton's history of the run.
fn kept_items(ctx: &ProjectContext, location: &RunLocation) -> Result<Vec<HistoryItem>, OpError> {
    let entries = RunHistory::of(&location.root, &location.candidate, &ctx.project.config).entries()?;
    let logged = journal::entries_of(&ctx.project, &location.candidate);
    Ok(entries.into_iter().map(|entry| item(entry, &logged)).collect())
}

fn item(entry: HistoryEntry, logged: &[Entry]) -> HistoryItem {
    // The name of an entry has whole seconds.
    let is_it = |line: &&Entry| {
        line.change == entry.change && line.step == entry.step && line.at.compact() == entry.at.compact()
    };
    HistoryItem {
        session: logged.iter().rev().find(is_it).and_then(|line| line.session.clone()),
        id: entry.id,
        at: Some(entry.at),
        replaced_by: entry.change,
        step: entry.step.map(|step| step.as_str().to_owned()),
        what: None,
        agent: None,
        changes: None,
        report: None,
        decision: None,
        is_damaged: !entry.is_intact,
        bytes: entry.files.iter().map(|file| file.bytes).sum(),
        files: entry.files.into_iter().map(|file| file.path).collect(),
    }
}

/// Of how many checkpoints of a journal the changes are told, the newest: each one reads the journal anew.
const CHANGES_SHOWN: usize = 200;

/// Compares each state with the one that came after it.
fn add_changes(ctx: &ProjectContext, location: &RunLocation, checkpoints: &mut [HistoryItem]) -> Result<(), OpError> {
    let opened = select::select(ctx)?;
    let is_journal = opened.dialect.state_home() == StateHome::Home;
    let past = RunHistory::of(&location.root, &location.candidate, &ctx.project.config);
    let mut after = opened.loaded.run.clone();
    let said = after.as_ref().map(|run| engine::said(run, &opened.statements(run)));
    let (reports, decisions) = said.unwrap_or_default();
    for (at, checkpoint) in checkpoints.iter_mut().enumerate() {
        let is_then = |at: Timestamp, step: Option<&StepId>| {
            // The name of a checkpoint has whole seconds.
            checkpoint.at.is_some_and(|then| then.compact() == at.compact())
                && step.is_none_or(|step| checkpoint.step.as_deref() == Some(step.as_str()))
        };
        let decided = |decision: &&Decision| checkpoint.replaced_by == decision.decision.as_str();
        let decided = |decision: &&Decision| decided(decision) && is_then(decision.at, decision.step.as_ref());
        checkpoint.decision = decisions.iter().find(decided).cloned();
        if checkpoint.replaced_by == "finish" {
            checkpoint.report = reports.iter().find(|report| is_then(report.at, Some(&report.step))).cloned();
        }
        let before = if is_journal && at >= CHANGES_SHOWN {
            None
        } else if is_journal {
            versions::in_journal(&opened, &checkpoint.id).ok().and_then(|(_, opened)| opened.loaded.run)
        } else {
            let version = past.read(&checkpoint.id).ok().map(|files| Version { name: checkpoint.id.clone(), files });
            version.and_then(|version| versions::with_files(&opened, &version).loaded.run)
        };
        if let (Some(before), Some(after)) = (&before, &after) {
            checkpoint.changes = Some(differences(before, after));
        }
        let step = checkpoint.step.as_deref().and_then(|step| after.as_ref()?.resolve(step));
        checkpoint.agent = step.and_then(|step| step.agent.clone());
        after = before;
    }
    Ok(())
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

/// Lists the checkpoints of a run whose state is a journal.
fn journal_items<O: Borrow<OpenedRun>>(
    location: &RunLocation,
    open: impl FnOnce() -> Result<O, OpError>,
) -> Result<Option<Vec<HistoryItem>>, OpError> {
    if by_id(location.candidate.dialect).state_home() != StateHome::Home {
        return Ok(None);
    }
    let opened = open()?;
    let opened: &OpenedRun = opened.borrow();
    let past = opened.dialect.journal().journal_checkpoints(&opened.files);
    let items = past.map(|past| {
        let item = |one: PastCheckpoint| HistoryItem {
            id: one.id,
            at: one.at,
            replaced_by: one.change,
            step: one.step.map(|step| step.as_str().to_owned()),
            what: Some(one.what),
            session: None,
            agent: None,
            changes: None,
            report: None,
            decision: None,
            is_damaged: false,
            bytes: opened.files.bytes(&one.file).map_or(0, |bytes| bytes.len() as u64),
            files: vec![one.file],
        };
        past.into_iter().rev().map(item).collect()
    });
    Ok(items)
}
