//! `rollback`: takes a run back to an earlier point. Reports first what that discards and which git commands belong to it,
//! then, with confirmation, backs it up and writes. Git commands are printed, never run.

mod keep;
mod report;
mod target;

pub(crate) use crate::engine::rollback::Method as GitMethod;
pub(crate) use report::RollbackReport;

use camino::Utf8PathBuf;
use target::ResolvedTarget;

use super::{
    Exit, OpError, client_sessions,
    draft::{ChangeDraft, PreparedChange},
    locked_run::{LockedRun, back_record},
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::Report,
    run_location::RunLocation,
    select,
};
use crate::{
    dialect::Rollback,
    engine::{self, ChangeLimits, EffectiveStatus, Refusal, RefusalKind, rollback},
    model::{
        Change, ChangeKind, Edit, Entry, Evidence, Finding, FindingCode, Fix, GitImpact, GivenUpCommit, No, Owner,
        RollBack, RollBackRecord, Run, Suggested, Verb,
    },
    ops::versions::{self, Version},
    store::{self, AbandonedWork},
};

/// Options of a rollback.
#[derive(Clone, Debug, Default)]
pub(crate) struct RollbackRequest {
    /// Without a target, the possible ones are listed.
    pub(crate) to: Option<String>,
    pub(crate) reason: Option<String>,
    /// A person confirmed.
    pub(crate) yes: bool,
    /// Allow more than three rollbacks to the same point.
    pub(crate) force: bool,
    pub(crate) if_revision: Option<String>,
}

/// A run with everything that a rollback depends on.
struct RollbackContext<'a> {
    ctx: &'a ProjectContext,
    opened: &'a OpenedRun,
    run: &'a Run,
    format: &'static dyn Rollback,
    statuses: Vec<EffectiveStatus>,
    evidence: Evidence,
    /// The working folder, absolute; `shown_folder` is the same as written in commands.
    folder: Utf8PathBuf,
    shown_folder: String,
}

/// Proposes a rollback, and writes it if confirmed.
pub(crate) fn rollback(ctx: &ProjectContext, request: &RollbackRequest) -> Result<Report<RollbackReport>, OpError> {
    let location = select::location(ctx)?;
    // Without a confirmation it only reads: no lock, no folder.
    if request.yes && request.to.is_some() {
        let locked = LockedRun::open(ctx, &location)?;
        return answer(ctx, &location, &locked.opened, request, Some(&locked));
    }
    client_sessions::check_writable(ctx, &location)?;
    // Not as the history has it: what is proposed has to work on the state that is there.
    let files = store::file_set(&ctx.project, &location.root, &location.candidate, ctx.clock)?;
    let opened = versions::offer_what_works(
        &ctx.project,
        OpenedRun::new(location.candidate.clone(), files, &ctx.project.trusted),
    );
    answer(ctx, &location, &opened, request, None)
}

/// Proposes a rollback, and writes it under the lock.
fn answer(
    ctx: &ProjectContext,
    location: &RunLocation,
    opened: &OpenedRun,
    request: &RollbackRequest,
    locked: Option<&LockedRun<'_>>,
) -> Result<Report<RollbackReport>, OpError> {
    opened.check_readable(&location.candidate.state)?;
    rollback::check_writable(opened.run()?).map_err(OpError::Refused)?;
    let format = opened.dialect.rollback().ok_or_else(|| not_offered(opened, request.to.as_deref()))?;
    let context = RollbackContext::new(ctx, location, opened, format)?;
    if let Owner::Live { description } = &context.evidence.owner {
        return Err(OpError::LiveOwner(description.clone()));
    }
    opened.check_revision(context.run, request.if_revision.as_deref())?;
    let mut report = RollbackReport {
        run: context.run.id.as_str().to_owned(),
        revision: opened.revision(),
        ..RollbackReport::default()
    };
    let findings = match request.to.as_deref() {
        Some(to) => context.go_back(to, request, &mut report, locked)?,
        None => {
            report.targets = target::targets(&context);
            report.next = report.targets.first().map(|target| target.command.clone());
            Vec::new()
        }
    };
    let exit = if report.written { Exit::Ok } else { Exit::Person };
    Ok(Report { exit, body: report, findings })
}

impl<'a> RollbackContext<'a> {
    fn new(
        ctx: &'a ProjectContext,
        location: &RunLocation,
        opened: &'a OpenedRun,
        format: &'static dyn Rollback,
    ) -> Result<Self, OpError> {
        let run = opened.run()?;
        let evidence = ctx.evidence(opened, false);
        let worktree = run.workspace.place().map(|_| run.workspace.folder(&location.root));
        let folder = worktree.filter(|folder| store::is_folder(folder)).unwrap_or_else(|| location.root.clone());
        Ok(Self {
            ctx,
            opened,
            run,
            format,
            statuses: engine::effective_statuses(run, &evidence, &opened.loaded.findings),
            evidence,
            shown_folder: shown(ctx, &folder),
            folder,
        })
    }

    /// Fills in the report and, if confirmed, writes.
    fn go_back(
        &self,
        to: &str,
        request: &RollbackRequest,
        report: &mut RollbackReport,
        locked: Option<&LockedRun<'_>>,
    ) -> Result<Vec<Finding>, OpError> {
        let target = target::resolve(self, to)?;
        let exact = target.meaning.exact(self.run);
        let again = rollback::command_to(self.run, to).maybe("note", request.reason.as_ref());
        report.what = Some(target.meaning.describe(self.run));
        report.to = Some(exact.clone());
        let back = self.back_to(&target, request.reason.clone());
        let (change, edits) = self.admitted(back, &target, request.force)?;
        let ChangeKind::RollBack(back) = &change.kind else { return Ok(Vec::new()) };
        report.impact = rollback::impact(self.run, &self.evidence.records, &back.reopened);
        if let Some(commit) = target.commit {
            report.impact.base = Some(commit);
        }
        let git_impact = self.git_impact(report);
        if let Some(git_impact) = &git_impact {
            report.commits.clone_from(&git_impact.commits);
            report.git = Some(rollback::git_plan(self.run, git_impact, &report.impact, self.opened.files.clock.now));
        }
        report.tracker = self.format.tracker(self.run, back);
        let times = self.evidence.rollbacks.iter().filter(|one| one.run == self.run.id.as_str() && one.to == exact);
        let times = if request.force { 0 } else { times.count() };
        report.obstacles = rollback::obstacles(self.run, git_impact.as_ref(), times, &again);
        let backup = keep::plan(self, back, report);
        let doubts =
            git_impact.iter().flat_map(|git_impact| [self.merged_long_ago(git_impact), self.git_silent(git_impact)]);
        let mut findings: Vec<Finding> = doubts.flatten().collect();
        let Some(locked) = locked else {
            report.next = match report.obstacles.first() {
                Some(obstacle) => Some(obstacle.command.clone()),
                None if report.has_commits_in_doubt() => {
                    report.impact.unrecorded.as_ref().map(|step| rollback::record_commit(self.run, step))
                }
                None => Some(again.yes()),
            };
            return Ok(findings);
        };
        refuse_obstacles(&report.obstacles, &again)?;
        if let Some(backup) = backup {
            keep::keep(self, locked, &change, backup, git_impact.as_ref(), report)?;
        }
        findings.extend(self.write(locked, &change, &edits, report)?);
        Ok(findings)
    }

    /// Returns the rollback to a target, before it is admitted.
    fn back_to(&self, target: &ResolvedTarget, reason: Option<String>) -> RollBack {
        let (to, reopened) = (target.meaning.exact(self.run), target.reopened.clone());
        RollBack { to, reason, reopened, ..RollBack::default() }
    }

    /// Admits the change and computes its edits. A checkpoint is restored byte for byte, without the dialect.
    fn admitted(&self, back: RollBack, target: &ResolvedTarget, force: bool) -> Result<(Change, Vec<Edit>), OpError> {
        let at = self.opened.files.clock.now;
        if let Some(edits) = &target.edits {
            if edits.is_empty() {
                return Err(OpError::Refused(Refusal {
                    kind: RefusalKind::No(No::Already),
                    message: format!("the state of {} is what {} holds", self.run.id, back.to),
                    hints: vec![rollback::listing_command(self.run).into()],
                }));
            }
            let back = RollBack { from: self.run.position.clone(), ..back };
            let kind = ChangeKind::RollBack(Box::new(back)).without_secrets();
            return Ok((Change { at, kind }, edits.clone()));
        }
        let guard = ChangeLimits { force, ..ChangeLimits::of(self.ctx.project.config.limits.attempts) };
        let change = Change { at, kind: ChangeKind::RollBack(Box::new(back)).without_secrets() };
        match self.opened.draft(&self.evidence, change, guard)? {
            ChangeDraft::Checkpoint(PreparedChange { change, edits, .. }) => Ok((change, edits)),
            ChangeDraft::Already(message) => {
                Err(OpError::Refused(Refusal { kind: RefusalKind::No(No::Already), message, hints: Vec::new() }))
            }
        }
    }

    /// Asks git for the work of the reopened steps; `None` if no step is reopened.
    fn git_impact(&self, report: &RollbackReport) -> Option<GitImpact> {
        if self.ctx.project.git.is_none() || report.impact.reopened.is_empty() {
            return None;
        }
        let workspace = &self.run.workspace;
        let has_own_branch = workspace.branch.is_some() || workspace.place().is_some();
        let config = &self.ctx.project.config.nine_step;
        let ours = self.ours();
        let first = report.impact.reopened.iter().find_map(|id| self.run.step(id)?.commit.as_deref());
        let work = AbandonedWork {
            folder: &self.folder,
            base: report.impact.base.as_deref(),
            since: report.impact.since.filter(|_| has_own_branch),
            first,
            branch: workspace.branch.as_deref(),
            main: workspace.base_branch.as_deref().or(config.main_branch.as_deref()),
            ours: &ours,
        };
        let git_impact = store::git_impact(&work)?;
        let main_folder = shown(self.ctx, &self.ctx.project.root);
        Some(GitImpact { folder: self.shown_folder.clone(), main_folder, ..git_impact })
    }

    /// Returns the files and folders of the state and of Piton's data.
    fn ours(&self) -> Vec<Utf8PathBuf> {
        let opened = &self.opened;
        let files = &opened.files;
        let state = self.run.state_files.iter();
        let copies = state.clone().filter_map(|path| opened.dialect.copies().backup_of(path));
        let mut ours: Vec<Utf8PathBuf> = state.cloned().chain(copies).map(|path| path.under(&files.root)).collect();
        ours.push(files.own.home.clone());
        let place = keep::backup_folder(self, &RollBack::default()).and_then(|folder| folder.parent());
        ours.extend(place.map(|place| place.under(&files.root)));
        ours
    }

    fn merged_long_ago(&self, git_impact: &GitImpact) -> Option<Finding> {
        rollback::is_old_merge(git_impact, self.opened.files.clock.now).then(|| {
            let main = git_impact.main.as_deref().unwrap_or("the main branch");
            let message = format!("the work was merged into {main} more than 7 days ago: other work may depend on it");
            let log =
                format!("git -C {} log --oneline {}", engine::quoted(&git_impact.main_folder), engine::quoted(main));
            Finding::new(FindingCode::RollbackLate, message).fix(Suggested::Other(log))
        })
    }

    /// Returns a finding if git does not answer, because the state is rolled back regardless.
    fn git_silent(&self, git_impact: &GitImpact) -> Option<Finding> {
        git_impact.dirty.is_none().then(|| {
            let folder = engine::quoted(&git_impact.folder);
            let message = format!("git does not answer in {folder}: neither commits nor git commands are shown");
            Finding::new(FindingCode::GitSilent, message)
                .fix(Suggested::Other(format!("git -C {folder} status --short")))
        })
    }

    /// Writes the state and the records of the rollback. Returns findings about records that could not be written.
    fn write(
        &self,
        locked: &LockedRun<'_>,
        change: &Change,
        edits: &[Edit],
        report: &mut RollbackReport,
    ) -> Result<impl Iterator<Item = Finding>, OpError> {
        let back = if let ChangeKind::RollBack(back) = &change.kind {
            // Without a command that takes them back it is not known which commits these are.
            let printed = report.git.as_ref().is_some_and(|git| !git.commands.is_empty());
            let commits = report.commits.iter().filter(|_| printed).map(GivenUpCommit::from).collect();
            Some(RollBackRecord { commits, ..back_record(self.run, change.at, back) })
        } else {
            None
        };
        let said = engine::statement(self.run, change).into_iter().collect();
        let entry = Entry { back, said, ..locked.entry(change.kind.as_str(), None) };
        let (replaced, edits) = locked.commit(entry, edits.to_vec())?;
        let edits = edits.as_slice();
        report.written = true;
        report.state_files = edits.iter().map(|edit| edit.path.clone()).collect();
        let run = &self.opened.candidate.name;
        report.undo = replaced.map(|id| Suggested::of(Verb::Restore, run).option("to", id).yes());
        report.next = Some(Suggested::of(Verb::Plan, run));
        let mut findings = Vec::new();
        if matches!(change.kind, ChangeKind::RollBack(_)) {
            findings.extend(keep::log(self, locked, change, report));
        }
        Ok(findings.into_iter())
    }
}

/// Refuses a run whose format has no steps to go back by, with the version that leads to a target.
fn not_offered(opened: &OpenedRun, to: Option<&str>) -> OpError {
    let run = &opened.candidate.name;
    let to = to.filter(|to| *to != "last").map(|to| to.strip_prefix("step:").unwrap_or(to));
    let is_it = |version: &Version<'_>| {
        let Some((change, step)) = version.replaced_by() else { return false };
        let begins = |to: &str| change == "begin" && step.is_some_and(|step| step.as_str() == to);
        to.is_none_or(|to| begins(to) || version.name == to)
    };
    let is_way = |version: &Version<'_>| is_it(version) && versions::leads_elsewhere(opened, version);
    let version = versions::recorded(opened).find(is_way);
    let version = version.map(|version| Suggested::of(Verb::Restore, run).option("to", &version.name));
    let message =
        format!("only a nine-step run goes back by its steps; {} goes back by its versions", opened.candidate.name);
    let hints = version.into_iter().chain([Suggested::of(Verb::History, run)]).map(Fix::from).collect();
    OpError::Refused(Refusal { kind: RefusalKind::No(No::Invalid), message, hints })
}

/// Returns a folder as written in commands: relative to the project if possible.
fn shown(ctx: &ProjectContext, folder: &camino::Utf8Path) -> String {
    match folder.strip_prefix(&ctx.project.root) {
        Ok(below) if below.as_str().is_empty() => ".".to_owned(),
        Ok(below) => below.as_str().to_owned(),
        Err(_) => folder.as_str().to_owned(),
    }
}

fn refuse_obstacles(obstacles: &[rollback::Obstacle], again: &Suggested) -> Result<(), OpError> {
    let Some(first) = obstacles.first() else { return Ok(()) };
    let message = obstacles.iter().map(|obstacle| obstacle.message.as_str()).collect::<Vec<_>>().join("; ");
    let mut hints: Vec<Fix> = obstacles.iter().map(|obstacle| obstacle.command.clone().into()).collect();
    if !again.begins(&first.command) {
        hints.push(format!("then: `{}`", again.clone().yes()).into());
    }
    Err(OpError::Refused(Refusal { kind: RefusalKind::Person, message, hints }))
}
