//! Renders the texts of a workflow file. Pure: values come in, text and an environment go out.
//!
//! A value never becomes part of a shell program. The program refers to an environment variable (`PITON_VAR_1`, ...) in its place,
//! quoted for its position; the value passes through the environment and is always one word.

use serde_json::Value;

use super::{
    CaptureFormat,
    condition::{Comparison, Condition, Operand, number},
    pattern,
    shell::{Quoting, quoting},
    template::{Filter, Piece, Reference, Template},
};
use crate::model::{clean_line, nearest};

/// The largest value of an environment variable, with room for its name (`MAX_ARG_STRLEN` of Linux is 128 KiB).
const LARGEST: usize = 128 * 1024 - 64;

/// A source of variables.
pub(crate) trait Scope {
    /// Returns the value of a full name (`a.b` is looked up as `a.b`, then as `a`); `None` when it is not set.
    ///
    /// # Errors
    ///
    /// When the name is known and its value cannot be read, for example because git failed.
    fn get(&self, name: &str) -> Result<Option<Value>, String>;

    /// Returns all names that are set, for suggestions.
    fn names(&self) -> Vec<String>;
}

/// The reason why a text cannot be rendered.
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

/// A program for `sh -c` with the environment that holds its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellText {
    pub(crate) text: String,
    pub(crate) env: Vec<(String, String)>,
}

/// Renders a text that is not a shell program: a prompt, a path, the content of a file.
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

/// Renders a text for a person before its step runs: a variable without a value yet stays as the file has it.
pub(crate) fn render_known(template: &Template, scope: &dyn Scope) -> String {
    let known = |reference: &Reference| match look_up(&reference.path, scope) {
        Ok(Some(_)) => value(reference, scope).ok(),
        Ok(None) | Err(_) => None,
    };
    let text = |piece: &Piece| match piece {
        Piece::Literal(literal) => literal.clone(),
        Piece::Variable(reference) => known(reference).map_or_else(|| reference.to_string(), |value| as_text(&value)),
    };
    template.pieces.iter().map(text).collect()
}

/// Renders a shell program.
///
/// # Errors
///
/// When a variable is not set or not allowed in its position.
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
        let message = format!("`${{{name}}}` has {} bytes; a command can be passed at most {LARGEST}", text.len());
        return Err(RenderError::new(message, "let the step that produces it write a file, and pass the path"));
    }
    if text.contains('\0') {
        let message = format!("`${{{name}}}` contains a NUL byte, which cannot be passed to a command");
        return Err(RenderError::new(message, "let the step that produces it write a file, and pass the path"));
    }
    // A shell evaluates names, and even commands, in an arithmetic expression.
    if place == Quoting::Arithmetic && text.parse::<i64>().is_err() {
        let message =
            format!("`${{{name}}}` is used in `$((...))` and is not a whole number: `{}`", clean_line(text, 40));
        return Err(RenderError::new(message, "compute with whole numbers only"));
    }
    Ok(())
}

/// Tells whether a condition holds.
///
/// # Errors
///
/// When a variable is not set or two values cannot be compared.
pub(crate) fn holds(condition: &Condition, scope: &dyn Scope) -> Result<bool, RenderError> {
    match condition {
        Condition::Value(operand) => Ok(is_true(&side(operand, scope)?)),
        Condition::Not(inner) => Ok(!holds(inner, scope)?),
        Condition::And(left, right) => Ok(holds(left, scope)? && holds(right, scope)?),
        Condition::Or(left, right) => Ok(holds(left, scope)? || holds(right, scope)?),
        Condition::Compare(left, comparison, right) => {
            let sides = (side(left, scope)?, side(right, scope)?);
            let is_missing = |operand: &Operand, value: &Value| {
                matches!(operand, Operand::Variable(reference) if reference.fallback.is_some())
                    && as_text(value).is_empty()
            };
            if comparison.is_order() && (is_missing(left, &sides.0) || is_missing(right, &sides.1)) {
                return Ok(false);
            }
            compare(&sides.0, *comparison, &sides.1)
        }
    }
}

/// Tells whether a condition holds, before the steps that it depends on; `None` while a variable that decides it has no value.
pub(crate) fn holds_already(condition: &Condition, scope: &dyn Scope) -> Option<bool> {
    let both = |left: &Condition, right: &Condition| (holds_already(left, scope), holds_already(right, scope));
    let is_known = |operand: &Operand| match operand {
        Operand::Literal(_) => true,
        Operand::Variable(reference) => matches!(look_up(&reference.path, scope), Ok(Some(_))),
    };
    match condition {
        Condition::Not(inner) => holds_already(inner, scope).map(|holds| !holds),
        Condition::And(left, right) => match both(left, right) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        },
        Condition::Or(left, right) => match both(left, right) {
            (Some(false), Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            _ => None,
        },
        Condition::Value(operand) => is_known(operand).then(|| holds(condition, scope).ok())?,
        Condition::Compare(left, _, right) => {
            (is_known(left) && is_known(right)).then(|| holds(condition, scope).ok())?
        }
    }
}

fn side(operand: &Operand, scope: &dyn Scope) -> Result<Value, RenderError> {
    match operand {
        Operand::Literal(value) => Ok(value.clone()),
        Operand::Variable(reference) => value(reference, scope),
    }
}

/// `false`, null, 0 and an empty text, list or mapping are false, and so are the texts `false` and `0`, which commands print.
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

/// Compares two values as numbers when both are numbers, else as texts.
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

/// Returns a value as text: a text unchanged, null as nothing, lists and mappings as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn value(reference: &Reference, scope: &dyn Scope) -> Result<Value, RenderError> {
    let found = look_up(&reference.path, scope).map_err(|why| {
        let message = format!("`${{{}}}` cannot be read: {}", reference.path, clean_line(&why, 200));
        RenderError::new(message, "correct its source, then resume")
    })?;
    let found = match (found, &reference.filter) {
        (Some(list), Some(filter)) => Some(filtered(&as_text(&list), filter)),
        (found, _) => found,
    };
    // As in a shell, the fallback also replaces an empty value.
    let is_empty = |value: &Value| matches!(value, Value::Null) || value.as_str().is_some_and(str::is_empty);
    match (found, &reference.fallback) {
        (Some(value), Some(fallback)) if is_empty(&value) => Ok(Value::String(render(fallback, scope)?)),
        (Some(value), _) => Ok(value),
        (None, Some(fallback)) => Ok(Value::String(render(fallback, scope)?)),
        (None, None) => Err(unset(&reference.path, scope)),
    }
}

/// Returns the files of a list that a filter names, in its form.
fn filtered(list: &str, filter: &Filter) -> Value {
    let files: Vec<&str> = list.lines().collect();
    Value::String(match filter {
        Filter::Pattern(pattern) => {
            files.into_iter().filter(|file| pattern::matches(pattern, file)).collect::<Vec<_>>().join("\n")
        }
        Filter::Json => Value::from(files).to_string(),
        Filter::Lines => files.join("\n"),
        Filter::Csv => files.join(","),
    })
}

/// Looks up the longest name first, then descends into its value.
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

/// Parses the output of a command.
///
/// # Errors
///
/// When it does not have the format of the capture.
pub(crate) fn captured(name: &str, format: CaptureFormat, stdout: &str) -> Result<Value, RenderError> {
    let text = stdout.trim_end_matches(['\n', '\r']);
    let wrong = |what: &str| {
        let message = format!("what `{name}` captures cannot be read as {what}: `{}`", clean_line(text, 80));
        RenderError::new(message, "correct what the command prints, or the `capture_format`")
    };
    match format {
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
