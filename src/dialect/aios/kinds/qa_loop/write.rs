//! Writes the state of a QA loop (docs/formats/aios.md#qa-loop).

use serde_json::{Value, json};

use super::{MAX_ITERATIONS, OF_NEXOS};
use crate::{
    dialect::{
        EditError,
        aios::editor::StateEditor,
        edit::{object, unsupported},
        writer::{Approval, Begun, Resumed, StateWriter, outcome_text},
    },
    document::Node,
    model::{Edit, Outcome, ReviewVerdict, Run, RunId, StepId, Suggested, Verb},
};

/// The target of a step id.
enum QaLoopTarget {
    Review(u64),
    Fix(u64),
    Escalation,
}

pub(super) struct QaLoopWriter {
    editor: StateEditor,
    run: Run,
    is_prose: bool,
}

impl QaLoopWriter {
    pub(super) fn new(editor: StateEditor, run: Run) -> Self {
        // A loop written by nexos has neither a status nor timestamps.
        let is_prose = OF_NEXOS.iter().any(|name| editor.has(&format!("/{name}")));
        Self { editor, run, is_prose }
    }

    fn target(step: &StepId) -> Result<QaLoopTarget, EditError> {
        let number = |prefix: &str| step.as_str().strip_prefix(prefix).and_then(|number| number.parse().ok());
        let target = number("review-").map(QaLoopTarget::Review).or_else(|| number("fix-").map(QaLoopTarget::Fix));
        match target {
            Some(target) => Ok(target),
            None if step.as_str() == "escalation" => Ok(QaLoopTarget::Escalation),
            None => unsupported(format!("`{step}` is neither a review nor a fix of this loop")),
        }
    }

    fn count(&mut self, number: u64) -> Result<(), EditError> {
        let known = ["/currentIteration", "/current_iteration", "/iteration"];
        let pointer = known.into_iter().find(|pointer| self.editor.has(pointer)).unwrap_or(known[0]);
        self.editor.set_number(pointer, number)
    }

    fn reviewed(&mut self, number: u64, outcome: &Outcome) -> Result<(), EditError> {
        self.count(number)?;
        let is_approved = match outcome.verdict {
            Some(ReviewVerdict::Approved) => true,
            Some(ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected) => false,
            Some(ReviewVerdict::ApprovedWithConditions) => {
                let finish = Suggested::on_step(Verb::Finish, format!("review-{number}"), &self.run());
                return unsupported(format!(
                    "a QA loop has no conditional approval: `{}` with APPROVED or REJECTED",
                    finish.option("verdict", "VERDICT")
                ));
            }
            // A review that failed to run is not a rejection.
            None => return self.record_interruption(number, outcome),
        };
        let word = self.word(is_approved);
        let found = if is_approved { Some(0) } else { Some(outcome.conditions.len()).filter(|found| *found > 0) };
        let at = self.editor.now();
        match self.entry(number) {
            Some(pointer) => {
                let stamp = if self.is_prose { "date" } else { "reviewedAt" };
                self.editor.set(&format!("{pointer}/{stamp}"), &at)?;
                self.editor.set_text(&format!("{pointer}/verdict"), word)?;
                if let Some(found) = found.filter(|_| self.editor.has(&format!("{pointer}/issuesFound"))) {
                    self.editor.set(&format!("{pointer}/issuesFound"), &json!(found))?;
                }
            }
            None if self.is_prose => {
                self.editor.push("/history", &json!({ "iteration": number, "date": at, "verdict": word }))?;
            }
            None => {
                let entry = object([
                    ("iteration", Some(json!(number))),
                    ("reviewedAt", Some(at)),
                    ("verdict", Some(json!(word))),
                    ("issuesFound", found.map(|found| json!(found))),
                    ("fixedAt", Some(Value::Null)),
                    ("issuesFixed", Some(Value::Null)),
                    ("duration", Some(Value::Null)),
                ]);
                self.editor.push("/history", &entry)?;
            }
        }
        if self.editor.has("/lastVerdict") {
            self.editor.set_text("/lastVerdict", word)?;
        }
        self.status(if is_approved { "completed" } else { "in_progress" })
    }

    fn fixed(&mut self, number: u64) -> Result<(), EditError> {
        let Some(pointer) = self.entry(number) else {
            return unsupported(format!("the history of the loop has no review {number} to fix"));
        };
        self.editor.stamp(&format!("{pointer}/fixedAt"), Some("verdict"))?;
        let max = ["/maxIterations", "/max_iterations"].into_iter().find_map(|pointer| self.editor.text(pointer));
        let max = max.and_then(|max| max.parse().ok()).filter(|max| *max > 0).unwrap_or(MAX_ITERATIONS.into());
        if number < max || self.is_prose {
            return self.status("in_progress");
        }
        self.status("escalated")?;
        self.editor.stamp("/escalatedAt", None)?;
        self.editor.set_text("/escalationReason", &format!("{number} of {max} reviews were used"))
    }

    /// Records that a review ended without a result; it is retried in the same iteration.
    fn record_interruption(&mut self, number: u64, outcome: &Outcome) -> Result<(), EditError> {
        let reason = outcome_text(outcome).unwrap_or_else(|| format!("{} failed", outcome.step));
        let pointer = match self.entry(number) {
            Some(pointer) => pointer,
            None => {
                let at = self.editor.items("/history").len();
                let entry = json!({ "iteration": number, "reviewedAt": null, "verdict": null, "fixedAt": null });
                self.editor.push("/history", &entry)?;
                format!("/history/{at}")
            }
        };
        self.editor.stamp(&format!("{pointer}/interruptedAt"), None)?;
        self.editor.set_text(&format!("{pointer}/interruptReason"), &reason)?;
        self.status("in_progress")
    }

    /// Records that the user overrides the reviewer.
    fn accept_review(&mut self, number: u64) -> Result<(), EditError> {
        let Some(pointer) = self.entry(number) else {
            return unsupported(format!("the history of the loop has no review {number}"));
        };
        let word = self.word(true);
        self.editor.set_text(&format!("{pointer}/verdict"), word)?;
        self.status("completed")
    }

    fn status(&mut self, word: &str) -> Result<(), EditError> {
        if self.is_prose && !self.editor.has("/status") { Ok(()) } else { self.editor.set_text("/status", word) }
    }

    /// Returns the entry of an iteration; the later of two duplicates wins.
    fn entry(&self, number: u64) -> Option<String> {
        let is_of = |entry: &Node| entry.get("iteration").and_then(Node::scalar) == Some(number.to_string().as_str());
        let at = self.editor.items("/history").iter().rposition(is_of)?;
        Some(format!("/history/{at}"))
    }

    /// Returns the verdict word: `PASS` and `FAIL` if the loop used them before.
    fn word(&self, is_approved: bool) -> &'static str {
        let is_pass = |entry: &Node| {
            let word = entry.get("verdict").and_then(Node::scalar)?.trim().to_uppercase();
            Some(matches!(word.as_str(), "PASS" | "FAIL"))
        };
        let passes = self.editor.items("/history").iter().rev().find_map(is_pass) == Some(true);
        match (passes, is_approved) {
            (true, true) => "PASS",
            (true, false) => "FAIL",
            (false, true) => "APPROVE",
            (false, false) => "REJECT",
        }
    }
}

/// Writes like the loop's own runner, except that resuming uses up no iteration.
impl StateWriter for QaLoopWriter {
    const WHAT: &'static str = "a QA loop";

    fn run(&self) -> RunId {
        self.run.id.clone()
    }

    fn instead(&self, step: Option<&StepId>) -> String {
        let finish = step.map_or_else(String::new, |step| format!("finish {step}, or "));
        format!("{finish}stop the loop: `{}`", Suggested::of(Verb::Pause, self.run()))
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        self.status("in_progress")?;
        match Self::target(begun.step)? {
            // The iteration is counted once, before its review runs.
            QaLoopTarget::Review(number) => {
                self.count(number)?;
                if self.editor.has("/startedAt") && self.editor.text("/startedAt").is_none() {
                    self.editor.stamp("/startedAt", None)?;
                }
                Ok(())
            }
            QaLoopTarget::Fix(_) | QaLoopTarget::Escalation => Ok(()),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let is_done = self.completes(outcome)?;
        match Self::target(&outcome.step)? {
            QaLoopTarget::Review(number) => self.reviewed(number, outcome),
            QaLoopTarget::Fix(number) if is_done => self.fixed(number),
            QaLoopTarget::Fix(_) => self.refuse("record a failed fix", Some(&outcome.step)),
            QaLoopTarget::Escalation => {
                let approve = Suggested::of(Verb::Decide, "escalation").word("approve").run(&self.run());
                unsupported(format!("the user decides: `{approve}`"))
            }
        }
    }

    /// Records the user's decision to continue an escalated loop, with one more review if needed.
    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        match Self::target(approval.step)? {
            QaLoopTarget::Escalation => {
                let last =
                    self.run.steps.iter().filter_map(|step| step.id.as_str().strip_prefix("review-")?.parse().ok());
                let last: u64 = last.max().unwrap_or(0);
                let pointer = if self.editor.has("/max_iterations") { "/max_iterations" } else { "/maxIterations" };
                let max: Option<u64> = self.editor.text(pointer).and_then(|max| max.parse().ok());
                if max.unwrap_or(MAX_ITERATIONS.into()) <= last {
                    self.editor.set_number(pointer, last.saturating_add(1))?;
                }
                self.status("in_progress")
            }
            QaLoopTarget::Review(number) => self.accept_review(number),
            QaLoopTarget::Fix(_) => unsupported(format!("{} is not a review", approval.step)),
        }
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.status("stopped")?;
        self.editor.stamp("/stoppedAt", None)
    }

    /// Resumes the loop without counting a new iteration.
    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        if self.editor.text("/status") == Some("stopped") {
            self.status("in_progress")?;
        }
        if self.is_prose { Ok(()) } else { self.editor.stamp("/resumedAt", None) }
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.status("completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(&["/updatedAt"])
    }
}
