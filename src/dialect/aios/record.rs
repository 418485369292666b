//! The record of a nexos `orchestrate` (docs/formats/aios-states.md#orchestration-record): completed phases and the current one.

use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::spec;
use super::steps::first_open;
use super::steps::follow;
use super::story_cycle;
use crate::dialect::Loaded;
use crate::document::Field;
use crate::document::Reader;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;

/// The phases of a spec pipeline of nexos, which has no plan (docs/formats/aios-stories.md#spec-pipeline).
const SPEC_PHASES: usize = 5;

/// Maximum phase number of a record.
const PHASE_LIMIT: u32 = 100;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let workflow = tree.get("workflow").id();
    let title = format!("Orchestration {}", tree.subject(Kind::Record));
    let mut run = tree.run(Kind::Record, workflow.as_deref().unwrap_or("orchestrate"), title);
    run.steps = Phases { tree: &tree, known: known(workflow.as_deref()) }.steps();
    run.started_at = tree.get("started_at").time();
    run.stamp = tree.get("updated_at").time();
    run.status = tree.get("status").run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    tree.loaded(run)
}

/// Returns title and agent of each phase of a known workflow.
fn known(workflow: Option<&str>) -> Vec<(&'static str, &'static str)> {
    let word = workflow.unwrap_or_default().to_lowercase();
    if word.contains("spec") {
        spec::PHASES[..SPEC_PHASES].iter().map(|(_, _, title, agent, _)| (*title, *agent)).collect()
    } else if word.contains("sdc") || word.contains("story") {
        story_cycle::PHASES.iter().map(|(_, _, title, agent)| (*title, *agent)).collect()
    } else {
        Vec::new()
    }
}

struct Phases<'a> {
    tree: &'a Reader<'a>,
    known: Vec<(&'static str, &'static str)>,
}

impl Phases<'_> {
    fn steps(&self) -> Vec<Step> {
        let done: Vec<u32> =
            self.tree.get("phases_completed").items().into_iter().filter_map(|it| self.number(it)).collect();
        let current = self.tree.get("current_phase").number();
        if let Some(number) = current.filter(|number| *number > PHASE_LIMIT) {
            let message = format!("`current_phase` is {number}, more than any workflow has; it was ignored");
            self.tree.report(Finding::new(FindingCode::FieldIgnored, message));
        }
        let current = current.filter(|number| (1..=PHASE_LIMIT).contains(number));
        let last = done.iter().copied().max().unwrap_or(0);
        let is_over = self.tree.get("status").text() == Some("completed");
        let next = if is_over || !self.known.is_empty() { last } else { last.saturating_add(1) };
        let count = u32::try_from(self.known.len()).unwrap_or(0).max(next).max(current.unwrap_or(0));
        let mut steps = Vec::new();
        for number in 1..=count {
            let status = if done.contains(&number) {
                Status::Completed
            } else if current == Some(number) {
                Status::InProgress
            } else {
                Status::Pending
            };
            self.add(&mut steps, number, status, current);
        }
        if self.known.is_empty() && !is_over && steps.iter().all(|step| step.status != Status::InProgress) {
            let message = "the number of phases is unknown";
            self.tree.report(Finding::new(FindingCode::TotalMissing, message));
        }
        steps
    }

    /// Returns the phase of an entry, which is a number, a name or an object.
    fn number(&self, entry: Field<'_>) -> Option<u32> {
        let at = if entry.get("phase").is_there() { entry.get("phase") } else { entry };
        let word = at.id()?;
        let by_name = || {
            let place = self.known.iter().position(|(title, _)| title.eq_ignore_ascii_case(&word))?;
            u32::try_from(place + 1).ok()
        };
        let number = word.parse().ok().or_else(by_name).filter(|number| (1..=PHASE_LIMIT).contains(number));
        if number.is_none() {
            let message = format!("the phase `{word}` is unknown; it was ignored");
            at.report(Finding::new(FindingCode::StateCorrupt, message));
        }
        number
    }

    fn add(&self, steps: &mut Vec<Step>, number: u32, status: Status, current: Option<u32>) {
        let known = usize::try_from(number).ok().and_then(|number| self.known.get(number - 1));
        let title = known.map_or_else(|| format!("Phase {number}"), |(title, _)| (*title).to_owned());
        let named = fields::agent(self.tree.get("current_agent")).filter(|_| current == Some(number));
        let step = follow(steps, StepId::new(format!("phase-{number}")), title, status);
        step.agent = named.or_else(|| known.map(|(_, agent)| (*agent).to_owned()));
        step.attempts = u32::from(status == Status::InProgress);
        step.short = Some(number.to_string());
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
