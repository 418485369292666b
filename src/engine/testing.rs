//! Runs for tests.

use super::{Planned, plan};
use crate::model::{
    Evidence, FileFact, Finding, FindingCode, Options, RelPath, Review, ReviewVerdict, Run, Severity, Status, Step,
    StepId, Timestamp, Witness, testing::header_of,
};

/// Builds a run of pending steps, each given with what it depends on.
pub(crate) fn run_of(steps: &[(&str, &[&str])]) -> Run {
    let steps = steps.iter().map(|(id, depends_on)| {
        let mut step = Step::new(StepId::new(*id), format!("Title of {id}"));
        step.depends_on = depends_on.iter().map(|id| StepId::new(*id)).collect();
        step
    });
    run_with(steps.collect())
}

/// Builds a run of these steps.
pub(crate) fn run_with(steps: Vec<Step>) -> Run {
    // Any dialect: the engine does not use it.
    let dialect = serde_json::from_value("ccw".into()).unwrap();
    Run { steps, ..Run::new("R", dialect, "A run".to_owned(), "test", vec![path("state.json")]) }
}

/// Builds a run in which every step waits for the one before it.
pub(crate) fn line_of(steps: &[(&str, Status)]) -> Run {
    let mut run = run_of(&[]);
    for (id, status) in steps {
        let mut step = Step::new(StepId::new(*id), format!("Title of {id}"));
        step.status = *status;
        step.depends_on = run.steps.last().map(|last| last.id.clone()).into_iter().collect();
        run.steps.push(step);
    }
    run
}

/// Sets the status of each step.
pub(crate) fn with_statuses(mut run: Run, statuses: &[Status]) -> Run {
    for (step, status) in run.steps.iter_mut().zip(statuses) {
        step.status = *status;
    }
    run
}

/// Returns a step to change.
pub(crate) fn step<'a>(run: &'a mut Run, id: &str) -> &'a mut Step {
    run.steps.iter_mut().find(|step| step.id.as_str() == id).unwrap()
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub(crate) fn ids(texts: &[&str]) -> Vec<StepId> {
    texts.iter().map(|id| StepId::new(*id)).collect()
}

/// Returns the time of the tests plus some seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_800_000_000 + seconds, 0).unwrap()
}

pub(crate) fn options() -> Options {
    Options::at(at(0))
}

pub(crate) fn review(verdict: ReviewVerdict) -> Option<Review> {
    Some(Review { verdict, open_conditions: None })
}

/// Gives a step two witnesses, of which `done` say done, and requires both.
pub(crate) fn with_witnesses(step: &mut Step, done: usize) {
    step.proof.witnesses = ["the checklist", "the summary"]
        .into_iter()
        .enumerate()
        .map(|(at, source)| Witness {
            source: source.into(),
            done: at < done,
            file: Some(path("state.json")),
            line: None,
        })
        .collect();
    step.proof.witnesses_needed = 2;
}

/// Returns a valid file with this modification time.
pub(crate) fn present(modified: Timestamp) -> FileFact {
    FileFact::Present {
        bytes: 10,
        modified: Some(modified),
        sha256: Some("aa".to_owned()),
        parses: Some(true),
        violation: None,
    }
}

pub(crate) fn planned(run: &Run, evidence: &Evidence, options: &Options) -> Planned {
    planned_with(run, evidence, Vec::new(), options)
}

pub(crate) fn planned_with(run: &Run, evidence: &Evidence, findings: Vec<Finding>, options: &Options) -> Planned {
    plan(run, header_of(run), evidence, findings, options)
}

/// Plans without evidence.
pub(crate) fn plan_of(run: &Run, options: &Options) -> Planned {
    planned(run, &Evidence::default(), options)
}

/// Returns `action id` for every next step.
pub(crate) fn next_of(planned: &Planned) -> Vec<String> {
    planned.plan.next.iter().map(|next| format!("{} {}", next.action.as_str(), next.step)).collect()
}

/// Returns the codes of all findings except informational ones.
pub(crate) fn notable_codes(planned: &Planned) -> Vec<FindingCode> {
    let worth = planned.findings.iter().filter(|finding| finding.severity != Severity::Info);
    worth.map(|finding| finding.code).collect()
}

pub(crate) fn finding(planned: &Planned, code: FindingCode) -> &Finding {
    let found = planned.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code} among {:?}", planned.findings))
}

pub(crate) fn has(planned: &Planned, code: FindingCode) -> bool {
    planned.findings.iter().any(|finding| finding.code == code)
}
