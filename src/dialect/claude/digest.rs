//! What the files of a session say, condensed. It is what `store` hands over in place of transcripts of hundreds of megabytes: its size depends
//! on the work that was done, not on what was said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// One session with all of its files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Digest {
    /// The id of the session: the name of its transcript.
    pub(crate) session: String,
    pub(crate) main: Transcript,
    /// By agent id, in the order of their names.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// Number of agents that were not looked at because there are too many.
    pub(crate) more_agents: usize,
    pub(crate) workflows: Vec<Workflow>,
    pub(crate) task_files: Vec<TaskFile>,
    /// Tasks in progress that a living session works on, which shares the list, each with that session.
    pub(crate) worked_on: BTreeMap<String, String>,
    pub(crate) life: Life,
    /// The process that a file of the client names for this session, alive or not.
    pub(crate) process: Option<ClientProcess>,
    /// The path of the project, which absolute paths are made relative to.
    pub(crate) root: String,
    /// The home of this user, which no answer names.
    pub(crate) home: Option<String>,
    /// The folder to change to before the session is resumed, as a word of a shell; `None` for the current one.
    pub(crate) cd: Option<String>,
    /// Older sessions of the same conversation.
    pub(crate) older: Vec<String>,
    /// The run that it was made into.
    pub(crate) adopted_as: Option<String>,
}

/// Whether the client that writes a session is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Life {
    /// No file names a process.
    #[default]
    Unnamed,
    Dead,
    Alive,
    /// The process belongs to another machine or container.
    Elsewhere,
}

/// A process of the client, as a file of its own names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ClientProcess {
    pub(crate) pid: u32,
    pub(crate) session: String,
    pub(crate) start: Option<u64>,
    pub(crate) domain: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) status: Option<String>,
}

/// One transcript: of a session, or of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Transcript {
    /// Size of the file in bytes.
    pub(crate) bytes: u64,
    /// Whether every line was looked at.
    pub(crate) is_whole: bool,
    /// Number of lines that were too long to be read.
    pub(crate) long_lines: usize,
    /// Number of lines that do not parse, besides a truncated last one.
    pub(crate) broken_lines: usize,
    /// Number of lines of each unknown type.
    pub(crate) unknown_types: BTreeMap<String, usize>,
    pub(crate) is_sidechain: bool,
    pub(crate) version: Option<String>,
    pub(crate) first_cwd: Option<String>,
    pub(crate) last_cwd: Option<String>,
    pub(crate) branch: Option<String>,
    /// The id of the first message, which copies of a conversation share.
    pub(crate) first_uuid: Option<String>,
    pub(crate) first_at: Option<Timestamp>,
    pub(crate) last_at: Option<Timestamp>,
    pub(crate) title: Option<String>,
    pub(crate) made_title: Option<String>,
    pub(crate) first_prompt: Option<Prompt>,
    pub(crate) last_prompt: Option<Prompt>,
    pub(crate) last: Option<LastMessage>,
    /// The newest text of the model.
    pub(crate) last_answer: Option<Prompt>,
    /// Tools that the last answer of the model called and that have no result.
    pub(crate) in_flight: Vec<ToolUse>,
    /// The tools that were stopped by hand.
    pub(crate) rejected: Vec<ToolUse>,
    pub(crate) marks: EndMarks,
    /// The session in which the client goes on with this one.
    pub(crate) continued_in: Option<String>,
    pub(crate) compactions: u32,
    pub(crate) last_compaction_is_automatic: bool,
    /// Bytes since the last compaction.
    pub(crate) live_bytes: u64,
    pub(crate) tasks: BTreeMap<String, TaskRecord>,
    /// By tool use id.
    pub(crate) launches: BTreeMap<String, Launch>,
    /// What the client said about background work, by its id: `completed`, `failed`, `stopped`.
    pub(crate) notifications: BTreeMap<String, Notification>,
    pub(crate) workflows: Vec<WorkflowLaunch>,
    /// Files that were written, oldest first.
    pub(crate) files: Vec<WrittenFile>,
    /// Whether a tool with effects was called.
    pub(crate) has_effects: bool,
    /// The last tool with effects.
    pub(crate) last_effect: Option<ToolUse>,
    pub(crate) plan: Option<ApprovedPlan>,
    /// Answers of a person to questions of the model, oldest first.
    pub(crate) answers: Vec<String>,
    pub(crate) tokens: u64,
    /// The tokens that a resume sends again.
    pub(crate) tokens_again: u64,
}

/// Something that was said: by a person, a launch or the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) at: Option<Timestamp>,
}

/// The newest message of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastMessage {
    pub(crate) at: Option<Timestamp>,
    pub(crate) kind: LastKind,
}

impl Digest {
    /// Leaves out the agents that the client starts for itself: no call launched them, and their ids are a word and a number.
    pub(crate) fn leave_out_helpers(&mut self) {
        let launches = &self.main.launches;
        self.agents.retain(|id, agent| {
            let is_launched = || launches.values().any(|launch| launch.agent.as_ref() == Some(id));
            agent.tool_use.is_some() || id.bytes().all(|byte| byte.is_ascii_hexdigit()) || is_launched()
        });
    }
}

impl LastMessage {
    /// Returns the client's name for the API error that it is.
    pub(crate) fn error(&self) -> Option<&str> {
        match &self.kind {
            LastKind::ApiError { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// What the newest message is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(crate) enum LastKind {
    Prompt,
    ToolResult,
    /// The summary of a compaction.
    Summary,
    /// Stopped by hand.
    Interrupted,
    /// An answer of the model. `is_over`: it ended its turn.
    Answer {
        is_over: bool,
    },
    ApiError {
        error: String,
        text: String,
    },
}

/// A tool that the model called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) message: String,
    pub(crate) name: String,
    pub(crate) at: Option<Timestamp>,
    /// What it is about: its description, its command, the task of an agent.
    pub(crate) about: String,
    pub(crate) path: Option<String>,
    pub(crate) edit: Option<EditInput>,
    /// Whether its edit is in the file; `None` if the file does not tell.
    pub(crate) took_effect: Option<bool>,
    pub(crate) task: Option<TaskInput>,
    pub(crate) is_background: bool,
}

/// What a call of `Write` or `Edit` wanted to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EditInput {
    /// `None` for a file that is written as a whole.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
}

/// What a call of a task tool wanted to do. It counts once its result says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TaskInput {
    pub(crate) id: String,
    pub(crate) status: Option<String>,
    pub(crate) blocked_by: Vec<String>,
    pub(crate) blocks: Vec<String>,
    /// The list of `TodoWrite`: text and status.
    pub(crate) todos: Vec<(String, String)>,
}

/// What the lines after the last message say about the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EndMarks {
    pub(crate) last_prompt: bool,
    pub(crate) latch: bool,
    /// The totals that newer clients write when they end.
    pub(crate) cost: bool,
    /// When the process started that wrote them.
    pub(crate) process_started_at: Option<Timestamp>,
}

/// The history of a task in a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TaskRecord {
    pub(crate) subject: String,
    pub(crate) created_at: Option<Timestamp>,
    /// Oldest first.
    pub(crate) changes: Vec<TaskChange>,
    pub(crate) blocked_by: Vec<String>,
    /// Why its completion was refused, and when.
    pub(crate) refusal: Option<Prompt>,
    /// It is of a list that the transcript alone has.
    pub(crate) is_todo: bool,
    /// Tokens of the answers while it was in progress.
    pub(crate) tokens: u64,
}

/// A change of a task's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskChange {
    pub(crate) at: Option<Timestamp>,
    pub(crate) to: String,
}

/// A task as its file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TaskFile {
    pub(crate) id: String,
    /// Relative to the client's folder.
    pub(crate) path: String,
    pub(crate) subject: String,
    pub(crate) description: String,
    pub(crate) status: String,
    pub(crate) owner: Option<String>,
    pub(crate) blocked_by: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// Why it does not parse, with line and column.
    pub(crate) problem: Option<(String, u32, u32)>,
}

/// The launch of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Launch {
    pub(crate) title: String,
    pub(crate) prompt: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) agent: Option<String>,
    pub(crate) is_background: bool,
    /// Whether its result was returned to the model.
    pub(crate) is_done: bool,
}

/// What the client told the model about background work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notification {
    pub(crate) status: String,
    pub(crate) at: Option<Timestamp>,
}

/// The launch of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkflowLaunch {
    pub(crate) run: String,
    pub(crate) name: String,
    pub(crate) task: String,
    pub(crate) at: Option<Timestamp>,
}

/// A file that a tool wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WrittenFile {
    pub(crate) path: String,
    pub(crate) at: Option<Timestamp>,
}

/// A plan that a person approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ApprovedPlan {
    pub(crate) text: String,
    pub(crate) bytes: usize,
    pub(crate) file: String,
    pub(crate) is_edited: bool,
    pub(crate) at: Option<Timestamp>,
}

/// An agent: what its own files say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Agent {
    /// Its transcript, relative to the client's folder.
    pub(crate) path: String,
    pub(crate) transcript: Option<Transcript>,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) tool_use: Option<String>,
    pub(crate) is_finished: bool,
}

/// A run of the client's own workflows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Workflow {
    pub(crate) id: String,
    /// Its journal, relative to the client's folder.
    pub(crate) path: String,
    /// The script as it was launched, relative to the client's folder.
    pub(crate) script: Option<String>,
    /// The client wrote the file that it writes at the end of a workflow.
    pub(crate) has_end: bool,
    pub(crate) calls: Vec<Call>,
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) broken_lines: usize,
}

/// A call of `agent()` in a workflow, with all its attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Call {
    pub(crate) key: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) phase: Option<String>,
    /// The agents of its attempts, oldest first.
    pub(crate) agents: Vec<String>,
    pub(crate) result: Option<CallResult>,
}

/// The result of a call, with its place in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CallResult {
    pub(crate) line: usize,
    pub(crate) bytes: usize,
    /// The first 200 bytes.
    pub(crate) head: String,
    pub(crate) is_error: bool,
}
