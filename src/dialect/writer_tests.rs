use super::{StateWriter, write};
use crate::{
    dialect::EditError,
    model::{Change, ChangeKind, Edit, Outcome, RollBack, Status, StepId, Timestamp},
};

/// A format that cannot express anything.
struct Stone;

impl StateWriter for Stone {
    const WHAT: &'static str = "a stone";

    fn instead(&self, step: Option<&StepId>) -> String {
        step.map_or_else(|| "leave it".to_owned(), |step| format!("leave {step}"))
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        Ok(Vec::new())
    }
}

fn refused(kind: ChangeKind) -> String {
    let at = Timestamp::parse("2026-01-31T12:00:00Z", 0).unwrap();
    write(Stone, &Change { at, kind }).unwrap_err().to_string()
}

#[test]
fn what_a_format_cannot_do_is_refused_with_what_to_do_instead() {
    let step = || StepId::new("1");
    let back = RollBack { to: "1".to_owned(), reason: None, reopened: vec![step()], keeps: None, from: None };
    for (kind, expected) in [
        (begin(None), "a stone cannot record that 1 begins: leave 1"),
        (ChangeKind::Finish(Box::new(Outcome::completed(step()))), "a stone cannot record how 1 ends: leave 1"),
        (
            ChangeKind::Approve { step: step(), by: None, note: None, phases: None, choice: None },
            "a stone cannot record an approval of 1: leave 1",
        ),
        (
            ChangeKind::Skip { step: step(), part: None, by: None, reason: "no".to_owned() },
            "a stone cannot skip 1: leave 1",
        ),
        (ChangeKind::Pause { reason: None }, "a stone cannot be paused: leave it"),
        (ChangeKind::Abort { by: None, reason: None }, "a stone cannot be aborted: leave it"),
        (
            ChangeKind::Resume { steps: Vec::new(), interruption: None, strategy: None, settled: Vec::new() },
            "a stone cannot be resumed: leave it",
        ),
        (ChangeKind::Complete { note: None }, "a stone cannot be completed as a whole: leave it"),
        (
            ChangeKind::RollBack(Box::new(back)),
            "a stone cannot reopen steps: restore an earlier version: `piton history RUN` lists them",
        ),
        (begin(Some("a")), "a stone cannot change `a` alone: its steps have no parts"),
    ] {
        assert_eq!(refused(kind), expected);
    }
}

fn begin(part: Option<&str>) -> ChangeKind {
    ChangeKind::Begin {
        step: StepId::new("1"),
        part: part.map(str::to_owned),
        agent: None,
        attempt: 1,
        reopens: Vec::new(),
    }
}

#[test]
fn a_step_ends_as_completed_or_failed() {
    let outcome = |status| Outcome { status, ..Outcome::completed(StepId::new("1")) };
    assert!(Stone.completes(&outcome(Status::Completed)).unwrap());
    assert!(!Stone.completes(&outcome(Status::Failed)).unwrap());
    let refused = Stone.completes(&outcome(Status::WaitingApproval)).unwrap_err().to_string();
    assert_eq!(refused, "a stone cannot record 1 as waiting_approval: a step ends as completed or failed");
}
