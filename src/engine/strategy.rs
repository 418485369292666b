//! Recovery strategies by kind of interruption (docs/formats/ccw.md#interruptions-and-strategies).

use crate::model::{InterruptionKind, Strategy};

/// Returns the default strategy for a kind of interruption and the names of two others; `None` if nothing was interrupted.
pub(super) const fn strategy(kind: InterruptionKind) -> Option<(Strategy, [&'static str; 2])> {
    match kind {
        InterruptionKind::AgentInterruption => {
            Some((Strategy::RetryWithEnhancedContext, ["skip_and_continue", "manual_review"]))
        }
        InterruptionKind::TaskFailure => Some((Strategy::AnalyzeAndRetry, ["skip_task", "force_continue"])),
        InterruptionKind::DependencyBlock => {
            Some((Strategy::ResolveDependencies, ["skip_blockers", "manual_intervention"]))
        }
        InterruptionKind::ContextLost => {
            Some((Strategy::RebuildFullContext, ["partial_recovery", "restart_from_checkpoint"]))
        }
        InterruptionKind::WaitingApproval
        | InterruptionKind::Paused
        | InterruptionKind::ReadyToExecute
        | InterruptionKind::WorkflowComplete => None,
    }
}
