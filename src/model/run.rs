//! A run as read from its files, in Piton's vocabulary. Dialects build it, the engine evaluates it.

use std::{borrow::Cow, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{
    Cause, Detail, DialectId, GateOption, GuestProof, Interruption, Mode, RelPath, ReportedStatus, ReviewVerdict,
    RunId, Status, StepId, Timestamp, sha256_hex,
};
use crate::model::Suggested;

/// One execution of a workflow.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    /// The name of the definition: `nine-step`, `ccw`, or the name of a workflow file.
    pub(crate) workflow: String,
    pub(crate) status: RunStatus,
    /// The files that make up the state. The time stamp and digest of the first one represent the run.
    pub(crate) state_files: Vec<RelPath>,
    /// In the order of the definition.
    pub(crate) steps: Vec<Step>,
    /// The current step according to the state.
    pub(crate) position: Option<StepId>,
    /// Number of done steps that are not in `steps` (closed phases without a record of each step).
    pub(crate) done_elsewhere: usize,
    pub(crate) goal: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    /// The latest time stamp in the state.
    pub(crate) stamp: Option<Timestamp>,
    pub(crate) workspace: WorkspaceRecord,
    /// What follows when every step is done.
    pub(crate) follow_up: Option<FollowUp>,
    /// What its own system would continue with.
    pub(crate) own_choice: Option<OwnChoice>,
    /// What ended the work, according to its own system.
    pub(crate) ended: Option<Cause>,
    /// Whether a person may go on with it although every step is done: its session was cut off.
    pub(crate) waits: bool,
    /// The interruption that the state records.
    pub(crate) interruption: Option<Interruption>,
    /// The moment of the last interruption that a resume recorded.
    pub(crate) interrupted_at: Option<Timestamp>,
    /// The mode in which the run was started. A resume uses it unless the caller chooses another.
    pub(crate) mode: Option<Mode>,
    /// How often the run was resumed.
    pub(crate) resumes: u32,
    /// Which changes by a person its format can record.
    pub(crate) records: Records,
    /// True if its format has no word for a paused run. The journal has it.
    pub(crate) stops_unrecorded: bool,
    /// The flags that a resume needs from a person: the run stopped at a limit that its file sets, or its file was edited.
    pub(crate) resume_flags: Vec<&'static str>,
    /// False for a format version newer than this program.
    pub(crate) writable: bool,
    /// Whether part of the state could not be read. The rest is still planned.
    pub(crate) degraded: bool,
}

impl Run {
    /// Tells whether its format has a word for a run that is paused or aborted. What it has none for is in the journal.
    pub(crate) const fn has_word_for(&self, status: RunStatus) -> bool {
        match status {
            RunStatus::Paused => self.records.pause && !self.stops_unrecorded,
            RunStatus::Aborted => self.records.abort,
            RunStatus::Active | RunStatus::Completed | RunStatus::Archived => true,
        }
    }
}

/// The changes by a person that a format can record. What it cannot is never offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    pub(crate) skip: bool,
    pub(crate) pause: bool,
    /// Whether the state itself says that the run is aborted. Of all others the journal does.
    pub(crate) abort: bool,
    /// Whether a resume can be recorded.
    pub(crate) resume: bool,
    /// Whether a step that is done can be begun again.
    pub(crate) redo: bool,
    /// Whether the number of phases, the branch, and where a failure goes back to can be recorded.
    pub(crate) details: bool,
    /// Whether the no of a person at a gate can be recorded where it leads back to no step.
    pub(crate) rejections: bool,
}

impl Records {
    /// All but the details, which only few formats have.
    pub(crate) const ALL: Self =
        Self { skip: true, pause: true, abort: false, resume: true, redo: true, details: false, rejections: false };
    /// Only a resume, and that a step is done again.
    pub(crate) const RESUME: Self = Self { skip: false, pause: false, ..Self::ALL };
    pub(crate) const NONE: Self = Self { resume: false, ..Self::RESUME };

    /// Returns what both can record.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            skip: self.skip && other.skip,
            pause: self.pause && other.pause,
            abort: self.abort && other.abort,
            resume: self.resume && other.resume,
            redo: self.redo && other.redo,
            details: self.details && other.details,
            rejections: self.rejections && other.rejections,
        }
    }
}

/// The status of the run as a whole, according to its own system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStatus {
    Active,
    Paused,
    Completed,
    Aborted,
    Archived,
}

/// What the state records about the place of the work.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkspaceRecord {
    pub(crate) branch: Option<String>,
    pub(crate) base_branch: Option<String>,
    /// The working folder relative to the root; `None` for the root itself.
    pub(crate) worktree: Option<RelPath>,
    /// The working folder if it is a linked worktree outside of the root; absolute.
    pub(crate) outside: Option<Utf8PathBuf>,
    /// The folder of the worktree that has to be made before the work goes on.
    pub(crate) wanted_worktree: Option<RelPath>,
    pub(crate) plan_reference: Option<String>,
    pub(crate) issues: Vec<String>,
    /// What cleans up after the merge: commands in backquotes, and words.
    pub(crate) clean_up: Vec<String>,
}

impl WorkspaceRecord {
    /// Returns the working folder.
    pub(crate) fn folder(&self, root: &Utf8Path) -> Utf8PathBuf {
        let below = || self.worktree.as_ref().map_or_else(|| root.to_owned(), |path| path.under(root));
        self.outside.clone().unwrap_or_else(below)
    }

    /// Returns the working folder as commands name it from the root; `None` for the root itself.
    pub(crate) fn place(&self) -> Option<&str> {
        self.outside.as_ref().map(|folder| folder.as_str()).or_else(|| self.worktree.as_ref().map(RelPath::as_str))
    }
}

/// The step that a system would continue with by its own rule.
#[derive(Clone, Debug)]
pub(crate) struct OwnChoice {
    /// The command that chooses it.
    pub(crate) command: String,
    pub(crate) step: StepId,
}

/// What follows when every step is done.
#[derive(Clone, Debug)]
pub(crate) struct FollowUp {
    pub(crate) action: super::Action,
    pub(crate) title: String,
    pub(crate) agent: Option<String>,
    pub(crate) reason: String,
    /// The command of Piton that merges the work; `None` where a person merges it with git.
    pub(crate) merge: Option<Suggested>,
}

/// The smallest unit that is resumed.
///
/// A dialect must set `id`, `title`, `kind`, `status` and, where its system has them, `depends_on`, `children`, `agent` and
/// `proof.outputs`; without these the plan is wrong. If the system counts or dates its steps, `attempts`, `failures`, `error`,
/// `started_at` and `finished_at` make retries and limits work. The other fields keep the defaults of [`Step::new`] unless the
/// format has a counterpart. Times are UTC, paths are relative to the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub(crate) id: StepId,
    /// A short name that is accepted while the step's group is current (`4` for `2:4`).
    pub(crate) short: Option<String>,
    pub(crate) title: String,
    pub(crate) kind: StepKind,
    pub(crate) status: Status,
    /// Its position in the plan of its own system. Orders steps that are ready at the same time, before their ids do.
    pub(crate) plan_order: Option<usize>,
    /// The phase or wave. Steps of the same group are listed together.
    pub(crate) group: Option<String>,
    pub(crate) agent: Option<String>,
    /// Agents to choose from if `agent` is `None`.
    pub(crate) agent_candidates: Vec<String>,
    /// Steps of this run that must be done or skipped first.
    pub(crate) depends_on: Vec<StepId>,
    /// Dependencies that are not steps of this run, as written. They count as not met.
    pub(crate) dangling: Vec<String>,
    /// Why the state calls it blocked, where that does not follow from its dependencies.
    pub(crate) hold: Option<Hold>,
    /// The files and folders that have to be there before it begins.
    pub(crate) uses: Vec<RelPath>,
    /// The step to go back to after a failure; `None` retries this step.
    pub(crate) returns_to: Option<StepId>,
    /// The answers that a gate takes; empty for one that is approved or not.
    pub(crate) options: Vec<GateOption>,
    /// How long a gate waits for its answer, from when it is reached.
    pub(crate) answer_within: Option<Duration>,
    /// The last verdict, for reviews.
    pub(crate) review: Option<Review>,
    /// How often it was started.
    pub(crate) attempts: u32,
    /// How often it failed since its last success.
    pub(crate) failures: u32,
    /// The message of the last failure. Untrusted text.
    pub(crate) error: Option<String>,
    /// The message of each failure since the last success, oldest first. Untrusted text.
    pub(crate) past_errors: Vec<String>,
    /// Whether it is done although it never passed: its file tolerates the failure.
    pub(crate) is_tolerated: bool,
    /// When the usage limit ends that it waits for, after it failed.
    pub(crate) limit_ends: Option<Timestamp>,
    pub(crate) proof: Proof,
    pub(crate) detail: Detail,
    /// The steps that decide about this container.
    pub(crate) children: Vec<StepId>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    /// The commit that holds its result.
    pub(crate) commit: Option<String>,
    /// Whether it is a command, which Piton runs in place of an agent.
    pub(crate) is_command: bool,
    /// The command line that it runs. Untrusted text.
    pub(crate) command: Option<String>,
    /// The words of its definition with which a gate asks. Untrusted text.
    pub(crate) asks: Option<String>,
    /// Whether its agent reported, and Piton does the rest of it, as it runs a command.
    pub(crate) is_reported: bool,
    /// False if running it twice does harm.
    pub(crate) idempotent: bool,
    /// Tokens that its attempts cost so far; 0 where its system counts none.
    pub(crate) tokens: u64,
    /// False if no writable file records its status. No command begins or finishes such a step.
    pub(crate) recorded: bool,
    /// True if its system does not record that the step began. Its attempts are in Piton's own log.
    pub(crate) begins_unrecorded: bool,
    /// True if its system has one word for a step that is done and one that was left out.
    pub(crate) skip_is_done: bool,
    /// True if its output says that the attempt ended blocked, and the state has yet to record that.
    pub(crate) ended_unrecorded: bool,
    /// Whether the run may be over after it: the state does not say whether there are steps behind it.
    pub(crate) may_be_last: bool,
    /// How a report can end it, besides as completed.
    pub(crate) ends: Ends,
    /// How to check whether an irreversible step took effect, as text for a person.
    pub(crate) probe: Option<String>,
    /// The file that defines it, for findings and contexts.
    pub(crate) file: Option<RelPath>,
    /// Its definition as its own system writes it, for the context. Untrusted text. Null if it is fixed by the workflow, or if the dialect
    /// reads it when it is asked for (`Dialect::definition`).
    pub(crate) definition: Value,
    /// Why a person decides whether it runs, although its status says so: for a step that must not run twice.
    pub(crate) doubt: Option<String>,
    /// Digest of the definition that its result was made from, if the state records it.
    pub(crate) done_definition: Option<String>,
    /// The witnesses of a step that Piton only reads.
    pub(crate) guest: Option<Box<GuestProof>>,
}

/// Why a step is held back although everything that it waits for is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// For a reason that the state gives. A person lets the step go on. Untrusted text.
    Because(String),
    /// The state gives no reason.
    Unexplained,
}

/// The ends of a step: what can be said, and for what its format has a word. What it has none for is in the journal only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Whether the format has a word for a failure.
    pub(crate) failed: bool,
    /// Whether the format has a word for the no of a review.
    pub(crate) refused: bool,
    /// The verdicts of a review.
    pub(crate) verdicts: &'static [ReviewVerdict],
}

impl Ends {
    pub(crate) const ALL: Self = Self { failed: true, refused: true, verdicts: &ReviewVerdict::ALL };

    /// Tells whether the format has a word for an end.
    pub(crate) fn has_word_for(self, status: Status, verdict: Option<ReviewVerdict>) -> bool {
        match verdict {
            _ if status != Status::Failed => true,
            Some(_) => self.refused,
            None => self.failed,
        }
    }

    /// Returns the verdicts as a list in a sentence.
    pub(crate) fn verdicts_in_words(self) -> String {
        let words: Vec<&str> = self.verdicts.iter().map(|verdict| verdict.as_str()).collect();
        match words.as_slice() {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}

/// What shows that a step is done, besides its status.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proof {
    /// Files that must exist and be valid if the step is completed.
    pub(crate) outputs: Vec<RelPath>,
    /// Files that the work left. One that is gone puts the result in doubt, and never opens the step again: later work renames and deletes.
    pub(crate) traces: Vec<RelPath>,
    /// Whether any one of `outputs` is enough.
    pub(crate) outputs_any: bool,
    /// Outputs that exist but whose content is not a result of this run, with the reason.
    pub(crate) rejected: Vec<(RelPath, String)>,
    /// Outputs older than this belong to an earlier attempt.
    pub(crate) fresh_since: Option<Timestamp>,
    /// Other places in the state that say whether it is done.
    pub(crate) witnesses: Vec<Witness>,
    /// How many witnesses must say done for the step to count as done; fewer are a conflict. 0 never counts.
    pub(crate) witnesses_needed: usize,
    /// Summaries for later steps to read.
    pub(crate) summaries: Vec<RelPath>,
    /// Whether its result is a commit.
    pub(crate) is_commit: bool,
    /// Documents that it writes or, as a gate, approves: it ends only once they exist. One that is changed after a gate approved it has to
    /// be approved again.
    pub(crate) documents: Vec<RelPath>,
    /// Whether its outputs alone do not show that it is done.
    pub(crate) is_partial: bool,
    /// The work was merged or moved since: what the outputs are now says nothing about the step.
    pub(crate) is_elsewhere: bool,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StepKind {
    #[default]
    Work,
    /// Reviews the work of another step; a verdict closes it.
    Review,
    /// Waits for a person.
    Gate,
    /// Has no work of its own; its children decide.
    Container,
}

/// The last verdict of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Review {
    pub(crate) verdict: ReviewVerdict,
    /// Conditions that are not met yet; `None` if the state does not list conditions.
    pub(crate) open_conditions: Option<Vec<String>>,
}

/// A place in the state, other than the authoritative one, that says whether a step is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) source: Cow<'static, str>,
    pub(crate) done: bool,
    pub(crate) file: Option<RelPath>,
    pub(crate) line: Option<u32>,
}

/// A piece of a step that can be resumed on its own.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: PartKind,
    pub(crate) status: Status,
    /// The variable it sets for later parts, with its value if that is known.
    pub(crate) output: Option<(String, Option<Box<Value>>)>,
    /// Commands as text: shown, never run.
    pub(crate) commands: Vec<String>,
}

impl Part {
    /// Tells whether it is still to be done. One that failed is over: whether its step may continue without it is for the step.
    pub(crate) const fn is_open(&self) -> bool {
        match self.status {
            Status::Pending | Status::InProgress | Status::WaitingApproval | Status::Blocked => true,
            Status::Completed | Status::Failed | Status::Skipped | Status::Cancelled => false,
        }
    }
}

/// The kind of a part. `--refresh-analysis` repeats analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Analysis,
    Work,
}

/// Returns a digest of a definition; `None` if it is null.
pub(crate) fn definition_digest(definition: &Value) -> Option<String> {
    (!definition.is_null()).then(|| sha256_hex(definition.to_string().as_bytes()))
}

impl Step {
    /// Tells whether its review refused the work.
    pub(crate) fn says_no(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.verdict.approves())
    }

    /// Tells whether it is open after an attempt that was cut off: some systems write that as a step that was never begun.
    pub(crate) fn was_cut_off(&self) -> bool {
        let ends = self.finished_at.filter(|end| self.started_at.is_some_and(|start| start <= *end));
        self.status == Status::Pending && self.attempts > 0 && self.started_at.is_some() && ends.is_none()
    }

    /// Returns its status as answers about runs that Piton drives have it.
    pub(crate) const fn reported_status(&self) -> ReportedStatus {
        if self.is_tolerated { ReportedStatus::Tolerated } else { ReportedStatus::Recorded(self.status) }
    }

    /// Returns how many seconds its last attempt took, once it has ended.
    pub(crate) fn seconds(&self) -> Option<i64> {
        let seconds = self.finished_at?.seconds_since(self.started_at?);
        (seconds >= 0 && self.status != Status::InProgress).then_some(seconds)
    }

    /// Returns a digest of the step's definition; `None` if it is null.
    pub(crate) fn definition_digest(&self) -> Option<String> {
        definition_digest(&self.definition)
    }

    /// Returns a pending work step with defaults for everything else.
    pub(crate) fn new(id: StepId, title: impl Into<String>) -> Self {
        let title = title.into();
        Self { id, title, idempotent: true, recorded: true, ends: Ends::ALL, ..Self::default() }
    }
}

impl Run {
    /// Returns the command of Piton that merges the work, once every step is done; `None` for an aborted run, and where a person merges it.
    pub(crate) fn merge_command(&self) -> Option<&Suggested> {
        let is_given_up = matches!(self.status, RunStatus::Aborted | RunStatus::Archived);
        self.follow_up.as_ref().filter(|_| !is_given_up)?.merge.as_ref()
    }

    /// Returns an active run with defaults for everything else.
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
            own_choice: None,
            records: Records::ALL,
            stops_unrecorded: false,
            resume_flags: Vec::new(),
            ended: None,
            waits: false,
            interruption: None,
            interrupted_at: None,
            mode: None,
            resumes: 0,
            writable: true,
            degraded: false,
        }
    }

    /// Returns the steps that a step builds on: its dependencies, and where one was skipped, those of that one.
    pub(crate) fn built_on(&self, step: &Step) -> Vec<&Step> {
        let mut found: Vec<&Step> = Vec::new();
        let mut open: Vec<&StepId> = step.depends_on.iter().rev().collect();
        while let Some(on) = open.pop().and_then(|id| self.step(id)) {
            if found.iter().any(|known| known.id == on.id) {
                continue;
            }
            found.push(on);
            if on.status == Status::Skipped {
                open.extend(on.depends_on.iter().rev());
            }
        }
        found
    }

    pub(crate) fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| &step.id == id)
    }

    /// Returns the group of a planned step.
    pub(crate) fn group_of(&self, next: &super::Next) -> Option<&str> {
        self.step(&next.step)?.group.as_deref()
    }

    /// Finds a step by what a person typed: its id ignoring case, else its short name in the current group, else the only id
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
