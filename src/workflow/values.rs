//! Templates, and the mappings of names to them.

use std::collections::BTreeMap;

use super::{
    Secret,
    template::{Reader, Template},
};
use crate::{
    document::{
        Kind, Node,
        definition::{Fields, Problems, Text, text_of},
    },
    model::clean_line,
};

const SECRET_KEYS: [&str; 2] = ["provider", "key"];

/// Reads a mapping from names of environment variables to texts.
pub(super) fn env(node: &Node, problems: &mut Problems<'_>) -> BTreeMap<String, Template> {
    let mut found = BTreeMap::new();
    for (name, node) in named(node, "`env`", problems) {
        let text = match &node.kind {
            Kind::Bool(value) => Some(Text { text: value.to_string(), place: node.place }),
            // An empty value is a value here.
            Kind::Null => Some(Text { text: String::new(), place: node.place }),
            Kind::Text(text) | Kind::Number(text) => Some(Text { text: text.clone(), place: node.place }),
            Kind::List(_) | Kind::Map(_) => {
                let fix = "write a text; let a step print a value that is computed, and read `${ID.output}`";
                problems.add(node.place, format!("`{name}` of `env` is text, not {}", node.what()), fix);
                None
            }
        };
        if let Some(template) = text.and_then(|text| template(&text, Reader::Plain, problems)) {
            found.insert(name, template);
        }
    }
    found
}

/// Reads a mapping from names of environment variables to where their secret values come from.
pub(super) fn secrets(node: &Node, problems: &mut Problems<'_>) -> BTreeMap<String, Secret> {
    let mut found = BTreeMap::new();
    for (name, node) in named(node, "`secrets`", problems) {
        if !matches!(node.kind, Kind::Map(_)) {
            let variable = text_of(node, "a secret", problems);
            if let Some(variable) = variable.and_then(|variable| variable_name(&variable, problems)) {
                found.insert(name, Secret::Env(variable));
            }
            continue;
        }
        let Some(mut map) = Fields::of(node, "a secret", &SECRET_KEYS, problems) else { continue };
        let provider = map.text("provider", problems);
        let Some(key) = map.text("key", problems) else {
            problems.add(node.place, "a secret needs a `key`", "add `key:` with the environment variable or the file");
            continue;
        };
        match provider.as_ref().map_or("env", |provider| provider.text.as_str()) {
            "env" => found.insert(name, Secret::Env(key.text)),
            "file" => found.insert(name, Secret::File(key.text)),
            other => {
                let message = format!("`{}` is not a provider of secrets", clean_line(other, 60));
                let fix = "use env or file; let another tool put the secret into the environment";
                problems.add(provider.map_or(node.place, |text| text.place), message, fix);
                None
            }
        };
    }
    found
}

/// Returns the members of a mapping whose keys are names that an environment can hold.
pub(super) fn named<'a>(node: &'a Node, what: &str, problems: &mut Problems<'_>) -> Vec<(String, &'a Node)> {
    let Kind::Map(members) = &node.kind else {
        let message = format!("{what} is a mapping of names to values, not {}", node.what());
        problems.add(node.place, message, "write `NAME: value` below it");
        return Vec::new();
    };
    let mut found = Vec::new();
    for member in members {
        let plain = member.key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain || member.key.is_empty() || member.key.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("`{}` is not a valid variable name", clean_line(&member.key, 60));
            problems.add(member.place, message, "use letters, digits and `_`, beginning with a letter");
        } else if member.key.starts_with("PITON_") {
            let message = format!("`{}` begins with PITON_, which is reserved", clean_line(&member.key, 60));
            problems.add(member.place, message, "use another name");
        } else {
            found.push((member.key.clone(), &member.value));
        }
    }
    found
}

/// Parses the variables of a text, and checks their positions in a shell program.
pub(super) fn template(text: &Text, reader: Reader, problems: &mut Problems<'_>) -> Option<Template> {
    let read = Template::parse(&text.text, reader);
    let checked = read.and_then(|template| match reader {
        Reader::Plain => Ok(template),
        Reader::Shell => super::shell::quoting(&template).map(|_| template),
    });
    match checked {
        Ok(template) => Some(Template { place: text.place, ..template }),
        Err(message) => {
            problems.add(text.place, message, "correct the variable");
            None
        }
    }
}

/// Reads the name of a variable.
pub(super) fn variable_name(text: &Text, problems: &mut Problems<'_>) -> Option<String> {
    let plain = text.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && text.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Some(text.text.clone());
    }
    let message = format!("`{}` is not a valid variable name", clean_line(&text.text, 60));
    problems.add(text.place, message, "use letters, digits and `_`, beginning with a letter");
    None
}

/// Reads a text and its variables.
pub(super) fn template_of(node: &Node, what: &str, reader: Reader, problems: &mut Problems<'_>) -> Option<Template> {
    let text = text_of(node, what, problems)?;
    template(&text, reader, problems)
}

/// Returns the entries of a list, or the value itself.
pub(super) fn one_or_more(node: &Node) -> &[Node] {
    match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => std::slice::from_ref(node),
    }
}
