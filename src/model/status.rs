//! The closed vocabulary of step statuses and review verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words;

words! {
    /// The status of a step, independent of the words of its own system.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum Status: serde {
        #[default]
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Failed = "failed",
        WaitingApproval = "waiting_approval",
        Blocked = "blocked",
        Skipped = "skipped",
        Cancelled = "cancelled",
    }
        #[cfg(test)]
    const ALL;
    impl Display;
}

impl Status {
    /// Tells whether dependents may start.
    pub(crate) const fn satisfies(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }

    /// Tells whether nothing is left to do for the step.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped | Self::Cancelled)
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

/// Returns the letters and digits of a text in lower case: statuses and verdicts are compared by them.
pub(crate) fn letters_and_digits(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

words! {
    /// The verdict of a reviewer, one of four (docs/formats/nine-step.md#status-words-and-verdicts).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum ReviewVerdict: serde {
        Approved = "APPROVED",
        ApprovedWithConditions = "APPROVED_WITH_CONDITIONS",
        NeedsRevision = "NEEDS_REVISION",
        Rejected = "REJECTED",
    }
    const ALL;
    impl Display;
}

impl ReviewVerdict {
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
