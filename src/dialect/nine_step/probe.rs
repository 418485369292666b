//! Finds nine-step runs in a listing: state files at the root, in the worktrees and, before a worktree exists, beside the plans
//! (docs/formats/nine-step.md#finding-runs, docs/formats/nine-step.md#state-before-the-worktree).

use std::collections::BTreeSet;

use super::{
    layout::{self, BACKUP, EARLY_SUFFIX, is_copy, is_early_name, is_marked, plan_by_convention},
    raw::is_ours,
};
use crate::{
    dialect::{PreviousLocation, Probed},
    document::{Node, parse_json},
    model::{
        Candidate, DialectId, Finding, FindingCode, Listing, ListingEntry, NineStepConfig, ReadSpec, RelPath,
        STATE_COPY, clean_line,
    },
};

/// Tells whether a folder is a worktree, or contains worktrees or early states.
pub(super) fn keeps_state_in(folder: &RelPath, config: &NineStepConfig) -> bool {
    let worktrees = RelPath::parse(&config.worktree_dir).ok();
    worktrees.is_some_and(|worktrees| *folder == worktrees || folder.parent() == Some(worktrees))
        || RelPath::parse(&config.plan_dir).is_ok_and(|plans| *folder == plans)
}

/// Returns where the state of a worktree was before the worktree existed (docs/formats/nine-step.md#state-before-the-worktree).
pub(super) fn previous_location(candidate: &Candidate, config: &NineStepConfig) -> Option<PreviousLocation> {
    let worktrees = RelPath::parse(&config.worktree_dir).ok()?;
    let is_in_worktree = candidate.state.parent()?.parent()? == worktrees;
    let is_part = RelPath::parse(&candidate.name).is_ok_and(|name| name.as_str() == candidate.name);
    if !is_in_worktree || !is_part || candidate.name.contains('/') {
        return None;
    }
    let plans = RelPath::parse(&config.plan_dir).ok()?;
    let state = plans.join(&format!("{}{EARLY_SUFFIX}", candidate.name)).ok()?;
    let data_dir = plans.join(&format!(".piton/{}", candidate.name)).ok()?;
    Some(PreviousLocation { state, copy: data_dir.join(STATE_COPY).ok()?, data_dir })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateKind {
    Root,
    Worktree,
    /// Beside the plan, before a worktree exists.
    Early,
    /// A copy of a state in a worktree, in the data folder beside the plan.
    Copy,
}

struct FoundState {
    candidate: Candidate,
    kind: StateKind,
}

struct Prober<'a> {
    config: &'a NineStepConfig,
    worktrees: Option<RelPath>,
    plans: Option<RelPath>,
}

/// Finds the runs of a listing, and reports files that only look like one.
pub(super) fn probe(listing: &Listing) -> Probed {
    let config = &listing.config.nine_step;
    let prober = Prober {
        config,
        worktrees: RelPath::parse(&config.worktree_dir).ok(),
        plans: RelPath::parse(&config.plan_dir).ok(),
    };
    let mut findings = Vec::new();
    let mut found: Vec<FoundState> = Vec::new();
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        if let Some(kind) = prober.locate(&entry.path).filter(|kind| *kind != StateKind::Copy) {
            match prober.classify(entry, kind) {
                Ok(candidate) => found.push(FoundState { candidate, kind }),
                Err(finding) => findings.push(*finding),
            }
        }
    }
    let folders: BTreeSet<&RelPath> =
        listing.entries.iter().filter(|entry| entry.is_dir).map(|entry| &entry.path).collect();
    let candidates = drop_superseded(found, &mut findings);
    let candidates = with_lost(candidates, listing, &prober, &folders);
    Probed { candidates, findings, ..Probed::default() }
}

impl Prober<'_> {
    fn locate(&self, path: &RelPath) -> Option<StateKind> {
        let name = path.name();
        let is_configured = name == self.config.state_file;
        if is_copy(path.as_str()) {
            let data = self.plans.as_ref().and_then(|plans| plans.join(".piton").ok());
            return path
                .parent()
                .and_then(|folder| folder.parent())
                .filter(|folder| Some(folder) == data.as_ref())
                .map(|_| StateKind::Copy);
        }
        if !(is_configured || is_marked(path.as_str())) || name.ends_with(BACKUP) {
            return None;
        }
        let Some(folder) = path.parent() else {
            return (is_configured || !is_early_name(name)).then_some(StateKind::Root);
        };
        if self.plans.as_ref() == Some(&folder) && is_early_name(name) {
            return Some(StateKind::Early);
        }
        let is_worktree = self.worktrees.is_some() && folder.parent() == self.worktrees;
        (is_worktree && (is_configured || !is_early_name(name))).then_some(StateKind::Worktree)
    }

    /// Classifies a file by its content. A file that was not read, or does not parse where only a state can be, is a candidate;
    /// `load` reports its problem.
    fn classify(&self, entry: &ListingEntry, kind: StateKind) -> Result<Candidate, Box<Finding>> {
        let look_alike = |reason: &str| {
            let message = format!("`{}` is not a nine-step state file: {reason}", entry.path);
            Box::new(Finding::new(FindingCode::LookAlike, message).at(&entry.path))
        };
        let Some(bytes) = &entry.content else { return Ok(self.candidate(entry, kind, None)) };
        match parse_json(bytes) {
            Ok(value) if is_ours(&value) => {
                let name = value.get("feature_name").and_then(Node::as_str);
                Ok(self.candidate(entry, kind, name.map(|name| clean_line(name, 200))))
            }
            Ok(_) => Err(look_alike("it has neither `last_execution.step` nor `feature_name` and `current_step`")),
            Err(_) if self.is_suspect(entry, kind, bytes) => Ok(self.candidate(entry, kind, None)),
            Err(error) => Err(look_alike(&format!("line {} is not JSON ({})", error.place.line, error.message))),
        }
    }

    /// Tells whether an unparsable file is a damaged state rather than an unrelated file.
    fn is_suspect(&self, entry: &ListingEntry, kind: StateKind, bytes: &[u8]) -> bool {
        let is_configured = entry.path.name() == self.config.state_file;
        let speaks = ["last_execution", "feature_name"]
            .iter()
            .any(|word| bytes.windows(word.len()).any(|window| window == word.as_bytes()));
        match kind {
            StateKind::Worktree => is_configured || speaks,
            StateKind::Early | StateKind::Copy => true,
            StateKind::Root => {
                speaks || (is_configured && bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0))
            }
        }
    }

    fn candidate(&self, entry: &ListingEntry, kind: StateKind, name: Option<String>) -> Candidate {
        let state = entry.path.clone();
        let folder = state.parent();
        let stem = state.name().trim_end_matches(EARLY_SUFFIX).to_owned();
        let inside = match (&folder, kind) {
            (Some(folder), StateKind::Early) => format!("{folder}/.piton/{stem}"),
            (Some(folder), StateKind::Root | StateKind::Worktree | StateKind::Copy) => format!("{folder}/.piton"),
            (None, _) => ".piton".to_owned(),
        };
        let fallback = match kind {
            StateKind::Early | StateKind::Copy => stem,
            StateKind::Worktree => folder.as_ref().map_or_else(String::new, |folder| folder.name().to_owned()),
            StateKind::Root => "nine-step".to_owned(),
        };
        let data_dir = RelPath::parse(&inside).unwrap_or_else(|_| state.clone());
        let backup = layout::backup_of(&state);
        let is_torn = name.is_none();
        let name = name.filter(|name| !name.is_empty()).unwrap_or(fallback);
        // If the state does not parse, the plan may tell the number of phases.
        let plan = RelPath::parse(&plan_by_convention(&name, self.config)).ok().filter(|_| is_torn);
        let copy = self.plans.as_ref().filter(|_| kind == StateKind::Worktree && !name.contains('/'));
        let copy = copy.and_then(|plans| plans.join(&format!(".piton/{name}/{STATE_COPY}")).ok());
        let reads = std::iter::once(state.clone()).chain(backup).chain(plan).chain(copy).map(ReadSpec::File).collect();
        Candidate {
            may_be_replaced: kind == StateKind::Early,
            ..Candidate::new(DialectId::NineStep, name, state, data_dir, reads)
        }
    }
}

/// Adds the runs of which only the copy is left: the worktree that held their state is gone.
fn with_lost(
    mut candidates: Vec<Candidate>,
    listing: &Listing,
    prober: &Prober<'_>,
    folders: &BTreeSet<&RelPath>,
) -> Vec<Candidate> {
    let copies = listing.entries.iter().filter(|entry| prober.locate(&entry.path) == Some(StateKind::Copy));
    for entry in copies {
        let value = entry.content.as_ref().and_then(|bytes| parse_json(bytes).ok()).filter(is_ours);
        let lost = value.and_then(|value| lost(prober, entry, &value, folders));
        candidates.extend(lost.filter(|lost| !candidates.iter().any(|found| found.name == lost.name)));
    }
    candidates
}

/// Returns the run of a copy. Its state belongs into the worktree that the copy names; until that exists, nothing is written there.
fn lost(prober: &Prober<'_>, copy: &ListingEntry, value: &Node, folders: &BTreeSet<&RelPath>) -> Option<Candidate> {
    let name = clean_line(value.get("feature_name")?.as_str()?, 200);
    let worktrees = prober.worktrees.as_ref()?;
    let recorded = value.get("worktree_path").and_then(Node::as_str).and_then(|path| RelPath::parse(path).ok());
    let recorded = recorded.filter(|path| path.parent().as_ref() == Some(worktrees));
    let worktree = recorded.or_else(|| worktrees.join(&name).ok())?;
    let state = worktree.join(&prober.config.state_file).ok()?;
    let entry = ListingEntry { path: state, is_dir: false, content: None };
    let found = prober.candidate(&entry, StateKind::Worktree, Some(name.clone()));
    let data_dir = match folders.contains(&worktree) {
        true => found.data_dir.clone(),
        false => copy.path.parent()?,
    };
    let reads = found.reads.iter().cloned().chain([ReadSpec::File(copy.path.clone())]).collect();
    Some(Candidate { data_dir, reads, ..found })
}

/// Drops early states that have a successor in a worktree: leftovers of an interrupted move.
fn drop_superseded(found: Vec<FoundState>, findings: &mut Vec<Finding>) -> Vec<Candidate> {
    let in_worktrees: Vec<(String, RelPath)> = found
        .iter()
        .filter(|found| found.kind == StateKind::Worktree)
        .map(|found| (found.candidate.name.clone(), found.candidate.state.clone()))
        .collect();
    let mut kept = Vec::with_capacity(found.len());
    for FoundState { candidate, kind } in found {
        let winner = in_worktrees.iter().find(|(name, _)| kind == StateKind::Early && *name == candidate.name);
        match winner {
            Some((_, winner)) => {
                let message = format!(
                    "`{}` is the state from before the worktree; `{winner}` of the same feature is used",
                    candidate.state
                );
                let fix = format!("remove `{}` once you have compared the two", candidate.state);
                findings.push(Finding::new(FindingCode::TemporaryLeft, message).at(&candidate.state).fix(fix));
            }
            None => kept.push(candidate),
        }
    }
    kept
}
