//! The folders of phases, with their plans and summaries (docs/formats/gsd.md#names).

use std::collections::BTreeMap;

use super::{
    names::{self, PhaseKey},
    plan_file,
    verification::Verification,
};
use crate::{
    document::Node,
    model::{FileSet, RelPath},
};

/// Maximum number of plans of a folder.
const PLANS: usize = 2_000;

/// The plans of one phase folder.
#[derive(Default)]
pub(super) struct Folder {
    /// Plan and summary of each id.
    pub(super) plans: BTreeMap<(u64, String), Documents>,
    pub(super) verification: Verification,
}

impl Folder {
    pub(super) fn open_plans(&self) -> usize {
        self.plans.values().filter(|documents| documents.is_open()).count()
    }

    /// Gives a summary without a plan to the only plan with its number: `01-01-SUMMARY.md` is that of `01-01-sew-PLAN.md`.
    fn match_numbers(&mut self) {
        let lone: Vec<(u64, String)> =
            self.plans.iter().filter(|(_, documents)| documents.plan.is_none()).map(|(key, _)| key.clone()).collect();
        for key in lone {
            let same = |other: &&(u64, String)| **other != key && names::is_same_plan(&other.1, &key.1);
            let mut numbered = self.plans.keys().filter(same).cloned();
            let Some(other) = numbered.next().filter(|_| numbered.next().is_none()) else { continue };
            if self.plans.get(&other).is_some_and(|plan| plan.plan.is_some() && plan.summary.is_none())
                && let Some(lone) = self.plans.remove(&key)
                && let Some(plan) = self.plans.get_mut(&other)
            {
                plan.summary = lone.summary;
            }
        }
    }
}

/// A plan with its front matter, and its summary.
#[derive(Clone, Default)]
pub(super) struct Documents {
    pub(super) plan: Option<RelPath>,
    pub(super) front: Option<Node>,
    pub(super) summary: Option<RelPath>,
}

impl Documents {
    /// Tells whether the plan is neither recorded nor dropped.
    fn is_open(&self) -> bool {
        self.summary.is_none() && !plan_file::is_dropped(self.front.as_ref())
    }
}

/// Returns the folders of phases with their plans and summaries, by the names of these. Other files with similar names are left out.
pub(super) fn collect(files: &FileSet) -> BTreeMap<(PhaseKey, String), Folder> {
    let mut folders: BTreeMap<(PhaseKey, String), Folder> = BTreeMap::new();
    let Ok(phases) = files.state.join("phases") else { return folders };
    for path in files.files.keys().filter(|path| path.starts_with(&phases)).take(20_000) {
        let Some(parent) = path.parent().filter(|parent| parent.parent().as_ref() == Some(&phases)) else { continue };
        let Some((key, _)) = names::leading(parent.name()) else { continue };
        let folder = folders.entry((key, parent.name().to_owned())).or_default();
        if let Some(id) = names::id_in(parent.name(), path.name(), names::PLAN) {
            if folder.plans.len() < PLANS {
                let documents = folder.plans.entry((names::number_of(id), id.to_owned())).or_default();
                documents.plan = Some(path.clone());
                documents.front = files.bytes(path).and_then(plan_file::front_matter);
            }
        } else if let Some(id) = names::id_in(parent.name(), path.name(), names::SUMMARY) {
            folder.plans.entry((names::number_of(id), id.to_owned())).or_default().summary = Some(path.clone());
        } else {
            folder.verification.read(path, files.bytes(path));
        }
    }
    // Other documents of a phase have such names too: without its plan, a summary without a number is one of them.
    for folder in folders.values_mut().filter(|folder| folder.plans.len() > 1) {
        folder.plans.retain(|(number, _), documents| *number != u64::MAX || documents.plan.is_some());
        folder.match_numbers();
    }
    folders
}
