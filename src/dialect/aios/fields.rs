//! What the readers of all kinds share: opening a state, its subject and run, and the words that all of them use.

use super::kind::{self, Descriptor, Read};
use crate::{
    dialect::Loaded,
    document::{Field, Reader},
    model::{DialectId, FileSet, Finding, FindingCode, Run, Status, StepId, Timestamp, clean_line, human_age},
};

/// Maximum length of an id in a message.
const ID_CHARS: usize = 100;

impl Descriptor {
    /// Reads a run. Never fails on content.
    pub(super) fn load(&self, files: &FileSet) -> Loaded {
        let run = match self.read {
            Read::State(run) => run,
            Read::Files(load) => return load(files),
        };
        match read(files) {
            Ok(tree) => {
                let run = run(&tree);
                tree.loaded(run)
            }
            Err(loaded) => *loaded,
        }
    }
}

/// Reads the state of a file set, YAML or JSON; of a state below one key, what is below it.
///
/// # Errors
///
/// With the findings, if it does not parse.
pub(super) fn read(files: &FileSet) -> Result<Reader<'_>, Box<Loaded>> {
    let unreadable =
        |finding: Finding| Box::new(Loaded { findings: vec![finding.at(&files.state)], ..Loaded::default() });
    let Some(bytes) = files.bytes(&files.state) else {
        let problem = files.problem(&files.state).map_or_else(String::new, |problem| problem.to_string());
        return Err(unreadable(Finding::new(FindingCode::StateUnreadable, problem)));
    };
    let node = kind::parse(bytes).map_err(|failure| {
        let (place, message) = failure.describe();
        unreadable(Finding::new(FindingCode::StateUnreadable, message).line(place.line, Some(place.column)))
    })?;
    Ok(Reader::new(files, &files.state, node))
}

/// A state of one of the kinds.
pub(super) trait KindReader {
    /// Reports a runner that should be active but has written nothing for `limit` seconds, the system's own timeout.
    fn report_abandoned(&self, last: Option<Timestamp>, limit: i64);

    /// Returns the subject of the run for display: an epic, a story or a workflow instance.
    fn subject(&self, kind: &Descriptor) -> String;

    /// Returns a run of the workflow with its times, without steps.
    fn run(&self, kind: &Descriptor, workflow: &str, title: String) -> Run;

    /// Returns the run with all findings.
    fn loaded(self, run: Run) -> Loaded;
}

impl KindReader for Reader<'_> {
    fn report_abandoned(&self, last: Option<Timestamp>, limit: i64) {
        let Some(age) = last.map(|last| self.files().clock.now.seconds_since(last)) else { return };
        if age > limit {
            let message = format!("nothing was written for {}; the runner is considered gone", human_age(age));
            self.report(Finding::new(FindingCode::OwnerGone, message));
        }
    }

    fn subject(&self, kind: &Descriptor) -> String {
        clean_line(&kind.subject_of(self.node(), self.file()), ID_CHARS)
    }

    fn run(&self, kind: &Descriptor, workflow: &str, title: String) -> Run {
        let files = vec![self.file().clone()];
        let run = Run::new(kind.run_id(&self.subject(kind)), DialectId::Aios, title, workflow, files);
        // The start does not say when the state was last written.
        let stamps = kind.stamps.iter().filter(|stamp| Some(**stamp) != kind.started);
        let newer = kind.version.and_then(|(pointer, known)| self.at(pointer).newer_version(known));
        Run {
            started_at: kind.started.and_then(|started| self.at(started).time()),
            stamp: stamps.filter_map(|stamp| self.at(stamp).time()).max(),
            writable: newer.is_none(),
            ..run
        }
    }

    fn loaded(self, run: Run) -> Loaded {
        Loaded { run: Some(run), findings: self.into_findings(), ..Loaded::default() }
    }
}

/// Returns the name of an agent without its `@`.
pub(super) fn agent(field: Field<'_>) -> Option<String> {
    field.id().map(|agent| agent.trim_start_matches('@').to_owned())
}

/// Reads the status of a step.
pub(super) fn status(field: Field<'_>, step: &StepId) -> Status {
    let Some(word) = field.text() else { return Status::Pending };
    match word.trim().to_lowercase().as_str() {
        "pending" => Status::Pending,
        "in_progress" => Status::InProgress,
        "completed" | "complete" => Status::Completed,
        "failed" => Status::Failed,
        "skipped" => Status::Skipped,
        _ => {
            field.report_unknown(FindingCode::StatusUnknown, word, Some(step));
            Status::Pending
        }
    }
}
