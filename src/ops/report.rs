//! What a verb returns, and the reports and rows that several verbs share. Each other report is beside its verb, as published under
//! `schemas/`. The command line shows them.

use schemars::JsonSchema;
use serde::Serialize;

use super::exit::Exit;
use crate::model::{
    AgeBand, Cause, Context, DialectId, Finding, Progress, RelPath, RunId, StepId, Suggested, Verdict, words,
};

/// The result of a verb.
#[derive(Debug)]
pub(crate) struct Report<B> {
    pub(crate) exit: Exit,
    pub(crate) body: B,
    pub(crate) findings: Vec<Finding>,
}

/// The data of a report, as its document has it.
pub(crate) trait Body: Serialize {
    /// Name and version of the document.
    const SCHEMA: &'static str;

    /// Returns what the call has written, for an answer that cannot be printed; `None` if it only read.
    fn written(&self) -> Option<String> {
        None
    }
}

impl<B> Report<B> {
    pub(crate) fn ok(body: B) -> Self {
        Self { exit: Exit::Ok, body, findings: Vec::new() }
    }
}

/// A recorded change (`checkpoint/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckpointReport {
    pub(crate) run: RunId,
    /// `begin`, `finish`, `approve`, ...
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    /// False if the state had the change already and nothing was written.
    pub(crate) recorded: bool,
    /// Whether a step failed or was refused, for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_setback: bool,
    pub(crate) message: String,
    /// The revision after the change, for `--if-revision`.
    pub(crate) revision: String,
    /// Files that were written.
    pub(crate) files: Vec<RelPath>,
    /// The most useful next command.
    pub(crate) next: Option<Suggested>,
    /// What the agent of a step that begins has to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) brief: Option<Context>,
    /// The file with the brief, in place of `brief`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) brief_file: Option<BriefFile>,
}

impl Body for CheckpointReport {
    const SCHEMA: &'static str = "checkpoint/1";

    fn written(&self) -> Option<String> {
        self.recorded.then(|| self.message.clone())
    }
}

/// A brief that was written to a file for the agent of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BriefFile {
    /// The absolute path, since an agent may work in another folder.
    pub(crate) path: String,
    pub(crate) bytes: usize,
    /// The agent for the step, if its system names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What to say to the agent: it has the brief from a hook, or reads the file.
    pub(crate) prompt: String,
}

/// One run of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ListedRun {
    /// Can be used as RUN in other verbs, as long as no run changes.
    pub(crate) number: usize,
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    /// The name of its workflow; that of the dialect where the state cannot be read.
    pub(crate) workflow: String,
    /// Current position, for people.
    pub(crate) position: String,
    /// Whether it can go on, and why not, in a sentence.
    pub(crate) headline: String,
    pub(crate) verdict: Verdict,
    pub(crate) lifecycle: Lifecycle,
    /// What cut it off, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    pub(crate) age_seconds: Option<i64>,
    pub(crate) age_band: Option<AgeBand>,
    pub(crate) progress: Progress,
    /// The state, relative to the project; absolute when it lies elsewhere.
    pub(crate) state: String,
    /// Can be used as RUN in other verbs, at any time.
    pub(crate) path: String,
    /// The row in the format of the run's own system, for people.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) native_row: Option<String>,
    /// Something stopped in the middle, or was not continued for an hour. False for a run that is paused or over.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_cut_off: bool,
    /// Another living process drives it.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_driven: bool,
    /// A plan of another system that Piton only reads.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) is_guest: bool,
}

/// The stage of a run, with a person's reason for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Lifecycle {
    pub(crate) stage: Stage,
    /// Why it was paused or aborted, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

words! {
    /// The stages of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    pub(crate) enum Stage: serde {
        Open = "open",
        Paused = "paused",
        Aborted = "aborted",
        /// Nothing is left to do but what its system does at the end.
        Finished = "finished",
        Archived = "archived",
    }
}

impl Stage {
    /// Tells whether the run continues only on explicit request, or not at all.
    pub(crate) const fn is_over(self) -> bool {
        match self {
            Self::Open | Self::Paused => false,
            Self::Aborted | Self::Finished | Self::Archived => true,
        }
    }
}
