//! Finds the worktree and plan of a run from the location of its state. Recorded absolute paths of other machines are only text.

use camino::{Utf8Path, Utf8PathBuf};

use super::{layout::EARLY_SUFFIX, raw::NineStepState};
use crate::{
    document::Reader,
    model::{FileSet, Finding, FindingCode, LinkedWorktree, RelPath, Severity, WorkspaceRecord},
};

/// The working folder of a run.
pub(super) struct ResolvedWorkspace {
    pub(super) record: WorkspaceRecord,
    /// The plan document below the root.
    pub(super) plan: Option<RelPath>,
    /// Whether git is asked about the folder; only if there is a worktree.
    pub(super) is_checked: bool,
}

/// Finds the worktree and the plan of a run. `has_open_work`: the gate is passed, and steps after it are open.
pub(super) fn find(
    state: &NineStepState,
    has_open_work: bool,
    source: &Reader<'_>,
    findings: &mut Vec<Finding>,
) -> ResolvedWorkspace {
    let files = source.files();
    let is_early = is_early(files);
    let recorded = state.worktree_path.clone();
    let derived = if is_early { None } else { files.state.parent() };
    let adopted = derived.is_none().then(|| adopted(state, files, is_early)).flatten();
    let outside = adopted.filter(|adopted| adopted.path.is_none()).map(|adopted| adopted.folder.clone());
    let worktree = derived.or_else(|| adopted.and_then(|adopted| adopted.path.clone()));
    let has_place = worktree.is_some() || outside.is_some();
    let here = outside.clone().unwrap_or_else(|| absolute(files, worktree.as_ref()));
    if let Some(text) = &recorded
        && (!is_early || has_place)
        && !is_same(text, worktree.as_ref(), &here)
    {
        let here =
            worktree.as_ref().map_or_else(|| outside.as_ref().map_or(".", |folder| folder.as_str()), RelPath::as_str);
        let message = format!("`worktree_path` is not where the state is; `{here}` is used");
        let mut finding = source.finding(FindingCode::FieldIgnored, "/worktree_path", message);
        finding.severity = Severity::Warning;
        findings.push(finding);
    }
    let plan = plan_path(state, worktree.as_ref(), files);
    if state.plan_reference.is_some() && plan.is_none() {
        let message = "`plan_reference` is ignored: it is not a path below the project".to_owned();
        findings.push(source.finding(FindingCode::FieldIgnored, "/plan_reference", message));
    }
    let wanted_worktree = (is_early && !has_place && has_open_work).then(|| to_make(state, files)).flatten();
    ResolvedWorkspace {
        is_checked: !is_early || has_place || wanted_worktree.is_some(),
        record: WorkspaceRecord {
            branch: state.branch.clone(),
            base_branch: state.base_branch.clone().or_else(|| files.config.nine_step.main_branch.clone()),
            worktree,
            outside,
            wanted_worktree,
            plan_reference: plan.as_ref().map(|plan| plan.as_str().to_owned()).or_else(|| state.plan_reference.clone()),
            issues: state.issues.clone(),
            clean_up: Vec::new(),
        },
        plan,
    }
}

/// Tells whether the state is beside its plan, from before the worktree.
pub(super) fn is_early(files: &FileSet) -> bool {
    let folder = RelPath::parse(&files.config.nine_step.plan_dir).ok();
    folder.is_some() && files.state.parent() == folder && files.state.name().ends_with(EARLY_SUFFIX)
}

/// Finds the linked worktree of a state outside of it: the one on the recorded branch wherever it is, else the recorded one, else the
/// one named after the feature (docs/formats/nine-step.md#project-layout).
fn adopted<'a>(state: &NineStepState, files: &'a FileSet, is_early: bool) -> Option<&'a LinkedWorktree> {
    if files.main_root.is_some() {
        return None;
    }
    let mut linked = files.worktrees.iter();
    let on_branch = linked.find(|linked| state.branch.is_some() && linked.branch == state.branch);
    on_branch.or_else(|| {
        let recorded = state.worktree_path.as_deref().and_then(|text| recorded_below(text, files));
        let recorded = files.worktrees.iter().find(|linked| recorded.is_some() && linked.path == recorded);
        recorded.or_else(|| is_early.then(|| named_after(state.feature.get()?, files)).flatten())
    })
}

/// Returns the folder in which the worktree of a run has to be made: the recorded one, else that of the feature.
fn to_make(state: &NineStepState, files: &FileSet) -> Option<RelPath> {
    state.branch.as_ref()?;
    let recorded = state.worktree_path.as_deref().and_then(|text| recorded_below(text, files));
    recorded.or_else(|| {
        let folder = RelPath::parse(&files.config.nine_step.worktree_dir).ok()?;
        folder.join(state.feature.get()?).ok()
    })
}

/// Returns the worktree below `worktree_dir` that an early state moves into.
pub(super) fn destination(state: &NineStepState, files: &FileSet) -> Option<RelPath> {
    let path = adopted(state, files, true).filter(|_| is_early(files))?.path.clone()?;
    (path.parent() == RelPath::parse(&files.config.nine_step.worktree_dir).ok()).then_some(path)
}

/// Finds the linked worktree of a feature: `<worktree_dir>/<feature>`, else the only one named `<feature>` or
/// `<prefix>-<feature>` (`feat-real-time-quotes`, docs/formats/nine-step.md#project-layout).
fn named_after<'a>(feature: &str, files: &'a FileSet) -> Option<&'a LinkedWorktree> {
    let folder = RelPath::parse(&files.config.nine_step.worktree_dir).ok();
    let exact = folder.and_then(|folder| folder.join(feature).ok());
    if let Some(exact) = files.worktrees.iter().find(|linked| exact.is_some() && linked.path == exact) {
        return Some(exact);
    }
    let is_named = |linked: &&LinkedWorktree| {
        let name = linked.path.as_ref().map_or("", |path| path.name());
        let prefix = name.strip_suffix(feature);
        prefix.is_some_and(|prefix| prefix.is_empty() || prefix.strip_suffix(['-', '_']).is_some_and(is_word))
    };
    let mut named = files.worktrees.iter().filter(is_named);
    let only = named.next()?;
    named.next().is_none().then_some(only)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(char::is_alphanumeric)
}

/// Reads a recorded worktree path as a path below the root: the whole path, or its part from `worktree_dir`.
fn recorded_below(text: &str, files: &FileSet) -> Option<RelPath> {
    let text = text.trim().trim_end_matches('/');
    if let Ok(path) = RelPath::parse(text) {
        return Some(path);
    }
    if let Some(rest) = text.strip_prefix(files.root.as_str()).and_then(|rest| rest.strip_prefix('/')) {
        return RelPath::parse(rest).ok();
    }
    after_folder(text, &files.config.nine_step.worktree_dir)
}

/// Returns the part of another machine's absolute path from a known folder on.
fn after_folder(text: &str, folder: &str) -> Option<RelPath> {
    let text = text.replace('\\', "/");
    let at = text.rfind(&format!("/{}/", folder.trim_matches('/')))?;
    RelPath::parse(&text[at + 1..]).ok()
}

fn is_same(recorded: &str, worktree: Option<&RelPath>, here: &Utf8Path) -> bool {
    let recorded = recorded.trim().replace('\\', "/");
    let recorded = recorded.trim_end_matches('/').trim_start_matches("./");
    if recorded == here.as_str() || recorded.is_empty() {
        return true;
    }
    match worktree {
        Some(worktree) => recorded == worktree.as_str() || recorded.ends_with(&format!("/{worktree}")),
        // The root is the worktree itself: two machines have only its folder name in common.
        None => recorded == "." || recorded.rsplit('/').next() == here.file_name(),
    }
}

/// Returns the absolute path of the working folder.
fn absolute(files: &FileSet, worktree: Option<&RelPath>) -> Utf8PathBuf {
    worktree.map_or_else(|| files.root.clone(), |worktree| worktree.under(&files.root))
}

/// Finds the plan below the main tree, also for a run in a linked worktree elsewhere
/// (docs/formats/nine-step.md#fields-of-the-state).
fn plan_path(state: &NineStepState, worktree: Option<&RelPath>, files: &FileSet) -> Option<RelPath> {
    let text = state.plan_reference.as_deref()?.trim();
    let main = files.main_root.as_ref().unwrap_or(&files.root);
    let text = text.strip_prefix(main.as_str()).map_or(text, |rest| rest.trim_start_matches('/'));
    if let Ok(path) = RelPath::parse(text) {
        return Some(path);
    }
    let climbed = worktree.filter(|_| text.starts_with("..")).and_then(|worktree| climb(worktree, text));
    climbed.or_else(|| after_folder(text, &files.config.nine_step.plan_dir))
}

/// Resolves `../../.plan/x` relative to the worktree, if the result is below the root.
fn climb(from: &RelPath, text: &str) -> Option<RelPath> {
    let mut parts: Vec<&str> = from.as_str().split('/').collect();
    for part in text.split('/') {
        match part {
            ".." => {
                parts.pop()?;
            }
            "" | "." => {}
            part => parts.push(part),
        }
    }
    RelPath::parse(&parts.join("/")).ok()
}

/// Returns the path to read the plan at: below the root, or absolute if the work is in a linked worktree with another root.
pub(super) fn plan_to_read(plan: &str, workspace: &WorkspaceRecord, files: &FileSet) -> Option<String> {
    let below = RelPath::parse(plan.trim()).ok();
    let main = workspace.outside.as_ref().map_or(files.main_root.as_ref(), |_| Some(&files.root));
    match (main, below) {
        (Some(main), Some(below)) => Some(below.under(main).into_string()),
        (Some(_), None) => None,
        (None, Some(below)) => Some(below.as_str().to_owned()),
        (None, None) => workspace
            .worktree
            .as_ref()
            .and_then(|worktree| climb(worktree, plan.trim()))
            .map(|path| path.as_str().to_owned()),
    }
}
