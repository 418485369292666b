//! The shells that run the commands of a workflow. Pure.

use super::{Command, Step, Workflow};
use crate::{
    document::definition::{Problems, Text},
    model::{clean_line, nearest, words},
};

words! {
    /// A shell that runs the commands of a step. All quote like `sh`, so a value never becomes part of a command in any of them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Interpreter {
        #[default]
        Sh = "sh",
        Bash = "bash",
        Dash = "dash",
        Ksh = "ksh",
        Zsh = "zsh",
    }
    const ALL;
}

impl Interpreter {
    /// Returns the words that run a command.
    pub(crate) fn words(self, command: String) -> Vec<String> {
        // Every system has this one, also with an empty PATH.
        let program = if self == Self::Sh { "/bin/sh" } else { self.as_str() };
        vec![program.to_owned(), "-c".to_owned(), command]
    }

    /// Reads the name of a shell.
    pub(super) fn parse(text: &Text, problems: &mut Problems<'_>) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|one| one.as_str() == text.text);
        if found.is_none() {
            let names = Self::ALL.map(Self::as_str);
            let message = format!("`{}` is not an interpreter of commands", clean_line(&text.text, 40));
            let fix = match nearest(&text.text, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use {}; call another one in the command", names.join(", ")),
            };
            problems.add(text.place, message, fix);
        }
        found
    }
}

impl Step {
    /// Gives the steps that do not name an interpreter the one around them.
    pub(super) fn inherit_interpreter(&mut self, outer: Option<Interpreter>) {
        let own = self.interpreter.or(outer);
        // An agent and a person run no command; what is around their step may.
        if !matches!(self.command, Command::Agent(_) | Command::Gate(_)) {
            self.interpreter = own;
        }
        self.inside_mut().into_iter().flatten().for_each(|step| step.inherit_interpreter(own));
    }

    /// Adds the interpreters that it and the steps inside it need.
    pub(crate) fn interpreters(&self, found: &mut Vec<Interpreter>) {
        found.extend(self.interpreter);
        self.inside().into_iter().flatten().for_each(|step| step.interpreters(found));
    }
}

impl Workflow {
    /// Sets the interpreter of every step that names none.
    pub(super) fn set_interpreter(&mut self, interpreter: Option<Interpreter>) {
        let merge = self.merge.iter_mut().flat_map(|merge| &mut merge.steps);
        let all = self.steps.iter_mut().chain(merge).chain(&mut self.on_stop);
        all.for_each(|step| step.inherit_interpreter(interpreter));
    }
}
