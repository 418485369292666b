//! `hook`: reads the client's event, prints the JSON that the client expects or nothing, and exits with 0: the client shows any
//! other code to the user as an error.

use std::{
    ffi::OsString,
    io,
    panic::{self, AssertUnwindSafe},
};

use serde_json::json;

use super::prelude::*;
use crate::{
    cli::{
        output::{self, Text},
        render,
    },
    hook::{self, Answer},
    model::{Suggested, Verb},
};

/// The client cuts longer texts off (hooks reference, 2.1.197: 10,000 characters).
const TEXT_CHARS: usize = 9_500;

#[derive(Debug, Args)]
pub(in crate::cli) struct Hook {
    /// The event; its fields are JSON on standard input
    #[arg(value_name = "EVENT")]
    event: String,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Statusline;

impl Command for Hook {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        quietly(|text| {
            let answer = hook::handle(&self.event, text, &call.request(None), call.line.called);
            if !answer.is_empty() {
                output::print_json(&document(&answer))?;
            }
            Ok(Exit::Ok)
        })
    }

    fn is_for_client(&self) -> bool {
        true
    }
}

impl Command for Statusline {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        quietly(|text| {
            if let Some(line) = hook::status_line(text, &call.request(None)) {
                output::print_text(Text::default().line(line))?;
            }
            Ok(Exit::Ok)
        })
    }

    fn is_for_client(&self) -> bool {
        true
    }
}

/// Passes the standard input to `answer`, and drops errors and panics: a hook must never fail.
fn quietly(answer: impl Fn(&str) -> io::Result<Exit>) -> Result<Exit, CommandError> {
    panic::set_hook(Box::new(|_| {}));
    let answered = panic::catch_unwind(AssertUnwindSafe(|| answer(&ops::input("-").unwrap_or_default())));
    Ok(answered.map_or(Exit::Ok, |answer| answer.unwrap_or(Exit::Ok)))
}

fn document(answer: &Answer) -> serde_json::Value {
    let mut document = json!({});
    if let Some(person) = &answer.person {
        document["systemMessage"] = json!(person);
    }
    let mut text = answer.facts.join("\n");
    for context in &answer.contexts {
        text.push_str("\n\n");
        text.push_str(&render::context(context));
    }
    if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS) {
        text.truncate(end);
        let context = Suggested::new(Verb::Context);
        text.push_str(&format!("\n--- cut off here, end of untrusted text; `{context}` has the rest ---"));
    }
    if answer.allows {
        document["hookSpecificOutput"] = json!({"hookEventName": answer.event, "decision": {"behavior": "allow"}});
    } else if !text.is_empty() {
        document["hookSpecificOutput"] = json!({"hookEventName": answer.event, "additionalContext": text});
    }
    document
}

/// Tells whether an invalid command line is a call of `hook`: whether its first word that is not an option says so.
pub(in crate::cli) fn is_hook_call(words: impl Iterator<Item = OsString>) -> bool {
    let mut words = words.filter_map(|word| word.into_string().ok());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--project" | "--format" | "--mode" | "--now" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => return verb == "hook",
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_hook_call;

    #[test]
    fn the_verb_is_the_first_word_that_is_not_an_option() {
        let is_hook_call = |line: &str| is_hook_call(line.split(' ').map(Into::into));
        for line in ["hook", "hook nonsense --what", "--now x hook prompt", "-q --format=json hook"] {
            assert!(is_hook_call(line), "{line}");
        }
        for line in ["plan hook", "", "--project hook", "-v list"] {
            assert!(!is_hook_call(line), "{line}");
        }
    }
}
