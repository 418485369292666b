//! Finds nine-step runs in a listing: state files at the root, in the worktrees and, before a worktree exists, beside the plans
//! (docs/formats/nine-step.md#finding-runs, docs/formats/nine-step.md#state-before-the-worktree).

use super::{
    layout::{self, BACKUP, EARLY_SUFFIX, is_early_name, is_marked, plan_by_convention},
    raw::is_ours,
};
use crate::{
    dialect::Probed,
    document::{Node, parse_json},
    model::{
        Candidate, DialectId, Finding, FindingCode, Listing, ListingEntry, LostState, NineStepConfig, ReadSpec,
        RelPath, clean_line,
    },
};

/// Tells whether a folder is a worktree, or contains worktrees or early states.
pub(super) fn keeps_state_in(folder: &RelPath, config: &NineStepConfig) -> bool {
    let worktrees = RelPath::parse(&config.worktree_dir).ok();
    worktrees.is_some_and(|worktrees| *folder == worktrees || folder.parent() == Some(worktrees))
        || RelPath::parse(&config.plan_dir).is_ok_and(|plans| *folder == plans)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateKind {
    Root,
    Worktree,
    /// Beside the plan, before a worktree exists.
    Early,
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
        if let Some(kind) = prober.locate(&entry.path) {
            match prober.classify(entry, kind) {
                Ok(candidate) => found.push(FoundState { candidate, kind }),
                Err(finding) => findings.push(*finding),
            }
        }
    }
    let candidates = drop_superseded(found, &mut findings);
    let candidates = with_lost(candidates, listing, &prober);
    Probed { candidates, findings, ..Probed::default() }
}

impl Prober<'_> {
    fn locate(&self, path: &RelPath) -> Option<StateKind> {
        let name = path.name();
        let is_configured = name == self.config.state_file;
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
            StateKind::Early => true,
            StateKind::Root => {
                speaks || (is_configured && bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0))
            }
        }
    }

    fn candidate(&self, entry: &ListingEntry, kind: StateKind, name: Option<String>) -> Candidate {
        let state = entry.path.clone();
        let folder = state.parent();
        let stem = state.name().trim_end_matches(EARLY_SUFFIX).to_owned();
        let fallback = match kind {
            StateKind::Early => stem,
            StateKind::Worktree => folder.as_ref().map_or_else(String::new, |folder| folder.name().to_owned()),
            StateKind::Root => "nine-step".to_owned(),
        };
        let backup = layout::backup_of(&state);
        let is_torn = name.is_none();
        let name = name.filter(|name| !name.is_empty()).unwrap_or(fallback);
        // If the state does not parse, the plan may tell the number of phases.
        let plan = RelPath::parse(&plan_by_convention(&name, self.config)).ok().filter(|_| is_torn);
        let reads = std::iter::once(state.clone()).chain(backup).chain(plan).map(ReadSpec::File).collect();
        Candidate {
            may_be_replaced: kind == StateKind::Early,
            is_named: !is_torn,
            ..Candidate::new(DialectId::NineStep, name, state, reads)
        }
    }
}

/// Adds the runs whose state is gone with the worktree that held it.
fn with_lost(mut candidates: Vec<Candidate>, listing: &Listing, prober: &Prober<'_>) -> Vec<Candidate> {
    let lost = listing.lost.iter().filter(|lost| prober.locate(&lost.path) == Some(StateKind::Worktree));
    for lost in lost.filter_map(|lost| self::lost(prober, lost)) {
        if !candidates.iter().any(|found| found.name == lost.name) {
            candidates.push(lost);
        }
    }
    candidates
}

/// Returns the run of a state that is gone.
fn lost(prober: &Prober<'_>, lost: &LostState) -> Option<Candidate> {
    let value = parse_json(&lost.content).ok().filter(is_ours)?;
    let name = clean_line(value.get("feature_name")?.as_str()?, 200);
    let entry = ListingEntry { path: lost.path.clone(), is_dir: false, content: None };
    Some(prober.candidate(&entry, StateKind::Worktree, Some(name)))
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
