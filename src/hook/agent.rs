//! `SubagentStart` and `SubagentStop`: an agent is given the brief of its step, and its report is kept for `finish`.
//!
//! The event names the agent's type, not its task. So the brief goes to an agent of the type that a step in progress was begun for, else to
//! any agent while one step is in progress; where that leaves a choice, nothing is said.

use super::{
    Answer,
    input::Input,
    session::{HookSession, LOCK_TIMEOUT, WORD_CHARS},
};
use crate::{
    model::{AgentReport, DrivenRun, GivenBrief, SessionEvent, SessionLine, clean_line, safe_line},
    ops::{OpenStep, OpenSteps},
};

const EVENT: &str = "SubagentStart";
/// Agents of the client that only read: they do a step only if it names them.
const READERS: [&str; 2] = ["Explore", "Plan"];

/// A step in progress with its run.
type Open<'a> = (&'a DrivenRun, &'a OpenSteps, &'a OpenStep);

pub(super) fn starts(session: &HookSession, input: &Input) -> Option<Answer> {
    let events = session.log.events();
    let agent = clean_line(&input.agent_type, WORD_CHARS);
    let runs = session.open_steps(&events);
    let open = chosen(&runs, &events, &agent);
    let brief =
        open.map(|(run, _, step)| GivenBrief { run: run.clone(), step: step.step.clone(), attempt: step.attempt });
    session.note(SessionEvent::AgentStart { id: clean_line(&input.agent_id, WORD_CHARS), agent, brief });
    let (_, run, step) = open?;
    let facts = vec![format!(
        "Step {} of the run {} is in progress (attempt {}). If it is what you were started for, this is its brief:",
        safe_line(step.step.as_str(), WORD_CHARS),
        safe_line(run.run.as_str(), WORD_CHARS),
        step.attempt
    )];
    Some(Answer { event: EVENT, facts, contexts: vec![run.brief_for_agent(step)?], ..Answer::default() })
}

pub(super) fn stops(session: &HookSession, input: &Input) -> Option<Answer> {
    let events = session.log.events();
    let id = clean_line(&input.agent_id, WORD_CHARS);
    session.note(SessionEvent::AgentStop { id: id.clone() });
    let report = AgentReport::parse(input.last_assistant_message.as_deref()?)?;
    let runs = session.open_steps(&events);
    let given = started(&events, &id).and_then(|started| started.brief);
    let is_about = |(run, _, step): &Open<'_>| {
        let is_named = report.step.as_deref().is_none_or(|named| named == step.step.as_str());
        let is_given = given.map_or(report.step.is_some(), |given| is_given(given, run, step));
        is_named && is_given
    };
    let mut about = all(&runs).filter(is_about);
    if let (Some((_, run, step)), None) = (about.next(), about.next()) {
        run.keep_report(step, report.clone(), LOCK_TIMEOUT);
    }
    None
}

/// Returns all steps in progress.
pub(super) fn all(runs: &[(DrivenRun, OpenSteps)]) -> impl Iterator<Item = Open<'_>> {
    runs.iter().flat_map(|(run, open)| open.steps.iter().map(move |step| (run, open, step)))
}

/// Tells whether a brief is that of a step in progress.
pub(super) fn is_given(brief: &GivenBrief, run: &DrivenRun, step: &OpenStep) -> bool {
    brief.run == *run && brief.step == step.step && brief.attempt == step.attempt
}

/// Returns the step whose brief an agent of this type is given, if there is no choice.
fn chosen<'a>(runs: &'a [(DrivenRun, OpenSteps)], events: &[SessionLine], agent: &str) -> Option<Open<'a>> {
    let is_named = |(_, _, step): &Open<'_>| step.agents.iter().any(|name| is_same_agent(name, agent));
    let mut candidates: Vec<Open<'a>> = all(runs).filter(is_named).collect();
    if candidates.is_empty() && !READERS.contains(&agent) {
        candidates = all(runs).collect();
    }
    let working = briefs_in_use(events);
    let is_free = |(run, _, step): &&Open<'_>| !working.iter().any(|brief| is_given(brief, run, step));
    let free: Vec<Open<'a>> = candidates.iter().filter(is_free).copied().collect();
    match (free.as_slice(), candidates.as_slice()) {
        ([one], _) | ([], [one]) => Some(*one),
        (_, _) => None,
    }
}

/// Tells whether a name in a plan is that of an agent; the client puts a plugin's name in front.
fn is_same_agent(name: &str, agent: &str) -> bool {
    let plain = agent.rsplit_once(':').map_or(agent, |(_, plain)| plain);
    name == agent || name == plain
}

/// Returns the briefs of the agents that are still running.
pub(super) fn briefs_in_use(events: &[SessionLine]) -> Vec<&GivenBrief> {
    let mut running: Vec<(&str, &GivenBrief)> = Vec::new();
    for line in events {
        if let SessionEvent::AgentStart { id, brief: Some(brief), .. } = &line.event {
            running.push((id, brief));
        } else if let SessionEvent::AgentStop { id } = &line.event {
            running.retain(|(started, _)| started != id);
        }
    }
    running.into_iter().map(|(_, brief)| brief).collect()
}

/// An agent that was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartedAgent<'a> {
    pub(super) agent: &'a str,
    pub(super) brief: Option<&'a GivenBrief>,
}

/// Returns the agent with this id.
fn started<'a>(events: &'a [SessionLine], wanted: &str) -> Option<StartedAgent<'a>> {
    events.iter().rev().find_map(|line| {
        let SessionEvent::AgentStart { id, agent, brief } = &line.event else { return None };
        (id == wanted).then(|| StartedAgent { agent, brief: brief.as_ref() })
    })
}

/// Returns the agents that ended since the last prompt, but for those that only read and were given nothing.
pub(super) fn ended_since_prompt(events: &[SessionLine]) -> Vec<StartedAgent<'_>> {
    let is_prompt = |line: &SessionLine| matches!(line.event, SessionEvent::Prompt | SessionEvent::Notification);
    let since = events.iter().rposition(is_prompt).map_or(0, |at| at + 1);
    let ended = events[since..].iter().filter_map(|line| {
        let SessionEvent::AgentStop { id } = &line.event else { return None };
        started(events, id)
    });
    ended.filter(|ended| ended.brief.is_some() || !READERS.contains(&ended.agent)).collect()
}
