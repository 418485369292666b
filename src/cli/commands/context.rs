//! `context`.

use super::prelude::*;
use crate::model;

#[derive(Debug, Args)]
pub(in crate::cli) struct Context {
    #[command(flatten)]
    run: RunArg,
    /// Print the context of this step instead of the next one
    #[arg(long, value_name = "ID")]
    step: Option<String>,
    /// Size limit (default: 4096, with --native 65536); the least important parts are left out first, and listed
    #[arg(long, value_name = "BYTES")]
    budget: Option<usize>,
    /// Add the fields and the prompt of the run's own system in their form
    #[arg(long)]
    native: bool,
}

impl Command for Context {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let budget = budget(self.budget, self.native);
        call.answer(ops::context(&call.project(self.run.name())?, self.step.as_deref(), budget, self.native))
    }

    fn has_yaml(&self) -> bool {
        true
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_run("context", self.run.name(), None))
    }
}

/// Returns the size limit of a context. In the form of its own system it says some things again.
pub(super) fn budget(asked: Option<usize>, native: bool) -> usize {
    asked.unwrap_or(if native { 65_536 } else { 4_096 })
}

impl Shown for model::Context {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        page.context(self);
    }
}
