//! A run as read from its files, in Piton's words. Dialects build it, the engine judges it.

use serde_json::Value;

use super::Detail;
use super::DialectId;
use super::Interruption;
use super::Mode;
use super::RelPath;
use super::ReviewVerdict;
use super::RunId;
use super::Status;
use super::StepId;
use super::Timestamp;
use super::sha256_hex;

/// Is one execution of a workflow.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    /// The name of the definition: `nine-step`, `ccw`, or the name of a workflow file.
    pub(crate) workflow: String,
    pub(crate) status: RunStatus,
    /// The files that make up the state; the first is the one whose stamp and digest stand for the run.
    pub(crate) state_files: Vec<RelPath>,
    /// In the order in which the dialect declares them.
    pub(crate) steps: Vec<Step>,
    /// Where the state itself says the run stands.
    pub(crate) position: Option<StepId>,
    /// How many steps are done that `steps` no longer lists (closed phases without a record of each step).
    pub(crate) done_elsewhere: usize,
    pub(crate) goal: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    /// The last stamp in the state.
    pub(crate) stamp: Option<Timestamp>,
    pub(crate) workspace: WorkspaceRecord,
    /// What comes when every step is done.
    pub(crate) follow_up: Option<FollowUp>,
    /// The interruption that the state itself records, when it does.
    pub(crate) interruption: Option<Interruption>,
    /// How much a person was to be asked when it was started: that holds for its resume, unless the caller says otherwise.
    pub(crate) mode: Option<Mode>,
    pub(crate) resumes: u32,
    /// False for a format version newer than this program.
    pub(crate) writable: bool,
    /// Some part of the state could not be read; the rest is still planned.
    pub(crate) degraded: bool,
}

/// Says what the system itself says of the run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStatus {
    Active,
    Paused,
    Completed,
    Aborted,
    Archived,
}

/// Is what the state recorded about where the work happens.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkspaceRecord {
    pub(crate) branch: Option<String>,
    pub(crate) base_branch: Option<String>,
    /// The working folder relative to the root; `None` for the root itself.
    pub(crate) worktree: Option<RelPath>,
    pub(crate) plan_reference: Option<String>,
    pub(crate) issues: Vec<String>,
}

/// Says what comes when every step is done.
#[derive(Clone, Debug)]
pub(crate) struct FollowUp {
    pub(crate) action: super::Action,
    pub(crate) title: String,
    pub(crate) agent: Option<String>,
    pub(crate) reason: String,
}

/// Is the smallest unit that is resumed.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) id: StepId,
    /// The short name that also addresses it while its group is the current one (`4` for `2:4`).
    pub(crate) short: Option<String>,
    pub(crate) title: String,
    pub(crate) kind: StepKind,
    pub(crate) status: Status,
    /// Where its system's own plan puts it among steps that may start at the same time; without it their ids decide.
    pub(crate) place: Option<usize>,
    /// Steps with the same group are listed together (a phase, an epic's wave).
    pub(crate) group: Option<String>,
    pub(crate) agent: Option<String>,
    /// Who could run it when `agent` is not settled.
    pub(crate) agent_candidates: Vec<String>,
    pub(crate) depends_on: Vec<StepId>,
    /// Dependencies that name no step of this run, as written.
    pub(crate) dangling: Vec<String>,
    /// The step a failure sends the run back to.
    pub(crate) returns_to: Option<StepId>,
    pub(crate) review: Option<Review>,
    /// How often it was started.
    pub(crate) attempts: u32,
    /// How often it failed since it was last approved.
    pub(crate) failures: u32,
    /// What the last failure said; a stranger's text.
    pub(crate) error: Option<String>,
    /// What each failure since the last success said, oldest first; strangers' texts.
    pub(crate) past_errors: Vec<String>,
    pub(crate) proof: Proof,
    pub(crate) detail: Detail,
    pub(crate) children: Vec<StepId>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    /// The commit that holds its result.
    pub(crate) commit: Option<String>,
    /// False when doing it twice does harm.
    pub(crate) idempotent: bool,
    /// False where no file that may be written says how the step goes, so that no command begins or ends it.
    pub(crate) recorded: bool,
    /// How to find out whether an irreversible step took effect.
    pub(crate) probe: Option<String>,
    /// Where it is defined, for findings and contexts.
    pub(crate) file: Option<RelPath>,
    /// Its definition in its own system's words, for the context; untrusted text. Null where the workflow itself says it, which never
    /// changes.
    pub(crate) definition: Value,
    /// Digest of the definition that its result was made from, where the state itself records it.
    pub(crate) done_definition: Option<String>,
}

/// Is what shows that a step is done, beside its status.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proof {
    /// Files it must have left for `completed` to be believed.
    pub(crate) outputs: Vec<RelPath>,
    /// Any one of `outputs` is enough.
    pub(crate) outputs_any: bool,
    /// Outputs that are there and whose content is no result of this run, with why.
    pub(crate) rejected: Vec<(RelPath, String)>,
    /// What it left before this moment belongs to an earlier attempt.
    pub(crate) fresh_since: Option<Timestamp>,
    /// What else in the state speaks about it.
    pub(crate) witnesses: Vec<Witness>,
    /// A single witness that speaks for done is enough to ask, all together are enough to believe.
    pub(crate) witnesses_needed: usize,
    pub(crate) summaries: Vec<RelPath>,
}

/// Says what kind of attention a step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    Work,
    /// Judges the work of another step; a verdict closes it.
    Review,
    /// Waits for a person.
    Gate,
    /// Has no work of its own; its children decide.
    Container,
}

/// Is what a reviewer said last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Review {
    pub(crate) verdict: ReviewVerdict,
    /// Conditions that are not met yet; `None` when the state does not list any.
    pub(crate) open_conditions: Option<Vec<String>>,
}

/// Is one place in the state, other than the authoritative one, that says whether a step is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) source: String,
    pub(crate) done: bool,
    pub(crate) file: Option<RelPath>,
    pub(crate) line: Option<u32>,
}

/// Is a piece inside a step that can be resumed on its own.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: PartKind,
    pub(crate) status: Status,
    /// The variable it leaves for later parts, with its value when it is known.
    pub(crate) output: Option<(String, Option<Value>)>,
    /// Commands as text: shown, never run.
    pub(crate) commands: Vec<String>,
}

/// Says what a part is for; analysis can be asked for afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Analysis,
    Work,
}

impl Step {
    /// Returns a digest of what the step is defined as; `None` where the definition is the workflow's own and never changes.
    pub(crate) fn definition_digest(&self) -> Option<String> {
        (!self.definition.is_null()).then(|| sha256_hex(self.definition.to_string().as_bytes()))
    }

    /// Returns a pending step of work with nothing else known about it.
    pub(crate) fn new(id: StepId, title: impl Into<String>) -> Self {
        Self {
            id,
            short: None,
            title: title.into(),
            kind: StepKind::Work,
            status: Status::Pending,
            place: None,
            group: None,
            agent: None,
            agent_candidates: Vec::new(),
            depends_on: Vec::new(),
            dangling: Vec::new(),
            returns_to: None,
            review: None,
            attempts: 0,
            failures: 0,
            error: None,
            past_errors: Vec::new(),
            proof: Proof::default(),
            detail: Detail::default(),
            children: Vec::new(),
            started_at: None,
            finished_at: None,
            commit: None,
            idempotent: true,
            recorded: true,
            probe: None,
            file: None,
            definition: Value::Null,
            done_definition: None,
        }
    }
}

impl Run {
    /// Returns an active run with nothing else known about it.
    pub(crate) fn new(
        id: impl Into<String>,
        dialect: DialectId,
        title: String,
        workflow: &str,
        state_files: Vec<RelPath>,
    ) -> Self {
        Self {
            id: RunId::new(id),
            dialect,
            title,
            workflow: workflow.to_owned(),
            status: RunStatus::Active,
            state_files,
            steps: Vec::new(),
            position: None,
            done_elsewhere: 0,
            goal: None,
            started_at: None,
            stamp: None,
            workspace: WorkspaceRecord::default(),
            follow_up: None,
            interruption: None,
            mode: None,
            resumes: 0,
            writable: true,
            degraded: false,
        }
    }

    pub(crate) fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| &step.id == id)
    }

    /// Returns the group of the step that a plan names.
    pub(crate) fn group_of(&self, next: &super::Next) -> Option<&str> {
        self.step(&next.step)?.group.as_deref()
    }

    /// Finds a step by what a person typed: its id in any case, else the short name in the current group, else the only id
    /// that differs in leading zeros.
    pub(crate) fn resolve(&self, text: &str) -> Option<&Step> {
        let exact = self.steps.iter().find(|step| step.id.as_str() == text);
        exact.or_else(|| self.steps.iter().find(|step| step.id.matches(text))).or_else(|| {
            let group = self.position.as_ref().and_then(|id| self.step(id)).and_then(|step| step.group.clone());
            let short = self.steps.iter().find(|step| step.short.as_deref() == Some(text) && step.group == group);
            short.or_else(|| {
                let mut alike = self.steps.iter().filter(|step| step.id.is_spelled_like(text));
                alike.next().filter(|_| alike.next().is_none())
            })
        })
    }
}
