//! The state of a master orchestration (docs/formats/aios-states.md#master-orchestration): one story through specification, execution and review,
//! which its engine calls epics 3, 4 and 6.
//!
//! Its own resume resets everything from one epic onward, including completed results. Piton sets nothing back: it continues with
//! the epic that the state names, then with the first of 3, 4 and 6 that is not completed.

use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::first_open;
use super::steps::note_failures;
use crate::dialect::Loaded;
use crate::document::Field;
use crate::document::Reader;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Review;
use crate::model::ReviewVerdict;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::Timestamp;
use crate::model::human_age;

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

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let title = format!("Master Orchestration for story {}", tree.subject(Kind::Ade));
    let mut run = tree.run(Kind::Ade, "master-orchestration", title);
    let stamps = tree.get("timestamps");
    run.started_at = stamps.get("startedAt").time();
    run.stamp = [stamps.get("updatedAt"), stamps.get("savedAt"), tree.get("updatedAt")]
        .map(Field::time)
        .into_iter()
        .max()
        .flatten();
    run.steps = steps(&tree);
    run.status = tree.get("status").run_status(&run.steps);
    run.position = position(&tree, &run.steps);
    report_age(&tree, run.stamp);
    tree.loaded(run)
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

#[cfg(test)]
#[path = "ade_tests.rs"]
mod tests;
