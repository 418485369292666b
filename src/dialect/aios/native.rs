//! The plan in the words of the `orchestrate-resume` task (dotagent-and-aios.md 2.10).

use serde_json::Value;
use serde_json::json;

use crate::model::Plan;
use crate::model::Run;

/// Returns the resume plan of the task.
pub(super) fn native(run: &Run, _plan: &Plan) -> Value {
    json!({ "workflow_type": run.workflow, "state_source": run.state_files.first() })
}
