//! Edits YAML and JSON states through one interface. Values are addressed by JSON pointers; all other bytes are preserved.

use serde_json::{Value, json};

use super::kind::{self, Descriptor};
use crate::{
    dialect::{
        EditError,
        edit::{FileEditor, unsupported},
        writer::{StateWriter, write},
    },
    document::{Kind, Node, Syntax, escape},
    model::{Change, Edit, FileSet, Run, Timestamp},
};

/// Numbers from here on are Unix milliseconds, not seconds.
const MILLISECONDS: i64 = 100_000_000_000;

/// A state being edited. Reads return the values from before the edit.
#[derive(Debug)]
pub(super) struct StateEditor {
    file: FileEditor,
    before: Node,
    /// The pointer to the state in the document; empty unless the state is below one key.
    root: String,
    at: Timestamp,
    /// Whether its timestamps have fractions of a second.
    has_fractions: bool,
}

impl StateEditor {
    /// Opens the state. `updated` points to the time of its last change; new timestamps are never earlier than that, even if the
    /// clock is.
    ///
    /// # Errors
    ///
    /// If it is missing or does not parse.
    pub(super) fn open(files: &FileSet, at: Timestamp, updated: &str) -> Result<Self, EditError> {
        let is_json = files.state.as_str().ends_with(".json");
        let file = FileEditor::open(files, &files.state, if is_json { Syntax::Json } else { Syntax::Yaml })?;
        let wrapper = kind::wrapped(file.root()).map(|member| (member.key.as_str(), &member.value));
        let (key, before) = wrapper.unwrap_or(("", file.root()));
        let root = if key.is_empty() { String::new() } else { format!("/{}", escape(key)) };
        let before = before.clone();
        let has_fractions = first_stamp(&before).is_some_and(|stamp| stamp.contains('.'));
        let mut editor = Self { file, before, root, at, has_fractions };
        let last = editor.text(updated).and_then(|text| files.time(text));
        editor.at = last.map_or(at, |last| last.max(at));
        Ok(editor)
    }

    /// Returns the value at a pointer.
    pub(super) fn get(&self, pointer: &str) -> Option<&Node> {
        self.before.at(pointer)
    }

    /// Returns the scalar at a pointer, as written; `None` for `null`.
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer).and_then(Node::scalar)
    }

    /// Returns whether the key exists, even if its value is `null`.
    pub(super) fn has(&self, pointer: &str) -> bool {
        self.get(pointer).is_some()
    }

    /// Returns the elements of the list at a pointer.
    pub(super) fn items(&self, pointer: &str) -> &[Node] {
        self.get(pointer).map(Node::items).unwrap_or_default()
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
        self.file.set_after(&format!("{}{pointer}", self.root), value, after)
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

    /// Sets a value to null, if the state has one.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn clear(&mut self, pointer: &str) -> Result<(), EditError> {
        if self.text(pointer).is_some() { self.set(pointer, &Value::Null) } else { Ok(()) }
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
        self.file.push(&format!("{}{pointer}", self.root), value)
    }

    /// Removes a key or an element, if the state has it.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn remove(&mut self, pointer: &str) -> Result<(), EditError> {
        if self.has(pointer) { self.file.remove(&format!("{}{pointer}", self.root)) } else { Ok(()) }
    }

    /// Returns the edit of the file.
    pub(super) fn into_edits(self) -> Vec<Edit> {
        vec![self.file.into_edit()]
    }

    /// Updates the timestamps that the state has and returns the edit of the file.
    ///
    /// # Errors
    ///
    /// As [`StateEditor::set`].
    pub(super) fn into_stamped(mut self, stamps: &[&str]) -> Result<Vec<Edit>, EditError> {
        stamps.iter().try_for_each(|stamp| self.touch(stamp))?;
        Ok(self.into_edits())
    }
}

/// Computes the edits of one change of a state, with the writer of its kind.
///
/// # Errors
///
/// If the state does not parse, has no run, or cannot express the change.
pub(super) fn edit<W: StateWriter>(
    kind: &Descriptor,
    files: &FileSet,
    change: &Change,
    writer: fn(StateEditor, Run) -> W,
) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, kind.stamps.first().copied().unwrap_or_default())?;
    match kind.load(files).run {
        Some(run) => write(writer(editor, run), change),
        None => unsupported(format!("{} is not {}", files.state, kind.what)),
    }
}

fn first_stamp(node: &Node) -> Option<&str> {
    let inside = || node.items().iter().chain(node.members().iter().map(|member| &member.value)).find_map(first_stamp);
    node.as_str().filter(|text| is_stamp(text)).or_else(inside)
}

fn is_stamp(text: &str) -> bool {
    text.as_bytes().get(10) == Some(&b'T') && Timestamp::parse(text, 0).is_ok()
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
