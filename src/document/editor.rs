//! Edits a JSON or YAML text one value at a time. Values are addressed by JSON pointers; all other bytes are preserved.

use std::cell::OnceCell;
use std::fmt;

use serde_json::Value;

use super::ParseError;
use super::Syntax;
use super::json;
use super::parse;
use super::tree::Node;
use super::yaml;

/// A text being edited.
#[derive(Debug)]
pub(crate) struct Editor {
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// With its tree, which is read again after a change.
    Json(json::Document, OnceCell<Node>),
    Yaml(yaml::Document),
}

/// Where and why a value cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EditRefused {
    pub(super) line: Option<u32>,
    pointer: String,
    why: &'static str,
}

impl fmt::Display for EditRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        let key = self.pointer.trim_start_matches('/').replace('/', ".");
        write!(f, "`{key}` cannot be written: {}", self.why)
    }
}

impl Editor {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// As [`parse`].
    pub(crate) fn parse(bytes: &[u8], syntax: Syntax) -> Result<Self, ParseError> {
        let root = parse(bytes, syntax)?;
        let text = String::from_utf8_lossy(bytes);
        let text = match syntax {
            Syntax::Json => Text::Json(json::Document::new(&text), OnceCell::from(root)),
            Syntax::Yaml => Text::Yaml(yaml::Document::new(text.into_owned(), root)),
        };
        Ok(Self { text })
    }

    /// Returns the whole value, with the edits so far.
    pub(crate) fn root(&self) -> &Node {
        match &self.text {
            Text::Json(document, tree) => tree.get_or_init(|| document.tree()),
            Text::Yaml(document) => document.root(),
        }
    }

    /// Returns the value at a pointer, with the edits so far.
    pub(crate) fn get(&self, pointer: &str) -> Option<&Node> {
        self.root().at(pointer)
    }

    /// Sets a value. A missing key is added at the end of its mapping; missing mappings on the way, and those that are null, are created. A value that is
    /// there already is not written again.
    ///
    /// # Errors
    ///
    /// If the pointer leads through a value that is not a mapping, or more than the value would change. Nothing is changed then.
    pub(crate) fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditRefused> {
        self.set_after(pointer, value, None)
    }

    /// Sets a value; in YAML a missing key is added after a neighbour.
    ///
    /// # Errors
    ///
    /// As [`Editor::set`].
    pub(crate) fn set_after(&mut self, pointer: &str, value: &Value, after: Option<&str>) -> Result<(), EditRefused> {
        match &mut self.text {
            Text::Json(document, tree) => {
                tree.take();
                refuse(pointer, document.set(pointer, value))
            }
            Text::Yaml(document) if document.root().at(pointer).is_some_and(|node| node.to_json() == *value) => Ok(()),
            Text::Yaml(document) => document.set(pointer, value, after).map_err(|refused| refused.at(pointer)),
        }
    }

    /// Appends to a list, which is created if it is missing or null.
    ///
    /// # Errors
    ///
    /// If something other than a list is there. Nothing is changed then.
    pub(crate) fn push(&mut self, pointer: &str, value: &Value) -> Result<(), EditRefused> {
        match &mut self.text {
            Text::Json(document, tree) => {
                tree.take();
                refuse(pointer, document.push(pointer, value))
            }
            Text::Yaml(document) => document.push(pointer, value).map_err(|refused| refused.at(pointer)),
        }
    }

    /// Removes a key from its mapping, or an element from its list. A missing one is not an error.
    ///
    /// # Errors
    ///
    /// If more than the value would be removed. Nothing is changed then.
    pub(crate) fn remove(&mut self, pointer: &str) -> Result<(), EditRefused> {
        match &mut self.text {
            Text::Json(document, tree) => {
                tree.take();
                document.remove(pointer);
                Ok(())
            }
            Text::Yaml(document) => document.remove(pointer).map_err(|refused| refused.at(pointer)),
        }
    }

    /// Removes elements of a list, given in ascending order.
    ///
    /// # Errors
    ///
    /// As [`Editor::remove`].
    pub(crate) fn remove_elements(&mut self, pointer: &str, gone: &[usize]) -> Result<(), EditRefused> {
        gone.iter().rev().try_for_each(|at| self.remove(&format!("{pointer}/{at}")))
    }

    /// Returns the text as bytes, BOM included.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self.text {
            Text::Json(document, _) => document.into_bytes(),
            Text::Yaml(document) => document.into_bytes(),
        }
    }
}

/// Why a value of another type stops an edit.
pub(super) const OTHER_TYPE: &str = "a value of another type is in the way";

fn refuse(pointer: &str, is_done: bool) -> Result<(), EditRefused> {
    if is_done { Ok(()) } else { Err(EditRefused { line: None, pointer: pointer.to_owned(), why: OTHER_TYPE }) }
}

impl yaml::Refused {
    fn at(self, pointer: &str) -> EditRefused {
        EditRefused { line: Some(self.place.line), pointer: pointer.to_owned(), why: self.message }
    }
}
