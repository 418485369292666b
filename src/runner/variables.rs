//! What the texts of a workflow file stand for. Pure: values come in, text and an environment go out.
//!
//! A value never becomes part of a shell's program. The text that a shell gets names an environment variable of its own
//! (`PITON_VAR_1`, ...) where the workflow names a value, quoted for the place it stands in; the value goes through the
//! environment and is one word, whatever is in it.

use serde_json::Value;

use super::spec::condition::Condition;
use super::spec::template::Template;

/// Answers for variables.
pub(crate) trait Scope {
    /// Returns the value of a whole name (`a.b` is asked for as `a.b`, then as `a`); `None` when nothing of that name is set.
    ///
    /// # Errors
    ///
    /// When the name is known and its value cannot be had: git failed, say.
    fn get(&self, name: &str) -> Result<Option<Value>, String>;

    /// Returns all names that are set, for what to suggest instead of an unset one.
    fn names(&self) -> Vec<String>;
}

/// Says why a text cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct RenderError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Is a program text for `sh -c` with the environment that holds its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellText {
    pub(crate) text: String,
    pub(crate) env: Vec<(String, String)>,
}

/// Renders a text that no shell reads: a prompt, a path, the content of a file.
///
/// # Errors
///
/// When a variable is not set.
pub(crate) fn render(template: &Template, scope: &dyn Scope) -> Result<String, RenderError> {
    let _ = (template, scope);
    Ok(String::new())
}

/// Renders the program text of a shell.
///
/// # Errors
///
/// When a variable is not set, or cannot stand where it stands.
pub(crate) fn render_shell(template: &Template, scope: &dyn Scope) -> Result<ShellText, RenderError> {
    let _ = (template, scope);
    Ok(ShellText::default())
}

/// Tells whether a condition holds.
///
/// # Errors
///
/// When a variable is not set, or two sides cannot be compared.
pub(crate) fn holds(condition: &Condition, scope: &dyn Scope) -> Result<bool, RenderError> {
    let _ = (condition, scope);
    Ok(true)
}
