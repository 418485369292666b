//! `approve`, `accept`, `redo`, `override` and `skip`: what a person decides about a step.

use super::prelude::*;
use crate::{
    cli::shared_args::{Target, step_id},
    model::{ChangeKind, DecisionKind, Outcome, ReviewVerdict, StepId},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Approve {
    /// The gate's step id, as shown by `piton plan`
    #[arg(required_unless_present = "json")]
    step: Option<String>,
    /// The person who approved; asked for at a terminal, needed elsewhere
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Their comment
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// Number of phases in the approved plan, for systems that record it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: Option<u32>,
    /// The answer, at a gate that offers several (`options` of a workflow file)
    #[arg(long, value_name = "OPTION")]
    choose: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Command for Approve {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let change = self.target.change("approve", || {
            let (by, note) = (self.by.clone(), self.note.clone());
            Ok(ChangeKind::Approve {
                step: step_id(self.step.as_ref()),
                by,
                note,
                phases: self.phases,
                choice: self.choose.clone(),
            })
        })?;
        call.change(self.target.run.as_ref(), change)
    }
}

#[derive(Debug, Args)]
struct Decide {
    /// The step id, as shown by `piton plan`
    step: String,
    /// The person who decided; asked for at a terminal, needed elsewhere
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
    /// The part of the step, or the item of a loop, that took effect
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
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
            part: self.part.clone(),
            ..Outcome::completed(StepId::new(step))
        }));
        call.change(
            run.as_ref(),
            ops::ChangeRequest { if_revision: if_revision.clone(), ..ops::ChangeRequest::of(kind) },
        )
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
        let ctx = call.project(run.as_ref())?;
        let (step, by, note) = (step.clone(), Some(call.decider(&ctx, by.clone())?), note.clone());
        let request = ops::DecisionRequest { step, decision, by, note, if_revision: if_revision.clone() };
        call.answer(ops::decide(&ctx, request))
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Skip {
    /// The step id, as shown by `piton plan`
    #[arg(required_unless_present_any = ["json", "phase"])]
    step: Option<String>,
    /// Leave out every open step of a phase, its gate and reviews too (nine-step)
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["step", "part", "json", "if_revision"])]
    phase: Option<u32>,
    /// Leave the open gates and reviews of the phase out too
    #[arg(short, long, requires = "phase")]
    yes: bool,
    /// The reason
    #[arg(
        long,
        visible_alias = "note",
        value_name = "T",
        required_unless_present = "json",
        allow_hyphen_values = true
    )]
    reason: Option<String>,
    /// The person who decided; asked for at a terminal, needed elsewhere
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Command for Skip {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let (run, by) = (self.target.run.as_ref(), self.by.clone());
        let reason = self.reason.clone().unwrap_or_default();
        if let Some(phase) = self.phase {
            let ctx = call.project(run)?;
            let by = call.decider(&ctx, by)?;
            return call.answer(ops::skip_phase(&ctx, phase, (&by, &reason), self.yes));
        }
        let (step, part) = (step_id(self.step.as_ref()), self.part.clone());
        call.change(run, self.target.change("skip", || Ok(ChangeKind::Skip { step, part, by, reason }))?)
    }
}
