//! The state of a master orchestration (docs/formats/aios-states.md#master-orchestration): one story through specification, execution and review,
//! which its engine calls epics 3, 4 and 6.
//!
//! Its own resume resets everything from one epic onward, including completed results. Piton sets nothing back: it continues with
//! the epic that the state names, then with the first of 3, 4 and 6 that is not completed.

use serde_json::json;

use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::editor::edit;
use crate::dialect::aios::fields;
use crate::dialect::aios::fields::KindReader as _;
use crate::dialect::aios::kind::Claim;
use crate::dialect::aios::kind::Descriptor;
use crate::dialect::aios::kind::FINISHED_STATUS;
use crate::dialect::aios::kind::StoryName;
use crate::dialect::aios::kind::Unnamed;
use crate::dialect::aios::steps::first_open;
use crate::dialect::aios::steps::note_failures;
use crate::dialect::edit::object;
use crate::dialect::edit::unsupported;
use crate::dialect::writer::Begun;
use crate::dialect::writer::Resumed;
use crate::dialect::writer::StateWriter;
use crate::dialect::writer::outcome_text;
use crate::document::Field;
use crate::document::Reader;
use crate::model::Edit;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Outcome;
use crate::model::Records;
use crate::model::Review;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::Timestamp;
use crate::model::human_age;
use crate::model::quoted;

/// Number, title and agent. Epic 5 handles failures and only appears when one occurs.
const EPICS: [(&str, &str, &str); 4] = [
    ("3", "Spec Pipeline", "pm"),
    ("4", "Execution Engine", "dev"),
    ("5", "Recovery System", "dev"),
    ("6", "QA Loop", "qa"),
];
const ON_DEMAND: &str = "5";

/// The framework's own resume rejects states older than this (docs/formats/aios.md#liveness).
const RESUMABLE_SECONDS: i64 = 24 * 3_600;

pub(super) static ADE: Descriptor = Descriptor {
    workflow_type: "Master Orchestration",
    prefix: "ade",
    version: Some(("/schemaVersion", 1)),
    subject: &["/storyId"],
    unnamed: Unnamed::Stem(".json"),
    // The file is called `current.json` if there is no story.
    story: StoryName::Subject(Some("current")),
    stamps: &["/timestamps/updatedAt", "/timestamps/savedAt", "/updatedAt"],
    claim: Some(Claim { path: None, started: "/timestamps/startedAt", finished: FINISHED_STATUS }),
    records: Records { abort: false, ..Records::ALL },
    ..Descriptor::of_state("the state of a master orchestration", run, |files, change| {
        edit(&ADE, files, change, |editor, run| Writer { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let title = format!("Master Orchestration for story {}", tree.subject(&ADE));
    let mut run = tree.run(&ADE, "master-orchestration", title);
    let stamps = tree.get("timestamps");
    run.started_at = stamps.get("startedAt").time();
    run.stamp = [stamps.get("updatedAt"), stamps.get("savedAt"), tree.get("updatedAt")]
        .map(Field::time)
        .into_iter()
        .max()
        .flatten();
    run.steps = steps(tree);
    run.status = tree.get("status").run_status(&run.steps);
    run.position = position(tree, &run.steps);
    report_age(tree, run.stamp);
    run
}

fn report_age(tree: &Reader<'_>, stamp: Option<Timestamp>) {
    let Some(age) = stamp.map(|stamp| tree.files().clock.now.seconds_since(stamp)) else { return };
    if age >= RESUMABLE_SECONDS {
        let message = format!("the state is {} old; the orchestrator itself would start over", human_age(age));
        tree.report(Finding::new(FindingCode::OwnerGone, message));
    }
}

fn steps(tree: &Reader<'_>) -> Vec<Step> {
    let epics = tree.get("epics");
    let current = tree.get("currentEpic").id();
    let is_current = |number: &str| current.as_deref() == Some(number);
    let mut found: Vec<Step> = Vec::new();
    for (number, title, agent) in EPICS {
        let epic = epics.get(number);
        let mut step = Step::new(step_id(number), title);
        step.status = fields::status(epic.get("status"), &step.id);
        if number == ON_DEMAND && matches!(step.status, Status::Pending | Status::Skipped) && !is_current(number) {
            continue;
        }
        step.agent = Some(agent.to_owned());
        fill(&mut step, epic, tree.get("retryCount").get(number));
        found.push(step);
    }
    for (number, epic) in epics.members() {
        let is_known = EPICS.iter().any(|(known, ..)| *known == number);
        if !is_known && !matches!(epic.get("status").text(), Some("pending") | None) {
            let message =
                format!("epic `{}` does not belong to this orchestration and was ignored", number.escape_debug());
            epics.report(Finding::new(FindingCode::FieldIgnored, message));
        }
    }
    in_order(tree, found, current.as_deref())
}

fn step_id(number: &str) -> StepId {
    StepId::new(format!("epic-{number}"))
}

fn fill(step: &mut Step, epic: Field<'_>, retries: Field<'_>) {
    step.started_at = epic.get("startedAt").time();
    step.finished_at = epic.get("completedAt").time();
    step.attempts = epic.get("attempts").number().unwrap_or(0).max(u32::from(step.status == Status::InProgress));
    if step.status == Status::Failed {
        let errors = epic.get("errors").items().into_iter();
        let error_text =
            |error: Field<'_>| error.get("message").text().or_else(|| error.text()).unwrap_or("it failed").to_owned();
        // An attempt may have been interrupted, so attempts count as failures only when no retry count is recorded.
        step.failures = retries.number().unwrap_or(step.attempts).max(1);
        note_failures(step, errors.map(error_text).collect());
    }
    let gate = epic.get("gateResult").get("verdict");
    match gate.text().map(str::to_lowercase).as_deref() {
        None => {}
        Some("approved") => step.review = Some(Review { verdict: ReviewVerdict::Approved, open_conditions: None }),
        Some("blocked") => step.review = Some(Review { verdict: ReviewVerdict::Rejected, open_conditions: None }),
        // The orchestration continues despite this verdict, so report it.
        Some("needs_revision") => {
            let message = format!("the gate after {} asks for a revision, but the orchestration continues", step.id);
            gate.report(Finding::new(FindingCode::ConditionsOpen, message).on(&step.id));
        }
        Some(word) => gate.report_unknown(FindingCode::VerdictUnknown, word, Some(&step.id)),
    }
}

/// Chains the steps: the epic that the state names comes before every other open one.
fn in_order(tree: &Reader<'_>, mut steps: Vec<Step>, current: Option<&str>) -> Vec<Step> {
    let is_over = |step: &Step| matches!(step.status, Status::Completed | Status::Skipped);
    let current = current.and_then(|number| steps.iter().position(|step| step.id == step_id(number)));
    let current = current.filter(|at| !is_over(&steps[*at]));
    let mut order: Vec<usize> = (0..steps.len()).filter(|at| is_over(&steps[*at])).collect();
    order.extend(current);
    order.extend((0..steps.len()).filter(|at| !is_over(&steps[*at]) && current != Some(*at)));
    if let Some(current) = current {
        for passed in steps[..current].iter().filter(|step| !is_over(step)) {
            let message = format!(
                "{} is {}, but the state is at {}, so it comes after that",
                passed.id, passed.status, steps[current].id
            );
            tree.report(Finding::new(FindingCode::StateCorrupt, message).on(&passed.id));
        }
    }
    for pair in order.windows(2) {
        let before = steps[pair[0]].id.clone();
        steps[pair[1]].depends_on = vec![before];
    }
    steps
}

fn position(tree: &Reader<'_>, steps: &[Step]) -> Option<StepId> {
    let current = tree.get("currentEpic").id().map(|number| step_id(&number));
    let is_open = |step: &&Step| !matches!(step.status, Status::Completed | Status::Skipped);
    let named = steps.iter().filter(is_open).find(|step| Some(&step.id) == current.as_ref());
    named.or_else(|| first_open(steps)).map(|step| step.id.clone())
}

const LISTS: [&str; 3] = ["/completedEpics", "/failedEpics", "/pendingEpics"];

fn number(step: &StepId) -> Result<&str, EditError> {
    match step.as_str().strip_prefix("epic-") {
        Some(number) => Ok(number),
        None => unsupported(format!("`{step}` is not an epic of this orchestration")),
    }
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    /// Moves an epic to one of the lists and removes it from the others.
    fn move_to_list(&mut self, number: &str, to: Option<&str>) -> Result<(), EditError> {
        let there: Vec<&str> = LISTS.into_iter().filter(|list| self.editor.has(list)).collect();
        for list in there {
            if to == Some(list) {
                self.editor.add_to_list(list, number)?
            } else {
                self.editor.remove_from_list(list, number)?
            }
        }
        Ok(())
    }

    /// Completes the orchestration if all of its epics are over.
    fn complete_if_done(&mut self, number: &str) -> Result<(), EditError> {
        let is_over = |status: Status| matches!(status, Status::Completed | Status::Skipped);
        let of = |step: &StepId| step.as_str().strip_prefix("epic-") == Some(number);
        if self.run.steps.iter().all(|step| of(&step.id) || is_over(step.status)) {
            self.end()
        } else {
            self.editor.set_text("/status", "in_progress")
        }
    }

    fn end(&mut self) -> Result<(), EditError> {
        self.editor.set_text("/status", "complete")?;
        self.editor.stamp("/timestamps/completedAt", None)
    }
}

/// Nothing is ever reset.
impl StateWriter for Writer {
    const WHAT: &'static str = "a master orchestration";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, step: Option<&StepId>) -> String {
        match step {
            Some(step) => format!("{step} is not a gate"),
            None => format!("it can only be stopped: `piton pause {}`", self.run()),
        }
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let number = number(begun.step)?;
        let epic = format!("/epics/{number}");
        self.editor.set_text(&format!("{epic}/status"), "in_progress")?;
        self.editor.stamp(&format!("{epic}/startedAt"), None)?;
        self.editor.clear(&format!("{epic}/completedAt"))?;
        self.editor.set_number(&format!("{epic}/attempts"), begun.attempt.into())?;
        match number.parse() {
            Ok(number) => self.editor.set_number("/currentEpic", number)?,
            Err(_) => self.editor.set_text("/currentEpic", number)?,
        }
        self.editor.set_text("/status", "in_progress")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let number = number(&outcome.step)?;
        let epic = format!("/epics/{number}");
        if let Some(verdict) = outcome.verdict {
            let word = match verdict {
                ReviewVerdict::Approved => "approved",
                ReviewVerdict::ApprovedWithConditions | ReviewVerdict::NeedsRevision => "needs_revision",
                ReviewVerdict::Rejected => "blocked",
            };
            self.editor.set_text(&format!("{epic}/gateResult/verdict"), word)?;
        }
        if self.completes(outcome)? {
            self.editor.set_text(&format!("{epic}/status"), "completed")?;
            self.editor.stamp(&format!("{epic}/completedAt"), None)?;
            self.move_to_list(number, Some(LISTS[0]))?;
            return self.complete_if_done(number);
        }
        self.editor.set_text(&format!("{epic}/status"), "failed")?;
        let error = object([
            ("message", Some(json!(outcome_text(outcome).unwrap_or_else(|| "it failed".to_owned())))),
            ("timestamp", Some(self.editor.now())),
        ]);
        self.editor.push(&format!("{epic}/errors"), &error)?;
        self.editor.set_number(&format!("/retryCount/{number}"), outcome.failures.into())?;
        self.move_to_list(number, Some(LISTS[1]))?;
        self.editor.set_text("/status", "in_progress")
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, _reason: &str) -> Result<(), EditError> {
        let number = number(step)?;
        self.editor.set_text(&format!("/epics/{number}/status"), "skipped")?;
        self.move_to_list(number, None)?;
        self.complete_if_done(number)
    }

    /// The framework's CLI writes this status although it is not in its documented list.
    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "stopped")
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.editor.set_text("/status", "in_progress")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.end()
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(ADE.stamps)
    }
}

#[cfg(test)]
#[path = "ade_tests.rs"]
mod tests;
