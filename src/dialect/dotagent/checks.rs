//! The four validations before a resume (docs/formats/dotagent.md#validation). They cover the state itself; the planner verifies
//! for each step that its outputs exist and belong to this run.

use super::{
    archive,
    execution::Presence,
    rules::{Phase, PhaseStatus},
    state::SKEW_SECONDS,
    workflow_files::{WorkflowFiles, has_lost_its_tasks},
};
use crate::model::{Finding, FindingCode, Fix, Severity, Suggested, Timestamp, Verb, human_age, human_lead, plural};

const WEEK_SECONDS: i64 = 604_800;

/// Adds findings about the state.
pub(super) fn check(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) {
    let before = findings.len();
    let was_sound = !findings.iter().any(|finding| finding.code == FindingCode::StateCorrupt);
    execution(workflow_files, findings);
    stamps(workflow_files, findings);
    progression(workflow_files, findings);
    let is_sound = was_sound && !findings[before..].iter().any(|finding| finding.code == FindingCode::StateCorrupt);
    incomplete_write(workflow_files, is_sound, findings);
    failed(workflow_files, findings);
    if let Some(id) = workflow_files.state.id.as_deref().filter(|id| archive::problem_of(id).is_some()) {
        let message =
            format!("the workflow id `{}` cannot be part of a path; it cannot be archived", id.escape_debug());
        findings.push(workflow_files.source.finding(FindingCode::IdUnsafe, "/workflow_id", message));
    }
}

/// Check 1, for the second state file.
fn execution(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) {
    let is_needed = workflow_files.state.phase >= Phase::Implementation
        || workflow_files.state.has_completed(Phase::Implementation);
    if !is_needed || !matches!(workflow_files.execution.presence, Presence::Missing) {
        return;
    }
    let file = &workflow_files.layout.execution;
    let finding = if has_lost_its_tasks(workflow_files) {
        let command = |verb| Suggested::of(verb, format!("./{}", workflow_files.files.state));
        let (history, close) = (command(Verb::History), command(Verb::Close).flag("abort"));
        let message = format!("{file} is missing, and tasks have outputs: it is unknown what else there was to do");
        let fix = format!("put it back: `{history}` lists its versions; or start again: `{close}`");
        let fix = Fix::offering(fix, [close]);
        Finding { severity: Severity::Blocking, ..Finding::new(FindingCode::PartMissing, message).fix(fix) }
    } else {
        let message = format!("{file} is missing, and no task has an output");
        let finding = Finding::new(FindingCode::PartMissing, message);
        // The executor may have been interrupted before it wrote its first task.
        let severity =
            if workflow_files.state.phase == Phase::Implementation { Severity::Warning } else { Severity::Info };
        Finding { severity, ..finding }
    };
    findings.push(finding.at(file));
}

/// Check 2.
fn stamps(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) {
    let (state, now) = (&workflow_files.state, workflow_files.files.clock.now);
    let mut named: Vec<(String, Timestamp)> = Vec::new();
    named.extend(state.started_at.map(|at| ("/started_at".to_owned(), at)));
    named.extend(state.last_updated.map(|at| ("/last_updated".to_owned(), at)));
    let done = state.completed.iter().filter_map(|done| Some((format!("{}/completed_at", done.pointer), done.at?)));
    let approved =
        state.approvals.iter().filter_map(|entry| Some((format!("{}/approved_at", entry.pointer), entry.at?)));
    let inner: Vec<(String, Timestamp)> = done.chain(approved).collect();
    // A clock that was ahead corrupts no state: one finding for all of its stamps.
    let is_ahead = |(_, at): &&(String, Timestamp)| at.seconds_since(now) > SKEW_SECONDS;
    let ahead: Vec<&(String, Timestamp)> = named.iter().chain(&inner).filter(is_ahead).collect();
    if let Some((pointer, at)) = ahead.first() {
        let more = match ahead.len() {
            1 => String::new(),
            count => format!(", and so are {}", plural(count - 1, "other time stamp")),
        };
        let message =
            format!("{} is {} in the future{more}", describe_pointer(pointer), human_lead(at.seconds_since(now)));
        let fix = "check the clock of this machine and of the one that wrote the state";
        findings.push(workflow_files.source.finding(FindingCode::TimeInFuture, pointer, message).fix(fix));
    }
    let (Some(started), Some(updated)) = (state.started_at, state.last_updated) else { return };
    if started > updated {
        let message = "`started_at` is later than `last_updated`";
        findings.push(workflow_files.source.finding(FindingCode::StateCorrupt, "/started_at", message));
    }
    for (pointer, at) in &inner {
        if *at < started || (*at > updated && started <= updated) {
            let message = format!("{} is not between `started_at` and `last_updated`", describe_pointer(pointer));
            findings.push(workflow_files.source.finding(FindingCode::StateCorrupt, pointer, message));
        }
    }
    let age = now.seconds_since(started);
    if age >= WEEK_SECONDS && !state.has_completed(Phase::Reflection) {
        let message = format!("the workflow was started {} ago", human_age(age));
        let finding = workflow_files.source.finding(FindingCode::AgeStale, "/started_at", message);
        let name = workflow_files.state.name();
        let resume = Suggested::of(Verb::Resume, &name);
        let start = Suggested::of(Verb::Start, "dotagent").option("feature", &name).flag("archive");
        let fix = format!("look whether the project has changed; go on with `{resume}`, or start fresh with `{start}`");
        findings.push(finding.fix(fix));
    }
}

/// Describes a pointer, for example: `completed_at` of entry 2 in `completed_phases`.
fn describe_pointer(pointer: &str) -> String {
    match pointer.split('/').skip(1).collect::<Vec<_>>().as_slice() {
        [list, at, field] => {
            let number = at.parse::<usize>().map_or(0, |at| at + 1);
            format!("`{field}` of entry {number} in `{list}`")
        }
        _ => format!("`{}`", pointer.trim_start_matches('/')),
    }
}

/// Check 3: the completed phases are a prefix of the five, and the current one comes next.
fn progression(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) {
    let state = &workflow_files.state;
    let mut prefix = Phase::ALL.into_iter();
    for done in &state.completed {
        let expected = prefix.next();
        if expected != Some(done.phase) {
            let message = match expected {
                Some(expected) => {
                    format!("`completed_phases` has {} where {} is expected", done.phase.as_str(), expected.as_str())
                }
                None => "`completed_phases` has more entries than there are phases".to_owned(),
            };
            findings.push(workflow_files.source.finding(FindingCode::StateCorrupt, &done.pointer, message));
            return;
        }
    }
    let next = Phase::ALL.get(state.completed.len()).copied();
    let last = state.completed.last().map(|done| done.phase);
    let is_at_last = state.status == PhaseStatus::Complete && last == Some(state.phase);
    if next != Some(state.phase) && !is_at_last {
        let expected = next.map_or("complete", Phase::as_str);
        let message = format!(
            "`current_phase` is {} ({}) but by `completed_phases` {expected} comes next",
            state.phase.as_str(),
            state.status.as_str()
        );
        findings.push(workflow_files.source.finding(FindingCode::StateCorrupt, "/current_phase", message));
    }
}

/// Check 4. A crash after the rename leaves the marker on a sound file (docs/formats/dotagent.md#the-interruption-marker).
fn incomplete_write(workflow_files: &WorkflowFiles<'_>, is_sound: bool, findings: &mut Vec<Finding>) {
    if workflow_files.state.is_safe == Some(false) {
        let (code, tail) = if is_sound {
            (FindingCode::InterruptedWrite, "the file is intact, and the next write clears it")
        } else {
            (FindingCode::StateCorrupt, "the file is damaged")
        };
        let message = format!("`interruption_safe` is false: a write was interrupted; {tail}");
        findings.push(workflow_files.source.finding(code, "/interruption_safe", message));
    }
    let beside = workflow_files
        .files
        .in_dir(&workflow_files.layout.state_dir().clone())
        .map(|(path, _)| path.clone())
        .collect::<Vec<_>>();
    for path in beside.iter().filter(|path| path.as_str().ends_with(".tmp")) {
        let message = format!("{path} was left by an interrupted write; the state next to it is intact");
        let finding = Finding::new(FindingCode::TemporaryLeft, message).at(path);
        let finding = finding.fix("check whether it has anything newer, then delete it");
        findings.push(Finding { severity: Severity::Warning, ..finding });
    }
}

/// Reports a failed phase, which continues only after confirmation (docs/formats/dotagent.md#validation).
fn failed(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) {
    if workflow_files.state.status == PhaseStatus::Failed
        && !workflow_files.state.has_completed(workflow_files.state.phase)
    {
        let message = format!(
            "the state says that {} failed; it continues after confirmation",
            workflow_files.state.phase.as_str()
        );
        findings.push(workflow_files.source.finding(FindingCode::RunFailed, "/phase_status", message));
    }
}
