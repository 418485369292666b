//! `begin`.

use clap::ValueEnum;

use super::prelude::*;
use crate::{
    cli::{
        render,
        screen::Screen,
        shared_args::{Target, step_id},
    },
    model::ChangeKind,
    ops::BriefForm,
    runner,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Begin {
    /// The step id, as shown by `piton plan` (default: the first one that the plan lets an agent begin)
    step: Option<String>,
    /// The agent that runs the step
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    /// Begin a new attempt at a step that you have in progress, because its agent was lost
    #[arg(long)]
    again: bool,
    /// Size limit of the brief; the least important parts are left out first, and listed
    #[arg(long, value_name = "BYTES", default_value_t = 4_096)]
    budget: usize,
    /// Answer with the brief, or write it for the agent and answer with its path (default: `file` in a session of the client
    /// whose hooks give the agent its brief, else `inline`)
    #[arg(long, value_enum)]
    brief: Option<BriefArg>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BriefArg {
    Inline,
    File,
}

impl Command for Begin {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let mut change = self.target.change("begin", || {
            Ok(ChangeKind::Begin {
                step: step_id(self.step.as_ref()),
                part: self.part.clone(),
                agent: self.agent.clone(),
                attempt: 0,
                reopens: Vec::new(),
            })
        })?;
        change.again = self.again;
        let form = match self.brief {
            None => BriefForm::AsDelivered,
            Some(BriefArg::Inline) => BriefForm::Inline,
            Some(BriefArg::File) => BriefForm::File,
        };
        let brief = ops::BriefRequest { budget: self.budget, form, to_text: render::context };
        let ctx = call.project_of(self.target.run.as_ref(), &change)?;
        let location = ops::location(&ctx)?;
        if let Some(run) = location.own_run() {
            runner::prepare(call.global.now.as_deref(), run, &Screen::of(call.global, false))?;
        }
        call.answer(ops::begin(&ctx, &location, change, brief))
    }

    fn called(&self) -> Option<CalledVerb> {
        let called = Some(CalledVerb::of_run("begin", self.target.run.as_ref(), self.step.as_ref()));
        called.filter(|_| self.target.json.is_none())
    }
}
