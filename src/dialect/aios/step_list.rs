//! The kinds whose state is a list of steps: where the state has what, and what each change writes into it, as data.
//!
//! Reading the steps is a function of each kind. Entries are elements of a list, members of a mapping, ids in several lists or only a
//! count, and each kind infers the steps that its state does not name in its own way. Only the words for a status and an agent are
//! read alike, by `fields`.

use serde_json::Value;

use super::{
    editor::{StateEditor, open},
    fields::{KindReader as _, read},
    kind::Descriptor,
    steps::first_open,
};
use crate::{
    dialect::{
        EditError, Loaded,
        edit::unsupported,
        writer::{self, StateWriter, outcome_text},
    },
    document::{Reader, escape},
    model::{
        Change, ChangeKind, Edit, EvidenceRequest, FileSet, Outcome, Records, RelPath, Run, Status, Step, StepId,
        mask_secrets, quoted,
    },
};

/// A list-shaped kind. A change without operations is refused. In messages, `{step}` and `{run}` are the ids.
pub(super) struct StepList {
    pub(super) kind: &'static Descriptor,
    pub(super) steps: fn(&Reader<'_>) -> Vec<Step>,
    pub(super) workflow: &'static str,
    /// The title of a run; `{}` is its subject.
    pub(super) title: &'static str,
    pub(super) status: &'static str,
    /// Reads what only this kind has.
    pub(super) complete_run: fn(&Reader<'_>, &mut Run),
    /// What is written, as the subject of a refusal.
    pub(super) what: &'static str,
    /// What to do instead of a refused change of a step, and of the run.
    pub(super) instead: [&'static str; 2],
    /// Where the state has a step; `{}` is its key.
    pub(super) entry: &'static str,
    pub(super) key: Key,
    /// The refusal of a step that the state does not name.
    pub(super) unrecorded: &'static str,
    pub(super) begin: &'static [Op],
    pub(super) finish: &'static [Op],
    pub(super) fail: &'static [Op],
    pub(super) skip: &'static [Op],
    pub(super) pause: &'static [Op],
    pub(super) abort: &'static [Op],
    pub(super) resume: &'static [Op],
    /// What a resume writes for each step that is completed according to the evidence.
    pub(super) catch_up: &'static [Op],
    pub(super) complete: &'static [Op],
    /// The times that every change updates if the state has them.
    pub(super) touched: &'static [&'static str],
}

/// How the state names a step.
pub(super) enum Key {
    /// By its place in the list.
    Place,
    /// By its id without this beginning.
    Id(&'static str),
}

/// One operation of a change. A place is a JSON pointer, in which `{}` is the key of the step, or a key of the step's entry.
pub(super) enum Op {
    /// Sets a word.
    Word(&'static str, &'static str),
    /// Sets the reason, the error or the summary, if there is one.
    Text(&'static str),
    /// Sets the key of the step as text.
    Key(&'static str),
    /// Sets the key as a number, if it is one.
    Number(&'static str),
    /// Sets a number.
    Count(&'static str, fn(&StepChange<'_>) -> u32),
    /// Sets a time to that of the change.
    Now(&'static str),
    /// Sets a value, if there is one.
    Set(&'static str, fn(&ListWriter, &StepChange<'_>) -> Option<Value>),
    /// Sets a value to null, if the state has one.
    Null(&'static str),
    /// Removes a key or an element, if the state has it.
    Remove(&'static str),
    /// Appends a value to a list.
    Push(&'static str, fn(&ListWriter, &StepChange<'_>) -> Value),
    /// Adds the key to a list.
    Add(&'static str),
    /// Takes the key out of a list.
    Take(&'static str),
    /// Writes the first operations if no step is open any more, else the second for the first open step.
    IfOver(&'static [Op], &'static [Op]),
    /// Refuses: what cannot be done, and what to do instead.
    Refuse(&'static str, &'static str),
    /// Writes what only this kind has.
    Do(fn(&mut ListWriter, &StepChange<'_>) -> Result<(), EditError>),
}

/// A change and the step that it is about, if any.
#[derive(Clone, Default)]
pub(super) struct StepChange<'a> {
    step: Option<&'a StepId>,
    pub(super) key: &'a str,
    /// The place of the step in the run.
    pub(super) at: usize,
    /// The agent of the change, else that of the step.
    pub(super) agent: Option<String>,
    pub(super) attempt: u32,
    /// The reason, the error or the summary, with secrets masked.
    pub(super) text: Option<String>,
    pub(super) outcome: Option<&'a Outcome>,
}

impl StepChange<'_> {
    pub(super) fn error(&self) -> &str {
        self.text.as_deref().unwrap_or("it failed")
    }
}

impl StepList {
    /// Returns a kind of which nothing is written.
    pub(super) const fn new(kind: &'static Descriptor, steps: fn(&Reader<'_>) -> Vec<Step>) -> Self {
        Self {
            kind,
            steps,
            workflow: "",
            title: "Workflow {}",
            status: "/status",
            complete_run: |_, _| {},
            what: "",
            instead: ["`piton plan {run}` shows what comes next"; 2],
            entry: "",
            key: Key::Id(""),
            unrecorded: "",
            begin: &[],
            finish: &[],
            fail: &[],
            skip: &[],
            pause: &[],
            abort: &[],
            resume: &[],
            catch_up: &[],
            complete: &[],
            touched: &[],
        }
    }

    /// Returns the changes by a person that the format can record.
    pub(super) const fn records(&self) -> Records {
        Records {
            skip: !self.skip.is_empty(),
            pause: !self.pause.is_empty(),
            abort: !self.abort.is_empty(),
            resume: !self.resume.is_empty(),
            ..Records::RESUME
        }
    }

    /// Reads the run.
    pub(super) fn load(&self, files: &FileSet) -> Loaded {
        let tree = match read(files) {
            Ok(tree) => tree,
            Err(loaded) => return *loaded,
        };
        let title = self.title.replace("{}", &tree.subject(self.kind));
        let mut run = tree.run(self.kind, self.workflow, title);
        run.steps = (self.steps)(&tree);
        run.status = tree.at(self.status).run_status(&run.steps);
        run.position = first_open(&run.steps).map(|step| step.id.clone());
        (self.complete_run)(&tree, &mut run);
        let plan = run.workspace.plan_reference.as_deref().and_then(|plan| RelPath::parse(plan).ok());
        let wanted = EvidenceRequest {
            commits: run.steps.iter().filter_map(|step| step.commit.clone()).collect(),
            documents: plan.into_iter().collect(),
            workspace: run.workspace.worktree.clone().map(Some),
            ..EvidenceRequest::default()
        };
        Loaded { wanted, ..tree.loaded(run) }
    }

    /// Computes the edits of a change.
    ///
    /// # Errors
    ///
    /// As [`writer::write`].
    pub(super) fn edit(&'static self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        let (editor, run) = open(self.kind, files, change)?;
        let mut writer = ListWriter { list: self, editor, run };
        if writer.apply(&change.kind)? { writer.into_edits() } else { writer::write(writer, change) }
    }
}

/// The state of a list-shaped kind being written.
pub(super) struct ListWriter {
    list: &'static StepList,
    pub(super) editor: StateEditor,
    pub(super) run: Run,
}

impl ListWriter {
    /// Writes what the list says for a change. Returns whether it says anything.
    fn apply(&mut self, kind: &ChangeKind) -> Result<bool, EditError> {
        if kind.part().is_some() {
            return Ok(false);
        }
        let list = self.list;
        let masked = |text: &str| mask_secrets(text).into_owned();
        match kind {
            ChangeKind::Begin { step, agent, attempt, .. } => {
                let change = StepChange { agent: agent.clone(), attempt: *attempt, ..StepChange::default() };
                self.write_step(step, Status::InProgress, list.begin, change)
            }
            ChangeKind::Finish(_) if list.finish.is_empty() => Ok(false),
            ChangeKind::Finish(outcome) => {
                let (status, ops) = if self.completes(outcome)? {
                    (Status::Completed, list.finish)
                } else {
                    (Status::Failed, list.fail)
                };
                let change = StepChange {
                    agent: outcome.agent.clone(),
                    attempt: outcome.attempt,
                    text: outcome_text(outcome),
                    outcome: Some(outcome),
                    ..StepChange::default()
                };
                self.write_step(&outcome.step, status, ops, change)
            }
            ChangeKind::Skip { step, reason, .. } => {
                let change = StepChange { text: Some(masked(reason)), ..StepChange::default() };
                self.write_step(step, Status::Skipped, list.skip, change)
            }
            ChangeKind::Pause { .. } => self.write(list.pause, &StepChange::default()),
            ChangeKind::Abort { reason, .. } => {
                let change = StepChange { text: reason.as_deref().map(masked), ..StepChange::default() };
                self.write(list.abort, &change)
            }
            ChangeKind::Resume { settled, .. } => {
                let is_written = self.write(list.resume, &StepChange::default())?;
                for (step, _) in settled {
                    self.write_step(step, Status::Completed, list.catch_up, StepChange::default())?;
                }
                Ok(is_written)
            }
            ChangeKind::Complete { .. } => self.write(list.complete, &StepChange::default()),
            ChangeKind::Approve { .. } | ChangeKind::RollBack(_) | ChangeKind::Repair { .. } | ChangeKind::Start(_) => {
                Ok(false)
            }
        }
    }

    /// Writes operations for a step, which has the status from then on. Returns whether there are any.
    fn write_step(
        &mut self,
        step: &StepId,
        status: Status,
        ops: &[Op],
        change: StepChange<'_>,
    ) -> Result<bool, EditError> {
        if ops.is_empty() {
            return Ok(false);
        }
        let at = self.place(step)?;
        self.run.steps[at].status = status;
        let (key, agent) = (self.key(at), change.agent.or_else(|| self.run.steps[at].agent.clone()));
        self.write(ops, &StepChange { step: Some(step), key: &key, at, agent, ..change })
    }

    fn place(&self, step: &StepId) -> Result<usize, EditError> {
        match self.run.steps.iter().position(|known| known.id == *step) {
            Some(at) if self.run.steps[at].recorded => Ok(at),
            Some(_) => unsupported(self.list.unrecorded.to_owned()),
            None => unsupported(format!("`{step}` is not a step of this run")),
        }
    }

    fn key(&self, at: usize) -> String {
        match self.list.key {
            Key::Place => at.to_string(),
            Key::Id(beginning) => {
                let id = self.run.steps[at].id.as_str();
                id.strip_prefix(beginning).unwrap_or(id).to_owned()
            }
        }
    }

    /// Writes operations in order. Returns whether there are any.
    fn write(&mut self, ops: &[Op], change: &StepChange<'_>) -> Result<bool, EditError> {
        ops.iter().try_for_each(|op| self.write_op(op, change))?;
        Ok(!ops.is_empty())
    }

    fn write_op(&mut self, op: &Op, change: &StepChange<'_>) -> Result<(), EditError> {
        let place = |place: &str| {
            let pointer =
                if place.starts_with('/') { place.to_owned() } else { format!("{}/{place}", self.list.entry) };
            pointer.replace("{}", &escape(change.key))
        };
        match *op {
            Op::Word(at, word) => self.editor.set_text(&place(at), word),
            Op::Text(at) => change.text.as_deref().map_or(Ok(()), |text| self.editor.set_text(&place(at), text)),
            Op::Key(at) => self.editor.set_text(&place(at), change.key),
            Op::Number(at) => match change.key.parse() {
                Ok(number) => self.editor.set_number(&place(at), number),
                Err(_) => self.editor.set_text(&place(at), change.key),
            },
            Op::Count(at, count) => self.editor.set_number(&place(at), count(change).into()),
            Op::Now(at) => self.editor.stamp(&place(at), None),
            Op::Set(at, value) => value(self, change).map_or(Ok(()), |value| self.editor.set(&place(at), &value)),
            Op::Null(at) => self.editor.clear(&place(at)),
            Op::Remove(at) => self.editor.remove(&place(at)),
            Op::Push(at, value) => self.editor.push(&place(at), &value(self, change)),
            Op::Add(list) => self.editor.add_to_list(list, change.key),
            Op::Take(list) => self.editor.remove_from_list(list, change.key),
            Op::IfOver(over, open) => {
                let next = self.run.steps.iter().position(|step| !step.status.satisfies());
                let (ops, at) = next.map_or((over, change.at), |at| (open, at));
                let key = self.key(at);
                self.write(ops, &StepChange { key: &key, at, ..change.clone() }).map(drop)
            }
            Op::Refuse(what, instead) => {
                Err(EditError::cannot(self.list.what, what, self.filled(instead, change.step)))
            }
            Op::Do(call) => call(self, change),
        }
    }

    fn filled(&self, message: &str, step: Option<&StepId>) -> String {
        let step = step.map_or_else(String::new, |step| quoted(step.as_str()));
        message.replace("{step}", &step).replace("{run}", &StateWriter::run(self))
    }
}

/// Refuses what the list does not say.
impl StateWriter for ListWriter {
    const WHAT: &'static str = "a list of steps";

    fn what(&self) -> &'static str {
        self.list.what
    }

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, step: Option<&StepId>) -> String {
        let [of_step, of_run] = self.list.instead;
        self.filled(if step.is_some() { of_step } else { of_run }, step)
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(self.list.touched)
    }
}

#[cfg(test)]
#[path = "step_list_tests.rs"]
mod tests;
