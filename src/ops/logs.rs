//! `logs`: what the steps of a session printed.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::RunLocation,
};
use crate::{
    dialect::{StateHome, piton},
    engine::{Refusal, RefusalKind},
    model::{Owner, RelPath, RunId, Status, Step, StepId, Suggested, Verb, mask_secrets, safe_line},
    store,
};

/// The logs of a session (`logs/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogsReport {
    pub(crate) session: RunId,
    /// Whether a living process is running it, so that more may follow.
    pub(crate) is_running: bool,
    /// The step that was asked for. Left out if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<String>,
    /// In the order of the steps, and of the attempts of each.
    pub(crate) logs: Vec<StepLog>,
}

/// The log of a step, of a step inside one, or of an item of a `foreach` (`build[linux]`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepLog {
    pub(crate) step: String,
    pub(crate) attempt: u32,
    /// Absolute.
    pub(crate) file: String,
    pub(crate) lines: Vec<String>,
}

impl Body for LogsReport {
    const SCHEMA: &'static str = "logs/1";
}

/// The end of what a step printed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Output")]
pub(crate) struct StepOutput {
    pub(crate) step: StepId,
    /// The whole log; absolute.
    pub(crate) file: String,
    /// Its last lines, without secrets.
    pub(crate) lines: Vec<String>,
}

/// Lines of a log that are shown with a run, and characters of a line.
const SHOWN_LINES: usize = 6;
const SHOWN_CHARS: usize = 200;

/// Returns the log below the records of a run that was written last, of those whose names are wanted.
pub(crate) fn newest_log(records: &Utf8Path, is_wanted: impl Fn(&str) -> bool) -> Option<RelPath> {
    let mut files = store::files_with(records, &piton::logs(), ".log");
    files.retain(|file| piton::log_of(file.name()).is_some_and(|(log, _)| is_wanted(log)));
    let stamps = store::stamps(&files.iter().map(|file| file.under(records)).collect::<Vec<_>>());
    let times = stamps.into_iter().map(|stamp| stamp.and_then(|(_, time)| time));
    times.zip(files).max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, file)| file)
}

/// Returns the end of what a step printed last; `None` if its output is not kept.
pub(super) fn last_output(opened: &OpenedRun, step: &StepId) -> Option<StepOutput> {
    if opened.dialect.state_home() != StateHome::Home {
        return None;
    }
    let records = opened.files.own.absolute();
    let file = newest_log(&records, |log| piton::is_inside(log, step.as_str()))?;
    let lines = store::last_lines(&records, &file, SHOWN_LINES);
    let lines: Vec<String> = lines.iter().map(|line| safe_line(&mask_secrets(line), SHOWN_CHARS)).collect();
    (!lines.is_empty()).then(|| StepOutput { step: step.clone(), file: file.under(&records).into_string(), lines })
}

/// How far each log was read.
pub(crate) type LogPositions = BTreeMap<RelPath, u64>;

/// Reads what was logged since the positions, and moves them on. A line that is not complete yet is left for later while the session runs.
pub(crate) fn logs(
    ctx: &ProjectContext,
    (location, step): (&RunLocation, Option<&str>),
    positions: &mut LogPositions,
) -> Result<Report<LogsReport>, OpError> {
    let opened = ctx.read(location)?;
    let is_running = matches!(ctx.evidence(&opened, false).owner, Owner::Live { .. });
    let session = RunId::new(&location.candidate.name);
    let records = location.candidate.state.under(&location.root).parent().map(ToOwned::to_owned);
    let records: Utf8PathBuf = records.unwrap_or_else(|| location.root.clone());
    let steps: Vec<&Step> = opened.loaded.run.iter().flat_map(|run| &run.steps).collect();
    // The names of the logs of items, with their ids, in the order of the items.
    let items: BTreeMap<String, (usize, String)> = (steps.iter())
        .flat_map(|step| step.detail.parts.iter().zip(0..).map(|(part, at)| (step.id.as_str(), &part.name, at)))
        .map(|(step, item, at)| (piton::log_name(step, item), (at, piton::item_id(step, item))))
        .collect();
    let mut found: Vec<(usize, usize, String, u32, RelPath)> = store::files_with(&records, &piton::logs(), ".log")
        .into_iter()
        .filter_map(|path| {
            let (name, attempt) = piton::log_of(path.name())?;
            let name = name.to_owned();
            // The longest id that the name begins with: `1.10.2` belongs to `1.10`, not to `1`.
            let of =
                steps.iter().map(|step| step.id.as_str()).enumerate().filter(|(_, id)| piton::is_inside(&name, id));
            let of = of.max_by_key(|(_, id)| id.len()).map_or(usize::MAX, |(at, _)| at);
            // Of a group each step has a log behind the name of that of the item.
            let of_item = items.iter().filter(|(log, _)| piton::is_inside(&name, log)).max_by_key(|(log, _)| log.len());
            let (item, name) = match of_item {
                Some((log, (at, id))) => (*at, format!("{id}{}", &name[log.len()..])),
                None => (0, name),
            };
            Some((of, item, name, attempt, path))
        })
        .filter(|(_, _, name, _, _)| step.is_none_or(|step| piton::is_inside(name, step)))
        .collect();
    found.sort();
    // Of a step that printed nothing there is no log.
    if let Some(step) = step.filter(|_| found.is_empty()) {
        let run = session.to_string();
        match never_begun(&steps, step) {
            None => {
                let known = steps.iter().take(12).map(|step| step.id.to_string()).collect();
                return Err(OpError::UnknownStep { run, wanted: step.to_owned(), known });
            }
            Some(Some(status)) if !is_running => {
                let message = format!("{step} never ran: its status is {}", status.as_str());
                let hints = vec![Suggested::of(Verb::Status, &run).into()];
                return Err(OpError::Refused(Refusal { kind: RefusalKind::NotFound, message, hints }));
            }
            Some(_) => {}
        }
    }
    let mut logs = Vec::new();
    for (_, _, step, attempt, path) in found {
        let position = positions.entry(path.clone()).or_default();
        let mut lines = Vec::new();
        loop {
            let bytes = store::read_from(&records, &path, *position);
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            // Without a line end in a whole piece, or at the end, the rest is a line.
            let take = if whole == 0 && !is_running { bytes.len() } else { whole };
            if take == 0 {
                break;
            }
            *position = position.saturating_add(take as u64);
            let text = String::from_utf8_lossy(&bytes[..take]);
            lines.extend(text.lines().map(|line| mask_secrets(line).into_owned()));
        }
        if !lines.is_empty() {
            logs.push(StepLog { step, attempt, file: path.under(&records).into_string(), lines });
        }
    }
    let step = step.map(str::to_owned);
    Ok(Report::ok(LogsReport { session, is_running, step, logs }))
}

/// Returns the status of a step, or of an item of one, if it was never begun; `None` if there is no such step.
fn never_begun(steps: &[&Step], wanted: &str) -> Option<Option<Status>> {
    let part = steps.iter().flat_map(|step| step.detail.parts.iter().map(|part| (step.id.as_str(), part)));
    let mut items = part.map(|(step, part)| (piton::item_id(step, &part.name), part));
    if wanted.contains('[') {
        let (_, item) = items.find(|(id, _)| piton::is_inside(wanted, id))?;
        return Some(Some(item.status).filter(|status| *status == Status::Pending));
    }
    let around = steps.iter().filter(|step| piton::is_inside(wanted, step.id.as_str()));
    let step = around.max_by_key(|step| step.id.as_str().len())?;
    Some(Some(step.status).filter(|status| step.attempts == 0 && *status != Status::Completed))
}
