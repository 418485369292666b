//! `start`.

use super::prelude::*;
use crate::{
    cli::screen::Screen,
    model::{StartSpec, StepId, Suggested, Verb},
    ops::StartOptions,
    runner,
};

#[derive(Debug, Args)]
#[command(
    after_help = "Its inputs, steps and description: `piton workflows NAME|FILE`; all workflows: `piton workflows`"
)]
pub(in crate::cli) struct Start {
    /// The workflow: `nine-step`, `dotagent`, a name in .claude/piton/ or piton/, or a workflow file (schema: `piton schema workflow`)
    #[arg(value_name = "NAME|FILE", required_unless_present = "from")]
    workflow: Option<String>,
    /// Make a run of this session of Claude Code that was cut off, with its tasks, its agents that did not end and the calls of its
    /// workflows as steps: its name or number in `piton list`, its id, or the path of its transcript
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["workflow", "print", "inputs", "phases", "issue", "description", "branch", "worktree", "archive"])]
    from: Option<String>,
    /// Name of the feature; the run is named after it (with --from: adopted- and the beginning of the session's id)
    #[arg(long, value_name = "NAME", required_unless_present_any = ["print", "from"])]
    feature: Option<String>,
    /// Print the definition of the workflow instead of starting a run
    #[arg(long, conflicts_with_all = ["feature", "archive"])]
    print: bool,
    /// An input of the workflow file, NAME=VALUE; can be given several times
    #[arg(long = "input", value_name = "NAME=VALUE", conflicts_with = "print")]
    inputs: Vec<String>,
    /// Number of phases in the plan, if known
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: Option<u32>,
    /// An issue the run belongs to (repeatable)
    #[arg(long, value_name = "N")]
    issue: Vec<String>,
    /// One-line description
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Branch to work on (default: the first branch prefix and the feature)
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Work in a worktree made for the run, as `piton run` does; `piton merge RUN` merges it (workflow files only)
    #[arg(long, conflicts_with = "print")]
    worktree: bool,
    /// Archive an unfinished run of the same name first
    #[arg(long)]
    archive: bool,
}

impl Command for Start {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        if let Some(session) = &self.from {
            return call.answer(ops::adopt(&call.project(Some(session))?, self.feature.as_deref()));
        }
        let (ctx, workflow) = (call.project(None)?, self.workflow.as_deref().unwrap_or_default());
        if self.print {
            return Ok(call.print(&ops::print_workflow(&ctx.project, workflow)?));
        }
        let spec = StartSpec {
            description: self.description.clone(),
            phases: self.phases,
            issues: self.issue.clone(),
            branch: self.branch.clone(),
            inputs: self.inputs.clone(),
            ..StartSpec::new(workflow, self.feature.as_deref().unwrap_or_default())
        };
        let options = StartOptions { archives_existing: self.archive, in_worktree: self.worktree };
        if !self.worktree {
            return call.answer(ops::start(&ctx, spec, options));
        }
        let in_place = Suggested::of(Verb::Start, workflow).option("feature", &spec.feature);
        let in_place = in_place.options("input", &self.inputs);
        runner::check_worktree(&ctx.project, &in_place)?;
        if let Some(file) = ops::workflow_path(&ctx.project, workflow) {
            runner::check_files(&runner::StartRequest {
                project: call.global.project.clone(),
                now: call.global.now.clone(),
                file: file.into_string(),
                inputs: self.inputs.clone(),
                ..runner::StartRequest::default()
            })?;
        }
        let started = ops::start(&ctx, spec, options)?;
        // A kill before this leaves a run whose worktree is made when its first step begins.
        let run = started.body.run.as_str();
        let prepared =
            runner::prepare(call.global.now.as_deref(), (ctx.home.root(), run), &Screen::of(call.global, false));
        if let Err(error) = prepared {
            // Nothing was begun in what was made for it.
            let ctx = call.project(Some(&run.to_owned()))?;
            ops::discard(&ctx, &ops::location(&ctx)?, false)?;
            return Err(error.into());
        }
        call.answer(Ok(started))
    }
}

impl Shown for ops::AdoptReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let progress = format!("{} of {} steps done", self.progress.done, self.progress.total);
        page.text.put(Tone::Good, "✅ ").plain(format!("The session {} continues as ", self.session));
        page.text.bold(self.run.as_str()).line(format!(": {progress}"));
        let names = |steps: &[StepId]| steps.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ");
        if !self.interrupted.is_empty() {
            page.text.line(format!("   in progress when it ended: {}", names(&self.interrupted)));
        }
        if !self.to_look_at.is_empty() {
            page.text.put(Tone::Warn, format!("   to look at first: {}", names(&self.to_look_at))).end();
        }
        if !page.quiet {
            page.text.line(format!("→ {}", self.next));
        }
    }
}
