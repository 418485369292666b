//! What to ask a person, and what counts as the answer when nobody says anything (rule 9).

use crate::model::Action;
use crate::model::Age;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Mode;
use crate::model::Next;
use crate::model::Options;
use crate::model::Question;
use crate::model::Run;
use crate::model::Severity;
use crate::model::Verdict;

/// Returns the question of a plan; `None` where nobody has to be asked.
pub(super) fn question(
    run: &Run,
    verdict: Verdict,
    next: &[Next],
    findings: &[Finding],
    age: &Age,
    options: &Options,
) -> Option<Question> {
    let has = |code: FindingCode| findings.iter().find(|finding| finding.code == code);
    if has(FindingCode::LiveOwner).is_some() {
        return None;
    }
    if let Some(finding) = has(FindingCode::AttemptLimit) {
        let text = format!(
            "⚠️ Same Step failed {}+ times. {}. Continue anyway? [y/N]",
            options.attempt_limit, finding.message
        );
        return Some(ask(&text, &["yes", "no", "review the plan", "step in yourself", "skip the phase"], "no"));
    }
    if let Some(finding) = has(FindingCode::Rejected) {
        let answers = ["revise the plan", "take another approach", "reduce the scope", "stop"];
        return Some(ask(&finding.message, &answers, "stop"));
    }
    if let Some(finding) = has(FindingCode::RunAborted) {
        return Some(ask(&format!("{}. Take it up again? [y/N]", finding.message), &["yes", "no"], "no"));
    }
    if let Some(finding) = has(FindingCode::BranchMismatch) {
        let answers = ["check the branch out", "recreate the worktree (what is uncommitted is lost)", "abort"];
        return Some(ask(&format!("❌ {}", finding.message), &answers, "abort"));
    }
    if findings.iter().any(|finding| finding.severity == Severity::Blocking) {
        return None;
    }
    if let Some(gate) = next.iter().find(|next| next.action == Action::Approve) {
        let text = format!("Approve {} ({})?", gate.step, gate.title);
        return Some(ask(&text, &["approve", "request changes", "pause"], "pause"));
    }
    match (verdict, options.mode) {
        (Verdict::Blocked | Verdict::Nothing, _) => None,
        (Verdict::Complete, _) => {
            let merge = next.iter().find(|next| next.action == Action::Merge)?;
            Some(ask(&format!("{}?", merge.title), &["yes", "no"], "no"))
        }
        (Verdict::Resume | Verdict::Confirm, Mode::Preflight) => {
            Some(ask("Check every line above. Type \"proceed\" to go on.", &["proceed", "cancel"], "cancel"))
        }
        (Verdict::Resume, Mode::Autopilot) if age.seconds.is_some_and(|seconds| seconds < 86_400) => None,
        (Verdict::Resume, Mode::Autopilot | Mode::Interactive) => {
            Some(ask("Proceed with resume? [Y/n]", &["yes", "no"], "yes"))
        }
        (Verdict::Confirm, Mode::Autopilot | Mode::Interactive) => {
            let verify = next.iter().filter(|next| next.action == Action::Verify).count();
            let text = if has(FindingCode::StatusDrift).is_some() && verify == next.len() {
                format!("Nothing of {} has to be run. Record what the evidence shows? [y/N]", run.id)
            } else if verify > 0 && verify == next.len() {
                format!("Nothing of {} is run before somebody has looked. Take it up to look? [y/N]", run.id)
            } else {
                "Look at the findings first. Proceed with resume? [y/N]".to_owned()
            };
            Some(ask(&text, &["yes", "no"], "no"))
        }
    }
}

fn ask(text: &str, options: &[&str], default: &str) -> Question {
    Question {
        text: text.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        default: Some(default.to_owned()),
        on_yes: None,
        on_no: None,
    }
}
