//! Whether the state of an epic and its stories agree (docs/formats/aios.md#status-consistency).
//!
//! Outdated stories are normal: in one completed epic, none of the eight stories was marked as done.

use super::document_index::{DocumentIndex, StoryLocation};
use crate::{
    dialect::story::{self, Story, StoryStatus},
    model::{Finding, FindingCode, RelPath, Severity, Status, StepId},
};

/// Why a story in review disagrees with an epic in which it is in progress.
const REVIEW_NEXT: &str = "it was developed, and its review is next";

/// Compares a story's status in the epic with the status in its file.
pub(super) fn compare(documents: &DocumentIndex<'_>, at: &StoryLocation, id: &StepId, status: Status) -> Vec<Finding> {
    match at {
        StoryLocation::Missing(path) => vec![missing(path, id, status)],
        StoryLocation::Several { named, found } => {
            let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
            let message = format!("{named} is missing, and {id} may be in {}", found.join(" or "));
            let fix = format!("correct `file` of {id} in the plan, or archive the files that are not it");
            vec![with(FindingCode::StoryMissing, Severity::Blocking, message).at(named).on(id).fix(fix)]
        }
        StoryLocation::Renamed { named, found } => {
            let message = format!("{id} is in {found}; the plan names {named}, which is missing");
            let fix = format!("correct `file` of {id} in the plan");
            let renamed = with(FindingCode::StoryMissing, Severity::Warning, message).at(found).on(id).fix(fix);
            let bytes = documents.bytes(found);
            let rest = bytes.map_or_else(Vec::new, |bytes| disagreements(found, bytes, id, status));
            std::iter::once(renamed).chain(rest).collect()
        }
        StoryLocation::NotFound if status == Status::Skipped => Vec::new(),
        StoryLocation::NotFound => {
            // A story that was not started may not be written yet.
            let was_begun = matches!(status, Status::InProgress | Status::Completed | Status::WaitingApproval);
            let severity = if was_begun { Severity::Blocking } else { Severity::Warning };
            let message = format!("no story file of {id} was found and no plan names one");
            vec![with(FindingCode::StoryMissing, severity, message).on(id)]
        }
        StoryLocation::At(path) => {
            documents.bytes(path).map_or_else(Vec::new, |bytes| disagreements(path, bytes, id, status))
        }
    }
}

fn missing(path: &RelPath, id: &StepId, status: Status) -> Finding {
    let severity = if status == Status::Skipped { Severity::Info } else { Severity::Blocking };
    let message = format!("the story file of {id} is missing: {path}");
    let fix = "restore the file from git, or correct the plan";
    with(FindingCode::StoryMissing, severity, message).at(path).on(id).fix(fix)
}

fn disagreements(path: &RelPath, bytes: &[u8], id: &StepId, status: Status) -> Vec<Finding> {
    let story = story::parse(path, bytes);
    let state = format!("{id} is {status} in the epic");
    let findings = drift_findings(path, &story, &state, id.as_str(), |mention| epic_drift(status, mention));
    findings.into_iter().map(|finding| finding.on(id)).collect()
}

/// The stage of a run, which determines the status its story should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A review of a loop is next.
    Review,
    /// A fix of a loop is next.
    Fix,
    /// The last review of a loop approved.
    Approved,
    Validation,
    /// The story is being implemented or fixed.
    Development,
    /// The gate, the push or the checkpoint is next.
    AfterDevelopment,
    /// In a workflow with other phases.
    Underway,
}

impl Expected {
    const fn what(self) -> &'static str {
        match self {
            Self::Review => "in review in the loop",
            Self::Fix => "being fixed in the loop",
            Self::Approved => "approved in the loop",
            Self::Validation => "to be validated in the cycle",
            Self::Development => "in progress in the cycle",
            Self::AfterDevelopment => "developed in the cycle",
            Self::Underway => "under way in the workflow",
        }
    }
}

/// Compares a story's status with the stage of the run of that story.
pub(super) fn of_story(path: &RelPath, story: &Story<'_>, id: &str, expected: Expected) -> Vec<Finding> {
    let state = format!("{id} is {}", expected.what());
    drift_findings(path, story, &state, id, |mention| workflow_drift(expected, mention))
}

/// Returns findings where the state and the story disagree, and where the story contradicts itself.
fn drift_findings(
    path: &RelPath,
    story: &Story<'_>,
    state: &str,
    id: &str,
    judge: impl Fn(StoryStatus) -> Option<(Severity, &'static str)>,
) -> Vec<Finding> {
    let Some(mention) = story.status() else {
        let message = format!("{state}, but its story has no status");
        return vec![with(FindingCode::StoryDrift, Severity::Warning, message).at(path)];
    };
    let mut findings = Vec::new();
    if let Some((severity, why)) = judge(mention.status) {
        let message = format!("{state}, but its story says `{}`: {why}", mention.raw);
        let finding =
            with(FindingCode::StoryDrift, severity, message).at(path).line(mention.line, Some(mention.column));
        let fix = match mention.status {
            StoryStatus::InReview if severity == Severity::Warning && why == REVIEW_NEXT => {
                "review the story; a gate that says FAIL sends it back to the developer"
            }
            StoryStatus::InReview
            | StoryStatus::Draft
            | StoryStatus::Ready
            | StoryStatus::InProgress
            | StoryStatus::Done
            | StoryStatus::TerminalOther
            | StoryStatus::Blocked
            | StoryStatus::Unknown => "correct the one that is wrong; piton never writes stories",
        };
        findings.push(finding.fix(fix));
    }
    let others: Vec<String> =
        story.contradictions().map(|other| format!("`{}` in line {}", other.raw, other.line)).collect();
    if !others.is_empty() {
        let message = format!("the story of {id} says `{}` and also {}", mention.raw, others.join(", "));
        let finding = with(FindingCode::StoryDrift, Severity::Warning, message).at(path);
        findings.push(finding.line(mention.line, Some(mention.column)).fix("leave one status in the story"));
    }
    findings
}

fn with(code: FindingCode, severity: Severity, message: String) -> Finding {
    Finding { severity, ..Finding::new(code, message) }
}

/// Returns severity and reason when the epic and the story disagree; `None` if they agree.
fn epic_drift(epic: Status, story: StoryStatus) -> Option<(Severity, &'static str)> {
    use Severity::{Blocking, Info, Warning};
    let unknown = (Warning, "not a known status");
    match (epic, story) {
        (_, StoryStatus::Unknown) => Some(unknown),
        (Status::InProgress | Status::WaitingApproval, StoryStatus::Done) => {
            Some((Blocking, "it was finished outside the epic"))
        }
        (Status::InProgress | Status::WaitingApproval, StoryStatus::Draft) => {
            Some((Blocking, "it was reset, so the state is out of date"))
        }
        (Status::InProgress | Status::WaitingApproval, StoryStatus::TerminalOther) => {
            Some((Blocking, "it was closed outside the epic"))
        }
        (Status::InProgress | Status::WaitingApproval, StoryStatus::InReview) => Some((Warning, REVIEW_NEXT)),
        (Status::InProgress | Status::WaitingApproval, StoryStatus::Ready | StoryStatus::Blocked) => {
            Some((Warning, "it is not marked as in progress"))
        }
        (Status::Completed, StoryStatus::Draft) => Some((Blocking, "it was never started, or reset")),
        (Status::Completed, StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview) => {
            Some((Warning, "the story is out of date"))
        }
        (Status::Completed, StoryStatus::Blocked) => Some((Warning, "it is blocked")),
        (Status::Pending, StoryStatus::Ready) => Some((Info, "it was validated while the epic was paused")),
        (Status::Pending, StoryStatus::InProgress | StoryStatus::InReview | StoryStatus::Blocked) => {
            Some((Warning, "it was started outside the epic"))
        }
        (Status::Pending, StoryStatus::Done | StoryStatus::TerminalOther) => {
            Some((Blocking, "it was finished outside the epic"))
        }
        (Status::Failed | Status::Blocked, StoryStatus::Done) => Some((Warning, "it was finished outside the epic")),
        (Status::InProgress | Status::WaitingApproval, StoryStatus::InProgress)
        | (Status::Completed, StoryStatus::Done | StoryStatus::TerminalOther)
        | (Status::Pending, StoryStatus::Draft)
        | (
            Status::Failed | Status::Blocked,
            StoryStatus::Draft
            | StoryStatus::Ready
            | StoryStatus::InProgress
            | StoryStatus::InReview
            | StoryStatus::TerminalOther
            | StoryStatus::Blocked,
        )
        | (
            Status::Skipped | Status::Cancelled,
            StoryStatus::Draft
            | StoryStatus::Ready
            | StoryStatus::InProgress
            | StoryStatus::InReview
            | StoryStatus::Done
            | StoryStatus::TerminalOther
            | StoryStatus::Blocked,
        ) => None,
    }
}

/// Returns severity and reason when the run and its story disagree; `None` if they agree.
fn workflow_drift(expected: Expected, story: StoryStatus) -> Option<(Severity, &'static str)> {
    use Severity::{Blocking, Info, Warning};
    match (expected, story) {
        (_, StoryStatus::Unknown) => Some((Warning, "not a known status")),
        (_, StoryStatus::Blocked) => Some((Warning, "it is blocked")),
        (_, StoryStatus::TerminalOther) => Some((Blocking, "it was closed outside the workflow")),
        (Expected::Review | Expected::Fix, StoryStatus::Done) => Some((Blocking, "QA was completed outside the loop")),
        (Expected::Validation | Expected::Development | Expected::Underway, StoryStatus::Done) => {
            Some((Blocking, "it was completed outside this workflow"))
        }
        (
            Expected::Review
            | Expected::Fix
            | Expected::Approved
            | Expected::Development
            | Expected::AfterDevelopment,
            StoryStatus::Draft,
        ) => Some((Blocking, "it was reset, so the state is out of date")),
        (Expected::Review, StoryStatus::InProgress) => Some((Warning, "QA returned it")),
        (Expected::Review | Expected::Fix | Expected::AfterDevelopment, StoryStatus::Ready) => {
            Some((Warning, "it is not marked as in progress"))
        }
        (Expected::Approved, StoryStatus::Ready | StoryStatus::InProgress) => Some((Warning, "the story is out of date")),
        (Expected::Validation, StoryStatus::Ready) => Some((Info, "it was validated while the cycle was paused")),
        (Expected::Validation, StoryStatus::InProgress | StoryStatus::InReview) => {
            Some((Warning, "it was started outside the cycle"))
        }
        (Expected::Validation, StoryStatus::Draft)
        | (Expected::Underway, StoryStatus::Draft | StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview)
        | (Expected::Review, StoryStatus::InReview)
        | (Expected::Approved, StoryStatus::InReview | StoryStatus::Done)
        | (Expected::Fix, StoryStatus::InProgress | StoryStatus::InReview)
        | (Expected::Development, StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview)
        // The reviewer may set it to Done before the push.
        | (Expected::AfterDevelopment, StoryStatus::InProgress | StoryStatus::InReview | StoryStatus::Done) => None,
    }
}

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;
