//! `list`: every run of the project, newest first.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit, OpError, archived,
    client_sessions::SessionFilter,
    entries::{Committed, Dating, REVIEWS_SHOWN, RunEntry, entries, entry, searched},
    project_context::ProjectContext,
    report::{Body, Lifecycle, ListedRun, Report, Stage},
    select,
    start::ways_to_start,
    unread,
};
use crate::{
    model::{Finding, FindingCode, Progress, RunId, Status, StepId, Suggested, Verb, Verdict, first_names, plural},
    store::Scope,
};

/// Number of plans without any work that a finding names.
const NOT_BEGUN_NAMED: usize = 5;

/// A list of runs (`list/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// Newest first.
    pub(crate) runs: Vec<ListedRun>,
    /// Number of finished runs that were left out; `--all` shows them.
    pub(crate) hidden: usize,
    /// Number of stories that only wait for their review and were left out because they are many; `--all` shows them.
    pub(crate) in_review: usize,
    /// Where was looked and what starts a run, where none is listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
    /// How many sessions of the client a text shows; it counts the others.
    #[serde(skip)]
    pub(crate) sessions_shown: usize,
}

/// Sessions of the client that a text shows without `--all`.
const SESSIONS_SHOWN: usize = 5;

impl Body for ListReport {
    const SCHEMA: &'static str = "list/1";
}

/// Lists the runs of a project.
pub(crate) fn list(ctx: &ProjectContext, all: bool) -> Result<Report<ListReport>, OpError> {
    let (mut locations, mut findings) = ctx.locations();
    locations.extend(ctx.client_locations(if all { SessionFilter::All } else { SessionFilter::Offered }));
    let entries = entries(ctx, &mut locations, Dating::Commits)?;
    findings.extend(locations.iter().flat_map(|location| location.candidate.findings.iter().cloned()));
    let is_left_out = |entry: &&RunEntry| !entry.shown && !entry.is_not_begun && !entry.location.is_of_client();
    let hidden = entries.iter().filter(is_left_out).count();
    if !all {
        findings.extend(not_begun(&entries));
        findings.extend(not_archived(&entries));
    }
    let in_review = entries.iter().filter(|entry| entry.is_in_review).count();
    let is_folded = !all && in_review > REVIEWS_SHOWN;
    let is_listed = |entry: &RunEntry| all || (entry.shown && !(is_folded && entry.is_in_review));
    let mut runs: Vec<ListedRun> = entries.into_iter().filter(is_listed).map(|entry| entry.row).collect();
    let in_review = if is_folded { in_review } else { 0 };
    if all {
        add_ended(ctx, &mut runs)?;
        add_archived(ctx, &mut runs);
    }
    let (mut exit, mut hints) = (Exit::Ok, Vec::new());
    if runs.is_empty() && in_review == 0 {
        let none = OpError::NoRun { searched: searched(ctx, hidden), findings };
        // What was passed over may be a run.
        if !none.found_no_run() || !unread::unnamed(none.findings()).is_empty() {
            return Err(none);
        }
        (exit, hints) = (none.exit(), none.hints().into_iter().map(String::from).collect());
        hints.extend(ways_to_start(ctx));
        findings = none.findings().to_vec();
    }
    let hidden = if all { 0 } else { hidden };
    let sessions_shown = if all { usize::MAX } else { SESSIONS_SHOWN };
    Ok(Report { exit, body: ListReport { runs, hidden, in_review, hints, sessions_shown }, findings })
}

/// Returns how many plans of each other system are not listed because no work was begun on them.
fn not_begun(entries: &[RunEntry]) -> impl Iterator<Item = Finding> {
    let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.is_not_begun) {
        ids.entry(&entry.row.workflow).or_default().push(entry.row.id.as_str());
    }
    ids.into_iter().map(|(workflow, ids)| {
        let named = first_names(&ids, NOT_BEGUN_NAMED);
        let message = format!("{} of {workflow} not begun: {named}", plural(ids.len(), "plan"));
        Finding::new(FindingCode::NotBegun, message).fix(Suggested::of(Verb::Plan, ids[0]))
    })
}

/// Names the finished plans that their own system is still to archive.
fn not_archived(entries: &[RunEntry]) -> Option<Finding> {
    let ids: Vec<&str> =
        entries.iter().filter(|entry| entry.is_unarchived).map(|entry| entry.row.id.as_str()).collect();
    let first = ids.first()?;
    let named = first_names(&ids, NOT_BEGUN_NAMED);
    let message = format!("{} finished and not archived: {named}", plural(ids.len(), "plan"));
    Some(Finding::new(FindingCode::NotArchived, message).fix(Suggested::of(Verb::Plan, first)))
}

/// Adds the runs that their own systems count as over.
fn add_ended(ctx: &ProjectContext, runs: &mut Vec<ListedRun>) -> Result<(), OpError> {
    for location in ctx.ended_runs().ended {
        let opened = ctx.read(&location)?;
        let mut row = entry(ctx, &location, &opened, Committed::Unknown).row;
        if row.lifecycle.stage == Stage::Open {
            // Its system says so, also with open steps.
            row.lifecycle.stage = Stage::Finished;
        }
        row.is_cut_off = false;
        row.number = runs.len() + 1;
        runs.push(row);
    }
    Ok(())
}

fn add_archived(ctx: &ProjectContext, runs: &mut Vec<ListedRun>) {
    for archived in archived::find(ctx) {
        runs.push(ListedRun {
            number: runs.len() + 1,
            id: RunId::new(&archived.name),
            dialect: archived.dialect,
            title: archived.name.clone(),
            workflow: archived.dialect.to_string(),
            position: "archived".to_owned(),
            headline: "This run is archived.".to_owned(),
            verdict: Verdict::Nothing,
            lifecycle: Lifecycle { stage: Stage::Archived, reason: None },
            cause: None,
            age_seconds: Some(ctx.clock.now.seconds_since(archived.at)),
            age_band: None,
            progress: Progress::default(),
            state: archived::shown(ctx, &archived.folder),
            path: archived.folder.into_string(),
            native_row: None,
            is_cut_off: false,
            is_driven: false,
            is_guest: false,
        });
    }
}

/// A summary of one run, computed without starting a process.
#[derive(Debug)]
pub(crate) struct RunSummary {
    pub(crate) row: ListedRun,
    /// The steps in progress, according to the state.
    pub(crate) in_progress: Vec<StepId>,
}

/// Summarizes the requested run.
pub(crate) fn summary(ctx: &ProjectContext) -> Result<RunSummary, OpError> {
    let location = select::location(ctx)?;
    let opened = ctx.read(&location)?;
    let steps = opened.loaded.run.iter().flat_map(|run| &run.steps);
    let in_progress = steps.filter(|step| step.status == Status::InProgress).map(|step| step.id.clone()).collect();
    Ok(RunSummary { row: entry(ctx, &location, &opened, Committed::Unknown).row, in_progress })
}

/// Returns the runs that can be resumed, newest first, and the number of all runs, from a quick scan of the project.
pub(crate) fn waiting(ctx: &ProjectContext) -> Result<(Vec<ListedRun>, usize), OpError> {
    let (mut locations, _) = ctx.locations_in(Scope::Quick);
    let is_own = |entry: &RunEntry| !entry.location.candidate.claim.is_implied() && !entry.row.is_guest;
    let waits = |entry: &RunEntry| entry.shown && !entry.row.is_driven && is_own(entry);
    let entries = entries(ctx, &mut locations, Dating::Files)?;
    Ok((entries.into_iter().filter(waits).map(|entry| entry.row).collect(), locations.len()))
}
