//! `list`: every run of the project, newest first.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::Exit;
use super::OpError;
use super::archived;
use super::lifecycle::Lifecycle;
use super::lifecycle::Stage;
use super::project_context::OpenedRun;
use super::project_context::ProjectContext;
use super::project_context::RunLocation;
use super::report::Body;
use super::report::ListReport;
use super::report::ListedRun;
use super::report::Report;
use super::select;
use crate::engine;
use crate::model::Evidence;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Next;
use crate::model::Options;
use crate::model::Progress;
use crate::model::Run;
use crate::model::RunId;
use crate::model::Status;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::Timestamp;
use crate::model::Verdict;
use crate::model::natural;
use crate::store;
use crate::store::Scope;

/// Stories without a saved state are listed one by one up to this number. Projects have dozens that were never moved out of review.
pub(super) const REVIEWS_SHOWN: usize = 5;

/// A row of the list with the location of its run.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) location: RunLocation,
    pub(crate) row: ListedRun,
    /// False for a finished, aborted or archived run.
    pub(crate) shown: bool,
    /// No state was saved, and a review is all that is left.
    pub(crate) is_in_review: bool,
    /// Another living process drives it.
    pub(crate) is_driven: bool,
    /// The names of its working folder and its branches, which are accepted as RUN.
    pub(crate) aliases: Vec<String>,
}

/// Lists the runs of a project.
pub(crate) fn list(ctx: &ProjectContext, all: bool) -> Result<Report, OpError> {
    let (mut locations, mut findings) = ctx.locations();
    archived::mark_left_over(ctx, &mut locations);
    findings.extend(locations.iter().flat_map(|location| location.candidate.findings.iter().cloned()));
    let entries = entries(ctx, &locations, Dating::Commits)?;
    let hidden = entries.iter().filter(|entry| !entry.shown).count();
    let in_review = entries.iter().filter(|entry| entry.is_in_review).count();
    let is_folded = !all && in_review > REVIEWS_SHOWN;
    let is_listed = |entry: &Entry| all || (entry.shown && !(is_folded && entry.is_in_review));
    let mut runs: Vec<ListedRun> = entries.into_iter().filter(is_listed).map(|entry| entry.row).collect();
    let in_review = if is_folded { in_review } else { 0 };
    if all {
        add_ended(ctx, &mut runs)?;
        add_archived(ctx, &mut runs);
    }
    if runs.is_empty() && in_review == 0 {
        return Err(OpError::NoRun { searched: searched(ctx, hidden), findings });
    }
    let hidden = if all { 0 } else { hidden };
    Ok(Report { exit: Exit::Ok, body: Body::List(ListReport { runs, hidden, in_review }), findings })
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
        let is_here = archived.root == ctx.project.root;
        let path = archived.folder.under(&archived.root).into_string();
        runs.push(ListedRun {
            number: runs.len() + 1,
            id: RunId::new(&archived.name),
            dialect: archived.dialect,
            title: archived.name.clone(),
            workflow: archived.dialect.to_string(),
            position: "archived".to_owned(),
            verdict: Verdict::Nothing,
            lifecycle: Lifecycle { stage: Stage::Archived, reason: None },
            cause: None,
            age_seconds: Some(ctx.clock.now.seconds_since(archived.at)),
            age_band: None,
            progress: Progress::default(),
            state: if is_here { archived.folder.as_str().to_owned() } else { path.clone() },
            path,
            native_row: None,
            is_cut_off: false,
        });
    }
}

/// Returns the number of runs that are listed before those that are over.
pub(super) fn open_count(ctx: &ProjectContext) -> usize {
    ctx.locations().0.len()
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
    let (locations, _) = ctx.locations_in(Scope::Quick);
    let waits = |entry: &Entry| entry.shown && !entry.is_driven && !entry.location.candidate.claim.is_implied();
    let entries = entries(ctx, &locations, Dating::Files)?;
    Ok((entries.into_iter().filter(waits).map(|entry| entry.row).collect(), locations.len()))
}

/// Describes the searched folder and the number of finished runs in it.
pub(crate) fn searched(ctx: &ProjectContext, hidden: usize) -> String {
    let root = &ctx.project.root;
    match hidden {
        0 => root.as_str().to_owned(),
        1 => format!("{root} (1 finished run left out: `piton list --all`)"),
        _ => format!("{root} ({hidden} finished runs left out: `piton list --all`)"),
    }
}

/// How the age of a run is found whose state has no time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dating {
    /// One call of git for all of them.
    Commits,
    /// Without starting a process. In a repository that leaves the age unknown: a file's time is that of the checkout.
    Files,
}

/// The time of the last commit of a state.
#[derive(Clone, Copy, Debug)]
enum Committed {
    At(Timestamp),
    Never,
    /// git was not asked, or not done in time.
    Unknown,
}

/// Loads and plans every run, newest first, finished ones last. The number of a run is the same with and without `--all`.
pub(crate) fn entries(ctx: &ProjectContext, locations: &[RunLocation], dating: Dating) -> Result<Vec<Entry>, OpError> {
    let mut entries = Vec::new();
    let mut undated: BTreeMap<&Utf8Path, Vec<usize>> = BTreeMap::new();
    let mut locations = locations.to_vec();
    archived::mark_left_over(ctx, &mut locations);
    for (at, location) in locations.iter().enumerate() {
        let opened = ctx.read(location)?;
        entries.push(entry(ctx, location, &opened, Committed::Unknown));
        if dating == Dating::Commits && is_undated(ctx, &opened) {
            undated.entry(&location.root).or_default().push(at);
        }
    }
    for (root, undated) in undated {
        let paths: Vec<&str> = undated.iter().map(|at| locations[*at].candidate.state.as_str()).collect();
        let times = store::git::commit_times(root, &paths);
        for (at, path) in undated.into_iter().zip(paths) {
            let committed = match times.by_path.get(path) {
                Some(time) => Committed::At(*time),
                None if times.is_complete => Committed::Never,
                None => continue,
            };
            entries[at] = entry(ctx, &locations[at], &ctx.read(&locations[at])?, committed);
        }
    }
    entries.sort_by(|a, b| {
        let age = |entry: &Entry| entry.row.age_seconds.unwrap_or(i64::MAX);
        let by_age = b.shown.cmp(&a.shown).then(a.is_in_review.cmp(&b.is_in_review)).then(age(a).cmp(&age(b)));
        by_age.then_with(|| natural(&a.row.state, &b.row.state)).then_with(|| a.row.state.cmp(&b.row.state))
    });
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.row.number = at + 1;
    }
    Ok(entries)
}

/// Tells whether git knows better than the state and its files when a run went on last.
fn is_undated(ctx: &ProjectContext, opened: &OpenedRun) -> bool {
    ctx.project.git.is_some() && opened.loaded.run.as_ref().is_some_and(|run| run.stamp.is_none())
}

/// Returns the row of a run before its steps are looked at.
fn unplanned(ctx: &ProjectContext, location: &RunLocation, opened: &OpenedRun) -> ListedRun {
    let state = match location.root == ctx.project.root {
        true => location.candidate.state.as_str().to_owned(),
        false => location.path(),
    };
    // A state that is gone has no path that a command finds.
    let is_missing = opened.loaded.findings.iter().any(|finding| finding.code == FindingCode::StateMissing);
    let path = if is_missing { location.candidate.name.clone() } else { location.path() };
    ListedRun {
        number: 0,
        id: RunId::new(&location.candidate.name),
        dialect: location.candidate.dialect,
        title: location.candidate.name.clone(),
        workflow: location.candidate.dialect.to_string(),
        position: String::new(),
        verdict: Verdict::Blocked,
        lifecycle: Lifecycle::open(),
        cause: None,
        age_seconds: None,
        age_band: None,
        progress: Progress::default(),
        state,
        path,
        native_row: None,
        is_cut_off: true,
    }
}

fn entry(ctx: &ProjectContext, location: &RunLocation, opened: &OpenedRun, committed: Committed) -> Entry {
    let mut row = unplanned(ctx, location, opened);
    let Some(run) = &opened.loaded.run else {
        row.position = unreadable(&opened.loaded.findings);
        return Entry {
            location: location.clone(),
            row,
            shown: true,
            is_in_review: false,
            is_driven: false,
            aliases: Vec::new(),
        };
    };
    // Where `plan` stops at the wrong branch or misses a document, so does the list. These are files: git is not started.
    let mut evidence = ctx.workspace_evidence(opened);
    let root = opened.files.main_root.as_ref().unwrap_or(&opened.files.root);
    store::inspect_files(root, &opened.loaded.wanted.documents, &mut evidence);
    let mut is_unknown = false;
    if is_undated(ctx, opened) {
        match committed {
            Committed::At(time) => evidence.committed_at = Some(time),
            Committed::Never => {}
            Committed::Unknown => {
                evidence.modified_at = None;
                is_unknown = true;
            }
        }
    }
    let config = &ctx.project.config;
    let options = Options {
        mode: ctx.mode_of(run),
        attempt_limit: config.limits.attempts,
        age: config.age.clone(),
        ..Options::at(ctx.clock.now)
    };
    // No row shows a revision, a digest of every state file.
    let header = opened.header(run, String::new());
    let planned = engine::plan(run, header, &evidence, opened.loaded.findings.clone(), &options);
    row.lifecycle = Lifecycle::of(opened, run, &planned.plan);
    row.is_cut_off = row.lifecycle.stage == Stage::Open && planned.plan.is_cut_off();
    row.id = run.id.clone();
    row.title.clone_from(&run.title);
    row.workflow.clone_from(&run.workflow);
    row.position =
        planned.plan.next.first().map_or_else(|| "nothing left".to_owned(), |next| position(run.group_of(next), next));
    if let Some(position) = opened.dialect.position(run, &planned.plan) {
        row.position = position;
    }
    if planned.plan.verdict == Verdict::Nothing {
        row.position = "nothing to do".to_owned();
    } else if planned.plan.next.is_empty() && row.lifecycle.stage != Stage::Finished {
        row.position = planned.findings.first().map_or_else(|| "blocked".to_owned(), |finding| finding.message.clone());
    }
    row.native_row = opened.dialect.list_row(run, &planned.plan);
    row.verdict = match planned.plan.verdict {
        // The plan asks git, and may find that a person should look first.
        Verdict::Resume if is_unknown => Verdict::Confirm,
        verdict => verdict,
    };
    row.cause = planned.plan.interruption.and_then(|interruption| interruption.cause);
    row.age_seconds = planned.plan.age.seconds;
    row.age_band = planned.plan.age.band;
    row.progress = planned.plan.progress;
    let shown = !row.lifecycle.stage.is_over();
    let aliases = aliases(ctx, location, run, &evidence);
    let next = planned.plan.next.first().and_then(|next| run.steps.iter().find(|step| step.id == next.step));
    let is_in_review = shown
        && location.candidate.claim.is_implied()
        && next.is_some_and(|step| step.kind == StepKind::Review && step.status == Status::Pending);
    Entry { location: location.clone(), row, shown, is_in_review, is_driven: planned.live_owner, aliases }
}

/// Returns the names of the run's working folder, of its branch, and of the branch that is checked out there.
fn aliases(ctx: &ProjectContext, location: &RunLocation, run: &Run, evidence: &Evidence) -> Vec<String> {
    let outside = (location.root != ctx.project.root).then(|| location.root.file_name()).flatten();
    let folder = run.workspace.place().map(|place| place.rsplit('/').next().unwrap_or(place)).or(outside);
    let has_own_folder = folder.is_some();
    let checked_out = evidence.workspace.as_ref().filter(|_| has_own_folder).and_then(|found| found.branch.as_deref());
    let names = folder.into_iter().chain(run.workspace.branch.as_deref()).chain(checked_out);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.dedup();
    names
}

fn position(group: Option<&str>, next: &Next) -> String {
    let group = group.map_or_else(String::new, |group| format!("{group}: "));
    format!("{group}{}", next.in_words())
}

fn unreadable(findings: &[Finding]) -> String {
    let worst = findings.iter().min_by_key(|finding| finding.severity);
    worst.map_or_else(|| "unreadable".to_owned(), |finding| format!("unreadable: {}", finding.message))
}
