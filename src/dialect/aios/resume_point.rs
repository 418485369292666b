//! The position of a run in the terms of `orchestrate-resume`: a phase, an iteration or a wave.

use crate::model::{Records, Run, Step, StepId, clean_line};

const NAME_CHARS: usize = 100;

/// The position of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResumePoint {
    /// `Phase 3`, `Iteration 3/5`, `Wave 2`.
    pub(super) label: String,
    /// `3`, `3/5`, `2`.
    pub(super) number: String,
    pub(super) name: String,
    pub(super) agent: Option<String>,
}

impl ResumePoint {
    /// Returns the position of a step; `None` if the run does not have it.
    pub(super) fn of(run: &Run, id: &StepId) -> Option<Self> {
        let at = run.steps.iter().position(|step| step.id == *id)?;
        let step = &run.steps[at];
        let (label, number) = label_of(run, step, at);
        let agent = step.agent.as_ref().map(|agent| clean_line(agent, NAME_CHARS));
        Some(Self { label, number, name: name(run, step), agent })
    }

    /// Returns ` -- @dev`, or nothing without an agent.
    pub(super) fn agent_suffix(&self) -> String {
        self.agent.as_ref().map_or_else(String::new, |agent| format!(" -- @{agent}"))
    }
}

/// Returns the kind of workflow, the first part of the run's title.
pub(super) fn workflow_type(run: &Run) -> &str {
    run.title.split_once(" for ").map_or(run.title.as_str(), |(kind, _)| kind)
}

/// Returns whether the run has no saved state and is implied by a story or artifacts.
pub(super) fn is_implied(run: &Run) -> bool {
    matches!(run.workflow.as_str(), "story-development-cycle" | "spec-pipeline")
}

/// Tells whether the state of a run is only read. An epic that only counts waves is archived, though nothing else is recorded in it.
pub(super) fn is_only_read(run: &Run) -> bool {
    run.records == Records::NONE && run.workflow != "epic-execution"
}

/// Tells whether Piton archives the state of a run.
pub(super) fn is_archivable(run: &Run) -> bool {
    !is_implied(run) && !is_only_read(run)
}

/// Returns the story that a step is about, if any.
pub(super) fn story_of<'a>(run: &'a Run, step: &'a StepId) -> Option<&'a str> {
    match run.workflow.as_str() {
        "epic-execution" => run.step(step).filter(|step| step.file.is_some()).map(|step| step.id.as_str()),
        _ => ["sdc-", "qa-", "dev-", "ade-", "build-"].iter().find_map(|head| run.id.as_str().strip_prefix(head)),
    }
}

fn label_of(run: &Run, step: &Step, at: usize) -> (String, String) {
    let group = step.group.as_deref().unwrap_or_default();
    match run.workflow.as_str() {
        "epic-execution" => match group.strip_prefix("wave-") {
            Some(wave) => (format!("Wave {wave}"), wave.to_owned()),
            None => ("Final gate".to_owned(), "final".to_owned()),
        },
        "qa-loop" if !group.is_empty() => (format!("Iteration {group}"), group.to_owned()),
        _ => {
            let short = step.short.clone().filter(|short| short.bytes().all(|byte| byte.is_ascii_digit()));
            let digits = || {
                let id = step.id.as_str();
                let digits = id.bytes().take_while(u8::is_ascii_digit).count();
                (digits > 0 && id[digits..].starts_with('_')).then(|| id[..digits].to_owned())
            };
            let number = short.or_else(digits).unwrap_or_else(|| (at + 1).to_string());
            (format!("Phase {number}"), number)
        }
    }
}

/// Returns the name of a step. Stories include their id because titles repeat.
fn name(run: &Run, step: &Step) -> String {
    let id = step.id.as_str();
    let is_story = run.workflow == "epic-execution" && step.group.as_deref().is_some_and(|group| group != id);
    let is_named = step.title.contains(id) || id.starts_with("gate-") || id.starts_with("merge-");
    let title = if is_story && !is_named { format!("{id} {}", step.title) } else { step.title.clone() };
    clean_line(&title, NAME_CHARS)
}
