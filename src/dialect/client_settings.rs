//! Adds settings to the settings file of Claude Code. All other bytes are preserved.

use serde_json::json;

use crate::document::{Editor, Node, Syntax};

/// The settings of a project.
pub(crate) const PROJECT_SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Where the client keeps the rules that allow commands without a prompt.
const ALLOW: &str = "/permissions/allow";

/// Where the client keeps the rules that make it ask.
const ASK: &str = "/permissions/ask";

/// The rule that earlier versions added: it allows every verb of the program.
const BLANKET_RULE: &str = "Bash(piton:*)";

/// A setting that may be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// The rules that allow commands without a prompt. They replace the rule that allowed every command.
    Allow(Vec<String>),
    /// The rules that make the client ask in every mode. One that the person has allowed is left out.
    Ask(Vec<String>),
    /// The command that prints the status line.
    StatusLine(String),
}

/// The reason why a settings file was not changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("it is not plain JSON: {message} (line {line}, column {column})")]
    NotJson { line: u32, column: u32, message: String },
    #[error("`{pointer}` has the wrong type")]
    WrongType { pointer: &'static str },
    #[error("another status line is set: {command}")]
    ResumeOutcome { command: String },
}

/// The rules that allow every verb of the program, and more.
const WIDE_RULES: [&str; 5] = [BLANKET_RULE, "Bash(piton *)", "Bash", "Bash(*)", "Bash(:*)"];

/// What a settings file says about the program and its hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientRights {
    /// The rules that allow commands without a prompt.
    pub(crate) allow: Vec<String>,
    /// The rules that make the client ask.
    pub(crate) ask: Vec<String>,
    pub(crate) hooks_are_off: bool,
    pub(crate) plugin_is_off: bool,
}

impl ClientRights {
    /// Returns the first rule that allows every verb.
    pub(crate) fn wide_rule(&self) -> Option<&str> {
        self.allow.iter().map(String::as_str).find(|rule| WIDE_RULES.contains(rule))
    }
}

/// Returns what the text of a settings file says; nothing if it is not plain JSON.
pub(crate) fn rights(bytes: &[u8]) -> ClientRights {
    let Ok(editor) = Editor::parse(bytes, Syntax::Json) else { return ClientRights::default() };
    let Some(value) = editor.get("") else { return ClientRights::default() };
    let list = |pointer: &str| {
        let rules = value.at(pointer).map(Node::items).unwrap_or_default();
        rules.iter().filter_map(Node::as_str).map(str::to_owned).collect()
    };
    let plugins = value.get("enabledPlugins").map(Node::members).unwrap_or_default();
    ClientRights {
        allow: list(ALLOW),
        ask: list(ASK),
        hooks_are_off: value.get("disableAllHooks").and_then(Node::as_bool) == Some(true),
        plugin_is_off: plugins
            .iter()
            .any(|plugin| plugin.key.starts_with("piton@") && plugin.value.as_bool() == Some(false)),
    }
}

/// Returns the text with the setting made, unchanged if it is so already. An empty text is treated as an empty object.
pub(crate) fn with(bytes: &[u8], setting: &Setting) -> Result<Vec<u8>, SettingsError> {
    let is_empty = bytes.iter().all(u8::is_ascii_whitespace);
    let bytes = if is_empty { b"{\n}\n" } else { bytes };
    let mut editor = Editor::parse(bytes, Syntax::Json).map_err(|error| SettingsError::NotJson {
        line: error.place.line,
        column: error.place.column,
        message: error.message,
    })?;
    let rules_of = |editor: &Editor, list: &str| -> Vec<String> {
        let rules = editor.get(list).map(Node::items).unwrap_or_default();
        rules.iter().map(|rule| rule.as_str().unwrap_or_default().to_owned()).collect()
    };
    let done = match setting {
        Setting::Allow(rules) | Setting::Ask(rules) => {
            let asks = matches!(setting, Setting::Ask(_));
            let list = if asks { ASK } else { ALLOW };
            let mut known = rules_of(&editor, ALLOW);
            let blanket: Vec<usize> = (0..known.len()).filter(|at| !asks && known[*at] == BLANKET_RULE).collect();
            known.extend(if asks { rules_of(&editor, ASK) } else { Vec::new() });
            let mut missing = rules.iter().filter(|rule| !known.contains(rule)).peekable();
            if missing.peek().is_none() && blanket.is_empty() {
                return Ok(bytes.to_vec());
            }
            // The first rule takes the place of the old one, so that the form of the list stays.
            let replaced = blanket.first().zip(missing.next_if(|_| !blanket.is_empty()));
            let gone = &blanket[usize::from(replaced.is_some())..];
            let replaced = replaced.map_or(Ok(()), |(at, rule)| editor.set(&format!("{list}/{at}"), &json!(rule)));
            let removed = replaced.and_then(|()| editor.remove_elements(list, gone));
            let added = removed.and_then(|()| missing.try_for_each(|rule| editor.push(list, &json!(rule))));
            added.map_err(|_| list)
        }
        Setting::StatusLine(command) => {
            match editor.get("/statusLine/command").and_then(Node::as_str) {
                Some(known) if known == command => return Ok(bytes.to_vec()),
                Some(known) if !is_ours(known) => {
                    return Err(SettingsError::ResumeOutcome { command: known.to_owned() });
                }
                Some(_) => {}
                None if editor.get("/statusLine").is_some() => {
                    return Err(SettingsError::WrongType { pointer: "/statusLine" });
                }
                None => {}
            }
            let line = json!({"type": "command", "command": command});
            editor.set("/statusLine", &line).map_err(|_| "/statusLine")
        }
    };
    done.map_err(|pointer| SettingsError::WrongType { pointer })?;
    Ok(editor.into_bytes())
}

/// Returns whether the command is an older one of Piton, which may be replaced: its path contains the version.
fn is_ours(command: &str) -> bool {
    command.contains("piton") && command.ends_with(" statusline")
}

#[cfg(test)]
mod tests {
    use super::{Setting, SettingsError, with};

    fn allow(text: &str) -> Result<String, SettingsError> {
        let rules = vec!["Bash(piton plan:*)".to_owned(), "Bash(piton list:*)".to_owned()];
        with(text.as_bytes(), &Setting::Allow(rules)).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_is_to_be_asked_is_added_once_unless_the_person_allowed_it() {
        let ask = |text: &str| {
            let rules = vec!["Bash(piton decide:*)".to_owned(), "Bash(piton close:*)".to_owned()];
            with(text.as_bytes(), &Setting::Ask(rules)).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        for (before, after) in [
            (
                "{\"permissions\":{\"allow\":[\"Bash(piton close:*)\"]}}",
                "{\"permissions\":{\"allow\":[\"Bash(piton close:*)\"],\"ask\":[\"Bash(piton decide:*)\"]}}",
            ),
            (
                "{\"permissions\":{\"ask\":[\"Bash(git push:*)\",\"Bash(piton close:*)\"]}}",
                "{\"permissions\":{\"ask\":[\"Bash(git push:*)\",\"Bash(piton close:*)\",\"Bash(piton decide:*)\"]}}",
            ),
        ] {
            assert_eq!(ask(before).as_deref(), Ok(after), "{before}");
            assert_eq!(ask(after).as_deref(), Ok(after), "the second time nothing is to be done");
        }
        assert!(matches!(ask("{\"permissions\": {\"ask\": 1}}"), Err(SettingsError::WrongType { .. })));
    }

    fn line(text: &str) -> Result<String, SettingsError> {
        with(text.as_bytes(), &Setting::StatusLine("'/c/piton' statusline".to_owned()))
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn rules_are_added_once_and_nothing_else_changes() {
        for (before, after) in [
            (
                "",
                "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(piton plan:*)\",\n      \"Bash(piton list:*)\"\n    ]\n  }\n}\n",
            ),
            (
                "{\r\n\t\"model\": \"x\",\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"Read\"\r\n\t\t]\r\n\t}\r\n}",
                "{\r\n\t\"model\": \"x\",\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"Read\",\r\n\t\t\t\"Bash(piton plan:*)\",\r\n\t\t\t\"Bash(piton list:*)\"\r\n\t\t]\r\n\t}\r\n}",
            ),
            (
                "{\"permissions\":{\"allow\":[\"Bash(piton list:*)\"]}}",
                "{\"permissions\":{\"allow\":[\"Bash(piton list:*)\",\"Bash(piton plan:*)\"]}}",
            ),
        ] {
            assert_eq!(allow(before).as_deref(), Ok(after), "{before}");
            assert_eq!(allow(after).as_deref(), Ok(after), "the second time nothing is to be done");
        }
    }

    #[test]
    fn the_rule_that_allowed_everything_is_replaced_and_the_persons_own_stay() {
        for (before, after) in [
            (
                "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(piton:*)\",\n      \"Bash(piton run:*)\"\n    ],\n    \"deny\": [\"Bash(piton pause:*)\"]\n  }\n}\n",
                "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(piton plan:*)\",\n      \"Bash(piton run:*)\",\n      \"Bash(piton list:*)\"\n    ],\n    \"deny\": [\"Bash(piton pause:*)\"]\n  }\n}\n",
            ),
            (
                "{\"permissions\":{\"allow\":[\"Bash(piton:*)\",\"Bash(piton list:*)\",\"Bash(piton plan:*)\",\"Bash(piton:*)\"]}}",
                "{\"permissions\":{\"allow\":[\"Bash(piton list:*)\",\"Bash(piton plan:*)\"]}}",
            ),
            (
                "{\"permissions\":{\"allow\":[\"Bash(piton:*)\",\"Bash(pitone:*)\",\"Bash(piton:*)\"]}}",
                "{\"permissions\":{\"allow\":[\"Bash(piton plan:*)\",\"Bash(pitone:*)\",\"Bash(piton list:*)\"]}}",
            ),
        ] {
            assert_eq!(allow(before).as_deref(), Ok(after), "{before}");
            assert_eq!(allow(after).as_deref(), Ok(after), "the second time nothing is to be done");
        }
    }

    #[test]
    fn a_status_line_is_set_once_and_renewed() {
        let set = line("{\n  \"a\": 1\n}\n").unwrap();
        assert_eq!(
            set,
            "{\n  \"a\": 1,\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"'/c/piton' statusline\"\n  }\n}\n"
        );
        assert_eq!(line(&set).unwrap(), set);
        let older = set.replace("/c/", "/c/0.0.1/");
        assert_eq!(line(&older).unwrap(), set);
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        assert!(matches!(allow("{ // a comment\n}"), Err(SettingsError::NotJson { line: 1, .. })));
        assert!(matches!(allow("[]"), Err(SettingsError::WrongType { .. })));
        assert!(matches!(allow("{\"permissions\": 7}"), Err(SettingsError::WrongType { .. })));
        assert!(matches!(allow("{\"permissions\": {\"allow\": \"all\"}}"), Err(SettingsError::WrongType { .. })));
        assert!(matches!(line("{\"statusLine\": 7}"), Err(SettingsError::WrongType { .. })));
        let foreign = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine.sh\"}}";
        assert_eq!(line(foreign), Err(SettingsError::ResumeOutcome { command: "mine.sh".to_owned() }));
    }
}
