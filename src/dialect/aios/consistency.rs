//! Whether the state of an epic and its stories agree (dotagent-and-aios.md 2.10, validation 2.2).
//!
//! A story that lags behind is the norm: of the eight stories of a real epic that is completed, none says so.

use super::shelf::Located;
use super::shelf::Shelf;
use super::story;
use super::story::StoryStatus;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::Severity;
use crate::model::Status;
use crate::model::StepId;

/// Compares what a state says of a story with what the story says of itself.
pub(super) fn compare(shelf: &Shelf<'_>, at: &Located, id: &StepId, status: Status) -> Vec<Finding> {
    match at {
        Located::Gone(path) => vec![gone(path, id, status)],
        Located::Nowhere if status == Status::Skipped => Vec::new(),
        Located::Nowhere => {
            let message = format!("no story file of {id} was found, and no plan names one");
            vec![with(FindingCode::StoryMissing, Severity::Warning, message).on(id)]
        }
        Located::At(path) => shelf.bytes(path).map_or_else(Vec::new, |bytes| disagreements(path, bytes, id, status)),
    }
}

fn gone(path: &RelPath, id: &StepId, status: Status) -> Finding {
    let severity = if status == Status::Skipped { Severity::Info } else { Severity::Blocking };
    let message = format!("the story file of {id} is not there: {path}");
    let fix = "bring the file back from git, or correct the plan";
    with(FindingCode::StoryMissing, severity, message).at(path).on(id).fix(fix)
}

fn disagreements(path: &RelPath, bytes: &[u8], id: &StepId, status: Status) -> Vec<Finding> {
    let story = story::parse(path, bytes);
    let Some(seen) = story.status() else {
        let message = format!("{id} is {status} in the epic, and its story does not say where it stands");
        return vec![with(FindingCode::StoryDrift, Severity::Warning, message).at(path).on(id)];
    };
    let mut findings = Vec::new();
    if let Some((severity, why)) = judge(status, seen.status) {
        let message = format!("{id} is {status} in the epic, and its story says `{}`: {why}", seen.raw);
        let finding =
            with(FindingCode::StoryDrift, severity, message).at(path).line(seen.line, Some(seen.column)).on(id);
        findings.push(finding.fix("correct whichever of the two is wrong; stories are never written by piton"));
    }
    let others: Vec<String> =
        story.contradictions().map(|other| format!("`{}` in line {}", other.raw, other.line)).collect();
    if !others.is_empty() {
        let message = format!("the story of {id} says `{}` and also {}", seen.raw, others.join(", "));
        let finding = with(FindingCode::StoryDrift, Severity::Warning, message).at(path);
        findings.push(finding.line(seen.line, Some(seen.column)).on(id).fix("leave one status in the story"));
    }
    findings
}

fn with(code: FindingCode, severity: Severity, message: String) -> Finding {
    Finding { severity, ..Finding::new(code, message) }
}

/// Returns how bad it is when the epic says one thing and the story another; `None` where they agree.
fn judge(epic: Status, story: StoryStatus) -> Option<(Severity, &'static str)> {
    use Severity::Blocking;
    use Severity::Info;
    use Severity::Warning;
    let unknown = (Warning, "not a status that is known");
    match (epic, story) {
        (_, StoryStatus::Unknown) => Some(unknown),
        (Status::InProgress | Status::WaitingApproval, StoryStatus::Done) => {
            Some((Blocking, "it was finished outside of the epic"))
        }
        (Status::InProgress | Status::WaitingApproval, StoryStatus::Draft) => {
            Some((Blocking, "it was set back, and the state is out of date"))
        }
        (Status::InProgress | Status::WaitingApproval, StoryStatus::TerminalOther) => {
            Some((Blocking, "it was closed outside of the epic"))
        }
        (Status::InProgress | Status::WaitingApproval, StoryStatus::Ready | StoryStatus::Blocked) => {
            Some((Warning, "it does not say that somebody works on it"))
        }
        (Status::Completed, StoryStatus::Draft) => Some((Blocking, "it was never begun, or set back")),
        (Status::Completed, StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview) => {
            Some((Warning, "the story lags behind"))
        }
        (Status::Completed, StoryStatus::Blocked) => Some((Warning, "it is held up")),
        (Status::Pending, StoryStatus::Ready) => Some((Info, "it was validated while the epic rested")),
        (Status::Pending, StoryStatus::InProgress | StoryStatus::InReview | StoryStatus::Blocked) => {
            Some((Warning, "it was begun outside of the epic"))
        }
        (Status::Pending, StoryStatus::Done | StoryStatus::TerminalOther) => {
            Some((Blocking, "it was finished outside of the epic"))
        }
        (Status::Failed | Status::Blocked, StoryStatus::Done) => Some((Warning, "it was finished outside of the epic")),
        (Status::InProgress | Status::WaitingApproval, StoryStatus::InProgress | StoryStatus::InReview)
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

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;
