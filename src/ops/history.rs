//! `history`: the checkpoints that can be gone back to.

use super::OpError;
use super::past::Past;
use super::report::Body;
use super::report::HistoryItem;
use super::report::HistoryReport;
use super::report::Report;
use super::select;
use super::world::World;
use crate::model::RunId;

/// Lists the earlier checkpoints of a run, newest first.
pub(crate) fn history(world: &World) -> Result<Report, OpError> {
    let spot = select::spot(world)?;
    let entries = Past::of(&spot.root, &spot.candidate, &world.project.config).entries()?;
    let checkpoints = entries.into_iter().map(|entry| HistoryItem {
        id: entry.id,
        at: Some(entry.at),
        replaced_by: entry.change,
        step: entry.step.map(|step| step.as_str().to_owned()),
        bytes: entry.files.iter().map(|file| file.bytes).sum(),
        files: entry.files.into_iter().map(|file| file.path).collect(),
    });
    let body = HistoryReport { run: RunId::new(&spot.candidate.name), checkpoints: checkpoints.collect() };
    Ok(Report::ok(Body::History(body)))
}
