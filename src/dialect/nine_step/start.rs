//! Creates a new run. Its state is beside the plan until the worktree exists
//! (docs/formats/nine-step.md#state-before-the-worktree).

use serde_json::{Value, json};

use super::{
    layout::{self, EARLY_SUFFIX},
    raw::SCHEMA_VERSION,
    rules::{Role, StepNumber},
};
use crate::{
    dialect::EditError,
    model::{Edit, EditKind, FileSet, RelPath, StartSpec, Timestamp},
};

/// Computes the file of a new run.
///
/// # Errors
///
/// When the feature name is invalid as a file or branch name, or `plan_dir` is not below the root.
pub(super) fn edit(files: &FileSet, spec: &StartSpec, at: Timestamp) -> Result<Vec<Edit>, EditError> {
    if let Some(problem) = problem_of(&spec.feature) {
        return Err(EditError::Unsupported(format!("the feature `{}` {problem}", spec.feature.escape_debug())));
    }
    let path = path(files, &spec.feature)?;
    let mut text = serde_json::to_string_pretty(&state(files, spec, at)).unwrap_or_default();
    text.push('\n');
    Ok(vec![Edit { path, kind: EditKind::Create { after: text.into_bytes() } }])
}

/// Returns the path of the state: in the worktree if the root is one, else beside the plan.
fn path(files: &FileSet, feature: &str) -> Result<RelPath, EditError> {
    let config = &files.config.nine_step;
    let path = match files.main_root {
        Some(_) => RelPath::parse(&config.state_file),
        None => RelPath::parse(&config.plan_dir).and_then(|folder| folder.join(&format!("{feature}{EARLY_SUFFIX}"))),
    };
    path.map_err(|error| EditError::Unsupported(format!("the configured folder cannot be used: {error}")))
}

pub(super) fn state(files: &FileSet, spec: &StartSpec, at: Timestamp) -> Value {
    let config = &files.config.nine_step;
    let prefix = config.branch_prefixes.first().map_or("feature", String::as_str);
    let branch = spec.branch.clone().unwrap_or_else(|| format!("{prefix}/{}", spec.feature));
    let plan = spec.plan.clone().unwrap_or_else(|| layout::plan_by_convention(&spec.feature, config));
    let step = StepNumber::Plan;
    let fields = [
        ("schema_version", Some(json!(SCHEMA_VERSION))),
        ("feature_name", Some(json!(spec.feature))),
        ("description", spec.description.as_ref().map(|text| json!(text))),
        ("branch_name", Some(json!(branch))),
        ("base_branch", spec.base_branch.as_ref().or(config.main_branch.as_ref()).map(|branch| json!(branch))),
        ("plan_reference", Some(json!(plan))),
        ("total_phases", spec.phases.map(|phases| json!(phases))),
        ("related_issues", Some(Value::Array(spec.issues.iter().map(|issue| issue_value(issue)).collect()))),
        ("current_phase", Some(json!(1))),
        ("current_step", Some(step.to_value())),
        (
            "last_execution",
            Some(json!({
                "phase": 1,
                "step": step.to_value(),
                "agent": Role::Planner.name(config),
                "status": "pending",
                "timestamp": at,
            })),
        ),
        ("completed_steps", Some(json!([]))),
        ("history", Some(json!([]))),
        ("started_at", Some(json!(at))),
        ("updated_at", Some(json!(at))),
    ];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Writes `12` and `#12` as numbers, as the plugin expects (docs/formats/nine-step.md#fields-of-the-state).
fn issue_value(issue: &str) -> Value {
    let number = issue.trim().trim_start_matches('#').parse::<u64>();
    number.map_or_else(|_| json!(issue), |number| json!(number))
}

/// Returns why a feature name is invalid as a path component and branch name.
fn problem_of(feature: &str) -> Option<&'static str> {
    let has = |chars: &[char]| feature.contains(chars);
    if RelPath::parse(feature).is_err() || has(&['/', '\\']) {
        Some("is not a single path component")
    } else if feature.len() > 100 {
        Some("is longer than 100 bytes")
    } else if feature.starts_with(['.', '-']) || feature.ends_with(['.', ' ']) || feature.ends_with(".lock") {
        Some("begins or ends with a character that a file or branch name must not begin or end with")
    } else if feature.chars().any(char::is_whitespace)
        || has(&['~', '^', ':', '?', '*', '[', '"', '<', '>', '|'])
        || feature.contains("..")
        || feature.contains("@{")
    {
        Some("has a character that is not allowed in a file or branch name")
    } else {
        None
    }
}
