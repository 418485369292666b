//! `workflows`.

use super::prelude::*;
use crate::{
    cli::{output::Text, render},
    model::plural,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Workflows {
    /// One workflow, with its inputs, its steps and the commands that begin it (default: all that are found by name)
    #[arg(value_name = "NAME|FILE")]
    workflow: Option<String>,
}

impl Command for Workflows {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::workflows(&call.project(None)?, self.workflow.as_deref()))
    }
}

/// Returns what `--help` says of the workflow that a command line of `run` or `start` names; `None` for any other command line.
pub(in crate::cli) fn about_named(words: &[String]) -> Option<Text> {
    let verb = words.iter().position(|word| matches!(word.as_str(), "run" | "start"))?;
    let project = words.iter().position(|word| word == "--project").and_then(|at| words.get(at + 1)).cloned();
    let ctx = ops::ProjectContext::open(&ops::Request { project, ..ops::Request::default() }).ok()?;
    let named = words[verb + 1..].iter().filter(|word| !word.starts_with('-'));
    let report = named.into_iter().find_map(|word| ops::workflows(&ctx, Some(word)).ok())?;
    Some(render::text(&report, false, false))
}

impl Shown for ops::WorkflowsReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        for workflow in &self.workflows {
            page.text.bold(&workflow.name);
            match &workflow.mistake {
                Some(mistake) => page.text.plain("  ").put(Tone::Bad, mistake),
                None => page.text.dim(format!("  {}", plural(workflow.step_count, "step"))),
            };
            page.text.dim(format!("  {}", workflow.file.as_deref().unwrap_or("built in"))).end();
            if let Some(description) = &workflow.description {
                page.text.line(format!("  {description}"));
            }
            for input in &workflow.inputs {
                page.text.plain(format!("  --input {}=VALUE", input.name)).dim(format!("  {}", about(input))).end();
            }
            for step in &workflow.steps {
                let after = if step.depends_on.is_empty() {
                    String::new()
                } else {
                    format!("  after {}", step.depends_on.join(", "))
                };
                page.text.plain(format!("  {} ({}) {}", step.id, step.kind, step.title)).dim(after).end();
            }
            for command in &workflow.commands {
                page.text.line(format!("  → {command}"));
            }
        }
    }
}

/// Returns what is known about an input, in one line.
fn about(input: &ops::ListedInput) -> String {
    let kind = match input.choices.as_slice() {
        [] => input.kind.to_owned(),
        choices => choices.join("|"),
    };
    let default = match &input.default {
        Some(default) => format!("default {default}"),
        None => "required".to_owned(),
    };
    let pattern = input.pattern.as_ref().map(|pattern| format!("matches {pattern}"));
    [Some(kind), Some(default), pattern, input.description.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
