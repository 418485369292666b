//! `sessions import`: imports a session of Prodigy. Its original files stay unchanged.

use camino::{Utf8Path, Utf8PathBuf};

use super::report::ImportReport;
use crate::{
    dialect::piton::{
        Session, prodigy,
        record::{Header, Source},
    },
    model::{About, Change, ChangeKind, Edit, Progress, ReadSpec, RelPath, Run, RunId, RunStatus, StartSpec, quoted},
    ops::{OpError, opened_run::OpenedRun, project_context::ProjectContext, relative_workflow, report::Report},
    store::{self, CheckpointMeta, Project, RunLock, sessions},
};

/// Imports a session of Prodigy. `in_place`: it continues in the repository itself, not in its worktree.
pub(crate) fn import(ctx: &ProjectContext, id: &str, in_place: bool) -> Result<Report<ImportReport>, OpError> {
    let (locations, findings) = ctx.sessions();
    let guests: Vec<&super::RunLocation> = locations.iter().filter(|location| location.guest().is_some()).collect();
    let Some(location) = guests.iter().find(|location| location.candidate.name == id) else {
        let known = guests.iter().map(|location| location.candidate.name.clone()).collect();
        let searched = ctx.prodigy_home().map_or_else(|| "no home of Prodigy".to_owned(), ToString::to_string);
        return Err(OpError::UnknownRun { wanted: id.to_owned(), searched, known, near: Vec::new() });
    };
    refuse_twice(ctx, &locations, id)?;
    let opened = ctx.read(location)?;
    check_workflow(ctx, &opened)?;
    let run = opened.run()?;
    if run.status == RunStatus::Completed {
        let message = format!("{id} is complete: there is nothing to resume");
        return Err(OpError::InTheWay {
            message,
            hints: vec![format!("piton plan {} --prodigy-home {}", quoted(id), quoted(location.root.as_str()))],
        });
    }
    let worktree = if in_place { None } else { Some(worktree(ctx, &opened, run, id)?) };
    let header = header(ctx, &opened, run, worktree)?;
    let change = start(ctx, run, &header);
    let taken = prodigy::import(&opened.files, &header, change)?;
    write(ctx, &header, &taken.edits)?;
    let folder = header.work_folder().as_str().to_owned();
    let body = ImportReport {
        from: id.to_owned(),
        resume: format!("piton resume {}", quoted(&header.session)),
        session: RunId::new(header.session),
        progress: Progress { done: taken.done, total: taken.total, tolerated: 0 },
        folder,
    };
    let findings = findings.into_iter().chain(opened.loaded.findings).collect();
    Ok(Report { findings, ..Report::ok(body) })
}

/// Refuses a second import: two sessions would work in one worktree.
fn refuse_twice(ctx: &ProjectContext, locations: &[super::RunLocation], id: &str) -> Result<(), OpError> {
    for location in locations {
        let opened = ctx.read(location)?;
        let Ok(session) = Session::read(&opened.files) else { continue };
        if session.header.imported_from.as_deref() == Some(id) {
            let name = &session.header.session;
            let message = format!("{id} was already imported as {name}");
            return Err(OpError::InTheWay { message, hints: vec![format!("piton resume {}", quoted(name))] });
        }
    }
    Ok(())
}

/// Returns the worktree of the session, which has to belong to this repository.
fn worktree(ctx: &ProjectContext, opened: &OpenedRun, run: &Run, id: &str) -> Result<Utf8PathBuf, OpError> {
    let folder = run.workspace.worktree.as_ref().map(|path| path.under(&opened.files.root));
    let folder = folder
        .filter(|folder| store::is_folder(folder))
        .or_else(|| relative_workflow::listed_worktree(&ctx.project, id));
    let Some(folder) = folder.filter(|folder| store::is_folder(folder)) else {
        let message = format!("the worktree of {id} is gone, and with it the results of its steps");
        let again = format!("{} --no-worktree, when that is in the repository itself", take_over(opened));
        return Err(OpError::InTheWay { message, hints: vec![again] });
    };
    let owner = Project::open(&folder, &ctx.environment)?.root;
    if owner != ctx.project.root {
        let message = format!("the worktree of {id} belongs to {owner}, not to {}", ctx.project.root);
        let there =
            format!("piton --project {} {}", quoted(owner.as_str()), take_over(opened).trim_start_matches("piton "));
        return Err(OpError::InTheWay { message, hints: vec![there] });
    }
    Ok(folder)
}

/// Refuses a session whose workflow file is nowhere.
fn check_workflow(ctx: &ProjectContext, opened: &OpenedRun) -> Result<(), OpError> {
    let Some((file, places)) = relative_workflow::places(&ctx.project, opened) else { return Ok(()) };
    if relative_workflow::found(&ctx.project, opened).is_some() {
        return Ok(());
    }
    let id = &opened.candidate.name;
    let places: Vec<String> = places.iter().map(|root| file.under(root).into_string()).collect();
    let message = format!("the workflow file of {id} does not exist: neither {}", places.join(" nor "));
    Err(OpError::InTheWay { message, hints: vec!["run the workflow again: `piton run FILE`".to_owned()] })
}

fn take_over(opened: &OpenedRun) -> String {
    opened.guest().map(|guest| guest.command).unwrap_or_default()
}

fn header(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    run: &Run,
    worktree: Option<Utf8PathBuf>,
) -> Result<Header, OpError> {
    let source = opened.candidate.reads.iter().find_map(|read| match read {
        ReadSpec::Elsewhere { root, file, .. } => Some((root, file)),
        ReadSpec::File(_) | ReadSpec::Contents { .. } | ReadSpec::Tree { .. } | ReadSpec::Names { .. } => None,
    });
    let Some((folder, file)) = source else {
        let message = format!("{} does not say where its workflow file is", run.id);
        return Err(OpError::InTheWay { message, hints: vec!["run the workflow again: `piton run FILE`".to_owned()] });
    };
    let root = ctx.project.root.clone();
    let workflow = below(&root, folder, file).unwrap_or_else(|| Source { root: folder.clone(), file: file.clone() });
    let id = sessions::new_id(ctx.clock.now);
    Ok(Header {
        branch: branch(run, worktree.as_deref()),
        base_branch: run.workspace.base_branch.clone(),
        imported_from: Some(run.id.as_str().to_owned()),
        worktree,
        ..Header::new(ctx.home.places(), &id, &root, workflow, ctx.clock.now)
    })
}

/// Returns the branch of a session: the one that its worktree has, where its metadata does not name it.
fn branch(run: &Run, worktree: Option<&Utf8Path>) -> Option<String> {
    let worktree = worktree?;
    run.workspace.branch.clone().or_else(|| store::git::head(worktree)?.branch)
}

/// Returns a workflow file relative to the repository, if it is inside.
fn below(root: &Utf8Path, folder: &Utf8Path, file: &RelPath) -> Option<Source> {
    let file = RelPath::below(&file.under(folder), root)?;
    Some(Source { root: root.to_owned(), file })
}

fn start(ctx: &ProjectContext, run: &Run, header: &Header) -> (About, Change) {
    let spec = StartSpec {
        branch: header.branch.clone(),
        base_branch: header.base_branch.clone(),
        ..StartSpec::new(&run.workflow, &run.workflow)
    };
    (ctx.about(), Change { at: ctx.clock.now, kind: ChangeKind::Start(Box::new(spec)) })
}

fn write(ctx: &ProjectContext, header: &Header, edits: &[Edit]) -> Result<(), OpError> {
    let home = &ctx.home;
    home.create(&header.session)?;
    ctx.project.trusted.enter_new(&header.session, edits, home.root())?;
    let lock = RunLock::acquire(home.root(), &home.folder(&header.session), ctx.project.lock_timeout)?;
    store::commit(&lock, edits, &CheckpointMeta::new("import"))?;
    Ok(())
}
