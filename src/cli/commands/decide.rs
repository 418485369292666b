//! `accept`, `redo` and `override`: what a person decides about the work of a step.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::model::ChangeKind;
use crate::model::DecisionKind;
use crate::model::Outcome;
use crate::model::ReviewVerdict;
use crate::model::StepId;
use crate::ops;
use crate::ops::ChangeRequest;
use crate::ops::DecisionRequest;
use crate::ops::Exit;

#[derive(Debug, Args)]
struct Decide {
    /// The step id, as shown by `piton plan`
    step: String,
    /// The person who decided
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// The run, if several are open
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    if_revision: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Accept {
    #[command(flatten)]
    decide: Decide,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Redo {
    #[command(flatten)]
    decide: Decide,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Override {
    #[command(flatten)]
    decide: Decide,
}

impl Command for Accept {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let Decide { step, by, note, run, if_revision } = &self.decide;
        let kind = ChangeKind::Finish(Box::new(Outcome {
            verdict: Some(ReviewVerdict::Approved),
            agent: by.clone(),
            summary: note.clone(),
            accepts: true,
            ..Outcome::completed(StepId::new(step))
        }));
        call.change(run.as_ref(), ChangeRequest { if_revision: if_revision.clone(), ..ChangeRequest::of(kind) })
    }
}

impl Command for Redo {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        self.decide.record(DecisionKind::Redo, call)
    }
}

impl Command for Override {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        self.decide.record(DecisionKind::Override, call)
    }
}

impl Decide {
    fn record(&self, decision: DecisionKind, call: &Call<'_>) -> Result<Exit, CommandError> {
        let Self { step, by, note, run, if_revision } = self;
        let (step, by, note) = (step.clone(), by.clone(), note.clone());
        let request = DecisionRequest { step, decision, by, note, if_revision: if_revision.clone() };
        call.answer(ops::decide(&call.project(run.as_ref())?, request))
    }
}
