//! The end of the log of a failed step, for the message about it.

use serde_json::Value;

use super::{
    claude::{ClaudeReader, Shown},
    context::RunContext,
    report::FailedLog,
};
use crate::{
    dialect::piton::{self, state::State},
    model::clean_line,
    ops, store,
    workflow::Command,
};

/// How many lines are shown, and the characters of each.
const LINES: usize = 5;
const LINE: usize = 200;
/// How many messages of `claude` are read for them.
const MESSAGES: usize = 100;

/// Returns the log of a step; `None` if it printed nothing.
pub(super) fn of(context: &RunContext<'_>, state: &State, step: &str) -> Option<FailedLog> {
    let failed: Vec<String> = (state.steps.get(step).into_iter())
        .flat_map(|state| piton::failed_items(state))
        .map(|item| failed_step(context, state, step, item))
        .collect();
    let is_of_item = |log: &str| failed.is_empty() || failed.iter().any(|item| piton::is_inside(log, item));
    let file = ops::newest_log(&context.session, |log| piton::is_inside(log, step) && is_of_item(log))?;
    let calls_claude = context.workflow.steps.iter().any(|one| one.id.as_str() == step && one.needs_claude());
    // Most messages of `claude` are not for people.
    let read = store::last_lines(&context.session, &file, if calls_claude { MESSAGES } else { LINES });
    let read = read.iter().flat_map(|line| if calls_claude { shown(line) } else { vec![line.clone()] });
    let mut lines: Vec<String> = read.map(|line| clean_line(&line, LINE)).collect();
    lines.drain(..lines.len().saturating_sub(LINES));
    Some(FailedLog { file: file.under(&context.session).into_string(), lines })
}

/// Returns the name of the log of an item that failed, in a group that of the step that did not pass.
fn failed_step(context: &RunContext<'_>, state: &State, step: &str, item: &str) -> String {
    let log = piton::log_name(step, item);
    let of_loop = context.workflow.steps.iter().find(|known| known.id.as_str() == step).map(|step| &step.command);
    let Some(Command::Foreach(foreach)) = of_loop else { return log };
    let progress = state.steps.get(step).and_then(|state| state.item_progress.get(item));
    let failed = foreach.steps.get(progress.map_or(0, |progress| progress.passed.len()));
    failed.map_or_else(|| log.clone(), |failed| piton::id_inside(&log, step, failed.id.as_str()))
}

/// Returns a logged line as a person sees it: a message of `claude` as what it says, without those that say nothing.
fn shown(line: &str) -> Vec<String> {
    let message = serde_json::from_str::<Value>(line).ok();
    // A shell step beside the call may print JSON as well.
    if message.as_ref().and_then(|message| message.get("type")?.as_str()).is_none() {
        // A message that was cut off with its call says nothing either.
        let is_cut_off = message.is_none() && line.starts_with("{\"type\":");
        return if is_cut_off { Vec::new() } else { vec![line.to_owned()] };
    }
    let mut reader = ClaudeReader::default();
    let shown = reader.take(format!("{line}\n").as_bytes());
    let said = shown.into_iter().flat_map(|shown| match shown {
        Shown::Text(text) => text.lines().map(str::to_owned).collect(),
        Shown::Tool { name, subject } => vec![format!("{name} {subject}")],
    });
    said.chain(reader.error().map(str::to_owned)).filter(|line| !line.trim().is_empty()).collect()
}
