//! Changes to a run: a refused change leaves no trace, and an admitted one has exactly the intended effect.

use super::{
    bundle::{Bundle, clock},
    kept, look,
};
use crate::{
    engine::{ChangeLimits, Planned},
    model::{
        Change, ChangeKind, DialectId, EditKind, Interruption, InterruptionKind, Outcome, ReviewVerdict, RollBack, Run,
        RunStatus, Status, Step, StepId, StepKind,
    },
    ops::{ChangeDraft, OpError, OpenedRun, PreparedChange},
};

/// The first letter of a line; any other byte is mapped to one of them.
const KINDS: &[u8] = b"bfxwarnojspqvcBFk";

/// Applies the changes of a project to a run, in order.
pub(super) fn all(mut opened: OpenedRun, mut bundle: Bundle) {
    for line in std::mem::take(&mut bundle.changes) {
        let Some(run) = &opened.loaded.run else { return };
        let evidence = look::evidence(&opened, &bundle);
        let planned = look::plan(&opened, run, &evidence);
        let Some((kind, force)) = read(run, &planned, &line) else { continue };
        let change = Change { at: clock().now, kind };
        let guard = ChangeLimits { force, ..ChangeLimits::of(3) };
        let draft = || opened.draft(&evidence, change.clone(), guard);
        let drafted = match draft() {
            Ok(ChangeDraft::Checkpoint(drafted)) => drafted,
            Ok(ChangeDraft::Already(_)) => continue,
            Err(OpError::SelfCheck { file, problem }) => panic!("{}: {file}: {problem}", change.kind.as_str()),
            Err(_) => continue,
        };
        let Ok(ChangeDraft::Checkpoint(twice)) = draft() else { panic!("a change is refused the second time") };
        assert_eq!(drafted.edits, twice.edits, "a change has two results");
        match commit(&opened, &mut bundle, &drafted) {
            Some(after) => opened = after,
            None => return,
        }
    }
}

/// Writes a change and returns the changed run; `None` if it is archived.
fn commit(before: &OpenedRun, bundle: &mut Bundle, drafted: &PreparedChange) -> Option<OpenedRun> {
    let PreparedChange { change, edits, .. } = drafted;
    check_reach(before, drafted);
    for edit in edits {
        if let EditKind::Replace { before, after } = &edit.kind {
            kept::check(&edit.path, before, after);
        }
    }
    bundle.commit(edits);
    let written: Vec<_> = edits.iter().map(|edit| edit.path.clone()).collect();
    let Some(after) = look::again(&before.candidate, bundle, &written) else {
        let is_over = matches!(change.kind, ChangeKind::Abort { .. } | ChangeKind::Complete { .. });
        assert!(is_over, "after {} the run is not found", change.kind.as_str());
        return None;
    };
    let Some(run) = &after.loaded.run else {
        panic!("after {} the run is not read: {:?}", change.kind.as_str(), after.loaded.findings)
    };
    let was_degraded = before.loaded.run.as_ref().is_some_and(|run| run.degraded);
    assert!(was_degraded || !run.degraded, "{} breaks the state: {:?}", change.kind.as_str(), after.loaded.findings);
    check_said(before.loaded.run.as_ref().expect("a run was changed"), run, &change.kind);
    look::look(&after, bundle);
    Some(after)
}

/// Checks that a change stays in the folder of the state and names no file twice.
fn check_reach(before: &OpenedRun, drafted: &PreparedChange) {
    let candidate = &before.candidate;
    let run = before.loaded.run.as_ref().expect("a run was changed");
    let folder = candidate.state.parent();
    for (at, edit) in drafted.edits.iter().enumerate() {
        let path = &edit.path;
        let is_own = run.state_files.contains(path)
            || path.starts_with(&candidate.state)
            || folder.as_ref().is_some_and(|folder| path.starts_with(folder));
        assert!(is_own, "{} writes {path}, which is not of its run", drafted.change.kind.as_str());
        assert!(!drafted.edits[..at].iter().any(|other| other.path == *path), "{path} is written twice");
    }
}

/// Checks that the state says what was recorded, as far as its format can express it.
fn check_said(before: &Run, run: &Run, kind: &ChangeKind) {
    let has_every_word = match run.dialect {
        DialectId::NineStep
        | DialectId::Ccw
        | DialectId::Piton
        | DialectId::Claude
        | DialectId::Gsd
        | DialectId::Taskmaster => true,
        DialectId::Dotagent | DialectId::Aios | DialectId::Checklist | DialectId::Bmad => false,
    };
    let (step, status) = match kind {
        ChangeKind::Begin { step, part: None, .. } => (step, Status::InProgress),
        ChangeKind::Finish(outcome) if outcome.part.is_none() => (&outcome.step, outcome.status),
        ChangeKind::Approve { step, .. } if is_answer(before, step) => (step, Status::Failed),
        ChangeKind::Approve { step, .. } => (step, Status::Completed),
        ChangeKind::Skip { step, part: None, .. } => (step, Status::Skipped),
        // Its location says so as well.
        ChangeKind::Pause { .. }
        | ChangeKind::Abort { .. }
        | ChangeKind::Resume { .. }
        | ChangeKind::Complete { .. }
            if before.status == RunStatus::Archived =>
        {
            return;
        }
        ChangeKind::Pause { .. } if has_every_word => return assert_eq!(run.status, RunStatus::Paused),
        ChangeKind::Resume { .. } if has_every_word => return assert_eq!(run.status, RunStatus::Active),
        ChangeKind::Complete { .. } if has_every_word => return assert_eq!(run.status, RunStatus::Completed),
        ChangeKind::Pause { .. } | ChangeKind::Abort { .. } | ChangeKind::Resume { .. } => {
            return assert_ne!(run.status, RunStatus::Completed, "after {}", kind.as_str());
        }
        ChangeKind::RollBack(back) => {
            // What must not run twice stays done, in doubt: a person says whether it runs again.
            let over = |id: &&StepId| run.step(id).is_some_and(|step| step.status.satisfies() && step.doubt.is_none());
            // The outputs of a dotagent step say whether it is done. The journal of a workflow run goes back to a version, which the change only
            // names.
            let is_judged = !matches!(run.dialect, DialectId::Dotagent | DialectId::Piton);
            let still = back.reopened.iter().find(over).filter(|_| is_judged);
            return assert_eq!(still, None, "after a rollback to {}", back.to);
        }
        ChangeKind::Begin { .. }
        | ChangeKind::Finish(_)
        | ChangeKind::Skip { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Repair { .. }
        | ChangeKind::Start(_) => return,
    };
    // The state of one subject names the steps of the next subject once its own last step is done.
    let said = run.step(step);
    let found = said.map(|step| step.status).or((!has_every_word).then_some(status));
    let file = said.and_then(|step| step.file.as_ref());
    let has_file = file.is_none_or(|file| !file.name().ends_with(".md"));
    let is_said = match status {
        Status::Failed if is_round(before, step) => run.steps.iter().any(|step| !step.status.satisfies()),
        Status::Failed | Status::WaitingApproval if !has_every_word => found != Some(Status::Completed),
        // The outputs of a dotagent step say whether it is done.
        Status::Completed if run.dialect == DialectId::Dotagent => true,
        Status::Completed if is_put_again(before, step) => true,
        // A check list has one mark for what is left out and what is cancelled.
        Status::Skipped if !has_file => matches!(found, Some(Status::Skipped | Status::Cancelled)),
        // Not every format distinguishes a step in progress from a pending one; check boxes never do.
        Status::InProgress if !has_every_word || !has_file => true,
        Status::Pending
        | Status::InProgress
        | Status::Completed
        | Status::Failed
        | Status::Blocked
        | Status::Skipped
        | Status::WaitingApproval
        | Status::Cancelled => found == Some(status),
    };
    assert!(is_said, "after {} of {step}, which was to be {status}, it is {found:?}", kind.as_str());
}

/// Tells whether an approval only allows a run to go back and try again (docs/formats/nine-step.md#decision-table).
fn is_answer(before: &Run, step: &StepId) -> bool {
    let is_failed = |step: &Step| step.kind == StepKind::Review && step.status == Status::Failed;
    before.dialect == DialectId::NineStep && before.step(step).is_some_and(is_failed)
}

/// Tells whether a gate that was forced over open work is asked again once that work is done, as AIOS does for its waves.
fn is_put_again(before: &Run, id: &StepId) -> bool {
    let Some(step) = before.step(id).filter(|step| matches!(step.kind, StepKind::Gate | StepKind::Review)) else {
        return false;
    };
    let is_open = |id: &StepId| before.step(id).is_some_and(|step| !step.status.satisfies());
    before.dialect == DialectId::Aios && step.depends_on.iter().any(is_open)
}

/// Tells whether a step is the review of an AIOS round: a rejection is its result, and the fix is another step.
fn is_round(before: &Run, id: &StepId) -> bool {
    before.dialect == DialectId::Aios && before.step(id).is_some_and(|step| step.kind == StepKind::Review)
}

/// Parses one line: kind, step (`!` for the planned one, else `0` and up), `!` for `--force`, text.
fn read(run: &Run, planned: &Planned, line: &[u8]) -> Option<(ChangeKind, bool)> {
    let [kind, step, force, text @ ..] = line else { return None };
    let kind = if KINDS.contains(kind) { *kind } else { KINDS[usize::from(*kind) % KINDS.len()] };
    let named = planned.plan.next.first().filter(|_| *step == b'!').and_then(|next| run.step(&next.step));
    let at = usize::from(step.wrapping_sub(b'0'));
    let step = named.or_else(|| run.steps.get(at % run.steps.len().max(1)));
    let text = String::from_utf8_lossy(text).into_owned();
    let id = step.map_or_else(|| StepId::new("none"), |step| step.id.clone());
    let part = step.and_then(|step| step.detail.parts.first()).map(|part| part.name.clone());
    let begin =
        |part| ChangeKind::Begin { step: id.clone(), part, agent: some(&text), attempt: 0, reopens: Vec::new() };
    let kind = match kind {
        b'b' => begin(None),
        b'B' => begin(Some(part?)),
        b'F' => finish(Outcome { part: Some(part?), summary: some(&text), ..Outcome::completed(id) }),
        b'x' => finish(Outcome { status: Status::Failed, error: some(&text), ..Outcome::completed(id) }),
        b'w' => finish(Outcome { status: Status::WaitingApproval, summary: some(&text), ..Outcome::completed(id) }),
        b'v' => judged(id, ReviewVerdict::Approved, &text),
        b'n' => judged(id, ReviewVerdict::NeedsRevision, &text),
        b'j' => judged(id, ReviewVerdict::Rejected, &text),
        b'o' => judged(id, ReviewVerdict::ApprovedWithConditions, &text),
        b'a' => ChangeKind::Approve { step: id, by: some(&text), note: some(&text), phases: None, choice: None },
        b's' => ChangeKind::Skip { step: id, part: None, by: None, reason: text },
        b'p' => ChangeKind::Pause { reason: some(&text) },
        b'q' => ChangeKind::Abort { by: None, reason: some(&text) },
        b'c' => ChangeKind::Complete { note: some(&text) },
        // A finished run is not resumed.
        b'r' if matches!(run.status, RunStatus::Completed | RunStatus::Archived) => return None,
        b'r' => resume(run, &text),
        b'k' => ChangeKind::RollBack(Box::new(RollBack { to: text, reopened: vec![id], ..RollBack::default() })),
        _ => finish(Outcome { summary: some(&text), commit: some(&text), ..Outcome::completed(id) }),
    };
    Some((kind, *force == b'!'))
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn finish(outcome: Outcome) -> ChangeKind {
    ChangeKind::Finish(Box::new(outcome))
}

fn judged(id: StepId, verdict: ReviewVerdict, text: &str) -> ChangeKind {
    let conditions = text.split(';').filter_map(some).filter(|_| verdict == ReviewVerdict::ApprovedWithConditions);
    let status = verdict.status();
    let error = some(text).filter(|_| status == Status::Failed);
    let conditions = conditions.collect();
    finish(Outcome { verdict: Some(verdict), status, conditions, error, ..Outcome::completed(id) })
}

fn resume(run: &Run, text: &str) -> ChangeKind {
    let at_work = run.steps.iter().filter(|step| step.status == Status::InProgress);
    let steps: Vec<StepId> = at_work.map(|step| step.id.clone()).collect();
    let interruption = steps.first().map(|step| Interruption {
        kind: InterruptionKind::AgentInterruption,
        step: Some(step.clone()),
        at: None,
        reason: text.to_owned(),
    });
    ChangeKind::Resume { steps, interruption, strategy: some(text), settled: Vec::new() }
}
