//! What a step leaves, and its parts. Pure.

use super::{
    Output, PartDefinition,
    template::{Piece, Reader, Template},
    values::one_or_more,
    variables::{self, Scope},
};
use crate::{
    document::{
        Kind, Node, TextPosition,
        definition::{Fields, Problems, Text, identifier, items, text_of},
    },
    model::{OutputSchema, PartKind, RelPath, clean_line},
};

const OUTPUT_KEYS: [&str; 2] = ["path", "schema"];
const PART_KEYS: [&str; 3] = ["name", "title", "kind"];

/// Reads `outputs`: one, or a list of them.
pub(super) fn outputs(node: &Node, problems: &mut Problems<'_>) -> Vec<Output> {
    one_or_more(node).iter().filter_map(|item| output(item, problems)).collect()
}

/// Reads `uses`: a file or folder, or a list of them.
pub(super) fn uses(node: &Node, problems: &mut Problems<'_>) -> Vec<RelPath> {
    let texts = one_or_more(node).iter();
    let mut found: Vec<RelPath> = Vec::new();
    for item in texts {
        let Some(text) = text_of(item, "an entry of `uses`", problems) else { continue };
        found.extend(path(&text, "file of `uses`", problems));
    }
    found
}

fn output(node: &Node, problems: &mut Problems<'_>) -> Option<Output> {
    if !matches!(node.kind, Kind::Map(_)) {
        let text = text_of(node, "an output", problems)?;
        return Some(Output { path: output_path(&text, problems)?, place: node.place, schema: None });
    }
    let mut map = Fields::of(node, "an output", &OUTPUT_KEYS, problems)?;
    let path = map.text("path", problems);
    let schema = map.take("schema").and_then(|node| schema(node, problems));
    let Some(path) = path else {
        problems.add(node.place, "an output needs a `path`", "add `path:`");
        return None;
    };
    let template = output_path(&path, problems)?;
    if let Some((_, place)) = &schema
        && !template.to_string().ends_with(".json")
    {
        let message = format!("a schema is checked against JSON, and `{template}` does not end in .json");
        problems.add(*place, message, "remove the schema, or let the step write JSON");
    }
    Some(Output { path: template, place: path.place, schema })
}

/// Reads the path of an output. What is around its variables is checked now, their values when it is filled in.
fn output_path(text: &Text, problems: &mut Problems<'_>) -> Option<Template> {
    let template = match Template::parse(&text.text, Reader::Plain) {
        Ok(template) => template,
        Err(message) => {
            problems.add(text.place, message, "name a file; its path may have inputs and `${item}`");
            return None;
        }
    };
    let some_values: String = template.pieces.iter().map(Piece::literal_or_letter).collect();
    path(&Text { text: some_values, place: text.place }, "output", problems)?;
    Some(Template { place: text.place, ..template })
}

impl Output {
    /// Tells whether every item of a loop has a file of its own.
    pub(super) fn is_of_item(&self) -> bool {
        self.path.references().iter().any(|reference| is_item(&reference.path))
    }

    /// Returns the file, with the values of the variables in its path.
    ///
    /// # Errors
    ///
    /// In one sentence: a variable has no value, or its value leads out of the project or to a state folder.
    pub(crate) fn file(&self, scope: &dyn Scope) -> Result<RelPath, String> {
        file_of(&self.path, scope)
    }
}

/// Returns the file that an output of a recorded definition names; see [`Output::file`].
pub(crate) fn output_file(path: &str, scope: &dyn Scope) -> Result<RelPath, String> {
    file_of(&Template::parse(path, Reader::Plain)?, scope)
}

fn file_of(path: &Template, scope: &dyn Scope) -> Result<RelPath, String> {
    let filled = variables::render(path, scope).map_err(|error| error.message)?;
    checked(&filled, "output").map_err(|(message, _)| message)
}

/// Tells whether a variable is the item of a loop, or a part of it.
pub(super) fn is_item(path: &str) -> bool {
    path.split('.').next() == Some("item")
}

/// Reads the path of a file. `what` the file is, for messages.
pub(super) fn path(text: &Text, what: &str, problems: &mut Problems<'_>) -> Option<RelPath> {
    checked(&text.text, what).map_err(|(message, fix)| problems.add(text.place, message, fix)).ok()
}

/// Checks the path of a file: it is in the project, and not written by Piton or git.
///
/// # Errors
///
/// What is wrong, and what to write.
fn checked(text: &str, what: &str) -> Result<RelPath, (String, &'static str)> {
    let path = RelPath::parse(text).map_err(|error| match text.contains('\\') {
        true => (format!("the {what} `{}` has a backslash", clean_line(text, 100)), "write paths with `/`"),
        false => (format!("the {what} cannot be used: {error}"), "name a file in the project"),
    })?;
    if path.as_str().contains("${") {
        let message = format!("the {what} `{path}` has a variable, and only `outputs` take them");
        return Err((message, "name each file"));
    }
    if path.as_str().contains(['*', '?', '[', '{']) {
        let message = format!("the {what} `{path}` is a pattern, and this names one file");
        return Err((message, "name each file, without `*`, `?`, `[` and `{`"));
    }
    let mut parts = path.as_str().split('/');
    if path.as_str().starts_with("memory/state/") || parts.any(|part| matches!(part, ".git" | ".piton")) {
        let message = format!("the {what} `{path}` is in a state folder");
        return Err((message, "name a file outside memory/state, .piton and .git"));
    }
    Ok(path)
}

/// Reads a JSON Schema, or the path of one.
pub(super) fn schema(node: &Node, problems: &mut Problems<'_>) -> Option<(OutputSchema, TextPosition)> {
    match &node.kind {
        Kind::Map(_) => Some((OutputSchema::Inline(node.to_json()), node.place)),
        Kind::Text(text) => match RelPath::parse(text) {
            Ok(path) => Some((OutputSchema::File(path), node.place)),
            Err(error) => {
                let fix = "name a schema file in the project";
                problems.add(node.place, format!("the schema cannot be used: {error}"), fix);
                None
            }
        },
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) => {
            let message = format!("`schema` is a JSON Schema or the path of one, not {}", node.what());
            problems.add(node.place, message, "write the schema itself, or the path of its file");
            None
        }
    }
}

/// Reads `parts`.
pub(super) fn parts(node: &Node, problems: &mut Problems<'_>) -> Vec<PartDefinition> {
    let mut parts: Vec<PartDefinition> = Vec::new();
    for item in items(node, "`parts`", problems) {
        let Some(part) = part(item, problems) else { continue };
        if parts.iter().any(|other| other.name == part.name) {
            let message = format!("the part `{}` already exists", part.name);
            problems.add(item.place, message, "give each part of a step a unique name");
            continue;
        }
        parts.push(part);
    }
    parts
}

fn part(node: &Node, problems: &mut Problems<'_>) -> Option<PartDefinition> {
    if !matches!(node.kind, Kind::Map(_)) {
        let name = identifier(node, "the name of a part", problems)?;
        return Some(PartDefinition { name: name.text, title: None, kind: PartKind::Work });
    }
    let mut map = Fields::of(node, "a part", &PART_KEYS, problems)?;
    let name = map.take("name").and_then(|name| identifier(name, "the `name` of a part", problems));
    let title = map.text("title", problems).map(|title| title.text);
    let kind = match map.text("kind", problems) {
        None => PartKind::Work,
        Some(kind) => match kind.text.as_str() {
            "work" => PartKind::Work,
            "analysis" => PartKind::Analysis,
            _ => {
                let message = format!("`{}` is not a kind of part", clean_line(&kind.text, 60));
                problems.add(kind.place, message, "use work or analysis");
                PartKind::Work
            }
        },
    };
    let Some(name) = name else {
        problems.add(node.place, "a part needs a `name`", "add `name:`");
        return None;
    };
    Some(PartDefinition { name: name.text, title, kind })
}
