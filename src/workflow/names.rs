//! The variables of a workflow: every name that a text uses is one that the file, a step before it or Piton sets. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ClaudeOptions, Command, Conversation, Foreach, Items, Step, Workflow,
    artifacts::is_item,
    condition::{Condition, Operand},
    inner,
    order::ancestors,
    shell::assigned,
    template::{Reference, Template},
};
use crate::{
    document::{TextPosition, definition::Problems},
    model::{StepId, nearest},
};

/// The variables that are set without the file naming them.
const BUILT_IN: [&str; 6] = ["ARG", "ITERATION", "PROJECT_ROOT", "WORKTREE", "workflow.id", "workflow.name"];
/// What git answers, after `step.` or `workflow.`.
pub(crate) const CHANGES: [&str; 8] = [
    "files_added",
    "files_modified",
    "files_deleted",
    "files_changed",
    "commits",
    "commit_count",
    "insertions",
    "deletions",
];
const MERGE: [&str; 4] = ["merge.worktree", "merge.source_branch", "merge.target_branch", "merge.session_id"];
/// What is known to the steps of `on_stop`.
const STOP: [&str; 2] = ["stop.status", "stop.step"];
/// What a command leaves under its id; every other step leaves the first one.
const OF_A_COMMAND: [&str; 3] = ["output", "stderr", "exit_code"];
/// What a `claude` step leaves under its id besides.
const OF_CLAUDE: [&str; 6] = ["cost", "session", "turns", "tokens", "tool_calls", "denied"];
/// What a loop leaves under its id.
const OF_A_LOOP: [&str; 4] = ["total", "successful", "failed", "results"];

/// Reports every name that nothing sets, and every one that only a step sets that may be skipped.
pub(super) fn check(workflow: &Workflow, problems: &mut Problems<'_>) {
    let mut names: BTreeSet<String> = BUILT_IN.map(str::to_owned).into();
    names.extend(["step", "workflow"].iter().flat_map(|of| CHANGES.map(|what| format!("{of}.{what}"))));
    names.extend(workflow.inputs.iter().map(|input| input.name.clone()));
    names.extend(workflow.secrets.keys().cloned());
    let mut checker = Checker { workflow, problems, is_open: !workflow.env_files.is_empty(), order: BTreeMap::new() };
    // Values of `env` see the environment of the caller, which is not known here, so they are not checked.
    names.extend(workflow.env.keys().cloned());
    // What is set before a step matters only to one that uses a variable or a conversation.
    let uses = |step: &Step| {
        let definition = step.canonical.to_string();
        ["$", "\"when\"", "\"continue\""].iter().any(|mark| definition.contains(mark))
    };
    for (at, step) in workflow.steps.iter().enumerate().filter(|(_, step)| uses(step)) {
        checker
            .order
            .insert(step.id.as_str(), ancestors(&workflow.steps, at).iter().map(ToString::to_string).collect());
    }
    for step in workflow.steps.iter().filter(|step| uses(step)) {
        let known = checker.known_to(step, &names);
        checker.step(step, known);
    }
    if !workflow.on_stop.is_empty() {
        // Any step may be the one that it stops at.
        let mut known = Known { names: names.clone(), skippable: BTreeSet::new() };
        workflow.steps.iter().for_each(|step| known.add_skippable(step));
        known.names.extend(STOP.map(str::to_owned));
        checker.list(&workflow.on_stop, &mut known);
    }
    if let Some(merge) = &workflow.merge {
        let mut known = Known { names, skippable: BTreeSet::new() };
        known.names.extend(MERGE.map(str::to_owned));
        workflow.steps.iter().for_each(|step| known.add(step));
        known.names.extend(workflow.steps.iter().map(|step| end_variable(&step.id)));
        checker.list(&merge.steps, &mut known);
    }
}

impl Workflow {
    /// Tells whether a brief may show a variable: one of the environment, a secret and what git answers are known only to the runner.
    pub(crate) fn is_for_briefs(&self, path: &str) -> bool {
        let first = path.split('.').next().unwrap_or(path);
        let is_change = path
            .split_once('.')
            .is_some_and(|(of, what)| ["step", "workflow"].contains(&of) && CHANGES.contains(&what));
        !is_change && !self.env.contains_key(first) && !self.secrets.contains_key(first)
    }
}

impl Workflow {
    /// Returns the names that only the steps of a loop set, each for its item.
    pub(crate) fn set_by_item(&self, top: &Step) -> BTreeSet<String> {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        top.inside().into_iter().flatten().for_each(|step| set_by(step, &mut inside));
        self.steps.iter().filter(|step| step.id != top.id).for_each(|step| set_by(step, &mut outside));
        inside.retain(|name| !outside.contains(name));
        inside.into_iter().collect()
    }
}

impl Step {
    /// Returns the steps whose conversations it continues, with those of the steps inside it.
    pub(crate) fn continued(&self) -> Vec<&StepId> {
        let mut found: Vec<&StepId> = self.inside().into_iter().flatten().flat_map(Self::continued).collect();
        if let Some(ClaudeOptions { conversation: Conversation::Of(step), .. }) = self.claude_options() {
            found.push(&step.id);
        }
        found
    }

    /// Returns the paths of all variables that it uses, with those of the steps inside it.
    pub(crate) fn references(&self) -> BTreeSet<&str> {
        self.reads().into_iter().map(|reference| reference.path.as_str()).collect()
    }

    /// Returns all references to variables in it and in the steps inside it.
    pub(super) fn reads(&self) -> Vec<&Reference> {
        let mut texts: Vec<&Template> = Vec::new();
        texts.extend(self.env.values().chain(&self.working_dir).chain(&self.probe));
        texts.extend(self.outputs.iter().map(|output| &output.path));
        match &self.command {
            Command::Agent(work) => texts.extend(work.instructions.as_ref().map(|told| &told.template)),
            Command::Gate(gate) => texts.extend(gate.instructions.as_ref().map(|told| &told.template)),
            Command::Shell(text) => texts.push(text),
            Command::Claude(claude) => texts.push(&claude.prompt),
            Command::WriteFile(file) => texts.extend([&file.path, &file.content]),
            Command::Foreach(foreach) => match &foreach.items {
                Items::List(items) => texts.extend(items),
                Items::Command(text) | Items::File { file: text, .. } => texts.push(text),
            },
            Command::Validate(validate) => texts.extend(&validate.result_file),
        }
        let mut found: Vec<&Reference> = texts.into_iter().flat_map(Template::references).collect();
        found.extend(self.when.iter().flat_map(|when| when.condition.references()));
        if let Command::Foreach(Foreach { only: Some(only), .. }) = &self.command {
            found.extend(only.condition.references());
        }
        found.extend(self.inside().into_iter().flatten().flat_map(Self::reads));
        found
    }
}

fn variable(operand: &Operand) -> Option<&Reference> {
    match operand {
        Operand::Literal(_) => None,
        Operand::Variable(reference) => Some(reference),
    }
}

impl Condition {
    /// Returns the variables that it asks for.
    pub(crate) fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Value(value) => variable(value).into_iter().collect(),
            Self::Not(inner) => inner.references(),
            Self::And(left, right) | Self::Or(left, right) => {
                left.references().into_iter().chain(right.references()).collect()
            }
            Self::Compare(left, _, right) => variable(left).into_iter().chain(variable(right)).collect(),
        }
    }
}

/// The names that are set at one place of the file.
#[derive(Clone, Default)]
struct Known {
    names: BTreeSet<String>,
    /// Set only by a step that may be skipped.
    skippable: BTreeSet<String>,
}

impl Known {
    /// Adds what a step sets.
    fn add(&mut self, step: &Step) {
        let mut set: Vec<String> = Vec::new();
        set_by(step, &mut set);
        printed_by(step, &mut set);
        for name in set {
            if step.when.is_some() && !self.names.contains(&name) {
                self.skippable.insert(name.clone());
            } else {
                self.skippable.remove(&name);
            }
            self.names.insert(name);
        }
    }

    /// Adds what a step sets that may not have run.
    fn add_skippable(&mut self, step: &Step) {
        let mut set: Vec<String> = Vec::new();
        set_by(step, &mut set);
        printed_by(step, &mut set);
        set.retain(|name| !self.names.contains(name) || self.skippable.contains(name));
        self.names.extend(set.iter().cloned());
        self.skippable.extend(set);
    }

    fn and(&self, more: &[&str]) -> Self {
        let mut known = self.clone();
        known.names.extend(more.iter().map(|name| (*name).to_owned()));
        known
    }
}

/// Returns the variable that says how a step of the workflow ended.
pub(crate) fn end_variable(step: &StepId) -> String {
    format!("step.{step}.status")
}

/// Collects the names for what the last command of a kind printed that a step and those inside it set. Every file has the same ones.
fn printed_by(step: &Step, set: &mut Vec<String>) {
    let printed = match step.command {
        Command::Shell(_) => Some("shell.output"),
        Command::Claude(_) => Some("claude.output"),
        Command::Agent(_) | Command::Gate(_) | Command::Foreach(_) | Command::WriteFile(_) | Command::Validate(_) => {
            None
        }
    };
    set.extend(printed.into_iter().chain(step.captures.first().map(|_| "CAPTURED_OUTPUT")).map(str::to_owned));
    step.inside().into_iter().flatten().for_each(|inner| printed_by(inner, set));
}

/// Returns the names under which texts read how the command of a step ended, also where it failed.
fn results_of(step: &Step) -> impl Iterator<Item = String> {
    let count = if matches!(step.command, Command::Shell(_)) { OF_A_COMMAND.len() } else { 1 };
    OF_A_COMMAND[..count].iter().flat_map(|of| [format!("{}.{of}", step.id), format!("step.{}.{of}", step.id)])
}

/// Collects the names that a step and those inside it set.
pub(super) fn set_by(step: &Step, set: &mut Vec<String>) {
    set.extend(step.captures.iter().map(|capture| capture.name.clone()));
    set.extend(results_of(step));
    set.extend(step.result.iter().map(|_| format!("{}.result", step.id)));
    if matches!(step.command, Command::Agent(_)) {
        set.push(format!("{}.summary", step.id));
        set.extend(step.reviews.as_ref().map(|_| format!("{}.verdict", step.id)));
    }
    if matches!(step.command, Command::Gate(_)) {
        set.push(format!("{}.note", step.id));
    }
    if matches!(&step.command, Command::Gate(gate) if !gate.options.is_empty()) {
        set.push(format!("{}.choice", step.id));
    }
    if step.claude_options().is_some() {
        for of in OF_CLAUDE {
            set.extend([format!("{}.{of}", step.id), format!("step.{}.{of}", step.id)]);
        }
    }
    if matches!(step.command, Command::Foreach(_)) {
        set.extend(OF_A_LOOP.map(|of| format!("{}.{of}", step.id)));
    }
    step.inside().into_iter().flatten().for_each(|inner| set_by(inner, set));
}

struct Checker<'a, 'b, 'c> {
    workflow: &'a Workflow,
    problems: &'b mut Problems<'c>,
    /// Files with more names are read when the run starts.
    is_open: bool,
    /// What each step depends on.
    order: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Checker<'a, '_, '_> {
    /// Returns what is set when a step of the workflow begins: by the file, and by the steps that it depends on.
    fn known_to(&self, step: &Step, names: &BTreeSet<String>) -> Known {
        let mut known = Known { names: names.clone(), skippable: BTreeSet::new() };
        let before = &self.order[step.id.as_str()];
        for earlier in self.workflow.steps.iter().filter(|earlier| before.contains(earlier.id.as_str())) {
            known.add(earlier);
            known.names.insert(end_variable(&earlier.id));
        }
        known
    }

    /// Checks steps that run one after the other.
    fn list(&mut self, steps: &'a [Step], known: &mut Known) {
        for step in steps {
            self.step(step, known.clone());
            known.add(step);
        }
    }

    fn step(&mut self, step: &'a Step, mut known: Known) {
        match step.when.as_ref().map(|when| (&when.condition, when.group_place, when.place)) {
            Some((Condition::And(of_group, own), Some(group_place), place)) => {
                self.condition(of_group, group_place, &known);
                self.condition(own, place, &known);
            }
            Some((condition, _, place)) => self.condition(condition, place, &known),
            None => {}
        }
        for text in step.env.values().chain(&step.working_dir).chain(&step.probe) {
            self.text(text, &known);
        }
        self.outputs(step, &known);
        match &step.command {
            Command::Agent(work) => {
                self.text_of(work.instructions.as_ref().map(|told| &told.template), &known);
                work.instructions.iter().for_each(|told| self.bare_names(&told.template, &known));
                self.conversation(&work.options.conversation, &known);
            }
            Command::Gate(gate) => self.text_of(gate.instructions.as_ref().map(|told| &told.template), &known),
            Command::Shell(text) => {
                self.text(text, &known);
                for (path, interpreter) in inner::variables_in_code(text) {
                    let message =
                        format!("`${{{path}}}` becomes code of `{interpreter}`, which executes what is in it");
                    self.problems.note(text.place, message, "hand it over: `sh -c 'echo \"$1\"' _ ${NAME}`");
                }
                self.own_names(text, &known);
            }
            Command::Claude(claude) => {
                self.text(&claude.prompt, &known);
                self.bare_names(&claude.prompt, &known);
                self.conversation(&claude.options.conversation, &known);
            }
            Command::WriteFile(file) => {
                self.text(&file.path, &known);
                self.text(&file.content, &known);
            }
            Command::Foreach(foreach) => {
                match &foreach.items {
                    Items::List(items) => items.iter().for_each(|item| self.text(item, &known)),
                    Items::Command(text) | Items::File { file: text, .. } => self.text(text, &known),
                }
                if let Some(only) = &foreach.only {
                    self.condition(&only.condition, only.place, &known.and(&["item"]));
                }
                let mut inner = known.and(&["item", "index", "total"]);
                for step in &foreach.steps {
                    self.step(step, inner.clone());
                    inner.add(step);
                    inner.names.insert(end_variable(&step.id));
                }
            }
            Command::Validate(validate) => {
                let mut inner = known.clone();
                self.list(&validate.steps, &mut inner);
                self.text_of(validate.result_file.as_ref(), &inner);
                if let Some(gap) = &validate.on_incomplete {
                    let mut inner = inner.and(&["validation"]);
                    self.list(&gap.steps, &mut inner);
                }
            }
        }
        if let Some(handler) = &step.on_failure {
            // What the failed step printed is known as well.
            let mut inner = known.and(&["error"]);
            inner.names.extend(step.captures.iter().map(|capture| capture.name.clone()).chain(results_of(step)));
            let mut printed = Vec::new();
            printed_by(step, &mut printed);
            inner.names.extend(printed);
            self.list(&handler.steps, &mut inner);
        }
        known.add(step);
        self.list(step.measurement(), &mut known);
    }

    /// Checks that the paths of outputs have only variables that a plan knows without the step.
    fn outputs(&mut self, step: &Step, known: &Known) {
        for output in &step.outputs {
            for reference in output.path.references() {
                let path = reference.path.as_str();
                let is_input = self.workflow.inputs.iter().any(|input| input.name == path);
                if is_input || is_item(path) && known.names.contains("item") {
                    continue;
                }
                self.reference(reference, output.place, known);
                if known.names.contains(path) {
                    let message =
                        format!("the output `{}` has `${{{path}}}`, which is not known to a plan", output.path);
                    self.problems.add(output.place, message, "use inputs, and `${item}` in a loop");
                }
            }
        }
    }

    /// Warns of a default that takes the place of what a command sets itself.
    fn own_names(&mut self, program: &Template, known: &Known) {
        let text = program.to_string();
        let own = assigned(&text);
        for reference in program.references().into_iter().filter(|reference| reference.fallback.is_some()) {
            let path = reference.path.as_str();
            if own.contains(path) && !known.names.contains(path) {
                let message = format!("`{reference}` is the default, also where the command sets `{path}` itself");
                self.problems.note(program.place, message, format!("write `${reference}`, which the shell fills in"));
            }
        }
    }

    /// Notes names of variables without braces in a prompt, which reach Claude as they stand.
    fn bare_names(&mut self, prompt: &Template, known: &Known) {
        for name in prompt.bare_names().filter(|name| known.names.contains(*name)) {
            let message = format!("`${name}` is text here, also where `{name}` has a value");
            self.problems.note(prompt.place, message, format!("write `${{{name}}}` for the value"));
        }
    }

    /// Checks that a conversation that is continued is one of an earlier step.
    fn conversation(&mut self, conversation: &Conversation, known: &Known) {
        let Conversation::Of(step) = conversation else { return };
        if !known.names.contains(&format!("{}.session", step.id)) {
            let message = format!("`continue` names {}, which is no `claude` step before this one", step.id);
            self.problems.add(step.place, message, "name a `claude` step that this one depends on, or write `true`");
        }
    }

    fn text_of(&mut self, text: Option<&Template>, known: &Known) {
        if let Some(text) = text {
            self.text(text, known);
        }
    }

    fn text(&mut self, text: &Template, known: &Known) {
        for reference in text.references() {
            self.reference(reference, text.place, known);
        }
    }

    fn condition(&mut self, condition: &Condition, place: TextPosition, known: &Known) {
        match condition {
            Condition::Value(operand) => self.operand(operand, place, known),
            Condition::Not(inner) => self.condition(inner, place, known),
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left, place, known);
                self.condition(right, place, known);
            }
            Condition::Compare(left, _, right) => {
                self.operand(left, place, known);
                self.operand(right, place, known);
            }
        }
    }

    fn operand(&mut self, operand: &Operand, place: TextPosition, known: &Known) {
        match operand {
            Operand::Literal(_) => {}
            Operand::Variable(reference) => self.reference(reference, place, known),
        }
    }

    fn reference(&mut self, reference: &Reference, place: TextPosition, known: &Known) {
        if reference.fallback.is_some() {
            return;
        }
        let path = reference.path.as_str();
        let ends = std::iter::once(path.len()).chain(path.rmatch_indices('.').map(|(at, _)| at));
        let Some(name) = ends.map(|end| &path[..end]).find(|name| known.names.contains(*name)) else {
            return self.unknown(path, place, known);
        };
        if known.skippable.contains(name) {
            let message = format!("`${{{path}}}` is set only by a step that may be skipped");
            self.problems.note(place, message, format!("write `${{{path}:-default}}`"));
        }
    }

    fn unknown(&mut self, path: &str, place: TextPosition, known: &Known) {
        // A name without a dot may come from a file, and one of the caller's environment from nowhere else.
        if self.is_open && !path.contains('.') {
            return;
        }
        if let Some(asked) = path.strip_prefix("step.").and_then(|rest| rest.strip_suffix(".status")) {
            return self.unknown_end(asked, place);
        }
        let is_set_by = |step: &&Step| {
            let mut set = Vec::new();
            set_by(step, &mut set);
            printed_by(step, &mut set);
            set.iter().any(|name| path == name || path.strip_prefix(name.as_str()).is_some_and(|r| r.starts_with('.')))
        };
        if let Some(by) = self.workflow.steps.iter().find(is_set_by) {
            let message =
                format!("the variable `${{{path}}}` is set by step {}, which does not come before this one", by.id);
            return self.problems.add(place, message, format!("let this step depend on {}", by.id));
        }
        let near = nearest(path, known.names.iter().map(String::as_str));
        let near = near.map(|name| format!("; did you mean `${{{name}}}`?")).unwrap_or_default();
        let fix = format!("write `${{{path}:-default}}` for a default, or `$${{{path}}}` for the text itself");
        self.problems.add(place, format!("the variable `${{{path}}}` is not set by anything{near}"), fix);
    }

    /// Reports a condition that asks how a step ended that does not come before.
    fn unknown_end(&mut self, asked: &str, place: TextPosition) {
        let steps = &self.workflow.steps;
        if steps.iter().any(|step| step.id.as_str() == asked) {
            let message = format!("how step {asked} ended is not known here: it does not come before this step");
            return self.problems.add(place, message, format!("let this step depend on {asked}"));
        }
        if steps.iter().flat_map(Step::inside).flatten().any(|step| step.id.as_str() == asked) {
            let message = format!("how step {asked} ended is known only to the steps after it in its group");
            return self.problems.add(place, message, "ask for a step that comes before this one");
        }
        let near = nearest(asked, steps.iter().map(|step| step.id.as_str()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!("the condition asks how step `{asked}` ended, and there is no such step{near}");
        self.problems.add(place, message, "name a step that this one depends on");
    }
}
