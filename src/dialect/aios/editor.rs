//! Edits YAML and JSON states through one interface. Values are addressed by JSON pointers; all other bytes are preserved.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::kind;
use crate::dialect::EditError;
use crate::dialect::json;
use crate::dialect::yaml;
use crate::dialect::yaml::Kind;
use crate::dialect::yaml::Node;
use crate::model::Content;
use crate::model::Edit;
use crate::model::EditKind;
use crate::model::FileSet;
use crate::model::Timestamp;

/// Numbers from here on are Unix milliseconds, not seconds.
const MILLISECONDS: i64 = 100_000_000_000;

/// A state being edited. Reads return the values from before the edit.
#[derive(Debug)]
pub(super) struct StateEditor<'a> {
    files: &'a FileSet,
    before: Node,
    document: Syntax,
    /// The pointer to the state in the document; empty unless the state is below one key.
    root: String,
    at: Timestamp,
    /// Whether its timestamps have fractions of a second.
    has_fractions: bool,
}

#[derive(Debug)]
enum Syntax {
    Json(json::Document),
    Yaml(yaml::Document),
}

impl<'a> StateEditor<'a> {
    /// Opens the state. `updated` points to the time of its last change; new timestamps are never earlier than that, even if the
    /// clock is.
    ///
    /// # Errors
    ///
    /// If it is missing or does not parse.
    pub(super) fn open(files: &'a FileSet, at: Timestamp, updated: &str) -> Result<Self, EditError> {
        let file = files.state.as_str();
        let unreadable = |problem: String| EditError::Unreadable { file: file.to_owned(), problem };
        let Some(bytes) = files.bytes(&files.state) else {
            return Err(match files.problem(&files.state) {
                Some(problem) if files.files.contains_key(&files.state) => unreadable(problem.to_string()),
                Some(_) | None => EditError::Missing { file: file.to_owned() },
            });
        };
        let (wrapper, before) = kind::parse_wrapped(bytes).map_err(|failure| {
            let (place, message) = failure.describe();
            unreadable(format!("line {}: {message}", place.line))
        })?;
        let document = if file.ends_with(".json") {
            let document = json::Document::parse(bytes);
            Syntax::Json(document.map_err(|error| unreadable(format!("line {}: {}", error.line, error.message)))?)
        } else {
            Syntax::Yaml(yaml::Document::parse(bytes).map_err(|error| unreadable(error.to_string()))?)
        };
        let has_fractions = first_stamp(&before).is_some_and(|stamp| stamp.contains('.'));
        let root = wrapper.map_or_else(String::new, |key| format!("/{}", key.replace('~', "~0").replace('/', "~1")));
        let mut editor = Self { files, before, document, root, at, has_fractions };
        let last = editor.text(updated).and_then(|text| files.time(text));
        editor.at = last.map_or(at, |last| last.max(at));
        Ok(editor)
    }

    /// Returns the value at a pointer.
    pub(super) fn get(&self, pointer: &str) -> Option<&Node> {
        let parts = pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        parts.into_iter().try_fold(&self.before, |node, part| match &node.kind {
            Kind::List(items) => items.get(part.parse::<usize>().ok()?),
            Kind::Map(_) => node.get(&part),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        })
    }

    /// Returns the scalar at a pointer, as written; `None` for `null`.
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer).and_then(kind::text)
    }

    /// Returns whether the key exists, even if its value is `null`.
    pub(super) fn has(&self, pointer: &str) -> bool {
        self.get(pointer).is_some()
    }

    /// Returns the elements of the list at a pointer.
    pub(super) fn items(&self, pointer: &str) -> &[Node] {
        match self.get(pointer).map(|node| &node.kind) {
            Some(Kind::List(items)) => items,
            Some(Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_)) | None => &[],
        }
    }

    /// Sets a value; a missing key is added at the end of its mapping.
    ///
    /// # Errors
    ///
    /// If more than the value would change.
    pub(super) fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        self.set_after(pointer, value, None)
    }

    /// Sets a value; a missing key is added after a neighbour.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn set_after(&mut self, pointer: &str, value: &Value, after: Option<&str>) -> Result<(), EditError> {
        let pointer = &format!("{}{pointer}", self.root);
        let done = match &mut self.document {
            Syntax::Json(document) if document.value().pointer(pointer) == Some(value) => Ok(()),
            Syntax::Json(document) => document.set(pointer, value).then_some(()).ok_or(None),
            Syntax::Yaml(document) if document.get(pointer).is_some_and(|node| node.to_json() == *value) => Ok(()),
            Syntax::Yaml(document) => document.set(pointer, value, after).map_err(Some),
        };
        done.map_err(|refused| self.refusal(pointer, refused))
    }

    /// Sets a word, a name or a path.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn set_text(&mut self, pointer: &str, text: &str) -> Result<(), EditError> {
        self.set(pointer, &json!(text))
    }

    /// Sets a number, written as text if the current value is text.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn set_number(&mut self, pointer: &str, number: u64) -> Result<(), EditError> {
        let is_text = matches!(self.get(pointer).map(|node| &node.kind), Some(Kind::Text(_)));
        let value = if is_text { json!(number.to_string()) } else { json!(number) };
        self.set(pointer, &value)
    }

    /// Returns the time of the change in the format that the state uses.
    pub(super) fn now(&self) -> Value {
        let shown = self.at.to_string();
        let (seconds, fraction) =
            shown.trim_end_matches('Z').split_once('.').unwrap_or((shown.trim_end_matches('Z'), ""));
        if self.has_fractions { json!(format!("{seconds}.{:0<3.3}Z", fraction)) } else { json!(format!("{seconds}Z")) }
    }

    /// Sets a timestamp to the time of the change.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn stamp(&mut self, pointer: &str, after: Option<&str>) -> Result<(), EditError> {
        let number = match self.get(pointer).map(|node| &node.kind) {
            Some(Kind::Number(text)) => text.parse::<i64>().ok(),
            Some(Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_)) | None => None,
        };
        let seconds = self.at.unix_seconds();
        let value = match number {
            Some(number) if number >= MILLISECONDS => json!(seconds.saturating_mul(1000)),
            Some(_) => json!(seconds),
            None => self.now(),
        };
        self.set_after(pointer, &value, after)
    }

    /// Updates a timestamp if the state has it.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn touch(&mut self, pointer: &str) -> Result<(), EditError> {
        if self.has(pointer) { self.stamp(pointer, None) } else { Ok(()) }
    }

    /// Appends to a list, which is created if missing.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn push(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        let is_null = self.get(pointer).is_some_and(|node| node.kind == Kind::Null);
        let pointer = &format!("{}{pointer}", self.root);
        let done = match &mut self.document {
            Syntax::Json(document) if is_null => document.set(pointer, &json!([value])).then_some(()).ok_or(None),
            Syntax::Json(document) => document.push(pointer, value).then_some(()).ok_or(None),
            Syntax::Yaml(document) => document.push(pointer, value).map_err(Some),
        };
        done.map_err(|refused| self.refusal(pointer, refused))
    }

    /// Removes a key or an element.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn remove(&mut self, pointer: &str) -> Result<(), EditError> {
        let pointer = &format!("{}{pointer}", self.root);
        let done = match &mut self.document {
            Syntax::Json(document) => document.remove(pointer).then_some(()).ok_or(None),
            Syntax::Yaml(document) => document.remove(pointer).map_err(Some),
        };
        done.map_err(|refused| self.refusal(pointer, refused))
    }

    /// Adds an id to a list unless it is there, as a number if the list has numbers.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn add_to_list(&mut self, pointer: &str, id: &str) -> Result<(), EditError> {
        if self.listed(pointer, id).is_some() {
            return Ok(());
        }
        let has_texts = self.items(pointer).iter().any(|item| matches!(item.kind, Kind::Text(_)));
        let value = match id.parse::<u64>() {
            Ok(number) if !has_texts => json!(number),
            Ok(_) | Err(_) => json!(id),
        };
        self.push(pointer, &value)
    }

    /// Removes an id from a list.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn remove_from_list(&mut self, pointer: &str, id: &str) -> Result<(), EditError> {
        self.listed(pointer, id).map_or(Ok(()), |at| self.remove(&format!("{pointer}/{at}")))
    }

    pub(super) fn listed(&self, pointer: &str, id: &str) -> Option<usize> {
        self.items(pointer).iter().position(|item| kind::text(item) == Some(id))
    }

    fn refusal(&self, pointer: &str, refused: Option<yaml::EditRefused>) -> EditError {
        let (file, key) = (&self.files.state, pointer.trim_start_matches('/').replace('/', "."));
        let (line, why) = refused
            .map_or((None, "a value of another type is there"), |refused| (Some(refused.place.line), refused.message));
        let line = line.map_or_else(String::new, |line| format!(" line {line}:"));
        EditError::Unsupported(format!(
            "{file}:{line} `{key}` cannot be written: {why}; nothing was changed. Edit it by hand, then run `piton plan`"
        ))
    }

    /// Returns the edit of the file.
    pub(super) fn into_edits(self) -> Vec<Edit> {
        let path = self.files.state.clone();
        let Some(Content::Bytes(before)) = self.files.files.get(&path).map(|entry| &entry.content) else {
            return Vec::new();
        };
        let after = match self.document {
            Syntax::Json(document) => document.into_bytes(),
            Syntax::Yaml(document) => document.into_bytes(),
        };
        vec![Edit { path, kind: EditKind::Replace { before: before.clone(), after } }]
    }
}

/// Builds an object from the members that have a value.
pub(super) fn object(members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let there = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

fn first_stamp(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Text(text) => Some(text.as_str()).filter(|text| is_stamp(text)),
        Kind::List(items) => items.iter().find_map(first_stamp),
        Kind::Map(members) => members.iter().find_map(|member| first_stamp(&member.value)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => None,
    }
}

fn is_stamp(text: &str) -> bool {
    text.as_bytes().get(10) == Some(&b'T') && Timestamp::parse(text, 0).is_ok()
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
