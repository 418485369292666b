//! The messages of `/workflow:resume` and `/workflow:execute`, verbatim (docs/formats/ccw.md#messages). Hints name Piton's
//! commands where possible.

use super::{brief::failure_analysis, layout::Layout, raw};
use crate::model::{FileSet, Finding, FindingCode, Notice, Plan, Run, Step, Suggested, Verb, Verdict};

/// Message for a project with the system's folder but no session.
pub(super) const NO_SESSION: &str = "No active workflow session found";
pub(super) const NO_SESSION_FIX: &str = "Use: /workflow:session:start or /workflow:plan first";

/// Maximum number of messages of one kind.
const SHOWN: usize = 3;

/// Returns the messages that apply to a plan.
pub(super) fn notices(files: &FileSet, run: &Run, plan: &Plan, findings: &[Finding]) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    let of = |code: FindingCode| findings.iter().filter(move |finding| finding.code == code);
    let steps = |code: FindingCode| of(code).filter_map(|finding| finding.step.as_ref()).take(SHOWN);
    if of(FindingCode::SessionUnreadable).next().is_some() {
        let fix = of(FindingCode::SessionUnreadable)
            .find_map(|finding| finding.fix.clone())
            .map_or_else(String::new, String::from);
        let hint = format!("Use: {fix}");
        notices.push(notice("⚠️ Session state corrupted or inconsistent".to_owned(), hint));
    }
    for step in steps(FindingCode::AttemptLimit) {
        let failures = run.step(step).map_or(0, |step| step.failures);
        let analysis = run.step(step).and_then(|step| failure_analysis(files, &Layout::of(&files.state), step));
        let analysis = analysis.map_or_else(String::new, |path| format!(": Check {path}"));
        let hint = format!("Manual Review Required{analysis}");
        notices.push(notice(format!("❌ Task {step} failed {failures} times"), hint));
    }
    for step in steps(FindingCode::PartUnreadable) {
        let hint = "correct its file, or skip it with --skip".to_owned();
        notices.push(notice(format!("⚠️ Cannot rebuild agent context for {step}"), hint));
        if of(FindingCode::DependencyBlock).any(|block| block.step.as_ref() == Some(step)) {
            let hint = "Use: /workflow:plan to regenerate tasks or manual intervention required".to_owned();
            notices.push(notice(format!("❌ Critical dependency {step} failed validation"), hint));
        }
    }
    let is_lost = |step: &&Step| step.hold.is_some() && step.file.as_ref() == Some(&Layout::of(&files.state).todo);
    for step in run.steps.iter().filter(is_lost).take(SHOWN) {
        let hint = "Use: /workflow:plan to write its file again, or take its line out of TODO_LIST.md".to_owned();
        notices.push(notice(format!("❌ Task {} referenced but JSON file missing", step.id), hint));
    }
    for step in steps(FindingCode::DependencyDangling) {
        let missing = run.step(step).map(|step| step.dangling.as_slice()).unwrap_or_default();
        for task in missing.iter().take(SHOWN) {
            let hint = format!("write its file, or correct the dependencies of {step}");
            notices.push(notice(format!("❌ Task {} referenced but JSON file missing", raw::line(task)), hint));
        }
    }
    let conflict = of(FindingCode::DependencyCycle).chain(of(FindingCode::DependencyDangling)).next();
    if let Some(step) = conflict.and_then(|finding| finding.step.as_ref()) {
        let resume = Suggested::of(Verb::Resume, &run.id).option("skip", step);
        let hint = format!("Use: `{resume}` to bypass blockers");
        notices.push(notice("❌ Task dependency chain has conflicts".to_owned(), hint));
    } else if plan.verdict == Verdict::Blocked && of(FindingCode::DependencyBlock).next().is_some() {
        let hint = "the findings name the causes".to_owned();
        notices.push(notice("⚠️ All tasks completed or blocked".to_owned(), hint));
    }
    notices
}

fn notice(text: String, hint: String) -> Notice {
    Notice { text, hint }
}
