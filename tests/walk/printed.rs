//! The commands that stand in an answer of the program.

use serde_json::Value;

/// Verbs, as the second word of a command. Other words after `piton` are prose.
const VERBS: &[&str] = &[
    "begin",
    "close",
    "completions",
    "context",
    "decide",
    "demo",
    "doctor",
    "exec",
    "finish",
    "history",
    "list",
    "logs",
    "man",
    "merge",
    "pause",
    "plan",
    "restore",
    "resume",
    "rollback",
    "run",
    "schema",
    "sessions",
    "setup",
    "show",
    "start",
    "status",
    "statusline",
    "trust",
    "validate",
    "workflows",
];

/// Keys whose text is one command and nothing else.
const COMMAND_KEYS: &[&str] =
    &["begin", "context", "resume", "next", "command", "undo", "on_yes", "on_no", "on_restart"];

/// One command as it was printed, with the text around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) command: String,
    /// The call, and where in its answer.
    pub(super) place: String,
    /// The whole text that it stands in.
    pub(super) sentence: String,
    pub(super) form: Form,
    /// The exit code of the call that printed it.
    pub(super) printed_with: i32,
}

/// How a reader finds where a command begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It is the whole text, or stands in backticks.
    Exact,
    /// It stands in prose without a mark.
    Bare,
}

/// Collects the commands in an answer, in JSON or in text.
pub(super) fn commands(call: &str, code: i32, stdout: &str) -> Vec<Printed> {
    let mut found = Vec::new();
    let mut add = |command: &str, place: &str, sentence: &str, form: Form| {
        found.push(Printed {
            command: command.trim().to_owned(),
            place: format!("{call} {place}"),
            sentence: sentence.to_owned(),
            form,
            printed_with: code,
        });
    };
    // The output of the steps of a session comes before its document.
    for line in stdout.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(document) if document.is_object() => in_value("", &document, &mut add),
            Ok(_) | Err(_) => in_text("line", line.trim(), &mut add),
        }
    }
    found
}

fn in_value(place: &str, value: &Value, add: &mut impl FnMut(&str, &str, &str, Form)) {
    match value {
        Value::String(text) => {
            let key = place.rsplit('/').next().unwrap_or_default();
            if COMMAND_KEYS.contains(&key)
                && !text.contains('`')
                && !text.is_empty()
                && !place.contains("agent_context")
            {
                add(text, place, text, Form::Exact);
            } else {
                for line in text.lines() {
                    in_text(place, line.trim(), add);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                in_value(&format!("{place}/{at}"), item, add);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                in_value(&format!("{place}/{key}"), item, add);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Finds the commands in one line. What stands in `Bash(...)` is a rule of the client.
fn in_text(place: &str, text: &str, add: &mut impl FnMut(&str, &str, &str, Form)) {
    let text = text.strip_prefix("→ ").unwrap_or(text);
    if is_command(text) && !text.contains('`') {
        return add(text, place, text, Form::Exact);
    }
    // A table has its labels in the first column.
    if let Some((_, command)) = text.split_once("   ").filter(|(_, cell)| is_command(cell) && !cell.contains('`')) {
        return add(command, place, text, Form::Exact);
    }
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            if is_command(part) {
                add(part, place, text, Form::Exact);
            }
            continue;
        }
        for (start, _) in part.match_indices("piton ") {
            let is_word = part[..start].chars().next_back().is_none_or(|c| c == ' ' || c == '(');
            let is_rule = part[..start].ends_with("Bash(");
            if is_word && !is_rule && is_command(&part[start..]) {
                add(until_prose(&part[start..]), place, text, Form::Bare);
            }
        }
    }
}

/// Tells whether a text begins with a call of piton or git.
fn is_command(text: &str) -> bool {
    let mut words = text.split(' ');
    match (words.next(), words.next()) {
        (Some("piton"), Some(second)) => {
            VERBS.contains(&second.trim_end_matches(['.', ',', ';', ':', ')'])) || second.starts_with("--")
        }
        (Some("git"), Some(second)) => second == "-C" || GIT.contains(&second),
        _ => false,
    }
}

const GIT: &[&str] = &[
    "branch",
    "checkout",
    "diff",
    "log",
    "ls-remote",
    "merge",
    "push",
    "reset",
    "revert",
    "stash",
    "status",
    "switch",
    "worktree",
];

/// Cuts a text where its command seems to end.
fn until_prose(text: &str) -> &str {
    let ends = [". ", ", ", "; ", ")", " (", " / "].iter().filter_map(|end| text.find(end));
    text[..ends.min().unwrap_or(text.len())].trim_end_matches(['.', ':'])
}
