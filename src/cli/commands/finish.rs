//! `finish`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde_json::Value;

use super::prelude::*;
use crate::{
    cli::shared_args::{Target, step_id},
    model::{ChangeKind, Outcome, RelPath, ReviewVerdict, Status, StepId},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Finish {
    /// The step id, as shown by `piton plan`
    #[arg(required_unless_present = "json")]
    step: Option<String>,
    /// How the step ended (default: completed, or as the verdict says); completed requires the declared outputs
    #[arg(long, value_enum)]
    status: Option<EndStatus>,
    /// Verdict of a review: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION, REJECTED, or the agent's own wording
    #[arg(long, value_name = "V")]
    verdict: Option<String>,
    /// An open condition of an approval (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    condition: Vec<String>,
    /// Something that a review or test found and that has to be addressed (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    finding: Vec<String>,
    /// What was done: the agents of later steps read it
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    summary: Option<String>,
    /// What went wrong, or what a review found
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    error: Option<String>,
    /// Files the step produced; their digests are kept as evidence
    #[arg(long, value_name = "FILE", num_args = 1..)]
    output: Vec<String>,
    /// The result as JSON, of a step that declares its schema; `-` reads it from the standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    result: Option<String>,
    /// The commit with the result
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// Number of phases in the plan, for systems that record it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: Option<u32>,
    /// The step that the failure returns to, where that can be recorded
    #[arg(long, value_name = "ID")]
    to_step: Option<String>,
    /// The agent that ran the step
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// The attempt that it is about, as the brief of its agent names it (default: your last one)
    #[arg(long, value_name = "ID")]
    begun: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    /// Set an output variable of a part for later parts (repeatable; the value is read as JSON, else as text)
    #[arg(long, value_name = "NAME=VALUE", requires = "part", allow_hyphen_values = true)]
    set: Vec<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum EndStatus {
    Completed,
    Failed,
    WaitingApproval,
}

impl Command for Finish {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let change = self.target.change("finish", || Ok(ChangeKind::Finish(Box::new(self.outcome()?))))?;
        call.change(self.target.run.as_ref(), change)
    }

    fn called(&self) -> Option<CalledVerb> {
        let called = Some(CalledVerb::of_run("finish", self.target.run.as_ref(), self.step.as_ref()));
        called.filter(|_| self.target.json.is_none())
    }
}

impl Finish {
    fn outcome(&self) -> Result<Outcome, CommandError> {
        let verdict = self.verdict.as_deref().map(verdict).transpose()?;
        let status = match (self.status, verdict) {
            (Some(EndStatus::Completed), _) => Status::Completed,
            (Some(EndStatus::Failed), _) => Status::Failed,
            (Some(EndStatus::WaitingApproval), _) => Status::WaitingApproval,
            (None, Some(verdict)) => verdict.status(),
            (None, None) if self.error.is_some() => Status::Failed,
            (None, None) => Status::Completed,
        };
        let outputs = self.output.iter().map(|path| RelPath::parse(path)).collect::<Result<Vec<_>, _>>();
        Ok(Outcome {
            part: self.part.clone(),
            status,
            agent: self.agent.clone(),
            verdict,
            conditions: self.condition.clone(),
            findings: self.finding.clone(),
            summary: self.summary.clone(),
            error: self.error.clone(),
            outputs: outputs.map_err(|error| CommandError::usage(format!("--output: {error}")))?,
            commit: self.commit.clone(),
            phases: self.phases,
            to_step: self.to_step.as_ref().map(StepId::new),
            begun: self.begun.clone(),
            result: self.result.as_deref().map(result).transpose()?,
            set: variables(&self.set)?,
            ..Outcome::completed(step_id(self.step.as_ref()))
        })
    }
}

fn result(text: &str) -> Result<Value, CommandError> {
    let text = if text == "-" { ops::input(text)? } else { text.to_owned() };
    serde_json::from_str(&text).map_err(|error| CommandError::usage(format!("--result is not JSON: {error}")))
}

fn verdict(text: &str) -> Result<ReviewVerdict, CommandError> {
    ReviewVerdict::parse(text).ok_or_else(|| {
        CommandError::usage(format!(
            "`{text}` is not a verdict; use APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION or REJECTED"
        ))
    })
}

fn variables(pairs: &[String]) -> Result<BTreeMap<String, Value>, CommandError> {
    let mut variables = BTreeMap::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(CommandError::usage(format!("--set takes NAME=VALUE, not `{pair}`")));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        variables.insert(name.to_owned(), value);
    }
    Ok(variables)
}
