//! The closed vocabulary of step statuses and review verdicts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of a step, independent of the words of its own system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
    Failed,
    WaitingApproval,
    Blocked,
    Skipped,
    Cancelled,
}

impl Status {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = [
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::WaitingApproval,
        Self::Blocked,
        Self::Skipped,
        Self::Cancelled,
    ];

    /// Tells whether dependents may start.
    pub(crate) const fn satisfies(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }

    /// Tells whether nothing is left to do for the step.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped | Self::Cancelled)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::WaitingApproval => "waiting_approval",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The status of a step in answers about runs that Piton drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportedStatus {
    /// It never passed, and the workflow file lets the run go on.
    Tolerated,
    #[serde(untagged)]
    Recorded(Status),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the letters and digits of a text in lower case: statuses and verdicts are compared by them.
pub(crate) fn letters_and_digits(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The verdict of a reviewer, one of four (docs/formats/nine-step.md#status-words-and-verdicts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ReviewVerdict {
    Approved,
    ApprovedWithConditions,
    NeedsRevision,
    Rejected,
}

impl ReviewVerdict {
    pub(crate) const ALL: &'static [Self] =
        &[Self::Approved, Self::ApprovedWithConditions, Self::NeedsRevision, Self::Rejected];

    /// Parses the verdicts of all reviewers, ignoring case, spaces, dashes and emoji; `None` for an unknown one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match letters_and_digits(text).as_str() {
            "approved" | "approve" | "pass" | "passed" | "testingvalid" | "valid" => Some(Self::Approved),
            "approvedwithconditions"
            | "approvedwithminorchanges"
            | "approvedwithminorcorrections"
            | "approvedwithminorissues"
            | "approvedwithchanges"
            | "validwithcaveats"
            | "testingvalidwithcaveats" => Some(Self::ApprovedWithConditions),
            "needsrevision" | "incomplete" | "testingincomplete" | "fail" | "failed" => Some(Self::NeedsRevision),
            "rejected" | "reject" | "invalid" | "testinginvalid" => Some(Self::Rejected),
            _ => None,
        }
    }

    /// Tells whether the work is approved, with or without conditions.
    pub(crate) const fn approves(self) -> bool {
        match self {
            Self::Approved | Self::ApprovedWithConditions => true,
            Self::NeedsRevision | Self::Rejected => false,
        }
    }

    /// Returns the status of a review with this verdict.
    pub(crate) const fn status(self) -> Status {
        if self.approves() { Status::Completed } else { Status::Failed }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ApprovedWithConditions => "APPROVED_WITH_CONDITIONS",
            Self::NeedsRevision => "NEEDS_REVISION",
            Self::Rejected => "REJECTED",
        }
    }
}

impl fmt::Display for ReviewVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ReviewVerdict;

    #[test]
    fn every_reviewer_is_understood() {
        use ReviewVerdict::{Approved, ApprovedWithConditions, NeedsRevision, Rejected};
        for (text, verdict) in [
            ("APPROVED", Some(Approved)),
            ("✅ Approved", Some(Approved)),
            ("Testing Valid", Some(Approved)),
            ("passed", Some(Approved)),
            ("fail", Some(NeedsRevision)),
            ("Failed", Some(NeedsRevision)),
            ("APPROVED_WITH_CONDITIONS", Some(ApprovedWithConditions)),
            ("Approved with Minor Changes", Some(ApprovedWithConditions)),
            ("approved with minor corrections", Some(ApprovedWithConditions)),
            ("Approved with Minor Issues", Some(ApprovedWithConditions)),
            ("Approved with Changes", Some(ApprovedWithConditions)),
            ("Valid with Caveats", Some(ApprovedWithConditions)),
            ("needs-revision", Some(NeedsRevision)),
            ("NeedsRevision", Some(NeedsRevision)),
            ("Incomplete", Some(NeedsRevision)),
            ("Testing Incomplete", Some(NeedsRevision)),
            ("❌ Rejected", Some(Rejected)),
            ("Testing  Invalid", Some(Rejected)),
            ("looks good to me", None),
            ("", None),
        ] {
            assert_eq!(ReviewVerdict::parse(text), verdict, "{text}");
        }
    }
}
