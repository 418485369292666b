//! The state of a master orchestration (docs/formats/aios-states.md#master-orchestration): one story through specification, execution and review,
//! which its engine calls epics 3, 4 and 6.
//!
//! Its own resume resets everything from one epic onward, including completed results. Piton sets nothing back: it continues with
//! the epic that the state names, then with the first of 3, 4 and 6 that is not completed.

use serde_json::{Value, json};

use crate::{
    dialect::{
        EditError,
        aios::{
            fields,
            kind::{Claim, Descriptor, FINISHED_STATUS, StoryName, Unnamed},
            step_list::{Key, ListWriter, Op, StepChange, StepList},
            steps::{first_open, note_failures},
        },
    },
    document::{Field, Reader},
    model::{Finding, FindingCode, Review, ReviewVerdict, Status, Step, StepId, Timestamp, human_age},
};

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
    stamps: STAMPS,
    started: Some("/timestamps/startedAt"),
    claim: Some(Claim { path: None, finished: FINISHED_STATUS }),
    records: STEPS.records(),
    ..Descriptor::of_files(
        "the state of a master orchestration",
        |files| STEPS.load(files),
        |files, change| STEPS.edit(files, change),
    )
};

const STAMPS: &[&str] = &["/timestamps/updatedAt", "/timestamps/savedAt", "/updatedAt"];

/// Nothing is ever reset.
static STEPS: StepList = StepList {
    workflow: "master-orchestration",
    title: "Master Orchestration for story {}",
    complete_run: |tree, run| {
        run.position = position(tree, &run.steps);
        report_age(tree, run.stamp);
    },
    what: "a master orchestration",
    instead: ["{step} is not a gate", "it can only be stopped: `piton pause {run}`"],
    entry: "/epics/{}",
    key: Key::Id("epic-"),
    begin: &[
        Op::Word("status", "in_progress"),
        Op::Now("startedAt"),
        Op::Null("completedAt"),
        Op::Count("attempts", |change| change.attempt),
        Op::Number("/currentEpic"),
        IN_PROGRESS,
    ],
    finish: &[
        Op::Set("gateResult/verdict", verdict),
        Op::Word("status", "completed"),
        Op::Now("completedAt"),
        Op::Do(|writer, change| move_to_list(writer, change, Some("/completedEpics"))),
        NEXT,
    ],
    fail: &[
        Op::Set("gateResult/verdict", verdict),
        Op::Word("status", "failed"),
        Op::Push("errors", |writer, change| json!({ "message": change.error(), "timestamp": writer.editor.now() })),
        Op::Count("/retryCount/{}", |change| change.outcome.map_or(0, |outcome| outcome.failures)),
        Op::Do(|writer, change| move_to_list(writer, change, Some("/failedEpics"))),
        IN_PROGRESS,
    ],
    skip: &[Op::Word("status", "skipped"), Op::Do(|writer, change| move_to_list(writer, change, None)), NEXT],
    // The framework's CLI writes this status although it is not in its documented list.
    pause: &[Op::Word("/status", "stopped")],
    resume: &[IN_PROGRESS],
    complete: COMPLETE,
    touched: STAMPS,
    ..StepList::new(&ADE, steps)
};

const IN_PROGRESS: Op = Op::Word("/status", "in_progress");
const COMPLETE: &[Op] = &[Op::Word("/status", "complete"), Op::Now("/timestamps/completedAt")];
const NEXT: Op = Op::IfOver(COMPLETE, &[IN_PROGRESS]);

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
    let current = current.and_then(|number| steps.iter().position(|step| step.id == step_id(number)));
    let current = current.filter(|at| !steps[*at].status.satisfies());
    let mut order: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].status.satisfies()).collect();
    order.extend(current);
    order.extend((0..steps.len()).filter(|at| !steps[*at].status.satisfies() && current != Some(*at)));
    if let Some(current) = current {
        for passed in steps[..current].iter().filter(|step| !step.status.satisfies()) {
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
    let named = steps.iter().find(|step| !step.status.satisfies() && Some(&step.id) == current.as_ref());
    named.or_else(|| first_open(steps)).map(|step| step.id.clone())
}

/// Moves an epic to one of the lists that the state has and removes it from the others.
fn move_to_list(writer: &mut ListWriter, change: &StepChange<'_>, to: Option<&str>) -> Result<(), EditError> {
    for list in ["/completedEpics", "/failedEpics", "/pendingEpics"] {
        if to != Some(list) {
            writer.editor.remove_from_list(list, change.key)?;
        } else if writer.editor.has(list) {
            writer.editor.add_to_list(list, change.key)?;
        }
    }
    Ok(())
}

fn verdict(_writer: &ListWriter, change: &StepChange<'_>) -> Option<Value> {
    Some(json!(match change.outcome?.verdict? {
        ReviewVerdict::Approved => "approved",
        ReviewVerdict::ApprovedWithConditions | ReviewVerdict::NeedsRevision => "needs_revision",
        ReviewVerdict::Rejected => "blocked",
    }))
}

#[cfg(test)]
#[path = "ade_tests.rs"]
mod tests;
