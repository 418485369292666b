//! Finds the worktree and plan of a run from the location of its state. Recorded absolute paths of other machines are only text.

use camino::Utf8PathBuf;

use super::last_step::LastStep;
use super::raw::Source;
use super::raw::State;
use super::rules::StepNumber;
use super::rules::StepPosition;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::NineStepConfig;
use crate::model::RelPath;
use crate::model::Severity;
use crate::model::Status;
use crate::model::WorkspaceRecord;

/// File name suffix of a state beside its plan, before a worktree exists (docs/formats/nine-step.md#state-before-the-worktree).
pub(super) const EARLY_SUFFIX: &str = ".workflow-state.json";

/// The working folder of a run.
pub(super) struct ResolvedWorkspace {
    pub(super) record: WorkspaceRecord,
    /// The plan document below the root, if it must exist by now.
    pub(super) plan: Option<RelPath>,
    /// Whether git is asked about the folder; only if there is a worktree.
    pub(super) is_checked: bool,
}

/// Finds the worktree and the plan of a run.
pub(super) fn find(
    state: &State,
    last_step: &LastStep,
    source: &Source<'_>,
    findings: &mut Vec<Finding>,
) -> ResolvedWorkspace {
    let files = source.files;
    let is_early = is_early(files);
    let recorded = state.worktree_path.clone();
    let derived = if is_early { None } else { files.state.parent() };
    let elsewhere = derived.is_none().then(|| early_worktree(state, last_step, files, is_early)).flatten();
    let worktree = derived.or(elsewhere);
    if let Some(text) = &recorded
        && !(is_early && worktree.is_none())
        && !is_same(text, worktree.as_ref(), files)
    {
        let here = worktree.as_ref().map_or(".", RelPath::as_str);
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
    let is_planned = last_step.at > StepPosition::new(1, StepNumber::Plan)
        || matches!(last_step.status, Status::Completed | Status::Skipped);
    ResolvedWorkspace {
        is_checked: !is_early || worktree.is_some(),
        record: WorkspaceRecord {
            branch: state.branch.clone(),
            base_branch: state.base_branch.clone().or_else(|| files.config.nine_step.main_branch.clone()),
            worktree,
            plan_reference: plan.as_ref().map(|plan| plan.as_str().to_owned()).or_else(|| state.plan_reference.clone()),
            issues: state.issues.clone(),
        },
        plan: plan.filter(|_| is_planned),
    }
}

/// Tells whether the state is beside its plan, from before the worktree.
pub(super) fn is_early(files: &FileSet) -> bool {
    let folder = RelPath::parse(&files.config.nine_step.plan_dir).ok();
    folder.is_some() && files.state.parent() == folder && files.state.name().ends_with(EARLY_SUFFIX)
}

/// Finds the worktree of a state outside of it: a linked worktree of the feature, else the recorded path once the gate is passed.
fn early_worktree(state: &State, last_step: &LastStep, files: &FileSet, is_early: bool) -> Option<RelPath> {
    let recorded = state.worktree_path.as_deref().and_then(|text| recorded_below(text, files));
    if let Some(recorded) = &recorded
        && files.worktrees.contains(recorded)
    {
        return Some(recorded.clone());
    }
    let linked = is_early.then(|| linked_worktree(state.feature.get()?, files)).flatten();
    linked.or_else(|| recorded.filter(|_| is_early && last_step.at.step > StepNumber::Approval))
}

/// Finds the linked worktree of a feature: `<worktree_dir>/<feature>`, else the only one named `<feature>` or
/// `<prefix>-<feature>` (`feat-real-time-quotes`, docs/formats/nine-step.md#project-layout).
pub(super) fn linked_worktree(feature: &str, files: &FileSet) -> Option<RelPath> {
    let folder = RelPath::parse(&files.config.nine_step.worktree_dir).ok();
    let exact = folder.and_then(|folder| folder.join(feature).ok());
    if let Some(exact) = exact
        && files.worktrees.contains(&exact)
    {
        return Some(exact);
    }
    let is_named = |path: &&RelPath| {
        let prefix = path.name().strip_suffix(feature);
        prefix.is_some_and(|prefix| prefix.is_empty() || prefix.strip_suffix(['-', '_']).is_some_and(is_word))
    };
    let mut named = files.worktrees.iter().filter(is_named);
    let only = named.next()?;
    named.next().is_none().then(|| only.clone())
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

fn is_same(recorded: &str, worktree: Option<&RelPath>, files: &FileSet) -> bool {
    let recorded = recorded.trim().replace('\\', "/");
    let recorded = recorded.trim_end_matches('/').trim_start_matches("./");
    let here = absolute(files, worktree);
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
pub(super) fn absolute(files: &FileSet, worktree: Option<&RelPath>) -> Utf8PathBuf {
    worktree.map_or_else(|| files.root.clone(), |worktree| worktree.under(&files.root))
}

/// Finds the plan below the main tree, also for a run in a linked worktree elsewhere
/// (docs/formats/nine-step.md#fields-of-the-state).
fn plan_path(state: &State, worktree: Option<&RelPath>, files: &FileSet) -> Option<RelPath> {
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

/// Returns the path to read the plan at: below the root, or absolute if the root is a linked worktree.
pub(super) fn plan_to_read(plan: &str, run_worktree: Option<&RelPath>, files: &FileSet) -> Option<String> {
    let below = RelPath::parse(plan.trim()).ok();
    match (&files.main_root, below) {
        (Some(main), Some(below)) => Some(below.under(main).into_string()),
        (Some(_), None) => None,
        (None, Some(below)) => Some(below.as_str().to_owned()),
        (None, None) => {
            run_worktree.and_then(|worktree| climb(worktree, plan.trim())).map(|path| path.as_str().to_owned())
        }
    }
}

/// Returns the plugin's default plan path for a feature.
pub(super) fn plan_by_convention(feature: &str, config: &NineStepConfig) -> String {
    format!("{}/{feature}_plan.md", config.plan_dir.trim_end_matches('/'))
}
