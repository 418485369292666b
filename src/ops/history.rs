//! `history`: the checkpoints that can be gone back to.

use super::OpError;
use super::past::Past;
use super::report::Body;
use super::report::HistoryItem;
use super::report::HistoryReport;
use super::report::Report;
use super::select;
use super::world::Spot;
use super::world::World;
use crate::dialect::Ground;
use crate::dialect::PastCheckpoint;
use crate::dialect::by_id;
use crate::model::RunId;

/// Lists the earlier checkpoints of a run, newest first.
pub(crate) fn history(world: &World) -> Result<Report, OpError> {
    let spot = select::spot(world)?;
    if let Some(checkpoints) = kept_by_itself(world, &spot)? {
        return Ok(Report::ok(Body::History(HistoryReport { run: RunId::new(&spot.candidate.name), checkpoints })));
    }
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

/// Lists the checkpoints that the state of a run holds itself.
fn kept_by_itself(world: &World, spot: &Spot) -> Result<Option<Vec<HistoryItem>>, OpError> {
    if by_id(spot.candidate.dialect).ground() != Ground::Home {
        return Ok(None);
    }
    let opened = world.read(spot)?;
    let past = opened.dialect.past(&opened.files);
    let items = past.map(|past| {
        let item = |one: PastCheckpoint| HistoryItem {
            id: one.id,
            at: one.at,
            replaced_by: one.change,
            step: one.step.map(|step| step.as_str().to_owned()),
            bytes: opened.files.bytes(&one.file).map_or(0, |bytes| bytes.len() as u64),
            files: vec![one.file],
        };
        past.into_iter().rev().map(item).collect()
    });
    Ok(items)
}
