//! `archive`: the state of a finished or declined run is put away. Nothing is deleted but the oldest archives
//! of a system that keeps only so many.

use super::OpError;
use super::change::Desk;
use super::plan;
use super::plan::PlanRequest;
use super::report::ArchiveReport;
use super::report::Body;
use super::report::Report;
use super::select;
use super::world::Spot;
use super::world::World;
use crate::dialect::Moved;
use crate::engine;
use crate::model::RelPath;
use crate::model::RunId;
use crate::model::Verdict;
use crate::store;

/// Archives the run that is meant; one with open steps only with `yes`.
pub(crate) fn archive(world: &World, yes: bool) -> Result<Report, OpError> {
    let spot = select::spot(world)?;
    let opened = world.read(&spot)?;
    if let (Some(run), false) = (&opened.loaded.run, yes) {
        let planned = plan::planned(world, &opened, run, &PlanRequest::default())?;
        if planned.plan.verdict != Verdict::Complete {
            let open = planned.plan.progress.total - planned.plan.progress.done;
            let id = engine::quoted(run.id.as_str());
            return Err(OpError::NeedsConsent {
                message: format!("{} still has {open} open steps", run.id),
                hints: vec![format!("piton archive {id} --yes"), format!("piton plan {id}")],
            });
        }
    }
    if opened.loaded.run.is_none() && !yes {
        let path = engine::quoted(spot.candidate.state.as_str());
        return Err(OpError::NeedsConsent {
            message: format!(
                "{} cannot be read; archiving it may lose work that `restore` could bring back",
                spot.candidate.state
            ),
            hints: vec![format!("piton restore {path}"), format!("piton archive {path} --yes")],
        });
    }
    let to = put_away(world, &spot)?;
    Ok(Report::ok(Body::Archive(ArchiveReport { run: RunId::new(&spot.candidate.name), to })))
}

/// Moves the state away, in the system's own manner where it has one, else below Piton's own folder.
pub(crate) fn put_away(world: &World, spot: &Spot) -> Result<RelPath, OpError> {
    let desk = Desk::open(world, spot)?;
    desk.drive_check()?;
    let opened = &desk.opened;
    let Some(archival) = opened.dialect.archive(&opened.files, opened.loaded.run.as_ref(), world.clock.now)? else {
        return desk.move_aside(&spot.candidate.name);
    };
    match archival.moved {
        Moved::Folder(from) if from == archival.to => Ok(archival.to),
        Moved::Folder(from) => {
            desk.commit_as("archive", None, &archival.edits)?;
            Ok(store::move_folder(desk.into_lock(), &from, &archival.to)?)
        }
        Moved::Files { files, series } => {
            let to = store::archive::free_folder(desk.lock(), &archival.to)?;
            desk.move_files(&files, &to)?;
            store::archive::prune(desk.lock(), &to, &series, world.project.config.limits.archives)?;
            Ok(to)
        }
    }
}
