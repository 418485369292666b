//! What the texts of a workflow file stand for. Pure: values come in, text and an environment go out.
//!
//! A value never becomes part of a shell's program. The text that a shell gets names an environment variable of its own
//! (`PITON_VAR_1`, ...) where the workflow names a value, quoted for the place it stands in; the value goes through the
//! environment and is one word, whatever is in it.

use serde_json::Value;

use super::spec::Capture;
use super::spec::CaptureFormat;
use super::spec::condition::Comparison;
use super::spec::condition::Condition;
use super::spec::condition::Operand;
use super::spec::condition::number;
use super::spec::shell::Quoting;
use super::spec::shell::quoting;
use super::spec::template::Piece;
use super::spec::template::Reference;
use super::spec::template::Template;
use crate::model::clean_line;
use crate::model::nearest;

/// What the system lets one variable of an environment have, with room for its name (`MAX_ARG_STRLEN` of Linux is 128 KiB).
const LARGEST: usize = 128 * 1024 - 64;

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

impl RenderError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
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
    let mut text = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Variable(reference) => text.push_str(&as_text(&value(reference, scope)?)),
        }
    }
    Ok(text)
}

/// Renders the program text of a shell.
///
/// # Errors
///
/// When a variable is not set, or cannot stand where it stands.
pub(crate) fn render_shell(template: &Template, scope: &dyn Scope) -> Result<ShellText, RenderError> {
    let places = quoting(template).map_err(|message| RenderError::new(message, "change the command"))?;
    let mut places = places.into_iter();
    let mut shell = ShellText::default();
    for piece in &template.pieces {
        let reference = match piece {
            Piece::Literal(literal) => {
                shell.text.push_str(literal);
                continue;
            }
            Piece::Variable(reference) => reference,
        };
        let place = places.next().expect("every variable has a place");
        let text = as_text(&value(reference, scope)?);
        check(reference, place, &text)?;
        let name = format!("PITON_VAR_{}", shell.env.len() + 1);
        shell.text.push_str(&match place {
            Quoting::Bare => format!("\"${{{name}}}\""),
            Quoting::Double | Quoting::Arithmetic => format!("${{{name}}}"),
            Quoting::Single => format!("'\"${{{name}}}\"'"),
        });
        shell.env.push((name, text));
    }
    Ok(shell)
}

fn check(reference: &Reference, place: Quoting, text: &str) -> Result<(), RenderError> {
    let name = &reference.path;
    if text.len() > LARGEST {
        let message = format!("`${{{name}}}` has {} bytes, more than the {LARGEST} a command can be given", text.len());
        return Err(RenderError::new(message, "let the step that makes it write a file, and name the file"));
    }
    if text.contains('\0') {
        let message = format!("`${{{name}}}` has a NUL in it, which no command can be given");
        return Err(RenderError::new(message, "let the step that makes it write a file, and name the file"));
    }
    // A shell computes with names and even runs commands that it finds in an expression.
    if place == Quoting::Arithmetic && text.parse::<i64>().is_err() {
        let message = format!("`${{{name}}}` stands in `$((...))` and is no whole number: `{}`", clean_line(text, 40));
        return Err(RenderError::new(message, "compute with whole numbers only"));
    }
    Ok(())
}

/// Tells whether a condition holds.
///
/// # Errors
///
/// When a variable is not set, or two sides cannot be compared.
pub(crate) fn holds(condition: &Condition, scope: &dyn Scope) -> Result<bool, RenderError> {
    match condition {
        Condition::Value(operand) => Ok(is_true(&side(operand, scope)?)),
        Condition::Not(inner) => Ok(!holds(inner, scope)?),
        Condition::And(left, right) => Ok(holds(left, scope)? && holds(right, scope)?),
        Condition::Or(left, right) => Ok(holds(left, scope)? || holds(right, scope)?),
        Condition::Compare(left, comparison, right) => compare(&side(left, scope)?, *comparison, &side(right, scope)?),
    }
}

fn side(operand: &Operand, scope: &dyn Scope) -> Result<Value, RenderError> {
    match operand {
        Operand::Literal(value) => Ok(value.clone()),
        Operand::Variable(reference) => value(reference, scope),
    }
}

/// False are `false`, null, 0, and an empty text, list or mapping; so are the texts `false` and `0`, as commands print them.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.trim(), "" | "false" | "0"),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Two sides that both read as numbers are compared as numbers, others as texts.
fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, RenderError> {
    let numbers = as_number(left).zip(as_number(right));
    let equal = |left: &Value, right: &Value| match as_number(left).zip(as_number(right)) {
        Some((left, right)) => left.total_cmp(&right).is_eq(),
        None => as_text(left) == as_text(right),
    };
    let order = || {
        numbers.map(|(left, right)| left.total_cmp(&right)).ok_or_else(|| {
            let (left, right) = (clean_line(&as_text(left), 40), clean_line(&as_text(right), 40));
            let message = format!("`{left}` and `{right}` are not both numbers");
            RenderError::new(message, "compare texts with == or !=")
        })
    };
    Ok(match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => !equal(left, right),
        Comparison::Less => order()?.is_lt(),
        Comparison::LessOrEqual => order()?.is_le(),
        Comparison::Greater => order()?.is_gt(),
        Comparison::GreaterOrEqual => order()?.is_ge(),
        Comparison::Contains => match left {
            Value::Array(items) => items.iter().any(|item| equal(item, right)),
            Value::Object(map) => map.contains_key(&as_text(right)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                as_text(left).contains(&as_text(right))
            }
        },
    })
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => number(text).and_then(|number| number.as_f64()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes a value as text: a text as it is, nothing for null, lists and mappings as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn value(reference: &Reference, scope: &dyn Scope) -> Result<Value, RenderError> {
    let found = look_up(&reference.path, scope).map_err(|why| {
        let message = format!("`${{{}}}` cannot be had: {}", reference.path, clean_line(&why, 200));
        RenderError::new(message, "correct what it comes from, then resume")
    })?;
    // As in a shell, an empty value counts as none where there is a fallback.
    let is_empty = |value: &Value| matches!(value, Value::Null) || value.as_str().is_some_and(str::is_empty);
    match (found, &reference.fallback) {
        (Some(value), Some(fallback)) if is_empty(&value) => Ok(Value::String(render(fallback, scope)?)),
        (Some(value), _) => Ok(value),
        (None, Some(fallback)) => Ok(Value::String(render(fallback, scope)?)),
        (None, None) => Err(unset(&reference.path, scope)),
    }
}

/// Asks for the longest name first, then goes on inside its value.
fn look_up(path: &str, scope: &dyn Scope) -> Result<Option<Value>, String> {
    let ends = path.rmatch_indices('.').map(|(at, _)| at);
    for end in std::iter::once(path.len()).chain(ends) {
        let Some(mut found) = scope.get(&path[..end])? else { continue };
        for key in path[end..].split('.').skip(1) {
            let inner = match &mut found {
                Value::Object(map) => map.get_mut(key).map(Value::take),
                Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get_mut(at)).map(Value::take),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            match inner {
                Some(inner) => found = inner,
                None => return Ok(None),
            }
        }
        return Ok(Some(found));
    }
    Ok(None)
}

fn unset(path: &str, scope: &dyn Scope) -> RenderError {
    let names = scope.names();
    let near = nearest(path, names.iter().map(String::as_str));
    let first = near.map(|name| format!("did you mean `${{{name}}}`? ")).unwrap_or_default();
    let hint = format!("{first}write `${{{path}:-default}}` for a default, or `$${{{path}}}` to leave it to the shell");
    RenderError::new(format!("the variable `${{{path}}}` is not set"), hint)
}

/// Turns what a command printed into a value.
///
/// # Errors
///
/// When it is not what the capture says it is.
pub(crate) fn captured(capture: &Capture, stdout: &str) -> Result<Value, RenderError> {
    let text = stdout.trim_end_matches(['\n', '\r']);
    let wrong = |what: &str| {
        let message = format!("what `{}` captures is no {what}: `{}`", capture.name, clean_line(text, 80));
        RenderError::new(message, "correct what the command prints, or the `capture_format`")
    };
    match capture.format {
        CaptureFormat::String => Ok(Value::String(text.to_owned())),
        CaptureFormat::Lines => Ok(text.lines().map(Value::from).collect()),
        CaptureFormat::Json => serde_json::from_str(text).map_err(|_| wrong("JSON")),
        CaptureFormat::Number => number(text).map(Value::Number).ok_or_else(|| wrong("number")),
        CaptureFormat::Boolean => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong("boolean")),
        },
    }
}

#[cfg(test)]
#[path = "variables_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile_tests;
