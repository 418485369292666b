//! The words of a session that a run made of it may have: titles and names, never a prompt (docs/formats/claude.md#privacy).

use std::collections::BTreeMap;

use super::{digest::Digest, run, standing::TITLE_CHARS};
use crate::model::{StepId, safe_line};

/// The words of a session besides the subjects of its tasks.
#[derive(Debug, Default)]
pub(crate) struct AdoptedWords {
    /// The title that a person or the client gave it.
    pub(crate) title: Option<String>,
    /// Titles of agents, of calls of a workflow and of the turn: where one has only its prompt, a name.
    pub(crate) steps: BTreeMap<StepId, String>,
}

/// Returns the words of a session.
pub(super) fn words(digest: &Digest) -> AdoptedWords {
    let line = |text: &str| safe_line(text, TITLE_CHARS);
    let mut steps = BTreeMap::new();
    let ids = digest.agent_ids();
    for id in &ids {
        let agent = digest.agents.get(id);
        let launched = digest.launch_of(id, agent).0.map(|launch| launch.title.as_str());
        let title = launched.filter(|title| !title.is_empty()).or_else(|| agent?.title.as_deref());
        let title = title.map_or_else(|| format!("agent {id}"), str::to_owned);
        steps.insert(run::agent_step_id(id, &ids), line(&title));
    }
    for (number, workflow) in (1_usize..).zip(run::in_launch_order(digest)) {
        for (place, call) in (1_usize..).zip(&workflow.calls) {
            let title = workflow.label_of(call);
            let name = || format!("call {place} of the workflow {}", run::workflow_name(digest, workflow));
            steps.insert(run::call_step_id(number, place), line(&title.unwrap_or_else(name)));
        }
    }
    let calls = if digest.is_stopped() { &digest.main.rejected } else { &digest.main.in_flight };
    let tool = calls.iter().map(|call| call.name.as_str()).find(|name| !name.is_empty()).unwrap_or("a tool");
    steps.insert(StepId::new(run::TURN), line(&format!("the last turn: {tool}")));
    let title = digest.main.title.as_deref().or(digest.main.made_title.as_deref());
    AdoptedWords { title: title.map(line), steps }
}
