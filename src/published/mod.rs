//! Every schema that `piton schema` prints, with what it is generated from. It names the types of all reports, so it stands above the rooms
//! that have them.
//!
//! A new document is one line in the table. Its file must exist before the crate builds: start with `{}`, then run
//! `UPDATE_SCHEMAS=1 cargo test --lib published`.

#[cfg(test)]
mod testing;

use crate::ops::SchemaFile;

#[cfg(test)]
use testing::{
    SchemaSource::{self, ByHand},
    answer, error, input, output, run_result,
};

/// A published schema.
#[derive(Debug)]
struct Published {
    file: SchemaFile,
    #[cfg(test)]
    source: SchemaSource,
}

macro_rules! published {
    ($($name:literal $about:literal $source:expr;)*) => {
        /// All published schemas, in display order.
        static PUBLISHED: &[Published] = &[$(Published {
            file: SchemaFile {
                name: $name,
                about: $about,
                text: include_str!(concat!("../../schemas/", $name, ".schema.json")),
            },
            #[cfg(test)]
            source: $source,
        },)*];
    };
}

// The types are named in tests only; `answer` wraps one as the `data` of a document of that major version.
published! {
    "plan" "The resume plan: which step is next, why, and what blocks it." answer::<crate::ops::PlanDocument<'static>>(3);
    "context" "The context for the next agent." answer::<crate::model::Context>(2);
    "show" "What happened in a run, step by step, and what a resume would do." answer::<crate::ops::ShowReport>(2);
    "page" "Where the page of a run was written." answer::<crate::ops::PageFile>(1);
    "list" "The runs of a project, newest first." answer::<crate::ops::ListReport>(1);
    "status" "The status of a run in three lines: progress, what is stale, and the next command." answer::<crate::ops::StatusReport>(1);
    "validate" "Which files are valid." answer::<crate::ops::ValidateReport>(1);
    "trust" "What speaks for this user in a project, and what would if they said yes." answer::<crate::ops::TrustReport>(1);
    "workflows" "The workflows that can be begun, with their inputs and commands." answer::<crate::ops::WorkflowsReport>(1);
    "schema-list" "The names of the published schemas." answer::<crate::ops::SchemaList>(1);
    "checkpoint" "What a writing verb recorded, and the most useful next command." answer::<crate::ops::CheckpointReport>(1);
    "adopt" "What a session of Claude Code became." answer::<crate::ops::AdoptReport>(1);
    "resume" "The result of a resume: what is next and the context for the next agent." answer::<crate::ops::ResumeDocument<'static>>(2);
    "history" "The earlier checkpoints of a run, newest first." answer::<crate::ops::HistoryReport>(1);
    "setup" "Which program runs, and what changes in the settings of the client." answer::<crate::ops::SetupReport>(1);
    "restore" "Which version was restored or is proposed, and which steps are repeated." answer::<crate::ops::RestoreReport>(1);
    "rollback" "What rolling a run back to an earlier point discards, and what was done." answer::<crate::ops::RollbackReport>(1);
    "decide" "What a person can decide about a run, each answer with its command." answer::<crate::ops::DecideReport>(2);
    "close" "How a run ended, where its state was archived, and what was discarded with it." answer::<crate::ops::CloseReport>(1);
    "cleanup" "Which finished runs are archived." answer::<crate::ops::CleanupReport>(1);
    "doctor" "The checks of a run and its environment, with fixes." answer::<crate::ops::DoctorReport>(1);
    "demo" "The transcript of the demonstration." answer::<crate::ops::DemoReport>(1);
    "run" "How a run of a workflow file ended: the document of `piton run`, and of `piton resume` of a session." run_result::<crate::runner::RunReport>(1);
    "event" "One line of `--events`: something that happened in a run of a workflow file." output::<crate::runner::Event<'static>>();
    "logs" "What the steps of a session printed." answer::<crate::ops::LogsReport>(1);
    "error" "What is printed instead of an answer." error::<crate::model::ErrorDocument>(2);
    "envelope" "The document that every answer is wrapped in." output::<crate::model::Document<serde_json::Value>>();
    "finding" "One problem in the files, where it is, and what to do about it." output::<crate::model::Finding>();
    "change" "One state transition, as `--json -` takes it." input::<crate::model::Change>();
    "config" "The settings in `piton.toml`." input::<crate::model::Config>();
    "nine-step-state" "State file of a nine-step run." ByHand;
    "ccw-session" "Session file of Claude-Code-Workflow." ByHand;
    "workflow" "A workflow file (workflow/2), as `piton start FILE.yaml` and `piton run FILE.yaml` take it." ByHand;
    "ccw-task" "Task file of Claude-Code-Workflow." ByHand;
    "dotagent-phase" "Phase checkpoint of a dotagent workflow." ByHand;
    "dotagent-execution" "Task progress of a dotagent workflow." ByHand;
    "dotagent-task-output" "What an implementer of a dotagent workflow leaves." ByHand;
}

/// Returns all published schemas, in display order.
pub(crate) fn schemas() -> Vec<&'static SchemaFile> {
    PUBLISHED.iter().map(|published| &published.file).collect()
}

#[cfg(test)]
mod tests;
