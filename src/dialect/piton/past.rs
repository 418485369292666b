//! The history of a session: the state before each record of the journal can be restored.

use std::time::Duration;

use super::{
    facts::{Act, Facts},
    record::{Event, Record},
    session::{Session, records},
    state::State,
};
use crate::{
    dialect::{EditError, PastCheckpoint},
    model::{ChangeKind, Edit, FileSet, Finding, clean_line, human_duration, mask_secrets, plural},
};

/// Characters of a text in a line of the history.
const WHAT_CHARS: usize = 120;

/// Lists the state before each record but the first, which started the session.
pub(super) fn journal_checkpoints(files: &FileSet) -> Option<Vec<PastCheckpoint>> {
    let records = records(files).ok()?;
    let transitions = records.iter().skip(1).filter(|record| !matches!(record.event, Event::Note(())));
    let checkpoints = transitions.map(|record| {
        let (at, change, step) = match &record.event {
            Event::Change(change) => (Some(change.at), change.kind.as_str(), change.kind.step().cloned()),
            Event::Runner(act) => (Some(act.at), act.act.as_str(), act.act.step().cloned()),
            Event::Base(state) => (state.run.changed_at, "restore", None),
            Event::Merge(merge) => (Some(merge.at), "merge", Some(merge.step.clone())),
            Event::Note(()) => (None, "note", None),
        };
        PastCheckpoint {
            id: format!("{:06}", record.seq),
            at,
            change: change.to_owned(),
            step,
            what: what(record),
            file: files.state.clone(),
        }
    });
    Some(checkpoints.collect())
}

/// Returns what a record says besides its step: attempt, result, duration, reason. It is never empty.
fn what(record: &Record) -> String {
    let change = match &record.event {
        Event::Change(change) => change,
        Event::Base(_) => return "the state at a checkpoint".to_owned(),
        Event::Runner(act) => return of_act(&act.act),
        Event::Note(()) => return "what was said".to_owned(),
        Event::Merge(merge) => return if merge.done.is_some() { "completed" } else { "begun" }.to_owned(),
    };
    let facts = &record.facts;
    let line = |text: &String| clean_line(&mask_secrets(text), WHAT_CHARS);
    let mut parts: Vec<String> = change.kind.part().map(|part| format!("part {part}")).into_iter().collect();
    match &change.kind {
        ChangeKind::Begin { attempt, .. } => {
            parts.push(format!("attempt {attempt}"));
            parts.extend(facts.after_agent.then(|| "after its agent".to_owned()));
        }
        ChangeKind::Finish(outcome) => {
            let verdict = outcome.verdict.map(|verdict| verdict.to_string());
            let how = verdict.unwrap_or_else(|| outcome.status.to_string());
            parts.push(if facts.after_agent { format!("its agent reported {how}") } else { how });
            parts.extend(outcome.error.as_ref().or(facts.tolerated.as_ref()).or(outcome.summary.as_ref()).map(line));
        }
        ChangeKind::Approve { choice, note, .. } => parts.extend(choice.iter().chain(note).map(line)),
        ChangeKind::Skip { reason, .. } => parts.push(line(reason)),
        ChangeKind::Complete { note } => parts.extend(note.as_ref().map(line)),
        ChangeKind::Pause { reason } | ChangeKind::Abort { reason, .. } => parts.extend(reason.as_ref().map(line)),
        ChangeKind::Resume { steps, interruption, .. } => {
            parts.extend(steps.first().map(|step| format!("at {step}")));
            parts.extend(interruption.as_ref().map(|interruption| line(&interruption.reason)));
            parts.extend(facts.definition.as_ref().map(|_| "the workflow file was edited".to_owned()));
            parts.extend(facts.over_limits.then(|| "over its limits".to_owned()));
        }
        ChangeKind::RollBack(back) => parts.push(format!("to {}", line(&back.to))),
        ChangeKind::Repair { .. } => parts.push("rebuilt from evidence".to_owned()),
        ChangeKind::Start(_) => parts.push("from the first step".to_owned()),
    }
    parts.extend(facts.duration_ms.map(|spent| match spent {
        ..10_000 => format!("{spent} ms"),
        _ => human_duration(Duration::from_millis(spent)),
    }));
    parts.extend(facts.worktree.as_ref().map(|end| format!("worktree {}", line(end))));
    if parts.is_empty() {
        parts.push(without_words(&change.kind).to_owned());
    }
    parts.join(", ")
}

/// Returns what a change says that was recorded without a reason or a note.
const fn without_words(kind: &ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Complete { .. } => "every step is over",
        ChangeKind::Resume { .. } => "every step was over",
        ChangeKind::Approve { .. } => "without a note",
        ChangeKind::Begin { .. }
        | ChangeKind::Finish(_)
        | ChangeKind::Skip { .. }
        | ChangeKind::Pause { .. }
        | ChangeKind::Abort { .. }
        | ChangeKind::RollBack(_)
        | ChangeKind::Repair { .. }
        | ChangeKind::Start(_) => "without a reason",
    }
}

fn of_act(act: &Act) -> String {
    match act {
        Act::WorktreeSetUp { copied, linked } => {
            format!("{} copied, {} linked", plural(copied.len(), "file"), linked.len())
        }
        Act::OnStopBegins => "its steps begin".to_owned(),
        Act::OnStopEnds => "its steps are over".to_owned(),
        Act::ItemStepBegins { item, begun, .. } => {
            format!("part {}", clean_line(&mask_secrets(&format!("{item}.{}", begun.name)), WHAT_CHARS))
        }
        Act::ItemStep { item, passed, .. } => {
            let item = clean_line(&mask_secrets(item), WHAT_CHARS);
            format!("part {item}, {} passed", plural(*passed, "step"))
        }
    }
}

/// Records the state before a record as the current state.
pub(super) fn restore_checkpoint(files: &FileSet, checkpoint: &str) -> Result<Vec<Edit>, EditError> {
    let unreadable = |finding: Box<Finding>| {
        let file = files.state.as_str().to_owned();
        EditError::Unreadable { file, problem: finding.message }
    };
    let session = Session::read(files).map_err(unreadable)?;
    let records = records(files).map_err(unreadable)?;
    let wanted = checkpoint.parse::<u64>().ok().filter(|seq| *seq > 1);
    let at = wanted.and_then(|seq| records.iter().position(|record| record.seq == seq));
    let Some(at) = at else {
        return Err(EditError::Unsupported(format!("{} has no checkpoint `{checkpoint}`", files.name)));
    };
    let state = State::from_records(&records[..at]);
    // The definition of the workflow is not undone.
    let mut state = State { workflow: session.state.workflow.clone(), ..state };
    state.keep_acts_of(&session.state);
    state.keep_attempts_of(&session.state);
    Ok(vec![session.append(Event::Base(Box::new(state)), Facts { restores: true, ..Facts::default() })?])
}
