//! What a step and those inside it do. Pure.

use std::collections::BTreeMap;

use super::{ClaudeOptions, Command, Secret, Step, Workflow};

impl Workflow {
    /// Returns the secrets of the workflow and of its steps, at any depth.
    pub(crate) fn all_secrets(&self) -> BTreeMap<String, Secret> {
        let mut all = self.secrets.clone();
        self.each_step(&mut |step| all.extend(step.secrets.clone()));
        all
    }

    /// Calls `look` with every step, at any depth.
    pub(super) fn each_step(&self, look: &mut dyn FnMut(&Step)) {
        self.steps.iter().chain(self.around()).for_each(|step| step.each(look));
    }
}

impl Step {
    fn each(&self, look: &mut dyn FnMut(&Self)) {
        look(self);
        self.inside().into_iter().flatten().for_each(|step| step.each(look));
    }

    /// Tells whether it, or a step inside of it, calls `claude`.
    pub(crate) fn needs_claude(&self) -> bool {
        matches!(self.command, Command::Claude(_) | Command::Agent(_))
            || self.inside().into_iter().flatten().any(Self::needs_claude)
    }

    /// Returns the agent that it is for, if it names one.
    pub(crate) fn agent(&self) -> Option<&str> {
        match &self.command {
            Command::Agent(work) => work.agent.as_deref(),
            Command::Gate(_)
            | Command::Shell(_)
            | Command::Claude(_)
            | Command::Foreach(_)
            | Command::WriteFile(_)
            | Command::Validate(_) => None,
        }
    }

    /// Tells whether it, or a step inside of it, is work for an agent.
    pub(crate) fn has_agent(&self) -> bool {
        matches!(self.command, Command::Agent(_)) || self.inside().into_iter().flatten().any(Self::has_agent)
    }

    /// Returns the options of its call of `claude`, if it is one.
    pub(crate) const fn claude_options(&self) -> Option<&ClaudeOptions> {
        match &self.command {
            Command::Claude(claude) => Some(&claude.options),
            Command::Agent(work) => Some(&work.options),
            Command::Gate(_)
            | Command::Shell(_)
            | Command::Foreach(_)
            | Command::WriteFile(_)
            | Command::Validate(_) => None,
        }
    }

    /// Returns the lists of its nested steps, to change them.
    pub(super) fn inside_mut(&mut self) -> Vec<&mut [Self]> {
        let mut inside: Vec<&mut [Self]> = match &mut self.command {
            Command::Agent(_) | Command::Gate(_) | Command::Shell(_) | Command::Claude(_) | Command::WriteFile(_) => {
                Vec::new()
            }
            Command::Foreach(foreach) => vec![&mut foreach.steps],
            Command::Validate(validate) => {
                let gap = validate.on_incomplete.as_mut().map_or(&mut [][..], |gap| &mut gap.steps);
                vec![&mut validate.steps, gap]
            }
        };
        inside.push(self.on_failure.as_mut().map_or(&mut [][..], |handler| &mut handler.steps));
        inside.push(self.validate.as_deref_mut().map_or(&mut [][..], std::slice::from_mut));
        inside
    }

    /// Returns the lists of its nested steps, in the order of the file.
    pub(crate) fn inside(&self) -> Vec<&[Self]> {
        let mut inside: Vec<&[Self]> = match &self.command {
            Command::Agent(_) | Command::Gate(_) | Command::Shell(_) | Command::Claude(_) | Command::WriteFile(_) => {
                Vec::new()
            }
            Command::Foreach(foreach) => vec![&foreach.steps],
            Command::Validate(validate) => {
                let gap = validate.on_incomplete.as_ref().map_or(&[][..], |gap| &gap.steps);
                vec![&validate.steps, gap]
            }
        };
        inside.push(self.on_failure.as_ref().map_or(&[][..], |handler| &handler.steps));
        inside.push(self.measurement());
        inside
    }
}
