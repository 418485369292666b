//! Finds nine-step runs in a listing: state files at the root, in the worktrees and, before there is a worktree, beside the plans
//! (docs/formats/nine-step.md#finding-runs, docs/formats/nine-step.md#state-before-the-worktree).

use serde_json::Value;

use super::raw::is_ours;
use super::read::BACKUP;
use super::workspace::EARLY_SUFFIX;
use super::workspace::plan_by_convention;
use crate::dialect::PreviousLocation;
use crate::dialect::Probed;
use crate::dialect::json::parse_value;
use crate::model::Candidate;
use crate::model::Claim;
use crate::model::DialectId;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::NineStepConfig;
use crate::model::ReadSpec;
use crate::model::RelPath;
use crate::model::clean_line;
use crate::model::name_of;

/// Tells whether a file may be a state: the names seen in the wild (docs/formats/nine-step.md#finding-runs). Backups and temporary
/// files are none.
pub(super) fn is_marked(path: &str) -> bool {
    let name = name_of(path);
    matches!(name, ".workflow_state.json" | "workflow-state.json") || name.ends_with(EARLY_SUFFIX)
}

/// Tells whether a folder is a worktree, or holds the worktrees or the early states.
pub(super) fn keeps_state_in(folder: &RelPath, config: &NineStepConfig) -> bool {
    let worktrees = RelPath::parse(&config.worktree_dir).ok();
    worktrees.is_some_and(|worktrees| *folder == worktrees || folder.parent() == Some(worktrees))
        || RelPath::parse(&config.plan_dir).is_ok_and(|plans| *folder == plans)
}

/// Returns where the state of a worktree was before there was one (docs/formats/nine-step.md#state-before-the-worktree).
pub(super) fn previous_location(candidate: &Candidate, config: &NineStepConfig) -> Option<PreviousLocation> {
    let worktrees = RelPath::parse(&config.worktree_dir).ok()?;
    let is_in_worktree = candidate.state.parent()?.parent()? == worktrees;
    let is_part = RelPath::parse(&candidate.name).is_ok_and(|name| name.as_str() == candidate.name);
    if !is_in_worktree || !is_part || candidate.name.contains('/') {
        return None;
    }
    let plans = RelPath::parse(&config.plan_dir).ok()?;
    let state = plans.join(&format!("{}{EARLY_SUFFIX}", candidate.name)).ok()?;
    Some(PreviousLocation { state, data_dir: plans.join(&format!(".piton/{}", candidate.name)).ok()? })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Root,
    Worktree,
    /// Beside the plan, before there is a worktree.
    Early,
}

struct Found {
    candidate: Candidate,
    place: Where,
}

struct Prober<'a> {
    config: &'a NineStepConfig,
    worktrees: Option<RelPath>,
    plans: Option<RelPath>,
}

/// Finds the runs of a listing and the files that only look like one.
pub(super) fn probe(listing: &Listing) -> Probed {
    let config = &listing.config.nine_step;
    let prober = Prober {
        config,
        worktrees: RelPath::parse(&config.worktree_dir).ok(),
        plans: RelPath::parse(&config.plan_dir).ok(),
    };
    let mut findings = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        if let Some(place) = prober.locate(&entry.path) {
            match prober.classify(entry, place) {
                Ok(candidate) => found.push(Found { candidate, place }),
                Err(finding) => findings.push(*finding),
            }
        }
    }
    let candidates = drop_left_behind(found, &mut findings);
    Probed { candidates, findings, ..Probed::default() }
}

impl Prober<'_> {
    fn locate(&self, path: &RelPath) -> Option<Where> {
        let name = path.name();
        let is_configured = name == self.config.state_file;
        if !(is_configured || is_marked(path.as_str())) || name.ends_with(BACKUP) {
            return None;
        }
        let Some(folder) = path.parent() else {
            return (is_configured || !is_early_name(name)).then_some(Where::Root);
        };
        if self.plans.as_ref() == Some(&folder) && is_early_name(name) {
            return Some(Where::Early);
        }
        let is_worktree = self.worktrees.is_some() && folder.parent() == self.worktrees;
        (is_worktree && (is_configured || !is_early_name(name))).then_some(Where::Worktree)
    }

    /// Goes by the content; a file that cannot be looked into, or does not parse where only a state can be, is a candidate
    /// whose `load` says what is wrong with it.
    fn classify(&self, entry: &ListingEntry, place: Where) -> Result<Candidate, Box<Finding>> {
        let look_alike = |reason: &str| {
            let message = format!("`{}` is not a nine-step state file: {reason}", entry.path);
            Box::new(Finding::new(FindingCode::LookAlike, message).at(&entry.path))
        };
        let Some(bytes) = &entry.content else { return Ok(self.candidate(entry, place, None)) };
        match parse_value(bytes) {
            Ok(value) if is_ours(&value) => {
                let name = value.get("feature_name").and_then(Value::as_str);
                Ok(self.candidate(entry, place, name.map(|name| clean_line(name, 200))))
            }
            Ok(_) => Err(look_alike("it has neither `last_execution.step` nor `feature_name` and `current_step`")),
            Err(_) if self.is_suspect(entry, place, bytes) => Ok(self.candidate(entry, place, None)),
            Err(error) => Err(look_alike(&format!("line {} is not JSON ({})", error.line, error.message))),
        }
    }

    /// Tells whether an unparsable file is a damaged state rather than somebody else's file.
    fn is_suspect(&self, entry: &ListingEntry, place: Where, bytes: &[u8]) -> bool {
        let is_configured = entry.path.name() == self.config.state_file;
        let speaks = ["last_execution", "feature_name"]
            .iter()
            .any(|word| bytes.windows(word.len()).any(|window| window == word.as_bytes()));
        match place {
            Where::Worktree => is_configured || speaks,
            Where::Early => true,
            Where::Root => {
                speaks || (is_configured && bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0))
            }
        }
    }

    fn candidate(&self, entry: &ListingEntry, place: Where, name: Option<String>) -> Candidate {
        let state = entry.path.clone();
        let folder = state.parent();
        let stem = state.name().trim_end_matches(EARLY_SUFFIX).to_owned();
        let inside = match (&folder, place) {
            (Some(folder), Where::Early) => format!("{folder}/.piton/{stem}"),
            (Some(folder), Where::Root | Where::Worktree) => format!("{folder}/.piton"),
            (None, _) => ".piton".to_owned(),
        };
        let fallback = match place {
            Where::Early => stem,
            Where::Worktree => folder.as_ref().map_or_else(String::new, |folder| folder.name().to_owned()),
            Where::Root => "nine-step".to_owned(),
        };
        let data_dir = RelPath::parse(&inside).unwrap_or_else(|_| state.clone());
        let backup = super::read::backup_of(&state);
        let is_torn = name.is_none();
        let name = name.filter(|name| !name.is_empty()).unwrap_or(fallback);
        // Of a state that does not parse the plan may tell how many phases there are.
        let plan = RelPath::parse(&plan_by_convention(&name, self.config)).ok().filter(|_| is_torn);
        Candidate {
            dialect: DialectId::NineStep,
            name,
            reads: std::iter::once(state.clone()).chain(backup).chain(plan).map(ReadSpec::File).collect(),
            state,
            data_dir,
            rank: None,
            claim: Claim::Stated,
            may_be_replaced: place == Where::Early,
            findings: Vec::new(),
        }
    }
}

/// Tells whether a name is `<feature>.workflow-state.json` with a feature.
fn is_early_name(name: &str) -> bool {
    name.strip_suffix(EARLY_SUFFIX).is_some_and(|feature| !feature.is_empty())
}

/// Lets the state in the worktree win over the one from before it, which an interrupted move left behind.
fn drop_left_behind(found: Vec<Found>, findings: &mut Vec<Finding>) -> Vec<Candidate> {
    let in_worktrees: Vec<(String, RelPath)> = found
        .iter()
        .filter(|found| found.place == Where::Worktree)
        .map(|found| (found.candidate.name.clone(), found.candidate.state.clone()))
        .collect();
    let mut kept = Vec::with_capacity(found.len());
    for Found { candidate, place } in found {
        let winner = in_worktrees.iter().find(|(name, _)| place == Where::Early && *name == candidate.name);
        match winner {
            Some((_, winner)) => {
                let message = format!(
                    "`{}` is the state from before the worktree; `{winner}` of the same feature counts",
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
