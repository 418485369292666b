//! `statusline`: one short line about the run driven by the session, else about the newest interrupted run.

use super::{input::Input, session::HookSession};
use crate::{
    model::{Verdict, clean_line, mask_secrets},
    ops::{self, ListedRun, Request},
};

const NAME_CHARS: usize = 32;

/// Returns the line for the JSON from the client; `None` if there is nothing to show.
pub(crate) fn line(text: &str, request: &Request) -> Option<String> {
    let session = HookSession::open(&Input::parse(text)?, request)?;
    driven(&session).or_else(|| waiting(&session))
}

fn driven(session: &HookSession) -> Option<String> {
    let held = session.held(&session.log.events());
    let last = held.last()?;
    let summary = ops::summary(&session.select_run(&last.root, &last.run)?).ok()?;
    let row = &summary.row;
    let name = shown(&row.title);
    let progress = format!("{}/{}", row.progress.done, row.progress.total);
    Some(match (row.verdict, summary.in_progress.first()) {
        (Verdict::Complete, _) => format!("piton {name} {progress} done"),
        // This session is running the step: nothing was interrupted.
        (_, Some(step)) => format!("piton {name} {progress} at {}", shown(step.as_str())),
        (_, None) => format!("piton {name} {progress} {}", shown(&row.position)),
    })
}

fn waiting(session: &HookSession) -> Option<String> {
    let (runs, _) = ops::waiting(&session.ctx).ok()?;
    let newest: &ListedRun = runs.first()?;
    let more = if runs.len() > 1 { format!(" (+{})", runs.len() - 1) } else { String::new() };
    let progress = format!("{}/{}", newest.progress.done, newest.progress.total);
    Some(format!("piton {} {progress} interrupted{more}: /workflow-resume", shown(newest.id.as_str())))
}

fn shown(text: &str) -> String {
    clean_line(&mask_secrets(text), NAME_CHARS)
}
