//! `sessions`: lists, shows, and cleans the runs of the runner.

mod clean;
mod drop;
mod logs;
mod report;

pub(crate) use clean::{CleanRequest, clean};
pub(crate) use drop::{DropRequest, drop_session};
pub(crate) use logs::{LogPositions, LogsReport, logs};
use report::SessionStep;
pub(crate) use report::{CleanReport, DropReport, SessionDetail, SessionItem, SessionList, SessionRow, SessionStatus};

use super::{
    OpError,
    error::hides_runs,
    lifecycle::running,
    opened_run::OpenedRun,
    project_context::{ProjectContext, Request},
    report::Report,
    run_location::RunLocation,
    select,
};
use crate::{
    dialect::{
        StateHome, by_id,
        piton::{self, ItemWorktree, Session},
    },
    engine::{self, Planned},
    model::{
        Action, ClaudeWork, Evidence, Finding, FindingCode, Options, Owner, Run, RunStatus, Status, StepId, Verdict,
        clean_line, mask_secrets, quoted,
    },
    store::{self, Environment, Scope, Trusted},
};

/// Lists the sessions of the repository.
pub(crate) fn list(ctx: &ProjectContext) -> Result<Report<SessionList>, OpError> {
    let (found, mut findings) = ctx.sessions();
    let mut sessions: Vec<SessionRow> = Vec::new();
    for location in &found {
        let InspectedSession { opened, row, .. } = match inspect(ctx, location) {
            Ok(inspected) => inspected,
            Err(error) => {
                sessions.push(SessionRow::unreadable(&location.candidate.name, error.to_string()));
                continue;
            }
        };
        // Damage of its records. The rest is for `plan`.
        let damage = [FindingCode::JournalMissing, FindingCode::StateCorrupt, FindingCode::StateUnreadable];
        findings.extend(opened.loaded.findings.into_iter().filter(|finding| damage.contains(&finding.code)));
        sessions.push(row);
    }
    if sessions.is_empty() {
        let searched = ctx.home.root().to_string();
        return Err(OpError::NoSession { searched, in_git: ctx.project.git.is_some(), findings });
    }
    Ok(Report { findings, ..Report::ok(SessionList::newest_first(sessions)) })
}

/// Lists the sessions that this user began on this machine, of every project that still has them.
pub(crate) fn list_all(request: &Request) -> Result<Report<SessionList>, OpError> {
    let mut sessions: Vec<SessionRow> = Vec::new();
    for place in Trusted::of(&Environment::read()).places() {
        let request = Request { project: None, run: Some(place.as_str().to_owned()), ..request.clone() };
        let row = row_elsewhere(&request);
        let name = || place.file_name().unwrap_or_default();
        let row = row.unwrap_or_else(|error| SessionRow {
            folder: Some(place.as_str().to_owned()),
            ..SessionRow::unreadable(name(), error.to_string())
        });
        sessions.push(row);
    }
    Ok(Report::ok(SessionList::newest_first(sessions)))
}

/// Returns the row of a run that is named by its place, in any project.
fn row_elsewhere(request: &Request) -> Result<SessionRow, OpError> {
    let ctx = ProjectContext::open(request)?;
    let location = select::location(&ctx)?;
    let mut row = inspect(&ctx, &location)?.row;
    let project = &ctx.project.root;
    for command in [&mut row.resume, &mut row.next].into_iter().flatten() {
        *command = format!("{command} --project {}", quoted(project.as_str()));
    }
    row.project = Some(project.as_str().to_owned());
    Ok(row)
}

/// Shows one session with its steps.
pub(crate) fn show(ctx: &ProjectContext, id: Option<&str>) -> Result<Report<SessionDetail>, OpError> {
    let location = named(ctx, id)?;
    let InspectedSession { opened, row, .. } = inspect(ctx, &location)?;
    let session = Session::read(&opened.files).ok();
    let steps = opened.loaded.run.as_ref().map(|run| run.steps.as_slice()).unwrap_or_default();
    let of_step = |id: &StepId| {
        let state = session.as_ref().and_then(|session| session.state.steps.get(id.as_str()));
        state.map(|state| state.claude.clone()).unwrap_or_default()
    };
    let mut claude = ClaudeWork::default();
    steps.iter().for_each(|step| claude.add(&of_step(&step.id)));
    let detail = SessionDetail {
        claude,
        row,
        workflow_file: session.as_ref().map(|session| {
            let source = &session.header.workflow;
            source.file.under(&source.root).into_string()
        }),
        records: location.candidate.state.under(&location.root).parent().map_or_else(String::new, ToString::to_string),
        steps: steps
            .iter()
            .map(|step| SessionStep {
                id: step.id.clone(),
                title: clean_line(&mask_secrets(&step.title), 200),
                status: step.reported_status(),
                attempts: step.attempts,
                started_at: step.started_at,
                finished_at: step.finished_at,
                seconds: step.seconds(),
                claude: of_step(&step.id),
                error: step.error.as_ref().map(|error| clean_line(&mask_secrets(error), 400)),
                items: items_of(session.as_ref(), &step.id),
            })
            .collect(),
        variables: session
            .as_ref()
            .map(|session| session.state.variables.keys().cloned().collect())
            .unwrap_or_default(),
    };
    Ok(Report { findings: opened.loaded.findings, ..Report::ok(detail) })
}

/// Returns the items of a `foreach`, with what is recorded about each.
fn items_of(session: Option<&Session>, id: &StepId) -> Vec<SessionItem> {
    let Some(session) = session else { return Vec::new() };
    let Some(state) = session.state.steps.get(id.as_str()) else { return Vec::new() };
    let names = piton::item_names(state.items.as_deref().unwrap_or_default()).into_iter();
    let worktree = |name: &str| {
        let place = (id.as_str(), state.head.as_deref()?);
        let folder = ItemWorktree::of(&session.header, place, name).folder;
        store::is_folder(&folder).then(|| folder.into_string())
    };
    let item = |name: String| SessionItem {
        worktree: worktree(&name),
        id: mask_secrets(&piton::item_id(id.as_str(), &name)).into_owned(),
        status: state.parts.get(&name).copied().unwrap_or(Status::Pending),
        error: state.part_errors.get(&name).map(|error| clean_line(&mask_secrets(error), 400)),
    };
    names.map(item).collect()
}

impl ProjectContext {
    /// Returns the sessions of this repository with findings about their home.
    fn sessions(&self) -> (Vec<RunLocation>, Vec<Finding>) {
        let (mut locations, mut findings) = self.locations_in(Scope::Sessions);
        locations.retain(|location| by_id(location.candidate.dialect).state_home() == StateHome::Home);
        // A closed folder of the project is at its path; it has no sessions.
        let is_closed_home = |finding: &Finding| finding.code == FindingCode::FolderClosed && finding.file.is_none();
        findings.retain(|finding| finding.code == FindingCode::SessionForeign || is_closed_home(finding));
        (locations, findings)
    }
}

/// Finds a session of the runner by its id or an unambiguous part of it.
pub(crate) fn session_location(ctx: &ProjectContext, id: &str) -> Result<RunLocation, OpError> {
    named(ctx, Some(id))
}

/// Finds a session by its id or an unambiguous part of it; without an id, the newest one.
fn named(ctx: &ProjectContext, id: Option<&str>) -> Result<RunLocation, OpError> {
    let (mut found, findings) = ctx.sessions();
    let known = |found: &[RunLocation]| {
        found.iter().take(12).map(|location| location.candidate.name.clone()).collect::<Vec<_>>()
    };
    let searched = ctx.home.root().to_string();
    let Some(id) = id else {
        // An id tells the second only.
        let changed_at = |location: &RunLocation| Some(ctx.read(location).ok()?.loaded.run?.stamp);
        found.sort_by_cached_key(|location| (changed_at(location), location.candidate.name.clone()));
        return found.pop().ok_or(OpError::NoSession { searched, in_git: ctx.project.git.is_some(), findings });
    };
    if let Some(exact) = found.iter().position(|location| location.candidate.name == id) {
        return Ok(found.swap_remove(exact));
    }
    let known = known(&found);
    found.retain(|location| location.candidate.name.contains(id) && !id.is_empty());
    match found.len() {
        1 => Ok(found.remove(0)),
        0 if findings.iter().any(hides_runs) => {
            Err(OpError::NoSession { searched, in_git: ctx.project.git.is_some(), findings })
        }
        _ => Err(select::lost_with_its_repository(ctx, id).unwrap_or_else(|| OpError::UnknownRun {
            wanted: id.to_owned(),
            searched,
            known,
            near: Vec::new(),
        })),
    }
}

/// What can become of a run that is over or not wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Merge,
    Drop,
}

impl Ending {
    const fn verb(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Drop => "drop",
        }
    }

    fn fits(self, row: &SessionRow) -> bool {
        match (self, row.status) {
            (_, SessionStatus::Running | SessionStatus::Unreadable) => false,
            (Self::Drop, _) | (Self::Merge, SessionStatus::Merging) => true,
            (Self::Merge, SessionStatus::Completed) => row.next.is_some(),
            (Self::Merge, _) => false,
        }
    }
}

/// Finds the only run that can end this way. `flags` are those of the call, for the commands that name one of several.
pub(crate) fn only_session_to(ctx: &ProjectContext, ending: Ending, flags: &str) -> Result<RunLocation, OpError> {
    let (found, findings) = ctx.sessions();
    if found.is_empty() {
        let searched = ctx.home.root().to_string();
        return Err(OpError::NoSession { searched, in_git: ctx.project.git.is_some(), findings });
    }
    let inspected =
        found.into_iter().filter_map(|location| inspect(ctx, &location).ok().map(|session| (location, session.row)));
    let fitting: Vec<_> = inspected.filter(|(_, row)| ending.fits(row)).collect();
    let verb = ending.verb();
    match fitting.as_slice() {
        [(one, _)] => Ok(one.clone()),
        [] => {
            let message = format!("there is no run to {verb}");
            Err(OpError::InTheWay { message, hints: vec!["piton sessions".to_owned()] })
        }
        several => {
            let message = format!("there are {} runs to {verb}; name one", several.len());
            let command = |(_, row): &(RunLocation, SessionRow)| match &row.next {
                // It has the flag that a run without a base branch needs.
                Some(merge) if ending == Ending::Merge && flags.is_empty() => merge.clone(),
                Some(_) | None => format!("piton {verb} {}{flags}", quoted(row.id.as_str())),
            };
            Err(OpError::TargetAmbiguous { message, hints: several.iter().map(command).collect() })
        }
    }
}

/// A loaded session with its row.
struct InspectedSession {
    opened: OpenedRun,
    row: SessionRow,
}

fn inspect(ctx: &ProjectContext, location: &RunLocation) -> Result<InspectedSession, OpError> {
    let opened = ctx.read(location)?;
    let evidence = ctx.evidence(&opened, false);
    let row = row(ctx, location, &opened, &evidence);
    Ok(InspectedSession { opened, row })
}

fn row(ctx: &ProjectContext, location: &RunLocation, opened: &OpenedRun, evidence: &Evidence) -> SessionRow {
    let Some(run) = &opened.loaded.run else {
        let worst = opened.loaded.findings.iter().min_by_key(|finding| finding.severity);
        let why = worst.map_or_else(|| "unreadable".to_owned(), |finding| finding.message.clone());
        return SessionRow::unreadable(&location.candidate.name, why);
    };
    let mut row = SessionRow::unreadable(&location.candidate.name, String::new());
    let options = Options { age: ctx.project.config.age.clone(), ..Options::at(ctx.clock.now) };
    let header = opened.header(run, String::new());
    let planned = engine::plan(run, header, evidence, opened.loaded.findings.clone(), &options);
    let session = Session::read(&opened.files).ok();
    let end = session.as_ref().and_then(|session| session.state.run.worktree.as_deref());
    let is_merged = matches!(end, Some("merged" | "removed"));
    row.status = status(run, &planned, &evidence.owner, is_merged);
    row.workflow.clone_from(&run.workflow);
    row.progress = planned.plan.progress;
    let merges = session.as_ref().is_some_and(|session| session.state.run.merge.is_some());
    if row.status == SessionStatus::Completed && merges && run.status == RunStatus::Active {
        row.status = SessionStatus::Merging;
    }
    row.position = running(run, &planned, ctx.clock.now).unwrap_or_else(|| position(&planned));
    row.started_at = run.started_at;
    row.changed_at = run.stamp;
    row.age_seconds = run.stamp.map(|stamp| ctx.clock.now.seconds_since(stamp));
    row.folder = match &session {
        Some(session) => {
            let header = &session.header;
            Some(header.work_folder().as_str().to_owned())
        }
        None => run.workspace.worktree.as_ref().map(|path| path.under(&opened.files.root).into_string()),
    };
    row.branch = session.as_ref().map_or_else(|| run.workspace.branch.clone(), |session| session.header.branch.clone());
    row.base_branch.clone_from(&run.workspace.base_branch);
    // `resume` refuses a run for agents that waits for a person's decision.
    let waits = !opened.loaded.is_unattended && planned.plan.verdict == Verdict::Blocked;
    let has_kept = session.as_ref().is_some_and(|session| session.header.keeps_work(end));
    let id = quoted(run.id.as_str());
    (row.resume, row.next) = match row.status {
        SessionStatus::Failed | SessionStatus::Interrupted | SessionStatus::Paused if waits => (None, None),
        SessionStatus::Failed | SessionStatus::Interrupted | SessionStatus::Paused | SessionStatus::Merging => {
            (Some(format!("piton resume {id}{}", run.resume_option)), None)
        }
        SessionStatus::Waiting => (None, Some(format!("piton plan {id}"))),
        SessionStatus::Completed if has_kept => {
            // Without a branch that it came from, its work gets one.
            let into = if row.base_branch.is_some() { "" } else { " --branch NAME" };
            (None, Some(format!("piton merge {id}{into}")))
        }
        SessionStatus::GivenUp => (None, Some(format!("piton drop {id}"))),
        SessionStatus::Completed | SessionStatus::Running | SessionStatus::Merged | SessionStatus::Unreadable => {
            (None, None)
        }
    };
    row
}

fn position(planned: &Planned) -> String {
    match planned.plan.next.first() {
        Some(next) if !matches!(next.action, Action::Merge | Action::Archive) => {
            format!("{} {} ({})", next.action.as_str(), next.step, clean_line(&next.title, 80))
        }
        Some(_) | None if planned.plan.verdict == Verdict::Complete => "every step is done".to_owned(),
        Some(_) | None => planned.findings.first().map_or_else(String::new, |finding| finding.message.clone()),
    }
}

/// Tells whether nothing goes on before a person has decided about a step.
fn waits(planned: &Planned) -> bool {
    let next = &planned.plan.next;
    !next.is_empty() && next.iter().all(|next| next.action == Action::Approve)
}

fn status(run: &Run, planned: &Planned, owner: &Owner, is_merged: bool) -> SessionStatus {
    let is_over = planned.plan.verdict == Verdict::Complete;
    match (owner, run.status) {
        (Owner::Live { .. }, _) => SessionStatus::Running,
        (_, RunStatus::Aborted) => SessionStatus::GivenUp,
        (_, _) if is_over && is_merged => SessionStatus::Merged,
        (_, _) if is_over => SessionStatus::Completed,
        (_, _) if waits(planned) => SessionStatus::Waiting,
        (_, _) if run.steps.iter().any(|step| step.status == Status::Failed) => SessionStatus::Failed,
        (_, RunStatus::Paused) if run.steps.iter().all(|step| step.status != Status::InProgress) => {
            SessionStatus::Paused
        }
        (_, RunStatus::Active | RunStatus::Paused | RunStatus::Completed | RunStatus::Archived) => {
            SessionStatus::Interrupted
        }
    }
}
