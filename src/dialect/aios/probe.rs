//! Finding what was saved and what is implied.

use super::implied;
use super::kind;
use super::kind::Kind;
use super::kind::Sort;
use super::places;
use super::places::Area;
use crate::dialect::Probed;
use crate::model::Candidate;
use crate::model::Claim;
use crate::model::DialectId;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::ReadSpec;
use crate::model::RelPath;

/// Finds the runs of a listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut probed = Probed::default();
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        probed.candidates.extend(saved(entry));
    }
    probed.candidates.extend(implied::candidates(listing));
    probed
}

/// Returns the run of a file that holds a state.
fn saved(entry: &ListingEntry) -> Option<Candidate> {
    let place = places::place(entry.path.as_str())?;
    let is_data = places::is_data(entry.path.name()) && place.area != Area::Specs;
    let sort = kind::sort(&entry.path, entry.look.as_deref().filter(|_| is_data)?);
    match sort {
        Sort::State(kind) => Some(candidate(entry.path.clone(), kind)),
        Sort::Unreadable(..) => Some(candidate(entry.path.clone(), kind::by_name(&entry.path)?)),
        Sort::Evidence(_) | Sort::Idle | Sort::NotOurs => None,
    }
}

fn candidate(state: RelPath, kind: Kind) -> Candidate {
    let name = state.name().to_owned();
    let own = state.parent().and_then(|folder| folder.join(&format!(".piton/{name}")).ok());
    Candidate {
        dialect: DialectId::Aios,
        own: own.unwrap_or_else(|| state.clone()),
        reads: vec![ReadSpec::File(state.clone())],
        claim: Claim::StatedAmong { priority: kind.priority() },
        rank: None,
        name,
        state,
    }
}
