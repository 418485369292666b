//! The log entry of a resume: what was decided, and why that was safe.

use serde::Serialize;
use serde_json::Value;

use super::locked_run::LockedRun;
use crate::{
    dialect::LogBlock,
    engine::Planned,
    model::{Finding, FindingCode, Mode, Run, Severity, StepId, Suggested, Verb, human_age},
    store,
};

/// What the journal says of a resume.
#[derive(Serialize)]
struct ResumeLine<'a> {
    decision: &'static str,
    workflow: &'a str,
    mode: &'static str,
    state_source: Option<&'a str>,
    resume_point: Option<&'a StepId>,
    agent: Option<&'a str>,
    interruption_seconds: Option<i64>,
    validation: &'static str,
    /// The findings that a person saw and let the run go on with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agreed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'a str>,
    why: String,
    /// The log entry in the format of the run's own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<&'a str>,
}

/// Returns why a resume is safe, for the journal, and what the run's own system writes about it.
pub(super) fn line(locked: &LockedRun<'_>, run: &Run, planned: &Planned, agreed: bool) -> (Value, Option<LogBlock>) {
    let plan = &planned.plan;
    let at = locked.clock().now;
    let block = locked.opened.dialect.wording().log(run, plan, &planned.findings, at);
    let next = plan.next.first();
    let warnings = planned.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    let warnings: Vec<&str> = warnings.map(|finding| finding.message.as_str()).collect();
    let line = ResumeLine {
        decision: "resumed",
        workflow: &run.workflow,
        mode: plan.mode.as_str(),
        state_source: run.state_files.first().map(|path| path.as_str()),
        resume_point: next.map(|next| &next.step),
        agent: next.and_then(|next| next.agent.as_deref()),
        interruption_seconds: plan.age.seconds,
        validation: if warnings.is_empty() { "clean" } else { "warnings" },
        agreed: if agreed { planned.findings.iter().map(Finding::subject).collect() } else { Vec::new() },
        warnings,
        why: why(planned, agreed),
        said: block.as_ref().map(|block| block.text.as_str()),
    };
    (serde_json::to_value(line).expect("a line is JSON"), block)
}

/// Writes what the run's own system says of a resume into the log of that system, in autopilot. The state is written, so a failure is a finding.
pub(super) fn tell(locked: &LockedRun<'_>, planned: &Planned, block: Option<LogBlock>) -> Option<Finding> {
    let block = block.filter(|_| planned.plan.mode == Mode::Autopilot)?;
    let error = store::journal::append_block(&locked.opened.files.root, &block.file?, &block.text).err()?;
    let message = format!("the run continues, but its log could not be written: {error}");
    Some(Finding::new(FindingCode::LogUnwritten, message).fix(Suggested::new(Verb::Doctor)))
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
