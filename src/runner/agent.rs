//! Steps for agents, unattended: `claude -p` gets what the brief of the step says, and its last message ends with the report.

use super::retry::Failure;
use super::step_executor::StepExecutor;
use super::step_executor::StepOutcome;
use super::step_executor::refused;
use super::step_executor::rejected;
use crate::dialect::script;
use crate::engine;
use crate::model::AgentReport;
use crate::model::AgentStatus;
use crate::model::StepKind;
use crate::workflow::AgentWork;
use crate::workflow::ClaudeOptions;
use crate::workflow::Step;

impl StepExecutor<'_> {
    /// Has an agent do a step. A review without a verdict failed; it is never an approval.
    pub(super) fn agent(&mut self, step: &Step, work: &AgentWork) -> Result<StepOutcome, Failure> {
        let prompt = self.prompt_of(step, work)?;
        let mut words = super::claude::words(&prompt, &ClaudeOptions::default(), None);
        if let Some(agent) = &work.agent
            && super::files::is_agent_defined(&self.folder, agent)
        {
            let at = words.len() - 1;
            words.insert(at, format!("--agent={agent}"));
        }
        let was = std::mem::replace(&mut self.keeps_stdout, true);
        let done = self.run_command(step, words, Vec::new(), true);
        self.keeps_stdout = was;
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
            (Some(AgentReport { verdict: None, .. }) | None, StepKind::Review) => Some("it ended without a verdict"),
            // Its outputs say that it is done.
            (None, StepKind::Work) if step.outputs.is_empty() => Some("it ended without a report"),
            (Some(_) | None, StepKind::Work | StepKind::Review | StepKind::Gate | StepKind::Container) => None,
        };
        if let Some(problem) = problem {
            return Err(rejected(problem.to_owned()));
        }
        produced.summary = report.as_ref().and_then(|report| report.summary.clone());
        produced.report = report;
        Ok(StepOutcome::Completed(produced))
    }

    fn prompt_of(&self, step: &Step, work: &AgentWork) -> Result<String, Failure> {
        let instructions = work.instructions.as_ref().map(|told| self.render(&told.template)).transpose()?;
        let ledger = self.context.ledger();
        let run = ledger.run();
        let recorded = run.step(&step.id);
        let mut parts = vec![format!("Do step {} of the workflow {}: {}.", step.id, run.workflow, step.title)];
        parts.extend(instructions.filter(|told| !told.is_empty()));
        parts.extend(script::written(step.outputs.iter().map(|output| &output.path)));
        parts.extend(script::wanted_result(&step.canonical));
        if let Some(error) = recorded.and_then(|step| step.error.as_deref()) {
            parts.push(format!("Address what the last attempt left open:\n{error}"));
        }
        let contract = recorded.map(engine::agent_contract).unwrap_or_default();
        parts.push(format!("When you are done, {contract}"));
        Ok(parts.join("\n\n"))
    }
}
