//! A `claude` step: its conversation, what it did, and what it was denied.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    claude::{self, Prompt},
    console::Event,
    retry::Failure,
    step_executor::{StepExecutor, StepOutcome, refused},
};
use crate::{
    model::ClaudeWork,
    workflow::{Claude, ClaudeOptions, Conversation, Step},
};

/// What the client says when it does not know a conversation.
const NO_CONVERSATION: &str = "No conversation found";

impl StepExecutor<'_> {
    pub(super) fn claude(&mut self, step: &Step, claude: &Claude) -> Result<StepOutcome, Failure> {
        let prompt = self.render(&claude.prompt)?;
        self.ask_claude(step, Prompt { text: &prompt, agent: None }, &claude.options, &[])
    }

    /// Calls `claude` with a prompt, in the conversation that the options name.
    pub(super) fn ask_claude(
        &mut self,
        step: &Step,
        prompt: Prompt<'_>,
        options: &ClaudeOptions,
        env: &[(String, String)],
    ) -> Result<StepOutcome, Failure> {
        let session = self.conversation(step, &options.conversation)?;
        let words = claude::words(prompt, options, session.as_deref());
        match self.run_command(step, words, env.to_vec(), true) {
            Err(failure)
                if options.conversation == Conversation::OfTries
                    && session.is_some()
                    && failure.message.contains(NO_CONVERSATION) =>
            {
                let text = format!("The conversation of step {} is gone; a new one begins", step.id);
                self.context.console.tell(&Event::Note { text: &text });
                self.run_command(step, claude::words(prompt, options, None), env.to_vec(), true)
            }
            done => done,
        }
    }

    /// Returns the client's session that a call continues.
    fn conversation(&self, step: &Step, conversation: &Conversation) -> Result<Option<String>, Failure> {
        match conversation {
            Conversation::New => Ok(None),
            Conversation::OfTries => {
                let recorded = || {
                    let ledger = self.context.ledger();
                    let state = ledger.step(&step.id).filter(|state| state.failures > 0)?;
                    state.claude.session.clone()
                };
                Ok(self.conversations.get(&step.id).cloned().or_else(recorded))
            }
            Conversation::Of(of) => {
                let name = format!("{}.session", of.id);
                let here = self.outputs.get(&name).cloned();
                let found = match here {
                    Some(value) => Some(value),
                    None => self.context.ledger().variable(&name).map_err(refused)?,
                };
                match found {
                    Some(Value::String(session)) => Ok(Some(session)),
                    Some(_) | None => {
                        Err(refused(format!("it continues the conversation of step {}, which left none", of.id)))
                    }
                }
            }
        }
    }

    /// Counts what a call did, and reports it.
    pub(super) fn count_work(&mut self, step: &Step, mut work: ClaudeWork, took: Duration) -> ClaudeWork {
        work.milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.context.console.tell(&Event::Claude { source: self.source(step), work: &work });
        if let Some(session) = &work.session {
            self.conversations.insert(step.id.clone(), session.clone());
        }
        self.work.add(&work);
        work
    }

    /// Refuses the result of a call whose tools were denied; a person hears of every denial.
    pub(super) fn check_denials(&self, step: &Step, work: &ClaudeWork, is_all: bool) -> Result<(), Failure> {
        if work.denied.is_empty() {
            return Ok(());
        }
        let denied = work.denials_in_words();
        let rules: Vec<String> = work.missing_rules().iter().map(|rule| format!("\"{rule}\"")).collect();
        let allow = format!("to allow it: `allowed_tools: [{}]`", rules.join(", "));
        let fails = step.claude_options().is_some_and(|options| options.fails_on_denied);
        if is_all {
            return Err(refused(format!("every tool call was denied: {denied}; {allow}")));
        }
        if fails {
            return Err(refused(format!("a tool call was denied: {denied}; {allow}")));
        }
        let text = format!("Step {}: denied: {denied}; {allow}", step.id);
        self.context.console.tell(&Event::Warning { text: &text });
        Ok(())
    }

    /// Sets `${ID.cost}` and the like where a text uses them.
    pub(super) fn set_work(&mut self, step: &Step, work: &ClaudeWork) -> Result<(), Failure> {
        let all = [
            ("cost", json!(work.cost_usd)),
            ("session", json!(work.session)),
            ("turns", json!(work.turns)),
            ("tokens", json!(work.tokens())),
            ("tool_calls", json!(work.tool_calls())),
            ("denied", json!(work.denials())),
        ];
        let under = [format!("{}", step.id), format!("step.{}", step.id)];
        let captures = step.captures.iter().map(|capture| capture.name.clone());
        for name in under.into_iter().chain(captures) {
            for (what, value) in &all {
                let name = format!("{name}.{what}");
                if self.context.used.has(&name) {
                    self.set_output(name, value.clone())?;
                }
            }
        }
        Ok(())
    }
}
