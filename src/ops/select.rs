//! Selects the requested run: by id, by number, by path, or the only one. Never guesses.

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    OpError,
    archived::{self, ArchivedRun},
    choice,
    client_sessions::SessionFilter,
    entries,
    error::{hides_runs, is_closed},
    lifecycle::is_over,
    opened_run::OpenedRun,
    project_context::{ProjectContext, dialects_in},
    run_location::RunLocation,
    workflow_file,
};
use crate::{
    dialect::{StateHome, by_id, piton},
    engine::{Refusal, RefusalKind},
    model::{Content, Finding, FindingCode, Fix, Mode, Rank, RelPath, Severity, Suggested, Verb, Verdict},
    store::{self, Scope},
};

/// Maximum number of other runs that a finding names.
const OTHERS_SHOWN: usize = 5;

/// The requested run.
pub(super) enum Selected {
    There(RunLocation),
    Archived(ArchivedRun),
}

/// Locates and loads the requested run, which may be a session of the client.
pub(crate) fn select(ctx: &ProjectContext) -> Result<OpenedRun, OpError> {
    match selected_to_read(ctx)? {
        Selected::There(location) => ctx.read(&location),
        Selected::Archived(run) => archived::open(ctx, &run),
    }
}

/// Locates the requested run, which is not archived.
pub(crate) fn location(ctx: &ProjectContext) -> Result<RunLocation, OpError> {
    match selected(ctx)? {
        Selected::There(location) => Ok(location),
        Selected::Archived(run) => Err(archived::refusal(ctx, &run)),
    }
}

/// Tells whether a word names a run, and not the workflow file of that name: an id comes first, the name of a workflow only while the run of it
/// is open.
pub(super) fn is_run(ctx: &ProjectContext, location: &RunLocation, word: &str) -> bool {
    location.candidate.name.contains(word)
        || !is_over(ctx, location)
        || workflow_file::path_of(&ctx.project, word).is_none()
}

/// Locates the requested run to read it: a session of the client is one of the runs to choose from.
pub(crate) fn location_to_read(ctx: &ProjectContext) -> Result<RunLocation, OpError> {
    match selected_to_read(ctx)? {
        Selected::There(location) => Ok(location),
        Selected::Archived(run) => Err(archived::refusal(ctx, &run)),
    }
}

/// Locates the requested run, also in an archive.
pub(super) fn selected(ctx: &ProjectContext) -> Result<Selected, OpError> {
    selected_among(ctx, false)
}

fn selected_to_read(ctx: &ProjectContext) -> Result<Selected, OpError> {
    selected_among(ctx, true)
}

/// `with_sessions`: without a name, sessions of the client are among the runs too.
fn selected_among(ctx: &ProjectContext, with_sessions: bool) -> Result<Selected, OpError> {
    match open_location(ctx, with_sessions) {
        Err(error @ (OpError::NoRun { .. } | OpError::UnknownRun { .. })) => match ended_run(ctx) {
            Some(ended) => Ok(Selected::There(ended)),
            None => archived::named(ctx).map(Selected::Archived).ok_or_else(|| described(ctx, error)),
        },
        found => found.map(Selected::There),
    }
}

/// Adds what a file that was named as a run says about itself.
fn described(ctx: &ProjectContext, error: OpError) -> OpError {
    let error = match error {
        OpError::UnknownRun { ref wanted, .. } => lost_with_its_repository(ctx, wanted).unwrap_or(error),
        error => error,
    };
    let OpError::NoRun { searched, findings } = error else { return error };
    let root = &ctx.project.root;
    let path = ctx.run_path.as_ref().and_then(|path| RelPath::parse(path.strip_prefix(root).ok()?.as_str()).ok());
    if let Some(path) = path
        && let Content::Bytes(bytes) = store::read_file(root, &path)
    {
        let described = dialects_in(StateHome::Project).find_map(|dialect| dialect.discovery().describe(&path, &bytes));
        if let Some(described) = described {
            return OpError::NoRun { searched: path.under(root).into_string(), findings: vec![described] };
        }
    }
    OpError::NoRun { searched, findings }
}

/// Returns the error for a run that this user began in a repository that is not there any more.
fn lost_with_its_repository(ctx: &ProjectContext, id: &str) -> Option<OpError> {
    let home = ctx.project.trusted.lost_home_of(id)?;
    let old = piton::project_of(&home).unwrap_or(&home);
    let message = format!("the run {id} was in {old}, which is not there any more");
    Some(OpError::Refused(Refusal { kind: RefusalKind::NotFound, message, hints: vec![where_it_moved(id)] }))
}

/// Says how to go on with a run whose project is not where it was.
pub(crate) fn where_it_moved(id: &str) -> Fix {
    let resume = Suggested::of(Verb::Resume, id).project("DIR");
    format!("call piton in the folder that it was moved to: `{resume}`").into()
}

/// Finds a finished run that is named by its id or its state file.
fn ended_run(ctx: &ProjectContext) -> Option<RunLocation> {
    let is_named = |location: &RunLocation| match (&ctx.run_path, &ctx.run) {
        (Some(path), _) => location.candidate.state.under(&location.root) == *path,
        (None, Some(name)) => location.candidate.name == *name,
        (None, None) => false,
    };
    if ctx.run_path.is_none() && ctx.run.is_none() {
        return None;
    }
    let ended = ctx.ended_runs().ended;
    let number = ctx.run.as_ref().filter(|_| ctx.run_path.is_none()).and_then(|name| name.parse::<usize>().ok());
    let at = number.and_then(|number| number.checked_sub(entries::open_count(ctx) + 1));
    let numbered = at.and_then(|at| ended.get(at).cloned());
    ended.into_iter().find(is_named).or(numbered)
}

fn open_location(ctx: &ProjectContext, with_sessions: bool) -> Result<RunLocation, OpError> {
    let (nearby, hidden) = nearby(ctx);
    if !nearby.is_empty() {
        return Ok(beside_unread(single(ctx, nearby)?, hidden));
    }
    if let Some(name) = &ctx.run
        && let [one] = ctx.client_locations(SessionFilter::Named(name)).as_slice()
    {
        return Ok(one.clone());
    }
    let (mut locations, findings) = ctx.locations();
    if with_sessions && ctx.run_path.is_none() {
        locations.extend(ctx.client_locations(SessionFilter::Offered));
    }
    let searched = ctx.project.root.as_str().to_owned();
    if let Some(wanted) = &ctx.run {
        return match named(ctx, locations, wanted) {
            // It may be in a folder that was not looked at.
            Err(OpError::UnknownRun { .. }) if findings.iter().any(hides_runs) => {
                Err(OpError::NoRun { searched, findings })
            }
            found => found.map(|location| beside_unread(location, findings)),
        };
    }
    let requested = requested(ctx, &locations);
    let locations = if requested.is_empty() && ctx.run_path.is_none() { locations } else { requested };
    if locations.is_empty() {
        return Err(OpError::NoRun { searched, findings });
    }
    Ok(beside_unread(single(ctx, locations)?, findings))
}

/// Adds to a run that was selected what could not be looked at. That may hold the saved state of what only seems to be a run of its own.
fn beside_unread(mut location: RunLocation, findings: Vec<Finding>) -> RunLocation {
    let is_implied = location.candidate.claim.is_implied();
    let hidden = findings.into_iter().filter(is_closed).map(|hidden| match is_implied {
        true => Finding { severity: Severity::Blocking, ..hidden },
        false => hidden,
    });
    location.candidate.findings.extend(hidden);
    location
}

fn single(ctx: &ProjectContext, mut locations: Vec<RunLocation>) -> Result<RunLocation, OpError> {
    if locations.len() == 1 { Ok(marked(ctx, locations.remove(0))) } else { single_open(ctx, locations) }
}

/// Says of a run that was found without the rows of the others what it was a part of.
fn marked(ctx: &ProjectContext, mut location: RunLocation) -> RunLocation {
    archived::mark_left_over(ctx, std::slice::from_mut(&mut location));
    location
}

/// Finds the requested runs without walking the whole project, if a path or the current folder decides. Empty if runs elsewhere
/// could change the answer.
fn nearby(ctx: &ProjectContext) -> (Vec<RunLocation>, Vec<Finding>) {
    let root = &ctx.project.root;
    let scope = match &ctx.run_path {
        Some(path) if !root.starts_with(path) => Scope::Around(path),
        None if ctx.run.is_none() && ctx.project.cwd != *root => Scope::Above(&ctx.project.cwd),
        Some(_) | None => return Default::default(),
    };
    let (locations, findings) = ctx.locations_in(scope);
    let requested = requested(ctx, &locations);
    match requested.iter().any(|location| location.candidate.may_be_replaced) {
        true => Default::default(),
        false => (requested, findings),
    }
}

/// Returns the runs at the given path; without one, the run whose folder contains the current folder, if there is exactly one
/// (docs/formats/nine-step.md#finding-runs).
fn requested(ctx: &ProjectContext, locations: &[RunLocation]) -> Vec<RunLocation> {
    let place = |location: &RunLocation| {
        let folder = location.candidate.state.parent().filter(|_| is_session(location));
        folder.as_ref().unwrap_or(&location.candidate.state).under(&location.root)
    };
    let works_in = |location: &RunLocation, path: &Utf8Path| {
        is_session(location) && path.starts_with(ctx.home.worktree(&location.candidate.name))
    };
    let these = |is_requested: &dyn Fn(&RunLocation) -> bool| -> Vec<RunLocation> {
        locations.iter().filter(|location| is_requested(location)).cloned().collect()
    };
    if let Some(path) = &ctx.run_path {
        let exact = these(&|location| place(location) == *path);
        if !exact.is_empty() {
            return of_first_rank(exact);
        }
        let mut around = these(&|location| path.starts_with(place(location)) || works_in(location, path));
        // Of a run inside of the folder of another one, the inner one is meant.
        let places: Vec<Utf8PathBuf> = around.iter().map(place).collect();
        let is_inside = |inner: &Utf8Path, outer: &Utf8Path| inner != outer && inner.starts_with(outer);
        around.retain(|location| !places.iter().any(|other| is_inside(other, &place(location))));
        return if around.is_empty() { these(&|location| place(location).starts_with(path)) } else { around };
    }
    let here = these(&|location| {
        if is_session(location) {
            return works_in(location, &ctx.project.cwd);
        }
        let place = place(location);
        let folder = if owns_its_folder(location) { Some(place.as_path()) } else { place.parent() };
        folder.is_some_and(|folder| folder != ctx.project.root && ctx.project.cwd.starts_with(folder))
    });
    if here.len() == 1 { here } else { Vec::new() }
}

/// Keeps of several plans in one file the one that its system works on.
fn of_first_rank(mut locations: Vec<RunLocation>) -> Vec<RunLocation> {
    let ranks: Vec<Rank> = locations.iter().filter_map(|location| location.candidate.rank.clone()).collect();
    let is_beaten = |location: &RunLocation| {
        let rank = location.candidate.rank.as_ref().filter(|_| location.candidate.claim.is_guest());
        rank.is_some_and(|rank| ranks.iter().any(|other| other.is_before(rank)))
    };
    locations.retain(|location| !is_beaten(location));
    locations
}

/// Tells whether a run is a session of the runner, which is stored outside of the project.
fn is_session(location: &RunLocation) -> bool {
    by_id(location.candidate.dialect).state_home() == StateHome::Home
}

/// Tells whether the state is a folder.
fn owns_its_folder(location: &RunLocation) -> bool {
    store::is_folder(&location.candidate.state.under(&location.root))
}

fn named(ctx: &ProjectContext, mut locations: Vec<RunLocation>, wanted: &str) -> Result<RunLocation, OpError> {
    let by_name: Vec<&RunLocation> = locations.iter().filter(|location| location.candidate.name == wanted).collect();
    if let [one] = by_name.as_slice() {
        return Ok(marked(ctx, (*one).clone()));
    }
    let listed = entries::entries(ctx, &mut locations, entries::Dating::Commits)?;
    // The number of a run and its id come before the names of its folder and branch, which it may share with others.
    if let Ok(number) = wanted.parse::<usize>()
        && let Some(entry) = listed.iter().find(|entry| entry.row.number == number)
    {
        return Ok(entry.location.clone());
    }
    let contained = wanted.to_lowercase();
    let is_id = |entry: &entries::RunEntry| entry.row.id.as_str() == wanted;
    let is_alias = |entry: &entries::RunEntry| entry.aliases.iter().any(|alias| alias == wanted);
    let is_part = |entry: &entries::RunEntry| entry.row.id.as_str().to_lowercase().contains(&contained);
    for fits in [&is_id as &dyn Fn(&entries::RunEntry) -> bool, &is_alias, &is_part] {
        let mut found: Vec<&entries::RunEntry> = listed.iter().filter(|entry| fits(entry)).collect();
        // A name that several have means the one that is still open.
        if found.iter().filter(|entry| entry.shown).count() == 1 {
            found.retain(|entry| entry.shown);
        }
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one.location.clone()),
            many => return by_step(ctx, &listed, many, many),
        }
    }
    let known = listed.iter().map(|entry| entry.row.id.as_str().to_owned()).collect();
    let near = choice::near(ctx, &listed, wanted);
    let searched = ctx.project.root.as_str().to_owned();
    Err(OpError::UnknownRun { wanted: wanted.to_owned(), searched, known, near })
}

/// Selects the only run that has the step that was typed, among these, else among all that a person chooses from.
fn by_step(
    ctx: &ProjectContext,
    listed: &[entries::RunEntry],
    among: &[&entries::RunEntry],
    all: &[&entries::RunEntry],
) -> Result<RunLocation, OpError> {
    let Some(step) = &ctx.step else { return Err(ambiguous(ctx, listed, all)) };
    if let [one] = choice::with_step(ctx, among, step)?.as_slice() {
        return Ok(one.location.clone());
    }
    match choice::with_step(ctx, all, step)?.as_slice() {
        [] => {
            let runs = all.iter().map(|entry| entry.row.id.clone()).collect();
            Err(OpError::StepNowhere { step: step.clone(), runs })
        }
        [one] => Ok(one.location.clone()),
        many => Err(ambiguous(ctx, listed, many)),
    }
}

/// Selects among several runs: the only unfinished one with work left, else the only one that its system ranks first.
fn single_open(ctx: &ProjectContext, mut locations: Vec<RunLocation>) -> Result<RunLocation, OpError> {
    let listed = entries::entries(ctx, &mut locations, entries::Dating::Commits)?;
    let mut open: Vec<&entries::RunEntry> = listed.iter().filter(|entry| entry.shown).collect();
    let has_work = |entry: &&entries::RunEntry| entry.row.verdict != Verdict::Nothing;
    if open.iter().any(has_work) {
        open.retain(has_work);
    }
    let ranked =
        |entry: &entries::RunEntry| Some((entry.location.root.clone(), entry.location.candidate.rank.clone()?));
    let ranks: Vec<_> = open.iter().filter_map(|entry| ranked(entry)).collect();
    open.retain(|entry| {
        ranked(entry)
            .is_none_or(|(root, rank)| !ranks.iter().any(|(other, first)| *other == root && first.is_before(&rank)))
    });
    let all = open.clone();
    if open.iter().any(|entry| !entry.row.is_guest) {
        open.retain(|entry| !entry.row.is_guest);
    }
    let stated: Vec<_> =
        open.iter().filter(|entry| !is_implied(entry)).map(|entry| entry.location.root.clone()).collect();
    // A session of the client is chosen by itself only where no other run is.
    let is_beside = |entry: &entries::RunEntry| match entry.location.is_of_client() {
        true => all.iter().any(|other| !other.location.is_of_client()),
        false => stated.contains(&entry.location.root),
    };
    open.retain(|entry| !is_implied(entry) || !is_beside(entry));
    if ctx.mode() == Mode::Autopilot {
        if open.iter().any(|entry| !is_left_over(entry)) {
            open.retain(|entry| !is_left_over(entry));
        }
        if let Some(newest) = newest(&open) {
            return Ok(beside_others(newest, &all, Severity::Warning));
        }
    }
    match open.as_slice() {
        [one] if is_overtaken(one, &all) => by_step(ctx, &listed, &open, &all),
        [one] => Ok(beside_others(one, &all, Severity::Info)),
        [] => match listed.as_slice() {
            [one] => Ok(one.location.clone()),
            all => Err(OpError::NoRun { searched: entries::searched(ctx, all.len()), findings: Vec::new() }),
        },
        // A person who has to choose sees the implied ones too.
        stated => by_step(ctx, &listed, stated, &all),
    }
}

/// Tells whether a run without a saved state was worked on after the only saved one: then a person chooses
/// (docs/formats/aios.md#which-state-counts).
fn is_overtaken(saved: &entries::RunEntry, all: &[&entries::RunEntry]) -> bool {
    let age = |entry: &entries::RunEntry| entry.row.age_seconds.unwrap_or(i64::MAX);
    let same_root = |entry: &&&entries::RunEntry| entry.location.root == saved.location.root;
    all.iter().filter(same_root).any(|entry| is_implied(entry) && age(entry) < age(saved))
}

/// Returns the location of a selected run, with a finding about the others that a person could have chosen.
fn beside_others(selected: &entries::RunEntry, all: &[&entries::RunEntry], severity: Severity) -> RunLocation {
    let mut location = selected.location.clone();
    let others = all.iter().filter(|entry| entry.row.path != selected.row.path);
    let others: Vec<&str> = others.map(|entry| entry.row.id.as_str()).take(OTHERS_SHOWN).collect();
    if !others.is_empty() {
        let more = all.len().saturating_sub(others.len() + 1);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let finding = Finding::new(FindingCode::AlsoOpen, format!("also open: {}{more}", others.join(", ")));
        location.candidate.findings.push(Finding { severity, ..finding.fix(Suggested::new(Verb::List)) });
    }
    location
}

fn is_implied(entry: &entries::RunEntry) -> bool {
    entry.location.candidate.claim.is_implied()
}

/// Tells whether a run was a part of one that a person archived.
fn is_left_over(entry: &entries::RunEntry) -> bool {
    let findings = &entry.location.candidate.findings;
    is_implied(entry) && findings.iter().any(|finding| finding.code == FindingCode::StateLeftover)
}

/// Returns the run that was updated last, if the systems of all runs let autopilot choose.
fn newest<'a>(open: &[&'a entries::RunEntry]) -> Option<&'a entries::RunEntry> {
    let mut ranked = Vec::new();
    for entry in open {
        let age = entry.row.age_seconds.unwrap_or(i64::MAX);
        ranked.push(((age, entry.location.candidate.claim.priority()?, entry.row.state.as_str()), *entry));
    }
    ranked.into_iter().min_by_key(|(rank, _)| *rank).map(|(_, entry)| entry)
}

fn ambiguous(ctx: &ProjectContext, listed: &[entries::RunEntry], among: &[&entries::RunEntry]) -> OpError {
    let runs = among.iter().map(|entry| entry.row.clone()).collect();
    OpError::Ambiguous { runs, choices: choice::choices(ctx, listed, among) }
}
