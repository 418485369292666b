//! What the writers of all formats share: a state file being edited, and the reasons why a change cannot be written.

use std::{fmt::Display, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    document::{EditRefused, Editor, Node, Syntax},
    model::{Content, Edit, EditKind, FileSet, ReadProblem, Reconstruction, RelPath, Suggested, Verb},
};

/// The reason why a change cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The file does not parse; it is never overwritten without `restore`.
    #[error("{file} does not parse ({problem}); it was not changed")]
    Unreadable { file: String, problem: String },
    /// The format cannot express the change.
    #[error("{0}")]
    Unsupported(String),
    /// The list of archives cannot be extended.
    #[error("{file} {problem}; the file and the run were not changed")]
    Register { file: String, problem: String },
    /// A file that the change needs is missing.
    #[error("{file} is missing")]
    Missing { file: String },
}

impl EditError {
    /// Returns the refusal of a change that a format cannot express: what it cannot do, and what to do instead.
    pub(super) fn cannot(what: &str, deed: impl Display, instead: impl Display) -> Self {
        Self::Unsupported(format!("{what} cannot {deed}: {instead}"))
    }
}

/// A state file being edited.
#[derive(Debug)]
pub(super) struct FileEditor {
    path: RelPath,
    before: Arc<[u8]>,
    editor: Editor,
}

impl FileEditor {
    /// Opens a file of the set.
    ///
    /// # Errors
    ///
    /// If it is missing, could not be read, or does not parse.
    pub(super) fn open(files: &FileSet, path: &RelPath, syntax: Syntax) -> Result<Self, EditError> {
        let file = || path.as_str().to_owned();
        let before = match files.files.get(path).map(|entry| &entry.content) {
            Some(Content::Bytes(bytes)) => Arc::clone(bytes),
            None | Some(Content::Problem(ReadProblem::Missing)) => return Err(EditError::Missing { file: file() }),
            Some(Content::Problem(problem)) => {
                return Err(EditError::Unreadable { file: file(), problem: problem.to_string() });
            }
            Some(Content::NameOnly) => {
                let problem = "its content was not read".to_owned();
                return Err(EditError::Unreadable { file: file(), problem });
            }
        };
        let editor = Editor::parse(&before, syntax)
            .map_err(|error| EditError::Unreadable { file: file(), problem: error.to_string() })?;
        Ok(Self { path: path.clone(), before, editor })
    }

    pub(super) const fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns the whole value, with the edits so far.
    pub(super) fn root(&self) -> &Node {
        self.editor.root()
    }

    /// Returns the value at a pointer, with the edits so far.
    pub(super) fn get(&self, pointer: &str) -> Option<&Node> {
        self.editor.get(pointer)
    }

    /// Sets a value, see [`Editor::set`].
    ///
    /// # Errors
    ///
    /// If more than the value would change.
    pub(super) fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        self.set_after(pointer, value, None)
    }

    /// Sets a value; a missing key is added after a neighbour, see [`Editor::set_after`].
    ///
    /// # Errors
    ///
    /// As [`FileEditor::set`].
    pub(super) fn set_after(&mut self, pointer: &str, value: &Value, after: Option<&str>) -> Result<(), EditError> {
        let done = self.editor.set_after(pointer, value, after);
        done.map_err(|refused| self.refusal(&refused))
    }

    /// Appends to a list, see [`Editor::push`].
    ///
    /// # Errors
    ///
    /// As [`FileEditor::set`].
    pub(super) fn push(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        let done = self.editor.push(pointer, value);
        done.map_err(|refused| self.refusal(&refused))
    }

    /// Removes a key or an element, see [`Editor::remove`].
    ///
    /// # Errors
    ///
    /// As [`FileEditor::set`].
    pub(super) fn remove(&mut self, pointer: &str) -> Result<(), EditError> {
        let done = self.editor.remove(pointer);
        done.map_err(|refused| self.refusal(&refused))
    }

    /// Removes elements of a list, given in ascending order.
    ///
    /// # Errors
    ///
    /// As [`FileEditor::set`].
    pub(super) fn remove_elements(&mut self, pointer: &str, gone: &[usize]) -> Result<(), EditError> {
        let done = self.editor.remove_elements(pointer, gone);
        done.map_err(|refused| self.refusal(&refused))
    }

    fn refusal(&self, refused: &EditRefused) -> EditError {
        let plan = Suggested::new(Verb::Plan);
        let message = format!("{}: {refused}; nothing was changed. Edit it by hand, then run `{plan}`", self.path);
        EditError::Unsupported(message)
    }

    /// Returns the edit of the file.
    pub(super) fn into_edit(self) -> Edit {
        Edit { path: self.path, kind: EditKind::Replace { before: self.before, after: self.editor.into_bytes() } }
    }
}

/// Refuses a change that the format cannot express.
///
/// # Errors
///
/// Always.
pub(super) fn unsupported<T>(message: String) -> Result<T, EditError> {
    Err(EditError::Unsupported(message))
}

/// Builds an object from the members that have a value.
pub(super) fn object(members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let there = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

/// Returns the edits that replace the current state with a rebuilt one.
pub(super) fn edits_of(files: &FileSet, rebuilt: Reconstruction) -> Vec<Edit> {
    let edit = |(path, after): (RelPath, Vec<u8>)| {
        let kind = match files.files.get(&path).map(|entry| &entry.content) {
            Some(Content::Bytes(before)) => EditKind::Replace { before: before.clone(), after },
            Some(Content::NameOnly | Content::Problem(_)) | None => EditKind::Create { after },
        };
        Edit { path, kind }
    };
    rebuilt.files.into_iter().map(edit).collect()
}
