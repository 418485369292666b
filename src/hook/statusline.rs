//! `statusline`: one short line about the run that the session drives, else about the newest that waits.

use super::input::Input;
use super::session::Session;
use crate::model::Verdict;
use crate::model::clean_line;
use crate::model::mask_secrets;
use crate::ops;
use crate::ops::Body;
use crate::ops::ListedRun;
use crate::ops::PlanRequest;
use crate::ops::Request;

const NAME_CHARS: usize = 24;

/// Returns the line for what the client wrote to the standard input; `None` where there is nothing to say.
pub(crate) fn line(text: &str, request: &Request) -> Option<String> {
    let session = Session::open(&Input::parse(text)?, request)?;
    driven(&session).or_else(|| waiting(&session))
}

fn driven(session: &Session) -> Option<String> {
    let held = session.held(&session.log.events());
    let (root, run) = held.last()?;
    let report = ops::plan(&session.world_of(root, run)?, &PlanRequest::default()).ok()?;
    let Body::Plan(plan) = report.body else { return None };
    let plan = &plan.plan;
    let name = shown(&plan.run.title);
    let progress = format!("{}/{}", plan.progress.done, plan.progress.total);
    Some(match (plan.verdict, plan.next.first()) {
        (Verdict::Complete, _) => format!("piton {name} {progress} done"),
        // The session itself is at it: nothing was cut off.
        (_, Some(next)) if plan.steps.in_progress.contains(&next.step) => {
            format!("piton {name} {progress} at {}", shown(next.step.as_str()))
        }
        (_, Some(next)) => format!("piton {name} {progress} {} {}", next.action.as_str(), shown(next.step.as_str())),
        (_, None) => format!("piton {name} {progress} {}", plan.verdict.as_str()),
    })
}

fn waiting(session: &Session) -> Option<String> {
    let (runs, _) = ops::waiting(&session.world).ok()?;
    let newest: &ListedRun = runs.first()?;
    let more = if runs.len() > 1 { format!(" (+{})", runs.len() - 1) } else { String::new() };
    let progress = format!("{}/{}", newest.progress.done, newest.progress.total);
    Some(format!("piton {} {progress} interrupted{more}: /workflow-resume", shown(newest.id.as_str())))
}

fn shown(text: &str) -> String {
    mask_secrets(&clean_line(text, NAME_CHARS)).into_owned()
}
