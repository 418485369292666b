//! Names of included steps: their ids, and the variables that they set, get the id of the `include` in front. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Command, Conversation, Instructions, Items, Step, StepReference, Workflow, canonical,
    condition::{Condition, Operand},
    names,
    template::{Piece, Reference, Template},
};
use crate::{
    document::TextPosition,
    model::{GateEffect, StepId},
};

/// The new names of what an included file sets.
pub(super) struct Renamed {
    prefix: String,
    /// The ids of its steps, the names that they set, and its inputs.
    own: BTreeSet<String>,
    /// Inputs that are another variable of the file that includes.
    aliases: BTreeMap<String, String>,
    /// Where the `include` is: mistakes of the whole are reported there.
    place: TextPosition,
}

impl Renamed {
    pub(super) fn of(included: &Workflow, prefix: &str, place: TextPosition) -> Self {
        let mut own = BTreeSet::new();
        own.extend(included.inputs.iter().map(|input| input.name.clone()));
        for step in &included.steps {
            ids(step, &mut own);
            let mut set = Vec::new();
            names::set_by(step, &mut set);
            own.extend(set);
        }
        Self { prefix: prefix.to_owned(), own, aliases: BTreeMap::new(), place }
    }

    /// Has an input stand for another variable.
    pub(super) fn alias(&mut self, input: &str, variable: &str) {
        self.aliases.insert(input.to_owned(), variable.to_owned());
    }

    /// Renames everything in a step and in those inside it.
    pub(super) fn step(&self, step: &mut Step) {
        step.id = self.id(&step.id);
        (step.id_place, step.place) = (self.place, self.place);
        for reference in step.depends_on.iter_mut().chain(&mut step.reviews).chain(&mut step.needs) {
            self.reference(reference);
        }
        if let Some(when) = &mut step.when {
            (when.place, when.group_place) = (self.place, None);
            self.condition(&mut when.condition);
        }
        for output in &mut step.outputs {
            output.place = self.place;
            self.text(&mut output.path);
        }
        let texts = step.env.values_mut().chain(&mut step.working_dir);
        texts.chain(&mut step.probe).for_each(|text| self.text(text));
        self.command(&mut step.command);
        step.inside_mut().into_iter().flatten().for_each(|inner| self.step(inner));
        step.canonical = canonical::of(step);
    }

    fn command(&self, command: &mut Command) {
        match command {
            Command::Agent(work) => work.instructions.iter_mut().for_each(|told| self.told(told)),
            Command::Gate(gate) => {
                gate.place = self.place;
                gate.instructions.iter_mut().for_each(|told| self.told(told));
                for (option, place) in &mut gate.options {
                    *place = self.place;
                    if let GateEffect::Return(step) = &mut option.effect {
                        *step = self.id(step);
                    }
                }
            }
            Command::Shell(text) => self.text(text),
            Command::Claude(claude) => {
                self.text(&mut claude.prompt);
                if let Conversation::Of(step) = &mut claude.options.conversation {
                    self.reference(step);
                }
            }
            Command::Foreach(foreach) => {
                if let Some(only) = &mut foreach.only {
                    only.place = self.place;
                    self.condition(&mut only.condition);
                }
                match &mut foreach.items {
                    Items::List(items) => items.iter_mut().for_each(|item| self.text(item)),
                    Items::Command(text) | Items::File { file: text, .. } => self.text(text),
                }
            }
            Command::WriteFile(file) => {
                self.text(&mut file.path);
                self.text(&mut file.content);
            }
            Command::Validate(validate) => validate.result_file.iter_mut().for_each(|text| self.text(text)),
        }
    }

    fn id(&self, id: &StepId) -> StepId {
        StepId::new(format!("{}.{id}", self.prefix))
    }

    fn reference(&self, reference: &mut StepReference) {
        reference.id = self.id(&reference.id);
        reference.place = self.place;
    }

    fn told(&self, told: &mut Instructions) {
        self.text(&mut told.template);
        told.text = told.template.pieces.iter().map(written).collect();
    }

    fn text(&self, text: &mut Template) {
        text.place = self.place;
        for piece in &mut text.pieces {
            match piece {
                Piece::Literal(_) => {}
                Piece::Variable(reference) => self.variable(reference),
            }
        }
    }

    fn variable(&self, reference: &mut Reference) {
        if let Some(name) = self.name(&reference.path) {
            reference.path = name;
        }
        reference.fallback.iter_mut().for_each(|text| self.text(text));
    }

    fn condition(&self, condition: &mut Condition) {
        match condition {
            Condition::Value(operand) => self.operand(operand),
            Condition::Not(inner) => self.condition(inner),
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left);
                self.condition(right);
            }
            Condition::Compare(left, _, right) => {
                self.operand(left);
                self.operand(right);
            }
        }
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Literal(_) => {}
            Operand::Variable(reference) => self.variable(reference),
        }
    }

    /// Returns the new name of a variable; `None` for one that the file does not set, such as a built-in one.
    fn name(&self, path: &str) -> Option<String> {
        if let Some(of_step) = path.strip_prefix("step.").and_then(|rest| self.name(rest)) {
            return Some(format!("step.{of_step}"));
        }
        let ends = std::iter::once(path.len()).chain(path.rmatch_indices('.').map(|(at, _)| at));
        let end = ends.into_iter().find(|end| self.own.contains(&path[..*end]))?;
        Some(match self.aliases.get(&path[..end]) {
            Some(alias) => format!("{alias}{}", &path[end..]),
            None => format!("{}.{path}", self.prefix),
        })
    }
}

/// Returns a piece of a text as a file spells it.
fn written(piece: &Piece) -> String {
    match piece {
        Piece::Literal(text) => text.replace("${", "$${"),
        Piece::Variable(_) => Template { pieces: vec![piece.clone()], place: TextPosition::default() }.to_string(),
    }
}

fn ids(step: &Step, found: &mut BTreeSet<String>) {
    found.insert(step.id.as_str().to_owned());
    step.inside().into_iter().flatten().for_each(|inner| ids(inner, found));
}
