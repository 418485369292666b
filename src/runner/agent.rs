//! Steps for agents, unattended: `claude -p` gets what the brief of the step says, and its last message ends with the report.

use serde_json::Value;

use super::{
    claude::Prompt,
    context::RunContext,
    files,
    retry::Failure,
    step_executor::{StepExecutor, StepOutcome, StepOutput, refused, rejected},
};
use crate::{
    dialect::piton,
    engine,
    model::{self, AgentReport, AgentStatus, Context, Outcome, Status, StepId, StepKind},
    store,
    workflow::{AgentWork, Step, variables},
};

impl StepExecutor<'_> {
    /// Has an agent do a step. A review without a verdict failed; it is never an approval.
    pub(super) fn agent(&mut self, step: &Step, work: &AgentWork) -> Result<StepOutcome, Failure> {
        if let Some(reported) = self.reported.clone().filter(|_| self.is_by_hand(step)) {
            return self.by_hand(step, &reported);
        }
        let prompt = self.prompt_of(step, work)?;
        let agent = work.agent.as_deref().filter(|agent| files::is_agent_defined(&self.folder, agent));
        // Where it is found again after a compaction.
        let id = self.id_of(step);
        let kept = self.context.masks.hide(&prompt);
        let path = self.context.ledger().write_brief(&id, &kept).map_err(|error| refused(error.to_string()))?;
        let was = std::mem::replace(&mut self.keeps_stdout, true);
        let prompt = Prompt { text: &prompt, agent };
        let done = self.ask_claude(step, prompt, &work.options, &[store::brief_variable(&path)]);
        self.keeps_stdout = was;
        self.context.ledger().remove_brief(&id);
        let mut produced = match done? {
            StepOutcome::Completed(produced) => produced,
            done @ (StepOutcome::Skipped(_) | StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => return Ok(done),
        };
        let message = String::from_utf8_lossy(&produced.stdout).into_owned();
        let report = AgentReport::parse(&message);
        let problem = match (&report, step.kind()) {
            (Some(AgentReport { status: AgentStatus::Blocked | AgentStatus::NeedsContext, summary, .. }), _) => {
                return Err(refused(summary.clone().unwrap_or_else(|| "its agent could not do it".to_owned())));
            }
            (Some(AgentReport { verdict: None, .. }), StepKind::Review) => Some("it ended without a verdict"),
            (None, StepKind::Review) => Some("it ended without a report, and so without a verdict"),
            // Its outputs say that it is done.
            (None, StepKind::Work) if step.outputs.is_empty() => Some("it ended without a report"),
            (Some(_) | None, StepKind::Work | StepKind::Review | StepKind::Gate | StepKind::Container) => None,
        };
        if let Some(problem) = problem {
            return Err(rejected(problem.to_owned()));
        }
        let sends_back = report.as_ref().and_then(|report| report.verdict).is_some_and(|verdict| !verdict.approves());
        produced.summary = report.as_ref().and_then(|report| report.text(!sends_back));
        if self.item.is_some() {
            self.said.extend(produced.summary.as_deref().map(|said| self.context.masks.hide(said)));
        }
        produced.report = report;
        Ok(StepOutcome::Completed(produced))
    }

    /// Returns how the work of an agent ended that drives the step by hand, from its report; its answer is the summary.
    fn by_hand(&mut self, step: &Step, reported: &Outcome) -> Result<StepOutcome, Failure> {
        let said = reported.summary.clone().unwrap_or_default();
        if reported.status == Status::Failed && reported.verdict.is_none() {
            let error = reported.error.clone().or_else(|| reported.summary.clone());
            let error = error.unwrap_or_else(|| "its agent failed".to_owned());
            let printed = if said.is_empty() { &error } else { &said };
            self.remember(step, "claude.output", (printed.as_bytes(), "", None));
            return Err(rejected(error));
        }
        let summary = reported.summary.clone();
        let report = AgentReport {
            step: None,
            status: AgentStatus::Done,
            summary: summary.clone(),
            files: None,
            tests: None,
            verdict: reported.verdict,
            findings: Vec::new(),
            result: None,
        };
        let output = StepOutput { stdout: said.into_bytes(), summary, report: Some(report), ..StepOutput::default() };
        Ok(StepOutcome::Completed(Box::new(output)))
    }

    /// Returns the brief of the step, as an agent that a session starts gets it. Inside a loop it is the brief of the loop, with what is to be
    /// done for the item. The task has the inputs of the run; with what other steps left it is among the untrusted texts.
    fn prompt_of(&self, step: &Step, work: &AgentWork) -> Result<String, Failure> {
        let brief = self.brief.as_ref().ok_or_else(|| refused("it has no brief".to_owned()))?;
        let template = work.instructions.as_ref().map(|told| &told.template);
        let told = template.map(|told| self.render(told)).transpose()?.unwrap_or_default();
        let RunContext { header, workflow, folder, .. } = self.context;
        let given = piton::Given { header, workflow: &workflow.name, folder };
        let asked = template.map(|told| variables::render_known(told, &given)).unwrap_or_default();
        let is_filled_in = asked != told;
        let files = self.output_files(step)?;
        let wanted = piton::wanted(&step.canonical, &files);
        let task: Vec<String> = std::iter::once(asked).filter(|asked| !asked.is_empty()).chain(wanted).collect();
        let ledger = self.context.ledger();
        let run = ledger.run();
        let top = run.step(&brief.step).ok_or_else(|| refused("the run has no such step".to_owned()))?;
        let mut context = Context {
            task: task.join("\n"),
            instructions: if is_filled_in { told } else { String::new() },
            report: engine::agent_contract(top),
            // The plan cannot fill in what only a running step knows.
            open_questions: Vec::new(),
            ..brief.as_ref().clone()
        };
        if self.item.is_some() {
            let id = self.id_of(step);
            context.report = engine::agent_contract(&model::Step { id: id.clone(), ..top.clone() });
            context.title = step.given_title().map_or_else(|| id.to_string(), str::to_owned);
            (context.step, context.agent, context.agent_context) = (id, work.agent.clone(), Value::Null);
        }
        let brief = self.context.console.brief(&context);
        Ok(format!("Do step {} of the run {}. This is its brief:\n\n{brief}", context.step, run.id))
    }

    /// Returns the id of a step, for an item `build[linux]`, in a group `build[linux].test`.
    pub(super) fn id_of(&self, step: &Step) -> StepId {
        let (Some(item), Some(top)) = (&self.item, &self.workflow_step) else { return step.id.clone() };
        StepId::new(self.id_inside(step, &piton::item_id(top.as_str(), &item.name)))
    }

    /// Returns the id of a step inside of an item: that of the item, and in a group that of the step behind it.
    pub(super) fn id_inside(&self, step: &Step, item: &str) -> String {
        let top = self.workflow_step.as_ref().map_or("", StepId::as_str);
        piton::id_inside(item, top, step.id.as_str())
    }
}
