//! The words of Piton as types: runs, steps, statuses, changes, plans.
//!
//! Nothing here reads a file, asks a clock or imports another part of the crate. Every other room speaks
//! in these types, so a rule that is written here holds everywhere.

mod change;
mod config;
mod context;
mod detail;
mod diff;
mod digest;
mod document;
mod evidence;
mod files;
mod finding;
mod id;
mod nearest;
mod options;
mod patch;
mod plan;
mod repair;
mod rollback;
mod run;
mod secrets;
mod session;
mod status;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod time;

pub(crate) use change::{Change, ChangeKind, Definition, Interruption, InterruptionKind, Outcome, PartRef, StartSpec};
pub(crate) use config::{AgeBands, Config, NineStepConfig};
pub(crate) use context::{Brief, Context, Omitted, ReadingItem};
pub(crate) use detail::Detail;
pub(crate) use diff::unified_diff;
pub(crate) use digest::{Digest, sha256_hex, sha256_hex_of};
pub(crate) use document::{Document, ErrorBody, ErrorDocument};
pub(crate) use evidence::{
    CommitFact, CommittedFile, CommittedState, CommittedStateQuery, Evidence, EvidenceRecord, FileFact, OutputRecord,
    OutputSchema, Owner, OwnerProcess, Wanted, WantedOutput, Workspace,
};
pub(crate) use files::{
    Candidate, Claim, Content, Edit, EditKind, FileEntry, FileSet, Listing, ListingEntry, Rank, ReadProblem, ReadSpec,
    RelPath, RelPathError, name_of,
};
pub(crate) use finding::{Finding, FindingClass, FindingCode, Severity};
pub(crate) use id::{DialectId, RunId, StepId};
pub(crate) use nearest::{edit_distance, nearest};
pub(crate) use options::{Mode, Options};
pub(crate) use patch::{Patch, PatchedFile, Suggestion, Suggestions};
pub(crate) use plan::{
    Action, Age, AgeBand, Commands, InterruptionReport, Next, Notice, Plan, PlannedPart, Progress, Question, RedoCost,
    ReferencedFile, RunHeader, StepGroups, Strategy, Verdict,
};
pub(crate) use repair::{CommitTrace, FinishedTrace, RebuiltValue, Reconstruction, Traces};
pub(crate) use rollback::{AffectedCommit, GitImpact, RollBack, RollBackRecord};
pub(crate) use run::{
    FollowUp, Part, PartKind, Proof, Review, Run, RunStatus, Step, StepKind, Witness, WorkspaceRecord,
};
pub(crate) use secrets::mask_secrets;
pub(crate) use session::{Cause, CauseKind, DrivenRun, SessionEvent, SessionLine};
pub(crate) use status::{ReviewVerdict, Status};
pub(crate) use text::{clean, clean_line, mistakes, plural, quoted};
pub(crate) use time::{Clock, Timestamp, TimestampError, human_age};
