//! The rules of the nine-step plugin: step order, agents, and where a failure returns to.
//!
//! Pure data and the status vocabulary. The order is a list, never arithmetic: `2 + 1` would skip the approval gate, and `2.5 +
//! 1` is not a step (docs/formats/nine-step.md#step-numbers).

use std::fmt;

use serde_json::Value;

use crate::{
    document::{Kind, Node},
    model::words,
};

use crate::model::{NineStepConfig, ReviewVerdict, StepId, StepKind, letters_and_digits};

words! {
    /// The number of a step within its phase, in execution order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum StepNumber {
        Plan = "1",
        PlanReview = "2",
        Approval = "2.5",
        Implementation = "3",
        CodeReview = "4",
        Documentation = "5",
        DocumentationReview = "6",
        Testing = "7",
        TestReview = "8",
        Commit = "9",
    }
    const ALL;
    impl Display;
}

impl StepNumber {
    const fn as_f64(self) -> f64 {
        match self {
            Self::Plan => 1.0,
            Self::PlanReview => 2.0,
            Self::Approval => 2.5,
            Self::Implementation => 3.0,
            Self::CodeReview => 4.0,
            Self::Documentation => 5.0,
            Self::DocumentationReview => 6.0,
            Self::Testing => 7.0,
            Self::TestReview => 8.0,
            Self::Commit => 9.0,
        }
    }

    /// Parses `4`, `2.5` or `4.0`. Only the ten exact numbers are accepted, so not `2.4`
    /// (docs/formats/nine-step.md#step-numbers).
    pub(super) fn parse(text: &str) -> Option<Self> {
        let number: f64 = text.trim().parse().ok()?;
        Self::ALL.into_iter().find(|step| step.as_f64() == number)
    }

    /// Reads a JSON number, or a string with the same content.
    pub(super) fn read(value: &Node) -> Option<Self> {
        match &value.kind {
            Kind::Number(text) | Kind::Text(text) => Self::parse(text),
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Returns the id of the step in this phase.
    pub(super) fn in_phase(self, phase: &str) -> StepId {
        StepId::new(format!("{phase}:{}", self.as_str()))
    }

    /// Returns the number as the files spell it: an integer, except `2.5`.
    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Approval => Value::from(2.5),
            Self::Plan
            | Self::PlanReview
            | Self::Implementation
            | Self::CodeReview
            | Self::Documentation
            | Self::DocumentationReview
            | Self::Testing
            | Self::TestReview
            | Self::Commit => self.as_str().parse::<u64>().map_or(Value::Null, Value::from),
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Plan => "Planning",
            Self::PlanReview => "Plan review",
            Self::Approval => "User approval of the plan",
            Self::Implementation => "Implementation",
            Self::CodeReview => "Code review",
            Self::Documentation => "Documentation",
            Self::DocumentationReview => "Documentation review",
            Self::Testing => "Testing",
            Self::TestReview => "Test review",
            Self::Commit => "Commit",
        }
    }

    pub(super) const fn kind(self) -> StepKind {
        match self {
            Self::PlanReview | Self::CodeReview | Self::DocumentationReview | Self::TestReview => StepKind::Review,
            Self::Approval => StepKind::Gate,
            Self::Plan | Self::Implementation | Self::Documentation | Self::Testing | Self::Commit => StepKind::Work,
        }
    }

    /// Returns the role that runs the step (docs/formats/nine-step.md#steps-and-agents); `None` for step 3, which has two
    /// possible developers.
    pub(super) const fn role(self) -> Option<Role> {
        match self {
            Self::Plan => Some(Role::Planner),
            Self::PlanReview => Some(Role::PlanReviewer),
            Self::Approval => Some(Role::User),
            Self::Implementation => None,
            Self::CodeReview => Some(Role::CodeReviewer),
            Self::Documentation => Some(Role::DocumentationManager),
            Self::DocumentationReview => Some(Role::DocumentationReviewer),
            Self::Testing => Some(Role::Tester),
            Self::TestReview => Some(Role::TestReviewer),
            Self::Commit => Some(Role::GitManager),
        }
    }

    /// Returns the step that a review judges and its failure returns to (docs/formats/nine-step.md#where-a-failure-goes-back-to).
    pub(super) const fn reviewed(self) -> Option<Self> {
        match self {
            Self::PlanReview => Some(Self::Plan),
            Self::CodeReview => Some(Self::Implementation),
            Self::DocumentationReview => Some(Self::Documentation),
            Self::TestReview => Some(Self::Testing),
            Self::Plan | Self::Approval | Self::Implementation | Self::Documentation | Self::Testing | Self::Commit => {
                None
            }
        }
    }
}

/// A step of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StepPosition {
    pub(super) phase: u32,
    pub(super) step: StepNumber,
}

impl StepPosition {
    pub(super) const fn new(phase: u32, step: StepNumber) -> Self {
        Self { phase, step }
    }

    /// Parses `2:2.5`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (phase, step) = text.split_once(':')?;
        let phase: u32 = phase.trim().parse().ok().filter(|phase| *phase > 0)?;
        Some(Self { phase, step: StepNumber::parse(step)? })
    }

    pub(super) fn id(self) -> StepId {
        self.step.in_phase(&self.phase.to_string())
    }
}

impl fmt::Display for StepPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.phase, self.step)
    }
}

/// The role that runs a step; `piton.toml` can replace the agent names (docs/formats/nine-step.md#steps-and-agents).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Planner,
    PlanReviewer,
    User,
    BackendDeveloper,
    FrontendDeveloper,
    CodeReviewer,
    DocumentationManager,
    DocumentationReviewer,
    Tester,
    TestReviewer,
    GitManager,
}

impl Role {
    pub(super) const DEVELOPERS: [Self; 2] = [Self::BackendDeveloper, Self::FrontendDeveloper];

    /// Returns the keys in `agents`, including the plugin's placeholder name without `AGENT_`.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Planner => &["planner", "project_planner"],
            Self::PlanReviewer => &["plan_reviewer"],
            Self::User => &["user"],
            Self::BackendDeveloper => &["backend_developer", "backend_dev"],
            Self::FrontendDeveloper => &["frontend_developer", "frontend_dev"],
            Self::CodeReviewer => &["code_reviewer"],
            Self::DocumentationManager => &["documentation_manager", "doc_manager"],
            Self::DocumentationReviewer => &["documentation_reviewer", "doc_reviewer"],
            Self::Tester => &["tester", "feature_tester"],
            Self::TestReviewer => &["test_reviewer"],
            Self::GitManager => &["git_manager", "git_worktree_manager"],
        }
    }

    const fn default_name(self) -> &'static str {
        match self {
            Self::Planner => "project-planner",
            Self::PlanReviewer => "plan-reviewer",
            Self::User => "user",
            Self::BackendDeveloper => "backend-developer",
            Self::FrontendDeveloper => "frontend-developer",
            Self::CodeReviewer => "code-reviewer",
            Self::DocumentationManager => "documentation-manager",
            Self::DocumentationReviewer => "documentation-reviewer",
            Self::Tester => "feature-tester",
            Self::TestReviewer => "test-reviewer",
            Self::GitManager => "git-worktree-manager",
        }
    }

    pub(super) fn name(self, config: &NineStepConfig) -> String {
        let configured = self.keys().iter().find_map(|key| config.agents.get(*key));
        configured.cloned().unwrap_or_else(|| self.default_name().to_owned())
    }
}

/// The meaning of a `status`, independent of spelling (docs/formats/nine-step.md#status-words-and-verdicts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusWord {
    /// Not begun; written by Piton's `start`.
    Pending,
    InProgress,
    Completed,
    Failed,
    WaitingApproval,
    /// Written by Piton to `history` only: skipped for good.
    Skipped,
    /// Written by Piton to `history` only: the run was interrupted here and resumed.
    Interrupted,
    /// Written by Piton to `history` only: the user reviewed a failure and let the run continue.
    Decided,
    /// Written by Piton to `history` only: this step and all later ones were reopened.
    RolledBack,
    Verdict(ReviewVerdict),
}

/// The status words that `last_execution.status` may hold, for messages.
pub(super) const ACCEPTED: &str = "in_progress, completed, failed, waiting_approval, approved, \
     approved_with_conditions, needs_revision, rejected (or a reviewer's wording of the last four)";

impl StatusWord {
    /// Parses a status, ignoring case, separators and emoji; `None` for an unknown one, which never counts as done.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match letters_and_digits(text).as_str() {
            "pending" => Some(Self::Pending),
            "inprogress" => Some(Self::InProgress),
            "completed" | "done" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            "waitingapproval" | "waitingforapproval" | "awaitingapproval" => Some(Self::WaitingApproval),
            "skipped" => Some(Self::Skipped),
            "interrupted" => Some(Self::Interrupted),
            "decided" => Some(Self::Decided),
            "rolledback" => Some(Self::RolledBack),
            _ => ReviewVerdict::parse(text).map(Self::Verdict),
        }
    }

    /// Returns the verdict that a status may hold.
    pub(super) const fn verdict(self) -> Option<ReviewVerdict> {
        match self {
            Self::Verdict(verdict) => Some(verdict),
            Self::Pending
            | Self::InProgress
            | Self::Completed
            | Self::Failed
            | Self::WaitingApproval
            | Self::Skipped
            | Self::Interrupted
            | Self::Decided
            | Self::RolledBack => None,
        }
    }

    /// Tells whether a step with this status passed; `verdict` is that of its review, if there was one.
    pub(super) fn passes(self, verdict: Option<ReviewVerdict>) -> bool {
        match self {
            Self::Completed | Self::Verdict(_) => verdict.is_none_or(ReviewVerdict::approves),
            Self::Pending
            | Self::InProgress
            | Self::Failed
            | Self::WaitingApproval
            | Self::Skipped
            | Self::Interrupted
            | Self::Decided
            | Self::RolledBack => false,
        }
    }
}

/// Tells whether step 7 failed because of the tests, so that the code has to change, and not because of the agent that ran them
/// (docs/formats/nine-step.md#where-a-failure-goes-back-to).
pub(super) fn is_test_failure(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let failing = |at: usize| {
        matches!(words.get(at), Some(&("fail" | "fails" | "failed" | "failing" | "failure" | "failures")))
            && words.get(at + 1) != Some(&"to")
    };
    let tests = |at: usize| words.get(at).is_some_and(|word| word.starts_with("test_") || TESTS.contains(word));
    let count = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let names_tests = |at: usize| {
        let before = at.checked_sub(1);
        let counted = before.and_then(count).or_else(|| at.checked_sub(2).and_then(count));
        if counted == Some(0) || before.is_some_and(|before| words[before] == "no") {
            return false;
        }
        before.and_then(count).is_some()
            || before.is_some_and(tests)
            || (tests(at + 1) && before.is_none_or(|before| !matches!(words[before], "agent" | "tool" | "command")))
            || (at > 1 && tests(at - 2) && matches!(words[at - 1], "case" | "cases" | "has" | "have" | "is" | "are"))
    };
    (0..words.len()).any(|at| failing(at) && names_tests(at)) || (lower.contains("test") && lower.contains("not pass"))
}

const TESTS: [&str; 9] =
    ["test", "tests", "testing", "testcase", "testcases", "spec", "specs", "assertion", "assertions"];

/// Tells whether the gate failed because the worktree could not be created, not because of the plan
/// (docs/formats/nine-step.md#where-a-failure-goes-back-to).
pub(super) fn is_worktree_failure(text: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "worktree",
        "fatal:",
        "already exists",
        "already checked out",
        "invalid reference",
        "not a git repository",
        "permission denied",
        "no space left",
    ];
    let lower = text.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
