//! `show --watch`: what a live view shows, and how it notices that something changed. Changes nothing.

use std::{collections::BTreeSet, time::Duration};

use camino::Utf8PathBuf;

use super::{
    OpError,
    list::{ListReport, list},
    opened_run::OpenedRun,
    project_context::ProjectContext,
    report::Report,
    select,
    show::{self, ShowReport},
};
use crate::{
    model::{Entry, JournalFile, safe_line},
    store::{self, Stamp, Stopwatch},
};

/// Files that are looked at; a state of more is read again from time to time.
const FILES: usize = 4_000;
/// Changes that are shown where no log is, and characters of a line.
const LOG_LINES: usize = 6;
const LOG_CHARS: usize = 200;
/// Piton's own file about a run that every write touches.
const LOCAL: &str = "local.json";
/// Looking again takes at most this part of the time.
const SHARE: u32 = 150;
/// The shortest and the longest time until a run is read again although no file was changed: its age and its driver change too.
const SOONEST: Duration = Duration::from_secs(30);
const LATEST: Duration = Duration::from_secs(300);
/// The shortest time until all runs are looked for again.
const LIST_SOONEST: Duration = Duration::from_secs(2);

/// A run as it was when it was read.
pub(crate) struct WatchedRun {
    pub(crate) report: Report<ShowReport>,
    /// The last lines that the current step printed, else the last changes of the run.
    pub(crate) log: Vec<String>,
    paths: Vec<Utf8PathBuf>,
    stamps: Vec<Stamp>,
    read: Stopwatch,
    cost: Duration,
}

/// All runs as they were when they were read.
pub(crate) struct WatchedList {
    pub(crate) report: Report<ListReport>,
    read: Stopwatch,
    cost: Duration,
}

/// Reads the requested run.
pub(crate) fn watch(ctx: &ProjectContext) -> Result<WatchedRun, OpError> {
    let begun = Stopwatch::start();
    let location = select::location_to_read(ctx)?;
    let opened = ctx.read(&location)?;
    let paths = paths(&opened);
    // Taken before the files are compared: a write in between is noticed the next time.
    let stamps = store::stamps(&paths);
    let report = show::report(ctx, &opened)?;
    let log = log(&opened, &report.body);
    Ok(WatchedRun { report, log, paths, stamps, cost: begun.elapsed(), read: begun })
}

/// Reads all runs.
pub(crate) fn watch_all(ctx: &ProjectContext) -> Result<WatchedList, OpError> {
    let begun = Stopwatch::start();
    let report = list(ctx, false)?;
    Ok(WatchedList { report, cost: begun.elapsed(), read: begun })
}

impl WatchedRun {
    /// Tells whether it has to be read again.
    pub(crate) fn is_outdated(&self) -> bool {
        self.read.elapsed() > (self.cost * SHARE).clamp(SOONEST, LATEST) || store::stamps(&self.paths) != self.stamps
    }
}

impl WatchedList {
    /// Tells whether it has to be read again.
    pub(crate) fn is_outdated(&self) -> bool {
        self.read.elapsed() > (self.cost * SHARE).max(LIST_SOONEST)
    }
}

/// Returns the files and folders that change when the run does.
fn paths(opened: &OpenedRun) -> Vec<Utf8PathBuf> {
    let files = &opened.files;
    let own = Some(files.own.absolute().join(LOCAL));
    let own = own.into_iter().chain(files.journal.as_ref().map(JournalFile::file));
    let outputs = opened.loaded.wanted.outputs.iter().map(|output| output.path.under(opened.base()));
    let state = files.files.keys().map(|path| path.under(&files.root));
    let mut paths: BTreeSet<Utf8PathBuf> = own.chain(outputs).chain(state).take(FILES).collect();
    // A new file changes its folder.
    let folders: Vec<Utf8PathBuf> = paths.iter().filter_map(|path| path.parent()).map(ToOwned::to_owned).collect();
    paths.extend(folders);
    paths.into_iter().collect()
}

/// Returns the end of what the current step printed, if its output is kept; else the last changes.
fn log(opened: &OpenedRun, report: &ShowReport) -> Vec<String> {
    if let Some(output) = &report.output {
        return output.lines.clone();
    }
    let entries = &opened.journal.entries;
    let entries = &entries[entries.len().saturating_sub(LOG_LINES)..];
    let line = |entry: &Entry| {
        let step = entry.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
        safe_line(&format!("{} {}{step}", entry.at.in_seconds(), entry.change), LOG_CHARS)
    };
    entries.iter().map(line).collect()
}
