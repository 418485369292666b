//! Problems in the data. They are values, not errors.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Fix, RelPath, words};

words! {
    /// The severity of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    pub(crate) enum Severity: serde {
        Blocking = "blocking",
        Warning = "warning",
        Info = "info",
    }
}

/// A class of findings that the planner or messages treat alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindingClass {
    /// Autopilot stops: a person decides.
    NeedsPerson,
    /// Something that the run needs is missing.
    Missing,
    /// The state contradicts itself or the project.
    Contradiction,
    /// Changes check it themselves, for the step that they are about.
    CheckedByChange,
    /// A file of the state cannot be read.
    Unreadable,
    /// A file violates its format.
    Invalid,
    /// A word is not in the vocabulary, so a status or verdict is unknown.
    UnknownWord,
    /// Steps contradict each other or their witnesses.
    StepConflict,
    /// The evidence shows a step done that the state has open.
    ShownDone,
    /// It matters to a resume, not to a change.
    OfResume,
    /// Steps may be missing from the run, so it is not complete.
    LacksSteps,
}

macro_rules! finding_codes {
    ($($variant:ident $code:literal $severity:ident $confirm:literal $meaning:literal $(, $class:ident)*;)*) => {
        /// A kind of problem. The code is stable; `meaning` explains it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum FindingCode { $($variant,)* }

        impl FindingCode {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the stable code.
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            pub(crate) const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// Tells whether a person should look before the run continues (verdict `confirm`).
            pub(crate) const fn needs_confirmation(self) -> bool {
                match self { $(Self::$variant => $confirm,)* }
            }

            /// Tells whether the code belongs to a class.
            pub(crate) fn is_of(self, class: FindingClass) -> bool {
                let classes: &[FindingClass] = match self { $(Self::$variant => &[$(FindingClass::$class),*],)* };
                classes.contains(&class)
            }

            /// Returns one sentence for the documentation.
            #[cfg(test)]
            pub(crate) const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

finding_codes! {
    // Rule 1: unreadable.
    StateUnreadable "state-unreadable" Blocking true "The state file cannot be read or parsed, and nothing else shows the progress of the run.", Contradiction, Unreadable;
    StateMissing "state-missing" Blocking true "The main state file of a run is missing, but the rest of the run is there.", Unreadable;
    StateMissingField "state-missing-field" Blocking true "The state lacks a required field.", Contradiction;
    StateWrongType "state-wrong-type" Blocking true "A required field has the wrong type.", Contradiction;
    FormatNewer "format-newer" Warning true "The state was written by a newer version: it can be read, not written.";
    PartUnreadable "part-unreadable" Warning true "One file of the run cannot be parsed; the step it describes is left alone.", Unreadable, Invalid, LacksSteps;
    SessionUnreadable "session-unreadable" Warning false "The session file cannot be parsed; the tasks are planned without it.", Unreadable, Invalid;
    RestoredFromHistory "restored-from-history" Warning true "The state was unreadable and an earlier checkpoint was used.", NeedsPerson;
    FieldIgnored "field-ignored" Info false "A field has an unusable type and was ignored.";
    SchemaViolation "schema-violation" Warning false "The file does not satisfy its JSON Schema.", Invalid;
    DuplicateId "duplicate-id" Warning true "Two steps have the same id.", Invalid;
    IdUnsafe "id-unsafe" Warning true "An id cannot be used as a file name; files named after it are not looked for.";
    IdMismatch "id-mismatch" Info false "The id in a file and the name of the file differ.";
    FileMissing "file-missing" Info false "A file that usually belongs to such a run is missing.", Missing;
    TooManySteps "too-many-steps" Info false "The run has more steps than its system allows.";
    TodoMismatch "todo-mismatch" Info false "The checklist and the task files do not name the same steps.";
    PlanMismatch "plan-mismatch" Info false "The plan document and the task files do not name the same steps.";
    SessionArchived "session-archived" Info false "The session is in the archive; that does not mean that its steps are done.";
    SessionStatusStale "session-status-stale" Info false "The session's own status disagrees with its tasks.";
    StateCorrupt "state-corrupt" Warning true "The state contradicts itself or was written incompletely.", NeedsPerson, Contradiction;
    StateLeftover "state-leftover" Warning true "Part of the state, or a story, was left by an earlier run; it is not used by itself.", NeedsPerson;
    StateSuperseded "state-superseded" Warning false "The project contains another state of the same run; the one written last counts.";
    PartMissing "part-missing" Warning true "A state file is missing.", NeedsPerson;
    StateShown "state-shown" Warning false "Git does not ignore the state that a run begins with: it can be committed with the work.";
    InterruptedWrite "interrupted-write" Warning false "A write was interrupted, but the file is complete.";
    // Rule 2: owner.
    LiveOwner "live-owner" Blocking true "Another process is driving this run.", CheckedByChange;
    DriverUnknown "driver-unknown" Blocking true "A step is in progress by a driver of which nothing can be known, such as one on another machine: a person says whether it is done again.", CheckedByChange;
    SessionMayLive "session-may-live" Warning true "It cannot be known whether a session of the client is alive.";
    OwnerGone "owner-gone" Info false "The process that last drove the run is gone.";
    RunUntrusted "run-untrusted" Blocking true "This user did not begin the run on this machine: it came with the project, or with a copy of it.", NeedsPerson;
    JournalUntrusted "journal-untrusted" Warning true "The journal of the run came with the project, or with a copy of it: what it says does not count.", NeedsPerson;
    // Rule 3: reconcile.
    StatusUnknown "status-unknown" Warning true "A status is not in the vocabulary; it is never read as done.", Invalid, UnknownWord;
    StatusAlias "status-alias" Info false "A status is not in the vocabulary, but its meaning is unambiguous.";
    StatusMissing "status-missing" Info false "A step has no status; evidence decides, else it is pending.";
    StatusDrift "status-drift" Warning true "The state lags behind the evidence: all other witnesses say the step is done.", StepConflict, ShownDone;
    StatusConflict "status-conflict" Warning true "One witness says that the step is done, but the state says that it is not.", NeedsPerson, StepConflict;
    StepPassedOver "step-passed-over" Warning true "Steps are open although steps behind them are done.";
    StepsLost "steps-lost" Warning true "A list of tasks has lost open ones since the last commit: its end may have been cut.", NeedsPerson, LacksSteps;
    BoxNameless "box-nameless" Warning true "A check list has open boxes that are no steps of it.";
    BoxesLeft "boxes-left" Info false "Quality check lists of a feature have open boxes.";
    HintOnly "hint-only" Warning true "Nothing keeps the status of such a plan: what is open may be done.";
    NotMerged "not-merged" Info false "The work of a finished run is in a worktree of its own.";
    NotArchived "not-archived" Info false "A finished plan of another system was not archived, or an archived one has open steps.";
    WitnessBehind "witness-behind" Warning false "A file that is only read lags behind: it shows finished steps as open.";
    StatusOptimistic "status-optimistic" Info false "The state says that a step is done, but another witness does not.", StepConflict;
    ApprovalUnrecorded "approval-unrecorded" Warning true "The run is past a gate or a review that no record says was passed.";
    OutputMissing "output-missing" Warning true "A completed step's output is gone.";
    OutputUnparsable "output-unparsable" Warning true "A completed step's output does not parse.";
    OutputInvalid "output-invalid" Warning true "A completed step's output does not satisfy the schema that the step declares.";
    OutputOlder "output-older" Warning true "An output is older than the run; it belongs to an earlier one.";
    OutputRejected "output-rejected" Warning true "The content of an output is not a result of this step in this run.";
    OutputChanged "output-changed" Warning true "An output was changed after its step finished.";
    OutputSuperseded "output-superseded" Info false "An output differs from what its step left, and a later step may have changed it.";
    StaleDependent "stale-dependent" Warning true "A completed step depends on one that is open again.";
    CompletedByEvidence "completed-by-evidence" Info false "The step was in progress, but its valid output exists: it finished before the interruption.", ShownDone;
    CommitNotFound "commit-not-found" Warning true "The commit that a step recorded is not in the history of this branch, or was reverted since.";
    CommitsLeft "commits-left" Warning true "The branch still has commits of steps that a rollback gave up.";
    CommitMissing "commit-missing" Warning false "A step whose result is a commit was finished without one.";
    StateOlderThanLog "state-older-than-log" Blocking true "The state is older than what Piton recorded about the run: another version of its file was put in its place.", NeedsPerson;
    PlanChanged "plan-changed" Warning true "A document was changed after a gate approved it.", NeedsPerson;
    RollbackLate "rollback-late" Warning true "The work that a rollback discards was merged more than 7 days ago.";
    GitSilent "git-silent" Warning true "Git does not answer, so a rollback cannot list commits and uncommitted changes.";
    SummaryForeign "summary-foreign" Warning true "The title of a summary is that of another task; the summary does not count.";
    SummaryMissing "summary-missing" Info false "A completed dependency left no summary to read.";
    // Rule 4: failure.
    VerdictUnknown "verdict-unknown" Warning true "A verdict is not in the vocabulary; it is never read as approval.", UnknownWord;
    VerdictMissing "verdict-missing" Info false "A review is recorded as completed without a verdict; it is taken as approved.";
    VerdictConflict "verdict-conflict" Warning true "A review is recorded as completed with a verdict that does not approve.";
    Rejected "rejected" Blocking true "A reviewer rejected the work: a person decides how to continue.", CheckedByChange;
    GateExpired "gate-expired" Blocking true "A gate was not answered in its time, and stopped the run: a person has it asked again.", CheckedByChange;
    AttemptLimit "attempt-limit" Blocking true "The same step failed too often: a person decides how to continue.", CheckedByChange;
    LimitReached "limit-reached" Warning true "The run stopped at a limit that its file sets; it goes on when a person says so.", NeedsPerson;
    ConditionsOpen "conditions-open" Warning true "An approval has conditions that are not met yet.";
    // Rule 6: next.
    DependencyCycle "dependency-cycle" Blocking true "Steps depend on each other in a cycle.", CheckedByChange, Invalid, StepConflict;
    DependencyDangling "dependency-dangling" Warning true "A step depends on one that does not exist; in a run that Piton writes, that counts as not met.", Invalid, StepConflict;
    DependencyBlock "dependency-block" Blocking true "Work is left, but none of it can start.", CheckedByChange;
    StepHeld "step-held" Warning false "The state calls a step blocked and says why; a person lets it go on.";
    BlockUnexplained "block-unexplained" Warning true "The state calls a step blocked, but all that it waits for is done.";
    DependencySkipped "dependency-skipped" Info false "A step counts as ready although one it depends on was skipped.";
    TotalMissing "total-missing" Warning true "The state does not say how many phases there are, so it is unknown whether this was the last.";
    // Rule 7: overrides.
    Override "override" Info false "An option of the caller changed the choice.";
    OverrideForced "override-forced" Warning true "The caller forced a step whose dependencies are not met.", NeedsPerson;
    OverrideRefused "override-refused" Blocking true "An option of the caller cannot be honoured.", CheckedByChange;
    // Rules 8, 10, 11, 12.
    AgeStale "age-stale" Warning true "Nothing has happened for more than a week.", OfResume;
    AgeUnknown "age-unknown" Info false "The age of the state is unknown: it has no usable time stamp.";
    TimeInFuture "time-in-future" Warning false "A time stamp lies in the future.";
    MergeFailed "merge-failed" Warning false "The work of an item of a loop cannot be merged into that of the run.";
    DefinitionChanged "definition-changed" Warning true "A step's definition changed after it was done; it is open again.";
    DefinitionDrift "definition-drift" Info false "The workflow file changed since the run began: which steps were added, removed or changed.";
    DefinitionUnreadable "definition-unreadable" Warning true "The workflow file cannot be read; the run's own copy is used.";
    DefinitionInvalid "definition-invalid" Blocking true "A workflow file has an error.";
    InstructionsMissing "instructions-missing" Info false "Steps of a workflow file have no instructions for their agents.";
    OutcomeUnknown "outcome-unknown" Blocking true "A step that must not run twice was cut off, or is done and would run again: a person finds out whether it took effect.", CheckedByChange;
    BranchMismatch "branch-mismatch" Blocking true "The worktree is on a different branch than the state says.", CheckedByChange, OfResume;
    WorktreeMissing "worktree-missing" Blocking true "The run has no worktree: it has to be made, or the one named in the state does not exist.", CheckedByChange, OfResume;
    WorktreeGone "worktree-gone" Blocking true "The worktree that held the state of the run was deleted; its journal is left.";
    WorktreeDirty "worktree-dirty" Info false "The worktree has uncommitted changes.";
    PlanMissing "plan-missing" Warning true "The plan document is not where the state says.", Missing;
    HistoryUnseen "history-unseen" Info false "Commits could not be compared, or not all of them; the evidence is the files.";
    DoneUnproved "done-unproved" Info false "Finished steps that neither files nor commits prove; they count as claimed.";
    NextDiffers "next-differs" Info false "The run's own system would continue with another step.";
    NotBegun "not-begun" Info false "Plans of other systems that no work was begun on are not listed.";
    StepOrphan "step-orphan" Warning false "A document of a step belongs to nothing that the plan names, or its counterpart is missing.";
    NotInGit "not-in-git" Info false "The folder is not in a git repository; branch and commits cannot be checked.";
    RunFailed "run-failed" Warning true "The state says that the run failed; it continues after confirmation.", NeedsPerson;
    RunAborted "run-aborted" Blocking true "The run was aborted; it continues only on explicit request.", CheckedByChange;
    MarkerOrphan "marker-orphan" Info false "An active marker names a session that does not exist.";
    NoRunHere "no-run-here" Info false "The folder of a system exists but contains no run.";
    SettingIgnored "setting-ignored" Warning false "A setting of the project that only its user may make, in their own file, is ignored.";
    AlsoOpen "also-open" Warning false "Other runs are open beside the selected one.";
    FolderClosed "folder-closed" Warning false "A folder or file that may contain runs cannot be read, or is a link; runs in it are not listed.";
    WalkCutOff "walk-cut-off" Warning false "A folder has too many files to look at all of them; runs in it are listed only where runs usually are.";
    ChangeCutOff "change-cut-off" Warning true "A change was cut off, and another program changed one of its files before it could be finished: that file was left as it is.";
    JournalDamaged "journal-damaged" Blocking true "A line of the journal of a run is not what was written.";
    JournalMissing "journal-missing" Warning true "The journal of a session is gone, or shorter than its checkpoint says.";
    SessionForeign "session-foreign" Warning false "A folder of sessions belongs to another user, or is a link; it is not read, because a session contains commands to run.";
    JobNotResumed "job-not-resumed" Info false "A job of another runner that Piton recognises but does not resume.";
    LookAlike "look-alike" Info false "A file has the name of a state file but the format of another tool.";
    PlanDrift "plan-drift" Warning true "The execution plan and the state of an epic do not name the same waves and stories.";
    ClientNewer "client-newer" Info false "A session is of a newer client than those whose files were looked at; it is read as far as it can be.";
    SessionContinued "session-continued" Info false "Older sessions hold the beginning of the same conversation; the newest one counts.";
    SessionAdopted "session-adopted" Info false "A session was made into a run, which has its steps from then on.";
    FileUnclassified "file-unclassified" Info false "A file in a state folder is of an unknown kind or cannot be parsed; it is ignored.";
    StatePutAside "state-put-aside" Info false "A saved state that its own system renamed, or a copy of one; it is evidence, not a run.";
    RunEnded "run-ended" Info false "A saved state says that its run ended or was aborted: it is evidence, not a run.";
    StoryDrift "story-drift" Warning true "A story and the state disagree about the status of the story.", Contradiction;
    StoryMissing "story-missing" Blocking true "The file of a story is missing.", Missing;
    StoryChanged "story-changed" Warning true "A story was changed after the state was saved.";
    WorkChanged "work-changed" Warning true "Commits made after the state was saved changed files that the run works on.";
    RivalRun "rival-run" Blocking true "Another workflow works on the same story; it blocks if it was started after this one was saved.";
    PathForeign "path-foreign" Warning false "A path in the state is from another machine; the file was found by the end of the path.";
    AgentMissing "agent-missing" Warning true "The project does not have the agent of the next step.";
    StoryStopped "story-stopped" Warning true "A story of an epic failed or is blocked, or a verdict about its wave names no story.";
    RecordUnwritten "record-unwritten" Warning false "A checkpoint was written, but what belongs to it was not: the driver of the run, or the log of rollbacks.";
    LogUnwritten "log-unwritten" Warning false "The run was resumed, but the log of that could not be written.";
    WordUnrecorded "word-unrecorded" Info false "A run was stopped or continued, or a step failed, and its format has no word for that: the journal has it.";
    TemporaryLeft "temporary-left" Info false "An interrupted write left a temporary file next to the state.";
}

/// A problem, its location, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Finding {
    /// The stable code of the kind of problem.
    #[serde(serialize_with = "as_code")]
    #[schemars(with = "String")]
    pub(crate) code: FindingCode,
    pub(crate) severity: Severity,
    /// What is wrong, in one sentence. It may quote untrusted data.
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<super::StepId>,
    /// The file, relative to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<RelPath>,
    /// JSON pointer into the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// From 1.
    pub(crate) line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// From 1, in characters.
    pub(crate) column: Option<u32>,
    /// How to resolve it: an exact command where possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) fix: Option<Fix>,
}

impl Finding {
    /// Returns what a person saw of it: its code, step and message, but for the age of a state, which changes by itself.
    pub(crate) fn subject(&self) -> String {
        let step = self.step.as_ref().map_or("", |step| step.as_str());
        let message = if self.code == FindingCode::AgeStale { "" } else { &self.message };
        format!("{} {step} {message}", self.code.as_str())
    }

    pub(crate) fn new(code: FindingCode, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            step: None,
            file: None,
            pointer: None,
            line: None,
            column: None,
            fix: None,
        }
    }

    pub(crate) fn at(mut self, file: &RelPath) -> Self {
        self.file = Some(file.clone());
        self
    }

    pub(crate) fn line(mut self, line: u32, column: Option<u32>) -> Self {
        self.line = Some(line);
        self.column = column;
        self
    }

    pub(crate) fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    pub(crate) fn on(mut self, step: &super::StepId) -> Self {
        self.step = Some(step.clone());
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<Fix>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

fn as_code<S: serde::Serializer>(code: &FindingCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
#[path = "finding_tests.rs"]
mod tests;
