//! The types of a checked workflow file. Pure.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{condition::Condition, json_path::JsonPath, selection::SortKey, template::Template};
use crate::{
    document::TextPosition,
    model::{GateOption, OutputSchema, PartKind, RelPath, StepId, StepKind, sha256_hex},
};

/// A workflow: its steps in the order of the file, each with what it depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Workflow {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) inputs: Vec<Input>,
    /// Environment of every step, also available as variables.
    pub(crate) env: BTreeMap<String, Template>,
    /// By the name under which steps see them.
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// Files with `NAME=value` lines, relative to the working folder.
    pub(crate) env_files: Vec<Template>,
    pub(crate) merge: Option<Merge>,
    pub(crate) limits: SpendingLimits,
    pub(crate) worktree: WorktreeFiles,
    /// Steps that the runner runs when it stops before the end; they can be repeated.
    pub(crate) on_stop: Vec<Step>,
    pub(crate) steps: Vec<Step>,
}

/// Files of the project that git does not have, and that a new worktree needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorktreeFiles {
    pub(crate) copied: Vec<RelPath>,
    pub(crate) linked: Vec<RelPath>,
}

/// What a run may spend before a person decides whether it goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpendingLimits {
    /// The time that its steps run.
    pub(crate) time: Option<Duration>,
    /// What calls of `claude` cost.
    pub(crate) cost_usd: Option<f64>,
    /// Tries of its steps.
    pub(crate) attempts: Option<u32>,
    /// How long one call waits for usage limits.
    pub(crate) wait: Option<Duration>,
}

/// A value that is given when a run starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) kind: InputKind,
    /// A regular expression that the value has to match.
    pub(crate) pattern: Option<(String, TextPosition)>,
    /// Without one, the value has to be given.
    pub(crate) default: Option<Value>,
}

/// The values that an input accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// Any text, or one of a few.
    Text {
        choices: Vec<String>,
    },
    Number,
    Boolean,
}

/// The source of a secret. Its value is never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    /// An environment variable of the runner.
    Env(String),
    /// A file that holds nothing else.
    File(String),
}

/// The steps that merge a session into its base branch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merge {
    pub(crate) steps: Vec<Step>,
    /// For all of it together.
    pub(crate) timeout: Option<Duration>,
}

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// The given id, or the number of the step, from 1. Of a nested step: `3.1`, `3.on_failure.1`.
    pub(crate) id: StepId,
    /// Of the id where one is given, else of the step.
    pub(crate) id_place: TextPosition,
    pub(crate) command: Command,
    /// The group that it belongs to.
    pub(crate) group: Option<Group>,
    /// Steps of the workflow that have to be done first. Empty for nested steps, which run one after the other.
    pub(crate) depends_on: Vec<StepReference>,
    /// Makes it a review: a verdict that does not approve returns to this step.
    pub(crate) reviews: Option<StepReference>,
    /// The steps that it names, of those before it: it is skipped with one that is skipped by its condition. The others are only before it.
    pub(crate) needs: Vec<StepReference>,
    /// Files and folders that it reads.
    pub(crate) uses: Vec<RelPath>,
    /// Files that prove that it is done.
    pub(crate) outputs: Vec<Output>,
    /// The schema of the JSON that it ends with, which is read as `${ID.result}`.
    pub(crate) result: Option<(OutputSchema, TextPosition)>,
    /// Parts that can be resumed separately.
    pub(crate) parts: Vec<PartDefinition>,
    /// Runs only when this holds.
    pub(crate) when: Option<When>,
    /// Runs when the run ends, after all others.
    pub(crate) is_final: bool,
    /// The timeout of one try, from the step or the workflow.
    pub(crate) timeout: Option<Duration>,
    /// The timeout is that of the workflow.
    pub(crate) has_default_timeout: bool,
    /// From the step, the workflow, or for `claude` [`Retry::of_claude`].
    pub(crate) retry: Option<Retry>,
    /// Of a file of Prodigy.
    pub(crate) captures: Vec<Capture>,
    pub(crate) env: BTreeMap<String, Template>,
    /// Secrets that only its own command gets.
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// Relative to the worktree.
    pub(crate) working_dir: Option<Template>,
    pub(crate) on_failure: Option<OnFailure>,
    /// Measures what it did: a step of its own, under the record of this one.
    pub(crate) validate: Option<Box<Step>>,
    /// HEAD must have moved.
    pub(crate) commit_required: bool,
    /// False when repeating it does harm.
    pub(crate) idempotent: bool,
    /// A shell command that exits with 0 when the step took effect.
    pub(crate) probe: Option<Template>,
    pub(crate) place: TextPosition,
    /// The given title, else what it does, in one line.
    pub(crate) title: String,
    /// The canonical form of everything that decides what it does.
    pub(crate) canonical: Value,
}

/// A reference to another step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepReference {
    pub(crate) id: StepId,
    pub(crate) place: TextPosition,
}

/// A group of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) place: TextPosition,
}

/// The condition of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct When {
    pub(crate) condition: Condition,
    pub(crate) place: TextPosition,
    /// The place of the condition of its group, which is the first side of the `&&`.
    pub(super) group_place: Option<TextPosition>,
}

/// A file that a step has to produce.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    /// Its variables are inputs and, inside a loop, the item: a plan knows them.
    pub(crate) path: Template,
    pub(crate) place: TextPosition,
    pub(crate) schema: Option<(OutputSchema, TextPosition)>,
}

/// A part of a step that can be resumed separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartDefinition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) kind: PartKind,
}

/// The command of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Work for an agent.
    Agent(AgentWork),
    /// Waits until a person approves.
    Gate(Gate),
    /// `sh -c`.
    Shell(Template),
    /// A prompt for `claude -p`.
    Claude(Claude),
    Foreach(Foreach),
    WriteFile(WriteFile),
    Validate(Validate),
}

/// Work for an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AgentWork {
    /// Without one, the agent that drives the run does it.
    pub(crate) agent: Option<String>,
    pub(crate) instructions: Option<Instructions>,
    /// Of the call of `claude` that does it unattended.
    pub(crate) options: ClaudeOptions,
}

/// What an agent or a person is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Instructions {
    /// As written.
    pub(crate) text: String,
    pub(crate) template: Template,
}

/// A gate that a person approves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gate {
    /// The approver, or the question.
    pub(crate) text: Option<String>,
    pub(crate) instructions: Option<Instructions>,
    /// The answers to choose from; empty where it is approved or not.
    pub(crate) options: Vec<(GateOption, TextPosition)>,
    /// An agent that the file names as well, which the checker refuses.
    pub(super) agent: Option<(String, TextPosition)>,
    pub(crate) place: TextPosition,
}

/// A call of `claude -p`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Claude {
    pub(crate) prompt: Template,
    pub(crate) options: ClaudeOptions,
}

/// The options of a call of `claude -p`; without one, the settings of the person decide.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClaudeOptions {
    pub(crate) model: Option<String>,
    pub(crate) permission_mode: Option<String>,
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) disallowed_tools: Vec<String>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_budget_usd: Option<f64>,
    pub(crate) conversation: Conversation,
    /// A denied tool call fails the step, also where others were allowed.
    pub(crate) fails_on_denied: bool,
}

/// The conversation that a call of `claude -p` is part of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Conversation {
    /// Each try begins a new one.
    #[default]
    New,
    /// Another try continues that of the try before it.
    OfTries,
    /// It continues the one of an earlier step.
    Of(StepReference),
}

/// A loop that runs steps once for each item. Each item is a part of the step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Foreach {
    pub(crate) items: Items,
    pub(crate) steps: Vec<Step>,
    /// How many items at once; 1 is one after the other.
    pub(crate) parallel: usize,
    /// An item that fails does not stop the others.
    pub(crate) continue_on_error: bool,
    /// So many items may fail and the loop still passes.
    pub(crate) max_failures: Option<usize>,
    pub(crate) max_items: Option<usize>,
    /// Which items are taken.
    pub(crate) only: Option<When>,
    /// Their order; empty is that of the list.
    pub(crate) sort_by: Vec<SortKey>,
    /// How long one item may take.
    pub(crate) item_timeout: Option<Duration>,
    /// Each item works in a worktree that is merged when the loop passes.
    pub(crate) in_worktrees: bool,
}

/// The items of a `foreach`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Items {
    List(Vec<Template>),
    /// A shell command; each line of its stdout that is not empty is an item, or each element of the JSON array it prints.
    Command(Template),
    /// A JSON file, and the place of the items in it.
    File {
        file: Template,
        path: JsonPath,
    },
}

/// A file to write in the working folder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteFile {
    pub(crate) path: Template,
    pub(crate) content: Template,
    pub(crate) format: FileFormat,
    /// `0644` and the like.
    pub(crate) mode: u32,
    pub(crate) create_dirs: bool,
}

/// The required format of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Text,
    Json,
    Yaml,
}

/// A measurement of completeness, with steps that improve it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Validate {
    /// The last one prints JSON with `completion_percentage`.
    pub(crate) steps: Vec<Step>,
    /// Percent, 0 to 100.
    pub(crate) threshold: f64,
    /// Where the JSON is, when it is not on stdout.
    pub(crate) result_file: Option<Template>,
    /// A JSON Schema that the result has to satisfy.
    pub(crate) expected_schema: Option<Value>,
    pub(crate) on_incomplete: Option<OnIncomplete>,
}

/// The steps that run when a `validate` is below its threshold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OnIncomplete {
    pub(crate) steps: Vec<Step>,
    pub(crate) attempts: u32,
    pub(crate) fail_workflow: bool,
    pub(crate) commit_required: bool,
}

/// The handler of a step that failed all its tries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OnFailure {
    pub(crate) steps: Vec<Step>,
    /// How often the step runs again after the handler; 0 runs the handler and no more.
    pub(crate) attempts: u32,
    /// The step counts as failed although the handler ran, unless it then succeeds.
    pub(crate) fail_workflow: bool,
}

impl OnFailure {
    /// Returns a handler that only says what the failure means for the workflow.
    pub(super) const fn without_steps() -> Self {
        Self { steps: Vec::new(), attempts: 0, fail_workflow: true }
    }
}

/// The retry policy of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Retry {
    /// All tries together, from 1.
    pub(crate) attempts: u32,
    pub(crate) backoff: Backoff,
    pub(crate) initial_delay: Duration,
    pub(crate) max_delay: Duration,
    /// 0 to 1: the random part of a delay.
    pub(crate) jitter: f64,
    /// Empty: every failure that another try can change.
    pub(crate) retry_on: Vec<RetryOn>,
}

/// The growth of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backoff {
    Exponential,
    Fixed,
}

/// A kind of failure that is retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryOn {
    Network,
    Timeout,
    ServerError,
    RateLimit,
    /// Any failure at all.
    Any,
    /// A text that the error contains, ignoring case.
    Contains(String),
    ExitCode(i32),
}

/// A name under which the steps of a file of Prodigy read what another one left. Other files read `${ID.output}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) of: Captured,
}

/// What a step left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Captured {
    Output(CaptureFormat),
    /// What it printed on stderr.
    Errors,
    /// The files that it added and that match a pattern, one per line.
    Files(String),
}

/// The format of a captured text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureFormat {
    String,
    Json,
    Lines,
    Number,
    Boolean,
}

impl Step {
    /// Returns the kind of the step: a gate, a review if it has a step to return to, otherwise work.
    pub(crate) const fn kind(&self) -> StepKind {
        match (&self.command, &self.reviews) {
            (Command::Gate(_), _) => StepKind::Gate,
            (_, Some(_)) => StepKind::Review,
            (_, None) => StepKind::Work,
        }
    }

    /// Returns the name of its kind, as a file spells it.
    pub(crate) const fn kind_name(&self) -> &'static str {
        match &self.command {
            Command::Agent(_) => "agent",
            Command::Gate(_) => "gate",
            Command::Shell(_) => "shell",
            Command::Claude(_) => "claude",
            Command::Foreach(_) => "foreach",
            Command::WriteFile(_) => "write_file",
            Command::Validate(_) => "validate",
        }
    }

    /// Returns the step that measures what it did, as a list.
    pub(crate) fn measurement(&self) -> &[Self] {
        self.validate.as_deref().map_or(&[], std::slice::from_ref)
    }

    /// Returns the digest of the definition of the step. Its retries, timeout and position are not part of it.
    pub(crate) fn digest(&self) -> String {
        sha256_hex(self.canonical.to_string().as_bytes())
    }
}

impl Retry {
    /// Returns the default policy of a step with `retry`.
    pub(crate) const fn usual() -> Self {
        Self {
            attempts: 3,
            backoff: Backoff::Exponential,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            jitter: 0.0,
            retry_on: Vec::new(),
        }
    }

    /// Returns the default policy of `claude`: five tries when the service is at fault (docs/formats/prodigy.md#claude-retries).
    pub(crate) fn of_claude() -> Self {
        Self {
            attempts: 5,
            backoff: Backoff::Exponential,
            initial_delay: Duration::from_secs(5),
            max_delay: Duration::from_secs(300),
            jitter: 0.25,
            retry_on: vec![RetryOn::Network, RetryOn::Timeout, RetryOn::ServerError, RetryOn::RateLimit],
        }
    }
}

impl Workflow {
    /// Returns the digest of everything outside the steps that affects all of them.
    pub(crate) fn head_digest(&self) -> String {
        sha256_hex(super::canonical::head(self).to_string().as_bytes())
    }

    /// Returns the JSON Schemas that results have to satisfy, with the step that declares each. The caller checks that they are schemas.
    pub(crate) fn expected_schemas(&self) -> Vec<(&Step, &Value)> {
        let mut waiting: Vec<&Step> = self.steps.iter().chain(self.around()).rev().collect();
        let mut found = Vec::new();
        while let Some(step) = waiting.pop() {
            if let Command::Validate(Validate { expected_schema: Some(schema), .. }) = &step.command {
                found.push((step, schema));
            }
            waiting.extend(step.inside().into_iter().flatten().rev());
        }
        found
    }

    /// Returns the steps that are no steps of the run: those that merge its work, and those that run when it stops.
    pub(crate) fn around(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.merge.iter().flat_map(|merge| &merge.steps).chain(&self.on_stop)
    }
}
