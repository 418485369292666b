//! The question for a person and its default answer (rule 9).

use crate::model::Action;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Mode;
use crate::model::Next;
use crate::model::Options;
use crate::model::Question;
use crate::model::Run;
use crate::model::Severity;
use crate::model::Verdict;

/// The inputs of a question.
pub(super) struct QuestionInput<'a> {
    pub(super) run: &'a Run,
    pub(super) verdict: Verdict,
    pub(super) next: &'a [Next],
    pub(super) findings: &'a [Finding],
    pub(super) options: &'a Options,
}

/// Returns the question of a plan; `None` if no answer would let the run continue.
pub(super) fn question(input: &QuestionInput<'_>) -> Option<Question> {
    let blocking = || input.findings.iter().filter(|finding| finding.severity == Severity::Blocking);
    if blocking().next().is_some() {
        // If one blocking finding has no answer, the others are not asked.
        let questions: Option<Vec<Question>> = blocking().map(|finding| decision(finding, input.options)).collect();
        return questions?.into_iter().next();
    }
    if let Some(gate) = input.next.iter().find(|next| next.action == Action::Approve) {
        let text = format!("Approve {} ({})?", gate.step, gate.title);
        return Some(ask(&text, &["approve", "request changes", "pause"], "pause"));
    }
    match (input.verdict, input.options.mode) {
        (Verdict::Blocked | Verdict::Nothing, _) => None,
        (Verdict::Complete, _) => {
            let merge = input.next.iter().find(|next| next.action == Action::Merge)?;
            Some(ask(&format!("{}?", merge.title), &["yes", "no"], "no"))
        }
        (Verdict::Resume | Verdict::Confirm, Mode::Preflight) => {
            Some(ask("Check every line above. Type \"proceed\" to continue.", &["proceed", "cancel"], "cancel"))
        }
        (Verdict::Resume, Mode::Autopilot | Mode::Interactive) => {
            Some(ask("Proceed with resume? [Y/n]", &["yes", "no"], "yes"))
        }
        (Verdict::Confirm, Mode::Autopilot | Mode::Interactive) => {
            Some(ask(&confirm_text(input), &["yes", "no"], "no"))
        }
    }
}

fn confirm_text(input: &QuestionInput<'_>) -> String {
    let only_verify = input.next.iter().all(|next| next.action == Action::Verify);
    let id = &input.run.id;
    if only_verify && input.next.iter().all(|next| next.rule == "3.drift") {
        format!("No step of {id} has to run. Record what the evidence shows? [y/N]")
    } else if only_verify {
        format!("Steps of {id} have to be checked before anything runs. Resume to check them? [y/N]")
    } else {
        "Look at the findings first. Proceed with resume? [y/N]".to_owned()
    }
}

/// Returns the question about a blocking finding; `None` if it must be fixed first.
fn decision(finding: &Finding, options: &Options) -> Option<Question> {
    let message = &finding.message;
    if finding.code == FindingCode::AttemptLimit {
        let limit = options.attempt_limit;
        let text = format!("⚠️ Same Step failed {limit}+ times. {message}. Continue anyway? [y/N]");
        Some(ask(&text, &["yes", "no", "review the plan", "step in yourself", "skip the phase"], "no"))
    } else if finding.code == FindingCode::Rejected {
        Some(ask(message, &["revise the plan", "take another approach", "reduce the scope", "stop"], "stop"))
    } else if finding.code == FindingCode::OutcomeUnknown {
        let answers = ["it did: record it as done", "it did not: do it again", "stop"];
        Some(ask(&format!("{message}. Did it take effect?"), &answers, "stop"))
    } else if finding.code == FindingCode::RunAborted {
        Some(ask(&format!("{message}. Resume it? [y/N]"), &["yes", "no"], "no"))
    } else if finding.code == FindingCode::BranchMismatch {
        let answers = ["check the branch out", "recreate the worktree (uncommitted changes are lost)", "abort"];
        Some(ask(&format!("❌ {message}"), &answers, "abort"))
    } else {
        None
    }
}

fn ask(text: &str, options: &[&str], default: &str) -> Question {
    Question {
        text: text.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        default: Some(default.to_owned()),
        on_yes: None,
        on_no: None,
        on_restart: None,
    }
}
