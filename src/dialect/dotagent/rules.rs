//! The closed vocabulary of the workflow (docs/formats/dotagent.md#the-phase-file, docs/formats/dotagent.md#task-vocabulary).

use crate::model::{ReviewVerdict, StepId, words};

words! {
    /// The five phases, in order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Phase {
        Requirements = "REQUIREMENTS",
        Architecture = "ARCHITECTURE",
        Implementation = "IMPLEMENTATION",
        Verification = "VERIFICATION",
        Reflection = "REFLECTION",
    }
    const ALL;
}

impl Phase {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str().eq_ignore_ascii_case(text.trim()))
    }

    pub(super) fn next(self) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| *phase > self)
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Requirements => "Requirements",
            Self::Architecture => "Architecture",
            Self::Implementation => "Implementation",
            Self::Verification => "Verification",
            Self::Reflection => "Reflection",
        }
    }

    /// Returns the id of the step of the phase.
    pub(super) fn step_id(self) -> StepId {
        StepId::new(self.as_str())
    }

    /// Returns the agent for the whole phase.
    pub(super) const fn agent(self) -> &'static str {
        match self {
            Self::Requirements => "pm",
            Self::Architecture => "roundtable",
            Self::Implementation => "executor",
            Self::Verification => "qa",
            Self::Reflection => "reflector",
        }
    }

    /// Returns the output file of the phase; `None` if the output is a set of tasks or a folder.
    pub(super) const fn output(self) -> Option<&'static str> {
        match self {
            Self::Requirements => Some("memory/reports/demand.json"),
            Self::Architecture => Some("memory/reports/final_design.json"),
            Self::Verification => Some("memory/reports/verification.json"),
            Self::Implementation | Self::Reflection => None,
        }
    }
}

words! {
    /// The values of `phase_status`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum PhaseStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Complete = "complete",
        Failed = "failed",
    }
}

impl PhaseStatus {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "pending" => Some(Self::Pending),
            "in_progress" => Some(Self::InProgress),
            "complete" | "completed" => Some(Self::Complete),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

words! {
    /// The status of a task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum TaskStatus {
        Pending = "pending",
        Running = "running",
        PreComplete = "pre_complete",
        Verifying = "verifying",
        Verified = "verified",
        Blocked = "blocked",
        Failed = "failed",
    }
}

impl TaskStatus {
    /// Parses a status; `complete` and `completed` are synonyms of `verified` (docs/formats/dotagent.md#task-vocabulary).
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "pending" => Some(Self::Pending),
            "running" | "in_progress" => Some(Self::Running),
            "pre_complete" => Some(Self::PreComplete),
            "verifying" => Some(Self::Verifying),
            "verified" | "complete" | "completed" => Some(Self::Verified),
            "blocked" => Some(Self::Blocked),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// Parses a verifier's word; its vocabulary is not documented.
pub(super) fn verdict(text: &str) -> Option<ReviewVerdict> {
    match text.trim().to_lowercase().as_str() {
        "passed" | "verified" | "success" | "ok" => Some(ReviewVerdict::Approved),
        "fail" | "failed" | "failure" | "needs_changes" => Some(ReviewVerdict::NeedsRevision),
        _ => ReviewVerdict::parse(text),
    }
}

/// Compares task ids ignoring the prefix (docs/formats/dotagent.md#task-ids-in-both-spellings).
pub(super) fn is_same_task(one: &str, other: &str) -> bool {
    bare(one) == bare(other)
}

/// Returns the other spelling of a task id.
pub(super) fn other_spelling(id: &str) -> String {
    match id.strip_prefix(PREFIX) {
        Some(bare) => bare.to_owned(),
        None => format!("{PREFIX}{id}"),
    }
}

fn bare(id: &str) -> &str {
    id.strip_prefix(PREFIX).unwrap_or(id)
}

const PREFIX: &str = "task-";

/// Returns whether a run has the five built-in phases and is not a custom workflow.
pub(super) fn is_built_in(run: &crate::model::Run) -> bool {
    run.steps.iter().any(|step| step.id.as_str() == Phase::Requirements.as_str())
}
