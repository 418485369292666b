//! Creates both files of a new run, as compact JSON (docs/formats/dotagent.md#sources).

use serde_json::{Value, json};

use super::{
    archive,
    layout::{EXECUTION_FILE, PHASE_FILE},
    rules::{Phase, PhaseStatus},
};
use crate::{
    dialect::EditError,
    model::{Edit, EditKind, RelPath, StartSpec, Timestamp},
};

/// Computes the files of a new run; the phase file comes last because it is authoritative.
///
/// # Errors
///
/// If the feature cannot be part of an archive path.
pub(super) fn edit(spec: &StartSpec, at: Timestamp) -> Result<Vec<Edit>, EditError> {
    if let Some(problem) = archive::problem_of(&spec.feature) {
        return Err(EditError::Unsupported(format!("the feature `{}` {problem}", spec.feature.escape_debug())));
    }
    let mut phase = json!({
        "workflow_id": spec.feature,
        "started_at": at,
        "last_updated": at,
        "current_phase": Phase::Requirements.as_str(),
        "phase_status": PhaseStatus::Pending.as_str(),
        "completed_phases": [],
        "user_checkpoints": [],
        "interruption_safe": true,
    });
    if let Some(description) = &spec.description {
        phase["description"] = json!(description);
    }
    let execution = json!({ "workflow_id": spec.feature, "tasks": [] });
    Ok(vec![create(EXECUTION_FILE, &execution), create(PHASE_FILE, &phase)])
}

fn create(path: &str, value: &Value) -> Edit {
    let path = RelPath::parse(path).expect("a literal of ours is a path");
    Edit { path, kind: EditKind::Create { after: format!("{value}\n").into_bytes() } }
}
