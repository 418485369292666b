//! `workflows`: the workflow files that are found by name, with their inputs and the commands that begin them.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{
    Exit, OpError,
    project_context::ProjectContext,
    report::{Body, Report},
    startable, workflow_file,
};
use crate::{
    model::{Finding, RelPath, Suggested, Verb, clean_line},
    store::Scope,
    workflow::{BUILT_IN, Input, InputKind, Workflow},
};

/// The workflows that can be begun (`workflows/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkflowsReport {
    pub(crate) workflows: Vec<ListedWorkflow>,
}

/// One workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedWorkflow {
    /// What `start`, `run` and `validate` call it.
    pub(crate) name: String,
    /// Relative to the project, if it lies below; `None` for a built-in one.
    pub(crate) file: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) inputs: Vec<ListedInput>,
    /// Number of its steps; 0 for a file with mistakes.
    pub(crate) step_count: usize,
    /// The steps of one that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<ListedStep>,
    /// The commands that begin it.
    pub(crate) commands: Vec<Suggested>,
    /// The first mistake of its file, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mistake: Option<String>,
}

/// An input of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedInput {
    pub(crate) name: String,
    /// `string`, `number` or `boolean`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) choices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

/// A step of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedStep {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    pub(crate) depends_on: Vec<String>,
}

impl Body for WorkflowsReport {
    const SCHEMA: &'static str = "workflows/1";
}

/// Lists the workflows of the project and the built-in ones, or shows one with its steps.
///
/// # Errors
///
/// If the one that is asked for does not exist or has mistakes.
pub(crate) fn workflows(ctx: &ProjectContext, asked: Option<&str>) -> Result<Report<WorkflowsReport>, OpError> {
    let workflows = match asked {
        Some(asked) => vec![one(ctx, asked)?],
        None => all(ctx)?,
    };
    Ok(Report { exit: Exit::Ok, body: WorkflowsReport { workflows }, findings: Vec::new() })
}

fn all(ctx: &ProjectContext) -> Result<Vec<ListedWorkflow>, OpError> {
    let listings = ctx.listings(Scope::Whole);
    let mut known: BTreeSet<String> = BUILT_IN.iter().map(|one| one.name.to_owned()).collect();
    let mut found = Vec::new();
    for (name, path) in listings.first().map(workflow_file::own_files).unwrap_or_default() {
        // A name stands for one file; another one of that name is begun by its path.
        let name = if known.insert(name.clone()) { name } else { from_here(ctx, &path) };
        found.push(match workflow_file::load(&ctx.project, &name) {
            Ok(Some(loaded)) => listed(name, Some(path.as_str().to_owned()), &loaded.workflow),
            Ok(None) => continue,
            Err(error) => broken(name, path.as_str(), &error),
        });
    }
    for one in BUILT_IN {
        found.extend(built_in(one.name));
    }
    Ok(found)
}

fn one(ctx: &ProjectContext, asked: &str) -> Result<ListedWorkflow, OpError> {
    let is_built_in = startable::built_in(asked).is_some();
    let loaded = if is_built_in { None } else { workflow_file::load(&ctx.project, asked)? };
    let Some(loaded) = loaded else {
        return built_in(asked)
            .ok_or_else(|| workflow_file::unknown(&ctx.project, asked, BUILT_IN.iter().map(|one| one.name)));
    };
    let steps = steps_of(&loaded.workflow);
    let source = &loaded.source;
    let file = match source.root == ctx.project.root {
        true => source.file.as_str().to_owned(),
        false => source.file.under(&source.root).into_string(),
    };
    Ok(ListedWorkflow { steps, ..listed(asked.to_owned(), Some(file), &loaded.workflow) })
}

fn built_in(name: &str) -> Option<ListedWorkflow> {
    let text = BUILT_IN.iter().find(|one| one.name == name)?.text;
    let workflow = crate::workflow::parse(&RelPath::parse(&format!("{name}.yaml")).ok()?, text.as_bytes()).workflow?;
    let commands = vec![Suggested::of(Verb::Start, name).option("feature", "NAME")];
    Some(ListedWorkflow { commands, ..listed(name.to_owned(), None, &workflow) })
}

/// Returns the path of a file of the project as a command in the current folder takes it.
fn from_here(ctx: &ProjectContext, path: &RelPath) -> String {
    let absolute: Utf8PathBuf = path.under(&ctx.project.root);
    absolute.strip_prefix(&ctx.project.cwd).map_or_else(|_| absolute.to_string(), ToString::to_string)
}

fn listed(name: String, file: Option<String>, workflow: &Workflow) -> ListedWorkflow {
    let needed = workflow.inputs.iter().filter(|input| input.default.is_none());
    let given: Vec<String> = needed.map(|input| format!("{}=VALUE", input.name)).collect();
    let place = workflow.merge.is_some().then_some("worktree");
    let start = workflow_file::not_for_agents(workflow)
        .is_none()
        .then(|| Suggested::of(Verb::Start, &name).option("feature", "NAME").flags(place).options("input", &given));
    let run = Suggested::of(Verb::Run, &name).options("input", &given);
    ListedWorkflow {
        file,
        description: workflow.description.as_ref().map(|text| clean_line(text, 400)),
        inputs: workflow.inputs.iter().map(listed_input).collect(),
        step_count: workflow.steps.len(),
        steps: Vec::new(),
        commands: start.into_iter().chain([run]).collect(),
        mistake: None,
        name,
    }
}

fn steps_of(workflow: &Workflow) -> Vec<ListedStep> {
    let step = |step: &crate::workflow::Step| ListedStep {
        id: step.id.to_string(),
        kind: step.kind_name(),
        title: clean_line(&step.title, 200),
        depends_on: step.depends_on.iter().map(|need| need.id.to_string()).collect(),
    };
    workflow.steps.iter().map(step).collect()
}

fn listed_input(input: &Input) -> ListedInput {
    let (kind, choices) = match &input.kind {
        InputKind::Text { choices } => ("string", choices.clone()),
        InputKind::Number => ("number", Vec::new()),
        InputKind::Boolean => ("boolean", Vec::new()),
    };
    ListedInput {
        name: input.name.clone(),
        kind,
        required: input.default.is_none(),
        default: input.default.clone(),
        choices,
        pattern: input.pattern.as_ref().map(|(pattern, _)| pattern.clone()),
        description: input.description.as_ref().map(|text| clean_line(text, 400)),
    }
}

/// Returns a file that cannot be begun, with its first mistake.
fn broken(name: String, path: &str, error: &OpError) -> ListedWorkflow {
    let first = match error {
        OpError::DefinitionInvalid { findings, .. } => findings.first().map(placed),
        _ => None,
    };
    ListedWorkflow {
        commands: vec![Suggested::of(Verb::Validate, &name)],
        name,
        file: Some(path.to_owned()),
        description: None,
        inputs: Vec::new(),
        step_count: 0,
        steps: Vec::new(),
        mistake: Some(first.unwrap_or_else(|| error.to_string())),
    }
}

fn placed(finding: &Finding) -> String {
    match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{line}:{column} {}", finding.message),
        (Some(line), None) => format!("{line} {}", finding.message),
        (None, _) => finding.message.clone(),
    }
}
