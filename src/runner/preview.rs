//! What a run would do, for `--dry-run`: its steps with the texts that are known before, and what it may cost. Pure.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    model::StepId,
    workflow::{
        ClaudeOptions, Command, Foreach, Instructions, Items, Step, Validate, Workflow,
        template::Template,
        variables::{self, Scope},
    },
};

/// What a run would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Preview {
    /// In the order in which they would begin.
    pub(crate) steps: Vec<StepPreview>,
    /// Steps that do not wait for each other, in groups of at least two. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) side_by_side: Vec<Vec<String>>,
    /// The steps that merge the work when all others are done; empty for `git merge`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) merge: Vec<StepPreview>,
    /// The steps that run whenever the runner stops before the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) on_stop: Vec<StepPreview>,
    /// Left out if no step calls `claude`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<CostPreview>,
}

/// A step that would be run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct StepPreview {
    /// Its position in the workflow, counted from 1; 0 for a step inside another one.
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    pub(crate) number: usize,
    pub(crate) id: String,
    /// `agent`, `gate`, `shell`, `claude`, `write_file`, `validate` or `foreach`.
    pub(crate) kind: &'static str,
    /// Left out if the file gives it none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Its command, prompt, instructions, or the path of the file it writes. Variables that have a value are filled in; those that a step
    /// before sets, and secrets, stay as the file has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The agent or the approver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) depends_on: Vec<String>,
    /// The step that it reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reviews: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<WhenPreview>,
    /// The step that it needs and that its condition leaves out: it is skipped with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped_with: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) outputs: Vec<String>,
    /// Of a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<ItemsPreview>,
    /// Limit of one attempt, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_seconds: Option<u64>,
    /// All attempts together; 1 if it is not retried.
    pub(crate) attempts: u32,
    /// Whether it is repeated after a crash in the middle.
    pub(crate) idempotent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) probe: Option<String>,
    /// What `claude` is allowed and limited to, in the words of its options. Empty: the settings of the person decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) claude: Vec<String>,
    /// The steps inside it, by the key that has them (`each`, `measures`, `on_incomplete`, `on_failure`, `validate`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) inside: Vec<InsidePreview>,
}

/// Steps inside a step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct InsidePreview {
    pub(crate) key: &'static str,
    /// Of a handler: how often at most what it is for runs again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeats: Option<u32>,
    pub(crate) steps: Vec<StepPreview>,
}

/// The condition of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WhenPreview {
    pub(crate) condition: String,
    /// Left out while it depends on what a step before it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holds: Option<bool>,
}

/// The items of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ItemsPreview {
    /// Left out if a command or a file gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<String>>,
    /// The command or file that gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// How many at once.
    pub(crate) parallel: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_items: Option<usize>,
    /// Each works in its own worktree, which is then merged. Left out if not.
    #[serde(rename = "worktrees", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) in_worktrees: bool,
}

/// What the calls of `claude` may cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CostPreview {
    /// US dollars, if every call is limited by `max_budget_usd` and their number is known: all attempts and handlers counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_most_usd: Option<f64>,
    /// The limit of the whole run, in US dollars: no attempt begins when it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_usd: Option<f64>,
    /// The steps whose cost has no bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unbounded: Vec<String>,
}

impl Preview {
    /// Returns what a run of these steps would do, given by their places in the workflow. `known` has the variables that have a value before.
    /// `skipped` are the steps that a condition left out before.
    pub(super) fn of(workflow: &Workflow, due: &[usize], known: &dyn Scope, mut skipped: BTreeSet<StepId>) -> Self {
        let steps: Vec<&Step> = due.iter().map(|at| &workflow.steps[*at]).collect();
        let merge = workflow.merge.as_ref().map_or(&[][..], |merge| &merge.steps);
        let number = |(at, step): (&usize, &&Step)| {
            let skipped_with =
                step.needs.iter().find(|need| skipped.contains(&need.id)).map(|need| need.id.to_string());
            let shown = StepPreview { number: at + 1, skipped_with, ..preview(step, known) };
            if shown.skipped_with.is_some() || shown.when.as_ref().is_some_and(|when| when.holds == Some(false)) {
                skipped.insert(step.id.clone());
            }
            shown
        };
        Self {
            steps: due.iter().zip(&steps).map(number).collect(),
            side_by_side: side_by_side(&steps),
            merge: previews(merge, known),
            on_stop: previews(&workflow.on_stop, known),
            cost: cost(workflow, steps.iter().copied().chain(merge), known),
        }
    }
}

/// What is known of a run before it begins.
pub(super) struct NewRun<'a> {
    pub(super) root: &'a Utf8Path,
    /// Its steps work in the project itself.
    pub(super) in_place: bool,
    pub(super) args: &'a [String],
    pub(super) inputs: &'a BTreeMap<String, Value>,
    pub(super) until: Option<&'a str>,
    pub(super) only: Option<&'a str>,
}

impl NewRun<'_> {
    /// Returns what it would do.
    pub(super) fn preview(&self, workflow: &Workflow) -> Preview {
        // Its worktree and its id do not exist yet.
        let known = KnownVariables::of(workflow, |name| match name {
            "ARG" => Some(Value::from(self.args.join(" "))),
            "ITERATION" => Some(Value::from("1")),
            "PROJECT_ROOT" => Some(Value::from(self.root.as_str())),
            "WORKTREE" => self.in_place.then(|| Value::from(self.root.as_str())),
            "workflow.name" => Some(Value::from(workflow.name.as_str())),
            name => self.inputs.get(name).cloned(),
        });
        let place = |step: &str| workflow.steps.iter().position(|known| known.id.as_str() == step);
        let only = self.only.and_then(place);
        let last = only.or_else(|| self.until.and_then(place)).unwrap_or(workflow.steps.len());
        let is_due = |at: &usize| *at <= last && only.is_none_or(|only| *at == only);
        let due: Vec<usize> = (0..workflow.steps.len()).filter(is_due).collect();
        Preview::of(workflow, &due, &known, BTreeSet::new())
    }
}

fn previews(steps: &[Step], known: &dyn Scope) -> Vec<StepPreview> {
    steps.iter().map(|step| preview(step, known)).collect()
}

fn preview(step: &Step, known: &dyn Scope) -> StepPreview {
    let filled = |text: &Template| variables::render_known(text, known);
    let told = |told: &Instructions| filled(&told.template);
    // A loop around one step has its title.
    let of_items = match &step.command {
        Command::Foreach(foreach) => foreach.steps.first().map(|step| step.title.as_str()),
        _ => None,
    };
    let (by, text) = match &step.command {
        Command::Agent(work) => (work.agent.clone(), work.instructions.as_ref().map(told)),
        Command::Gate(gate) => (gate.text.clone(), gate.instructions.as_ref().map(told)),
        Command::Shell(text) => (None, Some(filled(text))),
        Command::Claude(claude) => (None, Some(filled(&claude.prompt))),
        Command::WriteFile(file) => (None, Some(filled(&file.path))),
        Command::Foreach(_) | Command::Validate(_) => (None, None),
    };
    StepPreview {
        number: 0,
        id: step.id.to_string(),
        kind: step.kind_name(),
        title: step.given_title().filter(|title| Some(*title) != of_items).map(str::to_owned),
        text,
        by,
        depends_on: step.depends_on.iter().map(|need| need.id.to_string()).collect(),
        reviews: step.reviews.as_ref().map(|reviewed| reviewed.id.to_string()),
        when: step.when.as_ref().map(|when| WhenPreview {
            condition: when.condition.to_string(),
            holds: variables::holds_already(&when.condition, known),
        }),
        skipped_with: None,
        outputs: step.outputs.iter().map(|output| filled(&output.path)).collect(),
        items: match &step.command {
            Command::Foreach(foreach) => Some(items(foreach, known)),
            _ => None,
        },
        timeout_seconds: step.timeout.map(|timeout| timeout.as_secs().max(1)),
        attempts: tries(step),
        idempotent: step.idempotent,
        probe: step.probe.as_ref().map(filled),
        claude: step.claude_options().map(options).unwrap_or_default(),
        inside: inside(step, known),
    }
}

fn inside(step: &Step, known: &dyn Scope) -> Vec<InsidePreview> {
    let mut found: Vec<(&'static str, Option<u32>, &[Step])> = match &step.command {
        Command::Agent(_) | Command::Gate(_) | Command::Shell(_) | Command::Claude(_) | Command::WriteFile(_) => {
            Vec::new()
        }
        Command::Foreach(foreach) => vec![("each", None, &foreach.steps)],
        Command::Validate(Validate { steps, on_incomplete, .. }) => {
            let gap = on_incomplete.as_ref();
            let gap = gap.map(|gap| ("on_incomplete", Some(gap.attempts), &gap.steps[..]));
            [("measures", None, &steps[..])].into_iter().chain(gap).collect()
        }
    };
    let handler = step.on_failure.as_ref();
    found.extend(handler.map(|handler| ("on_failure", Some(handler.attempts), &handler.steps[..])));
    found.push(("validate", None, step.measurement()));
    found.retain(|(_, _, steps)| !steps.is_empty());
    let shown = |(key, repeats, steps): (_, _, &[Step])| InsidePreview { key, repeats, steps: previews(steps, known) };
    found.into_iter().map(shown).collect()
}

fn items(foreach: &Foreach, known: &dyn Scope) -> ItemsPreview {
    let filled = |text: &Template| variables::render_known(text, known);
    let (values, from) = match &foreach.items {
        Items::List(values) => (Some(values.iter().map(filled).collect()), None),
        Items::Command(text) | Items::File { file: text, .. } => (None, Some(filled(text))),
    };
    let Foreach { parallel, max_items, in_worktrees, .. } = *foreach;
    ItemsPreview { values, from, parallel, max_items, in_worktrees }
}

/// Returns the options of a call as `claude` spells them.
fn options(options: &ClaudeOptions) -> Vec<String> {
    let one = |name: &str, value: Option<String>| value.map(|value| format!("--{name} {value}"));
    let list = |name: &str, values: &[String]| (!values.is_empty()).then(|| format!("--{name} {}", values.join(",")));
    let given = [
        one("model", options.model.clone()),
        one("permission-mode", options.permission_mode.clone()),
        list("allowedTools", &options.allowed_tools),
        list("disallowedTools", &options.disallowed_tools),
        one("max-turns", options.max_turns.map(|turns| turns.to_string())),
        one("max-budget-usd", options.max_budget_usd.map(|budget| budget.to_string())),
    ];
    given.into_iter().flatten().collect()
}

fn tries(step: &Step) -> u32 {
    step.retry.as_ref().map_or(1, |retry| retry.attempts)
}

/// Returns the steps that are equally far from the beginning, which do not depend on each other.
fn side_by_side(steps: &[&Step]) -> Vec<Vec<String>> {
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    // Dependencies may be listed later in the file; each pass gets one step further.
    for _ in steps {
        let mut changed = false;
        for step in steps {
            let needs = step.depends_on.iter().filter_map(|need| depths.get(need.id.as_str()));
            let depth = needs.max().map_or(0, |depth| depth + 1);
            changed |= depths.insert(step.id.as_str(), depth) != Some(depth);
        }
        if !changed {
            break;
        }
    }
    let mut levels: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for step in steps {
        levels.entry(depths[step.id.as_str()]).or_default().push(step.id.to_string());
    }
    levels.into_values().filter(|level| level.len() > 1).collect()
}

fn cost<'a>(workflow: &Workflow, steps: impl Iterator<Item = &'a Step>, known: &dyn Scope) -> Option<CostPreview> {
    let paid: Vec<&Step> = steps.filter(|step| step.needs_claude()).collect();
    if paid.is_empty() {
        return None;
    }
    let bounds: Vec<(&Step, Option<f64>)> = paid.iter().map(|step| (*step, at_most(step, known))).collect();
    let unbounded = bounds.iter().filter(|(_, bound)| bound.is_none()).map(|(step, _)| step.id.to_string()).collect();
    let at_most_usd = bounds.iter().map(|(_, bound)| *bound).sum();
    Some(CostPreview { at_most_usd, limit_usd: workflow.limits.cost_usd, unbounded })
}

/// Returns what all calls of a step can cost together; `None` without a bound.
fn at_most(step: &Step, known: &dyn Scope) -> Option<f64> {
    let all = |steps: &[Step]| -> Option<f64> { steps.iter().map(|step| at_most(step, known)).sum() };
    let once = match &step.command {
        Command::Agent(work) => work.options.max_budget_usd?,
        Command::Gate(_) | Command::Shell(_) | Command::WriteFile(_) => 0.0,
        Command::Claude(claude) => claude.options.max_budget_usd?,
        Command::Foreach(foreach) => match all(&foreach.steps)? {
            0.0 => 0.0,
            each => {
                let listed = items(foreach, known).values.map(|values| values.len());
                each * count(listed.into_iter().chain(foreach.max_items).min()?)
            }
        },
        Command::Validate(validate) => {
            let (gap, closed) = match &validate.on_incomplete {
                Some(gap) => (all(&gap.steps)?, f64::from(gap.attempts)),
                None => (0.0, 0.0),
            };
            all(&validate.steps)? * (1.0 + closed) + gap * closed
        }
    };
    let (handler, handled) = match &step.on_failure {
        // A handler without attempts runs once, and the step does not run again.
        Some(handler) => (all(&handler.steps)?, f64::from(handler.attempts)),
        None => (0.0, 0.0),
    };
    let runs = f64::from(tries(step)) * (1.0 + handled);
    Some((once + all(step.measurement())?) * runs + handler * handled.max(1.0))
}

fn count(items: usize) -> f64 {
    u32::try_from(items).map_or(f64::INFINITY, f64::from)
}

/// The variables that have a value before a run goes on. Secrets, and what a step reads from a file, are not among them.
pub(super) struct KnownVariables<F> {
    /// The `env` of the workflow.
    env: BTreeMap<String, Value>,
    given: F,
}

impl<F: Fn(&str) -> Option<Value>> KnownVariables<F> {
    /// `given` returns what the run was begun with, and what its steps left until now.
    pub(super) fn of(workflow: &Workflow, given: F) -> Self {
        let mut known = Self { env: BTreeMap::new(), given };
        let values = workflow.env.iter().filter(|(name, _)| !workflow.secrets.contains_key(*name));
        let values = values.map(|(name, value)| (name.clone(), variables::render(value, &known)));
        known.env = values.filter_map(|(name, value)| Some((name, Value::from(value.ok()?)))).collect();
        known
    }
}

impl<F: Fn(&str) -> Option<Value>> Scope for KnownVariables<F> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        Ok((self.given)(name).or_else(|| self.env.get(name).cloned()))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
