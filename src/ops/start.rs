//! `start`: starts a new run, never over an unfinished one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Exit, OpError, alike, archive, commit, entries,
    error::{hides_runs, is_closed},
    lifecycle,
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{CheckpointReport, Report, Stage},
    run_location::RunLocation,
    startable, workflow_file,
};
use crate::{
    dialect::{
        DIALECTS, Dialect, by_id,
        piton::{self, facts::Outline, record::Header},
    },
    engine,
    model::{
        Change, ChangeKind, DialectId, Edit, FileSet, Finding, Fix, Listing, ListingEntry, Local, No, RelPath, RunId,
        StartSpec, Suggested, Verb,
    },
    store::{self, RunLock, Scope},
    workflow::inputs,
};

/// Number of workflows that are offered where no run was found.
const STARTS_SHOWN: usize = 6;

/// How a run is started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StartOptions {
    /// Archive an existing run of the same name first, instead of refusing.
    pub(crate) archives_existing: bool,
    /// Work in a worktree that is made for the run.
    pub(crate) in_worktree: bool,
}

/// Starts a run. The worktree of one that works in its own is not made here.
pub(crate) fn start(
    ctx: &ProjectContext,
    mut spec: StartSpec,
    options: StartOptions,
) -> Result<Report<CheckpointReport>, OpError> {
    startable::check_feature_name(&spec.feature)?;
    check_all_was_read(ctx)?;
    ctx.project.trusted.prepare()?;
    if options.in_worktree {
        spec.branch = spec.branch.or_else(|| Some(format!("piton/{}", spec.feature)));
    }
    spec.base_branch = spec.base_branch.or_else(|| store::git::head(&ctx.project.root).and_then(|head| head.branch));
    let feature = spec.feature.clone();
    let kind = ChangeKind::Start(Box::new(spec.clone())).without_secrets();
    let change = Change { at: ctx.clock.now, kind };
    let (dialect, edits, location) = match startable::built_in(&spec.workflow) {
        Some(_) if !spec.inputs.is_empty() => {
            return Err(OpError::Usage {
                message: format!("the workflow `{}` has no inputs", spec.workflow),
                hints: vec!["leave out --input".into()],
            });
        }
        Some(_) if options.in_worktree => {
            return Err(OpError::Usage {
                message: format!("the workflow `{}` says itself where its steps work", spec.workflow),
                hints: vec!["leave out --worktree".into()],
            });
        }
        Some(dialect) => {
            let edits = dialect.edit(&empty(ctx, &feature)?, &change)?;
            let location = location_of(ctx, dialect, &edits)?;
            (dialect, edits, location)
        }
        None => {
            let (edits, location) = own_run(ctx, &spec, change.clone(), options.in_worktree)?;
            (by_id(DialectId::Piton), edits, location)
        }
    };
    clear_path(ctx, &location, &spec, options)?;
    if options.in_worktree {
        check_free(ctx, &spec)?;
    }
    if location.root == ctx.home.root() {
        ctx.home.create(&location.candidate.name)?;
    }
    enter(ctx, &location, &edits)?;
    let own = store::journals::folder_of(&ctx.project, &location.root, &location.candidate);
    let lock = RunLock::acquire(&location.root, &own, ctx.project.lock_timeout)?;
    commit::commit_start(ctx, &location.candidate, &lock, &edits, change.at)?;
    // Under the same lock, so that the report is about this run.
    let files = store::file_set_locked(&ctx.project, &lock, &location.root, &location.candidate, ctx.clock);
    let opened = OpenedRun::new(location.candidate.clone(), files, &ctx.project.trusted);
    drop(lock);
    let (also_open, hidden) = also_open(ctx, &feature)?;
    let shown = startable::shown_by_git(&ctx.project, dialect, &location.root, &edits);
    let body = CheckpointReport {
        run: RunId::new(&feature),
        change: "start".to_owned(),
        step: None,
        recorded: true,
        is_setback: false,
        message: format!("run {feature} has begun{also_open}"),
        revision: opened.revision(),
        files: edits.into_iter().map(|edit| edit.path).collect(),
        next: Some(Suggested::of(Verb::Plan, &feature)),
        brief: None,
        brief_file: None,
    };
    let findings = opened.loaded.findings.into_iter().chain(hidden).chain(shown).collect();
    Ok(Report { exit: Exit::Ok, body, findings })
}

/// Refuses while a place where a run may lie cannot be looked at: it may be the one that would be started.
fn check_all_was_read(ctx: &ProjectContext) -> Result<(), OpError> {
    let findings = ctx.locations().1;
    match findings.iter().find(|finding| is_closed(finding)) {
        Some(closed) => Err(OpError::Unreadable { message: closed.message.clone(), findings }),
        None => Ok(()),
    }
}

/// Enters a run of a workflow file into the index, before its first record is written.
fn enter(ctx: &ProjectContext, location: &RunLocation, edits: &[Edit]) -> Result<(), OpError> {
    let Some((home, id)) = location.own_run() else { return Ok(()) };
    Ok(ctx.project.trusted.enter_new(id, edits, home)?)
}

/// Number of other open runs that a start names.
const OPEN_SHOWN: usize = 3;

/// Names the other runs that are open, with where they are, and the folders that may hold more.
fn also_open(ctx: &ProjectContext, feature: &str) -> Result<(String, Vec<Finding>), OpError> {
    let (locations, mut hidden) = ctx.locations();
    hidden.retain(hides_runs);
    let mut others: Vec<RunLocation> =
        locations.into_iter().filter(|location| location.candidate.name != feature).collect();
    let entries = entries::entries(ctx, &mut others, entries::Dating::Files)?.into_iter().filter(|entry| entry.shown);
    let named = entries.take(OPEN_SHOWN).map(|entry| format!("{} ({})", entry.row.id, entry.row.position));
    let named: Vec<String> = named.collect();
    let also = if named.is_empty() { String::new() } else { format!("; also open: {}", named.join(", ")) };
    Ok((also, hidden))
}

/// Returns what can be done in a project without an open run: put away what is over, or start a new one.
pub(crate) fn ways_to_start(ctx: &ProjectContext) -> Vec<String> {
    let over = over(ctx);
    let put_away = over.first().map(|first| match over.len() {
        1 => Suggested::of(Verb::Close, first).comment("it is over"),
        count => Suggested::new(Verb::List).flag("all").comment(&format!("{count} runs are over")),
    });
    put_away.map(String::from).into_iter().chain(new_runs(ctx)).collect()
}

/// Returns the runs that are over and still in the way of a new one.
fn over(ctx: &ProjectContext) -> Vec<String> {
    let is_over = |entry: &entries::RunEntry| matches!(entry.row.lifecycle.stage, Stage::Finished | Stage::Aborted);
    let listed = entries::entries(ctx, &mut ctx.locations().0, entries::Dating::Files).unwrap_or_default();
    let of_piton = listed.into_iter().filter(|entry| {
        let claim = entry.location.candidate.claim;
        is_over(entry) && !claim.is_implied() && !claim.is_guest()
    });
    let ended = ctx.ended_runs().ended.into_iter().map(|location| location.candidate.name);
    of_piton.map(|entry| entry.location.candidate.name).chain(ended).collect()
}

/// Returns the commands that start a run: of the systems whose folders the project has, and of its own workflows.
fn new_runs(ctx: &ProjectContext) -> Vec<String> {
    let listings = ctx.listings(Scope::Whole);
    let folders = || listings.iter().flat_map(|listing| &listing.entries).filter(|entry| entry.is_dir);
    let config = &ctx.project.config;
    let found: Vec<&&dyn Dialect> = DIALECTS
        .iter()
        .filter(|dialect| folders().any(|folder| dialect.keeps_state_in(&folder.path, config)))
        .collect();
    let own: BTreeSet<String> =
        listings.first().map(workflow_file::own_files).unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    if found.is_empty() && own.is_empty() {
        let start = Suggested::of(Verb::Start, "nine-step").option("feature", "NAME");
        return vec![format!("to start one: `{start}`, or /workflow-exec")];
    }
    let startable =
        found.iter().filter(|dialect| dialect.start().can_start()).map(|dialect| dialect.id().as_str().to_owned());
    let start = |name: String| {
        // A file of a run that is over can be where the new one goes.
        let archive = is_in_the_way(ctx, &name).then_some("archive");
        let start = Suggested::of(Verb::Start, &name).option("feature", "NAME").flags(archive);
        format!("to start one: `{start}`")
    };
    own.into_iter().chain(startable).take(STARTS_SHOWN).map(start).collect()
}

/// Tells whether a run of a built-in workflow would go where another run is, under any name.
fn is_in_the_way(ctx: &ProjectContext, workflow: &str) -> bool {
    let Some(dialect) = startable::built_in(workflow) else { return false };
    let change = Change { at: ctx.clock.now, kind: ChangeKind::Start(Box::new(StartSpec::new(workflow, "NAME"))) };
    let new = empty(ctx, "NAME").and_then(|files| location_of(ctx, dialect, &dialect.edit(&files, &change)?));
    new.is_ok_and(|new| !in_the_way(ctx, &new, "NAME").is_empty())
}

fn own_workflow(
    ctx: &ProjectContext,
    spec: &StartSpec,
    in_worktree: bool,
) -> Result<workflow_file::LoadedWorkflow, OpError> {
    let known = DIALECTS.iter().filter(|dialect| dialect.start().can_start()).map(|dialect| dialect.id().as_str());
    let found = workflow_file::find(&ctx.project, &spec.workflow, in_worktree)?
        .ok_or_else(|| workflow_file::unknown(&ctx.project, &spec.workflow, known))?;
    if spec.phases.is_some() {
        return Err(OpError::Usage {
            message: "--phases is not for a workflow file: the file says which steps there are".to_owned(),
            hints: vec!["leave out --phases".into()],
        });
    }
    Ok(found)
}

/// Returns the edits that create a run of a workflow file, for agents, and where it will be.
fn own_run(
    ctx: &ProjectContext,
    spec: &StartSpec,
    change: Change,
    in_worktree: bool,
) -> Result<(Vec<Edit>, RunLocation), OpError> {
    let found = own_workflow(ctx, spec, in_worktree)?;
    let worktree = in_worktree.then(|| ctx.home.worktree(&spec.feature));
    let head = store::git::head(&ctx.project.root).filter(|_| in_worktree).and_then(|head| head.sha);
    let inputs = inputs::values(&found.workflow.inputs, &spec.inputs)
        .map_err(|error| OpError::Usage { message: error.message, hints: vec![error.hint.into()] })?;
    let header = Header {
        worktree,
        branch: spec.branch.clone(),
        base_branch: spec.base_branch.clone(),
        base_commit: head,
        inputs,
        is_attended: true,
        description: spec.description.clone(),
        issues: spec.issues.clone(),
        included: found.included,
        ..Header::new(ctx.home.places(), &spec.feature, &ctx.project.root, found.source, change.at)
    };
    let outline = Outline::of(&found.workflow, found.sha256);
    let edits = piton::start(&header, (ctx.about(), change), outline, None);
    let candidate = piton::candidate(&header.session, Some(&header));
    let (edits, candidate) = edits.zip(candidate).expect("the name of the feature was checked");
    Ok((edits, RunLocation { root: ctx.home.root().to_owned(), candidate }))
}

fn clear_path(ctx: &ProjectContext, new: &RunLocation, spec: &StartSpec, options: StartOptions) -> Result<(), OpError> {
    check_unlike(ctx, &spec.feature)?;
    clear(ctx, &mut in_the_way(ctx, new, &spec.feature), spec, options)
}

/// Refuses a name that a person, or a file system, takes for that of another run.
fn check_unlike(ctx: &ProjectContext, feature: &str) -> Result<(), OpError> {
    let looks = alike::skeleton(feature);
    let names = ctx.locations().0.into_iter().map(|location| location.candidate.name);
    let Some(other) = names.filter(|name| name != feature).find(|name| alike::skeleton(name) == looks) else {
        return Ok(());
    };
    Err(OpError::InTheWay {
        why: No::Already,
        message: format!("{feature} looks like {other}, the name of a run that is here"),
        hints: vec![Suggested::of(Verb::Plan, &other).into(), "or give the run another name, with --feature".into()],
    })
}

/// Refuses a worktree where one of an earlier run of that name is left, or its branch: the new run would go on with that work.
fn check_free(ctx: &ProjectContext, spec: &StartSpec) -> Result<(), OpError> {
    let (worktree, branch) = (ctx.home.worktree(&spec.feature), spec.branch.as_deref().unwrap_or_default());
    let mut left = Vec::new();
    if store::is_folder(&worktree) {
        left.push((
            format!("the worktree {worktree}"),
            format!("git worktree remove {}", engine::quoted(worktree.as_str())),
        ));
    }
    if store::git::branch_exists(&ctx.project.root, branch) == Some(true) {
        left.push((format!("the branch {branch}"), format!("git branch -D {}", engine::quoted(branch))));
    }
    if left.is_empty() {
        return Ok(());
    }
    let (what, remove): (Vec<String>, Vec<String>) = left.into_iter().unzip();
    Err(OpError::InTheWay {
        why: No::Already,
        message: format!("work of an earlier run of that name is left: {}", what.join(", ")),
        hints: vec![
            format!("if nothing in it is needed: {}", remove.join(" && ")).into(),
            "or give the run another name, with --feature".into(),
        ],
    })
}

/// Returns the runs of the same system that are where a new one goes, or have its name.
fn in_the_way(ctx: &ProjectContext, new: &RunLocation, feature: &str) -> Vec<RunLocation> {
    let (locations, _) = ctx.locations();
    let is_there =
        |location: &RunLocation| location.root == new.root && location.candidate.state == new.candidate.state;
    let same = |location: &RunLocation| is_there(location) || location.candidate.name == feature;
    let of_system = |location: &RunLocation| location.candidate.dialect == new.candidate.dialect;
    locations.into_iter().filter(|location| of_system(location) && same(location)).collect()
}

fn clear(
    ctx: &ProjectContext,
    same: &mut [RunLocation],
    spec: &StartSpec,
    options: StartOptions,
) -> Result<(), OpError> {
    for entry in entries::entries(ctx, same, entries::Dating::Files)? {
        if options.archives_existing {
            archive::archive_run(ctx, &entry.location, archive::ArchiveRequest::default())?;
            continue;
        }
        let row = &entry.row;
        let resume = Suggested::of(Verb::Resume, &row.path);
        let (what, first) = match row.lifecycle.stage {
            Stage::Open => ("an unfinished run", Some(resume)),
            Stage::Paused => ("a paused run", Some(resume)),
            Stage::Aborted => ("the state of an aborted run", Some(resume.flag("force"))),
            Stage::Finished => ("the state of a finished run", None),
            Stage::Archived => ("the state of an archived run", None),
        };
        let at = match row.lifecycle.stage {
            Stage::Open => row.position.clone(),
            Stage::Paused => format!("{}, {}", row.lifecycle.describe(), row.position),
            Stage::Aborted | Stage::Finished | Stage::Archived => row.lifecycle.describe(),
        };
        let gone = lifecycle::gone(&ctx.read(&entry.location)?);
        let first = gone.and_then(|gone| gone.hints.into_iter().next()).or(first.map(Fix::from));
        let again = Suggested::of(Verb::Start, &spec.workflow).option("feature", &spec.feature);
        let again = again.flags(options.in_worktree.then_some("worktree"));
        let again = again.options("input", &spec.inputs).flag("archive").into();
        return Err(OpError::InTheWay {
            why: No::Already,
            message: format!("{what} of {} already exists: {} ({at})", row.id, row.state),
            hints: first.into_iter().chain([again]).collect(),
        });
    }
    Ok(())
}

fn empty(ctx: &ProjectContext, feature: &str) -> Result<FileSet, OpError> {
    let nowhere = RelPath::parse(".piton")?;
    Ok(FileSet {
        root: ctx.project.root.clone(),
        name: feature.to_owned(),
        state: nowhere,
        own: store::journals::common_folder(&ctx.project, "runs"),
        files: BTreeMap::new(),
        journal: None,
        local: Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: ctx.clock,
        config: Arc::clone(&ctx.project.config),
    })
}

/// Returns the location where the dialect will find the files that are about to be written.
fn location_of(ctx: &ProjectContext, dialect: &dyn Dialect, edits: &[Edit]) -> Result<RunLocation, OpError> {
    let entries = edits.iter().filter_map(|edit| {
        Some(ListingEntry { path: edit.path.clone(), is_dir: false, content: Some(edit.after()?.into()) })
    });
    let mut entries: Vec<ListingEntry> = entries.collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let config = Arc::clone(&ctx.project.config);
    let listing = Listing { root: ctx.project.root.clone(), entries, config, ..Listing::default() };
    let candidate = dialect.probe(&listing).candidates.into_iter().next();
    let candidate = candidate.ok_or_else(|| OpError::SelfCheck {
        file: edits.first().map(|edit| edit.path.as_str().to_owned()).unwrap_or_default(),
        problem: "the new run would not be found again".to_owned(),
    })?;
    Ok(RunLocation { root: ctx.project.root.clone(), candidate })
}
