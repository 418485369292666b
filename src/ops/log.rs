//! The log entry of a resume: what was decided, and why that was safe.

use serde::Serialize;

use super::{locked_run::LockedRun, project_context::ProjectContext};
use crate::{
    engine::Planned,
    model::{Finding, FindingCode, Mode, Run, Severity, StepId, Timestamp, human_age},
    store,
};

/// The line in `log.jsonl`.
#[derive(Serialize)]
struct ResumeLine<'a> {
    at: Timestamp,
    decision: &'static str,
    run: &'a str,
    workflow: &'a str,
    mode: &'static str,
    state_source: Option<&'a str>,
    resume_point: Option<&'a StepId>,
    agent: Option<&'a str>,
    interruption_seconds: Option<i64>,
    validation: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'a str>,
    why: String,
    /// The log entry in the format of the run's own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<&'a str>,
}

/// Records a resume durably in Piton's log, and in autopilot also in the log of the run's own system. The state is already
/// written, so a failure to log is a finding.
pub(super) fn note(
    ctx: &ProjectContext,
    locked: &LockedRun<'_>,
    run: &Run,
    planned: &Planned,
    agreed: bool,
) -> Option<Finding> {
    let plan = &planned.plan;
    let at = locked.clock().now;
    let block = locked.opened.dialect.wording().log(run, plan, &planned.findings, at);
    let next = plan.next.first();
    let warnings = planned.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    let warnings: Vec<&str> = warnings.map(|finding| finding.message.as_str()).collect();
    let line = ResumeLine {
        at,
        decision: "resumed",
        run: run.id.as_str(),
        workflow: &run.workflow,
        mode: plan.mode.as_str(),
        state_source: run.state_files.first().map(|path| path.as_str()),
        resume_point: next.map(|next| &next.step),
        agent: next.and_then(|next| next.agent.as_deref()),
        interruption_seconds: plan.age.seconds,
        validation: if warnings.is_empty() { "clean" } else { "warnings" },
        warnings,
        why: why(planned, agreed),
        said: block.as_ref().map(|block| block.text.as_str()),
    };
    let limit = ctx.project.config.limits.log_bytes;
    let written = store::journal::log_durably(locked.lock(), &line, limit).and_then(|()| {
        let file = block.as_ref().and_then(|block| Some((block.file.as_ref()?, &block.text)));
        match file.filter(|_| plan.mode == Mode::Autopilot) {
            Some((file, text)) => store::journal::append_block(&locked.opened.files.root, file, text),
            None => Ok(()),
        }
    });
    let error = written.err()?;
    let message = format!("the run continues, but its log could not be written: {error}");
    Some(Finding::new(FindingCode::LogUnwritten, message).fix("piton doctor"))
}

fn why(planned: &Planned, agreed: bool) -> String {
    let age =
        planned.plan.age.seconds.map_or_else(|| "of unknown age".to_owned(), |age| format!("{} old", human_age(age)));
    match (agreed, planned.unattended) {
        (true, _) => format!("confirmed; the state is {age}"),
        (false, true) => format!("nothing blocks, no gate waits, and the state is {age}"),
        (false, false) => format!("the caller asked for it, nothing needs a person, and the state is {age}"),
    }
}
