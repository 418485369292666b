//! `foreach`: the same steps for each item. In a top-level step each item is recorded as a part, so that a resume continues with the items
//! that did not finish.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{
    console::Event,
    error::RunError,
    exec, files,
    retry::Failure,
    scoped_variables::ScopedVariables,
    step_executor::{CurrentItem, StepExecutor, StepOutcome, StepOutput, refused, unrendered},
};
use crate::{
    dialect::piton::{self, facts::Facts},
    model::{ChangeKind, ClaudeWork, Outcome, Status, first_names, plural, short_summary},
    store,
    workflow::{
        Foreach, Items, JsonPath, SpendingLimits, Step, condition::Condition, selection, template::Template, variables,
    },
};

/// An item with its number and the name of its part.
struct Item<'a> {
    number: usize,
    value: &'a Value,
    name: &'a str,
}

/// A `foreach` that is running.
struct ForeachLoop<'a> {
    step: &'a Step,
    foreach: &'a Foreach,
    items: &'a [Value],
    /// Whether its items are recorded as parts: it is a top-level step.
    is_recorded: bool,
}

/// The results of the items so far.
#[derive(Default)]
struct ItemResults<'a> {
    waiting: VecDeque<Item<'a>>,
    failures: Vec<(String, Failure)>,
    /// What calls of `claude` did in items that are not recorded.
    work: ClaudeWork,
    /// Why no further item is begun.
    end: Option<StepOutcome>,
}

impl StepExecutor<'_> {
    pub(super) fn foreach(&mut self, step: &Step, foreach: &Foreach) -> Result<StepOutcome, RunError> {
        let is_recorded = self.workflow_step.as_ref() == Some(&step.id);
        let items = match self.items(step, foreach, is_recorded) {
            Ok(items) => items,
            Err(done) => return Ok(done),
        };
        let names = piton::item_names(&items);
        if is_recorded {
            self.context.ledger().set_parts(&step.id, &piton::part_names(&items, &step.canonical));
        }
        let is_open = |name: &str| !is_recorded || !self.context.ledger().is_part_done(&step.id, name);
        let waiting = items.iter().zip(&names).zip(1..).map(|((value, name), number)| Item { number, value, name });
        let waiting: VecDeque<Item<'_>> = waiting.filter(|item| is_open(item.name)).collect();
        if foreach.in_worktrees && !waiting.is_empty() {
            self.report_uncommitted(step);
        }
        let foreach_loop = ForeachLoop { step, foreach, items: &items, is_recorded };
        if is_recorded {
            self.of_item = Arc::new(self.context.workflow.set_by_item(step));
        }
        let results = Mutex::new(ItemResults { waiting, ..ItemResults::default() });
        if foreach.parallel > 1 {
            self.in_parallel(&foreach_loop, &results)?;
        } else {
            self.in_turn(&foreach_loop, &results)?;
        }
        if is_recorded {
            self.of_item = Arc::default();
        }
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.work.add(&results.work);
        if let Err(failure) = self.set_results(step, &items, &names, &results.failures) {
            return Ok(StepOutcome::Failed(failure));
        }
        let count = results.failures.len();
        let failed = results.failures.first().map(|(name, failure)| {
            let message = format!("{count} of {} items failed, first {name}: {}", items.len(), failure.message);
            Failure { message, ..failure.clone() }
        });
        let done = match (results.end, failed) {
            (Some(stopped @ StepOutcome::Stopped(_)), _) => stopped,
            (_, Some(failure)) if count <= foreach.max_failures.unwrap_or(0) => {
                let tolerated = Some(failure.message);
                StepOutcome::Completed(Box::new(StepOutput { tolerated, ..StepOutput::default() }))
            }
            (_, Some(failure)) => StepOutcome::Failed(failure),
            (Some(done), None) => done,
            (None, None) => {
                let summary = self.said_of_items(step, &names);
                StepOutcome::Completed(Box::new(StepOutput { summary, ..StepOutput::default() }))
            }
        };
        if foreach.in_worktrees
            && matches!(done, StepOutcome::Completed(_))
            && let Some(end) = self.merge_items(step, (&items, &names))?
        {
            return Ok(end);
        }
        Ok(done)
    }

    /// Returns what agents said about the items, for the steps that build on the loop.
    fn said_of_items(&self, step: &Step, names: &[String]) -> Option<String> {
        let is_recorded = step.has_agent() && self.workflow_step.as_ref() == Some(&step.id);
        let said = is_recorded.then(|| self.context.ledger().item_reports(&step.id))?;
        let lines: Vec<String> = names.iter().filter_map(|name| Some(format!("{name}: {}", said.get(name)?))).collect();
        (!lines.is_empty()).then(|| short_summary(&lines.join("\n")))
    }

    /// Returns the items. Once the loop has begun, they are the recorded ones, also where their source has changed.
    fn items(&mut self, step: &Step, foreach: &Foreach, is_recorded: bool) -> Result<Vec<Value>, StepOutcome> {
        let known = if is_recorded { self.context.ledger().items(&step.id) } else { None };
        if let Some(items) = known {
            self.report_drift(step, foreach, &items);
            return Ok(items);
        }
        let mut items = match &foreach.items {
            Items::List(list) => self.items_of_list(list).map_err(StepOutcome::Failed)?,
            Items::File { file, path } => self.items_of_file(file, path).map_err(StepOutcome::Failed)?,
            Items::Command(command) => self.items_of_command(step, command)?,
        };
        self.select(foreach, &mut items).map_err(StepOutcome::Failed)?;
        Ok(items)
    }

    /// Leaves the items that the loop takes, in its order.
    fn select(&self, foreach: &Foreach, items: &mut Vec<Value>) -> Result<(), Failure> {
        if let Some(only) = &foreach.only {
            let all = std::mem::take(items);
            for item in all {
                if self.holds_for(&only.condition, &item)? {
                    items.push(item);
                }
            }
        }
        selection::sort(items, &foreach.sort_by);
        items.truncate(foreach.max_items.unwrap_or(usize::MAX));
        Ok(())
    }

    /// Warns where the source of the items has changed since the loop began. A command is not run again for that.
    fn report_drift(&self, step: &Step, foreach: &Foreach, recorded: &[Value]) {
        let current = match &foreach.items {
            Items::List(list) => self.items_of_list(list),
            Items::File { file, path } => self.items_of_file(file, path),
            Items::Command(_) => return,
        };
        let current = current.and_then(|mut items| self.select(foreach, &mut items).map(|()| items));
        let (count, id) = (plural(recorded.len(), "recorded item"), &step.id);
        let text = match current {
            Ok(current) => {
                let (now, then) = (piton::item_names(&current), piton::item_names(recorded));
                if now == then {
                    return;
                }
                let missing = |of: &[String], from: &[String]| {
                    of.iter().filter(|name| !from.contains(name)).map(|name| self.context.masks.hide(name)).collect()
                };
                let (added, gone): (Vec<String>, Vec<String>) = (missing(&now, &then), missing(&then, &now));
                let named = |what: &str, names: &[String]| {
                    (!names.is_empty()).then(|| format!("{what}: {}", first_names(names, 5)))
                };
                let changes: Vec<String> = named("new", &added).into_iter().chain(named("gone", &gone)).collect();
                let changes = if changes.is_empty() { "their order".to_owned() } else { changes.join("; ") };
                format!("Step {id}: the source of its items has changed since it began ({changes}); the {count} count")
            }
            Err(failure) => {
                format!("Step {id}: the source of its items fails now ({}); the {count} count", failure.message)
            }
        };
        self.context.console.tell(&Event::Warning { text: &text });
    }

    /// Tells whether a condition holds for an item.
    fn holds_for(&self, condition: &Condition, item: &Value) -> Result<bool, Failure> {
        let mut locals = self.locals.clone();
        locals.insert("item".to_owned(), item.clone());
        let scope = ScopedVariables { locals: &locals, ..self.variables() };
        variables::holds(condition, &scope).map_err(unrendered)
    }

    fn items_of_list(&self, list: &[Template]) -> Result<Vec<Value>, Failure> {
        list.iter().map(|item| self.render(item).map(Value::String)).collect()
    }

    fn items_of_command(&mut self, step: &Step, command: &Template) -> Result<Vec<Value>, StepOutcome> {
        let was = std::mem::replace(&mut self.keeps_stdout, true);
        let done = self.shell(step, command);
        self.keeps_stdout = was;
        match done {
            Ok(StepOutcome::Completed(produced)) => Ok(parse(&String::from_utf8_lossy(&produced.stdout))),
            Ok(done) => Err(done),
            Err(failure) => {
                let message = format!("the command that lists the items failed: {}", failure.message);
                Err(StepOutcome::Failed(Failure { message, ..failure }))
            }
        }
    }

    /// Sets `${ID.total}`, `${ID.successful}`, `${ID.failed}` and `${ID.results}` where a text uses them.
    fn set_results(
        &mut self,
        step: &Step,
        items: &[Value],
        names: &[String],
        failures: &[(String, Failure)],
    ) -> Result<(), Failure> {
        let results = items.iter().zip(names).map(|(item, name)| {
            let error = failures.iter().find(|(failed, _)| failed == name).map(|(_, failure)| &failure.message);
            json!({"item": item, "status": if error.is_none() { "success" } else { "failed" }, "error": error})
        });
        let all = [
            ("total", json!(items.len())),
            ("successful", json!(items.len().saturating_sub(failures.len()))),
            ("failed", json!(failures.len())),
            ("results", Value::Array(results.collect())),
        ];
        for (name, value) in all {
            let name = format!("{}.{name}", step.id);
            if self.context.used.has(&name) {
                self.set_output(name, value)?;
            }
        }
        Ok(())
    }

    /// Reads the items of a JSON file: below the working folder, or where an absolute path says.
    fn items_of_file(&self, file: &Template, path: &JsonPath) -> Result<Vec<Value>, Failure> {
        let shown = self.render(file)?;
        let location = match shown.starts_with('/') {
            true => Utf8PathBuf::from(&shown),
            false => files::below(&self.folder, &shown).map_err(refused)?,
        };
        let text = files::read(&location).map_err(refused)?;
        let document: Value = serde_json::from_str(&text)
            .map_err(|error| refused(format!("the items of `foreach`: {shown} is not JSON: {error}")))?;
        Ok(path.items(&document))
    }

    fn in_parallel(&self, foreach_loop: &ForeachLoop<'_>, results: &Mutex<ItemResults<'_>>) -> Result<(), RunError> {
        thread::scope(|scope| {
            let workers: Vec<_> = (1..=foreach_loop.foreach.parallel.min(foreach_loop.items.len()))
                .map(|_| {
                    let (locals, head, deadline) = (self.locals.clone(), self.head.clone(), self.deadline);
                    let (top, folder) = (self.workflow_step.clone(), self.folder.clone());
                    let (item, label) = (self.item.clone(), self.label.clone());
                    let context = self.context;
                    scope.spawn(store::carried(move || {
                        let mut executor = StepExecutor::new(context)?;
                        (executor.locals, executor.head, executor.deadline, executor.workflow_step) =
                            (locals, head, deadline, top);
                        (executor.folder, executor.item, executor.label) = (folder, item, label);
                        executor.brief.clone_from(&self.brief);
                        executor.of_item = Arc::clone(&self.of_item);
                        executor.in_turn(foreach_loop, results)
                    }))
                })
                .collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    /// Runs one item after the other until none is left or a failure ends the loop.
    fn in_turn(&mut self, foreach_loop: &ForeachLoop<'_>, results: &Mutex<ItemResults<'_>>) -> Result<(), RunError> {
        let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let next = {
                let mut results = lock();
                let may_go_on =
                    results.end.is_none() && (results.failures.is_empty() || foreach_loop.foreach.continue_on_error);
                if may_go_on { results.waiting.pop_front() } else { None }
            };
            let Some(item) = next else { return Ok(()) };
            if let Some(stop) = self.signals.stop() {
                lock().end = Some(StepOutcome::Stopped(stop));
                return Ok(());
            }
            match self.item(foreach_loop, &item)? {
                StepOutcome::Completed(_) | StepOutcome::Skipped(_) => {}
                StepOutcome::Failed(failure) => lock().failures.push((item.name.to_owned(), failure)),
                stopped @ StepOutcome::Stopped(_) => lock().end = Some(stopped),
            }
            let work = std::mem::take(&mut self.work);
            lock().work.add(&work);
        }
    }

    fn item(&mut self, foreach_loop: &ForeachLoop<'_>, item: &Item<'_>) -> Result<StepOutcome, RunError> {
        if foreach_loop.is_recorded {
            if item.number > 1 {
                self.context
                    .check_limits(&SpendingLimits { attempts: None, ..self.context.workflow.limits.clone() })?;
            }
            self.context.ledger().begin_part(&foreach_loop.step.id, item.name, foreach_loop.items)?;
        }
        let outer = (self.locals.clone(), self.item.clone(), self.label.clone(), self.folder.clone());
        self.enter(foreach_loop, item);
        let deadline = self.deadline;
        let own = foreach_loop.foreach.item_timeout.and_then(exec::moment_in);
        self.deadline = [deadline, own].into_iter().flatten().min();
        let done = self.item_begun(foreach_loop, item);
        self.deadline = deadline;
        (self.locals, self.item, self.label, self.folder) = outer;
        done
    }

    /// Makes an item the current one. A loop inside an item belongs to that item.
    fn enter(&mut self, foreach_loop: &ForeachLoop<'_>, item: &Item<'_>) {
        let index = item.number - 1;
        self.locals.insert("item".to_owned(), item.value.clone());
        self.locals.insert("index".to_owned(), Value::from(index));
        self.locals.insert("total".to_owned(), Value::from(foreach_loop.items.len()));
        if self.item.is_some() {
            return;
        }
        let step = foreach_loop.step.id.as_str();
        let name = self.context.masks.hide(item.name);
        self.label = match (&self.label, foreach_loop.foreach.parallel > 1) {
            (Some(_), _) => Some(piton::item_id(step, &name)),
            (None, true) => Some(name.clone()),
            (None, false) => None,
        };
        self.item = Some(CurrentItem { log: piton::log_name(step, item.name), name, index });
    }

    /// Runs the steps for an item that is recorded as begun, and records how it ended.
    fn item_begun(&mut self, foreach_loop: &ForeachLoop<'_>, item: &Item<'_>) -> Result<StepOutcome, RunError> {
        let (step, number, total) = (foreach_loop.step, item.number, foreach_loop.items.len());
        let name = self.context.masks.hide(item.name);
        self.context.console.tell(&Event::Item { source: self.source(step), name: &name, number, total });
        if foreach_loop.foreach.in_worktrees && !self.has_worktree(step, item.name) {
            // What its steps did is gone with it.
            let kept = self.steps_kept((&step.id, &foreach_loop.foreach.steps), item.name);
            self.context.ledger().keep_item_steps(&step.id, item.name, kept)?;
        }
        let in_worktree = foreach_loop.foreach.in_worktrees.then(|| self.enter_worktree(step, item.name));
        let done = match in_worktree.transpose() {
            Ok(folder) => {
                self.folder = folder.unwrap_or_else(|| self.folder.clone());
                self.item_steps((&step.id, &foreach_loop.foreach.steps), (item.name, foreach_loop.is_recorded))?
            }
            Err(failure) => StepOutcome::Failed(failure),
        };
        let (status, error) = match &done {
            StepOutcome::Completed(_) | StepOutcome::Skipped(_) => (Status::Completed, None),
            StepOutcome::Failed(failure) => (Status::Failed, Some(self.context.masks.hide(&failure.message))),
            StepOutcome::Stopped(_) => return Ok(done),
        };
        self.context.console.tell(&Event::ItemEnded { source: self.source(step), error: error.as_deref() });
        if self.folder != self.context.folder && error.is_some() {
            let text = format!("The worktree of item {name} is kept: {}", self.folder);
            self.context.console.tell(&Event::Note { text: &text });
        }
        if foreach_loop.is_recorded {
            let part = Some(item.name.to_owned());
            let said = std::mem::take(&mut self.said).join("\n");
            let summary = Some(said).filter(|said| !said.is_empty());
            let outcome = Outcome { part, status, error, summary, ..Outcome::completed(step.id.clone()) };
            let variables = match self.take_outputs() {
                Ok(variables) => variables,
                Err(message) => return Ok(StepOutcome::Failed(refused(message))),
            };
            let claude = std::mem::take(&mut self.work);
            let left_out = self.left_out(&foreach_loop.foreach.steps);
            let facts = Facts { variables, claude, left_out, ..Facts::default() };
            let mut ledger = self.context.ledger();
            match step.has_agent() {
                true => ledger.record_report(outcome, facts)?,
                false => ledger.record(ChangeKind::Finish(Box::new(outcome)), facts, false)?,
            }
        }
        Ok(done)
    }
}

/// Parses the items that a command printed: the elements of a JSON array, else each line that is not empty.
fn parse(stdout: &str) -> Vec<Value> {
    match serde_json::from_str(stdout) {
        Ok(Value::Array(items)) => items,
        Ok(_) | Err(_) => stdout.lines().map(str::trim).filter(|line| !line.is_empty()).map(Value::from).collect(),
    }
}
