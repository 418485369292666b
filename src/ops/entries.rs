//! The runs of a project as rows, newest first, each planned without git.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    OpError, archived, lost_steps,
    opened_run::OpenedRun,
    project_context::{ProjectContext, add_log},
    report::{Lifecycle, ListedRun},
    run_location::RunLocation,
    view::RunView,
};
use crate::{
    engine,
    model::{
        Action, CommitLog, Evidence, Finding, FindingCode, Next, Options, Progress, RelPath, Run, RunId, Status,
        StepGroups, StepKind, Suggested, Timestamp, Verb, Verdict, natural,
    },
    store,
};

/// Stories without a saved state are listed one by one up to this number. Projects have dozens that were never moved out of review.
pub(super) const REVIEWS_SHOWN: usize = 5;

/// A row of the list with the location of its run.
#[derive(Debug)]
pub(crate) struct RunEntry {
    pub(crate) location: RunLocation,
    pub(crate) row: ListedRun,
    /// False for a finished, aborted or archived run.
    pub(crate) shown: bool,
    /// No state was saved, and a review is all that is left.
    pub(crate) is_in_review: bool,
    /// A plan of another system that no work was begun on.
    pub(crate) is_not_begun: bool,
    /// A finished plan of another system, which is still to be archived there.
    pub(crate) is_unarchived: bool,
    /// The plan that it works from.
    pub(crate) plan_reference: Option<String>,
    /// The files of its steps, of a plan of another system.
    pub(crate) step_files: BTreeSet<RelPath>,
    /// The names of its working folder and its branches, which are accepted as RUN.
    pub(crate) aliases: Vec<String>,
}

impl RunEntry {
    /// Returns the entry of a run of which nothing but its place is known.
    fn unread(location: &RunLocation, row: ListedRun) -> Self {
        Self {
            location: location.clone(),
            row,
            shown: true,
            is_in_review: false,
            is_not_begun: false,
            is_unarchived: false,
            plan_reference: None,
            step_files: BTreeSet::new(),
            aliases: Vec::new(),
        }
    }
}

/// Describes the searched folder and the number of finished runs in it.
pub(crate) fn searched(ctx: &ProjectContext, hidden: usize) -> String {
    let (root, all) = (&ctx.project.root, Suggested::new(Verb::List).flag("all"));
    match hidden {
        0 => root.as_str().to_owned(),
        1 => format!("{root} (1 finished run left out: `{all}`)"),
        _ => format!("{root} ({hidden} finished runs left out: `{all}`)"),
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
#[derive(Clone, Debug)]
pub(super) enum Committed {
    At(Timestamp),
    Never,
    /// The newest commits of the repository, for a run that is only read.
    Log(Option<Arc<CommitLog>>),
    /// git was not asked, or not done in time.
    Unknown,
}

/// Loads and plans every run, newest first, finished ones last. The number of a run is the same with and without `--all`.
pub(crate) fn entries(
    ctx: &ProjectContext,
    locations: &mut [RunLocation],
    dating: Dating,
) -> Result<Vec<RunEntry>, OpError> {
    let mut entries = Vec::new();
    let mut undated: BTreeMap<&Utf8Path, Vec<usize>> = BTreeMap::new();
    let mut guests: BTreeMap<&Utf8Path, Vec<(usize, OpenedRun)>> = BTreeMap::new();
    let mut complete: BTreeMap<&Utf8Path, Vec<(usize, OpenedRun)>> = BTreeMap::new();
    archived::mark_left_over(ctx, locations);
    for (at, location) in locations.iter().enumerate() {
        if location.is_of_client() {
            entries.push(session_entry(ctx, location));
            continue;
        }
        let opened = ctx.read(location)?;
        entries.push(entry(ctx, location, &opened, Committed::Unknown));
        let asks_git = dating == Dating::Commits && ctx.project.git.is_some();
        if location.candidate.claim.is_guest() {
            // Where the files alone leave the run open, git is asked what was done; where they say that it is complete, what it lost.
            let is_open = entries.last().is_some_and(|entry: &RunEntry| !entry.row.lifecycle.stage.is_over());
            let asked = if is_open { &mut guests } else { &mut complete };
            if asks_git {
                asked.entry(&location.root).or_default().push((at, opened));
            }
        } else if asks_git && is_undated(ctx, &opened) {
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
    for (root, guests) in guests {
        let log = store::commit_log(root).map(Arc::new);
        for (at, opened) in guests {
            entries[at] = entry(ctx, &locations[at], &opened, Committed::Log(log.clone()));
        }
    }
    for (root, complete) in complete {
        let committed = lost_steps::committed(root, complete.iter().map(|(_, opened)| opened));
        for (at, opened) in complete.iter().filter(|_| !committed.is_empty()) {
            let lost = opened.loaded.run.as_ref().and_then(|run| lost_steps::finding(opened, run, &committed));
            let Some(lost) = lost else { continue };
            let entry = &mut entries[*at];
            entry.row.verdict = Verdict::Confirm;
            entry.row.lifecycle = Lifecycle::open();
            entry.row.headline.clone_from(&lost.message);
            entry.row.position = lost.message;
            entry.shown = true;
        }
    }
    hide_covered(&mut entries);
    entries.sort_by(|a, b| {
        let age = |entry: &RunEntry| entry.row.age_seconds.unwrap_or(i64::MAX);
        // Of the plans of other systems, the one that its system works on comes first.
        let rank = |entry: &RunEntry| {
            let candidate = &entry.location.candidate;
            candidate.claim.is_guest().then(|| candidate.rank.as_ref().map_or(u8::MAX, |rank| rank.order))
        };
        let group = |entry: &RunEntry| (class(entry), !entry.shown, entry.is_in_review);
        let by_age = group(a).cmp(&group(b)).then(rank(a).cmp(&rank(b))).then(age(a).cmp(&age(b)));
        by_age.then_with(|| natural(&a.row.state, &b.row.state)).then_with(|| a.row.state.cmp(&b.row.state))
    });
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.row.number = at + 1;
    }
    Ok(entries)
}

/// Returns the place of a kind of run in the list: runs of Piton, whose numbers are the same without the others; sessions of the client that
/// were cut off; plans of other systems; sessions that only wait.
fn class(entry: &RunEntry) -> u8 {
    match (entry.location.is_of_client(), entry.row.is_guest) {
        (true, _) if entry.row.verdict == Verdict::Complete => 3,
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    }
}

/// Tells whether git knows better than the state and its files when a run went on last.
fn is_undated(ctx: &ProjectContext, opened: &OpenedRun) -> bool {
    ctx.project.git.is_some() && opened.loaded.run.as_ref().is_some_and(|run| run.stamp.is_none())
}

/// Returns the row of a run before its steps are looked at.
fn unplanned(ctx: &ProjectContext, location: &RunLocation, opened: &OpenedRun) -> ListedRun {
    let state = match location.root == ctx.project.root || location.is_of_client() {
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
        headline: String::new(),
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
        is_driven: false,
        is_guest: location.candidate.claim.is_guest(),
    }
}

/// Returns the row of a session of the client, from the ends of its files.
fn session_entry(ctx: &ProjectContext, location: &RunLocation) -> RunEntry {
    let (opened, is_whole) = ctx.glance_at(location);
    let mut entry = entry(ctx, location, &opened, Committed::Unknown);
    let is_last_known = opened.loaded.run.as_ref().is_some_and(|run| run.stamp.is_some());
    let is_better = entry.row.verdict == Verdict::Resume || (!is_last_known && entry.row.verdict != Verdict::Blocked);
    if !is_whole && is_better {
        // The whole of it may say that something has an unknown outcome.
        entry.row.verdict = Verdict::Confirm;
    }
    if !is_last_known {
        entry.row.position = "its last message is behind a line that is too long for a list".to_owned();
    }
    let adopted = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::SessionAdopted);
    if let Some(adopted) = adopted {
        entry.row.position.clone_from(&adopted.message);
    }
    let session = location.candidate.state.name().trim_end_matches(".jsonl");
    entry.aliases.push(session.to_owned());
    entry
}

pub(super) fn entry(
    ctx: &ProjectContext,
    location: &RunLocation,
    opened: &OpenedRun,
    committed: Committed,
) -> RunEntry {
    let mut row = unplanned(ctx, location, opened);
    let Some(run) = &opened.loaded.run else {
        row.position = unreadable(&opened.loaded.findings);
        row.headline.clone_from(&row.position);
        return RunEntry::unread(location, row);
    };
    let (evidence, is_unknown) = gathered(ctx, opened, committed);
    let config = &ctx.project.config;
    let options = Options {
        mode: ctx.mode_of(run),
        attempt_limit: config.limits.attempts,
        age: config.age.clone(),
        ..Options::at(ctx.clock.now)
    };
    // No row shows a revision, a digest of every state file.
    let header = opened.header(run, String::new());
    let mut findings = opened.loaded.findings.clone();
    if location.is_of_client() {
        // It only compares names of branches.
        findings.extend(opened.dialect.comparison().compare_with_git(&opened.files, run, &evidence).findings);
    }
    let planned = engine::plan(run, header, &evidence, findings, &options);
    let view = RunView::of(opened, run, &planned);
    row.is_driven = planned.live_owner;
    row.is_cut_off = view.is_cut_off;
    row.id = run.id.clone();
    row.title.clone_from(&run.title);
    row.workflow.clone_from(&run.workflow);
    row.position = view.position;
    row.headline = view.headline;
    row.lifecycle = view.lifecycle;
    row.cause = view.cause;
    row.native_row = opened.dialect.wording().list_row(run, &planned.plan);
    row.verdict = match planned.plan.verdict {
        // The plan asks git, and may find that a person should look first.
        Verdict::Resume if is_unknown => Verdict::Confirm,
        verdict => verdict,
    };
    row.age_seconds = planned.plan.age.seconds;
    row.age_band = planned.plan.age.band;
    row.progress = planned.plan.progress;
    let is_not_begun = row.is_guest && !is_begun(&planned.plan.steps, &planned.plan.next);
    let shown = !row.lifecycle.stage.is_over() && !is_not_begun;
    let aliases = aliases(ctx, location, opened, &evidence);
    let next = planned.plan.next.first().and_then(|next| run.steps.iter().find(|step| step.id == next.step));
    let is_in_review = shown
        && location.candidate.claim.is_implied()
        && next.is_some_and(|step| step.kind == StepKind::Review && step.status == Status::Pending);
    let is_unarchived = row.is_guest
        && row.verdict == Verdict::Complete
        && planned.findings.iter().any(|finding| finding.code == FindingCode::NotArchived);
    RunEntry {
        shown,
        is_in_review,
        is_not_begun,
        is_unarchived,
        plan_reference: run.workspace.plan_reference.clone(),
        step_files: step_files(location, run),
        aliases,
        ..RunEntry::unread(location, row)
    }
}

/// Returns the evidence about a run that a list needs, and whether git may know more.
fn gathered(ctx: &ProjectContext, opened: &OpenedRun, committed: Committed) -> (Evidence, bool) {
    // Where `plan` stops at the wrong branch or misses a document, so does the list. These are files: git is not started.
    let mut evidence = ctx.workspace_evidence(opened);
    let root = opened.files.main_root.as_ref().unwrap_or(&opened.files.root);
    store::inspect_files(root, &opened.loaded.wanted.documents, &mut evidence);
    let mut is_unknown = false;
    if let Committed::Log(log) = &committed {
        evidence.guest.was_asked = true;
        add_log(opened, log.clone(), &mut evidence);
        is_unknown = log.is_none() && is_undated(ctx, opened);
    } else if is_undated(ctx, opened) {
        match committed {
            Committed::At(time) => evidence.committed_at = Some(time),
            Committed::Never | Committed::Log(_) => {}
            Committed::Unknown => {
                evidence.modified_at = None;
                is_unknown = true;
            }
        }
    }
    (evidence, is_unknown)
}

/// Returns the files of the steps of a plan of another system.
fn step_files(location: &RunLocation, run: &Run) -> BTreeSet<RelPath> {
    let steps = run.steps.iter().filter(|step| step.guest.is_some());
    steps.filter_map(|step| step.file.clone()).filter(|file| *file != location.candidate.state).collect()
}

/// Tells whether work was begun on a plan of another system: a step is done or in progress, or something says so.
fn is_begun(steps: &StepGroups, next: &[Next]) -> bool {
    let is_trace = |next: &Next| !matches!(next.action, Action::Run);
    !steps.completed.is_empty() || !steps.in_progress.is_empty() || next.iter().any(is_trace)
}

/// Leaves plans out of the list that an open run of another kind works from, and stories without a saved state that are steps of a plan.
fn hide_covered(entries: &mut [RunEntry]) {
    let is_run = |entry: &&RunEntry| !entry.row.is_guest && !entry.row.lifecycle.stage.is_over();
    let covered: Vec<String> = entries.iter().filter(is_run).filter_map(|entry| entry.plan_reference.clone()).collect();
    for entry in entries.iter_mut().filter(|entry| entry.row.is_guest && covered.contains(&entry.row.state)) {
        entry.shown = false;
    }
    let of_entry = |entry: &RunEntry| {
        entry.step_files.iter().map(|file| file.under(&entry.location.root)).collect::<Vec<Utf8PathBuf>>()
    };
    let planned: BTreeSet<Utf8PathBuf> = entries.iter().flat_map(of_entry).collect();
    for entry in entries.iter_mut().filter(|entry| entry.location.candidate.claim.is_implied()) {
        let story = entry.location.candidate.state.under(&entry.location.root);
        entry.shown &= !planned.contains(&story);
    }
}

/// Returns the names of the run's working folder, of its branch, of the branch that is checked out there, and of the workflow of a run that
/// Piton drives.
fn aliases(ctx: &ProjectContext, location: &RunLocation, opened: &OpenedRun, evidence: &Evidence) -> Vec<String> {
    let Some(run) = &opened.loaded.run else { return Vec::new() };
    let is_named_by_piton = opened.loaded.is_unattended;
    let outside = (location.root != ctx.project.root).then(|| location.root.file_name()).flatten();
    let folder = run.workspace.place().map(|place| place.rsplit('/').next().unwrap_or(place)).or(outside);
    let has_own_folder = folder.is_some();
    let checked_out = evidence.workspace.as_ref().filter(|_| has_own_folder).and_then(|found| found.branch.as_deref());
    // A run that Piton named is known by its workflow.
    let workflow = Some(run.workflow.as_str()).filter(|name| is_named_by_piton && !name.is_empty());
    let names = folder.into_iter().chain(run.workspace.branch.as_deref()).chain(checked_out).chain(workflow);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.dedup();
    names
}

fn unreadable(findings: &[Finding]) -> String {
    let worst = findings.iter().min_by_key(|finding| finding.severity);
    worst.map_or_else(|| "unreadable".to_owned(), |finding| format!("unreadable: {}", finding.message))
}

/// Returns the number of runs that are listed before those that are over.
pub(super) fn open_count(ctx: &ProjectContext) -> usize {
    ctx.locations().0.len()
}
