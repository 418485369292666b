//! What was typed in a change, resolved to steps, parts, files and commits of the run.

use std::cmp::Ordering;

use camino::Utf8Path;

use super::{OpError, opened_run::OpenedRun, plan, project_context::ProjectContext};
use crate::{
    model::{ChangeKind, Outcome, RelPath, Run, Status, Step, StepId, StepKind},
    store,
};

/// Resolves typed ids to the ids of the run.
pub(super) fn resolve_ids(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    run: &Run,
    kind: ChangeKind,
) -> Result<ChangeKind, OpError> {
    let find = |step: &StepId, part: Option<String>| -> Result<(StepId, Option<String>), OpError> {
        let step = plan::resolve(run, step.as_str())?;
        let part = part.map(|part| plan::resolve_part(run, &step, &part)).transpose()?;
        Ok((step, part))
    };
    Ok(match kind {
        ChangeKind::Begin { step, part, agent, attempt, reopens } => {
            let (step, part) = find(&step, part)?;
            ChangeKind::Begin { step, part, agent, attempt, reopens }
        }
        ChangeKind::Finish(outcome) => {
            let (step, part) = find(&outcome.step, outcome.part.clone())?;
            let outputs =
                outcome.outputs.iter().map(|path| resolve_output(ctx, opened, path)).collect::<Result<_, _>>()?;
            // Without an error, a failed reviewer's findings or summary are what the next agent has to address.
            let findings = Some(outcome.findings.join("\n")).filter(|findings| !findings.is_empty());
            let findings = findings.or_else(|| outcome.summary.clone()).filter(|_| outcome.status == Status::Failed);
            let error = outcome.error.clone().or(findings);
            let commit = outcome.commit.as_deref().map(|name| resolve_commit(ctx, opened, run, name)).transpose()?;
            let to_step = outcome.to_step.as_ref().map(|to| plan::resolve(run, to.as_str())).transpose()?;
            ChangeKind::Finish(Box::new(Outcome { step, part, outputs, error, commit, to_step, ..*outcome }))
        }
        ChangeKind::Approve { step, by, note, phases, choice } => {
            ChangeKind::Approve { step: gate_of(run, find(&step, None)?.0), by, note, phases, choice }
        }
        ChangeKind::Skip { step, part, by, reason } => {
            let (step, part) = find(&step, part)?;
            ChangeKind::Skip { step, part, by, reason }
        }
        ChangeKind::Pause { .. }
        | ChangeKind::Abort { .. }
        | ChangeKind::Resume { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Repair { .. }
        | ChangeKind::RollBack(_)
        | ChangeKind::Start(_) => kind,
    })
}

/// Returns the gate of a group that is named after one of its steps, for `approve ARCHITECTURE`.
fn gate_of(run: &Run, step: StepId) -> StepId {
    let group = run.step(&step).and_then(|step| step.group.as_deref()).filter(|group| *group == step.as_str());
    let in_group = |gate: &&Step| gate.kind == StepKind::Gate && gate.group.as_deref() == group;
    let gate = group.and_then(|_| run.steps.iter().find(in_group));
    gate.map_or_else(|| step.clone(), |gate| gate.id.clone())
}

/// Resolves an output path: relative to the current folder, else to the root. A missing output is refused, because it could not
/// serve as evidence later.
fn resolve_output(ctx: &ProjectContext, opened: &OpenedRun, path: &RelPath) -> Result<RelPath, OpError> {
    let root = opened.base();
    let here = ctx.project.cwd.strip_prefix(root).ok().filter(|here| !here.as_str().is_empty());
    let from_here = here.and_then(|here| RelPath::parse(here.as_str()).ok()?.join(path.as_str()).ok());
    let is_there = |path: &RelPath| !store::describe(root, std::slice::from_ref(path)).is_empty();
    let found = from_here.into_iter().chain([path.clone()]).find(is_there);
    found.ok_or_else(|| OpError::Usage {
        message: format!("the output {path} does not exist; nothing was recorded"),
        hints: vec!["name files below the project, relative to the current folder or to its root".into()],
    })
}

/// Returns why a commit cannot be the result of a step of a run: it was there before the run began. Git keeps whole seconds; in the one in which
/// the run began, only the branch that it goes into tells.
fn no_evidence(worktree: &Utf8Path, run: &Run, sha: &str) -> Option<&'static str> {
    let began = run.started_at?.unix_seconds();
    let made = store::git::made_at(worktree, sha)?.unix_seconds();
    let own = run.workspace.branch.as_deref();
    let bases = run.workspace.base_branch.as_deref().into_iter().chain(["main", "master"]);
    let mut bases = bases.filter(|base| own.is_some() && Some(*base) != own);
    match made.cmp(&began) {
        Ordering::Less => Some("is older than the run"),
        Ordering::Equal if bases.any(|base| store::git::has_commit(worktree, base, sha)) => {
            Some("is on the branch that the run began on")
        }
        Ordering::Equal | Ordering::Greater => None,
    }
}

/// Resolves a commit with git, in the folder that the run works in. Without a repository or git only the id of a commit is taken.
fn resolve_commit(ctx: &ProjectContext, opened: &OpenedRun, run: &Run, name: &str) -> Result<String, OpError> {
    let unknown = |message: String| OpError::Usage {
        message: format!("{message}; nothing was recorded"),
        hints: vec!["name a commit of the repository: `HEAD`, a branch, or the id that `git log` shows".into()],
    };
    let root = opened.base();
    let worktree = Some(run.workspace.folder(root)).filter(|path| store::is_folder(path));
    let worktree = worktree.as_deref().unwrap_or(root);
    match ctx.project.git.as_ref().and_then(|_| store::git::resolve_commit(worktree, name)) {
        Some(sha) => match no_evidence(worktree, run, &sha) {
            Some(why) => Err(unknown(format!("`{name}` {why}, so it is not the work of {}", run.id))),
            None => Ok(sha),
        },
        None if ctx.project.git.is_some() && store::git::version().is_some() => {
            Err(unknown(format!("git knows no commit `{name}`")))
        }
        None if store::git::is_sha(name) => Ok(name.to_owned()),
        None => Err(unknown(format!("`{name}` is not the id of a commit"))),
    }
}
