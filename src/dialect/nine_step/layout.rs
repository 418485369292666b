//! Where a project keeps its states, their copies and backups, and the plans (docs/formats/nine-step.md#project-layout).

use crate::model::{NineStepConfig, RelPath, name_of};

/// File name suffix of a state beside its plan, before a worktree exists (docs/formats/nine-step.md#state-before-the-worktree).
pub(super) const EARLY_SUFFIX: &str = ".workflow-state.json";

/// The suffix of the single backup that the plugin keeps (docs/formats/nine-step.md#backup-of-the-state).
pub(super) const BACKUP: &str = ".backup";

/// Tells whether a file may be a state, by the names in use (docs/formats/nine-step.md#finding-runs). Backups and temporary files
/// are excluded.
pub(super) fn is_marked(path: &str) -> bool {
    let name = name_of(path);
    matches!(name, ".workflow_state.json" | "workflow-state.json") || name.ends_with(EARLY_SUFFIX)
}

/// Tells whether a name is `<feature>.workflow-state.json` with a feature.
pub(super) fn is_early_name(name: &str) -> bool {
    name.strip_suffix(EARLY_SUFFIX).is_some_and(|feature| !feature.is_empty())
}

/// Returns the path of the backup beside a state file.
pub(super) fn backup_of(state: &RelPath) -> Option<RelPath> {
    RelPath::parse(&format!("{state}{BACKUP}")).ok()
}

/// Returns the plugin's default plan path for a feature.
pub(super) fn plan_by_convention(feature: &str, config: &NineStepConfig) -> String {
    format!("{}/{feature}_plan.md", config.plan_dir.trim_end_matches('/'))
}
