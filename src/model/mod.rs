//! The data types that all other modules share. No I/O, no clock, no imports from the rest of the crate.
//!
//! - Runs: `run` (`Run`, `Step`, `Proof`, `Part`), `detail` (what the agent of a step needs), `gate` (the answers at a gate), `status`, `id`, `time`.
//! - Evidence: `evidence` (what disk, git and processes show, and what to ask for), `session` (events of the client),
//!   `guest` (witnesses and evidence for runs that are only read), `commit_names` (what the subjects of commits name).
//! - Requests and results: `options` and `plan` (input and output of the planner), `context` (for the next agent), `shown` (a step as
//!   people see it), `change` (one requested transition), `report` (what is reported and decided), `agent_report` (the words of an
//!   agent), `rollback`, `repair`, `patch`.
//! - Unattended agents: `claude_work` (what calls of `claude -p` did and cost).
//! - Commands that are printed: `suggested`, `fix` (what resolves a finding).
//! - Rights: `rights` (the verbs that a client may run without asking a person).
//! - Files: `files` (paths, listings, contents, edits), `diff`, `delta`, `digest`, `config` (`piton.toml`).
//! - Output: `document` (the envelope), `finding` (every problem that has a code).
//! - Text: `text` (cleaning and quoting), `secrets` (masking), `nearest` (suggestions for misspelled names), `words` (enums of words).
//!
//! A dialect builds a run from defaults and sets what its format has:
//!
//! ```text
//! let mut step = Step::new(StepId::new("2:4"), "Code review");
//! step.kind = StepKind::Review;
//! step.status = Status::Pending;
//! step.depends_on = vec![StepId::new("2:3")];
//! step.returns_to = Some(StepId::new("2:3"));
//!
//! let mut run = Run::new("quotes", DialectId::NineStep, title, "nine-step", vec![state_file]);
//! run.steps = vec![implementation, step];
//! ```

mod agent_report;
mod change;
mod claude_work;
mod commit_names;
mod config;
mod context;
mod delta;
mod detail;
mod diff;
mod digest;
mod document;
mod evidence;
mod files;
mod finding;
mod fix;
mod gate;
mod guest;
mod id;
mod journal;
mod local;
mod nearest;
mod options;
mod patch;
mod plan;
mod repair;
mod report;
mod rights;
mod rollback;
mod run;
mod secrets;
mod session;
mod shown;
mod status;
mod suggested;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod time;
mod uid;
mod words;

pub(crate) use agent_report::{AgentReport, AgentStatus, RESULT_LIMIT, result_of, short_summary};
pub(crate) use change::{Change, ChangeKind, Interruption, InterruptionKind, Outcome, PartRef, StartSpec};
pub(crate) use claude_work::{ClaudeWork, DeniedTool};
pub(crate) use commit_names::CommitName;
pub(crate) use config::{AgeBands, Config, NineStepConfig};
pub(crate) use context::{Brief, Context, Omitted, ReadingItem};
pub(crate) use delta::Delta;
pub(crate) use detail::Detail;
pub(crate) use diff::unified_diff;
pub(crate) use digest::{sha256_hex, sha256_hex_of};
pub(crate) use document::{Document, ErrorBody, ErrorDocument, No};
pub(crate) use evidence::{
    CommitFact, CommittedFile, CommittedState, CommittedStateQuery, Evidence, EvidenceRecord, EvidenceRequest,
    FileFact, MergeRequest, OutputRecord, OutputRequest, OutputSchema, Owner, OwnerProcess, Workspace,
};
pub(crate) use files::{
    Candidate, Claim, Content, CutOff, Edit, EditKind, FileEntry, FileSet, JournalFile, LinkedWorktree, Listing,
    ListingEntry, LostContent, LostState, Rank, ReadProblem, ReadSpec, RelPath, RelPathError, RunFolder, Unread,
    name_of,
};
pub(crate) use finding::{Finding, FindingClass, FindingCode, Severity};
pub(crate) use fix::Fix;
pub(crate) use gate::{GateEffect, GateOption};
pub(crate) use guest::{
    CommitLog, CommitSpan, DeclaredFile, DeclaredState, Doubt, FileChange, Followers, GuestEvidence, GuestProof,
    GuestRequest, GuestWord, LogReach, LoggedCommit, Need, Pace, TouchedFile, Weight,
};
pub(crate) use id::{DialectId, RunId, StepId, is_commit_hash, natural};
pub(crate) use journal::{About, ChangedFile, Entry, is_journal_folder, journal_folder, run_of_journal};
pub(crate) use local::{DriverProcess, Lease, Local};
pub(crate) use nearest::{edit_distance, nearest, nearness};
pub(crate) use options::{AgreedFindings, Mode, Options};
pub(crate) use patch::{Answer, AnswerWord, Patch, PatchAnswer, PatchedFile, Suggestion, Suggestions};
pub(crate) use plan::{
    Action, Age, AgeBand, Clue, ClueKind, Commands, InterruptionReport, LimitWait, Next, Notice, Plan, PlannedPart,
    Progress, Question, QuestionOption, RedoCost, ReferencedFile, RunHeader, StepGroups, Strategy, Verdict, is_zero,
};
pub(crate) use repair::{RebuiltValue, Reconstruction};
pub(crate) use report::{
    Attempt, Decision, DecisionKind, PersonsAnswer, Presence, Statement, StatementKind, StepReport,
};
pub(crate) use rights::{PERSON_VERBS, RECORDING_VERBS, VERBS_READ_BY_CALL, permission_rule};
pub(crate) use rollback::{AffectedCommit, GitImpact, GivenUpCommit, RollBack, RollBackRecord};
pub(crate) use run::{
    FollowUp, Hold, OwnChoice, Part, PartKind, Proof, Records, Review, Run, RunStatus, Step, StepKind, Witness,
    WorkspaceRecord, definition_digest,
};
pub(crate) use secrets::{mask_secrets, safe_line, safe_text};
pub(crate) use session::{Cause, CauseKind, DrivenRun, GivenBrief, SessionEvent, SessionLine};
pub(crate) use shown::{AttemptEnd, ShownAttempt, ShownStep, ShownWitness, StepMark};
pub(crate) use status::{ReportedStatus, ReviewVerdict, Status, letters_and_digits};
pub(crate) use suggested::{HELP, Suggested, Verb};
pub(crate) use text::{are, clean, clean_line, first_names, is_plain_word, mistakes, plural, quoted, value_in_words};
pub(crate) use time::{Clock, Timestamp, TimestampError, human_age, human_duration, human_lead, until_in_words};
pub(crate) use uid::Uid;
pub(crate) use words::words;
