//! Steps as they are before their keys are read, and completed. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Command, Foreach, Items, Retry, Step, policy::Inherited};
use crate::{
    document::TextPosition,
    model::{StepId, clean_line},
};

/// Returns a step that only has a command.
pub(super) fn bare(place: TextPosition, id: &str, command: Command) -> Step {
    Step {
        id: StepId::new(id),
        id_place: place,
        title: usual_title(id, &command),
        command,
        group: None,
        depends_on: Vec::new(),
        reviews: None,
        needs: Vec::new(),
        uses: Vec::new(),
        outputs: Vec::new(),
        result: None,
        parts: Vec::new(),
        when: None,
        is_final: false,
        timeout: None,
        has_default_timeout: false,
        retry: None,
        captures: Vec::new(),
        env: BTreeMap::new(),
        secrets: BTreeMap::new(),
        working_dir: None,
        on_failure: None,
        validate: None,
        commit_required: false,
        idempotent: true,
        probe: None,
        place,
        canonical: Value::Null,
    }
}

/// Completes a step that was read or made: inherited settings, and its canonical form.
pub(super) fn complete(mut step: Step, inherited: &Inherited) -> Step {
    // A gate waits for a person, and the default is for work.
    if !matches!(step.command, Command::Gate(_)) {
        step.has_default_timeout = step.timeout.is_none();
        step.timeout = step.timeout.or(inherited.timeout);
    }
    if step.retry.is_none() && !matches!(step.command, Command::Gate(_)) {
        let is_claude = step.claude_options().is_some();
        step.retry = inherited.retry.clone().or_else(|| is_claude.then(Retry::of_claude));
    }
    step.canonical = super::canonical::of(&step);
    step
}

impl Step {
    /// Returns its title, if the file gives it one.
    pub(crate) fn given_title(&self) -> Option<&str> {
        (self.title != usual_title(self.id.as_str(), &self.command)).then_some(&self.title)
    }
}

/// Returns the title of a step without one: what it does, in one line.
fn usual_title(id: &str, command: &Command) -> String {
    let text = match command {
        Command::Agent(_) | Command::Gate(_) => return id.to_owned(),
        Command::Shell(text) => text.to_string(),
        Command::Claude(claude) => claude.prompt.to_string(),
        Command::WriteFile(file) => format!("write {}", file.path),
        Command::Foreach(Foreach { items: Items::List(items), .. }) => format!("for each of {} items", items.len()),
        Command::Foreach(Foreach { items: Items::Command(command), .. }) => format!("for each of `{command}`"),
        Command::Foreach(Foreach { items: Items::File { file, path }, .. }) => format!("for each of {file} at {path}"),
        Command::Validate(validate) => {
            let first = validate.steps.first().map_or_else(String::new, |step| format!(": {}", step.title));
            format!("validate{first}")
        }
    };
    clean_line(&text, 80)
}
