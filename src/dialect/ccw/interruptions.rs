//! What interrupted a session, as its files record it or as what is lost shows (docs/formats/ccw.md#interruptions-and-strategies).

use super::{raw, rules, session_files::SessionFiles, task::CcwTask};
use crate::model::{
    Finding, FindingCode, Interruption, InterruptionKind, RelPath, Status, Step, StepKind, Suggested, Timestamp, Verb,
};

/// Returns the interruption recorded for a running or failed attempt of a task (`execution` of format D).
pub(super) fn recorded(task: &CcwTask, status: Status) -> Option<(Interruption, Option<Timestamp>)> {
    let history = task.parsed.history.as_ref()?;
    let reason = history.interruption_reason.as_ref()?;
    let fallback = InterruptionKind::of(status)?;
    let kind = rules::interruption_kind(reason).unwrap_or(fallback);
    let at = history.last_attempt.or(history.started_at);
    Some((Interruption { kind, step: Some(task.id.clone()), at, reason: raw::line(reason) }, at))
}

pub(super) fn newer(
    known: Option<(Interruption, Option<Timestamp>)>,
    other: Option<(Interruption, Option<Timestamp>)>,
) -> Option<(Interruption, Option<Timestamp>)> {
    match (known, other) {
        (Some(known), Some(other)) => Some(if other.1 > known.1 { other } else { known }),
        (known, other) => known.or(other),
    }
}

/// Returns the last entry of `interruption_history` if nothing was resumed or ended since. Entries are written on resume
/// (docs/formats/ccw.md#interruptions-and-strategies), so most describe the past.
pub(super) fn session(session_files: &SessionFiles<'_>, steps: &[Step]) -> Option<Interruption> {
    let entry = raw::items(session_files.session.value().get("interruption_history")).last()?;
    let at = session_files.files.time(&raw::first_text(entry, &["/timestamp"])?)?;
    let since = ["/last_execute_run", "/resumed_at", "/completed_at"];
    if since
        .iter()
        .filter_map(|pointer| session_files.session.time(session_files.files, pointer))
        .any(|time| time >= at)
    {
        return None;
    }
    let step =
        raw::first_text(entry, &["/affected_task"]).and_then(|id| session_files.index.find(&id)).map(|at| &steps[at]);
    let is_open =
        |step: &Step| matches!(step.status, Status::InProgress | Status::Failed | Status::Blocked | Status::Pending);
    if step.is_some_and(|step| !is_open(step)) {
        return None;
    }
    let reason = raw::first_line(entry, &["/reason"]).unwrap_or_default();
    let kind = rules::interruption_kind(&reason).unwrap_or(InterruptionKind::AgentInterruption);
    Some(Interruption { kind, step: step.map(|step| step.id.clone()), at: Some(at), reason })
}

/// Returns the loss of the context of a running task: the session file is gone, and with it another file that tells it. Small sessions
/// never had a checklist or a plan (docs/formats/ccw.md#interruptions-and-strategies).
pub(super) fn context_loss(
    session_files: &SessionFiles<'_>,
    steps: &[Step],
    findings: &mut Vec<Finding>,
) -> Option<Interruption> {
    let (files, layout) = (session_files.files, &session_files.layout);
    let running = steps.iter().find(|step| step.status == Status::InProgress && step.kind == StepKind::Work)?;
    let done = || steps.iter().filter(|step| step.status == Status::Completed && step.kind == StepKind::Work);
    let is_gone = |path: &RelPath| !files.files.contains_key(path);
    let lost = [
        Some(&layout.session),
        is_gone(&layout.todo).then_some(&layout.todo),
        layout.plan_in(files).is_none().then_some(&layout.plan),
        (done().next().is_some() && done().all(|step| step.proof.summaries.is_empty())).then_some(&layout.summaries[0]),
    ];
    let lost: Vec<&RelPath> = lost.into_iter().flatten().collect();
    if lost.len() < 2 || !is_gone(&layout.session) {
        return None;
    }
    findings.retain(|finding| {
        finding.code != FindingCode::FileMissing || finding.file.as_ref().is_none_or(|file| !lost.contains(&file))
    });
    let names: Vec<&str> = lost.iter().map(|path| path.name()).collect();
    let message = format!("the session has lost {}: the context of {} has to be rebuilt", names.join(", "), running.id);
    let history = Suggested::of(Verb::History, format!("./{}", layout.dir));
    let back = format!("put it back: `{history}` lists its versions");
    let reason = message.clone();
    findings.push(Finding::new(FindingCode::PartMissing, message).at(lost[0]).on(&running.id).fix(back));
    Some(Interruption {
        kind: InterruptionKind::ContextLost,
        step: Some(running.id.clone()),
        at: running.started_at,
        reason,
    })
}
