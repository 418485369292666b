//! `drop`: removes the worktree and the branch of a session whose work is not wanted, and archives its records.

use super::{
    InspectedSession, SessionStatus, clean, inspect, named,
    report::{Cleaned, DropReport, OwnWork},
};
use crate::{
    dialect::piton::{
        Session,
        facts::OutlineStep,
        state::{RunPhase, State},
    },
    model::{StepId, quoted},
    ops::{OpError, project_context::ProjectContext, report::Report, trust},
    store::{self, worktree},
};

/// Options of a drop.
#[derive(Clone, Debug, Default)]
pub(crate) struct DropRequest {
    pub(crate) id: String,
    /// Also what is uncommitted or not merged is lost.
    pub(crate) discard: bool,
    /// Only report what would be done.
    pub(crate) dry_run: bool,
}

/// Drops a session; the caller asks for confirmation. Refuses over work that is nowhere else, unless that is to be discarded.
pub(crate) fn drop_session(ctx: &ProjectContext, request: &DropRequest) -> Result<Report<DropReport>, OpError> {
    let location = named(ctx, Some(&request.id))?;
    trust::check(ctx, &location)?;
    let InspectedSession { opened, row, .. } = inspect(ctx, &location)?;
    let id = row.id.clone();
    if row.status == SessionStatus::Running {
        return Err(OpError::LiveOwner(format!("session {id} is running: end it first")));
    }
    let Ok(session) = Session::read(&opened.files) else {
        let message = format!("{id} cannot be dropped: it cannot be read");
        return Err(OpError::InTheWay { message, hints: vec![format!("piton sessions show {}", quoted(id.as_str()))] });
    };
    let header = &session.header;
    let base = header.base_branch.as_deref().or(header.base_commit.as_deref()).unwrap_or("HEAD");
    let folder = header.worktree.as_ref().filter(|folder| store::is_folder(folder));
    let branch = header.branch.as_ref().filter(|branch| store::git::branch_exists(&header.root, branch) != Some(false));
    let items = clean::item_worktrees(header);
    let mut work = OwnWork {
        files: folder.map(|folder| clean::uncommitted(folder)).unwrap_or_default(),
        commits: branch.map(|branch| clean::unmerged(header, base, branch)).unwrap_or_default(),
    };
    for item in &items {
        let of_item = clean::work_in(header, item, base);
        work.files.extend(of_item.files);
        work.commits.extend(of_item.commits);
    }
    let (uncommitted, commits) = (work.files.len(), work.commits.len());
    if let Some(lost) = work.in_words().filter(|_| !request.discard) {
        let message = format!("{lost} of session {id} would be lost; nothing was done");
        let name = quoted(id.as_str());
        let look =
            folder.filter(|_| uncommitted > 0).map(|folder| format!("git -C {} status", quoted(folder.as_str())));
        let log =
            branch.filter(|_| commits > 0).map(|branch| format!("git log {}", quoted(&format!("{base}..{branch}"))));
        let hints = look.into_iter().chain(log).chain([format!("to lose it: piton drop {name} --discard")]);
        return Err(OpError::NotConfirmed { message, hints: hints.collect() });
    }
    let (item_branches, item_folders) = items.into_iter().map(|item| (item.branch, item.folder)).unzip();
    let mut over = Cleaned {
        id: id.clone(),
        worktree: header.worktree.as_ref().filter(|_| folder.is_some()).map(ToString::to_string),
        branch: branch.cloned(),
        item_branches,
        item_folders,
        records: clean::records_in(ctx, &location, &header.session),
    };
    if !request.dry_run {
        over = match clean::put_in_archive(ctx, &location, over, worktree::discard)? {
            Ok(over) => over,
            Err(kept) => {
                let hints = kept.fix.into_iter().collect();
                return Err(OpError::InTheWay { message: format!("{id} is kept: {}", kept.reason), hints });
            }
        };
    }
    let finally = if header.worktree.is_none() || folder.is_some() { open_final(&session.state) } else { Vec::new() };
    let progress = format!("{}, {} of {} steps done", row.status.as_str(), row.progress.done, row.progress.total);
    Ok(Report::ok(DropReport {
        dry_run: request.dry_run,
        dropped: over,
        progress,
        uncommitted,
        uncommitted_files: OwnWork::shown(&work.files),
        commits,
        unmerged_commits: OwnWork::shown(&work.commits),
        finally,
    }))
}

/// Returns the steps that run when the run ends, and did not yet.
fn open_final(state: &State) -> Vec<StepId> {
    let is_over = |step: &OutlineStep| {
        let recorded = state.steps.get(step.id.as_str());
        recorded.is_some_and(|step| step.status.satisfies())
    };
    let steps = state.workflow.steps.iter().filter(|_| state.run.status != RunPhase::Completed);
    steps.filter(|step| step.is_final() && !is_over(step)).map(|step| step.id.clone()).collect()
}
