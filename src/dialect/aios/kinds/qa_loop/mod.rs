//! The state of a QA loop (docs/formats/aios.md#qa-loop): reviews of one story, each followed by a fix until one approves.
//!
//! The loop counts an iteration before its review runs, and its own resume counts another one. Piton reads the history instead,
//! and resuming never uses up an iteration.

mod write;

use std::collections::BTreeMap;

use crate::{
    dialect::aios::{
        editor::edit,
        fields::KindReader as _,
        kind::{Claim, Descriptor, FINISHED_STATUS, StoryName, Unnamed},
        steps::follow,
        suggest,
    },
    document::{Field, Reader},
    model::{
        Finding, FindingCode, Records, Review, ReviewVerdict, Run, RunStatus, Status, Step, StepId, StepKind,
        Timestamp, Witness, clean_line,
    },
};

/// The default number of reviews in AIOS.
pub(super) const MAX_ITERATIONS: u32 = 5;

/// The verdicts of its reviews; it has no word for conditions.
const VERDICTS: &[ReviewVerdict] = &[ReviewVerdict::Approved, ReviewVerdict::NeedsRevision, ReviewVerdict::Rejected];

/// A loop that was silent for longer is considered abandoned (docs/formats/aios.md#liveness).
const ABANDONED_SECONDS: i64 = 3_600;

pub(super) static QA_LOOP: Descriptor = Descriptor {
    workflow_type: "QA Loop",
    prefix: "qa",
    priority: 2,
    subject: &["/storyId", "/story_id"],
    unnamed: Unnamed::Folder,
    story: StoryName::Subject(None),
    stamps: &["/updatedAt", "/startedAt"],
    started: Some("/startedAt"),
    claim: Some(Claim { path: None, finished: FINISHED_STATUS }),
    records: Records { pause: true, ..Records::RESUME },
    suggest: Some(suggest::of_loop),
    ..Descriptor::of_state("the state of a QA loop", run, |files, change| {
        edit(&QA_LOOP, files, change, write::QaLoopWriter::new)
    })
};

/// The fields that only the loop status of nexos has.
const OF_NEXOS: [&str; 2] = ["current_iteration", "story_id"];

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let root = tree.root();
    check_story(tree);
    let max = root.either(["maxIterations", "max_iterations"]).number().filter(|max| *max > 0);
    let mut qa = Loop { tree, max: max.unwrap_or(MAX_ITERATIONS), steps: Vec::new() };
    let history = qa.history();
    let current = qa.current(&history);
    qa.steps(&history, current);
    let state = qa.loop_status();
    qa.apply_status(state);
    let steps = qa.steps;
    let title = format!("QA Loop for story {}", tree.subject(&QA_LOOP));
    let mut run = tree.run(&QA_LOOP, "qa-loop", title);
    // The loop status of nexos has no word for it.
    let is_prose = OF_NEXOS.iter().any(|name| tree.get(name).is_there());
    run.records.pause = !is_prose || tree.get("status").is_there();
    run.stamp = run.stamp.or_else(|| history.values().filter_map(Iteration::last).max());
    if state == Some(LoopStatus::InProgress) {
        tree.report_abandoned(run.stamp, ABANDONED_SECONDS);
    }
    let is_over = steps.iter().all(|step| step.status == Status::Completed);
    run.status = match state {
        Some(LoopStatus::Completed) if is_over => RunStatus::Completed,
        Some(LoopStatus::Stopped) => RunStatus::Paused,
        Some(LoopStatus::Pending | LoopStatus::InProgress | LoopStatus::Completed | LoopStatus::Escalated) | None => {
            RunStatus::Active
        }
    };
    run.position = steps.iter().find(|step| step.status != Status::Completed).map(|step| step.id.clone());
    run.steps = steps;
    run
}

/// Reports a state whose story is missing or differs from its folder.
fn check_story(tree: &Reader<'_>) {
    let folder = tree.files().state.parent();
    let folder = folder.as_ref().map(|folder| folder.name()).filter(|name| *name != "qa");
    match (tree.root().either(["storyId", "story_id"]).id(), folder) {
        (Some(story), Some(folder)) if folder != story => {
            let message = format!("the loop is about story {story} but is in the folder {folder}");
            tree.report(Finding::new(FindingCode::IdMismatch, message));
        }
        (None, None) => {
            let message = "`storyId` names no story";
            tree.report(Finding::new(FindingCode::StateMissingField, message));
        }
        (Some(_) | None, Some(_) | None) => {}
    }
}

/// The status of the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopStatus {
    Pending,
    InProgress,
    Completed,
    Stopped,
    Escalated,
}

/// The outcome of a review.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReviewOutcome {
    Approved,
    Rejected,
    Blocked,
    /// Not in the vocabulary.
    Unknown,
}

/// One entry of the history.
struct Iteration<'a> {
    entry: Field<'a>,
    /// `None` until the review is done.
    outcome: Option<ReviewOutcome>,
    is_fixed: bool,
}

impl Iteration<'_> {
    fn last(&self) -> Option<Timestamp> {
        let reviewed = self.entry.either(["reviewedAt", "date"]).time();
        reviewed.max(self.entry.get("fixedAt").time())
    }
}

struct Loop<'a> {
    tree: &'a Reader<'a>,
    max: u32,
    steps: Vec<Step>,
}

impl<'a> Loop<'a> {
    fn loop_status(&self) -> Option<LoopStatus> {
        let field = self.tree.get("status");
        let word = field.text()?;
        let known = match word.trim().to_lowercase().as_str() {
            "pending" => LoopStatus::Pending,
            "in_progress" => LoopStatus::InProgress,
            "completed" => LoopStatus::Completed,
            "stopped" => LoopStatus::Stopped,
            "escalated" => LoopStatus::Escalated,
            _ => {
                field.report_unknown(FindingCode::StatusUnknown, word, None);
                return None;
            }
        };
        Some(known)
    }

    /// Returns the entries by iteration; the later of two duplicates wins.
    fn history(&self) -> BTreeMap<u32, Iteration<'a>> {
        let mut history = BTreeMap::new();
        for entry in self.tree.get("history").items() {
            let Some(number) = entry.get("iteration").number().filter(|number| *number > 0) else {
                let message = "an entry of the history has no iteration; it was ignored";
                self.tree.report(Finding::new(FindingCode::FieldIgnored, message));
                continue;
            };
            if history.insert(number, self.iteration(number, entry)).is_some() {
                let message = format!("the history has iteration {number} twice; the later entry wins");
                self.tree.report(Finding::new(FindingCode::StateCorrupt, message));
            }
        }
        history
    }

    fn iteration(&self, number: u32, entry: Field<'a>) -> Iteration<'a> {
        let verdict = entry.get("verdict");
        let review = review_id(number);
        let outcome = verdict.text().map(|word| match word.trim().to_uppercase().as_str() {
            "REJECT" | "FAIL" => ReviewOutcome::Rejected,
            "BLOCKED" => ReviewOutcome::Blocked,
            _ => match ReviewVerdict::parse(word) {
                Some(ReviewVerdict::Approved) => ReviewOutcome::Approved,
                Some(ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected) => ReviewOutcome::Rejected,
                Some(ReviewVerdict::ApprovedWithConditions) | None => {
                    verdict.report_unknown(FindingCode::VerdictUnknown, word, Some(&review));
                    ReviewOutcome::Unknown
                }
            },
        });
        // Entries of nexos have a `date` and no fix time.
        let is_reviewed = entry.either(["reviewedAt", "date"]).is_there();
        if outcome.is_some() && !is_reviewed {
            let message = format!("{review} has a verdict without a time; it is reviewed again");
            self.tree.report(Finding::new(FindingCode::StateCorrupt, message).on(&review));
        }
        Iteration { entry, outcome: outcome.filter(|_| is_reviewed), is_fixed: entry.get("fixedAt").is_there() }
    }

    /// Returns the current iteration.
    fn current(&self, history: &BTreeMap<u32, Iteration<'a>>) -> u32 {
        let root = self.tree.root();
        let counted = root.either(["currentIteration", "current_iteration"]).number();
        let counted = counted.or_else(|| root.get("iteration").number()).unwrap_or(0);
        let last = history.last_key_value().map_or(0, |(number, _)| *number);
        if counted < last {
            let message = format!("the loop counts {counted} iterations but its history has {last}; the history wins");
            self.tree.report(Finding::new(FindingCode::StateCorrupt, message));
        }
        counted.max(last).max(1)
    }

    /// Adds the steps of all iterations up to the current one and what follows.
    fn steps(&mut self, history: &BTreeMap<u32, Iteration<'a>>, current: u32) {
        for (number, iteration) in history.range(..current) {
            self.add_past_iteration(*number, iteration);
        }
        let entry = history.get(&current);
        match entry.and_then(|iteration| Some((iteration, iteration.outcome?))) {
            None => self.open_review(current, entry.is_some()),
            Some((_, ReviewOutcome::Approved)) => self.approved(current),
            Some((_, ReviewOutcome::Blocked)) => {
                let review = self.review(current, Status::Failed);
                review.review = Some(Review { verdict: ReviewVerdict::Rejected, open_conditions: None });
                review.error = Some("the review is blocked: the user decides".to_owned());
            }
            // The finding about the unknown verdict blocks the step.
            Some((_, ReviewOutcome::Unknown)) => _ = self.review(current, Status::Pending),
            Some((iteration, ReviewOutcome::Rejected)) => {
                self.review(current, Status::Completed);
                let was_cut_off = iteration.entry.get("interruptedAt").is_there();
                let fix = match (iteration.is_fixed, was_cut_off) {
                    (true, _) => Status::Completed,
                    (false, true) => Status::InProgress,
                    (false, false) => Status::Pending,
                };
                self.fix(current, fix);
                self.after_fix(current);
            }
        }
    }

    /// Adds an iteration that the loop has moved past: review and fix are over.
    fn add_past_iteration(&mut self, number: u32, iteration: &Iteration<'a>) {
        self.review(number, Status::Completed);
        if iteration.outcome == Some(ReviewOutcome::Rejected) {
            self.fix(number, Status::Completed);
            if !iteration.is_fixed && iteration.entry.get("reviewedAt").is_there() {
                let id = fix_id(number);
                let message = format!("{id} has no end, but the loop went on to the next review");
                self.tree.report(Finding::new(FindingCode::StatusMissing, message).on(&id));
            }
        }
    }

    fn open_review(&mut self, number: u32, has_entry: bool) {
        // The iteration is counted before its review runs, so a running loop has started it.
        let is_counted = self.tree.root().either(["currentIteration", "current_iteration"]).number() == Some(number);
        let runs = is_counted && self.tree.get("status").text() == Some("in_progress");
        if has_entry || runs {
            self.review(number, Status::InProgress).attempts = 1;
        } else {
            self.review(number, Status::Pending);
        }
    }

    /// Adds the approving review. It stays open until the loop's status says completed.
    fn approved(&mut self, number: u32) {
        let file = self.tree.files().state.clone();
        let is_closed = self.tree.get("status").text().is_none_or(|status| status == "completed");
        let status = if is_closed { Status::Completed } else { Status::InProgress };
        let review = self.review(number, status);
        review.review = Some(Review { verdict: ReviewVerdict::Approved, open_conditions: None });
        if !is_closed {
            review.proof.witnesses =
                vec![Witness { source: "the history of the loop".into(), done: true, file: Some(file), line: None }];
        }
    }

    fn after_fix(&mut self, number: u32) {
        if number < self.max {
            self.review(number.saturating_add(1), Status::Pending);
        } else {
            let message = format!("{} of {} reviews were used", number, self.max);
            self.escalation(&message);
        }
    }

    /// Applies the status of the loop on top of its history.
    fn apply_status(&mut self, status: Option<LoopStatus>) {
        match status {
            Some(LoopStatus::Escalated) if self.steps.iter().all(|step| step.kind != StepKind::Gate) => {
                let reason = self.tree.get("escalationReason").text().unwrap_or("the loop was escalated").to_owned();
                self.steps.retain(|step| matches!(step.status, Status::Completed | Status::Failed));
                self.escalation(&reason);
            }
            Some(LoopStatus::Completed) if self.steps.iter().any(|step| step.status != Status::Completed) => {
                let message = "the loop is completed, but its last review did not approve";
                self.tree.report(Finding::new(FindingCode::StateCorrupt, message));
            }
            Some(
                LoopStatus::Pending
                | LoopStatus::InProgress
                | LoopStatus::Completed
                | LoopStatus::Stopped
                | LoopStatus::Escalated,
            )
            | None => {}
        }
    }

    /// Returns the iteration and the maximum.
    fn round(&self, number: u32) -> String {
        format!("{number}/{}", self.max)
    }

    fn review(&mut self, number: u32, status: Status) -> &mut Step {
        let round = self.round(number);
        // The loop status of nexos has no status.
        let is_prose = !self.tree.get("status").is_there();
        let step = follow(&mut self.steps, review_id(number), format!("Review {number}"), status);
        step.kind = StepKind::Review;
        step.agent = Some("qa".to_owned());
        step.group = Some(round);
        step.ends.verdicts = VERDICTS;
        step.begins_unrecorded = is_prose;
        step.ends.failed = !is_prose;
        step
    }

    fn fix(&mut self, number: u32, status: Status) {
        let round = self.round(number);
        let step = follow(&mut self.steps, fix_id(number), format!("Fix what review {number} found"), status);
        step.agent = Some("dev".to_owned());
        step.group = Some(round);
        step.begins_unrecorded = true;
        step.ends.failed = false;
    }

    /// Adds the gate at which the user decides how to continue.
    fn escalation(&mut self, reason: &str) {
        let title = format!("Decide how to continue the story: {}", clean_line(reason, 200));
        let step = follow(&mut self.steps, StepId::new("escalation"), title, Status::Pending);
        step.kind = StepKind::Gate;
    }
}

fn review_id(number: u32) -> StepId {
    StepId::new(format!("review-{number}"))
}

fn fix_id(number: u32) -> StepId {
    StepId::new(format!("fix-{number}"))
}

#[cfg(test)]
mod tests;
