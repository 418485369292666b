//! Runs of other programs: read and planned, never written.

use super::{Loaded, Probed};
use crate::{
    document::salvage,
    model::{
        Candidate, Claim, Content, DialectId, Doubt, EvidenceRequest, FileSet, Finding, FindingCode, GuestProof,
        GuestRequest, Listing, ReadProblem, ReadSpec, RelPath, Step, StepId,
    },
};

/// Bytes of a file of such a run that are read.
const FILE_LIMIT: usize = 4 << 20;
/// Levels of folders above a package of a project.
pub(super) const PACKAGE_DEPTH: usize = 3;

/// A run that another program keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    /// Why Piton does not write it, as the rest of a sentence that begins with its name.
    pub(crate) refusal: String,
    /// The command of its own system that continues it, or of Piton that makes a run of it.
    pub(crate) command: String,
    /// Whether an agent can also continue from Piton's brief. Then `resume` shows the brief beside the command, and records nothing.
    pub(crate) has_brief: bool,
}

/// Returns a possible run, without rank and findings, that no other run replaces.
pub(super) fn candidate(dialect: DialectId, name: String, state: RelPath, reads: Vec<ReadSpec>) -> Candidate {
    Candidate { claim: Claim::Guest, ..Candidate::new(dialect, name, state, reads) }
}

/// Tells whether one of these folders holds copies (docs/formats/checklist.md#finding-runs).
pub(super) fn has_copies<'a>(mut folders: impl Iterator<Item = &'a str>) -> bool {
    const NAMES: [&str; 4] = ["templates", "examples", "fixtures", "node_modules"];
    const STARTS: [&str; 3] = ["test", "backup", "archive"];
    folders.any(|folder| {
        let folder = folder.to_lowercase();
        NAMES.contains(&folder.as_str()) || STARTS.iter().any(|start| folder.starts_with(start))
    })
}

/// Tells whether a state is listed. One in a folder of copies is not, and is planned all the same if the caller names it.
pub(super) fn is_listed(listing: &Listing, state: &RelPath, is_copy: bool) -> bool {
    !is_copy || listing.named.as_ref() == Some(state)
}

impl Probed {
    /// Adds a run, which is listed or only planned by its name or path.
    pub(super) fn add(&mut self, candidate: Candidate, is_listed: bool) {
        if is_listed { self.candidates.push(candidate) } else { self.ended.push(candidate) }
    }
}

/// Returns the files that a possible run names one by one, such as those that define commands.
pub(super) fn named_files(candidate: &Candidate) -> impl Iterator<Item = &str> {
    candidate.reads.iter().filter_map(|read| match read {
        ReadSpec::File(path) => Some(path.as_str()),
        ReadSpec::Contents { .. } | ReadSpec::Tree { .. } | ReadSpec::Names { .. } | ReadSpec::Elsewhere { .. } => None,
    })
}

/// The file in which a project defines a command of a system, and how the command is then typed. `{}` is its name.
pub(super) type Spelling = (&'static str, &'static str);

/// Returns the files of a project that define these commands.
pub(super) fn command_files(listing: &Listing, spellings: &[Spelling], commands: &[&str]) -> Vec<RelPath> {
    let has = |path: &String| listing.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_ok();
    let file = |command: &&str| {
        spellings
            .iter()
            .map(|(file, _)| file.replace("{}", command))
            .find(has)
            .and_then(|path| RelPath::parse(&path).ok())
    };
    commands.iter().filter_map(file).collect()
}

/// Returns a command as the project spells it, by the files of a run.
pub(super) fn spelled<'a>(
    mut files: impl Iterator<Item = &'a str>,
    spellings: &[Spelling],
    command: &str,
) -> Option<String> {
    files.find_map(|path| {
        let found = spellings.iter().find(|(file, _)| file.replace("{}", command) == path);
        found.map(|(_, typed)| typed.replace("{}", command))
    })
}

/// Returns the content of the state.
///
/// # Errors
///
/// With the finding, if it cannot be read, or a merge stopped in it.
pub(super) fn state(files: &FileSet) -> Result<&[u8], Box<Loaded>> {
    let Some(bytes) = files.bytes(&files.state) else {
        let problem = files.problem(&files.state).map(|problem| problem.to_string());
        return Err(unreadable(files, problem.unwrap_or_else(|| "it was not read".to_owned()), None));
    };
    match salvage::conflict(bytes) {
        Some((line, problem)) => Err(unreadable(files, problem, Some(line))),
        None => Ok(bytes),
    }
}

/// Returns what is known of a run whose state cannot be used.
pub(super) fn unreadable(files: &FileSet, problem: String, line: Option<u32>) -> Box<Loaded> {
    let fix = format!("correct {}, or take an earlier version from git", files.state);
    let finding = Finding::new(FindingCode::StateUnreadable, problem).at(&files.state).fix(fix);
    let finding = match line {
        Some(line) => finding.line(line, None),
        None => finding,
    };
    Box::new(Loaded { findings: vec![finding], ..Loaded::default() })
}

/// Returns the finding about a state with more steps than are read.
pub(super) fn cut(state: &RelPath, what: &str, limit: usize) -> Finding {
    let message = format!("{state} has more than {limit} {what}: the others are not read");
    Finding::new(FindingCode::PartUnreadable, message).at(state)
}

/// Returns a step for what a state has beyond the steps that are read, without which the run would look complete.
pub(super) fn rest(state: &RelPath, steps: &[Step], what: &str, limit: usize) -> Step {
    let is_free = |id: &String| steps.iter().all(|step| step.id.as_str() != id);
    let id = (1..).map(|number| if number == 1 { "rest".to_owned() } else { format!("rest-{number}") }).find(is_free);
    let mut step = Step::new(StepId::new(id.unwrap_or_default()), format!("the rest of the {what}"));
    step.plan_order = Some(steps.len());
    step.recorded = false;
    step.file = Some(state.clone());
    let doubts = vec![Doubt::look(format!("only the first {limit} {what} are read"))];
    step.guest = Some(Box::new(GuestProof { doubts, document: Some(state.clone()), ..GuestProof::default() }));
    step
}

/// Returns the evidence about the steps of a run. Commits that touch only the folders of its state repeat what that says; `shared` are those
/// with the state of others.
pub(super) fn wanted(
    steps: &[Step],
    state_folders: Vec<RelPath>,
    shared: Option<RelPath>,
    package: Option<RelPath>,
) -> EvidenceRequest {
    let request = GuestRequest::of(steps, state_folders);
    let guest = GuestRequest { shared_folders: shared.into_iter().collect(), package, ..request };
    EvidenceRequest { guest: Some(guest), ..EvidenceRequest::default() }
}

/// Returns the package of a project that a state is in: the folders above the first one of these, which are of its system.
pub(super) fn package(state: &RelPath, own: &[&str]) -> Option<RelPath> {
    let parts: Vec<&str> = state.as_str().split('/').collect();
    let end = parts.iter().position(|part| own.contains(part)).filter(|end| *end > 0)?;
    RelPath::parse(&parts[..end].join("/")).ok()
}

/// Returns a finding if a file of a run cannot be read whole.
pub(super) fn unread(files: &FileSet, path: &RelPath) -> Option<Finding> {
    let problem = match &files.files.get(path)?.content {
        Content::Bytes(bytes) if bytes.len() > FILE_LIMIT => {
            ReadProblem::TooLarge { bytes: bytes.len() as u64, limit: FILE_LIMIT as u64 }
        }
        Content::Problem(problem) if *problem != ReadProblem::Missing => problem.clone(),
        Content::Bytes(_) | Content::NameOnly | Content::Problem(_) => return None,
    };
    Some(Finding::new(FindingCode::PartUnreadable, format!("{path}: {problem}")).at(path))
}
