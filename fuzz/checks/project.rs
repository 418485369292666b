//! Runs of every dialect: read, planned, handed over and changed.

use super::{bundle::Bundle, change, look::look};
use crate::{dialect::by_id, model::DialectId, ops::OpenedRun, store::Trusted};

/// Limit that keeps inputs fast.
const CANDIDATES: usize = 4;

pub(super) fn nine_step(data: &[u8]) {
    project(DialectId::NineStep, data);
}

pub(super) fn ccw(data: &[u8]) {
    project(DialectId::Ccw, data);
}

pub(super) fn dotagent(data: &[u8]) {
    project(DialectId::Dotagent, data);
}

pub(super) fn aios(data: &[u8]) {
    project(DialectId::Aios, data);
}

pub(super) fn piton(data: &[u8]) {
    project(DialectId::Piton, data);
}

/// Checks every run that a dialect finds in a project, and applies the project's changes to each.
fn project(dialect: DialectId, data: &[u8]) {
    let bundle = Bundle::parse(data);
    let listing = bundle.listing(by_id(dialect));
    let probed = by_id(dialect).probe(&listing);
    by_id(dialect).discovery().leftovers(&listing);
    for candidate in probed.candidates.into_iter().chain(probed.ended).take(CANDIDATES) {
        let files = bundle.read(&candidate);
        let opened = OpenedRun::new(candidate, files, &Trusted::nothing());
        look(&opened, &bundle);
        change::all(opened, bundle.clone());
    }
}
