//! `foreach`: the same steps for each item. In a top-level step each item is recorded as a part, so that a resume continues with the
//! items that did not finish.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

use camino::Utf8PathBuf;
use serde_json::Value;
use serde_json::json;

use super::console::Event;
use super::error::RunError;
use super::files;
use super::retry::Failure;
use super::step_executor::StepExecutor;
use super::step_executor::StepOutcome;
use super::step_executor::StepOutput;
use super::step_executor::refused;
use crate::dialect::script::facts::Facts;
use crate::dialect::script::state::part_names;
use crate::model::ChangeKind;
use crate::model::ClaudeWork;
use crate::model::Outcome;
use crate::model::Status;
use crate::workflow::Foreach;
use crate::workflow::Items;
use crate::workflow::JsonPath;
use crate::workflow::Limits;
use crate::workflow::Step;
use crate::workflow::template::Template;

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
        let mut items = match self.items(step, foreach, is_recorded) {
            Ok(items) => items,
            Err(done) => return Ok(done),
        };
        items.truncate(foreach.max_items.unwrap_or(usize::MAX));
        let names = part_names(&items);
        if is_recorded {
            self.context.ledger().set_parts(&step.id, &names);
        }
        let is_open = |name: &str| !is_recorded || !self.context.ledger().is_part_done(&step.id, name);
        let waiting = items.iter().zip(&names).zip(1..).map(|((value, name), number)| Item { number, value, name });
        let waiting: VecDeque<Item<'_>> = waiting.filter(|item| is_open(item.name)).collect();
        let foreach_loop = ForeachLoop { step, foreach, items: &items, is_recorded };
        let results = Mutex::new(ItemResults { waiting, ..ItemResults::default() });
        if foreach.parallel > 1 {
            self.in_parallel(&foreach_loop, &results)?;
        } else {
            self.in_turn(&foreach_loop, &results)?;
        }
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.work.add(&results.work);
        if let Err(failure) = self.set_results(step, &items, &names, &results.failures) {
            return Ok(StepOutcome::Failed(failure));
        }
        Ok(match (results.end, results.failures.first()) {
            (Some(stopped @ StepOutcome::Stopped(_)), _) => stopped,
            (_, Some((name, failure))) if results.failures.len() <= foreach.max_failures.unwrap_or(0) => {
                let count = results.failures.len();
                let tolerated = format!("{count} of {} items failed, first {name}: {}", items.len(), failure.message);
                StepOutcome::Completed(Box::new(StepOutput { tolerated: Some(tolerated), ..StepOutput::default() }))
            }
            (_, Some((name, failure))) => {
                let more = match results.failures.len() {
                    1 => String::new(),
                    count => format!(" (and {} more)", count - 1),
                };
                let message = format!("item {name}: {}{more}", failure.message);
                StepOutcome::Failed(Failure { message, ..failure.clone() })
            }
            (Some(done), None) => done,
            (None, None) => StepOutcome::Completed(Box::default()),
        })
    }

    /// Returns the items. Those that a command printed are recorded, so that a resume uses the same ones.
    fn items(&mut self, step: &Step, foreach: &Foreach, is_recorded: bool) -> Result<Vec<Value>, StepOutcome> {
        match &foreach.items {
            Items::List(list) => {
                let items = list.iter().map(|item| self.render(item).map(Value::String));
                items.collect::<Result<_, _>>().map_err(StepOutcome::Failed)
            }
            Items::File { file, path } => {
                let known = if is_recorded { self.context.ledger().items(&step.id) } else { None };
                match known {
                    Some(items) => Ok(items),
                    None => self.items_of_file(file, path).map_err(StepOutcome::Failed),
                }
            }
            Items::Command(command) => {
                let known = if is_recorded { self.context.ledger().items(&step.id) } else { None };
                if let Some(items) = known {
                    return Ok(items);
                }
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
            false => files::below(&self.context.folder, &shown).map_err(refused)?,
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
                    let top = self.workflow_step.clone();
                    let context = self.context;
                    scope.spawn(move || {
                        let mut executor = StepExecutor::new(context)?;
                        (executor.locals, executor.head, executor.deadline, executor.workflow_step) =
                            (locals, head, deadline, top);
                        executor.in_turn(foreach_loop, results)
                    })
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
        let (step, total) = (&foreach_loop.step.id, foreach_loop.items.len());
        if foreach_loop.is_recorded {
            if item.number > 1 {
                self.context.check_limits(&Limits { attempts: None, ..self.context.workflow.limits.clone() })?;
            }
            self.context.ledger().begin_part(step, item.name, foreach_loop.items)?;
        }
        let (number, name) = (item.number, item.name);
        self.context.console.tell(&Event::Item { step: step.as_str(), name, number, total });
        let outer = self.locals.clone();
        self.locals.insert("item".to_owned(), item.value.clone());
        self.locals.insert("index".to_owned(), Value::from(item.number - 1));
        self.locals.insert("total".to_owned(), Value::from(total));
        let done = self.run_all(&foreach_loop.foreach.steps);
        self.locals = outer;
        let done = done?;
        if foreach_loop.is_recorded {
            let (status, error) = match &done {
                StepOutcome::Completed(_) | StepOutcome::Skipped(_) => (Status::Completed, None),
                StepOutcome::Failed(failure) => (Status::Failed, Some(failure.message.clone())),
                StepOutcome::Stopped(_) => return Ok(done),
            };
            let part = Some(item.name.to_owned());
            let outcome = Outcome { part, status, error, ..Outcome::completed(step.clone()) };
            let variables = match self.take_outputs() {
                Ok(variables) => variables,
                Err(message) => return Ok(StepOutcome::Failed(refused(message))),
            };
            let claude = std::mem::take(&mut self.work);
            let facts = Facts { variables, claude, ..Facts::default() };
            self.context.ledger().record(ChangeKind::Finish(Box::new(outcome)), facts, false)?;
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
